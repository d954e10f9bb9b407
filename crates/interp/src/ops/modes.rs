//! Operations whose modifiers are data: compiled once for each combination that matters, and once for all others.

use std::marker::PhantomData;

use warploom_numerics::Rounding;
use warploom_numerics::convert::Narrowing;
use warploom_numerics::float::Extremum;
use warploom_numerics::half::Modifiers;

use crate::isa::LaneOp;
use crate::machine::{Flow, Machine};
use crate::program::Inst;

/// The modifiers of a floating-point operation or a conversion; what an instruction does not have is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct How {
    pub(crate) rounding: Rounding,
    pub(crate) ftz: bool,
    pub(crate) sat: bool,
    pub(crate) relu: bool,
    pub(crate) satfinite: bool,
    pub(crate) max: bool,
    pub(crate) nan: bool,
    pub(crate) abs: bool,
    pub(crate) xorsign: bool,
}

impl How {
    /// No modifier, rounding to nearest.
    pub(crate) const PLAIN: How = How {
        rounding: Rounding::Nearest,
        ftz: false,
        sat: false,
        relu: false,
        satfinite: false,
        max: false,
        nan: false,
        abs: false,
        xorsign: false,
    };

    /// The modifiers as the constant of an instruction.
    pub(crate) const fn pack(self) -> u32 {
        let flags = [self.ftz, self.sat, self.relu, self.satfinite, self.max, self.nan, self.abs, self.xorsign];
        let mut word = self.rounding as u32;
        let mut index = 0;
        while index < flags.len() {
            word |= (flags[index] as u32) << (8 + index);
            index += 1;
        }
        word
    }

    /// The inverse of [`How::pack`].
    #[inline(always)]
    pub(crate) const fn unpack(word: u32) -> How {
        let rounding = match word & 0xff {
            0 => Rounding::Nearest,
            1 => Rounding::Zero,
            2 => Rounding::Down,
            3 => Rounding::Up,
            _ => Rounding::Away,
        };
        How {
            rounding,
            ftz: word >> 8 & 1 != 0,
            sat: word >> 9 & 1 != 0,
            relu: word >> 10 & 1 != 0,
            satfinite: word >> 11 & 1 != 0,
            max: word >> 12 & 1 != 0,
            nan: word >> 13 & 1 != 0,
            abs: word >> 14 & 1 != 0,
            xorsign: word >> 15 & 1 != 0,
        }
    }

    #[inline(always)]
    pub(crate) fn half(self) -> Modifiers {
        Modifiers { ftz: self.ftz, sat: self.sat, relu: self.relu }
    }

    #[inline(always)]
    pub(crate) fn extremum(self) -> Extremum {
        Extremum { max: self.max, ftz: self.ftz, nan: self.nan, abs: self.abs, xorsign: self.xorsign }
    }

    #[inline(always)]
    pub(crate) fn narrowing(self) -> Narrowing {
        Narrowing { rounding: self.rounding, satfinite: self.satfinite, relu: self.relu, sat: self.sat }
    }
}

/// A lane-wise operation with modifiers.
pub(crate) trait Function {
    /// Runs it for the lanes in `mask`.
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32, how: How) -> Flow;
}

/// A function with modifiers known when this crate is compiled.
pub(crate) struct Fixed<F, const HOW: u32>(PhantomData<F>);

impl<F: Function, const HOW: u32> LaneOp for Fixed<F, HOW> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        F::run(machine, inst, mask, How::unpack(HOW))
    }
}

/// A function with the modifiers in the instruction's constant.
pub(crate) fn open<F: Function>(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    F::run(machine, inst, mask, How::unpack(inst.imm))
}

/// Defines functions by what they do in one lane: `Name(a: TYPE, ...; how) -> TYPE { expression }`.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $arguments:tt -> $ret:ty $body:block)*) => {
        $($crate::ops::modes::functions!(@one [$(#[$doc])*] $name $arguments $ret, $body);)*
    };
    (@one [$($doc:tt)*] $name:ident ($a:ident: $ta:ty; $how:ident) $ret:ty, $body:block) => {
        $crate::ops::modes::functions!(@impl [$($doc)*] $name $how map1 ($a: $ta) $ret, $body);
    };
    (@one [$($doc:tt)*] $name:ident ($a:ident: $ta:ty, $b:ident: $tb:ty; $how:ident) $ret:ty, $body:block) => {
        $crate::ops::modes::functions!(@impl [$($doc)*] $name $how map2 ($a: $ta, $b: $tb) $ret, $body);
    };
    (@one [$($doc:tt)*] $name:ident ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty; $how:ident) $ret:ty, $body:block) => {
        $crate::ops::modes::functions!(@impl [$($doc)*] $name $how map3 ($a: $ta, $b: $tb, $c: $tc) $ret, $body);
    };
    (@impl [$($doc:tt)*] $name:ident $how:ident $map:ident ($($x:ident: $t:ty),*) $ret:ty, $body:block) => {
        $($doc)*
        pub(crate) struct $name;
        impl $crate::ops::modes::Function for $name {
            #[inline(always)]
            fn run(
                machine: &mut $crate::machine::Machine<'_>,
                inst: &$crate::program::Inst,
                mask: u32,
                $how: $crate::ops::modes::How,
            ) -> $crate::machine::Flow {
                use $crate::lane::Lane;
                let _ = $how;
                machine.$map(inst, mask, #[inline(always)] |$($x: <$t as Lane>::Row),*| -> <$ret as Lane>::Row {
                    $(let $x = <$t as Lane>::of($x);)*
                    let value: $ret = $body;
                    value.row()
                })
            }
        }
    };
}
pub(crate) use functions;
