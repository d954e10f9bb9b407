//! Compiled code on disk, as processes see it that run filetests with our `libcuda.so` and one folder.
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

/// Kernels that are compiled, all of different code.
const FILES: [&str; 3] = [
    "parallel-synchronization-and-communication/bar_wrapped.ptx",
    "integer-arithmetic/mad.ptx",
    "logic-and-shift/shf.ptx",
];

fn command(folder: &Path, file: &str) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_filetests"));
    let library = binary.with_file_name("libcuda.so");
    assert!(library.exists(), "{} is missing: run cargo build --package warploom-libcuda first", library.display());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/run");
    let mut command = Command::new(binary);
    for name in ["CUDA_CACHE_DISABLE", "CUDA_CACHE_MAXSIZE", "CUDA_CACHE_PATH", "WARPLOOM_CPU", "WARPLOOM_DUMP"] {
        command.env_remove(name);
    }
    command.env("WARPLOOM_JIT", "always").env("WARPLOOM_EXPLAIN", "1").env("WARPLOOM_CACHE_DIR", folder);
    command.arg("--libcuda").arg(library).arg(root.join(file)).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a run that succeeds says, by line.
fn said(output: Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stderr)
}

fn run(folder: &Path, file: &str) -> String {
    said(command(folder, file).output().expect("runs"))
}

/// How many kernels were compiled, and how many had been before.
fn counts(said: &str) -> [usize; 2] {
    [": compiled in ", ": compiled before"].map(|what| said.matches(what).count())
}

/// Files of a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map_or_else(|_| Vec::new(), |files| files.map(|file| file.expect("a file").path()).collect())
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn what_one_process_compiles_the_next_one_loads() {
    let folder = folder();
    for file in FILES {
        let [compiled, loaded] = counts(&run(folder.path(), file));
        assert!(compiled > 0 && loaded == 0, "{file}: {compiled} {loaded}");
        assert_eq!(counts(&run(folder.path(), file)), [0, compiled], "{file}");
    }
}

#[test]
fn damaged_entries_are_discarded_and_made_again() {
    let damage: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.clear(),
        |bytes| *bytes.last_mut().expect("bytes") ^= 1,
        |bytes| bytes[..8].copy_from_slice(b"whatever"),
    ];
    let folder = folder();
    let [compiled, _] = counts(&run(folder.path(), FILES[0]));
    for damage in damage {
        let all = files(folder.path());
        assert_eq!(all.len(), compiled);
        for file in &all {
            let mut bytes = fs::read(file).expect("an entry");
            damage(&mut bytes);
            fs::write(file, bytes).expect("written");
        }
        let said = run(folder.path(), FILES[0]);
        assert_eq!(said.matches(" is discarded: ").count(), compiled, "{said}");
        assert_eq!(counts(&said), [compiled, 0], "{said}");
    }
    assert_eq!(counts(&run(folder.path(), FILES[0])), [0, compiled]);
}

#[test]
fn what_others_could_have_written_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let [compiled, _] = counts(&run(folder.path(), FILES[0]));
    for file in files(folder.path()) {
        fs::set_permissions(file, fs::Permissions::from_mode(0o666)).expect("changed");
    }
    let said = run(folder.path(), FILES[0]);
    assert!(said.contains("others could have written it"), "{said}");
    assert_eq!(counts(&said), [compiled, 0]);
}

#[test]
fn other_processors_have_entries_of_their_own() {
    let folder = folder();
    let limited = || said(command(folder.path(), FILES[0]).env("WARPLOOM_CPU", "x86-64-v3").output().expect("runs"));
    let [compiled, _] = counts(&run(folder.path(), FILES[0]));
    assert_eq!(counts(&limited()), [compiled, 0]);
    assert_eq!(counts(&limited()), [0, compiled]);
    assert_eq!(counts(&run(folder.path(), FILES[0])), [0, compiled]);
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    // Of about the same size.
    const FILES: [&str; 3] = ["logic-and-shift/or.ptx", "logic-and-shift/xor.ptx", "logic-and-shift/not.ptx"];
    let all = folder();
    let mut sized = FILES.map(|file| {
        let before = size(all.path());
        run(all.path(), file);
        (size(all.path()) - before, file)
    });
    // The smallest in the middle: it fits in beside the first, and not beside both.
    sized.sort_unstable();
    let [(smallest, second), (small, first), (large, third)] = sized;
    let folder = folder();
    // Room for the first and the last, and the tenth that is left free.
    let limit = (small + large) * 10 / 9 + 10;
    assert!(limit < smallest + small + large, "{sized:?}");
    let limited = |file| {
        let mut command = command(folder.path(), file);
        said(command.env("CUDA_CACHE_MAXSIZE", limit.to_string()).output().expect("runs"))
    };
    let age = |seconds| {
        for file in files(folder.path()) {
            let then = SystemTime::now() - Duration::from_secs(seconds);
            File::options().write(true).open(file).and_then(|file| file.set_modified(then)).expect("set");
        }
    };
    limited(first);
    limited(second);
    age(1000);
    assert_eq!(counts(&limited(first))[0], 0);
    limited(third);
    assert!(size(folder.path()) <= limit);
    assert_eq!(counts(&limited(first))[0], 0, "the one that was used again is gone");
    assert_eq!(counts(&limited(third))[0], 0, "the newest is gone");
    assert_ne!(counts(&limited(second))[0], 0, "the oldest is still there");
}

fn size(folder: &Path) -> u64 {
    files(folder).iter().map(|file| file.metadata().expect("a size").len()).sum()
}

#[test]
fn nothing_is_kept_where_that_is_switched_off_or_cannot_be() {
    let folder = folder();
    let off = |name: &str, value: &str| said(command(folder.path(), FILES[0]).env(name, value).output().expect("runs"));
    for (name, value) in [("CUDA_CACHE_DISABLE", "1"), ("CUDA_CACHE_MAXSIZE", "0")] {
        assert_ne!(counts(&off(name, value))[0], 0);
        assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
    }
    let said = run(Path::new("/proc/warploom"), FILES[0]);
    assert_ne!(counts(&said)[0], 0);
    assert_eq!(said.matches("compiled code cannot be kept in /proc/warploom").count(), 1, "{said}");
}

#[test]
fn processes_at_the_same_time_get_on_and_leave_whole_entries() {
    let folder = folder();
    let abandoned = folder.path().join("1-2-3.new");
    fs::write(&abandoned, "of a process that was killed").expect("written");
    let then = SystemTime::now() - Duration::from_secs(7200);
    File::options().write(true).open(&abandoned).and_then(|file| file.set_modified(then)).expect("set");
    for _ in 0..2 {
        let start = |file| command(folder.path(), file).spawn().expect("starts");
        let running: Vec<_> = FILES.iter().flat_map(|file| [file; 3]).map(|file| start(file)).collect();
        for process in running {
            let said = said(process.wait_with_output().expect("ends"));
            assert!(!said.contains("discarded"), "{said}");
        }
    }
    for file in FILES {
        assert_eq!(counts(&run(folder.path(), file))[0], 0, "{file}");
    }
    let names = files(folder.path());
    assert!(names.iter().all(|name| name.extension().is_some_and(|end| end == "wlcode")), "{names:?}");
}

#[test]
fn a_folder_that_is_read_only_is_read() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let folder = folder();
    let [compiled, _] = counts(&run(folder.path(), FILES[0]));
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("changed");
    files(folder.path()).iter().for_each(|file| set(file, 0o444));
    set(folder.path(), 0o555);
    // What belongs to root is read by others; root itself could write everywhere.
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let run = |file| {
        let mut command = command(folder.path(), file);
        if is_root {
            command.uid(NOBODY);
        }
        match command.output() {
            Ok(output) => Some(said(output)),
            Err(error) if is_root && error.kind() == std::io::ErrorKind::PermissionDenied => None,
            Err(error) => panic!("{error}"),
        }
    };
    let names = || files(folder.path()).into_iter().collect::<std::collections::BTreeSet<_>>();
    let before = names();
    let Some(text) = run(FILES[0]) else {
        eprintln!("SKIPPED: others than root may not start what was built here");
        return;
    };
    assert_eq!(counts(&text), [0, compiled], "{text}");
    assert!(!text.contains("compiled code"), "{text}");
    let text = run(FILES[1]).expect("as before");
    assert_ne!(counts(&text)[0], 0, "{text}");
    assert_eq!(text.matches("compiled code cannot be kept in ").count(), 1, "{text}");
    assert_eq!(names(), before);
    set(folder.path(), 0o755);
}
