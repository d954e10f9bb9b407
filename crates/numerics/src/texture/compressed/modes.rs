//! BC7 (chapter 20): eight modes, which share the bits of a block differently between ends, partitions and indices.

use super::bits::Bits;
use super::partitions::{anchors, subset};
use super::weight;

/// What a block of a mode has (table 20.1).
struct Mode {
    /// Pairs of ends, and bits of the number that says which texels have which.
    pairs: usize,
    partition_bits: u32,
    /// Bits that say which channel has changed places with alpha, and which of both lists of indices colours have.
    rotation_bits: u32,
    selection_bits: u32,
    colour_bits: u32,
    alpha_bits: u32,
    /// A bit below those of all channels: of each end, or of both of a pair.
    low: Low,
    /// Bits of an index, and of one of the second list; 0 where there is none.
    index_bits: u32,
    second_index_bits: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Low {
    None,
    OfEnd,
    OfPair,
}

#[rustfmt::skip]
const MODES: [Mode; 8] = [
    Mode { pairs: 3, partition_bits: 4, rotation_bits: 0, selection_bits: 0, colour_bits: 4, alpha_bits: 0, low: Low::OfEnd,  index_bits: 3, second_index_bits: 0 },
    Mode { pairs: 2, partition_bits: 6, rotation_bits: 0, selection_bits: 0, colour_bits: 6, alpha_bits: 0, low: Low::OfPair, index_bits: 3, second_index_bits: 0 },
    Mode { pairs: 3, partition_bits: 6, rotation_bits: 0, selection_bits: 0, colour_bits: 5, alpha_bits: 0, low: Low::None,   index_bits: 2, second_index_bits: 0 },
    Mode { pairs: 2, partition_bits: 6, rotation_bits: 0, selection_bits: 0, colour_bits: 7, alpha_bits: 0, low: Low::OfEnd,  index_bits: 2, second_index_bits: 0 },
    Mode { pairs: 1, partition_bits: 0, rotation_bits: 2, selection_bits: 1, colour_bits: 5, alpha_bits: 6, low: Low::None,   index_bits: 2, second_index_bits: 3 },
    Mode { pairs: 1, partition_bits: 0, rotation_bits: 2, selection_bits: 0, colour_bits: 7, alpha_bits: 8, low: Low::None,   index_bits: 2, second_index_bits: 2 },
    Mode { pairs: 1, partition_bits: 0, rotation_bits: 0, selection_bits: 0, colour_bits: 7, alpha_bits: 7, low: Low::OfEnd,  index_bits: 4, second_index_bits: 0 },
    Mode { pairs: 2, partition_bits: 6, rotation_bits: 0, selection_bits: 0, colour_bits: 5, alpha_bits: 5, low: Low::OfEnd,  index_bits: 2, second_index_bits: 0 },
];

const ALPHA: usize = 3;

/// A channel of `bits`, up to 8, in 8: its highest bits once more behind it.
fn stretched(value: u32, bits: u32) -> u32 {
    value << (8 - bits) | value >> (2 * bits - 8)
}

/// The channels of a texel, of 8 bits. A block of no mode has none.
pub(super) fn texel(mut bits: Bits, texel: usize) -> [u32; 4] {
    let Some(mode) = MODES.iter().find(|_| bits.take(1) == 1) else { return [0; 4] };
    let partition = bits.take(mode.partition_bits);
    let (rotation, selection) = (bits.take(mode.rotation_bits), bits.take(mode.selection_bits));
    let ends = ends(&mut bits, mode);
    let (pairs, own) = (mode.pairs, subset(mode.pairs, partition, texel));
    let anchors = &anchors(pairs, partition)[..pairs];
    let texel = texel as u32;
    let mut weights = [weight(bits.index(texel, mode.index_bits, anchors), mode.index_bits); 2];
    if mode.second_index_bits != 0 {
        bits.skip(16 * mode.index_bits - pairs as u32);
        weights[1] = weight(bits.index(texel, mode.second_index_bits, anchors), mode.second_index_bits);
    }
    if selection == 1 {
        weights.swap(0, 1);
    }
    let [first, second] = ends[own];
    let mut channels = std::array::from_fn(|channel| {
        let weight = weights[usize::from(channel == ALPHA)];
        (first[channel] * (64 - weight) + second[channel] * weight + 32) >> 6
    });
    if rotation != 0 {
        channels.swap(rotation as usize - 1, ALPHA);
    }
    channels
}

/// Pairs of ends, each with four channels of 8 bits.
fn ends(bits: &mut Bits, mode: &Mode) -> [[[u32; 4]; 2]; 3] {
    let mut ends = [[[0; 4]; 2]; 3];
    for channel in 0..4 {
        let own = if channel == ALPHA { mode.alpha_bits } else { mode.colour_bits };
        for end in ends[..mode.pairs].as_flattened_mut() {
            end[channel] = bits.take(own);
        }
    }
    let mut low = 0;
    for (number, end) in ends[..mode.pairs].as_flattened_mut().iter_mut().enumerate() {
        let lower = u32::from(mode.low != Low::None);
        if mode.low == Low::OfEnd || mode.low == Low::OfPair && number % 2 == 0 {
            low = bits.take(1);
        }
        for (channel, value) in end.iter_mut().enumerate() {
            let own = if channel == ALPHA { mode.alpha_bits } else { mode.colour_bits };
            *value = if own == 0 { 255 } else { stretched(*value << lower | low, own + lower) };
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of fields, each a value and its bits, from the lowest on.
    fn block(fields: &[(u128, u32)]) -> u128 {
        let (block, used) = fields.iter().fold((0, 0), |(block, at), (value, bits)| (block | value << at, at + bits));
        assert_eq!(used, 128);
        block
    }

    #[test]
    fn one_pair_with_low_bits() {
        // Mode 6: red from 1 (0 with its low bit) to 255, green 129 to 128, blue 255 to 0, alpha 1 to 254.
        let ends = [(0, 7), (127, 7), (64, 7), (64, 7), (127, 7), (0, 7), (0, 7), (127, 7)];
        // Texel 0 has index 7 in three bits, texel 1 index 15, texel 2 index 8.
        let rest = [(1, 1), (0, 1), (7, 3), (15, 4), (8, 4), (0, 52)];
        let block = block(&[&[(64, 7)], &ends[..], &rest[..]].concat());
        let texel = |index| texel(Bits::new(block), index);
        assert_eq!(texel(1), [254, 128, 0, 254]);
        // 34 and 30 64ths of both.
        assert_eq!(texel(0), [120, 129, 135, 120]);
        assert_eq!(texel(2), [135, 128, 120, 135]);
        assert_eq!(texel(3), [1, 129, 255, 1]);
    }

    #[test]
    fn two_lists_of_indices_that_change_places() {
        // Mode 4, blue changed with alpha, colours by the indices of three bits: red 0 to 31, green 31 to 0, blue 0, alpha 63 to 0.
        let fields = [(16, 5), (3, 2), (1, 1), (0, 5), (31, 5), (31, 5), (0, 5), (0, 5), (0, 5), (63, 6), (0, 6)];
        // Texel 1: index 3 of the list of two bits, and 1 of that of three.
        let indices = [(0, 1), (3, 2), (0, 28), (0, 2), (1, 3), (0, 42)];
        let block = block(&[&fields[..], &indices[..]].concat());
        assert_eq!(texel(Bits::new(block), 1), [36, 219, 0, 0]);
        assert_eq!(texel(Bits::new(block), 0), [0, 255, 255, 0]);
    }

    #[test]
    fn three_pairs() {
        // Mode 2, partition 0: the first two columns of the upper half are of the first pair. Red of all six ends, 5 bits each.
        let red = [(31, 5), (31, 5), (16, 5), (16, 5), (1, 5), (1, 5)];
        let block = block(&[&[(4, 3), (0, 6)], &red[..], &[(0, 60), (0, 29)]].concat());
        let reds: Vec<u32> = (0..16).map(|index| texel(Bits::new(block), index)[0]).collect();
        assert_eq!(reds, [255, 255, 132, 132, 255, 255, 132, 132, 255, 8, 8, 132, 8, 8, 8, 8]);
        assert!((0..16).all(|index| texel(Bits::new(block), index)[1..] == [0, 0, 255]));
    }

    #[test]
    fn no_mode() {
        assert_eq!(texel(Bits::new(u128::MAX << 8), 5), [0; 4]);
    }
}
