//! Values that differ between lanes in a known way.

use smallvec::SmallVec;

use crate::lanes::Lanes;

/// So many directions are followed.
const DIRECTIONS: usize = 3;

/// A number that all lanes have in common, plus a constant for each lane, plus multiples of *directions*: constants of lanes times
/// numbers that all lanes have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affine {
    /// What each lane adds.
    pub lanes: Lanes,
    /// Constants of lanes that are added so many times as is known only when the code runs. None of them is 0.
    pub directions: SmallVec<[Lanes; 1]>,
    /// How many low bits of the common number are 0.
    pub alignment: u32,
    /// Instructions, ascending, of which each tells when it runs whether this holds: one that widens a value, unless that has wrapped around in one of the lanes; one that reads a
    /// value with a [guess](crate::KernelInfo::guess), if the lanes that run have what was guessed.
    pub told_by: SmallVec<[u32; 1]>,
}

impl Affine {
    /// Constants of lanes on a number with low bits that are 0.
    pub(crate) fn new(lanes: Lanes, alignment: u32) -> Affine {
        Affine { lanes, directions: SmallVec::new(), alignment, told_by: SmallVec::new() }
    }

    /// Whether lanes differ by constants only.
    pub fn is_constant(&self) -> bool {
        self.directions.is_empty()
    }

    /// Whether all lanes have the same.
    pub(crate) fn is_uniform(&self) -> bool {
        self.directions.is_empty() && self.lanes.is_zero()
    }

    /// The sum or the difference of two in arithmetic of `bits` bits; none if too many directions come together.
    pub(crate) fn combine(&self, other: &Affine, bits: u32, subtract: bool) -> Option<Affine> {
        let op = if subtract { i64::wrapping_sub } else { i64::wrapping_add };
        let mut out = self.clone();
        out.lanes = self.lanes.zip(&other.lanes, bits, op);
        out.alignment = self.alignment.min(other.alignment);
        out.also_told_by(&other.told_by);
        other.directions.iter().all(|direction| out.add_direction(direction)).then_some(out)
    }

    /// Multiplied by a constant, in arithmetic of `bits` bits.
    pub(crate) fn scaled(&self, by: i64, bits: u32) -> Affine {
        let mut out = self.clone();
        out.lanes = self.lanes.map(bits, |lane| lane.wrapping_mul(by));
        out.alignment = (self.alignment + if by == 0 { 63 } else { by.trailing_zeros() }).min(63);
        if by == 0 {
            out.directions.clear();
        }
        out
    }

    /// Multiplied by a number that all lanes have in common; none if too many directions come together.
    pub(crate) fn scaled_by_unknown(&self) -> Option<Affine> {
        let mut out = self.clone();
        out.lanes = Lanes::zero(self.lanes.get().len());
        out.alignment = 0;
        (self.lanes.is_zero() || out.add_direction(&self.lanes.direction())).then_some(out)
    }

    /// What it is if its only direction is added so many times.
    pub(crate) fn with_direction(&self, times: i64) -> Option<Affine> {
        let [direction] = self.directions.as_slice() else { return None };
        let lanes = self.lanes.zip(direction, 64, |lane, direction| lane.wrapping_add(direction.wrapping_mul(times)));
        Some(Affine { lanes, directions: SmallVec::new(), ..self.clone() })
    }

    /// Notes that these tell too whether it holds.
    pub(crate) fn also_told_by(&mut self, insts: &[u32]) {
        for inst in insts {
            if let Err(at) = self.told_by.binary_search(inst) {
                self.told_by.insert(at, *inst);
            }
        }
    }

    /// False if there are too many.
    fn add_direction(&mut self, direction: &Lanes) -> bool {
        if self.directions.contains(direction) {
            return true;
        }
        self.directions.push(direction.clone());
        self.directions.len() <= DIRECTIONS
    }

    /// What holds for a value that is one or the other, in all lanes alike; none if too many directions come together. Constants stay those of the
    /// first.
    pub(crate) fn join(&self, other: &Affine) -> Option<Affine> {
        let mut out = self.clone();
        out.alignment = self.alignment.min(other.alignment);
        out.also_told_by(&other.told_by);
        let apart = self.lanes.zip(&other.lanes, 64, i64::wrapping_sub);
        let fits = apart.is_zero() || out.add_direction(&apart.direction());
        (fits && other.directions.iter().all(|direction| out.add_direction(direction))).then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn affine(lanes: &[i64]) -> Affine {
        Affine::new(Lanes::relative(lanes.iter().copied()), 2)
    }

    #[test]
    fn sums_and_products() {
        let lane = affine(&[0, 1, 2, 3]);
        let bytes = lane.scaled(4, 64);
        assert_eq!((bytes.lanes.stride(), bytes.alignment), (Some(4), 4));
        assert!(lane.combine(&lane, 32, true).unwrap().is_uniform());
        let row = lane.scaled_by_unknown().unwrap();
        assert_eq!((row.lanes.is_zero(), row.directions.len()), (true, 1));
        assert_eq!(row.combine(&bytes, 64, false).unwrap().lanes.stride(), Some(4));
    }

    #[test]
    fn one_or_the_other_is_a_direction() {
        let both = affine(&[0, 1, 2, 3]).join(&affine(&[0, 3, 6, 9])).unwrap();
        assert_eq!(both.directions.as_slice(), [Lanes::relative([0, 1, 2, 3])]);
        // Once more changes nothing: fixed points are reached.
        assert_eq!(both.join(&affine(&[0, 3, 6, 9])).unwrap(), both);
    }
}
