//! What the warps of one CTA share: shared memory, barriers, and who is still alive.
//!
//! A CTA runs on one OS thread, so all of this is plain data.

use aligned_vec::AVec;
use warploom_exec::address::split_shared;
use warploom_exec::fault::{AccessKind, FaultKind};
use warploom_exec::memory::Recent;
use warploom_exec::observe::CtaObserver;

use crate::barriers::Barriers;
use crate::cluster::{Cluster, Peer, SharedMemory};
use crate::frame::Frames;
use crate::ops::matrix::product::Panels;
use crate::ops::matrix::warpgroup::Progress;
use crate::ops::observe::Told;
use crate::ops::plane::Planes;

/// The state that warps of a CTA share.
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
    /// What fetches have found behind handles.
    pub(crate) planes: Option<Box<Planes>>,
    /// How far its warps are with products of warpgroups.
    pub(crate) warpgroups: Progress,
    /// `%smid`.
    pub(crate) worker: u32,
    /// Who is told of what it does, while it runs.
    pub(crate) observer: Option<Box<dyn CtaObserver>>,
    /// What that was told of last.
    pub(crate) told: Option<Box<Told>>,
    /// Its barriers.
    pub(crate) barriers: Barriers,
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
            planes: None,
            warpgroups: Progress::default(),
            base: 0,
            cluster: None,
            worker: 0,
            observer: None,
            told: None,
            barriers: Barriers::default(),
        }
    }
}

impl CtaShared {
    /// A fresh CTA with these warps (lanes that exist in each) and `shared` bytes of shared memory, which start as zero.
    pub(crate) fn start(&mut self, warps: &[u32], shared: usize) {
        self.start_memory(shared);
        self.barriers.start(warps);
    }

    /// The same, but for its warps and barriers, which are as the CTA before has left them.
    pub(crate) fn start_memory(&mut self, shared: usize) {
        self.serial += 1;
        // Filled, and not cleared to grow again: a fill is one `memset`, what grows has been a store for each byte.
        self.shared.truncate(shared);
        // None is not filled at all: a masked store of no bytes to an address where nothing is takes processors 60 ns.
        if !self.shared.is_empty() {
            self.shared.fill(0);
        }
        self.shared.resize(shared, 0);
        self.warpgroups.clear();
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

    /// Takes threads that exit out of the count (PTX ISA 9.7.12.8 `exit`: barriers that wait for them are re-evaluated).
    pub(crate) fn exit(&mut self, warp: u32, lanes: u32) {
        self.barriers.exit(warp, lanes);
        if let Some(cluster) = &mut self.cluster {
            cluster.exit(warp, lanes);
        }
    }
}
