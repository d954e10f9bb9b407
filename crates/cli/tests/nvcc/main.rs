//! Programs that NVIDIA's compiler really linked, under `warploom run`. The compiler comes from PyPI into the build folder; where that cannot
//! be reached, these tests say so and pass.
#[path = "../../../cudart/tests/support/of_12.rs"]
mod of_12;
#[path = "../../../cudart/tests/support/pypi.rs"]
mod pypi;
#[path = "../support/mod.rs"]
mod support;
mod toolkit;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::warploom;
use toolkit::{Toolkit, toolkits};

/// What is printed on standard output and on standard error, and whether all went well.
fn run(command: &mut Command) -> (String, String, bool) {
    let output = command.output().expect("the command starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.success())
}

/// Compiles `sources` of this folder with the options that nvcc has by default, and these.
fn compile(toolkit: &Toolkit, sources: &[&str], name: &str, options: &[&str]) -> PathBuf {
    compile_with(toolkit.compiler(), toolkit, sources, name, options)
}

/// Compiles with a compiler that knows for what.
fn compile_with(mut command: Command, toolkit: &Toolkit, sources: &[&str], name: &str, options: &[&str]) -> PathBuf {
    let program = toolkit.folder().join(name);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvcc");
    command.args(sources.iter().map(|source| folder.join(source))).arg("-o").arg(&program).args(options);
    let (printed, errors, success) = run(&mut command);
    assert!(success, "{command:?}:\n{printed}{errors}");
    program
}

#[test]
fn a_runtime_that_is_linked_in_is_named_or_led() {
    for toolkit in toolkits() {
        let version = toolkit.version();
        let program = compile(toolkit, &["vector_add.cu"], "hinted", &[]);
        let path = program.display();
        // Alone, it gets an error from its first runtime call, and one line says why.
        let (printed, errors, _) = run(warploom().args(["run", "--keep-runtime", "--"]).arg(&program));
        assert_eq!(printed, "cudaMalloc: invalid argument\n", "{version}: {errors}");
        assert!(
            errors.starts_with(&format!("warploom: {path} contains NVIDIA's CUDA runtime library")),
            "{version}: {errors}"
        );
        assert_eq!(errors.lines().count(), 1, "{version}: {errors}");
        // Under the auditing library it does not ask.
        let (_, errors, _) = run(warploom().args(["run", "--explain", "--"]).arg(&program));
        let led = format!(" functions of the CUDA {version} runtime that is linked into it lead to ");
        let explained = errors.lines().find(|line| line.contains(&led));
        let explained = explained.unwrap_or_else(|| panic!("{version}: {errors}"));
        let count = explained.split(&led).next().and_then(|line| line.rsplit(' ').next());
        assert!(count.and_then(|count| count.parse().ok()).is_some_and(|count: u32| count > 400), "{explained}");
        assert!(!errors.contains("NVIDIA's CUDA runtime library"), "{version}: {errors}");
    }
}

#[test]
fn a_stripped_program_is_told_how_to_link() {
    for toolkit in toolkits() {
        let version = toolkit.version();
        let program = compile(toolkit, &["vector_add.cu"], "stripped", &["-Xlinker", "-s"]);
        let (_, errors, _) = run(warploom().args(["run", "--explain", "--"]).arg(&program));
        assert!(errors.contains("left alone: it has kernels and no symbol table"), "{version}: {errors}");
        assert!(errors.contains("`warploom run` could not lead it to warploom's"), "{version}: {errors}");
        assert!(errors.contains("-cudart shared"), "{version}: {errors}");
    }
}

/// What nvcc is to make, the device that does not run it, and the one that does.
const NOT_LOADED: [(&str, &[&str], &str, Option<&str>); 6] = [
    ("arch=compute_121,code=compute_121", &["-cudart", "static"], "sm_90", Some("sm_121")),
    ("arch=compute_121,code=compute_121", &["-cudart", "shared"], "sm_90", Some("sm_121")),
    // nvlink takes no PTX for devices with three digits.
    ("arch=compute_90,code=compute_90", &["-rdc=true"], "sm_80", Some("sm_90")),
    ("arch=compute_80,code=sm_80", &["-cudart", "static"], "sm_90", None),
    ("arch=compute_80,code=sm_80", &["-cudart", "shared"], "sm_90", None),
    ("arch=compute_80,code=sm_80", &["-rdc=true"], "sm_90", None),
];

/// Kernels for newer devices only, and in machine code only: what a program answers tells little, so one line says what helps, however the
/// program was linked.
#[test]
fn kernels_that_do_not_load_come_with_a_hint() {
    for toolkit in toolkits() {
        for (code, options, device, right) in NOT_LOADED {
            let compiler = toolkit.compiler_for(code);
            let program = compile_with(compiler, toolkit, &["vector_add.cu"], "does_not_load", options);
            let on = |device| run(warploom().args(["run", "--device", device, "--"]).arg(&program));
            let (printed, errors, success) = on(device);
            let case = format!("{code} {options:?}, CUDA {}: {printed}{errors}", toolkit.version());
            let hint = match right {
                Some(right) => format!("= hint: a device {right} loads it: --device {right}, or"),
                None => "= hint: build it with PTX, as nvcc does with -gencode".to_owned(),
            };
            assert!(printed.contains("no kernel image is available for execution on the device"), "{case}");
            assert!(!success && errors.matches(&hint).count() == 1 && errors.lines().count() == 2, "{case}");
            if let Some(right) = right {
                let (printed, errors, _) = on(right);
                assert_eq!((printed.as_str(), errors.as_str()), ("100000 sums are right\n", ""), "{case}");
            }
        }
    }
}

/// Programs, what nvcc is to be told in more than the files, and what they print.
const PROGRAMS: [(&str, &[&str], &str); 2] =
    [("vector_add.cu", &[], "100000 sums are right\n"), ("managed.cu", &[], "no error: 2018 42 41 10 20 30 40\n")];

#[test]
fn programs_run_however_the_runtime_was_linked() {
    for toolkit in toolkits() {
        let version = toolkit.version();
        for (source, options, expected) in PROGRAMS {
            for runtime in ["static", "shared"] {
                let name = format!("{}-{runtime}", source.trim_end_matches(".cu"));
                let options = [options, &["-cudart", runtime]].concat();
                let program = compile(toolkit, &[source], &name, &options);
                let (printed, errors, success) = run(warploom().args(["run", "--"]).arg(&program));
                assert_eq!(
                    (printed.as_str(), errors.as_str(), success),
                    (expected, "", true),
                    "{name}, CUDA {version}"
                );
            }
        }
    }
}

#[test]
fn translation_units_keep_their_kernels_and_constants_apart() {
    for toolkit in toolkits() {
        let version = toolkit.version();
        for (runtime, mode) in [("static", "-rdc=false"), ("shared", "-rdc=false"), ("static", "-rdc=true")] {
            let units = [("first", "-DFACTOR=3"), ("second", "-DFACTOR=50")].map(|(unit, factor)| {
                let name = format!("{unit}-{runtime}{mode}.o");
                let options = ["-c", mode, factor, &format!("-DUNIT={unit}"), "-DSUMMAND=1+FACTOR/5"];
                compile(toolkit, &["unit.cu"], &name, &options).display().to_string()
            });
            let program = compile(toolkit, &["units.cu"], "units", &[&units[0], &units[1], mode, "-cudart", runtime]);
            let (printed, errors, success) = run(warploom().args(["run", "--"]).arg(&program));
            // (1 * 3 + 1) * 50 + 11
            assert_eq!(
                (printed.as_str(), errors.as_str(), success),
                ("211 no error\n", "", true),
                "{runtime} {mode}, CUDA {version}"
            );
        }
    }
}

/// Makes our `libcudart_static.a` for a major version: the folder that it is in.
fn static_runtime(major: &str) -> PathBuf {
    let command = warploom();
    let libraries = Path::new(command.get_program()).parent().expect("the command is in a folder").to_owned();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("static_runtime_{major}"));
    std::fs::create_dir_all(&folder).expect("the build folder takes folders");
    let (printed, errors, success) = run(Command::new(root.join("scripts/static_runtime.sh"))
        .arg(libraries.join(format!("libcudart{major}.a")))
        .arg(root.join(format!("crates/cudart{major}/src/generated/symbols.txt")))
        .arg(folder.join("libcudart_static.a")));
    assert!(success, "{printed}{errors}");
    folder
}

#[test]
fn our_static_runtime_is_linked_and_left_alone() {
    let command = warploom();
    let libraries = Path::new(command.get_program()).parent().expect("the command is in a folder");
    // What programs load, under the name that they ask for.
    let drivers = Path::new(env!("CARGO_TARGET_TMPDIR")).join("static_runtime_driver");
    std::fs::create_dir_all(&drivers).expect("the build folder takes folders");
    let link = drivers.join("libcuda.so.1");
    if link.symlink_metadata().is_err() {
        std::os::unix::fs::symlink(libraries.join("libcuda.so"), &link).expect("the build folder takes links");
    }
    for toolkit in toolkits() {
        let version = toolkit.version();
        let folder = static_runtime(version.split('.').next().unwrap_or_default());
        let archive = folder.join("libcudart_static.a").display().to_string();
        let search = format!("-L{}", folder.display());
        for (source, options, expected) in PROGRAMS {
            // In the place of NVIDIA's, in front of it, stripped, and linked by the compiler of the host program.
            let object = compile(toolkit, &[source], "ours.o", &[options, &["-c"]].concat()).display().to_string();
            let by_name = toolkit.folder().join("by_name");
            let mut linking = toolkit.compiler();
            linking.env("NVCC_PREPEND_FLAGS", &search).args([&object, "-cudart", "static", "-o"]).arg(&by_name);
            let by_host = toolkit.folder().join("by_host");
            let mut linking_by_host = Command::new("c++");
            linking_by_host.args([&object, &archive, "-lpthread", "-ldl", "-lrt", "-o"]).arg(&by_host);
            for command in [&mut linking, &mut linking_by_host] {
                let (printed, errors, success) = run(command);
                assert!(success, "{command:?}:\n{printed}{errors}");
            }
            let first = [options, &[archive.as_str(), "-cudart", "static"]].concat();
            let in_front = compile(toolkit, &[source], "in_front", &first);
            let stripped = compile(toolkit, &[source], "ours_stripped", &[&first[..], &["-Xlinker", "-s"]].concat());
            for program in [by_name, by_host, in_front, stripped] {
                let (printed, errors, success) = run(Command::new(&program).env("LD_LIBRARY_PATH", &drivers));
                let ran = (printed.as_str(), errors.as_str(), success);
                assert_eq!(ran, (expected, "", true), "{} {version}", program.display());
                let (printed, errors, _) = run(warploom().args(["run", "--explain", "--"]).arg(&program));
                assert_eq!(printed, expected, "{} {version}", program.display());
                assert!(
                    errors.contains("left alone: warploom's CUDA runtime is linked into it"),
                    "{version}: {errors}"
                );
            }
        }
    }
}

#[test]
fn two_major_versions_share_a_process() {
    let of_major = |major: &str| toolkits().iter().find(|toolkit| toolkit.version().starts_with(major));
    let (Some(old), Some(new)) = (of_major("12"), of_major("13")) else { return };
    for (program, library, expected) in [(old, new, "12 13: 12 12 0\n"), (new, old, "13 12: 12 12 0\n")] {
        for (runtime, other) in [("shared", "shared"), ("static", "shared"), ("shared", "static")] {
            let shared = ["-shared", "-Xcompiler", "-fPIC", "-cudart", other];
            let library = compile(library, &["other_major.cu"], &format!("libother-{other}.so"), &shared);
            let options = ["-cudart", runtime, "-ldl"];
            let program = compile(program, &["two_majors.cu"], &format!("two_majors-{runtime}"), &options);
            let (printed, errors, success) = run(warploom().args(["run", "--"]).arg(&program).arg(&library));
            assert_eq!((printed.as_str(), errors.as_str(), success), (expected, "", true), "{program:?}, {library:?}");
        }
    }
}
