//! Operations between the lanes of a warp: `shfl` (PTX ISA 9.7.9.6), `vote`, `match`, `redux`, `activemask`, `elect`, `bar.warp.sync`
//! (9.7.13.2, 9.7.13.8 to 9.7.13.12).
//!
//! The `.sync` forms wait until all lanes of their mask that have not exited have come to the same operation, which need not be the
//! same instruction: branches may have duplicated it.

use warploom_numerics::exchange;
use warploom_ptx::ir::ShflMode;

use crate::exchange::{ExchangeKind, Operands, Results, compute, no_members, shuffle};
use crate::frame::FULL;
use crate::machine::{Flow, Machine, lanes};
use crate::ops::matrix::ALIGNED;
use crate::ops::observe::Came;
use crate::program::Inst;
use crate::warp::{Group, Wait};

/// A source that may be narrow or wide.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Word(u32),
    Double(u32),
    Predicate(u32),
    None,
}

/// The operands of a warp-wide operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) kind: ExchangeKind,
    pub(crate) a: Source,
    /// 32-bit rows of `shfl`'s lane and clamp operands.
    pub(crate) b: u32,
    pub(crate) c: u32,
    /// The member mask; the forms before PTX 6.0 have none and take the active lanes.
    pub(crate) members: Option<Members>,
    /// 32-bit row of the result.
    pub(crate) d: Option<u32>,
    /// Predicate slot of the result.
    pub(crate) p: Option<u32>,
    /// What an observer is told of it, by its number in the function.
    pub(crate) told: Option<u32>,
}

/// A member mask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members {
    /// 32-bit row.
    pub(crate) row: u32,
    /// It is no constant: lanes have to be in it.
    pub(crate) varies: bool,
}

/// A warp-wide operation: site `imm`.
pub(crate) fn exchange(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.exchanges[inst.imm as usize];
    if mask == FULL && shuffle_all(machine, site) {
        return Flow::Next;
    }
    if let Some(Members { row, varies }) = site.members {
        let members = &machine.frame.r32[row as usize];
        if varies && let Some((lanes, kind)) = no_members(members, mask) {
            return machine.fail(lanes, kind);
        }
        let alive = machine.warp.alive();
        // Lanes of one instruction may belong to several sets: each waits for its own.
        let mut complete = 0u32;
        let mut waiting = 0u32;
        for lane in lanes(mask) {
            if members[lane] & alive & !mask == 0 {
                complete |= 1 << lane;
            } else {
                waiting |= 1 << lane;
            }
        }
        if waiting != 0 {
            let members = *members;
            if complete != 0 {
                perform(machine, site, complete);
            }
            let mut left = waiting;
            while left != 0 {
                let set = members[left.trailing_zeros() as usize];
                let same = lanes(left).filter(|&lane| members[lane] == set).fold(0, |same, lane| same | 1 << lane);
                left &= !same;
                let wait = Wait::Rendezvous { members: set, key: site.kind.key() };
                machine.warp.park(machine.activation, machine.pc, same, wait);
            }
            let others = machine.active & !waiting;
            if others != 0 {
                machine.warp.park(machine.activation, machine.pc + 1, others, Wait::Ready);
            }
            return Flow::Switch;
        }
    }
    perform(machine, site, mask);
    Flow::Next
}

/// Where the lanes of a `shfl` read whose lane and clamp operands are constants.
pub(crate) struct Permutation {
    sources: [u8; 32],
    ranges: u32,
}

impl Permutation {
    pub(crate) fn new(mode: ShflMode, b: u32, c: u32) -> Self {
        let mut permutation = Self { sources: [0; 32], ranges: 0 };
        for (lane, source) in permutation.sources.iter_mut().enumerate() {
            let (from, inside) = exchange::shuffle_source(shuffle(mode), lane as u32, b, c);
            *source = from as u8;
            permutation.ranges |= u32::from(inside) << lane;
        }
        permutation
    }
}

/// [`permute`] has no predicate to write.
pub(crate) const NO_PREDICATE: u32 = u32::MAX;

/// [`exchange`] for a `shfl` of row `a` to row `d` and predicate `c`, by permutation `b`, that asks for all lanes.
pub(crate) fn permute(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    if mask != FULL {
        return exchange(machine, inst, mask);
    }
    let permutation = &machine.function.permutations[inst.b as usize];
    let a = &machine.frame.r32[inst.a as usize];
    let out = permutation.sources.map(|source| a[source as usize % 32]);
    machine.frame.r32[inst.d as usize] = out;
    if inst.c != NO_PREDICATE {
        machine.frame.p[inst.c as usize] = permutation.ranges;
    }
    Flow::Next
}

/// `shfl` by all lanes with all lanes, which nearly all are. False if it is something else.
fn shuffle_all(machine: &mut Machine<'_>, site: &Exchange) -> bool {
    let &Exchange { kind: ExchangeKind::Shfl(mode), a: Source::Word(a), b, c, members, d: Some(d), p, told: None } =
        site
    else {
        return false;
    };
    let rows = &machine.frame.r32;
    if members.is_some_and(|members| rows[members.row as usize] != [FULL; 32]) {
        return false;
    }
    let (a, b, c) = (&rows[a as usize], &rows[b as usize], &rows[c as usize]);
    let mut out = [0; 32];
    let mut ranges = 0;
    for lane in 0..32 {
        let (source, inside) = exchange::shuffle_source(shuffle(mode), lane as u32, b[lane], c[lane]);
        out[lane] = a[source as usize % 32];
        ranges |= u32::from(inside) << lane;
    }
    machine.frame.r32[d as usize] = out;
    if let Some(p) = p {
        machine.frame.p[p as usize] = ranges;
    }
    true
}

fn perform(machine: &mut Machine<'_>, site: &Exchange, mask: u32) {
    let mut operands = Operands { a: [0; 32], b: [0; 32], c: [0; 32], members: [0; 32], mask };
    collect(machine, site, mask, &mut operands);
    let results = compute(site.kind, &operands);
    if let Some(told) = site.told {
        let told = &machine.function.told_exchanges[told as usize];
        machine.tell_exchange(site.kind, &operands, &[(told, machine.activation, mask)]);
    }
    distribute(machine, site, mask, &results);
}

fn collect(machine: &Machine<'_>, site: &Exchange, mask: u32, operands: &mut Operands) {
    for lane in lanes(mask) {
        operands.a[lane] = match site.a {
            Source::Word(row) => u64::from(machine.frame.r32[row as usize][lane]),
            Source::Double(row) => machine.frame.r64[row as usize][lane],
            Source::Predicate(slot) => u64::from(machine.predicate(slot) >> lane & 1),
            Source::None => 0,
        };
        if matches!(site.kind, ExchangeKind::Shfl(_)) {
            operands.b[lane] = machine.frame.r32[site.b as usize][lane];
            operands.c[lane] = machine.frame.r32[site.c as usize][lane];
        }
        operands.members[lane] = site.members.map_or(mask, |members| machine.frame.r32[members.row as usize][lane]);
    }
}

fn distribute(machine: &mut Machine<'_>, site: &Exchange, mask: u32, results: &Results) {
    if let Some(d) = site.d {
        machine.put(d, mask, &results.d);
    }
    if let Some(p) = site.p {
        machine.put_predicate(p, mask, results.p);
    }
}

/// `activemask`: the lanes that run together now.
pub(crate) fn activemask(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    machine.put(inst.d, mask, &[mask; 32]);
    Flow::Next
}

impl Machine<'_> {
    /// Carries out the warp-wide operations to which all their lanes have come.
    pub(crate) fn complete_rendezvous(&mut self) {
        let mut index = 0;
        while index < self.warp.groups.len() {
            let Wait::Rendezvous { members, key } = self.warp.groups[index].wait else {
                index += 1;
                continue;
            };
            let (activation, pc) = (self.warp.groups[index].activation, self.warp.groups[index].pc);
            // Of what threads execute together, the instruction is meant.
            let here = |group: &Group| {
                group.wait == Wait::Rendezvous { members, key }
                    && (key != ALIGNED || (group.activation, group.pc) == (activation, pc))
            };
            let present = self.warp.groups.iter().filter(|group| here(group)).fold(0, |all, group| all | group.mask);
            if members & self.warp.alive() & !present != 0 {
                index += 1;
                continue;
            }
            let groups: Vec<usize> =
                (0..self.warp.groups.len()).filter(|&other| here(&self.warp.groups[other])).collect();
            if key == ALIGNED {
                // They go on as one group, which carries it out.
                groups.iter().for_each(|&other| self.warp.groups[other].wait = Wait::Ready);
                continue;
            }
            let mut operands = Operands { a: [0; 32], b: [0; 32], c: [0; 32], members: [members; 32], mask: present };
            let mut sites = Vec::with_capacity(groups.len());
            let mut came: Vec<Came<'_>> = Vec::new();
            for &other in &groups {
                let group = self.warp.groups[other];
                self.switch_to(group.activation);
                let function = self.function;
                let site = &function.exchanges[function.code[group.pc as usize].imm as usize];
                collect(self, site, group.mask, &mut operands);
                let told = site.told.map(|told| &function.told_exchanges[told as usize]);
                came.extend(told.map(|told| (told, group.activation, group.mask)));
                sites.push((other, site));
            }
            let Some(&(_, first)) = sites.first() else { return };
            let results = compute(first.kind, &operands);
            self.tell_exchange(first.kind, &operands, &came);
            for (other, site) in sites {
                let group = self.warp.groups[other];
                self.switch_to(group.activation);
                distribute(self, site, group.mask, &results);
                let group = &mut self.warp.groups[other];
                group.wait = Wait::Ready;
                group.pc += 1;
            }
        }
    }
}
