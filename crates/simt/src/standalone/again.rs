//! Registers that are written again for something else, where both are read in one place: what is read of the first write alone gets a register of its own.
//!
//! A [value](crate::values) is all writes that some read may see. Where compilers begin a loop's counter in the register that has the thread's number, nothing would be
//! known of the number where it is read before the loop, nor of a row that is found by it.

use std::collections::BTreeMap;

use warploom_ptx::ir::{Body, Cfg, Inst, Op, Operand, Reg, RegDecl};

use crate::range::is_integer;
use crate::transfer::is_timeless;

/// Writes of a register that are told apart, with one bit for what was there before the kernel began.
type Writes = u64;
/// That bit.
const BEFORE: Writes = 1 << 63;
/// Registers with more writes stay as they are.
const MOST: usize = 32;
/// Steps that may be taken for a whole kernel: registers times blocks.
const PATIENCE: usize = 1 << 21;

/// A place where a register is read or written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Inst(u32),
    /// The end of a block, behind its instructions.
    End,
}

/// What a body does with a register.
#[derive(Default)]
struct Uses {
    /// The instructions that write it, each with its block, and whether it always does.
    writes: Vec<(u32, u32, bool)>,
    /// By block.
    reads: BTreeMap<u32, Vec<Place>>,
}

/// Gives such reads, and the write, registers of their own. A copy follows the write for all others.
pub(super) fn tell_apart(body: &mut Body) {
    let mut splits = Vec::new();
    let uses = uses(body);
    let several = uses.iter().filter(|(_, uses)| (2..=MOST).contains(&uses.writes.len()));
    let several: Vec<(&Reg, &Uses)> = several.collect();
    if several.is_empty() || several.len().saturating_mul(body.blocks.len()) > PATIENCE {
        return;
    }
    let cfg = Cfg::new(body);
    for (reg, uses) in several {
        splits.extend(of_register(body, &cfg, *reg, uses).into_iter().map(|(write, reads)| (*reg, write, reads)));
    }
    let mut copies: BTreeMap<(u32, u32), Vec<Inst>> = BTreeMap::new();
    for (reg, write, reads) in splits {
        let own = Reg(body.regs.len() as u32);
        let ty = body.regs[reg.0 as usize].ty;
        body.regs.push(RegDecl { name: body.regs[reg.0 as usize].name.clone(), ty });
        let inst = &mut body.insts[write as usize];
        inst.operands_mut().into_iter().filter(|operand| !operand.role.reads()).for_each(|mut operand| {
            operand.reg().into_iter().filter(|written| **written == reg).for_each(|written| *written = own);
        });
        let op = Op::Mov { ty: ty.to_bits(), dst: reg, src: Operand::Reg(own) };
        let copy = Inst { op, guard: None, ..inst.clone() };
        let block = body.blocks.partition_point(|block| block.insts.end <= write);
        copies.entry((block as u32, write + 1)).or_default().push(copy);
        for (block, place) in reads {
            let operands = match place {
                Place::Inst(inst) => body.insts[inst as usize].operands_mut(),
                Place::End => body.blocks[block as usize].terminator.operands_mut(),
            };
            operands.into_iter().filter(|operand| operand.role.reads()).for_each(|mut operand| {
                operand.reg().into_iter().filter(|read| **read == reg).for_each(|read| *read = own);
            });
        }
    }
    if !copies.is_empty() {
        body.insert(&copies);
    }
}

/// By register of whole numbers.
fn uses(body: &Body) -> BTreeMap<Reg, Uses> {
    let mut all: BTreeMap<Reg, Uses> = BTreeMap::new();
    let counts = |reg: &Reg| is_integer(body.regs[reg.0 as usize].ty);
    for (number, block) in (0u32..).zip(&body.blocks) {
        for inst in block.insts.clone() {
            let instruction = &body.insts[inst as usize];
            for operand in instruction.operands() {
                if let Some(reg) = operand.read().filter(counts) {
                    all.entry(reg).or_default().reads.entry(number).or_default().push(Place::Inst(inst));
                }
                if let Some(reg) = operand.def().filter(counts) {
                    all.entry(reg).or_default().writes.push((inst, number, instruction.guard.is_none()));
                }
            }
        }
        for reg in block.terminator.operands().iter().filter_map(|operand| operand.read()).filter(counts) {
            all.entry(reg).or_default().reads.entry(number).or_default().push(Place::End);
        }
    }
    all
}

/// Writes with the reads that see nothing else, where others see more.
fn of_register(body: &Body, cfg: &Cfg, reg: Reg, uses: &Uses) -> Vec<(u32, Vec<(u32, Place)>)> {
    let mut by_block: BTreeMap<u32, Vec<(Place, usize)>> = BTreeMap::new();
    for (at, (inst, block, _)) in uses.writes.iter().enumerate() {
        by_block.entry(*block).or_default().push((Place::Inst(*inst), at));
    }
    let written = |at: usize, before: Writes| if uses.writes[at].2 { 1 << at } else { before | 1 << at };
    let through = |block: u32, before: Writes| {
        by_block.get(&block).into_iter().flatten().fold(before, |seen, (_, at)| written(*at, seen))
    };
    let mut begins: Vec<Writes> = vec![0; body.blocks.len()];
    begins[0] = BEFORE;
    let mut pending: Vec<u32> = (0..body.blocks.len() as u32).rev().collect();
    while let Some(block) = pending.pop() {
        let ends = through(block, begins[block as usize]);
        for to in &cfg.successors[block as usize] {
            let begin = &mut begins[to.0 as usize];
            if *begin | ends != *begin {
                *begin |= ends;
                pending.push(to.0);
            }
        }
    }
    let mut alone: Vec<Vec<(u32, Place)>> = vec![Vec::new(); uses.writes.len()];
    let mut shared: Writes = 0;
    for (block, reads) in &uses.reads {
        for place in reads {
            let before = by_block.get(block).into_iter().flatten().filter(|(write, _)| write < place);
            let seen = before.fold(begins[*block as usize], |seen, (_, at)| written(*at, seen));
            if seen.is_power_of_two() && seen != BEFORE {
                alone[seen.trailing_zeros() as usize].push((*block, *place));
            } else {
                shared |= seen;
            }
        }
    }
    let stands_alone = |at: usize| {
        let (write, _, always) = uses.writes[at];
        let inst = &body.insts[write as usize];
        // What adds to a register stays one with what that began with.
        let adds = inst.operands().iter().any(|operand| operand.read() == Some(reg));
        // Of what comes from memory nothing is known in any case.
        always && !adds && is_timeless(&inst.op) && shared & (1 << at) != 0
    };
    let found = alone.into_iter().enumerate().filter(|(at, reads)| !reads.is_empty() && stands_alone(*at));
    found.map(|(at, reads)| (uses.writes[at].0, reads)).collect()
}
