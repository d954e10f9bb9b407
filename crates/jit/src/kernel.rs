//! Compiled code as a kernel: its context, the checks that it asks for, and its faults.

use std::any::TypeId;
use std::ptr;
use std::sync::atomic::Ordering;

use warploom_exec::address::split_shared;
use warploom_exec::fault::{AccessKind, Cause, FaultKind, Place, Site, SiteInfo, Trap};
use warploom_exec::grid::{Grid, Poll};
use warploom_exec::kernel::{Cta, CtaExit, LoadedKernel, Worker};
use warploom_exec::memory::{MachineExtent, Memory, find_extent};
use warploom_simt::AccessKind as Kind;
use warploom_simt::codegen::{FRAME_ALIGN, SiteKind, context, outcome};

use crate::llvm::Code;

/// A CTA gets its shared memory in multiples of so many bytes, as on hardware and in the interpreter.
const SHARED_GRANULE: u32 = 128;

/// A kernel for CTAs of one shape.
pub(crate) struct CompiledKernel {
    pub(crate) name: String,
    pub(crate) code: Code,
    pub(crate) sites: Vec<SiteKind>,
    pub(crate) places: Vec<Place>,
    pub(crate) frames: u32,
    /// Bytes of static shared memory.
    pub(crate) shared: u32,
    pub(crate) cta: [u32; 3],
    /// Unique in the process.
    pub(crate) id: u64,
}

/// What compiled code gets. The first fields are those of [`context`].
#[repr(C)]
struct Context {
    params: *const u8,
    variables: *const u64,
    check: unsafe extern "C" fn(*mut Context, *const u64, u32, u32, u32) -> u32,
    extents: *mut MachineExtent,
    shared: *mut u8,
    shared_size: u64,
    ctaid: [u32; 3],
    nctaid: [u32; 3],
    frames: *mut u8,
    attention: *const u32,
    poll: unsafe extern "C" fn(*mut Context) -> u32,
    kernel: *const CompiledKernel,
    grid: *const Grid,
    worker: *const Worker,
    fault: Option<Box<Trap>>,
}

const _: () = {
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
    assert!(std::mem::offset_of!(Context, kernel) == context::SIZE as usize);
};

/// Memory as compiled code wants it aligned.
#[derive(Clone, Copy)]
#[repr(C, align(256))]
struct Line([u8; FRAME_ALIGN as usize]);

/// What one CTA leaves to the next.
#[derive(Default)]
struct State {
    kernel: u64,
    extents: Vec<MachineExtent>,
    frames: Vec<Line>,
    shared: Vec<Line>,
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

    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit {
        let kept = cta.state.take().and_then(|state| state.downcast::<State>().ok());
        let mut state = kept.unwrap_or_default();
        let shared = (self.shared + grid.launch.dynamic_shared).next_multiple_of(SHARED_GRANULE);
        state.start(self, grid, shared);
        let mut context = Context {
            params: grid.launch.params.as_ptr(),
            variables: grid.launch.variables.as_ptr(),
            check,
            extents: state.extents.as_mut_ptr(),
            shared: state.shared.as_mut_ptr().cast(),
            shared_size: u64::from(shared),
            ctaid: cta.id,
            nctaid: grid.launch.grid,
            frames: state.frames.as_mut_ptr().cast(),
            attention: ptr::from_ref(worker.attention()).cast(),
            poll,
            kernel: self,
            grid,
            worker,
            fault: None,
        };
        // SAFETY: `cta` of a module that was made for this shape, with all that its context has to hold; what it accesses beyond that has been
        // allowed by `check`.
        let result = unsafe {
            let entry: unsafe extern "C" fn(*mut Context) -> i32 =
                std::mem::transmute(ptr::with_exposed_provenance::<()>(self.code.entry as usize));
            entry(&mut context)
        };
        let fault = context.fault.take();
        cta.state = Some(state);
        match (result, fault) {
            (outcome::ENDED, _) => CtaExit::Finished,
            (outcome::CANCELLED, _) => CtaExit::Cancelled,
            (_, Some(trap)) => CtaExit::Fault(trap),
            (other, None) => {
                let kind = FaultKind::Internal(format!("compiled code has come back with {other}"));
                CtaExit::Fault(Box::new(Trap::new(kind)))
            }
        }
    }

    fn site(&self, Site(number): Site) -> SiteInfo {
        let site = self.sites.get(number as usize);
        SiteInfo {
            place: self.places.get(number as usize).cloned().unwrap_or_default(),
            access: site.map(|site| (access(site), u64::from(site.bytes))),
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
    fn start(&mut self, kernel: &CompiledKernel, grid: &Grid, shared: u32) {
        const NONE: Line = Line([0; FRAME_ALIGN as usize]);
        if self.kernel != kernel.id {
            self.kernel = kernel.id;
            self.extents.clear();
            self.extents.resize(kernel.sites.len(), MachineExtent::default());
        }
        // What was allowed before a free may be so no more.
        let epoch = grid.memory().epoch_word().load(Ordering::Acquire);
        for extent in &mut self.extents {
            if extent.epoch != epoch {
                *extent = MachineExtent::default();
            }
        }
        if self.frames.len() < lines(u64::from(kernel.frames)) {
            self.frames.resize(lines(u64::from(kernel.frames)), NONE);
        }
        self.shared.clear();
        self.shared.resize(lines(u64::from(shared)), NONE);
    }
}

/// Looks at the accesses of some lanes; 1 if all are allowed. Else the first that is not becomes the fault.
///
/// # Safety
/// Called by compiled code, with its context and the addresses of as many lanes as it has.
unsafe extern "C" fn check(context: *mut Context, addresses: *const u64, lanes: u32, site: u32, thread: u32) -> u32 {
    // SAFETY: the context lives while the code runs, and nothing else refers to it meanwhile.
    let context = unsafe { &mut *context };
    // SAFETY: as above.
    let (kernel, grid) = unsafe { (&*context.kernel, &*context.grid) };
    let kind = kernel.sites[site as usize];
    let mut lanes = lanes;
    while lanes != 0 {
        let lane = lanes.trailing_zeros();
        lanes &= lanes - 1;
        // SAFETY: there is one for each lane.
        let address = unsafe { *addresses.add(lane as usize) };
        let cause = if kind.shared {
            shared_fault(&kind, address, context.shared_size).map(Cause::Known)
        } else {
            let extent = context.extents.wrapping_add(site as usize);
            global_fault(grid.memory(), &kind, address, extent)
        };
        if let Some(cause) = cause {
            let [x, y, _] = kernel.cta;
            let thread = thread + lane;
            context.fault = Some(Box::new(Trap {
                cause,
                site: Some(Site(u64::from(site))),
                cta: Some(context.ctaid),
                thread: Some([thread % x, thread / x % y, thread / (x * y)]),
            }));
            return 0;
        }
    }
    1
}

fn global_fault(memory: &Memory, site: &SiteKind, address: u64, extent: *mut MachineExtent) -> Option<Cause> {
    let kind = match site.kind {
        Kind::Load => 0,
        Kind::Store => 1,
        Kind::Atomic => 2,
    };
    let aligned = address.is_multiple_of(u64::from(site.bytes));
    // SAFETY: the memory lives, and the extent is the site's.
    let allowed = aligned && unsafe { find_extent(memory, address, u64::from(site.bytes), kind, extent) } != 0;
    (!allowed).then_some(Cause::Access(address))
}

/// As the interpreter tells them apart.
fn shared_fault(site: &SiteKind, address: u64, limit: u64) -> Option<FaultKind> {
    let size = u64::from(site.bytes);
    if !address.is_multiple_of(size) {
        return Some(FaultKind::MisalignedInSpace { space: ".shared", address, size });
    }
    if address < limit && limit - address >= size {
        return None;
    }
    match u32::try_from(address) {
        Ok(short) if split_shared(short).0 != 0 => Some(FaultKind::NoSuchCta { address: short, cluster_size: 1 }),
        _ => Some(FaultKind::OutsideSpace { space: ".shared", address, size, limit, kind: access(site) }),
    }
}

/// The attention word is raised: 1 if the CTA is to be given up. One that is only to make room goes on: it cannot be left in the middle.
///
/// # Safety
/// Called by compiled code with its context.
unsafe extern "C" fn poll(context: *mut Context) -> u32 {
    // SAFETY: grid and worker live while the code runs.
    let (grid, worker) = unsafe { (&*(*context).grid, &*(*context).worker) };
    u32::from(grid.poll(worker) == Poll::Cancel)
}
