//! The mbarrier object (PTX ISA 9.7.13.15): what its 64 bits say, and when a phase ends.
//!
//! The token of an arrival is the object's bits before it. So a token knows its phase by one bit, which is enough: it may be that of the phase
//! that is going on or of the one before.

/// The most that a count can be (PTX ISA 9.7.13.15.2).
const MOST: u32 = (1 << 20) - 1;

/// Some of an object's bits.
#[derive(Clone, Copy)]
struct Field {
    shift: u32,
    bits: u32,
}

const PENDING: Field = Field { shift: 0, bits: 20 };
const EXPECTED: Field = Field { shift: 20, bits: 20 };
/// In two's complement, as it may be negative on the way: bytes may arrive before somebody expects them.
const TRANSACTIONS: Field = Field { shift: 40, bits: 21 };
/// Of `.layout::v1`, which says nothing else here: no operation reports anything.
const V1: Field = Field { shift: 62, bits: 1 };
const PHASE: Field = Field { shift: 63, bits: 1 };

impl Field {
    fn of(self, word: u64) -> u32 {
        (word >> self.shift) as u32 & self.mask()
    }

    fn set(self, word: &mut u64, value: u32) {
        self.change(word, |_| value);
    }

    fn change(self, word: &mut u64, change: impl FnOnce(u32) -> u32) {
        let value = change(self.of(*word)) & self.mask();
        *word = *word & !(u64::from(self.mask()) << self.shift) | u64::from(value) << self.shift;
    }

    fn mask(self) -> u32 {
        (1 << self.bits) - 1
    }
}

/// An mbarrier object, or the token of an arrival at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object(pub(crate) u64);

impl Object {
    /// An object in its first phase, which `count` arrivals end.
    pub(crate) fn new(count: u32, v1: bool) -> Object {
        let mut word = 0;
        V1.set(&mut word, v1.into());
        PENDING.set(&mut word, count);
        EXPECTED.set(&mut word, count);
        Object(word)
    }

    /// Whether it is of `.layout::v1`.
    pub(crate) fn is_v1(self) -> bool {
        V1.of(self.0) != 0
    }

    /// Arrivals that the phase still waits for.
    pub(crate) fn pending(self) -> u32 {
        PENDING.of(self.0)
    }

    /// Whether the phase is an odd one.
    pub(crate) fn phase(self) -> bool {
        PHASE.of(self.0) != 0
    }

    /// One more arrival is waited for in this phase only (`cp.async.mbarrier.arrive` without `.noinc`).
    pub(crate) fn expect_arrival(&mut self) {
        PENDING.change(&mut self.0, |pending| pending.wrapping_add(1));
    }

    /// `count` arrivals; who drops out is waited for no more in the phases to come.
    pub(crate) fn arrive(&mut self, count: u32, drops: bool) {
        if drops {
            EXPECTED.change(&mut self.0, |expected| expected.wrapping_sub(count));
        }
        PENDING.change(&mut self.0, |pending| pending.wrapping_sub(count));
        self.end_phase();
    }

    /// The phase waits for so many bytes more; false if these are more than it can count (9.7.13.15.2).
    pub(crate) fn expect_bytes(&mut self, bytes: u32) -> bool {
        let awaited = i64::from(self.awaited()) + i64::from(bytes);
        TRANSACTIONS.change(&mut self.0, |awaited| awaited.wrapping_add(bytes));
        bytes <= MOST && awaited <= i64::from(MOST)
    }

    /// Bytes that are waited for; below 0 if more have come than were expected so far.
    fn awaited(self) -> i32 {
        let unused = u32::BITS - TRANSACTIONS.bits;
        (TRANSACTIONS.of(self.0) << unused) as i32 >> unused
    }

    /// So many bytes have come.
    pub(crate) fn complete_bytes(&mut self, bytes: u32) {
        TRANSACTIONS.change(&mut self.0, |awaited| awaited.wrapping_sub(bytes));
        self.end_phase();
    }

    /// A phase ends when neither arrivals nor bytes are waited for (9.7.13.15.4).
    fn end_phase(&mut self) {
        if self.pending() == 0 && TRANSACTIONS.of(self.0) == 0 {
            let expected = EXPECTED.of(self.0);
            PENDING.set(&mut self.0, expected);
            PHASE.change(&mut self.0, |phase| phase ^ 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Object};

    #[test]
    fn arrivals_end_phases_and_dropping_out_makes_them_shorter() {
        let mut object = Object::new(3, true);
        object.arrive(2, false);
        assert_eq!((object.pending(), object.phase()), (1, false));
        object.arrive(1, true);
        assert_eq!((object.pending(), object.phase()), (2, true));
        object.arrive(2, false);
        assert_eq!((object.pending(), object.phase(), object.is_v1()), (2, false, true));
    }

    #[test]
    fn bytes_may_come_before_they_are_expected() {
        let mut object = Object::new(1, false);
        object.complete_bytes(48);
        assert!(object.expect_bytes(16));
        object.arrive(1, false);
        assert!(!object.phase());
        assert!(object.expect_bytes(32));
        assert!(!object.phase(), "only what comes ends a phase");
        object.complete_bytes(16);
        assert!(object.expect_bytes(16));
        object.complete_bytes(0);
        assert!(object.phase());
    }

    #[test]
    fn bytes_have_a_limit() {
        let mut object = Object::new(1, false);
        assert!(!Object::new(1, false).expect_bytes(MOST + 1));
        assert!(object.expect_bytes(MOST));
        assert!(![1, MOST].into_iter().any(|bytes| { object }.expect_bytes(bytes)));
    }
}
