//! Data movement between registers (PTX ISA 9.7.9.1 to 9.7.9.6): moves, packing, addresses, state spaces.

use warploom_exec::address::{Space, classify};
use warploom_numerics::compare::selects_first;

use crate::isa::LaneOp;
use crate::lane::lane_ops;
use crate::machine::{Flow, Machine};
use crate::program::Inst;

lane_ops! {
    Mov32(a: u32) -> u32 { a }
    Mov64(a: u64) -> u64 { a }
    /// Zero-extension, and truncation the other way.
    Widen(a: u32) -> u64 { u64::from(a) }
    WidenS32(a: i32) -> i64 { i64::from(a) }
    Narrow(a: u64) -> u32 { a as u32 }
    ZeroExtend16(a: u16) -> u32 { u32::from(a) }

    Pack2x16(a: u16, b: u16) -> u32 { u32::from(a) | u32::from(b) << 16 }
    Pack2x8(a: u8, b: u8) -> u32 { u32::from(a) | u32::from(b) << 8 }
    Pack4x8(a: u8, b: u8, c: u8, x: u8) -> u32 { u32::from_le_bytes([a, b, c, x]) }
    Pack4x16(a: u16, b: u16, c: u16, x: u16) -> u64 {
        u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(x) << 48
    }
    Pack2x32(a: u32, b: u32) -> u64 { u64::from(a) | u64::from(b) << 32 }
    /// The 32-bit element of a 64-bit register that starts at bit `imm`; smaller ones likewise.
    Element32Of64(a: u64; shift) -> u32 { (a >> shift) as u32 }
    Element16Of64(a: u64; shift) -> u16 { (a >> shift) as u16 }
    Element16Of32(a: u32; shift) -> u16 { (a >> shift) as u16 }
    Element8Of32(a: u32; shift) -> u8 { (a >> shift) as u8 }

    Select32(a: u32, b: u32, c: i32) -> u32 { if c >= 0 { a } else { b } }
    Select64(a: u64, b: u64, c: i32) -> u64 { if c >= 0 { a } else { b } }
    SelectF32(a: u32, b: u32, c: f32) -> u32 { if selects_first(c, false) { a } else { b } }
    SelectFtzF32(a: u32, b: u32, c: f32) -> u32 { if selects_first(c, true) { a } else { b } }
    SelectF64(a: u64, b: u64, c: f32) -> u64 { if selects_first(c, false) { a } else { b } }
    SelectFtzF64(a: u64, b: u64, c: f32) -> u64 { if selects_first(c, true) { a } else { b } }

    /// `cvta` to generic: adds the window's base, which row `b` holds.
    ToGeneric(a: u64, b: u64) -> u64 { a.wrapping_add(b) }
    FromGeneric(a: u64, b: u64) -> u64 { a.wrapping_sub(b) }
}

/// `selp`: predicate operand `c`.
pub(crate) struct Selp<T>(std::marker::PhantomData<T>);

impl<T: crate::frame::Word> LaneOp for Selp<T> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let choose = machine.predicate(inst.c);
        let (a, b) = (T::row(&machine.frame, inst.a), T::row(&machine.frame, inst.b));
        let out = T::choose(machine.isa, choose, a, b).unwrap_or_else(
            #[inline(always)]
            || {
                let mut out = *b;
                T::blend(&mut out, a, choose);
                out
            },
        );
        machine.put(inst.d, mask, &out);
        Flow::Next
    }
}

/// The address of a local variable: the activation's base and the constant in 64-bit row `a`; the 32-bit form is narrowed after.
pub(crate) fn local_address(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let base = u64::from(machine.warp.activations[machine.activation as usize].base);
    let out = machine.frame.r64[inst.a as usize].map(|offset| offset.wrapping_add(base));
    machine.put(inst.d, mask, &out);
    Flow::Next
}

/// `isspacep`: `imm` 0 global, 1 shared, 2 local, 3 param, 4 const. Constants lie in device memory, but are not global.
pub(crate) fn isspacep(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let row = machine.frame.r64[inst.a as usize];
    let mut value = 0;
    for (lane, &address) in row.iter().enumerate() {
        let is_in = |&(number, size): &(u32, u64)| address.wrapping_sub(machine.variable(number)) < size;
        let holds = match classify(address) {
            Space::Global if machine.program.constants.iter().any(is_in) => inst.imm == 4,
            Space::Global => inst.imm == 0,
            Space::Shared(_) => false,
            Space::Local(_) => inst.imm == 2,
            Space::Param(_) => inst.imm == 3,
        };
        value |= u32::from(holds) << lane;
    }
    machine.put_predicate(inst.d, mask, value);
    Flow::Next
}
