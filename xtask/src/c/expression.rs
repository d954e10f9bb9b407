//! Constant integer expressions of enumerators and array lengths.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use super::token::Token;

/// Evaluates `tokens`, where names stand for the enumerators seen before, and `sizeof` asks
/// for an enum, an `unsigned int` or a pointer.
pub(super) fn evaluate(tokens: &[Token], names: &HashMap<String, i64>) -> Result<i64> {
    let mut evaluator = Evaluator { tokens, names };
    let value = evaluator.binary(0)?;
    if !evaluator.tokens.is_empty() {
        bail!("the expression goes on with {:?}", evaluator.tokens[0]);
    }
    Ok(value)
}

/// Size of an enum and of `unsigned int` in bytes.
const SIZE_OF_ENUM: i64 = 4;
/// Size of a pointer in bytes on the 64-bit machines that the driver is for.
const SIZE_OF_POINTER: i64 = 8;

/// Binary operators from the weakest to the strongest.
const LEVELS: [&[&str]; 5] = [&["|"], &["&"], &["<<"], &["+", "-"], &["*"]];

struct Evaluator<'a> {
    tokens: &'a [Token],
    names: &'a HashMap<String, i64>,
}

impl Evaluator<'_> {
    fn next(&mut self) -> Option<&Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn operator(&mut self, operators: &[&str]) -> Option<&'static str> {
        match self.tokens.first() {
            Some(Token::Mark(mark)) if operators.contains(mark) => {
                self.tokens = &self.tokens[1..];
                Some(mark)
            }
            _ => None,
        }
    }

    fn binary(&mut self, level: usize) -> Result<i64> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut value = self.binary(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let right = self.binary(level + 1)?;
            value = match operator {
                "|" => value | right,
                "&" => value & right,
                // As `int`: a one in the highest bit makes it negative.
                "<<" => i64::from(i32::try_from(value)?.wrapping_shl(u32::try_from(right)?)),
                "+" => value + right,
                "-" => value - right,
                _ => value * right,
            };
        }
        Ok(value)
    }

    fn unary(&mut self) -> Result<i64> {
        match self.next().context("the expression ends early")?.clone() {
            Token::Number(value) => Ok(value),
            Token::Mark("-") => Ok(-self.unary()?),
            Token::Mark("~") => Ok(!self.unary()?),
            Token::Mark("(") => {
                let value = self.binary(0)?;
                self.operator(&[")"]).context("a parenthesis is open")?;
                Ok(value)
            }
            Token::Word(word) if word == "sizeof" => {
                let end = self.tokens.iter().position(|token| *token == Token::Mark(")")).context("sizeof is open")?;
                let (operand, rest) = self.tokens.split_at(end);
                self.tokens = &rest[1..];
                Ok(if operand.last() == Some(&Token::Mark("*")) { SIZE_OF_POINTER } else { SIZE_OF_ENUM })
            }
            Token::Word(word) => self.names.get(&word).copied().with_context(|| format!("{word} has no value")),
            other => bail!("{other:?} in an expression"),
        }
    }
}
