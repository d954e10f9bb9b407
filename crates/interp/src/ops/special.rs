//! Special registers (PTX ISA 10): `imm` is the register, `d` the 32 or 64-bit row that gets it.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use warploom_exec::grid::{Grid, Launch};
use warploom_ptx::ir::SpecialReg;

use crate::frame::Row32;
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine};
use crate::program::Inst;

/// Reads `%tid`: `imm` is the axis.
pub(crate) struct ReadTid;

impl LaneOp for ReadTid {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let row = machine.warp.tid[inst.imm as usize];
        machine.put(inst.d, mask, &row);
        Flow::Next
    }
}

/// Reads a special register whose value fits 32 bits; longer ones give their low half.
pub(crate) struct Read32;

impl LaneOp for Read32 {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let register = SpecialReg::ALL[inst.imm as usize];
        match uniform(machine, register) {
            Some(value) => machine.put(inst.d, mask, &[value; 32]),
            None => machine.put(inst.d, mask, &row(machine, register)),
        }
        Flow::Next
    }
}

/// Reads a special register into a 64-bit row.
pub(crate) fn read64(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let register = SpecialReg::ALL[inst.imm as usize];
    let out = match wide(machine, register) {
        Some(value) => [value; 32],
        None => row(machine, register).map(u64::from),
    };
    machine.put(inst.d, mask, &out);
    Flow::Next
}

/// Reads a special register that is a predicate.
pub(crate) fn read_predicate(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let explicit = machine.grid.launch.explicit_cluster;
    machine.put_predicate(inst.d, mask, if explicit { u32::MAX } else { 0 });
    Flow::Next
}

fn wide(machine: &Machine<'_>, register: SpecialReg) -> Option<u64> {
    Some(match register {
        SpecialReg::Gridid => machine.grid.id,
        SpecialReg::CurrentGraphExec => machine.grid.launch.graph.as_ref().map_or(0, |run| run.exec),
        SpecialReg::Clock64 => clock(machine.grid),
        SpecialReg::Globaltimer => nanoseconds(),
        _ => return None,
    })
}

/// A counter that rises at the device's clock rate, as programs that measure with `%clock64` expect.
fn clock(grid: &Grid) -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let nanoseconds = START.get_or_init(Instant::now).elapsed().as_nanos();
    (nanoseconds * u128::from(grid.launch.environment.clock_khz) / 1_000_000) as u64
}

fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// The value in each lane.
fn row(machine: &Machine<'_>, register: SpecialReg) -> Row32 {
    use SpecialReg::*;
    let per_lane = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
    match register {
        TidX => machine.warp.tid[0],
        TidY => machine.warp.tid[1],
        TidZ => machine.warp.tid[2],
        Laneid => per_lane(&|lane| lane),
        LanemaskEq => per_lane(&|lane| 1 << lane),
        LanemaskLe => per_lane(&|lane| u32::MAX >> (31 - lane)),
        LanemaskLt => per_lane(&|lane| (1 << lane) - 1),
        LanemaskGe => per_lane(&|lane| u32::MAX << lane),
        LanemaskGt => per_lane(&|lane| !(u32::MAX >> (31 - lane))),
        other => [uniform(machine, other).unwrap_or_default(); 32],
    }
}

/// The address of the grid's workspace; 0 for a launch that is not cooperative.
fn workspace(launch: &Launch) -> u64 {
    launch.cooperative.as_ref().map_or(0, |workspace| workspace.address())
}

/// The value of a register that is the same in all lanes.
fn uniform(machine: &Machine<'_>, register: SpecialReg) -> Option<u32> {
    use SpecialReg::*;
    let launch = &machine.grid.launch;
    let cta = machine.cta.id;
    let cluster = launch.cluster;
    Some(match register {
        TidX | TidY | TidZ | Laneid | LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt => return None,
        NtidX => launch.cta[0],
        NtidY => launch.cta[1],
        NtidZ => launch.cta[2],
        Warpid => machine.warp.index,
        // The most that an SM holds, not what this CTA has (PTX ISA 10.5).
        Nwarpid => 64,
        CtaidX => cta[0],
        CtaidY => cta[1],
        CtaidZ => cta[2],
        NctaidX => launch.grid[0],
        NctaidY => launch.grid[1],
        NctaidZ => launch.grid[2],
        Smid => machine.cta.worker,
        Nsmid => machine.grid.sm_count.max(machine.cta.worker + 1),
        ClusteridX => cta[0] / cluster[0],
        ClusteridY => cta[1] / cluster[1],
        ClusteridZ => cta[2] / cluster[2],
        NclusteridX => launch.grid[0] / cluster[0],
        NclusteridY => launch.grid[1] / cluster[1],
        NclusteridZ => launch.grid[2] / cluster[2],
        ClusterCtaidX => cta[0] % cluster[0],
        ClusterCtaidY => cta[1] % cluster[1],
        ClusterCtaidZ => cta[2] % cluster[2],
        ClusterNctaidX => cluster[0],
        ClusterNctaidY => cluster[1],
        ClusterNctaidZ => cluster[2],
        ClusterCtarank => {
            let [x, y, z] = [0, 1, 2].map(|axis| cta[axis] % cluster[axis]);
            (z * cluster[1] + y) * cluster[0] + x
        }
        ClusterNctarank => cluster.iter().product(),
        Gridid => machine.grid.id as u32,
        Clock | Clock64 => clock(machine.grid) as u32,
        ClockHi => (clock(machine.grid) >> 32) as u32,
        Globaltimer | GlobaltimerLo => nanoseconds() as u32,
        GlobaltimerHi => (nanoseconds() >> 32) as u32,
        // All memory is as near to all workers.
        LocalityDomainId | LocalityDomainSupplementalSm => 0,
        DynamicSmemSize => launch.dynamic_shared,
        // Where a cooperative grid synchronises: the upper and the lower half of the address.
        Envreg1 => (workspace(launch) >> 32) as u32,
        Envreg2 => workspace(launch) as u32,
        TotalSmemSize | AggrSmemSize => machine.cta.shared.len() as u32,
        // Performance counters, other environment registers and reserved shared memory: there are none, and they read as zero.
        _ => 0,
    })
}
