//! PTX ISA 9.7.9.21 and 9.7.9.22.

use warploom_numerics::convert::{self, Integer, Narrowing};
use warploom_numerics::float;
use warploom_numerics::format::{Bf16, E4m3, E5m2, F16, Format, widen};

use crate::name::Name;
use crate::recording::{Kind, Recording};

/// A source value as the conversion sees it.
#[derive(Clone, Copy)]
enum Value {
    Signed(i64),
    Unsigned(u64),
    Single(f32),
    Double(f64),
}

fn read(ty: &str, bits: u64) -> Value {
    match ty {
        "s8" => Value::Signed((bits as i8).into()),
        "s16" => Value::Signed((bits as i16).into()),
        "s32" => Value::Signed((bits as i32).into()),
        "s64" => Value::Signed(bits as i64),
        "u8" => Value::Unsigned((bits as u8).into()),
        "u16" => Value::Unsigned((bits as u16).into()),
        "u32" => Value::Unsigned((bits as u32).into()),
        "u64" => Value::Unsigned(bits),
        "f16" => Value::Single(widen::<F16>(bits as u32)),
        "bf16" => Value::Single(widen::<Bf16>(bits as u32)),
        "f32" => Value::Single(f32::from_bits(bits as u32)),
        "f64" => Value::Double(f64::from_bits(bits)),
        other => panic!("{other}"),
    }
}

/// To an integer, sign- or zero-extended to 64 bits.
fn to_integer<D: Integer + Into<i128>>(name: &Name<'_>, value: Value, cut: impl Fn(u64) -> D) -> u64 {
    let rounding = name.rounding();
    let result: D = match value {
        Value::Signed(value) if name.has("sat") => D::from_i64(value),
        Value::Unsigned(value) if name.has("sat") => D::from_u64(value),
        Value::Signed(value) => cut(value as u64),
        Value::Unsigned(value) => cut(value),
        Value::Single(value) => convert::integer_from_f32(float::flush(value, name.has("ftz")), rounding),
        Value::Double(value) => convert::integer_from_f64(value, rounding),
    };
    let wide: i128 = result.into();
    wide as u64
}

fn narrowing(name: &Name<'_>) -> Narrowing {
    let (satfinite, relu, sat) = (name.has("satfinite"), name.has("relu"), name.has("sat"));
    Narrowing { rounding: name.rounding(), satfinite, relu, sat }
}

fn to_narrow<F: Format>(name: &Name<'_>, value: Value) -> u64 {
    let how = narrowing(name);
    u64::from(match value {
        Value::Signed(value) => convert::narrow_integer::<F, _>(value, how.rounding, how.sat),
        Value::Unsigned(value) => convert::narrow_integer::<F, _>(value, how.rounding, how.sat),
        Value::Single(value) => {
            // `.ftz` has no effect on `.f16`.
            let value = float::flush(value, name.has("ftz") && name.destination() == "bf16");
            let integral = ["rni", "rzi", "rmi", "rpi"].iter().any(|rounding| name.has(rounding));
            let value = if integral { convert::integral(value, how.rounding) } else { value };
            convert::to_format::<F>(value.into(), how)
        }
        Value::Double(value) => convert::from_f64::<F>(value, how),
    })
}

fn converted(name: &Name<'_>, bits: u64) -> u64 {
    let (rounding, ftz, sat) = (name.rounding(), name.has("ftz"), name.has("sat"));
    let integral = ["rni", "rzi", "rmi", "rpi"].iter().any(|rounding| name.has(rounding)).then_some(rounding);
    let value = read(name.ty(), bits);
    match name.destination() {
        "u8" => to_integer::<u8>(name, value, |bits| bits as u8),
        "s8" => to_integer::<i8>(name, value, |bits| bits as i8),
        "u16" => to_integer::<u16>(name, value, |bits| bits as u16),
        "s16" => to_integer::<i16>(name, value, |bits| bits as i16),
        "u32" => to_integer::<u32>(name, value, |bits| bits as u32),
        "s32" => to_integer::<i32>(name, value, |bits| bits as i32),
        "u64" => to_integer::<u64>(name, value, |bits| bits),
        "s64" => to_integer::<i64>(name, value, |bits| bits as i64),
        "f16" => to_narrow::<F16>(name, value),
        "bf16" => to_narrow::<Bf16>(name, value),
        "f32" => u64::from(
            match value {
                Value::Signed(value) => convert::f32_from_integer(value, rounding, sat),
                Value::Unsigned(value) => convert::f32_from_integer(value, rounding, sat),
                Value::Single(value) => convert::f32_from_f32(value, integral, ftz, sat),
                Value::Double(value) => convert::f32_from_f64(value, rounding, ftz, sat),
            }
            .to_bits(),
        ),
        "f64" => match value {
            Value::Signed(value) => convert::f64_from_integer(value, rounding, sat),
            Value::Unsigned(value) => convert::f64_from_integer(value, rounding, sat),
            Value::Single(value) => convert::f64_from_f32(value, ftz, sat),
            Value::Double(value) => convert::f64_from_f64(value, integral, sat),
        }
        .to_bits(),
        "tf32" => {
            let Value::Single(value) = value else { panic!("tf32 is made of f32") };
            convert::to_tf32(value, narrowing(name)).into()
        }
        other => panic!("{other}"),
    }
}

/// The array of the sweep that a type is read from.
fn array(ty: &str) -> String {
    let letter = &ty[..1];
    let name = if letter == "u" || letter == "s" { format!("i{}", &ty[1..]) } else { ty.to_owned() };
    format!("{name}.u")
}

#[test]
fn conversions_agree_with_the_hardware() {
    let mut recording = Recording::open("cvt");
    for text in recording.names() {
        let name = Name::of(&text);
        if name.has("pack") {
            packs(&mut recording, &text, &name);
        } else if name.destination().ends_with("x2") {
            pairs(&mut recording, &text, &name);
        } else {
            single(&mut recording, &text, &name);
        }
    }
    recording.finish();
}

fn single(recording: &mut Recording, text: &str, name: &Name<'_>) {
    let words: Vec<&str> = text.split(' ').collect();
    let bits = |text: &str| text.trim_start_matches('b').parse::<usize>().expect("a width");
    let source = match words.as_slice() {
        [_, "from", register, "register"] => format!("i{}.u", bits(register)),
        _ => array(name.ty()),
    };
    let eight = matches!(name.ty(), "u8" | "s8") && name.destination() == "bf16"
        || matches!(name.destination(), "u8" | "s8") && name.ty() == "bf16";
    let kind = match (words.as_slice(), name.destination()) {
        ([_, "into", register, "register"], _) => Kind::Bits(bits(register)),
        (_, "u8" | "s8") => Kind::Bits(if eight { 16 } else { 32 }),
        // What becomes of a NaN is known for this source.
        (_, "f16" | "bf16") if name.ty() == "f64" => Kind::Bits(16),
        (_, "f32") if name.ty() == "f64" => Kind::Bits(32),
        (_, "f64") if name.ty() == "f64" => Kind::Bits(64),
        (_, "f16") => Kind::F16,
        (_, "bf16") => Kind::Bf16,
        (_, "f32" | "tf32") => Kind::F32,
        (_, "f64") => Kind::F64,
        (_, integer) => Kind::Bits(integer[1..].parse().expect("a width")),
    };
    recording.check(text, &[&source], &[kind], |x| {
        let result = converted(name, x[0]);
        vec![match kind {
            Kind::Bits(64) => result,
            Kind::Bits(bits) => result & ((1 << bits) - 1),
            _ => result,
        }]
    });
}

fn pairs(recording: &mut Recording, text: &str, name: &Name<'_>) {
    let how = narrowing(name);
    let narrow = |value: f32| -> u64 {
        let value = f64::from(value);
        u64::from(match name.destination() {
            "f16x2" => convert::to_format::<F16>(value, how),
            "bf16x2" => convert::to_format::<Bf16>(value, how),
            "e4m3x2" => convert::to_format::<E4m3>(value, how),
            _ => convert::to_format::<E5m2>(value, how),
        })
    };
    let (kind, bits) = match name.destination() {
        "f16x2" => (Kind::F16x2, 16),
        "bf16x2" => (Kind::Bf16x2, 16),
        _ => (Kind::Bits(16), 8),
    };
    let ins: &[&str] = match name.ty() {
        "f32" => &["f32.u", "f32.v"],
        "f16x2" => &["f16x2.u"],
        _ => &["fp8x2.u"],
    };
    recording.check(text, ins, &[kind], |x| {
        let single = |bits: u64| f32::from_bits(bits as u32);
        let wide = |bits: u64| match name.ty() {
            "f16x2" => widen::<F16>(bits as u32 & 0xffff),
            "e4m3x2" => widen::<E4m3>(bits as u32 & 0xff),
            _ => widen::<E5m2>(bits as u32 & 0xff),
        };
        let (high, low) = match name.ty() {
            "f32" => (single(x[0]), single(x[1])),
            "f16x2" => (wide(x[0] >> 16), wide(x[0])),
            _ => (wide(x[0] >> 8), wide(x[0])),
        };
        vec![narrow(high) << bits | narrow(low)]
    });
}

fn packs(recording: &mut Recording, text: &str, name: &Name<'_>) {
    let ty = name.parts[3];
    let bits: u32 = ty[1..].parse().expect("a width");
    let small = if !text.ends_with("(small)") {
        0
    } else {
        match bits {
            2 | 4 => 28,
            8 => 22,
            _ => 14,
        }
    };
    let ins: &[&str] = if bits == 16 { &["i32.a", "i32.b"] } else { &["i32.a", "i32.b", "i32.c"] };
    recording.check(text, ins, &[Kind::Bits(32)], |x| {
        let (a, b) = (x[0] as i32 >> small, x[1] as i32 >> small);
        let c = x.get(2).copied().unwrap_or_default() as u32;
        vec![convert::pack(a, b, c, bits, ty.starts_with('s')).into()]
    });
}
