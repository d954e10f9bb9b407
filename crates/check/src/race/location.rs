//! What strong accesses to one place hand on: release and acquire patterns (PTX ISA 8.8, 8.9.1).

use smallvec::SmallVec;

use super::actor::GridOrder;
use super::clock::Clocks;
use super::note::Strength;
use super::threads::{Class, Fences, Place};

/// What one CTA has released here, and for whom its release or fence is strong.
#[derive(Clone, Debug)]
struct Release {
    cta: u32,
    strength: Strength,
    clocks: Clocks,
}

/// A place that strong accesses have written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Location {
    /// The CTA that wrote last, and how strong.
    last: Option<(u32, Strength)>,
    near: SmallVec<[Release; 2]>,
    /// All that was released for the whole device, by whomever.
    wide: Option<Clocks>,
    /// Counts the writes.
    writes: u64,
}

/// Releases that are told apart by CTA.
const NEAR: usize = 16;

/// What a strong write releases: as a release operation, and by the fences before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Released {
    pub(crate) itself: Option<Clocks>,
    pub(crate) fences: Option<std::sync::Arc<Fences>>,
}

impl Released {
    pub(crate) fn is_empty(&self) -> bool {
        self.itself.is_none() && self.fences.is_none()
    }
}

fn mutual(grid: &GridOrder, a: (u32, Strength), b: (u32, Strength)) -> bool {
    let needed = grid.between(b.0, a.0);
    a.1 >= needed && b.1 >= needed
}

impl Location {
    /// A strong write of CTA number `cta`. `updates`: an atomic, which hands on what it has read.
    pub(crate) fn write(&mut self, grid: &GridOrder, cta: u32, strength: Strength, updates: bool, released: &Released) {
        let chained = updates && self.last.is_some_and(|last| mutual(grid, last, (cta, strength)));
        if !chained {
            self.near.clear();
            self.wide = None;
        }
        self.last = Some((cta, strength));
        self.writes += 1;
        if let Some(clocks) = &released.itself {
            self.add(cta, strength, clocks);
        }
        const SCOPES: [Strength; 4] = [Strength::Cta, Strength::Cluster, Strength::Gpu, Strength::Sys];
        for (clocks, scope) in released.fences.iter().flat_map(|fences| fences.iter().zip(SCOPES)) {
            if let Some(clocks) = clocks {
                self.add(cta, scope, clocks);
            }
        }
    }

    fn add(&mut self, cta: u32, strength: Strength, clocks: &Clocks) {
        if strength >= Strength::Gpu {
            self.wide.get_or_insert_default().join(clocks);
        }
        match self.near.iter_mut().find(|near| near.cta == cta && near.strength == strength) {
            Some(near) => near.clocks.join(clocks),
            None => {
                if self.near.len() == NEAR {
                    let oldest = self.near.iter().position(|near| near.strength >= Strength::Gpu).unwrap_or(0);
                    self.near.remove(oldest);
                }
                self.near.push(Release { cta, strength, clocks: clocks.clone() });
            }
        }
    }

    /// The write that came after `before` has not happened; unless others have come since.
    pub(crate) fn undo(&mut self, before: Location) {
        if self.writes == before.writes + 1 {
            *self = before;
        }
    }

    /// A strong read by lanes of a class has observed what was written last. `acquires`: by itself, and not only with a fence behind it.
    pub(crate) fn read(&self, grid: &GridOrder, place: Place, strength: Strength, acquires: bool, class: &mut Class) {
        if !self.last.is_some_and(|last| mutual(grid, last, (place.cta, strength))) {
            return;
        }
        for near in &self.near {
            let needed = grid.between(place.cta, near.cta);
            if near.strength < needed {
                continue;
            }
            if acquires && strength >= needed {
                class.acquire(place, &near.clocks);
            } else {
                class.observe(needed.min(Strength::Gpu), &near.clocks);
            }
        }
        if let Some(wide) = &self.wide {
            if acquires && strength >= Strength::Gpu {
                class.acquire(place, wide);
            } else {
                class.observe(Strength::Gpu, wide);
            }
        }
    }
}
