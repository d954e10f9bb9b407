//! Races: accesses to the same bytes, at least one of which writes, that nothing orders and that are not morally strong (PTX ISA 8.9.2).
//!
//! Threads know what comes before them (`clock`, `threads`); where they meet, and where a strong read observes what was released, they
//! learn (`cluster`, `location`). Each word of memory has a shadow of its last accesses (`shadow`), against which a new one is held
//! (`actor`). What streams and the host order is in `streams`. Races are found in the order that the run took: accesses that a lock or
//! a flag has ordered in this run are ordered. What an atomic releases is recorded before it and what it acquires behind it; those to one place of
//! global memory take turns (`turns`). A store is recorded before it and a load behind it: a load that has just missed a value counts as
//! ordered behind it, so that a race may go unseen in such a run, and none is made up.
//!
//! What counts beyond the letter of the model: a fence before a barrier counts for all that the barrier orders behind it, and what a relaxed read
//! has observed before one counts as acquired behind it, as in the guide's own example of the last block; whoever finds
//! a phase of an mbarrier over comes behind all bulk copies of its cluster; and lanes of one instruction that write to the same place
//! are no race, since one of them is performed (CUDA programming guide 10.1): a later access of another thread is.

mod actor;
mod clock;
mod cluster;
mod flights;
mod gathers;
mod grid;
mod host;
mod location;
mod memory;
mod note;
mod notes;
mod pieces;
mod reads;
mod rows;
mod shadow;
mod streams;
mod threads;
mod turns;
mod values;

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_exec::address::SHARED_PER_CTA;
use warploom_exec::fault::Site;
use warploom_exec::observe::{Access as Told, At, GridFacts, GridObserver, HostEvent, Observer, Space, Wants};

use crate::grid::GridNames;
use crate::origin::Origin;
use crate::registry::Check;
use crate::report::{Note as Remark, Report, Thread};
use crate::sink::Sink;
use actor::GridOrder;
use flights::Flights;
use grid::{GridRace, Watched, site_of};
use host::{Copies, Copy};
use memory::Memory;
use note::{Conflict, Kind, Note, Strength};
use streams::Streams;

/// What a place in a grid is called.
#[derive(Clone)]
struct Shape {
    names: Arc<GridNames>,
    grid: [u32; 3],
    cta: [u32; 3],
    cluster: [u32; 3],
}

impl Shape {
    /// Number of the cluster that a CTA is in.
    fn cluster_of(&self, cta: [u32; 3]) -> u64 {
        let [x, y, z] = [0, 1, 2].map(|axis| u64::from(cta[axis] / self.cluster[axis]));
        let [nx, ny, _] = [0, 1, 2].map(|axis| u64::from(self.grid[axis] / self.cluster[axis]));
        x + nx * (y + ny * z)
    }

    fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Number of a CTA in the grid: those of a cluster one after another.
    fn place(&self, cluster: u64, rank: u32) -> u32 {
        cluster as u32 * self.cluster_size() + rank
    }

    /// `%ctaid` of a number.
    fn cta_at(&self, place: u32) -> [u32; 3] {
        let (cluster, rank) = (place / self.cluster_size(), place % self.cluster_size());
        let [cx, cy, _] = self.cluster;
        let [nx, ny, _] = [0, 1, 2].map(|axis| (self.grid[axis] / self.cluster[axis]).max(1));
        let start = [cluster % nx, cluster / nx % ny, cluster / (nx * ny)];
        let inside = [rank % cx, rank / cx % cy, rank / (cx * cy)];
        [0, 1, 2].map(|axis| start[axis] * self.cluster[axis] + inside[axis])
    }
}

/// What all grids have in common.
struct Shared {
    memory: Memory,
    grids: Mutex<Grids>,
    flights: Flights,
    sink: Arc<Sink>,
}

#[derive(Default)]
struct Grids {
    next: u32,
    streams: Streams,
    copies: Copies,
    /// By the numbers of their CTAs, ascending.
    shapes: Vec<(Range<u32>, Shape)>,
}

/// Grids whose names are remembered for reports.
const REMEMBERED: usize = 1 << 14;

/// The check for races.
pub struct RaceCheck {
    shared: Arc<Shared>,
}

impl RaceCheck {
    /// Reports to `sink`.
    pub fn new(sink: &Arc<Sink>) -> RaceCheck {
        let shared = Shared {
            memory: Memory::default(),
            grids: Mutex::default(),
            flights: Flights::default(),
            sink: Arc::clone(sink),
        };
        RaceCheck { shared: Arc::new(shared) }
    }

    /// Bytes of host memory that the shadow of global memory takes now.
    pub fn shadow_bytes(&self) -> usize {
        self.shared.memory.bytes()
    }
}

impl Observer for RaceCheck {
    fn wants(&self) -> Wants {
        Wants { accesses: true, order: true, stores: true, ..Wants::default() }
    }

    fn begin_grid(&self, facts: &GridFacts<'_>) -> Box<dyn GridObserver> {
        let launch = facts.launch;
        let shape = Shape {
            names: Arc::new(GridNames::new(facts)),
            grid: launch.grid,
            cta: launch.cta,
            cluster: launch.cluster.map(|size| size.max(1)),
        };
        let count = launch.grid.iter().map(|&size| u64::from(size)).product::<u64>();
        let mut grids = self.shared.grids.lock();
        // CTAs have numbers of 32 bits, 0 for none. When these are used up, what happened before is forgotten.
        let count = u32::try_from(count).unwrap_or(u32::MAX - 1);
        if grids.next.checked_add(count).is_none_or(|end| end == u32::MAX) {
            grids.next = 0;
            grids.shapes.clear();
            self.shared.memory.clear();
        }
        let start = grids.next.max(1);
        let ctas = start..start.saturating_add(count);
        grids.next = ctas.end;
        let concurrent = grids.streams.begin(facts.place, ctas.clone());
        if grids.shapes.len() >= REMEMBERED {
            grids.shapes.drain(..REMEMBERED / 2);
        }
        grids.shapes.push((ctas.clone(), shape.clone()));
        drop(grids);
        let levels = clock::levels_for(count.into());
        let cluster = shape.cluster_size();
        let order = Arc::new(GridOrder { ctas, levels, cluster, width: shape.grid[0], concurrent });
        Box::new(Watched(Arc::new(GridRace::new(self.shared.clone(), order, shape, facts.place))))
    }

    fn host(&self, event: &HostEvent) {
        match event {
            HostEvent::Alloc { info, .. }
            | HostEvent::Free { info, .. }
            | HostEvent::Mapped { info, .. }
            | HostEvent::Unmapped(info) => {
                let range = info.base..info.base + info.size;
                self.shared.grids.lock().copies.forget(&range);
                self.shared.memory.forget(range);
            }
            HostEvent::Touches { place, read, written, what } => {
                for copy in Copies::of(*place, read.as_ref(), written.as_ref(), what) {
                    self.shared.copied(copy);
                }
            }
            event => self.shared.grids.lock().streams.host(event),
        }
    }
}

impl Shared {
    /// Who has left a note in some lanes, and the CTAs of its grid; none if the grid is forgotten.
    fn thread_of(&self, note: &Note, lanes: u32) -> Option<(Range<u32>, Thread)> {
        let grids = self.grids.lock();
        let index = grids.shapes.partition_point(|(ctas, _)| ctas.start <= note.cta);
        let (ctas, shape) = index.checked_sub(1).and_then(|index| grids.shapes.get(index))?;
        if !ctas.contains(&note.cta) {
            return None;
        }
        let at = At {
            cta: shape.cta_at(note.cta - ctas.start),
            rank: 0,
            warp: u32::from(note.warp % clock::COPIES),
            mask: lanes,
            site: Site(site_of(note.place)),
            activation: 0,
        };
        Some((ctas.clone(), shape.names.thread(&at, lanes.trailing_zeros())))
    }

    /// The host copies.
    fn copied(&self, copy: Copy) {
        let mut grids = self.grids.lock();
        let Grids { streams, copies, .. } = &mut *grids;
        let beside = streams.beside(copy.place);
        let before = copies.add(copy.clone(), streams);
        drop(grids);
        if let Some(before) = before {
            let (place, bytes) = (before.range.start, before.range.end - before.range.start);
            let text = format!(
                "the other is {} in another stream, which {} {bytes} bytes at {place:#x}",
                before.what,
                verb(&before)
            );
            self.tell(&copy, copy.range.start.max(place), None, text);
        }
        if !beside.is_empty() {
            self.hold_against(&copy, &beside);
        }
    }

    /// Reports what some CTAs have accessed that a copy is not ordered with.
    fn hold_against(&self, copy: &Copy, ctas: &[Range<u32>]) {
        for (address, note) in host::conflicts(&self.memory, copy, ctas) {
            if let Some((_, thread)) = self.thread_of(&note, note.lanes_at(address)) {
                let (place, bytes) = (copy.range.start, copy.range.end - copy.range.start);
                let text =
                    format!("the other is {} of the host, which {} {bytes} bytes at {place:#x}", copy.what, verb(copy));
                self.tell(copy, address, Some(thread), text);
            }
        }
    }

    /// Reports that nothing orders a copy, with an address of both and the thread that it is not ordered with.
    fn tell(&self, copy: &Copy, address: u64, thread: Option<Thread>, text: String) {
        let message = match &thread {
            Some(_) => format!(
                "race: an access at {address:#x} of global memory, and nothing orders it with a copy or fill of the host"
            ),
            None => format!(
                "race: {} that {} memory at {address:#x}, and nothing orders it with another one",
                copy.what,
                verb(copy)
            ),
        };
        let frames = Origin::here().frames();
        let notes = vec![Remark { frames, ..Remark::new(text) }];
        self.sink.report(Report { check: Check::Race, kind: "copy-race", message, thread, notes });
    }

    /// `same`: it puts there what the other has put there.
    fn report(&self, grid: &GridRace, (conflict, same): (&Conflict, bool), at: &At, told: &Told<'_>, kind: Kind) {
        let note = &conflict.note;
        let Some((ctas, other)) = self.thread_of(note, conflict.earlier) else { return };
        let other_grid = ctas != grid.order.ctas;
        let (name, address) = match told.space {
            Space::Shared => ("shared", conflict.address % SHARED_PER_CTA),
            _ => ("global", conflict.address),
        };
        let thread = grid.shape.names.thread(at, (conflict.later & at.mask).trailing_zeros());
        // Of one thread, one of the two is an asynchronous copy that it has issued.
        let own = !other_grid && (other.cta, other.thread) == (thread.cta, thread.thread);
        let copied = note.warp >= clock::COPIES;
        let message = format!(
            "race: {} at {address:#x} of {name} memory, and nothing orders it after {}",
            words(kind),
            match (other_grid, same) {
                (true, false) => "what another grid did there",
                (true, true) => "another grid's, which put the same there",
                (false, false) if own && copied => "what the thread itself has copied there asynchronously",
                (false, false) if own => "what the thread itself did there",
                (false, false) if copied => "what another thread has copied there asynchronously",
                (false, false) => "what another thread did there",
                (false, true) if own => "the thread's own, which put the same there",
                (false, true) => "another thread's, which put the same there",
            },
        );
        let shared = told.space == Space::Shared;
        let strong = note.kind.strong() && kind.strong();
        let text = match (strong, other_grid) {
            (true, _) => {
                format!("the other is {}: the scopes do not hold both threads, or the bytes differ", words(note.kind))
            }
            (false, true) => format!("the other is {} by a grid that no stream order separates", words(note.kind)),
            (false, false) => format!("the other is {}", words(note.kind)),
        };
        self.sink.report(Report {
            check: Check::Race,
            kind: match (shared, same) {
                (true, false) => "shared-race",
                (false, false) => "global-race",
                (true, true) => "shared-same-value",
                (false, true) => "global-same-value",
            },
            message,
            thread: Some(thread),
            notes: vec![Remark::by(other, text)],
        });
    }
}

fn verb(copy: &Copy) -> &'static str {
    if copy.writes { "writes" } else { "reads" }
}

/// What an access is.
fn words(kind: Kind) -> String {
    let what = match (kind.reads(), kind.writes()) {
        (true, true) => "atomic",
        (true, false) => "read",
        _ => "write",
    };
    match kind.strength() {
        Strength::Weak => format!("a weak {what}"),
        Strength::Cta => format!("a {what} of scope .cta"),
        Strength::Cluster => format!("a {what} of scope .cluster"),
        Strength::Gpu => format!("a {what} of scope .gpu"),
        Strength::Sys => format!("a {what} of scope .sys"),
    }
}
