//! How much is alive at once, and how wide gangs should be for it.

use std::collections::BTreeSet;

use warploom_ptx::ir::{Body, MulMode, Op, ScalarType};

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
    /// Of the varying values that a trip of one loop leaves to the next; those of 64 bits count twice, as gangs as wide as one register of words have two of them
    /// already, which do not wait for each other.
    pub carried: u32,
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
    /// so only once, and costs less than one more gang's checks and addresses: then there may be more, but in long kernels.
    ///
    /// A loop may spill what its trips only read, which instructions take from memory, as long as what trips leave to each other fits: they wait for each other less the
    /// more lanes there are (docs/performance.md).
    pub fn width(self, pressure: Pressure, often: bool) -> u32 {
        let native = self.lanes();
        let masks = if self == VectorUnits::Avx512 { 0 } else { pressure.masks };
        let alive = pressure.varying + masks;
        let budget = self.budget();
        let fits = |width: u32| {
            let registers = width / native;
            match self {
                _ if alive * registers <= budget => true,
                VectorUnits::Avx2 if often => pressure.carried * registers <= budget && alive * registers <= 2 * budget,
                // A third of the registers is left for what a trip computes.
                VectorUnits::Avx512 if often => {
                    3 * pressure.carried * registers <= 2 * budget && alive * registers <= 2 * budget
                }
                // Four registers of each value take more moving about than two.
                VectorUnits::Avx2 if registers > 2 => 2 * alive * registers <= 5 * budget,
                _ => !often && alive * registers <= 4 * budget,
            }
        };
        [32, 2 * native, native].into_iter().find(|width| fits(*width)).unwrap_or(native)
    }
}

/// Whether what is spilled counts: in loops, and in bodies of which what is written for one gang leaves the cache of instructions before the next one, and for which LLVM
/// takes twice as long with twice as many registers (HeCBench's `fft`: 0.9 of the time to run, and 0.64 to 0.91 to compile, with gangs of 16 in place of 32).
pub(crate) fn spills_often(body: &Body) -> bool {
    const LONG: usize = 1000;
    !body.loops.is_empty() || body.insts.len() >= LONG
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

/// Varying words that an instruction takes for what it leaves to nobody: the high half of a product comes out of registers for words of twice its size.
fn meanwhile(body: &Body, values: &Values, shapes: &[Shape], inst: u32) -> u32 {
    let Op::Mul { mode: MulMode::Hi, ty, .. } = &body.insts[inst as usize].op else { return 0 };
    let written = values.written(body, inst).map(|value| &shapes[value.0 as usize]);
    if matches!(written, Some(Shape::Varying(_))) { 2 * ty.bits().div_ceil(32) } else { 0 }
}

impl Pressure {
    pub(crate) fn of(body: &Body, values: &Values, shapes: &[Shape]) -> Pressure {
        let mut most = Pressure::default();
        for block in 0..body.blocks.len() as u32 {
            scan(body, values, block, |inst, live| {
                let mut now = weight(values, shapes, live);
                now.varying += inst.map_or(0, |inst| meanwhile(body, values, shapes, inst));
                most.varying = most.varying.max(now.varying);
                most.masks = most.masks.max(now.masks);
                most.uniform = most.uniform.max(now.uniform);
            });
        }
        for inner in &body.loops {
            let insts = body.blocks[inner.blocks.start as usize].insts.start
                ..body.blocks[inner.blocks.end as usize - 1].insts.end;
            let written = |value: &&ValueId| values.get(**value).defs.iter().any(|def| insts.contains(def));
            let carried = values.live_in(inner.header().0).iter().filter(written);
            let (long, short): (Vec<&ValueId>, Vec<&ValueId>) =
                carried.partition(|value| values.get(**value).ty.bits() > 32);
            let words = 2 * weight(values, shapes, long).varying + weight(values, shapes, short).varying;
            most.carried = most.carried.max(words);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_follow_the_registers() {
        let pressure = |varying| Pressure { varying, masks: 1, uniform: 9, carried: varying };
        assert_eq!(VectorUnits::Avx2.width(pressure(2), true), 32);
        assert_eq!(VectorUnits::Avx2.width(pressure(6), true), 16);
        assert_eq!(VectorUnits::Avx2.width(pressure(40), true), 8);
        assert_eq!(VectorUnits::Avx512.width(pressure(14), true), 32);
        assert_eq!(VectorUnits::Neon.width(pressure(13), true), 8);
        // Of which a loop leaves little to its next trip.
        let carrying = |varying, carried| Pressure { carried, ..pressure(varying) };
        assert_eq!(VectorUnits::Avx2.width(carrying(6, 3), true), 32);
        assert_eq!(VectorUnits::Avx2.width(carrying(12, 6), true), 16);
        assert_eq!(VectorUnits::Avx2.width(carrying(12, 9), true), 8);
        assert_eq!(VectorUnits::Avx2.width(carrying(40, 3), true), 8);
        assert_eq!(VectorUnits::Avx512.width(carrying(28, 9), true), 32);
        assert_eq!(VectorUnits::Avx512.width(carrying(28, 10), true), 16);
        assert_eq!(VectorUnits::Avx512.width(carrying(29, 3), true), 16);
        // Without loops.
        assert_eq!(VectorUnits::Avx2.width(pressure(7), false), 32);
        assert_eq!(VectorUnits::Avx2.width(pressure(13), false), 16);
        assert_eq!(VectorUnits::Avx2.width(pressure(27), false), 16);
        assert_eq!(VectorUnits::Avx512.width(pressure(50), false), 32);
        assert_eq!(VectorUnits::Avx2.width(pressure(40), false), 8);
    }
}
