//! docs/generated/ptx-coverage.md: of each form of each instruction, whether the interpreter runs it, and what the vector compiler makes of it.
//!
//! The interpreter runs what has an operation in the IR: `crates/interp/tests/forms.rs` holds it to that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::{Result, bail};
use warploom_ptx::ir::{Module, Op};
use warploom_ptx::isa::instances::{DECLARATIONS, all_instances};
use warploom_ptx::isa::{Form, Needs, Opcode, sections};
use warploom_ptx::{Options, load};
use warploom_simt::codegen::{How, how};

use crate::output::Output;

/// Why instructions do not exist here: a part of their mnemonics, and the reason.
const WHY: &[(&str, &str)] = &[
    (
        "tcgen05.",
        "tensor memory and the unit that multiplies out of it are parts of sm_100 that have no counterpart here",
    ),
    (
        "multimem.",
        "it loads, and faults where a thread comes to it: there are no multicast objects, `CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED` is 0",
    ),
    ("fabric.", "it loads, and faults where a thread comes to it: there are no logical endpoints"),
    (".im2col::w", "`cuTensorMapEncodeIm2colWide`, which makes the tensor maps, is refused"),
    (
        "txq.",
        "handles do not say it: NVIDIA's driver leaves kernels that ask out of their module, as recorded on an H200",
    ),
    ("suq.", "handles do not say it: NVIDIA's driver does not load modules that ask, as recorded on an H200"),
];

pub(super) fn generate(outputs: &mut Vec<Output>) -> Result<()> {
    let mut page = String::new();
    let mut counts: BTreeMap<How, usize> = BTreeMap::new();
    let (mut forms, mut run) = (0, 0);
    let mut problems = Vec::new();
    for (title, entries) in sections() {
        writeln!(page, "\n## {title}\n\n| form | since | interpreter | compiled |\n| --- | --- | --- | --- |")?;
        for (opcode, form) in entries {
            let tried = Tried::of(opcode, form);
            forms += 1;
            run += usize::from(!tried.runs.is_empty());
            tried.ways.iter().for_each(|(way, mnemonics)| *counts.entry(*way).or_default() += mnemonics.len());
            let line = form.text.split(" ; ").next().unwrap_or_default().replace('|', "\\|");
            let since = since(form.needs);
            match tried.interpreted(form) {
                Ok(interpreted) => {
                    let compiled = if tried.runs.is_empty() { String::new() } else { described(&tried.ways) };
                    writeln!(page, "| `{line}` | {since} | {interpreted} | {compiled} |")?;
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    if !problems.is_empty() {
        bail!("forms of which the page cannot say what becomes of them:\n{}", problems.join("\n"));
    }
    let mut summary = String::new();
    for (way, count) in &counts {
        writeln!(summary, "| {} | {count} | {} |", way.text(), explained(*way))?;
    }
    let body = format!(
        "# Which instructions run, and how they are compiled

Each form of the instruction tables (`crates/ptx/src/isa`, in their notation), section by section of the PTX manual, with the PTX version and target that brought it.
{run} of {forms} run in the interpreter. The others load; the launch of a kernel that reaches one is refused with its name and line, for the reason given, but for `multimem` and `fabric`.
Each word of each form was tried once; of forms whose operands the tables leave to the lowering, the examples of `isa/examples.rs`.

*compiled* is what the vector compiler makes of a form, as `warploom_simt::codegen::how` decides by operation, type and modifiers. What else decides is not of the instruction: where threads part,
which of them come to a barrier, how addresses lie. A form that becomes no operation ends a block, or only declares.

| compiled | instructions tried | |
| --- | --- | --- |
{summary}{page}"
    );
    outputs.push(Output::markdown("docs/generated/ptx-coverage.md", &body));
    Ok(())
}

/// The PTX version and the target that a form needs.
fn since(needs: Needs) -> String {
    let Needs { version: (major, minor), sm, suffix, or_later } = needs;
    let version = if major == 0 { String::new() } else { format!("{major}.{minor}") };
    let target =
        if sm == 0 { String::new() } else { format!("sm_{sm}{}", suffix.map(String::from).unwrap_or_default()) };
    let later = if or_later { " and later with a suffix" } else { "" };
    format!("{version} {target}{later}").trim().to_owned()
}

/// What became of the instances of a form.
#[derive(Default)]
struct Tried {
    /// Mnemonics that the interpreter runs.
    runs: BTreeSet<String>,
    /// Mnemonics that it does not.
    refused: BTreeSet<String>,
    /// How those that run are compiled.
    ways: BTreeMap<How, BTreeSet<String>>,
}

impl Tried {
    fn of(opcode: Opcode, form: &Form) -> Tried {
        let mut tried = Tried::default();
        for instruction in all_instances(opcode, form) {
            let Some(module) = module(&instruction) else { continue };
            let mnemonic = instruction.split(' ').find(|word| word.starts_with(opcode.text())).unwrap_or_default();
            let mnemonic = mnemonic.trim_end_matches(';').to_owned();
            if lacks_operation(&module) {
                tried.refused.insert(mnemonic);
                continue;
            }
            if let Some(way) = compiled(&module) {
                tried.ways.entry(way).or_default().insert(mnemonic.clone());
            }
            tried.runs.insert(mnemonic);
        }
        tried
    }

    /// What the page says of the interpreter; else what is wrong.
    fn interpreted(&self, form: &Form) -> Result<String, String> {
        if self.refused.is_empty() {
            return if self.runs.is_empty() {
                Err(format!("`{}`: no target takes an instance", form.text))
            } else {
                Ok("runs".to_owned())
            };
        }
        let is_of = |word: &str| self.refused.iter().all(|mnemonic| mnemonic.contains(word));
        let Some((_, why)) = WHY.iter().find(|(word, _)| is_of(word)) else {
            return Err(format!("`{}`: does not run, and nothing says why: {:?}", form.text, self.refused));
        };
        if self.runs.is_empty() {
            return Ok(format!("no: {why}"));
        }
        let words: Vec<String> = self.refused.iter().map(|mnemonic| format!("`{mnemonic}`")).collect();
        Ok(format!("runs, but not {}: {why}", words.join(", ")))
    }
}

/// A module of one kernel with an instruction, for the first target that takes it as it stands.
fn module(instruction: &str) -> Option<warploom_ptx::VerifiedModule> {
    const TARGETS: [(u32, u32, u32, &str); 5] =
        [(9, 5, 90, "a"), (9, 5, 100, "a"), (9, 5, 120, "a"), (6, 3, 60, ""), (6, 4, 70, "")];
    TARGETS.iter().find_map(|(major, minor, sm, suffix)| {
        // 128-bit registers came later than the oldest of them.
        let wide = " .reg .b128 %b128x<8>;";
        let declarations = if *major < 8 { DECLARATIONS.replace(wide, "") } else { DECLARATIONS.to_owned() };
        let text = format!(
            ".version {major}.{minor}\n.target sm_{sm}{suffix}\n.address_size 64\n.entry k()\n{{{declarations}\n{instruction}\nret;\n}}\n"
        );
        load(text.as_bytes(), &Options { driver_version: 13050, sm: *sm }).ok()
    })
}

/// Whether an instruction has no operation in the IR.
fn lacks_operation(module: &Module) -> bool {
    let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    bodies.flat_map(|body| &body.insts).any(|inst| matches!(inst.op, Op::Unexecuted(_) | Op::Multicast(_)))
}

/// How an instruction is compiled: as the operation of it that takes most; none if it is no operation.
fn compiled(module: &Module) -> Option<How> {
    let body = module.functions.first()?.body.as_ref()?;
    let ways: BTreeSet<How> = body.insts.iter().map(|inst| how(&inst.op)).collect();
    ways.into_iter().next_back()
}

/// The usual way, and what is compiled otherwise.
fn described(ways: &BTreeMap<How, BTreeSet<String>>) -> String {
    let Some(usual) = ways.iter().max_by_key(|(_, mnemonics)| mnemonics.len()).map(|(way, _)| *way) else {
        return "control flow".to_owned();
    };
    let mut out = usual.text().to_owned();
    for (way, mnemonics) in ways.iter().filter(|(way, _)| **way != usual) {
        let mnemonics: Vec<String> = mnemonics.iter().map(|mnemonic| format!("`{mnemonic}`")).collect();
        out += &format!("; {}: {}", way.text(), mnemonics.join(", "));
    }
    out
}

fn explained(way: How) -> &'static str {
    match way {
        How::Nothing => "it advises, or orders what is in order here",
        How::Inlined => {
            "the function stands in the place of its call: of an indirect one each that it can mean, behind a look at the address"
        }
        How::Region => "gangs of threads run up to it one after the other",
        How::Vector => "instructions for all lanes of a gang at once",
        How::Lanes => "instructions for one lane after the other, in compiled code",
        How::Step => "compiled code has the interpreter run it for the gang's lanes",
        How::Turns => "the executor does it while groups of lanes take turns",
        How::Declined => "kernels with it are left to the interpreter",
    }
}
