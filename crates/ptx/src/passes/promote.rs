//! Parameters that are only read and written whole become registers.
//!
//! Compilers pass arguments through `.param` variables (PTX ISA 7.1): stored by name in front of the call, loaded by name in the
//! callee, results the other way. A scalar that no address is taken of needs no memory for that. Aggregates keep their bytes, and so do
//! the parameters of functions whose address is taken, as what calls them knows only a prototype. Those of kernels are where the launch puts them.

use crate::ir::{
    Address, AddressTarget, Base, Body, CallArg, CallTarget, Function, FunctionId, FunctionKind, Inst, Module, Op,
    Operand, Param, Reg, RegDecl, ScalarType, Space, Storage, TypeClass,
};
use std::collections::BTreeMap;

/// Promotes the scalar parameters of every device function, and the variables that calls pass.
pub fn promote_parameters(module: &mut Module) {
    let addressed = module.addressed_functions();
    for index in 0..module.functions.len() {
        let Some(mut body) = module.functions[index].body.take() else { continue };
        let fixed = addressed.contains(&FunctionId(index as u32));
        let slots = Slots::find(module, &module.functions[index], &body, fixed);
        if !slots.0.is_empty() {
            let registers = slots.declare(&mut module.functions[index], &mut body);
            rewrite(module, &mut body, &registers);
            shrink_frame(&module.functions[index], &mut body);
        }
        module.functions[index].body = Some(body);
    }
}

/// A scalar in the parameter frame.
#[derive(Clone, Copy)]
struct Slot {
    size: u32,
    ty: ScalarType,
}

/// By offset: what can become a register.
struct Slots(BTreeMap<u32, Slot>);

/// The type of a parameter, if it is a scalar that a register holds.
fn scalar(param: &Param) -> Option<ScalarType> {
    let fits = param.size == param.ty.bytes() && matches!(param.size, 1 | 2 | 4 | 8);
    (fits && !matches!(param.ty.class(), TypeClass::Opaque | TypeClass::Predicate)).then_some(param.ty)
}

/// The arguments of a call and the places of its results, with the parameters that they stand for.
fn passed<'i>(module: &'i Module, inst: &'i Inst) -> impl Iterator<Item = (&'i CallArg, &'i Param)> {
    let call = match &inst.op {
        Op::Call { target, returns, args, .. } => Some((signature(module, target), returns, args)),
        _ => None,
    };
    call.into_iter().flat_map(|((formal_returns, formal_params), returns, args)| {
        args.iter().zip(formal_params).chain(returns.iter().zip(formal_returns))
    })
}

/// Results and parameters of what is called.
fn signature<'m>(module: &'m Module, target: &CallTarget) -> (&'m [Param], &'m [Param]) {
    match target {
        CallTarget::Direct(id) => {
            let function = &module.functions[id.0 as usize];
            (&function.returns, &function.params)
        }
        CallTarget::Indirect { prototype, .. } => {
            let prototype = &module.prototypes[prototype.0 as usize];
            (&prototype.returns, &prototype.params)
        }
    }
}

impl Slots {
    fn find(module: &Module, function: &Function, body: &Body, fixed: bool) -> Slots {
        let mut slots = Slots(BTreeMap::new());
        // Bytes that must stay where they are.
        let mut kept: Vec<(u32, u32)> = Vec::new();
        for param in function.params.iter().chain(&function.returns) {
            let Storage::Memory { offset } = param.storage else { continue };
            match scalar(param) {
                Some(ty) if !fixed && function.kind == FunctionKind::Device => {
                    slots.0.insert(offset, Slot { size: param.size, ty });
                }
                _ => kept.push((offset, param.size)),
            }
        }
        for (arg, formal) in body.insts.iter().flat_map(|inst| passed(module, inst)) {
            let CallArg::Param { offset, size } = *arg else { continue };
            match scalar(formal) {
                Some(ty) if formal.size == size => {
                    let slot = slots.0.entry(offset).or_insert(Slot { size, ty: ty.to_bits() });
                    if slot.size != size {
                        kept.push((offset, size));
                    }
                }
                _ => kept.push((offset, size)),
            }
        }
        slots.drop_overlaps();
        for inst in &body.insts {
            slots.drop_partly_used(inst, &mut kept);
        }
        for (offset, size) in kept {
            slots.drop(offset, size);
        }
        slots
    }

    /// Drops the slots that have bytes in a range.
    fn drop(&mut self, offset: u32, size: u32) {
        let end = offset.saturating_add(size.max(1));
        let hit = self.0.range(offset.saturating_sub(8)..end).filter(|(start, slot)| **start + slot.size > offset);
        let hit: Vec<u32> = hit.map(|(start, _)| *start).collect();
        for start in hit {
            self.0.remove(&start);
        }
    }

    fn drop_overlaps(&mut self) {
        let slots: Vec<(u32, u32)> = self.0.iter().map(|(start, slot)| (*start, slot.size)).collect();
        for pair in slots.windows(2) {
            if pair[0].0 + pair[0].1 > pair[1].0 {
                self.0.remove(&pair[0].0);
                self.0.remove(&pair[1].0);
            }
        }
    }

    /// Notes the bytes that an instruction uses otherwise than as a whole slot.
    fn drop_partly_used(&self, inst: &Inst, kept: &mut Vec<(u32, u32)>) {
        if let Op::AddressOf { target: AddressTarget::ParamFrame, offset, .. } = inst.op {
            kept.extend(u32::try_from(offset).map(|offset| (offset, 1)));
            return;
        }
        for address in inst.addresses() {
            if self.access(inst, address).is_none() {
                kept.extend(bytes(inst, address));
            }
        }
    }

    /// The slot that a load or a store uses as a whole. A load may take the low bytes only, as those of a `.b32` that passes a `.u8`.
    fn access(&self, inst: &Inst, address: Address) -> Option<u32> {
        let (offset, size) = bytes(inst, address)?;
        let slot = self.0.get(&offset)?;
        let whole = match &inst.op {
            Op::Ld { dst, .. } => dst.len() == 1 && size <= slot.size,
            Op::St { src, .. } => src.len() == 1 && size == slot.size,
            _ => false,
        };
        whole.then_some(offset)
    }

    /// Gives every slot a register, by offset.
    fn declare(&self, function: &mut Function, body: &mut Body) -> BTreeMap<u32, (Reg, ScalarType)> {
        let mut registers = BTreeMap::new();
        let mut declare = |offset: u32, name: &str, ty: ScalarType| {
            let (reg, _) = *registers.entry(offset).or_insert_with(|| {
                body.regs.push(RegDecl { name: name.into(), ty });
                (Reg(body.regs.len() as u32 - 1), ty)
            });
            reg
        };
        for param in function.params.iter_mut().chain(&mut function.returns) {
            if let Storage::Memory { offset } = param.storage
                && self.0.contains_key(&offset)
            {
                param.storage = Storage::Register(declare(offset, &param.name, param.ty));
            }
        }
        for (offset, slot) in &self.0 {
            declare(*offset, "", slot.ty);
        }
        registers
    }
}

/// The bytes of the parameter frame that an instruction reaches through an address.
fn bytes(inst: &Inst, address: Address) -> Option<(u32, u32)> {
    if address.base != Base::ParamFrame {
        return None;
    }
    let size = match &inst.op {
        Op::Ld { space: Space::Param, ty, dst, .. } => ty.bytes() * dst.len() as u32,
        Op::St { space: Space::Param, ty, src, .. } => ty.bytes() * src.len() as u32,
        _ => 1,
    };
    Some((u32::try_from(address.offset).ok()?, size))
}

/// Puts registers in the place of what they replace.
fn rewrite(module: &Module, body: &mut Body, registers: &BTreeMap<u32, (Reg, ScalarType)>) {
    let slot = |address: &Address| match address.base {
        Base::ParamFrame => registers.get(&u32::try_from(address.offset).ok()?).copied(),
        _ => None,
    };
    for inst in &mut body.insts {
        match &mut inst.op {
            Op::Ld { ty, to, dst, addr, .. } => {
                if let Some((reg, held)) = slot(addr) {
                    inst.op = load(*ty, *to, dst[0], reg, held);
                }
            }
            Op::St { ty, from, src, addr, .. } => {
                if let Some((reg, held)) = slot(addr) {
                    inst.op = store(*ty, *from, src[0], reg, held);
                }
            }
            Op::Call { target, returns, args, .. } => {
                let (formal_returns, formal_params) = signature(module, target);
                let places = args.iter_mut().zip(formal_params).chain(returns.iter_mut().zip(formal_returns));
                for (place, formal) in places {
                    if let CallArg::Param { offset, .. } = place
                        && let Some((reg, _)) = registers.get(offset)
                    {
                        *place = CallArg::Value { ty: formal.ty, value: Operand::Reg(*reg) };
                    }
                }
            }
            _ => {}
        }
    }
}

/// What loads the low bytes of a register that holds a slot.
fn load(ty: ScalarType, to: ScalarType, dst: Reg, reg: Reg, held: ScalarType) -> Op {
    let src = Operand::Reg(reg);
    if ty.bits() == held.bits() && to.bits() == held.bits() {
        return Op::Mov { ty: held.to_bits(), dst, src };
    }
    let signed = ty.is_signed();
    let (wide, low) = (ScalarType::integer(to.bits(), signed), ScalarType::integer(ty.bits(), signed));
    Op::resize(wide, low, wide, ScalarType::integer(held.bits(), false), dst, src)
}

/// What puts the low bits of a value into a register that holds a slot.
fn store(ty: ScalarType, from: ScalarType, src: Operand, reg: Reg, held: ScalarType) -> Op {
    if src.reg().is_none() || from.bits() == ty.bits() {
        return Op::Mov { ty: held.to_bits(), dst: reg, src };
    }
    let low = ScalarType::integer(ty.bits(), false);
    Op::resize(low, low, low, ScalarType::integer(from.bits(), false), reg, src)
}

/// Gives back the end of the frame that nothing uses any more.
fn shrink_frame(function: &Function, body: &mut Body) {
    let mut end = function.param_buffer_size;
    let formals = function.params.iter().chain(&function.returns);
    for param in formals {
        if let Storage::Memory { offset } = param.storage {
            end = end.max(offset + param.size);
        }
    }
    for inst in &body.insts {
        // How far a pointer goes, nobody knows.
        if matches!(inst.op, Op::AddressOf { target: AddressTarget::ParamFrame, .. }) {
            return;
        }
        for (offset, size) in inst.addresses().into_iter().filter_map(|address| bytes(inst, address)) {
            end = end.max(offset.saturating_add(size));
        }
        if let Op::Call { returns, args, .. } = &inst.op {
            for arg in args.iter().chain(returns) {
                if let CallArg::Param { offset, size } = arg {
                    end = end.max(offset + size);
                }
            }
        }
    }
    body.param_size = body.param_size.min(end);
}
