//! Starts workers, and reports what they find or die of.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::shrink::shrunk;
use crate::worker;

/// How long one kernel may take before it is taken to hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is found, at most, before it ends: more is of the same kind.
const ENOUGH: u32 = 10;

/// A worker, and the lines that it says.
struct Worker {
    child: Child,
    lines: Receiver<String>,
}

impl Worker {
    fn start(arguments: &[String]) -> Result<Worker> {
        let program = std::env::current_exe().context("the program's own path")?;
        let mut child = Command::new(program).args(arguments).arg("--worker").stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("a worker's output")?;
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Worker { child, lines })
    }

    /// The next line, or how it ended.
    fn next(&mut self) -> Result<Result<String, String>> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Ok(Ok(line)),
            Err(RecvTimeoutError::Timeout) => {
                self.child.kill()?;
                self.child.wait()?;
                Ok(Err(format!("it takes more than {} s", PATIENCE.as_secs())))
            }
            Err(RecvTimeoutError::Disconnected) => Ok(Err(self.child.wait()?.to_string())),
        }
    }
}

/// What comes of a seed without some statements: none if all agree, or it is not covered.
pub(crate) fn trouble(seed: u64, without: &BTreeSet<u32>) -> Result<Option<String>> {
    let without: Vec<String> = without.iter().map(u32::to_string).collect();
    let arguments = [
        format!("--seed={seed}"),
        format!("--without={}", if without.is_empty() { "0".to_owned() } else { without.join(",") }),
    ];
    let mut worker = Worker::start(&arguments)?;
    Ok(match worker.next()? {
        Ok(line) => {
            worker.child.wait()?;
            line.starts_with(worker::DIFFERS).then_some(line)
        }
        Err(end) => Some(end),
    })
}

/// Runs for some time; how much was found.
pub(crate) fn run(first: u64, seconds: u64, keep: Option<&Path>) -> Result<u32> {
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut seed, mut ran, mut found) = (first, 0u32, 0u32);
    let mut declined: BTreeMap<String, u32> = BTreeMap::new();
    while Instant::now() < end && found < ENOUGH {
        let left = end.saturating_duration_since(Instant::now()).as_secs() + 1;
        let mut worker = Worker::start(&[format!("--seed={seed}"), format!("--seconds={left}")])?;
        let mut current = None;
        loop {
            let line = match worker.next()? {
                Ok(line) => line,
                Err(ended) => {
                    if let Some(died) = current {
                        found += 1;
                        report(died, &ended, keep)?;
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
                (worker::BROKEN | worker::DIFFERS, Some(seed)) => {
                    found += 1;
                    report(seed, &line, keep)?;
                }
                _ => anyhow::bail!("a worker says: {line}"),
            }
            if kind != worker::BEGINS
                && let Some(done) = current.take()
            {
                seed = done + 1;
            }
            if found >= ENOUGH {
                worker.child.kill()?;
                worker.child.wait()?;
                break;
            }
        }
    }
    println!(
        "kernel-fuzz: {ran} kernels from seed {first} on: {found} findings, {} declined",
        declined.values().sum::<u32>()
    );
    for (why, count) in declined {
        println!("  {count:5} declined: {why}");
    }
    Ok(found)
}

/// Says what came of a seed, with a kernel as small as it gets.
fn report(seed: u64, what: &str, keep: Option<&Path>) -> Result<()> {
    println!("seed {seed}: {what}");
    if what.starts_with(worker::BROKEN) {
        // The generator's own fault.
        return Ok(());
    }
    let without = shrunk(seed)?;
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
