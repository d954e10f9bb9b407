//! Tokens of preprocessed C.

use anyhow::{Result, bail};

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Word(String),
    Number(i64),
    /// An operator or punctuation mark.
    Mark(&'static str),
    /// A string literal with its quotes: only `extern "C"` and attributes have one.
    Text(String),
}

const MARKS: [&str; 27] = [
    "...", "<<", ">>", "(", ")", "{", "}", "[", "]", ";", ",", "*", "=", "+", "-", "|", "&", "~", ":", "/", "<", ">",
    "!", "?", ".", "^", "%",
];

/// The tokens of `text`; comments are skipped, and so are lines that start with `#`.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(string) = rest.strip_prefix('"') {
            let end = string.find('"').map_or(string.len(), |end| end + 1);
            tokens.push(Token::Text(rest[..=end].to_owned()));
            rest = &string[end..];
        } else if rest.starts_with(|c: char| c.is_ascii_digit()) {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            tokens.push(Token::Number(number(&rest[..end])?));
            rest = &rest[end..];
        } else if rest.starts_with(word_character) {
            let end = rest.find(|c| !word_character(c)).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            tokens.push(Token::Mark(mark));
            rest = &rest[mark.len()..];
        } else {
            bail!("no token of C at: {}", rest.lines().next().unwrap_or_default());
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

fn word_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn number(text: &str) -> Result<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16),
        None if digits.len() > 1 && digits.starts_with('0') => i64::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    value.map_err(|error| anyhow::anyhow!("{text}: {error}"))
}
