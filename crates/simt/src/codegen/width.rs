//! How many threads run as one gang.

use warploom_ptx::ir::{BarrierOp, Body, CallTarget, IntBinaryOp, Loop, MulMode, Op, Space};

use super::exchange::is_exchange;
use crate::access::{AccessKind, Pattern};
use crate::info::KernelInfo;
use crate::lockstep::Lockstep;
use crate::pressure::{VectorUnits, spills_often};
use crate::uniformity::block_of;

/// The width for a kernel, from what is known of it with gangs of one register: a warp, if its lanes tell each other something or take for granted that
/// they run together; one thread, if vectors gain nothing; else as wide as the registers allow, and rows of the CTA. `slow_gathers` says that the processor gathers
/// no faster than it loads lane after lane.
pub fn preferred_width(info: &KernelInfo<'_>, units: VectorUnits, slow_gathers: bool) -> u32 {
    if runs_as_warps(info) {
        return 32;
    }
    let body = info.body();
    let one_row = info.gangs.cta[0] == info.gangs.threads();
    if slow_gathers && body.is_some_and(|body| runs_lane_by_lane(info, body)) {
        return 1;
    }
    // Rows that lanes are divided into are short (those of a picture's channel), and the fewer lanes, the fewer gangs lie in two of them. What loops do for a gang
    // in each trip counts more than that for 8 lanes.
    if let Some(body) = body.filter(|body| divides_into_rows(info, body)) {
        return if body.loops.is_empty() { units.lanes() } else { units.lanes().max(16) };
    }
    // Beyond a row of the CTA lanes differ in more than one coordinate, and what was the same for all is no more.
    let row = 1 << info.gangs.cta[0].trailing_zeros();
    let wide = match body {
        Some(body) if fetches_often(body) => 32,
        body => units.width(info.pressure, body.is_some_and(spills_often)),
    };
    // No more than the CTA has threads for.
    let wide = wide.min(info.gangs.threads().next_power_of_two().max(units.lanes()));
    // Where a loop does nothing but compute, each instruction waits for the one before, unless there are two registers of lanes.
    let least = if body.is_some_and(|body| only_computes(info, body)) { wide.min(2 * units.lanes()) } else { 0 };
    if one_row { wide } else { wide.min(row).max(units.lanes()).max(least) }
}

/// Whether the lanes of a warp tell each other something, or take for granted that they run together.
pub fn runs_as_warps(info: &KernelInfo<'_>) -> bool {
    let body = info.body();
    let warps = |op: &Op| match op {
        // A warp's lines of output stand together.
        Op::Call { target, .. } => !matches!(**target, CallTarget::Direct(id) if info.has_code(id)),
        Op::Matrix(_) | Op::Barrier(BarrierOp::Warp { .. }) => true,
        op => is_exchange(op),
    };
    let one_row = info.gangs.cta[0] == info.gangs.threads();
    let lockstep = match info.lockstep {
        Some(Lockstep::Volatile) => true,
        // Not for rows of fewer lanes, whose tiles are read while the next ones are stored: lanes would differ in more than one coordinate.
        Some(Lockstep::ReadBack { .. }) => one_row,
        None => false,
    };
    lockstep || body.is_some_and(|body| body.insts.iter().any(|inst| warps(&inst.op)))
}

/// Whether lanes are guessed to be in one row of those that a division tells apart.
fn divides_into_rows(info: &KernelInfo<'_>, body: &Body) -> bool {
    let divides = |op: &Op| {
        matches!(op, Op::IntBinary { op: IntBinaryOp::Div | IntBinaryOp::Rem, .. } | Op::Mul { mode: MulMode::Hi, .. })
    };
    info.has_guessed_edges() && body.insts.iter().any(|inst| divides(&inst.op))
}

/// Whether fetches from textures are so many of the instructions that what a call of the executor takes, however many lanes it is for, counts more than what is spilled. Measured on a Zen 3: a
/// loop of one fetch takes 0.82 of the time with 32 lanes in place of 16.
fn fetches_often(body: &Body) -> bool {
    /// As long as a call takes some fifty cycles.
    const MOST: usize = 50;
    let fetches = body.insts.iter().filter(|inst| matches!(inst.op, Op::Texture(_))).count();
    fetches * MOST >= body.insts.len().max(1)
}

/// Whether there are loops, and none of them goes to memory.
fn only_computes(info: &KernelInfo<'_>, body: &Body) -> bool {
    let block_of = block_of(body);
    let inside = |inst: u32| body.loops.iter().any(|inner| inner.blocks.contains(&block_of[inst as usize]));
    !body.loops.is_empty() && !info.accesses.iter().any(|access| inside(access.inst))
}

/// Whether the kernel is loops that lanes leave in different trips and whose loads go anywhere. Where a gather is taken apart into loads, and with AVX2 masks and
/// checks of addresses are spread over several registers, threads run faster one by one, each with its own number of trips.
fn runs_lane_by_lane(info: &KernelInfo<'_>, body: &Body) -> bool {
    /// A load that goes anywhere among so many instructions is one too many.
    const FEW: usize = 5;
    if !info.barriers.all.is_empty() {
        return false;
    }
    let block_of = block_of(body);
    let gathers = |inner: &Loop| {
        let inside = |inst: u32| inner.blocks.contains(&block_of[inst as usize]);
        let loads = info.accesses.iter().filter(|access| {
            let counts = access.kind == AccessKind::Load || access.space == Space::Local;
            inside(access.inst) && counts && matches!(access.pattern, Pattern::Anywhere(_))
        });
        // What is less than a word is gathered as the word that it is in, and taken out of that.
        let work: usize =
            loads.map(|access| if access.bytes < 4 || access.space == Space::Local { 2 } else { 1 }).sum();
        let count = block_of.iter().filter(|block| inner.blocks.contains(block)).count();
        FEW * work >= count
    };
    let left_apart = |index: u32| info.divergence.splits.values().any(|split| split.loops.contains(&index));
    !body.loops.is_empty() && (0u32..).zip(&body.loops).all(|(index, inner)| left_apart(index) && gathers(inner))
}
