//! The programs of `tests/cuda_recorded` print what they print with NVIDIA's driver and runtime library on real hardware, line by line.
//!
//! All are run with CUDA 13, once more with all checks of our driver, which print no other lines and report what `reported.txt` lists, and with 12 those that differ there; `WARPLOOM_TEST_PROGRAMS` is a list of programs to run with both
//! instead, or `all`.
#[path = "support/compiler.rs"]
mod compiler;
#[path = "support/library.rs"]
mod library;
#[path = "support/of_12.rs"]
mod of_12;
#[path = "support/pypi.rs"]
mod pypi;
#[path = "support/runner.rs"]
mod runner;
#[path = "../../../tests/settings.rs"]
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Programs at the same time: they are built and run on machines of two cores.
const JOBS: usize = 2;
/// Longer than any program takes, also in a debug build.
const PATIENCE: Duration = Duration::from_secs(120);

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cuda_recorded")
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The built programs by their names; none, and why, when the headers cannot be had.
fn build(compiler: &Path, toolkit: &str, chosen: &[String]) -> Result<BTreeMap<String, PathBuf>, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("recorded_programs_{toolkit}"));
    let mut command = Command::new("python3");
    command.arg(programs().join("build.py")).arg(&folder);
    command.args(["--jobs", &JOBS.to_string(), "--compiler"]).arg(compiler);
    command.arg("--libcuda").arg(library::folder().join("libcuda.so.1"));
    if toolkit == "12" {
        command.arg("--runtime-12").arg(of_12::install()?);
    }
    let output = command.args(chosen).output();
    let output = output.map_err(|error| format!("python3 does not start: {error}"))?;
    let (listed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "the programs are not built:\n{errors}");
    Ok(listed.lines().map(|name| (name.to_owned(), folder.join("programs").join(name))).collect())
}

/// Not `leak`: the programs leave much to their end.
const CHECKS: &str = "memory,race,init,sync,host";

/// What a program prints, which must end well and in time; and on the error output.
fn run(name: &str, program: &Path, checks: Option<&str>) -> Result<(String, String), String> {
    let mut command = runner::runner(program, name.starts_with("units/static_"));
    settings::take_out(&mut command)
        .envs(checks.map(|checks| ("WARPLOOM_CHECK", checks)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("does not start: {error}"))?;
    let (mut printed, mut errors) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let read = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut printed, &mut text).map(|_| text)
    });
    let complaints = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut errors, &mut bytes).map(|_| bytes)
    });
    let start = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if start.elapsed() > PATIENCE => {
                child.kill().map_err(|error| error.to_string())?;
                child.wait().map_err(|error| error.to_string())?;
                return Err(format!("has not ended in {PATIENCE:?}"));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let text = read.join().expect("the reader lives").map_err(|error| format!("prints no text: {error}"))?;
    let complaints = complaints.join().expect("the reader lives").unwrap_or_default();
    let complaints = String::from_utf8_lossy(&complaints).into_owned();
    if !status.success() {
        let last = text.lines().last().unwrap_or("nothing");
        return Err(format!("{status} after \"{last}\": {}", complaints.trim()));
    }
    Ok((text, complaints))
}

/// Runs a program with checks: it prints the same, and what is reported of it is listed.
fn check_reports(name: &str, program: &Path, listed: &BTreeMap<String, String>) -> Result<(), String> {
    let (printed, said) = run(name, program, Some(CHECKS)).map_err(|why| format!("with checks: {why}"))?;
    compare(&printed, &expected(name, "13")).map_err(|why| format!("with checks: {why}"))?;
    let reported = said.lines().filter_map(|line| Some(line.split_once(": error[")?.1.split_once(']')?.0));
    let reported = Vec::from_iter(reported.collect::<BTreeSet<_>>()).join(", ");
    let listed = listed.get(name).map_or("", String::as_str);
    let wrong = || format!("has reports \"{reported}\", and \"{listed}\" are listed\n{said}");
    if reported == listed { Ok(()) } else { Err(wrong()) }
}

/// What NVIDIA's libraries printed: the file for the toolkit, or the one for all.
fn expected(name: &str, toolkit: &str) -> String {
    let own = programs().join(format!("{name}.{toolkit}.txt"));
    let common = programs().join(format!("{name}.txt"));
    let file = if own.exists() { own } else { common };
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The first lines that differ.
fn compare(ours: &str, theirs: &str) -> Result<(), String> {
    let (mut ours, mut theirs) = (ours.lines(), theirs.lines());
    let mut differences = Vec::new();
    for number in 1.. {
        let (our, their) = (ours.next(), theirs.next());
        if our.is_none() && their.is_none() {
            break;
        }
        if our != their {
            differences.push(format!(
                "    {number}: {}\n    not: {}",
                our.unwrap_or("(end)"),
                their.unwrap_or("(end)")
            ));
        }
    }
    let count = differences.len();
    differences.truncate(3);
    if count == 0 { Ok(()) } else { Err(format!("{count} lines differ\n{}", differences.join("\n"))) }
}

/// A list of programs, each with something behind it: the reason for which what it needs is not implemented, or the kinds of reports of it.
fn list(file: &str) -> BTreeMap<String, String> {
    let list = std::fs::read_to_string(programs().join(file)).expect("the list is there");
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_once(": ").expect("a name and what is said of it"))
        .map(|(name, reason)| (name.to_owned(), reason.to_owned()))
        .collect()
}

/// The programs that do something else with CUDA 12: one has another recording, says so, or looks at the version.
fn differ_with_12() -> Vec<String> {
    let text = |path: &Path| std::fs::read_to_string(path).expect("a source is text");
    let differs = |text: String| text.contains("CUDART_VERSION") || text.contains("// toolkit: 12");
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        entries.map(|entry| entry.expect("a folder lists").path()).collect()
    };
    let topics = entries(&programs()).into_iter().filter(|path| path.is_dir());
    let programs_of =
        |topic: PathBuf| entries(&topic).into_iter().filter(|path| path.extension().is_some_and(|it| it == "cu"));
    let found =
        topics.flat_map(programs_of).filter(|source| source.with_extension("12.txt").exists() || differs(text(source)));
    let name = |source: PathBuf| {
        let name = source.with_extension("");
        name.strip_prefix(programs()).expect("it is in the folder").display().to_string()
    };
    found.map(name).collect()
}

/// Builds and runs programs, all unless some are chosen.
fn check(toolkit: &str, chosen: &[String]) {
    let Some(compiler) = compiler::compiler() else { return };
    let built = match build(compiler, toolkit, chosen) {
        Ok(built) => built,
        Err(reason) => {
            eprintln!("SKIPPED: {reason}");
            return;
        }
    };
    let (queue, next) = (Vec::from_iter(&built), AtomicUsize::new(0));
    let (not_yet, reported) = (list("not_yet.txt"), list("reported.txt"));
    let results = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let Some((name, program)) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result =
                        run(name, program, None).and_then(|(ours, _)| compare(&ours, &expected(name, toolkit)));
                    let result = result.and_then(|()| match toolkit {
                        "13" => check_reports(name, program, &reported),
                        _ => Ok(()),
                    });
                    results.lock().expect("no runner panicked").insert((*name).clone(), result);
                }
            });
        }
    });
    let results = results.into_inner().expect("no runner panicked");
    let passed = results.values().filter(|result| result.is_ok()).count();
    println!("{} programs, {passed} as on hardware", results.len());
    let mut wrong = Vec::new();
    for (name, result) in &results {
        match (result, not_yet.get(name)) {
            (Ok(()), None) => {}
            (Ok(()), Some(_)) => wrong.push(format!("{name} works: take it from not_yet.txt")),
            (Err(difference), Some(reason)) => println!("{name} (known: {reason}) {difference}"),
            (Err(difference), None) => wrong.push(format!("{name} {difference}")),
        }
    }
    assert!(wrong.is_empty(), "toolkit {toolkit}:\n{}", wrong.join("\n"));
}

/// The programs that somebody asks for.
fn asked_for() -> Option<Vec<String>> {
    let list = setting("WARPLOOM_TEST_PROGRAMS")?;
    Some(if list == "all" { Vec::new() } else { list.split_whitespace().map(str::to_owned).collect() })
}

#[test]
fn programs_of_13_print_what_they_print_on_hardware() {
    check("13", &asked_for().unwrap_or_default());
}

#[test]
fn programs_of_12_print_what_they_print_on_hardware() {
    check("12", &asked_for().unwrap_or_else(differ_with_12));
}
