//! Synchronisation and exchange between threads (PTX ISA 9.7.9.6, 9.7.13).

use warploom_ptx::ir::{BarrierOp, BarrierReduction, Op as Ir, Operand, ScalarType, ShflMode};

use super::{Decoded, Decoder, Refused, enter};
use crate::exchange::ExchangeKind;
use crate::isa::Op;
use crate::ops::barrier::{self, BarrierKind, BarrierSite};
use crate::ops::warp::{self, Exchange, Members, NO_PREDICATE, Permutation, Source};
use crate::ops::{cluster, control};
use crate::program::Inst;

impl Decoder<'_> {
    pub(super) fn sync(&mut self, op: &Ir) -> Decoded {
        if let Some(kind) = ExchangeKind::of(op) {
            self.exchange_of(kind, op);
            return Ok(());
        }
        match op {
            Ir::Barrier(op) => self.barrier(op)?,
            Ir::Fence(_) => self.emit(Op::scalar(barrier::fence_all), 0, [0; 3], 0),
            &Ir::Activemask { dst } => {
                let d = self.word_out(dst, false);
                self.emit(Op::scalar(warp::activemask), d, [0; 3], 0);
            }
            Ir::Mbarrier(op) => self.mbarrier(op)?,
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    fn exchange_of(&mut self, kind: ExchangeKind, op: &Ir) {
        match *op {
            Ir::Shfl { mode, sync, dst, dst_p, a, b, c, membermask } => {
                let site = Exchange {
                    kind,
                    a: Source::Word(self.word(a)),
                    b: self.word(b),
                    c: self.word(c),
                    members: self.members(sync, membermask),
                    d: Some(self.word_out(dst, false)),
                    p: dst_p.map(|p| self.predicate_out(p)),
                    told: self.told_exchange(&[b, c, membermask], a, [Some(dst), dst_p]),
                };
                let told = site.told.is_some();
                self.exchange(site);
                let all = |operand: Operand| matches!(operand, Operand::Imm(members) if members as u32 == u32::MAX);
                if let (Operand::Imm(b), Operand::Imm(c)) = (b, c)
                    && (!sync || all(membermask))
                    && !told
                {
                    self.permute(mode, [b as u32, c as u32]);
                }
            }
            Ir::Vote { mode: _, sync, dst, src, membermask } => {
                let source = Source::Predicate(self.predicate(src));
                let members = self.members(sync, membermask);
                let ballot = self.ty(dst) != ScalarType::Pred;
                let (d, p) = if ballot {
                    (Some(self.word_out(dst, false)), None)
                } else {
                    (None, Some(self.predicate_out(dst)))
                };
                let told = self.told_exchange(&[membermask], Operand::Reg(src.reg), [Some(dst), None]);
                self.exchange(Exchange { kind, a: source, b: 0, c: 0, members, d, p, told });
            }
            Ir::Match { all: _, ty, dst, dst_p, a, membermask } => {
                let source = if ty.bits() > 32 { Source::Double(self.double(a)) } else { Source::Word(self.word(a)) };
                let members = self.members(true, membermask);
                let d = Some(self.word_out(dst, false));
                let p = dst_p.map(|p| self.predicate_out(p));
                let told = self.told_exchange(&[membermask], a, [Some(dst), dst_p]);
                self.exchange(Exchange { kind, a: source, b: 0, c: 0, members, d, p, told });
            }
            Ir::Redux { dst, a, membermask, .. } => {
                let source = Source::Word(self.word(a));
                let members = self.members(true, membermask);
                let d = Some(self.word_out(dst, false));
                let told = self.told_exchange(&[membermask], a, [Some(dst), None]);
                self.exchange(Exchange { kind, a: source, b: 0, c: 0, members, d, p: None, told });
            }
            Ir::Elect { dst, dst_p, membermask } => {
                let members = self.members(true, membermask);
                let d = Some(self.word_out(dst, false));
                let p = Some(self.predicate_out(dst_p));
                self.exchange(Exchange { kind, a: Source::None, b: 0, c: 0, members, d, p, told: None });
            }
            Ir::Barrier(BarrierOp::Warp { membermask }) => {
                let members = self.members(true, membermask);
                let (d, p, told) = (None, None, None);
                self.exchange(Exchange { kind, a: Source::None, b: 0, c: 0, members, d, p, told });
            }
            _ => {}
        }
    }

    fn members(&mut self, sync: bool, membermask: Operand) -> Option<Members> {
        sync.then(|| Members { row: self.word(membermask), varies: membermask.reg().is_some() })
    }

    fn exchange(&mut self, site: Exchange) {
        let index = enter(&mut self.function.exchanges, site);
        self.emit(Op::control(warp::exchange), 0, [0; 3], index);
    }

    /// Makes the shuffle that was just emitted one between constant lanes.
    fn permute(&mut self, mode: ShflMode, [b, c]: [u32; 2]) {
        let function = &mut self.function;
        let (Some(site), Some(inst)) = (function.exchanges.last(), function.code.last_mut()) else { return };
        if let Exchange { a: Source::Word(a), d: Some(d), p, .. } = *site {
            let number = enter(&mut function.permutations, Permutation::new(mode, b, c));
            let run = Op::control(warp::permute).select(self.context.isa);
            *inst = Inst { run, a, b: number, c: p.unwrap_or(NO_PREDICATE), d, ..*inst };
        }
    }

    fn barrier(&mut self, op: &BarrierOp) -> Decoded {
        let mut told = None;
        let (id, count, kind) = match *op {
            BarrierOp::Sync { id, count, aligned: _ } => (id, count, BarrierKind::Sync),
            BarrierOp::Arrive { id, count, aligned: _ } => (id, Some(count), BarrierKind::Arrive),
            BarrierOp::Reduce { op, dst, id, count, src, aligned: _ } => {
                let source = self.predicate(src);
                told = self.told_vote(op, src.reg, dst);
                let kind = match op {
                    BarrierReduction::Popc => BarrierKind::Popc { source, d: self.word_out(dst, false) },
                    BarrierReduction::And => BarrierKind::And { source, d: self.predicate_out(dst) },
                    BarrierReduction::Or => BarrierKind::Or { source, d: self.predicate_out(dst) },
                };
                (id, count, kind)
            }
            BarrierOp::Warp { .. } => return Err(Refused::Unsupported),
            BarrierOp::Yield => {
                self.emit(Op::control(control::give_way), 0, [0; 3], 0);
                return Ok(());
            }
            // Fences between CTAs that run on one thread have nothing to do; other CTAs are not concerned.
            BarrierOp::ClusterArrive { semantics: _, aligned: _ } => {
                self.emit(Op::scalar(cluster::arrive), 0, [0; 3], 0);
                return Ok(());
            }
            BarrierOp::ClusterWait { aligned: _ } => {
                self.emit(Op::control(cluster::wait), 0, [0; 3], 0);
                return Ok(());
            }
        };
        let fixed = match id {
            Operand::Imm(id) => Some(id as u32),
            Operand::Reg(_) => None,
        };
        let id = self.word(id);
        let count = count.map(|count| self.word(count));
        let site = enter(&mut self.function.barriers, BarrierSite { id, fixed, count, kind, told });
        self.emit(Op::control(barrier::barrier), 0, [0; 3], site);
        Ok(())
    }
}
