//! The process that runs kernels, and says on its standard output what comes of each.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::Style;
use crate::generate;
use crate::kernel::Kernel;
use crate::run::{Executors, Outcome, inputs};

/// Lines of a worker: before a kernel the seed, behind it what came of it.
pub(crate) const BEGINS: &str = "begins";
pub(crate) const SAME: &str = "same";
pub(crate) const DECLINED: &str = "declined";
pub(crate) const BROKEN: &str = "broken";
pub(crate) const DIFFERS: &str = "differs";

/// Runs one seed after the other.
pub(crate) fn many(first: u64, style: Style, seconds: u64) {
    let executors = Executors::new(style);
    let end = Instant::now() + Duration::from_secs(seconds);
    for seed in (first..).take_while(|_| Instant::now() < end) {
        println!("{BEGINS} {seed}");
        say(&executors.compare(&generate::kernel(seed), &BTreeSet::new()));
    }
}

/// Runs one without some statements.
pub(crate) fn once(seed: u64, style: Style, without: &BTreeSet<u32>) {
    say(&Executors::new(style).compare(&generate::kernel(seed), without));
}

fn say(outcome: &Outcome) {
    match outcome {
        Outcome::Same => println!("{SAME}"),
        Outcome::Declined(why) => println!("{DECLINED} {why}"),
        Outcome::Broken(why) => println!("{BROKEN} {}", why.replace('\n', " ")),
        Outcome::Differs(difference) => println!("{DIFFERS} {difference}"),
    }
}

/// The kernel of a seed without some statements, as a filetest.
pub(crate) fn filetest(seed: u64, without: &BTreeSet<u32>) -> String {
    let kernel = generate::kernel(seed);
    let text = kernel.text(without);
    let mut head = format!("// A generated kernel (seed {seed})\n// test run\n");
    let Kernel { cta: [x, y, z], grid: [columns, rows], .. } = &kernel;
    let _ = writeln!(head, "// cta {x} {y} {z}\n// grid {columns} {rows} 1");
    let [a, b] = inputs();
    let _ = writeln!(head, "// in a u32 = 0..{}", a.len() - 1);
    let numbers: Vec<String> = b.iter().map(|bits| format!("0f{bits:08x}")).collect();
    let _ = writeln!(head, "// in b f32 = {}", numbers.join(" "));
    match Executors::new(Style::Chosen).interpreted(&kernel, &text) {
        Ok(words) => {
            // Counters are added to, and not all rows are stored.
            let count = words.len();
            let words: Vec<String> = words.iter().map(u32::to_string).collect();
            let _ = writeln!(head, "// inout d u32 = 0*{count} -> {}", words.join(" "));
        }
        Err(outcome) => {
            let _ = writeln!(head, "// {outcome:?}");
        }
    }
    head + &text
}
