//! Asynchronous copies (PTX ISA 9.7.9.25) and the mbarriers that tell when they are done (9.7.13.15).

use warploom_ptx::ir::{AsyncOp, MbarrierKind, MbarrierOp, Space};

use super::access::Location;
use super::{Decoded, Decoder, Refused, enter};
use crate::isa::Op;
use crate::ops::copies::{self, CopySite};
use crate::ops::mbarrier::{self, Kind, MbarrierSite, Phase};

impl Decoder<'_> {
    pub(super) fn mbarrier(&mut self, op: &MbarrierOp) -> Decoded {
        let kind = match op.kind {
            MbarrierKind::Init { count } => Kind::Init { count: self.word(count) },
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
            MbarrierKind::PendingCount { dst, state } => {
                let (a, d) = (self.double(state), self.word_out(dst, false));
                self.emit(Op::scalar(mbarrier::pending_count), d, [a, 0, 0], 0);
                return Ok(());
            }
        };
        let address = op.addr.as_ref().ok_or(Refused::Unsupported)?;
        self.emit_mbarrier(kind, op.space, address)
    }

    fn emit_mbarrier(&mut self, kind: Kind, space: Space, address: &warploom_ptx::ir::Address) -> Decoded {
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
                self.emit(Op::scalar(copies::copy), 0, [0; 3], site);
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
            AsyncOp::Bulk { .. } => Err(Refused::Unsupported),
        }
    }
}
