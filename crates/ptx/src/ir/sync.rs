//! Barriers, fences, mbarriers and asynchronous copies (PTX ISA 9.7.13, 9.7.9.25).

use super::AtomicOp;
use super::text::text;
use super::types::keywords;
use super::{
    Address, Operand, Operands, Predicate, Reg, ScalarType, Scope, Semantics, Space, TensorOp, TensormapField,
};

text! {
    /// `bar`, `barrier` and `bar.warp.sync`.
    #[derive(Clone, Debug, PartialEq)]
    pub enum BarrierOp {
        /// `bar.sync`, `barrier.sync`: arrive and wait. Without `count` all threads of the CTA take part.
        Sync {
            /// Barrier number, 0 to 15.
            id: Operand,
            /// Number of threads, a multiple of the warp size.
            count: Option<Operand>,
            /// All threads of the warp execute the same instruction.
            aligned: bool,
        },
        /// `bar.arrive`: does not wait.
        Arrive {
            /// Barrier number.
            id: Operand,
            /// Number of threads.
            count: Operand,
            /// As for `Sync`.
            aligned: bool,
        },
        /// `bar.red`: waits, and reduces a predicate over the threads.
        Reduce {
            /// Population count (`dst` is a `.u32`) or a boolean operation (`dst` is a predicate).
            op: BarrierReduction,
            /// Result.
            dst: Reg,
            /// Barrier number.
            id: Operand,
            /// Number of threads.
            count: Option<Operand>,
            /// What is reduced.
            src: Predicate,
            /// As for `Sync`.
            aligned: bool,
        },
        /// `bar.warp.sync membermask`
        Warp {
            /// Lanes that take part.
            membermask: Operand,
        },
        /// `barrier.cluster.arrive`
        ClusterArrive {
            /// `Release` (the default) or `Relaxed`.
            semantics: Semantics,
            /// As for `Sync`.
            aligned: bool,
        },
        /// No instruction of PTX: the other warps of the CTA are let go on before this one ([`insert_yields`](crate::passes::insert_yields)). It orders nothing.
        Yield,
        /// `barrier.cluster.wait`, which acquires whether `.acquire` is written or not (PTX ISA 9.7.13.3).
        ClusterWait {
            /// As for `Sync`.
            aligned: bool,
        },
    }
}

text! {
    /// What `bar.red` computes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[allow(missing_docs)]
    pub enum BarrierReduction {
        Popc,
        And,
        Or,
    }
}

text! {
    /// `membar`, `fence` and the proxy fences.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum FenceOp {
        /// `membar.cta|gl|sys` are `fence.sc` of the scope. `mbarrier_init` restricts a release fence to `mbarrier.init` operations.
        Thread {
            /// `Sc`, `AcqRel`, `Acquire` or `Release`.
            semantics: Semantics,
            /// Who is to observe.
            scope: Scope,
            /// `.sync_restrict`: only objects of this space are ordered, for an acquire or a release.
            restrict: Option<Space>,
        },
        /// `fence.proxy.*`, `membar.proxy.*`: orders accesses through different paths, which a CPU does not have.
        Proxy(Box<ProxyFence>),
        /// `fence.mbarrier_init.release.cluster`
        MbarrierInit,
    }
}

keywords! {
    /// A path that accesses take (PTX ISA 8.6).
    Proxy {
        Alias = "alias", Async = "async", AsyncGeneric = "async::generic", TensormapGeneric = "tensormap::generic",
        GenericFabric = "generic::fabric", FabricGeneric = "fabric::generic", FabricFabric = "fabric::fabric",
    }
}

text! {
    /// A fence between proxies.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ProxyFence {
        /// Between which; one that is named alone is ordered with the generic proxy.
        pub proxy: Proxy,
        /// Only accesses to this space.
        pub space: Option<Space>,
        /// One way only: `Acquire` or `Release`.
        pub semantics: Option<Semantics>,
        /// Who is to observe, of a fence with `semantics`.
        pub scope: Option<Scope>,
        /// `.sync_restrict`: only objects of this space.
        pub restrict: Option<Space>,
        /// The tensor map that is acquired, and its size in bytes.
        pub tensormap: Option<(Address, u32)>,
    }
}

text! {
    /// Operations on an mbarrier object, a 64-bit word in shared memory.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MbarrierOp {
        /// What is done.
        pub kind: MbarrierKind,
        /// Where the object is: `Generic`, `Shared` or `SharedCluster`.
        pub space: Space,
        /// The object; absent for `PendingCount`.
        pub addr: Option<Address>,
        /// Order of the operation.
        pub semantics: Semantics,
        /// Its scope.
        pub scope: Scope,
    }
}

text! {
    /// Which operation on an mbarrier.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(missing_docs)]
    pub enum MbarrierKind {
        /// `v1`: of `.layout::v1`, which counts fewer arrivals.
        Init {
            count: Operand,
            v1: bool,
        },
        Inval,
        ExpectTx {
            bytes: Operand,
        },
        CompleteTx {
            bytes: Operand,
        },
        /// `arrive` and (with `drop`) `arrive_drop`; `expect_tx`: the count operand is a number of bytes; `no_complete`: the phase must not complete.
        /// `state` is absent for an object of another CTA and for `_`.
        Arrive {
            drop: bool,
            expect_tx: bool,
            no_complete: bool,
            state: Option<Reg>,
            count: Option<Operand>,
        },
        /// `test_wait` and (with `blocking`) `try_wait`; `parity`: `state` is the phase parity, else the token of an arrival.
        Wait {
            blocking: bool,
            parity: bool,
            dst: Reg,
            state: Operand,
            time_hint: Option<Operand>,
        },
        PendingCount {
            dst: Reg,
            state: Operand,
        },
        /// Whether the object is of `.layout::v1`, or else of `.layout::v0`.
        CheckLayout {
            dst: Reg,
            v1: bool,
        },
    }
}

text! {
    /// Asynchronous copies and reductions.
    #[derive(Clone, Debug, PartialEq)]
    pub enum AsyncOp {
        /// `cp.async.ca|cg.shared.global`
        Copy {
            /// In shared memory.
            dst: Address,
            /// In global memory.
            src: Address,
            /// 4, 8 or 16 bytes.
            size: u32,
            /// Bytes to read; the rest becomes zero.
            src_size: Option<Operand>,
            /// Reads nothing, writes zeros, where it holds.
            ignore_src: Option<Predicate>,
        },
        /// `cp.async.commit_group`
        CommitGroup,
        /// `cp.async.wait_group n`; `None` is `cp.async.wait_all`.
        WaitGroup(Option<u32>),
        /// `cp.async.mbarrier.arrive`
        MbarrierArrive {
            /// Does not count the arrival as expected beforehand.
            noinc: bool,
            /// `Generic` or `Shared`.
            space: Space,
            /// The mbarrier object.
            addr: Address,
        },
        /// `cp.async.bulk` and `cp.reduce.async.bulk`
        Bulk {
            /// Operation and type of `cp.reduce.async.bulk`.
            reduce: Option<(AtomicOp, ScalarType)>,
            /// `.relaxed`: each 16 bytes, or each element of a reduction, are an access of that scope; else a weak one, or of a reduction one of the device's scope.
            scope: Option<Scope>,
            /// Space written.
            dst_space: Space,
            /// Space read.
            src_space: Space,
            /// Written.
            dst: Address,
            /// Read.
            src: Address,
            /// Bytes, a multiple of 16.
            size: Operand,
            /// The mbarrier that counts the bytes; without it the copy belongs to the bulk group.
            mbarrier: Option<Address>,
            /// CTAs of the cluster that get a copy.
            multicast: Option<Operand>,
            /// `.cp_mask`: bytes of each 16 to copy.
            byte_mask: Option<Operand>,
            /// `.ignore_oob`: bytes at the beginning that need not be there, 0 to 15.
            left_out_before: Option<Operand>,
            /// The same at the end.
            left_out_behind: Option<Operand>,
        },
        /// `cp.async.bulk.prefetch.L2`
        BulkPrefetch {
            /// In global memory.
            src: Address,
            /// Bytes.
            size: Operand,
            /// `.L2::cache_hint`
            policy: Option<Operand>,
        },
        /// `cp.async.bulk.commit_group`
        BulkCommitGroup,
        /// `cp.async.bulk.wait_group[.read] n`
        BulkWaitGroup {
            /// Only the reads must be over.
            read: bool,
            /// Groups that may be pending.
            pending: u32,
        },
        /// `clusterlaunchcontrol.try_cancel` (9.7.13.16).
        TryCancel {
            /// `Generic` or `Shared`.
            space: Space,
            /// Gets the response.
            dst: Address,
            /// Counts its bytes.
            mbarrier: Address,
            /// Every CTA of the cluster gets the response.
            multicast: bool,
        },
        /// Copies of parts of tensors.
        Tensor(Box<TensorOp>),
        /// `st.async` to shared memory (9.7.9.12).
        Store {
            /// Of an element.
            ty: ScalarType,
            /// Of the registers, of which the low bits are stored.
            from: ScalarType,
            /// The elements.
            src: Operands,
            /// In shared memory of a CTA of the cluster.
            dst: Address,
            /// Beside it, counts the bytes.
            mbarrier: Address,
        },
        /// `red.async` on shared memory (9.7.13.7).
        Reduce {
            /// Operation.
            op: AtomicOp,
            /// Of the operands.
            ty: ScalarType,
            /// The other operand.
            src: Operand,
            /// In shared memory of a CTA of the cluster.
            dst: Address,
            /// Beside it, counts the bytes.
            mbarrier: Address,
        },
        /// `st.bulk`: zeros (9.7.9.13).
        Clear {
            /// In shared memory.
            dst: Address,
            /// `Generic` or `Shared`.
            space: Space,
            /// Bytes, of type `u64`.
            size: Operand,
        },
        /// `tensormap.replace` (9.7.9.26).
        ReplaceInMap {
            /// What is replaced.
            field: TensormapField,
            /// Which one, of a field for each dimension.
            ordinal: u32,
            /// `Generic`, `Global` or `Shared`.
            space: Space,
            /// The tensor map.
            map: Address,
            /// `b32` or `b64`.
            ty: ScalarType,
            /// The new value.
            value: Operand,
        },
        /// `tensormap.cp_fenceproxy` (9.7.9.27).
        CopyMap {
            /// In global memory.
            dst: Address,
            /// In shared memory.
            src: Address,
            /// Bytes.
            size: u32,
        },
    }
}
