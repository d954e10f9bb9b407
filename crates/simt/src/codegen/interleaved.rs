//! What lanes store into structures of two or three elements that fill memory (the colours of a pixel, the coordinates of a point): one store behind the other goes to each lane's
//! next element, and all of them together are whole rows.

use warploom_ptx::ir::{Inst, ScalarType, Space};

use super::function::{Val, Writer};
use super::memory::Target;
use super::names::Ty;

/// The elements of a structure, all lanes', and how far the first of them is from where the instruction that is written stores, in bytes.
pub(super) type Structures = (i64, Vec<Val>);

impl Writer<'_> {
    /// What an instruction stores that is the first of several such.
    pub(super) fn structures_stored(
        &mut self,
        inst: &Inst,
        target: &Target,
        ty: ScalarType,
        values: &[Val],
    ) -> Option<Structures> {
        let apart = target.apart.as_ref().filter(|apart| apart.len() > 1 && values.len() == 1)?;
        let step = apart[1] - apart[0];
        let count = [2, 3].into_iter().find(|count| step == *count as i64 * i64::from(ty.bytes()))?;
        let even = apart.iter().zip(0..).all(|(apart, lane)| *apart == lane * step);
        let whole = self.full && self.is_for_all_lanes();
        if !whole || !even || target.space == Space::Local || ty.bits() > 32 || !self.plan.machine().x86 {
            return None;
        }
        let (low, elements) = self.stored_at_once(inst, target, count)?;
        Some((low, elements.iter().map(|element| self.splat(element)).collect()))
    }

    /// Stores them.
    pub(super) fn store_structures(&mut self, target: &Target, (low, elements): &Structures, ty: ScalarType) {
        let first = self.place_of(target);
        let register = (self.words_of_a_gather() * 32 / ty.bits()).min(self.lanes());
        let count = elements.len() as u32;
        let mut at = *low;
        for lane in (0..self.lanes()).step_by(register as usize) {
            let own = i64::from(lane)..i64::from(lane + register);
            let parts: Vec<Val> = elements.iter().map(|element| self.shuffled(element, own.clone())).collect();
            for piece in 0..count {
                let row = self.piece_of_structures(&parts, piece * register);
                let place = self.set(Ty::int(64, 0), format!("getelementptr i8, ptr {first}, i64 {at}"));
                self.store_memory(&row, &place.text, ty.bytes());
                at += i64::from(register * ty.bytes());
            }
        }
    }

    /// A register of what lies behind each other in memory, from one element on. One kind of element after the other is put to its places.
    fn piece_of_structures(&mut self, parts: &[Val], from: u32) -> Val {
        let (count, lanes) = (parts.len() as u32, parts[0].ty.lanes);
        let (kind, lane) = (|at: u32| (from + at) % count, |at: u32| i64::from((from + at) / count));
        let mut row = parts[0].clone();
        for (number, part) in (1..).zip(&parts[1..]) {
            let order = (0..lanes).map(|at| match kind(at) {
                kind if kind == number => i64::from(lanes) + lane(at),
                // What comes first is not in its place before.
                0 if number == 1 => lane(at),
                _ => i64::from(at),
            });
            row = self.of_two(&row, part, order.collect::<Vec<_>>());
        }
        row
    }
}
