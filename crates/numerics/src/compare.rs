//! Comparison (PTX ISA 9.3.1, 9.7.6, 9.7.7).

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

/// Whether the relation holds. For `.ftz` flush the operands first; halves compare as their `.f32` values.
#[inline(always)]
pub fn holds<T: PartialOrd + Copy>(relation: Relation, a: T, b: T) -> bool {
    let (less, greater, equal) = (a < b, a > b, a == b);
    match relation {
        Relation::Eq => equal,
        Relation::Ne => less | greater,
        Relation::Lt => less,
        Relation::Le => less | equal,
        Relation::Gt => greater,
        Relation::Ge => greater | equal,
        Relation::Equ => !(less | greater),
        Relation::Neu => !equal,
        Relation::Ltu => !(greater | equal),
        Relation::Leu => !greater,
        Relation::Gtu => !(less | equal),
        Relation::Geu => !less,
        Relation::Num => less | greater | equal,
        Relation::Nan => !(less | greater | equal),
    }
}
