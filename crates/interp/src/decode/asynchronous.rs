//! Asynchronous copies (PTX ISA 9.7.9.25) and the mbarriers that tell when they are done (9.7.13.15).

use warploom_ptx::ir::{
    Address, AsyncOp, AtomicOp, MbarrierKind, MbarrierOp, ScalarType, Space, TensorOp, TensorTransfer,
};

use super::access::Location;
use super::{Decoded, Decoder, Refused, enter};
use crate::isa::Op;
use crate::memory::Slot;
use crate::ops::bulk::{self, At, BulkSite, CancelSite, RemoteSite};
use crate::ops::copies::{self, CopySite};
use crate::ops::mbarrier::{self, Kind, MbarrierSite, Phase};
use crate::ops::tensor::{self, MapChange, TensorSite, Transfer};

impl Decoder<'_> {
    pub(super) fn mbarrier(&mut self, op: &MbarrierOp) -> Decoded {
        let kind = match op.kind {
            MbarrierKind::Init { count, v1 } => Kind::Init { count: self.word(count), v1 },
            MbarrierKind::Inval => Kind::Inval,
            MbarrierKind::ExpectTx { bytes } => Kind::ExpectTx { bytes: self.word(bytes) },
            MbarrierKind::CompleteTx { bytes } => Kind::CompleteTx { bytes: self.word(bytes) },
            // That the phase does not end is a promise: there is nothing to do for it.
            MbarrierKind::Arrive { drop, expect_tx, no_complete: _, state, count } => {
                let operand = count.map(|count| self.word(count));
                let (expects, count) = if expect_tx { (operand, None) } else { (None, operand) };
                Kind::Arrive { drops: drop, expects, count, token: state.map(|state| self.double_out(state)) }
            }
            // How long a thread may be suspended is a hint.
            MbarrierKind::Wait { blocking, parity, dst, state, time_hint: _ } => {
                let phase = if parity { Phase::Parity(self.word(state)) } else { Phase::Token(self.double(state)) };
                Kind::Test { waits: blocking, phase, d: self.predicate_out(dst) }
            }
            MbarrierKind::CheckLayout { dst, v1 } => Kind::CheckLayout { v1, d: self.predicate_out(dst) },
            MbarrierKind::PendingCount { dst, state } => {
                let (a, d) = (self.double(state), self.word_out(dst, false));
                self.emit(Op::scalar(mbarrier::pending_count), d, [a, 0, 0], 0);
                return Ok(());
            }
        };
        let address = op.addr.as_ref().ok_or(Refused::Unsupported)?;
        self.emit_mbarrier(kind, op.space, address)
    }

    fn emit_mbarrier(&mut self, kind: Kind, space: Space, address: &Address) -> Decoded {
        let Location { space, base, offset } = self.address(space, address)?;
        let site = enter(&mut self.function.mbarriers, MbarrierSite { kind, space, base, offset });
        self.emit(Op::scalar(mbarrier::mbarrier), 0, [0; 3], site);
        Ok(())
    }

    pub(super) fn asynchronous(&mut self, op: &AsyncOp) -> Decoded {
        match op {
            AsyncOp::Copy { dst, src, size, src_size, ignore_src } => {
                let (to, from) = (self.address(Space::Shared, dst)?, self.address(Space::Global, src)?);
                let site = CopySite {
                    to: (to.base, to.offset),
                    from: (from.base, from.offset),
                    size: *size,
                    read: src_size.map(|bytes| self.word(bytes)),
                    ignores: ignore_src.map(|predicate| self.predicate(predicate)),
                };
                let site = enter(&mut self.function.copies, site);
                self.emit(Op::lanes::<copies::Copy>(), 0, [0; 3], site);
                Ok(())
            }
            AsyncOp::MbarrierArrive { noinc, space, addr } => {
                self.emit_mbarrier(Kind::ArriveOfCopies { counted: *noinc }, *space, addr)
            }
            // Copies are done when they are issued: nothing is pending, and there is nothing to wait for.
            AsyncOp::CommitGroup
            | AsyncOp::WaitGroup(_)
            | AsyncOp::BulkCommitGroup
            | AsyncOp::BulkWaitGroup { .. }
            | AsyncOp::BulkPrefetch { .. } => Ok(()),
            AsyncOp::Bulk {
                reduce,
                scope,
                dst_space,
                src_space,
                dst,
                src,
                size,
                mbarrier,
                multicast,
                byte_mask,
                left_out_before,
                left_out_behind,
            } => {
                let site = BulkSite {
                    reduce: *reduce,
                    scope: scope.map(super::observe::scope),
                    to: self.at(*dst_space, dst)?,
                    from: self.at(*src_space, src)?,
                    size: self.word(*size),
                    mbarrier: mbarrier.as_ref().map(|object| self.at(Space::SharedCluster, object)).transpose()?,
                    multicast: multicast.map(|mask| self.word(mask)),
                    byte_mask: byte_mask.map(|mask| self.word(mask)),
                    left_out: [left_out_before, left_out_behind].map(|bytes| bytes.map(|bytes| self.word(bytes))),
                };
                let site = enter(&mut self.function.bulk_copies, site);
                self.emit(Op::scalar(bulk::bulk), 0, [0; 3], site);
                Ok(())
            }
            AsyncOp::Store { ty, from: _, src, dst, mbarrier } => {
                let src = src.iter().map(|&value| self.value(*ty, value)).collect::<Decoded<Vec<_>>>()?;
                self.remote(None, *ty, src, [dst, mbarrier])
            }
            AsyncOp::Reduce { op, ty, src, dst, mbarrier } => {
                let src = vec![self.value(*ty, *src)?];
                self.remote(Some(*op), *ty, src, [dst, mbarrier])
            }
            AsyncOp::Clear { dst, space, size } => {
                let (at, a) = (self.at(*space, dst)?, self.double(*size));
                let at = enter(&mut self.function.cleared, at);
                self.emit(Op::scalar(bulk::clear), 0, [a, 0, 0], at);
                Ok(())
            }
            AsyncOp::TryCancel { space, dst, mbarrier, multicast } => {
                let site = CancelSite { to: self.at(*space, dst)?, mbarrier: self.at(*space, mbarrier)? };
                let site = enter(&mut self.function.cancels, site);
                self.emit(Op::scalar(bulk::try_cancel), 0, [u32::from(*multicast), 0, 0], site);
                Ok(())
            }
            AsyncOp::Tensor(op) => self.tensor(op),
            AsyncOp::ReplaceInMap { field, ordinal, space, map, ty, value } => {
                let value = self.value(*ty, *value)?;
                let change = MapChange::Replace { field: *field, ordinal: *ordinal, map: self.at(*space, map)?, value };
                self.map_change(change)
            }
            AsyncOp::CopyMap { dst, src, size: _ } => {
                let change = MapChange::Copy { to: self.at(Space::Global, dst)?, from: self.at(Space::Shared, src)? };
                self.map_change(change)
            }
        }
    }

    fn at(&mut self, space: Space, address: &Address) -> Decoded<At> {
        let Location { space, base, offset } = self.address(space, address)?;
        Ok(At { space, base, offset })
    }

    fn remote(
        &mut self,
        reduce: Option<AtomicOp>,
        ty: ScalarType,
        src: Vec<Slot>,
        [to, mbarrier]: [&Address; 2],
    ) -> Decoded {
        let (to, mbarrier) = (self.at(Space::SharedCluster, to)?, self.at(Space::SharedCluster, mbarrier)?);
        let site = enter(&mut self.function.remotes, RemoteSite { reduce, ty, src, to, mbarrier });
        self.emit(Op::scalar(bulk::remote), 0, [0; 3], site);
        Ok(())
    }

    fn map_change(&mut self, change: MapChange) -> Decoded {
        let site = enter(&mut self.function.map_changes, change);
        self.emit(Op::scalar(tensor::change_map), 0, [0; 3], site);
        Ok(())
    }

    fn tensor(&mut self, op: &TensorOp) -> Decoded {
        let transfer = match &op.transfer {
            TensorTransfer::Load { space, dst, mbarrier, multicast } => Transfer::Load {
                to: self.at(*space, dst)?,
                mbarrier: self.at(Space::SharedCluster, mbarrier)?,
                multicast: multicast.map(|mask| self.word(mask)),
            },
            TensorTransfer::Store { reduce, src } => {
                Transfer::Store { reduce: *reduce, from: self.at(Space::Shared, src)? }
            }
            // What a copy would not fail at, and it itself does not.
            TensorTransfer::Prefetch => return Ok(()),
        };
        let site = TensorSite {
            transfer,
            im2col: op.im2col,
            rows_apart: op.rows_apart,
            map: self.at(Space::Generic, &op.map)?,
            coordinates: op.coordinates.iter().map(|&at| self.word(at)).collect(),
            offsets: op.offsets.iter().map(|&offset| self.word(offset)).collect(),
        };
        let site = enter(&mut self.function.tensors, site);
        self.emit(Op::scalar(tensor::tensor), 0, [0; 3], site);
        Ok(())
    }
}
