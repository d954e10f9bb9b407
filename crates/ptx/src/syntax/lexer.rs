//! Tokens of PTX (PTX ISA 4.1 to 4.5). Hand-written: one pass over the bytes, one table lookup each, no allocation.

use super::span::Span;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// `add`, `%r1`, `$L_1`, `_`
    Ident,
    /// `.f32`, `.L2::128B`: directive, type, or modifier
    Dot,
    /// Any number; `number` reads it
    Number,
    /// `"text"`
    String,
    /// `@@DWARF` and the rest of its line
    Dwarf,
    At,
    Bang,
    Tilde,
    Comma,
    Semicolon,
    Colon,
    Question,
    Pipe,
    PipePipe,
    Amp,
    AmpAmp,
    Caret,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Equal,
    EqualEqual,
    BangEqual,
    Less,
    LessEqual,
    LessLess,
    Greater,
    GreaterEqual,
    GreaterGreater,
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    /// A byte that begins no token
    Unknown,
    /// A string or comment that does not end
    Unterminated,
    End,
}

/// A token where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

/// What a byte can be part of.
const SPACE: u8 = 1;
const FOLLOW: u8 = 2;
const START: u8 = 4;
const DIGIT: u8 = 8;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => SPACE,
            b'0'..=b'9' => FOLLOW | DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => START | FOLLOW,
            b'%' => START,
            _ => 0,
        };
        byte += 1;
    }
    class
};

/// Yields the tokens of a text, then [`TokenKind::End`] for ever.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0 }
    }

    /// The lexer as it was before the token at byte `at`.
    pub(super) fn from(text: &'a str, at: u32) -> Self {
        Self { bytes: text.as_bytes(), at: at as usize }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_class(&mut self, class: u8) {
        while self.bytes.get(self.at).is_some_and(|byte| CLASS[usize::from(*byte)] & class != 0) {
            self.at += 1;
        }
    }

    /// The next token. Comments and white space stand between tokens.
    #[inline]
    pub(super) fn next_token(&mut self) -> Token {
        loop {
            self.skip_class(SPACE);
            let start = self.at;
            let Some(&byte) = self.bytes.get(start) else {
                return self.token(TokenKind::End, start);
            };
            let class = CLASS[usize::from(byte)];
            if class & DIGIT != 0 {
                return self.number(start);
            }
            if class & START != 0 && (byte != b'%' || CLASS[usize::from(self.peek(1))] & FOLLOW != 0) {
                self.at += 1;
                self.skip_class(FOLLOW);
                return self.token(TokenKind::Ident, start);
            }
            match byte {
                b'.' => return self.dot(start),
                b'/' if self.peek(1) == b'/' => self.skip_line(),
                b'#' if self.is_line_marker() => self.skip_line(),
                b'/' if self.peek(1) == b'*' => {
                    let Some(length) = self.bytes[start + 2..].windows(2).position(|pair| pair == b"*/") else {
                        self.at = self.bytes.len();
                        return Token {
                            kind: TokenKind::Unterminated,
                            span: Span::new(start as u32, start as u32 + 2),
                        };
                    };
                    self.at = start + length + 4;
                }
                b'"' => return self.string(start),
                _ => return self.punctuation(start, byte),
            }
        }
    }

    fn token(&self, kind: TokenKind, start: usize) -> Token {
        Token { kind, span: Span::new(start as u32, self.at as u32) }
    }

    /// `# 12 "file"` on a line of its own, which preprocessors write; the assembler passes over it.
    fn is_line_marker(&self) -> bool {
        let line_begins = self.at == 0 || self.bytes[self.at - 1] == b'\n';
        let rest = self.bytes[self.at + 1..].trim_ascii_start();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        line_begins && digits > 0 && rest[digits..].trim_ascii_start().first() == Some(&b'"')
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    /// `.word` with its `::` parts, or a number such as `.5`, which no identifier character precedes.
    fn dot(&mut self, start: usize) -> Token {
        let before = start.checked_sub(1).map_or(b' ', |at| self.bytes[at]);
        if CLASS[usize::from(self.peek(1))] & DIGIT != 0 && CLASS[usize::from(before)] & FOLLOW == 0 {
            return self.number(start);
        }
        self.at += 1;
        self.skip_class(FOLLOW);
        while self.peek(0) == b':' && self.peek(1) == b':' && CLASS[usize::from(self.peek(2))] & FOLLOW != 0 {
            self.at += 2;
            self.skip_class(FOLLOW);
        }
        let kind = if self.at == start + 1 { TokenKind::Unknown } else { TokenKind::Dot };
        self.token(kind, start)
    }

    /// Takes everything that may belong to a number; whether it is one shows when it is read.
    fn number(&mut self, start: usize) -> Token {
        let prefixed =
            self.peek(0) == b'0' && self.peek(1).is_ascii_alphabetic() && !matches!(self.peek(1), b'e' | b'E');
        self.skip_class(FOLLOW);
        if !prefixed {
            if self.peek(0) == b'.' {
                self.at += 1;
                self.skip_class(FOLLOW);
            }
            if matches!(self.bytes[self.at - 1], b'e' | b'E') && matches!(self.peek(0), b'+' | b'-') {
                self.at += 1;
                self.skip_class(FOLLOW);
            }
        }
        self.token(TokenKind::Number, start)
    }

    fn string(&mut self, start: usize) -> Token {
        self.at += 1;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return self.token(TokenKind::String, start);
                }
                Some(b'\\') => self.at = (self.at + 2).min(self.bytes.len()),
                Some(b'\n') | None => return self.token(TokenKind::Unterminated, start),
                Some(_) => self.at += 1,
            }
        }
    }

    fn punctuation(&mut self, start: usize, byte: u8) -> Token {
        use TokenKind::*;
        let (kind, length) = match (byte, self.peek(1)) {
            (b',', _) => (Comma, 1),
            (b';', _) => (Semicolon, 1),
            (b'[', _) => (LeftBracket, 1),
            (b']', _) => (RightBracket, 1),
            (b'{', _) => (LeftBrace, 1),
            (b'}', _) => (RightBrace, 1),
            (b'(', _) => (LeftParen, 1),
            (b')', _) => (RightParen, 1),
            (b'@', b'@') => {
                self.skip_line();
                return self.token(Dwarf, start);
            }
            (b'@', _) => (At, 1),
            (b':', _) => (Colon, 1),
            (b'!', b'=') => (BangEqual, 2),
            (b'!', _) => (Bang, 1),
            (b'~', _) => (Tilde, 1),
            (b'?', _) => (Question, 1),
            (b'|', b'|') => (PipePipe, 2),
            (b'|', _) => (Pipe, 1),
            (b'&', b'&') => (AmpAmp, 2),
            (b'&', _) => (Amp, 1),
            (b'^', _) => (Caret, 1),
            (b'+', _) => (Plus, 1),
            (b'-', _) => (Minus, 1),
            (b'*', _) => (Star, 1),
            (b'/', _) => (Slash, 1),
            (b'%', _) => (Percent, 1),
            (b'=', b'=') => (EqualEqual, 2),
            (b'=', _) => (Equal, 1),
            (b'<', b'=') => (LessEqual, 2),
            (b'<', b'<') => (LessLess, 2),
            (b'<', _) => (Less, 1),
            (b'>', b'=') => (GreaterEqual, 2),
            (b'>', b'>') => (GreaterGreater, 2),
            (b'>', _) => (Greater, 1),
            _ => {
                // One character, not one byte: a span must not end inside a character.
                let length = self.bytes[start + 1..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
                (Unknown, length + 1)
            }
        };
        self.at += length;
        self.token(kind, start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lex(text: &str) -> Vec<(TokenKind, &str)> {
        let mut lexer = Lexer::new(text);
        std::iter::from_fn(|| Some(lexer.next_token()))
            .take_while(|token| token.kind != TokenKind::End)
            .map(|token| (token.kind, &text[token.span.range()]))
            .collect()
    }

    #[test]
    fn modifiers_keep_their_parts() {
        use TokenKind::*;
        let tokens = lex("ld.global.L2::128B.v4 %r%1, .5 tensor.2d 1.5e-3:x::y é");
        let expected = [
            (Ident, "ld"),
            (Dot, ".global"),
            (Dot, ".L2::128B"),
            (Dot, ".v4"),
            (Ident, "%r"),
            (Ident, "%1"),
            (Comma, ","),
            (Number, ".5"),
            (Ident, "tensor"),
            (Dot, ".2d"),
            (Number, "1.5e-3"),
            (Colon, ":"),
            (Ident, "x"),
            (Colon, ":"),
            (Colon, ":"),
            (Ident, "y"),
            (Unknown, "é"),
        ];
        assert_eq!(tokens, expected);
    }

    #[test]
    fn comments_and_strings_end() {
        use TokenKind::*;
        assert_eq!(lex("a/* b\n */c // d\r\ne"), [(Ident, "a"), (Ident, "c"), (Ident, "e")]);
        assert_eq!(lex("/* a"), [(Unterminated, "/*")]);
        assert_eq!(lex(r#""a\"b" "c"#), [(String, r#""a\"b""#), (Unterminated, "\"c")]);
        assert_eq!(lex("\"a\\"), [(Unterminated, "\"a\\")]);
    }
}
