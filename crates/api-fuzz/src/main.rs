//! Calls every function that a CUDA driver exports, with arguments good and bad, and watches what that does to the process.
//!
//! `api-fuzz --libcuda PATH --seconds N --seed S` starts workers one after the other. A worker calls in rounds, each with its
//! own seed, and checks after each call that only what may be written was written, and after each round that what was created
//! and destroyed left nothing behind. What a worker finds, or dies of, is reported with the seed that shows it again:
//! `api-fuzz --libcuda PATH --replay SEED`.

mod arena;
mod arguments;
mod cleaning;
mod descriptors;
mod driver;
mod facts;
mod generated;
mod pool;
mod progress;
mod scene;
mod seeding;
mod supervisor;
mod unions;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// Calls every function of a CUDA driver with random arguments.
#[derive(Parser)]
struct Options {
    /// The driver: a libcuda.so.1.
    #[arg(long)]
    libcuda: PathBuf,
    /// How long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The first seed; the following ones are those after it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs one seed, and prints each call before it is made.
    #[arg(long)]
    replay: Option<u64>,
    /// Names the functions that never succeeded.
    #[arg(long)]
    list: bool,
    /// A folder whose files may be overwritten; a temporary one if none is given.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Runs as a worker: the file in which progress is kept. Calls write files into its folder.
    #[arg(long, hide = true)]
    worker: Option<PathBuf>,
    /// Rounds of a worker.
    #[arg(long, hide = true, default_value_t = supervisor::ROUNDS)]
    rounds: u64,
    /// Prints each call before it is made.
    #[arg(long, hide = true)]
    trace: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    match &options.worker {
        Some(progress) => worker::run(&options, progress),
        None => supervisor::run(&options),
    }
}
