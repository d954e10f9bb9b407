//! How long a kernel keeps the interpreter busy, and how long making code of it takes: what the choice between them is made by.
//!
//! All figures are of one thread of a processor of 2020 and later. They need to be right to a factor of two: who pays as much for
//! interpreting as for compiling, and then compiles, pays at most twice what would have been best. Times are in nanoseconds: small launches ask too.

use std::collections::HashMap;

use warploom_exec::grid::Grid;
use warploom_ptx::ir::{FunctionId, Module};
use warploom_simt::Calls;

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
/// Of more than so many LLVM makes less of an effort.
const MOST: u64 = 4000;
/// What it takes for each of those. Measured with what chooses among a hundred types: 400 us on a Xeon of the fifth generation.
const EACH_OF_MANY: u64 = 400_000;

/// For code that takes longer no grid waits at sight.
const PATIENCE: u64 = 4_000_000_000;

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

/// Instructions of a kernel, with all that it calls, that a thread is thought to run. Of what calls itself nobody knows how often.
fn run(module: &Module, kernel: FunctionId, calls: &Calls<'_>) -> u64 {
    let mut known: HashMap<FunctionId, u64> = HashMap::new();
    for id in calls.order() {
        let Some(body) = &module.functions[id.0 as usize].body else { continue };
        let mut own: Vec<u64> = body.blocks.iter().map(|block| block.insts.len() as u64 + 1).collect();
        for (block, callee) in calls.of(*id) {
            let own = &mut own[*block as usize];
            *own = own.saturating_add(known.get(callee).copied().unwrap_or(0));
        }
        let depths = body.innermost_loops().into_iter();
        let depths = depths.map(|innermost| innermost.map_or(0, |at| body.loops[at as usize].depth.min(DEEPEST)));
        let blocks = own.into_iter().zip(depths).map(|(own, depth)| own.saturating_mul(TRIPS.pow(depth)));
        known.insert(*id, blocks.fold(0, u64::saturating_add));
    }
    known.get(&kernel).copied().unwrap_or(0)
}

impl Weight {
    pub(crate) fn new(module: &Module, kernel: FunctionId) -> Weight {
        let Some(body) = &module.functions[kernel.0 as usize].body else {
            return Weight { run: 0, has_loops: false, cost: u64::MAX };
        };
        let calls = Calls::new(module, kernel);
        let (written, run) = (calls.written(), run(module, kernel, &calls));
        let many = written.saturating_sub(MOST);
        let cost = START + EACH * MOST.min(written) + EACH_OF_MANY.saturating_mul(many);
        Weight { run, has_loops: !body.loops.is_empty(), cost }
    }

    /// How long the interpreter is thought to need for so many CTAs, or parts of them, of so many threads each.
    pub(crate) fn interpreting(&self, ctas: u64, threads: u64) -> u64 {
        ctas.saturating_mul(BEGUN + threads.saturating_mul(self.run) / INTERPRETED)
    }

    /// Whether what is thought to take the interpreter so long, divided among so many, ends earlier if it waits for code. Not where code takes long: of a text with
    /// that many ways most are taken by nobody.
    pub(crate) fn is_worth_waiting(&self, interpreting: u64, side_by_side: u64) -> bool {
        self.cost <= PATIENCE && interpreting > self.cost.saturating_mul(2).saturating_mul(side_by_side)
    }
}

/// What is left to be done of a grid, if `done` units that took so long are like those from `next` on.
pub(crate) fn left(grid: &Grid, took: u64, done: u64, next: u64) -> u64 {
    match grid.launch.ctas().saturating_mul(u64::from(grid.parts)).saturating_sub(next) {
        left if left != 0 && done != 0 => (took / done).saturating_mul(left),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use warploom_ptx::{Options, load};

    use super::*;

    /// A kernel with so many calls of a function of 100 sums.
    fn weight(calls: usize) -> Weight {
        let sums = "add.u32 %r1, %r1, 3;\n".repeat(100);
        let call = "call add;\n".repeat(calls);
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.func add()\n{{\n.reg .b32 %r<2>;\n{sums}ret;\n}}\n\
             .visible .entry k()\n{{\n{call}ret;\n}}\n"
        );
        let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
        let kernel = module.functions.iter().position(|function| &*function.name == "k").expect("a kernel");
        Weight::new(&module, FunctionId(kernel as u32))
    }

    #[test]
    fn what_is_called_counts_for_each_call() {
        let [one, many] = [1, 30].map(weight);
        assert!(many.cost - one.cost >= 29 * 100 * EACH && many.run >= 30 * 100, "{one:?} {many:?}");
        assert!(!one.has_loops);
    }

    #[test]
    fn no_grid_waits_at_sight_for_what_takes_long() {
        let worth = |calls| weight(calls).is_worth_waiting(u64::MAX, 2);
        assert_eq!([worth(30), worth(300)], [true, false]);
    }
}
