//! Checks of a module as a whole, and the entry points of this crate: text in, verified module out.

mod acceptance;
mod link;
mod resources;

pub use acceptance::{Options, exists, newest_version};
pub use link::Linker;

use crate::diagnostic::{Code, Diagnostic};
use crate::image::{ImageKind, identify};
use crate::ir;
use crate::lower::{Lowered, lower};
use crate::passes;
use crate::syntax::{self, Span};
use std::ops::Deref;
use std::sync::Arc;

/// Which result a caller of the driver gets for a text that does not load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The input is no PTX at all (CUDA_ERROR_INVALID_IMAGE).
    InvalidImage,
    /// Newer PTX than the driver knows (CUDA_ERROR_UNSUPPORTED_PTX_VERSION).
    UnsupportedPtxVersion,
    /// Anything else that is wrong with it (CUDA_ERROR_INVALID_PTX).
    InvalidPtx,
}

/// A text that does not load, and why.
#[derive(Clone, Debug)]
pub struct Failure {
    /// For the result code.
    pub class: FailureClass,
    /// What is wrong; at least one error.
    pub diagnostics: Vec<Diagnostic>,
    /// The text that the places refer to.
    pub source: Arc<str>,
}

/// A module that executors need not check again: every name is resolved, every operand fits its instruction, every block
/// is closed, and every call has a callee.
#[derive(Clone, Debug)]
pub struct VerifiedModule {
    module: ir::Module,
    warnings: Vec<Diagnostic>,
}

impl Deref for VerifiedModule {
    type Target = ir::Module;

    fn deref(&self) -> &ir::Module {
        &self.module
    }
}

impl VerifiedModule {
    fn new(mut module: ir::Module, warnings: Vec<Diagnostic>) -> VerifiedModule {
        passes::promote_parameters(&mut module);
        passes::fill_in_constants(&mut module);
        passes::insert_yields(&mut module);
        module.order_mnemonics();
        ir::assert_sound(|| ir::check_module(&module));
        VerifiedModule { module, warnings }
    }

    /// Problems that did not keep the module from loading.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The instructions of `kernel` and of what it can call that have no meaning in the IR: a launch of it fails.
    pub fn unsupported(&self, kernel: ir::FunctionId) -> Vec<(&ir::Function, &ir::UnsupportedUse)> {
        self.reachable(kernel)
            .into_iter()
            .map(|id| &self.functions[id.0 as usize])
            .flat_map(|function| {
                function.body.iter().flat_map(move |body| body.unsupported.iter().map(move |u| (function, u)))
            })
            .collect()
    }
}

/// One input of a link: a text that is right by itself; what it leaves undefined, another input may define.
#[derive(Clone, Debug)]
pub struct Input {
    pub(crate) lowered: Lowered,
    source: Arc<str>,
}

impl Input {
    /// Problems that did not keep the text from being an input.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.lowered.diagnostics
    }
}

/// Parses, lowers and checks one text by itself.
pub fn compile(text: &[u8], options: &Options) -> Result<Input, Failure> {
    let text = &text[..text.iter().position(|byte| *byte == 0).unwrap_or(text.len())];
    let parsed = syntax::parse(text);
    let source = Arc::clone(parsed.module.source());
    let fail = |class, diagnostics| Failure { class, diagnostics, source: Arc::clone(&source) };
    if identify(text) != Some(ImageKind::Ptx) {
        return Err(fail(FailureClass::InvalidImage, vec![no_ptx(text)]));
    }
    if let Some((class, diagnostic)) = acceptance::check(&parsed.module, options) {
        return Err(fail(class, vec![diagnostic]));
    }
    let broken = parsed.diagnostics.iter().filter(|d| d.is_error() && matches!(d.code, Code::Syntax | Code::Limit));
    let broken = broken.map(|diagnostic| diagnostic.span().start).min();
    let mut lowered = lower(&parsed.module);
    match broken {
        // From the line of a mistake in the grammar on, most would be its echo.
        Some(first) => {
            let line = source[..first as usize].rfind('\n').map_or(0, |end| end as u32 + 1);
            lowered.diagnostics.retain(|diagnostic| diagnostic.span().start < line);
        }
        None => resources::check(&mut lowered, options),
    }
    lowered.diagnostics.splice(0..0, parsed.diagnostics);
    lowered.diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
    if lowered.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(fail(FailureClass::InvalidPtx, lowered.diagnostics));
    }
    Ok(Input { lowered, source })
}

/// Why a text is no PTX at all. Editors and shells that write a byte order mark make a file that looks right and is refused, here as by
/// NVIDIA's assembler, so that is said.
fn no_ptx(text: &[u8]) -> Diagnostic {
    const MARKS: [(&[u8], &str); 3] =
        [(b"\xef\xbb\xbf", "UTF-8"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16 (big-endian)")];
    match MARKS.iter().find(|(mark, _)| text.starts_with(mark)) {
        Some((_, encoding)) => {
            let message =
                format!("Unexpected non-ASCII character encountered on line 1: a byte order mark of {encoding}");
            let note = "save the file as ASCII, or as UTF-8 without the mark";
            Diagnostic::error(Code::Syntax, Span::new(0, 0), message).note(note)
        }
        None => Diagnostic::error(Code::Version, Span::new(0, 0), "Missing .version directive at start of file"),
    }
}

/// Loads one text as `cuModuleLoadData` does: functions that it calls must be defined.
pub fn load(text: &[u8], options: &Options) -> Result<VerifiedModule, Failure> {
    let Input { lowered, source } = compile(text, options)?;
    let unresolved = unresolved_calls(&lowered);
    if !unresolved.is_empty() {
        return Err(Failure { class: FailureClass::InvalidPtx, diagnostics: unresolved, source });
    }
    Ok(VerifiedModule::new(lowered.module, lowered.diagnostics))
}

/// Functions that are called or whose address is taken, and that nothing defines.
fn unresolved_calls(lowered: &Lowered) -> Vec<Diagnostic> {
    let module = &lowered.module;
    let mut used = vec![false; module.functions.len()];
    for callee in module.functions.iter().filter_map(|f| f.body.as_ref()).flat_map(|body| &body.callees) {
        used[callee.0 as usize] = true;
    }
    let missing = |(index, function): (usize, &ir::Function)| {
        let there = function.builtin.is_some_and(|builtin| !builtin.is_linked());
        let unresolved = used[index] && function.body.is_none() && !there;
        unresolved.then(|| {
            let message = format!("Unresolved extern function '{}'", function.name);
            Diagnostic::error(Code::Unresolved, lowered.function_spans[index], message)
        })
    };
    module.functions.iter().enumerate().filter_map(missing).collect()
}
