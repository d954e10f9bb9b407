//! How much is alive at once, and how wide gangs should be for it.

use std::collections::BTreeSet;

use warploom_ptx::ir::{Body, ScalarType};

use crate::divergence::successors;
use crate::shape::Shape;
use crate::values::{ValueId, Values, paired};

/// The most that is alive at once, in words of 32 bits for each lane (or gang, of what is uniform).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Of values that differ between lanes in no known way.
    pub varying: u32,
    /// Predicates that differ between lanes.
    pub masks: u32,
    /// Of values that lanes have in common, patterns included.
    pub uniform: u32,
}

/// The vector units of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VectorUnits {
    Avx2,
    Avx512,
    Neon,
}

impl VectorUnits {
    /// All of them.
    pub const ALL: [VectorUnits; 3] = [VectorUnits::Avx2, VectorUnits::Avx512, VectorUnits::Neon];

    /// 32-bit lanes of one register.
    pub const fn lanes(self) -> u32 {
        match self {
            VectorUnits::Avx2 => 8,
            VectorUnits::Avx512 => 16,
            VectorUnits::Neon => 4,
        }
    }

    /// Registers that a kernel can fill before its values are spilled; some are left for what an instruction needs in between.
    const fn budget(self) -> u32 {
        match self {
            VectorUnits::Avx2 => 14,
            VectorUnits::Avx512 | VectorUnits::Neon => 28,
        }
    }

    /// The widest gangs whose values fit into the registers, of one or two registers or a warp; one register, if none fit. Without loops what is spilled is
    /// so only once, and costs less than one more gang's checks and addresses: then there may be four times as much.
    pub fn width(self, pressure: Pressure, loops: bool) -> u32 {
        let native = self.lanes();
        let masks = if self == VectorUnits::Avx512 { 0 } else { pressure.masks };
        let alive = pressure.varying + masks;
        let budget = if loops { self.budget() } else { 4 * self.budget() };
        let widths = [32, 2 * native, native];
        widths.into_iter().find(|width| alive * (width / native) <= budget).unwrap_or(native)
    }
}

/// The values that are alive at the end of a block.
pub(crate) fn live_out(body: &Body, values: &Values, block: u32) -> BTreeSet<ValueId> {
    successors(body, block).into_iter().flat_map(|to| values.live_in(to).iter().copied()).collect()
}

/// Goes back through a block, and shows what is alive behind each instruction and at its beginning (`None`).
pub(crate) fn scan(body: &Body, values: &Values, block: u32, mut visit: impl FnMut(Option<u32>, &BTreeSet<ValueId>)) {
    let mut live = live_out(body, values, block);
    live.extend(values.of_end(block).iter().flatten());
    for inst in body.blocks[block as usize].insts.clone().rev() {
        visit(Some(inst), &live);
        let operands = body.insts[inst as usize].operands();
        if body.insts[inst as usize].guard.is_none() {
            for (operand, value) in paired(&operands, values.of_inst(inst)) {
                if let Some(value) = value.filter(|_| operand.def().is_some()) {
                    live.remove(&value);
                }
            }
        }
        for (operand, value) in paired(&operands, values.of_inst(inst)) {
            live.extend(value.filter(|_| operand.read().is_some()));
        }
    }
    visit(None, &live);
}

/// What a set of values takes.
pub(crate) fn weight<'v>(values: &Values, shapes: &[Shape], live: impl IntoIterator<Item = &'v ValueId>) -> Pressure {
    let mut out = Pressure::default();
    for value in live {
        let ty = values.get(*value).ty;
        let place = match (&shapes[value.0 as usize], ty) {
            (Shape::Varying(_), ScalarType::Pred) => &mut out.masks,
            (Shape::Varying(_), _) => &mut out.varying,
            _ => &mut out.uniform,
        };
        *place += ty.bits().div_ceil(32);
    }
    out
}

impl Pressure {
    pub(crate) fn of(body: &Body, values: &Values, shapes: &[Shape]) -> Pressure {
        let mut most = Pressure::default();
        for block in 0..body.blocks.len() as u32 {
            scan(body, values, block, |_, live| {
                let now = weight(values, shapes, live);
                most.varying = most.varying.max(now.varying);
                most.masks = most.masks.max(now.masks);
                most.uniform = most.uniform.max(now.uniform);
            });
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_follow_the_registers() {
        let pressure = |varying| Pressure { varying, masks: 1, uniform: 9 };
        assert_eq!(VectorUnits::Avx2.width(pressure(2), true), 32);
        assert_eq!(VectorUnits::Avx2.width(pressure(6), true), 16);
        assert_eq!(VectorUnits::Avx2.width(pressure(40), true), 8);
        assert_eq!(VectorUnits::Avx512.width(pressure(14), true), 32);
        assert_eq!(VectorUnits::Neon.width(pressure(13), true), 8);
        // Without loops.
        assert_eq!(VectorUnits::Avx2.width(pressure(13), false), 32);
        assert_eq!(VectorUnits::Avx2.width(pressure(40), false), 8);
    }
}
