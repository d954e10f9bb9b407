//! Barriers, fences and mbarriers (PTX ISA 9.7.13).

use super::super::body::{BodyLowering, Lower};
use super::super::operand::{Value, Values};
use super::asynchronous::space_word;
use super::{Args, scope, semantics, space};
use crate::diagnostic::Code;
use crate::ir::{
    BarrierOp, BarrierReduction, FenceOp, MbarrierKind, MbarrierOp, Op, Operand, Proxy, ProxyFence, Reg, ScalarType,
    Scope, Semantics, Space,
};
use crate::isa::{Modifiers, Opcode};
use crate::syntax::Span;
use crate::syntax::ast::{self, OperandKind};

/// The space that `.sync_restrict` names.
fn restriction(m: &Modifiers) -> Option<Space> {
    m.find(|word| {
        let space = word.strip_prefix("sync_restrict::")?;
        space_word(space.strip_suffix("::read").unwrap_or(space))
    })
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
            // What orders reads through aliases (`fence.alias`) is a fence of that proxy without the word.
            Opcode::Membar | Opcode::Fence if m.any(|word| matches!(word, "proxy" | "sync_restrict::read")) => {
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
    pub(super) fn check_order(&mut self, m: &Modifiers, span: Span) -> Lower<()> {
        let opcode = self.opcode();
        match (semantics(m).filter(|order| *order != Semantics::Weak), scope(m)) {
            (Some(order), None) => {
                let message = format!("Modifier '.{order}' requires scope with '{opcode}' instruction");
                self.refuse(Code::Modifier, span, message)
            }
            (None, Some(scope)) => {
                let message = format!("Modifier '.{scope}' requires order with '{opcode}' instruction");
                self.refuse(Code::Modifier, span, message)
            }
            _ => Ok(()),
        }
    }

    /// The operands of a wait for a primary phase, without the registers for what asynchronous operations report: these get nothing, since none that is
    /// executed reports anything, so that both phases of an object end together.
    fn reporting_wait(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Values> {
        let written: Vec<ast::Operand> = (1..args.0.len()).filter_map(|index| args.raw(index).copied()).collect();
        let (dst, report) = args.pair(0);
        let at = written.iter().position(|operand| matches!(operand.kind, OperandKind::Address(_)));
        let (value, rest) = match at {
            Some(0) => (None, &written[..]),
            Some(1) => (Some(&written[0]), &written[1..]),
            _ => return self.mismatch(span, format_args!("argument 1 must be an address in brackets")),
        };
        let hints = usize::from(m.has("try_wait"));
        let (place, state, hint) = match *rest {
            [place, state] => (place, state, None),
            [place, state, hint] if hints > 0 => (place, state, Some(hint)),
            _ => return self.mismatch(span, format_args!("{} operands, {} expected", 1 + written.len(), 3 + hints)),
        };
        let mut nothing = |dst, ty| self.after.push(Op::Mov { ty, dst, src: Operand::Imm(0) });
        report.into_iter().for_each(|report| nothing(report, ScalarType::Pred));
        if let Some(value) = value {
            let dst = self.destination(value, ScalarType::B8, false)?;
            self.after.push(Op::Mov { ty: ScalarType::B8, dst, src: Operand::Imm(0) });
        }
        let mut values: Values = std::iter::once(Value::Dst(dst)).collect();
        values.push(Value::Place(self.place(&place)?));
        let of_state = if m.has("parity") { ScalarType::U32 } else { ScalarType::B64 };
        values.push(Value::Src(self.source(&state, of_state, false)?));
        if let Some(hint) = hint {
            values.push(Value::Src(self.source(&hint, ScalarType::U32, false)?));
        }
        Ok(values)
    }

    fn mbarrier(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Op> {
        self.check_order(m, span)?;
        let semantics = semantics(m).unwrap_or(Semantics::Weak);
        let scope = scope(m).unwrap_or(Scope::Cta);
        if m.has("pending_count") {
            let kind = MbarrierKind::PendingCount { dst: args.dst(0), state: args.src(1) };
            return Ok(Op::Mbarrier(Box::new(MbarrierOp { kind, space: Space::Shared, addr: None, semantics, scope })));
        }
        let arrives = m.any(|word| matches!(word, "arrive" | "arrive_drop"));
        let waits = m.any(|word| matches!(word, "test_wait" | "try_wait"));
        let read;
        let args = match waits && m.has("phase_type::primary") {
            true => {
                read = self.reporting_wait(m, args, span)?;
                Args(&read)
            }
            false => args,
        };
        let at = args.0.iter().position(|value| matches!(value, Value::Place(_))).unwrap_or(0);
        let place = *args.place(at);
        let space = self.agree(space(m), &place)?;
        if space == Space::SharedCluster && arrives && !self.is_sink(args.dst(0)) {
            let message =
                "Sink '_' is expected as a destination operand for instruction 'mbarrier' with '.shared::cluster'";
            return self.refuse(Code::Operand, span, message);
        }
        let kind = match () {
            () if m.has("init") => MbarrierKind::Init { count: args.src(1), v1: m.has("layout::v1") },
            () if m.has("check_layout") => MbarrierKind::CheckLayout { dst: args.dst(0), v1: m.has("layout::v1") },
            () if m.has("inval") => MbarrierKind::Inval,
            () if waits => MbarrierKind::Wait {
                blocking: m.has("try_wait"),
                parity: m.has("parity"),
                dst: args.pair(0).0,
                state: args.src(at + 1),
                time_hint: args.optional(at + 2),
            },
            () if arrives => MbarrierKind::Arrive {
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
