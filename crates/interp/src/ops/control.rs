//! Control flow (PTX ISA 9.7.12) without calls, and `trap`, `brkpt`, `nanosleep` (9.7.19, 9.7.13.18).

use warploom_exec::fault::FaultKind;

use crate::machine::{Flow, Machine};
use crate::program::Inst;

/// `bra` to instruction `imm`.
pub(crate) fn bra(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    machine.branch(mask, inst.imm)
}

/// `brx.idx`: index in row `a`, targets in table `imm`. An index out of range goes on with the next instruction.
pub(crate) fn brx(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let targets = &function.branches[inst.imm as usize];
    let index = machine.frame.r32[inst.a as usize];
    let mut left = mask;
    let others = machine.active & !mask;
    if others != 0 {
        machine.warp.park(machine.activation, machine.pc + 1, others, crate::warp::Wait::Ready);
    }
    while left != 0 {
        let chosen = index[left.trailing_zeros() as usize];
        let mut same = 0;
        for lane in crate::machine::lanes(left) {
            same |= u32::from(index[lane] == chosen) << lane;
        }
        left &= !same;
        let target = targets.get(chosen as usize).copied().unwrap_or(machine.pc + 1);
        machine.warp.park(machine.activation, target, same, crate::warp::Wait::Ready);
    }
    machine.active = 0;
    machine.fuel -= 1;
    if machine.fuel == 0 { Flow::Slice } else { Flow::Switch }
}

/// `exit`, and `ret` of a kernel.
pub(crate) fn exit(machine: &mut Machine<'_>, _: &Inst, mask: u32) -> Flow {
    machine.warp.exited |= mask;
    machine.warp.leave(&mut machine.cta.frames, machine.activation, mask, true);
    machine.cta.exit(machine.warp.index, mask);
    machine.active &= !mask;
    if machine.active == 0 { Flow::Switch } else { Flow::Next }
}

/// `trap`.
pub(crate) fn trap(machine: &mut Machine<'_>, _: &Inst, mask: u32) -> Flow {
    machine.fail(mask, FaultKind::Trap)
}

/// `nanosleep`: a thread that sleeps waits for somebody, so the warp gives way.
pub(crate) fn nanosleep(machine: &mut Machine<'_>, _: &Inst, _: u32) -> Flow {
    machine.polls += crate::warp::POLLS / 2;
    Flow::Next
}
