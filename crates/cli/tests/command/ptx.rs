//! `warploom ptx`: PTX is checked, and shown as it is understood.
use std::io::Write as _;

use super::answer;
use super::support::warploom;

/// The PTX front end on a file of this content; the file's name is left out of what is printed.
fn ptx(arguments: &[&str], content: &[u8]) -> String {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("warploom-command-{}-{number}.ptx", std::process::id()));
    std::fs::write(&file, content).expect("the file can be written");
    let answer = answer(warploom().arg("ptx").args(arguments).arg(&file));
    std::fs::remove_file(&file).expect("the file is there");
    answer.replace(&file.display().to_string(), "x.ptx")
}

const KERNEL: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";

#[test]
fn kernels_are_analyzed() {
    let text = KERNEL.replace("{ ret; }", "{ .reg .b32 %r<2>; mov.u32 %r1, %tid.x; ret; }");
    insta::assert_snapshot!(ptx(&["analyze", "--cta", "16,4", "--gang", "16"], text.as_bytes()), @r"
    kernel k, CTAs of 16 x 4 x 1 threads, gangs of 16
      values
        %r1 (line 4): affine lane
      flow
        b0 to the end
      alive at once: 0 varying words, 0 masks, 0 words in common; gangs of 32 for AVX2, 32 for AVX-512, 32 for NEON
    exit 0
    ");
    insta::assert_snapshot!(ptx(&["analyze", "--kernel", "other"], text.as_bytes()), @r"
    warploom: x.ptx has no kernel other
    exit 2
    ");
    insta::assert_snapshot!(ptx(&["analyze", "--gang", "12"], text.as_bytes()), @r"
    warploom: a gang has 1, 2, 4, 8, 16 or 32 threads, not 12
    exit 2
    ");
}

#[test]
fn valid_ptx_loads() {
    insta::assert_snapshot!(ptx(&["check"], KERNEL.as_bytes()), @r"
    x.ptx: loads, 1 kernel
    exit 0
    ");
    insta::assert_snapshot!(ptx(&["dump"], KERNEL.as_bytes()), @r"
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .entry k()
    {
        ret;
    }
    exit 0
    ");
    insta::assert_snapshot!(ptx(&["dump", "--form", "tree"], KERNEL.as_bytes()), @r"
    version: Version { major: 8, minor: 0 }
    targets:
      - sm_80
    address_size: 64
    Function Function
        linkage: Visible
        kind: Entry
        name: k
        body: Body
          statements:
            - Instruction Instruction
                opcode: ret
    exit 0
    ");
}

#[test]
fn what_keeps_ptx_from_loading_is_shown_with_its_line() {
    let text = KERNEL.replace("ret;", "bogus.u32 7;");
    insta::assert_snapshot!(ptx(&["check"], text.as_bytes()), @r"
    x.ptx: does not load
    error[unknown-instruction]: Not a name of any known instruction: 'bogus'
     --> x.ptx:4:23
      |
    4 | .visible .entry k() { bogus.u32 7; }
      |                       ^^^^^
    exit 1
    ");
    insta::assert_snapshot!(ptx(&["check", "--log"], text.as_bytes()), @r"
    x.ptx: does not load
    ptxas application ptx input, line 4; error   : Not a name of any known instruction: 'bogus'
    ptxas fatal   : Ptx assembly aborted due to errors
    exit 1
    ");
    insta::assert_snapshot!(ptx(&["check", "--cuda", "11.8"], KERNEL.as_bytes()), @r"
    x.ptx: does not load
    error[version]: Unsupported .version 8.0; current version is '7.8'
     --> x.ptx:1:10
      |
    1 | .version 8.0
      |          ^^^
    exit 1
    ");
    insta::assert_snapshot!(ptx(&["check", "--device", "sm_75"], KERNEL.as_bytes()), @r"
    x.ptx: does not load
    error[target]: PTX with .target 'sm_80' cannot be compiled for architecture 'sm_75'
     --> x.ptx:2:9
      |
    2 | .target sm_80
      |         ^^^^^
      |
      = note: a device sm_80 loads it: --device sm_80, or WARPLOOM_DEVICE=sm_80
    exit 1
    ");
    insta::assert_snapshot!(ptx(&["dump"], KERNEL.replace("ret;", "ret").as_bytes()), @r"
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .entry k()
    {
        ret;
    }
    error[syntax]: Parsing error near '}': expected ';'
     --> x.ptx:4:27
      |
    4 | .visible .entry k() { ret }
      |                           ^
    exit 1
    ");
}

#[test]
fn fat_binaries_are_checked_entry_by_entry() {
    let mut head = [0; 64];
    head[0] = 1;
    head[4] = 64;
    head[8] = KERNEL.len() as u8;
    head[28] = 80;
    let mut file = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0].to_vec();
    file.extend((head.len() as u64 + KERNEL.len() as u64).to_le_bytes());
    file.extend(head);
    file.extend(KERNEL.as_bytes());
    insta::assert_snapshot!(ptx(&["check"], &file), @r"
    x.ptx(sm_80): loads, 1 kernel
    exit 0
    ");
    insta::assert_snapshot!(ptx(&["check"], &file[..50]), @r"
    warploom: cannot read x.ptx: the image ends within the fat binary
    exit 2
    ");
}

#[test]
fn the_executed_form_shows_registers_blocks_and_lines() {
    let text = KERNEL.replace(
        "k() { ret; }",
        "k(.param .u64 p) {\n  .reg .b64 %a;\n  .reg .b32 %x;\n  ld.param.u64 %a, [p];\n  ld.global.u32 %x, [%a+4];\n  add.u32 %x, %x, 1;\n  st.global.u32 [%a], %x;\n  ret;\n}",
    );
    insta::assert_snapshot!(ptx(&["dump", "--form", "ir"], text.as_bytes()), @r"
    version 8.0 target sm_80
    f0: Visible kernel k (p .u64 at 0 size 8 align 8) buffer 8 line 4
      r0 .b64 %a, r1 .b32 %x
      param frame: 8 bytes
    b0:
        7  Ld space: Param, ty: U64, to: U64, semantics: Weak, scope: Sys, dst: [r0], addr: [param] ; ld.param.u64
        8  Ld space: Global, ty: U32, to: U32, semantics: Weak, scope: Sys, dst: [r1], addr: [r0+4] ; ld.global.u32
        9  IntBinary op: Add, ty: U32, dst: r1, a: r1, b: 0x1 ; add.u32
       10  St space: Global, ty: U32, from: U32, semantics: Weak, scope: Sys, src: [r1], addr: [r0] ; st.global.u32
       11  ret
    exit 0
    ");
}

#[test]
fn a_kernel_that_cannot_launch_is_named_with_its_instruction() {
    let text = ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k() {\n  .reg .b32 %r; .reg .b64 %d;\n  txq.array_size.b32 %r, [%d];\n  ret;\n}\n.visible .entry good() { ret; }\n";
    insta::assert_snapshot!(ptx(&["check"], text.as_bytes()), @r"
    x.ptx:6: kernel k does not launch: `txq.array_size.b32` is not supported
    x.ptx: loads, 2 kernels
    exit 0
    ");
}

#[test]
fn a_kernel_with_an_instruction_that_cannot_be_executed_is_named_as_well() {
    let text = ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k() {\n  .reg .b32 %r; .reg .b64 %d;\n  txq.array_size.b32 %r, [%d];\n  ret;\n}\n.visible .entry l() {\n  .reg .b32 %r; .reg .b64 %d;\n  suq.array_size.b32 %r, [%d];\n  ret;\n}\n";
    insta::assert_snapshot!(ptx(&["check"], text.as_bytes()), @r"
    x.ptx:6: kernel k does not launch: `txq.array_size.b32` is not supported
    x.ptx:11: kernel l does not launch: `suq.array_size.b32` is not supported
    x.ptx: loads, 2 kernels
    exit 0
    ");
}

#[test]
fn standard_input_is_read_and_other_files_go_on_after_one_that_is_missing() {
    let mut command = warploom();
    command.args(["ptx", "check", "/nonexistent/a.ptx", "-"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    child.stdin.take().expect("a pipe").write_all(KERNEL.as_bytes()).expect("the command reads");
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "<stdin>: loads, 1 kernel\n");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.starts_with("warploom: cannot read /nonexistent/a.ptx: No such file"), "{complaint}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn kernels_are_compiled_for_people_to_read() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .visible .entry k(.param .u64 p)\n{\n.reg .f32 %f<2>; .reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n\
        ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd1+4], %f1; ret;\n}\n.func f()\n{\ncall f; ret;\n}\n.visible .entry t()\n{\ncall f; ret;\n}\n";
    let llvm = ptx(&["compile", "--kernel", "k"], text.as_bytes());
    assert!(llvm.contains("define i32 @cta(") && llvm.ends_with("exit 0\n"), "{llvm}");
    let assembly = ptx(&["compile", "--kernel", "k", "--emit", "asm", "--cpu", "x86-64-v3"], text.as_bytes());
    assert!(assembly.contains("cta:") && assembly.contains("ret") && assembly.ends_with("exit 0\n"), "{assembly}");
    let declined = ptx(&["compile", "--kernel", "t"], text.as_bytes());
    assert!(declined.contains("kernel t is not compiled: ") && declined.ends_with("exit 1\n"), "{declined}");
}
