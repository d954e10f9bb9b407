//! The checks, from end to end: a program of `tests/c/checks` has one fault after the other, each with a clean twin, and reports are what a person, and CI, is told.
#[path = "support/library.rs"]
mod library;
#[path = "support/program.rs"]
mod program;

use std::process::Command;

use program::Program;

const ALL: &str = "memory,race,init,sync,leak,host";

/// What is said of a fault, or of its twin.
fn said(program: &Program, arguments: &[&str], settings: &[(&str, &str)]) -> String {
    let (printed, errors) = program.run_and_report(|command: &mut Command| {
        command.args(arguments).env("WARPLOOM_CHECK", ALL).envs(settings.iter().copied());
    });
    assert!(printed.ends_with("done\n"), "{printed}\n{errors}");
    errors
}

#[test]
fn each_check_finds_its_fault_and_nothing_in_the_twin() {
    let program = program::build("checks/faults.c", "all", &["-g"]);
    for (fault, expected) in [
        (
            "memory",
            &[
                "error[memory/out-of-bounds]: store of 4 bytes at 0x",
                "in: kernel scale, PTX line 7, CTA (0, 0, 0), thread (25, 0, 0)",
                "the nearest is the 100-byte device allocation",
                "allocated here, by cuMemAlloc",
                "main",
                "14 errors at 1 place",
            ][..],
        ),
        (
            "init",
            &[
                "error[init/uninitialised-condition]: a condition hangs on a value that nobody has written",
                "in: kernel decide, PTX line 14,",
                "it was read here from global memory",
                "it is at offset 0 of 64 bytes of device memory, by cuMemAlloc",
                ": 1 error\n",
            ],
        ),
        ("init_in_order", &["uninitialised-condition", "64 bytes of device memory, by cuMemAllocAsync", ": 1 error\n"]),
        (
            "init_to_host",
            &[
                "error[init/uninitialised-output]: a copy gives the host 36 bytes that nobody has written",
                "the first lies at offset 28 of 64 bytes",
                "cuMemcpyDtoH",
                ": 1 error\n",
            ],
        ),
        (
            "race",
            &[
                "error[race/shared-race]",
                "kernel exchange, PTX line 21",
                "kernel exchange, PTX line 25",
                "64 errors at 2",
            ],
        ),
        (
            "race_of_a_copy",
            &[
                "error[race/copy-race]: race: an access at 0x",
                " of global memory, and nothing orders it with a copy or fill of the host",
                "in: kernel scale, PTX line 7",
                "the other is a copy of the host, which reads ",
                "the other is a fill in another stream, which writes ",
            ],
        ),
        ("race_of_streams", &["error[race/global-race]", "a weak write by a grid that no stream order separates"]),
        ("race_of_values", &["error[race/global-race]", "a weak write by a grid that no stream order separates"]),
        ("race_of_functions", &["error[race/global-race]", "a weak write by a grid that no stream order separates"]),
        ("race_of_devices", &["error[race/global-race]", "a weak write by a grid that no stream order separates"]),
        ("race_of_contexts", &["error[race/global-race]", "a weak write by a grid that no stream order separates"]),
        ("sync", &["error[sync/divergent-barrier]", "kernel meet, PTX line"]),
        (
            "leak",
            &[
                "error[leak/memory]: 4096 bytes of device memory not freed",
                "error[leak/object]: a stream was not destroyed",
                ": 2 errors\n",
            ],
        ),
        (
            "host_source",
            &[
                "error[host/source-changed]: an asynchronous copy reads memory of the host that was changed",
                "the copy was asked for here",
                "cuMemcpyHtoDAsync",
                ": 1 error\n",
            ],
        ),
        ("read_only", &["error[memory/write-to-read-only]: store of 4 bytes at 0x", "in: kernel scale, PTX line 7"]),
        (
            "host_result",
            &[
                "error[host/result-dropped]: cuMemAlloc_v2 fails with CUDA_ERROR_INVALID_VALUE, and nobody looks at that before \
                 cuCtxSynchronize succeeds",
                "called here",
                "host_result",
                ": 1 error\n",
            ],
        ),
    ] {
        let devices = [("WARPLOOM_DEVICE_COUNT", "2")];
        let found = said(&program, &[fault], &devices);
        for part in expected {
            assert!(found.contains(part), "{fault}: no {part:?} in\n{found}");
        }
        let clean = said(&program, &[fault, "clean"], &devices);
        assert!(clean.ends_with(": 0 errors\n") && clean.lines().count() == 1, "{fault}: {clean}");
    }
    let by_right = said(&program, &["host_source_by_right"], &[]);
    assert!(by_right.ends_with(": 0 errors\n"), "{by_right}");
}

/// The copy reads what is not there any more, and so the process ends as it would without the check: docs/decisions/0003-no-fault-handler.md.
#[test]
fn a_source_that_is_unmapped_is_reported_before_it_is_read() {
    let program = program::build("checks/faults.c", "freed", &["-g"]);
    let output = Command::new(program.folder().join("program"))
        .arg("host_source_freed")
        .env("LD_LIBRARY_PATH", program.folder())
        .env("WARPLOOM_CHECK", ALL)
        .output()
        .expect("the program starts");
    let found = String::from_utf8_lossy(&output.stderr);
    for part in [
        "error[host/source-freed]: an asynchronous copy reads memory of the host that was freed",
        "the copy was asked for here",
        "host_source_freed",
    ] {
        assert!(found.contains(part), "no {part:?} in\n{found}");
    }
    let clean = said(&program, &["host_source_freed", "clean"], &[]);
    assert!(clean.ends_with(": 0 errors\n"), "{clean}");
}

#[test]
fn results_of_optimised_code_are_followed_too() {
    for option in ["-O0", "-O2"] {
        let program = program::build("checks/faults.c", option, &[option]);
        let found = said(&program, &["host_result"], &[]);
        assert!(found.contains("error[host/result-dropped]"), "{option}: {found}");
        let clean = said(&program, &["host_result", "clean"], &[]);
        assert!(clean.ends_with(": 0 errors\n"), "{option}: {clean}");
    }
}

#[test]
fn reports_go_where_they_are_wanted() {
    let program = program::build("checks/faults.c", "files", &[]);
    let file = |name: &str| program.folder().join(name).to_str().expect("the folder has a plain name").to_owned();
    let (json, xml, log, rules) = (file("report.json"), file("report.xml"), file("log"), file("rules"));
    let read = |name: &str| std::fs::read_to_string(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    said(&program, &["memory"], &[("WARPLOOM_CHECK_REPORT", &json)]);
    let text = read(&json);
    for part in
        ["\"kind\": \"out-of-bounds\"", "\"kernel\": \"scale\"", "\"ptx_line\": 7", "\"count\": 14", "\"errors\": 14"]
    {
        assert!(text.contains(part), "no {part} in {text}");
    }
    said(&program, &["memory"], &[("WARPLOOM_CHECK_REPORT", &xml)]);
    let text = read(&xml);
    for part in ["<testsuite name=\"memory\" tests=\"1\" failures=\"1\">", "classname=\"memory.scale\"", "(14 times)"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let _ = std::fs::remove_file(&log);
    assert_eq!(said(&program, &["memory"], &[("WARPLOOM_CHECK_LOG", &log)]), "");
    assert!(read(&log).contains("out-of-bounds"));
    std::fs::write(&rules, "memory/out-of-bounds scale ptx:7 # known\n").expect("the folder takes files");
    let said_of = |settings: &[(&str, &str)]| said(&program, &["memory"], settings);
    assert!(said_of(&[("WARPLOOM_CHECK_SUPPRESSIONS", &rules)]).ends_with(": 0 errors, 14 suppressed\n"));
    assert!(said_of(&[("WARPLOOM_CHECK_KERNELS", "!kns=sca")]).ends_with(": 0 errors\n"));
    assert!(said_of(&[("WARPLOOM_CHECK_KERNELS", "kne=scale")]).contains("14 errors"));
    let few = said_of(&[("WARPLOOM_CHECK_PRINT", "0")]);
    assert!(!few.contains("error[") && few.contains("14 errors"), "{few}");
}

#[test]
fn the_exit_status_tells_of_errors() {
    let program = program::build("checks/faults.c", "status", &[]);
    for (arguments, expected) in [(&["memory"][..], 9), (&["memory", "clean"], 0)] {
        let status = Command::new(program.folder().join("program"))
            .args(arguments)
            .env("LD_LIBRARY_PATH", program.folder())
            .envs([("WARPLOOM_CHECK", ALL), ("WARPLOOM_CHECK_EXIT", "9")])
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .status();
        assert_eq!(status.expect("the program starts").code(), Some(expected), "{arguments:?}");
    }
}

#[test]
fn fresh_memory_holds_what_is_asked_for() {
    let program = program::build("checks/faults.c", "fresh", &[]);
    let printed = |arguments: &[&str], byte: &str| {
        program.run(|command| _ = command.args(arguments).env("WARPLOOM_FRESH_MEMORY", byte))
    };
    assert_eq!(printed(&["fresh"], ""), "1 1\ndone\n");
    assert_eq!(printed(&["fresh"], "0xa5"), "0 0\ndone\n");
    assert_eq!(printed(&["fresh", "clean"], "0xa5"), "1 1\ndone\n");
}
