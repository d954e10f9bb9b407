//! Every instruction has a filetest, is held by the PTX sweep, or is one that executors lack; a kernel with such a one fails to launch, and only it.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use warploom_ptx::isa::Opcode;
use warploom_ptx::syntax::{Module, ast, parse};

/// Instructions that executors lack, each as it would be written, with its PTX version and target.
const LACKING: &[(&str, &str, &str)] = &[
    ("mapa.shared::cluster.u32 %r0, %r1, 0;", "8.3", "sm_90"),
    ("getctarank.shared::cluster.u32 %r0, %r1;", "8.3", "sm_90"),
    ("mbarrier.init.shared.b64 [%r0], 1;", "8.3", "sm_90"),
    ("cp.async.ca.shared.global [%r0], [%d0], 4;", "8.3", "sm_90"),
    ("multimem.ld_reduce.relaxed.sys.global.add.u32 %r0, [%d0];", "8.3", "sm_90"),
    ("tensormap.replace.tile.global_address.global.b1024.b64 [%d0], %d1;", "8.3", "sm_90a"),
    ("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p0, %q0;", "8.6", "sm_100"),
    ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%d0];", "8.3", "sm_90"),
    ("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0, %r1}, {%r2}, {%r3}, {%r4, %r5};", "8.3", "sm_90"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];", "8.3", "sm_90"),
    ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r0};", "8.3", "sm_90"),
    ("movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;", "8.3", "sm_90"),
    ("wgmma.fence.sync.aligned;", "8.3", "sm_90a"),
    ("tcgen05.wait::ld.sync.aligned;", "8.6", "sm_100a"),
    ("istypep.texref %p0, %d0;", "8.3", "sm_90"),
    ("sured.b.add.1d.u32.trap [%d0, {%r1}], %r0;", "8.3", "sm_90"),
];

/// Instructions that need a texture or surface, which filetests cannot make: the family "texture" of tests/ptx_sweep holds them.
const SWEPT: &[&str] = &["tex", "tld4", "txq", "suld", "sust", "suq"];

fn opcode(instruction: &str) -> &str {
    instruction.split('.').next().unwrap_or(instruction)
}

/// The opcodes of all statements of a list and of the scopes in it.
fn collect<'m>(module: &'m Module, statements: ast::List<ast::Statement>, found: &mut BTreeSet<&'m str>) {
    for statement in &module[statements] {
        match statement {
            ast::Statement::Instruction(instruction) => drop(found.insert(module.name(instruction.opcode.name))),
            ast::Statement::Block(body) => collect(module, body.statements, found),
            _ => {}
        }
    }
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            out.push(path);
        }
    }
}

#[test]
fn every_instruction_has_a_filetest() {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/run"), &mut paths);
    let modules: Vec<_> = paths.iter().map(|path| parse(&std::fs::read(path).expect("a file")).module).collect();
    let mut covered = BTreeSet::new();
    for module in &modules {
        for (_, function) in module.functions() {
            if let Some(body) = &function.body {
                collect(module, body.statements, &mut covered);
            }
        }
    }
    let lacking: BTreeSet<&str> = LACKING.iter().map(|(instruction, ..)| opcode(instruction)).collect();
    let all: BTreeSet<&str> = Opcode::ALL.iter().map(|opcode| opcode.text()).collect();
    let elsewhere = |text: &str| lacking.contains(text) || SWEPT.contains(&text);
    let without: Vec<_> = all.iter().filter(|text| !covered.contains(*text) && !elsewhere(text)).collect();
    assert!(without.is_empty(), "no file under tests/filetests/run has {without:?}");
    let both: Vec<_> = lacking.iter().filter(|text| covered.contains(*text) || SWEPT.contains(text)).collect();
    assert!(both.is_empty(), "have a test, and are no longer lacking: {both:?}");
}

/// Launches one kernel of `text` in a process of its own, with failing calls on standard error.
fn launch(text: &str, name: &str, device: &str) -> std::process::Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_filetests"));
    let library = binary.with_file_name("libcuda.so");
    assert!(library.exists(), "{} is missing: run cargo build --package warploom-libcuda first", library.display());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.ptx"));
    std::fs::write(&file, text).expect("cargo's folder for tests is writable");
    let mut command = Command::new(binary);
    command.arg("--libcuda").arg(library).arg(file).env("WARPLOOM_LOG", "errors").env("WARPLOOM_DEVICE", device);
    command.output().expect("the runner starts")
}

#[test]
fn an_instruction_that_executors_lack_fails_the_launch_of_its_kernel_only() {
    let mut wrong = Vec::new();
    for (instruction, version, target) in LACKING {
        let name = opcode(instruction);
        let module = |kernel: &str, expectation: &str| {
            format!(
                "// test run\n// kernel {kernel}\n{expectation}.version {version}\n.target {target}\n.address_size 64\n\
                 .func f()\n{{\n  .reg .pred %p0; .reg .b32 %r<8>; .reg .b64 %d<2>; .reg .f32 %f<6>; .reg .b128 %q0;\n  {instruction}\n  ret;\n}}\n\
                 .visible .entry lacking() {{ call f; ret; }}\n.visible .entry sound() {{ ret; }}\n"
            )
        };
        let device = target.trim_end_matches('a');
        let sound = launch(&module("sound", ""), &format!("sound_{name}"), device);
        if !sound.status.success() {
            wrong.push(format!("{name}: the other kernel: {}", String::from_utf8_lossy(&sound.stdout)));
        }
        let output = launch(&module("lacking", "// launch-error CUDA_ERROR_NOT_SUPPORTED\n"), name, device);
        let log = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() || !log.contains(name) || !log.contains("line 10") {
            wrong.push(format!("{name}: {}{log}", String::from_utf8_lossy(&output.stdout)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
