//! Instructions made from the forms, for tests and tables: every word of every slot at least once.

use super::{Count, Form, Opcode, OperandKind, OperandSpec, TypeRef, examples};
use crate::ir::ScalarType;

/// Registers of every declarable type, for [`instances`].
pub const DECLARATIONS: &str = "
  .reg .pred %pred<8>; .reg .b8 %b8x<8>; .reg .b16 %b16x<8>; .reg .b32 %b32x<40>; .reg .b64 %b64x<40>; .reg .b128 %b128x<8>;
  .reg .f32 %f32x<40>; .reg .f64 %f64x<8>;";

/// A mnemonic that takes `choice[i]` of slot `i`, with its captured types and vector length.
struct Chosen<'f> {
    text: String,
    types: Vec<ScalarType>,
    vector: usize,
    words: Vec<&'f str>,
    is_surface: bool,
}

/// Coordinates for a geometry, as they are written.
fn coordinates(word: &str) -> Option<&'static str> {
    match word {
        "1d" => Some("%b32x1"),
        "2d" | "a1d" => Some("%b32x1, %b32x2"),
        "3d" | "a2d" => Some("%b32x1, %b32x2, %b32x3, %b32x4"),
        _ => None,
    }
}

fn choose<'f>(opcode: Opcode, form: &'f Form, choice: &[Option<usize>]) -> Chosen<'f> {
    let mut chosen = Chosen {
        text: opcode.text().to_owned(),
        types: Vec::new(),
        vector: 1,
        words: Vec::new(),
        is_surface: matches!(opcode, Opcode::Suld | Opcode::Sust | Opcode::Sured),
    };
    for (slot, choice) in form.slots.iter().zip(choice) {
        let Some(index) = choice else { continue };
        let word = slot.words[*index].0;
        // The tables' only patterns are the N of wgmma shapes and the matrix that a collector buffer holds.
        let word = if word == "m64n*" { "m64n8k16" } else { word.trim_end_matches('*') };
        chosen.text.push('.');
        chosen.text.push_str(word);
        chosen.words.push(word);
        if slot.is_type {
            chosen.types.extend(ScalarType::from_text(word));
        }
        chosen.vector = match word {
            "v2" => 2,
            "v4" => 4,
            "v8" => 8,
            _ => chosen.vector,
        };
    }
    chosen
}

fn register(ty: ScalarType, index: usize) -> String {
    let name = match ty {
        ScalarType::Pred => return format!("%pred{}", index % 8),
        ScalarType::F32 => "f32x".to_owned(),
        ScalarType::F64 => "f64x".to_owned(),
        ty => format!("b{}x", ty.to_bits().bits().max(8)),
    };
    format!("%{name}{}", index % 8)
}

fn operand(spec: &OperandSpec, chosen: &Chosen<'_>, index: usize) -> Option<String> {
    let resolve = |ty: TypeRef| match ty {
        TypeRef::Fixed(ty) => ty,
        TypeRef::Captured(at) => chosen.types.get(usize::from(at)).copied().unwrap_or(ScalarType::B32),
        TypeRef::Wide(at) => match chosen.types.get(usize::from(at)).map_or(32, |ty| ty.bits()) {
            16 => ScalarType::B32,
            _ => ScalarType::B64,
        },
    };
    let count = match spec.count {
        Count::Scalar => 1,
        Count::Fixed(count) => usize::from(count),
        Count::Modifier => chosen.vector,
    };
    let vector = |ty: ScalarType| {
        if count == 1 {
            return register(ty, index);
        }
        let elements: Vec<String> = (0..count).map(|at| register(ty, index + at)).collect();
        format!("{{{}}}", elements.join(", "))
    };
    Some(match spec.kind {
        OperandKind::Dst { ty, second: Some((second, _)) } => {
            format!("{}|{}", register(resolve(ty), index), register(resolve(second), index + 1))
        }
        OperandKind::Dst { ty, second: None } | OperandKind::Src(ty) => vector(resolve(ty)),
        OperandKind::Pred => register(ScalarType::Pred, 2),
        OperandKind::Const => match chosen.text.split('.').next() {
            Some("applypriority" | "discard" | "fence" | "tensormap") => "128".to_owned(),
            Some("setmaxnreg") => "64".to_owned(),
            Some("pmevent") => "8".to_owned(),
            _ => "16".to_owned(),
        },
        OperandKind::Address => {
            match chosen.words.iter().find_map(|word| coordinates(word)).filter(|_| chosen.is_surface) {
                Some(coordinates) => format!("[%b64x1, {{{coordinates}}}]"),
                None => "[%b64x1]".to_owned(),
            }
        }
        OperandKind::Any | OperandKind::Rest => return None,
    })
}

/// The instances of a form, and of one that leaves operands to the lowering also examples: at least one of every form.
pub fn all_instances(opcode: Opcode, form: &Form) -> Vec<String> {
    let mut out = instances(opcode, form);
    out.extend(examples::of(form));
    out
}

/// The instances of a form whose operands the table describes; none if it leaves them to the lowering.
pub fn instances(opcode: Opcode, form: &Form) -> Vec<String> {
    let least: Vec<Option<usize>> = form.slots.iter().map(|slot| (!slot.optional).then_some(0)).collect();
    let mut choices = vec![least.clone()];
    for (at, slot) in form.slots.iter().enumerate() {
        for index in 0..slot.words.len() {
            let mut choice = least.clone();
            if choice[at] != Some(index) {
                choice[at] = Some(index);
                choices.push(choice);
            }
        }
    }
    let mut out = Vec::new();
    for choice in choices {
        let chosen = choose(opcode, form, &choice);
        let written: Option<Vec<String>> = form
            .operands
            .iter()
            .filter(|spec| !spec.optional || spec.kind == OperandKind::Rest)
            .enumerate()
            .map(|(index, spec)| operand(spec, &chosen, index))
            .collect();
        if let Some(written) = written {
            out.push(format!("{} {};", chosen.text, written.join(", ")));
        }
    }
    out
}
