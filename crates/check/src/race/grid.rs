//! A grid that is watched: what its instructions access is looked up in the shadow, and what orders its threads changes what they know.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_exec::fault::{AccessKind, Fault};
use warploom_exec::observe::{
    Access as Told, At, CtaObserver, GridObserver, Proxy, Semantics, Space, StreamPlace, SyncEvent,
};

use super::actor::{Actor, GridOrder};
use super::clock::{BULK, COPIES};
use super::cluster::{Cluster, Cta, strength_of};
use super::flights::Flight;
use super::location::{Location, Released};
use super::memory::shard;
use super::note::{Access, Conflict, FIXED, Kind, Strength, Value};
use super::pieces::groups;
use super::rows::Rows;
use super::shadow::Region;
use super::threads::Place;
use super::values::Store;
use super::{Shape, Shared};
use crate::report::Severity;
use crate::span;

/// Races of one pair of instructions of a grid that are counted.
const COUNTED: u32 = 256;

/// A grid.
pub(super) struct GridRace {
    pub(super) shared: Arc<Shared>,
    pub(super) order: Arc<GridOrder>,
    pub(super) shape: Shape,
    /// Pairs of places that have been found not to be ordered, and how often.
    found: Mutex<HashMap<(u32, u32, bool, bool), u32>>,
    place: Option<StreamPlace>,
    /// Shadows of shared memory that no CTA uses.
    #[expect(clippy::vec_box, reason = "shadows change hands as pointers")]
    spare: Mutex<Vec<Box<Region>>>,
}

impl GridRace {
    pub(super) fn new(
        shared: Arc<Shared>,
        order: Arc<GridOrder>,
        shape: Shape,
        place: Option<StreamPlace>,
    ) -> GridRace {
        GridRace { shared, order, shape, found: Mutex::default(), place, spare: Mutex::default() }
    }

    /// Reports conflicts of an access by the cluster that `flight` is of.
    fn report(&self, conflicts: &[Conflict], at: &At, store: &Store<'_>, kind: Kind, flight: &Arc<Flight>) {
        for conflict in conflicts {
            let same = kind.stores() && self.is_same(conflict, store, flight);
            if same && !self.shared.sink.takes(Severity::Info) {
                continue;
            }
            let own = self.order.ctas.contains(&conflict.note.cta);
            let pair = (conflict.note.place, place_of(at.site.0), own, same);
            let count = *self.found.lock().entry(pair).and_modify(|count| *count += 1).or_insert(1);
            if count <= COUNTED {
                self.shared.report(self, (conflict, same), at, store.told, kind);
            }
        }
    }

    /// Whether both are stores, and put the same there.
    fn is_same(&self, conflict: &Conflict, store: &Store<'_>, flight: &Arc<Flight>) -> bool {
        let note = &conflict.note;
        if !note.kind.stores() || note.value != Value::Last {
            return false;
        }
        let other = match store.told.space {
            Space::Global => self.shared.flights.of(note.cta).filter(|other| !Arc::ptr_eq(other, flight)),
            _ => None,
        };
        store.is_same(conflict, &mut |lane, from, address| {
            let coming = other.as_ref().and_then(|other| {
                flight.publish(|| store.put());
                other.wait(address)
            });
            coming.or_else(|| store.standing(lane, from))
        })
    }
}

/// A grid whose CTAs are watched.
pub(super) struct Watched(pub(super) Arc<GridRace>);

impl GridObserver for Watched {
    fn begin(&self, ctas: &[[u32; 3]]) -> Box<dyn CtaObserver> {
        let Shape { cta, .. } = &self.0.shape;
        let (threads, start) = (cta.iter().product(), self.0.order.ctas.start);
        let mut cluster = Cluster::default();
        cluster.alone = ctas.len() == 1;
        cluster.spare.append(&mut self.0.spare.lock());
        for (cta, rank) in ctas.iter().zip(0..) {
            let place = self.0.shape.place(self.0.shape.cluster_of(*cta), rank);
            cluster.add(Cta::new(start + place, threads));
        }
        let flight = self.0.shared.flights.begin(cluster.ctas.iter().map(|cta| cta.number));
        Box::new(ClusterRace { grid: self.0.clone(), cluster, conflicts: Vec::new(), turns: 0, flight })
    }

    fn end(&self, _: Option<&Fault>) {
        let Some(place) = self.0.place else { return };
        let grids = self.0.shared.grids.lock();
        let copies = grids.copies.beside(place, &grids.streams);
        drop(grids);
        for copy in copies {
            self.0.shared.hold_against(&copy, std::slice::from_ref(&self.0.order.ctas));
        }
    }
}

/// The CTAs of a cluster, or one without.
struct ClusterRace {
    grid: Arc<GridRace>,
    cluster: Cluster,
    conflicts: Vec<Conflict>,
    /// Those that the atomic has that runs.
    turns: u64,
    flight: Arc<Flight>,
}

impl Drop for ClusterRace {
    /// An atomic or a store that the executor refuses is not told of again.
    fn drop(&mut self) {
        self.end_turns();
        self.flight.land();
        self.grid.shared.flights.end(self.cluster.ctas.iter().map(|cta| cta.number));
    }
}

impl ClusterRace {
    /// Waits until an atomic is the only one at its places, if it matters in which order it comes: where nothing was ever released nothing is
    /// handed on.
    fn take_turns(&mut self, at: &At, told: &Told<'_>) {
        self.end_turns();
        let memory = &self.grid.shared.memory;
        let classes = &self.cluster.ctas[at.rank as usize].warps[at.warp as usize].classes;
        let relaxed = matches!(told.semantics, Semantics::Relaxed);
        if memory.was_released() || !relaxed || classes.iter().any(|class| class.fences.is_some()) {
            self.turns = at.lanes().fold(0, |set, lane| set | 1 << shard(told.addresses[lane as usize]));
            memory.turns.take(self.turns);
        }
    }

    fn end_turns(&mut self) {
        self.grid.shared.memory.turns.give(std::mem::take(&mut self.turns));
    }

    /// Looks the bytes of all lanes up, and remembers the access.
    fn look_up(&mut self, at: &At, store: &Store<'_>, kind: Kind, tentative: bool) {
        let told = store.told;
        let ClusterRace { grid, cluster, conflicts, .. } = self;
        let rank = at.rank as usize;
        let warp = &mut cluster.ctas[rank].warps[at.warp as usize];
        let issuer = at.warp as u8;
        let copier = match told.proxy {
            Proxy::Generic | Proxy::Texture => issuer,
            Proxy::Copy => issuer + COPIES,
            Proxy::Async => {
                warp.issued = warp.now;
                issuer + BULK
            }
        };
        let access = Access { kind, place: place_of(at.site.0), time: warp.now, turn: 0, tentative };
        let classes = std::mem::take(&mut warp.classes);
        let actor = Actor {
            grid: &grid.order,
            cta: cluster.ctas[rank].number,
            warp: copier,
            issuer,
            mask: at.mask,
            classes: &classes,
            turn: FIXED,
            depends: Cell::new(false),
            alone: told.space == Space::Shared && cluster.alone,
            store,
        };
        let mut mask = at.mask;
        match told.space {
            Space::Shared if Rows::may_update(told, &access) => {
                mask = Rows::update_shared(&mut cluster.ctas, mask, told, &access, &actor);
            }
            Space::Global if Rows::may_update(told, &access) => {
                mask = Rows::update_global(&grid.shared.memory, mask, told, &access, &actor);
            }
            Space::Global if Rows::may_gather(mask, told, &access) => {
                Rows::gather(&grid.shared.memory, mask, told, &access, &actor, conflicts);
                mask = 0;
            }
            _ => {}
        }
        let rows = if mask == 0 { Rows::none() } else { Rows::of(mask, told, kind) };
        let (access, actor) = (Access { turn: rows.turn, ..access }, Actor { turn: rows.turn, ..actor });
        match told.space {
            Space::Shared => rows.in_shared(&mut cluster.ctas, &mut cluster.spare, &access, &actor, conflicts),
            Space::Global => rows.in_global(&grid.shared.memory, &access, &actor, conflicts),
            Space::Local | Space::Param => {}
        }
        cluster.ctas[rank].warps[at.warp as usize].classes = classes;
    }

    /// A strong access writes: what it releases, and hands on, is there before others can see the value.
    fn release(&mut self, at: &At, told: &Told<'_>, strength: Strength) {
        let itself = matches!(told.semantics, Semantics::Release | Semantics::AcqRel | Semantics::Sc);
        let updates = told.kind == AccessKind::Atomic;
        let (grid, Cluster { ctas, locations, .. }) = (&*self.grid, &mut self.cluster);
        let cta = &mut ctas[at.rank as usize];
        let place = Place { cta: cta.number, warp: at.warp as u8 };
        let number = cta.number;
        let warp = &mut cta.warps[at.warp as usize];
        let now = warp.now;
        let mut some = false;
        warp.undo.clear();
        // Where nothing was released there is nothing to hand on.
        let known = if told.space == Space::Shared { !locations.is_empty() } else { grid.shared.memory.was_released() };
        if !known && !itself && warp.classes.iter().all(|class| class.fences.is_none()) {
            return;
        }
        for (address, lanes) in groups(at.mask, told.addresses) {
            for class in &warp.classes {
                let inside = class.lanes & lanes;
                if inside == 0 {
                    continue;
                }
                let released = Released {
                    itself: itself.then(|| class.published(&grid.order, place, inside, now)),
                    fences: class.fences.clone(),
                };
                some |= released.itself.is_some();
                let mut before = None;
                let mut write = |location: &mut Location| {
                    if updates && !released.is_empty() {
                        before = Some(location.clone());
                    }
                    location.write(&grid.order, number, strength, updates, &released);
                };
                match (told.space, released.is_empty()) {
                    (Space::Shared, true) => {
                        locations.get_mut(&address).map(write);
                    }
                    (Space::Shared, false) => write(locations.entry(address).or_default()),
                    (_, true) => {
                        grid.shared.memory.location(address, write);
                    }
                    (_, false) => grid.shared.memory.release(address, write),
                }
                if let Some(before) = before {
                    warp.undo.push((address, inside, before));
                }
            }
        }
        warp.now += u32::from(some);
    }
}

impl CtaObserver for ClusterRace {
    fn access(&mut self, at: &At, told: &Told<'_>) {
        let out = matches!(told.space, Space::Local | Space::Param) || at.mask == 0;
        if out || at.rank as usize >= self.cluster.ctas.len() {
            return;
        }
        if told.kind == AccessKind::Atomic && told.proxy == Proxy::Generic && told.space == Space::Global {
            self.take_turns(at, told);
        }
        let strength = strength(told);
        // Elements of a vector are accesses of their own (PTX ISA 8.2.2). Those that a bulk copy reduces to are not told of.
        let size = match (told.proxy, told.bytes) {
            (Proxy::Async, 16..) => 1 << Kind::ANY_SIZE,
            _ => u64::from(told.bytes) / told.registers.len().max(1) as u64,
        };
        let kind = match told.kind {
            AccessKind::Load => Kind::new(strength, true, false, size),
            AccessKind::Store => Kind::new(strength, false, true, size),
            AccessKind::Atomic => Kind::new(strength, true, true, size),
        };
        if told.stored.is_some() && told.proxy == Proxy::Generic && told.space == Space::Global {
            self.flight.depart();
        }
        let store = Store::new(at, told);
        self.look_up(at, &store, kind, false);
        if kind.strong() && kind.writes() && told.proxy != Proxy::Async {
            self.release(at, told, strength);
        }
        if !self.conflicts.is_empty() {
            self.grid.report(&self.conflicts, at, &store, kind, &self.flight);
            self.conflicts.clear();
        }
    }

    fn reads(&mut self, at: &At, told: &Told<'_>) -> bool {
        if at.rank as usize >= self.cluster.ctas.len() {
            return false;
        }
        let kind = Kind::new(Strength::Weak, true, false, told.apart.into());
        self.look_up(at, &Store::new(at, told), kind, true);
        // Those that follow one by one are reported with their places.
        let right = self.conflicts.is_empty();
        self.conflicts.clear();
        right
    }

    /// What a block of the heap held before it was freed is nobody's any more.
    fn malloc(&mut self, _: &At, address: u64, bytes: u64) {
        if address != 0 {
            self.grid.shared.memory.forget(span::from(address, bytes));
        }
    }

    fn accessed(&mut self, at: &At, told: &Told<'_>, wrote: u32) {
        if matches!(told.space, Space::Local | Space::Param) {
            return;
        }
        let (grid, Cluster { ctas, locations, .. }) = (&*self.grid, &mut self.cluster);
        let Some(cta) = ctas.get_mut(at.rank as usize) else { return };
        let place = Place { cta: cta.number, warp: at.warp as u8 };
        let strength = strength(told);
        let acquires = matches!(told.semantics, Semantics::Acquire | Semantics::AcqRel | Semantics::Sc);
        let warp = &mut cta.warps[at.warp as usize];
        // What compared and found another value has written nothing, and released nothing.
        for (address, lanes, before) in std::mem::take(&mut warp.undo) {
            if lanes & wrote == 0 {
                let undo = |location: &mut Location| location.undo(before);
                if told.space == Space::Shared {
                    locations.get_mut(&address).map(undo);
                } else {
                    grid.shared.memory.location(address, undo);
                }
            }
        }
        let known = if told.space == Space::Shared { !locations.is_empty() } else { grid.shared.memory.was_released() };
        if !known {
            return self.end_turns();
        }
        for (address, lanes) in groups(at.mask, told.addresses) {
            let found = if told.space == Space::Shared {
                locations.get(&address).cloned()
            } else {
                grid.shared.memory.location(address, |location| location.clone())
            };
            if let Some(location) = found {
                warp.change(lanes, |class| location.read(&grid.order, place, strength, acquires, class));
            }
        }
        self.end_turns();
    }

    fn stored(&mut self) {
        self.flight.land();
    }

    fn sync(&mut self, at: &At, event: &SyncEvent<'_>) {
        self.cluster.sync(&self.grid.order, at.rank as usize, at, event);
    }

    fn finished(&mut self) {
        let mut spare = std::mem::take(&mut self.cluster.spare);
        for mut shadow in self.cluster.ctas.iter_mut().flat_map(|cta| std::mem::take(&mut cta.shadow)).flatten() {
            shadow.reset();
            spare.push(shadow);
        }
        self.grid.spare.lock().append(&mut spare);
    }
}

fn strength(told: &Told<'_>) -> Strength {
    // Without a word about it, `red.async` is relaxed for the cluster, and what a bulk copy reduces to for the device (PTX ISA 9.7.13.7, 9.7.9.25.4.2).
    if told.proxy == Proxy::Async && told.kind == AccessKind::Atomic && told.semantics == Semantics::Weak {
        return if told.space == Space::Shared { Strength::Cluster } else { Strength::Gpu };
    }
    match told.semantics {
        Semantics::Weak => Strength::Weak,
        // "Volatile operations are treated as relaxed ones with system scope" (PTX ISA 9.7.9.8).
        Semantics::Volatile | Semantics::Mmio => Strength::Sys,
        _ => strength_of(told.scope),
    }
}

/// The number that notes have of an instruction: of a function 22 bits, of the functions 10.
fn place_of(site: u64) -> u32 {
    ((site >> 32) as u32) << 22 | site as u32 & 0x3f_ffff
}

/// The site that a note's number stands for.
pub(super) fn site_of(place: u32) -> u64 {
    u64::from(place >> 22) << 32 | u64::from(place & 0x3f_ffff)
}
