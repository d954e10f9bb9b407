//! Accesses of one block with one base, and constants between them: one look at all of them tells that none needs a look of its own.

use warploom_ptx::ir::{Base, Body, Op, Operand, Space};

use crate::access::{Access, AccessKind};
use crate::info::KernelInfo;
use crate::values::{ValueId, paired};

/// Accesses with one base.
#[derive(Clone, Debug)]
pub(super) struct Hull {
    /// The first of them, before which is looked.
    pub(super) first: u32,
    pub(super) members: Vec<u32>,
    pub(super) base: ValueId,
    /// From the base's first lane, or from that of each lane if they differ in no known way, to the first byte.
    pub(super) low: i64,
    /// Bytes from there on.
    pub(super) need: u64,
    /// Bytes of a lane.
    pub(super) bytes: u32,
    pub(super) kind: AccessKind,
    pub(super) space: Space,
}

/// How far apart the parts may lie.
const FAR: i64 = 1 << 12;

/// Finds them: as long as nothing writes their base, and no barrier stands between.
pub(super) fn hulls(info: &KernelInfo<'_>, body: &Body, block_of: &[u32]) -> Vec<Hull> {
    let mut all: Vec<Hull> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut accesses = info.accesses.iter().peekable();
    let mut block = u32::MAX;
    for inst in 0..body.insts.len() as u32 {
        let op = &body.insts[inst as usize].op;
        if std::mem::replace(&mut block, block_of[inst as usize]) != block || matches!(op, Op::Barrier(_)) {
            open.clear();
        }
        if let Some(access) = accesses.next_if(|access| access.inst == inst)
            && let Some((base, offset)) = part(info, body, access)
        {
            add(&mut all, &mut open, access, base, offset, i64::from(info.gangs.width));
        }
        let operands = body.insts[inst as usize].operands();
        let written = paired(&operands, info.values.of_inst(inst)).filter(|(operand, _)| operand.def().is_some());
        for value in written.filter_map(|(_, value)| value) {
            open.retain(|at| all[*at].base != value);
        }
    }
    all.retain(|hull| hull.members.len() > 1);
    all
}

/// Adds an access to one of those that are open, or opens one.
fn add(all: &mut Vec<Hull>, open: &mut Vec<usize>, access: &Access, base: ValueId, offset: i64, lanes: i64) {
    let (low, high) = access.reach(lanes);
    let (low, end) = (offset + low, offset + high + i64::from(access.bytes));
    let Access { inst, kind, space, bytes, .. } = *access;
    let fits = |hull: &Hull| {
        (hull.base, hull.kind, hull.bytes, hull.space) == (base, kind, bytes, space)
            && (low - hull.low).abs() < FAR
            && (low - hull.low) % i64::from(bytes) == 0
    };
    if let Some(at) = open.iter().copied().find(|at| fits(&all[*at])) {
        let hull = &mut all[at];
        let (first, last) = (hull.low.min(low), (hull.low + hull.need as i64).max(end));
        hull.low = first;
        hull.need = (last - first) as u64;
        hull.members.push(inst);
    } else {
        open.push(all.len());
        all.push(Hull { first: inst, members: vec![inst], base, low, need: (end - low) as u64, bytes, kind, space });
    }
}

/// Base and offset of one that may be a part of several.
fn part(info: &KernelInfo<'_>, body: &Body, access: &Access) -> Option<(ValueId, i64)> {
    let inst = &body.insts[access.inst as usize];
    let (Op::Ld { addr, .. } | Op::St { addr, .. }) = &inst.op else { return None };
    let Base::Reg(reg) = addr.base else { return None };
    let plain = matches!(access.space, Space::Global | Space::Const | Space::Shared);
    let guessed = info.is_guessed(access);
    if inst.guard.is_some() || access.proven || guessed || !plain || !access.bytes.is_power_of_two() {
        return None;
    }
    Some((info.values.read(body, access.inst, Operand::Reg(reg))?, addr.offset))
}
