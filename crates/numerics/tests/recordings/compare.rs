//! PTX ISA 9.7.6 and 9.7.7: `set`, `setp` and `slct`.

use warploom_numerics::compare::{Relation, holds};
use warploom_numerics::float;
use warploom_numerics::format::{Bf16, F16};
use warploom_numerics::half;

use crate::name::Name;
use crate::recording::{Kind, Recording};

fn relation(name: &str) -> Relation {
    match name {
        "eq" => Relation::Eq,
        "ne" => Relation::Ne,
        "lt" | "lo" => Relation::Lt,
        "le" | "ls" => Relation::Le,
        "gt" | "hi" => Relation::Gt,
        "ge" | "hs" => Relation::Ge,
        "equ" => Relation::Equ,
        "neu" => Relation::Neu,
        "ltu" => Relation::Ltu,
        "leu" => Relation::Leu,
        "gtu" => Relation::Gtu,
        "geu" => Relation::Geu,
        "num" => Relation::Num,
        "nan" => Relation::Nan,
        other => panic!("{other}"),
    }
}

fn compared(name: &Name<'_>, a: u64, b: u64) -> bool {
    let relation = relation(name.parts[1]);
    let ftz = name.has("ftz");
    let single = |bits: u64| float::flush(f32::from_bits(bits as u32), ftz);
    let halved = |bits: u64| half::value::<F16>(bits as u16, ftz);
    let brain = |bits: u64| half::value::<Bf16>(bits as u16, ftz);
    match name.ty() {
        "u16" | "u32" | "u64" | "b16" | "b32" | "b64" => holds(relation, a, b),
        "s16" => holds(relation, a as i16, b as i16),
        "s32" => holds(relation, a as i32, b as i32),
        "s64" => holds(relation, a as i64, b as i64),
        "f32" => holds(relation, single(a), single(b)),
        "f64" => holds(relation, f64::from_bits(a), f64::from_bits(b)),
        "f16" | "f16x2" => holds(relation, halved(a), halved(b)),
        "bf16" | "bf16x2" => holds(relation, brain(a), brain(b)),
        other => panic!("{other}"),
    }
}

fn combined(name: &Name<'_>, value: bool, c: Option<bool>) -> bool {
    match c {
        Some(c) if name.has("and") => value & c,
        Some(c) if name.has("or") => value | c,
        Some(c) => value ^ c,
        None => value,
    }
}

/// What `set` writes where the comparison holds.
fn one(destination: &str) -> u64 {
    match destination {
        "f32" => 0x3f80_0000,
        "f16" => 0x3c00,
        "bf16" => 0x3f80,
        "f16x2" => 0x3c00_3c00,
        "bf16x2" => 0x3f80_3f80,
        _ => 0xffff_ffff,
    }
}

#[test]
fn comparisons_agree_with_the_hardware() {
    let mut recording = Recording::open("cmp");
    for text in recording.names() {
        let name = Name::of(&text);
        if name.op() == "slct" {
            selection(&mut recording, &text, &name);
        } else if !matches!(name.op(), "set" | "setp") || text.contains(" imm") || text.contains("_|q") {
            // `selp` and predicate logic compute nothing, and constants are compared as registers are.
            recording.left.remove(&text);
        } else {
            relations(&mut recording, &text, &name);
        }
    }
    recording.finish();
}

fn relations(recording: &mut Recording, text: &str, name: &Name<'_>) {
    let packed = name.ty().ends_with("x2");
    let array = match name.ty() {
        float if float.contains('f') => float.to_owned(),
        integer => format!("i{}", &integer[1..]),
    };
    let combines = ["and", "or", "xor"].iter().any(|op| name.has(op));
    let mut ins = vec![format!("{array}.a"), format!("{array}.b")];
    if combines {
        ins.push("pr.c".to_owned());
    }
    let ins: Vec<&str> = ins.iter().map(String::as_str).collect();
    let c = |x: &[u64]| combines.then(|| (x[2] != 0) != text.ends_with("!c"));
    if name.op() == "setp" {
        let kinds: &[Kind] = if text.contains("p|q") { &[Kind::Predicate; 2] } else { &[Kind::Predicate] };
        recording.check(text, &ins, kinds, |x| {
            let low = compared(name, x[0], x[1]);
            let second = if packed { compared(name, x[0] >> 16, x[1] >> 16) } else { !low };
            [low, second][..kinds.len()].iter().map(|&value| u64::from(combined(name, value, c(x)))).collect()
        });
        return;
    }
    let one = one(name.destination());
    let halved = matches!(name.destination(), "f16" | "bf16");
    recording.check(text, &ins, &[Kind::Bits(if halved { 16 } else { 32 })], |x| {
        let part = |shift: u32| combined(name, compared(name, x[0] >> shift, x[1] >> shift), c(x));
        let mask = match (packed, part(0)) {
            (false, true) => u64::MAX,
            (false, false) => 0,
            (true, low) => (if low { 0xffff } else { 0 }) | if part(16) { 0xffff_0000 } else { 0 },
        };
        vec![one & mask]
    });
}

fn selection(recording: &mut Recording, text: &str, name: &Name<'_>) {
    let ty = name.destination();
    let width: usize = ty[1..].parse().expect("a width");
    let array = if ty.starts_with('f') { ty.to_owned() } else { format!("i{width}") };
    let c = if name.ty() == "f32" { "f32.c" } else { "i32.c" };
    let ins = [format!("{array}.a"), format!("{array}.b"), c.to_owned()];
    let ins: Vec<&str> = ins.iter().map(String::as_str).collect();
    recording.check(text, &ins, &[Kind::Bits(width)], |x| {
        let first = if name.ty() == "f32" {
            holds(Relation::Ge, float::flush(f32::from_bits(x[2] as u32), name.has("ftz")), 0.0)
        } else {
            x[2] as i32 >= 0
        };
        vec![if first { x[0] } else { x[1] }]
    });
}
