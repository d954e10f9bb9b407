//! What executors can do beyond running one CTA after the other: batches, variants, parts, sites, memory without calls.

use std::any::TypeId;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use crate::toy::{Toy, engine, environment, launch, stream};
use warploom_exec::copy::FillWidth;
use warploom_exec::fault::{AccessKind, Cause, FaultKind, Nearest, Place, Refusal, Site, SiteInfo, Trap};
use warploom_exec::grid::{Grid, Launch, Poll, WorkerSet};
use warploom_exec::kernel::{Batch, Cta, CtaExit, LoadedKernel, Worker};
use warploom_exec::memory::{AllocSpec, MachineExtent, Memory, MemoryKind, find_extent};

/// A kernel of which a test says what it needs to.
#[derive(Default)]
struct Kernel {
    parts: u32,
    stack: usize,
    /// Each unit's number and part, and who ran it.
    ran: Mutex<Vec<(u64, u32, u32, ThreadId)>>,
    batches: AtomicU32,
    /// Kernels for CTAs of a size.
    variants: Vec<(u32, Arc<Kernel>)>,
    /// The address that the first CTA accesses, at site 7.
    access: Option<u64>,
}

impl Kernel {
    fn units(&self) -> Vec<(u64, u32)> {
        let mut units: Vec<_> = self.ran.lock().unwrap().iter().map(|&(linear, part, ..)| (linear, part)).collect();
        units.sort_unstable();
        units
    }
}

impl LoadedKernel for Kernel {
    fn name(&self) -> &str {
        "kernel"
    }

    fn stack_need(&self) -> usize {
        self.stack
    }

    fn variant(&self, launch: &Launch) -> Option<Arc<dyn LoadedKernel>> {
        let found = self.variants.iter().find(|(size, _)| *size == launch.cta[0]);
        found.map(|(_, kernel)| kernel.clone() as Arc<dyn LoadedKernel>)
    }

    fn most_parts(&self, _: &Launch) -> u32 {
        self.parts
    }

    fn run_ctas(&self, grid: &Grid, units: Range<u64>, worker: &mut Worker) -> Batch {
        self.batches.fetch_add(1, Ordering::Relaxed);
        let mut ran = self.ran.lock().unwrap();
        let mut done = 0;
        for unit in units {
            let (linear, part) = grid.unit_parts(unit);
            if let Some(address) = self.access
                && linear == 0
            {
                let trap = Trap { cause: Cause::Access(address), site: Some(Site(7)), ..Trap::new(FaultKind::Trap) };
                let cta = Cta { id: grid.unit_start(unit), linear, ..Cta::default() };
                return Batch { done, stopped: Some((cta, CtaExit::Fault(Box::new(trap)))) };
            }
            ran.push((linear, part, worker.index, std::thread::current().id()));
            done += 1;
            // As compiled code looks at it.
            if worker.attention().load(Ordering::Relaxed) != 0 && grid.poll(worker) != Poll::Continue {
                break;
            }
        }
        Batch { done, stopped: None }
    }

    fn run_cta(&self, _: &Grid, _: &mut Cta, _: &mut Worker) -> CtaExit {
        unreachable!("no CTA was begun and not finished")
    }

    fn site(&self, Site(number): Site) -> SiteInfo {
        let place = Place { ptx_line: Some(10 * number as u32), ..Place::default() };
        SiteInfo { place, access: Some((AccessKind::Store, 4)) }
    }
}

#[test]
fn an_executor_runs_batches() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let kernel = Arc::new(Kernel { stack: usize::MAX, ..Kernel::default() });
    stream.launch(launch(kernel.clone(), 10_000, &environment));
    stream.synchronize();
    assert_eq!(kernel.units(), (0..10_000).map(|unit| (unit, 0)).collect::<Vec<_>>());
    assert!(kernel.batches.load(Ordering::Relaxed) < 1000);
    // Nobody has that much stack but the workers, who are not asked.
    let here = std::thread::current().id();
    assert!(kernel.ran.lock().unwrap().iter().all(|&(.., thread)| thread != here));
}

#[test]
fn a_kernel_has_variants_by_shape_and_falls_back() {
    let engine = engine(1);
    let (stream, environment) = (stream(&engine), environment());
    let fast = Arc::new(Kernel::default());
    let slow = Arc::new(Kernel { variants: vec![(64, fast.clone())], ..Kernel::default() });
    for size in [32, 64, 96] {
        stream.launch(Launch { cta: [size, 1, 1], ..launch(slow.clone(), 5, &environment) });
    }
    stream.synchronize();
    assert_eq!((slow.units().len(), fast.units().len()), (10, 5));
}

#[test]
fn small_grids_are_divided_into_parts_of_ctas() {
    let engine = engine(4);
    let (stream, environment) = (stream(&engine), environment());
    for (ctas, parts) in [(1, 6), (3, 6), (15, 2), (16, 1), (1000, 1)] {
        let kernel = Arc::new(Kernel { parts: 6, ..Kernel::default() });
        stream.launch(launch(kernel.clone(), ctas, &environment));
        stream.synchronize();
        let expected: Vec<_> = (0..u64::from(ctas)).flat_map(|cta| (0..parts).map(move |part| (cta, part))).collect();
        assert_eq!(kernel.units(), expected, "{ctas} CTAs");
    }
}

#[test]
fn a_grid_runs_on_the_workers_that_it_may_have() {
    let engine = engine(4);
    let environment = environment();
    let streams: Vec<_> = (0..3).map(|_| stream(&engine)).collect();
    let sets = [vec![1], vec![0, 3], vec![0, 1, 2, 3]];
    let kernels: Vec<Arc<Kernel>> = sets.iter().map(|_| Arc::default()).collect();
    for _ in 0..50 {
        for ((stream, kernel), set) in streams.iter().zip(&kernels).zip(&sets) {
            let workers = WorkerSet::of(set.iter().copied());
            stream.launch(Launch { workers, ..launch(kernel.clone(), 200, &environment) });
        }
    }
    // One waits without helping, the others help.
    let end = streams[0].record();
    while !end.is_done() {
        std::thread::yield_now();
    }
    streams.iter().for_each(|stream| stream.synchronize());
    for (kernel, set) in kernels.iter().zip(&sets) {
        assert_eq!(kernel.units().len(), 50 * 200);
        let on: HashSet<u32> = kernel.ran.lock().unwrap().iter().map(|&(_, _, worker, _)| worker).collect();
        assert!(on.iter().all(|worker| set.contains(worker)), "{on:?} of {set:?}");
    }
}

#[test]
fn a_set_of_workers_knows_its_members() {
    let set = WorkerSet::of([3, 70]);
    assert!(set.contains(3) && set.contains(70) && !set.contains(0) && !set.contains(1000));
    assert_eq!((set.first(), set.count(64), set.count(128)), (3, 1, 2));
    let all = WorkerSet::default();
    assert!(all.contains(1000) && !all.is_restricted());
    assert_eq!((all.first(), all.count(7)), (0, 7));
}

#[test]
fn a_site_and_an_address_make_a_report() {
    let environment = environment();
    let spec = AllocSpec { size: 256, kind: MemoryKind::Device, device: 0, owner: 0, tag: 0, origin: "test" };
    let base = environment.memory.alloc(spec).unwrap().base;
    for (address, refusal) in [(base + 256, Refusal::Unmapped), (base + 2, Refusal::Misaligned)] {
        let engine = engine(1);
        let kernel = Arc::new(Kernel { access: Some(address), ..Kernel::default() });
        let stream = stream(&engine);
        stream.launch(launch(kernel, 3, &environment));
        stream.synchronize();
        let fault = engine.fault().expect("a fault");
        let FaultKind::Access(access) = &fault.kind else { panic!("{fault}") };
        assert_eq!((access.address, access.size, access.kind), (address, 4, AccessKind::Store));
        assert_eq!(access.refusal, refusal);
        assert!(matches!(access.nearest, Some(Nearest::After(0, _) | Nearest::Inside(2, _))), "{access}");
        assert_eq!((fault.place.ptx_line, fault.cta), (Some(70), Some([0; 3])));
    }
}

/// An access as compiled code makes it: a comparison with the extent it has, and a call if that fails.
struct Code<'m> {
    memory: &'m Memory,
    epoch: &'m AtomicU64,
    extent: MachineExtent,
    calls: u32,
}

impl Code<'_> {
    fn allows(&mut self, address: u64, len: u64, kind: AccessKind) -> bool {
        let MachineExtent { start, span, epoch, flags } = self.extent;
        let inside = address.wrapping_sub(start) < span && len <= span - address.wrapping_sub(start);
        let writable = kind == AccessKind::Load || flags & MachineExtent::WRITABLE != 0;
        if inside && writable && epoch == self.epoch.load(Ordering::Acquire) {
            return true;
        }
        self.calls += 1;
        // SAFETY: both outlive the call.
        unsafe { find_extent(self.memory, address, len, kind as u32, &mut self.extent) != 0 }
    }
}

#[test]
fn compiled_code_checks_accesses_without_calls() {
    let environment = environment();
    let memory = &*environment.memory;
    let alloc = || {
        let spec = AllocSpec { size: 4096, kind: MemoryKind::Device, device: 0, owner: 0, tag: 0, origin: "test" };
        memory.alloc(spec).unwrap().base
    };
    let (base, other) = (alloc(), alloc());
    memory.fill(base, FillWidth::Four, 5, 1024).unwrap();
    let mut code = Code { memory, epoch: memory.epoch_word(), extent: MachineExtent::default(), calls: 0 };
    for offset in (0..4096).step_by(4) {
        assert!(code.allows(base + offset, 4, AccessKind::Load) && code.allows(base + offset, 4, AccessKind::Atomic));
    }
    assert_eq!(code.calls, 1);
    assert!(!code.allows(base + 4096, 4, AccessKind::Store) && !code.allows(base - 4, 4, AccessKind::Load));
    assert!(memory.explain(base + 4096, 4, AccessKind::Store).is_some());
    assert!(memory.explain(base + 4092, 4, AccessKind::Store).is_none());
    // Any free makes it ask again.
    memory.free(other).unwrap();
    assert!(code.allows(base, 4, AccessKind::Load));
    assert_eq!(code.calls, 4);
    memory.free(base).unwrap();
    assert!(!code.allows(base, 4, AccessKind::Load));
}

#[test]
fn what_ctas_leave_is_lent_by_its_type() {
    struct Keeps<T>(AtomicU32, std::marker::PhantomData<T>);
    impl<T: Default + Send + Sync + 'static> LoadedKernel for Keeps<T> {
        fn name(&self) -> &str {
            "keeps"
        }
        fn state_type(&self) -> TypeId {
            TypeId::of::<T>()
        }
        fn run_cta(&self, _: &Grid, cta: &mut Cta, _: &mut Worker) -> CtaExit {
            let kept = cta.state.get_or_insert_with(|| {
                self.0.fetch_add(1, Ordering::Relaxed);
                Box::new(T::default())
            });
            assert!(kept.is::<T>());
            CtaExit::Finished
        }
    }
    let engine = engine(1);
    let (stream, environment) = (stream(&engine), environment());
    let words = Arc::new(Keeps::<[u64; 8]>(AtomicU32::new(0), std::marker::PhantomData));
    let bytes = Arc::new(Keeps::<String>(AtomicU32::new(0), std::marker::PhantomData));
    for _ in 0..50 {
        stream.launch(launch(words.clone(), 5, &environment));
        stream.launch(launch(bytes.clone(), 5, &environment));
    }
    stream.synchronize();
    // One for the worker, one for the helping thread.
    assert!(words.0.load(Ordering::Relaxed) <= 2 && bytes.0.load(Ordering::Relaxed) <= 2);
}

#[test]
fn a_cta_given_up_without_a_reason_is_a_defect_and_not_finished() {
    let engine = engine(1);
    let (stream, environment) = (stream(&engine), environment());
    let after = Arc::new(AtomicBool::new(false));
    let ran = after.clone();
    stream.launch(launch(Toy::new(|_, _, _| CtaExit::Cancelled), 3, &environment));
    stream.run(warploom_exec::stream::Weight::Light, move || ran.store(true, Ordering::Relaxed));
    stream.synchronize();
    assert!(matches!(engine.fault().unwrap().kind, FaultKind::Internal(_)));
    assert!(!after.load(Ordering::Relaxed));
}
