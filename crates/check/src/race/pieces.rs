//! What the lanes of a warp access, by address.

use smallvec::SmallVec;

/// The lanes of a mask, lowest first.
#[inline]
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = u32> + use<> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = (left != 0).then(|| left.trailing_zeros())?;
        left &= left - 1;
        Some(lane)
    })
}

/// What lanes access: each its own address, or all the same one. `apart`: no address comes twice.
pub(super) fn pieces(mask: u32, addresses: &[u64; 32], apart: bool) -> SmallVec<[(u64, u32); 32]> {
    let first = addresses[mask.trailing_zeros() as usize % 32];
    let lanes = || lanes(mask).map(|lane| lane as usize);
    if lanes().all(|lane| addresses[lane] == first) {
        return SmallVec::from_slice(&[(first, mask)]);
    }
    let mut last = None;
    let rising = !apart || lanes().all(|lane| last.replace(addresses[lane]).is_none_or(|last| last < addresses[lane]));
    match rising {
        true => lanes().map(|lane| (addresses[lane], 1 << lane)).collect(),
        false => groups(mask, addresses).collect(),
    }
}

/// The lanes of a mask by their addresses.
pub(super) fn groups(mask: u32, addresses: &[u64; 32]) -> impl Iterator<Item = (u64, u32)> + use<'_> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let address = *addresses.get(left.trailing_zeros() as usize)?;
        let mut same = 0u32;
        for (lane, &other) in addresses.iter().enumerate() {
            same |= u32::from(other == address) << lane;
        }
        same &= left;
        left &= !same;
        Some((address, same))
    })
}

/// The words of a range, and which of their bytes are in it.
pub(super) fn words(address: u64, len: u64) -> impl Iterator<Item = (u64, u8)> {
    let end = address.saturating_add(len);
    let mut word = address & !3;
    std::iter::from_fn(move || {
        if word >= end {
            return None;
        }
        let mut bytes = 0b1111u8;
        if address > word {
            bytes &= 0b1111 << (address - word);
        }
        if end < word + 4 {
            bytes &= 0b1111 >> (word + 4 - end);
        }
        let at = word;
        word += 4;
        Some((at, bytes))
    })
}
