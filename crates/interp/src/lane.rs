//! PTX types as the host types that scalar definitions are written in, and the macro that makes lane loops of such definitions.

use crate::frame::Word;

/// A PTX type: how it lies in a register row, and the host type that holds its value.
pub(crate) trait Lane: Copy {
    /// The row's element.
    type Row: Word;
    /// Reads the value; bits above the type's width are ignored.
    fn of(row: Self::Row) -> Self;
    /// The value as it lies in a register: narrower types are zero-extended.
    fn row(self) -> Self::Row;
}

macro_rules! lanes {
    ($($type:ty, $row:ty, |$of:ident| $read:expr, |$value:ident| $write:expr;)*) => {$(
        impl Lane for $type {
            type Row = $row;

            #[inline(always)]
            fn of($of: $row) -> Self {
                $read
            }

            #[inline(always)]
            fn row(self) -> $row {
                let $value = self;
                $write
            }
        }
    )*};
}

lanes! {
    u8, u32, |row| row as u8, |value| u32::from(value);
    i8, u32, |row| row as i8, |value| u32::from(value as u8);
    u16, u32, |row| row as u16, |value| u32::from(value);
    i16, u32, |row| row as i16, |value| u32::from(value as u16);
    u32, u32, |row| row, |value| value;
    i32, u32, |row| row as i32, |value| value as u32;
    f32, u32, |row| f32::from_bits(row), |value| value.to_bits();
    u64, u64, |row| row, |value| value;
    i64, u64, |row| row as i64, |value| value as u64;
    f64, u64, |row| f64::from_bits(row), |value| value.to_bits();
}

/// Defines instructions by what they do in one lane.
///
/// `Name(a: TYPE, b: TYPE) -> TYPE { expression }` makes a `LaneOp` that reads operands `a`, `b`, `c` of the instruction (a fourth
/// one lies in the slot that `imm` names) and writes `d`. With `Name(a: TYPE; imm)` the instruction's constant is at hand.
macro_rules! lane_ops {
    ($($(#[$doc:meta])* $name:ident ($($arguments:tt)*) -> $ret:ty $body:block)*) => {
        $($crate::lane::lane_ops!(@one [$(#[$doc])*] $name ($($arguments)*) $ret, $body);)*
    };
    (@one $doc:tt $name:ident ($a:ident: $ta:ty $(; $imm:ident)?) $ret:ty, $body:block) => {
        $crate::lane::lane_ops!(@impl $doc $name map1 ($a: $ta) ($($imm)?) $ret, $body);
    };
    (@one $doc:tt $name:ident ($a:ident: $ta:ty, $b:ident: $tb:ty $(; $imm:ident)?) $ret:ty, $body:block) => {
        $crate::lane::lane_ops!(@impl $doc $name map2 ($a: $ta, $b: $tb) ($($imm)?) $ret, $body);
    };
    (@one $doc:tt $name:ident ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty $(; $imm:ident)?) $ret:ty, $body:block) => {
        $crate::lane::lane_ops!(@impl $doc $name map3 ($a: $ta, $b: $tb, $c: $tc) ($($imm)?) $ret, $body);
    };
    (@one $doc:tt $name:ident ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty, $x:ident: $tx:ty) $ret:ty, $body:block) => {
        $crate::lane::lane_ops!(@impl $doc $name map4 ($a: $ta, $b: $tb, $c: $tc, $x: $tx) () $ret, $body);
    };
    (@impl [$($doc:tt)*] $name:ident $map:ident ($($x:ident: $t:ty),*) ($($imm:ident)?) $ret:ty, $body:block) => {
        $($doc)*
        pub(crate) struct $name;
        impl $crate::isa::LaneOp for $name {
            #[inline(always)]
            fn run(machine: &mut $crate::machine::Machine<'_>, inst: &$crate::program::Inst, mask: u32) -> $crate::machine::Flow {
                use $crate::lane::Lane;
                $(let $imm = inst.imm;)?
                machine.$map(inst, mask, #[inline(always)] |$($x: <$t as Lane>::Row),*| -> <$ret as Lane>::Row {
                    $(let $x = <$t as Lane>::of($x);)*
                    let value: $ret = $body;
                    value.row()
                })
            }
        }
    };
}

pub(crate) use lane_ops;
