//! Looking functions up in our libraries, at their first call: by then the program's constructors or the program itself run, so that the
//! dynamic linker can be called, which it cannot from its own callbacks.
//!
//! The call comes from a trampoline, in the middle of a call of the program's with its arguments in registers, on any thread.
use std::ffi::{CStr, CString, c_char, c_long, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::elf_file::Reason;
use crate::explain;
use crate::loaded::NewObject;
use crate::trampolines::Trampolines;

/// What the trampolines of one object lead to. Its address is in their mapping.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) trampolines: Trampolines,
    /// The functions by number.
    pub(crate) names: Vec<CString>,
    /// Our library.
    pub(crate) library: CString,
    /// Where the object is, and our library is to be.
    namespace: c_long,
    /// Our library as `dlmopen` names it, once it is loaded.
    handle: AtomicPtr<c_void>,
    place: Place,
}

/// What our library is for an object.
#[derive(Debug)]
pub(crate) enum Place {
    /// It takes the place of functions, and has each under the same name.
    Instead,
    /// It stands in front of these functions, and says which it wants to.
    InFront(Vec<usize>),
}

/// The function of a library of ours that stands in front of another: gets the functions of that, and writes its own over those that it has.
/// `warploom_compilers` defines it.
type Front = unsafe extern "C" fn(count: usize, names: *const *const c_char, functions: *mut usize);
const FRONT: &CStr = c"warploom_front";

impl Destination {
    /// One for functions of `library` with these names, its trampolines written, near `code`, addresses in `object`, and not above
    /// it if not `above_too`.
    pub(crate) fn near(
        object: &NewObject,
        code: Range<usize>,
        above_too: bool,
        names: Vec<CString>,
        library: CString,
        place: Place,
    ) -> Result<Box<Destination>, Reason> {
        let trampolines = Trampolines::near(code, above_too, names.len())
            .map_err(|error| format!("no room for trampolines near it: {error}"))?;
        let handle = AtomicPtr::new(ptr::null_mut());
        let namespace = object.namespace;
        let destination = Box::new(Destination { trampolines, names, library, namespace, handle, place });
        destination
            .trampolines
            .write((&raw const *destination).expose_provenance())
            .map_err(|error| format!("the system does not let new code be executed: {error}"))?;
        Ok(destination)
    }

    /// Loads our library and finds function `index`.
    fn resolve(&self, index: usize) -> usize {
        match &self.place {
            Place::Instead => self.instead(index),
            Place::InFront(functions) => self.in_front(functions)[index],
        }
    }

    /// If the function cannot be had, the process ends, as it does for the dynamic linker when a symbol is missing: there is nothing to
    /// return to.
    fn instead(&self, index: usize) -> usize {
        let Some(handle) = self.load() else { self.give_up("cannot load") };
        // SAFETY: the handle is one of dlmopen's, never closed.
        let address = unsafe { libc::dlsym(handle, self.names[index].as_ptr()) };
        if address.is_null() {
            self.give_up("cannot find a function in");
        }
        self.trampolines.set(index, address.addr());
        address.addr()
    }

    /// All functions are found at once. Without our library, the object's own are there.
    fn in_front(&self, functions: &[usize]) -> Vec<usize> {
        let mut functions = functions.to_vec();
        // SAFETY: as above.
        let front = self.load().map(|handle| unsafe { libc::dlsym(handle, FRONT.as_ptr()) });
        match front.filter(|front| !front.is_null()) {
            Some(front) => {
                let names: Vec<*const c_char> = self.names.iter().map(|name| name.as_ptr()).collect();
                // SAFETY: our library defines the function so; both lists are as long as it is told.
                unsafe {
                    let front: Front = std::mem::transmute(front);
                    front(names.len(), names.as_ptr(), functions.as_mut_ptr());
                }
            }
            None => explain::complain(format_args!("cannot stand in front of a compiler: {}", reason())),
        }
        functions.iter().enumerate().for_each(|(index, address)| self.trampolines.set(index, *address));
        functions
    }

    /// With the exit status of the dynamic linker's own failures.
    fn give_up(&self, what: &str) -> ! {
        explain::complain(format_args!("{what} {}: {}", self.library.to_string_lossy(), reason()));
        // SAFETY: ends the process.
        unsafe { libc::_exit(127) }
    }

    fn load(&self) -> Option<*mut c_void> {
        let mut handle = self.handle.load(Ordering::Acquire);
        if handle.is_null() {
            // No lock is held: constructors may run, which may come here again. Who comes second gets the same library.
            // SAFETY: the namespace is one of the program's, and loading a library has no other condition.
            handle = unsafe { libc::dlmopen(self.namespace, self.library.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            self.handle.store(handle, Ordering::Release);
        }
        (!handle.is_null()).then_some(handle)
    }
}

/// Why the dynamic linker failed.
fn reason() -> String {
    // SAFETY: dlerror answers NULL or a string that lives until the next call on this thread.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        "no reason given".to_owned()
    } else {
        // SAFETY: as above.
        unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
    }
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
