//! Tests of the IR: what texts become in it, what its checker, its analyses and its passes do, and its own text.

mod check;
mod filetests;
mod flow;
mod forms;
mod passes;
mod text;
mod texts;
