//! The built command, run as a user runs it.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The command, with our library beside it.
fn warploom() -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let command = BUILT.get_or_init(|| {
        let command = PathBuf::from(env!("CARGO_BIN_EXE_warploom"));
        let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
        let target = command.ancestors().nth(2).expect("the command is in a target folder");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "warploom-libcuda", "--profile", profile, "--target-dir"])
            .arg(target)
            .status();
        assert!(built.expect("cargo runs").success(), "the library builds");
        command
    });
    let mut command = Command::new(command);
    for name in
        ["WARPLOOM_CUDA_VERSION", "WARPLOOM_DEVICE", "WARPLOOM_DEVICE_COUNT", "WARPLOOM_THREADS", "WARPLOOM_LOG"]
    {
        command.env_remove(name);
    }
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("the command starts")
}

/// What was printed, with the place of the library taken out, and the exit status.
fn answer(command: &mut Command) -> String {
    let output = output(command);
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.lines()
            .map(|line| line.split(", from /").next().unwrap_or(line))
            .fold(String::new(), |text, line| text + line + "\n")
    };
    let status = output.status.code().expect("no signal");
    format!("{}{}exit {status}\n", text(&output.stdout), text(&output.stderr))
}

fn entry_point(arguments: &[&str]) -> String {
    answer(warploom().arg("entry-point").args(arguments))
}

#[test]
fn an_entry_point_is_shown_with_its_version_and_header() {
    insta::assert_snapshot!(entry_point(&["cuMemAlloc", "--cuda", "3.1"]), @r"
    cuMemAlloc for callers of CUDA 3.1
      symbol       cuMemAlloc
      ABI version  1, since CUDA 2.0
      typedef      PFN_cuMemAlloc_v2000
      header       cudaTypedefs.h
      driver       warploom 0.1.0, a driver of CUDA 13.5
    exit 0
    ");
    insta::assert_snapshot!(entry_point(&["cuMemcpyHtoD", "--cuda", "12.0", "--per-thread"]), @r"
    cuMemcpyHtoD for callers of CUDA 12.0
      symbol       cuMemcpyHtoD_v2_ptds
      ABI version  2, since CUDA 7.0
      typedef      PFN_cuMemcpyHtoD_v7000_ptds
      header       cudaTypedefs.h
      driver       warploom 0.1.0, a driver of CUDA 13.5
    exit 0
    ");
    insta::assert_snapshot!(entry_point(&["cuGLGetDevices", "--legacy"]), @r"
    cuGLGetDevices for callers of CUDA 13.5
      symbol       cuGLGetDevices_v2
      ABI version  2, since CUDA 6.5
      typedef      PFN_cuGLGetDevices_v6050
      header       cudaGLTypedefs.h
      driver       warploom 0.1.0, a driver of CUDA 13.5
    exit 0
    ");
}

#[test]
fn the_three_reasons_are_told_in_plain_words() {
    insta::assert_snapshot!(entry_point(&["cuMemalloc"]), @r"
    warploom: the driver has no entry point cuMemalloc: the name is misspelt, or newer than the driver
      Did you mean cuMemAlloc, cuMemAllocHost, cuMemAllocAsync?
    exit 1
    ");
    insta::assert_snapshot!(entry_point(&["cuMemAllocAsync", "--cuda", "11.1"]), @r"
    warploom: the driver has cuMemAllocAsync, but only for callers that ask for a CUDA version later than 11.1
      It came with CUDA 11.2; the driver is new enough, ask for that version.
    exit 1
    ");
    insta::assert_snapshot!(entry_point(&["cuInit", "--cuda", "99.0"]), @r"
    warploom: cuInit was asked for with CUDA 99.0, but the driver is one of CUDA 13.5
      A driver refuses every request above its own version; a newer driver is needed.
    exit 1
    ");
}

#[test]
fn advice_goes_further_than_the_reason() {
    insta::assert_snapshot!(entry_point(&["cuMemAlloc_v2"]), @r"
    warploom: the driver has no entry point cuMemAlloc_v2: the name is misspelt, or newer than the driver
      That is an ELF symbol; the base name to ask for is cuMemAlloc.
    exit 1
    ");
    insta::assert_snapshot!(entry_point(&["cuLaunchKernel", "--cuda", "4.0", "--per-thread"]), @r"
    warploom: the driver has cuLaunchKernel, but only for callers that ask for a CUDA version later than 4.0
      Its per-thread variant came with CUDA 7.0; the driver is new enough, ask for that version.
    exit 1
    ");
    let older = answer(warploom().args(["entry-point", "cuLibraryLoadData"]).env("WARPLOOM_CUDA_VERSION", "11.3"));
    insta::assert_snapshot!(older, @r"
    warploom: the driver has no entry point cuLibraryLoadData: the name is misspelt, or newer than the driver
      It came with CUDA 12.0; the driver is older, and needs an update.
    exit 1
    ");
}

#[test]
fn wrong_usage_exits_with_2() {
    for arguments in [
        &["entry-point", "cuInit", "--cuda", "12"][..],
        &["entry-point", "cuInit", "--legacy", "--per-thread"],
        &["entry-points", "--since", "12.0", "--until", "11.0"],
        &["entry-point", "cuInit", "--library", "/nonexistent/libcuda.so.1"],
        &["run", "--device", "sm_70", "true"],
        &["run", "--threads", "0", "true"],
        &["run"],
        &["nothing"],
    ] {
        assert_eq!(output(warploom().args(arguments)).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_range_of_versions_is_listed() {
    let listed = answer(warploom().args(["entry-points", "--since", "12.5", "--until", "12.5"]));
    insta::assert_snapshot!(listed.replace('\t', " "), @r"
    12.5 cuCtxCreate cuCtxCreate_v4 PFN_cuCtxCreate_v12050 cudaTypedefs.h
    12.5 cuCtxRecordEvent cuCtxRecordEvent PFN_cuCtxRecordEvent_v12050 cudaTypedefs.h
    12.5 cuCtxWaitEvent cuCtxWaitEvent PFN_cuCtxWaitEvent_v12050 cudaTypedefs.h
    12.5 cuGreenCtxStreamCreate cuGreenCtxStreamCreate PFN_cuGreenCtxStreamCreate_v12050 cudaTypedefs.h
    12.5 cuKernelGetLibrary cuKernelGetLibrary PFN_cuKernelGetLibrary_v12050 cudaTypedefs.h
    12.5 cuStreamGetCtx cuStreamGetCtx_v2 PFN_cuStreamGetCtx_v12050 cudaTypedefs.h
    12.5 cuStreamGetCtx cuStreamGetCtx_v2_ptsz PFN_cuStreamGetCtx_v12050_ptsz cudaTypedefs.h
    exit 0
    ");
    assert_eq!(output(warploom().args(["entry-points", "--since", "1.0", "--until", "1.9"])).status.code(), Some(1));
    let all = output(warploom().arg("entry-points"));
    let lines = String::from_utf8_lossy(&all.stdout).lines().count();
    let known: usize = warploom_abi::facts::ENTRY_POINTS.iter().map(|entry_point| entry_point.versions.len()).sum();
    assert_eq!(lines, known);
}

#[test]
fn info_tells_the_driver_and_its_devices() {
    let output =
        output(warploom().args(["info", "--json"]).env("WARPLOOM_DEVICE_COUNT", "2").env("WARPLOOM_DEVICE", "sm_86"));
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(report["driver"]["vendor"], "warploom");
    assert_eq!(report["driver"]["version"], env!("CARGO_PKG_VERSION"));
    let devices = report["devices"].as_array().expect("a list");
    assert_eq!(devices.len(), 2);
    assert!(devices.iter().all(|device| device["compute_capability"] == "8.6"));
    assert_ne!(devices[0]["uuid"], devices[1]["uuid"]);
    assert_eq!(report["settings"]["WARPLOOM_DEVICE"], "sm_86");
}

#[test]
fn without_devices_info_says_why() {
    let answer = answer(warploom().arg("info").env("WARPLOOM_DEVICE_COUNT", "0"));
    insta::assert_snapshot!(answer, @r"
    driver   warploom 0.1.0, a driver of CUDA 13.5
    setting  WARPLOOM_DEVICE_COUNT=0
    devices  none: cuInit answers CUDA_ERROR_NO_DEVICE (100)
    exit 1
    ");
}

#[test]
fn run_passes_settings_arguments_and_the_exit_status_on() {
    let script =
        r#"echo "$WARPLOOM_CUDA_VERSION $WARPLOOM_DEVICE $WARPLOOM_DEVICE_COUNT $WARPLOOM_THREADS $1"; exit 7"#;
    let settings = ["--cuda", "12.4", "--device", "sm_80", "--devices", "2", "--threads", "3"];
    let answer = answer(warploom().arg("run").args(settings).args(["--", "sh", "-c", script, "sh", "--flag"]));
    assert_eq!(answer, "12.4 sm_80 2 3 --flag\nexit 7\n");
}

#[test]
fn a_program_under_run_finds_our_library_first() {
    let mut command = warploom();
    let folder = |output: Output| String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let paths = folder(output(
        command.args(["run", "sh", "-c", "echo $LD_LIBRARY_PATH"]).env("LD_LIBRARY_PATH", "/some/where"),
    ));
    let (ours, rest) = paths.split_once(':').expect("two folders");
    assert_eq!(rest, "/some/where");
    assert!(Path::new(ours).join("libcuda.so.1").exists(), "{ours}");
    // A program that asks the dynamic linker for the driver by its soname gets it.
    let program = env!("CARGO_BIN_EXE_warploom");
    let identity = answer(warploom().args(["run", "--cuda", "12.4", program, "info", "--library", "libcuda.so.1"]));
    assert!(identity.starts_with("driver   warploom 0.1.0, a driver of CUDA 12.4\n"), "{identity}");
}

#[test]
fn programs_that_cannot_start_exit_as_in_a_shell() {
    assert_eq!(output(warploom().args(["run", "/nonexistent/program"])).status.code(), Some(127));
    assert_eq!(output(warploom().args(["run", "/etc/passwd"])).status.code(), Some(126));
}
