//! Who accesses memory: lanes of a warp, with what each of them knows.

use std::cell::Cell;
use std::ops::Range;

use super::clock::{BULK, COPIES, Clocks, Known, Lanes};
use super::note::{Kind, Note, Strength};
use super::threads::Class;
use super::values::Store;

/// What is the same for all CTAs of a grid.
#[derive(Clone, Debug, Default)]
pub(crate) struct GridOrder {
    /// Numbers of its CTAs in the process.
    pub(crate) ctas: Range<u32>,
    /// Depth of its clocks.
    pub(crate) levels: u32,
    /// CTAs of a cluster.
    pub(crate) cluster: u32,
    /// CTAs in x.
    pub(crate) width: u32,
    /// CTAs of earlier grids that no stream order puts before this one.
    pub(crate) concurrent: Vec<Range<u32>>,
}

impl GridOrder {
    /// For how wide a scope two CTAs belong together.
    pub(crate) fn between(&self, mine: u32, other: u32) -> Strength {
        if mine == other {
            Strength::Cta
        } else if self.ctas.contains(&other) && self.cluster_of(mine) == self.cluster_of(other) {
            Strength::Cluster
        } else {
            Strength::Gpu
        }
    }

    /// CTAs of a cluster have numbers one after another.
    fn cluster_of(&self, cta: u32) -> u32 {
        (cta - self.ctas.start) / self.cluster.max(1)
    }

    pub(crate) fn knows_grid_of(&self, cta: u32) -> bool {
        cta < self.ctas.start && !self.concurrent.iter().any(|range| range.contains(&cta))
    }
}

/// The lanes of a warp.
pub(crate) struct Actor<'a> {
    pub(crate) grid: &'a GridOrder,
    /// Number of the CTA in the process.
    pub(crate) cta: u32,
    /// Of the warp, or of its asynchronous copies.
    pub(crate) warp: u8,
    /// The warp itself: what its lanes have done comes before copies that they issue.
    pub(crate) issuer: u8,
    /// The lanes.
    pub(crate) mask: u32,
    /// What lanes know.
    pub(crate) classes: &'a [Class],
    /// By which power of two the addresses of its lanes are apart.
    pub(crate) turn: u8,
    /// Set where an answer is not that of all words with the same notes, as it hung on the number of a lane.
    pub(crate) depends: Cell<bool>,
    /// Nobody but threads of the CTA accesses the memory.
    pub(crate) alone: bool,
    /// What it stores.
    pub(super) store: &'a Store<'a>,
}

impl Actor<'_> {
    fn is_own(&self, note: &Note) -> bool {
        note.cta == self.cta && (note.warp == self.warp || note.warp == self.issuer)
    }

    /// Whether each lane of a class comes behind what it has done of an earlier access itself: as its own, or an asynchronous copy of its own that it has waited for.
    fn is_behind_itself(&self, class: &Class, note: &Note) -> bool {
        let waited = || {
            let mut copiers = [COPIES, BULK].into_iter().zip(class.waited);
            self.warp < COPIES && copiers.any(|(copier, time)| note.warp == self.warp + copier && note.time <= time)
        };
        self.is_own(note) || note.cta == self.cta && waited()
    }

    /// Whether all grids up to the one of a CTA come before.
    pub(crate) fn knows_grids_up_to(&self, cta: u32) -> bool {
        cta < self.grid.ctas.start && self.grid.concurrent.is_empty()
    }

    /// Whether all threads of an earlier access come before each of the lanes `mine`, as far as that is soon told.
    pub(crate) fn is_behind_all(&self, note: &Note, mine: u32) -> bool {
        if note.cta != self.cta || note.last != self.cta {
            return self.grid.knows_grid_of(note.cta);
        }
        let mut classes = self.classes.iter().filter(|class| class.lanes & mine != 0);
        classes.all(|class| class.view.own.all_of(note.warp) >= note.time)
    }

    /// Whether all threads that may access the memory from now on come behind an earlier access. Those of other grids are not looked at.
    pub(crate) fn all_are_behind(&self, note: &Note) -> bool {
        let of_grid = self.grid.ctas.contains(&note.cta) || self.grid.ctas.contains(&note.last);
        !of_grid || self.alone && self.classes.iter().any(|class| class.view.own.all_of(note.warp) >= note.time)
    }

    /// Whether an access is by the same lanes at the same time: whoever comes behind the one comes behind the other.
    pub(crate) fn is_same(&self, note: &Note, new: &Note) -> bool {
        note.cta == note.last
            && note.has(self.cta, self.warp)
            && (note.time, note.lanes, note.turn, note.bytes) == (new.time, new.lanes, new.turn, new.bytes)
    }

    /// The lanes of an earlier access, `theirs`, that do not come before each of the lanes `mine`.
    pub(crate) fn unordered(&self, note: &Note, theirs: u32, mine: u32) -> u32 {
        let own = self.is_own(note);
        let mut left = 0;
        for class in self.classes.iter().filter(|class| class.lanes & mine != 0) {
            let missing = self.missing(class, note, theirs);
            if missing == 0 {
                continue;
            }
            let itself = self.is_behind_itself(class, note);
            self.note_dependence(self.classes.len() > 1 || itself && note.turn != self.turn);
            let here = class.lanes & mine;
            // A store that several lanes of one instruction made at once was made by each of them.
            let made_by_each = note.kind.writes() && !note.kind.reads() && here & !theirs == 0;
            left |= match itself {
                _ if own && made_by_each => 0,
                // A lane comes behind itself.
                true if here.is_power_of_two() => missing & !here,
                _ => missing,
            };
        }
        left
    }

    /// Whether each of the lanes `theirs` is one of `mine`, or comes before them: what they have done need not be remembered beside the new access.
    pub(crate) fn supersedes(&self, note: &Note, theirs: u32, mine: u32) -> bool {
        let mut left = 0;
        for class in self.classes.iter().filter(|class| class.lanes & mine != 0) {
            let missing = self.missing(class, note, theirs);
            let own = self.is_own(note);
            let itself = self.is_behind_itself(class, note);
            // Of its own copies, each of the lanes here knows that it has waited.
            let known = if own { mine } else { class.lanes & mine };
            left |= if itself { missing & !known } else { missing };
            self.note_dependence(self.classes.len() > 1 || itself && note.turn != self.turn);
        }
        left == 0
    }

    fn note_dependence(&self, depends: bool) {
        if depends {
            self.depends.set(true);
        }
    }

    /// Those of the lanes `mine` that come behind some lane of an earlier access, or are the one that made it.
    pub(crate) fn behind(&self, note: &Note, theirs: u32, mine: u32) -> u32 {
        self.depends.set(true);
        let one = |class: &&Class| theirs.is_power_of_two() && self.is_behind_itself(class, note);
        let itself = self.classes.iter().filter(one).fold(0, |lanes, class| lanes | class.lanes & theirs & mine);
        let classes = self.classes.iter().filter(|class| class.lanes & mine != 0);
        let ordered = classes.filter(|class| self.missing(class, note, theirs) != theirs);
        ordered.fold(itself, |lanes, class| lanes | class.lanes & mine)
    }

    /// The lanes of an earlier access that a class does not know of.
    fn missing(&self, class: &Class, note: &Note, theirs: u32) -> u32 {
        if note.cta == self.cta {
            self.unknown(Some(&class.view.own), note, theirs)
        } else if self.grid.knows_grid_of(note.cta) || class.view.others.knows_grid_of(note.cta) {
            0
        } else {
            self.unknown(class.view.others.get(note.cta), note, theirs)
        }
    }

    fn unknown(&self, known: Option<&Known>, note: &Note, theirs: u32) -> u32 {
        let Some(known) = known else { return theirs };
        if known.all_of(note.warp) >= note.time {
            return 0;
        }
        match known.warp(note.warp) {
            None => theirs,
            Some(&Lanes::All(time)) => {
                if time >= note.time {
                    0
                } else {
                    theirs
                }
            }
            Some(Lanes::Each(times)) => {
                self.depends.set(true);
                let mut left = theirs;
                for (lane, &time) in times.iter().enumerate() {
                    if time >= note.time {
                        left &= !(1 << lane);
                    }
                }
                left
            }
        }
    }

    /// Whether two accesses to the same word are morally strong (PTX ISA 8.7.1): each is strong for the other's thread, and they overlap
    /// completely.
    pub(crate) fn morally_strong(&self, note: &Note, new: &Note) -> bool {
        let needed = self.grid.between(self.cta, note.cta);
        let sizes = [note.kind.size(), new.kind.size()];
        note.kind.strength() >= needed
            && new.kind.strength() >= needed
            && note.bytes == new.bytes
            && (sizes[0] == sizes[1] || sizes.contains(&Kind::ANY_SIZE))
    }
}

/// What is known of threads, of the own CTA and of others.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) own: std::sync::Arc<Known>,
    pub(crate) others: Clocks,
}
