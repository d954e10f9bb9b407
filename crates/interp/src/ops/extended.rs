//! Extended-precision integer arithmetic (PTX ISA 9.7.2): `add.cc`, `addc`, `sub.cc`, `subc`, and the additions of `mad.cc`, `madc`.
//!
//! The condition code register has one bit per thread, which is a predicate here (slot `c`).

use warploom_numerics::extended;

use crate::machine::{Flow, Machine};
use crate::program::Inst;

const SUBTRACT: u32 = 1;
const CARRY_IN: u32 = 2;
const CARRY_OUT: u32 = 4;

/// `imm` of the operations.
pub(crate) fn flags(subtract: bool, carry_in: bool, carry_out: bool) -> u32 {
    (u32::from(subtract) * SUBTRACT) | (u32::from(carry_in) * CARRY_IN) | (u32::from(carry_out) * CARRY_OUT)
}

macro_rules! add {
    ($name:ident, $row:ident) => {
        /// Addition or subtraction with carry, as `imm` says.
        pub(crate) fn $name(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
            let (a, b) = (machine.frame.$row[inst.a as usize], machine.frame.$row[inst.b as usize]);
            let carry = machine.frame.p[inst.c as usize];
            let subtract = inst.imm & SUBTRACT != 0;
            let mut out = [0; 32];
            let mut carries = 0;
            for lane in 0..32 {
                let first = if inst.imm & CARRY_IN != 0 { carry >> lane & 1 != 0 } else { subtract };
                let (a, b) = (a[lane], b[lane]);
                let (sum, last) = if subtract { extended::sub(a, b, first) } else { extended::add(a, b, first) };
                out[lane] = sum;
                carries |= u32::from(last) << lane;
            }
            machine.put(inst.d, mask, &out);
            if inst.imm & CARRY_OUT != 0 {
                machine.put_predicate(inst.c, mask, carries);
            }
            Flow::Next
        }
    };
}

add!(add32, r32);
add!(add64, r64);
