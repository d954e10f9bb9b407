//! PTX ISA 9.7.1 and 9.7.2.

use warploom_numerics::extended;
use warploom_numerics::integer::{self, Integer};

use crate::name::Name;
use crate::recording::{Kind, Recording};

/// A type's operations that the definitions leave to the host.
trait Host: Integer + Into<i128> + Ord {
    fn wrap(value: i128) -> Self;
}

macro_rules! hosts {
    ($($ty:ty),*) => {$(
        impl Host for $ty {
            fn wrap(value: i128) -> Self {
                value as $ty
            }
        }
    )*};
}

hosts!(u16, i16, u32, i32, u64, i64);

/// The result as recorded: the low bits, zero-extended.
fn bits<T: Host>(value: T) -> u64 {
    let wide: i128 = value.into();
    wide as u64 & if T::BITS == 64 { u64::MAX } else { (1 << T::BITS) - 1 }
}

fn evaluate<T: Host>(name: &Name<'_>, x: &[u64]) -> u64 {
    let operand = |index: usize| T::truncate(x[index]);
    let wide = |index: usize| -> i128 { operand(index).into() };
    let high = name.has("hi");
    let word = |index: usize| x[index] as u32;
    let saturated = |value: i128| value.clamp(i32::MIN.into(), i32::MAX.into());
    match name.op() {
        "add" if name.has("sat") => bits(T::wrap(saturated(wide(0) + wide(1)))),
        "sub" if name.has("sat") => bits(T::wrap(saturated(wide(0) - wide(1)))),
        "add" => bits(T::wrap(wide(0) + wide(1))),
        "sub" => bits(T::wrap(wide(0) - wide(1))),
        "mul" | "mad" if name.has("wide") => {
            let c = if name.op() == "mad" { x[2] } else { 0 };
            let sum = ((wide(0) * wide(1)) as u64).wrapping_add(c);
            if T::BITS == 32 { sum } else { sum & u64::from(u32::MAX) }
        }
        "mul" if high => bits(integer::mul_high(operand(0), operand(1))),
        "mul" => bits(T::wrap(wide(0).wrapping_mul(wide(1)))),
        "mad" if name.has("sat") => {
            bits(T::wrap(saturated(integer::mul_high(operand(0), operand(1)).into() + wide(2))))
        }
        "mad" if high => bits(T::wrap(integer::mul_high(operand(0), operand(1)).into() + wide(2))),
        "mad" => bits(T::wrap(wide(0).wrapping_mul(wide(1)).wrapping_add(wide(2)))),
        "mul24" => integer::mul24(word(0), word(1), name.ty() == "s32", high).into(),
        "mad24" => {
            let product = integer::mul24(word(0), word(1), name.ty() == "s32", high);
            let sum = if name.has("sat") {
                (product as i32).saturating_add(x[2] as i32) as u32
            } else {
                product.wrapping_add(word(2))
            };
            sum.into()
        }
        "sad" => bits(integer::sad(operand(0), operand(1), operand(2))),
        "div" => bits(integer::div(operand(0), operand(1))),
        "rem" => bits(integer::rem(operand(0), operand(1))),
        "min" if name.has("relu") => bits(operand(0).min(operand(1)).max(T::ZERO)),
        "max" if name.has("relu") => bits(operand(0).max(operand(1)).max(T::ZERO)),
        "min" => bits(operand(0).min(operand(1))),
        "max" => bits(operand(0).max(operand(1))),
        "abs" => bits(T::wrap(wide(0).abs())),
        "neg" => bits(T::wrap(-wide(0))),
        "popc" => x[0].count_ones().into(),
        "clz" => u64::from(x[0].leading_zeros() - (64 - T::BITS)),
        "brev" => x[0].reverse_bits() >> (64 - T::BITS),
        "bfind" => integer::bfind(operand(0), name.has("shiftamt")).into(),
        "bfe" => bits(integer::bfe(operand(0), word(1), word(2))),
        "bfi" if T::BITS == 64 => integer::bfi64(x[0], x[1], word(2), word(3)),
        "bfi" => integer::bfi32(word(0), word(1), word(2), word(3)).into(),
        "fns" => integer::fns(word(0), word(1), x[2] as i32).into(),
        "szext" => integer::szext(word(0), word(1), name.ty() == "s32", name.has("wrap")).into(),
        "bmsk" => integer::bmsk(word(0), word(1), name.has("wrap")).into(),
        "dp4a" => integer::dp4a(word(0), word(1), word(2), name.destination() == "s32", name.ty() == "s32").into(),
        "dp2a" => {
            let (a_signed, b_signed) = (name.destination() == "s32", name.ty() == "s32");
            integer::dp2a(word(0), word(1), word(2), a_signed, b_signed, name.has("hi")).into()
        }
        other => panic!("{other}"),
    }
}

fn packed(name: &Name<'_>, a: u16, b: u16) -> u16 {
    let signed = name.ty().starts_with('s');
    let below = if signed { (a as i16) < b as i16 } else { a < b };
    let lower = if below { a } else { b };
    let upper = if below { b } else { a };
    let result = match name.op() {
        "add" => a.wrapping_add(b),
        "min" => lower,
        _ => upper,
    };
    if name.has("relu") && (result as i16) < 0 { 0 } else { result }
}

fn by_type(name: &Name<'_>, x: &[u64]) -> u64 {
    match name.ty() {
        "u16" => evaluate::<u16>(name, x),
        "s16" => evaluate::<i16>(name, x),
        "u32" | "b32" => evaluate::<u32>(name, x),
        "s32" => evaluate::<i32>(name, x),
        "u64" | "b64" => evaluate::<u64>(name, x),
        "s64" => evaluate::<i64>(name, x),
        _ => integer::halves(x[0] as u32, x[1] as u32, |a, b| packed(name, a, b)).into(),
    }
}

/// The arrays that an instruction of the sweep reads.
fn inputs(name: &Name<'_>, immediate: bool) -> Vec<String> {
    let own = |slot: &str| match name.ty() {
        "u16x2" | "s16x2" => format!("i16x2.{slot}"),
        ty => format!("i{}.{slot}", &ty[1..]),
    };
    let list = |slots: &[&str]| slots.iter().map(|slot| own(slot)).collect::<Vec<_>>();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    match name.op() {
        _ if immediate => list(&["u"]),
        "abs" | "neg" | "popc" | "clz" | "brev" | "bfind" => list(&["u"]),
        "bfe" => [list(&["a"]), names(&["pos.b", "pos.c"])].concat(),
        "bfi" => [list(&["a", "b"]), names(&["pos.b", "pos.c"])].concat(),
        "fns" => names(&["i32.a", "base.b", "off.c"]),
        "szext" => names(&["i32.a", "sh.b"]),
        "bmsk" => names(&["pos.b", "sh.c"]),
        "dp4a" => names(&["i8x4.a", "i8x4.b", "i32.c"]),
        "dp2a" => names(&["i16x2.a", "i8x4.b", "i32.c"]),
        "mad" if name.has("wide") => {
            [list(&["a", "b"]), vec![format!("i{}.c", 2 * name.ty()[1..].parse::<u32>().expect("a width"))]].concat()
        }
        "mad" | "mad24" | "sad" => list(&["a", "b", "c"]),
        _ => list(&["a", "b"]),
    }
}

fn kind(name: &Name<'_>) -> Kind {
    let own = match name.ty() {
        "u16x2" | "s16x2" => 32,
        ty => ty[1..].parse().expect("a width"),
    };
    match name.op() {
        "popc" | "clz" | "bfind" => Kind::Bits(32),
        _ if name.has("wide") => Kind::Bits(2 * own),
        _ => Kind::Bits(own),
    }
}

#[test]
fn arithmetic_agrees_with_the_hardware() {
    let mut recording = Recording::open("int");
    for text in recording.names() {
        let name = Name::of(&text);
        if text.starts_with("div+rem") {
            by_constant(&mut recording, &text);
            continue;
        }
        let immediate: Option<Vec<u64>> = match text.split(" imm ").nth(1) {
            Some(list) => Some(list.split(',').map(number).collect()),
            None if text.ends_with("in place") => Some(vec![5, 11]),
            None => None,
        };
        let in_place = text.ends_with("in place");
        let ins = if in_place { inputs(&name, false)[..2].to_vec() } else { inputs(&name, immediate.is_some()) };
        let ins: Vec<&str> = ins.iter().map(String::as_str).collect();
        recording.check(&text, &ins, &[kind(&name)], |x| {
            let operands: Vec<u64> = x.iter().copied().chain(immediate.iter().flatten().copied()).collect();
            vec![by_type(&name, &operands)]
        });
    }
    recording.finish();
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).expect("hexadecimal"),
        None => text.parse::<i128>().expect("decimal") as u64,
    }
}

/// `div+rem.TYPE by constant N`
fn by_constant(recording: &mut Recording, text: &str) {
    let ty = &text["div+rem.".len().."div+rem.".len() + 3];
    let divisor = number(text.rsplit(' ').next().expect("a constant"));
    let (div, rem) = (format!("div.{ty}"), format!("rem.{ty}"));
    let width = ty[1..].parse().expect("a width");
    recording.check(text, &[&format!("i{width}.u")], &[Kind::Bits(width); 2], |x| {
        [&div, &rem].map(|name| by_type(&Name::of(name), &[x[0], divisor])).to_vec()
    });
}

/// One instruction of a chain: operands are input letters, results of earlier ones (`d`, `e`, ...) or 0.
struct Step {
    name: String,
    operands: Vec<char>,
    result: char,
}

/// What the sweep's bodies do, by their names.
fn chain(text: &str) -> Vec<Step> {
    let ty =
        text.split(' ').next().and_then(|first| first.rsplit('.').next()).unwrap_or_default().trim_end_matches(';');
    let step = |name: &str, operands: &str, result: char| Step {
        name: name.to_owned(),
        operands: operands.chars().collect(),
        result,
    };
    if text.contains("chain of 4") {
        let op = if text.starts_with("addc") { "add" } else { "sub" };
        return vec![
            step(&format!("{op}.cc.{ty}"), "ab", 'd'),
            step(&format!("{op}c.cc.{ty}"), "ac", 'e'),
            step(&format!("{op}c.cc.{ty}"), "bx", 'f'),
            step(&format!("{op}c.{ty}"), "cx", 'g'),
        ];
    }
    if text.starts_with("128") {
        let ty = text.rsplit('.').next().expect("a type");
        return vec![
            step(&format!("mul.lo.{ty}"), "ab", 'd'),
            step(&format!("mul.hi.{ty}"), "ab", 'e'),
            step(&format!("mad.lo.cc.{ty}"), "axe", 'e'),
            step(&format!("madc.hi.{ty}"), "ax0", 'f'),
            step(&format!("mad.lo.cc.{ty}"), "cbe", 'e'),
            step(&format!("madc.hi.cc.{ty}"), "cbf", 'f'),
            step(&format!("addc.{ty}"), "00", 'g'),
        ];
    }
    let names: Vec<&str> = text.split("; ").collect();
    let mut steps = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let multiplies = name.starts_with("mad");
        let operands = match (index, names.len()) {
            _ if multiplies => "abc",
            (0, _) if names.iter().any(|name| name.starts_with("madc")) => "cx",
            (0, _) => "ab",
            (1, 3) => "cx",
            _ => "00",
        };
        steps.push(step(name, operands, (b'd' + index as u8) as char));
    }
    steps
}

/// Runs a chain; `high` is the type's `mul.hi` on bits.
fn run<U: Host + extended::Carrying>(
    steps: &[Step],
    x: &[u64],
    outputs: usize,
    high: impl Fn(u64, u64) -> u64,
) -> Vec<u64> {
    let mut values = vec![('0', 0)];
    values.extend("abcx".chars().zip(x.iter().copied()));
    let mut carry = false;
    for step in steps {
        let name = Name::of(&step.name);
        let value = |index: usize| {
            let letter = step.operands[index];
            values.iter().rev().find(|(name, _)| *name == letter).expect("a value").1
        };
        let operand = |index: usize| U::truncate(value(index));
        let product = || {
            let low = value(0).wrapping_mul(value(1));
            U::truncate(if name.has("hi") { high(value(0), value(1)) } else { low })
        };
        let takes = name.op().ends_with('c');
        let (sum, out) = match name.op().trim_end_matches('c') {
            "sub" => extended::sub(operand(0), operand(1), !takes || carry),
            "add" => extended::add(operand(0), operand(1), takes && carry),
            "mul" => (product(), false),
            _ => extended::add(product(), operand(2), takes && carry),
        };
        if name.has("cc") {
            carry = out;
        }
        values.push((step.result, bits(sum)));
    }
    let result = |letter: char| values.iter().rev().find(|(name, _)| *name == letter).expect("a result").1;
    "defg".chars().take(outputs).map(result).collect()
}

fn mul_high<T: Host>(a: u64, b: u64) -> u64 {
    bits(integer::mul_high(T::truncate(a), T::truncate(b)))
}

#[test]
fn carries_agree_with_the_hardware() {
    let mut recording = Recording::open("int-cc");
    for text in recording.names() {
        let steps = chain(&text);
        let ty = Name::of(&steps[0].name).ty().to_owned();
        let width: usize = ty[1..].parse().expect("a width");
        let letters: Vec<char> =
            "abcx".chars().filter(|letter| steps.iter().any(|step| step.operands.contains(letter))).collect();
        let last = letters.last().copied().expect("an operand");
        let ins: Vec<String> = "abcx"
            .chars()
            .take_while(|letter| "abcx".find(*letter) <= "abcx".find(last))
            .map(|letter| format!("i{width}.{}", if letter == 'x' { 'u' } else { letter }))
            .collect();
        let ins: Vec<&str> = ins.iter().map(String::as_str).collect();
        let outputs = "defg".chars().filter(|letter| steps.iter().any(|step| step.result == *letter)).count();
        let kinds = vec![Kind::Bits(width); outputs];
        recording.check(&text, &ins, &kinds, |x| match ty.as_str() {
            "u32" => run::<u32>(&steps, x, outputs, mul_high::<u32>),
            "s32" => run::<u32>(&steps, x, outputs, mul_high::<i32>),
            "u64" => run::<u64>(&steps, x, outputs, mul_high::<u64>),
            _ => run::<u64>(&steps, x, outputs, mul_high::<i64>),
        });
    }
    recording.finish();
}
