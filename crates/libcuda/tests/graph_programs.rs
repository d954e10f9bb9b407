//! The programs of `tests/c/graphs`: graphs, stream capture and all that a program can ask of them. Beside each program stands
//! what it prints; the same programs run on real hardware.
#[path = "support/library.rs"]
mod library;
#[path = "support/program.rs"]
mod program;

/// A compiled program, and what it prints on real hardware.
fn prepare(name: &str, variant: &str) -> (program::Program, String) {
    let folder = program::root().join("tests/c/graphs");
    let program = program::build(&format!("graphs/{name}.c"), variant, &[]);
    for kernels in ["kernels.ptx", "conditions.ptx"] {
        std::fs::copy(folder.join(kernels), program.folder().join(kernels)).expect("the kernels are there");
    }
    let expected = std::fs::read_to_string(folder.join(name).with_extension("txt")).expect("the answers are there");
    (program, expected)
}

/// Compares what a program prints with the file beside it.
fn check(name: &str) {
    let (program, expected) = prepare(name, "");
    let ours = program.run(|_| {});
    for (number, (ours, expected)) in ours.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, expected, "{name}, line {}", number + 1);
    }
    assert_eq!(ours.lines().count(), expected.lines().count(), "{name}:\n{ours}");
}

/// The calls with stale handles among the others answer that the argument is wrong, and change nothing.
fn check_stale(name: &str) -> usize {
    let (program, expected) = prepare(name, "stale");
    let ours = program.run(|command| _ = command.env("STALE_HANDLES", "1"));
    let mut expected = expected.lines().peekable();
    let mut stale = 0;
    for line in ours.lines() {
        if expected.next_if_eq(&line).is_none() {
            let refused = ["CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_INVALID_HANDLE"];
            assert!(refused.iter().any(|code| line.ends_with(code)), "{name}: {line}");
            stale += 1;
        }
    }
    assert_eq!(expected.next(), None, "{name}");
    stale
}

macro_rules! programs {
    ($($name:ident)*) => {
        $(#[test] fn $name() { check(stringify!($name)); })*

        #[test]
        fn stale_handles_are_refused() {
            let stale: usize = [$(check_stale(stringify!($name))),*].iter().sum();
            assert!(stale >= 10, "{stale} calls");
        }
    };
}

programs! { structure nodes any_node launches updates memory capture capture_errors capture_calls conditions threads dot }
