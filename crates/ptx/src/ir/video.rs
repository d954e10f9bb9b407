//! Video instructions (PTX ISA 9.7.18).

use super::text::text;
use super::{ClampMode, Compare, Operand, Reg, ScalarType};

text! {
    /// Operation of a video instruction.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[allow(missing_docs)]
    pub enum VideoKind {
        Add,
        Sub,
        AbsDiff,
        Min,
        Max,
        /// `vavrg2`, `vavrg4`
        Average,
        Shl(ClampMode),
        Shr(ClampMode),
        /// `c` is scaled: `shr7`, `shr15` or not (0); `po` adds one ("plus one" mode).
        Mad {
            shift: u8,
            po: bool,
            negate_product: bool,
            negate_c: bool,
        },
        Set(Compare),
    }
}

text! {
    /// What is done with the result and operand `c` of a scalar video instruction.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[allow(missing_docs)]
    pub enum VideoSecond {
        None,
        Add,
        Min,
        Max,
        /// Inserts the result into the byte or half of `c` that the selector names.
        Merge(Selector),
    }
}

text! {
    /// A byte (`b0` to `b3`) or a half (`h0`, `h1`) of a 32-bit register.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Selector {
        /// All 32 bits.
        Word,
        /// Byte 0 to 3.
        Byte(u8),
        /// Half 0 or 1.
        Half(u8),
    }
}

text! {
    /// A video instruction: `vadd`, ... on one value, `vadd2`/`vadd4`, ... on two halves or four bytes.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(missing_docs)]
    pub struct VideoOp {
        /// 1, 2 or 4.
        pub lanes: u8,
        pub kind: VideoKind,
        pub dst_ty: ScalarType,
        pub a_ty: ScalarType,
        pub b_ty: ScalarType,
        pub sat: bool,
        pub second: VideoSecond,
        pub dst: Reg,
        pub a: Operand,
        pub b: Operand,
        /// Absent only for scalar instructions without a second operation.
        pub c: Option<Operand>,
        pub a_select: Selector,
        pub b_select: Selector,
        /// SIMD: which bytes of `b:a` (0 to 7) form the lanes of the operand, lane 0 first.
        pub a_lanes: [u8; 4],
        /// As `a_lanes`, for the second operand.
        pub b_lanes: [u8; 4],
        /// SIMD: lanes that are written (bit per lane); the others come from `c`.
        pub mask: u8,
        /// SIMD: add the lanes' results to `c`.
        pub accumulate: bool,
    }
}
