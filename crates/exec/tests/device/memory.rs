//! Memory: allocation, lookup, the access rule and its reports, copies, the kernels' heap, races with frees.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use proptest::prelude::*;
use warploom_exec::copy::{FillWidth, Side};
use warploom_exec::fault::{AccessKind, Nearest, Refusal};
use warploom_exec::heap::DeviceHeap;
use warploom_exec::memory::{
    ALIGNMENT, AllocError, AllocSpec, AtomicOp, Bounds, FreeError, GRANULE, HostRange, Memory, MemoryKind, Options,
    Order, RegisterError,
};

use crate::toy::{engine, memory};
use warploom_exec::pool::AllPools;

fn spec(size: u64) -> AllocSpec {
    AllocSpec { size, kind: MemoryKind::Device, device: 0, owner: 7, tag: 9, origin: "cuMemAlloc" }
}

pub(crate) fn alloc(memory: &Memory, size: u64) -> u64 {
    memory.alloc(spec(size)).expect("there is room").base
}

fn host(bytes: &mut [u8]) -> Side {
    // SAFETY: the tests use the range only while the slice lives.
    Side::Host(unsafe { HostRange::new(bytes.as_mut_ptr() as u64, bytes.len() as u64) })
}

#[test]
fn an_allocation_is_known_until_it_is_freed() {
    let memory = memory(1 << 30);
    for size in [1, 100, 256, 1024, 300 << 10, 600 << 10, 5 << 20] {
        let info = memory.alloc(spec(size)).unwrap();
        assert_eq!(info.base % ALIGNMENT, 0);
        assert_eq!((info.size, info.owner, info.tag, info.origin), (size, 7, 9, "cuMemAlloc"));
        assert_eq!(memory.used(), size.next_multiple_of(GRANULE));
        for inside in [info.base, info.base + size / 2, info.base + size - 1] {
            assert_eq!(memory.lookup(inside), Some(info));
        }
        assert_eq!(memory.lookup(info.base + size), None);
        assert_eq!(memory.free(info.base + size / 2 + u64::from(size == 1)), {
            if size == 1 { Err(FreeError::NotAllocated) } else { Err(FreeError::NotTheStart(info)) }
        });
        assert_eq!(memory.free(info.base), Ok(info));
        assert_eq!(memory.free(info.base), Err(FreeError::AlreadyFreed(info)));
        assert_eq!(memory.lookup(info.base), None);
        assert_eq!(memory.used(), 0);
    }
    assert_eq!(memory.free(12345), Err(FreeError::NotAllocated));
    assert_eq!(memory.free(memory.window().0 + (1 << 30)), Err(FreeError::NotAllocated));
}

#[test]
fn the_capacity_is_a_limit_and_failures_cost_nothing() {
    let memory = memory(8 << 20);
    assert_eq!(memory.alloc(spec(0)), Err(AllocError::Empty));
    for size in [u64::MAX, u64::MAX - 300, 1 << 50, (8 << 20) + 1] {
        assert_eq!(memory.alloc(spec(size)), Err(AllocError::OutOfMemory));
    }
    let all = alloc(&memory, 8 << 20);
    assert_eq!(memory.alloc(spec(1)), Err(AllocError::OutOfMemory));
    memory.free(all).unwrap();
    assert_eq!(memory.used(), 0);
    // The window's addresses are used again, however often.
    for _ in 0..100_000 {
        let base = alloc(&memory, 6 << 20);
        memory.free(base).unwrap();
    }
}

#[test]
fn accesses_outside_are_refused_and_name_the_allocation() {
    let memory = memory(1 << 30);
    let mut view = memory.view();
    for size in [4096u64, 3 << 20] {
        let base = alloc(&memory, size);
        view.store(base, 0x0102_0304_u32).unwrap();
        assert_eq!(view.load::<u8>(base + 3).unwrap(), 1);
        view.store(base + size - 16, 5u128).unwrap();

        let fault = view.load::<u32>(base + size + 4).unwrap_err();
        assert_eq!((fault.refusal, fault.kind), (Refusal::Unmapped, AccessKind::Load));
        assert!(matches!(&fault.nearest, Some(Nearest::After(4, info)) if info.base == base));
        let text = fault.to_string();
        assert!(text.contains(&format!("4 bytes after the end of the {size}-byte device allocation")), "{text}");
        assert!(text.contains("made by cuMemAlloc"), "{text}");

        let fault = view.store(base + 2, 0u32).unwrap_err();
        assert_eq!(fault.refusal, Refusal::Misaligned);
        let mut bytes = [0; 8];
        let fault = view.read_bytes(base + size - 4, &mut bytes).unwrap_err();
        assert!(matches!(&fault.nearest, Some(Nearest::Straddles(info)) if info.base == base));

        memory.free(base).unwrap();
        let fault = view.load::<u32>(base + 8).unwrap_err();
        assert!(matches!(&fault.nearest, Some(Nearest::Freed(8, info)) if info.base == base), "{fault}");
        assert!(fault.to_string().ends_with("which has been freed"), "{fault}");
    }
    let null = view.load::<u32>(16).unwrap_err();
    assert!(null.nearest.is_none() && null.to_string().contains("null pointer"), "{null}");
    let local = 0u64;
    assert!(view.load::<u64>(&raw const local as u64).is_err(), "a host pointer is not device memory");
    for address in [u64::MAX - 7, 0x7000_0000_0000_0000, 1 << 63] {
        assert!(view.load::<u64>(address).is_err());
    }
}

#[test]
fn the_last_granule_belongs_to_the_allocation_for_kernels_not_for_copies() {
    let memory = memory(1 << 30);
    let base = alloc(&memory, 100);
    let mut view = memory.view();
    view.store(base + 252, 1u32).unwrap();
    assert!(view.store(base + 256, 1u32).is_err());
    let mut bytes = [0; 101];
    assert!(memory.copy(host(&mut bytes[..100]), Side::Device(base), 100).is_ok());
    assert!(memory.copy(host(&mut bytes), Side::Device(base), 101).is_err());
    assert!(memory.fill(base + 60, FillWidth::Four, 1, 10).is_ok());
    assert!(memory.fill(base + 60, FillWidth::Four, 1, 11).is_err());
}

#[test]
fn with_the_bounds_of_hardware_kernels_get_to_all_of_a_page_and_copies_do_not() {
    let memory = Memory::new(Options { window: 1 << 36, capacity: 1 << 30, bounds: Bounds::Pages }).unwrap();
    let (small, large) = (alloc(&memory, 100), alloc(&memory, 5 << 20));
    let mut view = memory.view();
    for behind in [small + 4096, large + (6 << 20) - 4] {
        view.store(behind, 7u32).unwrap();
        assert_eq!(view.load::<u32>(behind), Ok(7));
    }
    let beyond = view.load::<u32>(large + (6 << 20)).unwrap_err();
    assert_eq!(beyond.refusal, Refusal::Unmapped);
    let mut bytes = [0; 101];
    assert!(memory.copy(host(&mut bytes), Side::Device(small), 101).is_err());
    assert!(memory.fill(large, FillWidth::Four, 1, (5 << 18) + 1).is_err());
    // What no program asked for is on pages of its own, which have no neighbours.
    for size in [100, 5 << 20] {
        let internal = memory.alloc(AllocSpec { kind: MemoryKind::Internal, ..spec(size) }).unwrap().base;
        view.store(internal, 1u32).unwrap();
        assert!(view.load::<u32>(internal + size + 1024).is_err());
    }
    memory.free(large).unwrap();
    assert!(view.load::<u32>(large).is_err());
}

#[test]
fn no_kind_of_memory_lies_behind_another() {
    let memory = memory(1 << 30);
    let kinds = [MemoryKind::Device, MemoryKind::PinnedHost, MemoryKind::Managed, MemoryKind::ModuleGlobal];
    for _ in 0..20 {
        for kind in kinds {
            let base = memory.alloc(AllocSpec { kind, ..spec(100) }).unwrap().base;
            for offset in (100..8192).step_by(100) {
                assert!(memory.lookup(base + offset).is_none_or(|info| info.kind == kind));
            }
        }
    }
}

#[test]
fn what_one_memory_has_met_says_nothing_about_another() {
    let (first, second) = (memory(1 << 30), memory(1 << 30));
    let base = alloc(&first, 256);
    let mut view = first.view();
    view.store(base, 5_u32).unwrap();
    let recent = view.into_recent();
    assert!(second.view_with(Some(recent.clone())).load::<u32>(base).is_err());
    assert_eq!(first.view_with(Some(recent)).load::<u32>(base).unwrap(), 5);
}

#[test]
fn copies_and_fills() {
    let memory = memory(1 << 30);
    let base = alloc(&memory, 1 << 20);
    let mut out = vec![1u8; 4096];
    memory.fill(base, FillWidth::Four, 0x0403_0201, 1024).unwrap();
    memory.copy(host(&mut out), Side::Device(base), 4096).unwrap();
    assert!(out.chunks(4).all(|chunk| chunk == [1, 2, 3, 4]));
    memory.fill(base + 4096, FillWidth::Two, 0x0605, 8).unwrap();
    memory.fill(base + 4112, FillWidth::One, 0x99, 8).unwrap();
    memory.copy(host(&mut out[..24]), Side::Device(base + 4096), 24).unwrap();
    assert_eq!(out[..16], [5, 6].repeat(8)[..]);
    assert_eq!(out[16..24], [0x99; 8]);
    // Overlapping.
    memory.copy(Side::Device(base + 1), Side::Device(base), 4096).unwrap();
    memory.copy(host(&mut out[..5]), Side::Device(base), 5).unwrap();
    assert_eq!(out[..5], [1, 1, 2, 3, 4]);
    // Nothing is checked for nothing.
    memory.copy(Side::Device(0), Side::Device(8), 0).unwrap();
    memory.fill(0, FillWidth::One, 0, 0).unwrap();
    assert!(memory.copy(Side::Device(0), Side::Device(base), 4).is_err());
    assert!(memory.fill(base, FillWidth::Four, 0, u64::MAX / 2).is_err());
}

#[test]
fn registered_host_pages_are_accessible_until_taken_back() {
    let memory = memory(1 << 30);
    let mut pages = vec![0u32; 2048];
    let base = pages.as_mut_ptr() as u64;
    // SAFETY: used only while `pages` lives.
    let range = |offset, len| unsafe { HostRange::new(base + offset, len) };
    let mut view = memory.view();
    assert!(view.load::<u32>(base).is_err());
    // SAFETY: refused, as nothing is mapped there.
    assert_eq!(memory.register_host(unsafe { HostRange::new(4096, 4096) }, false), Err(RegisterError::Invalid));
    memory.register_host(range(0, 4096), false).unwrap();
    assert_eq!(memory.register_host(range(4092, 8), false), Err(RegisterError::AlreadyRegistered));
    memory.register_host(range(4096, 4096), true).unwrap();
    view.store(base + 8, 77u32).unwrap();
    assert_eq!(pages[2], 77);
    assert!(view.load::<u32>(base + 4096).is_ok());
    assert_eq!(view.store(base + 4096, 1u32).unwrap_err().refusal, Refusal::ReadOnly);
    assert_eq!(memory.registered_at(base + 5000), Some((range(4096, 4096), true)));
    assert_eq!(memory.unregister_host(base + 4), Err(RegisterError::NotRegistered));
    memory.unregister_host(base).unwrap();
    assert!(view.load::<u32>(base + 8).is_err(), "a remembered range is forgotten");
    memory.unregister_host(base + 4096).unwrap();
    let inside = alloc(&memory, 64);
    // SAFETY: never accessed.
    let window = unsafe { HostRange::new(inside, 64) };
    assert_eq!(memory.register_host(window, false), Err(RegisterError::InWindow));
}

#[test]
fn there_are_addresses_for_many_times_the_memory() {
    let before = resident();
    let memory = Memory::new(Options::default()).unwrap();
    // Expandable segments: the whole device for each stream and size of block.
    let (_, window) = memory.window();
    if window < 1 << 46 {
        eprintln!("the system grants {} TiB of addresses only", window >> 40);
    }
    let reserved: Vec<u64> = (0..window >> 41).map(|_| memory.reserve(1 << 40, 0).unwrap()).collect();
    let base = alloc(&memory, 64 << 20);
    memory.fill(base, FillWidth::One, 1, 64 << 20).unwrap();
    memory.free(base).unwrap();
    for base in reserved {
        memory.release(base, 1 << 40).unwrap();
    }
    assert!(resident() < before + (512 << 20), "{before} bytes, then {}", resident());
}

/// Bytes of this process that have pages.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn each_device_has_an_account_of_its_own() {
    let memory = Memory::of_devices(Options { window: 1 << 36, capacity: 64 << 20, ..Options::default() }, 2).unwrap();
    let of = |device: u32, size: u64| AllocSpec { device, ..spec(size) };
    let first = memory.alloc(of(0, 60 << 20)).unwrap();
    assert_eq!(memory.alloc(of(0, 5 << 20)), Err(AllocError::OutOfMemory));
    let second = memory.alloc(of(1, 60 << 20)).unwrap();
    let physical = memory.create_physical(1, 4 << 20).unwrap();
    assert!(memory.create_physical(1, 2 << 20).is_err() && memory.reserve_bytes(1, 1, None).is_err());
    let reserved = memory.reserve_bytes(0, 4 << 20, None).unwrap();
    assert_eq!((memory.used_of(0), memory.used_of(1), memory.used()), (64 << 20, 64 << 20, 128 << 20));
    assert_eq!((memory.free_bytes(0), memory.free_bytes(1)), (0, 0));
    // What is kept stays counted where it was, and is not given to others.
    let (_, kept) = memory.free_keeping(second.base).unwrap();
    let kept = kept.expect("it is large");
    assert_eq!(memory.used_of(1), kept.size() + (4 << 20));
    let kept = memory.alloc_kept(of(0, 1 << 20), kept).map(|_| ()).unwrap_err();
    memory.give_back_kept(kept);
    drop((physical, reserved));
    assert_eq!((memory.used_of(0), memory.used_of(1)), (60 << 20, 0));
    memory.free(first.base).unwrap();
    let small = memory.alloc(of(1, 100)).unwrap();
    assert_eq!((memory.used_of(0), memory.used_of(1)), (0, 256));
    memory.free(small.base).unwrap();
    assert_eq!(memory.used(), 0);
}

#[test]
fn pinned_memory_is_the_hosts() {
    let memory = memory(8 << 20);
    let pinned = AllocSpec { kind: MemoryKind::PinnedHost, ..spec(100 << 20) };
    let base = memory.alloc(pinned).unwrap().base;
    assert_eq!(memory.used(), 0);
    assert!(memory.free_bytes(0) <= 8 << 20);
    assert_eq!(memory.alloc(AllocSpec { size: 1 << 50, ..pinned }), Err(AllocError::OutOfMemory));
    alloc(&memory, 8 << 20);
    assert_eq!((memory.used(), memory.free_bytes(0)), (8 << 20, 0));
    memory.free(base).unwrap();
}

#[test]
fn large_copies_and_fills_are_shared_and_whole() {
    const LEN: u64 = 37 << 20;
    let engine = engine(3);
    let memory = memory(1 << 30);
    memory.set_crew(Box::new(AllPools::new([engine.pool()])));
    let (a, b) = (alloc(&memory, LEN + 64), alloc(&memory, LEN + 64));
    let check = |address: u64, len: u64, expected: &dyn Fn(u64) -> u8| {
        let mut bytes = vec![0; len as usize];
        memory.copy(host(&mut bytes), Side::Device(address), len).unwrap();
        let wrong = bytes.iter().enumerate().position(|(at, byte)| *byte != expected(at as u64));
        assert_eq!(wrong, None);
    };
    for (width, value, len) in
        [(FillWidth::One, 7, LEN), (FillWidth::Two, 0x201, LEN - 2), (FillWidth::Four, 0x0403_0201, LEN)]
    {
        memory.fill(a + 4, width, value, len / width as u64).unwrap();
        check(a + 4, len, &|at| value.to_le_bytes()[(at % width as u64) as usize]);
    }
    let mut pattern: Vec<u8> = (0..LEN).map(|at| (at % 251) as u8).collect();
    memory.copy(Side::Device(a + 3), host(&mut pattern), LEN).unwrap();
    memory.copy(Side::Device(b + 5), Side::Device(a + 3), LEN).unwrap();
    check(b + 5, LEN, &|at| (at % 251) as u8);
    // Overlapping ranges, both ways.
    memory.copy(Side::Device(b + 12), Side::Device(b + 5), LEN).unwrap();
    check(b + 12, LEN, &|at| (at % 251) as u8);
    memory.copy(Side::Device(b), Side::Device(b + 12), LEN).unwrap();
    check(b, LEN, &|at| (at % 251) as u8);
}

#[test]
fn what_was_freed_last_is_not_used_again_at_once() {
    let memory = memory(1 << 30);
    let (a, b) = (alloc(&memory, 3 << 20), alloc(&memory, 3 << 20));
    let mut seen = vec![a, b];
    memory.fill(a, FillWidth::Four, 7, 3 << 18).unwrap();
    memory.free(a).unwrap();
    memory.free(b).unwrap();
    for round in 0..100 {
        let base = alloc(&memory, 3 << 20);
        assert_ne!(base, *seen.last().unwrap(), "round {round}");
        seen.push(base);
        memory.free(base).unwrap();
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() <= 3, "an alternation of few addresses keeps its pages: {seen:x?}");
}

#[test]
fn the_kernels_heap_has_a_limit_and_tells_mistakes() {
    let memory = memory(1 << 30);
    let heap = DeviceHeap::new(memory.clone(), 0, 3);
    heap.set_limit(1000);
    let a = heap.malloc(600).unwrap();
    assert_eq!(heap.malloc(600), None);
    assert_eq!((heap.malloc(0), heap.malloc(u64::MAX)), (None, None));
    assert_eq!(memory.lookup(a).map(|info| info.kind), Some(MemoryKind::DeviceHeap));
    heap.free(a).unwrap();
    assert!(heap.free(a).unwrap_err().contains("already freed"));
    let other = alloc(&memory, 64);
    assert!(heap.free(other).unwrap_err().contains("made by cuMemAlloc"));
    assert!(heap.malloc(1000).is_some());
    heap.clear();
    assert_eq!(memory.used(), 256);
    assert!(heap.malloc(1000).is_some());
}

#[test]
fn kernels_may_race_with_frees() {
    let memory = memory(1 << 30);
    let stop = AtomicBool::new(false);
    let slots: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
    let (hits, misses) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut view = memory.view();
                while !stop.load(Ordering::Relaxed) {
                    for (slot, offset) in slots.iter().flat_map(|slot| [(slot, 0), (slot, 1024), (slot, 2 << 20)]) {
                        let address = slot.load(Ordering::Relaxed) + offset;
                        let result = view.atomic_u32(0, address, AtomicOp::Add, 1, Order::Relaxed);
                        if result.is_ok() { &hits } else { &misses }.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let mut live = BTreeMap::new();
        let mut round = 0;
        let seen = || hits.load(Ordering::Relaxed) > 1000 && misses.load(Ordering::Relaxed) > 1000;
        while round < 3000 || !seen() {
            let slot = round % slots.len();
            if let Some(base) = live.remove(&slot) {
                memory.free(base).unwrap();
            }
            let size = [100, 4096, 200 << 10, 3 << 20, 9 << 20][round % 5];
            let base = alloc(&memory, size);
            slots[slot].store(base, Ordering::Relaxed);
            live.insert(slot, base);
            round += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn many_threads_allocate_and_free() {
    let memory = memory(1 << 30);
    std::thread::scope(|scope| {
        for thread in 0..6u64 {
            let memory = &memory;
            scope.spawn(move || {
                let mut view = memory.view();
                let mut mine = Vec::new();
                for round in 0..4000u64 {
                    let size = 1 + (round * 7919 + thread * 104_729) % (if round % 50 == 0 { 4 << 20 } else { 20_000 });
                    let base = alloc(memory, size);
                    let mark = thread << 32 | round;
                    view.store(base, mark).unwrap();
                    mine.push((base, mark));
                    if mine.len() > 20 {
                        let (base, mark) = mine.swap_remove((round % 20) as usize);
                        assert_eq!(view.load::<u64>(base).unwrap(), mark);
                        memory.free(base).unwrap();
                    }
                }
                for (base, mark) in mine {
                    assert_eq!(view.load::<u64>(base).unwrap(), mark);
                    memory.free(base).unwrap();
                }
            });
        }
    });
    assert_eq!(memory.used(), 0);
}

#[derive(Clone, Debug)]
enum Step {
    Alloc(u64),
    Free(usize),
    Probe(usize, i64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop_oneof![1u64..3000, 1u64..1 << 20, 1u64..6 << 20].prop_map(Step::Alloc),
        any::<usize>().prop_map(Step::Free),
        (any::<usize>(), -4096i64..(4 << 20), 1u64..65).prop_map(|(n, offset, len)| Step::Probe(n, offset, len)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against a list of ranges.
    #[test]
    fn allocation_and_access_follow_the_rule(steps in prop::collection::vec(step(), 1..120)) {
        let memory = memory(256 << 20);
        let mut view = memory.view();
        let mut live: BTreeMap<u64, u64> = BTreeMap::new();
        let mut seen = Vec::new();
        for step in steps {
            match step {
                Step::Alloc(size) => {
                    let Ok(info) = memory.alloc(spec(size)) else {
                        let used: u64 = live.values().map(|size| size.next_multiple_of(GRANULE)).sum();
                        prop_assert!(used + size.next_multiple_of(GRANULE) > 256 << 20);
                        continue;
                    };
                    let before = live.range(..info.base).next_back();
                    let after = live.range(info.base..).next();
                    prop_assert!(before.is_none_or(|(base, size)| base + size.next_multiple_of(GRANULE) < info.base));
                    let end = info.base + size.next_multiple_of(GRANULE);
                    prop_assert!(after.is_none_or(|(base, _)| end < *base));
                    live.insert(info.base, size);
                    seen.push(info.base);
                }
                Step::Free(n) if !seen.is_empty() => {
                    let base = seen[n % seen.len()];
                    prop_assert_eq!(memory.free(base).is_ok(), live.remove(&base).is_some());
                }
                Step::Probe(n, offset, len) if !seen.is_empty() => {
                    let address = seen[n % seen.len()].wrapping_add_signed(offset);
                    let valid = live.range(..=address).next_back().is_some_and(|(base, size)| {
                        address + len <= base + size.next_multiple_of(GRANULE)
                    });
                    prop_assert_eq!(view.check(address, len, AccessKind::Store).is_ok(), valid);
                    prop_assert_eq!(memory.check(address, len, AccessKind::Load).is_ok(), valid);
                }
                Step::Free(_) | Step::Probe(..) => {}
            }
        }
        let used: u64 = live.values().map(|size| size.next_multiple_of(GRANULE)).sum();
        prop_assert_eq!(memory.used(), used);
        let mut listed = Vec::new();
        memory.each_allocation(|info| listed.push((info.base, info.size)));
        listed.sort_unstable();
        prop_assert_eq!(listed, live.into_iter().collect::<Vec<_>>());
    }
}
