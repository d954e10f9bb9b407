//! How many low bits of values are 0.

use warploom_ptx::ir::{
    AddressTarget, Body, Inst, IntBinaryOp, LogicOp, MulMode, Op, Operand, SharedLayout, ShiftDirection,
};

use crate::range::{Ranges, is_integer};
use crate::values::{ValueId, Values, paired};

/// As many as anything needs.
const MOST: u32 = 12;

/// By value, for those that are written once; in all lanes.
#[derive(Clone, Debug)]
pub(crate) struct Alignments(Vec<u32>);

impl Alignments {
    pub(crate) fn new(layout: &SharedLayout, body: &Body, values: &Values, ranges: &Ranges) -> Alignments {
        let mut all = Alignments(vec![0; values.len()]);
        for (number, inst) in body.insts.iter().enumerate() {
            let number = number as u32;
            if let (None, Some(value)) = (inst.guard, values.written(body, number)) {
                let known = values.get(value);
                if known.defs.len() == 1 && !known.undefined {
                    let constant = ranges.of(value).and_then(|range| range.constant());
                    let of_constant = constant.map_or(0, i128::trailing_zeros);
                    all.0[value.0 as usize] = all.result(layout, values, number, inst).max(of_constant).min(MOST);
                }
            }
        }
        all
    }

    /// Of a value.
    pub(crate) fn of(&self, value: ValueId) -> u32 {
        self.0[value.0 as usize]
    }

    /// Of what an instruction reads.
    pub(crate) fn operand(&self, values: &Values, number: u32, inst: &Inst, operand: Operand) -> u32 {
        match operand {
            Operand::Imm(bits) => bits.trailing_zeros().min(MOST),
            Operand::Reg(reg) => {
                let operands = inst.operands();
                let mut read = paired(&operands, values.of_inst(number)).filter(|(o, _)| o.read() == Some(reg));
                read.find_map(|(_, value)| value).map_or(0, |value| self.of(value))
            }
        }
    }

    fn result(&self, layout: &SharedLayout, values: &Values, number: u32, inst: &Inst) -> u32 {
        let of = |operand: &Operand| self.operand(values, number, inst, *operand);
        match &inst.op {
            Op::Mov { src, .. } => of(src),
            Op::Cvta { a, .. } => of(a),
            Op::Cvt { dst_ty, src_ty, a, sat: false, .. } if is_integer(*dst_ty) && is_integer(*src_ty) => of(a),
            Op::IntBinary { op: IntBinaryOp::Add | IntBinaryOp::Sub, ty, sat: false, a, b, .. } if is_integer(*ty) => {
                of(a).min(of(b))
            }
            Op::Mul { mode: MulMode::Lo | MulMode::Wide, a, b, .. } => of(a) + of(b),
            Op::Mad { mode: MulMode::Lo | MulMode::Wide, sat: false, a, b, c, .. } => (of(a) + of(b)).min(of(c)),
            Op::Shift { direction: ShiftDirection::Left, a, amount, .. } => match amount {
                Operand::Imm(by) => of(a) + (*by).min(u64::from(MOST)) as u32,
                Operand::Reg(_) => of(a),
            },
            Op::Logic { op: LogicOp::And, a, b, .. } => of(a).max(of(b)),
            Op::Logic { a, b, .. } => of(a).min(of(b)),
            Op::Selp { a, b, .. } => of(a).min(of(b)),
            Op::AddressOf { target: AddressTarget::Global(id), offset, .. } => {
                let start = layout.offsets.get(id).map(|start| i64::from(*start) + offset);
                start.map_or(0, |start| start.trailing_zeros())
            }
            _ => 0,
        }
    }
}
