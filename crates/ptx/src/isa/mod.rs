//! The instruction registry: which instructions PTX has, with which modifiers, types and operands, and since when.
//!
//! Facts only, in the notation of [`form`]; what an instruction does is decided by [`crate::lower`], which turns a matched form
//! into IR. One file per family, in the order of the manual.

mod asynchronous;
mod compare;
mod control;
mod examples;
mod float;
pub mod form;
pub mod instances;
mod integer;
mod matching;
mod matrix;
mod movement;
mod opcode;
mod synchronization;
mod texture;
mod video;
mod words;

pub use form::{Count, Form, Needs, OperandKind, OperandSpec, Slot, TypeRef};
pub use matching::{Candidate, Mismatch, Mnemonic, Modifiers};
pub use opcode::Opcode;

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

/// Sections of the manual, and the forms of their instructions.
const FAMILIES: &[(&str, &[&str])] = &[
    ("Integer arithmetic and extended precision (9.7.1, 9.7.2)", integer::FORMS),
    ("Floating point: single, double, half and mixed precision (9.7.3 to 9.7.5)", float::FORMS),
    ("Comparison, selection, logic and shift (9.7.6 to 9.7.8)", compare::FORMS),
    ("Data movement and conversion (9.7.9)", movement::FORMS),
    ("Asynchronous copies and tensor maps (9.7.9.25 to 9.7.9.27)", asynchronous::FORMS),
    ("Textures and surfaces (9.7.10, 9.7.11)", texture::FORMS),
    ("Control flow, stack manipulation and miscellaneous (9.7.12, 9.7.17, 9.7.19)", control::FORMS),
    ("Parallel synchronisation and communication (9.7.13)", synchronization::FORMS),
    ("Matrices (9.7.14 to 9.7.16)", matrix::FORMS),
    ("Video (9.7.18)", video::FORMS),
];

struct Entry {
    opcode: Opcode,
    lines: Vec<&'static str>,
    forms: OnceLock<Vec<Form>>,
}

static REGISTRY: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let mut registry: HashMap<&'static str, Entry> = HashMap::new();
    for line in FAMILIES.iter().flat_map(|(_, lines)| *lines) {
        let end = line.find(['.', ' ']).unwrap_or(line.len());
        let word = &line[..end];
        let opcode = Opcode::from_text(word).unwrap_or_else(|| panic!("instruction table: opcode of `{line}`"));
        let entry = registry.entry(word);
        entry.or_insert_with(|| Entry { opcode, lines: Vec::new(), forms: OnceLock::new() }).lines.push(line);
    }
    registry
});

/// The opcode spelt `text` and all its forms; they are read from the tables at the first use of the opcode.
pub fn forms(text: &str) -> Option<(Opcode, &'static [Form])> {
    let entry = REGISTRY.get(text)?;
    Some((entry.opcode, entry.forms.get_or_init(|| entry.lines.iter().map(|line| Form::read(line)).collect())))
}

/// Every form of every instruction, opcode by opcode in the order of the manual.
pub fn all_forms() -> impl Iterator<Item = (Opcode, &'static Form)> {
    Opcode::ALL
        .iter()
        .filter_map(|opcode| forms(opcode.text()))
        .flat_map(|(opcode, f)| f.iter().map(move |form| (opcode, form)))
}

/// The sections of the manual, each with its forms as the manual has them.
pub fn sections() -> impl Iterator<Item = (&'static str, impl Iterator<Item = (Opcode, &'static Form)>)> {
    let of = |line: &'static str| {
        let (opcode, forms) = forms(&line[..line.find(['.', ' ']).unwrap_or(line.len())])?;
        Some((opcode, forms.iter().find(|form| form.text == line)?))
    };
    FAMILIES.iter().map(move |(title, lines)| (*title, lines.iter().filter_map(move |line| of(line))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line of the tables is well-formed and every opcode has forms.
    #[test]
    fn tables_read() {
        for opcode in Opcode::ALL {
            assert!(!forms(opcode.text()).expect("opcode without forms").1.is_empty());
        }
        assert!(all_forms().count() > 300);
    }
}
