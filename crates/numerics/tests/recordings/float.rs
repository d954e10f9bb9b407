//! PTX ISA 9.7.3 but for the approximations.

use warploom_numerics::float::{Extremum, Property, Tested};
use warploom_numerics::{Rounding, double, float};

use crate::name::Name;
use crate::recording::{Kind, Recording};

fn f32(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn f64(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn single(name: &Name<'_>, x: &[u64]) -> f32 {
    let (rounding, ftz, sat) = (name.rounding(), name.has("ftz"), name.has("sat"));
    match name.op() {
        "add" => float::add(f32(x[0]), f32(x[1]), rounding, ftz, sat),
        "sub" => float::sub(f32(x[0]), f32(x[1]), rounding, ftz, sat),
        "mul" => float::mul(f32(x[0]), f32(x[1]), rounding, ftz, sat),
        "fma" | "mad" => float::fma(f32(x[0]), f32(x[1]), f32(x[2]), rounding, ftz, sat),
        "div" => float::div(f32(x[0]), f32(x[1]), rounding, ftz),
        "rcp" => float::rcp(f32(x[0]), rounding, ftz),
        "sqrt" => float::sqrt(f32(x[0]), rounding, ftz),
        "abs" => float::abs(f32(x[0]), ftz),
        "neg" => float::neg(f32(x[0]), ftz),
        "copysign" => float::copysign(f32(x[0]), f32(x[1])),
        "min" | "max" => {
            let (abs, xorsign) = (name.has("abs"), name.has("xorsign"));
            let how = Extremum { max: name.op() == "max", ftz, nan: name.has("NaN"), abs, xorsign };
            float::extremum(f32(x[0]), f32(x[1]), how)
        }
        other => panic!("{other}"),
    }
}

fn wide(name: &Name<'_>, x: &[u64]) -> f64 {
    let rounding = name.rounding();
    match name.op() {
        "add" => double::add(f64(x[0]), f64(x[1]), rounding),
        "sub" => double::sub(f64(x[0]), f64(x[1]), rounding),
        "mul" => double::mul(f64(x[0]), f64(x[1]), rounding),
        "fma" | "mad" => double::fma(f64(x[0]), f64(x[1]), f64(x[2]), rounding),
        "div" => double::div(f64(x[0]), f64(x[1]), rounding),
        "rcp" => double::rcp(f64(x[0]), rounding),
        "sqrt" => double::sqrt(f64(x[0]), rounding),
        "abs" => double::abs(f64(x[0])),
        "neg" => double::neg(f64(x[0])),
        "copysign" => double::copysign(f64(x[0]), f64(x[1])),
        "min" | "max" => double::extremum(f64(x[0]), f64(x[1]), name.op() == "max"),
        other => panic!("{other}"),
    }
}

fn property(name: &Name<'_>) -> Property {
    match name.parts[1] {
        "finite" => Property::Finite,
        "infinite" => Property::Infinite,
        "number" => Property::Number,
        "notanumber" => Property::NotANumber,
        "normal" => Property::Normal,
        _ => Property::Subnormal,
    }
}

#[test]
fn arithmetic_agrees_with_the_hardware() {
    let mut recording = Recording::open("float");
    for text in recording.names() {
        let name = Name::of(&text);
        if name.has("approx") || name.has("full") {
            recording.left.remove(&text);
        } else if text.starts_with("mul") && text.contains("then") {
            chained(&mut recording, &text);
        } else if name.op() == "testp" {
            let asked = property(&name);
            let ins: &[&str] = if name.ty() == "f32" { &["f32.u"] } else { &["f64.u"] };
            recording.check(&text, ins, &[Kind::Predicate], |x| {
                let holds = if name.ty() == "f32" { f32(x[0]).has(asked) } else { f64(x[0]).has(asked) };
                vec![u64::from(holds)]
            });
        } else {
            plain(&mut recording, &text, &name);
        }
    }
    recording.finish();
}

fn plain(recording: &mut Recording, text: &str, name: &Name<'_>) {
    let immediate = text.split(" imm ").nth(1).map(|text| u64::from_str_radix(&text[2..], 16).expect("hexadecimal"));
    let slots = match name.op() {
        _ if immediate.is_some() => "u",
        "fma" | "mad" => "abc",
        "rcp" | "sqrt" | "abs" | "neg" => "u",
        _ => "ab",
    };
    let ins: Vec<String> = slots.chars().map(|slot| format!("{}.{slot}", name.ty())).collect();
    let ins: Vec<&str> = ins.iter().map(String::as_str).collect();
    let operands = |x: &[u64]| x.iter().copied().chain(immediate).collect::<Vec<u64>>();
    if name.ty() == "f32" {
        // The NaN of these is documented.
        let documented = matches!(name.op(), "min" | "max") && immediate.is_none();
        let kind = if documented { Kind::Bits(32) } else { Kind::F32 };
        recording.check(text, &ins, &[kind], |x| vec![single(name, &operands(x)).to_bits().into()]);
    } else {
        recording.check(text, &ins, &[Kind::Bits(64)], |x| vec![wide(name, &operands(x)).to_bits()]);
    }
}

fn chained(recording: &mut Recording, text: &str) {
    const RN: Rounding = Rounding::Nearest;
    if text.ends_with("f64") {
        recording.check(text, &["f64.a", "f64.b", "f64.c"], &[Kind::F64], |x| {
            vec![double::add(double::mul(f64(x[0]), f64(x[1]), RN), f64(x[2]), RN).to_bits()]
        });
    } else if text.contains("contraction") {
        // What PTX allows to be fused was fused when it was recorded.
        recording.check(text, &["f32.a", "f32.b", "f32.c"], &[Kind::F32], |x| {
            vec![float::fma(f32(x[0]), f32(x[1]), f32(x[2]), RN, false, false).to_bits().into()]
        });
    } else {
        recording.check(text, &["f32.a", "f32.b", "f32.c"], &[Kind::F32], |x| {
            let product = float::mul(f32(x[0]), f32(x[1]), RN, false, false);
            vec![float::add(product, f32(x[2]), RN, false, false).to_bits().into()]
        });
    }
}
