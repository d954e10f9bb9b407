//! Where the operands of every operation stand, in the order of the manual; `families` goes on with those that have types of their own.

use super::{OperandMut, OperandRef, OperandRefs, PlaceMut, Role, Symbol, SymbolMut};
use crate::ir::{
    Address, AddressTarget, Base, CallArg, CallTarget, FenceOp, FunctionId, GlobalId, IntUnaryOp, MulMode, Op,
    OpaqueRef, Operand, PolicySource, Predicate, PrototypeId, Reg, ScalarType, TerminatorKind, VoteMode,
};
use smallvec::SmallVec;

/// Collects the parts of an instruction.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) operands: OperandRefs,
    pub(super) addresses: SmallVec<[Address; 2]>,
    pub(super) symbols: SmallVec<[Symbol; 2]>,
}

impl Seen {
    pub(super) fn def(&mut self, ty: ScalarType, reg: &Reg) {
        self.operands.push(OperandRef { role: Role::Def, ty, value: Operand::Reg(*reg) });
    }

    pub(super) fn read(&mut self, ty: ScalarType, value: &Operand) {
        self.operands.push(OperandRef { role: Role::Use, ty, value: *value });
    }

    pub(super) fn register(&mut self, role: Role, ty: ScalarType, reg: &Reg) {
        self.operands.push(OperandRef { role, ty, value: Operand::Reg(*reg) });
    }

    pub(super) fn global(&mut self, id: &GlobalId) {
        self.symbols.push(Symbol::Global(*id));
    }

    pub(super) fn function(&mut self, id: &FunctionId) {
        self.symbols.push(Symbol::Function(*id));
    }

    pub(super) fn prototype(&mut self, id: &PrototypeId) {
        self.symbols.push(Symbol::Prototype(*id));
    }

    pub(super) fn place(&mut self, address: &Address) {
        self.addresses.push(*address);
    }
}

/// Collects the places of the parts of an instruction.
#[derive(Default)]
pub(super) struct SeenMut<'i> {
    pub(super) operands: SmallVec<[OperandMut<'i>; 6]>,
    pub(super) symbols: SmallVec<[SymbolMut<'i>; 2]>,
}

impl<'i> SeenMut<'i> {
    pub(super) fn def(&mut self, ty: ScalarType, reg: &'i mut Reg) {
        self.register(Role::Def, ty, reg);
    }

    pub(super) fn read(&mut self, ty: ScalarType, value: &'i mut Operand) {
        self.operands.push(OperandMut { role: Role::Use, ty, place: PlaceMut::Value(value) });
    }

    pub(super) fn register(&mut self, role: Role, ty: ScalarType, reg: &'i mut Reg) {
        self.operands.push(OperandMut { role, ty, place: PlaceMut::Reg(reg) });
    }

    pub(super) fn global(&mut self, id: &'i mut GlobalId) {
        self.symbols.push(SymbolMut::Global(id));
    }

    pub(super) fn function(&mut self, id: &'i mut FunctionId) {
        self.symbols.push(SymbolMut::Function(id));
    }

    pub(super) fn prototype(&mut self, id: &'i mut PrototypeId) {
        self.symbols.push(SymbolMut::Prototype(id));
    }

    /// The parts of an address have places of their own.
    pub(super) const fn place(&mut self, _: &Address) {}
}

/// Where the parts of every operation stand, written down once for references of both kinds.
macro_rules! walk {
    ($collector:ty $(, $m:ident)?) => {
        impl<'i> $collector {
            pub(super) fn defs(&mut self, ty: ScalarType, regs: impl IntoIterator<Item = &'i $($m)? Reg>) {
                regs.into_iter().for_each(|reg| self.def(ty, reg));
            }

            pub(super) fn reads(&mut self, ty: ScalarType, values: impl IntoIterator<Item = &'i $($m)? Operand>) {
                values.into_iter().for_each(|value| self.read(ty, value));
            }

            pub(super) fn guard(&mut self, guard: &'i $($m)? Option<Predicate>) {
                if let Some(predicate) = guard {
                    self.register(Role::Guard, ScalarType::Pred, & $($m)? predicate.reg);
                }
            }

            pub(super) fn predicate(&mut self, predicate: &'i $($m)? Predicate) {
                self.register(Role::Use, ScalarType::Pred, & $($m)? predicate.reg);
            }

            pub(super) fn address(&mut self, address: &'i $($m)? Address) {
                self.place(address);
                match & $($m)? address.base {
                    Base::Reg(reg) => self.register(Role::Address, ScalarType::U64, reg),
                    Base::Global(id) => self.global(id),
                    Base::Absolute | Base::LocalFrame | Base::ParamFrame => {}
                }
            }

            pub(super) fn opaque(&mut self, object: &'i $($m)? OpaqueRef) {
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

            pub(super) fn terminator(&mut self, kind: &'i $($m)? TerminatorKind) {
                match kind {
                    TerminatorKind::BrxIdx { index, .. } => self.read(ScalarType::U32, index),
                    TerminatorKind::Next
                    | TerminatorKind::Bra { .. }
                    | TerminatorKind::Ret { .. }
                    | TerminatorKind::Exit
                    | TerminatorKind::Trap => {}
                }
            }

            pub(super) fn op(&mut self, op: &'i $($m)? Op) {
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
                    Op::Clmad { dst, a, b, c, .. } => {
                        self.def(B64, dst);
                        self.reads(B64, [a, b, c]);
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
                    Op::Cvt { src_ty, to, from, dst, a, b, .. } => {
                        self.def(*to, dst);
                        self.read(*from, a);
                        self.reads(*src_ty, b);
                    }
                    Op::CvtRandom { dst_ty, dst, src, random, .. } => {
                        self.def(dst_ty.to_bits(), dst);
                        self.reads(ScalarType::F32, src);
                        self.read(B32, random);
                    }
                    Op::CvtScaled { dst_ty, src_ty, dst, a, b, scale, .. } => {
                        self.def(dst_ty.to_bits(), dst);
                        self.read(*src_ty, a);
                        self.reads(*src_ty, b);
                        self.read(ScalarType::B16, scale);
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
                    Op::Unexecuted(op) | Op::Multicast(op) => {
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
