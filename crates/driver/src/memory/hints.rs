//! What a program says about memory it uses: advice and prefetching of managed ranges, and synchronous copies. Host and kernels
//! share one memory, so hints change nothing but what can be asked back.
use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::pool::as_value;
use super::{Pointer, PointerKind};
use crate::driver::Driver;
use crate::stream::StreamName;
use crate::{DriverError, DriverResult};

/// A place for memory: `CUmemLocationType` and the number of the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// `CUmemLocationType`.
    pub kind: u32,
    /// The ordinal of a device, or the number of a NUMA node.
    pub id: i32,
}

/// Kinds of places that memory can be near.
#[expect(missing_docs, reason = "the names of CUmemLocationType say it")]
pub mod location_kind {
    pub const NONE: u32 = 0;
    pub const DEVICE: u32 = 1;
    pub const HOST: u32 = 2;
    pub const HOST_NUMA: u32 = 3;
    pub const HOST_NUMA_CURRENT: u32 = 4;
}

impl Location {
    /// The place that the first ABI names by a device's ordinal, or -1 for the host.
    pub fn of_ordinal(ordinal: i32) -> Location {
        if ordinal == -1 {
            Location { kind: location_kind::HOST, id: 0 }
        } else {
            Location { kind: location_kind::DEVICE, id: ordinal }
        }
    }

    /// Whether there are places of a kind.
    fn check_kind(self) -> DriverResult {
        match self.kind {
            location_kind::DEVICE
            | location_kind::HOST
            | location_kind::HOST_NUMA
            | location_kind::HOST_NUMA_CURRENT => Ok(()),
            kind => Err(DriverError::invalid_value(format!("{kind} is no kind of place"))),
        }
    }

    /// The device's ordinal, or -1 for the host.
    pub fn ordinal(self) -> i32 {
        if self.kind == location_kind::DEVICE { self.id } else { -1 }
    }
}

/// `CUmem_advise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Whether the range is mostly read.
    ReadMostly(bool),
    /// Where the range should be.
    Preferred(Option<Location>),
    /// Who accesses the range, or no longer does.
    AccessedBy(Location, bool),
}

/// What was said about a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// It is mostly read.
    pub read_mostly: bool,
    /// It should be there.
    pub preferred: Option<Location>,
    /// These access it, by [`Location::ordinal`].
    pub accessed_by: Vec<i32>,
    /// It was last prefetched to there.
    pub prefetched: Option<Location>,
}

impl Hints {
    fn apply(&mut self, advice: Advice) {
        match advice {
            Advice::ReadMostly(yes) => self.read_mostly = yes,
            Advice::Preferred(location) => self.preferred = location,
            Advice::AccessedBy(location, yes) => {
                self.accessed_by.retain(|known| *known != location.ordinal());
                if yes {
                    self.accessed_by.push(location.ordinal());
                    // Devices by number, then the host, as NVIDIA's own tests of cuMemRangeGetAttribute expect.
                    self.accessed_by.sort_unstable_by_key(|ordinal| ordinal.cast_unsigned());
                }
            }
        }
    }
}

/// Hints of one allocation.
#[derive(Default)]
struct Marked {
    /// [`Pointer::id`]: tells a later allocation at the same address.
    id: u64,
    /// Whether its copies are to be synchronous, if that was said.
    synchronous: Option<bool>,
    /// Ranges without overlap, by first address, with the address behind each; gaps have no hints.
    ranges: BTreeMap<u64, (u64, Hints)>,
}

impl Marked {
    /// Makes a range begin at `address` if one covers it.
    fn split_at(&mut self, address: u64) {
        let covering = self.ranges.range(..address).next_back().filter(|(_, (end, _))| *end > address);
        if let Some((start, (end, hints))) = covering.map(|(start, range)| (*start, range.clone())) {
            self.ranges.insert(start, (address, hints.clone()));
            self.ranges.insert(address, (end, hints));
        }
    }

    fn change(&mut self, start: u64, end: u64, change: impl Fn(&mut Hints)) {
        self.split_at(start);
        self.split_at(end);
        let mut at = start;
        while at < end {
            let next = self.ranges.range(at..end).next().map(|(start, (end, _))| (*start, *end));
            match next {
                Some((first, last)) if first == at => {
                    if let Some((_, hints)) = self.ranges.get_mut(&at) {
                        change(hints);
                    }
                    at = last;
                }
                next => {
                    let gap_end = next.map_or(end, |(first, _)| first);
                    let mut hints = Hints::default();
                    change(&mut hints);
                    self.ranges.insert(at, (gap_end, hints));
                    at = gap_end;
                }
            }
        }
    }

    /// The hints of all parts of a range.
    fn parts(&self, start: u64, end: u64) -> Vec<Hints> {
        let mut parts = Vec::new();
        let mut covered = start;
        let before = self.ranges.range(..start).next_back().filter(|(_, (last, _))| *last > start);
        for (first, (last, hints)) in before.into_iter().chain(self.ranges.range(start..end)) {
            if *first > covered {
                parts.push(Hints::default());
            }
            parts.push(hints.clone());
            covered = *last;
        }
        if covered < end {
            parts.push(Hints::default());
        }
        parts
    }
}

/// The hints of all allocations that have any, by their first address.
#[derive(Default)]
pub(crate) struct AllHints(Mutex<BTreeMap<u64, Marked>>);

/// As recorded, asked before anything else of a range.
fn check_range(address: u64, size: u64) -> DriverResult {
    if address == 0 || size == 0 {
        return Err(DriverError::invalid_value(format!("{size} bytes at {address:#x}")));
    }
    Ok(())
}

impl Driver {
    /// The managed allocation that holds all of a range.
    fn managed_range(&self, address: u64, size: u64) -> DriverResult<Pointer> {
        let pointer = self.pointer(address).filter(|pointer| pointer.kind == PointerKind::Managed);
        check_range(address, size)?;
        let held = pointer.filter(|pointer| size <= pointer.size - (address - pointer.base));
        held.ok_or_else(|| {
            DriverError::invalid_value(format!("{size} bytes at {address:#x} are not all managed memory"))
        })
    }

    /// Whether a place exists; nodes of the host are all of one memory.
    pub(super) fn check_location(&self, location: Location) -> DriverResult {
        location.check_kind()?;
        if location.kind == location_kind::DEVICE {
            self.device(location.id)?;
        }
        Ok(())
    }

    /// Whether there is such a node, if a place is one.
    fn check_node(&self, location: Location) -> DriverResult {
        if location.kind == location_kind::HOST_NUMA { self.check_host_node(location.id) } else { Ok(()) }
    }

    /// Whether a place exists, and the node that it is, with one code for all that is none.
    ///
    /// # Errors
    /// `InvalidValue`.
    pub(super) fn check_named(&self, location: Location) -> DriverResult {
        self.check_location(location).map_err(as_value)?;
        self.check_node(location)
    }

    fn mark<T>(&self, pointer: &Pointer, change: impl FnOnce(&mut Marked) -> T) -> T {
        let mut all = self.hints.0.lock();
        if all.get(&pointer.base).is_none_or(|marked| marked.id != pointer.id) {
            // Hints of what is no longer allocated go when new ones come.
            all.retain(|base, marked| self.pointer(*base).is_some_and(|living| living.id == marked.id));
        }
        let marked = all.entry(pointer.base).or_default();
        if marked.id != pointer.id {
            *marked = Marked { id: pointer.id, ..Marked::default() };
        }
        change(marked)
    }

    /// Remembers advice about a managed range (`cuMemAdvise`).
    ///
    /// # Errors
    /// `InvalidValue` for other memory, `InvalidDevice`, and those of [`Driver::current`].
    pub fn advise(&self, address: u64, size: u64, advice: Advice) -> DriverResult {
        self.current()?;
        self.refuse_unsafe_in_capture()?;
        check_range(address, size)?;
        match advice {
            Advice::Preferred(Some(location)) | Advice::AccessedBy(location, _) => self.check_location(location)?,
            Advice::ReadMostly(_) | Advice::Preferred(None) => {}
        }
        let pointer = self.managed_range(address, size)?;
        self.note(&pointer, address, size, advice);
        Ok(())
    }

    fn note(&self, pointer: &Pointer, address: u64, size: u64, advice: Advice) {
        self.mark(pointer, |marked| marked.change(address, address + size, |hints| hints.apply(advice)));
    }

    /// The same by the second ABI, which looks at the place whatever the advice is.
    ///
    /// # Errors
    /// All as recorded: `InvalidValue` for what is no kind of place, for devices and nodes of the host that are none where the advice names one, and for nodes that
    /// access; as [`Driver::advise`] for devices and the host. For nodes none is current, and what is no managed memory is passed over.
    pub fn advise_place(&self, address: u64, size: u64, advice: Advice, location: Location) -> DriverResult {
        location.check_kind()?;
        if let Advice::Preferred(Some(_)) | Advice::AccessedBy(..) = advice {
            self.check_named(location)?;
        }
        if matches!(location.kind, location_kind::DEVICE | location_kind::HOST) {
            return self.advise(address, size, advice);
        }
        if let Advice::AccessedBy(..) = advice {
            return Err(DriverError::invalid_value("nodes of the host access nothing"));
        }
        if let Ok(pointer) = self.managed_range(address, size) {
            self.note(&pointer, address, size, advice);
        }
        Ok(())
    }

    /// Remembers where a managed range was asked for (`cuMemPrefetchAsync`); it is everywhere already. The context is that
    /// of the stream, as recorded: none need be current beside a stream that was created.
    ///
    /// # Errors
    /// `InvalidValue` for other memory, and for what is no kind of place or no node, which is asked before all else; `InvalidDevice`,
    /// and those of [`Driver::stream`].
    pub fn prefetch(&self, address: u64, size: u64, location: Location, stream: StreamName) -> DriverResult {
        location.check_kind()?;
        self.check_node(location)?;
        self.refuse_capture(&self.stream(stream)?)?;
        check_range(address, size)?;
        self.check_location(location)?;
        let pointer = self.managed_range(address, size)?;
        self.mark(&pointer, |marked| {
            marked.change(address, address + size, |hints| hints.prefetched = Some(location));
        });
        Ok(())
    }

    /// What was said about each part of a managed range; at least one part.
    ///
    /// # Errors
    /// `InvalidValue` for other memory, and those of [`Driver::current`].
    pub fn hints(&self, address: u64, size: u64) -> DriverResult<Vec<Hints>> {
        self.current()?;
        let pointer = self.managed_range(address, size)?;
        let all = self.hints.0.lock();
        let marked = all.get(&pointer.base).filter(|marked| marked.id == pointer.id);
        Ok(marked.map_or_else(|| vec![Hints::default()], |marked| marked.parts(address, address + size)))
    }

    /// Whether copies of an allocation are to be synchronous (`CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`). Those of managed memory
    /// are until something else is said, as recorded.
    pub fn is_synchronous(&self, pointer: &Pointer) -> bool {
        let all = self.hints.0.lock();
        let marked = all.get(&pointer.base).filter(|marked| marked.id == pointer.id);
        marked.and_then(|marked| marked.synchronous).unwrap_or(pointer.kind == PointerKind::Managed)
    }

    /// Says whether copies of an allocation are to be synchronous. They are ordered enough without it.
    pub fn set_synchronous(&self, pointer: &Pointer, synchronous: bool) {
        self.mark(pointer, |marked| marked.synchronous = Some(synchronous));
    }

    /// The handle of the context that memory belongs to; None if that is gone.
    pub fn owner_of(&self, pointer: &Pointer) -> Option<crate::Handle> {
        self.contexts.find(|context| context.id() == pointer.context_id).map(|context| context.handle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_split_where_hints_change() {
        let mut marked = Marked::default();
        let device = Location { kind: location_kind::DEVICE, id: 0 };
        marked.change(10, 20, |hints| hints.apply(Advice::ReadMostly(true)));
        marked.change(15, 30, |hints| hints.apply(Advice::Preferred(Some(device))));
        marked.change(40, 50, |hints| hints.apply(Advice::AccessedBy(device, true)));
        let brief = |start, end| {
            let parts = marked.parts(start, end);
            parts
                .iter()
                .map(|part| (part.read_mostly, part.preferred.is_some(), part.accessed_by.len()))
                .collect::<Vec<_>>()
        };
        assert_eq!(brief(10, 15), [(true, false, 0)]);
        assert_eq!(brief(10, 30), [(true, false, 0), (true, true, 0), (false, true, 0)]);
        assert_eq!(brief(12, 16), [(true, false, 0), (true, true, 0)]);
        assert_eq!(brief(29, 41), [(false, true, 0), (false, false, 0), (false, false, 1)]);
        assert_eq!(brief(0, 5), [(false, false, 0)]);
    }

    #[test]
    fn accessors_are_devices_by_number_and_then_the_host() {
        let mut hints = Hints::default();
        for ordinal in [-1, 2, 0] {
            hints.apply(Advice::AccessedBy(Location::of_ordinal(ordinal), true));
        }
        assert_eq!(hints.accessed_by, [0, 2, -1]);
    }

    #[test]
    fn hints_are_taken_back() {
        let mut hints = Hints::default();
        let host = Location::of_ordinal(-1);
        for advice in [Advice::ReadMostly(true), Advice::AccessedBy(host, true), Advice::AccessedBy(host, true)] {
            hints.apply(advice);
        }
        assert_eq!((hints.read_mostly, hints.accessed_by.as_slice()), (true, &[-1][..]));
        hints.apply(Advice::ReadMostly(false));
        hints.apply(Advice::AccessedBy(host, false));
        assert_eq!(hints, Hints::default());
    }
}
