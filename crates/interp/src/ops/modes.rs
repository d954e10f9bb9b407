//! Operations whose modifiers are data: compiled once for each combination that matters, and once for all others.

use std::marker::PhantomData;

use bitflags::bitflags;
use warploom_numerics::Rounding;
use warploom_numerics::convert::Narrowing;
use warploom_numerics::float::Extremum;
use warploom_numerics::half::Modifiers;

use crate::isa::LaneOp;
use crate::machine::{Flow, Machine};
use crate::program::Inst;

bitflags! {
    /// The modifiers that an instruction has or has not.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Flags: u8 {
        const FTZ = 1;
        const SAT = 1 << 1;
        const RELU = 1 << 2;
        const SATFINITE = 1 << 3;
        const MAX = 1 << 4;
        const NAN = 1 << 5;
        const ABS = 1 << 6;
        const XORSIGN = 1 << 7;
    }
}

impl Flags {
    /// It, or nothing.
    pub(crate) const fn when(self, present: bool) -> Flags {
        if present { self } else { Flags::empty() }
    }
}

/// The modifiers of a floating-point operation or a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct How {
    pub(crate) rounding: Rounding,
    pub(crate) flags: Flags,
}

impl How {
    /// No modifier, rounding to nearest.
    pub(crate) const PLAIN: How = How { rounding: Rounding::Nearest, flags: Flags::empty() };

    /// The modifiers as the constant of an instruction.
    pub(crate) const fn pack(self) -> u32 {
        self.rounding as u32 | (self.flags.bits() as u32) << 8
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
        How { rounding, flags: Flags::from_bits_retain((word >> 8) as u8) }
    }

    #[inline(always)]
    pub(crate) const fn has(self, flag: Flags) -> bool {
        self.flags.bits() & flag.bits() != 0
    }

    #[inline(always)]
    pub(crate) const fn ftz(self) -> bool {
        self.has(Flags::FTZ)
    }

    #[inline(always)]
    pub(crate) const fn sat(self) -> bool {
        self.has(Flags::SAT)
    }

    #[inline(always)]
    pub(crate) fn half(self) -> Modifiers {
        Modifiers { ftz: self.ftz(), sat: self.sat(), relu: self.has(Flags::RELU) }
    }

    #[inline(always)]
    pub(crate) fn extremum(self) -> Extremum {
        Extremum {
            max: self.has(Flags::MAX),
            ftz: self.ftz(),
            nan: self.has(Flags::NAN),
            abs: self.has(Flags::ABS),
            xorsign: self.has(Flags::XORSIGN),
        }
    }

    #[inline(always)]
    pub(crate) fn narrowing(self) -> Narrowing {
        Narrowing {
            rounding: self.rounding,
            satfinite: self.has(Flags::SATFINITE),
            relu: self.has(Flags::RELU),
            sat: self.sat(),
        }
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

/// Defines functions by what they do in one lane: `Name(a: TYPE, ...; how) -> TYPE { expression }`, or `Name[T: BOUND](...)` for a family of them.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $([$($family:tt)*])? ($($arguments:tt)*) -> $ret:ty $body:block)*) => {
        $($crate::ops::modes::functions!(@one [$(#[$doc])*] $name [$($($family)*)?] ($($arguments)*) $ret, $body);)*
    };
    (@one $doc:tt $name:ident $family:tt ($a:ident: $ta:ty; $how:ident) $ret:ty, $body:block) => {
        $crate::ops::modes::functions!(@impl $doc $name $family $how map1 ($a: $ta) $ret, $body);
    };
    (@one $doc:tt $name:ident $family:tt ($a:ident: $ta:ty, $b:ident: $tb:ty; $how:ident) $ret:ty, $body:block) => {
        $crate::ops::modes::functions!(@impl $doc $name $family $how map2 ($a: $ta, $b: $tb) $ret, $body);
    };
    (@one $doc:tt $name:ident $family:tt ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty; $how:ident) $ret:ty, $body:block) => {
        $crate::ops::modes::functions!(@impl $doc $name $family $how map3 ($a: $ta, $b: $tb, $c: $tc) $ret, $body);
    };
    (@impl [$($doc:tt)*] $name:ident [$($of:ident: $bound:path)?] $how:ident $map:ident ($($x:ident: $t:ty),*) $ret:ty, $body:block) => {
        $($doc)*
        pub(crate) struct $name $(<$of>(std::marker::PhantomData<$of>))?;
        impl $(<$of: $bound>)? $crate::ops::modes::Function for $name $(<$of>)? {
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
