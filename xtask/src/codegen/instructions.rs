//! docs/instructions.md: how the vector compiler makes code of each form of each instruction.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::Result;
use warploom_ptx::isa::all_forms;
use warploom_ptx::isa::instances::{DECLARATIONS, instances};
use warploom_ptx::{Options, load};
use warploom_simt::codegen::{How, how};

use crate::output::Output;

pub(super) fn generate(outputs: &mut Vec<Output>) -> Result<()> {
    let mut rows = String::new();
    let mut counts: BTreeMap<How, usize> = BTreeMap::new();
    for (opcode, form) in all_forms() {
        let mut ways: BTreeMap<How, BTreeSet<String>> = BTreeMap::new();
        for instruction in instances(opcode, form) {
            let Some(way) = compiled(&instruction) else { continue };
            *counts.entry(way).or_default() += 1;
            let mnemonic = instruction.split(' ').next().unwrap_or_default().to_owned();
            ways.entry(way).or_default().insert(mnemonic);
        }
        if ways.is_empty() {
            continue;
        }
        let line = form.text.split(" ; ").next().unwrap_or_default().replace('|', "\\|");
        writeln!(rows, "| `{line}` | {} |", described(&ways))?;
    }
    let mut summary = String::new();
    for (way, count) in &counts {
        writeln!(summary, "| {} | {count} | {} |", way.text(), explained(*way))?;
    }
    let body = format!(
        "# How instructions are compiled

With `WARPLOOM_JIT` kernels become vector code. This says for each form of the instruction tables (`crates/ptx/src/isa`, in their notation) what the compiler makes of it,
as `warploom_simt::codegen::how` decides by operation, type and modifiers. Each word of each form is tried once; forms whose operands the tables leave to the lowering are not in it.
What else decides is not of the instruction: where threads part, which of them come to a barrier, how addresses lie.

| | tried | |
| --- | --- | --- |
{summary}
| form | compiled |
| --- | --- |
{rows}"
    );
    outputs.push(Output::markdown("docs/instructions.md", &body));
    Ok(())
}

/// How an instruction is compiled: as the operation of it that takes most; none if no target takes it as it stands.
fn compiled(instruction: &str) -> Option<How> {
    let (version, sms) = ("9.2", [90, 100, 120]);
    let module = sms.iter().find_map(|sm| {
        let text = format!(
            ".version {version}\n.target sm_{sm}a\n.address_size 64\n.entry k()\n{{{DECLARATIONS}\n{instruction}\nret;\n}}\n"
        );
        load(text.as_bytes(), &Options { driver_version: 13020, sm: *sm }).ok()
    })?;
    let body = module.functions.first()?.body.as_ref()?;
    let ways: BTreeSet<How> = body.insts.iter().map(|inst| how(&inst.op)).collect();
    ways.into_iter().next_back()
}

/// The usual way, and what is compiled otherwise.
fn described(ways: &BTreeMap<How, BTreeSet<String>>) -> String {
    let Some(usual) = ways.iter().max_by_key(|(_, mnemonics)| mnemonics.len()).map(|(way, _)| *way) else {
        return String::new();
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
        How::Inlined => "the function stands in the place of its call",
        How::Region => "gangs of threads run up to it one after the other",
        How::Vector => "instructions for all lanes of a gang at once",
        How::Lanes => "instructions for one lane after the other, in compiled code",
        How::Step => "compiled code has the interpreter run it for the gang's lanes",
        How::Turns => "the executor does it while groups of lanes take turns",
        How::Declined => "kernels with it are left to the interpreter",
    }
}
