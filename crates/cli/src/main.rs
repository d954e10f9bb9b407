//! The `warploom` command: runs programs on the CPU driver, and answers questions about CUDA entry points, devices and PTX.
#![forbid(unsafe_code)]

mod compute_sanitizer;
mod entry_point;
mod entry_points;
mod info;
mod library;
mod nvlink;
mod program;
mod ptx;
mod ptxas;
mod run;
mod smi;
mod toolkit;
mod version;
mod words;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Run CUDA programs on the CPU, and ask CUDA drivers what they have.
#[derive(Debug, Parser)]
#[command(name = "warploom", version, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  warploom run -- ./vector_add 1000000\n  warploom entry-point cuMemAlloc --cuda 3.1\n  warploom ptx check kernels.ptx"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    ComputeSanitizer(compute_sanitizer::ComputeSanitizer),
    EntryPoint(entry_point::EntryPoint),
    EntryPoints(entry_points::EntryPoints),
    Info(info::Info),
    #[command(subcommand)]
    Ptx(ptx::Ptx),
    Ptxas(ptxas::Ptxas),
    Nvlink(nvlink::Nvlink),
    Smi(smi::Smi),
    Toolkit(toolkit::Toolkit),
}

/// What is asked for. Under the name of a tool of NVIDIA's the command is that tool.
fn command() -> Command {
    let mut words = std::env::args_os();
    let name = words.next().map(PathBuf::from);
    match name.as_deref().and_then(Path::file_name).and_then(OsStr::to_str) {
        Some(ptxas::NAME) => Command::Ptxas(ptxas::Ptxas::new(words.collect())),
        Some(nvlink::NAME) => Command::Nvlink(nvlink::Nvlink::new(words.collect())),
        Some(smi::NAME) => Command::Smi(smi::Alone::parse().smi),
        _ => Arguments::parse().command,
    }
}

/// 0: done. 1: the answer is no (nothing of this name, PTX with errors). 2: wrong usage, or something broke. `run` exits as its
/// program does, with 126 and 127 as a shell for a program that cannot be started.
fn main() -> ExitCode {
    let result = match command() {
        Command::Run(command) => command.execute(),
        Command::ComputeSanitizer(command) => command.execute(),
        Command::EntryPoint(command) => command.execute(),
        Command::EntryPoints(command) => command.execute(),
        Command::Info(command) => command.execute(),
        Command::Ptx(command) => command.execute(),
        Command::Ptxas(command) => command.execute(),
        Command::Nvlink(command) => command.execute(),
        Command::Smi(command) => command.execute(),
        Command::Toolkit(command) => command.execute(),
    };
    result.unwrap_or_else(|error| {
        // A reader such as head that has enough is no failure.
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        eprintln!("warploom: {error:#}");
        ExitCode::from(2)
    })
}
