//! Runs generated kernels with the interpreter and compiled, for the host's processor and for one with AVX2 alone, and compares all that they compute.
//!
//! `kernel-fuzz --seconds N --seed S` starts workers one after the other, as compiled code that is wrong may take its process with it. What differs
//! is made small by leaving statements out, and printed, or put into a folder, as a filetest; its expected values are the interpreter's, to be
//! looked at before they are believed.

mod compute;
mod edges;
mod generate;
mod kernel;
mod left_over;
mod memory;
mod run;
mod shrink;
mod supervisor;
mod warp;
mod worker;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

/// In which style kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Style {
    /// As it pays.
    Chosen,
    /// Gangs by themselves.
    Gangs,
    /// Gangs together wherever they can be.
    Teams,
    /// Lanes go their own ways.
    Apart,
    /// Functions are called wherever they can be.
    Called,
    /// Each thread by itself.
    Threads,
}

impl Style {
    fn of_compiler(self) -> warploom_jit::Style {
        match self {
            Style::Chosen => warploom_jit::Style::Chosen,
            Style::Gangs => warploom_jit::Style::Gangs,
            Style::Teams => warploom_jit::Style::Teams,
            Style::Apart => warploom_jit::Style::Apart,
            Style::Called => warploom_jit::Style::Called,
            Style::Threads => warploom_jit::Style::Threads,
        }
    }

    /// The option that says it.
    fn option(self) -> String {
        format!("--style={}", format!("{self:?}").to_lowercase())
    }
}

/// Compares executors on generated kernels.
#[derive(Parser)]
struct Options {
    /// How long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The first seed; the following ones are those after it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The style that all kernels are compiled in.
    #[arg(long, value_enum, default_value_t = Style::Chosen)]
    style: Style,
    /// A folder for what is found.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Prints the kernel of the first seed, and does nothing.
    #[arg(long)]
    print: bool,
    /// With `print`: without what hardware need not do as the interpreter does. `filetests --libcuda` runs what is printed on hardware.
    #[arg(long, requires = "print")]
    exact: bool,
    /// Runs as a worker, and says what comes of each seed.
    #[arg(long, hide = true)]
    worker: bool,
    /// With `worker`: only the first seed, without these statements.
    #[arg(long, hide = true, value_delimiter = ',')]
    without: Option<Vec<u32>>,
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    if options.print {
        let mut without: BTreeSet<u32> = options.without.unwrap_or_default().into_iter().collect();
        if options.exact {
            without.extend(generate::kernel(options.seed).inexact());
        }
        print!("{}", worker::filetest(options.seed, &without));
    } else if let (true, Some(without)) = (options.worker, &options.without) {
        worker::once(options.seed, options.style, &without.iter().copied().collect());
    } else if options.worker {
        worker::many(options.seed, options.style, options.seconds);
    } else {
        return supervisor::run(options.seed, options.style, options.seconds, options.keep.as_deref());
    }
    Ok(ExitCode::SUCCESS)
}
