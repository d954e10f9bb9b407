//! The types of the generated table of entry points.

/// A base name and everything that it can resolve to.
#[derive(Debug)]
pub(crate) struct EntryPoint {
    /// The base name, as callers ask for it.
    pub(crate) name: &'static str,
    /// The ABI versions with the legacy default stream, newest first.
    pub(crate) legacy: &'static [Version],
    /// The ABI versions with the per-thread default stream, newest first; empty if the default stream does not matter.
    pub(crate) per_thread: &'static [Version],
}

/// One ABI version of an entry point.
#[derive(Debug)]
pub(crate) struct Version {
    /// The CUDA version that introduced it, as `1000 * major + 10 * minor`.
    pub(crate) since: i32,
    /// The ELF symbol.
    pub(crate) symbol: &'static str,
    /// Where its code is.
    pub(crate) address: *const (),
}

// SAFETY: the address is that of a function, which any thread may call; nothing is written through it.
unsafe impl Sync for Version {}

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        self.symbol == other.symbol
    }
}
