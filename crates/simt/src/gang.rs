//! Gangs: which threads run as the lanes of one vector.

use crate::lanes::Lanes;
use crate::range::Interval;

/// How the threads of a CTA are divided into gangs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gangs {
    /// `%ntid`.
    pub cta: [u32; 3],
    /// Threads of a gang: a power of two up to 32.
    pub width: u32,
    /// What is taken for granted of each launch.
    pub assumptions: Assumptions,
}

/// What a launch is checked for before it runs code that was made for this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumptions {
    /// Along each axis there are fewer than 2³¹ threads in the grid, so that `%ctaid * %ntid + %tid` does not wrap.
    pub small_grid: bool,
}

/// An axis of a CTA.
pub(crate) type Axis = usize;

impl Gangs {
    /// Gangs of `width` threads in CTAs of a shape; for grids of fewer than 2³¹ threads along each axis.
    ///
    /// # Errors
    /// A text, for a width or a shape that there is not.
    pub fn new(cta: [u32; 3], width: u32) -> Result<Gangs, String> {
        if !width.is_power_of_two() || width > 32 {
            return Err(format!("a gang has 1, 2, 4, 8, 16 or 32 threads, not {width}"));
        }
        let threads = cta.iter().map(|extent| u64::from(*extent)).product::<u64>();
        if threads == 0 || threads > 1024 {
            return Err(format!("a CTA has 1 to 1024 threads, not {threads}"));
        }
        Ok(Gangs { cta, width, assumptions: Assumptions { small_grid: true } })
    }

    /// So many of these gangs as if they were one, to find out what they have in common.
    pub(crate) fn together(&self, count: u32) -> Gangs {
        Gangs { width: self.width * count, ..self.clone() }
    }

    /// Threads of a CTA.
    pub fn threads(&self) -> u32 {
        self.cta.iter().product()
    }

    /// Gangs of a CTA.
    pub fn count(&self) -> u32 {
        self.threads().div_ceil(self.width)
    }

    /// Whether the last gang has as many threads as the others.
    pub fn are_full(&self) -> bool {
        self.threads().is_multiple_of(self.width)
    }

    /// `%tid` of a thread along an axis, by its number in the CTA.
    pub(crate) fn tid(&self, axis: Axis, thread: u32) -> u32 {
        let [x, y, _] = self.cta;
        [thread % x, thread / x % y, thread / (x * y)][axis]
    }

    /// How `%tid` of an axis differs by lane, if that is the same in each gang.
    pub(crate) fn tid_lanes(&self, axis: Axis) -> Option<Lanes> {
        let mut known: Vec<Option<i64>> = vec![None; self.width as usize];
        for gang in 0..self.count() {
            let base = i64::from(self.tid(axis, gang * self.width));
            for (lane, known) in known.iter_mut().enumerate() {
                let thread = gang * self.width + lane as u32;
                if thread < self.threads() {
                    let offset = i64::from(self.tid(axis, thread)) - base;
                    if *known.get_or_insert(offset) != offset {
                        return None;
                    }
                }
            }
        }
        // Lanes that no gang has run with any number: with those that continue the row, if there is one.
        let step = known.get(1).copied().flatten().unwrap_or(0);
        let lanes = known.iter().enumerate().map(|(lane, known)| known.unwrap_or(lane as i64 * step));
        Some(Lanes::relative(lanes))
    }

    /// How many low bits of `%tid` of an axis are 0 in the first lane of each gang.
    pub(crate) fn tid_alignment(&self, axis: Axis) -> u32 {
        let bases = (0..self.count()).map(|gang| self.tid(axis, gang * self.width));
        bases.fold(0, |all, base| all | base).trailing_zeros().min(31)
    }

    /// What `%ctaid` of an axis can be.
    pub(crate) fn ctaid_range(&self, axis: Axis) -> Interval {
        // PTX ISA 10, %nctaid: 2³¹-1 along x, 65535 along y and z.
        let most = if axis == 0 { (1 << 31) - 2 } else { 65534 };
        let small = ((1u64 << 31) / u64::from(self.cta[axis])).saturating_sub(1);
        let most = if self.assumptions.small_grid { most.min(small) } else { most };
        Interval::new(0, i128::from(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(cta: [u32; 3], width: u32, axis: Axis) -> Option<String> {
        Gangs::new(cta, width).unwrap().tid_lanes(axis).map(|lanes| lanes.to_string())
    }

    #[test]
    fn threads_are_numbered_along_x() {
        assert_eq!(lanes([256, 1, 1], 16, 0).as_deref(), Some("lane"));
        assert_eq!(lanes([16, 16, 1], 8, 1).as_deref(), Some("0*lane"));
        assert_eq!(lanes([4, 4, 1], 8, 0).as_deref(), Some("{0 1 2 3 0 1 2 3}"));
        assert_eq!(lanes([4, 4, 1], 8, 1).as_deref(), Some("{0x4 1x4}"));
        assert_eq!(lanes([10, 10, 1], 8, 0), None);
        assert_eq!(lanes([10, 1, 1], 8, 0).as_deref(), Some("lane"));
    }

    #[test]
    fn the_first_lanes_have_low_bits_in_common() {
        assert_eq!(Gangs::new([64, 1, 1], 16).unwrap().tid_alignment(0), 4);
        assert_eq!(Gangs::new([16, 1, 1], 16).unwrap().tid_alignment(0), 31);
    }

    #[test]
    fn wrong_shapes_are_refused() {
        assert!(Gangs::new([32, 1, 1], 12).is_err());
        assert!(Gangs::new([0, 1, 1], 8).is_err());
        assert!(Gangs::new([1024, 2, 1], 8).is_err());
    }
}
