//! Local memory whose words lie by lane, as hardware has it: words of one number of a warp's threads lie side by side, and lanes that go to one place load and store a
//! row. That is how the memory of a kernel is laid out whose own loads and stores alone reach it; else each thread's bytes lie behind each other, as addresses have them
//! that become generic ones, or are handed over to functions.

use warploom_ptx::ir::{Body, Inst, Op, ScalarType, Semantics, Space};

use super::context;
use super::function::{Val, Writer};
use super::gather::Places;
use super::memory::Target;
use super::names::{Element, Ty};
use crate::standalone::{stack_bottom, untyped};

/// Lanes whose words lie side by side.
const WARP: i64 = 32;

/// Where the threads of a CTA have their local memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalLayout {
    /// Bytes of a thread.
    pub size: u32,
    /// Bytes from one thread to the next; where words lie by lane, a 32nd of those from one warp to the next.
    pub stride: u32,
    /// Bytes of words that lie by lane; 0 where each thread's bytes lie behind each other.
    pub word: u32,
}

impl LocalLayout {
    /// Where a byte of a thread is. Those behind it, up to the end of a word, lie behind it there too.
    pub fn place(&self, thread: u32, byte: u64) -> u64 {
        let (thread, stride, word) = (u64::from(thread), u64::from(self.stride), u64::from(self.word));
        if word == 0 {
            return thread * stride + byte;
        }
        let (warp, lane) = (thread / WARP as u64 * WARP as u64, thread % WARP as u64);
        warp * stride + byte / word * (WARP as u64 * word) + lane * word + byte % word
    }
}

/// Bytes of the words that the local memory of a kernel may lie in by lane: those of its loads and stores, if all are alike, else 4. None where others reach it, or
/// everything is larger.
pub(super) fn words(body: &Body) -> Option<u32> {
    let mut elements = Vec::new();
    for inst in &body.insts {
        match &inst.op {
            Op::Ld { space: Space::Local, ty, semantics, .. } | Op::St { space: Space::Local, ty, semantics, .. } => {
                if *semantics != Semantics::Weak || !matches!(ty.bits(), 8 | 16 | 32 | 64) {
                    return None;
                }
                elements.push(ty.bytes());
            }
            Op::Cvta { space: Space::Local, .. } | Op::Call { .. } => return None,
            _ => {}
        }
    }
    if stack_bottom(body).is_some() {
        return None;
    }
    let first = *elements.first()?;
    Some(if elements.iter().all(|bytes| *bytes == first) { first } else { 4 })
}

/// Where lanes go in local memory.
enum Offsets {
    /// All to one byte: a scalar.
    One(Val),
    /// Each to one of its own.
    Each(Val),
}

/// The type of a word.
fn of_bytes(bytes: u32) -> ScalarType {
    untyped(bytes).unwrap_or(ScalarType::B64)
}

impl Writer<'_> {
    /// Bytes of words that lie by lane, if an access goes to such memory.
    pub(super) fn word_of(&self, target: &Target) -> Option<u32> {
        self.plan.words().filter(|_| target.space == Space::Local)
    }

    /// Loads one element for each place, from words of so many bytes.
    pub(super) fn load_by_lane(
        &mut self,
        inst: &Inst,
        (target, word): (&Target, u32),
        ty: ScalarType,
        places: &[String],
        common: bool,
    ) -> Result<(), String> {
        self.short_or_long(inst, target, |this, long| {
            let offsets = this.offsets(inst, target, long)?;
            for (place, at) in places.iter().zip(0..) {
                let value = this.element_by_lane(&offsets, word, ty, i64::from(ty.bytes()) * at);
                // What nobody reads has one place.
                let value = if common { this.constant(Ty::scalar(value.ty.element), 0) } else { value };
                this.store(&value, place);
            }
            Ok(())
        })
    }

    /// Stores elements behind each other, into words of so many bytes.
    pub(super) fn store_by_lane(
        &mut self,
        inst: &Inst,
        (target, word): (&Target, u32),
        ty: ScalarType,
        values: &[Val],
    ) -> Result<(), String> {
        self.short_or_long(inst, target, |this, long| {
            let offsets = this.offsets(inst, target, long)?;
            for (value, at) in values.iter().zip(0..) {
                let value = this.splat(value);
                this.keep_by_lane(&offsets, word, (ty, &value), i64::from(ty.bytes()) * at);
            }
            Ok(())
        })
    }

    /// Where lanes go; where the executor was asked, what is known of a pattern need not hold.
    fn offsets(&mut self, inst: &Inst, target: &Target, asked: bool) -> Result<Offsets, String> {
        if self.lanes() == 1 {
            let all = self.all_addresses(inst, target)?;
            let only = self.constant(Ty::int(32, 0), 0);
            return Ok(Offsets::One(self.element(&all, &only)));
        }
        match target.first.clone().filter(|_| target.is_one() && !asked) {
            Some(first) => Ok(Offsets::One(first)),
            // What is allowed has less than 31 bits.
            None => Ok(Offsets::Each(self.short_addresses(inst, target)?)),
        }
    }

    /// An element that lies so many bytes behind.
    fn element_by_lane(&mut self, offsets: &Offsets, word: u32, ty: ScalarType, behind: i64) -> Val {
        let (bytes, bits) = (ty.bytes(), ty.bits());
        if bytes < word {
            let whole = self.word_by_lane(offsets, word, behind);
            let within = self.within(offsets, word, behind);
            let by = self.constant(within.ty, 3);
            let by = self.binary("shl", &within, &by);
            let by = self.resize(&by, 8 * word, false);
            let by = self.splat(&by);
            let low = self.binary("lshr", &whole, &by);
            return self.resize(&low, bits, false);
        }
        let mut all = self.word_by_lane(offsets, word, behind);
        if bytes > word {
            all = self.resize(&all, bits, false);
            for part in 1..i64::from(bytes / word) {
                let at = part * i64::from(word);
                let next = self.word_by_lane(offsets, word, behind + at);
                let next = self.resize(&next, bits, false);
                let by = self.constant(next.ty, 8 * at);
                let next = self.binary("shl", &next, &by);
                all = self.binary("or", &all, &next);
            }
        }
        all
    }

    /// The word that the byte is in which lies so many behind.
    fn word_by_lane(&mut self, offsets: &Offsets, word: u32, behind: i64) -> Val {
        let ty = of_bytes(word);
        let vector = Ty { element: Element::bits_of(ty), lanes: self.lanes() };
        match offsets {
            Offsets::One(offset) => {
                let pointer = self.row_by_lane(offset, word, behind);
                let place = self.new_place(vector);
                self.load_row(&pointer, ty, std::slice::from_ref(&place));
                self.load(vector, &place)
            }
            Offsets::Each(offsets) => {
                let places = self.each_by_lane(offsets, word, behind);
                if self.plan.gathers() && word >= 4 {
                    return self.gather(&places, vector.element, word);
                }
                self.keep_places(&places);
                let place = self.new_place(vector);
                self.load_lanes(ty, std::slice::from_ref(&place), false);
                self.load(vector, &place)
            }
        }
    }

    /// Keeps an element so many bytes behind.
    fn keep_by_lane(&mut self, offsets: &Offsets, word: u32, (ty, value): (ScalarType, &Val), behind: i64) {
        let bytes = ty.bytes();
        if bytes < word {
            let each = match offsets {
                Offsets::One(offset) => {
                    let offset = self.resize(offset, 32, false);
                    self.splat(&offset)
                }
                Offsets::Each(offsets) => offsets.clone(),
            };
            let words = self.each_by_lane(&each, word, behind);
            let within = self.within(&Offsets::Each(each), word, behind);
            let places = match words {
                Places::Behind(start, index, scale) => {
                    Places::Behind(start, self.binary("add", &index, &within), scale)
                }
                other => other,
            };
            return self.store_each(&places, ty, value);
        }
        for part in 0..i64::from(bytes / word) {
            let at = part * i64::from(word);
            let by = self.constant(value.ty, 8 * at);
            let part = if at == 0 { value.clone() } else { self.binary("lshr", value, &by) };
            let part = self.resize(&part, 8 * word, false);
            self.keep_word(offsets, word, &part, behind + at);
        }
    }

    fn keep_word(&mut self, offsets: &Offsets, word: u32, value: &Val, behind: i64) {
        let ty = of_bytes(word);
        match offsets {
            Offsets::One(offset) => {
                let pointer = self.row_by_lane(offset, word, behind);
                // As in rows of shared memory: what is stored by a mask takes long without wide vectors. No lane but the gang's has what is in the row.
                if self.is_for_all_lanes() || self.plan.has_wide_vectors() || self.is_in_asked_arm() {
                    return self.store_row(&pointer, ty, std::slice::from_ref(value));
                }
                let before = self.load_memory(value.ty, &pointer, word);
                let mask = self.mask_value();
                let after = self.select(&mask, value, &before);
                self.store_memory(&after, &pointer, word);
            }
            Offsets::Each(offsets) => {
                let places = self.each_by_lane(offsets, word, behind);
                if self.plan.has_wide_vectors() && word >= 4 {
                    let pointers = self.pointers_to(&places);
                    return self.scatter(&pointers, value, word);
                }
                self.store_each(&places, ty, value);
            }
        }
    }

    /// Where in its word a byte is that lies so many behind.
    fn within(&mut self, offsets: &Offsets, word: u32, behind: i64) -> Val {
        let (Offsets::One(offset) | Offsets::Each(offset)) = offsets;
        let by = self.constant(offset.ty, behind);
        let there = self.binary("add", offset, &by);
        let low = self.constant(there.ty, i64::from(word) - 1);
        self.binary("and", &there, &low)
    }

    /// Where the row of words begins that a byte is in, so many bytes behind an offset of the gang's first lane's.
    fn row_by_lane(&mut self, offset: &Val, word: u32, behind: i64) -> String {
        let rows = self.rows_before(offset, word, behind);
        let start = self.words_of_gang(word);
        self.set(Ty::int(64, 0), format!("getelementptr i8, ptr {start}, i64 {}", rows.text)).text
    }

    /// The word of each lane that a byte is in, so many bytes behind an offset of 32 bits.
    fn each_by_lane(&mut self, offsets: &Val, word: u32, behind: i64) -> Places {
        let rows = self.rows_before(offsets, word, behind);
        let own = (0..i64::from(self.lanes())).map(|lane| lane * i64::from(word));
        let own = Val { ty: rows.ty, text: rows.ty.lanes(own) };
        let sum = self.binary("add", &rows, &own);
        Places::Behind(self.words_of_gang(word), sum, 1)
    }

    fn store_each(&mut self, places: &Places, ty: ScalarType, value: &Val) {
        match places {
            Places::Behind(start, index, 1) if self.is_for_all_lanes() => {
                self.store_all_behind(start, index, ty, value)
            }
            places => {
                self.keep_places(places);
                self.store_lanes(ty, std::slice::from_ref(value), false);
            }
        }
    }

    /// Bytes of the rows before the one that a byte is in.
    fn rows_before(&mut self, offset: &Val, word: u32, behind: i64) -> Val {
        let by = self.constant(offset.ty, behind);
        let there = self.binary("add", offset, &by);
        let whole = self.constant(there.ty, -i64::from(word));
        let first = self.binary("and", &there, &whole);
        let lanes = self.constant(first.ty, self.side_by_side());
        self.binary("mul", &first, &lanes)
    }

    /// Threads whose words lie side by side: a warp's, but where threads run one by one each has its own together.
    fn side_by_side(&self) -> i64 {
        if self.lanes() == 1 { 1 } else { WARP }
    }

    /// Where the gang's first lane has its first word.
    fn words_of_gang(&mut self, word: u32) -> String {
        let word64 = Ty::int(64, 0);
        let local = self.pointer(context::LOCAL);
        let thread = self.thread();
        let thread = self.set(word64, format!("zext i32 {thread} to i64"));
        let [low, stride, word] = [self.side_by_side() - 1, i64::from(self.plan.local_stride()), i64::from(word)]
            .map(|number| self.constant(word64, number));
        let lane = self.binary("and", &thread, &low);
        let warp = self.binary("sub", &thread, &lane);
        let warp = self.binary("mul", &warp, &stride);
        let lane = self.binary("mul", &lane, &word);
        let sum = self.binary("add", &warp, &lane);
        self.set(word64, format!("getelementptr i8, ptr {local}, i64 {}", sum.text)).text
    }

    /// Fills `%addresses` with pointers.
    fn keep_places(&mut self, places: &Places) {
        let pointers = self.pointers_to(places);
        let ty = Ty::int(64, self.lanes());
        let addresses = self.set(ty, format!("ptrtoint <{0} x ptr> {1} to <{0} x i64>", ty.lanes, pointers.text));
        self.store_for_lanes(&addresses, "%addresses");
    }
}

#[cfg(test)]
mod tests {
    use super::LocalLayout;

    #[test]
    fn words_of_a_warp_lie_side_by_side() {
        let apart = LocalLayout { size: 24, stride: 48, word: 0 };
        assert_eq!([apart.place(0, 5), apart.place(33, 5)], [5, 33 * 48 + 5]);
        let layout = LocalLayout { word: 4, ..apart };
        assert_eq!([layout.place(0, 0), layout.place(0, 3), layout.place(1, 0), layout.place(1, 6)], [0, 3, 4, 134]);
        assert_eq!(layout.place(33, 6), 32 * 48 + 134);
        // No two bytes of a CTA lie in one place, and none lies behind what there is for its warps.
        let mut places: Vec<u64> =
            (0..64).flat_map(|thread| (0..24).map(move |byte| layout.place(thread, byte))).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!((places.len(), places.last().is_some_and(|last| *last < 64 * 48)), (64 * 24, true));
    }
}
