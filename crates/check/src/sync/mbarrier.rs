//! mbarrier objects (PTX ISA 9.7.13.15): made once, used while they are valid, and counted as they count themselves.

use std::collections::{BTreeMap, HashMap};

use warploom_exec::address::split_shared;
use warploom_exec::observe::{At, MbarrierOp};

use super::Finding;
use super::barrier::lanes;

/// Bytes of an object.
const SIZE: u32 = 8;
/// The largest count of arrivals and of bytes (PTX ISA 9.7.13.15.2).
const MOST: u32 = (1 << 20) - 1;
/// Of arrivals at an object of `.layout::v1`.
const MOST_OF_V1: u32 = (1 << 9) - 1;

#[derive(Clone, Copy)]
struct Object {
    valid: bool,
    /// Where it was made, or made invalid.
    at: At,
    counts: Counts,
    /// The last arrival.
    arrived: Option<At>,
    /// Where bytes came last.
    came: Option<At>,
}

/// What an object counts.
#[derive(Clone, Copy, Default)]
struct Counts {
    expected: u32,
    pending: u32,
    /// That are waited for: below 0 if more have come than were expected so far, which may still be.
    bytes: i64,
    /// Phases that are over.
    phase: u64,
}

impl Counts {
    fn new(count: u32) -> Counts {
        Counts { expected: count, pending: count, bytes: 0, phase: 0 }
    }

    fn arrive(&mut self, count: u32) {
        self.pending = self.pending.saturating_sub(count);
        self.end_phase();
    }

    fn come(&mut self, bytes: u32) {
        self.bytes -= i64::from(bytes);
        self.end_phase();
    }

    /// A phase ends when neither arrivals nor bytes are waited for (9.7.13.15.4).
    fn end_phase(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.pending = self.expected;
            self.phase += 1;
        }
    }
}

/// Lanes of a warp whose last test has not found the phase over.
#[derive(Clone, Copy)]
struct Waiting {
    address: u32,
    at: At,
}

/// Those of a CTA, or of all of a cluster, by `.shared` address.
#[derive(Default)]
pub(super) struct Objects {
    objects: BTreeMap<u32, Object>,
    /// By rank and warp.
    waiting: HashMap<(u32, u32), Vec<Waiting>>,
    /// Phases in which lanes of the instruction that is told of have arrived.
    arrivals: HashMap<u32, u64>,
}

/// How an object is called in reports that an access of `at` is the reason for.
fn name(at: &At, address: u32) -> String {
    let (rank, offset) = split_shared(address);
    let of = if rank == at.rank { String::new() } else { format!(" of CTA {rank} of the cluster") };
    format!("the mbarrier object at {offset:#x} of shared memory{of}")
}

impl Objects {
    pub(super) fn any(&self) -> bool {
        !self.objects.is_empty()
    }

    /// The valid object that a range of bytes reaches into, its name for `at`, and where it was made.
    pub(super) fn at(&self, at: &At, address: u64, bytes: u64) -> Option<(String, At)> {
        let end = u32::try_from(address + bytes).ok()?;
        let (&start, object) = self.objects.range(..end).next_back()?;
        (object.valid && u64::from(start + SIZE) > address).then(|| (name(at, start), object.at))
    }

    /// An operation of a warp's lanes, each on the object at its address.
    pub(super) fn operate(&mut self, at: &At, addresses: &[u64; 32], op: &MbarrierOp<'_>) -> Vec<Finding> {
        self.arrivals.clear();
        let of_lane = |lane: u32| {
            let at = At { mask: 1 << lane, ..*at };
            self.operate_lane(&at, addresses[lane as usize] as u32, op, lane as usize)
        };
        at.lanes().filter_map(of_lane).collect()
    }

    fn operate_lane(&mut self, at: &At, address: u32, op: &MbarrierOp<'_>, lane: usize) -> Option<Finding> {
        if let MbarrierOp::Init { count, v1 } = *op {
            return self.init(at, address, count[lane], v1);
        }
        let object = match self.objects.get_mut(&address) {
            Some(object) if object.valid => object,
            Some(object) => {
                let text = format!("use of {}, which is no more", name(at, address));
                return Some(Finding::new("mbarrier", at, text).with(object.at, "it was made invalid here"));
            }
            None => {
                let text = format!("use of {}, where none was made", name(at, address));
                return Some(Finding::new("mbarrier", at, text));
            }
        };
        match *op {
            MbarrierOp::Init { .. } | MbarrierOp::CheckLayout => None,
            MbarrierOp::Inval => {
                let finding = object.unexpected(address);
                *object = Object { valid: false, at: *at, ..*object };
                finding
            }
            MbarrierOp::ExpectTx { bytes } => object.expect(at, address, bytes[lane]),
            MbarrierOp::CompleteTx { bytes } => object.complete(at, address, bytes[lane]),
            MbarrierOp::Arrive { drops, expects, count } => {
                let expected = expects.and_then(|bytes| object.expect(at, address, bytes[lane]));
                let phase = *self.arrivals.entry(address).or_insert(object.counts.phase);
                let arrived = object.arrive(at, address, count.map_or(1, |count| count[lane]), drops, phase);
                expected.or(arrived)
            }
            MbarrierOp::ArriveOfCopies { counted } => {
                if !counted {
                    object.counts.pending += 1;
                }
                let phase = object.counts.phase;
                object.arrive(at, address, 1, false, phase)
            }
            MbarrierOp::Test => {
                self.waiting.entry((at.rank, at.warp)).or_default().push(Waiting { address, at: *at });
                None
            }
        }
    }

    fn init(&mut self, at: &At, address: u32, count: u32, v1: bool) -> Option<Finding> {
        let object = Object { valid: true, at: *at, counts: Counts::new(count), arrived: None, came: None };
        let before = self.objects.insert(address, object).filter(|object| object.valid);
        let most = if v1 { MOST_OF_V1 } else { MOST };
        if count == 0 || count > most {
            let text = format!("{} is made for {count} arrivals: 1 to {most} can be counted", name(at, address));
            return Some(Finding::new("mbarrier", at, text));
        }
        let text = format!("mbarrier.init of {}, which is in use", name(at, address));
        before.map(|before| Finding::new("mbarrier", at, text).with(before.at, "it was made here"))
    }

    /// These lanes do something else than wait: what they waited for is over, or they have given up.
    pub(super) fn go_on(&mut self, at: &At) {
        if let Some(waiting) = self.waiting.get_mut(&(at.rank, at.warp)) {
            waiting.retain(|waiting| waiting.at.mask & at.mask == 0);
        }
    }

    /// What still waits where a grid has been stopped because nothing went on: for each object and place once.
    pub(super) fn left(&self) -> Vec<Finding> {
        let mut together: Vec<Waiting> = Vec::new();
        for waiting in self.waiting.values().flatten() {
            let same = |other: &&mut Waiting| {
                let (a, b) = (&waiting.at, &other.at);
                waiting.address == other.address && (a.rank, a.warp, a.site) == (b.rank, b.warp, b.site)
            };
            match together.iter_mut().find(same) {
                Some(other) => other.at.mask |= waiting.at.mask,
                None => together.push(*waiting),
            }
        }
        together.sort_by_key(|waiting| (waiting.at.rank, waiting.at.warp, waiting.at.site.0, waiting.address));
        together.iter().filter_map(|waiting| self.objects.get(&waiting.address)?.awaited(waiting)).collect()
    }

    /// What is wrong with objects when their CTAs have ended.
    pub(super) fn ended(&self) -> Vec<Finding> {
        let valid = self.objects.iter().filter(|(_, object)| object.valid);
        valid.filter_map(|(&address, object)| object.unexpected(address)).collect()
    }
}

impl Object {
    fn expect(&mut self, at: &At, address: u32, bytes: u32) -> Option<Finding> {
        self.counts.bytes += i64::from(bytes);
        if bytes <= MOST && self.counts.bytes <= i64::from(MOST) {
            return None;
        }
        let (name, all) = (name(at, address), self.counts.bytes);
        let text = format!("{name} is to expect {bytes} bytes more, {all} together: {MOST} can be counted");
        Some(Finding::new("mbarrier-bytes", at, text).with(self.at, "it was made here"))
    }

    fn complete(&mut self, at: &At, address: u32, bytes: u32) -> Option<Finding> {
        self.counts.come(bytes);
        self.came = Some(*at);
        if self.counts.bytes >= -i64::from(MOST) {
            return None;
        }
        let (name, more) = (name(at, address), -self.counts.bytes);
        let text = format!("{more} bytes more have come for {name} than were expected: {MOST} can be counted");
        Some(Finding::new("mbarrier-bytes", at, text).with(self.at, "it was made here"))
    }

    /// `phase`: the one in which the first lane of the instruction has arrived.
    fn arrive(&mut self, at: &At, address: u32, count: u32, drops: bool, phase: u64) -> Option<Finding> {
        let (name, left) = (name(at, address), self.counts.pending);
        let text = if count == 0 || count > MOST {
            Some(format!("{count} arrivals at {name}: 1 to {MOST} can be counted"))
        } else if count > left {
            Some(format!("{count} arrivals at {name}, whose phase waits for {left} more"))
        } else if self.counts.phase != phase {
            Some(format!("the lanes that arrive at {name} are more than its phase waits for: this one is in the next"))
        } else {
            None
        };
        let before = self.arrived.replace(*at).map_or((self.at, "it was made here"), |at| (at, "the last arrival"));
        if drops {
            self.counts.expected = self.counts.expected.saturating_sub(count);
        }
        self.counts.arrive(count);
        text.map(|text| Finding::new("mbarrier-arrivals", at, text).with(before.0, before.1))
    }

    /// More bytes have come than anybody has expected.
    fn unexpected(&self, address: u32) -> Option<Finding> {
        let at = self.came.filter(|_| self.counts.bytes < 0)?;
        let (name, more) = (name(&at, address), -self.counts.bytes);
        let text = format!("{more} bytes have come for {name} that nobody has expected up to its end");
        Some(Finding::new("mbarrier-bytes", &at, text).with(self.at, "it was made here"))
    }

    fn awaited(&self, waiting: &Waiting) -> Option<Finding> {
        let (name, Counts { expected, pending, bytes, phase }) = (name(&waiting.at, waiting.address), self.counts);
        let text = format!(
            "lanes {} wait for the end of a phase of {name}, which does not come: in phase {phase}, {pending} of {expected} arrivals and \
             {bytes} bytes are missing",
            lanes(waiting.at.mask)
        );
        let (at, what) = self.arrived.map_or((self.at, "it was made here"), |at| (at, "the last arrival"));
        self.valid.then(|| Finding::new("mbarrier-wait", &waiting.at, text).with(at, what))
    }
}
