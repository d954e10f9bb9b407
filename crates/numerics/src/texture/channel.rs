//! What the channels of a texel in memory mean as numbers.

use super::filter::F32_FRACTION;

/// The numbers of channels that can be interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// 8 bits, 0 to 1.
    Unsigned8,
    /// 16 bits, 0 to 1.
    Unsigned16,
    /// 8 bits, -1 to 1.
    Signed8,
    /// 16 bits, -1 to 1.
    Signed16,
    /// `.f16`
    Half,
    /// 8 bits of sRGB, which become linear.
    Srgb,
    /// `.f32`
    Float,
    /// 8, 16 or 32 bits as they are, with a sign or without.
    #[expect(missing_docs, reason = "the names say it")]
    Whole { bits: u32, signed: bool },
}

impl Numbers {
    /// Of a channel in memory.
    #[inline(always)]
    pub const fn bits(self) -> u32 {
        match self {
            Numbers::Unsigned8 | Numbers::Signed8 | Numbers::Srgb => 8,
            Numbers::Unsigned16 | Numbers::Signed16 | Numbers::Half => 16,
            Numbers::Float => 32,
            Numbers::Whole { bits, .. } => bits,
        }
    }
}

/// An unsigned channel of `bits` (8 or 16) as a fraction of its range, 0 to 1.
#[inline(always)]
pub fn unsigned_fraction(value: u32, bits: u32) -> f32 {
    value as f32 / ((1u32 << bits) - 1) as f32
}

/// A signed channel of `bits` (8 or 16) as a fraction of its range, -1 to 1: the least two values are both -1.
#[inline(always)]
pub fn signed_fraction(value: i32, bits: u32) -> f32 {
    (value as f32 / ((1u32 << (bits - 1)) - 1) as f32).max(-1.0)
}

/// A channel of 10 bits, or of 2, as sums take it: stretched to 16 by repeating its bits.
#[inline(always)]
pub fn stretched(value: u32, bits: u32) -> u32 {
    if bits == 2 { value * 0x5555 } else { value << 6 | value >> 4 }
}

/// The unsigned channel of `bits` (2, 8, 10 or 16) that a formatted store makes of a float (PTX ISA 9.7.11.2): of NaN 0.
///
/// Hardware cuts the float to 4 bits beyond those of the channel before it takes the channel's range of it, so that what is rounded up lies up to 1/16 above the
/// middle between two; 2 bits it makes of 10.
pub fn unsigned_channel(value: f32, bits: u32) -> u32 {
    if bits == 2 {
        return (unsigned_channel(value, 10) + 128) / 320;
    }
    // NaN is the least: the comparison fails.
    let value = if value > 0.0 { value.min(1.0) } else { 0.0 };
    let cut = (f64::from(value) * f64::from(1u32 << (bits + 4))) as u32;
    (cut + 7 - (cut >> bits)) >> 4
}

/// The signed channel of `bits` (8 or 16) that a formatted store makes of a float, as [`unsigned_channel`]: never the least of all.
pub fn signed_channel(value: f32, bits: u32) -> i32 {
    let size = unsigned_channel(value.abs(), bits - 1) as i32;
    if value < 0.0 { -size } else { size }
}

/// A channel of the border colour as a texel of `bits` and this kind would have it: whole numbers of 0 to 1 or -1 to 1, the nearest, halves down.
pub fn border_channel(value: f32, bits: u32, signed: bool) -> u32 {
    let (least, most) =
        if signed { (-1.0, ((1u32 << (bits - 1)) - 1) as f32) } else { (0.0, ((1u32 << bits) - 1) as f32) };
    (value.clamp(least, 1.0) * most - 0.5).ceil() as i32 as u32
}

/// A channel of 8 bits in sRGB as a linear fraction (IEC 61966-2-1): the hardware has a table of halves, whose last bits follow no formula.
#[inline(always)]
pub fn from_srgb(value: u8) -> f32 {
    SRGB[usize::from(value)]
}

/// A channel of 8 bits in sRGB as sums take it: the eight bits from the first 1 of its linear fraction on, which are all that it has, from bit 8 on its exponent as an `.f32` has it,
/// and from bit 16 on the exponent by which others are put in line with it.
#[inline(always)]
pub fn srgb_term(value: u8) -> u32 {
    SRGB_TERMS[usize::from(value)]
}

/// Bits of a linear fraction of sRGB.
pub(super) const SRGB_BITS: u32 = 8;
/// Where the exponent lies by which others are put in line.
pub(super) const SRGB_LINE: u32 = 16;

static SRGB_TERMS: [u32; 256] = srgb_terms();

const fn srgb_terms() -> [u32; 256] {
    let mut table = [0; 256];
    let mut value = 1;
    while value < 256 {
        // Of eight that follow each other, hardware takes the largest exponent for all, but of the first 32.
        let line = SRGB[if value < 32 { value } else { value | 7 }].to_bits() >> F32_FRACTION;
        let bits = SRGB[value].to_bits();
        let first = bits >> (F32_FRACTION + 1 - SRGB_BITS) & ((1 << (SRGB_BITS - 1)) - 1) | 1 << (SRGB_BITS - 1);
        table[value] = first | bits >> F32_FRACTION << SRGB_BITS | line << SRGB_LINE;
        value += 1;
    }
    table
}

/// A channel of 8 bits in sRGB for a linear fraction, the nearest: what the border colour becomes.
pub fn to_srgb(value: f32) -> u32 {
    let value = f64::from(if value > 0.0 { value.min(1.0) } else { 0.0 });
    let encoded = if value <= 0.003_130_8 { 12.92 * value } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 };
    (encoded * 255.0).round() as u32
}

static SRGB: [f32; 256] = srgb();

/// A half that is positive, and no denormal.
const fn widened(half: u32) -> f32 {
    if half == 0 { 0.0 } else { f32::from_bits((half << 13) + ((127 - 15) << 23)) }
}

const fn srgb() -> [f32; 256] {
    let mut table = [0.0; 256];
    let mut value = 0;
    while value < 256 {
        table[value] = widened(SRGB_HALVES[value] as u32);
        value += 1;
    }
    table
}

/// Bits of halves.
#[rustfmt::skip]
const SRGB_HALVES: [u16; 256] = [
    0x0000, 0x0d00, 0x1100, 0x1380, 0x1500, 0x1640, 0x1780, 0x1860, 0x1900, 0x19a0, 0x1a40, 0x1ae0, 0x1b80, 0x1c20, 0x1c80, 0x1ce0,
    0x1d50, 0x1dc0, 0x1e30, 0x1eb0, 0x1f30, 0x1fb0, 0x2018, 0x2060, 0x20b0, 0x20f8, 0x2148, 0x21a0, 0x21f0, 0x2248, 0x22a8, 0x2300,
    0x2360, 0x23d0, 0x2418, 0x2450, 0x2488, 0x24c0, 0x24f8, 0x2530, 0x2570, 0x25b0, 0x25f0, 0x2630, 0x2670, 0x26b8, 0x2700, 0x2748,
    0x2790, 0x27e0, 0x2818, 0x2840, 0x2868, 0x2890, 0x28b8, 0x28e0, 0x2910, 0x2940, 0x2968, 0x2998, 0x29c8, 0x29f8, 0x2a28, 0x2a60,
    0x2a90, 0x2ac0, 0x2b00, 0x2b30, 0x2b60, 0x2ba0, 0x2bd0, 0x2c08, 0x2c28, 0x2c40, 0x2c60, 0x2c80, 0x2ca0, 0x2cc0, 0x2ce0, 0x2d00,
    0x2d20, 0x2d48, 0x2d68, 0x2d88, 0x2db0, 0x2dd0, 0x2df8, 0x2e18, 0x2e40, 0x2e68, 0x2e88, 0x2eb0, 0x2ed8, 0x2f00, 0x2f28, 0x2f50,
    0x2f80, 0x2fa0, 0x2fd0, 0x3000, 0x3010, 0x3028, 0x3040, 0x3058, 0x3070, 0x3088, 0x30a0, 0x30b8, 0x30d0, 0x30e8, 0x3100, 0x3118,
    0x3130, 0x3148, 0x3160, 0x3180, 0x3198, 0x31b0, 0x31d0, 0x31e8, 0x3200, 0x3220, 0x3238, 0x3258, 0x3270, 0x3290, 0x32b0, 0x32c8,
    0x32e8, 0x3308, 0x3328, 0x3340, 0x3360, 0x3380, 0x33a0, 0x33c0, 0x33e0, 0x3400, 0x3410, 0x3420, 0x3430, 0x3440, 0x3450, 0x3468,
    0x3478, 0x3488, 0x3498, 0x34a8, 0x34c0, 0x34d0, 0x34e0, 0x34f0, 0x3508, 0x3518, 0x3528, 0x3540, 0x3550, 0x3568, 0x3578, 0x3590,
    0x35a0, 0x35b0, 0x35c8, 0x35e0, 0x35f0, 0x3608, 0x3618, 0x3630, 0x3640, 0x3658, 0x3670, 0x3688, 0x3698, 0x36b0, 0x36c8, 0x36d8,
    0x36f0, 0x3708, 0x3720, 0x3738, 0x3750, 0x3768, 0x3780, 0x3790, 0x37b0, 0x37c0, 0x37e0, 0x37f0, 0x3808, 0x3810, 0x3820, 0x3828,
    0x3838, 0x3848, 0x3850, 0x3860, 0x3868, 0x3878, 0x3888, 0x3890, 0x38a0, 0x38b0, 0x38b8, 0x38c8, 0x38d8, 0x38e0, 0x38f0, 0x3900,
    0x3908, 0x3918, 0x3928, 0x3938, 0x3948, 0x3950, 0x3960, 0x3970, 0x3980, 0x3990, 0x3998, 0x39a8, 0x39b8, 0x39c8, 0x39d8, 0x39e8,
    0x39f8, 0x3a08, 0x3a18, 0x3a28, 0x3a38, 0x3a48, 0x3a58, 0x3a68, 0x3a78, 0x3a88, 0x3a98, 0x3aa8, 0x3ab8, 0x3ac8, 0x3ad8, 0x3ae8,
    0x3af8, 0x3b08, 0x3b18, 0x3b28, 0x3b40, 0x3b50, 0x3b60, 0x3b70, 0x3b80, 0x3b90, 0x3ba0, 0x3bb0, 0x3bd0, 0x3be0, 0x3bf0, 0x3c00,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_become_fractions() {
        assert_eq!([0, 51, 255].map(|value| unsigned_fraction(value, 8)), [0.0, 0.2, 1.0]);
        assert_eq!(unsigned_fraction(0xffff, 16), 1.0);
        assert_eq!([-128, -127, 0, 127].map(|value| signed_fraction(value, 8)), [-1.0, -1.0, 0.0, 1.0]);
        assert_eq!(signed_fraction(-0x8000, 16), -1.0);
    }

    #[test]
    fn channels_are_stretched() {
        assert_eq!([0, 1, 99, 1023].map(|value| stretched(value, 10)), [0, 64, 6342, 0xffff]);
        assert_eq!([0, 1, 2, 3].map(|value| stretched(value, 2)), [0, 0x5555, 0xaaaa, 0xffff]);
    }

    #[test]
    fn floats_become_channels() {
        // Recorded: the least floats that give a channel, and the ones before them.
        for (bits, channel, least) in [
            (8, 1, 0x3b10_0000),
            (8, 128, 0x3f00_1000),
            (8, 255, 0x3f7f_8000),
            (10, 1, 0x3a10_0000),
            (10, 512, 0x3f00_0400),
            (10, 1023, 0x3f7f_e000),
            (2, 1, 0x3e3f_b000),
            (2, 2, 0x3f00_0400),
            (2, 3, 0x3f50_1800),
        ] {
            let found = [least - 1, least].map(|word: u32| unsigned_channel(f32::from_bits(word), bits));
            assert_eq!(found, [channel - 1, channel], "{bits} bits");
        }
        for (channel, least) in [(1, 0x3b90_0000u32), (64, 0x3f00_2000), (127, 0x3f7f_0000)] {
            let found = [least - 1, least].map(|word| signed_channel(f32::from_bits(word), 8));
            assert_eq!(found, [channel - 1, channel]);
            assert_eq!(signed_channel(f32::from_bits(least | 1 << 31), 8), -channel);
        }
        assert_eq!(
            [f32::NAN, -1.0, 0.0, 1.0, 1e30].map(|value| unsigned_channel(value, 16)),
            [0, 0, 0, 0xffff, 0xffff]
        );
        assert_eq!([f32::NAN, -2.0, 2.0].map(|value| signed_channel(value, 16)), [0, -0x7fff, 0x7fff]);
    }

    #[test]
    fn borders_become_texels() {
        assert_eq!([0.25, 0.5, -2.0, 4000.0].map(|value| border_channel(value, 8, false)), [64, 127, 0, 255]);
        assert_eq!(border_channel(-3.0, 8, true) as i32, -127);
    }

    #[test]
    fn srgb_is_near_the_curve_of_the_standard() {
        for value in 0..=255u8 {
            let encoded = f64::from(value) / 255.0;
            let linear = if encoded <= 0.04045 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) };
            assert!((f64::from(from_srgb(value)) - linear).abs() < 4e-3, "{value}");
        }
        assert_eq!([from_srgb(0), from_srgb(1), from_srgb(255)], [0.0, 0.000_305_175_78, 1.0]);
        // Nothing of it is lost in sums.
        for value in 0..=255u8 {
            let term = srgb_term(value);
            let power = 2f64.powi((term >> SRGB_BITS & 0xff) as i32 - 127 - (SRGB_BITS as i32 - 1));
            assert_eq!(f64::from(term & 0xff) * power, f64::from(from_srgb(value)), "{value}");
        }
        assert_eq!([-0.7, 0.0, 0.3, 1.0, 1.5, f32::NAN].map(to_srgb), [0, 0, 149, 255, 255, 0]);
    }
}
