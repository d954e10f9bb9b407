//! The programs of `tests/cuda` print what stands behind `//=` in them.
//!
//! A folder is one program of several translation units. `//:` is followed by options of the compiler, `//@` by the major version of
//! the runtime for functions that another major version has with other parameters.
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

use std::path::Path;

/// The programs that are compared with recordings.
const RECORDED: [&str; 2] = ["scenarios.cu", "states.cu"];

/// The sources of a program, relative to `tests/cuda`.
fn sources(folder: &Path, name: &str) -> Vec<String> {
    if name.ends_with(".cu") {
        return vec![name.to_owned()];
    }
    let mut files: Vec<String> = names(&folder.join(name)).into_iter().map(|file| format!("{name}/{file}")).collect();
    files.retain(|file| file.ends_with(".cu"));
    files
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a folder lists").file_name().into_string().expect("names are ASCII"))
        .collect();
    names.sort_unstable();
    names
}

/// What stands behind a mark at the start of lines.
fn marked(texts: &[String], mark: &str) -> Vec<String> {
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.filter_map(|line| line.strip_prefix(mark)).map(|rest| rest.trim().to_owned()).collect()
}

#[test]
fn programs_print_what_they_say() {
    let Some(toolkit) = compiler::compiler() else { return };
    let folder = program::root().join("tests/cuda");
    let mut wrong = Vec::new();
    for name in names(&folder).into_iter().filter(|name| !RECORDED.contains(&name.as_str()) && !name.ends_with(".h")) {
        let sources = sources(&folder, &name);
        let read = |source: &String| std::fs::read_to_string(folder.join(source)).expect("a source is text");
        let texts: Vec<String> = sources.iter().map(read).collect();
        let options = marked(&texts, "//:").join(" ");
        let options: Vec<&str> = options.split_whitespace().collect();
        let expected = marked(&texts, "//=").join("\n");
        assert!(!expected.is_empty(), "{name} says what it prints");
        let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
        let only = marked(&texts, "//@").concat();
        let name = name.trim_end_matches(".cu");
        let objects = program::compile(toolkit, name, &sources, &options);
        for major in [12, 13].into_iter().filter(|major| only.is_empty() || only == major.to_string()) {
            let built = program::link(toolkit, name, &objects, major, &options);
            let printed = program::output(&built, |_| {});
            if printed.trim_end() != expected {
                wrong.push(format!("{name} with runtime {major} prints\n{printed}instead of\n{expected}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
