//! Clusters: the barrier of one (PTX ISA 9.7.13.3), and addresses in the shared memory of its CTAs (9.7.9.23, 9.7.9.24).

use warploom_exec::address::{Space, classify, split_shared};

use crate::lane::lane_ops;
use crate::machine::{Flow, Machine};
use crate::program::Inst;
use crate::warp::Wait;

/// The offset in a CTA's shared memory, of an address in that of any: also of a generic one, whose other bits it keeps.
const OFFSET: u64 = !0xff00_0000;

lane_ops! {
    /// `mapa.u32`: the address `a` in the CTA of rank `b`.
    Mapa32(a: u32, b: u32) -> u32 { a & OFFSET as u32 | b << 24 }
    /// `mapa.u64`.
    Mapa64(a: u64, b: u32) -> u64 { a & OFFSET | u64::from(b << 24) }
    /// `getctarank` of a 32-bit address.
    Rank32(a: u32) -> u32 { split_shared(a).0 }
    /// `getctarank` of a 64-bit address.
    Rank64(a: u64) -> u32 { split_shared(a as u32).0 }
}

/// The address of a place in the CTA's shared memory, a constant in `imm`, as 32 or (`b`) 64 bits.
pub(crate) fn own_address(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let address = machine.cta.base + inst.imm;
    match inst.b {
        0 => machine.put(inst.d, mask, &[address; 32]),
        _ => machine.put(inst.d, mask, &[u64::from(address); 32]),
    }
    Flow::Next
}

/// `isspacep.shared::cta` and (`imm` 1) `isspacep.shared::cluster`.
pub(crate) fn is_shared(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let own = split_shared(machine.cta.base).0;
    let holds = |address: u64| match classify(address) {
        Space::Shared(address) => inst.imm == 1 || split_shared(address).0 == own,
        _ => false,
    };
    let row = &machine.frame.r64[inst.a as usize];
    let value = row.iter().enumerate().fold(0, |set, (lane, &address)| set | u32::from(holds(address)) << lane);
    machine.put_predicate(inst.d, mask, value);
    Flow::Next
}

/// `barrier.cluster.arrive`
pub(crate) fn arrive(machine: &mut Machine<'_>, _: &Inst, mask: u32) -> Flow {
    if let Some(cluster) = &mut machine.cta.cluster {
        cluster.arrive(machine.warp.index, mask);
    }
    machine.stores += 1;
    Flow::Next
}

/// `barrier.cluster.wait`: for who has arrived in a phase that is not over.
pub(crate) fn wait(machine: &mut Machine<'_>, _: &Inst, mask: u32) -> Flow {
    let Some(cluster) = &machine.cta.cluster else { return Flow::Next };
    let waiting = cluster.waiting(machine.warp.index, mask);
    if waiting == 0 {
        return Flow::Next;
    }
    let wait = Wait::Cluster { phase: cluster.phases() };
    machine.warp.park(machine.activation, machine.pc, waiting, wait);
    match machine.active & !waiting {
        0 => {}
        passed => machine.warp.park(machine.activation, machine.pc + 1, passed, Wait::Ready),
    }
    Flow::Switch
}
