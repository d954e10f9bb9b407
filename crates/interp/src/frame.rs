//! Register files: one row of 32 lanes for each virtual register.
//!
//! Three files by width: 32-bit rows (also 8 and 16-bit registers, zero-extended), 64-bit rows (128-bit registers take two, low half
//! first) and predicates as lane masks. Constants are rows of their own, filled when the frame is made and never written again.

use aligned_vec::{AVec, ConstAlign};
use warploom_exec::memory::Spread;

use crate::isa::Isa;
use crate::program::Program;
use crate::waiting::fingerprint;

/// A 32-bit register: one value for each lane.
pub(crate) type Row32 = [u32; 32];
/// A 64-bit register.
pub(crate) type Row64 = [u64; 32];

/// Rows that begin where a line of the host's caches does: a vector of the host that lies across two lines takes two accesses.
pub(crate) type Rows<T> = AVec<[T; 32], ConstAlign<64>>;

/// No rows.
pub(crate) fn no_rows<T>() -> Rows<T> {
    AVec::new(0)
}

/// All lanes.
pub(crate) const FULL: u32 = u32::MAX;

/// How many rows a function needs, and what its constant rows hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameLayout {
    pub(crate) rows32: usize,
    pub(crate) rows64: usize,
    pub(crate) predicates: usize,
    pub(crate) spreads: usize,
    pub(crate) constants32: Vec<(u32, u32)>,
    pub(crate) constants64: Vec<(u32, u64)>,
    /// Rows of addresses of variables: the variable's number, and what is added.
    pub(crate) variables: Vec<(u32, u32, i64)>,
    pub(crate) constant_predicates: Vec<(u32, u32)>,
    /// Registers that may be read before they are written.
    pub(crate) unset: Vec<Home>,
}

/// The register file and slot of a virtual register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// A predicate.
    Predicate(u32),
    /// A 32-bit row.
    Word(u32),
    /// A 64-bit row.
    Double(u32),
    /// Two 64-bit rows.
    Quad(u32),
}

/// The registers of one activation of a function.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) r32: Rows<u32>,
    pub(crate) r64: Rows<u64>,
    pub(crate) p: Vec<u32>,
    /// How addresses lie that several instructions of a basic block use.
    pub(crate) spreads: Vec<Spread>,
    /// The launch and the CTA for which rows have been filled ahead, 0 for none.
    pub(crate) launch: u64,
    pub(crate) cta: u64,
    /// The list of free frames that it comes back to.
    home: usize,
}

impl Default for Frame {
    /// Registers of nobody.
    fn default() -> Self {
        let (p, spreads) = (Vec::new(), Vec::new());
        Self { r32: no_rows(), r64: no_rows(), p, spreads, launch: 0, cta: 0, home: 0 }
    }
}

impl Frame {
    /// The rows that `layout` asks for.
    fn new(layout: &FrameLayout, variables: &[u64], home: usize) -> Self {
        let mut frame = Self { home, ..Self::default() };
        frame.r32.resize(layout.rows32, [0; 32]);
        frame.r64.resize(layout.rows64, [0; 32]);
        frame.p.resize(layout.predicates, 0);
        frame.spreads.resize(layout.spreads, Spread::Other);
        for &(slot, value) in &layout.constants32 {
            frame.r32[slot as usize] = [value; 32];
        }
        for &(slot, value) in &layout.constants64 {
            frame.r64[slot as usize] = [value; 32];
        }
        for &(slot, number, offset) in &layout.variables {
            frame.r64[slot as usize] = [variables[number as usize].wrapping_add_signed(offset); 32];
        }
        for &(slot, value) in &layout.constant_predicates {
            frame.p[slot as usize] = value;
        }
        frame
    }

    /// Zeroes the registers that may be read before they are written: which frame an activation gets must not show.
    fn clear_unset(&mut self, layout: &FrameLayout) {
        for &home in &layout.unset {
            match home {
                Home::Predicate(slot) => self.p[slot as usize] = 0,
                Home::Word(slot) => self.r32[slot as usize] = [0; 32],
                Home::Double(slot) => self.r64[slot as usize] = [0; 32],
                Home::Quad(slot) => self.r64[slot as usize..][..2].fill([0; 32]),
            }
        }
    }

    /// A hash of all registers.
    pub(crate) fn fingerprint(&self) -> u64 {
        let words = self.r32.iter().flatten().chain(&self.p).map(|&word| u64::from(word));
        fingerprint(self.r64.iter().flatten().copied().chain(words))
    }
}

/// Frames that no activation uses, by the function that they fit, behind those by the warp that they are kept for. Taking the one that
/// was given last means that the warps of a CTA that run one after the other do so on the same memory, which the host's caches then hold.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    #[expect(clippy::vec_box, reason = "frames change hands as pointers")]
    free: Vec<Vec<Box<Frame>>>,
    /// What a machine holds that runs no activation.
    nobodys: Option<Box<Frame>>,
}

impl Frames {
    /// A frame for `function`, called by warp `warp`, with the addresses of `variables`. PTX does not say what registers hold that nobody
    /// has written; here they hold 0, or what was filled in ahead.
    pub(crate) fn take(&mut self, program: &Program, function: u32, warp: u32, variables: &[u64]) -> Box<Frame> {
        let callee = &program.functions[function as usize];
        let home = match callee.frame_for_each_warp {
            true => program.functions.len() + warp as usize,
            false => function as usize,
        };
        match self.free.get_mut(home).and_then(Vec::pop) {
            Some(mut frame) => {
                frame.clear_unset(&callee.layout);
                frame
            }
            None => Box::new(Frame::new(&callee.layout, variables, home)),
        }
    }

    /// Takes a frame back.
    pub(crate) fn give(&mut self, frame: Box<Frame>) {
        let home = frame.home;
        if self.free.len() <= home {
            self.free.resize_with(home + 1, Vec::new);
        }
        self.free[home].push(frame);
    }

    /// The frame of a machine that runs no activation.
    pub(crate) fn take_nobodys(&mut self) -> Box<Frame> {
        self.nobodys.take().unwrap_or_default()
    }

    /// Takes that back.
    pub(crate) fn give_nobodys(&mut self, frame: Box<Frame>) {
        self.nobodys = Some(frame);
    }
}

/// A row as it is before lanes of it are written. The compiler is not to know that it is the same memory: it would store under a mask, and
/// the processor makes a load behind a masked store wait until that has left for the cache.
#[inline(always)]
pub(crate) fn before<T: Copy>(row: &[T; 32]) -> [T; 32] {
    *std::hint::black_box(row)
}

/// A mask of lanes in halves. The compiler tests bit 31 of a word differently from the others, which takes the loop over the upper half
/// apart; of the upper half on its own it does not know which bit that is.
#[inline(always)]
fn halves(mask: u32) -> [u32; 2] {
    [mask, std::hint::black_box(mask >> 16)]
}

/// A register width that lane loops are generic over.
pub(crate) trait Word: Copy + Default {
    /// The row of register `slot`.
    fn row(frame: &Frame, slot: u32) -> &[Self; 32];
    /// The row of register `slot`, to write.
    fn row_mut(frame: &mut Frame, slot: u32) -> &mut [Self; 32];
    /// Bytes of a value.
    const BYTES: usize;
    /// The value of that many little-endian bytes.
    fn from_bytes(bytes: &[u8]) -> Self;
    /// Stores the value's bytes.
    fn to_bytes(self, bytes: &mut [u8]);
    /// The value as an address: zero-extended, `offset` added in the value's own width.
    fn address(self, offset: u32) -> u64;
    /// `yes` in lanes of `mask` and `no` in the others, where the host can choose lanes of vectors by the bits of a mask.
    fn choose(isa: Isa, mask: u32, yes: &[Self; 32], no: &[Self; 32]) -> Option<[Self; 32]>;
    /// Takes `new` in lanes of `mask` and keeps `old` in the others.
    fn blend(old: &mut [Self; 32], new: &[Self; 32], mask: u32);
}

impl Word for u32 {
    const BYTES: usize = 4;

    #[inline(always)]
    fn from_bytes(bytes: &[u8]) -> Self {
        bytes.first_chunk().map_or(0, |bytes| Self::from_le_bytes(*bytes))
    }

    #[inline(always)]
    fn to_bytes(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.to_le_bytes());
    }

    #[inline(always)]
    fn choose(isa: Isa, mask: u32, yes: &Row32, no: &Row32) -> Option<Row32> {
        isa.choose32(mask, yes, no)
    }

    #[inline(always)]
    fn address(self, offset: u32) -> u64 {
        u64::from(self.wrapping_add(offset))
    }

    #[inline(always)]
    fn row(frame: &Frame, slot: u32) -> &[Self; 32] {
        &frame.r32[slot as usize]
    }

    #[inline(always)]
    fn row_mut(frame: &mut Frame, slot: u32) -> &mut [Self; 32] {
        &mut frame.r32[slot as usize]
    }

    #[inline(always)]
    fn blend(old: &mut [Self; 32], new: &[Self; 32], mask: u32) {
        let before = before(old);
        for (half, taken) in halves(mask).into_iter().enumerate() {
            for lane in 0..16 {
                let (keep, place) = ((taken >> lane & 1).wrapping_neg(), 16 * half + lane);
                old[place] = (new[place] & keep) | (before[place] & !keep);
            }
        }
    }
}

impl Word for u64 {
    const BYTES: usize = 8;

    #[inline(always)]
    fn from_bytes(bytes: &[u8]) -> Self {
        bytes.first_chunk().map_or(0, |bytes| Self::from_le_bytes(*bytes))
    }

    #[inline(always)]
    fn to_bytes(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.to_le_bytes());
    }

    #[inline(always)]
    fn choose(isa: Isa, mask: u32, yes: &Row64, no: &Row64) -> Option<Row64> {
        isa.choose64(mask, yes, no)
    }

    #[inline(always)]
    fn address(self, offset: u32) -> u64 {
        self.wrapping_add(offset as i32 as u64)
    }

    #[inline(always)]
    fn row(frame: &Frame, slot: u32) -> &[Self; 32] {
        &frame.r64[slot as usize]
    }

    #[inline(always)]
    fn row_mut(frame: &mut Frame, slot: u32) -> &mut [Self; 32] {
        &mut frame.r64[slot as usize]
    }

    #[inline(always)]
    fn blend(old: &mut [Self; 32], new: &[Self; 32], mask: u32) {
        let before = before(old);
        for (half, taken) in halves(mask).into_iter().enumerate() {
            for lane in 0..16 {
                let (keep, place) = (u64::from(taken >> lane & 1).wrapping_neg(), 16 * half + lane);
                old[place] = (new[place] & keep) | (before[place] & !keep);
            }
        }
    }
}
