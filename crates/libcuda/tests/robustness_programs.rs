//! The programs of `tests/c/robustness`: processes that do everything at once, have fault handlers or small stacks of their own,
//! fork, load the library twice, and end while kernels run.
#[path = "support/library.rs"]
mod library;
#[path = "support/program.rs"]
mod program;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use library::library;
use program::Program;

/// Several tests run the same program, at once: each has its own.
fn build(source: &str) -> Program {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    program::build(&format!("robustness/{source}"), &test, &[])
}

fn run(program: &Program, arguments: &[&str]) -> String {
    program.run(|command| _ = command.args(arguments))
}

/// What the environment says a long run is, for people; in seconds or times, with what a short one is.
fn or_from(variable: &str, short: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| short.to_owned())
}

#[test]
fn sixteen_threads_do_everything_at_once() {
    let seconds = or_from("WARPLOOM_TEST_SECONDS", "4");
    // Of a small device the machine always has as much left as the device.
    let printed = build("many_threads.c").run(|command| _ = command.arg(&seconds).env("WARPLOOM_MEMORY", "1G"));
    assert_eq!(printed, "done\n");
}

#[test]
fn nothing_is_left_of_what_is_destroyed() {
    let times = or_from("WARPLOOM_TEST_TIMES", "2000");
    // As above.
    let printed = build("leaks.c").run(|command| _ = command.arg(&times).env("WARPLOOM_MEMORY", "1G"));
    assert_eq!(printed, "done\n");
}

#[test]
fn a_context_takes_everything_with_it_whatever_other_threads_do() {
    assert_eq!(run(&build("destroyed_meanwhile.c"), &[]), "done\n");
}

#[test]
fn a_primary_context_lives_while_it_is_retained() {
    assert_eq!(run(&build("retained.c"), &[]), "done\n");
}

#[test]
fn a_graph_that_cannot_be_moved_is_as_it_was() {
    assert_eq!(run(&build("moved_graphs.c"), &[]), "done\n");
}

#[test]
fn an_instance_that_cannot_be_uploaded_is_gone() {
    assert_eq!(run(&build("failed_upload.c"), &[]), "done\n");
}

#[test]
fn a_program_keeps_its_own_fault_handler() {
    assert_eq!(run(&build("fault_handler.c"), &[]), "done\n");
}

#[test]
fn python_keeps_its_own_fault_handler() {
    let script = program::root().join("tests/c/robustness/faulthandler.py");
    let run = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.args(["-X", "faulthandler"]).arg(&script).arg(library()).args(arguments);
        let output = command.output().expect("python3 starts");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{errors}");
        (output.status, errors)
    };
    let (status, errors) = run(&[]);
    assert!(status.success() && !errors.contains("Fatal Python error"), "{errors}");
    // A fault of the program's own is told by its handler, and ends it.
    let (status, errors) = run(&["own"]);
    assert!(!status.success() && errors.contains("Fatal Python error: Segmentation fault"), "{errors}");
}

/// The smallest stack that the C library makes, and one that programs choose.
#[test]
fn small_stacks_are_enough() {
    let program = build("small_stacks.c");
    for kib in ["16", "64"] {
        assert_eq!(run(&program, &[kib]), "done\n", "{kib} KiB");
    }
}

#[test]
fn host_memory_that_ends_is_an_answer() {
    assert_eq!(run(&build("little_host_memory.c"), &[]), "done\n");
}

#[test]
fn what_the_host_cannot_map_can_be_mapped_later() {
    assert_eq!(run(&build("no_more_mappings.c"), &[]), "done\n");
}

#[test]
fn many_objects_of_all_kinds_fit() {
    let program = build("many_objects.c");
    let printed = program.run(|command| _ = command.arg("20").env("WARPLOOM_MEMORY", "128G"));
    assert!(printed.ends_with("done\n"), "{printed}");
}

#[test]
fn forked_children_have_no_copy_of_device_memory() {
    assert_eq!(run(&build("forks_with_memory.c"), &[]), "done\n");
}

#[test]
fn forked_children_are_told_while_the_parent_goes_on() {
    assert_eq!(run(&build("forks.c"), &[]), "done\n");
}

#[test]
fn processes_end_while_the_driver_is_busy() {
    let program = build("endings.c");
    for mode in
        ["return", "exit", "quick", "at_once", "callback", "main_thread", "destroyed", "threads", "thread", "handled"]
    {
        for _ in 0..3 {
            assert_eq!(run(&program, &[mode]), "", "{mode}");
        }
    }
    assert_eq!(run(&program, &["late"]), "late\n");
    // A kernel that writes to memory which goes with the program's static objects.
    for _ in 0..5 {
        assert_eq!(run(&program, &["registered"]), "unmapped\n");
    }
}

/// As without our library: SIGTERM is not handled, and the process's own threads have ended.
#[test]
fn a_signal_ends_a_process_of_which_only_our_threads_are_left() {
    let program = build("endings.c");
    for mode in ["signal", "signal_busy"] {
        assert_eq!(run(&program, &[mode]), "", "{mode}");
    }
}

/// The program ends as by an exception that nobody catches, and standard error names callback and exception.
#[test]
fn what_a_callback_throws_is_named() {
    let program = program::build("robustness/throwing.cpp", "", &[]);
    for (mode, expected) in [
        ("host", ["an exception leaves a host function (cuLaunchHostFunc)", "std::runtime_error", "from a callback"]),
        ("stream", ["an exception leaves a stream callback (cuStreamAddCallback)", "instance of", "'int'"]),
        (
            "size",
            ["an exception leaves a callback of cuOccupancyMaxPotentialBlockSize", "std::runtime_error", "no size"],
        ),
        ("thread", ["pthread_exit, or a cancellation, leaves a host function", "", ""]),
    ] {
        let output = Command::new(program.folder().join("program"))
            .current_dir(program.folder())
            .env("LD_LIBRARY_PATH", program.folder())
            .arg(mode)
            .output()
            .expect("the program starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{mode}: {errors}");
        assert_eq!(output.stdout, b"", "{mode}");
        assert!(expected.iter().all(|part| errors.contains(part)), "{mode}: {errors}");
    }
}

/// Nobody reads standard error any more, and SIGPIPE is ignored: calls that report, complain about settings or trace go on.
#[test]
fn a_standard_error_that_is_closed_is_no_failure() {
    let program = build("waiting.c");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let settings = [("WARPLOOM_LOG", "calls"), ("WARPLOOM_THREADS", "none"), ("WARPLOOM_STALL_SECONDS", "0.001")];
    let output = Command::new("sh")
        .args(["-c", "trap '' PIPE; exec ./program"])
        .current_dir(program.folder())
        .env("LD_LIBRARY_PATH", program.folder())
        .envs(settings)
        .stderr(writer)
        .output()
        .expect("the program starts");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"done\n".as_slice()));
}

#[test]
fn a_waiting_kernel_holds_nobody_up() {
    let program = build("waiting.c");
    for threads in ["1", "2", "8"] {
        let printed = program.run(|command| _ = command.env("WARPLOOM_THREADS", threads));
        assert_eq!(printed, "done\n", "{threads} workers");
    }
}

/// The library closed, opened again, under another name, and beside an LLVM that resolves symbols for the whole process.
#[test]
fn the_library_can_be_closed_copied_and_share_a_process() {
    const LLVM: [&str; 2] = ["/usr/lib/llvm-19/lib/libLLVM.so.19.1", "/usr/lib/x86_64-linux-gnu/libLLVM.so.19.1"];
    let program = build("loading.c");
    let copy = program.folder().join("copy.so");
    std::fs::copy(library(), &copy).expect("the library can be copied");
    let copy = copy.to_str().expect("the scratch folder's name is text");
    assert_eq!(run(&program, &[copy, ""]), "done\n");
    match LLVM.into_iter().find(|path| Path::new(path).exists()) {
        Some(llvm) => assert_eq!(run(&program, &[copy, llvm]), "done\n"),
        None => eprintln!("SKIPPED: there is no libLLVM-19 to share a process with"),
    }
}
