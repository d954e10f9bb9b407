//! How long a kernel keeps the interpreter busy, and how long making code of it takes: what the choice between them is made by.
//!
//! All figures are of one thread of a processor of 2020 and later. They need to be right to a factor of two: who pays as much for
//! interpreting as for compiling, and then compiles, pays at most twice what would have been best.

use std::time::Duration;

use warploom_exec::grid::Grid;
use warploom_ptx::ir::Body;

/// What one thread of a warp pays for an instruction in the interpreter.
const INTERPRETED: Duration = Duration::from_nanos(1);
/// In so many parts: a warp's 32 threads share it.
const SHARED_BY: u64 = 5;
/// Trips that a loop is thought to make as long as nobody knows.
const TRIPS: u64 = 16;
/// Loops in loops that are counted so.
const DEEPEST: u32 = 4;

/// What a compilation takes besides what it takes for each instruction.
const START: Duration = Duration::from_millis(10);
/// What it takes for each instruction.
const EACH: Duration = Duration::from_micros(300);

/// What it takes to look for code in the cache, and to load it.
pub(crate) const LOADING: Duration = Duration::from_millis(1);

/// Of a kernel: how much there is to do for a thread, and to compile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    /// Instructions that a thread is thought to run.
    run: u64,
    /// Whether that is a guess only.
    pub(crate) has_loops: bool,
    /// What compiling costs.
    pub(crate) cost: Duration,
}

impl Weight {
    pub(crate) fn new(body: Option<&Body>) -> Weight {
        let Some(body) = body else { return Weight { run: 0, has_loops: false, cost: Duration::MAX } };
        let innermost = body.innermost_loops();
        let runs = body.blocks.iter().zip(innermost).map(|(block, innermost)| {
            let depth = innermost.map_or(0, |index| body.loops[index as usize].depth.min(DEEPEST));
            (block.insts.len() as u64 + 1).saturating_mul(TRIPS.pow(depth))
        });
        let cost = START + EACH * u32::try_from(body.insts.len()).unwrap_or(u32::MAX);
        Weight { run: runs.fold(0, u64::saturating_add), has_loops: !body.loops.is_empty(), cost }
    }

    /// How long the interpreter is thought to need for so many threads.
    pub(crate) fn interpreting(&self, threads: u64) -> Duration {
        let steps = threads.saturating_mul(self.run);
        Duration::from_nanos(steps.saturating_mul(INTERPRETED.as_nanos() as u64) / SHARED_BY)
    }

    /// Whether what is thought to take the interpreter so long, divided among so many, ends earlier if it waits for code.
    pub(crate) fn is_worth_waiting(&self, interpreting: Duration, side_by_side: u64) -> bool {
        let side_by_side = u32::try_from(side_by_side).unwrap_or(u32::MAX).max(1);
        interpreting / side_by_side > self.cost.saturating_mul(2)
    }
}

/// All threads of a grid.
pub(crate) fn threads(grid: &[u32; 3], cta: &[u32; 3]) -> u64 {
    grid.iter().chain(cta).fold(1, |product, extent| product.saturating_mul(u64::from(*extent)))
}

/// What is left to be done of a grid, if `done` units that took so long are like those from `next` on.
pub(crate) fn left(grid: &Grid, took: Duration, done: u64, next: u64) -> Duration {
    let left = grid.units().saturating_sub(next);
    let each = took.as_nanos() as u64 / done.max(1);
    Duration::from_nanos(if done == 0 { 0 } else { each.saturating_mul(left) })
}
