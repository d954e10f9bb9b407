//! `tests/cuda/scenarios.cu` and `tests/cuda/states.cu` print what NVIDIA's runtimes printed on an H100.
#[path = "support/compiler.rs"]
mod compiler;
#[path = "support/library.rs"]
mod library;
#[path = "support/program.rs"]
mod program;
#[path = "support/pypi.rs"]
mod pypi;
#[path = "support/runner.rs"]
mod runner;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A host function prints while the thread that queued it goes on: where its lines stand is chance. They come last here.
fn settled(text: &str) -> String {
    let chance = |line: &&str| line.starts_with("    in host function") || line.starts_with("    callback status");
    let (late, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(chance);
    lines.into_iter().chain(late).map(|line| format!("{line}\n")).collect()
}

#[test]
fn every_line_is_as_recorded() {
    let Some(toolkit) = compiler::compiler() else { return };
    let objects = program::compile(toolkit, "scenarios", &["scenarios.cu"], &[]);
    for major in [12, 13] {
        let golden = program::root().join(format!("tests/goldens/runtime/scenarios_{major}.golden"));
        let recorded = std::fs::read_to_string(golden).expect("the recording is there");
        let built = program::link(toolkit, "scenarios", &objects, major, &[]);
        let (ours, recorded) = (settled(&program::output(&built, |_| {})), settled(&recorded));
        let different: Vec<String> = ours
            .lines()
            .zip(recorded.lines())
            .filter(|(ours, recorded)| ours != recorded)
            .map(|(ours, recorded)| format!("ours:     {ours}\nrecorded: {recorded}"))
            .collect();
        let (many, few) = (ours.lines().count(), recorded.lines().count());
        assert!(different.is_empty() && many == few, "runtime {major}, {many} lines:\n{}", different.join("\n"));
    }
}

/// The program of `states.cu`, made once; none where there is no compiler.
fn states() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let toolkit = compiler::compiler()?;
        Some(program::link(toolkit, "states", &program::compile(toolkit, "states", &["states.cu"], &[]), 13, &[]))
    });
    built.as_deref()
}

#[test]
fn states_of_the_process_are_as_recorded() {
    let Some(built) = states() else { return };
    for state in ["nodevice", "host", "forked"] {
        let golden = program::root().join(format!("tests/goldens/runtime/{state}.txt"));
        let recorded = std::fs::read_to_string(golden).expect("the recording is there");
        let ours = program::output(built, |command| {
            command.arg(state).env("WARPLOOM_CUDA_VERSION", "13.0");
            if state == "nodevice" {
                command.env("CUDA_VISIBLE_DEVICES", "");
            }
        });
        assert_eq!(ours, recorded, "{state}");
    }
}

#[test]
fn a_driver_that_is_missing_or_too_old_is_insufficient() {
    let Some(built) = states() else { return };
    let answers = |version: &str| {
        format!(
            "  cudaGetDeviceCount = 35 last 35\n  cudaDriverGetVersion = 0 last 35\n    {version}\n  \
             cudaRuntimeGetVersion = 0 last 35\n  cudaFree = 35 last 35\n"
        )
    };
    let old = program::output(built, |command| {
        command.arg("driver").env("WARPLOOM_CUDA_VERSION", "12.4");
    });
    assert_eq!(old, answers("12040"));
    // A folder without a driver.
    let alone = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime_alone");
    std::fs::create_dir_all(&alone).expect("the scratch folder takes folders");
    std::fs::copy(library::folder().join("libcudart.so.13"), alone.join("libcudart.so.13")).expect("a library copies");
    let missing = program::output(built, |command| {
        command.arg("driver").env("LD_LIBRARY_PATH", &alone);
    });
    assert_eq!(missing, answers("0"));
}
