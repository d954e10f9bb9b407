//! Control flow (PTX ISA 9.7.12) without calls, and `trap`, `brkpt`, `nanosleep` (9.7.19, 9.7.13.18).

use std::time::{Duration, Instant};

use warploom_exec::fault::FaultKind;

use crate::machine::{Flow, Machine, lanes};
use crate::program::Inst;
use crate::warp::{Turn, Wait};

/// `bra` to instruction `imm`.
pub(crate) fn bra(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    machine.branch(mask, inst.imm)
}

/// `brx.idx`: index in row `a`, targets in table `imm`. An index out of range goes on with the next instruction.
pub(crate) fn brx(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let targets = &function.branches[inst.imm as usize];
    let index = machine.frame.r32[inst.a as usize];
    let first = index[mask.trailing_zeros() as usize];
    let target = |machine: &Machine<'_>, index: u32| targets.get(index as usize).copied().unwrap_or(machine.pc + 1);
    if lanes(mask).all(|lane| index[lane] == first) {
        let target = target(machine, first);
        return machine.branch(mask, target);
    }
    let mut left = mask;
    let mut back = machine.pc + 1;
    let others = machine.active & !mask;
    if others != 0 {
        machine.warp.park(machine.activation, machine.pc + 1, others, Wait::Ready);
    }
    while left != 0 {
        let chosen = index[left.trailing_zeros() as usize];
        let mut same = 0;
        for lane in lanes(left) {
            same |= u32::from(index[lane] == chosen) << lane;
        }
        left &= !same;
        let target = target(machine, chosen);
        back = back.min(target);
        machine.warp.park(machine.activation, target, same, Wait::Ready);
    }
    machine.active = 0;
    if back > machine.pc {
        return Flow::Switch;
    }
    match machine.account_for_loop(machine.pc - back + 1) {
        // Another group is chosen in any case.
        Turn::Stay | Turn::GiveWay => Flow::Switch,
        Turn::End => Flow::Slice,
    }
}

/// `exit`, and `ret` of a kernel.
pub(crate) fn exit(machine: &mut Machine<'_>, _: &Inst, mask: u32) -> Flow {
    machine.warp.exited |= mask;
    machine.warp.leave(&mut machine.cta.frames, machine.activation, mask, true);
    machine.cta.exit(machine.warp.index, mask);
    machine.active &= !mask;
    match machine.active {
        0 if machine.warp.groups.is_empty() => Flow::Leave,
        0 => Flow::Switch,
        _ => Flow::Next,
    }
}

/// `trap`.
pub(crate) fn trap(machine: &mut Machine<'_>, _: &Inst, mask: u32) -> Flow {
    machine.fail(mask, FaultKind::Trap)
}

/// `multimem`: on hardware without multicast objects a reducing load is an illegal address too, stores and reductions of ordinary memory are done as if they
/// were ordinary ones (recorded on an H200).
pub(crate) fn no_multicast(machine: &mut Machine<'_>, _: &Inst, mask: u32) -> Flow {
    machine.fail(mask, FaultKind::NoMulticast)
}

/// `nanosleep`: nanoseconds in row `a`. "The sleep duration is approximated, but guaranteed to be in the interval [0, 2*t]. The maximum
/// sleep duration is 1 millisecond." (PTX ISA 9.7.19.3): lanes that name up to twice the shortest of their times sleep together.
pub(crate) fn nanosleep(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let times = machine.frame.r32[inst.a as usize];
    let now = Instant::now();
    let mut left = mask & !lanes(mask).filter(|&lane| times[lane] == 0).fold(0, |none, lane| none | 1 << lane);
    let awake = machine.active & !left;
    if left == 0 {
        return Flow::Next;
    }
    if awake != 0 {
        machine.warp.park(machine.activation, machine.pc + 1, awake, Wait::Ready);
    }
    while left != 0 {
        let longest = lanes(left).map(|lane| times[lane]).max().unwrap_or_default();
        let together =
            lanes(left).filter(|&lane| times[lane] >= longest / 2).fold(0, |together, lane| together | 1 << lane);
        left &= !together;
        let until = now + Duration::from_nanos(u64::from(longest.min(LONGEST_SLEEP)));
        machine.warp.park(machine.activation, machine.pc + 1, together, Wait::Sleep { until });
    }
    Flow::Switch
}

/// [`Yield`](warploom_ptx::ir::BarrierOp::Yield): every other warp of the CTA that can run has its turn before this one goes on.
pub(crate) fn give_way(machine: &mut Machine<'_>, _: &Inst, _: u32) -> Flow {
    machine.pc += 1;
    Flow::Slice
}

/// In nanoseconds.
const LONGEST_SLEEP: u32 = 1_000_000;
