//! What a thread may access, to the byte: every space, freed memory, alignment, constants, and the heap of kernels.

mod blocks;

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warploom_exec::address::split_shared;
use warploom_exec::fault::{AccessKind, Nearest, Refusal};
use warploom_exec::grid::Environment;
use warploom_exec::memory::{AllocationInfo, Memory, MemoryKind};
use warploom_exec::observe::{
    Access, At, CtaObserver, GridFacts, GridObserver, HostEvent, Observer, Proxy, Space, Wants,
};

use crate::grid::GridNames;
use crate::registry::Check;
use crate::report::{Note, Report, count};
use crate::sink::Sink;
use crate::span::{self, overlap};
use blocks::Blocks;

/// The check of memory.
pub struct MemoryCheck {
    sink: Arc<Sink>,
    blocks: Arc<Mutex<Blocks>>,
}

fn lock(blocks: &Mutex<Blocks>) -> MutexGuard<'_, Blocks> {
    blocks.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryCheck {
    /// Reports to `sink`.
    pub fn new(sink: &Arc<Sink>) -> MemoryCheck {
        MemoryCheck { sink: Arc::clone(sink), blocks: Arc::default() }
    }
}

impl Observer for MemoryCheck {
    fn wants(&self) -> Wants {
        Wants { accesses: true, ..Wants::default() }
    }

    fn begin_grid(&self, grid: &GridFacts<'_>) -> Box<dyn GridObserver> {
        Box::new(Watched(Arc::new(GridMemory {
            sink: Arc::clone(&self.sink),
            names: GridNames::new(grid),
            environment: Arc::clone(&grid.launch.environment),
            cluster: grid.launch.cluster.iter().product::<u32>().max(1),
            freed: grid.place.map_or_else(Vec::new, |place| lock(&self.blocks).freed_before(place)),
            blocks: Arc::clone(&self.blocks),
        })))
    }

    fn host(&self, event: &HostEvent) {
        if let HostEvent::Alloc { .. } | HostEvent::Free { .. } = event {
            lock(&self.blocks).note(event);
        }
    }
}

struct GridMemory {
    sink: Arc<Sink>,
    names: GridNames,
    environment: Arc<Environment>,
    /// CTAs of a cluster.
    cluster: u32,
    /// What its stream has freed before it, though it may still be there.
    freed: Vec<Range<u64>>,
    blocks: Arc<Mutex<Blocks>>,
}

/// A grid whose CTAs are watched.
struct Watched(Arc<GridMemory>);

impl GridObserver for Watched {
    fn begin(&self, _: &[[u32; 3]]) -> Box<dyn CtaObserver> {
        Box::new(CtaMemory { grid: self.0.clone(), recent: [Known::default(); RECENT], next: 0 })
    }
}

/// An allocation of global memory that has been found to be there to the byte, and not freed by the stream.
#[derive(Clone, Copy, Default)]
struct Known {
    /// First byte and end.
    range: [u64; 2],
    /// The state of memory for which it holds.
    state: u64,
    /// It may be written, too.
    writable: bool,
}

/// Allocations that a CTA remembers.
const RECENT: usize = 4;

/// A CTA, or those of a cluster.
struct CtaMemory {
    grid: Arc<GridMemory>,
    recent: [Known; RECENT],
    next: usize,
}

/// What is wrong with the access of a lane.
struct Wrong {
    kind: &'static str,
    message: String,
    notes: Vec<Note>,
    /// The allocation that it is about.
    about: Option<AllocationInfo>,
}

impl CtaObserver for CtaMemory {
    fn access(&mut self, at: &At, access: &Access<'_>) {
        // Textures and surfaces have bounds of their own, which the instructions keep.
        if access.proxy != Proxy::Texture && !self.is_right(at, access) {
            self.grid.look_at_lanes(at, access);
        }
    }

    fn reads(&mut self, at: &At, access: &Access<'_>) -> bool {
        self.is_right(at, access)
    }

    fn free(&mut self, at: &At, address: u64) {
        self.grid.free(at, address);
    }
}

impl CtaMemory {
    /// Whether nothing can be wrong with an access.
    fn is_right(&mut self, at: &At, access: &Access<'_>) -> bool {
        let [low, high] = access.reach;
        let len = (high - low).saturating_add(access.bytes.into());
        let inside = match access.space {
            Space::Global => self.is_allowed(low, len, access.kind),
            Space::Shared => {
                let of = |address: u64| address >> 24;
                of(low) == u64::from(at.rank) && of(high) == of(low) && (low & 0xff_ffff) + len <= access.limit
            }
            Space::Local => low.saturating_add(len) <= access.limit,
            Space::Param => access.kind == AccessKind::Load && low.saturating_add(len) <= access.limit,
        };
        inside && access.aligned
    }

    /// Whether bytes of global memory are those of one allocation, and may be accessed in this way.
    fn is_allowed(&mut self, address: u64, len: u64, kind: AccessKind) -> bool {
        let (state, end) = (self.grid.memory().state(), address.saturating_add(len));
        let load = kind == AccessKind::Load;
        let holds = |known: &Known| {
            known.range[0] <= address && end <= known.range[1] && known.state == state && (load || known.writable)
        };
        self.recent.iter().any(holds) || self.learn(address, len, kind)
    }

    #[cold]
    fn learn(&mut self, address: u64, len: u64, kind: AccessKind) -> bool {
        let (state, grid) = (self.grid.memory().state(), &*self.grid);
        if !grid.is_allowed(address, len, kind) {
            return false;
        }
        // Of registered pages of the host nothing is known but that this access is right.
        if let Some(info) = grid.memory().lookup(address) {
            let whole = |kind| grid.is_allowed(info.base, info.size, kind);
            let known = Known { range: [info.base, info.base + info.size], state, writable: whole(AccessKind::Store) };
            if known.writable || whole(AccessKind::Load) {
                self.recent[self.next % RECENT] = known;
                self.next += 1;
            }
        }
        true
    }
}

impl GridMemory {
    fn free(&self, at: &At, address: u64) {
        let wrong = match self.memory().lookup(address) {
            Some(info) if info.kind != MemoryKind::DeviceHeap => {
                Wrong::new("foreign-free", format!("free of {address:#x} in a kernel, which malloc has not given"))
                    .about("it lies in", info)
            }
            Some(info) if info.base != address => {
                let offset = address - info.base;
                Wrong::new(
                    "foreign-free",
                    format!("free of {address:#x} in a kernel, which is not the start of a block"),
                )
                .about(&format!("it is at offset {offset} of"), info)
            }
            Some(_) => return,
            None => match self.memory().nearest(address) {
                Some(Nearest::Freed(0, info)) => {
                    Wrong::new("double-free", format!("free of {address:#x} in a kernel, which has been freed"))
                        .about("it was", info)
                }
                _ => {
                    Wrong::new("foreign-free", format!("free of {address:#x} in a kernel, where nothing is allocated"))
                }
            },
        };
        self.report(at, at.mask.trailing_zeros(), wrong);
    }
}

impl Wrong {
    fn new(kind: &'static str, message: String) -> Wrong {
        Wrong { kind, message, notes: Vec::new(), about: None }
    }

    fn note(mut self, text: String) -> Wrong {
        self.notes.push(Note::new(text));
        self
    }

    /// With a note on an allocation that stands before its description.
    fn about(self, text: &str, info: AllocationInfo) -> Wrong {
        Wrong { about: Some(info), ..self.note(format!("{text} {info}")) }
    }
}

impl GridMemory {
    fn memory(&self) -> &Memory {
        &self.environment.memory
    }

    fn report(&self, at: &At, lane: u32, wrong: Wrong) {
        let Wrong { kind, message, mut notes, about } = wrong;
        if let Some(info) = about {
            notes.extend(lock(&self.blocks).notes(&info));
        }
        let thread = Some(self.names.thread(at, lane));
        self.sink.report(Report { check: Check::Memory, kind, message, thread, notes });
    }

    /// Whether bytes of global memory are those of one allocation, and may be accessed in this way.
    fn is_allowed(&self, address: u64, len: u64, kind: AccessKind) -> bool {
        if self.memory().check_exact(address, len, kind).is_err() {
            return false;
        }
        if !self.freed.is_empty() && self.is_freed(address, len) {
            return false;
        }
        kind == AccessKind::Load || self.is_no_constant(address)
    }

    /// Whether the grid's stream has freed some of the bytes before it.
    #[cold]
    fn is_freed(&self, address: u64, len: u64) -> bool {
        self.freed.iter().any(|range| overlap(range, &span::from(address, len)))
    }

    /// Whether bytes that are there are no constants.
    fn is_no_constant(&self, address: u64) -> bool {
        !matches!(self.memory().lookup(address), Some(AllocationInfo { kind: MemoryKind::ModuleConst, .. }))
    }

    /// Reports what is wrong with the accesses of a warp.
    #[cold]
    fn look_at_lanes(&self, at: &At, access: &Access<'_>) {
        for lane in at.lanes() {
            let address = access.addresses[lane as usize];
            let wrong = match access.space {
                _ if access.align > 1 && !address.is_multiple_of(access.align.into()) => {
                    Some(misaligned(access, address))
                }
                Space::Global => self.wrong_in_global(access, address),
                Space::Shared => self.wrong_in_shared(at, access, address),
                Space::Local => wrong_in_frame("local memory", access, address),
                Space::Param if access.kind != AccessKind::Load => {
                    let what = describe(access);
                    let message = format!("{what} to the parameters of the kernel, which are constant");
                    Some(Wrong::new("write-to-constant", message))
                }
                Space::Param => wrong_in_frame("the parameters of the kernel", access, address),
            };
            if let Some(wrong) = wrong {
                self.report(at, lane, wrong);
            }
        }
    }

    fn wrong_in_global(&self, access: &Access<'_>, address: u64) -> Option<Wrong> {
        let what = describe(access);
        let fault = match self.memory().check_exact(address, access.bytes.into(), access.kind) {
            Err(fault) => fault,
            Ok(()) if self.is_freed(address, access.bytes.into()) => {
                let message = format!("{what} at {address:#x}, which has been freed in the order of the stream");
                let wrong = Wrong::new("use-after-free", message);
                let freed = lock(&self.blocks).last_freed(address);
                return Some(match freed {
                    Some(info) => wrong.about(&format!("it was at offset {} of", address - info.base), info),
                    None => wrong,
                });
            }
            Ok(()) if access.kind == AccessKind::Load || self.is_no_constant(address) => {
                return None;
            }
            Ok(()) => {
                let mut wrong =
                    Wrong::new("write-to-constant", format!("{what} at {address:#x}, which is constant memory"));
                if let Some(info) = self.memory().lookup(address) {
                    wrong = wrong.about(&format!("it is at offset {} of", address - info.base), info);
                }
                return Some(wrong);
            }
        };
        if fault.refusal == Refusal::ReadOnly {
            return Some(Wrong::new("write-to-read-only", format!("{what} at {address:#x}, which is read-only")));
        }
        let outside = |text: &str| Wrong::new("out-of-bounds", format!("{what} at {address:#x}, {text}"));
        Some(match fault.nearest {
            Some(Nearest::Straddles(info)) => {
                let beyond = address + u64::from(access.bytes) - (info.base + info.size);
                outside(&format!("of which {beyond} are beyond the end of an allocation")).about("it is", info)
            }
            Some(Nearest::Inside(offset, info)) => outside("which runs over the end of an allocation")
                .about(&format!("it starts at offset {offset} of"), info),
            Some(Nearest::After(0, info)) => {
                outside("just past the end of an allocation").about("the nearest is", info)
            }
            Some(Nearest::After(distance, info)) => {
                outside(&format!("{} past the end of an allocation", count(distance, "byte")))
                    .about("the nearest is", info)
            }
            Some(Nearest::Before(distance, info)) => {
                outside(&format!("{} before an allocation", count(distance, "byte"))).about("the nearest is", info)
            }
            Some(Nearest::Freed(offset, info)) => {
                Wrong::new("use-after-free", format!("{what} at {address:#x}, which has been freed"))
                    .about(&format!("it was at offset {offset} of"), info)
            }
            Some(Nearest::Host) => {
                let message = format!("{what} at {address:#x}, which is memory of the host that kernels cannot access");
                Wrong::new("host-pointer", message).note(
                    "it was neither allocated by the driver (cuMemHostAlloc) nor registered (cuMemHostRegister)"
                        .to_owned(),
                )
            }
            None if address < 1 << 16 => {
                Wrong::new("null-pointer", format!("{what} at {address:#x}, a null pointer, perhaps with an offset"))
            }
            None => Wrong::new("wild-pointer", format!("{what} at {address:#x}, where nothing is allocated")),
        })
    }

    fn wrong_in_shared(&self, at: &At, access: &Access<'_>, address: u64) -> Option<Wrong> {
        let what = describe(access);
        let short = u32::try_from(address).ok();
        let (rank, offset) = short.map_or((u32::MAX, 0), split_shared);
        if rank >= self.cluster {
            let message = format!("{what} at shared address {address:#x}, which is that of no CTA of the cluster");
            return Some(
                Wrong::new("other-cta", message).note(format!("the cluster has {}", count(self.cluster.into(), "CTA"))),
            );
        }
        if u64::from(offset) + u64::from(access.bytes) <= access.limit {
            return None;
        }
        let of = if rank == at.rank { String::new() } else { format!(" of CTA {rank} of the cluster") };
        let message = format!("{what} at offset {offset:#x} of the shared memory{of}, beyond its end");
        let note = format!("the CTA has {} of shared memory, static and dynamic", count(access.limit, "byte"));
        Some(Wrong::new("out-of-bounds", message).note(note))
    }
}

fn wrong_in_frame(what: &str, access: &Access<'_>, address: u64) -> Option<Wrong> {
    if address.saturating_add(access.bytes.into()) <= access.limit {
        return None;
    }
    let message = format!("{} at offset {address:#x} of {what}, beyond its end", describe(access));
    Some(Wrong::new("out-of-bounds", message).note(format!("it has {}", count(access.limit, "byte"))))
}

fn misaligned(access: &Access<'_>, address: u64) -> Wrong {
    let message = format!("{} at {address:#x}, which is not a multiple of {}", describe(access), access.align);
    Wrong::new("misaligned", message)
}

fn describe(access: &Access<'_>) -> String {
    format!("{} of {}", access.kind, count(access.bytes.into(), "byte"))
}
