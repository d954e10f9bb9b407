//! Values that nobody has written: device memory as it was allocated, shared and local memory as a CTA finds it, registers. Such a value may be moved
//! and computed with; what is reported is where it decides something: a branch or a guard, an address, what the host is given.
//!
//! Memory is followed by the byte (`memory`), and so are the registers of each lane (`registers`) where instructions move bytes or cut them off; what is
//! computed with a value of which nobody has written a part is one that nobody has written. Device memory and arrays count as not written if the program
//! allocated them, physical memory when it is mapped for the first time. The host writes pinned and managed memory, and physical memory that lies with it,
//! without telling: a page of it counts as not written as long as nobody has touched it (`touched`). Others write what is shared with their processes.

mod blocks;
mod memory;
mod padding;
mod registers;
mod touched;
mod votes;

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_exec::address::SHARED_PER_CTA;
use warploom_exec::fault::AccessKind;
use warploom_exec::memory::{MemoryKind, Spread};
use warploom_exec::observe::{
    Access, At, Crossing, CtaObserver, Exchange, GridFacts, GridObserver, HostEvent, NO_REGISTER, Observer, Proxy,
    Space, Step, Use, Vote, VotePart, Wants,
};

use crate::grid::GridNames;
use crate::origin as host;
use crate::registry::Check;
use crate::report::{Note, Report, count};
use crate::sink::Sink;
use blocks::Blocks;
use memory::{Bytes, Fresh, Known, Local};
use padding::Gap;
use registers::{ALL, Origin, Registers, Undefined, loaded, result};
use votes::Votes;

/// What a value decided.
#[derive(Clone, Copy)]
enum Decided {
    /// Which way lanes go, or which of them take part.
    Branch,
    /// An address.
    Address,
}

/// The check for values that nobody has written.
pub struct InitCheck {
    shared: Arc<Shared>,
}

struct Shared {
    fresh: Mutex<Fresh>,
    blocks: Mutex<Blocks>,
    sink: Arc<Sink>,
}

impl InitCheck {
    /// Reports to `sink`.
    pub fn new(sink: &Arc<Sink>) -> InitCheck {
        let shared = Shared { fresh: Mutex::default(), blocks: Mutex::default(), sink: Arc::clone(sink) };
        InitCheck { shared: Arc::new(shared) }
    }
}

impl Shared {
    /// The host is given bytes.
    fn give(&self, range: Range<u64>, what: &str) {
        let mut fresh = self.fresh.lock();
        fresh.settle(&range);
        let mut gaps = fresh.gaps(range.clone());
        let mut unclear = true;
        gaps.retain(|gap| {
            let found = padding::gap(gap, &range, |beside| fresh.unwritten(beside).is_none());
            unclear &= found != Gap::Hole;
            found != Gap::Padding
        });
        let Some(first) = gaps.first().map(|gap| gap.start) else { return };
        // Once is enough.
        gaps.iter().for_each(|gap| fresh.write(gap.clone()));
        drop(fresh);
        let bytes = gaps.iter().map(|gap| gap.end - gap.start).sum();
        let message = format!("{what} gives the host {} that nobody has written", count(bytes, "byte"));
        let mut notes = vec![Note { frames: host::Origin::here().frames(), ..Note::new("it was done here") }];
        notes.retain(|note| !note.frames.is_empty());
        notes.extend(self.blocks.lock().at(first, "the first lies"));
        notes.extend(
            unclear.then(|| Note::new("structures leave out such bytes in front of aligned members and at their end")),
        );
        let kind = "uninitialised-output";
        self.sink.report(Report { check: Check::Init, kind, message, thread: None, notes });
    }
}

impl Observer for InitCheck {
    fn wants(&self) -> Wants {
        Wants { accesses: true, steps: true, ..Wants::default() }
    }

    fn begin_grid(&self, facts: &GridFacts<'_>) -> Box<dyn GridObserver> {
        let warps = facts.launch.cta.iter().product::<u32>().div_ceil(32);
        Box::new(Watched(Arc::new(GridInit { shared: self.shared.clone(), names: GridNames::new(facts), warps })))
    }

    fn host(&self, event: &HostEvent) {
        match event {
            HostEvent::Alloc { info, .. } if matches!(info.kind, MemoryKind::Managed | MemoryKind::PinnedHost) => {
                self.shared.blocks.lock().made(info);
                self.shared.fresh.lock().add_silent(info.base..info.base + info.size);
            }
            HostEvent::Alloc { info, place } if matches!(info.kind, MemoryKind::Device | MemoryKind::Array) => {
                self.shared.blocks.lock().made(info);
                // What a stream is to have is another's until it gets there.
                if place.is_none() {
                    self.shared.fresh.lock().add(info.base..info.base + info.size);
                }
            }
            HostEvent::Mapped { info, fresh: true, silent } => {
                self.shared.blocks.lock().made(info);
                let mut fresh = self.shared.fresh.lock();
                match silent {
                    true => fresh.add_silent(info.base..info.base + info.size),
                    false => fresh.add(info.base..info.base + info.size),
                }
            }
            HostEvent::Ready(info) if info.kind == MemoryKind::Device => {
                self.shared.fresh.lock().add(info.base..info.base + info.size);
            }
            // What a stream is to free is used by all that it holds before.
            HostEvent::Free { info, place: None }
            | HostEvent::Gone(info)
            | HostEvent::Outside(info)
            | HostEvent::Mapped { info, .. }
            | HostEvent::Unmapped(info) => {
                self.shared.fresh.lock().remove(&(info.base..info.base + info.size));
            }
            HostEvent::Touches { read, written, what, .. } => match (read, written) {
                (Some(read), Some(written)) if written.host => self.shared.give(read.range.clone(), what),
                (Some(read), Some(written)) if !read.host => {
                    self.shared.fresh.lock().copy(read.range.start, written.range.clone());
                }
                (_, Some(written)) => self.shared.fresh.lock().write(written.range.clone()),
                (_, None) => {}
            },
            _ => {}
        }
    }
}

#[derive(Default)]
struct Warp {
    registers: Registers,
    local: Local,
}

struct GridInit {
    shared: Arc<Shared>,
    names: GridNames,
    /// Of a CTA.
    warps: u32,
}

/// A grid whose CTAs are watched.
struct Watched(Arc<GridInit>);

impl GridObserver for Watched {
    fn begin(&self, ctas: &[[u32; 3]]) -> Box<dyn CtaObserver> {
        let known = Known::new(&self.0.shared.fresh.lock());
        let mut warps = Vec::new();
        warps.resize_with(ctas.len() * self.0.warps as usize, Warp::default);
        let (alone, shared, votes) = (ctas.len() == 1, Bytes::default(), Votes::default());
        Box::new(CtaInit { grid: self.0.clone(), alone, shared, known, warps, votes })
    }
}

/// A CTA, or those of a cluster.
struct CtaInit {
    grid: Arc<GridInit>,
    /// It has no cluster: nobody else writes its shared memory.
    alone: bool,
    shared: Bytes,
    known: Known,
    /// Of all CTAs, one after another.
    warps: Vec<Warp>,
    votes: Votes,
}

impl CtaInit {
    fn warp(&mut self, at: &At) -> &mut Warp {
        let index = at.rank * self.grid.warps + at.warp;
        &mut self.warps[index as usize]
    }

    /// Whether all bytes that lanes access, and those between them, are ones that somebody has written.
    #[inline]
    fn all_written(&mut self, at: &At, access: &Access<'_>) -> bool {
        let [low, high] = access.reach;
        let range = low..high.saturating_add(access.bytes.into());
        match access.space {
            Space::Global => self.known.is_written(&range, &self.grid.shared.fresh),
            Space::Shared if !self.alone => true,
            Space::Shared => {
                let start = low % SHARED_PER_CTA;
                range.end - range.start <= NEAR && self.shared.is_written(&(start..start + (range.end - range.start)))
            }
            Space::Local => low == high && self.warp(at).local.is_written(range, at.mask),
            Space::Param => true,
        }
    }

    /// A texel that some of what a lane gets comes from; the registers held what somebody has written before the first one.
    fn texel(&mut self, at: &At, access: &Access<'_>) {
        let (site, space, fresh) = (at.site, access.space, &self.grid.shared.fresh);
        for lane in at.lanes() {
            let start = access.addresses[lane as usize];
            let range = start..start + u64::from(access.bytes);
            if self.known.is_written(&range, fresh) {
                continue;
            }
            let Some(address) = fresh.lock().unwritten(range) else { continue };
            let index = at.rank * self.grid.warps + at.warp;
            let registers = &mut self.warps[index as usize].registers;
            let undefined = Undefined::whole(1 << lane, Origin::Memory { site, space, address });
            for &register in access.registers {
                registers.write(at.activation, register, 1 << lane, Some(&undefined));
            }
        }
    }

    /// Writes of values that somebody has written, by lanes whose bytes lie in one row. False if they do not.
    fn write_row(&mut self, at: &At, access: &Access<'_>) -> bool {
        let [low, high] = access.reach;
        let range = low..high.saturating_add(access.bytes.into());
        let row = access.spread == Spread::Consecutive
            && access.apart == access.bytes
            && range.end - range.start == 32 * u64::from(access.bytes);
        match access.space {
            Space::Global if row => self.grid.shared.fresh.lock().write(range),
            Space::Shared if row && self.alone => {
                let start = low % SHARED_PER_CTA;
                self.shared.write(start..start + (range.end - range.start), true);
            }
            Space::Local if low == high => self.warp(at).local.write(range, at.mask, true),
            _ => return false,
        }
        true
    }
}

/// Bytes of shared memory that are looked at together, at most.
const NEAR: u64 = 4096;

impl GridInit {
    fn report(&self, at: &At, lanes: u32, decided: Decided, origin: Origin) {
        let lane = lanes.trailing_zeros();
        let (kind, what) = match decided {
            Decided::Branch => ("uninitialised-condition", "a condition"),
            Decided::Address => ("uninitialised-address", "an address"),
        };
        let (message, notes) = match origin {
            Origin::Register => {
                let why = "it comes from a register that was never written".to_owned();
                (format!("{what} hangs on a value that nobody has written"), vec![Note::new(why)])
            }
            Origin::Memory { site, space, address } => {
                let name = match space {
                    Space::Global => "global",
                    Space::Shared => "shared",
                    Space::Local => "local",
                    Space::Param => "parameter",
                };
                let reader = self.names.thread(&At { site, ..*at }, lane);
                let text = format!("it was read here from {name} memory, at {address:#x}");
                let mut notes = vec![Note::by(reader, text)];
                if space == Space::Global {
                    notes.extend(self.shared.blocks.lock().at(address, "it is"));
                }
                (format!("{what} hangs on a value that nobody has written"), notes)
            }
        };
        let thread = Some(self.names.thread(at, lane));
        self.shared.sink.report(Report { check: Check::Init, kind, message, thread, notes });
    }
}

impl CtaObserver for CtaInit {
    fn step(&mut self, at: &At, step: &Step<'_>) {
        let registers = &mut self.warp(at).registers;
        if registers.passes(at.activation, step, at.mask) {
            return;
        }
        let mut spoils: Vec<(u32, Undefined)> = Vec::new();
        let mut decides = Vec::new();
        for &(register, how) in step.reads {
            let mask = at.mask & !registers.idle(at.activation, step.idle, register);
            let Some(undefined) = registers.undefined(at.activation, register, mask) else { continue };
            match how {
                Use::Value => spoils.push((register, undefined)),
                Use::Decides => decides.push((register, Decided::Branch, undefined)),
                Use::Address => decides.push((register, Decided::Address, undefined)),
            }
        }
        for (register, _, undefined) in &decides {
            // What has been told is not told again of all that follows from it.
            registers.write(at.activation, *register, undefined.lanes, None);
        }
        for &register in step.writes {
            // What memory gives is told by the access.
            let result = if step.memory { None } else { result(register, &spoils, step.pieces) };
            registers.write(at.activation, register, at.mask, result.as_ref());
        }
        for (_, decided, undefined) in decides {
            self.grid.report(at, undefined.lanes, decided, undefined.origin);
        }
    }

    fn exchange(&mut self, at: &At, exchange: &Exchange<'_>) {
        self.warp(at).registers.exchange(exchange);
    }

    fn vote(&mut self, at: &At, vote: &Vote) {
        let key = (at.rank, vote.barrier, vote.phase);
        match vote.part {
            VotePart::Gives { register, holds } => {
                let undefined = self.warp(at).registers.undefined(at.activation, register, at.mask);
                self.votes.give(key, at.mask, holds, undefined.as_ref());
            }
            VotePart::Gets { register, decided } => {
                let undefined = self.votes.get(key, at.mask, decided);
                self.warp(at).registers.write(at.activation, register, at.mask, undefined.as_ref());
            }
        }
    }

    fn steps(&mut self, at: &At, step: &Step<'_>) -> bool {
        self.warp(at).registers.passes(at.activation, step, at.mask)
    }

    fn reads(&mut self, at: &At, access: &Access<'_>) -> bool {
        self.all_written(at, access)
    }

    fn cross(&mut self, at: &At, crossing: &Crossing<'_>) {
        let Warp { registers, local } = self.warp(at);
        let (from, to) =
            if crossing.enters { (crossing.caller, at.activation) } else { (at.activation, crossing.caller) };
        if crossing.enters {
            registers.begin(at.activation);
        }
        for &(source, target) in crossing.registers {
            let undefined = source.and_then(|source| registers.undefined(from, source, at.mask));
            match target {
                Some(target) => registers.write(to, target, at.mask, undefined.as_ref()),
                None => local.unknown = true,
            }
        }
    }

    fn access(&mut self, at: &At, access: &Access<'_>) {
        if access.space == Space::Param || at.mask == 0 {
            return;
        }
        if access.proxy == Proxy::Texture && access.kind == AccessKind::Load {
            return self.texel(at, access);
        }
        // Nearly always all that is read, or about to be stored, is what somebody has written.
        let stores = access.kind == AccessKind::Store;
        let registers = &self.warp(at).registers;
        let spoils = |&register: &u32| {
            register != NO_REGISTER && registers.undefined_lanes(at.activation, register) & at.mask != 0
        };
        if !(stores && access.registers.iter().any(spoils)) {
            let written = self.all_written(at, access);
            if written || stores && self.write_row(at, access) {
                return;
            }
        }
        let index = at.rank * self.grid.warps + at.warp;
        let CtaInit { grid, alone, shared, known, warps, votes: _ } = self;
        let (fresh, alone) = (&grid.shared.fresh, *alone);
        let Warp { registers, local } = &mut warps[index as usize];
        let parts = access.registers.len().max(1) as u64;
        let bytes = u64::from(access.bytes) / parts;
        for part in 0..parts {
            let register = access.registers.get(part as usize).copied().filter(|&register| register != NO_REGISTER);
            let mut undefined: Option<Undefined> = None;
            let spoiled = match (access.kind, register) {
                (AccessKind::Store, Some(register)) => registers.undefined(at.activation, register, at.mask),
                _ => None,
            };
            for lane in at.lanes() {
                let start = access.addresses[lane as usize] + part * bytes;
                let inside = start % SHARED_PER_CTA;
                if access.kind != AccessKind::Store && register.is_some() {
                    let found = |from: u64| match access.space {
                        Space::Global => fresh.lock().unwritten(start + from..start + bytes).map(|at| at - start),
                        Space::Shared if alone => shared.unwritten(inside + from..inside + bytes).map(|at| at - inside),
                        Space::Local => local.unwritten(start + from..start + bytes, lane).map(|at| at - start),
                        Space::Shared | Space::Param => None,
                    };
                    let written = access.space == Space::Global && known.is_written(&(start..start + bytes), fresh);
                    if let Some(first) = if written { None } else { found(0) } {
                        let address = if access.space == Space::Shared { inside } else { start } + first;
                        let origin = Origin::Memory { site: at.site, space: access.space, address };
                        let each = std::iter::successors(Some(first), |byte| found(byte + 1));
                        undefined.get_or_insert_with(|| Undefined::none(origin)).add(lane, loaded(each, bytes));
                    }
                }
                if access.kind == AccessKind::Load {
                    continue;
                }
                let holes = spoiled.as_ref().map_or(0, |spoiled| spoiled.of_lane(lane));
                let mut write = |range: Range<u64>, defined: bool| match access.space {
                    Space::Global if defined && known.has(&range) => {}
                    Space::Global if defined => fresh.lock().write(range),
                    Space::Global => fresh.lock().spoil(range),
                    Space::Shared if alone => {
                        shared.write(range.start % SHARED_PER_CTA..(range.end - 1) % SHARED_PER_CTA + 1, defined);
                    }
                    Space::Local => local.write(range, 1 << lane, defined),
                    Space::Shared | Space::Param => {}
                };
                match holes {
                    0 => write(start..start + bytes, true),
                    ALL => write(start..start + bytes, false),
                    _ => (0..bytes).for_each(|byte| write(start + byte..start + byte + 1, holes >> byte & 1 == 0)),
                }
            }
            if let (Some(register), true) = (register, access.kind != AccessKind::Store) {
                registers.write(at.activation, register, at.mask, undefined.as_ref());
            }
        }
    }

    fn malloc(&mut self, _: &At, address: u64, bytes: u64) {
        if address != 0 {
            self.grid.shared.fresh.lock().add(address..address + bytes);
        }
    }
}
