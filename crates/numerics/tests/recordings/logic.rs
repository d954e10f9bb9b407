//! PTX ISA 9.7.8, and `prmt`.

use warploom_numerics::logic::{self, Permute};

use crate::name::Name;
use crate::recording::{Kind, Recording};

fn hexadecimal(text: &str) -> u64 {
    let digits = text.rsplit("0x").next().expect("a constant");
    u64::from_str_radix(digits, 16).expect("hexadecimal")
}

fn shift(name: &Name<'_>, a: u64, amount: u32) -> u64 {
    if name.op() == "shl" {
        return match name.ty() {
            "b16" => logic::shl(a as u16, amount).into(),
            "b32" => logic::shl(a as u32, amount).into(),
            _ => logic::shl(a, amount),
        };
    }
    match name.ty() {
        "b16" | "u16" => logic::shr(a as u16, amount).into(),
        "b32" | "u32" => logic::shr(a as u32, amount).into(),
        "b64" | "u64" => logic::shr(a, amount),
        "s16" => logic::shr(a as i16, amount) as u16 as u64,
        "s32" => logic::shr(a as i32, amount) as u32 as u64,
        _ => logic::shr(a as i64, amount) as u64,
    }
}

fn mode(name: &Name<'_>) -> Permute {
    match name.ty() {
        "f4e" => Permute::Forward4,
        "b4e" => Permute::Backward4,
        "rc8" => Permute::Replicate8,
        "ecl" => Permute::EdgeClampLeft,
        "ecr" => Permute::EdgeClampRight,
        "rc16" => Permute::Replicate16,
        _ => Permute::Index,
    }
}

#[test]
fn shifts_and_tables_agree_with_the_hardware() {
    let mut recording = Recording::open("logic");
    for text in recording.names() {
        let name = Name::of(&text);
        let immediate = text.split(" imm ").nth(1);
        match name.op() {
            // The host's operators.
            "and" | "or" | "xor" | "not" | "cnot" => {
                recording.left.remove(&text);
            }
            "shl" | "shr" => {
                let width: usize = name.ty()[1..].parse().expect("a width");
                let amount = immediate.map(|text| text.parse::<u32>().expect("an amount"));
                let own = format!("i{width}.{}", if amount.is_some() { "u" } else { "a" });
                let ins: &[&str] = if amount.is_some() { &[&own] } else { &[&own, "sh.b"] };
                recording.check(&text, ins, &[Kind::Bits(width)], |x| {
                    vec![shift(&name, x[0], amount.unwrap_or_else(|| x[1] as u32))]
                });
            }
            "lop3" if name.parts.len() == 3 => {
                let table = hexadecimal(&text) as u8;
                let ins = ["i32.a", "i32.b", "i32.c", "pr.c"];
                recording.check(&text, &ins, &[Kind::Bits(32), Kind::Predicate], |x| {
                    let value = logic::lop3(x[0] as u32, x[1] as u32, x[2] as u32, table);
                    let (differs, q) = (value != 0, x[3] != 0);
                    vec![value.into(), u64::from(if name.has("or") { differs | q } else { differs & q })]
                });
            }
            "lop3" => {
                let table = hexadecimal(&text) as u8;
                recording.check(&text, &["i32.a", "i32.b", "i32.c"], &[Kind::Bits(32)], |x| {
                    vec![logic::lop3(x[0] as u32, x[1] as u32, x[2] as u32, table).into()]
                });
            }
            "shf" => {
                let amount = immediate.map(|text| text.parse::<u32>().expect("an amount"));
                let ins: &[&str] = if amount.is_some() { &["i32.a", "i32.b"] } else { &["i32.a", "i32.b", "sh.c"] };
                recording.check(&text, ins, &[Kind::Bits(32)], |x| {
                    let amount = amount.unwrap_or_else(|| x[2] as u32);
                    vec![logic::shf(x[0] as u32, x[1] as u32, amount, name.has("l"), name.has("wrap")).into()]
                });
            }
            "prmt" => {
                let selector = immediate.map(hexadecimal);
                let ins: &[&str] = if selector.is_some() { &["i32.a", "i32.b"] } else { &["i32.a", "i32.b", "sel.c"] };
                recording.check(&text, ins, &[Kind::Bits(32)], |x| {
                    let selector = selector.unwrap_or_else(|| x[2]) as u32;
                    vec![logic::prmt(x[0] as u32, x[1] as u32, selector, mode(&name)).into()]
                });
            }
            other => panic!("{other}"),
        }
    }
    recording.finish();
}
