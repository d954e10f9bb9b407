//! Room on the stack: a program's threads may have little of it, and translating its code takes more than a call does.

/// Translation starts on a stack of its own where less than this is left, in bytes. Blocks and expressions nest; how deep they
/// may is bounded by the parser, for less than this.
const ENOUGH: usize = 256 << 10;
/// Bytes of a stack of its own.
const OWN: usize = 1 << 20;

/// Does work that translates a program: reads, links or decodes it.
pub(crate) fn with_room<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(ENOUGH, OWN, work)
}
