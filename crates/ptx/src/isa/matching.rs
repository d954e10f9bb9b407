//! Matching the modifiers of an instruction against the forms of its opcode.
//!
//! The manual gives modifiers one order; NVIDIA's assembler takes nearly any order, and some repetitions, as long as
//! types keep theirs. So does this: first the order of the table, then any.

use super::form::{Form, Needs};
use super::opcode::Opcode;
use crate::ir::ScalarType;
use smallvec::SmallVec;
use std::cell::Cell;

/// The modifiers of an instruction as its form read them. It notes which of them lowering has asked for and found: a word that nobody has
/// read is one that the result does not express.
#[derive(Clone, Debug, Default)]
pub struct Modifiers {
    words: Vec<Box<str>>,
    /// Of each captured type, its word.
    types: SmallVec<[Option<(ScalarType, usize)>; 4]>,
    needs: Vec<(Box<str>, Needs)>,
    /// A bit for each word.
    read: Cell<u64>,
}

impl Modifiers {
    /// Whether the word (without its dot) was written.
    pub fn has(&self, word: &str) -> bool {
        self.any(|w| w == word)
    }

    /// Whether a word was written for which `is` holds; all such words are read.
    pub fn any(&self, is: impl Fn(&str) -> bool) -> bool {
        self.all(|word| is(word).then_some(())).next().is_some()
    }

    /// What `read` makes of the words that it knows, in the order of the form's slots.
    pub fn all<T>(&self, read: impl Fn(&str) -> Option<T>) -> impl Iterator<Item = T> {
        let known: Vec<T> = (0..self.words.len())
            .filter_map(|at| {
                let value = read(&self.words[at])?;
                self.note(at);
                Some(value)
            })
            .collect();
        known.into_iter()
    }

    /// The first word that `read` knows.
    pub fn find<T>(&self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (at, value) = self.words.iter().enumerate().find_map(|(at, word)| Some((at, read(word)?)))?;
        self.note(at);
        Some(value)
    }

    /// The words in the order of the form's slots. To look at them is not to read them.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|w| &**w)
    }

    /// The first word.
    pub fn first(&self) -> Option<&str> {
        let word = self.words.first()?;
        self.note(0);
        Some(word)
    }

    /// The captured type `index`.
    pub fn ty(&self, index: usize) -> Option<ScalarType> {
        let (ty, at) = self.types.get(index).copied().flatten()?;
        self.note(at);
        Some(ty)
    }

    /// Elements by `.v2`, `.v4`, `.v8`; 1 without.
    pub fn vector(&self) -> usize {
        self.find(|w| match w {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        })
        .unwrap_or(1)
    }

    /// Words that need more than their form, and what.
    pub fn needs(&self) -> impl Iterator<Item = (&str, Needs)> {
        self.needs.iter().map(|(word, needs)| (&**word, *needs))
    }

    /// Forgets what was read: another instruction with the same modifiers begins.
    pub fn begin_reading(&self) {
        self.read.set(0);
    }

    /// The words that nobody has read since.
    pub fn unread(&self) -> impl Iterator<Item = &str> {
        let read = self.read.get();
        self.words.iter().enumerate().filter(move |(at, _)| read >> at & 1 == 0).map(|(_, word)| &**word)
    }

    /// Forms have at most some twenty slots.
    fn note(&self, at: usize) {
        self.read.set(self.read.get() | 1 << at);
    }
}

/// A form that accepts the modifiers.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The form.
    pub form: &'static Form,
    /// What its slots read.
    pub modifiers: Modifiers,
}

/// An opcode with modifiers, and all forms that accept them (they may differ in operands).
#[derive(Clone, Debug)]
pub struct Mnemonic {
    /// The opcode.
    pub opcode: Opcode,
    /// At least one.
    pub candidates: Vec<Candidate>,
}

/// Why no form accepts the modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// No such opcode.
    UnknownOpcode,
    /// No form of the opcode has this modifier: its index. `known`: another instruction has it.
    IllegalModifier {
        /// Which of the modifiers.
        index: usize,
        /// Whether any instruction has it.
        known: bool,
    },
    /// Each modifier is right somewhere, but not together: the type of `index` is not possible here.
    IllegalType {
        /// Which of the modifiers.
        index: usize,
    },
    /// The modifiers are right but something is missing: the words that could stand there.
    Missing {
        /// The choices of the first empty slot of the closest form.
        choices: String,
    },
    /// A modifier that must not be written twice: the index of its repetition.
    Repeated {
        /// Which of the modifiers.
        index: usize,
    },
    /// Modifiers that exclude each other.
    Conflict,
}

/// Modifiers that NVIDIA's assembler takes twice.
const REPEATABLE: &[&str] = &["NaN", "approx", "cc", "relu", "sat", "satfinite", "shiftamt", "sync", "uni"];

impl Mnemonic {
    /// Reads an opcode and its modifiers (both without dots).
    pub fn read(opcode: &str, modifiers: &[&str]) -> Result<Mnemonic, Mismatch> {
        let (opcode, forms) = super::forms(opcode).ok_or(Mismatch::UnknownOpcode)?;
        let in_order = collect(forms, modifiers, match_in_order);
        let candidates = if in_order.is_empty() { collect(forms, modifiers, match_any_order) } else { in_order };
        if candidates.is_empty() { Err(explain(forms, modifiers)) } else { Ok(Mnemonic { opcode, candidates }) }
    }

    /// The candidate that an instruction with so many operands takes: the first whose needs `is_met` finds met, or else the first that fits.
    pub fn choose(&self, operands: usize, is_met: impl Fn(usize) -> bool) -> Option<usize> {
        let fitting = |at: &usize| {
            let (least, most) = self.candidates[*at].form.arity();
            (least..=most).contains(&operands)
        };
        let mut candidates = 0..self.candidates.len();
        candidates.clone().find(|at| fitting(at) && is_met(*at)).or_else(|| candidates.find(fitting))
    }
}

type Assignment = Vec<Option<(usize, Needs)>>;

fn collect(
    forms: &'static [Form],
    modifiers: &[&str],
    matcher: fn(&Form, &[&str]) -> Option<Assignment>,
) -> Vec<Candidate> {
    forms
        .iter()
        .filter_map(|form| {
            let assignment = matcher(form, modifiers)?;
            let mut read = Modifiers::default();
            for (slot, assigned) in form.slots.iter().zip(assignment) {
                let word = assigned.map(|(index, _)| modifiers[index]);
                if slot.is_type {
                    read.types.push(word.and_then(ScalarType::from_text).map(|ty| (ty, read.words.len())));
                }
                read.words.extend(word.map(Box::from));
                if let Some((index, needs)) = assigned.filter(|(_, needs)| *needs != Needs::default()) {
                    read.needs.push((modifiers[index].into(), needs));
                }
            }
            Some(Candidate { form, modifiers: read })
        })
        .collect()
}

/// What `word` needs in the slot, if the slot has it. `x*` in a table stands for every word that begins with `x`.
fn accepts(slot: &super::form::Slot, word: &str) -> Option<Needs> {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(prefix) => word.starts_with(prefix),
        None => pattern == word,
    };
    slot.words.iter().find(|(pattern, _)| matches(pattern)).map(|(_, needs)| *needs)
}

fn match_in_order(form: &Form, modifiers: &[&str]) -> Option<Assignment> {
    fn from(form: &Form, slot: usize, modifiers: &[&str], word: usize, out: &mut Assignment) -> bool {
        let Some(here) = form.slots.get(slot) else { return word == modifiers.len() };
        if let Some(needs) = modifiers.get(word).and_then(|w| accepts(here, w)) {
            out.push(Some((word, needs)));
            if from(form, slot + 1, modifiers, word + 1, out) {
                return true;
            }
            out.pop();
        }
        if here.optional {
            out.push(None);
            if from(form, slot + 1, modifiers, word, out) {
                return true;
            }
            out.pop();
        }
        false
    }
    let mut out = Vec::with_capacity(form.slots.len());
    from(form, 0, modifiers, 0, &mut out).then_some(out)
}

fn match_any_order(form: &Form, modifiers: &[&str]) -> Option<Assignment> {
    let mut out: Assignment = vec![None; form.slots.len()];
    // Types keep their sequence.
    let mut first_type = 0;
    for (index, word) in modifiers.iter().enumerate() {
        let free = (0..out.len()).find_map(|at| {
            let in_sequence = !form.slots[at].is_type || at >= first_type;
            let needs = accepts(&form.slots[at], word).filter(|_| in_sequence && out[at].is_none())?;
            Some((at, needs))
        });
        if let Some((at, needs)) = free {
            if form.slots[at].is_type {
                first_type = at + 1;
            }
            out[at] = Some((index, needs));
        } else {
            let is_repeated = modifiers[..index].contains(word) && REPEATABLE.contains(word);
            is_repeated.then_some(())?;
        }
    }
    let complete = form.slots.iter().zip(&out).all(|(slot, assigned)| slot.optional || assigned.is_some());
    complete.then_some(out)
}

/// Finds the most helpful reason among the forms: the one of the form that comes closest.
fn explain(forms: &'static [Form], modifiers: &[&str]) -> Mismatch {
    fn anywhere<'f>(word: &str, mut forms: impl Iterator<Item = &'f Form>) -> bool {
        forms.any(|form| form.slots.iter().any(|slot| accepts(slot, word).is_some()))
    }
    for (index, word) in modifiers.iter().enumerate() {
        if !anywhere(word, forms.iter()) {
            if ScalarType::from_text(word).is_some() {
                return Mismatch::IllegalType { index };
            }
            return Mismatch::IllegalModifier { index, known: anywhere(word, super::all_forms().map(|(_, f)| f)) };
        }
    }
    let repeated = |index: &usize| {
        modifiers[..*index].contains(&modifiers[*index]) && ScalarType::from_text(modifiers[*index]).is_none()
    };
    // Every word occurs in some form. The closest forms are those that leave over the fewest words.
    let fits: Vec<(Vec<usize>, Option<&super::form::Slot>)> = forms.iter().map(|form| fit(form, modifiers)).collect();
    let fewest = fits.iter().map(|(over, _)| over.len()).min().unwrap_or(0);
    let closest = || fits.iter().filter(|(over, _)| over.len() == fewest);
    if fewest == 0 {
        // Nothing is wrong with any word, so something is missing.
        let mut choices: Vec<String> = Vec::new();
        for word in closest()
            .filter_map(|(_, missing)| *missing)
            .flat_map(|slot| &slot.words)
            .map(|(word, _)| format!(".{word}"))
        {
            if !choices.contains(&word) {
                choices.push(word);
            }
        }
        return Mismatch::Missing { choices: choices.join(", ") };
    }
    // A form that misses nothing else says best what is wrong.
    let Some((over, _)) = closest().min_by_key(|(_, missing)| missing.is_some()) else { return Mismatch::Conflict };
    if let Some(index) = over.iter().copied().find(repeated) {
        return Mismatch::Repeated { index };
    }
    match over.iter().find(|index| ScalarType::from_text(modifiers[**index]).is_some()) {
        Some(index) => Mismatch::IllegalType { index: *index },
        None if over.len() == 1 => Mismatch::IllegalModifier { index: over[0], known: true },
        None => Mismatch::Conflict,
    }
}

/// The words that a form has no slot for, and the first slot that stays empty.
fn fit<'f>(form: &'f Form, modifiers: &[&str]) -> (Vec<usize>, Option<&'f super::form::Slot>) {
    let mut used = vec![false; form.slots.len()];
    let mut over = Vec::new();
    for (index, word) in modifiers.iter().enumerate() {
        let free = (0..used.len()).find(|at| !used[*at] && accepts(&form.slots[*at], word).is_some());
        match free {
            Some(at) => used[at] = true,
            None => over.push(index),
        }
    }
    let missing = form.slots.iter().zip(&used).find(|(slot, used)| !slot.optional && !**used).map(|(slot, _)| slot);
    (over, missing)
}
