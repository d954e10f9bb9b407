//! Extended-precision integer arithmetic (PTX ISA 9.7.2): `add.cc`, `addc`, `sub.cc`, `subc`, and the additions of `mad.cc`, `madc`.
//!
//! CC.CF is a predicate: it is read from slot `c` and written to the one that `imm` names.

use warploom_numerics::extended;

use crate::machine::{Flow, Machine};
use crate::program::Inst;

const SUBTRACT: u32 = 1;
const CARRY_IN: u32 = 2;
const CARRY_OUT: u32 = 4;
/// Where in `imm` the slot stands that the carry is written to.
const SLOT: u32 = 3;

/// `imm` of the operations; the carry is written to the slot `carry_out`.
pub(crate) fn flags(subtract: bool, carry_in: bool, carry_out: Option<u32>) -> u32 {
    let out = carry_out.map_or(0, |slot| CARRY_OUT | slot << SLOT);
    (u32::from(subtract) * SUBTRACT) | (u32::from(carry_in) * CARRY_IN) | out
}

macro_rules! add {
    ($name:ident, $row:ident) => {
        /// Addition or subtraction with carry, as `imm` says.
        pub(crate) fn $name(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
            let (a, b) = (machine.frame.$row[inst.a as usize], machine.frame.$row[inst.b as usize]);
            let carry = if inst.imm & CARRY_IN != 0 { machine.frame.p[inst.c as usize] } else { 0 };
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
                machine.put_predicate(inst.imm >> SLOT, mask, carries);
            }
            Flow::Next
        }
    };
}

add!(add32, r32);
add!(add64, r64);
