//! The files of `tests/filetests/ptx`: each says in its first line whether it is to load, and in its last lines (`//| `) what
//! comes of it: the IR, or the problems with their lines. `WARPLOOM_BLESS=1` writes those lines.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use warploom_ptx::syntax::LineIndex;
use warploom_ptx::{Options, load};

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path()) {
        if entry.is_dir() {
            files(&entry, out);
        } else if entry.extension().is_some_and(|extension| extension == "ptx") {
            out.push(entry);
        }
    }
}

/// Whether the text loaded, and the lines that are expected of it.
fn outcome(text: &str) -> (bool, String) {
    let mut options = Options { driver_version: 13000, sm: 90 };
    for line in text.lines() {
        if let Some(sm) = line.strip_prefix("// device sm_") {
            options.sm = sm.trim().parse().expect("sm");
        } else if let Some(version) = line.strip_prefix("// driver ") {
            let (major, minor) = version.trim().split_once('.').expect("version");
            options.driver_version =
                1000 * major.parse::<u32>().expect("major") + 10 * minor.parse::<u32>().expect("minor");
        }
    }
    match load(text.as_bytes(), &options) {
        Ok(module) => (true, module.to_string()),
        Err(failure) => {
            let lines = LineIndex::new(&failure.source);
            let mut out = String::new();
            for diagnostic in &failure.diagnostics {
                let line = lines.position(diagnostic.span().start).line;
                writeln!(out, "line {line}: {}", diagnostic.message).expect("string");
                for note in &diagnostic.notes {
                    writeln!(out, "    {note}").expect("string");
                }
            }
            (false, out)
        }
    }
}

#[test]
fn files_give_what_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/ptx");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    paths.sort();
    assert!(paths.len() > 20, "only {} files", paths.len());
    let bless = std::env::var_os("WARPLOOM_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("file");
        let should_load = match text.lines().next() {
            Some("// test accept") => true,
            Some("// test reject") => false,
            other => panic!("{}: first line is {other:?}", path.display()),
        };
        let source: String =
            text.lines().filter(|line| !line.starts_with("//|")).flat_map(|line| [line, "\n"]).collect();
        let (loaded, got) = outcome(&source);
        if loaded != should_load {
            wrong.push(format!("{}: loads: {loaded}\n{got}", path.display()));
            continue;
        }
        let got: Vec<String> = got.lines().map(|line| format!("//| {line}").trim_end().to_owned()).collect();
        if bless {
            std::fs::write(&path, format!("{source}{}\n", got.join("\n"))).expect("write");
            continue;
        }
        let expected: Vec<&str> = text.lines().filter(|line| line.starts_with("//|")).collect();
        if expected != got {
            let first = (0..).find(|at| expected.get(*at).copied() != got.get(*at).map(String::as_str)).unwrap_or(0);
            wrong.push(format!(
                "{}:\n  expected {:?}\n  got      {:?}",
                path.display(),
                expected.get(first),
                got.get(first)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
