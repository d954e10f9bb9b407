//! Calls of functions that have code of their own, for the lanes that run. What is handed over lies in the threads' local memory.

use warploom_ptx::ir::{FunctionId, Inst};

use super::function::Writer;
use super::names::Ty;
use super::outcome;

/// What a function that the kernel calls is called in the text.
pub fn called(function: FunctionId) -> String {
    format!("called{}", function.0)
}

impl Writer<'_> {
    /// Calls a function, and leaves if it has ended the CTA.
    pub(super) fn call(&mut self, inst: &Inst, function: FunctionId) -> Result<(), String> {
        if self.plan.turns().is_some() || self.team > 0 {
            return Err(self.lacks(inst));
        }
        let mask = self.mask_value();
        let result = self.set(
            Ty::int(32, 0),
            format!("call i32 @{}(ptr %context, i32 %gang, {} {})", called(function), mask.ty.text(), mask.text),
        );
        let ended = self.constant(result.ty, i64::from(outcome::ENDED));
        let fine = self.compare("eq", &result, &ended);
        let (on, out) = (self.fresh(), self.fresh());
        self.line(format!("br i1 {}, label %L{on}, label %L{out}, !prof !2", fine.text));
        self.label(&format!("L{out}"));
        self.line(format!("ret i32 {}", result.text));
        self.label(&format!("L{on}"));
        Ok(())
    }
}
