//! Copies of parts of tensors (PTX ISA 9.7.9.25.5) and changes of tensor maps (9.7.9.26).

use super::text::text;
use super::types::keywords;
use super::{Address, AtomicOp, Operand, Operands, Space};

text! {
    /// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` and `cp.async.bulk.prefetch.tensor`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TensorOp {
        /// What is done with the part.
        pub transfer: TensorTransfer,
        /// `.im2col` and `.im2col_no_offs`; else `.tile`.
        pub im2col: bool,
        /// The tensor map: a generic address.
        pub map: Address,
        /// `.tile::gather4` and `.tile::scatter4`: coordinates are those of the first dimension, and of four rows.
        pub rows_apart: bool,
        /// Where the part begins, one for each dimension, of type `s32`.
        pub coordinates: Operands,
        /// Offsets of an `.im2col` load, of type `u16`.
        pub offsets: Operands,
    }
}

text! {
    /// What is done with a part of a tensor.
    #[derive(Clone, Debug, PartialEq)]
    pub enum TensorTransfer {
        /// It goes to shared memory.
        Load {
            /// `Shared` or `SharedCluster`.
            space: Space,
            /// Where it goes.
            dst: Address,
            /// Counts its bytes.
            mbarrier: Address,
            /// CTAs of the cluster that get it.
            multicast: Option<Operand>,
        },
        /// It comes from shared memory.
        Store {
            /// Operation of `cp.reduce.async.bulk.tensor`.
            reduce: Option<AtomicOp>,
            /// Where it is.
            src: Address,
        },
        /// It goes to a cache.
        Prefetch,
    }
}

keywords! {
    /// A field of a tensor map (PTX ISA 9.7.9.26).
    TensormapField {
        GlobalAddress = "global_address",
        Rank = "rank",
        BoxDim = "box_dim",
        GlobalDim = "global_dim",
        GlobalStride = "global_stride",
        ElementStride = "element_stride",
        Elemtype = "elemtype",
        InterleaveLayout = "interleave_layout",
        SwizzleMode = "swizzle_mode",
        SwizzleAtomicity = "swizzle_atomicity",
        FillMode = "fill_mode",
    }
}
