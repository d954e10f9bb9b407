//! Loads of elements that lie near each other, at distances that are known (every fourth, the even ones, in another order): all that lies between the first and
//! the last of them is loaded as it is and taken apart in registers, where a gather would load each by itself.

use warploom_ptx::ir::{ScalarType, Space};

use super::function::Writer;
use super::memory::Target;
use super::names::{Element, Ty};

/// Where the elements lie that lanes load.
pub(super) struct Near {
    /// From the first lane's place to the first byte, in bytes.
    low: i64,
    /// Elements from there to the last.
    count: u32,
    /// By lane: its first one.
    order: Vec<i64>,
}

impl Writer<'_> {
    /// Elements of all lanes of a gang that are near enough, so many of each lane; none where those that do not run load what has not been looked at, which need not be memory.
    pub(super) fn near(&self, target: &Target, ty: ScalarType, parts: usize) -> Option<Near> {
        /// Elements between them that nobody asks for, for each that is, where more registers are filled than with words.
        const APART: i64 = 4;
        // Masked code has all of a row looked at on its short way.
        let looked_at = if self.full { self.is_for_all_lanes() } else { !target.proven };
        let apart = target.apart.as_ref().filter(|_| looked_at && ty.bits() <= 64)?;
        if target.space == Space::Local {
            return None;
        }
        let (bytes, parts) = (i64::from(ty.bytes()), parts as i64);
        let low = apart.iter().copied().min()?;
        let order: Vec<i64> = apart.iter().map(|apart| (apart - low) / bytes).collect();
        let count = order.iter().copied().max()? + parts;
        let most = APART * i64::from(self.lanes()) * parts * if bytes < 4 { 2 } else { 1 };
        let fits = apart.iter().all(|apart| (apart - low) % bytes == 0) && count <= most;
        fits.then_some(Near { low, count: count as u32, order })
    }

    /// Loads them.
    pub(super) fn load_near(&mut self, target: &Target, near: &Near, ty: ScalarType, places: &[String]) {
        let element = Element::bits_of(ty);
        let bytes = ty.bytes();
        let pointer = self.place_of(target);
        let pointer = self.set(Ty::int(64, 0), format!("getelementptr i8, ptr {pointer}, i64 {}", near.low)).text;
        let lanes = self.lanes();
        if near.count <= lanes {
            // What is behind the last of them is not touched.
            let all = Ty { element, lanes: near.count.next_multiple_of(lanes) };
            let mask = Ty::int(1, all.lanes).lanes((0..all.lanes).map(|at| i64::from(at < near.count)));
            let all = self.masked_load(&pointer, all, bytes, [&mask, "poison"]);
            for (at, place) in places.iter().enumerate() {
                let part = self.shuffled(&all, near.order.iter().map(|first| first + at as i64));
                self.store(&part, place);
            }
            return;
        }
        // Whole vectors, and one that ends with the last element. Not one with a mask where there are such: what those ask for a Zen 5 does not foresee, and has
        // from memory at 0.6 of the speed.
        let whole = Ty { element, lanes: near.count / lanes * lanes };
        let first = self.load_memory(whole, &pointer, bytes);
        let behind = near.count - lanes;
        let last = self.offset(&pointer, behind * bytes);
        let last = self.load_memory(Ty { element, lanes }, &last, bytes);
        let last = self.shuffled(&last, (0..i64::from(whole.lanes)).map(|at| at.min(i64::from(lanes) - 1)));
        for (at, place) in places.iter().enumerate() {
            let from = |first: &i64| match first + at as i64 {
                place if place < i64::from(whole.lanes) => place,
                place => i64::from(whole.lanes) + place - i64::from(behind),
            };
            let part = self.of_two(&first, &last, near.order.iter().map(from));
            self.store(&part, place);
        }
    }
}
