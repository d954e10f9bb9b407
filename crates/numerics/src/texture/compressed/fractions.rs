//! Channels that have a block of their own: alpha of BC3, and those of BC4 and BC5 (sections 18.3 and 18.4): two ends of 8 bits, and six or four fractions between them.

use super::between;

/// From which end on, and how far to the other, in 2048ths.
type Share = (End, i32);

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Second,
}

use End::{First, Second};

/// For indices 2 to 7.
const OF_EIGHT: [Share; 6] = [(First, 289), (First, 578), (Second, 1156), (First, 1156), (Second, 578), (Second, 289)];
/// For indices 2 to 5, where the two others are both ends of the range.
const OF_SIX: [Share; 4] = [(First, 385), (First, 770), (Second, 770), (Second, 385)];

/// What a texel is.
enum Fraction {
    /// So many 2048ths of the way from one end to the other.
    Between([i32; 2], i32),
    Least,
    Most,
}

/// Where the first end is the larger one there are eight, otherwise six and both ends of the range.
fn fraction(block: u64, texel: usize, [first, second]: [i32; 2]) -> Fraction {
    let index = (block >> (16 + 3 * texel)) as usize & 7;
    let (from, share) = match index {
        0 => (First, 0),
        1 => (Second, 0),
        6 if first <= second => return Fraction::Least,
        7 if first <= second => return Fraction::Most,
        _ if first <= second => OF_SIX[index - 2],
        _ => OF_EIGHT[index - 2],
    };
    Fraction::Between(if from == First { [first, second] } else { [second, first] }, share)
}

fn ends(block: u64) -> [u8; 2] {
    [block as u8, (block >> 8) as u8]
}

/// The fraction of a texel in 8 bits, as BC3 has it.
pub(super) fn short(block: u64, texel: usize) -> u32 {
    match fraction(block, texel, ends(block).map(i32::from)) {
        Fraction::Between(ends, share) => between(ends, share) as u32,
        Fraction::Least => 0,
        Fraction::Most => 255,
    }
}

/// The fraction of a texel in 16 bits, with its sign, as BC4 and BC5 have it: of the way between the ends in whole 256ths.
pub(super) fn long(block: u64, texel: usize, signed: bool) -> u32 {
    // The least number is as the one above it, also where ends are compared.
    let ends = ends(block).map(|end| if signed { i32::from(end as i8).max(-127) } else { i32::from(end) });
    // Behind the bits of an end are the highest of them once more.
    let filled = |end: i32| if signed { 258 * end + (end.abs() >> 6) * end.signum() } else { 257 * end };
    let value = match fraction(block, texel, ends) {
        Fraction::Between([from, to], share) => filled(from) + (to - from) * (share >> 3),
        Fraction::Least if signed => -0x7fff,
        Fraction::Least => 0,
        Fraction::Most if signed => 0x7fff,
        Fraction::Most => 0xffff,
    };
    value as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block whose first eight texels have all indices.
    fn block(first: u8, second: u8) -> u64 {
        let indices = (0..8).fold(0, |indices, index| indices | index << (3 * index));
        u64::from(first) | u64::from(second) << 8 | indices << 16
    }

    fn all(first: i8, second: i8) -> Vec<i32> {
        (0..8).map(|texel| long(block(first as u8, second as u8), texel, true) as i32).collect()
    }

    #[test]
    fn eight_and_six_of_8_bits() {
        let all = |first, second| (0..8).map(|texel| short(block(first, second), texel)).collect::<Vec<_>>();
        // 289 2048ths of 255 are 36, from either end.
        assert_eq!(all(255, 0), [255, 0, 219, 183, 144, 111, 72, 36]);
        assert_eq!(all(0, 255), [0, 255, 48, 96, 159, 207, 0, 255]);
        assert_eq!(all(7, 7), [7, 7, 7, 7, 7, 7, 0, 255]);
        // Recorded.
        assert_eq!(all(114, 8)[4..6], [68, 54]);
        assert_eq!(all(248, 30)[3..7], [186, 153, 125, 92]);
        assert_eq!(all(87, 169)[2..], [102, 118, 138, 154, 0, 255]);
    }

    #[test]
    fn eight_and_six_of_16_bits() {
        let all = |first, second| (0..8).map(|texel| long(block(first, second), texel, false)).collect::<Vec<_>>();
        // Recorded.
        assert_eq!(all(200, 100), [51400, 25700, 47800, 44200, 40100, 37000, 32900, 29300]);
        assert_eq!(all(0, 200), [0, 51400, 9600, 19200, 32200, 41800, 0, 65535]);
        assert_eq!(all(255, 254)[2..], [65499, 65463, 65422, 65391, 65350, 65314]);
    }

    #[test]
    fn eight_and_six_with_a_sign() {
        // Recorded.
        assert_eq!(all(100, 0), [25801, 0, 22201, 18601, 14400, 11401, 7200, 3600]);
        assert_eq!(all(127, -128), [32767, -32767, 23623, 14479, 3809, -3809, -14479, -23623]);
        assert_eq!(all(-100, 100), [-25801, 25801, -16201, -6601, 6601, 16201, -32767, 32767]);
        // -127 is not larger than -128, which is the same.
        assert_eq!(all(-127, -128), [-32767, -32767, -32767, -32767, -32767, -32767, -32767, 32767]);
    }
}
