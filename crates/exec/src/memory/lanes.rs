//! Where the lanes of a warp access memory, and how these addresses lie.

use super::gather::Gather;
use crate::fault::AccessFault;

/// Lanes of a warp.
pub(super) const LANES: usize = 32;
pub(super) const HALF: usize = LANES / 2;

/// Where the lanes of a warp access memory.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<'a> {
    /// One address for each lane.
    pub bases: &'a [u64; LANES],
    /// Added to each.
    pub offset: u64,
    /// The lanes that access at all.
    pub mask: u32,
    /// How `bases` lie for accesses of this size, from [`spread`]; `Other` where not all lanes access.
    pub spread: Spread,
    /// Any number, best the same for accesses that hit the same allocation.
    pub site: u32,
    /// How the processor loads from addresses without a pattern.
    pub gather: Gather,
}

impl<'a> Lanes<'a> {
    /// The lanes of `mask` at these addresses, for accesses of `size` bytes.
    pub fn new(bases: &'a [u64; LANES], mask: u32, size: u64) -> Lanes<'a> {
        let spread = if mask == u32::MAX { spread(bases, size) } else { Spread::Other };
        Lanes { bases, offset: 0, mask, spread, site: 0, gather: Gather::OneByOne }
    }

    #[inline(always)]
    pub(super) fn address(&self, lane: usize) -> u64 {
        self.bases[lane].wrapping_add(self.offset)
    }
}

/// How the addresses of a warp lie, looked at in halves. A wrong one makes an access go to wrong places, but never outside memory that
/// may be accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// In each half each lane's element follows that of the lane before.
    Consecutive,
    /// In each half all lanes name the same address.
    Same,
    /// Neither.
    #[default]
    Other,
}

/// How a full warp's addresses lie, for elements of `size` bytes.
#[inline(always)]
pub fn spread<A: Copy + Into<u64>>(addresses: &[A; LANES], size: u64) -> Spread {
    let at = |lane: usize| -> u64 { addresses[lane].into() };
    // That these are the first lanes is hidden from the compiler: it would leave them out of the loops, which then are no whole vectors.
    let zero = std::hint::black_box(0usize) % HALF;
    let (low, high) = (at(zero), at(HALF + zero));
    let step = at((zero + 1) % HALF).wrapping_sub(low);
    let mut different = 0;
    if step == size {
        for lane in 0..HALF {
            let distance = size * lane as u64;
            different |= at(lane).wrapping_sub(low) ^ distance;
            different |= at(HALF + lane).wrapping_sub(high) ^ distance;
        }
        if different == 0 {
            return Spread::Consecutive;
        }
    } else if step == 0 {
        for lane in 0..HALF {
            different |= at(lane) ^ low;
            different |= at(HALF + lane) ^ high;
        }
        if different == 0 {
            return Spread::Same;
        }
    }
    Spread::Other
}

/// Whether elements of `size` bytes at the addresses of all active lanes are inside the `span` bytes from `start` on, and aligned.
#[inline(always)]
pub(super) fn are_inside(bases: &[u64; LANES], offset: u64, mask: u32, [start, span]: [u64; 2], size: u64) -> bool {
    let Some(last) = span.checked_sub(size) else { return false };
    let start = start.wrapping_sub(offset);
    let mut outside = 0;
    for (lane, base) in bases.iter().enumerate() {
        let active = u64::from(mask >> lane & 1).wrapping_neg();
        let beyond = u64::from(base.wrapping_sub(start) > last);
        outside |= (beyond | base.wrapping_add(offset) & (size - 1)) & active;
    }
    outside == 0
}

pub(super) fn consecutive(first: u64, size: u64) -> [u64; LANES] {
    std::array::from_fn(|lane| first.wrapping_add(lane as u64 * size))
}

/// The set bits of a mask, ascending.
#[inline(always)]
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        lane
    })
}

#[cold]
pub(super) fn in_lane(mut fault: Box<AccessFault>, lane: usize) -> Box<AccessFault> {
    fault.lane = lane as u32;
    fault
}
