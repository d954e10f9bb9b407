//! The text of PTX: lexer, parser, syntax tree with spans, printer. What instructions mean is not known here.

pub mod ast;
mod lexer;
mod names;
mod number;
mod parser;
mod span;
mod words;

pub use ast::Module;
pub use names::{Name, Names};
pub use parser::{Parsed, parse};
pub use span::{LineIndex, Position, Span};
