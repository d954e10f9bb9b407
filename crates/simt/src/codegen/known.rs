//! What is known while a block of LLVM's is written: what places on the stack hold, and what has been computed. It is not written twice, as LLVM would have to read
//! it, take it apart and throw it away; longer kernels, for which it does less, keep what is written.

use std::collections::HashMap;

use super::function::Val;

/// Instructions that give the same whenever they have the same operands. Arithmetic of floats is none of them: functions change how it rounds.
const PURE: &str = "add and ashr bitcast extractelement getelementptr icmp insertelement inttoptr lshr mul or select sext shl shufflevector sub xor";

/// What a block has computed so far.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Names of results, by the instruction's text.
    results: HashMap<String, String>,
    /// What places hold that were stored to or loaded from.
    places: HashMap<String, Val>,
}

impl Known {
    /// Nothing is known where another block begins.
    pub(super) fn clear(&mut self) {
        self.results.clear();
        self.places.clear();
    }

    /// The name of what an instruction gives, if it was written before.
    pub(super) fn result(&self, instruction: &str) -> Option<&String> {
        self.results.get(instruction)
    }

    /// An instruction was written.
    pub(super) fn computed(&mut self, instruction: &str, name: &str) {
        let opcode = instruction.split(' ').next().unwrap_or_default();
        if PURE.split(' ').any(|pure| pure == opcode) || instruction.ends_with("!invariant.load !0") {
            self.results.insert(instruction.to_owned(), name.to_owned());
        }
    }

    /// What a place holds.
    pub(super) fn held(&self, place: &str) -> Option<&Val> {
        self.places.get(place)
    }

    /// A place holds something from now on.
    pub(super) fn holds(&mut self, place: &str, value: &Val) {
        if is_place(place) {
            self.places.insert(place.to_owned(), value.clone());
        }
    }

    /// Something was stored.
    pub(super) fn stored(&mut self, line: &str) {
        if let Some((_, place)) = line.strip_prefix("store ").and_then(|line| line.rsplit_once(", ptr ")) {
            self.places.remove(place);
        }
    }
}

/// Whether something is a place on the stack that only loads and stores by its name reach: those of values and masks.
fn is_place(name: &str) -> bool {
    let mut letters = name.chars().skip(1);
    letters.next().is_some_and(|kind| "vbmkxh".contains(kind))
        && letters.next().is_some_and(|next| next.is_ascii_digit())
}
