//! Starts workers one after the other, and tells what became of them.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use warploom_fuzzing::{End, Search, Worker};

use crate::Options;
use crate::generated::FUNCTIONS;
use crate::progress::{self, Progress};
use crate::worker::{DONE, FAULTED};

/// Rounds of a worker unless a kernel faults before.
pub(crate) const ROUNDS: u64 = 24;

/// How long a worker may take: it watches its calls itself, and needs seconds.
const PATIENCE: Duration = Duration::from_secs(900);

/// What is found, at most, before it ends.
const ENOUGH: u32 = 50;

/// Lines of a trace that a report shows.
const SHOWN: usize = 25;

/// What a worker writes on standard error, at most this much of which is kept.
const LOG: &str = "standard_error.txt";

struct Supervisor<'a> {
    options: &'a Options,
    libcuda: PathBuf,
    folder: PathBuf,
    progress_file: PathBuf,
    progress: &'static Progress,
}

/// Runs workers for as long as the options say. Fails the process if one found something.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    // Removed with all that is in it, whatever the end.
    let temporary = tempfile::Builder::new().prefix("api-fuzz-").tempdir()?;
    let folder = options.folder.as_deref().unwrap_or(temporary.path());
    fs::create_dir_all(folder)?;
    let folder = folder.canonicalize()?;
    let progress_file = folder.join("progress");
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&progress_file)?;
    let supervisor = Supervisor {
        options,
        libcuda: options.libcuda.canonicalize().with_context(|| options.libcuda.display().to_string())?,
        progress: progress::map(&file)?,
        folder,
        progress_file,
    };
    if let Some(seed) = options.replay {
        let (end, lines) = supervisor.worker(seed, u64::MAX, true)?;
        lines.iter().for_each(|line| println!("{line}"));
        println!("seed {seed}: {}", ending(&end));
        return Ok(if is_fine(&end) { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let search = supervisor.all()?;
    supervisor.summary(search.findings());
    Ok(search.exit_code())
}

impl Supervisor<'_> {
    fn all(&self) -> Result<Search> {
        let mut search = Search::new(self.options.seconds, ENOUGH);
        let (mut seed, mut faulted) = (self.options.seed, 0);
        while !search.is_over() {
            let (end, lines) = self.worker(seed, search.seconds_left(), false)?;
            faulted += u64::from(code_of(&end) == Some(FAULTED));
            if !is_fine(&end) {
                search.found(seed, &ending(&end));
                for thread in &self.progress.current {
                    if let Some(index) = thread.swap(0, Ordering::Relaxed).checked_sub(1) {
                        println!("  in {}", FUNCTIONS[index as usize].symbol);
                    }
                }
                lines.iter().for_each(|line| println!("  {line}"));
            }
            seed += 1;
        }
        println!("seeds {} to {}; {faulted} workers ended with a kernel's fault", self.options.seed, seed - 1);
        Ok(search)
    }

    /// How a worker with this seed ended, all its rounds done or no time left for another, and the last lines that it wrote on standard error.
    fn worker(&self, seed: u64, seconds: u64, trace: bool) -> Result<(End, VecDeque<String>)> {
        let log = self.folder.join(LOG);
        let errors = File::create(&log)?;
        let mut worker = Worker::start(|command| {
            command.arg("--libcuda").arg(&self.libcuda);
            command.args(["--seed", &seed.to_string(), "--rounds", &self.options.rounds.to_string()]);
            command.args(["--seconds", &seconds.to_string()]).arg("--worker").arg(&self.progress_file);
            command
                .env("RUST_BACKTRACE", "0")
                .env("WARPLOOM_MEMORY", "256M")
                .env("WARPLOOM_THREADS", "2")
                .env("WARPLOOM_LAUNCH_TIMEOUT", "20");
            // One device or two.
            command.env("WARPLOOM_DEVICE_COUNT", (1 + seed % 2).to_string());
            if trace {
                command.arg("--trace");
            }
            // What kernels print is of no interest.
            command.stdout(Stdio::null()).stderr(errors);
        })?;
        Ok((worker.wait(PATIENCE)?, last_lines(&log)?))
    }

    fn summary(&self, findings: u32) {
        let counts = || {
            let load = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
            let all = FUNCTIONS.iter().zip(&self.progress.by_function);
            all.map(move |(function, counts)| {
                (function.symbol, load(&counts.calls), load(&counts.successes), load(&counts.unsupported))
            })
        };
        if self.options.list {
            let fruitless = counts().filter(|(_, calls, successes, other)| *successes == 0 && other < calls);
            let names: Vec<&str> = fruitless.map(|(name, ..)| name).collect();
            println!("never succeeded, though supported: {}", names.join(" "));
        }
        println!(
            "{} calls; of {} functions {} were called, {} succeeded at least once, {} are not supported; {findings} findings",
            self.progress.calls.load(Ordering::Relaxed),
            FUNCTIONS.len(),
            counts().filter(|(_, calls, ..)| *calls > 0).count(),
            counts().filter(|(_, _, successes, _)| *successes > 0).count(),
            counts().filter(|(_, calls, _, unsupported)| *calls > 0 && unsupported == calls).count(),
        );
    }
}

/// The exit code of a worker that ended by itself.
fn code_of(end: &End) -> Option<u8> {
    match end {
        End::Exited(status) => status.code().and_then(|code| u8::try_from(code).ok()),
        End::Hung(_) => None,
    }
}

fn is_fine(end: &End) -> bool {
    matches!(code_of(end), Some(DONE | FAULTED))
}

fn ending(end: &End) -> String {
    match code_of(end) {
        Some(DONE) => "nothing found".to_owned(),
        Some(FAULTED) => "ended with a kernel's fault".to_owned(),
        Some(code) => format!("a finding (exit code {code})"),
        None => end.to_string(),
    }
}

/// The last lines of a file that may be large.
fn last_lines(path: &Path) -> Result<VecDeque<String>> {
    const TAIL: u64 = 64 << 10;
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    file.seek(std::io::SeekFrom::Start(len.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines.iter().skip(lines.len().saturating_sub(SHOWN)).map(|line| (*line).to_owned()).collect())
}
