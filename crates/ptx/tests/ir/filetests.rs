//! The files of `tests/filetests/ptx`: each says in its first line whether it is to load, and in its last lines (`//| `) what
//! comes of it: the IR, or the problems with their lines. `WARPLOOM_BLESS=1` writes those lines.

use crate::texts;
use std::fmt::Write;
use warploom_ptx::load;
use warploom_ptx::syntax::LineIndex;

/// Whether the text loaded, and the lines that are expected of it.
fn outcome(text: &str) -> (bool, String) {
    match load(text.as_bytes(), &texts::options(text)) {
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
    let paths = texts::files(&texts::root().join("tests/filetests/ptx"), "ptx");
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
