//! What gangs go on with where their team is left ([`Compiled::apart`](warploom_simt::codegen::Compiled)): a module of its own, made when a CTA first comes
//! there. Code of it takes about as long to make as of all else, and more than half of the grids with teams never come there. Who does waits for it, for less than it
//! has gained: code of the rest was there so much earlier.

use std::sync::OnceLock;

use warploom_exec::fault::{FaultKind, Trap};
use warploom_simt::codegen::outcome;

use crate::background;
use crate::context::Context;
use crate::object::Code;

/// Code like [`enter`].
pub(crate) type Enter = unsafe extern "C" fn(*mut Context, u32, u32) -> i32;

/// The code, or how to come by it.
pub(crate) struct Apart {
    code: OnceLock<Result<Code, String>>,
    make: Make,
}

/// Makes the code, on whichever thread.
pub(crate) type Make = Box<dyn Fn() -> Result<Code, String> + Send + Sync>;

impl Apart {
    pub(crate) fn new(make: Make) -> Apart {
        Apart { code: OnceLock::new(), make }
    }

    /// What compiled code is to call: the code if it is there, else what sees to it.
    pub(crate) fn entry(&self) -> Enter {
        match self.code.get() {
            Some(Ok(code)) => entry_of(code),
            _ => enter,
        }
    }

    fn code(&self) -> Result<&Code, &str> {
        self.code.get_or_init(|| (self.make)()).as_ref().map_err(String::as_str)
    }
}

fn entry_of(code: &Code) -> Enter {
    // SAFETY: `cta` of a module of this kind.
    unsafe { std::mem::transmute::<*const (), Enter>(std::ptr::with_exposed_provenance(code.entry as usize)) }
}

/// Makes the code and goes on there.
///
/// # Safety
/// Called by compiled code, with its context, and what its own module takes.
pub(crate) unsafe extern "C" fn enter(context: *mut Context, first: u32, place: u32) -> i32 {
    let code = {
        // SAFETY: the context lives while the code runs, its kernel too, and nothing else refers to it meanwhile.
        let context = unsafe { &mut *context };
        // SAFETY: as above.
        let kernel = unsafe { &*context.kernel };
        match kernel.apart.as_ref().ok_or("it has no teams").and_then(Apart::code) {
            Ok(code) => context.apart = entry_of(code),
            // The process ends: nothing begins any more.
            Err(_) if background::is_closed() => return outcome::CANCELLED,
            Err(why) => {
                let kind = FaultKind::Internal(format!(
                    "there is no code for threads that part: {why}; WARPLOOM_JIT=off compiles nothing"
                ));
                context.fault = Some(Box::new(Trap::new(kind)));
                return outcome::FAULT;
            }
        }
        context.apart
    };
    // SAFETY: the other module of this kernel, with the same context; it holds its code while it runs.
    unsafe { code(context, first, place) }
}
