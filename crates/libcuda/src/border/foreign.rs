//! Calls of the application's functions, with an answer to what they may throw.
//!
//! Nothing may unwind from a callback through the driver: a C++ exception, or `pthread_exit`, which unwinds too. The functions are
//! called through a frame whose personality routine (Itanium C++ ABI, level 1, 2.5.2) says so before anything is unwound: it names
//! the callback, and the C++ runtime goes on to `std::terminate`, which by default names the exception.

use std::arch::global_asm;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::io::Write;

thread_local! {
    /// What kind of callback runs on this thread.
    static RUNS: Cell<&'static str> = const { Cell::new("") };
}

unsafe extern "C" {
    /// Calls `function` with the five arguments; functions with fewer ignore the rest.
    fn warploom_call(a: usize, b: usize, c: usize, d: usize, e: usize, function: usize) -> usize;
}

/// Calls the application's function at an address. `kind` names it if it throws.
///
/// # Safety
/// There is a function that takes up to five arguments of integer or pointer type, and these are good for it.
pub(super) unsafe fn call(kind: &'static str, function: usize, arguments: [usize; 5]) -> usize {
    let [a, b, c, d, e] = arguments;
    let outer = RUNS.replace(kind);
    // SAFETY: as the caller vouches.
    let result = unsafe { warploom_call(a, b, c, d, e, function) };
    RUNS.set(outer);
    result
}

/// `_UA_SEARCH_PHASE`, `_UA_FORCE_UNWIND`, `_URC_CONTINUE_UNWIND`, `_URC_FATAL_PHASE1_ERROR` of the ABI.
const SEARCH_PHASE: c_int = 1;
const FORCE_UNWIND: c_int = 8;
const CONTINUE_UNWIND: c_int = 8;
const FATAL_PHASE1_ERROR: c_int = 3;

/// Says what to do with an exception that reaches the frame of `warploom_call`: it ends there.
extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _object: *mut c_void,
    _at: *mut c_void,
) -> c_int {
    let say = |what: &str| {
        // Nobody may be left to read it.
        let _ =
            writeln!(std::io::stderr(), "warploom: {what} leaves {}: the driver cannot go on after that", RUNS.get());
    };
    if actions & FORCE_UNWIND != 0 {
        say("pthread_exit, or a cancellation,");
        std::process::abort();
    }
    if actions & SEARCH_PHASE != 0 {
        say("an exception");
        return FATAL_PHASE1_ERROR;
    }
    CONTINUE_UNWIND
}

#[cfg(target_arch = "x86_64")]
global_asm!(
    ".pushsection .data.rel.ro.warploom_personality, \"aw\", @progbits",
    ".balign 8",
    ".Lwarploom_personality: .quad {personality}",
    ".popsection",
    ".pushsection .text.warploom_call, \"ax\", @progbits",
    ".balign 16",
    ".globl warploom_call",
    ".hidden warploom_call",
    ".type warploom_call, @function",
    "warploom_call:",
    ".cfi_startproc",
    // DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4
    ".cfi_personality 0x9b, .Lwarploom_personality",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "call r9",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size warploom_call, . - warploom_call",
    ".popsection",
    personality = sym personality,
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".pushsection .data.rel.ro.warploom_personality, \"aw\", @progbits",
    ".balign 8",
    ".Lwarploom_personality: .xword {personality}",
    ".popsection",
    ".pushsection .text.warploom_call, \"ax\", @progbits",
    ".balign 16",
    ".globl warploom_call",
    ".hidden warploom_call",
    ".type warploom_call, @function",
    "warploom_call:",
    ".cfi_startproc",
    // DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4
    ".cfi_personality 0x9b, .Lwarploom_personality",
    "stp x29, x30, [sp, -16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "blr x5",
    "ldp x29, x30, [sp], 16",
    ".cfi_def_cfa sp, 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".cfi_endproc",
    ".size warploom_call, . - warploom_call",
    ".popsection",
    personality = sym personality,
);
