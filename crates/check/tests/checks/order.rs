//! Memory that a stream frees, by the order of the stream.

use warploom_check::Check;
use warploom_exec::memory::{AllocationInfo, MemoryKind};
use warploom_exec::observe::{HostEvent, Observer, StreamPlace};

use crate::support::Checked;

const READ: &str = ".visible .entry kernel(.param .u64 from) {
    .reg .b32 %r<9>; .reg .b64 %d<9>;
    ld.param.u64 %d1, [from]; ld.global.u32 %r1, [%d1]; ret; }";

#[test]
fn what_a_stream_has_freed_is_freed_for_what_comes_behind_it() {
    let checked = Checked::new(&[Check::Memory]);
    let from = checked.device.alloc(256);
    let info = AllocationInfo {
        base: from,
        size: 256,
        kind: MemoryKind::Device,
        device: 0,
        owner: 0,
        tag: 16,
        origin: "cuMemAllocAsync",
        id: 1,
    };
    let stream = checked.device.stream();
    let reads = || checked.launch_in(&stream, READ, &[("FROM", from)]);
    let last = || Some(stream.last());
    checked.checker.host(&HostEvent::Alloc { info, place: last() });
    assert_eq!(reads(), "");
    // The memory is still there, as a pool keeps it.
    let behind = StreamPlace { stream: stream.id(), number: stream.last().number };
    checked.checker.host(&HostEvent::Free { info, place: Some(behind) });
    let said = reads();
    assert!(said.contains("memory/use-after-free") && said.contains("in the order of the stream"), "{said}");
    // Another stream may be told by an event that it comes before.
    let other = checked.device.stream();
    assert_eq!(checked.launch_in(&other, READ, &[("FROM", from)]), "");
    checked.checker.host(&HostEvent::Alloc { info: AllocationInfo { id: 2, ..info }, place: last() });
    assert_eq!(reads(), "");
}
