//! Allocations of the program: which calls made and freed them, and what is freed in the order of streams.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use warploom_exec::memory::AllocationInfo;
use warploom_exec::observe::{HostEvent, StreamPlace};

use crate::origin::Origin;
use crate::report::Note;
use crate::span::{self, overlap};

/// Freed blocks that are remembered.
const FREED: usize = 4096;

/// All blocks that are known.
#[derive(Default)]
pub(super) struct Blocks {
    /// By number.
    made: BTreeMap<u64, Origin>,
    freed: VecDeque<Freed>,
}

struct Freed {
    info: AllocationInfo,
    origin: Origin,
    /// Where in a stream, if it was freed in the order of one: and from where on the same stream has it again.
    place: Option<(StreamPlace, Option<u64>)>,
}

impl Freed {
    fn range(&self) -> Range<u64> {
        span::of(&self.info)
    }
}

impl Blocks {
    pub(super) fn note(&mut self, event: &HostEvent) {
        match *event {
            HostEvent::Alloc { info, place } => {
                self.made.insert(info.id, Origin::here());
                let range = span::of(&info);
                self.freed.retain_mut(|freed| match (&mut freed.place, place) {
                    (Some((at, again)), Some(place)) if at.stream == place.stream => {
                        if overlap(&span::of(&freed.info), &range) {
                            again.get_or_insert(place.number);
                        }
                        true
                    }
                    // Whoever has it now, it is not freed any more.
                    (Some(_), _) => !overlap(&freed.range(), &range),
                    (None, _) => true,
                });
            }
            HostEvent::Free { info, place } => {
                self.freed.push_back(Freed { info, origin: Origin::here(), place: place.map(|place| (place, None)) });
                if self.freed.len() > FREED
                    && let Some(oldest) = self.freed.pop_front()
                {
                    self.made.remove(&oldest.info.id);
                }
            }
            _ => {}
        }
    }

    /// What has been freed for work at a place in a stream.
    pub(super) fn freed_before(&self, place: StreamPlace) -> Vec<Range<u64>> {
        let is_before = |freed: &&Freed| {
            freed.place.is_some_and(|(at, again)| {
                at.stream == place.stream && at.number < place.number && again.is_none_or(|again| place.number <= again)
            })
        };
        self.freed.iter().filter(is_before).map(Freed::range).collect()
    }

    /// The block that was freed last at an address, in the order of a stream or not.
    pub(super) fn last_freed(&self, address: u64) -> Option<AllocationInfo> {
        self.freed.iter().rev().find(|freed| freed.range().contains(&address)).map(|freed| freed.info)
    }

    /// Which calls made an allocation, and which freed it.
    pub(super) fn notes(&self, info: &AllocationInfo) -> Vec<Note> {
        let told = |text: String, origin: &Origin| {
            let frames = origin.frames();
            (!frames.is_empty()).then(|| Note { frames, ..Note::new(text) })
        };
        let made =
            self.made.get(&info.id).and_then(|origin| told(format!("allocated here, by {}", info.origin), origin));
        let freed = self.freed.iter().rev().find(|freed| freed.info.id == info.id);
        let freed = freed.and_then(|freed| {
            let order = if freed.place.is_some() { ", in the order of its stream" } else { "" };
            told(format!("freed here{order}"), &freed.origin)
        });
        made.into_iter().chain(freed).collect()
    }
}
