//! Compiled code as a kernel: what runs a CTA, and what one leaves to the next.

use std::any::TypeId;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::Ordering;

use warploom_exec::fault::{FaultKind, Place, Site, SiteInfo, Trap};
use warploom_exec::grid::{Grid, Launch, Start};
use warploom_exec::kernel::{Batch, Cta, CtaExit, LoadedKernel, SHARED_GRANULE, Worker, kept, run_units};
use warploom_interp::{StepState, Steps};
use warploom_ptx::ir::Space;
use warploom_simt::codegen::{FRAME_ALIGN, LocalLayout, SiteKind, Stop, outcome};

use crate::apart::{Apart, enter};
use crate::asked::{access, add, check, fetch, find, poll, prepare, step, stop};
use crate::caches::nontemporal;
use crate::context::{Allowed, Context};
use crate::object::Code;
use crate::sums::Sums;
use crate::turns::{Run, Warps, Ways};

/// A kernel for CTAs of one shape.
pub(crate) struct CompiledKernel {
    pub(crate) name: String,
    pub(crate) code: Code,
    /// Of a kernel with teams.
    pub(crate) apart: Option<Apart>,
    pub(crate) sites: Vec<SiteKind>,
    /// Places that end the grid, by their number.
    pub(crate) stops: Vec<Stop>,
    /// Of sites, and behind them of stops, steps and meetings.
    pub(crate) places: Vec<Place>,
    pub(crate) frames: u32,
    /// Bytes of stack that a thread must have left to run it.
    pub(crate) stack_need: usize,
    /// Bytes of local memory of a thread, and from one thread to the next.
    pub(crate) local: LocalLayout,
    /// Where its threads' stacks begin in local memory, of a kernel that asks for more of it while it runs.
    pub(crate) stack: Option<u32>,
    /// Bytes of static shared memory.
    pub(crate) shared: u32,
    pub(crate) cta: [u32; 3],
    /// Instructions that the interpreter runs.
    pub(crate) steps: Steps,
    /// Where lanes go their own ways.
    pub(crate) ways: Option<Ways>,
    /// Its instructions, if a thread runs each of them once at most and waits for nobody.
    pub(crate) through: Option<u64>,
    /// Whether its CTAs may be started in any order.
    pub(crate) independent: bool,
    /// Whether one of the sites keeps back what it adds.
    pub(crate) keeps_back: bool,
    /// Unique in the process.
    pub(crate) id: u64,
}

/// Memory as compiled code wants it aligned.
#[derive(Clone, Copy)]
#[repr(C, align(256))]
struct Line([u8; FRAME_ALIGN as usize]);

/// What one CTA leaves to the next. In lines of the cache that no other worker writes to, two at once being fetched: each CTA begins with it.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct State {
    kernel: u64,
    /// The grid that it was prepared for last.
    grid: u64,
    extents: Vec<Allowed>,
    /// In which epoch each was found.
    epochs: Vec<u64>,
    /// The one for which the table holds.
    epoch: Option<u64>,
    /// Nothing has been looked up in it for this launch.
    unprepared: bool,
    frames: Vec<Line>,
    local: Vec<Line>,
    pub(crate) steps: StepState,
    pub(crate) sums: Sums,
    /// What tells where code stores past the caches.
    nontemporal: u64,
    warps: Warps,
    /// By thread: the end of its stack.
    tops: Vec<u32>,
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

    fn stack_need(&self) -> usize {
        self.stack_need
    }

    fn has_independent_ctas(&self) -> bool {
        self.independent
    }

    fn ends_within(&self, launch: &Launch) -> Option<u64> {
        /// Threads' instructions in a nanosecond, with the widest vectors.
        const EACH: u64 = 32;
        /// What it takes to begin a CTA.
        const CTA: u64 = 50;
        let threads = u64::from(self.cta.iter().product::<u32>());
        Some(launch.ctas().saturating_mul(CTA + threads * self.through? / EACH))
    }

    fn run_ctas(&self, grid: &Grid, units: Range<u64>, worker: &mut Worker) -> Batch {
        let mut state: Box<State> = kept(worker.take_spare(self.state_type()));
        let shared = state.start(self, grid);
        let epoch = grid.memory().epoch_word();
        // Once for all CTAs: what is written for each waits behind all that the one before has stored.
        let mut context = self.context(&mut state, grid, worker, shared);
        let batch = run_units(grid, units, worker, |start, _, worker| {
            self.run(&mut context, start, worker, epoch.load(Ordering::Acquire), true)
        });
        self.order_stores();
        let batch = batch.keep(state, worker);
        if self.keeps_back && !worker.will_leave() {
            self.leave(worker);
        }
        batch
    }

    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit {
        let mut state: Box<State> = kept(cta.state.take());
        let shared = self.shared_size(grid);
        if !cta.started {
            state.start(self, grid);
        }
        let epoch = grid.memory().epoch_word().load(Ordering::Acquire);
        let mut context = self.context(&mut state, grid, worker, shared);
        let exit = self.run(&mut context, Start::at(cta.id), worker, epoch, !cta.started);
        self.order_stores();
        // SAFETY: as in `leave`.
        unsafe { state.sums.flush() };
        cta.state = Some(state);
        exit
    }

    fn keeps_back(&self) -> bool {
        self.keeps_back
    }

    fn leave(&self, worker: &mut Worker) {
        let mut state: Box<State> = kept(worker.take_spare(self.state_type()));
        // SAFETY: device memory stays while the process lives, and an allocation's words are never given back to the host.
        unsafe { state.sums.flush() };
        worker.keep_spare(Some(state));
    }

    fn describe(&self, cta: &Cta) -> String {
        let state = cta.state.as_ref().and_then(|state| state.downcast_ref::<State>());
        state.zip(self.ways.as_ref()).map_or_else(String::new, |(state, ways)| state.warps.whereabouts(ways, self.cta))
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
    /// Whether it runs launches like this one: their threads' stacks may not get larger than there is room for.
    pub(crate) fn covers(&self, launch: &Launch) -> bool {
        self.stack.is_none() || launch.stack_limit <= u64::from(self.local.size)
    }

    /// What code has stored past the caches comes before all that this thread stores from now on.
    fn order_stores(&self) {
        #[cfg(target_arch = "x86_64")]
        if self.sites.iter().any(|site| site.nontemporal) {
            // SAFETY: every x86-64 has it.
            unsafe { std::arch::x86_64::_mm_sfence() };
        }
    }

    /// Bytes of shared memory of the CTAs of a launch.
    fn shared_size(&self, grid: &Grid) -> u32 {
        (self.shared + grid.launch.dynamic_shared).next_multiple_of(SHARED_GRANULE)
    }

    /// What code gets of a state that [`State::start`] has prepared, which it refers to, but for what [`CompiledKernel::run`] finds for each CTA.
    fn context(&self, state: &mut State, grid: &Grid, worker: &Worker, shared: u32) -> Context {
        Context {
            params: grid.launch.params.as_ptr(),
            variables: grid.launch.variables.as_ptr(),
            check,
            extents: state.extents.as_mut_ptr(),
            shared: ptr::null_mut(),
            shared_size: u64::from(shared),
            ctaid: [0; 3],
            nctaid: grid.launch.grid,
            frames: state.frames.as_mut_ptr().cast(),
            attention: ptr::from_ref(worker.attention()).cast(),
            poll,
            find,
            local: state.local.as_mut_ptr().cast(),
            step,
            stop,
            sums: ptr::null_mut(),
            add,
            nontemporal: state.nontemporal,
            row: state.sums.row(),
            apart: self.apart.as_ref().map_or(enter, Apart::entry),
            answer: 0,
            fetch,
            kernel: self,
            grid,
            worker,
            epochs: state.epochs.as_mut_ptr(),
            state,
            tops: ptr::null_mut(),
            fault: None,
        }
    }

    /// Runs one CTA: from its `fresh` start, or from where it was left. `epoch` is that of the memory now.
    ///
    /// Always inline, so that `start` stays one word up to the context.
    #[inline(always)]
    fn run(&self, context: &mut Context, start: Start, worker: &Worker, epoch: u64, fresh: bool) -> CtaExit {
        context.ctaid = start.id();
        context.worker = worker;
        // SAFETY: the state lives while there is a context of it, and no code runs that refers to it meanwhile.
        let state = unsafe { &mut *context.state };
        if fresh {
            state.clear(self, context.shared_size as usize);
        }
        state.refresh(self, epoch);
        context.shared = state.steps.shared_memory().as_mut_ptr();
        context.tops = state.tops.as_mut_ptr();
        if self.keeps_back {
            context.sums = state.sums.table();
            context.row = state.sums.row();
        }
        if std::mem::take(&mut state.unprepared) {
            prepare(context, self);
        }
        if let Some(ways) = &self.ways {
            return self.take_turns(ways, context, fresh);
        }
        // SAFETY: `cta` of a module that was made for this shape, with all that its context has to hold; what it accesses beyond that has been
        // allowed by `check` or `find`.
        let result = unsafe {
            let entry: unsafe extern "C" fn(*mut Context) -> i32 =
                std::mem::transmute(ptr::with_exposed_provenance::<()>(self.code.entry as usize));
            entry(context)
        };
        match (result, context.fault.take()) {
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

impl CompiledKernel {
    /// Runs a CTA whose lanes go their own ways.
    fn take_turns(&self, ways: &Ways, context: &mut Context, fresh: bool) -> CtaExit {
        let (cta, frames) = (context.ctaid, context.frames);
        // SAFETY: all of them live while there is a context of them, and code does not refer to these parts of the state.
        let (warps, grid, worker) = unsafe { (&mut (*context.state).warps, &*context.grid, &*context.worker) };
        let context = ptr::from_mut(context);
        let mut enter = |warp: u32, place: u32, lanes: u32, limit: u32| {
            // SAFETY: `cta` of a module of this kind, made for this shape, with all that its context has to hold; what it accesses beyond that has been
            // allowed by `check` or `find`.
            unsafe {
                let entry: unsafe extern "C" fn(*mut Context, u32, u32, u32, u32) -> i32 =
                    std::mem::transmute(ptr::with_exposed_provenance::<()>(self.code.entry as usize));
                entry(context, warp, place, lanes, limit)
            }
        };
        let mut run = Run { ways, grid, worker, cta, shape: self.cta, frames, enter: &mut enter };
        if fresh {
            warps.start(self.cta.iter().product(), &mut run);
        }
        let exit = warps.run(&mut run);
        // SAFETY: no code runs any more.
        match unsafe { (*context).fault.take() } {
            Some(trap) => CtaExit::Fault(trap),
            None => exit,
        }
    }
}

impl State {
    /// Memory for CTAs of a launch. How many bytes of shared memory they have.
    fn start(&mut self, kernel: &CompiledKernel, grid: &Grid) -> u32 {
        const NONE: Line = Line([0; FRAME_ALIGN as usize]);
        let shared = kernel.shared_size(grid);
        if self.kernel == kernel.id && self.grid == grid.id {
            return shared;
        }
        self.grid = grid.id;
        if self.kernel != kernel.id {
            self.kernel = kernel.id;
            self.extents.clear();
            self.extents.resize(kernel.sites.len(), Allowed::default());
            self.epochs.clear();
            self.epochs.resize(kernel.sites.len(), 0);
            self.steps = StepState::default();
        }
        for (allowed, site) in self.extents.iter_mut().zip(&kernel.sites) {
            // Another launch has other parameters.
            allowed.room = 0;
            match site.space {
                Space::Shared => *allowed = Allowed::new(site, 0, u64::from(shared)),
                Space::Local => *allowed = Allowed::new(site, 0, u64::from(kernel.local.size)),
                Space::Param => *allowed = Allowed::new(site, 0, grid.launch.params.len() as u64),
                _ => {}
            }
        }
        self.nontemporal = nontemporal(&kernel.sites, grid);
        // What was allowed in another epoch is looked at before the first CTA.
        self.epoch = None;
        let threads = kernel.cta.iter().product::<u32>().next_multiple_of(32);
        let local = if kernel.local.size == 0 { 0 } else { u64::from(kernel.local.stride) * u64::from(threads) };
        for (memory, bytes) in [(&mut self.frames, u64::from(kernel.frames)), (&mut self.local, local)] {
            if memory.len() < lines(bytes) {
                memory.resize(lines(bytes), NONE);
            }
        }
        shared
    }

    /// What was found of memory, where it no longer holds.
    fn refresh(&mut self, kernel: &CompiledKernel, epoch: u64) {
        // What was allowed before a free may be so no more.
        if self.epoch != Some(epoch) {
            self.epoch = Some(epoch);
            self.unprepared = kernel.apart.is_some();
            for ((allowed, found), site) in self.extents.iter_mut().zip(&self.epochs).zip(&kernel.sites) {
                if *found != epoch && !matches!(site.space, Space::Shared | Space::Local | Space::Param) {
                    *allowed = Allowed::default();
                }
            }
        }
    }

    /// What each CTA begins with.
    fn clear(&mut self, kernel: &CompiledKernel, shared: usize) {
        if shared > 0 || !kernel.steps.is_empty() {
            self.steps.start(kernel.cta.iter().product(), shared);
        }
        if let Some(bottom) = kernel.stack {
            self.tops.clear();
            self.tops.resize(kernel.cta.iter().product::<u32>().next_multiple_of(32) as usize, bottom);
        }
    }
}
