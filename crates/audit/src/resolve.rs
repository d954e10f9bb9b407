//! Looking functions up in our runtime, at their first call: by then the program's constructors or the program itself run, so that the
//! dynamic linker can be called, which it cannot from its own callbacks.
//!
//! The call comes from a trampoline, in the middle of a call of the program's with its arguments in registers, on any thread.
use std::ffi::{CStr, CString, c_long, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::explain;
use crate::trampolines::Trampolines;

/// What the trampolines of one object lead to. Its address is in their mapping.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) trampolines: Trampolines,
    /// The functions by number.
    pub(crate) names: Vec<CString>,
    /// Our runtime library.
    pub(crate) library: CString,
    /// Where the object is, and our runtime is to be.
    pub(crate) namespace: c_long,
    /// Our runtime library as `dlmopen` names it, once it is loaded.
    pub(crate) handle: AtomicPtr<c_void>,
}

impl Destination {
    /// Loads our runtime and finds function `index`. If that cannot be, the process ends, as it does for the dynamic linker when a symbol
    /// is missing: there is nothing to return to.
    fn resolve(&self, index: usize) -> usize {
        let name = &self.names[index];
        let mut handle = self.handle.load(Ordering::Acquire);
        if handle.is_null() {
            // No lock is held: constructors may run, which may come here again. Who comes second gets the same library.
            // SAFETY: the namespace is one of the program's, and loading a library has no other condition.
            handle = unsafe { libc::dlmopen(self.namespace, self.library.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if handle.is_null() {
                give_up("cannot load warploom's CUDA runtime");
            }
            self.handle.store(handle, Ordering::Release);
        }
        // SAFETY: the handle is one of dlmopen's, never closed.
        let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
        if address.is_null() {
            give_up("cannot find a function in warploom's CUDA runtime");
        }
        self.trampolines.set(index, address.addr());
        address.addr()
    }
}

/// With the exit status of the dynamic linker's own failures.
fn give_up(what: &str) -> ! {
    // SAFETY: dlerror answers NULL or a string that lives until the next call on this thread.
    let error = unsafe { libc::dlerror() };
    let error = if error.is_null() {
        "no reason given".into()
    } else {
        // SAFETY: as above.
        unsafe { CStr::from_ptr(error) }.to_string_lossy()
    };
    explain::complain(format_args!("{what}: {error}"));
    // SAFETY: ends the process.
    unsafe { libc::_exit(127) }
}

/// Called by [`enter`]: the address to go on at.
///
/// # Safety
/// `destination` is what a trampoline was given.
unsafe extern "C" fn resolve(destination: *const Destination, index: usize) -> usize {
    // SAFETY: destinations live as long as their trampolines.
    unsafe { &*destination }.resolve(index)
}

/// Where trampolines lead at first.
pub(crate) fn entry() -> usize {
    enter as *const () as usize
}

/// On the stack are a [`Destination`], the number of a trampoline, and what the caller of the function left there. All registers that
/// may hold arguments are kept (System V ABI for x86-64, 3.2.3: rdi, rsi, rdx, rcx, r8, r9, xmm0 to xmm7, al; r10 is a nested function's).
#[unsafe(naked)]
unsafe extern "C" fn enter() {
    core::arch::naked_asm!(
        "endbr64",
        "push rbp",
        "mov rbp, rsp",
        "and rsp, -16",
        "sub rsp, 192",
        "mov [rsp], rax",
        "mov [rsp + 8], rdi",
        "mov [rsp + 16], rsi",
        "mov [rsp + 24], rdx",
        "mov [rsp + 32], rcx",
        "mov [rsp + 40], r8",
        "mov [rsp + 48], r9",
        "mov [rsp + 56], r10",
        "movaps [rsp + 64], xmm0",
        "movaps [rsp + 80], xmm1",
        "movaps [rsp + 96], xmm2",
        "movaps [rsp + 112], xmm3",
        "movaps [rsp + 128], xmm4",
        "movaps [rsp + 144], xmm5",
        "movaps [rsp + 160], xmm6",
        "movaps [rsp + 176], xmm7",
        "mov rdi, [rbp + 8]",
        "mov rsi, [rbp + 16]",
        "call {resolve}",
        "mov r11, rax",
        "mov rax, [rsp]",
        "mov rdi, [rsp + 8]",
        "mov rsi, [rsp + 16]",
        "mov rdx, [rsp + 24]",
        "mov rcx, [rsp + 32]",
        "mov r8, [rsp + 40]",
        "mov r9, [rsp + 48]",
        "mov r10, [rsp + 56]",
        "movaps xmm0, [rsp + 64]",
        "movaps xmm1, [rsp + 80]",
        "movaps xmm2, [rsp + 96]",
        "movaps xmm3, [rsp + 112]",
        "movaps xmm4, [rsp + 128]",
        "movaps xmm5, [rsp + 144]",
        "movaps xmm6, [rsp + 160]",
        "movaps xmm7, [rsp + 176]",
        "mov rsp, rbp",
        "pop rbp",
        "add rsp, 16",
        "jmp r11",
        resolve = sym resolve,
    )
}
