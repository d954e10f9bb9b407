//! Moves, packing, addresses and the stack (PTX ISA 9.7.9.1 to 9.7.9.6, 9.7.9.19 to 9.7.9.24, 9.7.17), and special registers (10).

use warploom_exec::address::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use warploom_ptx::ir::{AddressTarget, FunctionKind, Op as Ir, Operand, ScalarType, Space, SpecialReg};

use super::{Decoded, Decoder, Home, Refused, Variable};
use crate::isa::Op;
use crate::ops::{call, cluster, logic, moves, special};

impl Decoder<'_> {
    pub(super) fn moves(&mut self, op: &Ir) -> Decoded {
        match *op {
            Ir::Mov { ty: ScalarType::Pred, dst, src } => {
                let (a, d) = (self.predicate_operand(src), self.predicate_out(dst));
                self.emit(Op::scalar(logic::predicate_table), d, [a, a, 0], 0b1000);
            }
            Ir::Mov { ty: ScalarType::B128, dst, src } => {
                let (Home::Quad(d), Operand::Reg(src)) = (self.home(dst), src) else {
                    return Err(Refused::Unsupported);
                };
                let Home::Quad(a) = self.home(src) else { return Err(Refused::Unsupported) };
                for half in 0..2 {
                    self.emit(Op::lanes::<moves::Mov64>(), d + half, [a + half, 0, 0], 0);
                }
            }
            Ir::Mov { ty, dst, src } => {
                let (a, d) = (self.source(ty, src), self.out(ty, dst));
                self.copy(ty, d, a);
            }
            Ir::Pack { ty, dst, ref elements } => self.pack(ty, dst, elements)?,
            Ir::Unpack { ty, ref dst, src } => {
                let size = ty.bits() / dst.len() as u32;
                if ty.bits() == 128 {
                    let Operand::Reg(src) = src else { return Err(Refused::Unsupported) };
                    let Home::Quad(a) = self.home(src) else { return Err(Refused::Unsupported) };
                    for (index, &reg) in dst.iter().enumerate() {
                        let shift = index as u32 * size;
                        let from = a + shift / 64;
                        if size == 64 {
                            let d = self.double_out(reg);
                            self.emit(Op::lanes::<moves::Mov64>(), d, [from, 0, 0], 0);
                        } else {
                            let d = self.word_out(reg, false);
                            self.emit(Op::lanes::<moves::Element32Of64>(), d, [from, 0, 0], shift % 64);
                        }
                    }
                    return Ok(());
                }
                let a = self.source(ty, src);
                // The source may also be one of the destinations: it is read to the end first.
                let parts: Vec<u32> = (0..dst.len() as u32)
                    .map(|index| {
                        let part = self.temporary32();
                        let op = match (ty.bits(), size) {
                            (64, 32) => Op::lanes::<moves::Element32Of64>(),
                            (64, _) => Op::lanes::<moves::Element16Of64>(),
                            (_, 16) => Op::lanes::<moves::Element16Of32>(),
                            _ => Op::lanes::<moves::Element8Of32>(),
                        };
                        self.emit(op, part, [a, 0, 0], index * size);
                        part
                    })
                    .collect();
                for (&reg, part) in dst.iter().zip(parts) {
                    let d = self.word_out(reg, false);
                    self.emit(Op::lanes::<moves::Mov32>(), d, [part, 0, 0], 0);
                }
            }
            Ir::AddressOf { ty, dst, target, offset } => self.address_of(ty, dst, target, offset)?,
            Ir::ReadSpecial { ty, dst, reg } => {
                let imm = SpecialReg::ALL.iter().position(|&other| other == reg).unwrap_or_default() as u32;
                if reg.ty() == ScalarType::Pred {
                    let d = self.predicate_out(dst);
                    self.emit(Op::scalar(special::read_predicate), d, [0; 3], imm);
                } else if ty.bits() > 32 {
                    let d = self.double_out(dst);
                    self.emit(Op::scalar(special::read64), d, [0; 3], imm);
                } else {
                    let d = self.word_out(dst, false);
                    match reg {
                        SpecialReg::TidX => self.emit(Op::lanes::<special::ReadTid>(), d, [0; 3], 0),
                        SpecialReg::TidY => self.emit(Op::lanes::<special::ReadTid>(), d, [0; 3], 1),
                        SpecialReg::TidZ => self.emit(Op::lanes::<special::ReadTid>(), d, [0; 3], 2),
                        _ => self.emit(Op::lanes::<special::Read32>(), d, [0; 3], imm),
                    }
                    if ty.bits() == 16 {
                        self.emit(Op::lanes::<moves::ZeroExtend16>(), d, [d, 0, 0], 0);
                    }
                }
            }
            Ir::Isspacep { space, ty: _, dst, a } => {
                let (a, d) = (self.double(a), self.predicate_out(dst));
                let imm = match space {
                    Space::Global | Space::Generic => 0,
                    Space::Shared | Space::SharedCluster => {
                        let cluster = u32::from(space == Space::SharedCluster);
                        self.emit(Op::scalar(cluster::is_shared), d, [a, 0, 0], cluster);
                        return Ok(());
                    }
                    Space::Local => 2,
                    Space::Param => 3,
                    Space::Const => 4,
                };
                self.emit(Op::scalar(moves::isspacep), d, [a, 0, 0], imm);
            }
            Ir::Cvta { to_generic, space, ty, dst, a } => {
                let base = match space {
                    Space::Shared | Space::SharedCluster => SHARED_WINDOW,
                    Space::Local => LOCAL_WINDOW,
                    Space::Param if self.source.kind == FunctionKind::Kernel => PARAM_WINDOW,
                    Space::Param => LOCAL_WINDOW,
                    Space::Global | Space::Const | Space::Generic => 0,
                };
                let (a, d) = (self.source(ty, a), self.out(ty, dst));
                if ty.bits() <= 32 || base == 0 {
                    self.copy(ty, d, a);
                } else {
                    let base = self.constant64(base);
                    let op =
                        if to_generic { Op::lanes::<moves::ToGeneric>() } else { Op::lanes::<moves::FromGeneric>() };
                    self.emit(op, d, [a, base, 0], 0);
                }
            }
            Ir::Mapa { space: _, ty, dst, a, rank } => {
                let (a, b, d) = (self.source(ty, a), self.word(rank), self.out(ty, dst));
                let op = if ty.bits() > 32 { Op::lanes::<cluster::Mapa64>() } else { Op::lanes::<cluster::Mapa32>() };
                self.emit(op, d, [a, b, 0], 0);
            }
            Ir::GetCtaRank { space: _, ty, dst, a } => {
                let (a, d) = (self.source(ty, a), self.word_out(dst, false));
                let op = if ty.bits() > 32 { Op::lanes::<cluster::Rank64>() } else { Op::lanes::<cluster::Rank32>() };
                self.emit(op, d, [a, 0, 0], 0);
            }
            Ir::CreatePolicy { dst, .. } => {
                let (zero, d) = (self.constant64(0), self.double_out(dst));
                self.emit(Op::lanes::<moves::Mov64>(), d, [zero, 0, 0], 0);
            }
            Ir::StackSave { ty, dst } => {
                let d = self.out(ty, dst);
                self.emit(Op::scalar(call::stack_save), d, [0; 3], ty.bits());
            }
            Ir::StackRestore { ty, src } => {
                let a = self.source(ty, src);
                self.emit(Op::scalar(call::stack_restore), 0, [a, 0, 0], ty.bits());
            }
            Ir::Alloca { ty, dst, size, align } => {
                let (a, d) = (self.source(ty, size), self.out(ty, dst));
                self.emit(Op::scalar(call::alloca), d, [a, align, 0], ty.bits());
            }
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    /// Copies a row of the file that `ty` lives in.
    pub(super) fn copy(&mut self, ty: ScalarType, d: u32, a: u32) {
        let op = if ty.bits() > 32 { Op::lanes::<moves::Mov64>() } else { Op::lanes::<moves::Mov32>() };
        self.emit(op, d, [a, 0, 0], 0);
    }

    fn pack(&mut self, ty: ScalarType, dst: warploom_ptx::ir::Reg, elements: &[Operand]) -> Decoded {
        if ty.bits() == 128 {
            let Home::Quad(d) = self.home(dst) else { return Err(Refused::Unsupported) };
            match *elements {
                [low, high] => {
                    for (half, element) in [low, high].into_iter().enumerate() {
                        let a = self.double(element);
                        self.emit(Op::lanes::<moves::Mov64>(), d + half as u32, [a, 0, 0], 0);
                    }
                }
                [a, b, c, e] => {
                    for (half, [low, high]) in [[a, b], [c, e]].into_iter().enumerate() {
                        let (low, high) = (self.word(low), self.word(high));
                        self.emit(Op::lanes::<moves::Pack2x32>(), d + half as u32, [low, high, 0], 0);
                    }
                }
                _ => return Err(Refused::Unsupported),
            }
            return Ok(());
        }
        let sources: Vec<u32> = elements.iter().map(|&element| self.word(element)).collect();
        let op = match (ty.bits(), sources.len()) {
            (16, 2) => Op::lanes::<moves::Pack2x8>(),
            (32, 2) => Op::lanes::<moves::Pack2x16>(),
            (32, 4) => Op::lanes::<moves::Pack4x8>(),
            (64, 2) => Op::lanes::<moves::Pack2x32>(),
            (64, 4) => Op::lanes::<moves::Pack4x16>(),
            _ => return Err(Refused::Unsupported),
        };
        let at = |index: usize| sources.get(index).copied().unwrap_or_default();
        let d = self.out(ty, dst);
        self.emit(op, d, [at(0), at(1), at(2)], at(3));
        Ok(())
    }

    fn address_of(
        &mut self,
        ty: ScalarType,
        dst: warploom_ptx::ir::Reg,
        target: AddressTarget,
        offset: i64,
    ) -> Decoded {
        let local = match target {
            AddressTarget::LocalFrame => Some(0),
            AddressTarget::ParamFrame
                if self.source.kind == FunctionKind::Device || offset >= i64::from(self.source.param_buffer_size) =>
            {
                Some(i64::from(self.param_base() as i32))
            }
            _ => None,
        };
        if let AddressTarget::Global(id) = target
            && let Variable::Shared(start) = self.variable(id)?
        {
            let d = self.out(ty, dst);
            let place = start.wrapping_add(offset as u32);
            self.emit(Op::scalar(cluster::own_address), d, [0, u32::from(ty.bits() > 32), 0], place);
            return Ok(());
        }
        if let AddressTarget::Global(id) = target {
            let a = self.variable_row(id, offset)?;
            let d = self.out(ty, dst);
            match ty.bits() > 32 {
                true => self.copy(ty, d, a),
                false => self.emit(Op::lanes::<moves::Narrow>(), d, [a, 0, 0], 0),
            }
            return Ok(());
        }
        let start = if let AddressTarget::Function(id) = target { crate::function_address(id) } else { 0 };
        let address = start.wrapping_add(offset as u64);
        let d = self.out(ty, dst);
        match local {
            Some(base) => {
                let a = self.constant64(address.wrapping_add(base as u64));
                if ty.bits() > 32 {
                    self.emit(Op::scalar(moves::local_address), d, [a, 0, 0], 0);
                } else {
                    let wide = self.temporary64();
                    self.emit(Op::scalar(moves::local_address), wide, [a, 0, 0], 0);
                    self.emit(Op::lanes::<moves::Narrow>(), d, [wide, 0, 0], 0);
                }
            }
            None => {
                let a = if ty.bits() > 32 { self.constant64(address) } else { self.constant32(address as u32) };
                self.copy(ty, d, a);
            }
        }
        Ok(())
    }
}
