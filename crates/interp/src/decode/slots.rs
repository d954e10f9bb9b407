//! Which rows the virtual registers of a function lie in.
//!
//! PTX has as many registers as a compiler likes, and one that is written once is the rule. Registers that are never alive at the same
//! time share a row, so that what a warp works on fits the host's first-level cache. A lane touches only its own elements of a row and
//! runs the code as one thread, so what holds for a thread holds for each lane, whatever the others do meanwhile. No register shares
//! with one that is read or written by the same instruction: how an instruction orders its reads and writes does not matter.

use warploom_ptx::ir::{self, Body, Cfg, FunctionKind, OperandRef, OperandRefs, Reg, ScalarType, TerminatorKind};

use super::{Home, bump};
use crate::frame::FrameLayout;

/// Gives every register of `body` its row and counts the rows.
pub(super) fn assign(source: &ir::Function, body: &Body, layout: &mut FrameLayout) -> Vec<Home> {
    let lives = lives(source, body);
    let mut order: Vec<usize> = (0..body.regs.len()).filter(|&reg| lives[reg].is_some()).collect();
    order.sort_by_key(|&reg| lives[reg].map(|life| life.first));
    let mut homes: Vec<Option<Home>> = vec![None; body.regs.len()];
    let mut busy: Vec<(u32, Home)> = Vec::new();
    let mut free: Vec<Home> = Vec::new();
    for reg in order {
        let Some(life) = lives[reg] else { continue };
        busy.retain(|&(last, home)| {
            let over = last < life.first;
            if over {
                free.push(home);
            }
            !over
        });
        let fresh = fresh_kind(body.regs[reg].ty);
        let shared = free.iter().rposition(|&home| std::mem::discriminant(&home) == std::mem::discriminant(&fresh));
        let home = match shared {
            Some(index) => free.swap_remove(index),
            None => reserve(fresh, layout),
        };
        homes[reg] = Some(home);
        busy.push((life.last, home));
    }
    // What nothing reads or writes still has a name: in lists of parameters, for one.
    let named = homes.into_iter().zip(&body.regs);
    named.map(|(home, reg)| home.unwrap_or_else(|| reserve(fresh_kind(reg.ty), layout))).collect()
}

/// The file of a type, as a home in row 0.
fn fresh_kind(ty: ScalarType) -> Home {
    match ty.bits() {
        _ if ty == ScalarType::Pred => Home::Predicate(0),
        0..=32 => Home::Word(0),
        33..=64 => Home::Double(0),
        _ => Home::Quad(0),
    }
}

/// A new row in the file of `kind`.
fn reserve(kind: Home, layout: &mut FrameLayout) -> Home {
    match kind {
        Home::Predicate(_) => Home::Predicate(bump(&mut layout.predicates, 1)),
        Home::Word(_) => Home::Word(bump(&mut layout.rows32, 1)),
        Home::Double(_) => Home::Double(bump(&mut layout.rows64, 1)),
        Home::Quad(_) => Home::Quad(bump(&mut layout.rows64, 2)),
    }
}

/// The instructions, numbered through the body, from the first to the last at which a register is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    first: u32,
    last: u32,
}

fn extend(life: &mut Option<Life>, at: u32) {
    let old = life.unwrap_or(Life { first: at, last: at });
    *life = Some(Life { first: old.first.min(at), last: old.last.max(at) });
}

/// One instruction or terminator: what it touches, and whether it writes in every lane that comes by.
#[derive(Default)]
struct Step {
    reads: Vec<Reg>,
    writes: Vec<Reg>,
    guarded: bool,
}

impl Step {
    fn new(operands: OperandRefs, guarded: bool) -> Self {
        let reads = operands.iter().filter_map(OperandRef::read).collect();
        Step { reads, writes: operands.iter().filter_map(OperandRef::def).collect(), guarded }
    }
}

/// The steps of each block.
fn steps(source: &ir::Function, body: &Body) -> Vec<Vec<Step>> {
    let results: Vec<Reg> = match source.kind {
        FunctionKind::Device => source.returns.iter().filter_map(register).collect(),
        _ => Vec::new(),
    };
    body.blocks
        .iter()
        .map(|block| {
            let insts = &body.insts[block.insts.start as usize..block.insts.end as usize];
            let mut steps: Vec<Step> =
                insts.iter().map(|inst| Step::new(inst.operands(), inst.guard.is_some())).collect();
            let mut end = Step::new(block.terminator.operands(), false);
            if let TerminatorKind::Ret { .. } = block.terminator.kind {
                end.reads.extend(&results);
            }
            steps.push(end);
            steps
        })
        .collect()
}

fn register(param: &ir::Param) -> Option<Reg> {
    match param.storage {
        ir::Storage::Register(reg) => Some(reg),
        ir::Storage::Memory { .. } => None,
    }
}

/// A set of registers.
#[derive(Clone, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn new(registers: usize) -> Self {
        Self(vec![0; registers.div_ceil(64)])
    }

    fn insert(&mut self, reg: Reg) {
        self.0[reg.0 as usize / 64] |= 1 << (reg.0 % 64);
    }

    fn remove(&mut self, reg: Reg) {
        self.0[reg.0 as usize / 64] &= !(1 << (reg.0 % 64));
    }

    /// Adds `other`; whether that changed anything.
    fn unite(&mut self, other: &Set) -> bool {
        let mut changed = false;
        for (word, &more) in self.0.iter_mut().zip(&other.0) {
            changed |= more & !*word != 0;
            *word |= more;
        }
        changed
    }

    fn members(&self) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(index, &word)| (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| index * 64 + bit))
    }
}

/// The life of each register: none if nothing touches it.
fn lives(source: &ir::Function, body: &Body) -> Vec<Option<Life>> {
    let registers = body.regs.len();
    let steps = steps(source, body);
    let cfg = Cfg::new(body);
    let mut alive_in = vec![Set::new(registers); body.blocks.len()];
    let mut alive_out = alive_in.clone();
    let mut pending: Vec<usize> = (0..body.blocks.len()).collect();
    while let Some(block) = pending.pop() {
        let mut alive = alive_out[block].clone();
        for successor in &cfg.successors[block] {
            alive.unite(&alive_in[successor.0 as usize]);
        }
        alive_out[block] = alive.clone();
        for step in steps[block].iter().rev() {
            // A guarded write leaves the old value in other lanes.
            if !step.guarded {
                step.writes.iter().for_each(|&reg| alive.remove(reg));
            }
            step.reads.iter().for_each(|&reg| alive.insert(reg));
        }
        if alive_in[block].unite(&alive) {
            pending.extend(cfg.predecessors[block].iter().map(|predecessor| predecessor.0 as usize));
        }
    }
    let mut lives = vec![None; registers];
    // The caller writes the parameters before the first instruction.
    for reg in source.params.iter().filter_map(register) {
        extend(&mut lives[reg.0 as usize], 0);
    }
    let mut at = 0;
    for (block, steps) in steps.iter().enumerate() {
        alive_in[block].members().for_each(|reg| extend(&mut lives[reg], at));
        for step in steps {
            at += 1;
            step.reads.iter().chain(&step.writes).for_each(|reg| extend(&mut lives[reg.0 as usize], at));
        }
        alive_out[block].members().for_each(|reg| extend(&mut lives[reg], at));
    }
    lives
}
