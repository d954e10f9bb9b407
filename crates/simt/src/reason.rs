//! Why a value differs between lanes in a way that is not known.

use warploom_ptx::ir::SpecialReg;

use crate::values::ValueId;

/// The cause closest to the value; where it is another value, that one has a reason too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The instruction computes it from a value that differs, in a way that is not followed further.
    Operand {
        /// What writes it.
        inst: u32,
        /// What differs.
        value: ValueId,
    },
    /// A special register that each thread has its own of, in CTAs of this shape.
    Special {
        /// What reads it.
        inst: u32,
        /// The register.
        reg: SpecialReg,
    },
    /// Loaded from addresses that differ.
    Address {
        /// The load.
        inst: u32,
        /// The address.
        value: ValueId,
    },
    /// Loaded from one address, but each lane may see another value there: volatile or ordered loads.
    Ordered {
        /// The load.
        inst: u32,
    },
    /// Local memory: each thread has its own at one address.
    Local {
        /// The load.
        inst: u32,
    },
    /// An atomic gives each thread what was there before its own.
    Atomic {
        /// The instruction.
        inst: u32,
    },
    /// Lanes give it to each other.
    Exchange {
        /// The instruction.
        inst: u32,
    },
    /// A call, of which nothing is followed.
    Call {
        /// The call.
        inst: u32,
    },
    /// An instruction of which nothing is followed: textures, matrices, asynchronous operations.
    Opaque {
        /// The instruction.
        inst: u32,
    },
    /// Written under a guard that differs: other lanes keep what was there.
    Guard {
        /// The write.
        inst: u32,
    },
    /// Lanes come to a block on different ways, and not all ways write it alike.
    Join {
        /// The branch: the block that it ends.
        branch: u32,
        /// Where they meet.
        block: u32,
    },
    /// Lanes on one way from a branch read what it was before, and those on another one write it.
    OtherWay {
        /// The branch: the block that it ends.
        branch: u32,
        /// Where the way of those begins that read it.
        block: u32,
    },
    /// Read behind a loop that lanes leave in different trips.
    LeftLoop {
        /// The branch: the block that it ends.
        branch: u32,
    },
    /// Lanes that go their own ways come to it at different times, when it gives different results.
    Apart {
        /// The instruction.
        inst: u32,
    },
    /// Different writes reach it, whose differences between lanes have nothing in common.
    Writes,
}
