//! Starts workers, and reports what they find or die of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use warploom_fuzzing::{Search, Worker};

use crate::Style;
use crate::shrink::shrunk;
use crate::worker;

/// How long one kernel may take before it is taken to hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is found, at most, before it ends: more is of the same kind.
const ENOUGH: u32 = 10;

fn start(arguments: &[String]) -> Result<Worker> {
    Worker::start(|command| _ = command.args(arguments).arg("--worker"))
}

/// What comes of a seed without some statements: none if all agree, or it is not covered.
pub(crate) fn trouble(seed: u64, style: Style, without: &BTreeSet<u32>) -> Result<Option<String>> {
    let without: Vec<String> = without.iter().map(u32::to_string).collect();
    let arguments = [
        format!("--seed={seed}"),
        style.option(),
        format!("--without={}", if without.is_empty() { "0".to_owned() } else { without.join(",") }),
    ];
    Ok(match start(&arguments)?.next_line(PATIENCE)? {
        Ok(line) => line.starts_with(worker::DIFFERS).then_some(line),
        Err(end) => Some(end.to_string()),
    })
}

/// Runs for some time. Fails the process if something was found.
pub(crate) fn run(first: u64, style: Style, seconds: u64, keep: Option<&Path>) -> Result<ExitCode> {
    let mut search = Search::new(seconds, ENOUGH);
    let (mut seed, mut ran) = (first, 0u32);
    let mut declined: BTreeMap<String, u32> = BTreeMap::new();
    while !search.is_over() {
        let left = search.seconds_left();
        let mut worker = start(&[format!("--seed={seed}"), style.option(), format!("--seconds={left}")])?;
        let mut current = None;
        loop {
            let line = match worker.next_line(PATIENCE)? {
                Ok(line) => line,
                Err(ended) => {
                    if let Some(died) = current {
                        report(&mut search, died, style, &ended.to_string(), keep)?;
                        seed = died + 1;
                    }
                    break;
                }
            };
            let (kind, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match (kind, current) {
                (worker::BEGINS, _) => current = Some(rest.parse()?),
                (worker::SAME, Some(_)) => ran += 1,
                (worker::DECLINED, Some(_)) => {
                    let why = rest.split_once(": ").map_or(rest, |(_, why)| why);
                    *declined.entry(why.to_owned()).or_default() += 1;
                }
                (worker::BROKEN | worker::DIFFERS, Some(seed)) => report(&mut search, seed, style, &line, keep)?,
                _ => anyhow::bail!("a worker says: {line}"),
            }
            if kind != worker::BEGINS
                && let Some(done) = current.take()
            {
                seed = done + 1;
            }
            if search.findings() >= ENOUGH {
                break;
            }
        }
    }
    println!(
        "kernel-fuzz: {ran} kernels from seed {first} on: {} findings, {} declined",
        search.findings(),
        declined.values().sum::<u32>()
    );
    for (why, count) in declined {
        println!("  {count:5} declined: {why}");
    }
    Ok(search.exit_code())
}

/// Says what came of a seed, with a kernel as small as it gets.
fn report(search: &mut Search, seed: u64, style: Style, what: &str, keep: Option<&Path>) -> Result<()> {
    search.found(seed, &what);
    if what.starts_with(worker::BROKEN) {
        // The generator's own fault.
        return Ok(());
    }
    let without = shrunk(seed, style)?;
    let text = worker::filetest(seed, &without);
    match keep {
        Some(folder) => {
            let path = folder.join(format!("{seed}.ptx"));
            std::fs::create_dir_all(folder)?;
            std::fs::write(&path, text)?;
            println!("seed {seed}: {}", path.display());
        }
        None => print!("{text}"),
    }
    Ok(())
}
