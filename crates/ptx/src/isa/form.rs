//! The notation in which the tables of this folder write down instruction forms, and its reader.
//!
//! A form is one line, close to the manual's own syntax line:
//!
//! ```text
//! setp.$cmp.$bool.ftz?.(f32) =pred|pred? 0 0 !pred ; 6.0 30
//! ```
//!
//! Mnemonic: the opcode, then slots. `.x` is a required word, `.(a|b)` a choice, `.$set` a named choice (`word_set`), and a `?`
//! behind makes it optional. A word may carry what it needs: `bf16@7.8/90` is PTX ISA 7.8 and sm_90, `x@8.6/100a` an architecture
//! with its specific features, `90a+` this one or a later one with its own, `100f` a family. A choice of types captures a type; captured types are numbered from 0.
//!
//! Operands: `=T` destination, `T` source, `!pred` predicate that may be negated, `#` integer constant,
//! `[]` address, `*` anything (checked by lowering), `X?` optional, `=T|U` a pair, `=T|U?` a pair whose second may be
//! missing, `**` any number of anything, `T*n` a vector of `n` elements, `T*v` as many as the modifier `.v2`, `.v4`, `.v8` says, `~T` a register may be wider than the type.
//! `T` is a type, the number of a captured type, or `wN` for twice the width of captured type N.
//!
//! Behind the `;`: the least PTX ISA version, then the least architecture.

use super::words::word_set;
use crate::ir::ScalarType;

/// What a form or a modifier needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Least PTX ISA version: major, minor.
    pub version: (u32, u32),
    /// Least architecture, `90` for sm_90.
    pub sm: u32,
    /// `a`: only that very architecture with its specific features; `f`: that family.
    pub suffix: Option<char>,
    /// Of `a`: later architectures with their own features do, too.
    pub or_later: bool,
}

impl Needs {
    /// Whether a module of that PTX ISA version for that target (`90`, `Some('a')` of sm_90a) may use it.
    pub fn are_met(&self, version: (u32, u32), sm: u32, suffix: Option<char>) -> bool {
        let specific = match self.suffix {
            Some('a') if self.sm == 90 && !self.or_later => suffix == Some('a') && sm == 90,
            Some(_) => suffix.is_some() && sm >= self.sm,
            None => sm >= self.sm,
        };
        version >= self.version && specific
    }
}

/// A choice of words at one place of a mnemonic.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The words, without dots.
    pub words: Vec<(&'static str, Needs)>,
    /// Whether the slot may be missing.
    pub optional: bool,
    /// Whether it captures a type.
    pub is_type: bool,
}

/// The type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeRef {
    /// A fixed one.
    Fixed(ScalarType),
    /// A captured one.
    Captured(u8),
    /// Twice the width of a captured one.
    Wide(u8),
}

/// How many elements a vector operand has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// It is no vector.
    Scalar,
    /// Always so many.
    Fixed(u8),
    /// As `.v2`, `.v4` or `.v8` says.
    Modifier,
}

/// What may stand at an operand's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// Destination, perhaps with a second one behind `|`.
    Dst {
        /// Type.
        ty: TypeRef,
        /// Type of the second and whether it may be missing.
        second: Option<(TypeRef, bool)>,
    },
    /// Register or constant.
    Src(TypeRef),
    /// Predicate, perhaps negated.
    Pred,
    /// Integer constant.
    Const,
    /// `[...]`
    Address,
    /// Anything.
    Any,
    /// Any number of anything, as the last operand.
    Rest,
}

/// One operand of a form.
#[derive(Clone, Copy, Debug)]
pub struct OperandSpec {
    /// What may stand there.
    pub kind: OperandKind,
    /// Elements.
    pub count: Count,
    /// A register may be wider than the type (PTX ISA 9.4.1).
    pub relaxed: bool,
    /// It may be missing.
    pub optional: bool,
}

/// One way to write an instruction.
#[derive(Clone, Debug)]
pub struct Form {
    /// Slots in the manual's order.
    pub slots: Vec<Slot>,
    /// Operands.
    pub operands: Vec<OperandSpec>,
    /// What the form needs.
    pub needs: Needs,
    /// The line it was read from.
    pub text: &'static str,
}

impl Form {
    /// Least and greatest number of operands.
    pub fn arity(&self) -> (usize, usize) {
        let required = self.operands.iter().filter(|o| !o.optional).count();
        let open = self.operands.iter().any(|o| o.kind == OperandKind::Rest);
        (required, if open { usize::MAX } else { self.operands.len() })
    }

    /// Reads a table line. The tables are constants and a test reads all of them, so a mistake in one is a panic there.
    pub(super) fn read(text: &'static str) -> Form {
        let (pattern, needs) = text.split_once(" ; ").unwrap_or((text, ""));
        let mut fields = pattern.split_ascii_whitespace();
        let mnemonic = fields.next().unwrap_or("");
        let operands = fields.map(|field| read_operand(field).unwrap_or_else(|| bad(text, field))).collect();
        Form { slots: read_slots(mnemonic, text), operands, needs: read_needs(&needs.replace(' ', "/")), text }
    }
}

fn bad(text: &str, part: &str) -> ! {
    panic!("instruction table: `{part}` in `{text}`")
}

/// `8.6/100a`, `8.6`, or nothing.
fn read_needs(text: &str) -> Needs {
    let mut needs = Needs::default();
    for part in text.split('/').filter(|part| !part.is_empty()) {
        if let Some((major, minor)) = part.split_once('.') {
            needs.version = (major.parse().unwrap_or(0), minor.parse().unwrap_or(0));
        } else {
            let (part, or_later) = part.strip_suffix('+').map_or((part, false), |part| (part, true));
            let digits = part.trim_end_matches(['a', 'f']);
            needs.sm = digits.parse().unwrap_or(0);
            needs.suffix = part[digits.len()..].chars().next();
            needs.or_later = or_later;
        }
    }
    needs
}

/// The end of the first slot of `rest` at a dot outside parentheses; `::` and version numbers stand inside words.
fn slot_end(rest: &str) -> usize {
    let mut depth = 0;
    let mut in_version = false;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'@' => in_version = true,
            b'.' if in_version => in_version = false,
            b'.' if depth == 0 => return at,
            _ => {}
        }
    }
    rest.len()
}

fn read_slots(mnemonic: &'static str, text: &'static str) -> Vec<Slot> {
    let mut slots = Vec::new();
    let mut rest = &mnemonic[slot_end(mnemonic)..];
    while let Some(after) = rest.strip_prefix('.') {
        let end = slot_end(after);
        let (slot, tail) = after.split_at(end);
        rest = tail;
        let (body, optional) = slot.strip_suffix('?').map_or((slot, false), |body| (body, true));
        let body = body.strip_prefix('(').and_then(|b| b.strip_suffix(')')).unwrap_or(body);
        let words: Vec<(&'static str, Needs)> = body
            .split('|')
            .flat_map(|word| {
                match word.strip_prefix('$') {
                    Some(set) => word_set(set).unwrap_or_else(|| bad(text, word)),
                    None => word,
                }
                .split('|')
            })
            .map(|word| match word.split_once('@') {
                Some((word, needs)) => (word, read_needs(needs)),
                None => (word, Needs::default()),
            })
            .collect();
        let is_type = words.iter().all(|(word, _)| ScalarType::from_text(word).is_some());
        slots.push(Slot { words, optional, is_type });
    }
    slots
}

fn read_type(text: &str) -> Option<TypeRef> {
    if let Some(digit) = text.strip_prefix('w') {
        return digit.parse().ok().map(TypeRef::Wide);
    }
    if let Ok(digit) = text.parse() {
        return Some(TypeRef::Captured(digit));
    }
    ScalarType::from_text(text).map(TypeRef::Fixed)
}

fn read_operand(field: &str) -> Option<OperandSpec> {
    let (field, relaxed) = field.strip_prefix('~').map_or((field, false), |f| (f, true));
    let plain = |kind, optional| OperandSpec { kind, count: Count::Scalar, relaxed, optional };
    if let Some(dst) = field.strip_prefix('=') {
        if let Some((first, second)) = dst.split_once('|') {
            let (second, missing) = second.strip_suffix('?').map_or((second, false), |s| (s, true));
            let kind = OperandKind::Dst { ty: read_type(first)?, second: Some((read_type(second)?, missing)) };
            return Some(plain(kind, false));
        }
        let (ty, count) = read_count(dst)?;
        return Some(OperandSpec { kind: OperandKind::Dst { ty, second: None }, count, relaxed, optional: false });
    }
    let (field, optional) = field.strip_suffix('?').map_or((field, false), |f| (f, true));
    Some(match field {
        "!pred" => plain(OperandKind::Pred, optional),
        "#" => plain(OperandKind::Const, optional),
        "[]" => plain(OperandKind::Address, optional),
        "*" => plain(OperandKind::Any, optional),
        "**" => plain(OperandKind::Rest, true),
        _ => {
            let (ty, count) = read_count(field)?;
            OperandSpec { kind: OperandKind::Src(ty), count, relaxed, optional }
        }
    })
}

fn read_count(text: &str) -> Option<(TypeRef, Count)> {
    match text.split_once('*') {
        None => Some((read_type(text)?, Count::Scalar)),
        Some((ty, "v")) => Some((read_type(ty)?, Count::Modifier)),
        Some((ty, n)) => Some((read_type(ty)?, Count::Fixed(n.parse().ok()?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_have_what_is_needed() {
        let met = |needs: &str| {
            let targets =
                [(90, None), (90, Some('a')), (100, None), (100, Some('a')), (100, Some('f')), (120, Some('a'))];
            targets.map(|(sm, suffix)| read_needs(needs).are_met((8, 6), sm, suffix))
        };
        assert_eq!(met("8.6/90"), [true; 6]);
        assert_eq!(met("8.0/90a"), [false, true, false, false, false, false]);
        assert_eq!(met("8.3/90a+"), [false, true, false, true, true, true]);
        assert_eq!(met("8.6/100a"), [false, false, false, true, true, true]);
        assert_eq!(met("8.7/90a+"), [false; 6]);
    }
}
