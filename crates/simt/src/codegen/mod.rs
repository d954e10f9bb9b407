//! LLVM's text for kernels, with vectors written out: each gang of threads is one vector.
//!
//! What all lanes have in common is computed once, with scalars. Where lanes part, the blocks of both ways stand one behind the other, and each runs
//! for the lanes of its mask, or not at all. A kernel with barriers becomes one function for each region between them; what is alive at a barrier
//! waits in the gang's frame. Nothing here runs or knows a machine: the text is what LLVM gets, and what tests look at.
//!
//! What is not covered is [`Declined`], with the reason, and never guessed.

mod ahead;
mod among;
mod approx;
mod arithmetic;
mod arms;
mod asked;
mod atomic;
mod atomic_half;
mod atomic_one;
mod barrier;
mod behind;
mod by_function;
mod call;
mod carried;
mod carryless;
mod check;
mod clamped;
mod compare;
mod convert;
mod deferred;
mod directed;
mod dot;
mod double;
mod exchange;
mod float;
mod flow;
mod flushing;
mod forward;
mod fragment;
mod full;
mod function;
mod gather;
mod groups;
mod guess;
mod half;
mod held;
mod how;
mod hull;
mod indexed;
mod integer;
mod interleaved;
mod known;
mod lanes;
mod later;
mod lazy;
mod local;
mod logic;
mod memory;
mod mode;
mod names;
mod narrow;
mod near;
mod nontemporal;
mod places;
mod plan;
mod prologue;
mod quads;
mod regions;
mod room;
mod rows;
mod sharing;
mod span;
mod special;
mod step;
mod stop;
mod streamed;
mod stretch;
mod switch;
mod team;
mod tile;
mod width;
mod within;

pub use call::called;
pub(crate) use exchange::is_exchange;
pub use how::{How, how};
pub use local::LocalLayout;
pub use places::{NamedBarrier, Turns, turn};
pub use regions::{Compiled, Declined, FRAME_ALIGN, Processor, SMALL_STACK, SiteKind, Style, compile, compile_as};
pub use stop::{Stop, StopKind};
pub use width::{preferred_width, runs_as_warps};

/// What compiled code finds behind its only argument, by byte offset.
pub mod context {
    /// Address of the kernel's parameters.
    pub const PARAMS: u32 = 0;
    /// Address of the table of variables' addresses.
    pub const VARIABLES: u32 = 8;
    /// The function that looks at accesses lane by lane: `u32 check(context, addresses, lanes, site, first thread)`, 1 if all are allowed. Then it has written
    /// where the lanes' bytes are in the host's memory in place of the addresses.
    pub const CHECK: u32 = 16;
    /// Address of the table of sites, three words of 64 bits each: the first address that is allowed, how many are from there on, in steps of the bytes
    /// of a lane, and what compiled code keeps of that, 0 before each launch and wherever the first two change.
    pub const EXTENTS: u32 = 24;
    /// Address of the CTA's shared memory.
    pub const SHARED: u32 = 32;
    /// Its size in bytes.
    pub const SHARED_SIZE: u32 = 40;
    /// `%ctaid`, three words.
    pub const CTAID: u32 = 48;
    /// `%nctaid`, three words.
    pub const NCTAID: u32 = 60;
    /// Address of the frames of the gangs.
    pub const FRAMES: u32 = 72;
    /// Address of the attention word.
    pub const ATTENTION: u32 = 80;
    /// The function to call if it is not 0: `u32 poll(context)`, 1 if the CTA is to be given up.
    pub const POLL: u32 = 88;
    /// The function that fills a site's entry of the table: `u32 find(context, address, site)`, 1 if all bytes from the address on are allowed that the site needs.
    pub const FIND: u32 = 96;
    /// Address of the local memory of the CTA's first thread.
    pub const LOCAL: u32 = 104;
    /// The function that runs an instruction: `u32 step(context, words, lanes, number, registers, width of a gang, first thread)`, 1 if it has not failed.
    pub const STEP: u32 = 112;
    /// The function that ends the grid with a fault: `u32 stop(context, addresses, lanes, number, first thread)`, always 0.
    pub const STOP: u32 = 120;
    /// Address of the table of [`sums`](super::sums) that are kept back; 0 where it pays no more.
    pub const SUMS: u32 = 128;
    /// The function that adds to a place which has no entry there: `void add(context, address, summand, site)`.
    pub const ADD: u32 = 136;
    /// A word: places of whole cache lines that have none of its bits in their address may be written past the caches.
    pub const NONTEMPORAL: u32 = 144;
    /// Address of the first word of memory of which all sums are kept in a row; they change while code runs, as the next two.
    pub const ROW_START: u32 = 152;
    /// How many words follow from there on; 0 if there is no such memory.
    pub const ROW_COUNT: u32 = 160;
    /// Address of their [`sums`](super::sums), of 32 bits, one behind the other.
    pub const ROW: u32 = 168;
    /// The function that gangs go on with by themselves where their team is left: `i32 apart(context, first gang, place)`, as [`Compiled::apart`](super::Compiled).
    pub const APART: u32 = 176;
    /// What the executor has answered: 0 is no.
    pub const ANSWER: u32 = 184;
    /// The function that fetches from a texture whose handle all lanes have: `u32 fetch(context, words, number, width of a gang, handle)`, 1 if it has, and else the
    /// instruction is to be run.
    pub const FETCH: u32 = 192;
    /// Bytes.
    pub const SIZE: u32 = 200;
}

/// Sums that a worker keeps back until it turns from the grid: in a row like the memory itself where that is small, and in a table by address.
pub mod sums {
    /// Words of the largest memory that has a row.
    pub const ROW: u64 = 1 << 15;
    /// Entries of the table: the one of an address has the number of its word in memory modulo this.
    pub const ENTRIES: usize = 1 << 13;

    /// What is kept of one place.
    #[derive(Clone, Copy, Debug, Default)]
    #[repr(C)]
    pub struct Entry {
        /// Of a word in memory; 0 if it is free.
        pub address: u64,
        /// To be added to it.
        pub sum: u32,
        /// Nothing.
        pub unused: u32,
    }
}

/// Where state spaces lie in the generic address space.
pub mod window {
    /// Shared memory.
    pub const SHARED: i64 = 0x1080_0000_0000;
    /// Local memory.
    pub const LOCAL: i64 = 0x1081_0000_0000;
    /// Parameters of the launch.
    pub const PARAM: i64 = 0x1082_0000_0000;
    /// Functions: each has 16 bytes by its number.
    pub const FUNCTIONS: i64 = 0x2003_0000_0000;
}

/// What a region gives back, other than the number of the next one.
pub mod outcome {
    /// All threads of the gang have ended.
    pub const ENDED: i32 = -1;
    /// An access was refused.
    pub const FAULT: i32 = -2;
    /// The CTA is to be given up.
    pub const CANCELLED: i32 = -3;
}
