//! What compiled code asks for: looks at accesses, single instructions, the end of the grid.

use std::panic::{AssertUnwindSafe, catch_unwind};

use warploom_exec::address::{Space as Window, classify, split_shared};
use warploom_exec::fault::{AccessKind, Cause, FaultKind, Site};
use warploom_exec::memory::{MachineExtent, Memory, find_extent};
use warploom_interp::exchange::not_a_member;
use warploom_interp::{FetchPlaces, Gang, Local};
use warploom_ptx::ir::{Space, Step};
use warploom_simt::AccessKind as Kind;
use warploom_simt::codegen::{SiteKind, StopKind};

use crate::context::{Allowed, Context};
use crate::kernel::CompiledKernel;
use crate::sums;

pub(crate) fn access(site: &SiteKind) -> AccessKind {
    match site.kind {
        Kind::Load => AccessKind::Load,
        Kind::Store => AccessKind::Store,
        Kind::Atomic => AccessKind::Atomic,
    }
}

/// Looks at the accesses of some lanes; 1 if all are allowed: then the host's addresses of their bytes stand in place of theirs. Else the first that is not
/// becomes the fault.
///
/// # Safety
/// Called by compiled code, with its context and the addresses of as many lanes as it has.
pub(crate) unsafe extern "C" fn check(
    context: *mut Context,
    addresses: *mut u64,
    lanes: u32,
    site: u32,
    thread: u32,
) -> u32 {
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

/// Runs an instruction for some lanes; 1 if it has not failed.
///
/// # Safety
/// Called by compiled code, with its context and words for as many registers.
pub(crate) unsafe extern "C" fn step(
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
        (&*context.kernel, &*context.grid, words, &mut (*context.state).steps)
    };
    let [width, first, number] = [width, thread, number].map(|number| number as usize);
    let run = || {
        // SAFETY: the worker lives while the code runs.
        let worker = unsafe { &*context.worker }.index;
        // What lies by lane no instruction on its own reaches.
        let size = if kernel.local.word == 0 { kernel.local.size } else { 0 };
        let [size, stride] = [size, kernel.local.stride].map(|bytes| bytes as usize);
        // SAFETY: local memory and ends of stacks are there for whole warps, if the kernel has any; no code runs that writes there meanwhile.
        let (bytes, tops) = unsafe {
            let bytes = match size {
                0 => &[],
                _ => std::slice::from_raw_parts(context.local.add(first * stride), width * stride),
            };
            let tops = match kernel.stack {
                None => &mut [],
                Some(_) => std::slice::from_raw_parts_mut(context.tops.add(first), width),
            };
            (bytes, tops)
        };
        let local = Local { bytes, size, stride };
        let mut gang = Gang { cta: context.ctaid, worker, width, mask: lanes, thread, local, tops };
        kernel.steps.run(state, grid, number, &mut gang, words)
    };
    // Compiled code cannot be unwound.
    let broken =
        |_| Err((FaultKind::Internal("an instruction on its own has panicked".to_owned()), lanes.trailing_zeros()));
    match catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(broken) {
        Ok(()) => 1,
        Err((kind, lane)) => {
            let site = Site((kernel.sites.len() + kernel.stops.len() + number) as u64);
            context.fail(kernel, Cause::Known(kind), Some(site), thread + lane);
            0
        }
    }
}

/// Fetches from a texture whose handle all lanes have, as [`step`] would; 1 if that is done, and else `step` is to do it.
///
/// # Safety
/// Called by compiled code, with its context and words for the registers of such a step.
pub(crate) unsafe extern "C" fn fetch(
    context: *mut Context,
    words: *mut u64,
    number: u32,
    width: u32,
    handle: u64,
) -> u32 {
    let run = || {
        // SAFETY: kernel, grid and state live while the code runs, and nothing else refers to the state meanwhile.
        let (kernel, grid, state) = unsafe { (&*(*context).kernel, &*(*context).grid, &mut (*(*context).state).steps) };
        let (fetch, memory) = kernel.steps.fetch(state, grid, number as usize, handle)?;
        let FetchPlaces { at: [x, y], results } = fetch.places();
        // SAFETY: there are places for all registers, those of results behind the others.
        let (x, y, results) = unsafe {
            let place = |number: usize| words.add(number * Step::PLACE_WORDS);
            (&*place(x).cast(), &*place(y).cast(), &mut *place(results).cast())
        };
        fetch.run(memory, [x, y], results, width as usize)
    };
    // What has panicked here panics again in `step`, which tells.
    u32::from(catch_unwind(AssertUnwindSafe(run)).is_ok_and(|done| done.is_some()))
}

/// Ends the grid because of the first of some lanes.
///
/// # Safety
/// Called by compiled code, with its context and the addresses of as many lanes as it has.
pub(crate) unsafe extern "C" fn stop(
    context: *mut Context,
    addresses: *const u64,
    lanes: u32,
    number: u32,
    thread: u32,
) -> u32 {
    // SAFETY: the context lives while the code runs, and nothing else refers to it meanwhile.
    let context = unsafe { &mut *context };
    // SAFETY: as above.
    let kernel = unsafe { &*context.kernel };
    let lane = lanes.trailing_zeros();
    let kind = match kernel.stops[number as usize].kind {
        StopKind::Trap => FaultKind::Trap,
        StopKind::NoMulticast => FaultKind::NoMulticast,
        // SAFETY: there is one for each lane.
        StopKind::NotAMember => unsafe {
            FaultKind::IllegalInstruction(not_a_member(*addresses.add(lane as usize) as u32, lane))
        },
        // SAFETY: as above.
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
        Space::Param => Window::Param(u32::try_from(address).unwrap_or(u32::MAX)),
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
            let local = &kernel.local;
            let inside = in_space(kind, ".local", address, u64::from(local.size));
            inside.map(|()| context.local.expose_provenance() as u64 + local.place(thread, address))
        }
        Window::Param(offset) => {
            let address = if kind.space == Space::Generic { u64::from(offset) } else { address };
            return parameter(context, kind, address).map_err(Cause::Known);
        }
        Window::Global => return global(context, kind, site, address),
    };
    inside.map_err(Cause::Known)
}

/// Where a place among the kernel's parameters is.
fn parameter(context: &Context, site: &SiteKind, address: u64) -> Result<u64, FaultKind> {
    if site.kind != Kind::Load {
        return Err(FaultKind::InvalidAddressSpace("store to kernel parameters".to_owned()));
    }
    // SAFETY: the grid lives while the code runs.
    let params = &unsafe { &*context.grid }.launch.params;
    in_space(site, ".param", address, params.len() as u64)?;
    Ok(params.as_ptr().expose_provenance() as u64 + address)
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
                    let sums = &mut (*context.state).sums;
                    sums.meet(&(found.start..found.start + found.span));
                    context.row = sums.row();
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
pub(crate) unsafe extern "C" fn add(context: *mut Context, address: u64, summand: u32, site: u32) {
    // SAFETY: the context lives while the code runs, and nothing else refers to it meanwhile.
    let (context, kernel, kept) = unsafe { (&mut *context, &*(*context).kernel, &mut (*(*context).state).sums) };
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
            context.row = kept.row();
        } else {
            sums::add(address, summand);
        }
    }
}

/// Looks up what the parameters point to that the addresses of sites are made of: a team is left where the table does not tell.
pub(crate) fn prepare(context: &mut Context, kernel: &CompiledKernel) {
    for (site, number) in kernel.sites.iter().zip(0..) {
        // SAFETY: the grid lives while the code runs.
        let params = &unsafe { &*context.grid }.launch.params;
        let Some(bytes) = site.parameter.and_then(|offset| params.get(offset as usize..)?.first_chunk()) else {
            continue;
        };
        let address = u64::from_le_bytes(*bytes);
        // SAFETY: there is an entry for each site.
        let allowed = unsafe { *context.extents.add(number as usize) };
        if !allowed.holds(site, address) {
            // What is refused here need not be so where it is accessed, nor need that be accessed.
            let _ = global(context, site, number, address);
        }
    }
}

/// Whether all bytes from an address on may be accessed that a site needs: for several accesses with one base, none of which is a fault yet.
///
/// # Safety
/// Called by compiled code with its context.
pub(crate) unsafe extern "C" fn find(context: *mut Context, address: u64, site: u32) -> u32 {
    // SAFETY: the context lives while the code runs, and nothing else refers to it meanwhile.
    let context = unsafe { &mut *context };
    // SAFETY: as above.
    let kernel = unsafe { &*context.kernel };
    let kind = &kernel.sites[site as usize];
    if matches!(kind.space, Space::Shared | Space::Param) || global(context, kind, site, address).is_err() {
        return 0;
    }
    // SAFETY: there is an entry for each site.
    let allowed = unsafe { *context.extents.add(site as usize) };
    u32::from(allowed.holds(kind, address))
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
pub(crate) unsafe extern "C" fn poll(context: *mut Context) -> u32 {
    // SAFETY: grid and worker live while the code runs.
    let (grid, worker, cta) = unsafe { (&*(*context).grid, &*(*context).worker, (*context).ctaid) };
    u32::from(!grid.goes_on(worker, cta))
}
