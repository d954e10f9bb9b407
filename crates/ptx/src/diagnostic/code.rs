//! The kinds of problems. Which of them a caller of the driver sees as which result code is decided from these.

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The text does not follow PTX's grammar.
    Syntax,
    /// The text is nested too deeply or is too large.
    Limit,
    /// `.version` is missing or names no version that this driver loads.
    Version,
    /// `.target` is missing, unknown, or newer than the device.
    Target,
    /// `.address_size` is not 64.
    AddressSize,
    /// A name that nothing declares.
    Undeclared,
    /// A name declared twice in a scope.
    Redeclared,
    /// An instruction that PTX does not have.
    UnknownInstruction,
    /// A modifier that the instruction does not have, or not in this combination.
    Modifier,
    /// An operand of the wrong type or form, or too many or too few of them.
    Operand,
    /// A call that does not fit its function.
    Call,
    /// A declaration, directive or initialiser that makes no sense.
    Declaration,
    /// A branch or label that makes no sense.
    ControlFlow,
    /// A feature that needs a later PTX version or target.
    Requirement,
    /// A function or variable that no linked input defines.
    Unresolved,
}

impl Code {
    /// A short name, for people and for filters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Limit => "limit",
            Self::Version => "version",
            Self::Target => "target",
            Self::AddressSize => "address-size",
            Self::Undeclared => "undeclared",
            Self::Redeclared => "redeclared",
            Self::UnknownInstruction => "unknown-instruction",
            Self::Modifier => "modifier",
            Self::Operand => "operand",
            Self::Call => "call",
            Self::Declaration => "declaration",
            Self::ControlFlow => "control-flow",
            Self::Requirement => "requirement",
            Self::Unresolved => "unresolved",
        }
    }
}
