//! Which rows the virtual registers of a function lie in.
//!
//! PTX has as many registers as a compiler likes, and one that is written once is the rule. Registers that are never alive at the same
//! time share a row, so that what a warp works on fits the host's first-level cache. A lane touches only its own elements of a row and
//! runs the code as one thread, so what holds for a thread holds for each lane, whatever the others do meanwhile. No register shares
//! with one that is read or written by the same instruction: how an instruction orders its reads and writes does not matter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warploom_ptx::ir::{self, Body, FunctionKind, Liveness, Reg, ScalarType, TerminatorKind};

use super::bump;
use crate::frame::{FrameLayout, Home};

/// Gives every register of `body` its row and counts the rows. Those in `kept` share theirs with nobody.
pub(super) fn assign(source: &ir::Function, body: &Body, kept: &[bool], layout: &mut FrameLayout) -> Vec<Home> {
    let mut lives = lives(source, body);
    for (life, _) in lives.iter_mut().zip(kept).filter(|(_, kept)| **kept) {
        *life = Life { first: 0, last: u32::MAX };
    }
    let mut order: Vec<(Life, usize)> =
        lives.iter().enumerate().filter(|(_, life)| life.is_any()).map(|(reg, life)| (*life, reg)).collect();
    order.sort_by_key(|(life, _)| life.first);
    // The caller writes parameters, and what is kept is written ahead; whatever else is alive before the first instruction may be read
    // before it is written.
    let params: Vec<Reg> = source.params.iter().filter_map(register).collect();
    let unset: Vec<usize> = order
        .iter()
        .filter(|(life, reg)| life.first == 0 && !kept[*reg] && !params.contains(&Reg(*reg as u32)))
        .map(|&(_, reg)| reg)
        .collect();
    let mut homes: Vec<Option<Home>> = vec![None; body.regs.len()];
    let mut busy: BinaryHeap<Reverse<(u32, usize)>> = BinaryHeap::new();
    let mut free = [const { Vec::new() }; FILES];
    for (life, reg) in order {
        while let Some(&Reverse((last, over))) = busy.peek()
            && last < life.first
        {
            busy.pop();
            free[file(body.regs[over].ty)].extend(homes[over]);
        }
        let ty = body.regs[reg].ty;
        homes[reg] = Some(free[file(ty)].pop().unwrap_or_else(|| reserve(ty, layout)));
        busy.push(Reverse((life.last, reg)));
    }
    // What nothing reads or writes still has a name: in lists of parameters, for one.
    let named = homes.into_iter().zip(&body.regs);
    let homes: Vec<Home> = named.map(|(home, reg)| home.unwrap_or_else(|| reserve(reg.ty, layout))).collect();
    layout.unset = unset.into_iter().map(|reg| homes[reg]).collect();
    homes
}

/// How many kinds of rows there are.
const FILES: usize = 4;

/// The kind of row that a register of a type lies in.
fn file(ty: ScalarType) -> usize {
    match ty.bits() {
        _ if ty == ScalarType::Pred => 0,
        0..=32 => 1,
        33..=64 => 2,
        _ => 3,
    }
}

/// A new row for a register of a type.
fn reserve(ty: ScalarType, layout: &mut FrameLayout) -> Home {
    match file(ty) {
        0 => Home::Predicate(bump(&mut layout.predicates, 1)),
        1 => Home::Word(bump(&mut layout.rows32, 1)),
        2 => Home::Double(bump(&mut layout.rows64, 1)),
        _ => Home::Quad(bump(&mut layout.rows64, 2)),
    }
}

/// The instructions, numbered through the body, from the first to the last at which a register is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    first: u32,
    last: u32,
}

impl Life {
    /// That of a register that nothing touches. An `Option` would have no numbers there: compiled without branches, its minimum and maximum
    /// are taken all the same, of which valgrind complains.
    const NONE: Life = Life { first: u32::MAX, last: 0 };

    fn is_any(self) -> bool {
        self.first <= self.last
    }
}

fn extend(life: &mut Life, at: u32) {
    *life = Life { first: life.first.min(at), last: life.last.max(at) };
}

fn register(param: &ir::Param) -> Option<Reg> {
    match param.storage {
        ir::Storage::Register(reg) => Some(reg),
        ir::Storage::Memory { .. } => None,
    }
}

/// The life of each register: none if nothing touches it.
fn lives(source: &ir::Function, body: &Body) -> Vec<Life> {
    let mut lives = vec![Life::NONE; body.regs.len()];
    // The caller writes the parameters before the first instruction.
    for reg in source.params.iter().filter_map(register) {
        extend(&mut lives[reg.0 as usize], 0);
    }
    // Where each block begins; it ends where the next one does.
    let mut starts = vec![0];
    let mut at = 0;
    for block in &body.blocks {
        let insts = &body.insts[block.insts.start as usize..block.insts.end as usize];
        for operands in insts.iter().map(ir::Inst::operands).chain([block.terminator.operands()]) {
            at += 1;
            for reg in operands.iter().filter_map(|operand| operand.value.reg()) {
                extend(&mut lives[reg.0 as usize], at);
            }
        }
        if source.kind == FunctionKind::Device && matches!(block.terminator.kind, TerminatorKind::Ret { .. }) {
            source.returns.iter().filter_map(register).for_each(|reg| extend(&mut lives[reg.0 as usize], at));
        }
        starts.push(at);
    }
    let liveness = Liveness::new(source, body);
    for (reg, life) in lives.iter_mut().enumerate() {
        let reg = Reg(reg as u32);
        if let (Some(first), Some(last)) = (liveness.live_in(reg).first(), liveness.live_in(reg).last()) {
            extend(life, starts[first.start as usize]);
            extend(life, starts[last.end as usize - 1]);
        }
        if let (Some(first), Some(last)) = (liveness.live_out(reg).first(), liveness.live_out(reg).last()) {
            extend(life, starts[first.start as usize + 1]);
            extend(life, starts[last.end as usize]);
        }
    }
    lives
}
