//! Instructions whose results do not depend on which warp runs them: what they compute from parameters, constants, the shape of the launch
//! and the place of the CTA is computed once and stays in its row, instead of once in every warp.
//!
//! Such an instruction is run ahead of the kernel, whether or not control would come to it. So it must have no effect but its result, must
//! not be able to fail, and its result must be the only thing ever written to its registers, which then have rows of their own. Frames
//! are kept from CTA to CTA, and with them these rows.
//!
//! Where every warp has a frame of its own (kernels with barriers: their warps take turns), what depends on `%tid` but not on the CTA stays
//! the same too, for the warp with the same number in each CTA. Elsewhere the warps of a CTA run one after the other on one frame, and
//! what depends on the CTA but not on `%tid` is the same for all of them.

use warploom_ptx::ir::{
    self, AddressTarget, BarrierOp, Base, Body, FunctionKind, Inst, Module, Op, OperandRef, Reg, Semantics, Space,
    SpecialReg,
};

use super::family::Family;
use super::simplify::Counts;

/// Most registers that are kept: beyond that the rows cost more of the host's caches than the instructions cost time.
const MOST: usize = 160;

/// When an instruction is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Where it stands.
    Here,
    /// Before a frame's first CTA of a launch.
    Launch,
    /// Before a frame's first warp of a CTA.
    Cta,
}

/// What a value depends on beyond the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dependence {
    cta: bool,
    thread: bool,
}

impl Dependence {
    const LAUNCH: Self = Self { cta: false, thread: false };

    fn and(self, other: Self) -> Self {
        Self { cta: self.cta || other.cta, thread: self.thread || other.thread }
    }
}

/// What is run ahead in a kernel.
pub(super) struct Hoisted {
    /// By instruction of the body.
    pub(super) when: Vec<When>,
    /// By register: it is written ahead, and nothing else may use its row.
    pub(super) kept: Vec<bool>,
    /// By register: it is kept, and the same in all lanes.
    pub(super) uniform: Vec<bool>,
    /// The registers that are kept.
    registers: Vec<(Reg, When)>,
    /// Every warp has a frame of its own.
    pub(super) frame_for_each_warp: bool,
}

impl Hoisted {
    /// The registers that are written ahead, and when.
    pub(super) fn written_ahead(&self) -> impl Iterator<Item = (Reg, When)> {
        self.registers.iter().copied()
    }
}

/// Finds what can be run ahead in `body`: nothing in a function that is called.
pub(super) fn hoist(module: &Module, source: &ir::Function, body: &Body) -> Hoisted {
    let mut hoisted = Hoisted {
        when: vec![When::Here; body.insts.len()],
        kept: vec![false; body.regs.len()],
        uniform: vec![false; body.regs.len()],
        registers: Vec::new(),
        frame_for_each_warp: false,
    };
    if source.kind != FunctionKind::Kernel {
        return hoisted;
    }
    let waits =
        |inst: &Inst| matches!(&inst.op, Op::Barrier(op) if !matches!(op, BarrierOp::Warp { .. } | BarrierOp::Yield));
    hoisted.frame_for_each_warp = body.insts.iter().any(waits);
    let counts = Counts::of(source, body);
    let mut known: Vec<Option<Dependence>> = vec![None; body.regs.len()];
    let mut left = MOST;
    for (index, inst) in body.insts.iter().enumerate() {
        let Some(own) = inherent(module, source, inst) else { continue };
        let operands = inst.operands();
        let writes: Vec<Reg> = operands.iter().filter_map(OperandRef::def).collect();
        let once = writes.iter().all(|reg| counts.writes[reg.0 as usize] == 1);
        // A register that is written further down is not known yet, and makes this one unknown.
        let mut reads = operands.iter().filter_map(OperandRef::read);
        let all = reads.try_fold(own, |sum, reg| Some(sum.and(known[reg.0 as usize]?)));
        let Some(dependence) = all.filter(|_| once) else { continue };
        let when = match (dependence.cta, dependence.thread) {
            (false, false) => When::Launch,
            (false, true) if hoisted.frame_for_each_warp => When::Launch,
            (true, false) if !hoisted.frame_for_each_warp => When::Cta,
            _ => continue,
        };
        let Some(rest) = left.checked_sub(writes.len()) else { continue };
        left = rest;
        hoisted.when[index] = when;
        for reg in writes {
            known[reg.0 as usize] = Some(dependence);
            hoisted.kept[reg.0 as usize] = true;
            hoisted.uniform[reg.0 as usize] = !dependence.thread;
            hoisted.registers.push((reg, when));
        }
    }
    hoisted
}

/// Whether an instruction does nothing but write its results, and can do so at any time.
pub(super) fn is_pure(module: &Module, source: &ir::Function, inst: &Inst) -> bool {
    inherent(module, source, inst).is_some()
}

/// What the result of an instruction depends on besides its operands. None if it must run where it stands.
fn inherent(module: &Module, source: &ir::Function, inst: &Inst) -> Option<Dependence> {
    if inst.guard.is_some() {
        return None;
    }
    if let Family::Integer | Family::Float | Family::Comparison | Family::Logic | Family::Conversion =
        Family::of(&inst.op)
    {
        return Some(Dependence::LAUNCH);
    }
    match &inst.op {
        Op::Mov { .. }
        | Op::Pack { .. }
        | Op::Unpack { .. }
        | Op::Cvta { .. }
        | Op::AddressOf { target: AddressTarget::Global(_) | AddressTarget::Function(_), .. } => {
            Some(Dependence::LAUNCH)
        }
        Op::ReadSpecial { reg, .. } => special(*reg),
        Op::Ld { space, ty, semantics: Semantics::Weak, dst, addr, .. } => {
            let bytes = i64::from(ty.bytes()) * dst.len() as i64;
            let size = match (space, addr.base) {
                (Space::Param, Base::ParamFrame) => i64::from(source.param_buffer_size),
                // A kernel's constants do not change while it runs (PTX ISA 5.1.3).
                (Space::Const, Base::Global(id)) => {
                    let variable = &module.globals[id.0 as usize];
                    let fits = variable.space == Space::Const && i64::from(variable.align) % bytes == 0;
                    if fits { i64::try_from(variable.size).ok()? } else { return None }
                }
                _ => return None,
            };
            let inside = addr.offset >= 0 && addr.offset.checked_add(bytes).is_some_and(|end| end <= size);
            (inside && addr.offset % bytes == 0).then_some(Dependence::LAUNCH)
        }
        _ => None,
    }
}

/// What a special register depends on. None for those that change while a warp runs.
fn special(reg: SpecialReg) -> Option<Dependence> {
    use SpecialReg::*;
    match reg {
        NtidX | NtidY | NtidZ | NctaidX | NctaidY | NctaidZ => Some(Dependence::LAUNCH),
        CtaidX | CtaidY | CtaidZ => Some(Dependence { cta: true, thread: false }),
        TidX | TidY | TidZ | Laneid => Some(Dependence { cta: false, thread: true }),
        _ => None,
    }
}
