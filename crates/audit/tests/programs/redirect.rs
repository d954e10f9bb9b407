//! Whoever loads a runtime or driver library, by whatever name, gets ours.

use std::os::unix::fs::symlink;

use crate::support::{Scene, succeeds};

/// A scene with somebody else's libraries in `foreign`, and a program that opens libraries.
fn scene(test: &str) -> Scene {
    let scene = Scene::new(test);
    for (name, soname) in [
        ("libcudart.so.12.9.79", "libcudart.so.12"),
        ("libcudart-5a077122.so.12.1.105", "libcudart-5a077122.so.12.1.105"),
        ("libcudart.so.13", "libcudart.so.13"),
        ("libcudart.so.11.0", "libcudart.so.11.0"),
        ("libcuda.so.1", "libcuda.so.1"),
    ] {
        let arguments = [format!("-DFOREIGN=\"{name}\""), format!("-Wl,-soname,{soname}")];
        scene.library("named.c", &format!("foreign/{name}"), &arguments.each_ref().map(String::as_str));
    }
    symlink("libcudart.so.12.9.79", scene.path("foreign/libcudart.so.12")).expect("the folder takes links");
    symlink("libcudart.so.13", scene.path("foreign/libcudart.so")).expect("the folder takes links");
    scene.compile(&["opener.c"], "opener", &[]);
    scene
}

#[test]
fn opened_libraries_are_ours_by_name_path_hashed_name_and_without_a_version() {
    let scene = scene("opened_libraries_are_ours");
    let foreign = |name: &str| scene.path("foreign").join(name).display().to_string();
    for (asked, expected) in [
        ("libcudart.so.12".to_owned(), "ours 12 cudaFree\n"),
        (foreign("libcudart.so.12"), "ours 12 cudaFree\n"),
        (foreign("libcudart.so.12.9.79"), "ours 12 cudaFree\n"),
        (foreign("libcudart-5a077122.so.12.1.105"), "ours 12 cudaFree\n"),
        ("foreign/libcudart.so.13".to_owned(), "ours 13 cudaFree\n"),
        (foreign("libcudart.so"), "ours 13 cudaFree\n"),
        ("libcudart.so".to_owned(), "ours 13 cudaFree\n"),
        ("libcudart.so.11.0".to_owned(), "ours 11 cudaFree\n"),
        (scene.path("ours/libcudart.so.12").display().to_string(), "ours 12 cudaFree\n"),
    ] {
        // A name without a path is searched for where somebody else's libraries are.
        let mut command = scene.audited("opener");
        let (printed, explained) = succeeds(command.arg(&asked).env("LD_LIBRARY_PATH", scene.path("foreign")));
        assert_eq!(printed, expected, "{asked}\n{explained}");
    }
    // What there is not is not found.
    let printed = succeeds(scene.audited("opener").arg("libcudart.so")).0;
    assert!(printed.contains("libcudart.so: cannot open shared object file"), "{printed}");
}

#[test]
fn the_driver_is_ours_by_any_path() {
    let scene = scene("the_driver_is_ours_by_any_path");
    scene.library("named.c", "ours/libcuda.so.1", &["-DFOREIGN=\"no, our driver\"", "-Wl,-soname,libcuda.so.1"]);
    for asked in
        [scene.path("foreign/libcuda.so.1").display().to_string(), "libcuda.so.1".to_owned(), "libcuda.so".to_owned()]
    {
        let (printed, explained) = succeeds(scene.audited("opener").arg(&asked));
        assert_eq!(printed, "foreign no, our driver\n", "{asked}");
        assert!(explained.contains(&format!("asks for {asked} and gets ")), "{explained}");
    }
}

#[test]
fn rpaths_preloads_and_search_paths_do_not_win() {
    let scene = scene("rpaths_preloads_and_search_paths_do_not_win");
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}", scene.path("foreign").display());
    scene.compile(&["named.c"], "program", &["-DENTRY=main", "-Lforeign", "-l:libcudart.so.12.9.79", &rpath]);
    assert_eq!(succeeds(&mut scene.plain("program")).0, "foreign libcudart.so.12.9.79\n");
    assert_eq!(succeeds(&mut scene.audited("program")).0, "ours 12 cudaFree\n");
    for (name, value) in [
        ("LD_LIBRARY_PATH", scene.path("foreign")),
        ("LD_PRELOAD", scene.path("foreign/libcudart.so.12")),
        ("LD_PRELOAD", scene.path("foreign/libcuda.so.1")),
        ("LD_BIND_NOW", "1".into()),
    ] {
        let printed = succeeds(scene.audited("program").env(name, &value)).0;
        // A preloaded library of another name goes in front, as it should: it defines the function, too.
        let expected = if value.ends_with("libcuda.so.1") { "foreign libcuda.so.1\n" } else { "ours 12 cudaFree\n" };
        assert_eq!(printed, expected, "{name}={}", value.display());
    }
}

#[test]
fn each_object_is_bound_to_its_own_major_version() {
    let scene = scene("each_object_is_bound_to_its_own_major_version");
    for major in ["12.9.79", "13"] {
        let library = format!("-l:libcudart.so.{major}");
        scene.library("named.c", &format!("uses{major}.so"), &["-DENTRY=entry", "-Lforeign", &library]);
    }
    let printed = succeeds(scene.audited("opener").args(["./uses12.9.79.so", "./uses13.so"])).0;
    let both = ["ours 12 cudaFree\n".repeat(2), "ours 13 cudaFree\n".repeat(2)].concat();
    assert_eq!(printed, both);
}

#[test]
fn other_auditing_libraries_see_and_hear_the_same() {
    let scene = scene("other_auditing_libraries_see_and_hear_the_same");
    scene.library("other_auditor.c", "other.so", &[]);
    let (ours, other) = (scene.path("ours/libwarploom_audit.so"), scene.path("other.so"));
    scene.embedding_program("embeds", 13000, &[]);
    for list in [[&ours, &other], [&other, &ours]] {
        let list = list.map(|path| path.display().to_string()).join(":");
        let mut command = scene.audited("opener");
        let (printed, errors) = succeeds(command.arg("libcudart.so.12").env("LD_AUDIT", &list));
        assert_eq!(printed, "ours 12 cudaFree\n", "{list}\n{errors}");
        assert!(errors.contains("other auditor: libcudart.so.12\n"), "{list}\n{errors}");
        let printed = succeeds(scene.audited("embeds").env("LD_AUDIT", &list)).0;
        assert!(printed.starts_with("ours 13 __cudaRegisterFatBinary\nversion 13000\n"), "{printed}");
    }
}

#[test]
fn children_and_python_inherit_it() {
    let scene = scene("children_and_python_inherit_it");
    let opened = scene.path("foreign/libcudart.so.12").display().to_string();
    let script = format!("{} {opened}", scene.path("opener").display());
    assert_eq!(succeeds(scene.audited("/bin/sh").args(["-c", &script])).0, "ours 12 cudaFree\n");
    let script = "import ctypes, sys, threading\n\
                  library = ctypes.CDLL(sys.argv[1])\n\
                  thread = threading.Thread(target=library.cudaFree); thread.start(); thread.join()\n\
                  loaded = {line.split()[-1] for line in open('/proc/self/maps') if 'libcudart' in line}\n\
                  ctypes.CDLL(None).fflush(None); print(*loaded)";
    let printed = succeeds(scene.audited("/usr/bin/python3").args(["-c", script, &opened])).0;
    assert_eq!(printed, format!("ours 12 cudaFree\n{}\n", scene.path("ours/libcudart.so.12").display()));
}
