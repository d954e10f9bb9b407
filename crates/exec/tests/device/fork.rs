//! Processes that fork.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::toy::{Toy, engine, environment, launch, stream};
use warploom_exec::copy::FillWidth;
use warploom_exec::kernel::CtaExit;
use warploom_exec::memory::{AllocSpec, MemoryKind};

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// What a child does with objects that its parent made before the first launch.
#[test]
fn a_child_forked_before_the_first_launch_works() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    // Device memory is its parent's alone.
    let spec = AllocSpec { size: 4096, kind: MemoryKind::PinnedHost, device: 0, owner: 0, tag: 0, origin: "test" };
    let base = environment.memory.alloc(spec).unwrap().base;
    environment.memory.fill(base, FillWidth::Four, 5, 1024).unwrap();

    // SAFETY: the child calls only this crate's functions and `_exit`; the C library keeps its own locks usable in it.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let alone = threads() == 1;
        let count = Arc::new(AtomicU32::new(0));
        let counted = count.clone();
        let kernel = Toy::new(move |grid, _, _| {
            counted.fetch_add(grid.memory().view().load::<u32>(base).unwrap_or(1000), Ordering::Relaxed);
            CtaExit::Finished
        });
        stream.launch(launch(kernel, 100, &environment));
        stream.synchronize();
        let freed = environment.memory.free(base).is_ok();
        let right = alone && freed && count.load(Ordering::Relaxed) == 500 && threads() == 4;
        // SAFETY: ends the child without running what belongs to the test harness.
        unsafe { libc::_exit(if right { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    assert!(environment.memory.free(base).is_ok(), "the parent's memory is its own");
}

/// The sum of the fields of a name in the mappings of this process, in bytes.
fn sum_of(field: &str) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let fields = maps.lines().filter_map(|line| line.strip_prefix(field));
    fields.map(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10).sum()
}

#[test]
fn a_child_has_no_copy_of_device_memory() {
    const SIZE: u64 = 128 << 20;
    let environment = environment();
    let memory = &environment.memory;
    let alloc = |kind| {
        let spec = AllocSpec { size: SIZE, kind, device: 0, owner: 0, tag: 0, origin: "test" };
        let base = memory.alloc(spec).unwrap().base;
        memory.fill(base, FillWidth::Four, 5, SIZE / 4).unwrap();
        base
    };
    let (device, managed, pinned) =
        (alloc(MemoryKind::Device), alloc(MemoryKind::Managed), alloc(MemoryKind::PinnedHost));
    let small = AllocSpec { size: 64, kind: MemoryKind::PinnedHost, device: 0, owner: 0, tag: 0, origin: "test" };
    let small = memory.alloc(small).unwrap().base;
    memory.fill(small, FillWidth::Four, 6, 16).unwrap();
    // Mapped physical memory, in place and in a file.
    let reserved = memory.reserve(8 << 20, 0).unwrap();
    for at in [reserved, reserved + (4 << 20)] {
        let physical = memory.create_physical(0, 4 << 20).unwrap();
        let spec = AllocSpec { size: 4 << 20, kind: MemoryKind::Device, device: 0, owner: 0, tag: 0, origin: "test" };
        memory.map(at, &physical, 0, spec).unwrap();
        if at != reserved {
            drop(memory.export(&physical, b"").unwrap());
        }
    }
    // SAFETY: the child reads its own memory and calls `_exit`; the C library keeps its own locks usable in it.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: asks whether the addresses are mapped, reads the pinned memory, which is; then ends the child without running what belongs to the
        // test harness.
        unsafe {
            let mapped = |base: u64| libc::msync(base as *mut _, 4096, libc::MS_ASYNC) == 0;
            let gone =
                [device, device + SIZE / 2, managed, reserved, reserved + (4 << 20)].iter().all(|base| !mapped(*base));
            let kept = (pinned as *const u32).read_volatile() == 5 && (small as *const u32).read_volatile() == 6;
            let small = sum_of("Rss:") < 2 * SIZE;
            libc::_exit(if gone && kept && small { 0 } else { 1 });
        }
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    memory.free(pinned).unwrap();
}
