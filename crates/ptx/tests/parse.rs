//! Whole PTX files through the parser: the hand-written ones have every directive and form of operand, one is made by
//! clang with debug data, one is broken in many places.

use warploom_ptx::diagnostic::{APPLICATION_INPUT, error_log, excerpts};
use warploom_ptx::syntax::{dump, parse};

/// Text, tree and problems of a file.
fn read(name: &str) -> (String, warploom_ptx::syntax::Parsed) {
    let path = format!("{}/tests/parse/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let parsed = parse(text.as_bytes());
    (text, parsed)
}

/// Valid PTX gives no diagnostics and, printed and parsed again, the same tree; the printed text.
fn print(name: &str) -> String {
    let (text, parsed) = read(name);
    assert_eq!(excerpts(&text, name, &parsed.diagnostics, false), "");
    let printed = parsed.module.to_string();
    let again = parse(printed.as_bytes());
    assert_eq!(again.diagnostics, [], "{printed}");
    assert_eq!(dump(&parsed.module), dump(&again.module));
    printed
}

#[test]
fn directives() {
    insta::assert_snapshot!(print("directives.ptx"));
}

#[test]
fn operands() {
    insta::assert_snapshot!(print("operands.ptx"));
}

#[test]
fn trees_show_every_part() {
    let (_, parsed) = read("operands.ptx");
    insta::assert_snapshot!(dump(&parsed.module));
}

#[test]
fn hopper() {
    insta::assert_snapshot!(print("hopper.ptx"));
}

#[test]
fn blackwell() {
    insta::assert_snapshot!(print("blackwell.ptx"));
}

#[test]
fn debug_data_of_a_compiler() {
    let printed = print("clang_debug.ptx");
    assert!(printed.contains(".section .debug_info"), "{printed}");
    assert!(printed.contains(".loc 1 "), "{printed}");
}

#[test]
fn line_ends_and_nul_change_nothing() {
    let (text, parsed) = read("directives.ptx");
    let other = text.replace('\n', "\r\n") + "\0 what stands behind a NUL is no PTX";
    let other = parse(other.as_bytes());
    assert_eq!(other.diagnostics, []);
    assert_eq!(dump(&parsed.module), dump(&other.module));
}

#[test]
fn every_problem_of_a_broken_file_is_found() {
    let (text, parsed) = read("broken.ptx");
    insta::assert_snapshot!(excerpts(&text, "broken.ptx", &parsed.diagnostics, false));
    insta::assert_snapshot!("broken_log", error_log(&text, APPLICATION_INPUT, &parsed.diagnostics));
    let names: Vec<_> = parsed.module.functions().map(|(_, f)| parsed.module.name(f.name.name)).collect();
    assert_eq!(names, ["second", "after", "last"]);
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let deep = |open: &str, close: &str| {
        format!(
            ".version 8.0\n.target sm_90\n.func f() {{ mov.b32 a, {}1{}; }}",
            open.repeat(100_000),
            close.repeat(100_000)
        )
    };
    let scopes = format!(".version 8.0\n.target sm_90\n.func f() {}{}", "{".repeat(100_000), "}".repeat(100_000));
    let sum = format!(".version 8.0\n.target sm_90\n.global .b32 x = 1{};", "+1".repeat(100_000));
    let lists = format!(".version 8.0\n.target sm_90\n.global .b32 x[] = {}1;", "{".repeat(100_000));
    let texts = [deep("(", ")"), deep("{", "}"), deep("[", "]"), deep("-", ""), deep("1?", ":1"), scopes, sum, lists];
    for text in texts {
        // A thread with little stack: drivers are called from such.
        let handle = std::thread::Builder::new().stack_size(128 << 10).spawn(move || {
            let parsed = parse(text.as_bytes());
            assert!(parsed.has_errors());
            let printed = parsed.module.to_string();
            (dump(&parsed.module), printed)
        });
        handle.expect("a thread").join().expect("no panic");
    }
}
