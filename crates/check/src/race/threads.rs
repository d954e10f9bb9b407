//! What the threads of a warp know, and how it changes where they meet.

use std::sync::Arc;

use smallvec::SmallVec;

use super::actor::{GridOrder, View};
use super::clock::{BULK, COPIES, Clocks, Known};
use super::location::Location;
use super::note::Strength;

/// What fences have made ready to be released by the next strong write, by the scope of the fence (PTX ISA 8.8: a release pattern).
pub(crate) type Fences = [Option<Clocks>; 4];

/// What relaxed reads have observed, by the scope that a fence needs to acquire it (PTX ISA 8.8: an acquire pattern).
pub(crate) type Pending = [Option<Clocks>; 3];

/// Lanes of a warp that know the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Class {
    pub(crate) lanes: u32,
    pub(crate) view: View,
    pub(crate) fences: Option<Arc<Fences>>,
    pub(crate) pending: Option<Arc<Pending>>,
    /// Up to when each of the lanes has waited for the copies that it has issued itself, asynchronous and bulk ones: those of the others of the class it learns of
    /// where they meet.
    pub(crate) waited: [u32; 2],
}

/// Where a warp is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Number of its CTA in the process.
    pub(crate) cta: u32,
    /// Its number in the CTA.
    pub(crate) warp: u8,
}

impl Class {
    /// All that comes before what `lanes` of the class, of the warp at `place`, do next at time `now`.
    pub(crate) fn published(&self, grid: &Arc<GridOrder>, place: Place, lanes: u32, now: u32) -> Clocks {
        let mut own = (*self.view.own).clone();
        self.add_done(&mut own, place, lanes, now);
        let mut clocks = self.view.others.clone();
        clocks.learn(grid, place.cta, own);
        clocks
    }

    /// Adds what some of the lanes have done before `now`, and the copies that they have waited for.
    fn add_done(&self, known: &mut Known, place: Place, lanes: u32, now: u32) {
        known.learn(place.warp, lanes, now);
        for (copier, time) in [COPIES, BULK].into_iter().zip(self.waited).filter(|(_, time)| *time != 0) {
            known.learn(place.warp + copier, lanes, time);
        }
    }

    /// The lanes come behind all that `clocks` knows.
    pub(crate) fn acquire(&mut self, place: Place, clocks: &Clocks) {
        if let Some(own) = clocks.get(place.cta) {
            self.learn_own(own);
        }
        self.view.others.join(clocks);
    }

    pub(crate) fn learn_own(&mut self, known: &Known) {
        if !self.view.own.covers(known) {
            Arc::make_mut(&mut self.view.own).join(known);
        }
    }

    /// What a fence of this scope has made ready.
    pub(crate) fn fence(&mut self, scope: Strength, clocks: Clocks) {
        let mut fences = self.fences.as_deref().cloned().unwrap_or_default();
        let wide = scope as usize - 1;
        fences[..wide].fill(None);
        fences[wide] = Some(clocks);
        self.fences = Some(Arc::new(fences));
    }

    /// A relaxed read has observed what a fence of scope `needed` would acquire.
    pub(crate) fn observe(&mut self, needed: Strength, clocks: &Clocks) {
        let mut pending = self.pending.as_deref().cloned().unwrap_or_default();
        let known = pending[needed as usize - 1].get_or_insert_default();
        let before = known.clone();
        known.join(clocks);
        if !known.is_same(&before) {
            self.pending = Some(Arc::new(pending));
        }
    }

    fn is_alike(&self, other: &Class) -> bool {
        Arc::ptr_eq(&self.view.own, &other.view.own)
            && self.view.others.is_same(&other.view.others)
            && self.fences.as_ref().map(Arc::as_ptr) == other.fences.as_ref().map(Arc::as_ptr)
            && self.pending.as_ref().map(Arc::as_ptr) == other.pending.as_ref().map(Arc::as_ptr)
            && self.waited == other.waited
    }
}

/// What threads that meet know together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) own: Known,
    pub(crate) others: Clocks,
    fences: Option<Arc<Fences>>,
}

impl Sum {
    /// Adds what `lanes` of a class know and have done.
    pub(crate) fn add(&mut self, class: &Class, place: Place, lanes: u32, now: u32) {
        self.own.join(&class.view.own);
        class.add_done(&mut self.own, place, lanes, now);
        self.others.join(&class.view.others);
        // What a relaxed read has observed counts for those who learn of it at a barrier (CUDA programming guide 10.5, example).
        for clocks in class.pending.iter().flat_map(|pending| pending.iter().flatten()) {
            if let Some(own) = clocks.get(place.cta) {
                self.own.join(own);
            }
            self.others.join(clocks);
        }
        // The memory that a fence has made visible to others stays so for whoever comes behind the fence.
        match (&mut self.fences, &class.fences) {
            (_, None) => {}
            (None, theirs) => self.fences = theirs.clone(),
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => {}
            (Some(mine), Some(theirs)) => {
                for (mine, theirs) in Arc::make_mut(mine).iter_mut().zip(&**theirs) {
                    if let Some(theirs) = theirs {
                        mine.get_or_insert_default().join(theirs);
                    }
                }
            }
        }
    }

    /// The class of lanes that come behind all that was added, and knew `class` alone before.
    pub(crate) fn give(&self, class: &mut Class) {
        class.learn_own(&self.own);
        class.view.others.join(&self.others);
        if let Some(fences) = &self.fences {
            class.fences = Some(fences.clone());
        }
    }

    /// A class of lanes that know nothing else.
    pub(crate) fn class(&self, lanes: u32) -> Class {
        let view = View { own: Arc::new(self.own.clone()), others: self.others.clone() };
        Class { lanes, view, fences: self.fences.clone(), pending: None, waited: [0; 2] }
    }
}

/// A warp.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    /// Its time.
    pub(crate) now: u32,
    /// Lanes that exist and have not exited.
    pub(crate) alive: u32,
    /// Lanes that have arrived at the barrier of the cluster, in the phase that is not over.
    pub(crate) arrived: u32,
    pub(crate) classes: SmallVec<[Class; 1]>,
    /// Lanes that have arrived at a barrier and wait: barrier and phase.
    pub(crate) waiting: SmallVec<[(u32, u32, u64); 1]>,
    /// Meetings of `bar.warp.sync`: members, who has come, who has gone, and what they know.
    pub(crate) meetings: Vec<Meeting>,
    /// When it last issued a bulk copy, 0 for never.
    pub(crate) issued: u32,
    /// What places were before the atomic that runs: addresses, lanes.
    pub(crate) undo: Vec<(u64, u32, Location)>,
    /// Groups of `cp.async` and of bulk copies that lanes have not waited for: lanes and time.
    groups: [Vec<(u32, u32)>; 2],
}

/// Lanes of a warp that meet.
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    pub(crate) members: u32,
    pub(crate) arrived: u32,
    pub(crate) gone: u32,
    pub(crate) sum: Sum,
}

impl Warp {
    pub(crate) fn new(lanes: u32) -> Warp {
        let class = Class { lanes, ..Class::default() };
        Warp { now: 1, alive: lanes, classes: SmallVec::from_iter([class]), ..Warp::default() }
    }

    /// Changes what the lanes of a mask know; `act` gets each class of them.
    pub(crate) fn change(&mut self, mask: u32, mut act: impl FnMut(&mut Class)) {
        for index in 0..self.classes.len() {
            let class = &mut self.classes[index];
            let inside = class.lanes & mask;
            if inside == 0 {
                continue;
            }
            let outside = class.lanes & !mask;
            if outside != 0 {
                let rest = Class { lanes: outside, ..class.clone() };
                class.lanes = inside;
                self.classes.push(rest);
            }
            act(&mut self.classes[index]);
        }
        if self.classes.len() > 1 {
            self.unite();
        }
    }

    /// Makes one class of those that know the same.
    fn unite(&mut self) {
        let mut index = 1;
        while index < self.classes.len() {
            match (0..index).find(|&other| self.classes[other].is_alike(&self.classes[index])) {
                Some(other) => {
                    let lanes = self.classes.swap_remove(index).lanes;
                    self.classes[other].lanes |= lanes;
                }
                None => index += 1,
            }
        }
    }

    /// Lanes of the warp come together with others and know what all of these know.
    pub(crate) fn take(&mut self, lanes: u32, sum: &Sum) {
        if self.alive & !lanes == 0 {
            let class = sum.class(lanes);
            self.classes.clear();
            self.classes.push(class);
            return;
        }
        self.change(lanes, |class| sum.give(class));
    }

    /// Adds what some of its lanes know to a sum, and lets its time go on.
    pub(crate) fn add_to(&mut self, lanes: u32, place: Place, sum: &mut Sum) {
        for class in &self.classes {
            let inside = class.lanes & lanes;
            if inside != 0 {
                sum.add(class, place, inside, self.now);
            }
        }
        self.now += 1;
    }

    /// `cp.async.commit_group`, `cp.async.bulk.commit_group`.
    pub(crate) fn commit(&mut self, lanes: u32, bulk: bool) {
        self.groups[usize::from(bulk)].push((lanes, self.now));
        self.now += 1;
    }

    /// The lanes have waited for all but `pending` of their groups; none: for all copies.
    pub(crate) fn wait(&mut self, lanes: u32, bulk: bool, pending: Option<u32>) {
        let groups = &mut self.groups[usize::from(bulk)];
        let mut learned: SmallVec<[(u32, u32); 2]> = SmallVec::new();
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let mine = groups.iter().filter(|(mask, _)| mask >> lane & 1 != 0);
            let time = match pending {
                None => Some(self.now),
                Some(pending) => mine.rev().nth(pending as usize).map(|&(_, time)| time),
            };
            let Some(time) = time else { continue };
            for (mask, of) in groups.iter_mut() {
                if *of <= time {
                    *mask &= !(1 << lane);
                }
            }
            match learned.iter_mut().find(|(_, of)| *of == time) {
                Some((mask, _)) => *mask |= 1 << lane,
                None => learned.push((1 << lane, time)),
            }
        }
        groups.retain(|&(mask, _)| mask != 0);
        for (mask, time) in learned {
            self.change(mask, |class| class.waited[usize::from(bulk)] = class.waited[usize::from(bulk)].max(time));
        }
        self.now += 1;
    }
}
