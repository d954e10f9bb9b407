//! The observed form of a kernel: what an observer is told, before and behind the instructions that it is about.
//!
//! The instructions themselves are those of the plain form. Sums of products ask first whether their loads may be told of together
//! ([`CtaObserver::reads`](warploom_exec::observe::CtaObserver::reads)), and their registers ([`CtaObserver::steps`](warploom_exec::observe::CtaObserver::steps)).
//! What is run ahead reads nothing but what the launch gives: an observer that follows each instruction is told, where the kernel begins, which registers
//! that has written.

use warploom_exec::fault::{AccessKind, Site};
use warploom_exec::observe::{Copies, Proxy, Scope, Semantics, Use, Wants};
use warploom_ptx::ir::{
    self, Address, AsyncOp, AtomicOp, BarrierOp, BarrierReduction, Base as IrBase, CallArg, FenceOp, FunctionKind,
    Inst, MatrixOp, MbarrierKind, Op as Ir, Operand, Reg, Role, ScalarType, Space, Storage, Terminator, TerminatorKind,
    TextureOp,
};

use super::access::Location;
use super::pieces::{Choice, choices, pieces};
use super::{Decoded, Decoder, bump, enter};
use crate::isa::Op;
use crate::machine::NO_GUARD;
use crate::memory::StateSpace;
use crate::ops::observe::{
    AccessSite, Chosen, Event, ObjectOp, StepEvent, TellAccess, ToldExchange, ToldVote, observe,
};
use crate::ops::{logic, moves};

/// What is told behind an instruction, under this guard.
#[derive(Default)]
pub(super) struct Behind {
    event: Option<Event>,
    guard: u32,
}

impl Decoder<'_> {
    /// Tells what comes before an instruction; what is to be told behind it.
    pub(super) fn observe(&mut self, inst: &Inst) -> Decoded<Behind> {
        let Some(wants) = self.context.observed else { return Ok(Behind::default()) };
        if !self.is_told(wants, inst) {
            return Ok(Behind::default());
        }
        self.latch_guard(inst);
        if wants.steps {
            self.tell_step(inst);
        }
        let event = self.event(inst)?;
        Ok(Behind { event, guard: self.guard })
    }

    /// Whether there is something about an instruction that an observer wants.
    fn is_told(&self, wants: Wants, inst: &Inst) -> bool {
        let accesses = match &inst.op {
            Ir::Ld { .. } | Ir::St { .. } | Ir::Atom { .. } | Ir::Matrix(_) | Ir::Texture(_) => true,
            Ir::Async(op) => !is_order_of_copies(op),
            _ => false,
        };
        wants.steps || if accesses { wants.accesses } else { wants.order }
    }

    /// Tells what comes behind an instruction.
    pub(super) fn observe_behind(&mut self, behind: Behind) {
        if let Some(event) = behind.event {
            self.guard = behind.guard;
            self.tell(event);
        }
    }

    /// An instruction may write the register that guards it.
    fn latch_guard(&mut self, inst: &Inst) {
        let Some(guard) = inst.guard else { return };
        if inst.operands().iter().any(|operand| operand.def() == Some(guard.reg)) {
            let latched = bump(&mut self.function.layout.predicates, 1);
            let operand = std::mem::replace(&mut self.guard, NO_GUARD);
            self.emit(Op::scalar(logic::predicate_table), latched, [operand, operand, 0], 0b1000);
            self.guard = latched;
        }
    }

    fn tell(&mut self, event: Event) {
        let number = self.function.code.len() as u32;
        let op = if let Event::Access { .. } = event { Op::lanes::<TellAccess>() } else { Op::scalar(observe) };
        let index = enter(&mut self.function.observed, event);
        self.emit(op, number, [self.number, 0, 0], index);
    }

    /// The 32-bit row of an operand that is asked for again behind the instruction, which may write it.
    fn kept(&mut self, inst: &Inst, operand: Operand) -> u32 {
        let row = self.word(operand);
        let written = |reg: Reg| inst.operands().iter().any(|operand| operand.def() == Some(reg));
        if !operand.reg().is_some_and(written) {
            return row;
        }
        let copy = self.temporary32();
        self.emit(Op::lanes::<moves::Mov32>(), copy, [row, 0, 0], 0);
        copy
    }

    /// What is told of an exchange when its lanes have come, in place of a step before it: lanes get what others hold.
    pub(super) fn told_exchange(&mut self, own: &[Operand], given: Operand, to: [Option<Reg>; 2]) -> Option<u32> {
        self.context.observed.filter(|wants| wants.steps)?;
        let own = own.iter().filter_map(|operand| Some(operand.reg()?.0)).collect();
        let writes = to.iter().flatten().map(|reg| reg.0).collect();
        let site = Site(u64::from(self.number) << 32 | self.function.code.len() as u64);
        let told = ToldExchange { site, own, given: given.reg().map(|reg| reg.0), writes };
        Some(enter(&mut self.function.told_exchanges, told))
    }

    /// The same of predicates that threads give to a barrier.
    pub(super) fn told_vote(&mut self, op: BarrierReduction, given: Reg, written: Reg) -> Option<u32> {
        self.context.observed.filter(|wants| wants.steps)?;
        let decided = match op {
            BarrierReduction::And => Some(false),
            BarrierReduction::Or => Some(true),
            BarrierReduction::Popc => None,
        };
        let site = Site(u64::from(self.number) << 32 | self.function.code.len() as u64);
        let told = ToldVote { site, given: given.0, written: written.0, decided };
        Some(enter(&mut self.function.told_votes, told))
    }

    fn tell_step(&mut self, inst: &Inst) {
        if let Ir::Barrier(_) = inst.op {
            return self.tell_barrier(&inst.operands());
        }
        if let Ir::Shfl { .. } | Ir::Vote { .. } | Ir::Match { .. } | Ir::Redux { .. } = inst.op {
            return self.tell_guards(&inst.operands());
        }
        let memory = matches!(inst.op, Ir::Ld { .. } | Ir::St { .. } | Ir::Atom { .. });
        let call = matches!(inst.op, Ir::Call { .. });
        let choice = |Choice { register, by }: Choice| Chosen {
            register: register.0,
            by: by.reg.0,
            predicate: self.predicate(by),
        };
        let chosen = choices(&inst.op).into_iter().map(choice).collect();
        let pieces = pieces(&inst.op);
        self.tell_registers(&inst.operands(), StepEvent { memory, call, pieces, chosen, ..StepEvent::default() });
    }

    /// A guard decides for all lanes; what it guards is about those that take part.
    fn tell_registers(&mut self, operands: &[ir::OperandRef], step: StepEvent) {
        self.tell_guards(operands);
        let others: Vec<_> = operands.iter().filter(|operand| operand.role != Role::Guard).collect();
        let used = |role: Role| match role {
            Role::Address | Role::Callee | Role::Opaque => Use::Address,
            Role::Use | Role::Def | Role::Guard => Use::Value,
        };
        let reads = others.iter().filter_map(|operand| Some((operand.read()?.0, used(operand.role)))).collect();
        let writes = others.iter().filter_map(|operand| Some(operand.def()?.0)).collect();
        self.tell(Event::Step(StepEvent { reads, writes, ..step }));
    }

    /// Which barrier, of how many threads or of which lanes, decides who waits for whom. What `barrier.red` does with predicates is told when threads
    /// arrive, and when all have ([`Decoder::told_vote`]).
    fn tell_barrier(&mut self, operands: &[ir::OperandRef]) {
        self.tell_guards(operands);
        let others = operands.iter().filter(|operand| operand.role != Role::Guard);
        let words = others.filter_map(|operand| operand.read()).filter(|&reg| self.ty(reg) != ScalarType::Pred);
        let reads: Vec<_> = words.map(|reg| (reg.0, Use::Decides)).collect();
        if !reads.is_empty() {
            self.tell(Event::Step(StepEvent { reads, ..StepEvent::default() }));
        }
    }

    fn tell_guards(&mut self, operands: &[ir::OperandRef]) {
        let guards = operands.iter().filter(|operand| operand.role == Role::Guard);
        let reads: Vec<_> = guards.filter_map(|operand| Some((operand.read()?.0, Use::Decides))).collect();
        if !reads.is_empty() {
            let guard = std::mem::replace(&mut self.guard, NO_GUARD);
            self.tell(Event::Step(StepEvent { reads, ..StepEvent::default() }));
            self.guard = guard;
        }
    }

    /// At the start of a function.
    pub(super) fn observe_entry(&mut self) {
        if !self.context.observed.is_some_and(|wants| wants.steps) {
            return;
        }
        if self.source.kind == FunctionKind::Kernel {
            let writes: Vec<u32> = self.hoisted.written_ahead().map(|(reg, _)| reg.0).collect();
            if !writes.is_empty() {
                self.guard = NO_GUARD;
                self.tell(Event::Step(StepEvent { writes, ..StepEvent::default() }));
            }
        } else {
            let registers = |params: &[ir::Param]| {
                params
                    .iter()
                    .map(|param| match param.storage {
                        Storage::Register(reg) => Some(reg.0),
                        Storage::Memory { .. } => None,
                    })
                    .collect()
            };
            self.function.crossings.parameters = registers(&self.source.params);
            self.function.crossings.results = registers(&self.source.returns);
            self.guard = NO_GUARD;
            self.tell(Event::Entered);
        }
    }

    /// Before the end of a block.
    pub(super) fn observe_end(&mut self, terminator: &Terminator) {
        let Some(wants) = self.context.observed else { return };
        let device = self.source.kind == FunctionKind::Device;
        if wants.steps {
            let mut operands = terminator.operands();
            if let TerminatorKind::BrxIdx { .. } = terminator.kind {
                operands.iter_mut().for_each(|operand| operand.role = Role::Guard);
            }
            if !operands.is_empty() {
                self.tell_registers(&operands, StepEvent::default());
            }
        }
        match terminator.kind {
            TerminatorKind::Ret { .. } if device && wants.steps => self.tell(Event::Leaving),
            TerminatorKind::Ret { .. } if device => {}
            TerminatorKind::Ret { .. } | TerminatorKind::Exit if !wants.order => {}
            TerminatorKind::Ret { .. } | TerminatorKind::Exit => self.tell(Event::Exit),
            TerminatorKind::Next
            | TerminatorKind::Bra { .. }
            | TerminatorKind::BrxIdx { .. }
            | TerminatorKind::Trap => {}
        }
    }

    /// Tells what comes before; what comes behind.
    fn event(&mut self, inst: &Inst) -> Decoded<Option<Event>> {
        match &inst.op {
            Ir::Ld { space, ty, semantics, scope, dst, addr, .. } => {
                let registers = dst.iter().map(|reg| reg.0).collect();
                let site = self.access_site(AccessKind::Load, (*space, addr), (*ty, dst.len()), registers)?;
                let site = AccessSite { semantics: self::semantics(*semantics), scope: self::scope(*scope), ..site };
                // A kernel's parameters are whole, and its own.
                let own = site.space == StateSpace::Param && matches!(addr.base, IrBase::ParamFrame);
                if own && !self.context.observed.is_some_and(|wants| wants.steps) {
                    return Ok(None);
                }
                let behind = site.semantics != Semantics::Weak && self.tells_order();
                self.tell(Event::Access { site: site.clone(), compared: None, behind });
                Ok(behind.then_some(Event::Accessed { site, old: None }))
            }
            Ir::St { space, ty, semantics, scope, src, addr, .. } => {
                let registers = src.iter().map(|value| number(*value)).collect();
                let site = self.access_site(AccessKind::Store, (*space, addr), (*ty, src.len()), registers)?;
                let stored = src.iter().map(|&value| self.value(*ty, value)).collect::<Decoded<_>>()?;
                let (semantics, scope) = (self::semantics(*semantics), self::scope(*scope));
                let global = matches!(site.space, StateSpace::Global | StateSpace::Generic);
                let behind = global && self.tells_stores();
                let site = AccessSite { semantics, scope, stored, ..site };
                self.tell(Event::Access { site, compared: None, behind: false });
                Ok(behind.then_some(Event::Stored))
            }
            Ir::Atom { op, space, ty, semantics, scope, dst, addr, b, .. } => {
                let registers = dst.iter().flatten().map(|reg| reg.0).collect();
                let site = self.access_site(AccessKind::Atomic, (*space, addr), (*ty, b.len()), registers)?;
                let site = AccessSite { semantics: self::semantics(*semantics), scope: self::scope(*scope), ..site };
                let (mut compared, mut old) = (None, None);
                if let (AtomicOp::Cas, Some([result]), [value]) = (op, dst.as_deref(), b.as_slice()) {
                    compared = Some(self.value(*ty, *value)?);
                    old = Some((self.slot(*result)?, ty.bytes()));
                }
                let behind = self.tells_order();
                self.tell(Event::Access { site: site.clone(), compared, behind });
                Ok(behind.then_some(Event::Accessed { site, old }))
            }
            Ir::Barrier(op) => Ok(self.barrier_event(inst, op)),
            Ir::Fence(FenceOp::Thread { semantics, scope, .. }) => {
                self.tell(Event::Fence { semantics: self::semantics(*semantics), scope: self::scope(*scope) });
                Ok(None)
            }
            Ir::Fence(FenceOp::MbarrierInit) => {
                self.tell(Event::Fence { semantics: Semantics::Release, scope: Scope::Cluster });
                Ok(None)
            }
            Ir::Fence(FenceOp::Proxy(fence)) => {
                // Through an alias all memory is accessed, so that one way of it orders what a fence of the threads does.
                if let (ir::Proxy::Alias, Some(semantics), Some(scope)) = (fence.proxy, fence.semantics, fence.scope) {
                    self.tell(Event::Fence { semantics: self::semantics(semantics), scope: self::scope(scope) });
                }
                self.tell(Event::ProxyFence);
                Ok(None)
            }
            Ir::Shfl { sync: true, membermask, .. }
            | Ir::Vote { sync: true, membermask, .. }
            | Ir::Match { membermask, .. }
            | Ir::Redux { membermask, .. }
            | Ir::Elect { membermask, .. } => Ok(Some(self.warp_event(inst, *membermask, false))),
            Ir::Mbarrier(op) => self.mbarrier_event(op),
            Ir::Async(op) => self.async_event(op),
            Ir::Matrix(op) => {
                let (tiles, runs) = (self.function.tiles.len() as u32, self.function.fragments.len() as u32);
                match &**op {
                    MatrixOp::LdMatrix { .. } => self.tell(Event::Tiles(tiles, AccessKind::Load)),
                    MatrixOp::StMatrix { .. } => self.tell(Event::Tiles(tiles, AccessKind::Store)),
                    MatrixOp::WmmaLoad { .. } => self.tell(Event::Runs(runs, AccessKind::Load)),
                    MatrixOp::WmmaStore { .. } => {
                        self.tell(Event::Runs(runs, AccessKind::Store));
                        return Ok(self.tells_stores().then_some(Event::Stored));
                    }
                    _ => {}
                }
                Ok(None)
            }
            Ir::Texture(op) => {
                let texels = match &**op {
                    TextureOp::Tex { dst, .. } | TextureOp::Load { dst, .. } => dst.iter().map(|reg| reg.0).collect(),
                    TextureOp::Store { src, .. } => src.iter().map(|value| number(*value)).collect(),
                    TextureOp::Reduce { .. } => Vec::new(),
                    TextureOp::Query { .. } | TextureOp::IsType { .. } => return Ok(None),
                };
                self.tell(Event::Texels { registers: texels });
                Ok(None)
            }
            Ir::Call { returns, args, .. } => {
                let register = |arg: &CallArg| match arg {
                    CallArg::Value { value: Operand::Reg(reg), .. } => Some(reg.0),
                    CallArg::Value { .. } | CallArg::Param { .. } => None,
                };
                let crossing = [args, returns].map(|list| list.iter().map(register).collect());
                self.function.crossings.calls.push(crossing);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn tells_order(&self) -> bool {
        self.context.observed.is_some_and(|wants| wants.order)
    }

    fn tells_stores(&self) -> bool {
        self.context.observed.is_some_and(|wants| wants.stores)
    }

    fn access_site(
        &mut self,
        kind: AccessKind,
        (space, addr): (Space, &Address),
        (ty, count): (ScalarType, usize),
        registers: Vec<u32>,
    ) -> Decoded<AccessSite> {
        let Location { space, base, offset } = self.address(space, addr)?;
        let bytes = ty.bytes() * count as u32;
        let (semantics, scope, proxy) = (Semantics::Weak, Scope::Cta, Proxy::Generic);
        let align = if kind == AccessKind::Atomic { ty.bytes() } else { bytes };
        let stored = Vec::new();
        Ok(AccessSite { kind, space, base, offset, bytes, align, semantics, scope, proxy, registers, stored })
    }

    fn barrier_event(&mut self, inst: &Inst, op: &BarrierOp) -> Option<Event> {
        let (id, count, waits, aligned) = match *op {
            BarrierOp::Sync { id, count, aligned } => (id, count, true, aligned),
            BarrierOp::Arrive { id, count, aligned } => (id, Some(count), false, aligned),
            BarrierOp::Reduce { id, count, aligned, .. } => (id, count, true, aligned),
            BarrierOp::Warp { membermask } => return Some(self.warp_event(inst, membermask, true)),
            BarrierOp::ClusterArrive { semantics, aligned: _ } => {
                self.tell(Event::ClusterArrive { semantics: self::semantics(semantics) });
                return None;
            }
            BarrierOp::ClusterWait { .. } => return Some(Event::ClusterPass),
            BarrierOp::Yield => return None,
        };
        let (id, count) = (self.kept(inst, id), count.map(|count| self.word(count)));
        self.tell(Event::Arrive { id, count, waits, aligned });
        waits.then_some(Event::Pass { id })
    }

    fn warp_event(&mut self, inst: &Inst, members: Operand, orders: bool) -> Event {
        let members = self.kept(inst, members);
        self.tell(Event::Warp { members, orders });
        Event::WarpPass { members, orders }
    }

    fn mbarrier_event(&mut self, op: &ir::MbarrierOp) -> Decoded<Option<Event>> {
        let object = match op.kind {
            MbarrierKind::Init { count, v1 } => ObjectOp::Init { count: self.word(count), v1 },
            MbarrierKind::Inval => ObjectOp::Inval,
            MbarrierKind::ExpectTx { bytes } => ObjectOp::ExpectTx { bytes: self.word(bytes) },
            MbarrierKind::CompleteTx { bytes } => ObjectOp::CompleteTx { bytes: self.word(bytes) },
            MbarrierKind::Arrive { drop: drops, expect_tx, count, .. } => {
                let operand = count.map(|count| self.word(count));
                let (expects, count) = if expect_tx { (operand, None) } else { (None, operand) };
                ObjectOp::Arrive { drops, expects, count }
            }
            MbarrierKind::CheckLayout { .. } => ObjectOp::CheckLayout,
            MbarrierKind::Wait { .. } => ObjectOp::Test,
            MbarrierKind::PendingCount { .. } => return Ok(None),
        };
        let Some(address) = &op.addr else { return Ok(None) };
        let (semantics, scope) = (semantics(op.semantics), scope(op.scope));
        self.object_event(object, (op.space, address), semantics, scope)?;
        Ok(match op.kind {
            MbarrierKind::Wait { dst, .. } => {
                Some(Event::MbarrierPass { found: self.predicate_out(dst), semantics, scope })
            }
            _ => None,
        })
    }

    fn object_event(
        &mut self,
        op: ObjectOp,
        (space, address): (Space, &Address),
        semantics: Semantics,
        scope: Scope,
    ) -> Decoded {
        let Location { space, base, offset } = self.address(space, address)?;
        self.tell(Event::Mbarrier { space, base, offset, op, semantics, scope });
        Ok(())
    }

    fn async_event(&mut self, op: &AsyncOp) -> Decoded<Option<Event>> {
        let event = match op {
            AsyncOp::Copy { .. } => Event::Copy(self.function.copies.len() as u32),
            AsyncOp::CommitGroup => Event::Copies(Copies::Commit { bulk: false }),
            AsyncOp::WaitGroup(pending) => Event::Copies(Copies::Wait { bulk: false, pending: *pending }),
            AsyncOp::BulkCommitGroup => Event::Copies(Copies::Commit { bulk: true }),
            AsyncOp::BulkWaitGroup { pending, .. } => {
                Event::Copies(Copies::Wait { bulk: true, pending: Some(*pending) })
            }
            AsyncOp::MbarrierArrive { noinc, space, addr } => {
                let op = ObjectOp::ArriveOfCopies { counted: *noinc };
                self.object_event(op, (*space, addr), Semantics::Release, Scope::Cta)?;
                return Ok(None);
            }
            AsyncOp::BulkPrefetch { .. } => return Ok(None),
            AsyncOp::Bulk { .. }
            | AsyncOp::Tensor(_)
            | AsyncOp::Store { .. }
            | AsyncOp::Reduce { .. }
            | AsyncOp::Clear { .. }
            | AsyncOp::ReplaceInMap { .. }
            | AsyncOp::CopyMap { .. }
            | AsyncOp::TryCancel { .. } => Event::Here,
        };
        self.tell(event);
        Ok(None)
    }
}

/// Whether it accesses no memory, and orders copies.
fn is_order_of_copies(op: &AsyncOp) -> bool {
    matches!(
        op,
        AsyncOp::CommitGroup
            | AsyncOp::WaitGroup(_)
            | AsyncOp::BulkCommitGroup
            | AsyncOp::BulkWaitGroup { .. }
            | AsyncOp::MbarrierArrive { .. }
    )
}

/// A register's number, of a value that may be a constant.
fn number(value: Operand) -> u32 {
    value.reg().map_or(warploom_exec::observe::NO_REGISTER, |reg| reg.0)
}

fn semantics(semantics: ir::Semantics) -> Semantics {
    match semantics {
        ir::Semantics::Weak => Semantics::Weak,
        ir::Semantics::Volatile => Semantics::Volatile,
        ir::Semantics::Relaxed => Semantics::Relaxed,
        ir::Semantics::Acquire => Semantics::Acquire,
        ir::Semantics::Release => Semantics::Release,
        ir::Semantics::AcqRel => Semantics::AcqRel,
        ir::Semantics::Sc => Semantics::Sc,
        ir::Semantics::Mmio => Semantics::Mmio,
    }
}

pub(super) fn scope(scope: ir::Scope) -> Scope {
    match scope {
        ir::Scope::Cta => Scope::Cta,
        ir::Scope::Cluster => Scope::Cluster,
        ir::Scope::Gpu => Scope::Gpu,
        ir::Scope::Sys => Scope::Sys,
    }
}
