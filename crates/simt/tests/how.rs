//! What [`codegen::how`] says of operations is what becomes of them: every form of the instruction tables, compiled for vectors of both kinds.

use std::collections::{BTreeMap, BTreeSet};

use warploom_ptx::ir::FunctionId;
use warploom_ptx::isa::all_forms;
use warploom_ptx::isa::instances::{DECLARATIONS, instances};
use warploom_ptx::{Options, VerifiedModule, load};
use warploom_simt::codegen::{How, Style, how};
use warploom_simt::{Gangs, analyze, codegen, standalone};

/// Fills the registers that an instruction names with numbers of each thread's own.
fn fill(instruction: &str) -> String {
    let mut out = "mov.u32 %b32x39, %tid.x; mul.wide.u32 %b64x39, %b32x39, 16;\n".to_owned();
    let names: BTreeSet<&str> = instruction.split(|sign: char| !(sign.is_alphanumeric() || sign == '%')).collect();
    for name in names.iter().filter_map(|name| name.strip_prefix('%')) {
        let load =
            ["b8", "b16", "b32", "b64", "b128", "f32", "f64"].iter().find(|ty| name.starts_with(&format!("{ty}x")));
        out += &match load {
            Some(ty) => format!("ld.global.{ty} %{name}, [%b64x39];\n"),
            None if name.starts_with("pred") => format!("setp.ne.b32 %{name}, %b32x39, 7;\n"),
            None => continue,
        };
    }
    out
}

/// A kernel with an instruction, for the first of some targets that knows it.
fn module(instruction: &str, fill: &str) -> Option<VerifiedModule> {
    ["sm_90a", "sm_100a", "sm_120a"].iter().find_map(|target| {
        let text = format!(
            ".version 9.2\n.target {target}\n.address_size 64\n.entry k()\n{{{DECLARATIONS}\n{fill}\n{instruction}\nret;\n}}\n"
        );
        let sm = target[3..].trim_end_matches('a').parse().expect("a number");
        load(text.as_bytes(), &Options { driver_version: 13020, sm }).ok()
    })
}

#[test]
fn forms_are_compiled_as_the_table_says() {
    const MACHINES: [(&str, &str); 3] = [
        ("x86-64-v3", "+avx2,+fma,+f16c"),
        ("x86-64-v4", "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"),
        ("sapphirerapids", "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,+avx512fp16"),
    ];
    let (mut wrong, mut counts) = (Vec::new(), BTreeMap::<&str, usize>::new());
    for (opcode, form) in all_forms() {
        for instruction in instances(opcode, form) {
            let Some(module) = module(&instruction, &fill(&instruction)) else { continue };
            let body = module.functions[0].body.as_ref().expect("a body");
            let ways: Vec<How> = body.insts.iter().map(|inst| how(&inst.op)).collect();
            let way = [How::Declined, How::Turns, How::Step].into_iter().find(|way| ways.contains(way));
            *counts.entry(way.map_or("instructions", How::text)).or_default() += 1;
            // As kernels are compiled.
            let alone = standalone(&module, FunctionId(0), [64, 1, 1], Style::Chosen);
            let info = alone.as_ref().ok().map(|module| {
                analyze(module, FunctionId(0), Gangs::new([64, 1, 1], 32).expect("gangs")).expect("a kernel")
            });
            for (cpu, features) in MACHINES {
                let compiled = match &info {
                    Some(info) => codegen::compile(info, cpu, features).map_err(|declined| declined.0),
                    None => Err(alone.as_ref().err().cloned().unwrap_or_default()),
                };
                let (found, why) = match compiled {
                    Err(why) => (Some(How::Declined), why),
                    Ok(compiled) if compiled.turns.is_some() => (Some(How::Turns), String::new()),
                    Ok(compiled) if compiled.steps.is_empty() => (None, String::new()),
                    Ok(_) => (Some(How::Step), String::new()),
                };
                if found != way {
                    wrong.push(format!("{}: {instruction} is {found:?}, not {way:?}, for {cpu}: {why}", form.text));
                }
            }
        }
    }
    // One of each form says it.
    wrong.dedup_by_key(|wrong| wrong.split(": ").next().map(str::to_owned));
    assert!(wrong.is_empty(), "{} forms: {counts:?}\n{}", wrong.len(), wrong.join("\n"));
    assert!(counts["instructions"] > 1500, "{counts:?}");
}
