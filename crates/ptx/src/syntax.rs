//! The text of PTX: lexer, parser, syntax tree with spans, printer. What instructions mean is not known here.

pub mod ast;
mod dump;
mod evaluate;
mod lexer;
mod names;
mod number;
mod parser;
mod printer;
#[cfg(test)]
mod roundtrip;
mod span;
mod words;

pub use ast::Module;
pub use dump::dump;
pub use evaluate::{SymbolAddress, Value, evaluate};
pub use names::{Name, Names};
pub use parser::{Parsed, parse};
pub use span::{LineIndex, Position, Span};
