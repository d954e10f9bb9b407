//! The programs of `tests/c/behaviour`: what documented calls do that no recording covers, with good and with bad arguments.
#[path = "support/library.rs"]
mod library;
#[path = "support/program.rs"]
mod program;
#[path = "../../cudart/tests/support/pypi.rs"]
#[allow(dead_code, reason = "other tests install whole toolkits")]
mod pypi;

use std::process::Command;

fn run(source: &str, prepare: impl FnOnce(&mut Command)) -> String {
    program::build(&format!("behaviour/{source}"), "", &[]).run(prepare)
}

#[test]
fn memory_pools() {
    assert_eq!(run("memory_pools.c", |command| _ = command.env("WARPLOOM_DEVICE_COUNT", "2")), "done\n");
}

#[test]
fn memory_pools_of_many_threads() {
    assert_eq!(run("pool_threads.c", |_| {}), "done\n");
}

#[test]
fn physical_memory_is_shared() {
    assert_eq!(run("shared_memory.c", |command| _ = command.env("WARPLOOM_MEMORY", "128G")), "done\n");
}

#[test]
fn memory_and_events_are_found_by_other_processes() {
    let kills = std::env::var("WARPLOOM_TEST_KILLS").unwrap_or_else(|_| "10".to_owned());
    assert_eq!(run("other_processes.c", |command| _ = command.arg(kills)), "done\n");
}

#[test]
fn memory_files_and_semaphores_come_from_outside() {
    assert_eq!(run("external_resources.c", |_| {}), "done\n");
}

#[test]
fn waits_that_nobody_ends_end_with_their_context() {
    let program = program::build("behaviour/given_up.c", "", &[]);
    let (printed, errors) = program.run_and_report(|_| {});
    assert_eq!(printed, "done\n");
    assert!(errors.contains("a context ends while"), "{errors}");
    for _ in 0..3 {
        assert_eq!(program.run(|command| _ = command.arg("exit")), "leaves\n");
    }
}

#[test]
fn what_kernels_print_comes_with_the_calls_that_the_guide_names() {
    let program = program::build("behaviour/printed.c", "", &[]);
    for mode in ["context", "stream", "event", "copy", "unload", "launch", "load"] {
        let printed = program.run(|command| _ = command.arg(mode));
        assert_eq!(printed, "before\nkernel\nbehind\n", "{mode}");
    }
    // As recorded on an H200.
    for mode in ["fault_context", "fault_stream", "fault_event", "fault_copy"] {
        let (printed, errors) = program.run_and_report(|command| _ = command.arg(mode));
        assert_eq!(printed, "before\nkernel\nbehind\n", "{mode}\n{errors}");
        assert!(errors.contains("error: trap"), "{mode}\n{errors}");
    }
}

#[test]
fn the_device_runtime_is_built_in() {
    assert_eq!(run("device_runtime.c", |_| {}), "done\n");
}

#[test]
fn batches_of_copies() {
    assert_eq!(run("batches.c", |_| {}), "done\n");
}

#[test]
fn contexts_of_two_devices() {
    assert_eq!(run("contexts_of_two_devices.c", |command| _ = command.env("WARPLOOM_DEVICE_COUNT", "2")), "done\n");
}

#[test]
fn green_contexts_have_workers_whatever_the_device_shows() {
    let program = program::build("behaviour/shown_multiprocessors.c", "", &[]);
    for (shown, threads) in [("16", "2"), ("2", "3"), ("3", "1")] {
        let settings = [("WARPLOOM_MULTIPROCESSORS", shown), ("WARPLOOM_THREADS", threads)];
        assert_eq!(program.run(|command| _ = command.envs(settings).arg(shown)), "done\n", "{shown} on {threads}");
    }
}

#[test]
fn devices_are_parts_of_the_machine() {
    let program = program::build("behaviour/device_parts.c", "", &[]);
    // One device; two, of which each has threads of its own; more than there are threads; one of several.
    for (devices, threads, seen) in [("1", "3", None), ("2", "4", None), ("3", "2", None), ("2", "2", Some("1"))] {
        let settings = [("WARPLOOM_DEVICE_COUNT", devices), ("WARPLOOM_THREADS", threads), ("WARPLOOM_MEMORY", "192M")];
        let printed = program.run(|command| {
            command.envs(settings).args([devices, threads, "192"]);
            if let Some(seen) = seen {
                command.env("CUDA_VISIBLE_DEVICES", seen).arg("one");
            }
        });
        assert_eq!(printed, "done\n", "{devices} devices, {threads} threads");
    }
}

#[test]
fn each_device_fails_alone() {
    assert_eq!(run("faults_of_two_devices.c", |command| _ = command.env("WARPLOOM_DEVICE_COUNT", "2")), "done\n");
}

#[test]
fn copies_between_devices_are_ordered_with_both() {
    assert_eq!(run("peer_copies.c", |command| _ = command.env("WARPLOOM_DEVICE_COUNT", "2")), "done\n");
}

#[test]
fn cooperative_grids_synchronise() {
    assert_eq!(run("cooperative.c", |_| {}), "done\n");
}

#[test]
fn what_streams_hold_outlives_its_destruction() {
    assert_eq!(run("in_flight.c", |_| {}), "done\n");
}

#[test]
fn graphs_keep_their_rules() {
    assert_eq!(run("graph_rules.c", |_| {}), "done\n");
}

#[test]
fn graphs_are_captured_again() {
    assert_eq!(run("recapture.c", |_| {}), "done\n");
}

#[test]
fn arrays_are_seen_as_they_are() {
    assert_eq!(run("texture_views.c", |_| {}), "done\n");
}

#[test]
fn layers_and_cubes_are_sampled() {
    assert_eq!(run("layered_textures.c", |_| {}), "done\n");
}

#[test]
fn texture_references_are_bound_as_recorded() {
    assert_eq!(run("texture_references.c", |_| {}), "done\n");
}

#[test]
fn memory_pools_are_shared_between_processes() {
    assert_eq!(run("shared_pools.c", |_| {}), "done\n");
}

#[test]
fn corners_answer_as_recorded() {
    assert_eq!(run("corners.c", |_| {}), "done\n");
}

#[test]
fn calls_without_a_context_answer_as_recorded() {
    assert_eq!(run("without_context.c", |_| {}), "done\n");
}

#[test]
fn kernels_need_what_their_source_says() {
    let program = program::build("behaviour/kernel_resources.c", "", &[]);
    assert_eq!(program.run(|command| _ = command.env("WARPLOOM_MEMORY", "1G").env("WARPLOOM_THREADS", "2")), "done\n");
}

#[test]
fn memory_is_reused() {
    assert_eq!(run("memory_is_reused.c", |command| _ = command.env("WARPLOOM_MEMORY", "1G")), "done\n");
}

#[test]
fn the_log_says_what_cannot_be_freed() {
    assert_eq!(run("wrong_frees.c", |_| {}), "done\n");
}

#[test]
fn local_memory_counts_while_launches_hold_it() {
    let device = |command: &mut Command| _ = command.env("WARPLOOM_MEMORY", "1G").env("WARPLOOM_THREADS", "2");
    assert_eq!(run("local_memory.c", device), "done\n");
}

#[test]
fn a_launch_that_is_refused_says_why_once_for_each_kernel() {
    let (printed, report) = program::build("behaviour/refused_kernels.c", "", &[]).run_and_report(|_| {});
    assert_eq!(printed, "done\n");
    assert_eq!(report.matches("which cannot be launched").count(), 1, "{report}");
    let told = ["suq.array_size.b32", "line 9", "in kernel asks", "CUDA_ERROR_NOT_SUPPORTED"];
    assert!(told.iter().all(|part| report.contains(part)), "{report}");
}

#[test]
fn ptx_for_a_newer_device_comes_with_a_hint() {
    let program = program::build("behaviour/newer_target.c", "", &[]);
    let (printed, report) = program.run_and_report(|_| {});
    assert_eq!(printed, "done\n");
    assert_eq!(report.matches("--device sm_121, or WARPLOOM_DEVICE=sm_121").count(), 1, "{report}");
}

#[test]
fn sparse_arrays_without_memory_are_zeros_and_cost_nothing() {
    assert_eq!(run("sparse_arrays.c", |_| {}), "done\n");
}

#[test]
fn rows_of_a_tensor_are_gathered_and_scattered() {
    let program = program::build("behaviour/tensor_rows.c", "", &[]);
    let (printed, report) = program.run_and_report(|command| _ = command.env("WARPLOOM_DEVICE", "sm_100"));
    assert_eq!((printed.as_str(), report.as_str()), ("done\n", ""));
}

/// The report of a kernel that goes wrong as `mode` says, with addresses taken out.
fn fault_report(program: &program::Program, mode: &str) -> String {
    let (printed, report) = program.run_and_report(|command| _ = command.arg(mode));
    assert_eq!(printed, "lives\n", "{mode}");
    let mut text = String::new();
    for (index, part) in report.split("0x").enumerate() {
        let hexadecimal = |letter: char| letter.is_ascii_hexdigit();
        text.push_str(if index == 0 { part } else { part.trim_start_matches(hexadecimal) });
    }
    text
}

#[test]
fn a_fault_leaves_its_report_in_a_file_where_coredumps_are_asked_for() {
    let program = program::build("behaviour/fault_report.c", "", &[]);
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("core.{}", std::process::id()));
    let (printed, report) = program.run_and_report(|command| _ = command.arg("dumped").arg(&path));
    assert_eq!(printed, "lives\n");
    let (report, place) = report.split_once("  = the report is in ").expect("it says where");
    assert_eq!(place.trim(), path.to_str().expect("the path is text"));
    let written = std::fs::read_to_string(&path).expect("it is there");
    let (head, body) = written.split_once('\n').expect("it has lines");
    assert!(head.starts_with("process ") && head.contains("fault_report"), "{head}");
    assert_eq!(body, report);
    assert!(body.contains("in kernel scale"), "{body}");
    std::fs::remove_file(&path).expect("it can go");
}

#[test]
fn the_environment_asks_for_the_report_in_a_file() {
    let program = program::build("behaviour/fault_report.c", "", &[]);
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("asked.{}", std::process::id()));
    let asked = [("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"), ("CUDA_COREDUMP_FILE", path.to_str().expect("text"))];
    // Only 1 asks for it.
    for (value, is_there) in [("0", false), ("1", true)] {
        let (printed, report) = program.run_and_report(|command| {
            _ = command.arg("beyond").envs(asked).env("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", value);
        });
        assert_eq!(printed, "lives\n");
        assert_eq!(report.contains("  = the report is in "), is_there, "{report}");
        assert_eq!(path.exists(), is_there);
    }
    let written = std::fs::read_to_string(&path).expect("it is there");
    assert!(written.contains("in kernel scale"), "{written}");
    std::fs::remove_file(&path).expect("it can go");
}

#[test]
fn faults_name_kernel_place_thread_and_the_allocation_that_was_missed() {
    let program = program::build("behaviour/fault_report.c", "", &[]);
    let scale = |cta, thread| {
        format!(
            "\n  --> /src/scale.cu:9\n  --> PTX line 19\n  in kernel scale, CTA ({cta}, 0, 0), thread ({thread}, 0, 0)\n"
        )
    };
    let illegal = "  = CUDA_ERROR_ILLEGAL_ADDRESS\n";
    let access = "warploom: error: illegal address: load of 4 bytes at , which is not in device memory: ";
    let cases = [
        ("beyond", "just past the end of the 2048-byte device allocation at , made by cuMemAlloc", scale(16, 0)),
        ("pitched", "just past the end of the 2048-byte device allocation at , made by cuMemAllocPitch", scale(0, 4)),
        ("managed", "16 bytes before the 1024-byte managed allocation at , made by cuMemAllocManaged", scale(0, 0)),
        (
            "pooled",
            "at offset 0 of the 4096-byte device allocation at , made by cuMemAllocAsync, which has been freed",
            scale(0, 0),
        ),
        (
            "freed",
            "at offset 0 of the 4096-byte device allocation at , made by cuMemAlloc, which has been freed",
            scale(0, 0),
        ),
        (
            "host",
            "it is host memory that was neither allocated by the driver (cuMemHostAlloc) nor registered (cuMemHostRegister)",
            scale(0, 0),
        ),
        ("null", "a null pointer, perhaps with an offset", scale(0, 0)),
    ];
    let unnoticed = "  = note: hardware, which protects pages of 2 MiB, need not notice; nor does warploom with WARPLOOM_BOUNDS=pages\n";
    for (mode, missed, place) in cases {
        let note = if matches!(mode, "host" | "null") { "" } else { unnoticed };
        assert_eq!(fault_report(&program, mode), format!("{access}{missed}{place}{illegal}{note}"), "{mode}");
    }
    let variable = "192 bytes after the end of the 64-byte global variable allocation at , made by a module's variable";
    let note = "  = note: the variable is `table`\n";
    assert_eq!(
        fault_report(&program, "variable"),
        format!("{access}{variable}{}{illegal}{note}{unnoticed}", scale(0, 0))
    );
    assert_eq!(
        fault_report(&program, "misaligned"),
        format!(
            "warploom: error: misaligned address: load of 4 bytes at , which is not a multiple of 4: at offset 2 of the \
             4096-byte device allocation at , made by cuMemAlloc{}  = CUDA_ERROR_MISALIGNED_ADDRESS\n",
            scale(0, 0)
        )
    );
    assert_eq!(
        fault_report(&program, "in_function"),
        format!(
            "warploom: error: illegal address: store of 4 bytes at , which is not in device memory: a null pointer, \
             perhaps with an offset\n  --> PTX line 28\n  in kernel calls, function inner, CTA (0, 0, 0), thread (0, 0, 0)\n\
             {illegal}"
        )
    );
}

#[test]
fn with_the_bounds_of_hardware_faults_on_a_page_are_not_noticed() {
    let program = program::build("behaviour/fault_report.c", "", &[]);
    for (mode, expected) in [("beyond", "not noticed\n"), ("variable", "not noticed\n"), ("null", "lives\n")] {
        let (printed, report) = program.run_and_report(|command| _ = command.arg(mode).env("WARPLOOM_BOUNDS", "pages"));
        assert_eq!(printed, expected, "{mode}: {report}");
    }
}

#[test]
fn fat_binaries_whole_and_damaged() {
    let program = program::build("behaviour/images.c", "", &[]);
    let log = "error   : the image holds no PTX that this device can run, only machine code for GPUs; build it with PTX, as \
               nvcc does with -gencode arch=compute_NN,code=compute_NN, or by the nvcc of a folder that `warploom toolkit` makes";
    assert_eq!(program.run(|command| _ = command.env_remove("CUDA_MODULE_LOADING")), format!("{log}\nlazy\ndone\n"));
    let eager = program.run(|command| _ = command.env("CUDA_MODULE_LOADING", "EAGER"));
    assert_eq!(eager, format!("{log}\neager\ndone\n"));
}

#[test]
fn code_that_is_made_for_debugging_runs() {
    let packages = ["nvidia-cuda-nvrtc-cu12==12.9.86".to_owned()];
    let installed = match pypi::install("nvrtc-12.9", &packages) {
        Ok(installed) => installed,
        Err(why) => {
            return eprintln!("SKIPPED: NVRTC cannot be installed from PyPI, nothing was tested:\n{why}");
        }
    };
    let compiler = installed.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    let program = program::build("behaviour/compiled_for_debugging.c", "", &[]);
    let (printed, report) = program.run_and_report(|command| _ = command.arg(&compiler));
    assert_eq!(printed, "done\n");
    assert!(report.contains("  --> /src/work.cu:22\n"), "{report}");
}

#[test]
fn linked_images_load_in_another_process() {
    let program = program::build("behaviour/images.c", "linked", &[]);
    for mode in ["save", "load"] {
        assert_eq!(program.run(|command| _ = command.args([mode, "linked.cubin"])), "done\n");
    }
}

#[test]
fn traced_addresses_read_as_in_the_reports_of_faults() {
    let program = program::build("behaviour/fault_report.c", "traced", &[]);
    let (_, errors) = program.run_and_report(|command| _ = command.arg("beyond").env("WARPLOOM_LOG", "calls"));
    let call = errors.lines().find(|line| line.contains("cuMemAlloc_v2(")).expect("the call is traced");
    let (_, address) = call.split_once("-> ").expect("its output is traced");
    let (address, _) = address.split_once(',').expect("there is another argument");
    assert!(errors.contains(&format!("device allocation at {address}, made by cuMemAlloc\n")), "{errors}");
    let failed = errors.lines().find(|line| line.contains("cuStreamSynchronize(")).expect("the call is traced");
    assert!(
        failed.contains("= CUDA_ERROR_ILLEGAL_ADDRESS: kernel scale faulted: illegal address: load of 4 bytes"),
        "{failed}"
    );
}

#[test]
fn programs_with_the_runtime_of_another_driver_are_told_once() {
    let program = program::build("behaviour/private_tables.c", "", &[]);
    for first in ["0", "1", "2"] {
        let (printed, report) = program.run_and_report(|command| {
            command.arg(first);
        });
        assert_eq!(printed, "done\n");
        assert_eq!(report.matches("NVIDIA's CUDA runtime library").count(), 1, "{first}: {report}");
        // The object that asked is named.
        let asking = program.folder().join("program").display().to_string();
        assert!(report.starts_with(&format!("warploom: {asking} contains ")), "{report}");
        assert!(report.contains("start the program with `warploom run`"), "{report}");
    }
}
