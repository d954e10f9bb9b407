//! Barriers of a CTA (PTX ISA 9.7.13.1 `bar`, `barrier`): sixteen of them, each counts arrivals, of all threads or of as many as the instruction names.

use warploom_numerics::exchange::Vote;

/// How many there are ("Each CTA instance has sixteen barriers").
pub const BARRIERS: usize = 16;

/// What a completed phase of `barrier.red` came to, for the groups that have not taken it yet.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    ticket: u64,
    reduction: Vote,
    takers: u32,
}

#[derive(Debug, Default)]
struct Barrier {
    /// Lanes of each warp that have arrived in this phase.
    arrived: Vec<u32>,
    /// Threads that arrived more than once in this phase.
    repeated: u32,
    /// The thread count that the instruction named.
    expected: Option<u32>,
    /// Groups that wait for the phase's reduction.
    takers: u32,
    outcomes: Vec<Outcome>,
    /// What `barrier.red` computes over the arriving threads.
    reduction: Vote,
    pending: bool,
}

/// The arrival of a group at a barrier.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The barrier's number.
    pub id: u32,
    /// The warp's.
    pub warp: u32,
    /// Its lanes that arrive.
    pub mask: u32,
    /// Lanes whose predicate operand holds, for `barrier.red`.
    pub set: u32,
    /// Thread count operand.
    pub expected: Option<u32>,
    /// Whether [`Barriers::take_outcome`] will be asked for the phase's reduction.
    pub reduces: bool,
}

impl Arrival {
    /// The arrival of all that is there of a group, with no count and no reduction.
    #[inline(always)]
    pub fn plain(id: u32, warp: u32, mask: u32) -> Self {
        Self { id, warp, mask, set: 0, expected: None, reduces: false }
    }
}

/// The barriers of a CTA, and who is still alive.
#[derive(Debug, Default)]
pub struct Barriers {
    /// Lanes of each warp that have not exited.
    alive: Vec<u32>,
    alive_threads: u32,
    /// Barriers at which threads have arrived.
    pending: u32,
    /// The phase of each barrier that is not complete yet: who waits for an earlier one goes on.
    phases: [u64; BARRIERS],
    all: [Barrier; BARRIERS],
    /// A bit for each barrier at which a thread of this CTA has ever arrived.
    touched: u32,
}

impl Barriers {
    /// Those of a fresh CTA with these warps: lanes that exist in each.
    pub fn start(&mut self, warps: &[u32]) {
        self.alive.clear();
        self.alive.extend_from_slice(warps);
        self.alive_threads = warps.iter().map(|mask| mask.count_ones()).sum();
        self.pending = 0;
        while self.touched != 0 {
            let id = self.touched.trailing_zeros() as usize % BARRIERS;
            self.touched &= self.touched - 1;
            self.phases[id] = 0;
            self.all[id].clear();
            self.all[id].outcomes.clear();
        }
    }

    /// Warps of the CTA.
    pub fn warps(&self) -> usize {
        self.alive.len()
    }

    /// Threads that have not exited.
    pub fn alive_threads(&self) -> u32 {
        self.alive_threads
    }

    /// Counts an arrival and returns the phase that it belongs to.
    #[inline(always)]
    pub fn arrive(&mut self, arrival: Arrival) -> u64 {
        let barrier = &mut self.all[arrival.id as usize];
        let warp = arrival.warp as usize;
        if !barrier.pending {
            self.pending += 1;
            self.touched |= 1 << arrival.id;
            barrier.pending = true;
            barrier.arrived.resize(self.alive.len(), 0);
        }
        barrier.repeated += (barrier.arrived[warp] & arrival.mask).count_ones();
        barrier.arrived[warp] |= arrival.mask;
        barrier.expected = barrier.expected.or(arrival.expected);
        barrier.reduction.voters += arrival.mask.count_ones();
        barrier.reduction.ayes += (arrival.mask & arrival.set).count_ones();
        barrier.takers += u32::from(arrival.reduces);
        let ticket = self.phases[arrival.id as usize];
        // Most arrivals are not the last one: no need to look at each warp.
        if barrier.expected.is_some() || barrier.reduction.voters >= self.alive_threads {
            self.complete(arrival.id as usize);
        }
        ticket
    }

    /// Takes threads that exit out of the count (PTX ISA 9.7.12.8 `exit`: barriers that wait for them are re-evaluated).
    pub fn exit(&mut self, warp: u32, lanes: u32) {
        let alive = &mut self.alive[warp as usize];
        self.alive_threads -= (*alive & lanes).count_ones();
        *alive &= !lanes;
        if self.pending != 0 {
            for id in 0..BARRIERS {
                if self.all[id].pending {
                    self.complete(id);
                }
            }
        }
    }

    /// True if phase `ticket` of barrier `id` is complete.
    #[inline(always)]
    pub fn passed(&self, id: u32, ticket: u64) -> bool {
        self.phases[id as usize % BARRIERS] > ticket
    }

    /// The phase of barrier `id` that is not complete yet.
    pub fn phase(&self, id: u32) -> u64 {
        self.phases[id as usize % BARRIERS]
    }

    /// What a completed phase came to. To be asked once by each group that said it would.
    pub fn take_outcome(&mut self, id: u32, ticket: u64) -> Vote {
        let outcomes = &mut self.all[id as usize].outcomes;
        let Some(index) = outcomes.iter().position(|outcome| outcome.ticket == ticket) else {
            return Vote::default();
        };
        let outcome = &mut outcomes[index];
        outcome.takers -= 1;
        let reduction = outcome.reduction;
        if outcome.takers == 0 {
            outcomes.swap_remove(index);
        }
        reduction
    }

    /// Threads that arrived at barrier `id`, and how many it waits for.
    pub fn counts(&self, id: u32) -> (u32, u32) {
        let barrier = &self.all[id as usize];
        (barrier.reduction.voters, barrier.expected.unwrap_or_else(|| self.alive_threads()))
    }

    fn complete(&mut self, id: usize) {
        let barrier = &mut self.all[id];
        let full = match barrier.expected {
            None => barrier.arrived.iter().zip(&self.alive).all(|(arrived, alive)| alive & !arrived == 0),
            Some(count) => {
                // A warp of which all remaining threads are here counts as a whole one, since counts are multiples of 32.
                let threads: u32 = barrier
                    .arrived
                    .iter()
                    .zip(&self.alive)
                    .map(|(&arrived, alive)| match arrived {
                        0 => 0,
                        _ if alive & !arrived == 0 => 32,
                        _ => arrived.count_ones(),
                    })
                    .sum();
                threads + barrier.repeated >= count
            }
        };
        if !full {
            return;
        }
        if barrier.takers != 0 {
            let (reduction, takers) = (barrier.reduction, barrier.takers);
            barrier.outcomes.push(Outcome { ticket: self.phases[id], reduction, takers });
        }
        barrier.clear();
        self.phases[id] += 1;
        self.pending -= 1;
    }
}

impl Barrier {
    /// Ready for the next phase.
    fn clear(&mut self) {
        self.arrived.clear();
        self.repeated = 0;
        self.expected = None;
        self.takers = 0;
        self.reduction = Vote::default();
        self.pending = false;
    }
}
