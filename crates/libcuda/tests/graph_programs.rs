//! The programs of `tests/c/graphs`: graphs, stream capture and all that a program can ask of them. Beside each program stands
//! what it prints; the same programs run on real hardware.
#[path = "support/library.rs"]
mod library;
#[path = "support/program.rs"]
mod program;

/// Compares what a program prints with the file beside it.
fn check(name: &str) {
    let folder = program::root().join("tests/c/graphs");
    let program = program::build(&format!("graphs/{name}.c"), "", &[]);
    for kernels in ["kernels.ptx", "conditions.ptx"] {
        std::fs::copy(folder.join(kernels), program.folder().join(kernels)).expect("the kernels are there");
    }
    let expected = std::fs::read_to_string(folder.join(name).with_extension("txt")).expect("the answers are there");
    let ours = program.run(|_| {});
    for (number, (ours, expected)) in ours.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, expected, "{name}, line {}", number + 1);
    }
    assert_eq!(ours.lines().count(), expected.lines().count(), "{name}:\n{ours}");
}

macro_rules! programs {
    ($($name:ident)*) => { $(#[test] fn $name() { check(stringify!($name)); })* };
}

programs! { structure nodes launches updates memory capture capture_errors conditions dot }
