//! PTX ISA 9.7.4 but for the approximations.

use warploom_numerics::float::Extremum;
use warploom_numerics::format::{Bf16, F16, Format};
use warploom_numerics::half::{self, Modifiers};

use crate::name::Name;
use crate::recording::{Kind, Recording};

fn scalar<F: Format>(name: &Name<'_>, x: [u16; 3]) -> u16 {
    let [a, b, c] = x;
    let how = Modifiers { ftz: name.has("ftz"), sat: name.has("sat"), relu: name.has("relu") };
    match name.op() {
        "add" => half::add::<F>(a, b, how),
        "sub" => half::sub::<F>(a, b, how),
        "mul" => half::mul::<F>(a, b, how),
        "fma" if name.has("oob") => half::fma_oob::<F>(a, b, c, how),
        "fma" => half::fma::<F>(a, b, c, how),
        "neg" => half::neg::<F>(a, how.ftz),
        "abs" => half::abs::<F>(a, how.ftz),
        "min" | "max" => {
            let (nan, abs, xorsign) = (name.has("NaN"), name.has("abs"), name.has("xorsign"));
            half::extremum::<F>(a, b, Extremum { max: name.op() == "max", ftz: how.ftz, nan, abs, xorsign })
        }
        other => panic!("{other}"),
    }
}

#[test]
fn arithmetic_agrees_with_the_hardware() {
    let mut recording = Recording::open("half");
    for text in recording.names() {
        let name = Name::of(&text);
        if name.has("approx") {
            recording.left.remove(&text);
            continue;
        }
        let slots = match name.op() {
            "fma" => "abc",
            "neg" | "abs" => "u",
            _ => "ab",
        };
        let ins: Vec<String> = slots.chars().map(|slot| format!("{}.{slot}", name.ty())).collect();
        let ins: Vec<&str> = ins.iter().map(String::as_str).collect();
        let packed = name.ty().ends_with("x2");
        let documented = matches!(name.op(), "min" | "max");
        let kind = match name.ty() {
            _ if documented => Kind::Bits(if packed { 32 } else { 16 }),
            "f16" => Kind::F16,
            "f16x2" => Kind::F16x2,
            "bf16" => Kind::Bf16,
            _ => Kind::Bf16x2,
        };
        let one = |x: [u16; 3]| {
            if name.ty().starts_with('b') { scalar::<Bf16>(&name, x) } else { scalar::<F16>(&name, x) }
        };
        recording.check(&text, &ins, &[kind], |x| {
            let operand = |index: usize| x.get(index).copied().unwrap_or_default() as u32;
            let pair = half::pair3(operand(0), operand(1), operand(2), |a, b, c| one([a, b, c]));
            vec![u64::from(if packed { pair } else { pair & 0xffff })]
        });
    }
    recording.finish();
}
