//! The colours of BC1 to BC3 (sections 18.1 to 18.3): two ends of 5, 6 and 5 bits, and one or two colours between them.
//!
//! Hardware has thirds, and halves, of channels of 5 bits in eighths, its sums times 22 or 33, and of 6 bits, which are stretched to 8 first, in 2048ths.

use super::between;

/// Red, green and blue in 16 bits: green is stretched to 8, the others are not.
fn end(colour: u32) -> [i32; 3] {
    let green = colour >> 5 & 0x3f;
    [colour >> 11, green << 2 | green >> 4, colour & 0x1f].map(|channel| channel as i32)
}

/// Where a colour lies between both ends.
#[derive(Clone, Copy)]
enum Share {
    /// It is the first.
    All,
    /// Two thirds of the first and one of the second.
    Most,
    /// As far from both.
    Half,
}

impl Share {
    fn of(self, first: [i32; 3], second: [i32; 3]) -> [u32; 3] {
        let narrow = |channel: usize| {
            let (first, second) = (first[channel], second[channel]);
            match self {
                Share::All => first * 66 / 8,
                Share::Most => (2 * first + second) * 22 / 8,
                Share::Half => (first + second) * 33 / 8,
            }
        };
        let green = match self {
            Share::All => first[1],
            Share::Most => between([first[1], second[1]], 642),
            Share::Half => between([first[1], second[1]], 1026),
        };
        [narrow(0), green, narrow(2)].map(|channel| channel as u32)
    }
}

/// Both ends in the lower half of a block, as numbers, and the index of a texel.
fn parts(block: u64, texel: usize) -> ([u32; 2], u32) {
    let ends = [block as u32 & 0xffff, block as u32 >> 16];
    (ends, (block >> (32 + 2 * texel)) as u32 & 3)
}

/// The colour of a texel in a block of BC2 or BC3.
pub(super) fn of_four(block: u64, texel: usize) -> [u32; 3] {
    let ([first, second], index) = parts(block, texel);
    let (first, second) = (end(first), end(second));
    match index {
        0 => Share::All.of(first, second),
        1 => Share::All.of(second, first),
        2 => Share::Most.of(first, second),
        _ => Share::Most.of(second, first),
    }
}

/// The colour of a texel of BC1, and whether it is there: where the first end is not the larger number, there is one colour between them, and nothing.
pub(super) fn of_three_or_four(block: u64, texel: usize) -> [u32; 4] {
    let ([first, second], index) = parts(block, texel);
    let [red, green, blue] = match index {
        2 if first <= second => Share::Half.of(end(first), end(second)),
        3 if first <= second => return [0; 4],
        _ => of_four(block, texel),
    };
    [red, green, blue, 255]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block whose first row has all four indices.
    fn block(first: u64, second: u64) -> u64 {
        first | second << 16 | 0b11_10_01_00 << 32
    }

    #[test]
    fn four_colours() {
        // Recorded: white and black. Of 255 a third is 85, but of green hardware gives a little less.
        let all: Vec<[u32; 4]> = (0..4).map(|texel| of_three_or_four(block(0xffff, 0), texel)).collect();
        assert_eq!(all, [[255, 255, 255, 255], [0, 0, 0, 255], [170, 175, 170, 255], [85, 80, 85, 255]]);
        // Recorded: red 0 and 8, green 0 and 20, where rounding to the nearest would give 3, 7 and 13.
        let all: Vec<[u32; 3]> = (0..4).map(|texel| of_four(block(0, 1 << 11), texel)).collect();
        assert_eq!(all.iter().map(|colour| colour[0]).collect::<Vec<_>>(), [0, 8, 2, 5]);
        let all: Vec<[u32; 3]> = (0..4).map(|texel| of_four(block(0, 5 << 5), texel)).collect();
        assert_eq!(all.iter().map(|colour| colour[1]).collect::<Vec<_>>(), [0, 20, 6, 14]);
    }

    #[test]
    fn three_colours_and_nothing() {
        // The ends the other way round: the third is their mean, cut, and the fourth is not there.
        let all: Vec<[u32; 4]> = (0..4).map(|texel| of_three_or_four(block(0, 0xffff), texel)).collect();
        assert_eq!(all, [[0, 0, 0, 255], [255, 255, 255, 255], [127, 128, 127, 255], [0; 4]]);
        // The same number twice is no larger one.
        assert_eq!(of_three_or_four(block(0x1234, 0x1234), 3), [0; 4]);
        assert_eq!(of_four(block(0, 0xffff), 3), [170, 175, 170]);
    }
}
