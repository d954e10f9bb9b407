//! The processor's floating-point mode (MXCSR), changed for what is written between two texts: in a function of its own, as LLVM keeps arithmetic on its side of a
//! change only behind a call.

use super::plan::Plan;

/// What changes the mode, some bits being cleared and then some set, and what puts back what was there.
pub(super) fn changed(plan: &Plan<'_>, clear: u32, set: u32) -> (String, &'static str) {
    for way in ["ld", "st"] {
        plan.declare(format!("declare void @llvm.x86.sse.{way}mxcsr(ptr)"));
    }
    let before = format!(
        "  %before = alloca i32\n  %other = alloca i32\n  call void @llvm.x86.sse.stmxcsr(ptr %before)\n  \
         %was = load i32, ptr %before\n  %rest = and i32 %was, {}\n  %mode = or i32 %rest, {set}\n  \
         store i32 %mode, ptr %other\n  call void @llvm.x86.sse.ldmxcsr(ptr %other)\n",
        !clear as i32
    );
    (before, "  call void @llvm.x86.sse.ldmxcsr(ptr %before)\n")
}
