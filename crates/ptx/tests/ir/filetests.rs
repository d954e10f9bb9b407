//! The files of `tests/filetests/ptx`: each says in its first line whether it is to load, and in its last lines (`//| `) what
//! comes of it: the IR, or the problems with their lines. `WARPLOOM_BLESS=1` writes those lines.

use crate::texts;
use std::fmt::Write;
use warploom_filetests::Blessed;
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
    let mut wrong = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        let file = Blessed::read(path);
        let source = file.source();
        let should_load = match source.lines().next() {
            Some("// test accept") => true,
            Some("// test reject") => false,
            other => panic!("{name}: first line is {other:?}"),
        };
        let (loaded, got) = outcome(&source);
        if loaded != should_load {
            wrong.push(format!("{name}: loads: {loaded}\n{got}"));
        } else if let Err(why) = file.compare(&got) {
            wrong.push(why);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
