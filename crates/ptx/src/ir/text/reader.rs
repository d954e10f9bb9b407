//! Reads the words, numbers and names of the text, and says where one is not what it should be.

use super::Text;
use std::cell::Cell;
use std::fmt;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct Malformed {
    /// From 1.
    pub line: u32,
    /// In bytes, from 1.
    pub column: u32,
    /// One sentence without a full stop.
    pub message: String,
}

pub(in crate::ir) type Read<T> = Result<T, Malformed>;

/// A place in a text.
pub(in crate::ir) struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: u32,
}

/// A word and where it stands.
pub(in crate::ir) struct Word<'t> {
    pub(in crate::ir) text: &'t str,
    place: (u32, u32),
}

impl Word<'_> {
    /// The word is none of those that can stand here.
    pub(in crate::ir) fn unknown(&self, what: &str, known: &[&str]) -> Malformed {
        let (line, column) = self.place;
        // A long list would hide what is wrong.
        let list =
            if (1..=16).contains(&known.len()) { format!(", expected {}", known.join(", ")) } else { String::new() };
        Malformed { line, column, message: format!("`{}` is no {what}{list}", self.text) }
    }
}

/// The fields of a value while they are read.
pub(in crate::ir) struct Fields {
    braces: bool,
    inline: bool,
    first: Cell<bool>,
}

impl Fields {
    /// The next field, if it stands there; else what its absence means.
    pub(in crate::ir) fn field<T: Text>(&self, input: &mut Reader<'_>, name: &str) -> Read<T> {
        if (self.braces || self.inline) && input.field_name(name, self.first.get()) {
            self.first.set(false);
            return input.inside(T::read);
        }
        T::absent().ok_or_else(|| input.expected(&format!("`{name}:`")))
    }

    pub(in crate::ir) fn close(self, input: &mut Reader<'_>) -> Read<()> {
        if self.braces { input.expect("}") } else { Ok(()) }
    }
}

const fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a name can stand without quotation marks.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(in_name)
}

const fn in_name(byte: u8) -> bool {
    in_word(byte) || matches!(byte, b'$' | b'%' | b'.')
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Reader<'t> {
        Reader { text, at: 0, depth: 0 }
    }

    fn bytes(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Passes over spaces and comments, not over the end of the line.
    fn skip(&mut self) {
        loop {
            match self.bytes() {
                [b' ' | b'\t' | b'\r', ..] => self.at += 1,
                [b'/', b'/', rest @ ..] => {
                    self.at += 2 + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    fn place(&self) -> (u32, u32) {
        let before = &self.text.as_bytes()[..self.at];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        (line as u32, (self.at - start) as u32 + 1)
    }

    pub(super) fn error(&mut self, message: impl Into<String>) -> Malformed {
        self.skip();
        let (line, column) = self.place();
        Malformed { line, column, message: message.into() }
    }

    pub(super) fn expected(&mut self, what: &str) -> Malformed {
        self.skip();
        let rest = &self.text[self.at..];
        let length = match rest.chars().next() {
            None | Some('\n') => return self.error(format!("expected {what}, found the end of the line")),
            Some(c) if c.is_ascii() && in_name(c as u8) => {
                rest.bytes().take_while(|byte| in_name(*byte)).take(40).count()
            }
            Some(c) => c.len_utf8(),
        };
        self.error(format!("expected {what}, found `{}`", &rest[..length]))
    }

    /// Reads a part of something else: its fields need braces.
    pub(super) fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Takes what stands next if it is `symbol`, which is no word.
    pub(super) fn eat(&mut self, symbol: &str) -> bool {
        self.skip();
        let found = self.bytes().starts_with(symbol.as_bytes());
        if found {
            self.at += symbol.len();
        }
        found
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Read<()> {
        if self.eat(symbol) { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    fn peek_word(&mut self) -> &'t str {
        self.skip();
        let bytes = self.bytes();
        let starts = bytes.first().is_some_and(|byte| in_word(*byte) && !byte.is_ascii_digit());
        let length = if starts { bytes.iter().take_while(|byte| in_word(**byte)).count() } else { 0 };
        &self.text[self.at..self.at + length]
    }

    /// The word that stands next.
    pub(in crate::ir) fn word(&mut self, what: &str) -> Read<Word<'t>> {
        let text = self.peek_word();
        if text.is_empty() {
            return Err(self.expected(what));
        }
        let place = self.place();
        self.at += text.len();
        Ok(Word { text, place })
    }

    /// Takes the word that stands next if it is this one.
    pub(super) fn keyword(&mut self, word: &str) -> bool {
        let found = self.peek_word() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    pub(super) fn expect_keyword(&mut self, word: &str) -> Read<()> {
        if self.keyword(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// Takes `prefix` and a number in one word, such as `r12`, if that stands next.
    pub(super) fn try_id(&mut self, prefix: &str) -> Option<u32> {
        let word = self.peek_word();
        let digits = word.strip_prefix(prefix)?;
        let id = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
        self.at += word.len();
        Some(id)
    }

    /// Whether `prefix` and a number stand next.
    pub(super) fn at_id(&mut self, prefix: &str) -> bool {
        let start = self.at;
        let found = self.try_id(prefix).is_some();
        self.at = start;
        found
    }

    pub(super) fn id(&mut self, prefix: &str) -> Read<u32> {
        match self.try_id(prefix) {
            Some(id) => Ok(id),
            None => Err(self.expected(&format!("`{prefix}` and a number"))),
        }
    }

    /// Whether a decimal or hexadecimal number stands next.
    pub(super) fn at_number(&mut self) -> bool {
        self.skip();
        self.bytes().first().is_some_and(u8::is_ascii_digit)
    }

    /// Whether a sign stands here, without a space in front.
    pub(super) fn at_sign(&self) -> bool {
        matches!(self.bytes(), [b'+' | b'-', ..])
    }

    /// A decimal number with an optional sign, or a hexadecimal one behind `0x`.
    pub(super) fn number<T: TryFrom<i128>>(&mut self) -> Read<T> {
        self.skip();
        let start = self.at;
        let negative = self.eat("-");
        let _plus = !negative && self.eat("+");
        let bytes = self.bytes();
        let (digits, radix) = match bytes {
            [b'0', b'x', rest @ ..] => (rest, 16),
            rest => (rest, 10),
        };
        let count = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let begin = self.at + bytes.len() - digits.len();
        let value = i128::from_str_radix(&self.text[begin..begin + count], radix);
        let value = value.ok().map(|value| if negative { -value } else { value });
        match value.and_then(|value| T::try_from(value).ok()) {
            Some(value) => {
                self.at = begin + count;
                Ok(value)
            }
            None => {
                self.at = start;
                let what = if count == 0 { "a number" } else { "a number that fits" };
                Err(self.expected(what))
            }
        }
    }

    /// A byte as two hexadecimal digits, if they stand next.
    pub(super) fn try_byte(&mut self) -> Option<u8> {
        self.skip();
        let &[high, low, ref rest @ ..] = self.bytes() else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let value = digit(high)? * 16 + digit(low)?;
        if rest.first().is_some_and(|byte| in_word(*byte)) {
            return None;
        }
        self.at += 2;
        Some(value as u8)
    }

    /// A dot and what PTX spells behind it: `.u32`, `.shared::cluster`.
    pub(super) fn dotted<T>(&mut self, what: &str, from_text: impl Fn(&str) -> Option<T>) -> Read<T> {
        self.skip();
        let bytes = self.bytes();
        let length = match bytes {
            [b'.', rest @ ..] => rest.iter().take_while(|byte| in_word(**byte) || **byte == b':').count(),
            _ => 0,
        };
        let value = if length == 0 { None } else { from_text(&self.text[self.at + 1..self.at + 1 + length]) };
        match value {
            Some(value) => {
                self.at += 1 + length;
                Ok(value)
            }
            None => Err(self.expected(what)),
        }
    }

    /// Whether a name stands next, plain or in quotation marks.
    pub(super) fn at_name(&mut self) -> bool {
        self.skip();
        self.bytes().first().is_some_and(|byte| in_name(*byte) || *byte == b'"')
    }

    /// A name: plain if that is clear, else in quotation marks as a Rust string.
    pub(super) fn name(&mut self) -> Read<String> {
        self.skip();
        if self.bytes().first() == Some(&b'"') {
            return self.string();
        }
        let length = self.bytes().iter().take_while(|byte| in_name(**byte)).count();
        if length == 0 {
            return Err(self.expected("a name"));
        }
        let name = self.text[self.at..self.at + length].to_owned();
        self.at += length;
        Ok(name)
    }

    /// Opcode and modifiers as PTX writes them.
    pub(super) fn mnemonic(&mut self) -> Read<&'t str> {
        self.skip();
        let length = self.bytes().iter().take_while(|byte| in_name(**byte) || **byte == b':').count();
        if length == 0 {
            return Err(self.expected("an instruction's name"));
        }
        self.at += length;
        Ok(&self.text[self.at - length..self.at])
    }

    pub(super) fn string(&mut self) -> Read<String> {
        self.expect("\"")?;
        let mut out = String::new();
        let mut chars = self.text[self.at..].char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(out);
                }
                '\n' => break,
                '\\' => {
                    let (_, escape) = chars.next().unwrap_or((0, '\n'));
                    let value = match escape {
                        'n' => Some('\n'),
                        't' => Some('\t'),
                        'r' => Some('\r'),
                        '0' => Some('\0'),
                        '\\' | '"' | '\'' => Some(escape),
                        'u' => {
                            let digits: String = chars
                                .by_ref()
                                .map(|(_, c)| c)
                                .skip_while(|c| *c == '{')
                                .take_while(|c| *c != '}')
                                .take(8)
                                .collect();
                            u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
                        }
                        _ => None,
                    };
                    let Some(value) = value else {
                        self.at += at;
                        return Err(self.error("unknown escape in a string"));
                    };
                    out.push(value);
                }
                c => out.push(c),
            }
        }
        Err(self.error("the string does not end on its line"))
    }

    /// Takes the end of the line and the empty lines behind it.
    pub(super) fn end_line(&mut self) -> Read<()> {
        self.skip();
        if !matches!(self.bytes(), [] | [b'\n', ..]) {
            return Err(self.expected("the end of the line"));
        }
        self.skip_lines();
        Ok(())
    }

    pub(super) fn skip_lines(&mut self) {
        self.skip();
        while self.eat("\n") {
            self.skip();
        }
    }

    pub(super) fn at_end(&mut self) -> bool {
        self.skip();
        self.bytes().is_empty()
    }

    /// Whether the line goes on.
    pub(super) fn in_line(&mut self) -> bool {
        self.skip();
        !matches!(self.bytes(), [] | [b'\n', ..])
    }

    /// Begins the fields of a value.
    pub(in crate::ir) fn open(&mut self) -> Fields {
        let braces = self.eat("{");
        Fields { braces, inline: self.depth == 0, first: Cell::new(true) }
    }

    /// Takes `name:`, with a comma in front unless it is the first, if that stands next.
    fn field_name(&mut self, name: &str, first: bool) -> bool {
        let start = self.at;
        let found = (first || self.eat(",")) && self.keyword(name) && self.eat(":");
        if !found {
            self.at = start;
        }
        found
    }

    pub(in crate::ir) fn parenthesised<T: Text>(&mut self) -> Read<T> {
        self.expect("(")?;
        let value = self.inside(T::read)?;
        self.expect(")")?;
        Ok(value)
    }

    /// Values with commas between, up to `end`, which is taken.
    pub(super) fn list<T>(&mut self, end: &str, mut read: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut out = Vec::new();
        if self.eat(end) {
            return Ok(out);
        }
        loop {
            out.push(self.inside(&mut read)?);
            if self.eat(end) {
                return Ok(out);
            }
            if !self.eat(",") {
                return Err(self.expected(&format!("`,` or `{end}`")));
            }
        }
    }
}

/// Writes a name as [`Reader::name`] reads it.
pub(super) struct Name<'n>(pub(super) &'n str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_plain(self.0) { f.write_str(self.0) } else { write!(f, "{:?}", self.0) }
    }
}
