//! Python modules with a runtime library in them and no symbol table: what they hand to other modules goes through a library of ours.

use crate::lead::{Build, layout};
use crate::support::{Scene, succeeds};

/// A scene with a program that is Python, and our library in front of modules.
fn scene(test: &str) -> Scene {
    let scene = Scene::new(test);
    scene.compile(&["python.c"], "python", &["-rdynamic"]);
    scene.library("handing.c", "ours/libwarploom_compilers.so", &[]);
    scene
}

fn module(scene: &Scene, name: &str, version: u32, arguments: &[&str]) {
    let version = format!("-DVERSION={version}");
    scene.library("module.c", name, &[&[version.as_str()], arguments].concat());
}

/// What a module prints whose function is handed out through `by`.
fn handed(version: u32, by: &str) -> String {
    format!("version {version}\n{by}functions _cudaFree cudaError_t (void): embedded {version} cudaFree\nanswer 35\n")
}

#[test]
fn what_a_module_hands_out_goes_through_ours() {
    let scene = scene("what_a_module_hands_out_goes_through_ours");
    for (name, version, arguments, ours) in [
        ("lazy.so", 13030, &["-s", "-Wl,-z,lazy"][..], "warploom_python_13"),
        ("now.cpython-311.so", 13050, &["-s", "-Wl,-z,now"], "warploom_python_13"),
        ("table.so", 13000, &["-s", "-fno-plt"], "warploom_python_13"),
        ("older.so", 12090, &["-s"], "warploom_python_12"),
        ("oldest.so", 11080, &["-s"], "warploom_python_11"),
        ("runtime_ptds.cpython-311.so", 13030, &["-s"], "warploom_python_13_ptds"),
    ] {
        module(&scene, name, version, arguments);
        let (printed, explained) = succeeds(scene.audited("python").arg(scene.path(name)));
        assert_eq!(printed, handed(version, &format!("{ours}: ")), "{name}: {explained}");
        let told = format!("the functions of the CUDA {}.{} runtime", version / 1000, version % 1000 / 10);
        assert!(explained.contains(&told), "{name}: {explained}");
        assert_eq!(succeeds(scene.plain("python").arg(scene.path(name))).0, handed(version, ""), "{name}");
    }
}

#[test]
fn other_modules_hand_out_what_they_have() {
    let scene = scene("other_modules_hand_out_what_they_have");
    module(&scene, "without.so", 5, &["-s"]);
    let (printed, explained) = succeeds(scene.audited("python").arg(scene.path("without.so")));
    assert_eq!((printed, explained.contains("without.so")), (handed(5, ""), false), "{explained}");
    let expect = |name: &str, version: u32, why: &str| {
        let (printed, explained) = succeeds(scene.audited("python").arg(scene.path(name)));
        assert_eq!(printed, handed(version, ""), "{name}: {explained}");
        assert!(explained.contains(why), "{name}: {explained}");
    };
    module(&scene, "older.so", 10020, &["-s"]);
    expect("older.so", 10020, "the CUDA 10.2 runtime is linked into it, and warploom has none of that major version");
    std::fs::remove_file(scene.path("ours/libwarploom_compilers.so")).expect("it is there");
    module(&scene, "module.so", 13030, &["-s"]);
    expect("module.so", 13030, "left alone: warploom's library for Python modules is not there");
}

#[test]
fn what_a_module_calls_itself_is_led_where_it_lies() {
    let scene = scene("what_a_module_calls_itself_is_led_where_it_lies");
    std::fs::write(scene.path("layout.s"), layout(13000, Build::Known)).expect("the folder takes files");
    scene.library("using_module.c", "module.so", &["layout.s", "-DVERSION=13000", "-s"]);
    let printed =
        |calls: &str, answers: &str| format!("{calls}version 13000: {answers}\nfunctions own int (void): answer 7\n");
    assert_eq!(succeeds(scene.plain("python").arg(scene.path("module.so"))).0, printed("", "35 35"));
    let (led, explained) = succeeds(scene.audited("python").arg(scene.path("module.so")));
    assert_eq!(led, printed("ours 13 cudaGetDeviceCount\nours 13 cudaFree\n", "0 0"), "{explained}");
    assert!(explained.contains("functions of the CUDA 13.0 runtime that is linked into it lead to"), "{explained}");
}
