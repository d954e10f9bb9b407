//! Where the operands of synchronisation, asynchronous copies, textures and matrices stand.

use super::walk::{Seen, SeenMut};
use crate::ir::{
    AsyncOp, BarrierOp, BarrierReduction, MatrixOp, MbarrierKind, MipLevel, ScalarType, TensorOp, TensorTransfer,
    TextureOp, WarpgroupFactor,
};

/// For references of both kinds, as in `walk`.
macro_rules! families {
    ($collector:ty $(, $m:ident)?) => {
        impl<'i> $collector {
            pub(super) fn barrier(&mut self, op: &'i $($m)? BarrierOp) {
                use ScalarType::{B32, Pred, U32};
                match op {
                    BarrierOp::Sync { id, count, .. } => {
                        self.read(U32, id);
                        self.reads(U32, count);
                    }
                    BarrierOp::Arrive { id, count, .. } => self.reads(U32, [id, count]),
                    BarrierOp::Reduce { op, dst, id, count, src, .. } => {
                        self.def(if *op == BarrierReduction::Popc { U32 } else { Pred }, dst);
                        self.read(U32, id);
                        self.reads(U32, count);
                        self.predicate(src);
                    }
                    BarrierOp::Warp { membermask } => self.read(B32, membermask),
                    BarrierOp::Yield | BarrierOp::ClusterArrive { .. } | BarrierOp::ClusterWait { .. } => {}
                }
            }

            pub(super) fn mbarrier(&mut self, kind: &'i $($m)? MbarrierKind) {
                use ScalarType::{B64, Pred, U32};
                match kind {
                    MbarrierKind::Inval => {}
                    MbarrierKind::Init { count: operand, .. }
                    | MbarrierKind::ExpectTx { bytes: operand }
                    | MbarrierKind::CompleteTx { bytes: operand } => self.read(U32, operand),
                    MbarrierKind::Arrive { state, count, .. } => {
                        self.defs(B64, state);
                        self.reads(U32, count);
                    }
                    MbarrierKind::Wait { parity, dst, state, time_hint, .. } => {
                        self.def(Pred, dst);
                        self.read(if *parity { U32 } else { B64 }, state);
                        self.reads(U32, time_hint);
                    }
                    MbarrierKind::CheckLayout { dst, .. } => self.def(Pred, dst),
                    MbarrierKind::PendingCount { dst, state } => {
                        self.def(U32, dst);
                        self.read(B64, state);
                    }
                }
            }

            pub(super) fn asynchronous(&mut self, op: &'i $($m)? AsyncOp) {
                use ScalarType::{B16, U32};
                match op {
                    AsyncOp::Copy { dst, src, src_size, ignore_src, .. } => {
                        self.address(dst);
                        self.address(src);
                        self.reads(U32, src_size);
                        ignore_src.into_iter().for_each(|predicate| self.predicate(predicate));
                    }
                    AsyncOp::MbarrierArrive { addr, .. } => self.address(addr),
                    AsyncOp::BulkPrefetch { src, size, policy } => {
                        self.address(src);
                        self.read(U32, size);
                        self.reads(ScalarType::B64, policy);
                    }
                    AsyncOp::Bulk {
                        dst,
                        src,
                        size,
                        mbarrier,
                        multicast,
                        byte_mask,
                        left_out_before,
                        left_out_behind,
                        ..
                    } => {
                        self.address(dst);
                        self.address(src);
                        self.read(U32, size);
                        self.reads(U32, left_out_before);
                        self.reads(U32, left_out_behind);
                        mbarrier.into_iter().for_each(|addr| self.address(addr));
                        self.reads(B16, multicast);
                        self.reads(B16, byte_mask);
                    }
                    AsyncOp::TryCancel { dst, mbarrier, .. } => {
                        self.address(dst);
                        self.address(mbarrier);
                    }
                    AsyncOp::Tensor(op) => self.tensor(op),
                    AsyncOp::Store { from, src, dst, mbarrier, .. } => {
                        self.address(dst);
                        self.address(mbarrier);
                        self.reads(*from, src);
                    }
                    AsyncOp::Reduce { ty, src, dst, mbarrier, .. } => {
                        self.address(dst);
                        self.address(mbarrier);
                        self.read(*ty, src);
                    }
                    AsyncOp::Clear { dst, size, .. } => {
                        self.address(dst);
                        self.read(ScalarType::U64, size);
                    }
                    AsyncOp::ReplaceInMap { map, ty, value, .. } => {
                        self.address(map);
                        self.read(*ty, value);
                    }
                    AsyncOp::CopyMap { dst, src, .. } => {
                        self.address(dst);
                        self.address(src);
                    }
                    AsyncOp::CommitGroup
                    | AsyncOp::WaitGroup(_)
                    | AsyncOp::BulkCommitGroup
                    | AsyncOp::BulkWaitGroup { .. } => {}
                }
            }

            fn tensor(&mut self, op: &'i $($m)? TensorOp) {
                self.address(& $($m)? op.map);
                self.reads(ScalarType::S32, & $($m)? op.coordinates);
                self.reads(ScalarType::U16, & $($m)? op.offsets);
                match & $($m)? op.transfer {
                    TensorTransfer::Load { dst, mbarrier, multicast, .. } => {
                        self.address(dst);
                        self.address(mbarrier);
                        self.reads(ScalarType::B16, multicast);
                    }
                    TensorTransfer::Store { src, .. } => self.address(src),
                    TensorTransfer::Prefetch => {}
                }
            }

            pub(super) fn texture(&mut self, op: &'i $($m)? TextureOp) {
                use ScalarType::{F32, Pred, S32, U32, U64};
                match op {
                    TextureOp::Tex {
                        geometry, dst_ty, coord_ty, dst, resident, texture, sampler, coords, level, offset, depth_compare, ..
                    } => {
                        self.defs(*dst_ty, dst);
                        self.defs(Pred, resident);
                        self.opaque(texture);
                        sampler.into_iter().for_each(|sampler| self.opaque(sampler));
                        for (index, coord) in coords.into_iter().enumerate() {
                            self.read(if index < geometry.leading() { U32 } else { *coord_ty }, coord);
                        }
                        match level {
                            MipLevel::Base => {}
                            MipLevel::Level(level) => self.read(*coord_ty, level),
                            MipLevel::Gradient { x, y } => {
                                self.reads(F32, x);
                                self.reads(F32, y);
                            }
                        }
                        offset.into_iter().for_each(|offset| self.reads(S32, offset));
                        self.reads(F32, depth_compare);
                    }
                    TextureOp::Query { dst, object, level, .. } => {
                        self.def(U32, dst);
                        self.opaque(object);
                        self.reads(U32, level);
                    }
                    TextureOp::Load { geometry, to, dst, surface, coords, .. } => {
                        self.defs(*to, dst);
                        self.opaque(surface);
                        for (index, coord) in coords.into_iter().enumerate() {
                            self.read(if index < geometry.leading() { U32 } else { S32 }, coord);
                        }
                    }
                    TextureOp::Store { geometry, from, src, surface, coords, .. } => {
                        self.opaque(surface);
                        for (index, coord) in coords.into_iter().enumerate() {
                            self.read(if index < geometry.leading() { U32 } else { S32 }, coord);
                        }
                        self.reads(*from, src);
                    }
                    TextureOp::Reduce { geometry, ty, src, surface, coords, .. } => {
                        self.opaque(surface);
                        for (index, coord) in coords.into_iter().enumerate() {
                            self.read(if index < geometry.leading() { U32 } else { S32 }, coord);
                        }
                        self.read(*ty, src);
                    }
                    TextureOp::IsType { dst, a, .. } => {
                        self.def(Pred, dst);
                        self.read(U64, a);
                    }
                }
            }

            pub(super) fn matrix(&mut self, op: &'i $($m)? MatrixOp) {
                use ScalarType::{B32, U32};
                match op {
                    MatrixOp::WmmaLoad { ty, dst, addr, stride, .. } => {
                        self.defs(ty.fragment_register(), dst);
                        self.address(addr);
                        self.reads(U32, stride);
                    }
                    MatrixOp::WmmaStore { ty, src, addr, stride, .. } => {
                        self.address(addr);
                        self.reads(ty.fragment_register(), src);
                        self.reads(U32, stride);
                    }
                    MatrixOp::WmmaMma(product) | MatrixOp::Mma(product) => {
                        let types = [product.d_ty, product.a_ty, product.b_ty, product.c_ty];
                        let [d, a, b, c] = types.map(ScalarType::fragment_register);
                        self.defs(d, & $($m)? product.d);
                        self.reads(a, & $($m)? product.a);
                        self.reads(b, & $($m)? product.b);
                        self.reads(c, & $($m)? product.c);
                        (& $($m)? product.sparse).into_iter().for_each(|(metadata, ..)| self.read(B32, metadata));
                        if let Some(scales) = & $($m)? product.scales {
                            for scale in [& $($m)? scales.a, & $($m)? scales.b] {
                                self.read(B32, & $($m)? scale.data);
                                self.read(ScalarType::U16, & $($m)? scale.byte);
                                self.read(ScalarType::U16, & $($m)? scale.thread);
                            }
                        }
                    }
                    MatrixOp::LdMatrix { dst, addr, .. } => {
                        self.defs(B32, dst);
                        self.address(addr);
                    }
                    MatrixOp::StMatrix { src, addr, .. } => {
                        self.address(addr);
                        self.reads(B32, src);
                    }
                    MatrixOp::MovMatrix { dst, a } => {
                        self.def(B32, dst);
                        self.read(B32, a);
                    }
                    MatrixOp::WarpgroupMma(product) => {
                        let held = product.d_ty.fragment_register();
                        self.defs(held, & $($m)? product.d);
                        self.reads(held, & $($m)? product.c);
                        match & $($m)? product.a {
                            WarpgroupFactor::Shared(descriptor) => self.read(ScalarType::B64, descriptor),
                            WarpgroupFactor::Registers(registers) => self.reads(B32, registers),
                        }
                        self.read(ScalarType::B64, & $($m)? product.b);
                        self.predicate(& $($m)? product.scale_d);
                        (& $($m)? product.sparse).into_iter().for_each(|(metadata, _)| self.read(B32, metadata));
                    }
                    MatrixOp::WarpgroupFence | MatrixOp::WarpgroupCommit | MatrixOp::WarpgroupWait { .. } => {}
                }
            }
        }
    };
}

families!(Seen);
families!(SeenMut<'i>, mut);
