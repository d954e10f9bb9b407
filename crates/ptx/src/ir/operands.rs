//! What an instruction reads and writes: the one list of operands that every pass goes by.
//!
//! [`Inst::operands`] and [`Terminator::operands`] give every register and constant with its role and the type that the instruction
//! takes it as, the guard included; nothing that an instruction reads or writes is missing from it. [`Inst::operands_mut`] gives the
//! same places for renaming, [`Inst::symbols`] what of the module an instruction refers to. No pass matches on [`Op`] to learn what is alive.

use super::{
    Address, AddressTarget, AsyncOp, BarrierOp, BarrierReduction, Base, CallArg, CallTarget, FenceOp, FunctionId,
    GlobalId, Inst, IntUnaryOp, MatrixOp, MbarrierKind, MipLevel, MulMode, Op, OpaqueRef, Operand, PolicySource,
    Predicate, PrototypeId, Reg, ScalarType, Terminator, TerminatorKind, TextureOp, VoteMode,
};
use smallvec::SmallVec;

/// What an instruction does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Writes it, in the lanes for which the guard holds.
    Def,
    /// Reads it as a value.
    Use,
    /// Reads the predicate that decides which lanes take part.
    Guard,
    /// Reads the base of an address: a register of 64 bits, or one of 32 bits, which is zero-extended.
    Address,
    /// Reads the address of the function that is called.
    Callee,
    /// Reads the handle of a texture, surface or sampler.
    Opaque,
}

impl Role {
    /// Whether the operand is read.
    pub const fn reads(self) -> bool {
        !matches!(self, Role::Def)
    }
}

/// An operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandRef {
    /// What is done with it.
    pub role: Role,
    /// As what it is read or written.
    pub ty: ScalarType,
    /// The register or constant; always a register unless `role` is [`Role::Use`].
    pub value: Operand,
}

impl OperandRef {
    /// The register that is written, if one is.
    pub fn def(&self) -> Option<Reg> {
        self.value.reg().filter(|_| self.role == Role::Def)
    }

    /// The register that is read, if one is.
    pub fn read(&self) -> Option<Reg> {
        self.value.reg().filter(|_| self.role.reads())
    }
}

/// The place of an operand in an instruction.
#[derive(Debug, PartialEq, Eq)]
pub struct OperandMut<'i> {
    /// What is done with it.
    pub role: Role,
    /// As what it is read or written.
    pub ty: ScalarType,
    /// Where it stands.
    pub place: PlaceMut<'i>,
}

/// What can stand at the place of an operand.
#[derive(Debug, PartialEq, Eq)]
pub enum PlaceMut<'i> {
    /// Only a register.
    Reg(&'i mut Reg),
    /// A register or a constant.
    Value(&'i mut Operand),
}

impl OperandMut<'_> {
    /// The register, if one stands there.
    pub fn reg(&mut self) -> Option<&mut Reg> {
        match &mut self.place {
            PlaceMut::Reg(reg) => Some(reg),
            PlaceMut::Value(Operand::Reg(reg)) => Some(reg),
            PlaceMut::Value(Operand::Imm(_)) => None,
        }
    }
}

/// A part of the module that an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Symbol {
    Global(GlobalId),
    Function(FunctionId),
    Prototype(PrototypeId),
}

/// The place of such a reference.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SymbolMut<'i> {
    Global(&'i mut GlobalId),
    Function(&'i mut FunctionId),
    Prototype(&'i mut PrototypeId),
}

/// The operands of one instruction.
pub type OperandRefs = SmallVec<[OperandRef; 6]>;

impl Inst {
    /// Every operand: the guard, then those of the operation, results first.
    pub fn operands(&self) -> OperandRefs {
        let mut seen = Seen::default();
        seen.guard(&self.guard);
        seen.op(&self.op);
        seen.operands
    }

    /// The places of the same operands, in the same order.
    pub fn operands_mut(&mut self) -> SmallVec<[OperandMut<'_>; 6]> {
        let mut seen = SeenMut::default();
        seen.guard(&mut self.guard);
        seen.op(&mut self.op);
        seen.operands
    }

    /// The variables, functions and prototypes that the instruction names.
    pub fn symbols(&self) -> SmallVec<[Symbol; 2]> {
        let mut seen = Seen::default();
        seen.op(&self.op);
        seen.symbols
    }

    /// The places of the same references.
    pub fn symbols_mut(&mut self) -> SmallVec<[SymbolMut<'_>; 2]> {
        let mut seen = SeenMut::default();
        seen.op(&mut self.op);
        seen.symbols
    }
}

impl Terminator {
    /// Every operand: the guard, then the index of a `brx.idx`.
    pub fn operands(&self) -> OperandRefs {
        let mut seen = Seen::default();
        seen.guard(&self.guard);
        seen.terminator(&self.kind);
        seen.operands
    }

    /// The places of the same operands, in the same order.
    pub fn operands_mut(&mut self) -> SmallVec<[OperandMut<'_>; 6]> {
        let mut seen = SeenMut::default();
        seen.guard(&mut self.guard);
        seen.terminator(&mut self.kind);
        seen.operands
    }
}

/// Collects the parts of an instruction.
#[derive(Default)]
struct Seen {
    operands: OperandRefs,
    symbols: SmallVec<[Symbol; 2]>,
}

impl Seen {
    fn def(&mut self, ty: ScalarType, reg: &Reg) {
        self.operands.push(OperandRef { role: Role::Def, ty, value: Operand::Reg(*reg) });
    }

    fn read(&mut self, ty: ScalarType, value: &Operand) {
        self.operands.push(OperandRef { role: Role::Use, ty, value: *value });
    }

    fn register(&mut self, role: Role, ty: ScalarType, reg: &Reg) {
        self.operands.push(OperandRef { role, ty, value: Operand::Reg(*reg) });
    }

    fn global(&mut self, id: &GlobalId) {
        self.symbols.push(Symbol::Global(*id));
    }

    fn function(&mut self, id: &FunctionId) {
        self.symbols.push(Symbol::Function(*id));
    }

    fn prototype(&mut self, id: &PrototypeId) {
        self.symbols.push(Symbol::Prototype(*id));
    }
}

/// Collects the places of the parts of an instruction.
#[derive(Default)]
struct SeenMut<'i> {
    operands: SmallVec<[OperandMut<'i>; 6]>,
    symbols: SmallVec<[SymbolMut<'i>; 2]>,
}

impl<'i> SeenMut<'i> {
    fn def(&mut self, ty: ScalarType, reg: &'i mut Reg) {
        self.register(Role::Def, ty, reg);
    }

    fn read(&mut self, ty: ScalarType, value: &'i mut Operand) {
        self.operands.push(OperandMut { role: Role::Use, ty, place: PlaceMut::Value(value) });
    }

    fn register(&mut self, role: Role, ty: ScalarType, reg: &'i mut Reg) {
        self.operands.push(OperandMut { role, ty, place: PlaceMut::Reg(reg) });
    }

    fn global(&mut self, id: &'i mut GlobalId) {
        self.symbols.push(SymbolMut::Global(id));
    }

    fn function(&mut self, id: &'i mut FunctionId) {
        self.symbols.push(SymbolMut::Function(id));
    }

    fn prototype(&mut self, id: &'i mut PrototypeId) {
        self.symbols.push(SymbolMut::Prototype(id));
    }
}

/// Where the parts of every operation stand, written down once for references of both kinds.
macro_rules! walk {
    ($collector:ty $(, $m:ident)?) => {
        impl<'i> $collector {
            fn defs(&mut self, ty: ScalarType, regs: impl IntoIterator<Item = &'i $($m)? Reg>) {
                regs.into_iter().for_each(|reg| self.def(ty, reg));
            }

            fn reads(&mut self, ty: ScalarType, values: impl IntoIterator<Item = &'i $($m)? Operand>) {
                values.into_iter().for_each(|value| self.read(ty, value));
            }

            fn guard(&mut self, guard: &'i $($m)? Option<Predicate>) {
                if let Some(predicate) = guard {
                    self.register(Role::Guard, ScalarType::Pred, & $($m)? predicate.reg);
                }
            }

            fn predicate(&mut self, predicate: &'i $($m)? Predicate) {
                self.register(Role::Use, ScalarType::Pred, & $($m)? predicate.reg);
            }

            fn address(&mut self, address: &'i $($m)? Address) {
                match & $($m)? address.base {
                    Base::Reg(reg) => self.register(Role::Address, ScalarType::U64, reg),
                    Base::Global(id) => self.global(id),
                    Base::Absolute | Base::LocalFrame | Base::ParamFrame => {}
                }
            }

            fn opaque(&mut self, object: &'i $($m)? OpaqueRef) {
                match object {
                    OpaqueRef::Handle(reg) => self.register(Role::Opaque, ScalarType::U64, reg),
                    OpaqueRef::Global { id, .. } => self.global(id),
                    OpaqueRef::Param(_) => {}
                }
            }

            fn target(&mut self, target: &'i $($m)? AddressTarget) {
                match target {
                    AddressTarget::Global(id) => self.global(id),
                    AddressTarget::Function(id) => self.function(id),
                    AddressTarget::LocalFrame | AddressTarget::ParamFrame => {}
                }
            }

            fn callee(&mut self, target: &'i $($m)? CallTarget) {
                match target {
                    CallTarget::Direct(id) => self.function(id),
                    CallTarget::Indirect { address, prototype, candidates } => {
                        self.register(Role::Callee, ScalarType::U64, address);
                        self.prototype(prototype);
                        candidates.into_iter().for_each(|id| self.function(id));
                    }
                }
            }

            fn terminator(&mut self, kind: &'i $($m)? TerminatorKind) {
                match kind {
                    TerminatorKind::BrxIdx { index, .. } => self.read(ScalarType::U32, index),
                    TerminatorKind::Next
                    | TerminatorKind::Bra { .. }
                    | TerminatorKind::Ret { .. }
                    | TerminatorKind::Exit
                    | TerminatorKind::Trap => {}
                }
            }

            fn op(&mut self, op: &'i $($m)? Op) {
                use ScalarType::{B32, B64, Pred, U32};
                match op {
                    Op::IntBinary { ty, dst, a, b, .. }
                    | Op::Mul24 { ty, dst, a, b, .. }
                    | Op::Copysign { ty, dst, a, b }
                    | Op::Logic { ty, dst, a, b, .. } => {
                        self.def(*ty, dst);
                        self.reads(*ty, [a, b]);
                    }
                    Op::AddCarry { carry_in, carry_out, ty, dst, a, b, .. } => {
                        self.def(*ty, dst);
                        self.defs(Pred, carry_out);
                        self.reads(*ty, [a, b]);
                        carry_in.into_iter().for_each(|carry| self.register(Role::Use, Pred, carry));
                    }
                    Op::MadCarry { carry_in, carry_out, ty, dst, a, b, c, .. } => {
                        self.def(*ty, dst);
                        self.defs(Pred, carry_out);
                        self.reads(*ty, [a, b, c]);
                        carry_in.into_iter().for_each(|carry| self.register(Role::Use, Pred, carry));
                    }
                    Op::Mul { mode, ty, dst, a, b } => {
                        self.def(product(*mode, *ty), dst);
                        self.reads(*ty, [a, b]);
                    }
                    Op::Mad { mode, ty, dst, a, b, c, .. } => {
                        self.def(product(*mode, *ty), dst);
                        self.reads(*ty, [a, b]);
                        self.read(product(*mode, *ty), c);
                    }
                    Op::Mad24 { ty, dst, a, b, c, .. }
                    | Op::Sad { ty, dst, a, b, c } => {
                        self.def(*ty, dst);
                        self.reads(*ty, [a, b, c]);
                    }
                    Op::IntUnary { op, ty, dst, a } => {
                        self.def(op.result(*ty), dst);
                        self.read(*ty, a);
                    }
                    Op::FloatUnary { ty, dst, a, .. }
                    | Op::Mov { ty, dst, src: a }
                    | Op::Cvta { ty, dst, a, .. }
                    | Op::Alloca { ty, dst, size: a, .. } => {
                        self.def(*ty, dst);
                        self.read(*ty, a);
                    }
                    Op::Testp { ty, dst, a, .. } | Op::Isspacep { ty, dst, a, .. } => {
                        self.def(Pred, dst);
                        self.read(*ty, a);
                    }
                    Op::GetCtaRank { ty, dst, a, .. } => {
                        self.def(U32, dst);
                        self.read(*ty, a);
                    }
                    Op::Mapa { ty, dst, a, rank, .. } => {
                        self.def(*ty, dst);
                        self.read(*ty, a);
                        self.read(U32, rank);
                    }
                    Op::Redux { ty, dst, a, membermask, .. } => {
                        self.def(*ty, dst);
                        self.read(*ty, a);
                        self.read(B32, membermask);
                    }
                    Op::Fns { dst, mask: a, base: b, offset: c } | Op::Prmt { dst, a, b, selector: c, .. } => {
                        self.def(B32, dst);
                        self.reads(B32, [a, b, c]);
                    }
                    Op::Bfe { ty, dst, a, pos, len } => {
                        self.def(*ty, dst);
                        self.read(*ty, a);
                        self.reads(U32, [pos, len]);
                    }
                    Op::Bfi { ty, dst, a, b, pos, len } => {
                        self.def(*ty, dst);
                        self.reads(*ty, [a, b]);
                        self.reads(U32, [pos, len]);
                    }
                    Op::Bmsk { dst, pos, len, .. } => {
                        self.def(B32, dst);
                        self.reads(U32, [pos, len]);
                    }
                    Op::Szext { ty, dst, a, len, .. } | Op::Shift { ty, dst, a, amount: len, .. } => {
                        self.def(*ty, dst);
                        self.read(*ty, a);
                        self.read(U32, len);
                    }
                    Op::Shf { dst, lo, hi, amount, .. } => {
                        self.def(B32, dst);
                        self.reads(B32, [lo, hi]);
                        self.read(U32, amount);
                    }
                    Op::Dp4a { a_ty, b_ty, dst, a, b, c } | Op::Dp2a { a_ty, b_ty, dst, a, b, c, .. } => {
                        self.def(B32, dst);
                        self.read(*a_ty, a);
                        self.read(*b_ty, b);
                        self.read(B32, c);
                    }
                    Op::FloatBinary { ty, a_ty, dst, a, b, .. } => {
                        self.def(*ty, dst);
                        self.read(*a_ty, a);
                        self.read(*ty, b);
                    }
                    Op::Fma { ty, a_ty, dst, a, b, c, .. } => {
                        self.def(*ty, dst);
                        self.reads(*a_ty, [a, b]);
                        self.read(*ty, c);
                    }
                    Op::FloatMinMax { ty, dst, a, b, c, .. } => {
                        self.def(*ty, dst);
                        self.reads(*ty, [a, b]);
                        self.reads(*ty, c);
                    }
                    Op::Set { dst_ty, ty, combine, dst, a, b, .. } => {
                        self.def(*dst_ty, dst);
                        self.reads(*ty, [a, b]);
                        combine.into_iter().for_each(|(_, predicate)| self.predicate(predicate));
                    }
                    Op::Setp { ty, combine, dst_p, dst_q, a, b, .. } => {
                        self.def(Pred, dst_p);
                        self.defs(Pred, dst_q);
                        self.reads(*ty, [a, b]);
                        combine.into_iter().for_each(|(_, predicate)| self.predicate(predicate));
                    }
                    Op::Selp { ty, dst, a, b, c } => {
                        self.def(*ty, dst);
                        self.reads(*ty, [a, b]);
                        self.predicate(c);
                    }
                    Op::Slct { ty, c_ty, dst, a, b, c, .. } => {
                        self.def(*ty, dst);
                        self.reads(*ty, [a, b]);
                        self.read(*c_ty, c);
                    }
                    Op::Lop3 { dst, dst_p, combine, a, b, c, .. } => {
                        self.defs(B32, dst);
                        self.defs(Pred, dst_p);
                        self.reads(B32, [a, b, c]);
                        combine.into_iter().for_each(|(_, predicate)| self.predicate(predicate));
                    }
                    Op::Pack { ty, dst, elements } => {
                        let element = ty.element(elements.len());
                        self.def(*ty, dst);
                        self.reads(element, elements);
                    }
                    Op::Unpack { ty, dst, src } => {
                        let element = ty.element(dst.len());
                        self.defs(element, dst);
                        self.read(*ty, src);
                    }
                    Op::AddressOf { ty, dst, target, .. } => {
                        self.def(*ty, dst);
                        self.target(target);
                    }
                    Op::ReadSpecial { ty, dst, .. } | Op::StackSave { ty, dst } => self.def(*ty, dst),
                    Op::CreatePolicy { source, dst } => {
                        self.def(B64, dst);
                        match & $($m)? **source {
                            PolicySource::Range { addr, primary, total } => {
                                self.address(addr);
                                self.reads(U32, [primary, total]);
                            }
                            PolicySource::Fractional { fraction } => self.reads(ScalarType::F32, fraction),
                            PolicySource::Convert { property } => self.read(B64, property),
                        }
                    }
                    Op::Activemask { dst } => self.def(B32, dst),
                    Op::Ld { to, dst, addr, .. } => {
                        self.defs(*to, dst);
                        self.address(addr);
                    }
                    Op::St { from, src, addr, .. } => {
                        self.address(addr);
                        self.reads(*from, src);
                    }
                    Op::CacheHint { addr, .. } => self.address(addr),
                    Op::Cvt { src_ty, to, from, dst, a, b, random, .. } => {
                        self.def(*to, dst);
                        self.read(*from, a);
                        self.reads(*src_ty, b);
                        self.reads(B32, random);
                    }
                    Op::CvtPack { src_ty, dst, a, b, c, .. } => {
                        self.def(U32, dst);
                        self.reads(*src_ty, [a, b]);
                        self.reads(B32, c);
                    }
                    Op::Shfl { dst, dst_p, a, b, c, membermask, .. } => {
                        self.def(B32, dst);
                        self.defs(Pred, dst_p);
                        self.read(B32, a);
                        self.reads(U32, [b, c]);
                        self.read(B32, membermask);
                    }
                    Op::Call { target, returns, args, .. } => {
                        for place in returns {
                            if let CallArg::Value { ty, value: Operand::Reg(reg) } = place {
                                self.def(*ty, reg);
                            }
                        }
                        self.callee(target);
                        for arg in args {
                            if let CallArg::Value { ty, value } = arg {
                                self.read(*ty, value);
                            }
                        }
                    }
                    Op::Atom { ty, dst, addr, b, c, .. } => {
                        dst.into_iter().for_each(|dst| self.defs(*ty, dst));
                        self.address(addr);
                        self.reads(*ty, b);
                        self.reads(*ty, c);
                    }
                    Op::Vote { mode, dst, src, membermask, .. } => {
                        self.def(if *mode == VoteMode::Ballot { B32 } else { Pred }, dst);
                        self.predicate(src);
                        self.read(B32, membermask);
                    }
                    Op::Match { ty, dst, dst_p, a, membermask, .. } => {
                        self.def(B32, dst);
                        self.defs(Pred, dst_p);
                        self.read(*ty, a);
                        self.read(B32, membermask);
                    }
                    Op::Elect { dst, dst_p, membermask } => {
                        self.def(B32, dst);
                        self.def(Pred, dst_p);
                        self.read(B32, membermask);
                    }
                    Op::StackRestore { ty, src } => self.read(*ty, src),
                    Op::Nanosleep { duration } => self.read(U32, duration),
                    Op::Video(op) => {
                        let op = & $($m)? **op;
                        self.def(op.dst_ty, & $($m)? op.dst);
                        self.read(op.a_ty, & $($m)? op.a);
                        self.read(op.b_ty, & $($m)? op.b);
                        self.reads(op.dst_ty, & $($m)? op.c);
                    }
                    Op::Barrier(op) => self.barrier(op),
                    Op::Mbarrier(op) => {
                        let op = & $($m)? **op;
                        (& $($m)? op.addr).into_iter().for_each(|addr| self.address(addr));
                        self.mbarrier(& $($m)? op.kind);
                    }
                    Op::Async(op) => self.asynchronous(op),
                    Op::Texture(op) => self.texture(op),
                    Op::Matrix(op) => self.matrix(op),
                    Op::Fence(FenceOp::Proxy(fence)) => {
                        (& $($m)? fence.tensormap).into_iter().for_each(|(addr, _)| self.address(addr));
                    }
                    Op::Unexecuted(op) => {
                        let op = & $($m)? **op;
                        for (ty, reg) in & $($m)? op.defs {
                            self.def(*ty, reg);
                        }
                        (& $($m)? op.addresses).into_iter().for_each(|addr| self.address(addr));
                        for (ty, value) in & $($m)? op.uses {
                            self.read(*ty, value);
                        }
                    }
                    Op::Fence(FenceOp::Thread { .. } | FenceOp::MbarrierInit) | Op::Brkpt | Op::Hint(_) => {}
                }
            }

            fn barrier(&mut self, op: &'i $($m)? BarrierOp) {
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
                    BarrierOp::ClusterArrive { .. } | BarrierOp::ClusterWait { .. } => {}
                }
            }

            fn mbarrier(&mut self, kind: &'i $($m)? MbarrierKind) {
                use ScalarType::{B64, Pred, U32};
                match kind {
                    MbarrierKind::Inval => {}
                    MbarrierKind::Init { count: operand }
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
                    MbarrierKind::PendingCount { dst, state } => {
                        self.def(U32, dst);
                        self.read(B64, state);
                    }
                }
            }

            fn asynchronous(&mut self, op: &'i $($m)? AsyncOp) {
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
                    AsyncOp::Bulk { dst, src, size, mbarrier, multicast, byte_mask, .. } => {
                        self.address(dst);
                        self.address(src);
                        self.read(U32, size);
                        mbarrier.into_iter().for_each(|addr| self.address(addr));
                        self.reads(B16, multicast);
                        self.reads(B16, byte_mask);
                    }
                    AsyncOp::CommitGroup
                    | AsyncOp::WaitGroup(_)
                    | AsyncOp::BulkCommitGroup
                    | AsyncOp::BulkWaitGroup { .. } => {}
                }
            }

            fn texture(&mut self, op: &'i $($m)? TextureOp) {
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

            fn matrix(&mut self, op: &'i $($m)? MatrixOp) {
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
                }
            }
        }
    };
}

walk!(Seen);
walk!(SeenMut<'i>, mut);

/// The type of a product of two values of `ty`.
const fn product(mode: MulMode, ty: ScalarType) -> ScalarType {
    match mode {
        MulMode::Wide => ty.doubled(),
        MulMode::Lo | MulMode::Hi => ty,
    }
}

impl IntUnaryOp {
    /// The type of the result of the operation on a value of `ty`: counts are `.u32`.
    pub const fn result(self, ty: ScalarType) -> ScalarType {
        match self {
            IntUnaryOp::Popc | IntUnaryOp::Clz | IntUnaryOp::Bfind | IntUnaryOp::BfindShift => ScalarType::U32,
            IntUnaryOp::Abs | IntUnaryOp::Neg | IntUnaryOp::Brev | IntUnaryOp::Not | IntUnaryOp::Cnot => ty,
        }
    }
}
