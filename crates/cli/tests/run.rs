//! `warploom run`: what it puts into the environment of programs, and what it says about it.
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::warploom;

/// What is printed on standard output and on standard error.
fn printed(command: &mut Command) -> (String, String) {
    let output = command.output().expect("the command starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// The auditing libraries that a program under `warploom run` with these options is given, if these are there already.
fn audited_by(options: &[&str], there: Option<&str>) -> String {
    let mut command = warploom();
    command.arg("run").args(options).args(["--", "sh", "-c", "echo ${LD_AUDIT-none}"]).env_remove("LD_AUDIT");
    if let Some(there) = there {
        command.env("LD_AUDIT", there);
    }
    let (list, _) = printed(&mut command);
    let ours = list.trim().split(':').next().map(PathBuf::from).unwrap_or_default();
    if ours.file_name().is_some_and(|name| name == "libwarploom_audit.so") {
        assert!(ours.is_absolute() && ours.exists(), "{list}");
    }
    list.trim().split(':').map(|path| path.rsplit('/').next().unwrap_or(path)).collect::<Vec<_>>().join(":")
}

#[test]
fn programs_are_audited_by_ours_and_by_what_was_there() {
    assert_eq!(audited_by(&[], None), "libwarploom_audit.so");
    assert_eq!(audited_by(&[], Some("/nowhere/other.so")), "libwarploom_audit.so:other.so");
    assert_eq!(audited_by(&["--keep-runtime"], None), "none");
    assert_eq!(audited_by(&["--keep-runtime"], Some("/nowhere/other.so")), "other.so");
    // One run inside another: the inner one says what happens.
    let command = warploom();
    let inner = Path::new(command.get_program()).display().to_string();
    let nested = |outer: &[&str], options: &[&str]| {
        let mut command = warploom();
        command.arg("run").args(outer).args(["--", &inner, "run"]).args(options).args([
            "--",
            "sh",
            "-c",
            "echo ${LD_AUDIT-none}",
        ]);
        printed(command.env_remove("LD_AUDIT")).0.trim().matches("libwarploom_audit.so").count()
    };
    assert_eq!([nested(&[], &[]), nested(&[], &["--keep-runtime"]), nested(&["--keep-runtime"], &[])], [1, 0, 1]);
}

/// A library with thread-local variables at fixed places, more than the dynamic linker has room for by default once an auditing library is loaded.
const FIXED: &str = "static __thread char fixed[2632] __attribute__((tls_model(\"initial-exec\")));
int last(void) { fixed[2631]++; return fixed[2631]; }";

#[test]
fn preloaded_libraries_with_thread_local_variables_at_fixed_places_load() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, library) = (folder.join("fixed.c"), folder.join("libfixed.so"));
    std::fs::write(&source, FIXED).expect("the test's folder takes files");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(built.expect("a C compiler is there").success());
    let preload = format!("LD_PRELOAD={}", library.display());
    let asking = "import ctypes, sys; sys.stdout.write(str(ctypes.CDLL(sys.argv[1]).last()))";
    let mut command = warploom();
    command.args(["run", "--", "env", &preload, "/usr/bin/python3", "-c", asking]).arg(&library);
    assert_eq!(printed(&mut command), ("1".to_owned(), String::new()));
}

#[test]
fn what_was_led_is_explained_if_somebody_asks() {
    let asking = "import ctypes; ctypes.CDLL('/nonexistent/libcuda.so.1').cuInit(0)";
    let (_, silent) = printed(warploom().args(["run", "--", "/usr/bin/python3", "-c", asking]));
    assert_eq!(silent, "");
    let (_, explained) = printed(warploom().args(["run", "--explain", "--", "/usr/bin/python3", "-c", asking]));
    assert!(explained.contains("starts, as process "), "{explained}");
    assert!(explained.contains("asks for /nonexistent/libcuda.so.1 and gets /"), "{explained}");
    assert!(explained.contains("/usr/bin/python3: finds warploom's ptxas in TRITON_PTXAS_PATH"), "{explained}");
    assert!(explained.contains("finds warploom's ptxas in MODULAR_NVPTX_COMPILER_PATH"), "{explained}");
    assert!(explained.contains("finds warploom's ptxas, nvlink, nvidia-smi on PATH, in /"), "{explained}");
    assert!(explained.contains("finds JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1"), "{explained}");
    assert!(explained.contains("finds LIBCUDF_HOST_DECOMPRESSION=ON"), "{explained}");
    let mut own = warploom();
    own.args(["run", "--explain", "--keep-runtime", "--", "true"]);
    own.env("TRITON_PTXAS_PATH", "/own/ptxas").env("LIBCUDF_HOST_DECOMPRESSION", "OFF");
    let (_, explained) = printed(&mut own);
    assert!(explained.contains("true: left alone: TRITON_PTXAS_PATH is set, to /own/ptxas"), "{explained}");
    assert!(explained.contains("true: left alone: LIBCUDF_HOST_DECOMPRESSION is set, to OFF"), "{explained}");
    assert!(
        explained.contains("true: left alone: its CUDA runtime and compilers, as --keep-runtime says"),
        "{explained}"
    );
}

/// A program under the name of NVIDIA's assembler, in a folder that is not on `PATH`.
#[test]
fn tools_of_nvidia_that_are_started_by_their_path_give_way_to_ours() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("assembler");
    std::fs::create_dir_all(&folder).expect("the build folder takes folders");
    std::fs::write(folder.join("theirs.c"), "#include <stdio.h>\nint main(void) { return puts(\"theirs\") < 0; }")
        .expect("the build folder takes files");
    let built = Command::new("cc").args(["theirs.c", "-o", "ptxas"]).current_dir(&folder).status();
    assert!(built.expect("a C compiler is there").success());
    let started = |option: &str, by_nvcc: bool| {
        let mut command = warploom();
        command.args(["run", option, "--", "./ptxas", "--version"]).current_dir(&folder);
        if by_nvcc {
            command.env("_NVVM_BRANCH_", "nvvm");
        }
        printed(&mut command)
    };
    let (ours, explained) = started("--explain", false);
    assert!(ours.starts_with("ptxas: the PTX assembler of warploom"), "{ours}");
    assert!(
        explained.contains("/assembler/ptxas: /") && explained.contains("/bin/ptxas takes its place"),
        "{explained}"
    );
    // What nvcc builds is not ours to change.
    let (theirs, explained) = started("--explain", true);
    assert_eq!(theirs, "theirs\n");
    assert!(explained.contains("left alone: nvcc has started it"), "{explained}");
    assert_eq!(started("--keep-runtime", false).0, "theirs\n");
}

/// Which files of devices a program finds, in the ways in which programs look for them.
#[test]
fn the_files_of_devices_seem_to_be_there() {
    if Path::new("/dev/nvidiactl").exists() {
        println!("left out: this machine has NVIDIA's driver");
        return;
    }
    let looking = "import os, stat
for name in ['ctl', '0', '1', '-uvm']:
    path = '/dev/nvidia' + name
    print(name, os.path.exists(path), os.access(path, os.R_OK | os.W_OK), os.access(path, os.X_OK))
print(os.path.exists('/dev/null'), os.path.exists('/nowhere'), stat.S_ISCHR(os.stat('/dev/nvidia0').st_mode), os.stat('/dev/nvidiactl').st_rdev == os.makedev(195, 255))
try: open('/dev/nvidia0')
except FileNotFoundError as error: print(error.errno)";
    let found = |options: &[&str]| {
        let mut command = warploom();
        command.arg("run").args(options).args(["--", "/usr/bin/python3", "-c", looking]);
        printed(command.env_remove("WARPLOOM_DEVICE_COUNT")).0
    };
    let one = "ctl True True False\n0 True True False\n1 False False False\n-uvm False False False\nTrue False True True\n2\n";
    assert_eq!(found(&[]), one);
    assert_eq!(found(&["--devices", "2"]), one.replace("1 False False", "1 True True"));
    let none = "ctl False False False\n0 False False False\n1 False False False\n-uvm False False False\n";
    assert_eq!(found(&["--devices", "0"]), none);
    assert_eq!(found(&["--keep-runtime"]), none);
}

/// A program that is linked with a library which keeps 20 kB of each thread where it finds them without a call.
#[test]
fn libraries_have_room_for_what_they_keep_of_threads() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("thread-local");
    std::fs::create_dir_all(&folder).expect("the build folder takes folders");
    let kept =
        "__thread char kept[20000] __attribute__((tls_model(\"initial-exec\"))); char *all(void) { return kept; }";
    let used = "char *all(void); int main(void) { return all()[19999]; }";
    for (name, text) in [("kept.c", kept), ("used.c", used)] {
        std::fs::write(folder.join(name), text).expect("the build folder takes files");
    }
    for arguments in
        [["-shared", "-fPIC", "kept.c", "-o", "libkept.so"], ["used.c", "libkept.so", "-Wl,-rpath,.", "-o", "used"]]
    {
        assert!(Command::new("cc").args(arguments).current_dir(&folder).status().expect("cc starts").success());
    }
    let run = |settings: &str| {
        let mut command = warploom();
        command.args(["run", "--", "./used"]).current_dir(&folder).env("GLIBC_TUNABLES", settings);
        printed(&mut command).1
    };
    assert_eq!(run(""), "");
    assert_eq!(run("glibc.malloc.check=0"), "");
    // What somebody has set stands.
    let little = run("glibc.rtld.optional_static_tls=512");
    assert!(little.contains("cannot allocate memory in static TLS block"), "{little}");
}

#[test]
fn programs_that_cannot_be_audited_are_named() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join("nothing.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("the folder takes files");
    for (name, arguments, why) in [
        ("static_program", &["-static"][..], "it is linked statically"),
        ("static_pie", &["-static-pie"], "it is linked statically"),
        (
            "other_linker",
            &["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"],
            "its dynamic linker, /lib/ld-musl-x86_64.so.1, may not",
        ),
    ] {
        let program = folder.join(name);
        let built =
            Command::new("cc").arg(&source).arg("-o").arg(&program).args(arguments).status().expect("cc starts");
        assert!(built.success(), "{name}");
        let (_, explained) = printed(warploom().args(["run", "--explain", "--"]).arg(&program));
        assert!(explained.contains(&format!("{name}: left alone: {why}")), "{name}: {explained}");
    }
}

#[test]
fn programs_with_the_rights_of_others_are_named() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("with_rights");
    std::fs::copy("/bin/true", &program).expect("the folder takes files");
    // Only root gives files away; for everybody else there is a program of root's on every system.
    let program = match std::os::unix::fs::chown(&program, Some(1), Some(1)) {
        Ok(()) => {
            let rights = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
            std::fs::set_permissions(&program, rights).expect("the owner was changed");
            program
        }
        Err(_) => PathBuf::from("/bin/su"),
    };
    let (_, explained) = printed(warploom().args(["run", "--explain", "--"]).arg(&program).arg("--version"));
    assert!(explained.contains("left alone: it runs with the rights of its owner (set-uid or set-gid)"), "{explained}");
}

#[test]
fn options_behind_the_program_are_its_own() {
    let echo = ["run", "--log", "errors", "echo", "--log", "calls", "--", "-x", "--fresh-memory"];
    assert_eq!(printed(warploom().args(echo)).0, "--log calls -- -x --fresh-memory\n");
    let program =
        ["run", "--check", "memory", "--check-kernels", "!kns=a", "--check-kernels", "kne=b", "--", "sh", "-c"];
    let (said, _) = printed(warploom().args(program).arg("echo \"$WARPLOOM_CHECK_KERNELS\""));
    assert_eq!(said, "!kns=a\nkne=b\n");
}

#[test]
fn options_of_compute_sanitizer_become_checks() {
    let show = "echo $WARPLOOM_CHECK $WARPLOOM_CHECK_EXIT $WARPLOOM_CHECK_PRINT $WARPLOOM_CHECK_KERNELS";
    let options = "--tool memcheck --leak-check full --error-exitcode 5 --print-limit 3 --kernel-name kns=a --padding 32 --nvtx yes";
    let (said, _) = printed(warploom().arg("compute-sanitizer").args(options.split(' ')).args(["sh", "-c", show]));
    assert_eq!(said, "memory,leak 5 3 kns=a\n");
    let level = ["compute-sanitizer", "--tool", "racecheck", "--racecheck-detect-level", "info", "sh", "-c"];
    let (said, _) = printed(warploom().args(level).arg("echo $WARPLOOM_CHECK $WARPLOOM_CHECK_LEVEL"));
    assert_eq!(said, "race info\n");
    let (_, why) = printed(warploom().args(["compute-sanitizer", "--destroy-on-device-error", "kernel", "true"]));
    assert!(why.contains("taken is context"), "{why}");
}

/// Prints which of these names an older driver has.
const NAMES: &str = "
import ctypes
cuda = ctypes.CDLL('libcuda.so.1')
names = ['cuMemAlloc_v2', 'cuGetProcAddress', 'cuGetProcAddress_v2', 'cuCtxCreate_v4']
print(*[name for name in names if hasattr(cuda, name)])
";

#[test]
fn an_older_driver_lacks_the_names_that_are_newer() {
    let names = |options: &[&str]| {
        let mut command = warploom();
        printed(command.arg("run").args(options).args(["--", "/usr/bin/python3", "-c", NAMES])).0
    };
    assert_eq!(names(&["--cuda", "11.8"]), "cuMemAlloc_v2 cuGetProcAddress\n");
    assert_eq!(names(&["--cuda", "12.0"]), "cuMemAlloc_v2 cuGetProcAddress cuGetProcAddress_v2\n");
    assert_eq!(names(&[]), "cuMemAlloc_v2 cuGetProcAddress cuGetProcAddress_v2 cuCtxCreate_v4\n");
}

#[test]
fn programs_that_are_linked_with_newer_names_do_not_start_on_older_drivers() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linked_with_newer");
    std::fs::create_dir_all(&folder).expect("the scratch folder takes folders");
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&source, "int cuGetProcAddress_v2(void); int main(int count, char **words) { (void)words; return count > 5 ? cuGetProcAddress_v2() : 0; }")
        .expect("it takes files");
    let driver = Path::new(warploom().get_program()).with_file_name("libcuda.so");
    let compiled =
        Command::new("cc").arg(&source).arg("-o").arg(&program).args(["-fno-plt", "-Wl,-z,now"]).arg(driver).status();
    assert!(compiled.expect("a C compiler starts").success());
    let run = |version: &str| {
        let output = warploom().args(["run", "--cuda", version, "--"]).arg(&program).output().expect("it starts");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(run("12.0"), (true, String::new()));
    let (success, said) = run("11.8");
    assert!(!success && said.contains("undefined symbol: cuGetProcAddress_v2"), "{said}");
}
