//! Constants that differ by lane.

use std::fmt;

/// What each lane of a gang adds to what the gang has in common. The first lane adds 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lanes(Box<[i64]>);

impl Lanes {
    /// From one number for each lane; what the first one has is taken off all.
    pub fn relative(lanes: impl IntoIterator<Item = i64>) -> Lanes {
        let mut lanes: Box<[i64]> = lanes.into_iter().collect();
        let first = lanes.first().copied().unwrap_or(0);
        lanes.iter_mut().for_each(|lane| *lane = lane.wrapping_sub(first));
        Lanes(lanes)
    }

    /// 0 in each of `width` lanes.
    pub fn zero(width: usize) -> Lanes {
        Lanes(vec![0; width].into())
    }

    /// By lane.
    pub fn get(&self) -> &[i64] {
        &self.0
    }

    /// Whether all lanes have the same.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|lane| *lane == 0)
    }

    /// The least and the greatest.
    pub fn bounds(&self) -> (i64, i64) {
        let fold = |pick: fn(i64, i64) -> i64| self.0.iter().copied().fold(0, pick);
        (fold(i64::min), fold(i64::max))
    }

    /// What each lane has more than the lane before, if that is the same everywhere.
    pub fn stride(&self) -> Option<i64> {
        let step = self.0.get(1).copied()?;
        self.0.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step).then_some(step)
    }

    /// Computed from each lane, in arithmetic of `bits` bits.
    pub fn map(&self, bits: u32, with: impl Fn(i64) -> i64) -> Lanes {
        Lanes::relative(self.0.iter().map(|lane| with(*lane))).wrapped(bits)
    }

    /// Lane by lane, in arithmetic of `bits` bits.
    pub fn zip(&self, other: &Lanes, bits: u32, with: impl Fn(i64, i64) -> i64) -> Lanes {
        Lanes(self.0.iter().zip(&other.0).map(|(a, b)| with(*a, *b)).collect()).wrapped(bits)
    }

    /// The same modulo two to the power of `bits`, as small as that allows.
    pub fn wrapped(mut self, bits: u32) -> Lanes {
        let unused = 64 - bits.clamp(1, 64);
        self.0.iter_mut().for_each(|lane| *lane = *lane << unused >> unused);
        self
    }

    /// The direction that it goes to: divided by the greatest number that divides all lanes, and the first lane that is not 0 positive.
    pub fn direction(&self) -> Lanes {
        let divisor = self.0.iter().fold(0, |a, b| gcd(a, b.unsigned_abs())).max(1);
        let divisor = i64::try_from(divisor).unwrap_or(1);
        let down = self.0.iter().find(|lane| **lane != 0).is_some_and(|lane| *lane < 0);
        let divisor = if down { -divisor } else { divisor };
        Lanes(self.0.iter().map(|lane| lane.wrapping_div(divisor)).collect())
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl fmt::Display for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stride() {
            Some(1) => f.write_str("lane"),
            Some(step) => write!(f, "{step}*lane"),
            None => {
                let mut runs = Vec::new();
                for run in self.0.chunk_by(|a, b| a == b) {
                    runs.push(match run.len() {
                        1 => run[0].to_string(),
                        count => format!("{}x{count}", run[0]),
                    });
                }
                write!(f, "{{{}}}", runs.join(" "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_named_by_their_stride_or_their_runs() {
        assert_eq!(Lanes::relative([7, 11, 15, 19]).to_string(), "4*lane");
        assert_eq!(Lanes::relative([0, 1, 0, 1]).to_string(), "{0 1 0 1}");
        assert_eq!(Lanes::relative([5, 5, 6, 6]).to_string(), "{0x2 1x2}");
    }

    #[test]
    fn directions_are_primitive() {
        assert_eq!(Lanes::relative([0, -8, -16]).direction(), Lanes::relative([0, 1, 2]));
        assert_eq!(Lanes::zero(4).direction(), Lanes::zero(4));
    }

    #[test]
    fn arithmetic_wraps() {
        let lanes = Lanes::relative([0, 1 << 30, 1 << 31]);
        assert_eq!(lanes.map(32, |lane| 2 * lane).get(), [0, -(1 << 31), 0]);
    }
}
