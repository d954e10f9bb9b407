//! What an observer is told of copies and fills: what they are about to read and write.
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use warploom_exec::copy::{PART, Side};
use warploom_exec::memory::{Memory, MemoryKind};
use warploom_exec::observe::{Bytes, HostEvent, Observer, Source, StreamPlace};
use warploom_exec::stream::Stream;

/// Tells the observer of a stream, if it has one.
pub(crate) struct Teller(Option<Arc<dyn Observer>>);

impl Teller {
    pub(crate) fn of(stream: &Stream) -> Teller {
        Teller(stream.observer().cloned())
    }

    /// Pieces are copied, each from its second place to its first: so many bytes.
    pub(super) fn copies(
        &self,
        memory: &Memory,
        place: StreamPlace,
        pieces: impl Iterator<Item = Option<(Side, Side, u64)>>,
    ) {
        let Some(observer) = &self.0 else { return };
        for (dst, src, len) in pieces.flatten() {
            let (read, written) = (still_read(memory, src, len), Some(bytes(memory, dst, len)));
            observer.host(&HostEvent::Touches { place, read, written, what: "a copy" });
        }
    }

    /// Remembers what a copy is to read from the host, if anybody wants to know whether it stays.
    pub(super) fn watch(
        &self,
        memory: &Memory,
        pieces: impl Iterator<Item = Option<(Side, Side, u64)>>,
    ) -> Option<Watch> {
        static COPIES: AtomicU64 = AtomicU64::new(1);
        let observer = self.0.as_ref().filter(|observer| observer.wants().sources)?;
        let of_host = |(_, src, len): (Side, Side, u64)| {
            let source = bytes(memory, src, len);
            let digest = source.host.then(|| memory.digest(src, len).ok())??;
            Some((src, source.range, digest))
        };
        let rows: Vec<_> = pieces.flatten().filter_map(of_host).collect();
        let (start, end) = (rows.first()?.1.start, rows.last()?.1.end);
        let copy = COPIES.fetch_add(1, Ordering::Relaxed);
        observer.host(&HostEvent::CopyWaits { copy, source: start..end });
        Some(Watch { copy, rows })
    }

    /// The copy is about to read.
    pub(super) fn reads(&self, memory: &Memory, watch: Option<&Watch>) {
        if let (Some(observer), Some(watch)) = (&self.0, watch) {
            observer.host(&HostEvent::CopyReads { copy: watch.copy, source: watch.look(memory) });
        }
    }

    /// A value is about to be written that other streams may wait for.
    pub(crate) fn releases(&self, place: StreamPlace, address: u64) {
        if let Some(observer) = &self.0 {
            observer.host(&HostEvent::Releases { place, address });
        }
    }

    /// Bytes of device memory are set.
    pub(crate) fn sets(&self, place: StreamPlace, range: Range<u64>, what: &'static str) {
        if let Some(observer) = &self.0 {
            let written = Some(Bytes { range, host: false });
            observer.host(&HostEvent::Touches { place, read: None, written, what });
        }
    }
}

/// What a copy is to read from the host, as it was when the program asked for it.
pub(super) struct Watch {
    copy: u64,
    /// Where, the addresses, and a number for each part.
    rows: Vec<(Side, Range<u64>, Vec<u64>)>,
}

impl Watch {
    fn look(&self, memory: &Memory) -> Source {
        for (side, range, before) in &self.rows {
            let len = range.end - range.start;
            if matches!(side, Side::Host(host) if !host.is_mapped()) {
                return Source::Gone;
            }
            let Ok(now) = memory.digest(*side, len) else { return Source::Gone };
            let differs = |(part, (a, b)): (u64, (&u64, &u64))| (a != b).then_some(part);
            if let Some(part) = (0..).zip(before.iter().zip(&now)).find_map(differs) {
                let start = range.start + part * PART;
                return Source::Changed(start..range.end.min(start + PART));
            }
        }
        Source::Same
    }
}

/// What a copy reads in its stream: not memory of the host that is not pinned, which the call has read.
fn still_read(memory: &Memory, src: Side, len: u64) -> Option<Bytes> {
    let in_call = match src {
        Side::Host(range) => !memory.in_window(range.address()) && memory.registered_at(range.address()).is_none(),
        Side::Device(address) => memory.lookup(address).is_some_and(|info| info.kind == MemoryKind::Internal),
    };
    (!in_call).then(|| bytes(memory, src, len))
}

fn bytes(memory: &Memory, side: Side, len: u64) -> Bytes {
    let (start, host) = match side {
        Side::Host(range) => (range.address(), true),
        // Registered pages are in no allocation.
        Side::Device(address) => {
            let kind = memory.lookup(address).map(|info| info.kind);
            (address, matches!(kind, None | Some(MemoryKind::PinnedHost)))
        }
    };
    Bytes { range: start..start + len, host }
}
