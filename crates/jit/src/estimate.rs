//! How long a kernel keeps the interpreter busy, and how long making code of it takes: what the choice between them is made by.
//!
//! All figures are of one thread of a processor of 2020 and later. They need to be right to a factor of two: who pays as much for
//! interpreting as for compiling, and then compiles, pays at most twice what would have been best. Times are in nanoseconds: small launches ask too.

use warploom_exec::grid::Grid;
use warploom_ptx::ir::Body;

/// So many threads' instructions take the interpreter a nanosecond: a warp's 32 threads share each.
const INTERPRETED: u64 = 5;
/// What it takes the interpreter to begin a CTA, more than it takes code.
const BEGUN: u64 = 100;
/// Trips that a loop is thought to make as long as nobody knows.
const TRIPS: u64 = 16;
/// Loops in loops that are counted so.
const DEEPEST: u32 = 4;

/// What a compilation takes besides what it takes for each instruction.
const START: u64 = 15_000_000;
/// What it takes for each instruction: kernels with many accesses and branches twice that, straight arithmetic half of it.
const EACH: u64 = 500_000;
/// So many at most: for more than these LLVM makes less of an effort.
const MOST: u64 = 4000;

/// What it takes to look for code in the cache, and to load it.
pub(crate) const LOADING: u64 = 1_000_000;

/// Of a kernel: how much there is to do for a thread, and to compile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    /// Instructions that a thread is thought to run.
    run: u64,
    /// Whether that is a guess only.
    pub(crate) has_loops: bool,
    /// What compiling costs.
    pub(crate) cost: u64,
}

impl Weight {
    pub(crate) fn new(body: Option<&Body>) -> Weight {
        let Some(body) = body else { return Weight { run: 0, has_loops: false, cost: u64::MAX } };
        let innermost = body.innermost_loops();
        let runs = body.blocks.iter().zip(innermost).map(|(block, innermost)| {
            let depth = innermost.map_or(0, |index| body.loops[index as usize].depth.min(DEEPEST));
            (block.insts.len() as u64 + 1).saturating_mul(TRIPS.pow(depth))
        });
        let cost = START + EACH * MOST.min(body.insts.len() as u64);
        Weight { run: runs.fold(0, u64::saturating_add), has_loops: !body.loops.is_empty(), cost }
    }

    /// How long the interpreter is thought to need for so many CTAs, or parts of them, of so many threads each.
    pub(crate) fn interpreting(&self, ctas: u64, threads: u64) -> u64 {
        ctas.saturating_mul(BEGUN + threads.saturating_mul(self.run) / INTERPRETED)
    }

    /// Whether what is thought to take the interpreter so long, divided among so many, ends earlier if it waits for code.
    pub(crate) fn is_worth_waiting(&self, interpreting: u64, side_by_side: u64) -> bool {
        interpreting > self.cost.saturating_mul(2).saturating_mul(side_by_side)
    }
}

/// What is left to be done of a grid, if `done` units that took so long are like those from `next` on.
pub(crate) fn left(grid: &Grid, took: u64, done: u64, next: u64) -> u64 {
    match grid.launch.ctas().saturating_mul(u64::from(grid.parts)).saturating_sub(next) {
        left if left != 0 && done != 0 => (took / done).saturating_mul(left),
        _ => 0,
    }
}
