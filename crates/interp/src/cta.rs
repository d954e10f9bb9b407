//! What the warps of one CTA share: shared memory, barriers, and who is still alive.
//!
//! A CTA runs on one OS thread, so all of this is plain data. Barriers follow PTX ISA 9.7.13.1 (`bar`, `barrier`): sixteen of them,
//! each counts arrivals, of all threads or of as many as the instruction names.

use aligned_vec::AVec;
use warploom_exec::address::split_shared;
use warploom_exec::fault::{AccessKind, FaultKind};
use warploom_exec::memory::Recent;
use warploom_numerics::exchange::Vote;

use crate::cluster::{Cluster, Peer, SharedMemory};
use crate::frame::Frames;
use crate::ops::matrix::product::Panels;
use crate::ops::matrix::warpgroup::Progress;
use crate::ops::observe::Told;

/// Barriers of a CTA (PTX ISA 9.7.13.1: "Each CTA instance has sixteen barriers").
pub(crate) const BARRIERS: usize = 16;

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
pub(crate) struct Arrival {
    pub(crate) id: u32,
    pub(crate) warp: u32,
    pub(crate) mask: u32,
    /// Lanes whose predicate operand holds, for `barrier.red`.
    pub(crate) set: u32,
    /// Thread count operand.
    pub(crate) expected: Option<u32>,
    /// Whether [`CtaShared::take_outcome`] will be asked for the phase's reduction.
    pub(crate) reduces: bool,
}

impl Arrival {
    /// The arrival of all that is there of a group, with no count and no reduction.
    #[inline(always)]
    pub(crate) fn plain(id: u32, warp: u32, mask: u32) -> Self {
        Self { id, warp, mask, set: 0, expected: None, reduces: false }
    }
}

/// The state that warps of a CTA share.
#[derive(Debug)]
pub(crate) struct CtaShared {
    /// What accesses to global memory have met so far.
    pub(crate) recent: Option<Box<Recent>>,
    /// Registers that no activation uses.
    pub(crate) frames: Frames,
    /// Counts the CTAs that have started here, from 1.
    pub(crate) serial: u64,
    /// `%ctaid`.
    pub(crate) id: [u32; 3],
    /// Shared memory: static variables, then the dynamic part.
    pub(crate) shared: SharedMemory,
    /// The address of its first byte: it says which CTA of the cluster this is.
    pub(crate) base: u32,
    /// What the cluster shares, while this CTA runs. None for kernels that know no cluster.
    pub(crate) cluster: Option<Box<Cluster>>,
    /// What products of matrices are computed in.
    pub(crate) panels: Option<Box<Panels>>,
    /// How far its warps are with products of warpgroups.
    pub(crate) warpgroups: Progress,
    /// `%smid`.
    pub(crate) worker: u32,
    /// What an observer was told of last.
    pub(crate) told: Option<Box<Told>>,
    /// Lanes of each warp that have not exited.
    alive: Vec<u32>,
    alive_threads: u32,
    /// Barriers at which threads have arrived.
    pending: u32,
    /// The phase of each barrier that is not complete yet: who waits for an earlier one goes on.
    phases: [u64; BARRIERS],
    barriers: [Barrier; BARRIERS],
    /// A bit for each barrier at which a thread of this CTA has ever arrived.
    touched: u32,
}

impl Default for CtaShared {
    /// Before the first CTA.
    fn default() -> Self {
        Self {
            recent: None,
            frames: Frames::default(),
            serial: 0,
            id: [0; 3],
            shared: AVec::new(0),
            panels: None,
            warpgroups: Progress::default(),
            base: 0,
            cluster: None,
            worker: 0,
            told: None,
            alive: Vec::new(),
            alive_threads: 0,
            pending: 0,
            phases: [0; BARRIERS],
            barriers: Default::default(),
            touched: 0,
        }
    }
}

impl CtaShared {
    /// A fresh CTA with these warps (lanes that exist in each) and `shared` bytes of shared memory, which start as zero.
    pub(crate) fn start(&mut self, warps: &[u32], shared: usize) {
        self.serial += 1;
        // Filled, and not cleared to grow again: a fill is one `memset`, what grows has been a store for each byte.
        self.shared.truncate(shared);
        // None is not filled at all: a masked store of no bytes to an address where nothing is takes processors 60 ns.
        if !self.shared.is_empty() {
            self.shared.fill(0);
        }
        self.shared.resize(shared, 0);
        self.warpgroups.clear();
        self.alive.clear();
        self.alive.extend_from_slice(warps);
        self.alive_threads = warps.iter().map(|mask| mask.count_ones()).sum();
        self.pending = 0;
        while self.touched != 0 {
            let id = self.touched.trailing_zeros() as usize % BARRIERS;
            self.touched &= self.touched - 1;
            self.phases[id] = 0;
            self.barriers[id].clear();
            self.barriers[id].outcomes.clear();
        }
    }

    /// `len` bytes at a `.shared` address, which must be a multiple of `align`: of this CTA, or (`any`) of any of its cluster.
    pub(crate) fn bytes(
        &mut self,
        any: bool,
        address: u64,
        len: usize,
        align: u64,
        kind: AccessKind,
    ) -> Result<&mut [u8], FaultKind> {
        if !address.is_multiple_of(align) {
            return Err(FaultKind::MisalignedInSpace { space: ".shared", address, size: align });
        }
        let outside = |limit: usize| FaultKind::OutsideSpace {
            space: ".shared",
            address,
            size: len as u64,
            limit: limit as u64,
            kind,
        };
        let short = u32::try_from(address).map_err(|_| outside(self.shared.len()))?;
        let (rank, offset) = split_shared(short);
        let peer = match &mut self.cluster {
            _ if rank == split_shared(self.base).0 => Peer::Running(&mut self.shared),
            Some(cluster) if !any => {
                let text = format!("address {address:#x} is in CTA {rank} of {}, and not the own one", cluster.size());
                return Err(FaultKind::IllegalInstruction(text));
            }
            Some(cluster) => {
                let cluster_size = cluster.size();
                match cluster.peer(rank) {
                    Peer::None => return Err(FaultKind::NoSuchCta { address: short, cluster_size }),
                    peer => peer,
                }
            }
            None => return Err(FaultKind::NoSuchCta { address: short, cluster_size: 1 }),
        };
        let Peer::Running(bytes) = peer else { return Err(FaultKind::CtaHasExited { address: short, kind }) };
        let (start, limit) = (offset as usize, bytes.len());
        bytes.get_mut(start..start.saturating_add(len)).ok_or_else(|| outside(limit))
    }

    /// Warps of the CTA.
    pub(crate) fn warps(&self) -> usize {
        self.alive.len()
    }

    /// Threads that have not exited.
    pub(crate) fn alive_threads(&self) -> u32 {
        self.alive_threads
    }

    /// Counts an arrival and returns the phase that it belongs to.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, arrival: Arrival) -> u64 {
        let barrier = &mut self.barriers[arrival.id as usize];
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
    pub(crate) fn exit(&mut self, warp: u32, lanes: u32) {
        let alive = &mut self.alive[warp as usize];
        self.alive_threads -= (*alive & lanes).count_ones();
        *alive &= !lanes;
        if let Some(cluster) = &mut self.cluster {
            cluster.exit(warp, lanes);
        }
        if self.pending != 0 {
            for id in 0..BARRIERS {
                if self.barriers[id].pending {
                    self.complete(id);
                }
            }
        }
    }

    /// True if phase `ticket` of barrier `id` is complete.
    #[inline(always)]
    pub(crate) fn passed(&self, id: u32, ticket: u64) -> bool {
        self.phases[id as usize % BARRIERS] > ticket
    }

    /// The phase of barrier `id` that is not complete yet.
    pub(crate) fn phase(&self, id: u32) -> u64 {
        self.phases[id as usize % BARRIERS]
    }

    /// What a completed phase came to. To be asked once by each group that said it would.
    pub(crate) fn take_outcome(&mut self, id: u32, ticket: u64) -> Vote {
        let outcomes = &mut self.barriers[id as usize].outcomes;
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
    pub(crate) fn barrier_counts(&self, id: u32) -> (u32, u32) {
        let barrier = &self.barriers[id as usize];
        (barrier.reduction.voters, barrier.expected.unwrap_or_else(|| self.alive_threads()))
    }

    fn complete(&mut self, id: usize) {
        let barrier = &mut self.barriers[id];
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
