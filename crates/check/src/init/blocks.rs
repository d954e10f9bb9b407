//! Allocations whose bytes are followed, and which calls made them.

use std::collections::BTreeMap;

use warploom_exec::memory::{AllocationInfo, MemoryKind};

use crate::origin::Origin;
use crate::report::{Note, count};

/// The latest at each address.
#[derive(Default)]
pub(super) struct Blocks(BTreeMap<u64, (AllocationInfo, Origin)>);

impl Blocks {
    pub(super) fn made(&mut self, info: &AllocationInfo) {
        self.0.insert(info.base, (*info, Origin::here()));
    }

    /// Where an address lies, with a beginning of the sentence.
    pub(super) fn at(&self, address: u64, start: &str) -> Option<Note> {
        let (_, (info, origin)) = self.0.range(..=address).next_back()?;
        let offset = address - info.base;
        (offset < info.size).then(|| {
            let what = match info.kind {
                MemoryKind::Array => "an array",
                MemoryKind::Managed => "managed memory",
                MemoryKind::PinnedHost => "pinned memory",
                _ => "device memory",
            };
            let by =
                format!("{start} at offset {offset} of {} of {what}, by {}", count(info.size, "byte"), info.origin);
            Note { frames: origin.frames(), ..Note::new(by) }
        })
    }
}
