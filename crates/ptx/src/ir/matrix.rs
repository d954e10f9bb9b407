//! Warp-level matrix instructions (PTX ISA 9.7.14).

use super::text::text;
use super::types::keywords;
use super::{Address, Operand, Operands, Reg, Regs, ScalarType, Space};

keywords! {
    /// Order of a matrix in memory.
    Layout { Row = "row", Col = "col", }
}

keywords! {
    /// Which matrix `wmma.load` loads.
    Fragment { A = "a", B = "b", C = "c", }
}

keywords! {
    /// Bit operation of binary `mma`.
    BitOp { XorPopc = "xor.popc", AndPopc = "and.popc", }
}

text! {
    /// Sizes of a matrix product: `m` x `k` times `k` x `n`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[allow(missing_docs)]
    pub struct Shape {
        pub m: u16,
        pub n: u16,
        pub k: u16,
    }
}

text! {
    /// A warp-level matrix instruction.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(missing_docs)]
    pub enum MatrixOp {
        /// `wmma.load`
        WmmaLoad {
            fragment: Fragment,
            layout: Layout,
            shape: Shape,
            space: Space,
            ty: ScalarType,
            dst: Regs,
            addr: Address,
            stride: Option<Operand>,
        },
        /// `wmma.store.d`
        WmmaStore {
            layout: Layout,
            shape: Shape,
            space: Space,
            ty: ScalarType,
            src: Operands,
            addr: Address,
            stride: Option<Operand>,
        },
        /// `wmma.mma`
        WmmaMma(Product),
        /// `mma` and `mma.sp`
        Mma(Product),
        /// `ldmatrix`.
        LdMatrix { shape: (u16, u16), count: u8, trans: bool, space: Space, ty: ScalarType, dst: Regs, addr: Address },
        /// `stmatrix`
        StMatrix { shape: (u16, u16), count: u8, trans: bool, space: Space, ty: ScalarType, src: Operands, addr: Address },
        /// `movmatrix.m8n8.trans.b16`
        MovMatrix { dst: Reg, a: Operand },
    }
}

text! {
    /// `d = a * b + c` on fragments.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(missing_docs)]
    pub struct Product {
        pub shape: Shape,
        pub a_layout: Layout,
        pub b_layout: Layout,
        pub d_ty: ScalarType,
        pub a_ty: ScalarType,
        pub b_ty: ScalarType,
        pub c_ty: ScalarType,
        pub satfinite: bool,
        pub bit_op: Option<BitOp>,
        pub rnd: Option<super::Rounding>,
        pub d: Regs,
        pub a: Operands,
        pub b: Operands,
        pub c: Operands,
        /// `mma.sp`: metadata, selector, and whether the metadata are `::ordered_metadata`.
        pub sparse: Option<(Operand, u32, bool)>,
    }
}
