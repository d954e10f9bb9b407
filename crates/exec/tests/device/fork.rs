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
    let spec = AllocSpec { size: 4096, kind: MemoryKind::Device, device: 0, owner: 0, tag: 0, origin: "test" };
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
