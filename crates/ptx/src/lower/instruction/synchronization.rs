//! Barriers, fences and mbarriers (PTX ISA 9.7.13).

use super::super::body::{BodyLowering, Lower};
use super::super::operand::Value;
use super::asynchronous::space_word;
use super::{Args, scope, semantics, space};
use crate::diagnostic::Code;
use crate::ir::{
    BarrierOp, BarrierReduction, FenceOp, MbarrierKind, MbarrierOp, Op, Operand, Proxy, ProxyFence, Reg, Scope,
    Semantics, Space,
};
use crate::isa::{Modifiers, Opcode};
use crate::syntax::Span;

/// The space that `.sync_restrict` names.
fn restriction(m: &Modifiers) -> Option<Space> {
    m.find(|word| word.strip_prefix("sync_restrict::").and_then(space_word))
}

impl BodyLowering<'_, '_> {
    pub(super) fn synchronization(
        &mut self,
        opcode: Opcode,
        m: &Modifiers,
        args: Args<'_>,
        span: Span,
    ) -> Lower<Option<Op>> {
        let op = match opcode {
            Opcode::Bar | Opcode::Barrier => Op::Barrier(self.barrier(opcode, m, args, span)?),
            Opcode::Membar | Opcode::Fence if m.has("proxy") => {
                Op::Fence(FenceOp::Proxy(Box::new(self.proxy_fence(m, args)?)))
            }
            Opcode::Membar => {
                let scope = match () {
                    () if m.has("cta") => Scope::Cta,
                    () if m.has("gl") => Scope::Gpu,
                    () => Scope::Sys,
                };
                Op::Fence(FenceOp::Thread { semantics: Semantics::Sc, scope, restrict: None })
            }
            Opcode::Fence if m.has("mbarrier_init") => Op::Fence(FenceOp::MbarrierInit),
            Opcode::Fence => {
                let semantics = semantics(m).unwrap_or(Semantics::AcqRel);
                let (scope, restrict) = (scope(m).unwrap_or(Scope::Sys), restriction(m));
                Op::Fence(FenceOp::Thread { semantics, scope, restrict })
            }
            _ => self.mbarrier(m, args, span)?,
        };
        Ok(Some(op))
    }

    fn proxy_fence(&mut self, m: &Modifiers, args: Args<'_>) -> Lower<ProxyFence> {
        // `membar.proxy` writes proxy and space as one word of the table, `fence.proxy` as two.
        let tensormap = match args.0.first() {
            Some(Value::Place(place)) => Some((*place, args.constant(1))),
            _ => None,
        };
        let tensormap = match tensormap {
            Some((place, size)) => {
                self.agree(Space::Generic, &place)?;
                Some((place.address, self.check_constant(1, size, 128..=128, place.span)? as u32))
            }
            None => None,
        };
        Ok(ProxyFence {
            proxy: m.find(|word| word.split('.').find_map(Proxy::from_text)).unwrap_or(Proxy::Async),
            space: m.find(|word| word.split('.').find_map(space_word)),
            semantics: semantics(m),
            scope: scope(m),
            restrict: restriction(m),
            tensormap,
        })
    }

    fn barrier(&mut self, opcode: Opcode, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<BarrierOp> {
        let aligned = opcode == Opcode::Bar || m.has("aligned");
        if m.has("cluster") {
            let semantics = semantics(m).unwrap_or(Semantics::Release);
            return Ok(if m.has("arrive") {
                BarrierOp::ClusterArrive { semantics, aligned }
            } else {
                BarrierOp::ClusterWait { aligned }
            });
        }
        if m.has("warp") {
            return Ok(BarrierOp::Warp { membermask: args.src(0) });
        }
        let is_red = m.has("red");
        let at = usize::from(is_red);
        let id = args.src(at);
        if let Operand::Imm(number) = id
            && number > 15
        {
            let message = format!("Barrier number '{number}' out of range, expected to be in range [0..15]");
            return self.refuse(Code::Operand, span, message);
        }
        let count = args.optional(at + 1);
        // 0 is all threads, but for an arrival (recorded on hardware: `tests/goldens/barrier_counts.json`).
        if let Some(Operand::Imm(number)) = count
            && (number % 32 != 0 || number == 0 && m.has("arrive"))
        {
            let message = format!(
                "Thread count '{number}' of a barrier out of range, expected to be a multiple of 32, and not 0 to arrive"
            );
            return self.refuse(Code::Operand, span, message);
        }
        if is_red {
            let op = match () {
                () if m.has("popc") => BarrierReduction::Popc,
                () if m.has("and") => BarrierReduction::And,
                () => BarrierReduction::Or,
            };
            let src = args.optional_pred(2).unwrap_or_else(|| args.pred(3));
            return Ok(BarrierOp::Reduce { op, dst: args.dst(0), id, count, src, aligned });
        }
        Ok(match count {
            Some(count) if m.has("arrive") => BarrierOp::Arrive { id, count, aligned },
            count => BarrierOp::Sync { id, count, aligned },
        })
    }

    /// Whether a destination was written as `_`: lowering then made the register, and it has no name.
    fn is_sink(&self, reg: Reg) -> bool {
        self.body.regs[reg.0 as usize].name.is_empty()
    }

    /// An order and a scope come together or not at all (PTX ISA 9.7.13.15).
    fn check_order(&mut self, m: &Modifiers, span: Span) -> Lower<()> {
        match (semantics(m), scope(m)) {
            (Some(order), None) => {
                let message = format!("Modifier '.{order}' requires scope with 'mbarrier' instruction");
                self.refuse(Code::Modifier, span, message)
            }
            (None, Some(scope)) => {
                let message = format!("Modifier '.{scope}' requires order with 'mbarrier' instruction");
                self.refuse(Code::Modifier, span, message)
            }
            _ => Ok(()),
        }
    }

    fn mbarrier(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Op> {
        self.check_order(m, span)?;
        let semantics = semantics(m).unwrap_or(Semantics::Weak);
        let scope = scope(m).unwrap_or(Scope::Cta);
        if m.has("pending_count") {
            let kind = MbarrierKind::PendingCount { dst: args.dst(0), state: args.src(1) };
            return Ok(Op::Mbarrier(Box::new(MbarrierOp { kind, space: Space::Shared, addr: None, semantics, scope })));
        }
        let has_result = m.any(|word| matches!(word, "arrive" | "arrive_drop" | "test_wait" | "try_wait"));
        let at = usize::from(has_result);
        let place = *args.place(at);
        let space = self.agree(space(m), &place)?;
        if space == Space::SharedCluster
            && m.any(|word| matches!(word, "arrive" | "arrive_drop"))
            && !self.is_sink(args.dst(0))
        {
            let message =
                "Sink '_' is expected as a destination operand for instruction 'mbarrier' with '.shared::cluster'";
            return self.refuse(Code::Operand, span, message);
        }
        let kind = match () {
            () if m.has("init") => MbarrierKind::Init { count: args.src(1) },
            () if m.has("inval") => MbarrierKind::Inval,
            () if m.has("test_wait") || m.has("try_wait") => MbarrierKind::Wait {
                blocking: m.has("try_wait"),
                parity: m.has("parity"),
                dst: args.dst(0),
                state: args.src(2),
                time_hint: args.optional(3),
            },
            () if has_result => MbarrierKind::Arrive {
                drop: m.has("arrive_drop"),
                expect_tx: m.has("expect_tx"),
                no_complete: m.has("noComplete"),
                state: (space != Space::SharedCluster).then(|| args.dst(0)),
                count: args.optional(2),
            },
            () if m.has("expect_tx") => MbarrierKind::ExpectTx { bytes: args.src(1) },
            () => MbarrierKind::CompleteTx { bytes: args.src(1) },
        };
        Ok(Op::Mbarrier(Box::new(MbarrierOp { kind, space, addr: Some(place.address), semantics, scope })))
    }
}
