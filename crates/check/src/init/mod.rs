//! Values that nobody has written: device memory as it was allocated, shared and local memory as a CTA finds it, registers. Such a value may be moved
//! and computed with; what is reported is where it decides something: a branch or a guard, an address, what the host is given.
//!
//! Memory is followed by the byte (`memory`), registers by the lane (`registers`): a value is one that nobody has written as soon as a part of it
//! is. Device memory counts as not written if the program allocated it, from when on the driver tells of the host's copies and fills; the host writes
//! pinned and managed memory without telling.

mod memory;
mod registers;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_exec::address::SHARED_PER_CTA;
use warploom_exec::fault::AccessKind;
use warploom_exec::memory::MemoryKind;
use warploom_exec::observe::{
    Access, At, Crossing, GridFacts, GridObserver, HostEvent, NO_REGISTER, Observer, Space, Step, StreamPlace, Use,
    Wants,
};

use crate::grid::GridNames;
use crate::registry::Check;
use crate::report::{Note, Report};
use crate::sink::Sink;
use memory::{Bytes, Fresh, Local};
use registers::{Origin, Registers};

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
    /// Copies to the host that may not have run yet.
    copies: Mutex<Vec<(StreamPlace, std::ops::Range<u64>, &'static str)>>,
    sink: Arc<Sink>,
}

impl InitCheck {
    /// Reports to `sink`.
    pub fn new(sink: &Arc<Sink>) -> InitCheck {
        let shared = Shared { fresh: Mutex::default(), copies: Mutex::default(), sink: Arc::clone(sink) };
        InitCheck { shared: Arc::new(shared) }
    }
}

impl Shared {
    fn give(&self, range: std::ops::Range<u64>, call: &'static str) {
        let mut fresh = self.fresh.lock();
        let Some(address) = fresh.unwritten(range.clone()) else { return };
        // Once is enough.
        fresh.write(range);
        drop(fresh);
        let message = format!("{call} gives the host bytes that nobody has written: the first one at {address:#x}");
        self.sink.report(Report {
            check: Check::Init,
            kind: "uninitialised-output",
            message,
            thread: None,
            notes: Vec::new(),
        });
    }

    /// Copies that have run by now.
    fn settle(&self, over: impl Fn(StreamPlace) -> bool) {
        let mut done = Vec::new();
        self.copies.lock().retain(|copy| {
            let runs = !over(copy.0);
            if !runs {
                done.push(copy.clone());
            }
            runs
        });
        for (_, range, call) in done {
            self.give(range, call);
        }
    }
}

impl Observer for InitCheck {
    fn wants(&self) -> Wants {
        Wants { steps: true, ..Wants::default() }
    }

    fn begin_grid(&self, facts: &GridFacts<'_>) -> Box<dyn GridObserver> {
        Box::new(GridInit {
            shared: self.shared.clone(),
            names: GridNames::new(facts),
            alone: facts.launch.cluster.iter().product::<u32>() <= 1,
            ctas: Mutex::default(),
        })
    }

    fn host(&self, event: &HostEvent) {
        match event {
            HostEvent::Alloc { info, .. } if info.kind == MemoryKind::Device => {
                self.shared.fresh.lock().add(info.base..info.base + info.size);
            }
            HostEvent::Free { info, .. } => self.shared.fresh.lock().remove(&(info.base..info.base + info.size)),
            HostEvent::Touches { place, read, written, call } => {
                self.shared.fresh.lock().told = true;
                match (read, place) {
                    (Some(read), Some(place)) => self.shared.copies.lock().push((*place, read.clone(), call)),
                    (Some(read), None) => self.shared.give(read.clone(), call),
                    (None, _) => {}
                }
                if let Some(written) = written {
                    self.shared.fresh.lock().write(written.clone());
                }
            }
            HostEvent::Waited(place) => {
                self.shared.settle(|copy| copy.stream == place.stream && copy.number <= place.number);
            }
            _ => {}
        }
    }
}

#[derive(Default)]
struct Warp {
    registers: Registers,
    local: Local,
}

/// A CTA that runs.
#[derive(Default)]
struct Cta {
    shared: Bytes,
    warps: HashMap<u32, Warp>,
}

struct GridInit {
    shared: Arc<Shared>,
    names: GridNames,
    /// CTAs have no cluster: nobody else writes their shared memory.
    alone: bool,
    ctas: Mutex<HashMap<[u32; 3], Arc<Mutex<Cta>>>>,
}

impl GridInit {
    fn cta(&self, cta: [u32; 3]) -> Arc<Mutex<Cta>> {
        self.ctas.lock().entry(cta).or_default().clone()
    }

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
                (format!("{what} hangs on a value that nobody has written"), vec![Note::by(reader, text)])
            }
        };
        let thread = Some(self.names.thread(at, lane));
        self.shared.sink.report(Report { check: Check::Init, kind, message, thread, notes });
    }
}

impl GridObserver for GridInit {
    fn step(&self, at: &At, step: &Step<'_>) {
        let cta = self.cta(at.cta);
        let mut cta = cta.lock();
        let registers = &mut cta.warps.entry(at.warp).or_default().registers;
        let mut spoiled: Option<(u32, Origin)> = None;
        let mut decides = Vec::new();
        for &(register, how) in step.reads {
            let Some((lanes, origin)) = registers.undefined(at.activation, register, at.mask) else { continue };
            match how {
                Use::Value => spoiled = Some((lanes | spoiled.map_or(0, |before| before.0), origin)),
                Use::Decides => decides.push((lanes, Decided::Branch, origin, register)),
                Use::Address => decides.push((lanes, Decided::Address, origin, register)),
            }
        }
        for &(lanes, _, _, register) in &decides {
            // What has been told is not told again of all that follows from it.
            registers.write(at.activation, register, lanes, None);
        }
        for &register in step.writes {
            // What memory gives is told by the access.
            registers.write(at.activation, register, at.mask, spoiled.filter(|_| !step.memory));
        }
        drop(cta);
        for (lanes, decided, origin, _) in decides {
            self.report(at, lanes, decided, origin);
        }
    }

    fn cross(&self, at: &At, crossing: &Crossing<'_>) {
        let cta = self.cta(at.cta);
        let mut cta = cta.lock();
        let Warp { registers, local } = cta.warps.entry(at.warp).or_default();
        let (from, to) =
            if crossing.enters { (crossing.caller, at.activation) } else { (at.activation, crossing.caller) };
        if crossing.enters {
            registers.begin(at.activation);
        }
        for &(source, target) in crossing.registers {
            let undefined = source.and_then(|source| registers.undefined(from, source, at.mask));
            match target {
                Some(target) => registers.write(to, target, at.mask, undefined),
                None => local.unknown = true,
            }
        }
    }

    fn access(&self, at: &At, access: &Access<'_>) {
        if access.space == Space::Param {
            return;
        }
        let cta = self.cta(at.cta);
        let mut cta = cta.lock();
        let Cta { shared, warps } = &mut *cta;
        let Warp { registers, local } = warps.entry(at.warp).or_default();
        let parts = access.registers.len().max(1) as u64;
        let bytes = u64::from(access.bytes) / parts;
        for part in 0..parts {
            let register = access.registers.get(part as usize).copied().filter(|&register| register != NO_REGISTER);
            let mut undefined: Option<(u32, Origin)> = None;
            let spoiled = match (access.kind, register) {
                (AccessKind::Store, Some(register)) => {
                    registers.undefined(at.activation, register, at.mask).map_or(0, |found| found.0)
                }
                _ => 0,
            };
            for lane in at.lanes() {
                let start = access.addresses[lane as usize] + part * bytes;
                let inside = start % SHARED_PER_CTA;
                if access.kind != AccessKind::Store && register.is_some() {
                    let found = match access.space {
                        Space::Global => self.shared.fresh.lock().unwritten(start..start + bytes),
                        Space::Shared => shared.unwritten(inside..inside + bytes).filter(|_| self.alone),
                        Space::Local => local.unwritten(start..start + bytes, lane),
                        Space::Param => None,
                    };
                    if let Some(address) = found {
                        let lanes = 1 << lane | undefined.map_or(0, |before| before.0);
                        let (site, space) = (at.site, access.space);
                        undefined = Some((lanes, Origin::Memory { site, space, address }));
                    }
                }
                if access.kind == AccessKind::Load {
                    continue;
                }
                let defined = spoiled >> lane & 1 == 0;
                match access.space {
                    Space::Global if defined => self.shared.fresh.lock().write(start..start + bytes),
                    Space::Global => self.shared.fresh.lock().spoil(start..start + bytes),
                    Space::Shared if self.alone => shared.write(inside..inside + bytes, defined),
                    Space::Local => local.write(start..start + bytes, lane, defined),
                    Space::Shared | Space::Param => {}
                }
            }
            if let (Some(register), true) = (register, access.kind != AccessKind::Store) {
                registers.write(at.activation, register, at.mask, undefined);
            }
        }
    }

    fn malloc(&self, _: &At, address: u64, bytes: u64) {
        if address != 0 {
            self.shared.fresh.lock().add(address..address + bytes);
        }
    }

    fn end_cta(&self, cta: [u32; 3]) {
        self.ctas.lock().remove(&cta);
    }
}
