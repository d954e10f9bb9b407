//! BC6H (chapter 19): fourteen modes of halves without alpha, with a sign or without.

use super::bits::Bits;
use super::partitions::{anchors, subset};
use super::weight;

/// Which bits of which end the next bits of a block are.
#[derive(Clone, Copy)]
struct Run {
    /// 0 to 2: red, green and blue.
    channel: usize,
    /// 0 to 3.
    end: usize,
    /// The highest and the lowest bit; the other way round, the highest comes first.
    from: u32,
    to: u32,
}

const fn red(end: usize, from: u32, to: u32) -> Run {
    Run { channel: 0, end, from, to }
}

const fn green(end: usize, from: u32, to: u32) -> Run {
    Run { channel: 1, end, from, to }
}

const fn blue(end: usize, from: u32, to: u32) -> Run {
    Run { channel: 2, end, from, to }
}

/// What a block of a mode has (tables 19.1 and 19.2).
struct Mode {
    /// Its number, in 2 bits or 5.
    number: u32,
    /// Bits of the first end.
    bits: u32,
    /// Bits of how far the other ends lie from it, of each channel; none where they are ends like the first.
    deltas: Option<[u32; 3]>,
    /// Pairs of ends.
    pairs: usize,
    layout: &'static [Run],
}

#[rustfmt::skip]
static MODES: [Mode; 14] = [
    Mode { number: 0, bits: 10, deltas: Some([5, 5, 5]), pairs: 2, layout: &[
        green(2, 4, 4), blue(2, 4, 4), blue(3, 4, 4), red(0, 9, 0), green(0, 9, 0), blue(0, 9, 0), red(1, 4, 0), green(3, 4, 4), green(2, 3, 0), green(1, 4, 0), blue(3, 0, 0),
        green(3, 3, 0), blue(1, 4, 0), blue(3, 1, 1), blue(2, 3, 0), red(2, 4, 0), blue(3, 2, 2), red(3, 4, 0), blue(3, 3, 3),
    ] },
    Mode { number: 1, bits: 7, deltas: Some([6, 6, 6]), pairs: 2, layout: &[
        green(2, 5, 5), green(3, 4, 4), green(3, 5, 5), red(0, 6, 0), blue(3, 0, 0), blue(3, 1, 1), blue(2, 4, 4), green(0, 6, 0), blue(2, 5, 5), blue(3, 2, 2), green(2, 4, 4),
        blue(0, 6, 0), blue(3, 3, 3), blue(3, 5, 5), blue(3, 4, 4), red(1, 5, 0), green(2, 3, 0), green(1, 5, 0), green(3, 3, 0), blue(1, 5, 0), blue(2, 3, 0), red(2, 5, 0), red(3, 5, 0),
    ] },
    Mode { number: 2, bits: 11, deltas: Some([5, 4, 4]), pairs: 2, layout: &[
        red(0, 9, 0), green(0, 9, 0), blue(0, 9, 0), red(1, 4, 0), red(0, 10, 10), green(2, 3, 0), green(1, 3, 0), green(0, 10, 10), blue(3, 0, 0), green(3, 3, 0), blue(1, 3, 0),
        blue(0, 10, 10), blue(3, 1, 1), blue(2, 3, 0), red(2, 4, 0), blue(3, 2, 2), red(3, 4, 0), blue(3, 3, 3),
    ] },
    Mode { number: 6, bits: 11, deltas: Some([4, 5, 4]), pairs: 2, layout: &[
        red(0, 9, 0), green(0, 9, 0), blue(0, 9, 0), red(1, 3, 0), red(0, 10, 10), green(3, 4, 4), green(2, 3, 0), green(1, 4, 0), green(0, 10, 10), green(3, 3, 0), blue(1, 3, 0),
        blue(0, 10, 10), blue(3, 1, 1), blue(2, 3, 0), red(2, 3, 0), blue(3, 0, 0), blue(3, 2, 2), red(3, 3, 0), green(2, 4, 4), blue(3, 3, 3),
    ] },
    Mode { number: 10, bits: 11, deltas: Some([4, 4, 5]), pairs: 2, layout: &[
        red(0, 9, 0), green(0, 9, 0), blue(0, 9, 0), red(1, 3, 0), red(0, 10, 10), blue(2, 4, 4), green(2, 3, 0), green(1, 3, 0), green(0, 10, 10), blue(3, 0, 0), green(3, 3, 0),
        blue(1, 4, 0), blue(0, 10, 10), blue(2, 3, 0), red(2, 3, 0), blue(3, 1, 1), blue(3, 2, 2), red(3, 3, 0), blue(3, 4, 4), blue(3, 3, 3),
    ] },
    Mode { number: 14, bits: 9, deltas: Some([5, 5, 5]), pairs: 2, layout: &[
        red(0, 8, 0), blue(2, 4, 4), green(0, 8, 0), green(2, 4, 4), blue(0, 8, 0), blue(3, 4, 4), red(1, 4, 0), green(3, 4, 4), green(2, 3, 0), green(1, 4, 0), blue(3, 0, 0),
        green(3, 3, 0), blue(1, 4, 0), blue(3, 1, 1), blue(2, 3, 0), red(2, 4, 0), blue(3, 2, 2), red(3, 4, 0), blue(3, 3, 3),
    ] },
    Mode { number: 18, bits: 8, deltas: Some([6, 5, 5]), pairs: 2, layout: &[
        red(0, 7, 0), green(3, 4, 4), blue(2, 4, 4), green(0, 7, 0), blue(3, 2, 2), green(2, 4, 4), blue(0, 7, 0), blue(3, 3, 3), blue(3, 4, 4), red(1, 5, 0), green(2, 3, 0),
        green(1, 4, 0), blue(3, 0, 0), green(3, 3, 0), blue(1, 4, 0), blue(3, 1, 1), blue(2, 3, 0), red(2, 5, 0), red(3, 5, 0),
    ] },
    Mode { number: 22, bits: 8, deltas: Some([5, 6, 5]), pairs: 2, layout: &[
        red(0, 7, 0), blue(3, 0, 0), blue(2, 4, 4), green(0, 7, 0), green(2, 5, 5), green(2, 4, 4), blue(0, 7, 0), green(3, 5, 5), blue(3, 4, 4), red(1, 4, 0), green(3, 4, 4),
        green(2, 3, 0), green(1, 5, 0), green(3, 3, 0), blue(1, 4, 0), blue(3, 1, 1), blue(2, 3, 0), red(2, 4, 0), blue(3, 2, 2), red(3, 4, 0), blue(3, 3, 3),
    ] },
    Mode { number: 26, bits: 8, deltas: Some([5, 5, 6]), pairs: 2, layout: &[
        red(0, 7, 0), blue(3, 1, 1), blue(2, 4, 4), green(0, 7, 0), blue(2, 5, 5), green(2, 4, 4), blue(0, 7, 0), blue(3, 5, 5), blue(3, 4, 4), red(1, 4, 0), green(3, 4, 4),
        green(2, 3, 0), green(1, 4, 0), blue(3, 0, 0), green(3, 3, 0), blue(1, 5, 0), blue(2, 3, 0), red(2, 4, 0), blue(3, 2, 2), red(3, 4, 0), blue(3, 3, 3),
    ] },
    Mode { number: 30, bits: 6, deltas: None, pairs: 2, layout: &[
        red(0, 5, 0), green(3, 4, 4), blue(3, 0, 0), blue(3, 1, 1), blue(2, 4, 4), green(0, 5, 0), green(2, 5, 5), blue(2, 5, 5), blue(3, 2, 2), green(2, 4, 4), blue(0, 5, 0),
        green(3, 5, 5), blue(3, 3, 3), blue(3, 5, 5), blue(3, 4, 4), red(1, 5, 0), green(2, 3, 0), green(1, 5, 0), green(3, 3, 0), blue(1, 5, 0), blue(2, 3, 0), red(2, 5, 0), red(3, 5, 0),
    ] },
    Mode { number: 3, bits: 10, deltas: None, pairs: 1, layout: &[
        red(0, 9, 0), green(0, 9, 0), blue(0, 9, 0), red(1, 9, 0), green(1, 9, 0), blue(1, 9, 0),
    ] },
    Mode { number: 7, bits: 11, deltas: Some([9, 9, 9]), pairs: 1, layout: &[
        red(0, 9, 0), green(0, 9, 0), blue(0, 9, 0), red(1, 8, 0), red(0, 10, 10), green(1, 8, 0), green(0, 10, 10), blue(1, 8, 0), blue(0, 10, 10),
    ] },
    Mode { number: 11, bits: 12, deltas: Some([8, 8, 8]), pairs: 1, layout: &[
        red(0, 9, 0), green(0, 9, 0), blue(0, 9, 0), red(1, 7, 0), red(0, 10, 11), green(1, 7, 0), green(0, 10, 11), blue(1, 7, 0), blue(0, 10, 11),
    ] },
    Mode { number: 15, bits: 16, deltas: Some([4, 4, 4]), pairs: 1, layout: &[
        red(0, 9, 0), green(0, 9, 0), blue(0, 9, 0), red(1, 3, 0), red(0, 10, 15), green(1, 3, 0), green(0, 10, 15), blue(1, 3, 0), blue(0, 10, 15),
    ] },
];

/// The lower `bits` of a number, with the sign that the highest of them is.
fn extended(value: u32, bits: u32) -> i32 {
    (value << (32 - bits)) as i32 >> (32 - bits)
}

/// An end of `bits` in the whole range: 16 bits, or 15 and a sign (section 19.1.4).
fn whole(value: i32, bits: u32, signed: bool) -> i32 {
    if !signed {
        return match value {
            _ if bits >= 15 => value,
            0 => 0,
            _ if value == (1 << bits) - 1 => 0xffff,
            _ => ((value << 16) + 0x8000) >> bits,
        };
    }
    let size = value.abs();
    let size = match size {
        _ if bits >= 16 => size,
        0 => 0,
        _ if size >= (1 << (bits - 1)) - 1 => 0x7fff,
        _ => ((size << 15) + 0x4000) >> (bits - 1),
    };
    if value < 0 { -size } else { size }
}

/// The half of what lies between two ends: 31 32nds of it, so that none is infinite, or 31 64ths without a sign. 0 has none, as recorded.
fn half(value: i32, signed: bool) -> u32 {
    let size = (value.unsigned_abs() * 31) >> if signed { 5 } else { 6 };
    if value < 0 && size != 0 { size | 0x8000 } else { size }
}

/// The channels of a texel as halves, without alpha. A block of no mode is 0.
pub(super) fn texel(mut bits: Bits, texel: usize, signed: bool) -> [u32; 4] {
    let low = bits.take(2);
    let number = if low < 2 { low } else { low | bits.take(3) << 2 };
    let Some(mode) = MODES.iter().find(|mode| mode.number == number) else { return [0; 4] };
    let ends = ends(&mut bits, mode, signed);
    let (partition, index_bits) = if mode.pairs == 2 { (bits.take(5), 3) } else { (0, 4) };
    let own = subset(mode.pairs, partition, texel);
    let anchors = &anchors(mode.pairs, partition)[..mode.pairs];
    let weight = weight(bits.index(texel as u32, index_bits, anchors), index_bits) as i32;
    std::array::from_fn(|channel| {
        let Some(ends) = ends.get(channel) else { return 0 };
        let [first, second] = [ends[2 * own], ends[2 * own + 1]].map(|end| whole(end, mode.bits, signed));
        half((first * (64 - weight) + second * weight + 32) >> 6, signed)
    })
}

/// The four ends of each channel, with their signs.
fn ends(bits: &mut Bits, mode: &Mode, signed: bool) -> [[i32; 4]; 3] {
    let mut raw = [[0u32; 4]; 3];
    for run in mode.layout {
        let end = &mut raw[run.channel][run.end];
        if run.from >= run.to {
            *end |= bits.take(run.from - run.to + 1) << run.to;
        } else {
            // The highest bit comes first.
            for bit in (run.from..=run.to).rev() {
                *end |= bits.take(1) << bit;
            }
        }
    }
    let all = (1u32 << mode.bits) - 1;
    std::array::from_fn(|channel| {
        let first = raw[channel][0];
        std::array::from_fn(|end| {
            let own = raw[channel][end];
            let value = match mode.deltas {
                Some(deltas) if end > 0 => first.wrapping_add_signed(extended(own, deltas[channel])) & all,
                _ => own,
            };
            if signed { extended(value, mode.bits) } else { value as i32 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_fill_their_blocks() {
        for mode in &MODES {
            let own = if mode.number < 2 { 2 } else { 5 };
            let bits: u32 = mode.layout.iter().map(|run| run.from.abs_diff(run.to) + 1).sum();
            // Partition and indices are the rest.
            let rest = if mode.pairs == 2 { 5 + 46 } else { 63 };
            assert_eq!(own + bits + rest, 128, "mode {}", mode.number);
            for channel in 0..3 {
                for end in 0..2 * mode.pairs {
                    let width = match mode.deltas {
                        Some(deltas) if end > 0 => deltas[channel],
                        _ => mode.bits,
                    };
                    let runs = mode.layout.iter().filter(|run| run.channel == channel && run.end == end);
                    let seen = runs.fold(0u32, |seen, run| {
                        let (low, high) = (run.from.min(run.to), run.from.max(run.to));
                        let own = ((1u32 << (high - low + 1)) - 1) << low;
                        assert_eq!(seen & own, 0, "mode {}, channel {channel}, end {end}", mode.number);
                        seen | own
                    });
                    assert_eq!(seen, (1 << width) - 1, "mode {}, channel {channel}, end {end}", mode.number);
                }
            }
        }
    }

    /// A block of one pair of ends of 10 bits each (mode 3), red alone; texel 1 has the last index, and texel 2 index 8.
    fn plain(first: u128, second: u128) -> u128 {
        3 | first << 5 | second << 35 | 15 << 68 | 8 << 72
    }

    #[test]
    fn plain_ends() {
        let red = |block, index, signed| texel(Bits::new(block), index, signed)[0];
        // The largest half that there is, 65504, and none.
        let block = plain(0x3ff, 0);
        assert_eq!([0, 1].map(|index| red(block, index, false)), [0x7bff, 0]);
        // 30 64ths of the largest.
        assert_eq!(red(block, 2, false), (((0xffff * 30 + 32) >> 6) * 31) >> 6);
        // With a sign 0x1ff and 0x200 are the largest and the least.
        let block = plain(0x1ff, 0x200);
        assert_eq!([0, 1].map(|index| red(block, index, true)), [0x7bff, 0xfbff]);
        // 256 of 1024 stretched, with half of what it lacks.
        assert_eq!(red(plain(256, 0), 0, false), ((256 * 64 + 32) * 31) >> 6);
    }

    #[test]
    fn ends_by_their_distance() {
        // Mode 15: red's first end is 0x8421, whose upper six bits stand the other way round; its second lies 3 below.
        let upper = (0..6).fold(0, |upper, bit| upper | (0x8421u128 >> (15 - bit) & 1) << bit);
        let block = 15 | (0x8421 & 0x3ff) << 5 | 0b1101 << 35 | upper << 39 | 15u128 << 68;
        let red = |index, signed| texel(Bits::new(block), index, signed)[0];
        assert_eq!([0, 1].map(|index| red(index, false)), [0x8421u32, 0x841e].map(|end| (end * 31) >> 6));
        assert_eq!([0, 1].map(|index| red(index, true)), [0x7bdfu32, 0x7be2].map(|end| (end * 31) >> 5 | 0x8000));
    }

    #[test]
    fn nothing_has_no_sign() {
        // Mode 15, all ends the same: of -4, -2 and -1 31 32nds are -3, -1 and nothing.
        for (end, half) in [(0xfffc, 0x8003), (0xfffe, 0x8001), (0xffff, 0), (0, 0), (1, 0), (2, 1)] {
            let upper = (0..6).fold(0, |upper, bit| upper | (end >> (15 - bit) & 1) << bit);
            let block = 15 | (end & 0x3ff) << 5 | upper << 39;
            assert_eq!(texel(Bits::new(block), 3, true)[0], half, "{end:x}");
        }
    }

    #[test]
    fn no_mode() {
        for number in [19, 23, 27, 31] {
            assert_eq!(texel(Bits::new(u128::MAX << 5 | number), 7, false), [0; 4]);
        }
    }
}
