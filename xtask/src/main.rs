//! Development tasks: code generation from the registry and its checks.
#![forbid(unsafe_code)]

mod c;
mod codegen;
mod diff_header;
mod header;
mod layouts;
mod output;
mod registry;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks of warploom")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write everything that is generated from registry/
    Codegen {
        /// Only compare: fail and name each file that is not current
        #[arg(long)]
        check: bool,
    },
    /// Compare the registry with other sources
    Registry {
        #[command(subcommand)]
        task: RegistryTask,
    },
}

#[derive(Subcommand)]
enum RegistryTask {
    /// Compare with the C headers of a folder, such as NVIDIA's: names, types, values, order, what plain names stand for
    DiffHeader {
        /// The folder that holds cuda.h
        folder: PathBuf,
    },
    /// Add where NVIDIA's runtime library has its functions, for programs without a symbol table
    Layouts {
        /// A libcudart_static.a, or what has one linked in and kept its symbol table
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

fn main() -> Result<()> {
    let root = workspace_root()?;
    match Cli::parse().task {
        Task::Codegen { check } => {
            let outputs = codegen::generate(&root)?;
            if check { output::check(&root, &outputs) } else { output::write(&root, &outputs) }
        }
        Task::Registry { task: RegistryTask::DiffHeader { folder } } => diff_header::run(&root, &folder),
        Task::Registry { task: RegistryTask::Layouts { files } } => layouts::run(&root, &files),
    }
}

/// The folder of the workspace: the parent of this package's.
fn workspace_root() -> Result<PathBuf> {
    let parent = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    Ok(parent.context("xtask lies in the workspace's folder")?.to_path_buf())
}
