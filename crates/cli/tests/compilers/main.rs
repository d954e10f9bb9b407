//! NVIDIA's run-time compiler and linker under `warploom run`, asked for machine code. They come from PyPI into the build folder; where that
//! cannot be reached, these tests say so and pass.
#[path = "../../../cudart/tests/support/pypi.rs"]
#[expect(dead_code, reason = "it knows the parts of a toolkit, too")]
mod pypi;
#[path = "../support/mod.rs"]
mod support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use support::warploom;

/// The packages of one major version.
struct Installed {
    major: u32,
    nvrtc: PathBuf,
    jitlink: PathBuf,
}

/// A major version, its packages, and where they have NVRTC and nvJitLink.
type Version = (u32, [&'static str; 2], [&'static str; 2]);

/// All that could be installed; says so where that is not all.
fn installed() -> &'static [Installed] {
    static INSTALLED: OnceLock<Vec<Installed>> = OnceLock::new();
    INSTALLED.get_or_init(install)
}

fn install() -> Vec<Installed> {
    let versions: [Version; 2] = [
        (
            12,
            ["nvidia-cuda-nvrtc-cu12==12.9.86", "nvidia-nvjitlink-cu12==12.9.86"],
            ["nvidia/cuda_nvrtc/lib", "nvidia/nvjitlink/lib"],
        ),
        (13, ["nvidia-cuda-nvrtc==13.5.37", "nvidia-nvjitlink==13.5.37"], ["nvidia/cu13/lib"; 2]),
    ];
    let one = |(major, packages, [nvrtc, jitlink]): Version| {
        match pypi::install(&format!("run-time-compilers-{major}"), &packages.map(str::to_owned)) {
            Ok(target) => Some(Installed {
                major,
                nvrtc: target.join(nvrtc).join(format!("libnvrtc.so.{major}")),
                jitlink: target.join(jitlink).join(format!("libnvJitLink.so.{major}")),
            }),
            Err(why) => {
                // Not what the test harness captures.
                let _ = writeln!(
                    std::io::stderr(),
                    "SKIPPED: NVRTC and nvJitLink {major}, which cannot be installed: {why}"
                );
                None
            }
        }
    };
    versions.into_iter().filter_map(one).collect()
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compilers").join(name)
}

/// What a command prints on standard output and on standard error; it succeeds.
fn printed(command: &mut Command) -> (String, String) {
    let output = command.output().expect("the command starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{printed}\n{errors}", output.status);
    (printed, errors)
}

/// A script of this folder under `warploom run`.
fn script(name: &str) -> Command {
    let mut command = warploom();
    command.args(["run", "--explain", "--", "/usr/bin/python3"]).arg(source(name));
    command
}

#[test]
fn what_is_compiled_for_a_device_is_an_image_that_runs() {
    for Installed { major, nvrtc, .. } in installed() {
        let folder = nvrtc.parent().expect("a folder");
        for asked in [nvrtc.clone(), format!("libnvrtc.so.{major}").into()] {
            let (printed, errors) = printed(script("nvrtc.py").arg(&asked).env("LD_LIBRARY_PATH", folder));
            assert_eq!(printed.lines().last(), Some("all is well"), "{major}: {printed}{errors}");
            assert!(errors.contains(&format!("{}: ", nvrtc.display())), "{errors}");
            assert!(errors.contains("it compiles and links for compute_NN where sm_NN is asked for"), "{errors}");
        }
    }
}

#[test]
fn programs_that_are_linked_with_nvrtc_get_images() {
    for Installed { major, nvrtc, .. } in installed() {
        let program = nvrtc.with_file_name("linked");
        for binding in ["lazy", "now"] {
            let mut compiler = Command::new("cc");
            compiler.arg(source("linked.c")).arg(nvrtc).args(["-Wall", "-Werror", "-o"]).arg(&program);
            compiler.arg(format!("-Wl,-rpath,{}", nvrtc.parent().expect("a folder").display()));
            pypi::run(compiler.arg(format!("-Wl,-z,{binding}"))).unwrap_or_else(|why| panic!("{why}"));
            let (said, _) = printed(warploom().args(["run", "--"]).arg(&program));
            assert_eq!(said, "image of warploom, twice\n", "{major} {binding}");
            // Left alone, it is machine code.
            let (said, _) = printed(warploom().args(["run", "--keep-runtime", "--"]).arg(&program));
            assert_eq!(said, "machine code, twice\n", "{major} {binding}");
        }
    }
}

#[test]
fn logs_of_refused_programs_are_as_without_us() {
    for Installed { major, nvrtc, .. } in installed() {
        let log = |options: &[&str]| {
            let mut command = warploom();
            command.arg("run").args(options).args(["--", "/usr/bin/python3"]).arg(source("refused.py"));
            printed(command.arg(nvrtc)).0
        };
        let with_us = log(&[]);
        assert!(with_us.contains("a.cu(1): error: identifier \"nothing\" is undefined"), "{major}: {with_us}");
        assert_eq!(with_us, log(&["--keep-runtime"]), "{major}");
    }
}

#[test]
fn what_is_linked_for_a_device_is_an_image_that_runs() {
    for Installed { major, nvrtc, jitlink } in installed() {
        let (printed, errors) = printed(script("jitlink.py").args([&jitlink, &nvrtc]));
        assert_eq!(printed.lines().last(), Some("all is well"), "{major}: {printed}{errors}");
        assert!(errors.contains(&format!("{}: ", jitlink.display())), "{errors}");
    }
}

#[test]
fn links_that_are_refused_are_so_as_without_us() {
    for Installed { major, jitlink, .. } in installed() {
        let said = |options: &[&str]| {
            let mut command = warploom();
            command.arg("run").args(options).args(["--", "/usr/bin/python3"]).arg(source("refused_links.py"));
            printed(command.arg(jitlink)).0
        };
        let with_us = said(&[]);
        assert!(with_us.contains("unrecognized option: -nothing"), "{major}: {with_us}");
        assert_eq!(with_us, said(&["--keep-runtime"]), "{major}");
    }
}
