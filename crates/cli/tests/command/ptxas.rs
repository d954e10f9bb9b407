//! `warploom ptxas`: the lines that tools read off NVIDIA's assembler, and the image that it writes.
use std::path::{Path, PathBuf};
use std::process::Command;

use super::answer;
use super::support::warploom;

/// Two kernels: what the second needs is known.
const GOOD: &str = ".version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter;
.const .align 4 .u32 table[4];
.visible .entry plain() { ret; }
.visible .entry k(.param .u64 out)
{
    .shared .align 4 .b8 tile[1024];
    .local .align 4 .b8 stack[64];
    .reg .b64 p;
    ld.param.u64 p, [out];
    bar.sync 0;
    st.shared.u32 [tile], 1;
    st.global.u32 [p], 1;
    ret;
}
";

/// A folder of its own with the texts, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, texts: &[(&str, &str)]) -> Folder {
        let folder = std::env::temp_dir().join(format!("warploom-ptxas-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        for (file, text) in texts {
            std::fs::write(folder.join(file), text).expect("the file can be written");
        }
        Folder(folder)
    }

    /// What the assembler says in this folder, less the time that it took.
    fn ptxas(&self, arguments: &[&str]) -> String {
        let answer = answer(warploom().arg("ptxas").args(arguments).current_dir(&self.0));
        answer
            .lines()
            .filter(|line| !line.contains("Compile time"))
            .fold(String::new(), |text, line| text + line + "\n")
    }

    fn has(&self, file: &str) -> bool {
        self.0.join(file).exists()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn kernels_are_noted_as_the_assembler_notes_them() {
    let folder = Folder::new("notes", &[("k.ptx", GOOD)]);
    insta::assert_snapshot!(folder.ptxas(&["-arch=sm_80", "-m64", "-O3", "-lineinfo", "--regAllocOptLevel=2", "-v", "k.ptx", "-o", "k.cubin"]), @r"
    ptxas info    : 4 bytes gmem, 16 bytes cmem[3]
    ptxas info    : Compiling entry function 'plain' for 'sm_80'
    ptxas info    : Function properties for plain
        0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
    ptxas info    : Used 8 registers, used 0 barriers
    ptxas info    : Compiling entry function 'k' for 'sm_80'
    ptxas info    : Function properties for k
        64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
    ptxas info    : Used 8 registers, used 1 barriers, 1024 bytes smem
    exit 0
    ");
    assert!(folder.has("k.cubin"));
    insta::assert_snapshot!(folder.ptxas(&["--gpu-name", "sm_90a", "-v", "-e", "plain", "k.ptx"]), @r"
    ptxas info    : 4 bytes gmem, 16 bytes cmem[3]
    ptxas info    : Compiling entry function 'plain' for 'sm_90'
    ptxas info    : Function properties for plain
        0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
    ptxas info    : Used 8 registers, used 0 barriers
    exit 0
    ");
    assert!(folder.has("elf.o"), "the name that the output has by default");
    let image = answer(warploom().args(["ptx", "check", "k.cubin"]).current_dir(&folder.0));
    assert_eq!(image, "k.cubin(k.ptx): loads, 2 kernels\nexit 0\n");
}

#[test]
fn what_is_wrong_is_said_as_the_assembler_says_it() {
    let broken = GOOD.replace("st.global.u32 [p], 1;", "st.global.u32 [q], 1;");
    let calls = GOOD
        .replace(".visible .entry plain() { ret; }", ".extern .func f();\n.visible .entry plain() { call f; ret; }");
    let tensor = GOOD
        .replace("bar.sync 0;", "tcgen05.fence::before_thread_sync;")
        .replace("8.0", "8.6")
        .replace("sm_80", "sm_100a");
    let texts = [("broken.ptx", &*broken), ("k.ptx", GOOD), ("calls.ptx", &*calls), ("tensor.ptx", &*tensor)];
    let folder = Folder::new("errors", &texts);
    insta::assert_snapshot!(folder.ptxas(&["-arch=sm_80", "broken.ptx", "-o", "x"]), @r"
    ptxas broken.ptx, line 15; error   : Unknown symbol 'q'
    ptxas fatal   : Ptx assembly aborted due to errors
    exit 255
    ");
    insta::assert_snapshot!(folder.ptxas(&["k.ptx", "-o", "x"]), @r"
    ptxas k.ptx, line 2; error   : PTX with .target 'sm_80' cannot be compiled for architecture 'sm_75'
    ptxas fatal   : Ptx assembly aborted due to errors
    exit 255
    ");
    insta::assert_snapshot!(folder.ptxas(&["-arch=sm_80", "calls.ptx", "-o", "x"]), @r"
    ptxas fatal   : Undefined reference to 'f' in 'calls.ptx'
    exit 255
    ");
    insta::assert_snapshot!(folder.ptxas(&["-arch", "sm_80", "none.ptx", "-o", "x"]), @r"
    ptxas fatal   : Input file 'none.ptx' could not be opened
    exit 255
    ");
    insta::assert_snapshot!(folder.ptxas(&["-arch=sm_52", "k.ptx", "-o", "x"]), @r"
    ptxas fatal   : Value 'sm_52' is not defined for option 'gpu-name'
    exit 255
    ");
    insta::assert_snapshot!(folder.ptxas(&["--such", "k.ptx", "-o", "x"]), @r"
    ptxas fatal   : Unknown option '-such'
    exit 255
    ");
    insta::assert_snapshot!(folder.ptxas(&["-o", "x"]), @r"
    ptxas fatal   : No input files specified; use option --help for more information
    exit 255
    ");
    assert!(!folder.has("x"), "nothing is written where something is wrong");
    insta::assert_snapshot!(folder.ptxas(&["-arch=compute_80", "k.ptx", "-o", "x"]), @"exit 0");
    assert!(!folder.has("x"), "nothing is written for what is no device");
    insta::assert_snapshot!(folder.ptxas(&["-arch=sm_80", "-c", "calls.ptx", "-o", "x"]), @"exit 0");
    assert!(folder.has("x"));
    insta::assert_snapshot!(folder.ptxas(&["-arch=sm_100a", "tensor.ptx"]), @r"
    ptxas tensor.ptx, line 13; warning : kernel k does not launch: `tcgen05.fence::before_thread_sync` is not supported
    exit 0
    ");
}

#[test]
fn files_of_options_and_texts_on_the_command_line_are_taken() {
    let folder = Folder::new("options", &[("k.ptx", GOOD), ("options", "-arch=sm_80\n-o y")]);
    assert_eq!(folder.ptxas(&["-optf", "options", "k.ptx"]), "exit 0\n");
    assert_eq!(folder.ptxas(&["--options-file=options", "--input-as-string", GOOD]), "exit 0\n");
    assert!(folder.has("y"));
    assert!(
        folder
            .ptxas(&["-optf", "none", "k.ptx"])
            .starts_with("ptxas fatal   : Options file 'none' could not be opened")
    );
}

/// Triton looks for "release X.Y", XLA for "VX.Y.Z"; both start a file that is called ptxas.
#[test]
fn it_goes_by_the_name_of_the_file_and_tells_the_version() {
    let folder = Folder::new("name", &[]);
    let named = folder.0.join("ptxas");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_warploom"), &named).expect("the folder takes links");
    insta::assert_snapshot!(answer(Command::new(&named).arg("--version")), @r"
    ptxas: the PTX assembler of warploom 0.1.0
    Cuda compilation tools, release 13.5, V13.5.0
    exit 0
    ");
    let path = answer(warploom().args([
        "run",
        "--",
        "sh",
        "-c",
        "ptxas -V | tail -1; test $TRITON_PTXAS_PATH = $(command -v ptxas) && echo same",
    ]));
    assert!(path.ends_with("V13.5.0\nsame\nexit 0\n"), "{path}");
    assert!(!Path::new("elf.o").exists());
}
