//! What an entry was made from: all that its code depends on.

use std::fmt::{self, Display, Formatter, Write};

use sha2::{Digest, Sha256};
use warploom_ptx::ir::{FunctionId, Module};

/// The digest of all that code depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) [u8; 32]);

impl Display for Key {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Feeds text to a digest.
struct Feed(Sha256);

impl Write for Feed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl Key {
    /// Of a kernel, in a module of it and what it calls alone, for CTAs of one shape, on `machine`, which says for what the code is made.
    pub(crate) fn new(module: &Module, kernel: FunctionId, cta: [u32; 3], machine: &str) -> Key {
        let mut feed = Feed(Sha256::new());
        // Nothing but the digest hears of it: it cannot fail.
        let _ = write(&mut feed, module, kernel, cta, machine);
        Key(feed.0.finalize().into())
    }

    /// Of what follows where one of its teams is left, if the text of what they run has this digest.
    pub(crate) fn apart(&self, text: &[u8; 32]) -> Key {
        Key(Sha256::new().chain_update(self.0).chain_update(text).finalize().into())
    }
}

fn write(feed: &mut Feed, module: &Module, kernel: FunctionId, cta: [u32; 3], machine: &str) -> fmt::Result {
    // The compiler, by its sources, and the LLVM that its text is for.
    writeln!(feed, "{} LLVM 19\n{machine}\n{cta:?}", env!("COMPILER_SOURCES"))?;
    writeln!(feed, "{:?} {:?} {}", module.version, module.target, module.address_size)?;
    for number in 0..module.functions.len() as u32 {
        if module.functions[number as usize].body.is_some() {
            writeln!(feed, "f{number}: {}", module.function_text(FunctionId(number)))?;
        }
    }
    writeln!(feed, "kernel f{}", kernel.0)?;
    let body = module.functions[kernel.0 as usize].body.as_ref();
    for number in body.iter().flat_map(|body| &body.globals).map(|id| id.0) {
        let global = &module.globals[number as usize];
        // Not what it holds: launches bring its address.
        writeln!(feed, "g{number}: {} {:?} {} {}", global.space, global.ty, global.size, global.align)?;
    }
    let layout = module.shared_layout(kernel);
    let mut offsets: Vec<_> = layout.offsets.iter().map(|(id, offset)| (id.0, *offset)).collect();
    offsets.sort_unstable();
    writeln!(feed, "shared {offsets:?} {} {}", layout.size, layout.align)
}
