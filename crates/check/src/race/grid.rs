//! A grid that is watched: what its instructions access is looked up in the shadow, and what orders its threads changes what they know.

use std::cell::Cell;
use std::sync::Arc;

use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::HashMap;
use warploom_exec::address::split_shared;
use warploom_exec::fault::AccessKind;
use warploom_exec::observe::{Access as Told, At, GridObserver, Proxy, Semantics, Space, SyncEvent};

use super::actor::{Actor, GridOrder};
use super::clock::{BULK, COPIES};
use super::cluster::{Cluster, Cta, strength_of};
use super::location::{Location, Released};
use super::memory::{Memory, REGION};
use super::shadow::{Access, Conflict, Kind, Memo, Strength};
use super::threads::Place;
use super::{Shape, Shared};

/// Races of one pair of instructions of a grid that are counted.
const COUNTED: u32 = 256;
/// Locks for the clusters that run.
const SHARDS: u64 = 16;

type Clusters = HashMap<u64, Arc<Mutex<Cluster>>>;

/// A grid.
pub(super) struct GridRace {
    pub(super) shared: Arc<Shared>,
    pub(super) order: GridOrder,
    pub(super) shape: Shape,
    pub(super) clusters: Vec<Mutex<Clusters>>,
    /// Pairs of places that have been found not to be ordered, and how often.
    found: Mutex<HashMap<(u32, u32, bool), u32>>,
}

impl GridRace {
    pub(super) fn new(shared: Arc<Shared>, order: GridOrder, shape: Shape) -> GridRace {
        let clusters = (0..SHARDS).map(|_| Mutex::default()).collect();
        GridRace { shared, order, shape, clusters, found: Mutex::default() }
    }

    fn cluster(&self, cta: [u32; 3]) -> Option<Arc<Mutex<Cluster>>> {
        let key = self.shape.cluster_of(cta);
        self.clusters[(key % SHARDS) as usize].lock().get(&key).cloned()
    }

    /// Looks the bytes of all lanes up.
    fn look_up(&self, cluster: &mut Cluster, at: &At, told: &Told<'_>, kind: Kind, conflicts: &mut Vec<Conflict>) {
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
        let access = Access::new(kind, place_of(at.site.0), warp.now, told.bytes.into());
        let classes = std::mem::take(&mut warp.classes);
        let actor = Actor {
            grid: &self.order,
            cta: cluster.ctas[rank].number,
            warp: copier,
            issuer,
            classes: &classes,
            turn: access.turn,
            depends: Cell::new(false),
        };
        let mut memo = Memo::default();
        let pieces = pieces(at.mask, told.addresses, kind.writes() && !kind.reads());
        match told.space {
            Space::Shared => {
                for (address, lanes) in pieces {
                    let (rank, offset) = split_shared(address as u32);
                    let Some(cta) = cluster.ctas.get_mut(rank as usize) else { continue };
                    for (word, bytes) in words(offset.into(), told.bytes.into()) {
                        memo.enter((u64::from(rank), word / REGION));
                        let region = cta.region((word / REGION) as usize).get_or_insert_default();
                        let place = ((word % REGION / 4) as usize, word);
                        region.access(place, (lanes, bytes), &access, &actor, &mut memo, conflicts);
                    }
                }
            }
            Space::Global => {
                let mut held = None;
                for (address, lanes) in pieces {
                    for (word, bytes) in words(address, told.bytes.into()) {
                        let number = word / REGION;
                        memo.enter((0, number));
                        if held.as_ref().is_none_or(|&(shard, _)| shard != Memory::shard_of(number)) {
                            // Two are never held at once.
                            drop(held.take());
                            held = Some((Memory::shard_of(number), self.shared.memory.lock(number)));
                        }
                        let Some((_, regions)) = &mut held else { continue };
                        let region = regions.entry(number).or_default();
                        let place = ((word % REGION / 4) as usize, word);
                        region.access(place, (lanes, bytes), &access, &actor, &mut memo, conflicts);
                    }
                }
            }
            Space::Local | Space::Param => {}
        }
        cluster.ctas[rank].warps[at.warp as usize].classes = classes;
    }

    /// A strong access writes: what it releases, and hands on, is there before others can see the value.
    fn release(&self, cluster: &mut Cluster, at: &At, told: &Told<'_>, strength: Strength) {
        let itself = matches!(told.semantics, Semantics::Release | Semantics::AcqRel | Semantics::Sc);
        let updates = told.kind == AccessKind::Atomic;
        let Cluster { ctas, locations, .. } = cluster;
        let cta = &mut ctas[at.rank as usize];
        let place = Place { cta: cta.place, warp: at.warp as u8 };
        let number = cta.number;
        let warp = &mut cta.warps[at.warp as usize];
        let now = warp.now;
        let mut some = false;
        warp.undo.clear();
        for (address, lanes) in groups(at.mask, told.addresses) {
            for class in &warp.classes {
                let inside = class.lanes & lanes;
                if inside == 0 {
                    continue;
                }
                let released = Released {
                    itself: itself.then(|| class.published(&self.order, place, inside, now)),
                    fences: class.fences.clone(),
                };
                some |= released.itself.is_some();
                let mut before = None;
                let mut write = |location: &mut Location| {
                    if updates && !released.is_empty() {
                        before = Some(location.clone());
                    }
                    location.write(&self.order, number, strength, updates, &released);
                };
                match (told.space, released.is_empty()) {
                    (Space::Shared, true) => {
                        locations.get_mut(&address).map(write);
                    }
                    (Space::Shared, false) => write(locations.entry(address).or_default()),
                    (_, true) => {
                        self.shared.memory.location(address, write);
                    }
                    (_, false) => self.shared.memory.release(address, write),
                }
                if let Some(before) = before {
                    warp.undo.push((address, inside, before));
                }
            }
        }
        warp.now += u32::from(some);
    }

    fn report(&self, conflicts: &[Conflict], at: &At, told: &Told<'_>, kind: Kind) {
        for conflict in conflicts {
            let own = self.order.ctas.contains(&conflict.note.cta);
            let pair = (conflict.note.place, place_of(at.site.0), own);
            let count = *self.found.lock().entry(pair).and_modify(|count| *count += 1).or_insert(1);
            if count <= COUNTED {
                self.shared.report(self, conflict, at, told, kind);
            }
        }
    }
}

impl GridObserver for GridRace {
    fn access(&self, at: &At, told: &Told<'_>) {
        if matches!(told.space, Space::Local | Space::Param) || at.mask == 0 {
            return;
        }
        let Some(cluster) = self.cluster(at.cta) else { return };
        let mut cluster = cluster.lock();
        if at.rank as usize >= cluster.ctas.len() {
            return;
        }
        let strength = strength(told);
        // Elements of a vector are accesses of their own (PTX ISA 8.2.2).
        let size = u64::from(told.bytes) / told.registers.len().max(1) as u64;
        let kind = match told.kind {
            AccessKind::Load => Kind::new(strength, true, false, size),
            AccessKind::Store => Kind::new(strength, false, true, size),
            AccessKind::Atomic => Kind::new(strength, true, true, size),
        };
        let mut conflicts = Vec::new();
        self.look_up(&mut cluster, at, told, kind, &mut conflicts);
        if kind.strong() && kind.writes() {
            self.release(&mut cluster, at, told, strength);
        }
        if !conflicts.is_empty() {
            drop(cluster);
            self.report(&conflicts, at, told, kind);
        }
    }

    fn accessed(&self, at: &At, told: &Told<'_>, wrote: u32) {
        if matches!(told.space, Space::Local | Space::Param) {
            return;
        }
        let Some(cluster) = self.cluster(at.cta) else { return };
        let mut cluster = cluster.lock();
        let Cluster { ctas, locations, .. } = &mut *cluster;
        let Some(cta) = ctas.get_mut(at.rank as usize) else { return };
        let (place, number) = (Place { cta: cta.place, warp: at.warp as u8 }, cta.number);
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
                    self.shared.memory.location(address, undo);
                }
            }
        }
        for (address, lanes) in groups(at.mask, told.addresses) {
            let found = if told.space == Space::Shared {
                locations.get(&address).cloned()
            } else {
                self.shared.memory.location(address, |location| location.clone())
            };
            if let Some(location) = found {
                warp.change(lanes, |class| location.read(&self.order, (number, place), strength, acquires, class));
            }
        }
    }

    fn sync(&self, at: &At, event: &SyncEvent<'_>) {
        if let Some(cluster) = self.cluster(at.cta) {
            cluster.lock().sync(&self.order, at.rank as usize, at, event);
        }
    }

    fn begin_cta(&self, cta: [u32; 3], rank: u32) {
        let key = self.shape.cluster_of(cta);
        let place = self.shape.place(key, rank);
        let threads = self.shape.cta.iter().product();
        let mut clusters = self.clusters[(key % SHARDS) as usize].lock();
        let cluster = clusters.entry(key).or_default();
        cluster.lock().add(Cta::new(self.order.ctas.start + place, place, threads));
    }

    fn end_cta(&self, cta: [u32; 3]) {
        let key = self.shape.cluster_of(cta);
        self.clusters[(key % SHARDS) as usize].lock().remove(&key);
    }
}

fn strength(told: &Told<'_>) -> Strength {
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

/// What lanes access: each its own address, or all the same one. `apart`: no address comes twice.
fn pieces(mask: u32, addresses: &[u64; 32], apart: bool) -> SmallVec<[(u64, u32); 32]> {
    let first = addresses[mask.trailing_zeros() as usize % 32];
    let lanes = || (0..32usize).filter(move |lane| mask >> lane & 1 != 0);
    if lanes().all(|lane| addresses[lane] == first) {
        return SmallVec::from_slice(&[(first, mask)]);
    }
    let mut last = None;
    let rising = !apart || lanes().all(|lane| last.replace(addresses[lane]).is_none_or(|last| last < addresses[lane]));
    match rising {
        true => lanes().map(|lane| (addresses[lane], 1 << lane)).collect(),
        false => groups(mask, addresses).collect(),
    }
}

/// The lanes of a mask by their addresses.
fn groups(mask: u32, addresses: &[u64; 32]) -> impl Iterator<Item = (u64, u32)> + use<'_> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let address = *addresses.get(left.trailing_zeros() as usize)?;
        let mut same = 0u32;
        for (lane, &other) in addresses.iter().enumerate() {
            same |= u32::from(other == address) << lane;
        }
        same &= left;
        left &= !same;
        Some((address, same))
    })
}

/// The words of a range, and which of their bytes are in it.
fn words(address: u64, len: u64) -> impl Iterator<Item = (u64, u8)> {
    let end = address.saturating_add(len);
    let mut word = address & !3;
    std::iter::from_fn(move || {
        if word >= end {
            return None;
        }
        let mut bytes = 0b1111u8;
        if address > word {
            bytes &= 0b1111 << (address - word);
        }
        if end < word + 4 {
            bytes &= 0b1111 >> (word + 4 - end);
        }
        let at = word;
        word += 4;
        Some((at, bytes))
    })
}
