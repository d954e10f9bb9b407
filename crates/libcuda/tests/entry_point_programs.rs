//! The programs of `tests/c/entry_points`, which use the lookup as the guide's chapter on driver entry points does, compiled
//! against our headers and run against our library.
#[path = "support/library.rs"]
mod library;
#[path = "support/program.rs"]
mod program;

use program::Program;

/// Compiles a program of the folder; `variant` tells apart those that differ in their arguments only.
fn build(source: &str, variant: &str, arguments: &[&str]) -> Program {
    program::build(&format!("entry_points/{source}"), variant, arguments)
}

/// What the program prints on a machine with a driver of version `driver`.
fn run(program: &Program, driver: &str, arguments: &[&str]) -> String {
    program.run(|command| {
        command.args(arguments).env("WARPLOOM_CUDA_VERSION", driver);
    })
}

#[test]
fn typedefs_name_the_abi_version() {
    let program = build("typedefs.c", "", &[]);
    assert_eq!(run(&program, "13.0", &[]), "3020: cuMemAlloc_v2, 0\n2000: cuMemAlloc, 0\nallocated: yes\n");
}

#[test]
fn the_version_decides_the_abi_version() {
    let program = build("stream_capture.c", "", &[]);
    let expected = "10000: cuStreamBeginCapture, 0\n10010: cuStreamBeginCapture_v2, 0\n9020: NULL, 2\n";
    assert_eq!(run(&program, "13.0", &[]), expected);
    assert_eq!(run(&program, "11.3", &[]), expected);
}

#[test]
fn a_function_is_asked_for_of_a_driver_that_is_new_enough() {
    assert_eq!(run(&build("minimum_version.c", "", &[]), "12.4", &[]), "cuMemAllocAsync\n");
}

#[test]
fn per_thread_variants_by_macro_and_by_flag() {
    let by_flag = build("per_thread.c", "by_flag", &[]);
    assert_eq!(
        run(&by_flag, "13.0", &[]),
        "default: cuLaunchKernel\nlegacy: cuLaunchKernel\nper thread: cuLaunchKernel_ptsz\n"
    );
    let by_macro = build("per_thread.c", "by_macro", &["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"]);
    assert_eq!(
        run(&by_macro, "13.0", &[]),
        "default: cuLaunchKernel_ptsz\nlegacy: cuLaunchKernel\nper thread: cuLaunchKernel_ptsz\n"
    );
}

#[test]
fn a_newer_function_is_reached_through_an_older_header() {
    let program = build("newer_function.c", "", &["-DWARPLOOM_CUDA_H=12030"]);
    assert_eq!(run(&program, "12.4", &[]), "the driver is older than 12.5\n");
    assert_eq!(run(&program, "12.5", &[]), "cuCtxCreate_v4: a context\n");
    assert_eq!(run(&program, "13.5", &[]), "cuCtxCreate_v4: a context\n");
}

#[test]
fn the_second_abi_version_of_a_minor_version() {
    for header in ["12000", "12060", "13000"] {
        let program = build("device_uuid.c", header, &[&format!("-DWARPLOOM_CUDA_H={header}")]);
        assert_eq!(run(&program, "11.3", &[]), "the driver is older than 11.4\n");
        assert_eq!(run(&program, "11.4", &[]), "cuDeviceGetUuid_v2: same\n");
        assert_eq!(run(&program, "13.0", &[]), "cuDeviceGetUuid_v2: same\n");
    }
}

#[test]
fn the_reasons_for_a_failure() {
    let program = build("failure_reasons.c", "", &[]);
    assert_eq!(run(&program, "11.4", &["11030"]), "the driver has it, but not for this version\n");
    assert_eq!(run(&program, "11.4", &["11040"]), "found: cuDeviceGetExecAffinitySupport\n");
    assert_eq!(run(&program, "11.3", &["11030"]), "the driver does not have it\n");
    // Real drivers refuse a version above their own, whatever the name.
    assert_eq!(run(&program, "11.3", &["11040"]), "refused: CUDA_ERROR_INVALID_VALUE\n");
}
