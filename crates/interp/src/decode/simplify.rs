//! What compilers leave to `ptxas`, done on the typed form before it is decoded: copies of registers that need not be made, and products
//! that only go into a sum. Results do not change by a bit; floating-point operations are never touched.

use std::collections::HashMap;

use warploom_ptx::ir::{
    self, Address, Base, Body, CallTarget, Cfg, FunctionKind, Inst, IntBinaryOp, MulMode, Op, OpaqueRef, Operand,
    Predicate, Reg, ScalarType, Space, Storage, TerminatorKind, Visitor,
};

/// How far behind a product its sum is looked for.
const NEAR: usize = 8;

/// The body with fewer instructions.
pub(super) fn simplify(source: &ir::Function, body: &Body) -> Body {
    let mut body = body.clone();
    let copies = copies(source, &body);
    if !copies.is_empty() {
        replace(&mut body, &copies);
    }
    merge_products(source, &mut body);
    body
}

/// The registers that an instruction touches.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) reads: Vec<Reg>,
    pub(super) writes: Vec<Reg>,
}

impl Touched {
    /// What `inst` touches, its guard included.
    pub(super) fn by(inst: &Inst) -> Touched {
        let mut touched = Touched::default();
        inst.op.clone().visit(&mut touched);
        touched.reads.extend(inst.guard.map(|guard| guard.reg));
        touched
    }
}

impl Visitor for Touched {
    fn write(&mut self, reg: &mut Reg) {
        self.writes.push(*reg);
    }

    fn read(&mut self, operand: &mut Operand) {
        if let Operand::Reg(reg) = operand {
            self.reads.push(*reg);
        }
    }

    fn predicate(&mut self, predicate: &mut Predicate) {
        self.reads.push(predicate.reg);
    }

    fn address(&mut self, address: &mut Address) {
        if let Base::Reg(reg) = address.base {
            self.reads.push(reg);
        }
    }

    fn callee(&mut self, target: &mut CallTarget) {
        if let CallTarget::Indirect { address, .. } = target {
            self.reads.push(*address);
        }
    }

    fn opaque(&mut self, object: &mut OpaqueRef) {
        if let OpaqueRef::Handle(reg) = object {
            self.reads.push(*reg);
        }
    }
}

/// How often each register is written and read in the text.
struct Counts {
    writes: Vec<u32>,
    reads: Vec<u32>,
}

impl Counts {
    fn of(source: &ir::Function, body: &Body) -> Counts {
        let mut counts = Counts { writes: vec![0; body.regs.len()], reads: vec![0; body.regs.len()] };
        for inst in &body.insts {
            let touched = Touched::by(inst);
            touched.reads.iter().for_each(|reg| counts.reads[reg.0 as usize] += 1);
            touched.writes.iter().for_each(|reg| counts.writes[reg.0 as usize] += 1);
        }
        for block in &body.blocks {
            let index = match &block.terminator.kind {
                TerminatorKind::BrxIdx { index: Operand::Reg(reg), .. } => Some(*reg),
                _ => None,
            };
            let guard = block.terminator.guard.map(|guard| guard.reg);
            index.into_iter().chain(guard).for_each(|reg| counts.reads[reg.0 as usize] += 1);
        }
        if source.kind == FunctionKind::Device {
            // Parameters are written by the caller, results read by it: more than the text shows.
            for param in source.params.iter().chain(&source.returns) {
                if let Storage::Register(reg) = param.storage {
                    counts.writes[reg.0 as usize] += 2;
                    counts.reads[reg.0 as usize] += 2;
                }
            }
        }
        counts
    }
}

/// The source of an instruction that only copies a register.
fn copied(inst: &Inst) -> Option<(Reg, Reg)> {
    match inst.op {
        _ if inst.guard.is_some() => None,
        Op::Mov { ty, dst, src: Operand::Reg(src) } if ty != ScalarType::Pred => Some((dst, src)),
        // These spaces lie in the generic address space at their own addresses.
        Op::Cvta { space: Space::Global | Space::Const | Space::Generic, dst, a: Operand::Reg(src), .. } => {
            Some((dst, src))
        }
        _ => None,
    }
}

/// Registers that are copies of others wherever they are read: both are written once, and the source cannot be written again before the
/// copy is made again.
fn copies(source: &ir::Function, body: &Body) -> HashMap<Reg, Reg> {
    let counts = Counts::of(source, body);
    let entered_once = Cfg::new(body).predecessors.first().is_some_and(Vec::is_empty);
    let mut written: HashMap<Reg, (usize, usize)> = HashMap::new();
    let mut copies = HashMap::new();
    for (number, block) in body.blocks.iter().enumerate() {
        for index in block.insts.start as usize..block.insts.end as usize {
            let inst = &body.insts[index];
            let copy = copied(inst).map(|(dst, src)| (dst, copies.get(&src).copied().unwrap_or(src)));
            if let Some((dst, src)) = copy
                && counts.writes[dst.0 as usize] == 1
                && counts.writes[src.0 as usize] == 1
                && body.regs[dst.0 as usize].ty.bits() == body.regs[src.0 as usize].ty.bits()
                && let Some(&(home, place)) = written.get(&src)
                && ((home == 0 && entered_once)
                    || (home == number
                        && !body.insts[place..index].iter().any(|inst| Touched::by(inst).reads.contains(&dst))))
            {
                copies.insert(dst, src);
            }
            if inst.guard.is_none() {
                Touched::by(inst).writes.iter().for_each(|&reg| {
                    written.insert(reg, (number, index));
                });
            }
        }
    }
    copies
}

/// Reads the originals in place of the copies, and leaves the copying out.
fn replace(body: &mut Body, copies: &HashMap<Reg, Reg>) {
    struct Renamed<'a>(&'a HashMap<Reg, Reg>);

    impl Renamed<'_> {
        fn rename(&self, reg: &mut Reg) {
            if let Some(&original) = self.0.get(reg) {
                *reg = original;
            }
        }
    }

    impl Visitor for Renamed<'_> {
        fn read(&mut self, operand: &mut Operand) {
            if let Operand::Reg(reg) = operand {
                self.rename(reg);
            }
        }

        fn address(&mut self, address: &mut Address) {
            if let Base::Reg(reg) = &mut address.base {
                self.rename(reg);
            }
        }

        fn callee(&mut self, target: &mut CallTarget) {
            if let CallTarget::Indirect { address, .. } = target {
                self.rename(address);
            }
        }

        fn opaque(&mut self, object: &mut OpaqueRef) {
            if let OpaqueRef::Handle(reg) = object {
                self.rename(reg);
            }
        }
    }

    let mut renamed = Renamed(copies);
    for block in &mut body.blocks {
        if let TerminatorKind::BrxIdx { index: Operand::Reg(reg), .. } = &mut block.terminator.kind {
            renamed.rename(reg);
        }
    }
    let made: Vec<bool> =
        body.insts.iter().map(|inst| copied(inst).is_none_or(|(dst, _)| !copies.contains_key(&dst))).collect();
    body.insts.iter_mut().for_each(|inst| inst.op.visit(&mut renamed));
    keep(body, &made);
}

/// Drops the instructions that are not marked.
fn keep(body: &mut Body, marks: &[bool]) {
    let mut left = Vec::with_capacity(body.insts.len());
    for block in &mut body.blocks {
        let start = left.len() as u32;
        let range = block.insts.start as usize..block.insts.end as usize;
        let marked = body.insts[range.clone()].iter().zip(&marks[range]).filter(|(_, mark)| **mark);
        left.extend(marked.map(|(inst, _)| inst.clone()));
        block.insts = start..left.len() as u32;
    }
    body.insts = left;
}

/// `mul.wide` or `mul.lo` whose only reader is an addition nearby becomes `mad`.
fn merge_products(source: &ir::Function, body: &mut Body) {
    let counts = Counts::of(source, body);
    let mut merged = Vec::new();
    for block in &body.blocks {
        for index in block.insts.start as usize..block.insts.end as usize {
            let Inst { guard: None, op: Op::Mul { mode, ty, dst: product, a, b }, .. } = body.insts[index] else {
                continue;
            };
            let width = match mode {
                MulMode::Lo if ty.bits() >= 32 => ty.bits(),
                MulMode::Wide if ty.bits() == 32 => 64,
                _ => continue,
            };
            if counts.writes[product.0 as usize] != 1 || counts.reads[product.0 as usize] != 1 {
                continue;
            }
            let end = (block.insts.end as usize).min(index + 1 + NEAR);
            for place in index + 1..end {
                let touched = Touched::by(&body.insts[place]);
                if touched.reads.contains(&product) {
                    if let Some((dst, c)) = sum(&body.insts[place], product, width) {
                        body.insts[place].op = Op::Mad { mode, ty, sat: false, dst, a, b, c };
                        merged.push(index);
                    }
                    break;
                }
                let lost = |operand: Operand| matches!(operand, Operand::Reg(reg) if touched.writes.contains(&reg));
                if lost(a) || lost(b) {
                    break;
                }
            }
        }
    }
    let mut marks = vec![true; body.insts.len()];
    merged.into_iter().for_each(|index| marks[index] = false);
    keep(body, &marks);
}

/// The result and the other operand of an addition of `product`, of `width` bits and nothing else about it.
fn sum(inst: &Inst, product: Reg, width: u32) -> Option<(Reg, Operand)> {
    let Inst {
        guard: None, op: Op::IntBinary { op: IntBinaryOp::Add, ty, sat: false, relu: false, dst, a, b }, ..
    } = inst.clone()
    else {
        return None;
    };
    if ty.bits() != width {
        return None;
    }
    let product = Operand::Reg(product);
    match (a == product, b == product) {
        (true, false) => Some((dst, b)),
        (false, true) => Some((dst, a)),
        _ => None,
    }
}
