//! What is committed is what the generator gives, and the comparison with headers finds what it should.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("the program starts")
}

#[test]
fn generated_files_are_current() {
    let output = xtask(&["codegen", "--check"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A folder with our headers, of which `cuda.h` was changed by `change`.
fn changed_headers(name: &str, change: impl Fn(&str) -> String) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the scratch folder takes folders");
    for entry in std::fs::read_dir(root().join("include")).expect("the headers are there") {
        let path = entry.expect("a folder lists").path();
        let text = std::fs::read_to_string(&path).expect("a header is text");
        let file = path.file_name().expect("a header has a name");
        let text = if file == "cuda.h" { change(&text) } else { text };
        std::fs::write(folder.join(file), text).expect("the scratch folder takes files");
    }
    folder
}

fn differences(folder: &Path) -> String {
    let output = xtask(&["registry", "diff-header", &folder.display().to_string()]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), text.is_empty(), "{text}");
    text
}

#[test]
fn our_own_headers_do_not_differ() {
    assert_eq!(differences(&root().join("include")), "");
}

#[test]
fn differences_are_found() {
    let cases = [
        ("value", "CU_MEMORYTYPE_DEVICE = 2", "CU_MEMORYTYPE_DEVICE = 7", "type CUmemorytype:"),
        ("field", "size_t WidthInBytes;", "unsigned int WidthInBytes;", "type CUDA_MEMCPY2D_v2:"),
        (
            "parameter",
            "cuMemAlloc_v2(CUdeviceptr_v2 *dptr, size_t",
            "cuMemAlloc_v2(CUdeviceptr_v2 *dptr, int",
            "function cuMemAlloc_v2:",
        ),
        (
            "function",
            "cuInit(unsigned int Flags);",
            "cuInitialize(unsigned int Flags);",
            "function cuInit is only here",
        ),
        ("constant", "#define CU_IPC_HANDLE_SIZE 64", "#define CU_IPC_HANDLE_SIZE 65", "constant CU_IPC_HANDLE_SIZE:"),
        (
            "mapping",
            "#define cuCtxCreate cuCtxCreate_v4",
            "#define cuCtxCreate cuCtxCreate_v3",
            "cuCtxCreate stands for cuCtxCreate_v3",
        ),
    ];
    for (name, from, to, expected) in cases {
        let folder = changed_headers(&format!("changed_{name}"), |text| {
            assert!(text.contains(from), "{name}");
            text.replace(from, to)
        });
        let found = differences(&folder);
        assert!(found.contains(expected), "{name}:\n{found}");
    }
}
