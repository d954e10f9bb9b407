//! Comparison (PTX ISA 9.3.1, 9.7.6, 9.7.7).

use crate::float::flush;

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Equal; like the next five false if an operand is NaN.
    Eq,
    /// Not equal, and ordered.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Equal or unordered; like the next five true if an operand is NaN.
    Equ,
    /// Not equal or unordered.
    Neu,
    /// Less or unordered.
    Ltu,
    /// Less, equal or unordered.
    Leu,
    /// Greater or unordered.
    Gtu,
    /// Greater, equal or unordered.
    Geu,
    /// Both operands are numbers.
    Num,
    /// An operand is NaN.
    Nan,
}

/// Whether `slct` by a float chooses its first operand: from minus zero up. NaN chooses the second (PTX ISA 9.7.6.4).
#[inline(always)]
pub fn selects_first(c: f32, ftz: bool) -> bool {
    flush(c, ftz) >= 0.0
}

/// Whether the relation holds. For `.ftz` flush the operands first; halves compare as their `.f32` values.
#[inline(always)]
#[allow(
    clippy::eq_op,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::nonminimal_bool,
    clippy::double_comparisons,
    reason = "NaN is what these tell apart, and these forms become one vector comparison"
)]
pub fn holds<T: PartialOrd + Copy>(relation: Relation, a: T, b: T) -> bool {
    match relation {
        Relation::Eq => a == b,
        Relation::Ne => a < b || a > b,
        Relation::Lt => a < b,
        Relation::Le => a <= b,
        Relation::Gt => a > b,
        Relation::Ge => a >= b,
        Relation::Equ => !(a < b || a > b),
        Relation::Neu => a != b,
        Relation::Ltu => !(a >= b),
        Relation::Leu => !(a > b),
        Relation::Gtu => !(a <= b),
        Relation::Geu => !(a < b),
        Relation::Num => a == a && b == b,
        Relation::Nan => a != a || b != b,
    }
}
