//! `filetests [--libcuda PATH] [--bless] FILE...`: runs filetests on any CUDA driver.
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use warploom_filetests::{FileTest, Outcome, run};

/// Runs PTX files that carry their launch, inputs and expected values.
#[derive(Parser)]
struct Arguments {
    /// The driver library to run them on.
    #[arg(long, value_name = "PATH", default_value = "libcuda.so.1")]
    libcuda: PathBuf,
    /// Write what the driver computes into the files in place of what they expect (for real hardware only).
    #[arg(long)]
    bless: bool,
    /// What the driver is given in place of the file's text: the code that a newer assembler makes of it than the driver has.
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    /// Files, or folders that hold them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match try_main(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("filetests: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn try_main(arguments: &Arguments) -> Result<bool> {
    let mut files = Vec::new();
    for path in &arguments.paths {
        collect(path, &mut files)?;
    }
    if arguments.image.is_some() && files.len() != 1 {
        bail!("an image is that of one file, not of {}", files.len());
    }
    // A fault is sticky for its process, so more than one file means one process for each.
    if let [file] = files.as_slice() {
        return one(file, arguments);
    }
    let mut failed = 0;
    for file in &files {
        failed += usize::from(!another(file, arguments)?.status()?.success());
    }
    println!("{} passed, {failed} failed", files.len() - failed);
    Ok(failed == 0)
}

/// Another process for one file.
fn another(file: &Path, arguments: &Arguments) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--libcuda").arg(&arguments.libcuda).args(arguments.bless.then_some("--bless"));
    if let Some(image) = &arguments.image {
        command.arg("--image").arg(image);
    }
    command.arg(file);
    Ok(command)
}

fn one(file: &Path, arguments: &Arguments) -> Result<bool> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let test = FileTest::parse(&text).with_context(|| file.display().to_string())?;
    if let Some(sm) = test.device
        && std::env::var_os("WARPLOOM_DEVICE").is_none_or(|device| device != *format!("sm_{sm}"))
    {
        // Our driver is whichever device it is told to be, before it is opened.
        let mut process = another(file, arguments)?;
        return Ok(process.env("WARPLOOM_DEVICE", format!("sm_{sm}")).status()?.success());
    }
    let image = arguments.image.as_deref().map(std::fs::read).transpose()?;
    let image = image.as_deref().unwrap_or(text.as_bytes());
    match run(&test, image, &arguments.libcuda, arguments.bless)? {
        Outcome::Passed => println!("{}: passed", file.display()),
        Outcome::Skipped => println!("{}: skipped, the device is too old", file.display()),
        Outcome::Blessed(text) => std::fs::write(file, text)?,
        Outcome::Failed(why) => {
            println!("{}: FAILED\n{why}", file.display());
            return Ok(false);
        }
    }
    Ok(true)
}

/// The `.ptx` files at or below `path`, sorted.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_dir() {
        let mut entries = std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        entries.sort();
        for entry in entries.iter().filter(|entry| entry.is_dir() || entry.extension().is_some_and(|ext| ext == "ptx"))
        {
            collect(entry, files)?;
        }
    } else if path.exists() {
        files.push(path.to_owned());
    } else {
        bail!("{}: no such file", path.display());
    }
    Ok(())
}
