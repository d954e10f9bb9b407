//! Compiled code as a kernel: its context, the checks that it asks for, and its faults.

use std::any::TypeId;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::Ordering;

use warploom_exec::address::{LOCAL_WINDOW, SHARED_WINDOW, Space as Window, classify, split_shared};
use warploom_exec::fault::{AccessKind, Cause, FaultKind, Place, Site, SiteInfo, Trap};
use warploom_exec::grid::Grid;
use warploom_exec::kernel::{Batch, Cta, CtaExit, LoadedKernel, SHARED_GRANULE, Worker, kept, run_with_state};
use warploom_exec::memory::{MachineExtent, Memory, find_extent};
use warploom_interp::{Gang, StepState, Steps};
use warploom_ptx::ir::{Space, Step};
use warploom_simt::AccessKind as Kind;
use warploom_simt::codegen::sums::Entry;
use warploom_simt::codegen::{FRAME_ALIGN, SiteKind, Stop, StopKind, context, outcome, window};

use crate::object::Code;
use crate::sums::{self, Sums};

/// A kernel for CTAs of one shape.
pub(crate) struct CompiledKernel {
    pub(crate) name: String,
    pub(crate) code: Code,
    pub(crate) sites: Vec<SiteKind>,
    /// Places that end the grid, by their number.
    pub(crate) stops: Vec<Stop>,
    /// Of sites, and behind them of stops.
    pub(crate) places: Vec<Place>,
    pub(crate) frames: u32,
    /// Bytes of local memory of a thread, and from one thread to the next.
    pub(crate) local: [u32; 2],
    /// Bytes of static shared memory.
    pub(crate) shared: u32,
    pub(crate) cta: [u32; 3],
    /// Instructions that the interpreter runs.
    pub(crate) steps: Steps,
    /// Unique in the process.
    pub(crate) id: u64,
}

/// What compiled code gets. The first fields are those of [`context`].
#[repr(C)]
struct Context {
    params: *const u8,
    variables: *const u64,
    check: unsafe extern "C" fn(*mut Context, *mut u64, u32, u32, u32) -> u32,
    extents: *mut Allowed,
    shared: *mut u8,
    shared_size: u64,
    ctaid: [u32; 3],
    nctaid: [u32; 3],
    frames: *mut u8,
    attention: *const u32,
    poll: unsafe extern "C" fn(*mut Context) -> u32,
    find: unsafe extern "C" fn(*mut Context, u64, u32) -> u32,
    local: *mut u8,
    step: unsafe extern "C" fn(*mut Context, *mut u64, u32, u32, u32, u32, u32) -> u32,
    stop: unsafe extern "C" fn(*mut Context, *const u64, u32, u32, u32) -> u32,
    sums: *mut Entry,
    add: unsafe extern "C" fn(*mut Context, u64, u32, u32),
    kernel: *const CompiledKernel,
    grid: *const Grid,
    worker: *const Worker,
    epochs: *mut u64,
    steps: *mut StepState,
    kept: *mut Sums,
    fault: Option<Box<Trap>>,
}

const _: () = {
    assert!(window::SHARED as u64 == SHARED_WINDOW && window::LOCAL as u64 == LOCAL_WINDOW);
    assert!(std::mem::offset_of!(Context, params) == context::PARAMS as usize);
    assert!(std::mem::offset_of!(Context, variables) == context::VARIABLES as usize);
    assert!(std::mem::offset_of!(Context, check) == context::CHECK as usize);
    assert!(std::mem::offset_of!(Context, extents) == context::EXTENTS as usize);
    assert!(std::mem::offset_of!(Context, shared) == context::SHARED as usize);
    assert!(std::mem::offset_of!(Context, shared_size) == context::SHARED_SIZE as usize);
    assert!(std::mem::offset_of!(Context, ctaid) == context::CTAID as usize);
    assert!(std::mem::offset_of!(Context, nctaid) == context::NCTAID as usize);
    assert!(std::mem::offset_of!(Context, frames) == context::FRAMES as usize);
    assert!(std::mem::offset_of!(Context, attention) == context::ATTENTION as usize);
    assert!(std::mem::offset_of!(Context, poll) == context::POLL as usize);
    assert!(std::mem::offset_of!(Context, find) == context::FIND as usize);
    assert!(std::mem::offset_of!(Context, local) == context::LOCAL as usize);
    assert!(std::mem::offset_of!(Context, step) == context::STEP as usize);
    assert!(std::mem::offset_of!(Context, stop) == context::STOP as usize);
    assert!(std::mem::offset_of!(Context, sums) == context::SUMS as usize);
    assert!(std::mem::offset_of!(Context, add) == context::ADD as usize);
    assert!(std::mem::offset_of!(Context, kernel) == context::SIZE as usize);
};

/// An entry of the table of sites.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Allowed {
    /// The first address.
    start: u64,
    /// How many addresses are allowed from there on, in steps of the bytes of a lane.
    count: u64,
}

impl Allowed {
    /// What a range leaves of addresses for a site; entries whose steps do not begin at a multiple of the bytes of a lane could not tell what is aligned.
    fn new(site: &SiteKind, start: u64, span: u64) -> Allowed {
        let step = u64::from(site.bytes);
        let first = start.next_multiple_of(step);
        let count = (start + span).checked_sub(first).and_then(|left| left.checked_sub(site.need));
        Allowed { start: first, count: count.map_or(0, |left| left / step + 1) }
    }
}

/// Memory as compiled code wants it aligned.
#[derive(Clone, Copy)]
#[repr(C, align(256))]
struct Line([u8; FRAME_ALIGN as usize]);

/// What one CTA leaves to the next.
#[derive(Default)]
struct State {
    kernel: u64,
    extents: Vec<Allowed>,
    /// In which epoch each was found.
    epochs: Vec<u64>,
    /// The one for which the table holds.
    epoch: Option<u64>,
    frames: Vec<Line>,
    shared: Vec<Line>,
    local: Vec<Line>,
    steps: StepState,
    sums: Sums,
}

fn lines(bytes: u64) -> usize {
    bytes.div_ceil(u64::from(FRAME_ALIGN)) as usize
}

impl LoadedKernel for CompiledKernel {
    fn name(&self) -> &str {
        &self.name
    }

    fn state_type(&self) -> TypeId {
        TypeId::of::<State>()
    }

    fn run_ctas(&self, grid: &Grid, units: Range<u64>, worker: &mut Worker) -> Batch {
        let mut state: Box<State> = kept(worker.take_spare(self.state_type()));
        let shared = state.start(self, grid);
        let batch = run_with_state(grid, units, worker, state, |state, id, _, worker| {
            self.run(state, grid, id, shared, worker)
        });
        if self.keeps_back() && !worker.will_leave() {
            self.leave(worker);
        }
        batch
    }

    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit {
        let mut state: Box<State> = kept(cta.state.take());
        let shared = state.start(self, grid);
        let exit = self.run(&mut state, grid, cta.id, shared, worker);
        // SAFETY: as in `leave`.
        unsafe { state.sums.flush() };
        cta.state = Some(state);
        exit
    }

    fn keeps_back(&self) -> bool {
        self.sites.iter().any(|site| site.kept_back)
    }

    fn leave(&self, worker: &mut Worker) {
        let mut state: Box<State> = kept(worker.take_spare(self.state_type()));
        // SAFETY: device memory stays while the process lives, and an allocation's words are never given back to the host.
        unsafe { state.sums.flush() };
        worker.keep_spare(Some(state));
    }

    fn site(&self, Site(number): Site) -> SiteInfo {
        let site = self.sites.get(number as usize);
        SiteInfo {
            place: self.places.get(number as usize).cloned().unwrap_or_default(),
            access: site.map(|site| (access(site), u64::from(site.bytes))),
        }
    }
}

impl CompiledKernel {
    /// Runs one CTA, with the state that [`State::start`] has prepared.
    fn run(&self, state: &mut State, grid: &Grid, id: [u32; 3], shared: u32, worker: &Worker) -> CtaExit {
        state.refresh(self, grid, shared);
        let mut context = Context {
            params: grid.launch.params.as_ptr(),
            variables: grid.launch.variables.as_ptr(),
            check,
            extents: state.extents.as_mut_ptr(),
            shared: state.shared.as_mut_ptr().cast(),
            shared_size: u64::from(shared),
            ctaid: id,
            nctaid: grid.launch.grid,
            frames: state.frames.as_mut_ptr().cast(),
            attention: ptr::from_ref(worker.attention()).cast(),
            poll,
            find,
            local: state.local.as_mut_ptr().cast(),
            step,
            stop,
            sums: if self.keeps_back() { state.sums.table() } else { ptr::null_mut() },
            add,
            kernel: self,
            grid,
            worker,
            epochs: state.epochs.as_mut_ptr(),
            steps: &mut state.steps,
            kept: &mut state.sums,
            fault: None,
        };
        // SAFETY: `cta` of a module that was made for this shape, with all that its context has to hold; what it accesses beyond that has been
        // allowed by `check` or `find`.
        let result = unsafe {
            let entry: unsafe extern "C" fn(*mut Context) -> i32 =
                std::mem::transmute(ptr::with_exposed_provenance::<()>(self.code.entry as usize));
            entry(&mut context)
        };
        match (result, context.fault) {
            (outcome::ENDED, _) => CtaExit::Finished,
            (outcome::CANCELLED, _) => CtaExit::Cancelled,
            (_, Some(trap)) => CtaExit::Fault(trap),
            (other, None) => {
                let kind = FaultKind::Internal(format!("compiled code has come back with {other}"));
                CtaExit::Fault(Box::new(Trap::new(kind)))
            }
        }
    }
}

fn access(site: &SiteKind) -> AccessKind {
    match site.kind {
        Kind::Load => AccessKind::Load,
        Kind::Store => AccessKind::Store,
        Kind::Atomic => AccessKind::Atomic,
    }
}

impl State {
    /// Memory for CTAs of a launch. How many bytes of shared memory they have.
    fn start(&mut self, kernel: &CompiledKernel, grid: &Grid) -> u32 {
        const NONE: Line = Line([0; FRAME_ALIGN as usize]);
        let shared = (kernel.shared + grid.launch.dynamic_shared).next_multiple_of(SHARED_GRANULE);
        if self.kernel != kernel.id {
            self.kernel = kernel.id;
            self.extents.clear();
            self.extents.resize(kernel.sites.len(), Allowed::default());
            self.epochs.clear();
            self.epochs.resize(kernel.sites.len(), 0);
            self.steps = StepState::default();
        }
        for (allowed, site) in self.extents.iter_mut().zip(&kernel.sites) {
            match site.space {
                Space::Shared => *allowed = Allowed::new(site, 0, u64::from(shared)),
                Space::Local => *allowed = Allowed::new(site, 0, u64::from(kernel.local[0])),
                _ => {}
            }
        }
        // What was allowed in another epoch is looked at before the first CTA.
        self.epoch = None;
        let threads = kernel.cta.iter().product::<u32>().next_multiple_of(32);
        let local = if kernel.local[0] == 0 { 0 } else { u64::from(kernel.local[1]) * u64::from(threads) };
        for (memory, bytes) in [(&mut self.frames, u64::from(kernel.frames)), (&mut self.local, local)] {
            if memory.len() < lines(bytes) {
                memory.resize(lines(bytes), NONE);
            }
        }
        self.shared.resize(lines(u64::from(shared)), NONE);
        shared
    }

    /// What each CTA begins with.
    fn refresh(&mut self, kernel: &CompiledKernel, grid: &Grid, shared: u32) {
        // What was allowed before a free may be so no more.
        let epoch = grid.memory().epoch_word().load(Ordering::Acquire);
        if self.epoch != Some(epoch) {
            self.epoch = Some(epoch);
            for ((allowed, found), site) in self.extents.iter_mut().zip(&self.epochs).zip(&kernel.sites) {
                if *found != epoch && !matches!(site.space, Space::Shared | Space::Local) {
                    *allowed = Allowed::default();
                }
            }
        }
        if shared > 0 {
            self.shared.fill(Line([0; FRAME_ALIGN as usize]));
        }
    }
}

/// Looks at the accesses of some lanes; 1 if all are allowed: then the host's addresses of their bytes stand in place of theirs. Else the first that is not
/// becomes the fault.
///
/// # Safety
/// Called by compiled code, with its context and the addresses of as many lanes as it has.
unsafe extern "C" fn check(context: *mut Context, addresses: *mut u64, lanes: u32, site: u32, thread: u32) -> u32 {
    // SAFETY: the context lives while the code runs, and nothing else refers to it meanwhile.
    let context = unsafe { &mut *context };
    // SAFETY: as above.
    let kernel = unsafe { &*context.kernel };
    let mut lanes = lanes;
    while lanes != 0 {
        let lane = lanes.trailing_zeros();
        lanes &= lanes - 1;
        // SAFETY: there is one for each lane.
        let address = unsafe { &mut *addresses.add(lane as usize) };
        match place(context, kernel, site, *address, thread + lane) {
            Ok(there) => *address = there,
            Err(cause) => {
                context.fail(kernel, cause, Some(Site(u64::from(site))), thread + lane);
                return 0;
            }
        }
    }
    1
}

impl Context {
    /// The CTA is at an end because of a thread.
    #[cold]
    fn fail(&mut self, kernel: &CompiledKernel, cause: Cause, site: Option<Site>, thread: u32) {
        let [x, y, _] = kernel.cta;
        let thread = Some([thread % x, thread / x % y, thread / (x * y)]);
        self.fault = Some(Box::new(Trap { cause, site, cta: Some(self.ctaid), thread }));
    }
}

/// Runs an instruction for some lanes; 1 if it has not failed.
///
/// # Safety
/// Called by compiled code, with its context and words for as many registers.
unsafe extern "C" fn step(
    context: *mut Context,
    words: *mut u64,
    lanes: u32,
    number: u32,
    registers: u32,
    width: u32,
    thread: u32,
) -> u32 {
    // SAFETY: the context lives while the code runs, and nothing else refers to it meanwhile.
    let context = unsafe { &mut *context };
    // SAFETY: as above; the words are the gang's.
    let (kernel, grid, words, state) = unsafe {
        let words = std::slice::from_raw_parts_mut(words, Step::PLACE_WORDS * registers as usize);
        (&*context.kernel, &*context.grid, words, &mut *context.steps)
    };
    // SAFETY: the worker lives while the code runs.
    let worker = unsafe { &*context.worker }.index;
    let gang = Gang { cta: context.ctaid, worker, width: width as usize, mask: lanes };
    let run = || kernel.steps.run(state, grid, number as usize, &gang, words);
    // Compiled code cannot be unwound.
    let broken =
        |_| Err((FaultKind::Internal("an instruction on its own has panicked".to_owned()), lanes.trailing_zeros()));
    match catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(broken) {
        Ok(()) => 1,
        Err((kind, lane)) => {
            context.fail(kernel, Cause::Known(kind), None, thread + lane);
            0
        }
    }
}

/// Ends the grid because of the first of some lanes.
///
/// # Safety
/// Called by compiled code, with its context and the addresses of as many lanes as it has.
unsafe extern "C" fn stop(context: *mut Context, addresses: *const u64, lanes: u32, number: u32, thread: u32) -> u32 {
    // SAFETY: the context lives while the code runs, and nothing else refers to it meanwhile.
    let context = unsafe { &mut *context };
    // SAFETY: as above.
    let kernel = unsafe { &*context.kernel };
    let lane = lanes.trailing_zeros();
    let kind = match kernel.stops[number as usize].kind {
        StopKind::Trap => FaultKind::Trap,
        // SAFETY: there is one for each lane.
        StopKind::NoFunction => FaultKind::InvalidPc { address: unsafe { *addresses.add(lane as usize) } },
    };
    let site = Site(kernel.sites.len() as u64 + u64::from(number));
    context.fail(kernel, Cause::Known(kind), Some(site), thread + lane);
    0
}

/// Where the bytes of an access are in the host's memory.
fn place(context: &mut Context, kernel: &CompiledKernel, site: u32, address: u64, thread: u32) -> Result<u64, Cause> {
    let kind = &kernel.sites[site as usize];
    let window = match kind.space {
        Space::Shared => Window::Shared(u32::try_from(address).unwrap_or(u32::MAX)),
        Space::Local => Window::Local(u32::try_from(address).unwrap_or(u32::MAX)),
        Space::Generic => classify(address),
        _ => Window::Global,
    };
    let inside = match window {
        Window::Shared(offset) => {
            let address = if kind.space == Space::Generic { u64::from(offset) } else { address };
            in_space(kind, ".shared", address, context.shared_size)
                .map(|()| context.shared.expose_provenance() as u64 + address)
        }
        Window::Local(offset) => {
            let address = if kind.space == Space::Generic { u64::from(offset) } else { address };
            let start = u64::from(thread) * u64::from(kernel.local[1]);
            let there = context.local.expose_provenance() as u64 + start + address;
            in_space(kind, ".local", address, u64::from(kernel.local[0])).map(|()| there)
        }
        Window::Global | Window::Param(_) => return global(context, kind, site, address),
    };
    inside.map_err(Cause::Known)
}

fn global(context: &mut Context, site: &SiteKind, number: u32, address: u64) -> Result<u64, Cause> {
    // SAFETY: the grid lives while the code runs.
    let memory = unsafe { &*context.grid }.memory();
    match extent(memory, site, address) {
        Some(found) => {
            let allowed = Allowed::new(site, found.start, found.span);
            // SAFETY: there is an entry and an epoch for each site, and what is kept back is of memory that is there.
            unsafe {
                if !site.kept_back {
                    (*context.kept).meet(&(found.start..found.start + found.span));
                }
                *context.extents.add(number as usize) = allowed;
                *context.epochs.add(number as usize) = found.epoch;
            }
            Ok(address)
        }
        None => Err(Cause::Access(address)),
    }
}

/// Where an access of a site may go that is allowed to go to an address.
fn extent(memory: &Memory, site: &SiteKind, address: u64) -> Option<MachineExtent> {
    let kind = match site.kind {
        Kind::Load => 0,
        Kind::Store => 1,
        Kind::Atomic => 2,
    };
    let bytes = u64::from(site.bytes);
    let mut extent = MachineExtent::default();
    // SAFETY: the memory lives, and the extent is ours.
    let allowed =
        address.is_multiple_of(bytes) && unsafe { find_extent(memory, address, bytes, kind, &mut extent) } != 0;
    allowed.then_some(extent)
}

/// Adds to a place of which nothing is kept yet.
///
/// # Safety
/// Called by compiled code with its context and an address that is allowed to the site.
unsafe extern "C" fn add(context: *mut Context, address: u64, summand: u32, site: u32) {
    // SAFETY: the context lives while the code runs, and nothing else refers to it meanwhile.
    let (context, kernel, kept) = unsafe { (&*context, &*(*context).kernel, &mut *(*context).kept) };
    let memory = || {
        let number = kernel.sites.len();
        // SAFETY: there is an entry for each site.
        let extents = unsafe { std::slice::from_raw_parts(context.extents, number) };
        let range =
            |at: usize| extents[at].start..extents[at].start + extents[at].count * u64::from(kernel.sites[at].bytes);
        let own = range(site as usize);
        let others = (0..number).filter(|at| !kernel.sites[*at].kept_back && extents[*at].count != 0);
        let mut apart = others.map(|at| {
            let other = range(at);
            // The last of them may be the first of several bytes.
            other.end + kernel.sites[at].need <= own.start || own.end <= other.start
        });
        apart.all(|apart| apart).then_some(own)
    };
    // SAFETY: device memory stays while the process lives.
    unsafe {
        if kept.keeps(address, memory) {
            kept.keep(address, summand);
        } else {
            sums::add(address, summand);
        }
    }
}

/// Whether all bytes from an address on may be accessed that a site needs: for several accesses with one base, none of which is a fault yet.
///
/// # Safety
/// Called by compiled code with its context.
unsafe extern "C" fn find(context: *mut Context, address: u64, site: u32) -> u32 {
    // SAFETY: the context lives while the code runs, and nothing else refers to it meanwhile.
    let context = unsafe { &mut *context };
    // SAFETY: as above.
    let kernel = unsafe { &*context.kernel };
    let kind = &kernel.sites[site as usize];
    if kind.space == Space::Shared || global(context, kind, site, address).is_err() {
        return 0;
    }
    // SAFETY: there is an entry for each site.
    let allowed = unsafe { *context.extents.add(site as usize) };
    let steps = address.wrapping_sub(allowed.start) / u64::from(kind.bytes);
    u32::from(address >= allowed.start && steps < allowed.count)
}

/// As the interpreter tells them apart.
fn in_space(site: &SiteKind, space: &'static str, address: u64, limit: u64) -> Result<(), FaultKind> {
    let size = u64::from(site.bytes);
    if !address.is_multiple_of(size) {
        return Err(FaultKind::MisalignedInSpace { space, address, size });
    }
    if address < limit && limit - address >= size {
        return Ok(());
    }
    Err(match u32::try_from(address) {
        Ok(short) if space == ".shared" && split_shared(short).0 != 0 => {
            FaultKind::NoSuchCta { address: short, cluster_size: 1 }
        }
        _ => FaultKind::OutsideSpace { space, address, size, limit, kind: access(site) },
    })
}

/// The attention word is raised: 1 if the CTA is to be given up.
///
/// # Safety
/// Called by compiled code with its context.
unsafe extern "C" fn poll(context: *mut Context) -> u32 {
    // SAFETY: grid and worker live while the code runs.
    let (grid, worker, cta) = unsafe { (&*(*context).grid, &*(*context).worker, (*context).ctaid) };
    u32::from(!grid.goes_on(worker, cta))
}
