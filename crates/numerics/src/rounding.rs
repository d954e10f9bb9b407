//! Rounding directions (PTX ISA 9.7.3, "rounding modifiers", and 9.7.9.21 for the integer ones).

/// How an exact result that the destination cannot hold is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// `.rn`, `.rni`: to nearest, ties to even.
    Nearest,
    /// `.rz`, `.rzi`: toward zero.
    Zero,
    /// `.rm`, `.rmi`: toward negative infinity.
    Down,
    /// `.rp`, `.rpi`: toward positive infinity.
    Up,
    /// `.rna`: to nearest, ties away from zero.
    Away,
}

impl Rounding {
    /// What is added to a truncated magnitude: 0 or 1. `rest` is the part cut off, in units where a half is `half`.
    #[inline(always)]
    pub(crate) fn increment(self, negative: bool, odd: bool, rest: u64, half: u64) -> u64 {
        u64::from(match self {
            Rounding::Nearest => (rest > half) | ((rest == half) & odd),
            Rounding::Zero => false,
            Rounding::Down => negative & (rest != 0),
            Rounding::Up => !negative & (rest != 0),
            Rounding::Away => rest >= half,
        })
    }

    /// Whether a magnitude that is too large becomes infinity; else it becomes the largest finite number.
    #[inline(always)]
    pub(crate) fn overflows_to_infinity(self, negative: bool) -> bool {
        match self {
            Rounding::Nearest | Rounding::Away => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        }
    }
}
