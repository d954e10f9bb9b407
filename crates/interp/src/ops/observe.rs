//! What observers are told: instructions of the observed form of a kernel (`decode::observe`), which stand before and behind what they are about, under
//! the same guard. They change nothing that a program could see.

mod exchange;
mod here;
mod stored;
mod vote;

use smallvec::SmallVec;
use warploom_exec::address::{self, split_shared};
use warploom_exec::fault::{AccessKind, Site};
use warploom_exec::memory::{Spread, spread};
use warploom_exec::observe::{
    Access, At, Copies, Crossing, CtaObserver, Idle, MbarrierOp, Piece, Proxy, Scope, Semantics, Space, Step, Stored,
    SyncEvent, Use,
};

pub(crate) use exchange::{Came, ToldExchange};
use stored::{Pending, Values, in_slots};
pub(crate) use vote::ToldVote;

use crate::frame::{FULL, Row32, Row64};
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine, lanes};
use crate::memory::{Base, Slot, StateSpace};
use crate::program::Inst;

/// An access as the instruction says it.
#[derive(Clone, Debug)]
pub(crate) struct AccessSite {
    pub(crate) kind: AccessKind,
    pub(crate) space: StateSpace,
    pub(crate) base: Base,
    pub(crate) offset: i64,
    pub(crate) bytes: u32,
    pub(crate) align: u32,
    pub(crate) semantics: Semantics,
    pub(crate) scope: Scope,
    pub(crate) proxy: Proxy,
    /// By their numbers in the function.
    pub(crate) registers: Vec<u32>,
    /// Where a store finds what it stores, each an equal part.
    pub(crate) stored: Vec<Slot>,
}

/// What one such instruction tells.
pub(crate) enum Event {
    /// Told by [`TellAccess`]. `compared`: what a `cas` compares with. `behind`: [`Event::Accessed`] follows.
    Access {
        site: AccessSite,
        compared: Option<Slot>,
        behind: bool,
    },
    /// Behind the access, at the addresses that it was at. `old`: where the old value of a `cas` is, of so many bytes.
    Accessed {
        site: AccessSite,
        old: Option<(Slot, u32)>,
    },
    /// Behind a store that may be to global memory.
    Stored,
    /// `cp.async`: copy site.
    Copy(u32),
    /// `ldmatrix` and `stmatrix`: tile site.
    Tiles(u32, AccessKind),
    /// `wmma.load` and `wmma.store`: fragment site.
    Runs(u32, AccessKind),
    /// The instruction that follows tells of its accesses itself.
    Here,
    /// The same of texels, with the registers that they go to or come from, by their numbers.
    Texels {
        registers: Vec<u32>,
    },
    /// `id` and `count` are 32-bit rows.
    Arrive {
        id: u32,
        count: Option<u32>,
        waits: bool,
        aligned: bool,
    },
    Pass {
        id: u32,
    },
    /// `members` is a 32-bit row.
    Warp {
        members: u32,
        orders: bool,
    },
    WarpPass {
        members: u32,
        orders: bool,
    },
    Fence {
        semantics: Semantics,
        scope: Scope,
    },
    ProxyFence,
    Mbarrier {
        space: StateSpace,
        base: Base,
        offset: i64,
        op: ObjectOp,
        semantics: Semantics,
        scope: Scope,
    },
    /// Where the predicate slot holds.
    MbarrierPass {
        found: u32,
        semantics: Semantics,
        scope: Scope,
    },
    ClusterArrive {
        semantics: Semantics,
    },
    ClusterPass,
    Copies(Copies),
    Exit,
    Step(StepEvent),
    /// At the start of a function that was called.
    Entered,
    /// Before it returns.
    Leaving,
}

/// [`Step`], with what it asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepEvent {
    pub(crate) reads: Vec<(u32, Use)>,
    pub(crate) writes: Vec<u32>,
    pub(crate) pieces: Option<Vec<Piece>>,
    pub(crate) chosen: Vec<Chosen>,
    pub(crate) memory: bool,
    pub(crate) call: bool,
}

/// An operand that counts where a predicate holds: `by` is its register, `predicate` the slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    pub(crate) register: u32,
    pub(crate) by: u32,
    pub(crate) predicate: u32,
}

/// [`MbarrierOp`] with rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ObjectOp {
    Init { count: u32, v1: bool },
    Inval,
    ExpectTx { bytes: u32 },
    CompleteTx { bytes: u32 },
    Arrive { drops: bool, expects: Option<u32>, count: Option<u32> },
    ArriveOfCopies { counted: bool },
    CheckLayout,
    Test,
}

/// The registers of a function that cross calls, by their numbers.
#[derive(Default)]
pub(crate) struct Crossings {
    pub(crate) parameters: Vec<Option<u32>>,
    pub(crate) results: Vec<Option<u32>>,
    /// Arguments and results of each call site.
    pub(crate) calls: Vec<[Vec<Option<u32>>; 2]>,
}

/// What is kept from the instruction before an access for the one behind it.
#[derive(Debug)]
pub(crate) struct Told {
    site: Site,
    addresses: Row64,
    /// Of each lane, before a `cas`.
    compared: Vec<u128>,
    /// Of [`Event::Texels`].
    registers: Vec<u32>,
    /// The lane that samples.
    pub(crate) lane: usize,
}

impl Told {
    fn new(site: Site, addresses: Row64) -> Told {
        Told { site, addresses, compared: Vec::new(), registers: Vec::new(), lane: 0 }
    }
}

/// What the addresses of an access have in common.
#[derive(Clone, Copy)]
struct Lie {
    spread: Spread,
    reach: [u64; 2],
    aligned: bool,
}

impl Lie {
    #[inline(always)]
    fn of(addresses: &Row64, mask: u32, site: &AccessSite) -> Lie {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for (lane, &address) in addresses.iter().enumerate() {
            let out = u64::from(mask >> lane & 1).wrapping_sub(1);
            low = low.min(address | out);
            high = high.max(address & !out);
            bits |= address & !out;
        }
        let spread = if mask == FULL { spread(addresses, site.bytes.into()) } else { Spread::Other };
        let aligned = site.align.is_power_of_two() && bits & (u64::from(site.align) - 1) == 0;
        Lie { spread, reach: [low, high], aligned }
    }
}

/// Tells of access `imm` of the function, before it; `d` and `a` as in [`observe`].
pub(crate) struct TellAccess;

impl LaneOp for TellAccess {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let function = machine.function;
        let Event::Access { site, compared, behind } = &function.observed[inst.imm as usize] else { return Flow::Next };
        let Some(mut observer) = machine.cta.observer.take() else { return Flow::Next };
        let addresses = machine.addresses(site.base, site.offset);
        let lie = Lie::of(&addresses, mask, site);
        let at = machine.at(Site(u64::from(inst.a) << 32 | u64::from(inst.d)), mask);
        let slots = in_slots(site);
        let values = if site.stored.is_empty() { None } else { Some(&slots as Values<'_>) };
        machine.access(&at, site, (&addresses, lie), values, &mut |at, access| observer.access(at, access));
        machine.cta.observer = Some(observer);
        if *behind {
            let compared =
                compared.map_or_else(Vec::new, |slot| (0..32).map(|lane| machine.lane(slot, lane)).collect());
            machine.keep(Told { compared, ..Told::new(at.site, addresses) });
        }
        Flow::Next
    }
}

/// Tells event `imm` of the function; `d` is the number of the instruction, `a` that of the function.
pub(crate) fn observe(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    if let Some(mut observer) = machine.cta.observer.take() {
        let site = Site(u64::from(inst.a) << 32 | u64::from(inst.d));
        let function = machine.function;
        machine.tell(&mut *observer, &function.observed[inst.imm as usize], site, mask);
        machine.cta.observer = Some(observer);
    }
    Flow::Next
}

impl Machine<'_> {
    #[inline(always)]
    fn at(&self, site: Site, mask: u32) -> At {
        let rank = split_shared(self.cta.base).0;
        At { cta: self.cta.id, rank, warp: self.warp.index, mask, site, activation: self.activation }
    }

    fn tell(&mut self, observer: &mut dyn CtaObserver, event: &Event, site: Site, mask: u32) {
        let at = self.at(site, mask);
        let row = |row: u32| &self.frame.r32[row as usize];
        match *event {
            Event::Access { .. } => {}
            Event::Accessed { ref site, old } => {
                let Some(told) = self.cta.told.take() else { return };
                let mut wrote = if site.kind == AccessKind::Load { 0 } else { mask };
                if let Some((slot, bytes)) = old {
                    let low = u128::MAX >> (128 - 8 * bytes);
                    let differs = |&lane: &usize| (self.lane(slot, lane) ^ told.compared[lane]) & low != 0;
                    wrote &= !lanes(mask).filter(differs).fold(0, |lanes, lane| lanes | 1 << lane);
                }
                self.tell_lanes(&at, site, &told.addresses, None, &mut |at, access| {
                    observer.accessed(at, access, wrote & at.mask);
                });
            }
            Event::Stored => observer.stored(),
            Event::Copy(index) => self.tell_copy(observer, &at, index as usize),
            Event::Tiles(index, kind) => self.tell_tiles(observer, &at, index as usize, kind),
            Event::Runs(index, kind) => self.tell_runs(observer, &at, index as usize, kind),
            Event::Here => self.keep(Told::new(site, [0; 32])),
            Event::Texels { ref registers } => {
                self.keep(Told { registers: registers.clone(), ..Told::new(site, [0; 32]) });
            }
            Event::Arrive { id, count, waits, aligned } => {
                let missing = self.warp.alive() & !mask;
                for (same, id) in classes(mask, row(id)) {
                    let expected = count.map(|count| row(count)[same.trailing_zeros() as usize % 32]);
                    let phase = self.cta.barriers.phase(id);
                    let event = SyncEvent::BarrierArrive { id, expected, waits, aligned, missing, phase };
                    observer.sync(&At { mask: same, ..at }, &event);
                }
            }
            Event::Pass { id } => {
                for (same, id) in classes(mask, row(id)) {
                    observer.sync(&At { mask: same, ..at }, &SyncEvent::BarrierPass { id });
                }
            }
            Event::Warp { members, orders } => {
                for (same, members) in classes(mask, row(members)) {
                    let event = SyncEvent::WarpArrive { members, exited: self.warp.exited, orders };
                    observer.sync(&At { mask: same, ..at }, &event);
                }
            }
            Event::WarpPass { members, orders } => {
                for (same, members) in classes(mask, row(members)) {
                    observer.sync(&At { mask: same, ..at }, &SyncEvent::WarpPass { members, orders });
                }
            }
            Event::Fence { semantics, scope } => observer.sync(&at, &SyncEvent::Fence { semantics, scope }),
            Event::ProxyFence => observer.sync(&at, &SyncEvent::ProxyFence),
            Event::Mbarrier { space, base, offset, op, semantics, scope } => {
                let addresses = self.in_shared(space, self.addresses(base, offset));
                let op = match op {
                    ObjectOp::Init { count, v1 } => MbarrierOp::Init { count: row(count), v1 },
                    ObjectOp::Inval => MbarrierOp::Inval,
                    ObjectOp::ExpectTx { bytes } => MbarrierOp::ExpectTx { bytes: row(bytes) },
                    ObjectOp::CompleteTx { bytes } => MbarrierOp::CompleteTx { bytes: row(bytes) },
                    ObjectOp::Arrive { drops, expects, count } => {
                        MbarrierOp::Arrive { drops, expects: expects.map(row), count: count.map(row) }
                    }
                    ObjectOp::ArriveOfCopies { counted } => MbarrierOp::ArriveOfCopies { counted },
                    ObjectOp::CheckLayout => MbarrierOp::CheckLayout,
                    ObjectOp::Test => MbarrierOp::Test,
                };
                observer.sync(&at, &SyncEvent::Mbarrier { addresses: &addresses, op, semantics, scope });
                self.keep(Told::new(site, addresses));
            }
            Event::MbarrierPass { found, semantics, scope } => {
                let Some(told) = self.cta.told.take() else { return };
                let mask = mask & self.frame.p[found as usize];
                if mask != 0 {
                    let event = SyncEvent::MbarrierPass { addresses: &told.addresses, semantics, scope };
                    observer.sync(&At { mask, ..at }, &event);
                }
            }
            Event::ClusterArrive { semantics } => observer.sync(&at, &SyncEvent::ClusterArrive { semantics }),
            Event::ClusterPass => observer.sync(&at, &SyncEvent::ClusterPass),
            Event::Copies(copies) => observer.sync(&at, &SyncEvent::Copies(copies)),
            Event::Exit => observer.sync(&at, &SyncEvent::Exit),
            Event::Step(ref step) => {
                let StepEvent { ref reads, ref writes, ref pieces, ref chosen, memory, call } = *step;
                let idle = |&Chosen { register, by, predicate }: &Chosen| {
                    let lanes = !self.predicate(predicate);
                    Idle { register, by, lanes }
                };
                let idle: SmallVec<[Idle; 2]> = chosen.iter().map(idle).collect();
                let (pieces, idle) = (pieces.as_deref(), &idle[..]);
                observer.step(&at, &Step { reads, writes, pieces, idle, memory, call });
            }
            Event::Entered => self.tell_crossing(observer, &at, true),
            Event::Leaving => self.tell_crossing(observer, &at, false),
        }
    }

    fn keep(&mut self, told: Told) {
        match &mut self.cta.told {
            Some(kept) => **kept = told,
            none => *none = Some(Box::new(told)),
        }
    }

    /// Tells of an access by lanes of one warp.
    fn tell_lanes(
        &mut self,
        at: &At,
        site: &AccessSite,
        addresses: &Row64,
        values: Option<Values<'_>>,
        tell: &mut dyn FnMut(&At, &Access<'_>),
    ) {
        self.access(at, site, (addresses, Lie::of(addresses, at.mask, site)), values, tell);
    }

    /// Tells of an access one space at a time.
    #[inline(never)]
    fn access(
        &mut self,
        at: &At,
        site: &AccessSite,
        (addresses, lie): (&Row64, Lie),
        values: Option<Values<'_>>,
        tell: &mut dyn FnMut(&At, &Access<'_>),
    ) {
        let mut tell = |mask: u32, space: Space, addresses: &Row64, lie: Lie| {
            let access = self.told(site, space, addresses, lie);
            let pending = values.map(|values| Pending::new(self, (space, addresses), values));
            let stored = pending.as_ref().map(|pending| pending as &dyn Stored);
            tell(&At { mask, ..*at }, &Access { stored, ..access });
        };
        match site.space {
            StateSpace::Global => tell(at.mask, Space::Global, addresses, lie),
            StateSpace::Shared | StateSpace::Cluster => tell(at.mask, Space::Shared, addresses, lie),
            StateSpace::Local => tell(at.mask, Space::Local, addresses, lie),
            StateSpace::Param => tell(at.mask, Space::Param, addresses, lie),
            // Device memory lies behind the windows of the other spaces.
            StateSpace::Generic if lie.reach[0] >= address::PARAM_WINDOW + address::PARAM_WINDOW_SIZE => {
                tell(at.mask, Space::Global, addresses, lie);
            }
            StateSpace::Generic => {
                let mut resolved = *addresses;
                let mut masks = [0; 4];
                for lane in lanes(at.mask) {
                    let (space, address) = match address::classify(addresses[lane]) {
                        address::Space::Global => (0, addresses[lane]),
                        address::Space::Shared(address) => (1, address.into()),
                        address::Space::Local(offset) => (2, offset.into()),
                        address::Space::Param(offset) => (3, offset.into()),
                    };
                    resolved[lane] = address;
                    masks[space] |= 1 << lane;
                }
                let spaces = [Space::Global, Space::Shared, Space::Local, Space::Param];
                for (space, mask) in spaces.into_iter().zip(masks).filter(|(_, mask)| *mask != 0) {
                    tell(mask, space, &resolved, Lie::of(&resolved, mask, site));
                }
            }
        }
    }

    fn told<'t>(&self, site: &'t AccessSite, space: Space, addresses: &'t Row64, lie: Lie) -> Access<'t> {
        let AccessSite { kind, bytes, align, semantics, scope, proxy, ref registers, .. } = *site;
        let Lie { spread, reach, aligned } = lie;
        let (limit, apart) = (self.limit(space), bytes);
        Access {
            kind,
            space,
            bytes,
            align,
            addresses,
            spread,
            apart,
            reach,
            aligned,
            limit,
            semantics,
            scope,
            proxy,
            registers,
            stored: None,
        }
    }

    /// Bytes that there are of a space, for the lanes that run.
    fn limit(&self, space: Space) -> u64 {
        match space {
            Space::Global => 0,
            Space::Shared => u64::from(self.program.static_shared) + u64::from(self.grid.launch.dynamic_shared),
            Space::Local => {
                let activation = &self.warp.activations[self.activation as usize];
                let moved = activation.moved_top.as_deref().and_then(|tops| tops.iter().max().copied());
                moved.unwrap_or(activation.base + self.function.local_end).into()
            }
            Space::Param => self.grid.launch.params.len() as u64,
        }
    }

    /// `.shared` addresses of what may be generic ones.
    fn in_shared(&self, space: StateSpace, mut addresses: Row64) -> Row64 {
        if space == StateSpace::Generic {
            for address in &mut addresses {
                if let address::Space::Shared(short) = address::classify(*address) {
                    *address = short.into();
                }
            }
        }
        addresses
    }

    /// Tells of registers that cross the border of the function that runs.
    fn tell_crossing(&self, observer: &mut dyn CtaObserver, at: &At, enters: bool) {
        let activation = &self.warp.activations[self.activation as usize];
        let Some(parent) = self.warp.activations.get(activation.parent as usize) else { return };
        let caller = &self.program.functions[parent.function as usize].crossings;
        let Some([arguments, results]) = caller.calls.get(activation.site as usize) else { return };
        let own = &self.function.crossings;
        let (from, to) = if enters { (arguments, &own.parameters) } else { (&own.results, results) };
        let registers: Vec<_> = from.iter().copied().zip(to.iter().copied()).collect();
        observer.cross(at, &Crossing { caller: activation.parent, enters, registers: &registers });
    }
}

/// A weak access that moves through no registers.
fn plain(kind: AccessKind, space: StateSpace, bytes: u32, align: u32) -> AccessSite {
    AccessSite {
        kind,
        space,
        base: Base::None,
        offset: 0,
        bytes,
        align,
        semantics: Semantics::Weak,
        scope: Scope::Cta,
        proxy: Proxy::Generic,
        registers: Vec::new(),
        stored: Vec::new(),
    }
}

/// The lanes of a mask by the value that they have in a row.
fn classes(mask: u32, row: &Row32) -> impl Iterator<Item = (u32, u32)> + use<'_> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let value = *row.get(left.trailing_zeros() as usize)?;
        let same = lanes(left).filter(|&lane| row[lane] == value).fold(0, |same, lane| same | 1 << lane);
        left &= !same;
        Some((same, value))
    })
}
