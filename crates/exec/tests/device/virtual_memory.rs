//! Virtual memory: reservations, physical memory that is mapped in them, moved and exported.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use warploom_exec::copy::FillWidth;
use warploom_exec::fault::Refusal;
use warploom_exec::grid::Poll;
use warploom_exec::kernel::CtaExit;
use warploom_exec::memory::{
    AllocSpec, AtomicOp, ExportError, MAP_GRANULARITY, MapAccess, MapError, Memory, MemoryKind, Options, Order,
    Physical,
};
use warploom_exec::pool::AllPools;
use warploom_exec::stream::Stream;

use crate::toy::{Toy, engine, engine_beside, environment, launch, memory, stream};

const G: u64 = MAP_GRANULARITY;

fn spec(size: u64) -> AllocSpec {
    AllocSpec { size, kind: MemoryKind::Device, device: 0, owner: 0, tag: 0, origin: "cuMemMap" }
}

/// Maps all of it, to read and write.
fn map(memory: &Memory, address: u64, physical: &Arc<Physical>) {
    memory.map(address, physical, 0, spec(physical.size())).unwrap();
    memory.set_access(address, physical.size(), MapAccess::ReadWrite).unwrap();
}

fn load(memory: &Memory, address: u64) -> u32 {
    memory.view().load(address).unwrap()
}

fn store(memory: &Memory, address: u64, value: u32) {
    memory.view().store(address, value).unwrap();
}

/// Lines of a file of the process's own, or entries of a folder.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn host_mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

#[test]
fn physical_memory_is_mapped_where_it_is_wanted() {
    let memory = memory(64 << 20);
    let mut view = memory.view();
    assert_eq!(memory.reserve(100, 0), Err(MapError::Invalid));
    let base = memory.reserve(4 * G, 0).unwrap();
    assert_eq!(memory.reserve(G, 64 << 20).unwrap() % (64 << 20), 0);
    assert_eq!(memory.reservation_at(base + 5), Some((base, 4 * G)));
    assert!(memory.create_physical(0, 100).is_err());
    assert!(memory.create_physical(0, 66 << 20).is_err());
    let physical = memory.create_physical(0, 2 * G).unwrap();
    assert_eq!(memory.used(), 2 * G);

    assert_eq!(memory.map(base + 1, &physical, 0, spec(G)), Err(MapError::Invalid));
    assert_eq!(memory.map(base + 3 * G, &physical, 0, spec(2 * G)), Err(MapError::NotReserved));
    assert_eq!(memory.map(base, &physical, G, spec(2 * G)), Err(MapError::Invalid));
    let first = memory.map(base, &physical, 0, spec(G)).unwrap();
    assert_eq!(memory.map(base, &physical, 0, spec(G)), Err(MapError::Mapped));
    assert_eq!(memory.lookup(base + 7), Some(first));
    assert!(view.store(base, 1u32).is_err(), "no access has been set");
    memory.set_access(base, G, MapAccess::ReadWrite).unwrap();
    view.store(base + G - 8, 77u64).unwrap();

    // The other half behind it: one range for accesses that cross.
    assert!(view.store_run(base + G - 8, &[1u64; 32]).is_err());
    memory.map(base + G, &physical, G, spec(G)).unwrap();
    memory.set_access(base, 2 * G, MapAccess::ReadWrite).unwrap();
    view.store_run(base + G - 8, &[1u64; 32]).unwrap();
    memory.fill(base + 8, FillWidth::One, 5, 2 * G - 8).unwrap();
    assert!(memory.fill(base + 8, FillWidth::One, 5, 2 * G).is_err());

    // The same physical memory at another address.
    memory.map(base + 2 * G, &physical, 0, spec(2 * G)).unwrap();
    memory.set_access(base + 2 * G, 2 * G, MapAccess::Read).unwrap();
    assert_eq!(memory.access_at(base + 2 * G), Some(MapAccess::Read));
    assert_eq!(view.load::<u32>(base + 2 * G + 64).unwrap(), 0x0505_0505);
    assert_eq!(view.store(base + 2 * G, 1u32).unwrap_err().refusal, Refusal::ReadOnly);

    assert_eq!(memory.release(base, 4 * G), Err(MapError::Mapped));
    assert_eq!(memory.unmap(base, 100), Err(MapError::Invalid));
    assert_eq!(memory.unmap(base + 3 * G, G), Err(MapError::NotMapped));
    memory.unmap(base, 2 * G).unwrap();
    memory.unmap(base, 2 * G).unwrap();
    assert!(view.load::<u32>(base).is_err(), "a remembered range is forgotten");
    assert_eq!(view.load::<u32>(base + 2 * G + 64).unwrap(), 0x0505_0505);
    drop(physical);
    assert_eq!(memory.used(), 2 * G, "the mapping holds it");
    memory.unmap(base + 2 * G, 2 * G).unwrap();
    assert_eq!(memory.used(), 0);
    assert_eq!(memory.release(base, G), Err(MapError::NotReserved));
    memory.release(base, 4 * G).unwrap();
    // What was mapped is ordinary memory again.
    let plain = memory.alloc(spec(3 * G)).unwrap().base;
    memory.fill(plain, FillWidth::One, 1, 3 * G).unwrap();
}

#[test]
fn many_handles_take_neither_descriptors_nor_mappings_of_the_host() {
    const COUNT: u64 = 50_000;
    let memory = Memory::new(Options { window: 1 << 40, capacity: 1 << 38, ..Options::default() }).unwrap();
    let (open, mapped) = (descriptors(), host_mappings());
    let handles: Vec<_> = (0..COUNT).map(|_| memory.create_physical(0, G).unwrap()).collect();
    // With gaps between them, so that nothing can be merged that is not the same.
    let base = memory.reserve(2 * COUNT * G, 0).unwrap();
    for (n, handle) in handles.iter().enumerate() {
        map(&memory, base + 2 * n as u64 * G, handle);
    }
    for n in (0..COUNT).step_by(1000) {
        store(&memory, base + 2 * n * G, n as u32);
    }
    assert!(descriptors() < open + 200, "{open} descriptors, then {}", descriptors());
    assert!(host_mappings() < mapped + 200, "{mapped} mappings, then {}", host_mappings());
    assert_eq!(load(&memory, base + 2 * 49_000 * G), 49_000);
    for n in 0..COUNT {
        memory.unmap(base + 2 * n * G, G).unwrap();
    }
    drop(handles);
    memory.release(base, 2 * COUNT * G).unwrap();
    assert_eq!(memory.used(), 0);
}

#[test]
fn bytes_stay_with_their_handle() {
    let memory = memory(64 << 20);
    let base = memory.reserve(8 * G, 0).unwrap();
    let (a, b) = (memory.create_physical(0, 2 * G).unwrap(), memory.create_physical(0, G).unwrap());
    map(&memory, base, &a);
    store(&memory, base + G + 16, 7);
    memory.unmap(base, 2 * G).unwrap();
    // Back where it was.
    map(&memory, base, &a);
    assert_eq!(load(&memory, base + G + 16), 7);
    memory.unmap(base, 2 * G).unwrap();
    // Another takes its place, which is empty.
    map(&memory, base + G, &b);
    assert_eq!(load(&memory, base + G + 16), 0);
    store(&memory, base + G + 16, 8);
    // Elsewhere, then overlapping with where it was last.
    map(&memory, base + 4 * G, &a);
    assert_eq!(load(&memory, base + 5 * G + 16), 7);
    memory.unmap(base + 4 * G, 2 * G).unwrap();
    map(&memory, base + 5 * G, &a);
    assert_eq!((load(&memory, base + 6 * G + 16), load(&memory, base + 5 * G)), (7, 0));
    // The reservation goes, the bytes stay.
    memory.unmap(base + 5 * G, 2 * G).unwrap();
    memory.unmap(base + G, G).unwrap();
    memory.release(base, 8 * G).unwrap();
    let plain = memory.alloc(spec(20 * G)).unwrap().base;
    memory.fill(plain, FillWidth::One, 0xff, 20 * G).unwrap();
    let other = memory.reserve(3 * G, 0).unwrap();
    map(&memory, other, &b);
    map(&memory, other + G, &a);
    assert_eq!((load(&memory, other + 16), load(&memory, other + 2 * G + 16), load(&memory, other + G)), (8, 7, 0));
    memory.unmap(other, 3 * G).unwrap();
    drop((a, b));
    // What is mapped there next is empty.
    let c = memory.create_physical(0, 3 * G).unwrap();
    map(&memory, other, &c);
    assert_eq!((load(&memory, other + 16), load(&memory, other + 2 * G + 16)), (0, 0));
}

#[test]
fn an_export_shows_the_bytes_and_nothing_else() {
    let (here, there) = (memory(64 << 20), memory(64 << 20));
    let base = here.reserve(4 * G, 0).unwrap();
    let (secret, shared) = (here.create_physical(0, G).unwrap(), here.create_physical(0, G).unwrap());
    map(&here, base, &secret);
    map(&here, base + G, &shared);
    store(&here, base, 1111);
    store(&here, base + G + 8, 42);
    let open = descriptors();
    let descriptor = here.export(&shared, b"device 0").unwrap();
    assert!(descriptors() <= open + 20);
    assert_eq!(std::fs::File::from(descriptor.try_clone().unwrap()).metadata().unwrap().len(), G + 4096);
    assert_eq!(load(&here, base + G + 8), 42, "where it was mapped it still is");

    let (imported, note) = there.import(descriptor.try_clone().unwrap()).unwrap();
    assert_eq!((imported.size(), note.as_slice(), there.used()), (G, &b"device 0"[..], 0));
    let far = there.reserve(G, 0).unwrap();
    map(&there, far, &imported);
    assert_eq!(load(&there, far + 8), 42);
    store(&there, far + 16, 43);
    assert_eq!(load(&here, base + G + 16), 43, "both see the same bytes");
    // The same memory again, in the process that has exported it.
    let (again, _) = here.import(descriptor.try_clone().unwrap()).unwrap();
    map(&here, base + 2 * G, &again);
    assert_eq!(load(&here, base + 2 * G + 16), 43);

    here.unmap(base, 3 * G).unwrap();
    drop((shared, again, here));
    assert_eq!(load(&there, far + 8), 42, "it outlives its exporter");
    let (late, _) = there.import(descriptor.try_clone().unwrap()).unwrap();
    drop(descriptor);
    there.unmap(far, G).unwrap();
    map(&there, far, &late);
    assert_eq!(load(&there, far + 16), 43);
}

#[test]
fn only_exports_are_imported() {
    let memory = memory(64 << 20);
    let copy = |file: &std::fs::File| file.as_fd().try_clone_to_owned().unwrap();
    let refused = |file: &std::fs::File| matches!(memory.import(copy(file)), Err(ExportError::NotExported));
    assert!(refused(&std::fs::File::open("/dev/null").unwrap()));
    assert!(refused(&std::fs::File::open("/proc/self/exe").unwrap()));
    // A memory file of the right size, but not sealed; then sealed, but of somebody else.
    // SAFETY: the name is a C string, the descriptor is new; then the descriptor is open.
    unsafe {
        let descriptor = libc::memfd_create(c"other".as_ptr(), libc::MFD_ALLOW_SEALING);
        let file = <std::fs::File as std::os::fd::FromRawFd>::from_raw_fd(descriptor);
        file.set_len(G + 4096).unwrap();
        assert!(refused(&file));
        assert_eq!(libc::fcntl(descriptor, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK), 0);
        assert!(refused(&file));
    }
}

#[test]
fn kernels_pause_while_memory_moves_to_its_file() {
    let engine = engine(2);
    let other = engine_beside(&engine, 1);
    let environment = environment();
    let memory = &environment.memory;
    memory.set_crew(Box::new(AllPools::new([engine.pool(), other.pool()])));
    let physical = memory.create_physical(0, 8 * G).unwrap();
    let base = memory.reserve(8 * G, 0).unwrap();
    map(memory, base, &physical);
    // Before the first launch there is nobody to stop.
    drop(memory.export(&memory.create_physical(0, G).unwrap(), b"").unwrap());

    let stop = Arc::new(AtomicBool::new(false));
    let counted = Arc::new(AtomicU64::new(0));
    let (stopped, count) = (stop.clone(), counted.clone());
    // Each CTA counts in a word of its own, all over the memory: a lost page loses counts.
    let kernel = Toy::new(move |grid, cta, worker| {
        let at = base + u64::from(cta.id[0]) * (8 * G / 64);
        while !stopped.load(Ordering::Relaxed) {
            grid.memory().view().atomic_u32(0, at, AtomicOp::Add, 1, Order::Relaxed).unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            if grid.poll(worker) == Poll::Yield {
                return CtaExit::Yielded { progressed: true };
            }
        }
        CtaExit::Finished
    });
    let streams = [stream(&engine), stream(&other)];
    streams.iter().for_each(|stream| stream.launch(launch(kernel.clone(), 64, &environment)));
    let moved = counted.load(Ordering::Relaxed);
    while counted.load(Ordering::Relaxed) < moved + 100_000 {
        std::thread::yield_now();
    }
    let start = Instant::now();
    let exported = memory.export(&physical, b"").unwrap();
    assert!(start.elapsed() < Duration::from_secs(10));
    let moved = counted.load(Ordering::Relaxed);
    while counted.load(Ordering::Relaxed) < moved + 100_000 {
        std::thread::yield_now();
    }
    stop.store(true, Ordering::Relaxed);
    streams.iter().for_each(Stream::synchronize);
    let seen: u64 = (0..64).map(|cta| u64::from(load(memory, base + cta * (8 * G / 64)))).sum();
    assert_eq!(seen, counted.load(Ordering::Relaxed));
    drop(exported);
}
