//! PTX ISA 9.7.18.

use warploom_numerics::compare::Relation;
use warploom_numerics::video::{Kind as Operation, Mad, Part, Second, Simd, Types, mad, scalar, simd};

use crate::name::Name;
use crate::recording::{Kind, Recording};

fn part(text: &str) -> Part {
    match text.split_at(1) {
        ("b", index) => Part::Byte(index.parse().expect("a byte")),
        (_, index) => Part::Half(index.parse().expect("a half")),
    }
}

fn operation(name: &Name<'_>) -> Operation {
    let wrap = name.has("wrap");
    let relation = || match () {
        () if name.has("eq") => Relation::Eq,
        () if name.has("ne") => Relation::Ne,
        () if name.has("lt") => Relation::Lt,
        () if name.has("le") => Relation::Le,
        () if name.has("gt") => Relation::Gt,
        () => Relation::Ge,
    };
    match name.op().trim_end_matches(['2', '4']) {
        "vadd" => Operation::Add,
        "vsub" => Operation::Sub,
        "vabsdiff" => Operation::AbsDiff,
        "vmin" => Operation::Min,
        "vmax" => Operation::Max,
        "vavrg" => Operation::Average,
        "vshl" => Operation::Shl { wrap },
        "vshr" => Operation::Shr { wrap },
        "vset" => Operation::Set(relation()),
        other => panic!("{other}"),
    }
}

fn types(name: &Name<'_>) -> Types {
    let signed = |index: usize| name.parts[index].starts_with('s');
    let sat = name.has("sat");
    if name.op().starts_with("vset") {
        // The result has no type of its own: it is unsigned.
        return Types { d_signed: false, a_signed: signed(1), b_signed: signed(2), sat };
    }
    Types { d_signed: signed(1), a_signed: signed(2), b_signed: signed(3), sat }
}

/// The selectors behind the name: `a.h1`, `d.b2`.
fn selector<'a>(text: &'a str, operand: &str) -> Option<&'a str> {
    text.split(' ').skip(1).find_map(|word| word.strip_prefix(operand)?.strip_prefix('.'))
}

fn lanes(selector: Option<&str>, default: &str) -> [u8; 4] {
    let digits = selector.map_or(default, |text| &text[1..]);
    let mut lanes = [0; 4];
    // The leftmost digit is the highest lane.
    for (lane, digit) in lanes.iter_mut().zip(digits.bytes().rev()) {
        *lane = digit - b'0';
    }
    lanes
}

#[test]
fn video_instructions_agree_with_the_hardware() {
    let mut recording = Recording::open("video");
    for text in recording.names() {
        let name = Name::of(&text);
        if name.op().ends_with(['2', '4']) {
            packed(&mut recording, &text, &name);
        } else if name.op() == "vmad" {
            multiplied(&mut recording, &text, &name);
        } else {
            plain(&mut recording, &text, &name);
        }
    }
    recording.finish();
}

fn plain(recording: &mut Recording, text: &str, name: &Name<'_>) {
    let merged = selector(text, "d").map(part);
    let rest = if name.op() == "vset" { 4 } else { 3 };
    let after = &name.parts[rest.min(name.parts.len())..];
    let second = match merged {
        Some(part) => Second::Merge(part),
        None if after.contains(&"add") => Second::Add,
        None if after.contains(&"min") => Second::Min,
        None if after.contains(&"max") => Second::Max,
        None => Second::None,
    };
    let parts = ["a", "b"].map(|operand| selector(text, operand).map_or(Part::Word, part));
    let b = if name.op().starts_with("vsh") { "sh.b" } else { "i32.b" };
    let ins: &[&str] = if second == Second::None { &["i32.a", b] } else { &["i32.a", b, "i32.c"] };
    let (operation, types) = (operation(name), types(name));
    recording.check(text, ins, &[Kind::Bits(32)], |x| {
        let c = x.get(2).copied().unwrap_or_default() as u32;
        vec![scalar(operation, types, parts, second, x[0] as u32, x[1] as u32, c).into()]
    });
}

fn multiplied(recording: &mut Recording, text: &str, name: &Name<'_>) {
    let shift = if name.has("shr7") {
        7
    } else if name.has("shr15") {
        15
    } else {
        0
    };
    let how =
        Mad { shift, plus_one: name.has("po"), negate_product: text.ends_with(" -a"), negate_c: text.ends_with(" -c") };
    let parts = if text.ends_with(" sel") { [Part::Half(1), Part::Byte(2)] } else { [Part::Word; 2] };
    let types = types(name);
    recording.check(text, &["i32.a", "i32.b", "i32.c"], &[Kind::Bits(32)], |x| {
        vec![mad(how, types, parts, x[0] as u32, x[1] as u32, x[2] as u32).into()]
    });
}

fn packed(recording: &mut Recording, text: &str, name: &Name<'_>) {
    let count = if name.op().ends_with('2') { 2 } else { 4 };
    let (first, second) = if count == 2 { ("10", "32") } else { ("3210", "7654") };
    let mask =
        selector(text, "d").map_or(0b1111, |text| text[1..].bytes().fold(0, |mask, digit| mask | 1 << (digit - b'0')));
    let how = Simd {
        lanes: count,
        kind: operation(name),
        types: types(name),
        a_lanes: lanes(selector(text, "a"), first),
        b_lanes: lanes(selector(text, "b"), second),
        mask,
        accumulate: name.has("add"),
    };
    let ins = if count == 2 { ["i16x2.a", "i16x2.b", "i16x2.c"] } else { ["i8x4.a", "i8x4.b", "i32.c"] };
    recording.check(text, &ins, &[Kind::Bits(32)], |x| vec![simd(&how, x[0] as u32, x[1] as u32, x[2] as u32).into()]);
}
