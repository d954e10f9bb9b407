//! How many threads run as one gang.

use warploom_ptx::ir::{BarrierOp, Op};

use super::exchange::is_exchange;
use crate::info::KernelInfo;
use crate::pressure::VectorUnits;

/// The width for a kernel, from what is known of it with gangs of one register: a warp, if its lanes tell each other something or take for granted that
/// they run together; else as wide as the registers allow, and rows of the CTA.
pub fn preferred_width(info: &KernelInfo<'_>, units: VectorUnits) -> u32 {
    let body = info.module.functions[info.kernel.0 as usize].body.as_ref();
    let warps = |op: &Op| is_exchange(op) || matches!(op, Op::Matrix(_) | Op::Barrier(BarrierOp::Warp { .. }));
    if info.lockstep || body.is_some_and(|body| body.insts.iter().any(|inst| warps(&inst.op))) {
        return 32;
    }
    // Beyond a row of the CTA lanes differ in more than one coordinate, and what was the same for all is no more.
    let row = 1 << info.gangs.cta[0].trailing_zeros();
    let wide = units.width(info.pressure);
    if info.gangs.cta[0] == info.gangs.threads() { wide } else { wide.min(row).max(units.lanes()) }
}
