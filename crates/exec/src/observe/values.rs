//! Values of instructions that an observer may ask for, or is told of where lanes exchange them.

use std::fmt;

/// What a store puts into memory, and what stands there until then: asked of the executor while it tells of the store, which it has not done yet. Nothing
/// is looked up unless an observer asks.
pub trait Stored {
    /// What a lane stores, from byte `from` of its part on. False where that is not known.
    fn put(&self, lane: u32, from: u32, out: &mut [u8]) -> bool;

    /// What stands at the same place. False where that cannot be read.
    fn stands(&self, lane: u32, from: u32, out: &mut [u8]) -> bool;
}

impl fmt::Debug for dyn Stored + '_ {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Stored")
    }
}

/// Values that lanes of a warp give each other: `shfl`, `vote`, `match`, `redux` (PTX ISA 9.7.9.6, 9.7.13.8 to 9.7.13.12).
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The lanes by the instruction that they have come to.
    pub parties: &'a [Party<'a>],
    /// For each lane those whose values its result hangs on.
    pub from: &'a [u32; 32],
    /// For each lane those of them any of which says alone what the result is.
    pub alone: &'a [u32; 32],
}

/// Lanes that take part in an exchange at one instruction, with its registers by their numbers in the function.
#[derive(Clone, Copy, Debug)]
pub struct Party<'a> {
    /// The call of a function that they are in: [`At::activation`](super::At::activation).
    pub activation: u32,
    /// The lanes.
    pub lanes: u32,
    /// What each lane reads for itself: which lane it asks, and who takes part.
    pub own: &'a [u32],
    /// What it gives to others; none for a constant.
    pub given: Option<u32>,
    /// What it gets.
    pub writes: &'a [u32],
}

/// What threads find together at a barrier of their CTA: `barrier.red` (PTX ISA 9.7.13.1).
#[derive(Clone, Copy, Debug)]
pub struct Vote {
    /// The barrier's number.
    pub barrier: u32,
    /// Which of its phases, counted from the start of the CTA.
    pub phase: u64,
    /// What the lanes do.
    pub part: VotePart,
}

/// What lanes have to do with a [`Vote`]. Registers are by their numbers in the function.
#[derive(Clone, Copy, Debug)]
pub enum VotePart {
    /// They arrive, and give a predicate.
    Gives {
        /// Where it is.
        register: u32,
        /// In which of them it holds as the instruction reads it, which may negate it.
        holds: u32,
    },
    /// All have arrived: they get what it came to.
    Gets {
        /// Where to.
        register: u32,
        /// The predicate that says alone what it comes to if any thread gives it; none for a count.
        decided: Option<bool>,
    },
}
