//! The text of PTX: lexer, parser, syntax tree with spans, printer. What instructions mean is not known here.

pub mod ast;
mod names;
mod span;

pub use ast::Module;
pub use names::{Name, Names};
pub use span::{LineIndex, Position, Span};
