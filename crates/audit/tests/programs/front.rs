//! A compiler of NVIDIA's stays the file that was asked for, and what it exports leads through ours.

use crate::support::{Scene, succeeds};

/// A scene with stand-ins for a compiler, under several names, and for ours.
fn scene(test: &str) -> Scene {
    let scene = Scene::new(test);
    for name in ["libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc-b51b459d.so.12", "libnvrtc-builtins.so.13.5"] {
        let source = if name.contains("builtins") { "named.c" } else { "compiler.c" };
        let arguments = [format!("-Wl,-soname,{name},-Bsymbolic"), format!("-DFOREIGN=\"{name}\"")];
        scene.library(source, &format!("foreign/{name}"), &arguments.each_ref().map(String::as_str));
    }
    scene.library("compilers.c", "ours/libwarploom_compilers.so", &[]);
    let rpath = format!("-Wl,-rpath,{}", scene.path("foreign").display());
    for (name, binding) in [("lazy", "-Wl,-z,lazy"), ("now", "-Wl,-z,now"), ("table", "-fno-plt")] {
        scene.compile(&["compiles.c"], name, &["-DLINKED", "-Lforeign", "-l:libnvrtc.so.13", &rpath, binding]);
    }
    scene.compile(&["compiles.c"], "opens", &[]);
    scene
}

#[test]
fn functions_of_a_compiler_that_was_linked_lead_through_ours() {
    let scene = scene("functions_of_a_compiler_that_was_linked");
    for program in ["lazy", "now", "table"] {
        let (printed, explained) = succeeds(&mut scene.audited(program));
        // What the compiler does itself stays within it.
        assert_eq!(printed, "front of 2\n1010 1020 3 40\n", "{program}: {explained}");
        let told = format!("{}: 2 functions lead through ", scene.path("foreign/libnvrtc.so.13").display());
        assert!(explained.contains(&told), "{explained}");
        assert_eq!(succeeds(&mut scene.plain(program)).0, "10 20 3 40\n", "{program}");
    }
}

#[test]
fn compilers_that_are_opened_stay_the_files_that_they_are() {
    let scene = scene("compilers_that_are_opened_stay");
    let files = ["libnvrtc.so.12", "libnvrtc-b51b459d.so.12"]
        .map(|name| scene.path("foreign").join(name).display().to_string());
    let (printed, explained) = succeeds(scene.audited("opens").args(&files));
    // Each is closed before the next is opened.
    let expected: Vec<String> = files.iter().map(|file| format!("front of 2\n1050 6 1\n{file}\n")).collect();
    assert_eq!(printed, expected.concat(), "{explained}");
    let printed =
        succeeds(scene.audited("opens").arg("libnvrtc.so.12").env("LD_LIBRARY_PATH", scene.path("foreign"))).0;
    assert_eq!(printed, expected[0]);
    // Two at once, and a file of the compiler's that has no functions of it.
    let (printed, explained) = succeeds(scene.audited("lazy").args(&files[..1]));
    assert_eq!(printed, format!("front of 2\n1010 1020 3 40\n{}", expected[0]), "{explained}");
    scene.compile(&["opener.c"], "opener", &[]);
    let (printed, explained) = succeeds(scene.audited("opener").arg("foreign/libnvrtc-builtins.so.13.5"));
    assert_eq!((printed.as_str(), explained.contains("builtins")), ("foreign libnvrtc-builtins.so.13.5\n", false));
}

#[test]
fn without_ours_a_compiler_answers_itself() {
    let scene = scene("without_ours_a_compiler_answers_itself");
    std::fs::write(scene.path("ours/libwarploom_compilers.so"), "no library").expect("the folder takes files");
    let (printed, errors) = succeeds(&mut scene.audited("lazy"));
    assert_eq!(printed, "10 20 3 40\n", "{errors}");
    assert!(errors.contains("warploom: error: cannot stand in front of a compiler: "), "{errors}");
    std::fs::remove_file(scene.path("ours/libwarploom_compilers.so")).expect("the folder lets files go");
    let (printed, errors) = succeeds(&mut scene.audited("lazy"));
    assert_eq!(printed, "10 20 3 40\n", "{errors}");
    assert!(errors.contains("left alone: warploom's library for compilers is not there"), "{errors}");
}
