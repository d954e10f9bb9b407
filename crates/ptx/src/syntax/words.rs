//! How linkage, spaces, types and operators are written, and how tightly operators bind.

use super::ast::{BinaryOp, Linkage, ScalarType, StateSpace, UnaryOp};

macro_rules! words {
    ($kind:ident: $($variant:ident $text:literal),+ $(,)?) => {
        impl $kind {
            /// Every value there is.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The value that a word without its leading dot stands for.
            pub fn from_name(word: &str) -> Option<Self> {
                match word {
                    $($text => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The word without its leading dot.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

words! { Linkage: Extern "extern", Visible "visible", Weak "weak", Common "common" }
words! {
    StateSpace: Reg "reg", Sreg "sreg", Const "const", Global "global", Local "local", Param "param",
    Shared "shared", Tex "tex",
}
words! {
    ScalarType: B8 "b8", B16 "b16", B32 "b32", B64 "b64", B128 "b128", U8 "u8", U16 "u16", U32 "u32", U64 "u64",
    S8 "s8", S16 "s16", S32 "s32", S64 "s64", F16 "f16", F16x2 "f16x2", Bf16 "bf16", Bf16x2 "bf16x2", Tf32 "tf32",
    F32 "f32", F64 "f64", Pred "pred", Texref "texref", Samplerref "samplerref", Surfref "surfref",
}

impl UnaryOp {
    /// The operator.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Minus => "-",
            Self::Plus => "+",
            Self::Not => "!",
            Self::Complement => "~",
        }
    }
}

impl BinaryOp {
    /// The operator.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::And => "&",
            Self::Xor => "^",
            Self::Or => "|",
            Self::LogicalAnd => "&&",
            Self::LogicalOr => "||",
        }
    }

    /// How tightly it binds, as in C (PTX ISA 4.5.5, table "Operator Precedence"); larger is tighter, the least is 1.
    pub(super) fn binding(self) -> u8 {
        match self {
            Self::Mul | Self::Div | Self::Rem => 10,
            Self::Add | Self::Sub => 9,
            Self::Shl | Self::Shr => 8,
            Self::Lt | Self::Le | Self::Gt | Self::Ge => 7,
            Self::Eq | Self::Ne => 6,
            Self::And => 5,
            Self::Xor => 4,
            Self::Or => 3,
            Self::LogicalAnd => 2,
            Self::LogicalOr => 1,
        }
    }
}
