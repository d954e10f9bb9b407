//! Matrix instructions of warps (PTX ISA 9.7.14) and warpgroups (9.7.15).

use super::text::text;
use super::types::keywords;
use super::{Address, Operand, Operands, Predicate, Reg, Regs, ScalarType, Space};

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

keywords! {
    /// What the factors of a product of sm_120 are (PTX ISA 9.7.14.5.14).
    MatrixKind {
        /// Elements of 4, 6 and 8 bits, in bytes.
        F8f6f4 = "f8f6f4",
        /// The same with a scale for each 32 of `k`.
        Mxf8f6f4 = "mxf8f6f4",
        /// Elements of 4 bits.
        Mxf4 = "mxf4",
        /// The same; scales may be for 16 of `k`, and `.ue4m3`.
        Mxf4nvf4 = "mxf4nvf4",
    }
}

impl MatrixKind {
    /// Bits that an element takes in a register.
    pub const fn element_bits(self) -> u32 {
        match self {
            MatrixKind::F8f6f4 | MatrixKind::Mxf8f6f4 => 8,
            MatrixKind::Mxf4 | MatrixKind::Mxf4nvf4 => 4,
        }
    }
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
    /// A matrix instruction.
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
        /// `ldmatrix`. `bits` is the width of an element in memory: below 8, sixteen of them are packed at the start of each 16 bytes.
        LdMatrix { shape: (u16, u16), count: u8, trans: bool, space: Space, bits: u32, dst: Regs, addr: Address },
        /// `stmatrix`
        StMatrix { shape: (u16, u16), count: u8, trans: bool, space: Space, bits: u32, src: Operands, addr: Address },
        /// `movmatrix.m8n8.trans.b16`
        MovMatrix { dst: Reg, a: Operand },
        /// `wgmma.mma_async`
        WarpgroupMma(WarpgroupProduct),
        /// `wgmma.fence`
        WarpgroupFence,
        /// `wgmma.commit_group`
        WarpgroupCommit,
        /// `wgmma.wait_group`: until at most `pending` groups are.
        WarpgroupWait { pending: u32 },
    }
}

text! {
    /// The scales of one factor of a product: bytes of registers of some threads of each quad, chosen by selectors (PTX ISA 9.7.14.3).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct BlockScale {
        /// The register.
        pub data: Operand,
        /// The first of its bytes.
        pub byte: Operand,
        /// Of `a` which pair of threads, of `b` which thread.
        pub thread: Operand,
    }
}

text! {
    /// The scales of a product.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BlockScales {
        /// `.ue8m0` or `.ue4m3`.
        pub ty: ScalarType,
        /// How many there are for each row of `a` and column of `b`: what `.scale_vec` says.
        pub blocks: u8,
        /// Those of `a`.
        pub a: BlockScale,
        /// Those of `b`.
        pub b: BlockScale,
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
        pub kind: Option<MatrixKind>,
        pub scales: Option<BlockScales>,
    }
}

text! {
    /// The matrix `a` of a product of a warpgroup.
    #[derive(Clone, Debug, PartialEq)]
    pub enum WarpgroupFactor {
        /// In shared memory, where a matrix descriptor says (PTX ISA 9.7.15.5.1.2).
        Shared(Operand),
        /// The warp's 16 rows of it, in registers.
        Registers(Operands),
    }
}

text! {
    /// `d = a * b + d` of the four warps of a warpgroup, each of which has 16 rows of `a` and `d`.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(missing_docs)]
    pub struct WarpgroupProduct {
        pub shape: Shape,
        pub d_ty: ScalarType,
        pub a_ty: ScalarType,
        pub b_ty: ScalarType,
        pub satfinite: bool,
        pub d: Regs,
        /// The same registers, which are read too.
        pub c: Operands,
        pub a: WarpgroupFactor,
        /// A matrix descriptor.
        pub b: Operand,
        /// Where it does not hold, nothing is added to the products.
        pub scale_d: Predicate,
        pub negate_a: bool,
        pub negate_b: bool,
        /// Whether the columns of `a`, or the rows of `b`, are what lies in one piece in shared memory.
        pub transpose_a: bool,
        pub transpose_b: bool,
        /// Metadata and selector.
        pub sparse: Option<(Operand, u32)>,
    }
}
