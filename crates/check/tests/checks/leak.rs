//! What the host makes and does not end.

use warploom_check::Check;
use warploom_exec::memory::{AllocationInfo, MemoryKind};
use warploom_exec::observe::{HostEvent, Observer};

use crate::support::{Checked, snapshot};

fn memory(base: u64, kind: MemoryKind, owner: u64) -> AllocationInfo {
    AllocationInfo { base, size: 100, kind, device: 0, owner, tag: 0, origin: "cuMemAlloc", id: base }
}

fn alloc(info: AllocationInfo) -> HostEvent {
    HostEvent::Alloc { info, place: None }
}

fn free(info: AllocationInfo) -> HostEvent {
    HostEvent::Free { info, place: None }
}

fn made(what: &'static str, handle: u64, owner: Option<u64>) -> HostEvent {
    HostEvent::Made { what, handle, owner }
}

#[test]
fn what_is_not_ended_is_reported_at_the_end() {
    let checked = Checked::new(&[Check::Leak]);
    let [freed, lost, pinned] = [(1, MemoryKind::Device), (2, MemoryKind::Device), (3, MemoryKind::PinnedHost)]
        .map(|(base, kind)| memory(base << 12, kind, 1));
    for event in [
        alloc(freed),
        alloc(lost),
        alloc(pinned),
        free(freed),
        made("stream", 16, Some(1)),
        made("event", 16, Some(1)),
        HostEvent::Ended { what: "stream", handle: 16 },
    ] {
        checked.checker.host(&event);
    }
    assert_eq!(checked.said(), "");
    assert_eq!(checked.checker.finish(), None);
    snapshot(&checked.said(), "leaks");
    assert_eq!(checked.checker.sink().errors(), 3);
}

#[test]
fn the_end_of_a_context_is_the_end_of_what_it_owns() {
    let checked = Checked::new(&[Check::Leak]);
    checked.checker.host(&alloc(memory(1 << 12, MemoryKind::Device, 7)));
    checked.checker.host(&made("graph", 16, None));
    checked.checker.host(&HostEvent::ContextEnds(8));
    assert_eq!(checked.said(), "");
    checked.checker.host(&HostEvent::ContextEnds(7));
    let said = checked.said();
    assert!(said.contains("100 bytes of device memory not freed when its context ended"), "{said}");
    assert!(!said.contains("graph"), "{said}");
    checked.checker.host(&HostEvent::Ended { what: "graph", handle: 16 });
    checked.checker.finish();
    assert_eq!(checked.said(), "checked leak: 1 error\n");
}

#[test]
fn what_is_ended_is_no_leak() {
    let checked = Checked::new(&[Check::Leak, Check::Memory]);
    let info = memory(1 << 12, MemoryKind::Managed, 1);
    for event in [alloc(info), free(info), alloc(info), free(info)] {
        checked.checker.host(&event);
    }
    checked.checker.finish();
    assert_eq!(checked.said(), "checked leak, memory: 0 errors\n");
}
