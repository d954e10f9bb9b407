//! Every form of every instruction has a filetest that executes it, or stands in a list here with the reason. What executors lack is
//! refused at launch, by name, and only in the kernels that contain it.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use warploom_ptx::isa::{Form, Mnemonic, Opcode, all_forms};
use warploom_ptx::syntax::{Module, ast, parse};

/// Instructions that executors lack, each as it would be written, with its PTX version and target.
const LACKING: &[(&str, &str, &str)] = &[("tcgen05.wait::ld.sync.aligned;", "8.6", "sm_100a")];

/// Forms without a filetest, by how their lines in the tables begin, and why.
const WITHOUT: &[(&str, &str)] = &[
    ("tex.", "filetests cannot make textures: the family \"texture\" of tests/ptx_sweep holds them"),
    ("tld4.", "filetests cannot make textures: the family \"texture\" of tests/ptx_sweep holds them"),
    ("txq.", "filetests cannot make textures: the family \"texture\" of tests/ptx_sweep holds them"),
    ("suld.", "filetests cannot make surfaces: the family \"texture\" of tests/ptx_sweep holds them"),
    ("sust.", "filetests cannot make surfaces: the family \"texture\" of tests/ptx_sweep holds them"),
    ("suq.", "filetests cannot make surfaces: the family \"texture\" of tests/ptx_sweep holds them"),
    ("sured.", "filetests cannot make surfaces: tests/cuda_recorded/textures/surface_forms.cu holds them"),
    ("istypep.", "filetests cannot make textures: tests/cuda_recorded/textures/instructions.cu holds it"),
    ("prefetch.(const|param)?.tensormap", "a hint about a tensor map, which filetests cannot make"),
    ("cp.async.bulk.tensor.", MAPS),
    ("cp.async.bulk.prefetch.tensor.", MAPS),
    ("cp.reduce.async.bulk.tensor.", MAPS),
    ("tensormap.", MAPS),
    ("tcgen05.", LACK),
];

/// That tensor maps are the driver's.
const MAPS: &str = "filetests cannot make tensor maps: tests/ptx_async holds them";
/// That executors lack an instruction, which the launch of one of its kind shows.
const LACK: &str = "executors lack it";

fn opcode(instruction: &str) -> &str {
    instruction.split('.').next().unwrap_or(instruction)
}

/// The `.version` and `.target` of a module.
fn head(module: &Module) -> ((u32, u32), u32, Option<char>) {
    let version = module.version.map_or((0, 0), |version| (version.value.major, version.value.minor));
    let target = module[module.targets].first().map_or("", |target| module.name(target.name)).trim_start_matches("sm_");
    let digits = target.trim_end_matches(['a', 'f']);
    (version, digits.parse().unwrap_or(0), target[digits.len()..].chars().next())
}

/// The line of the tables whose form an instruction takes.
fn form(module: &Module, instruction: &ast::Instruction) -> Option<&'static str> {
    let (version, sm, suffix) = head(module);
    let modifiers: Vec<&str> = module[instruction.modifiers].iter().map(|m| module.name(m.name)).collect();
    let mnemonic = Mnemonic::read(module.name(instruction.opcode.name), &modifiers).ok()?;
    let is_met = |candidate: usize| {
        let candidate = &mnemonic.candidates[candidate];
        let words = candidate.modifiers.needs().map(|(_, needs)| needs);
        std::iter::once(candidate.form.needs).chain(words).all(|needs| needs.are_met(version, sm, suffix))
    };
    let chosen = mnemonic.choose(instruction.operands.len(), is_met)?;
    Some(mnemonic.candidates[chosen].form.text)
}

/// The forms of all statements of a list and of the scopes in it.
fn collect(module: &Module, statements: ast::List<ast::Statement>, found: &mut BTreeSet<&'static str>) {
    for statement in &module[statements] {
        match statement {
            ast::Statement::Instruction(instruction) => found.extend(form(module, instruction)),
            ast::Statement::Block(body) => collect(module, body.statements, found),
            _ => {}
        }
    }
}

/// The forms in a text.
fn forms_of(text: &[u8], found: &mut BTreeSet<&'static str>) {
    let module = parse(text).module;
    for (_, function) in module.functions() {
        if let Some(body) = &function.body {
            collect(&module, body.statements, found);
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

/// Why a form has no filetest.
fn reason(form: &Form) -> Option<&'static str> {
    WITHOUT.iter().find(|(start, _)| form.text.starts_with(start)).map(|(_, reason)| *reason)
}

#[test]
fn every_form_has_a_filetest() {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/run"), &mut paths);
    let mut covered = BTreeSet::new();
    for path in &paths {
        let text = std::fs::read(path).expect("a file");
        // What fails to load or launch executes nothing.
        if !String::from_utf8_lossy(&text).contains("-error CUDA_ERROR_NOT_SUPPORTED") {
            forms_of(&text, &mut covered);
        }
    }
    let mut wrong = Vec::new();
    for (_, form) in all_forms() {
        match (covered.contains(form.text), reason(form)) {
            (false, None) => wrong.push(format!("no file under tests/filetests/run executes `{}`", form.text)),
            (true, Some(reason)) => {
                wrong.push(format!("has a filetest, and is no longer so: `{}`: {reason}", form.text))
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each reason stands for some form, and of each kind of instruction that executors lack one is launched.
#[test]
fn reasons_hold() {
    let lacking =
        LACKING.iter().map(|(instruction, version, target)| module(instruction, version, target, "lacking", ""));
    let mut launched = BTreeSet::new();
    for text in lacking {
        let before = launched.len();
        forms_of(text.as_bytes(), &mut launched);
        assert!(launched.len() > before, "no form of its own:\n{text}");
    }
    let mut by_start: BTreeMap<&str, Vec<&Form>> = BTreeMap::new();
    for (_, form) in all_forms() {
        if let Some((start, _)) = WITHOUT.iter().find(|(start, _)| form.text.starts_with(start)) {
            by_start.entry(start).or_default().push(form);
        }
    }
    let mut wrong = Vec::new();
    for (start, reason) in WITHOUT {
        match by_start.get(start) {
            None => wrong.push(format!("no form begins with `{start}`")),
            Some(forms) if *reason == LACK && !forms.iter().any(|form| launched.contains(form.text)) => {
                wrong.push(format!("none of `{start}` is in LACKING"));
            }
            _ => {}
        }
    }
    let opcodes: BTreeSet<&str> = Opcode::ALL.iter().map(|opcode| opcode.text()).collect();
    assert!(LACKING.iter().all(|(instruction, ..)| opcodes.contains(opcode(instruction))));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A module with a kernel `lacking`, which reaches `instruction` in line 10, and one `sound`, which does not.
fn module(instruction: &str, version: &str, target: &str, kernel: &str, expectation: &str) -> String {
    format!(
        "// test run\n// kernel {kernel}\n{expectation}.version {version}\n.target {target}\n.address_size 64\n\
         .func f()\n{{\n  .reg .pred %p0; .reg .b8 %b0; .reg .b16 %h<2>; .reg .b32 %r<8>; .reg .b64 %d<2>; .reg .f32 %f<6>; .reg .b128 %q0;\n  {instruction}\n  ret;\n}}\n\
         .visible .entry lacking() {{ call f; ret; }}\n.visible .entry sound() {{ ret; }}\n"
    )
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
    for (index, (instruction, version, target)) in LACKING.iter().enumerate() {
        let name = opcode(instruction);
        let device = target.trim_end_matches('a');
        let sound = launch(&module(instruction, version, target, "sound", ""), &format!("sound_{index}"), device);
        if !sound.status.success() {
            wrong.push(format!("{instruction}: the other kernel: {}", String::from_utf8_lossy(&sound.stdout)));
        }
        let expectation = "// launch-error CUDA_ERROR_NOT_SUPPORTED\n";
        let text = module(instruction, version, target, "lacking", expectation);
        let output = launch(&text, &format!("lacking_{index}"), device);
        let log = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() || !log.contains(name) || !log.contains("line 10") {
            wrong.push(format!("{instruction}: {}{log}", String::from_utf8_lossy(&output.stdout)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
