//! What the CTAs of a cluster share (PTX ISA 3.2): each other's shared memory, and the barrier of the cluster (9.7.13.3).
//!
//! All of them run on one OS thread, in turns: the CTA whose turn it is has its own memory and holds this, with the memory of the others.

use aligned_vec::{AVec, ConstAlign};

/// Shared memory of a CTA.
pub(crate) type SharedMemory = AVec<u8, ConstAlign<64>>;

/// A CTA of the cluster.
#[derive(Debug)]
struct Member {
    /// Its shared memory while it waits for its turn.
    shared: SharedMemory,
    /// Threads that have not exited, by warp.
    alive: Vec<u32>,
    /// Threads that have arrived at the barrier in this phase, by warp.
    arrived: Vec<u32>,
}

/// A cluster.
#[derive(Debug, Default)]
pub struct Cluster {
    /// Rank of the CTA whose turn it is.
    rank: u32,
    members: Vec<Member>,
    /// Phases of the barrier that are over.
    phases: u64,
    /// Threads that have neither exited nor arrived in this phase.
    missing: u32,
}

/// The memory of a CTA, as another one finds it.
pub(crate) enum Peer<'a> {
    /// It runs.
    Running(&'a mut [u8]),
    /// All its threads have exited.
    Exited,
    /// The cluster has none of this rank.
    None,
}

impl Cluster {
    /// A fresh cluster of so many CTAs with these warps (lanes that exist in each).
    pub fn start(&mut self, size: u32, warps: &[u32]) {
        self.members.resize_with(size as usize, || Member { shared: AVec::new(0), alive: vec![], arrived: vec![] });
        for member in &mut self.members {
            member.alive.clear();
            member.alive.extend_from_slice(warps);
            member.arrived.clear();
            member.arrived.resize(warps.len(), 0);
        }
        self.phases = 0;
        self.missing = size * warps.iter().map(|lanes| lanes.count_ones()).sum::<u32>();
    }

    /// How many CTAs it has.
    pub(crate) fn size(&self) -> u32 {
        self.members.len() as u32
    }

    /// The turn of CTA `rank` begins or ends: `own` and what is kept of its memory change places.
    pub(crate) fn turn(&mut self, rank: u32, own: &mut SharedMemory) {
        self.rank = rank;
        std::mem::swap(&mut self.members[rank as usize].shared, own);
    }

    /// The memory of another CTA than the one whose turn it is.
    pub(crate) fn peer(&mut self, rank: u32) -> Peer<'_> {
        match self.members.get_mut(rank as usize) {
            None => Peer::None,
            Some(member) if member.alive.iter().all(|&lanes| lanes == 0) => Peer::Exited,
            Some(member) => Peer::Running(&mut member.shared),
        }
    }

    /// Phases of the barrier that are over.
    pub fn phases(&self) -> u64 {
        self.phases
    }

    /// Threads that the barrier waits for.
    pub fn missing(&self) -> u32 {
        self.missing
    }

    /// Lanes of a warp of the running CTA come to the barrier.
    pub fn arrive(&mut self, warp: u32, lanes: u32) {
        let arrived = &mut self.members[self.rank as usize].arrived[warp as usize];
        self.missing -= (lanes & !*arrived).count_ones();
        *arrived |= lanes;
        self.end_phase();
    }

    /// Those of some lanes of the running CTA whose phase is not over.
    pub fn waiting(&self, warp: u32, lanes: u32) -> u32 {
        self.members[self.rank as usize].arrived[warp as usize] & lanes
    }

    /// Lanes of the running CTA exit: nobody waits for them any more.
    pub fn exit(&mut self, warp: u32, lanes: u32) {
        let member = &mut self.members[self.rank as usize];
        let gone = member.alive[warp as usize] & lanes;
        member.alive[warp as usize] &= !lanes;
        self.missing -= (gone & !member.arrived[warp as usize]).count_ones();
        self.end_phase();
    }

    fn end_phase(&mut self) {
        let arrived = |member: &Member| member.arrived.iter().any(|&lanes| lanes != 0);
        if self.missing != 0 || !self.members.iter().any(arrived) {
            return;
        }
        self.phases += 1;
        for member in &mut self.members {
            member.arrived.fill(0);
            self.missing += member.alive.iter().map(|lanes| lanes.count_ones()).sum::<u32>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cluster, Peer};
    use aligned_vec::AVec;

    fn turn(cluster: &mut Cluster, rank: u32, act: impl FnOnce(&mut Cluster)) {
        let mut own = AVec::new(0);
        cluster.turn(rank, &mut own);
        act(cluster);
        cluster.turn(rank, &mut own);
    }

    #[test]
    fn a_phase_ends_when_all_have_arrived_or_exited() {
        let mut cluster = Cluster::default();
        cluster.start(2, &[0b11]);
        turn(&mut cluster, 0, |cluster| cluster.arrive(0, 0b11));
        turn(&mut cluster, 1, |cluster| {
            cluster.arrive(0, 0b01);
            assert_eq!((cluster.waiting(0, 0b11), cluster.missing()), (0b01, 1));
            cluster.exit(0, 0b10);
            assert_eq!((cluster.waiting(0, 0b11), cluster.phases(), cluster.missing()), (0, 1, 3));
        });
        // Who has arrived and exits leaves the phase as it is.
        turn(&mut cluster, 0, |cluster| {
            cluster.arrive(0, 0b01);
            cluster.exit(0, 0b01);
            cluster.arrive(0, 0b10);
        });
        turn(&mut cluster, 1, |cluster| cluster.arrive(0, 0b01));
        assert_eq!((cluster.phases(), cluster.missing()), (2, 2));
    }

    #[test]
    fn peers_run_or_have_exited_or_are_none() {
        let mut cluster = Cluster::default();
        cluster.start(2, &[1]);
        turn(&mut cluster, 1, |cluster| cluster.exit(0, 1));
        turn(&mut cluster, 0, |cluster| {
            assert!(matches!(cluster.peer(1), Peer::Exited));
            assert!(matches!(cluster.peer(2), Peer::None));
        });
        turn(&mut cluster, 1, |cluster| assert!(matches!(cluster.peer(0), Peer::Running(_))));
    }
}
