//! The built command, run as a user runs it.
#[path = "command/ptx.rs"]
mod ptx;
#[path = "command/ptxas.rs"]
mod ptxas;
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::warploom;

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
    let settings = [("WARPLOOM_DEVICE_COUNT", "2"), ("WARPLOOM_DEVICE", "sm_86"), ("WARPLOOM_MULTIPROCESSORS", "68")];
    let output = output(warploom().args(["info", "--json"]).envs(settings));
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(report["driver"]["vendor"], "warploom");
    assert_eq!(report["driver"]["version"], env!("CARGO_PKG_VERSION"));
    let devices = report["devices"].as_array().expect("a list");
    assert_eq!(devices.len(), 2);
    assert!(devices.iter().all(|device| device["compute_capability"] == "8.6" && device["multiprocessors"] == 68));
    assert_ne!(devices[0]["uuid"], devices[1]["uuid"]);
    assert_eq!(report["settings"]["WARPLOOM_DEVICE"], "sm_86");
}

#[test]
fn without_devices_info_says_why() {
    let answer = answer(warploom().arg("info").env("WARPLOOM_DEVICE_COUNT", "0"));
    // Which compiler there is depends on the machine.
    let lines: Vec<&str> = answer.lines().filter(|line| !line.starts_with("compiler ")).collect();
    assert_eq!(lines.len() + 1, answer.lines().count(), "{answer}");
    insta::assert_snapshot!(lines.join("\n"), @r"
    driver   warploom 0.1.0, a driver of CUDA 13.5
    cache    none
    setting  WARPLOOM_DEVICE_COUNT=0
    devices  none: cuInit answers CUDA_ERROR_NO_DEVICE (100)
    exit 1
    ");
}

#[test]
fn run_passes_settings_arguments_and_the_exit_status_on() {
    let script = r#"echo "$WARPLOOM_CUDA_VERSION $WARPLOOM_DEVICE $WARPLOOM_DEVICE_COUNT $WARPLOOM_THREADS $WARPLOOM_CPU $WARPLOOM_MULTIPROCESSORS $1"; exit 7"#;
    let settings = ["--cuda", "12.4", "--device", "sm_80", "--devices", "2", "--threads", "3", "--cpu", "x86-64-v3"];
    let settings = [&settings[..], &["--multiprocessors", "68"]].concat();
    let answer = answer(warploom().arg("run").args(settings).args(["--", "sh", "-c", script, "sh", "--flag"]));
    assert_eq!(
        answer,
        "12.4 sm_80 2 3 x86-64-v3 68 --flag
exit 7
"
    );
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

/// A program of `tests/c/behaviour`, compiled against our headers and library.
fn compiled(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = warploom_folder();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new("cc")
        .args(["-std=gnu11", "-I"])
        .arg(root.join("include"))
        .arg("-I")
        .arg(root.join("tests/c"))
        .arg(root.join("tests/c/behaviour").join(name).with_extension("c"))
        .arg("-o")
        .arg(&program)
        .arg(folder.join("libcuda.so.1"))
        .output()
        .expect("a C compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Where `warploom run` finds the library.
fn warploom_folder() -> PathBuf {
    let paths = output(warploom().args(["run", "sh", "-c", "echo $LD_LIBRARY_PATH"]).env_remove("LD_LIBRARY_PATH"));
    PathBuf::from(String::from_utf8_lossy(&paths.stdout).trim())
}

#[test]
fn run_reports_kernels_that_do_not_end_and_ends_them() {
    let program = compiled("endless");
    let run = |arguments: &[&str], milliseconds: &str| {
        let mut command = warploom();
        let output = output(command.arg("run").args(arguments).arg("--").arg(&program).arg(milliseconds));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let (printed, report) = run(&["--stall-seconds", "0.2"], "1500");
    assert_eq!(printed, "CUDA_SUCCESS\n", "{report}");
    assert!(report.contains("kernel waits") && report.contains("stuck"), "{report}");
    let (printed, report) = run(&["--stall-seconds", "60"], "500");
    assert_eq!((printed.as_str(), report.as_str()), ("CUDA_SUCCESS\n", ""));
    let (printed, report) = run(&["--launch-timeout", "0.3"], "0");
    assert_eq!(printed, "CUDA_ERROR_LAUNCH_TIMEOUT\n", "{report}");
    assert!(report.contains("CUDA_ERROR_LAUNCH_TIMEOUT"), "{report}");
    // In compiled code too, which takes a moment to be made.
    let mut command = warploom();
    let command = command.env("WARPLOOM_JIT", "always").args(["run", "--explain", "--launch-timeout", "3", "--"]);
    let ended = output(command.arg(&program).arg("0"));
    let report = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "CUDA_ERROR_LAUNCH_TIMEOUT\n", "{report}");
    assert!(ended.status.success() && report.contains("compiled in") && report.contains("looking again"), "{report}");
}

#[test]
fn programs_that_cannot_start_exit_as_in_a_shell() {
    assert_eq!(output(warploom().args(["run", "/nonexistent/program"])).status.code(), Some(127));
    assert_eq!(output(warploom().args(["run", "/etc/passwd"])).status.code(), Some(126));
}

#[test]
fn a_version_or_a_number_that_there_is_not_is_refused() {
    for arguments in [["--cuda", "99.9"], ["--cuda", "11.2"], ["--threads", "100000"], ["--devices", "65"]] {
        let output = warploom().arg("run").args(arguments).args(["--", "true"]).output().expect("the command starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    for arguments in [&["entry-points"][..], &["info"], &["entry-point", "cuInit"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = output(warploom().args(arguments).stdout(writer));
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn help_says_what_there_is() {
    insta::assert_snapshot!(answer(warploom().arg("--help")), @r"
    Run CUDA programs on the CPU, and ask CUDA drivers what they have

    Usage: warploom <COMMAND>

    Commands:
      run                Run a CUDA program on the CPU
      compute-sanitizer  Check a CUDA program on the CPU, with the options of NVIDIA's compute-sanitizer
      entry-point        Show which function cuGetProcAddress gives for a name, a CUDA version and a default stream
      entry-points       List the entry points that a range of CUDA versions brought, oldest first
      info               Show the driver, its devices and the settings in force
      ptx                Check PTX, or show how it is understood
      ptxas              Stand in for NVIDIA's ptxas: check PTX, and write an image that warploom's driver loads
      nvlink             Stand in for NVIDIA's nvlink: link images that hold PTX
      smi                Show devices, their memory and how busy they are, and the processes that use them
      toolkit            Make a folder with a CUDA toolkit whose ptxas and nvlink are warploom's
      help               Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Examples:
      warploom run -- ./vector_add 1000000
      warploom entry-point cuMemAlloc --cuda 3.1
      warploom ptx check kernels.ptx
    exit 0
    ");
    insta::assert_snapshot!(answer(warploom().args(["run", "-h"])), @r"
    Run a CUDA program on the CPU

    Usage: warploom run [OPTIONS] <PROGRAM>...

    Arguments:
      <PROGRAM>...  The program and its arguments, which are its own even if they look like options

    Options:
          --cuda <X.Y>                Behave as the driver of this CUDA version [default: the newest that warploom knows]
          --device <sm_NN>            Behave as a device of this compute capability [default: sm_90]
          --devices <N>               Show this many devices; 0 is a machine without a GPU [default: 1]
          --threads <N>               Run kernels on this many threads [default: one for each core that the process may use]
          --cpu <NAME>                Use no more than this instruction set of the processor's for kernels [default: what it has] [possible values: x86-64, x86-64-v3, x86-64-v4]
          --multiprocessors <N>       Show this many multiprocessors on each device, whatever runs kernels [default: one for each thread]
          --stall-seconds <SECONDS>   Report a kernel on standard error, once, when none of its CTAs has ended for so long [default: 10]
          --launch-timeout <SECONDS>  End a kernel that runs for longer, whatever it does, with CUDA_ERROR_LAUNCH_TIMEOUT [default: none]
          --log <WHAT>                Print calls of the driver on standard error: all of them, or those that fail [possible values: calls, errors]
          --keep-runtime              Leave the CUDA runtime and compilers that programs bring along alone: only the driver is warploom's
          --explain                   Say on standard error which objects were led to warploom's libraries and tools, and which could not be, and why; and what became of each kernel that was to be compiled
          --check <CHECKS>            Check what kernels do, and report what is wrong: a list with commas of memory (accesses of what a thread may not access), race (accesses that nothing orders), init (values that nobody has written), sync (misuse of barriers), leak (what is not freed or destroyed), host (what the host does wrong beside its kernels)
          --suppressions <FILE>       Leave out the reports that the rules of this file name, one `CHECK KERNEL FILE:LINE` a line; * is any
          --report <FILE>             Write the reports of checks to this file: JSON, or JUnit's XML if its name ends in .xml
          --error-exitcode <N>        Exit with this status if checks have found errors
          --check-log <FILE>          Write what checks say to the end of this file, and not on standard error
          --check-kernels <WORD>      Report on kernels of this name alone: kernel_name=NAME, kernel_substring=TEXT or kernel_regex=TEXT, with a ! before it on all others. May be given several times
          --print-limit <N>           Print so many reports at most; files have all
          --check-level <LEVEL>       Report what weighs this much: error (what is wrong), or info (also what makes no difference to what was computed) [default: error] [possible values: info, error]
          --fresh-memory <BYTE>       Fill device memory that is allocated with this byte, as 0xa5, so that what relies on zeros goes wrong [default: 0]
          --bounds <BOUNDS>           What kernels may access: their allocations, or all that is on the pages of 2 MiB that these are on, as hardware, which does not notice what is wrong there: allocations or pages [default: allocations] [possible values: allocations, pages]
      -h, --help                      Print help (see more with '--help')

    Example:
      warploom run --device sm_80 -- ./vector_add 1000000
    exit 0
    ");
    insta::assert_snapshot!(answer(warploom().args(["entry-point", "-h"])), @r"
    Show which function cuGetProcAddress gives for a name, a CUDA version and a default stream

    Usage: warploom entry-point [OPTIONS] <NAME>

    Arguments:
      <NAME>  The base name, without _v2, _ptds or _ptsz

    Options:
          --cuda <X.Y>      The CUDA version that the caller was written for [default: the driver's]
          --per-thread      Ask for the variant whose stream 0 is the calling thread's default stream
          --legacy          Ask for the variant whose stream 0 is the legacy default stream
          --library <PATH>  Ask this driver library instead of warploom's
      -h, --help            Print help (see more with '--help')

    Examples:
      warploom entry-point cuMemAlloc --cuda 3.1
      warploom entry-point cuLaunchKernel --cuda 12.0 --per-thread
    exit 0
    ");
    insta::assert_snapshot!(answer(warploom().args(["entry-points", "-h"])), @r"
    List the entry points that a range of CUDA versions brought, oldest first

    Usage: warploom entry-points [OPTIONS]

    Options:
          --since <X.Y>  The first version of the range [default: all]
          --until <X.Y>  The last version of the range [default: the newest]
      -h, --help         Print help (see more with '--help')

    Example:
      warploom entry-points --since 12.4 --until 12.6
    exit 0
    ");
    insta::assert_snapshot!(answer(warploom().args(["info", "-h"])), @r"
    Show the driver, its devices and the settings in force

    Usage: warploom info [OPTIONS]

    Options:
          --json            Print one JSON object
          --library <PATH>  Ask this driver library instead of warploom's
      -h, --help            Print help
    exit 0
    ");
    insta::assert_snapshot!(answer(warploom().args(["ptx", "check", "-h"])), @r"
    Say whether PTX loads, and what is wrong with it

    Usage: warploom ptx check [OPTIONS] <FILE>...

    Arguments:
      <FILE>...  The files; - is standard input

    Options:
          --cuda <X.Y>      Load as the driver of this CUDA version [default: 13.5]
          --device <sm_NN>  Load for a device of this compute capability [default: sm_90]
          --log             Print the lines that a program finds in its JIT log
      -h, --help            Print help (see more with '--help')

    Examples:
      warploom ptx check kernels.ptx
      warploom ptx check --cuda 12.4 --device sm_80 *.ptx
    exit 0
    ");
    insta::assert_snapshot!(answer(warploom().args(["ptx", "dump", "-h"])), @r"
    Print PTX as it was understood, what was not understood left out

    Usage: warploom ptx dump [OPTIONS] <FILE>

    Arguments:
      <FILE>  A PTX file, a fat binary, or what cuLinkComplete gave; - is standard input

    Options:
          --form <FORM>  In which form [default: text] [possible values: text, tree, ir]
      -h, --help         Print help (see more with '--help')

    Example:
      warploom ptx dump --form ir kernels.ptx | less
    exit 0
    ");
    insta::assert_snapshot!(answer(warploom().args(["ptx", "analyze", "-h"])), @r"
    Print what is known of kernels when the threads of a warp are to run as the lanes of vectors

    Usage: warploom ptx analyze [OPTIONS] <FILE>

    Arguments:
      <FILE>  A PTX file, a fat binary, or what cuLinkComplete gave; - is standard input

    Options:
          --cta <X[,Y[,Z]]>  Threads of a CTA along x, y and z. A kernel with .reqntid has its own [default: 128]
          --gang <N>         Threads that run together: 1, 2, 4, 8, 16 or 32 [default: 8]
          --device <sm_NN>   Load for a device of this compute capability [default: sm_90]
          --kernel <NAME>    Only this kernel
      -h, --help             Print help (see more with '--help')

    Example:
      warploom ptx analyze --cta 16,16 --gang 16 kernels.ptx
    exit 0
    ");
    insta::assert_snapshot!(answer(warploom().args(["ptx", "compile", "-h"])), @r"
    Print the code that kernels become, for this processor, or why they are left to the interpreter

    Usage: warploom ptx compile [OPTIONS] <FILE>

    Arguments:
      <FILE>  A PTX file, a fat binary, or what cuLinkComplete gave; - is standard input

    Options:
          --emit <EMIT>      In which form [default: llvm] [possible values: llvm, asm]
          --cta <X[,Y[,Z]]>  Threads of a CTA along x, y and z. A kernel with .reqntid has its own [default: 128]
          --cpu <CPU>        For which processor [default: host] [possible values: host, x86-64-v3]
          --device <sm_NN>   Load for a device of this compute capability [default: sm_90]
          --kernel <NAME>    Only this kernel
      -h, --help             Print help (see more with '--help')

    Example:
      warploom ptx compile --emit asm --cta 16,16 kernels.ptx
    exit 0
    ");
}
