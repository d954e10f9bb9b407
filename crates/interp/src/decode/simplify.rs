//! What compilers leave to `ptxas`, done on the typed form before it is decoded: copies of registers that need not be made, and products
//! that only go into a sum. Results do not change by a bit; floating-point operations are never touched.

use std::collections::HashMap;

use warploom_ptx::ir::{
    self, Body, Cfg, FunctionKind, Inst, IntBinaryOp, MulMode, Op, Operand, Reg, Role, ScalarType, Space, Storage,
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

/// How often each register is written and read in the text.
pub(super) struct Counts {
    pub(super) writes: Vec<u32>,
    pub(super) reads: Vec<u32>,
}

impl Counts {
    pub(super) fn of(source: &ir::Function, body: &Body) -> Counts {
        let mut counts = Counts { writes: vec![0; body.regs.len()], reads: vec![0; body.regs.len()] };
        let ends = body.blocks.iter().flat_map(|block| block.terminator.operands());
        for operand in body.insts.iter().flat_map(Inst::operands).chain(ends) {
            let Some(reg) = operand.value.reg() else { continue };
            let count = if operand.role == Role::Def { &mut counts.writes } else { &mut counts.reads };
            count[reg.0 as usize] += 1;
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
    let mut last_read: Vec<Option<usize>> = vec![None; body.regs.len()];
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
                    || (home == number && last_read[dst.0 as usize].is_none_or(|read| read < place)))
            {
                copies.insert(dst, src);
            }
            for operand in inst.operands() {
                match (operand.def(), operand.read()) {
                    (Some(reg), _) if inst.guard.is_none() => _ = written.insert(reg, (number, index)),
                    (_, Some(reg)) => last_read[reg.0 as usize] = Some(index),
                    _ => {}
                }
            }
        }
    }
    copies
}

/// Reads the originals in place of the copies, and leaves the copying out.
fn replace(body: &mut Body, copies: &HashMap<Reg, Reg>) {
    let made: Vec<bool> =
        body.insts.iter().map(|inst| copied(inst).is_none_or(|(dst, _)| !copies.contains_key(&dst))).collect();
    let insts = body.insts.iter_mut().flat_map(Inst::operands_mut);
    let ends = body.blocks.iter_mut().flat_map(|block| block.terminator.operands_mut());
    for mut operand in insts.chain(ends).filter(|operand| operand.role.reads()) {
        if let Some(reg) = operand.reg()
            && let Some(&original) = copies.get(reg)
        {
            *reg = original;
        }
    }
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
                let operands = body.insts[place].operands();
                if operands.iter().any(|operand| operand.read() == Some(product)) {
                    if let Some((dst, c)) = sum(&body.insts[place], product, width) {
                        body.insts[place].op = Op::Mad { mode, ty, sat: false, dst, a, b, c };
                        merged.push(index);
                    }
                    break;
                }
                let lost = |factor: Operand| {
                    factor.reg().is_some_and(|reg| operands.iter().any(|operand| operand.def() == Some(reg)))
                };
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
