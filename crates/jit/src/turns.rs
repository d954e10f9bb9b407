//! Warps whose lanes go their own ways: which group of lanes runs next, what meetings come to ([`meet`]), and what is said of them ([`report`]).
//!
//! The order is the interpreter's: of the groups of a warp that can run, the one at the lowest place does, so that lanes meet again as early as they can; one
//! that looks again and again at what it may wait for gives way to the others, then to other warps, and to other CTAs.

mod meet;
mod report;

use warploom_exec::fault::{Cause, FaultKind, Place, Site, Trap};
use warploom_exec::grid::{Grid, Poll};
use warploom_exec::kernel::{CtaExit, Worker};
use warploom_interp::exchange::{ExchangeKind, Operands, compute};
use warploom_interp::{Barriers, Cluster};
use warploom_ptx::ir::{BarrierOp, BarrierReduction, Body, MatrixOp, Op, Operand};
use warploom_simt::codegen::{NamedBarrier, Turns, outcome, turn};

/// Trips of loops that wait after which a warp gives way to others, if nothing in it has changed.
const LOOKS: u32 = 8;
/// The same, so many times over, if its registers change.
const LINGERS: u32 = 8;
/// Rounds that a CTA stays at most while it waits: what it waits for is mostly just about to be written by one that runs on another core, and who begins
/// another CTA instead comes back late. Rounds that were for nothing halve what the next ones may take, as where many CTAs of a core wait for each other.
const MOST_PATIENCE: u32 = 16;
/// Times in a row that a group of lanes is found in a loop when the clock asks, after which another group of the warp gets its turn: only code that waits
/// for another lane by plain accesses needs it.
const TIRED: u32 = 8;
/// Warps of a warpgroup.
const WARPGROUP: usize = 4;

/// What a meeting is.
#[derive(Clone, Copy, Debug)]
enum Meeting {
    Exchange {
        kind: ExchangeKind,
        /// Its members are in a register: lanes have to be among them.
        varies: bool,
    },
    Barrier {
        waits: bool,
        reduces: Option<BarrierReduction>,
        /// Its number and how many threads it is for, 0 for all, if they are in no register: lanes do not bring them then.
        known: Option<[u32; 2]>,
    },
    /// Of a cluster of one CTA.
    ClusterArrive,
    ClusterWait,
    WarpgroupWait,
}

/// What is known of a kernel whose lanes go their own ways.
pub(crate) struct Ways {
    /// Bytes of a warp's frame.
    pub(crate) frame: u32,
    /// By place.
    places: Vec<Place>,
    meetings: Vec<Meeting>,
    /// What is 0 in the frame of a fresh warp, by offset and bytes.
    cleared: Vec<(u32, u32)>,
    /// What loops that wait write of a warp's frame.
    looking: Vec<(u32, u32)>,
    /// Of the first meeting; the others follow.
    site: u64,
}

impl Ways {
    /// `located` says where an instruction with a PTX line is in the program, and `site` which site the first meeting is.
    pub(crate) fn new(
        turns: &Turns,
        body: &Body,
        frame: u32,
        site: u64,
        located: impl Fn(u32, u32) -> Place,
    ) -> Result<Ways, String> {
        let meeting = |inst: &u32| {
            let op = &body.insts.get(*inst as usize).ok_or("a meeting at no instruction")?.op;
            if let Op::Barrier(op) = op
                && let Some(named) = NamedBarrier::of(op)
            {
                let (waits, reduces) = match op {
                    BarrierOp::Reduce { op, .. } => (true, Some(*op)),
                    op => (!matches!(op, BarrierOp::Arrive { .. }), None),
                };
                return Ok(Meeting::Barrier { waits, reduces, known: named.known() });
            }
            match op {
                Op::Barrier(BarrierOp::ClusterArrive { .. }) => Ok(Meeting::ClusterArrive),
                Op::Barrier(BarrierOp::ClusterWait { .. }) => Ok(Meeting::ClusterWait),
                Op::Matrix(op) if matches!(**op, MatrixOp::WarpgroupWait { .. }) => Ok(Meeting::WarpgroupWait),
                // Lanes wait for the others of their warp; what they do then is in the code.
                Op::Matrix(_) => Ok(Meeting::Exchange { kind: ExchangeKind::Barrier, varies: false }),
                op => {
                    let kind = ExchangeKind::of(op).ok_or("a meeting at another instruction")?;
                    Ok(Meeting::Exchange { kind, varies: matches!(op.membermask(), Some(Operand::Reg(_))) })
                }
            }
        };
        let meetings = turns.meetings.iter().map(meeting).collect::<Result<_, String>>()?;
        let places = turns.places.iter().map(|(inst, line)| located(*inst, *line)).collect();
        Ok(Ways { frame, places, meetings, cleared: turns.cleared.clone(), looking: turns.looking.clone(), site })
    }
}

/// The beginning of a warp's frame.
#[repr(C, align(64))]
struct Head {
    places: [u32; 32],
    given: [u64; 32],
    which: [u32; 32],
    extent: [u32; 32],
    members: [u32; 32],
    taken: [u32; 32],
    holds: u32,
    meeting: u32,
    alive: u32,
    place: u32,
    others: u32,
    other_place: u32,
}

const _: () = {
    assert!(std::mem::offset_of!(Head, places) == turn::PLACES as usize);
    assert!(std::mem::offset_of!(Head, given) == turn::GIVEN as usize);
    assert!(std::mem::offset_of!(Head, which) == turn::WHICH as usize);
    assert!(std::mem::offset_of!(Head, extent) == turn::EXTENT as usize);
    assert!(std::mem::offset_of!(Head, members) == turn::MEMBERS as usize);
    assert!(std::mem::offset_of!(Head, taken) == turn::TAKEN as usize);
    assert!(std::mem::offset_of!(Head, holds) == turn::HOLDS as usize);
    assert!(std::mem::offset_of!(Head, meeting) == turn::MEETING as usize);
    assert!(std::mem::offset_of!(Head, alive) == turn::ALIVE as usize);
    assert!(std::mem::offset_of!(Head, place) == turn::PLACE as usize);
    assert!(std::mem::offset_of!(Head, others) == turn::OTHERS as usize);
    assert!(std::mem::offset_of!(Head, other_place) == turn::OTHER_PLACE as usize);
    assert!(std::mem::size_of::<Head>() == turn::SIZE as usize);
};

/// Why a group does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Ready,
    /// Until all of `members` that have not ended have come to an operation with the same key.
    Exchange {
        members: u32,
        key: u32,
        kind: ExchangeKind,
    },
    /// At a barrier, for the end of a phase; what it takes then.
    Barrier {
        id: u32,
        ticket: u64,
        reduces: Option<BarrierReduction>,
    },
    /// At the barrier of the cluster, for the end of this phase.
    Cluster {
        phase: u64,
    },
    /// For the other warps of the warpgroup to have waited as often.
    Warpgroup {
        times: u64,
    },
}

/// Lanes at one place.
#[derive(Clone, Copy, Debug)]
struct Group {
    place: u32,
    mask: u32,
    wait: Wait,
    /// When it last ran.
    age: u64,
}

#[derive(Debug, Default)]
struct Warp {
    alive: u32,
    groups: Vec<Group>,
    /// The next choice goes to the group that has waited longest.
    rotate: bool,
    stamp: u64,
    /// How often in a row the clock has found it in a loop.
    tired: u32,
    /// What lanes that look hold, and where they stand, came to when it last gave way for its looks.
    seen: Option<u64>,
    /// How often it has come to a `wgmma.wait_group`, and the lanes that have come to the next one.
    waits: (u64, u32),
}

/// The warps of a CTA.
#[derive(Debug, Default)]
pub(crate) struct Warps {
    all: Vec<Warp>,
    barriers: Barriers,
    /// The CTA by itself.
    cluster: Cluster,
    /// How many more rounds of looks it stays at once, when all that can run waits.
    patience: u32,
}

/// What a time slice of a warp came to; later ones hide earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// It waits: as long as nobody else changes memory it will do the same again.
    Waited,
    /// It looks, and counts meanwhile.
    Lingered,
    Progressed,
}

/// A run of a CTA.
pub(crate) struct Run<'r> {
    pub(crate) ways: &'r Ways,
    pub(crate) grid: &'r Grid,
    pub(crate) worker: &'r Worker,
    pub(crate) cta: [u32; 3],
    pub(crate) shape: [u32; 3],
    pub(crate) frames: *mut u8,
    /// Runs the code: of a warp, from a place on, these lanes, up to a limit.
    pub(crate) enter: &'r mut dyn FnMut(u32, u32, u32, u32) -> i32,
}

impl Run<'_> {
    fn head(&mut self, warp: u32) -> &mut Head {
        // SAFETY: frames of all warps are there, each begins with its head, and no code runs that would write there meanwhile.
        unsafe { &mut *self.frames.add(warp as usize * self.ways.frame as usize).cast() }
    }

    /// Makes 0 of what may be read of a fresh warp's frame.
    fn clear(&mut self, warp: u32) {
        for (offset, bytes) in &self.ways.cleared {
            let at = warp as usize * self.ways.frame as usize + *offset as usize;
            // SAFETY: within the warp's frame, as the code was made for; none runs.
            unsafe { self.frames.add(at).write_bytes(0, *bytes as usize) };
        }
    }

    /// What loops that wait write of a warp's frame.
    fn looking(&self, warp: u32) -> impl Iterator<Item = &[u8]> {
        self.ways.looking.iter().map(move |(offset, bytes)| {
            let at = warp as usize * self.ways.frame as usize + *offset as usize;
            // SAFETY: as above.
            unsafe { std::slice::from_raw_parts(self.frames.add(at), *bytes as usize) }
        })
    }

    fn fault(&self, kind: FaultKind, site: Option<u64>, thread: u32) -> CtaExit {
        let [x, y, _] = self.shape;
        let thread = Some([thread % x, thread / x % y, thread / (x * y)]);
        CtaExit::Fault(Box::new(Trap { cause: Cause::Known(kind), site: site.map(Site), cta: Some(self.cta), thread }))
    }
}

impl Warps {
    /// Those of a fresh CTA, at the first place.
    pub(crate) fn start(&mut self, threads: u32, run: &mut Run<'_>) {
        let lanes = |warp: u32| match threads - 32 * warp {
            32.. => u32::MAX,
            rest => (1 << rest) - 1,
        };
        let masks: Vec<u32> = (0..threads.div_ceil(32)).map(lanes).collect();
        self.barriers.start(&masks);
        self.cluster.start(1, &masks);
        self.patience = self.patience.max(1);
        for warp in 0..masks.len() as u32 {
            run.clear(warp);
        }
        self.all.resize_with(masks.len(), Warp::default);
        for (number, (warp, mask)) in (0..).zip(self.all.iter_mut().zip(masks)) {
            warp.groups.clear();
            warp.groups.push(Group { place: 0, mask, wait: Wait::Ready, age: 0 });
            (warp.alive, warp.rotate, warp.stamp, warp.tired, warp.seen) = (mask, false, 0, 0, None);
            warp.waits = (0, 0);
            run.head(number).alive = mask;
        }
    }

    /// Lets the warps take turns until all have ended, or none can go on.
    pub(crate) fn run(&mut self, run: &mut Run<'_>) -> CtaExit {
        let (mut moved, mut stayed) = (false, 0);
        loop {
            let mut round = None;
            let mut unfinished = false;
            for warp in 0..self.all.len() as u32 {
                if self.all[warp as usize].alive == 0 {
                    continue;
                }
                unfinished = true;
                if self.can_run(warp) {
                    match self.slice(warp, run) {
                        Ok(outcome) => round = round.max(Some(outcome)),
                        Err(exit) => return exit,
                    }
                }
            }
            if !unfinished {
                return CtaExit::Finished;
            }
            let poll = run.grid.poll(run.worker);
            if poll == Poll::Cancel {
                return CtaExit::Cancelled;
            }
            moved |= round >= Some(Outcome::Lingered);
            match round {
                Some(Outcome::Progressed) if poll == Poll::Continue => {
                    if stayed != 0 {
                        (self.patience, stayed) = (MOST_PATIENCE.min(2 * self.patience), 0);
                    }
                }
                None => return self.stuck(run),
                Some(_) if poll == Poll::Continue && stayed < self.patience => stayed += 1,
                _ => {
                    if stayed != 0 {
                        self.patience /= 2;
                    }
                    return CtaExit::Yielded { progressed: moved };
                }
            }
        }
    }

    fn can_run(&self, warp: u32) -> bool {
        self.all[warp as usize].groups.iter().any(|group| match group.wait {
            Wait::Ready => true,
            Wait::Barrier { id, ticket, .. } => self.barriers.passed(id, ticket),
            Wait::Cluster { phase } => self.cluster.phases() > phase,
            Wait::Warpgroup { times } => self.have_waited(warp, times),
            Wait::Exchange { .. } => false,
        })
    }

    /// Whether all warps of a warpgroup have come so often to where they wait for each other's products: the same, by PTX ISA 9.7.15.
    fn have_waited(&self, warp: u32, times: u64) -> bool {
        let first = warp as usize / WARPGROUP * WARPGROUP;
        self.all[first..].iter().take(WARPGROUP).all(|other| other.alive == 0 || other.waits.0 >= times)
    }

    /// Runs a warp until all its groups wait or have ended, or it gives way.
    fn slice(&mut self, number: u32, run: &mut Run<'_>) -> Result<Outcome, CtaExit> {
        let (mut looks, mut lingers, mut worked) = (0, 0, false);
        loop {
            self.pass_barriers(number, run);
            self.complete_exchanges(number, run);
            let Some((place, mask, limit)) = self.all[number as usize].choose() else { break };
            let answer = (run.enter)(number, place, mask, limit);
            match answer {
                turn::STANDS | turn::LOOKED | turn::RAISED => self.stand(number, mask, run),
                turn::SCATTERED => self.stand_apart(number, mask, run),
                turn::MET => {
                    let head = run.head(number);
                    let (staying, meeting) = (head.others & mask, head.meeting);
                    self.stand(number, staying, run);
                    self.meet(number, mask & !staying, meeting, run)?;
                }
                outcome::CANCELLED => return Err(CtaExit::Cancelled),
                // If it is a fault, the context has it.
                other => {
                    let kind = FaultKind::Internal(format!("compiled code has come back with {other}"));
                    return Err(run.fault(kind, None, 32 * number));
                }
            }
            if answer == turn::LOOKED {
                let warp = &mut self.all[number as usize];
                warp.rotate = true;
                looks += 1;
                if looks < LOOKS {
                    continue;
                }
                let now = Some(warp.fingerprint(run.looking(number)));
                let same = std::mem::replace(&mut warp.seen, now) == now;
                lingers += 1;
                if same || lingers == LINGERS {
                    return Ok(match same {
                        _ if worked => Outcome::Progressed,
                        true => Outcome::Waited,
                        false => Outcome::Lingered,
                    });
                }
                looks = 0;
                continue;
            }
            worked = true;
            let warp = &mut self.all[number as usize];
            if answer == turn::RAISED {
                warp.tired += 1;
                warp.rotate = warp.tired.is_multiple_of(TIRED);
                break;
            }
            warp.tired = 0;
        }
        self.all[number as usize].seen = None;
        Ok(Outcome::Progressed)
    }

    /// Lanes have come to where the frame says.
    fn stand(&mut self, number: u32, mask: u32, run: &mut Run<'_>) {
        let head = run.head(number);
        let others = head.others & mask;
        for (place, there) in [(head.other_place, others), (head.place, mask & !others)] {
            if there != 0 {
                self.stand_at(number, place, there, run);
            }
        }
    }

    /// The same of lanes each of which is somewhere else.
    fn stand_apart(&mut self, number: u32, mask: u32, run: &mut Run<'_>) {
        let mut left = mask;
        while left != 0 {
            let places = &run.head(number).places;
            let place = places[left.trailing_zeros() as usize];
            let there = left & holders(places, place);
            left &= !there;
            self.stand_at(number, place, there, run);
        }
    }

    /// Lanes have come to a place, or have ended.
    fn stand_at(&mut self, number: u32, place: u32, there: u32, run: &mut Run<'_>) {
        let warp = &mut self.all[number as usize];
        if place != turn::END {
            warp.park(place, there, Wait::Ready);
            return;
        }
        warp.alive &= !there;
        run.head(number).alive = warp.alive;
        self.barriers.exit(number, there);
        self.cluster.exit(number, there);
    }

    /// Lets the groups go on whose barriers have completed meanwhile.
    fn pass_barriers(&mut self, number: u32, run: &mut Run<'_>) {
        let phases = self.cluster.phases();
        for at in 0..self.all[number as usize].groups.len() {
            let over = match self.all[number as usize].groups[at].wait {
                Wait::Cluster { phase } => phases > phase,
                Wait::Warpgroup { times } => self.have_waited(number, times),
                _ => false,
            };
            let group = &mut self.all[number as usize].groups[at];
            if over {
                group.wait = Wait::Ready;
            }
            let Wait::Barrier { id, ticket, reduces } = group.wait else { continue };
            if !self.barriers.passed(id, ticket) {
                continue;
            }
            group.wait = Wait::Ready;
            let Some(reduction) = reduces else { continue };
            let vote = self.barriers.take_outcome(id, ticket);
            let head = run.head(number);
            match reduction {
                BarrierReduction::Popc => lanes(group.mask).for_each(|lane| head.taken[lane] = vote.ayes),
                BarrierReduction::And => head.hold(group.mask, if vote.all() { group.mask } else { 0 }),
                BarrierReduction::Or => head.hold(group.mask, if vote.any() { group.mask } else { 0 }),
            }
        }
    }

    /// Carries out the exchanges to which all their lanes have come, be it at different instructions.
    fn complete_exchanges(&mut self, number: u32, run: &mut Run<'_>) {
        let warp = &mut self.all[number as usize];
        for index in 0..warp.groups.len() {
            let wait = warp.groups[index].wait;
            let Wait::Exchange { members, kind, .. } = wait else { continue };
            let there = warp.groups.iter().filter(|group| group.wait == wait).fold(0, |all, group| all | group.mask);
            if members & warp.alive & !there != 0 {
                continue;
            }
            run.head(number).exchange(kind, there);
            warp.groups.iter_mut().filter(|group| group.wait == wait).for_each(|group| group.wait = Wait::Ready);
        }
    }
}

impl Warp {
    fn park(&mut self, place: u32, mask: u32, wait: Wait) {
        self.stamp += 1;
        self.groups.push(Group { place, mask, wait, age: self.stamp });
    }

    /// Takes the group that runs next, with all that stand where it does: its place and lanes, and the first place at which others wait for it.
    fn choose(&mut self) -> Option<(u32, u32, u32)> {
        if let [Group { place, mask, wait: Wait::Ready, .. }] = self.groups[..] {
            self.groups.clear();
            self.rotate = false;
            return Some((place, mask, turn::END));
        }
        let ready = self.groups.iter().filter(|group| group.wait == Wait::Ready);
        let chosen = match std::mem::take(&mut self.rotate) {
            true => ready.min_by_key(|group| group.age),
            false => ready.min_by_key(|group| group.place),
        };
        let place = chosen?.place;
        let mut mask = 0;
        self.groups.retain(|group| {
            let here = group.wait == Wait::Ready && group.place == place;
            mask |= if here { group.mask } else { 0 };
            !here
        });
        let others = self.groups.iter().filter(|group| group.wait == Wait::Ready).map(|group| group.place);
        let limit = others.filter(|other| *other > place).min();
        Some((place, mask, limit.unwrap_or(turn::END)))
    }

    /// The hash of all that decides what it does next, but for memory. Not for keys that an attacker chooses.
    fn fingerprint<'f>(&self, frame: impl Iterator<Item = &'f [u8]>) -> u64 {
        let mix = |hash: u64, value: u64| (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let groups = self.groups.iter().map(|group| mix(u64::from(group.place), u64::from(group.mask)));
        // Turns change their order.
        let groups = groups.fold(0, u64::wrapping_add);
        frame.fold(groups, |hash, bytes| {
            let (words, rest) = bytes.as_chunks::<8>();
            let hash = words.iter().fold(hash, |hash, word| mix(hash, u64::from_ne_bytes(*word)));
            rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
        })
    }
}

impl Head {
    /// What an exchange gives some lanes.
    fn exchange(&mut self, kind: ExchangeKind, mask: u32) {
        let Head { given, which, extent, members, .. } = &*self;
        let results = compute(kind, &Operands { a: *given, b: *which, c: *extent, members: *members, mask });
        lanes(mask).for_each(|lane| self.taken[lane] = results.d[lane]);
        self.hold(mask, results.p);
    }

    fn hold(&mut self, mask: u32, holds: u32) {
        self.holds = self.holds & !mask | holds & mask;
    }
}

/// The lanes that have a word in a row. All are looked at, which is vectors.
fn holders(row: &[u32; 32], word: u32) -> u32 {
    (0..).zip(row).fold(0, |all, (lane, other)| all | u32::from(*other == word) << lane)
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}
