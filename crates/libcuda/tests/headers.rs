//! The C headers: each compiles alone, and plain names stand for what they should, whatever the version.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const VERSIONS: [&str; 7] = ["11030", "11080", "12000", "12050", "12090", "13000", "13050"];
const PER_THREAD: &str = "-DCUDA_API_PER_THREAD_DEFAULT_STREAM";
const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include")
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Compiles `source` as C11 or C++17.
fn compile(name: &str, source: &str, arguments: &[&str]) -> Output {
    let (compiler, standard) = if name.ends_with(".c") { ("cc", "-std=c11") } else { ("c++", "-std=c++17") };
    let file = scratch(name);
    std::fs::write(&file, source).expect("the scratch folder takes files");
    let mut command = Command::new(compiler);
    command.args([standard, "-c"]).args(STRICT).args(arguments).arg("-I").arg(include()).arg(&file).arg("-o");
    command.arg(file.with_extension(format!("{compiler}.o"))).output().expect("the compiler starts")
}

fn assert_compiles(name: &str, source: &str, arguments: &[&str]) {
    let output = compile(name, source, arguments);
    assert!(output.status.success(), "{name} with {arguments:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}

/// The symbols that the C function body `body` leaves to the linker, with the header of `version`.
fn undefined_symbols(name: &str, body: &str, version: &str, per_thread: bool) -> Vec<String> {
    let source = format!("#include <cudaTypedefs.h>\nCUresult f(void);\nCUresult f(void) {{\n{body}\n}}\n");
    let define = format!("-DWARPLOOM_CUDA_H={version}");
    let mut arguments = vec![define.as_str()];
    arguments.extend(per_thread.then_some(PER_THREAD));
    assert_compiles(name, &source, &arguments);
    let object = scratch(name).with_extension("cc.o");
    let output = Command::new("nm").arg("-u").arg(object).output().expect("nm starts");
    let text = String::from_utf8(output.stdout).expect("names are ASCII");
    let names = text.lines().filter_map(|line| line.split_whitespace().last());
    names.filter(|name| name.starts_with("cu")).map(str::to_owned).collect()
}

#[test]
fn every_header_compiles_alone() {
    let mut headers: Vec<String> = std::fs::read_dir(include())
        .expect("the headers are there")
        .map(|entry| entry.expect("a folder lists").file_name().into_string().expect("names are ASCII"))
        .collect();
    headers.sort_unstable();
    assert_eq!(headers.len(), 27, "{headers:?}");
    for header in &headers {
        let of_the_driver = header
            .strip_prefix("cuda")
            .is_some_and(|rest| rest.starts_with(|first: char| first == '.' || first.is_uppercase()));
        // The runtime's headers begin with its oldest library.
        for version in VERSIONS.into_iter().filter(|version| of_the_driver || *version >= "12000") {
            for per_thread in [None, Some(PER_THREAD)] {
                let define = format!("-DWARPLOOM_CUDA_H={version}");
                let mut arguments = vec![define.as_str()];
                arguments.extend(per_thread);
                // A header of macros alone would leave nothing to compile.
                let source = format!("#include <{header}>\nextern int declared;\n");
                assert_compiles(&format!("alone_{header}.c"), &source, &arguments);
                assert_compiles(&format!("alone_{header}.cpp"), &source, &arguments);
            }
        }
        assert_compiles(&format!("newest_{header}.c"), &format!("#include <{header}>\nextern int declared;\n"), &[]);
    }
}

#[test]
fn all_headers_compile_together_and_twice() {
    let mut source = String::new();
    for _ in 0..2 {
        for name in ["GL", "EGL", "VDPAU", "Profiler", ""] {
            source += &format!("#include <cuda{name}Typedefs.h>\n");
        }
    }
    assert_compiles("together.c", &source, &[]);
    assert_compiles("together.cpp", &source, &[PER_THREAD]);
}

#[test]
fn a_version_that_is_not_known_is_refused() {
    let output = compile("unknown_version.c", "#include <cuda.h>\n", &["-DWARPLOOM_CUDA_H=99000"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("WARPLOOM_CUDA_H asks for a version of CUDA"));
}

#[test]
fn the_version_follows_the_macro() {
    let source = "#include <cuda.h>\n_Static_assert(CUDA_VERSION == 12040, \"the version of the header\");\n";
    assert_compiles("version.c", source, &["-DWARPLOOM_CUDA_H=12040"]);
}

#[test]
fn a_context_is_created_as_in_the_header_of_the_version() {
    let create_12 = "CUcontext context; return cuCtxCreate(&context, 0, 0);";
    assert_eq!(undefined_symbols("create_12.c", create_12, "12000", false), ["cuCtxCreate_v2"]);
    assert_eq!(undefined_symbols("create_129.c", create_12, "12090", false), ["cuCtxCreate_v2"]);
    let create_13 = "CUcontext context; return cuCtxCreate(&context, 0, 0, 0);";
    assert_eq!(undefined_symbols("create_13.c", create_13, "13000", false), ["cuCtxCreate_v4"]);
}

#[test]
fn the_per_thread_macro_gives_the_variants() {
    let copy = "return cuMemcpyHtoD(0, 0, 0);";
    assert_eq!(undefined_symbols("copy.c", copy, "12000", false), ["cuMemcpyHtoD_v2"]);
    assert_eq!(undefined_symbols("copy_pt.c", copy, "12000", true), ["cuMemcpyHtoD_v2_ptds"]);
    let launch = "return cuLaunchKernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);";
    assert_eq!(undefined_symbols("launch.c", launch, "13050", false), ["cuLaunchKernel"]);
    assert_eq!(undefined_symbols("launch_pt.c", launch, "13050", true), ["cuLaunchKernel_ptsz"]);
    // A symbol newer than what the plain name stands for is mapped under its own name, an older one is not.
    let explicit = "return cuStreamGetCaptureInfo_v3(0, 0, 0, 0, 0, 0, 0);";
    assert_eq!(undefined_symbols("explicit_pt.c", explicit, "12030", true), ["cuStreamGetCaptureInfo_v3_ptsz"]);
    assert_eq!(undefined_symbols("explicit_pt.c", explicit, "13000", true), ["cuStreamGetCaptureInfo_v3"]);
}

#[test]
fn the_lookup_is_inline_under_the_per_thread_macro() {
    let first = "void *f; return cuGetProcAddress(\"cuInit\", &f, 11030, 0);";
    let second = "void *f; return cuGetProcAddress(\"cuInit\", &f, 11030, 0, 0);";
    for per_thread in [false, true] {
        assert_eq!(undefined_symbols("lookup_11.c", first, "11030", per_thread), ["cuGetProcAddress"]);
        assert_eq!(undefined_symbols("lookup_12.c", second, "12000", per_thread), ["cuGetProcAddress_v2"]);
    }
}

#[test]
fn typedefs_without_a_version_are_those_of_the_plain_names() {
    let body = "PFN_cuCtxCreate create = cuCtxCreate; PFN_cuGraphInstantiate instantiate = cuGraphInstantiate;
        PFN_cuMemcpyHtoD copy = cuMemcpyHtoD;
        return create && instantiate && copy ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;";
    for (version, instantiate) in [("11080", "cuGraphInstantiate_v2"), ("12000", "cuGraphInstantiateWithFlags")] {
        for (per_thread, copy) in [(false, "cuMemcpyHtoD_v2"), (true, "cuMemcpyHtoD_v2_ptds")] {
            let name = format!("plain_{version}_{per_thread}.c");
            assert_eq!(undefined_symbols(&name, body, version, per_thread), ["cuCtxCreate_v2", instantiate, copy]);
        }
    }
}
