//! Opcodes and modifiers of a module, each distinct combination read once.

use super::Lowering;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{self, ScalarType};
use crate::isa::{Mismatch, Mnemonic, Needs};
use crate::syntax::ast::Instruction;
use crate::syntax::{Name, Span};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::rc::Rc;

type Key = SmallVec<[Name; 8]>;

/// What a combination of opcode and modifiers comes to in this module.
#[derive(Debug)]
pub(super) struct Read {
    /// `add.rn.f32`, in the module's list.
    pub(super) id: ir::MnemonicId,
    pub(super) mnemonic: Mnemonic,
    /// By candidate: what the module's version or target lacks.
    pub(super) unmet: Vec<Vec<String>>,
}

/// All combinations seen so far.
#[derive(Debug, Default)]
pub(super) struct Cache(HashMap<Key, Rc<Result<Read, Mismatch>>>);

impl Lowering<'_> {
    /// Reads an instruction's opcode and modifiers; `None` after reporting what is wrong with them.
    pub(super) fn mnemonic(&mut self, instruction: &Instruction) -> Option<Rc<Result<Read, Mismatch>>> {
        let ast = self.ast;
        let mut key = Key::new();
        key.push(instruction.opcode.name);
        key.extend(ast[instruction.modifiers].iter().map(|modifier| modifier.name));
        let known = self.mnemonics.0.get(&key).cloned();
        let read = known.unwrap_or_else(|| {
            let opcode = self.text(key[0]);
            let modifiers: SmallVec<[&str; 8]> = key[1..].iter().map(|name| ast.name(*name)).collect();
            let read = Mnemonic::read(opcode, &modifiers).map(|mnemonic| {
                let unmet = mnemonic.candidates.iter().map(|candidate| {
                    let own =
                        unmet(&self.module, candidate.form.needs).map(|need| format!("Feature '{opcode}' {need}"));
                    let words = candidate.modifiers.needs().filter_map(|(word, needs)| {
                        unmet(&self.module, needs).map(|need| format!("Modifier '.{word}' of '{opcode}' {need}"))
                    });
                    own.into_iter().chain(words).collect()
                });
                let unmet = unmet.collect();
                let text = std::iter::once(opcode).chain(modifiers.iter().copied()).collect::<Vec<_>>().join(".");
                self.module.mnemonics.push(text.into());
                Read { id: ir::MnemonicId(self.module.mnemonics.len() as u32 - 1), mnemonic, unmet }
            });
            let read = Rc::new(read);
            self.mnemonics.0.insert(key, Rc::clone(&read));
            read
        });
        if let Err(mismatch) = &*read {
            self.report_mismatch(instruction, mismatch);
            return None;
        }
        Some(read)
    }

    fn report_mismatch(&mut self, instruction: &Instruction, mismatch: &Mismatch) {
        let opcode = self.text(instruction.opcode.name);
        let modifiers = &self.ast[instruction.modifiers];
        let head = modifiers.last().map_or(instruction.opcode.span, |last| instruction.opcode.span.to(last.span));
        let place = |index: usize| modifiers.get(index).map_or(head, |modifier| modifier.span);
        let word = |index: usize| modifiers.get(index).map_or("", |modifier| self.text(modifier.name));
        let diagnostic = match mismatch {
            Mismatch::UnknownOpcode => {
                let message = format!("Not a name of any known instruction: '{opcode}'");
                Diagnostic::error(Code::UnknownInstruction, instruction.opcode.span, message)
            }
            Mismatch::IllegalModifier { index, known: true } => {
                let message = format!("Illegal modifier '.{}' for instruction '{opcode}'", word(*index));
                Diagnostic::error(Code::Modifier, place(*index), message)
            }
            Mismatch::IllegalModifier { index, known: false } => {
                let message = format!("Unknown modifier '.{}' of instruction '{opcode}'", word(*index));
                Diagnostic::error(Code::Modifier, place(*index), message)
            }
            Mismatch::IllegalType { index } => {
                let message = format!("Unexpected instruction types specified for '{opcode}': '.{}'", word(*index));
                Diagnostic::error(Code::Modifier, place(*index), message)
            }
            Mismatch::Missing { choices } => {
                let is_type = choices.split(", ").all(|c| ScalarType::from_text(c.trim_start_matches('.')).is_some());
                let what = if is_type { "Type" } else { "Modifier" };
                Diagnostic::error(Code::Modifier, head, format!("{what} required for instruction '{opcode}'"))
                    .note(format!("one of {choices} must stand here"))
            }
            Mismatch::Repeated { index } => {
                let message = format!("Duplicate .{} modifier", word(*index));
                Diagnostic::error(Code::Modifier, place(*index), message)
            }
            Mismatch::Conflict => {
                let message = format!("Modifiers of instruction '{opcode}' cannot stand together");
                Diagnostic::error(Code::Modifier, head, message)
            }
        };
        self.report(diagnostic);
    }

    /// Reports what the module's version or target lacks for the form that an instruction took.
    pub(super) fn report_unmet(&mut self, span: Span, read: &Read, candidate: usize) {
        for need in &read.unmet[candidate] {
            self.error(Code::Requirement, span, need.clone());
        }
    }
}

/// In words, what `module` lacks.
fn unmet(module: &ir::Module, needs: Needs) -> Option<String> {
    let (major, minor) = needs.version;
    let suffix = needs.suffix.map(String::from).unwrap_or_default();
    if needs.are_met(module.version, module.target.sm, module.target.suffix) {
        None
    } else if module.version < needs.version {
        Some(format!("requires PTX ISA .version {major}.{minor} or later"))
    } else {
        Some(format!("requires .target sm_{}{suffix}{}", needs.sm, if suffix.is_empty() { " or higher" } else { "" }))
    }
}
