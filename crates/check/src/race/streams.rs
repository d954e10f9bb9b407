//! The order of grids: what the host put into streams, waited for, and made wait for each other (PTX ISA 8.9.1 knows it as
//! "synchronises at the API").

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use warploom_exec::observe::{HostEvent, StreamPlace};
use warploom_exec::stream::StreamKind;

/// How far streams are known, by stream.
type Reached = Arc<BTreeMap<u64, u64>>;

/// Places of a stream whose order is remembered; what is older counts as over.
const REMEMBERED: usize = 4096;

#[derive(Default)]
struct Stream {
    /// Its context, and how it orders itself there.
    group: Option<(u64, StreamKind)>,
    /// The last place in it.
    last: u64,
    /// What comes before whatever is put in next.
    before: Reached,
    /// The same of the latest that were put in.
    places: VecDeque<(u64, Reached)>,
    /// Grids in it: place and numbers of their CTAs.
    grids: VecDeque<(u64, Range<u32>)>,
}

/// All streams.
#[derive(Default)]
pub(super) struct Streams {
    streams: HashMap<u64, Stream>,
    /// What comes before whatever is put into the streams of a group next, by group.
    groups: HashMap<u64, Reached>,
    /// What the host has waited for.
    host: Reached,
    /// What was done before streams wrote values that others may wait for, by address.
    released: HashMap<u64, Reached>,
    /// Places have got to know something after they were put into their streams, which those that come behind them in other streams need not know.
    late: bool,
    /// Grids that are in no stream's order: numbers of their CTAs.
    loose: u32,
}

fn learn(reached: &mut Reached, stream: u64, number: u64) {
    if reached.get(&stream).is_none_or(|&known| known < number) {
        Arc::make_mut(reached).insert(stream, number);
    }
}

fn join(mine: &mut Reached, theirs: &Reached) {
    if !Arc::ptr_eq(mine, theirs) {
        for (&stream, &number) in &**theirs {
            learn(mine, stream, number);
        }
    }
}

impl Streams {
    pub(super) fn host(&mut self, event: &HostEvent) {
        match *event {
            HostEvent::Submit { place } => self.submit(place),
            HostEvent::After { stream, other } => {
                let known = self.reached(other);
                let stream = self.streams.entry(stream).or_default();
                join(&mut stream.before, &known);
                learn(&mut stream.before, other.stream, other.number);
            }
            HostEvent::Waited(place) => {
                let known = self.reached(place);
                join(&mut self.host, &known);
                learn(&mut self.host, place.stream, place.number);
            }
            HostEvent::Releases { place, address } => {
                let known = self.reached(place);
                let released = self.released.entry(address).or_default();
                join(released, &known);
                learn(released, place.stream, place.number);
            }
            HostEvent::Met { place, address } => self.met(place, address),
            HostEvent::AfterGroup { stream, group } => {
                for other in self.ends(|of, _| of == group) {
                    self.host(&HostEvent::After { stream, other });
                }
            }
            HostEvent::GroupAfter { group, other } => {
                let known = self.reached(other);
                let before = self.groups.entry(group).or_default();
                join(before, &known);
                learn(before, other.stream, other.number);
            }
            HostEvent::Stream { stream, group, kind } => {
                self.streams.entry(stream).or_default().group = Some((group, kind));
            }
            HostEvent::WaitedForGroup { group, blocking_only } => {
                let counts = |kind| !blocking_only || kind != StreamKind::NonBlocking;
                for place in self.ends(|of, kind| of == group && counts(kind)) {
                    self.host(&HostEvent::Waited(place));
                }
            }
            HostEvent::Alloc { .. }
            | HostEvent::Free { .. }
            | HostEvent::Mapped { .. }
            | HostEvent::Unmapped(_)
            | HostEvent::Ready(_)
            | HostEvent::Gone(_)
            | HostEvent::Outside(_)
            | HostEvent::CopyWaits { .. }
            | HostEvent::CopyReads { .. }
            | HostEvent::Turn
            | HostEvent::Touches { .. }
            | HostEvent::Made { .. }
            | HostEvent::Ended { .. }
            | HostEvent::ContextEnds(_)
            | HostEvent::ProcessEnds => {}
        }
    }

    /// The last places in the streams of some kind of a group.
    fn ends(&self, which: impl Fn(u64, StreamKind) -> bool) -> Vec<StreamPlace> {
        self.streams
            .iter()
            .filter(|(_, stream)| stream.last != 0 && stream.group.is_some_and(|(group, kind)| which(group, kind)))
            .map(|(&stream, of)| StreamPlace { stream, number: of.last })
            .collect()
    }

    fn submit(&mut self, place: StreamPlace) {
        let group = self.streams.get(&place.stream).and_then(|stream| stream.group);
        // The legacy stream and the blocking ones wait for each other (CUDA programming guide 3.2.8.5.4).
        let others = match group {
            Some((group, StreamKind::Legacy)) => Some((group, StreamKind::Blocking)),
            Some((group, StreamKind::Blocking)) => Some((group, StreamKind::Legacy)),
            _ => None,
        };
        let others = others.map_or_else(Vec::new, |(group, kind)| self.ends(|of, how| of == group && how == kind));
        for other in others {
            self.host(&HostEvent::After { stream: place.stream, other });
        }
        let stream = self.streams.entry(place.stream).or_default();
        join(&mut stream.before, &self.host);
        if let Some(before) = group.and_then(|(group, _)| self.groups.get(&group)) {
            join(&mut stream.before, before);
        }
        stream.last = stream.last.max(place.number);
        stream.places.push_back((place.number, stream.before.clone()));
        if stream.places.len() > REMEMBERED {
            stream.places.pop_front();
        }
    }

    /// A wait in a stream is over. Of a value that no stream has written it is not known who has, nor who has signalled: a kernel, a thread of the program, another process. What
    /// has been put into streams by now may then have been waited for, and no race is made up.
    fn met(&mut self, place: StreamPlace, address: Option<u64>) {
        let released = address.and_then(|address| self.released.get(&address));
        let mut known = released.cloned().unwrap_or_default();
        if released.is_none() {
            self.streams.iter().for_each(|(&stream, of)| learn(&mut known, stream, of.last));
        }
        join(&mut known, &self.host);
        let Some(stream) = self.streams.get_mut(&place.stream) else { return };
        join(&mut stream.before, &known);
        let behind = stream.places.iter_mut().rev().take_while(|(number, _)| *number >= place.number);
        behind.for_each(|(_, reached)| join(reached, &known));
        self.late = true;
    }

    /// What comes before a place, as far as it is known by now: all of these together.
    fn known_at(&self, place: StreamPlace) -> impl Iterator<Item = Reached> {
        let own = self.reached(place);
        let place = |(&stream, &number)| StreamPlace { stream, number };
        let others: Vec<StreamPlace> = if self.late { own.iter().map(place).collect() } else { Vec::new() };
        std::iter::once(own).chain(others.into_iter().map(|other| self.reached(other)))
    }

    /// What came before a place when it was put into its stream, and what that has learned since.
    fn reached(&self, place: StreamPlace) -> Reached {
        let Some(stream) = self.streams.get(&place.stream) else { return Reached::default() };
        let index = stream.places.partition_point(|&(number, _)| number <= place.number);
        index.checked_sub(1).map_or_else(Reached::default, |index| stream.places[index].1.clone())
    }

    /// Whether what is at a place comes before what is at another one.
    pub(super) fn is_before(&self, first: StreamPlace, then: StreamPlace) -> bool {
        if first.stream == then.stream {
            return first.number <= then.number;
        }
        let knows = |reached: Reached| reached.get(&first.stream).is_some_and(|&known| known >= first.number);
        self.known_at(then).any(knows)
    }

    /// The CTAs of grids, of those that have started, that do not come before a place.
    pub(super) fn beside(&self, place: StreamPlace) -> Vec<Range<u32>> {
        let mut all = self.known_at(place);
        let mut known = all.next().unwrap_or_default();
        all.for_each(|reached| join(&mut known, &reached));
        let mut concurrent = Vec::new();
        for (&number, stream) in self.streams.iter().filter(|&(&number, _)| number != place.stream) {
            let over = known.get(&number).copied().unwrap_or(0);
            concurrent
                .extend(stream.grids.iter().rev().take_while(|(number, _)| *number > over).map(|grid| grid.1.clone()));
        }
        concurrent
    }

    /// A grid with these CTAs starts: the CTAs of grids that are not ordered with it.
    pub(super) fn begin(&mut self, place: Option<StreamPlace>, ctas: Range<u32>) -> Vec<Range<u32>> {
        self.loose += u32::from(place.is_none());
        let Some(place) = place else { return Vec::new() };
        let concurrent = self.beside(place);
        let stream = self.streams.entry(place.stream).or_default();
        stream.grids.push_back((place.number, ctas));
        if stream.grids.len() > REMEMBERED {
            stream.grids.pop_front();
        }
        concurrent
    }
}

#[cfg(test)]
mod tests {
    use warploom_exec::observe::{HostEvent, StreamPlace};

    use super::{StreamKind, Streams};

    fn place(stream: u64, number: u64) -> StreamPlace {
        StreamPlace { stream, number }
    }

    #[test]
    fn the_legacy_stream_orders_blocking_ones() {
        let mut streams = Streams::default();
        for (stream, kind) in [(1, StreamKind::Legacy), (2, StreamKind::Blocking), (3, StreamKind::NonBlocking)] {
            streams.host(&HostEvent::Stream { stream, group: 7, kind });
        }
        for at in [place(2, 1), place(1, 1), place(3, 1), place(2, 2)] {
            streams.host(&HostEvent::Submit { place: at });
        }
        assert!(streams.begin(Some(place(2, 1)), 0..4).is_empty());
        assert!(streams.begin(Some(place(1, 1)), 4..8).is_empty());
        assert_eq!(streams.begin(Some(place(3, 1)), 8..12).len(), 2);
        assert_eq!(streams.begin(Some(place(2, 2)), 12..16).first(), Some(&(8..12)));
        // Who waits for the legacy stream knows nothing of the one that does not block.
        streams.host(&HostEvent::WaitedForGroup { group: 7, blocking_only: true });
        streams.host(&HostEvent::Submit { place: place(4, 1) });
        assert_eq!(streams.begin(Some(place(4, 1)), 16..20), std::slice::from_ref(&(8..12)));
        streams.host(&HostEvent::WaitedForGroup { group: 7, blocking_only: false });
        streams.host(&HostEvent::Submit { place: place(5, 1) });
        assert_eq!(streams.begin(Some(place(5, 1)), 20..24), std::slice::from_ref(&(16..20)));
    }

    #[test]
    fn streams_come_behind_whole_groups_and_whole_groups_behind_streams() {
        let mut streams = Streams::default();
        for (stream, group) in [(1, 7), (2, 7), (3, 8), (4, 8)] {
            streams.host(&HostEvent::Stream { stream, group, kind: StreamKind::NonBlocking });
        }
        let begun = |streams: &mut Streams, at, ctas| {
            streams.host(&HostEvent::Submit { place: at });
            streams.begin(Some(at), ctas)
        };
        assert!(begun(&mut streams, place(1, 1), 0..4).is_empty());
        assert_eq!(begun(&mut streams, place(2, 1), 4..8), std::slice::from_ref(&(0..4)));
        streams.host(&HostEvent::AfterGroup { stream: 3, group: 7 });
        assert!(begun(&mut streams, place(3, 1), 8..12).is_empty());
        assert_eq!(begun(&mut streams, place(4, 1), 12..16).len(), 3);
        // What is put into the first group from now on comes behind stream 3, also into a stream that is made later.
        streams.host(&HostEvent::GroupAfter { group: 7, other: place(3, 1) });
        streams.host(&HostEvent::Stream { stream: 5, group: 7, kind: StreamKind::NonBlocking });
        assert_eq!(begun(&mut streams, place(5, 1), 16..20), std::slice::from_ref(&(12..16)));
    }

    #[test]
    fn grids_of_two_streams_are_ordered_by_events_and_by_the_host() {
        let mut streams = Streams::default();
        for at in [place(1, 1), place(2, 1)] {
            streams.host(&HostEvent::Submit { place: at });
        }
        assert!(streams.begin(Some(place(1, 1)), 0..4).is_empty());
        assert_eq!(streams.begin(Some(place(2, 1)), 4..8).first(), Some(&(0..4)));
        // Stream 2 waits for an event of stream 1, stream 3 for one of stream 2: it comes behind both.
        streams.host(&HostEvent::After { stream: 2, other: place(1, 1) });
        streams.host(&HostEvent::Submit { place: place(2, 2) });
        streams.host(&HostEvent::After { stream: 3, other: place(2, 2) });
        streams.host(&HostEvent::Submit { place: place(3, 1) });
        assert!(streams.begin(Some(place(2, 2)), 8..12).is_empty());
        assert!(streams.begin(Some(place(3, 1)), 12..16).is_empty());
        // Stream 4 waits for none, but the host does for stream 3.
        streams.host(&HostEvent::Submit { place: place(4, 1) });
        streams.host(&HostEvent::Waited(place(3, 1)));
        streams.host(&HostEvent::Submit { place: place(4, 2) });
        assert_eq!(streams.begin(Some(place(4, 1)), 16..20).len(), 4);
        assert!(streams.begin(Some(place(4, 2)), 20..24).is_empty());
    }

    #[test]
    fn waits_for_values_order_what_was_put_behind_them_before() {
        let mut streams = Streams::default();
        let write = |streams: &mut Streams, place, address| streams.host(&HostEvent::Releases { place, address });
        // Streams 2 and 4 wait for a value first, and 3 for an event behind the wait of 2; 1 writes it behind a grid.
        streams.host(&HostEvent::Submit { place: place(2, 1) });
        streams.host(&HostEvent::Submit { place: place(2, 2) });
        streams.host(&HostEvent::After { stream: 3, other: place(2, 2) });
        for at in [place(3, 1), place(4, 1), place(4, 2), place(1, 1), place(1, 2), place(5, 1), place(5, 2)] {
            streams.host(&HostEvent::Submit { place: at });
        }
        assert!(streams.begin(Some(place(1, 1)), 0..4).is_empty());
        assert_eq!(streams.begin(Some(place(5, 1)), 4..8), std::slice::from_ref(&(0..4)));
        write(&mut streams, place(1, 2), 0x100);
        write(&mut streams, place(5, 2), 0x200);
        streams.host(&HostEvent::Met { place: place(2, 1), address: Some(0x100) });
        assert_eq!(streams.begin(Some(place(2, 2)), 8..12), std::slice::from_ref(&(4..8)));
        assert_eq!(streams.begin(Some(place(3, 1)), 12..16), std::slice::from_ref(&(4..8)));
        // The value of another stream tells nothing of the first one; one that no stream has written may tell of all.
        streams.host(&HostEvent::Met { place: place(4, 1), address: Some(0x200) });
        assert_eq!(streams.begin(Some(place(4, 2)), 16..20).len(), 3);
        streams.host(&HostEvent::Submit { place: place(6, 1) });
        streams.host(&HostEvent::Submit { place: place(6, 2) });
        streams.host(&HostEvent::Met { place: place(6, 1), address: None });
        assert!(streams.begin(Some(place(6, 2)), 20..24).is_empty());
    }
}
