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
use toolkit::{must_succeed, one_of_each_major_version, toolkits};

/// PTX only, as machine code is not looked at.
const PTX: &str = "arch=compute_80,code=compute_80";

/// What is printed on standard output and on standard error, and whether all went well.
fn run(command: &mut Command) -> (String, String, bool) {
    let output = command.output().expect("the command starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.success())
}

#[test]
fn a_runtime_that_is_linked_in_is_named_or_led() {
    for toolkit in toolkits() {
        let version = toolkit.version();
        let program = toolkit.link(PTX, &[toolkit.object(PTX, "vector_add.cu", &[])], "hinted", &[]);
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
fn a_stripped_program_is_led_by_where_its_functions_begin() {
    for toolkit in one_of_each_major_version() {
        let version = toolkit.version();
        let object = toolkit.object(PTX, "vector_add.cu", &[]);
        let whole = toolkit.link(PTX, std::slice::from_ref(&object), "whole", &[]);
        let stripped = toolkit.link(PTX, &[object], "stripped", &["-Xlinker", "-s"]);
        let (expected, ..) = run(warploom().args(["run", "--"]).arg(&whole));
        let (printed, errors, _) = run(warploom().args(["run", "--explain", "--"]).arg(&stripped));
        assert_eq!(printed, expected, "{version}: {errors}");
        let led = format!(" functions of the CUDA {version} runtime that is linked into it lead to ");
        assert!(errors.contains(&led), "{version}: {errors}");
    }
}

#[test]
fn a_program_without_any_table_of_functions_is_told_how_to_link() {
    for toolkit in one_of_each_major_version() {
        let version = toolkit.version();
        let object = toolkit.object(PTX, "vector_add.cu", &[]);
        let program = toolkit.link(PTX, &[object], "bare", &["-Xlinker", "-s", "-Xlinker", "--no-eh-frame-hdr"]);
        let (_, errors, _) = run(warploom().args(["run", "--explain", "--"]).arg(&program));
        assert!(errors.contains("left alone: it has no symbol table"), "{version}: {errors}");
        assert!(errors.contains("`warploom run` could not lead it to warploom's"), "{version}: {errors}");
        assert!(errors.contains("-cudart shared"), "{version}: {errors}");
    }
}

/// What nvcc is to make, whether its device code is relocatable, the runtime library, the device that does not run it, and the one that does.
const NOT_LOADED: [(&str, &str, &str, &str, Option<&str>); 6] = [
    ("arch=compute_121,code=compute_121", "-rdc=false", "static", "sm_90", Some("sm_121")),
    ("arch=compute_121,code=compute_121", "-rdc=false", "shared", "sm_90", Some("sm_121")),
    // nvlink takes no PTX for devices with three digits.
    ("arch=compute_90,code=compute_90", "-rdc=true", "static", "sm_80", Some("sm_90")),
    ("arch=compute_80,code=sm_80", "-rdc=false", "static", "sm_90", None),
    ("arch=compute_80,code=sm_80", "-rdc=false", "shared", "sm_90", None),
    ("arch=compute_80,code=sm_80", "-rdc=true", "static", "sm_90", None),
];

/// Kernels for newer devices only, and in machine code only: what a program answers tells little, so one line says what helps, however the
/// program was linked.
#[test]
fn kernels_that_do_not_load_come_with_a_hint() {
    for toolkit in one_of_each_major_version() {
        for (code, mode, runtime, device, right) in NOT_LOADED {
            let object = toolkit.object(code, "vector_add.cu", &[mode]);
            let program = toolkit.link(code, &[object], "does_not_load", &[mode, "-cudart", runtime]);
            let on = |device| run(warploom().args(["run", "--device", device, "--"]).arg(&program));
            let (printed, errors, success) = on(device);
            let case = format!("{code} {mode} {runtime}, CUDA {}: {printed}{errors}", toolkit.version());
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

/// Programs, and what they print.
const PROGRAMS: [(&str, &str); 2] =
    [("vector_add.cu", "100000 sums are right\n"), ("managed.cu", "no error: 2018 42 41 10 20 30 40\n")];

#[test]
fn programs_run_however_the_runtime_was_linked() {
    for toolkit in toolkits() {
        let version = toolkit.version();
        for (source, expected) in PROGRAMS {
            for runtime in ["static", "shared"] {
                let name = format!("{}-{runtime}", source.trim_end_matches(".cu"));
                let object = toolkit.object(PTX, source, &[]);
                let program = toolkit.link(PTX, &[object], &name, &["-cudart", runtime]);
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
    for toolkit in one_of_each_major_version() {
        let version = toolkit.version();
        for (runtime, mode) in [("static", "-rdc=false"), ("shared", "-rdc=false"), ("static", "-rdc=true")] {
            let [first, second] = [("first", "-DFACTOR=3"), ("second", "-DFACTOR=50")].map(|(unit, factor)| {
                let options = [mode, factor, &format!("-DUNIT={unit}"), "-DSUMMAND=1+FACTOR/5"];
                toolkit.object(PTX, "unit.cu", &options)
            });
            let objects = [toolkit.object(PTX, "units.cu", &[mode]), first, second];
            let program = toolkit.link(PTX, &objects, "units", &[mode, "-cudart", runtime]);
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
    must_succeed(
        Command::new(root.join("scripts/static_runtime.sh"))
            .arg(libraries.join(format!("libcudart{major}.a")))
            .arg(root.join(format!("crates/cudart{major}/src/generated/symbols.txt")))
            .arg(folder.join("libcudart_static.a")),
    );
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
    for toolkit in one_of_each_major_version() {
        let version = toolkit.version();
        let folder = static_runtime(toolkit.major());
        let archive = folder.join("libcudart_static.a");
        let search = format!("-L{}", folder.display());
        for (source, expected) in PROGRAMS {
            // In the place of NVIDIA's, in front of it, stripped, and linked by the compiler of the host program.
            let object = toolkit.object(PTX, source, &[]);
            let by_name = toolkit.folder().join("by_name");
            let mut linking = toolkit.compiler(PTX);
            linking.env("NVCC_PREPEND_FLAGS", &search).arg(&object).args(["-cudart", "static", "-o"]).arg(&by_name);
            let by_host = toolkit.folder().join("by_host");
            let mut linking_by_host = Command::new("c++");
            linking_by_host.args([&object, &archive]).args(["-lpthread", "-ldl", "-lrt", "-o"]).arg(&by_host);
            must_succeed(&mut linking);
            must_succeed(&mut linking_by_host);
            let objects = [object, archive.clone()];
            let in_front = toolkit.link(PTX, &objects, "in_front", &["-cudart", "static"]);
            let stripped = toolkit.link(PTX, &objects, "ours_stripped", &["-cudart", "static", "-Xlinker", "-s"]);
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
    let of_major = |major| one_of_each_major_version().find(|toolkit| toolkit.major() == major);
    let (Some(old), Some(new)) = (of_major("12"), of_major("13")) else { return };
    for (program, library, expected) in [(old, new, "12 13: 12 12 0\n"), (new, old, "13 12: 12 12 0\n")] {
        for (runtime, other) in [("shared", "shared"), ("static", "shared"), ("shared", "static")] {
            let object = library.object(PTX, "other_major.cu", &["-Xcompiler", "-fPIC"]);
            let library = library.link(PTX, &[object], &format!("libother-{other}.so"), &["-shared", "-cudart", other]);
            let object = program.object(PTX, "two_majors.cu", &[]);
            let program = program.link(PTX, &[object], &format!("two_majors-{runtime}"), &["-cudart", runtime, "-ldl"]);
            let (printed, errors, success) = run(warploom().args(["run", "--"]).arg(&program).arg(&library));
            assert_eq!((printed.as_str(), errors.as_str(), success), (expected, "", true), "{program:?}, {library:?}");
        }
    }
}

/// Relocatable device code, from objects and from an archive, linked by the linker of that toolkit.
#[test]
fn a_toolkit_with_our_linker_links_relocatable_code() {
    const CODE: &str = "arch=compute_80,code=sm_80";
    for toolkit in one_of_each_major_version() {
        let version = toolkit.version();
        let folder = toolkit.folder().join("with-our-linker");
        let (_, errors, made) = run(warploom().args(["toolkit", "--from"]).arg(toolkit.folder()).arg(&folder));
        assert!(made, "{version}: {errors}");
        let nvcc = || {
            let mut nvcc = Command::new(folder.join("bin/nvcc"));
            nvcc.args(["-rdc=true", "-gencode", CODE]);
            nvcc
        };
        let parts =
            [("first", "-DFACTOR=3"), ("second", "-DFACTOR=50"), ("units", "-DUNUSED")].map(|(unit, factor)| {
                let source = if unit == "units" { "units.cu" } else { "unit.cu" };
                let object = folder.join(unit).with_extension("o");
                let mut nvcc = nvcc();
                nvcc.arg("-c").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvcc").join(source));
                must_succeed(nvcc.args([factor, &format!("-DUNIT={unit}"), "-DSUMMAND=1+FACTOR/5", "-o"]).arg(&object));
                object
            });
        let archive = folder.join("libparts.a");
        let _ = std::fs::remove_file(&archive);
        must_succeed(Command::new("ar").arg("rcs").arg(&archive).args(&parts[..2]));
        let with_archive = [parts[2].clone(), format!("-L{}", folder.display()).into(), "-lparts".into()];
        for inputs in [&parts[..], &with_archive[..]] {
            let program = folder.join("units-linked");
            must_succeed(nvcc().args(inputs).arg("-o").arg(&program));
            let (printed, errors, success) = run(warploom().args(["run", "--"]).arg(&program));
            assert_eq!((printed.as_str(), errors.as_str(), success), ("211 no error\n", "", true), "CUDA {version}");
        }
        // What NVIDIA's assembler made, and nothing at all.
        let object = toolkit.object(CODE, "units.cu", &["-rdc=true"]);
        let theirs = toolkit.object(CODE, "unit.cu", &["-rdc=true", "-DFACTOR=3", "-DUNIT=first", "-DSUMMAND=1"]);
        let (_, errors, linked) =
            run(nvcc().args([object, theirs, parts[1].clone()]).arg("-o").arg(folder.join("none")));
        assert!(!linked && errors.contains("holds machine code for GPUs, and no PTX for sm_80"), "{version}: {errors}");
        let (_, errors, linked) = run(Command::new(folder.join("bin/nvlink")).args(["-arch=sm_80", "/nonexistent.o"]));
        assert!(
            !linked && errors.starts_with("nvlink fatal   : Could not open input file '/nonexistent.o'"),
            "{errors}"
        );
        // Code for link-time optimisation calls what is none, and is called by it; nvcc says where NVIDIA's linker is.
        let [mixed, optimized] = ["mixed.cu", "optimized.cu"].map(|source| {
            let object = folder.join(source).with_extension("o");
            let code = if source == "mixed.cu" { CODE } else { "arch=compute_80,code=lto_80" };
            let mut nvcc = Command::new(folder.join("bin/nvcc"));
            nvcc.args(["-rdc=true", "-gencode", code, "-c", "-o"]).arg(&object);
            must_succeed(nvcc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvcc").join(source)));
            object
        });
        let program = folder.join("optimized");
        let mut linking = Command::new(folder.join("bin/nvcc"));
        linking.args(["-dlto", "-arch=sm_80", "-L"]).arg(toolkit.folder().join("lib")).args([&mixed, &optimized]);
        must_succeed(linking.arg("-o").arg(&program));
        let (printed, errors, success) = run(warploom().args(["run", "--"]).arg(&program));
        assert_eq!((printed.as_str(), errors.as_str(), success), ("37 no error\n", "", true), "CUDA {version}");
        let mut without = Command::new(folder.join("bin/nvlink"));
        let (_, errors, linked) = run(without.args(["-arch=sm_80", "-dlto", "-nvvmpath=/nonexistent"]).arg(&optimized));
        assert!(!linked && errors.contains("cannot find the linker of the toolkit of '/nonexistent'"), "{errors}");
    }
}

/// What nvcc compiles for a device with our assembler in its toolkit runs, and says which device it needs.
#[test]
fn a_toolkit_with_our_assembler_makes_code_that_runs() {
    for toolkit in one_of_each_major_version() {
        let version = toolkit.version();
        let folder = toolkit.folder().join("with-our-assembler");
        let make = || run(warploom().args(["toolkit", "--from"]).arg(toolkit.folder()).arg(&folder));
        let (_, errors, made) = make();
        assert!(made, "{version}: {errors}");
        assert!(make().2, "{version}: a second time");
        let program = folder.with_file_name("by-our-assembler");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvcc/vector_add.cu");
        for (arch, device) in [("sm_80", "sm_90"), ("sm_120", "sm_121")] {
            let mut nvcc = Command::new(folder.join("bin/nvcc"));
            nvcc.args(["-gencode", &format!("arch={},code={arch}", arch.replace("sm", "compute"))])
                .arg(&source)
                .arg("-o")
                .arg(&program);
            must_succeed(&mut nvcc);
            let (printed, errors, success) = run(warploom().args(["run", "--device", device, "--"]).arg(&program));
            assert_eq!(
                (printed.as_str(), errors.as_str(), success),
                ("100000 sums are right\n", "", true),
                "{arch}, CUDA {version}"
            );
        }
        let (_, errors, success) = run(warploom().args(["run", "--"]).arg(&program));
        assert!(
            !success && errors.contains("= hint: a device sm_120 loads it: --device sm_120, or"),
            "{version}: {errors}"
        );
    }
    let (_, errors, made) = run(warploom().args(["toolkit", "--from", "/nonexistent", "/nonexistent/too"]));
    assert!(!made && errors.contains("cannot find /nonexistent"), "{errors}");
}
