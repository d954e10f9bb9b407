//! Video instructions (PTX ISA 9.7.18): operands in rows `a`, `b`, `c`, all else in site `imm`.

use warploom_numerics::video::{Kind, Mad, Part, Second, Simd, Types, mad, scalar, simd};

use crate::machine::{Flow, Machine};
use crate::program::Inst;

/// What one video instruction does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Video {
    Scalar(Kind, Types, [Part; 2], Second),
    Mad(Mad, Types, [Part; 2]),
    Simd(Simd),
}

/// Runs the instruction of site `imm`.
pub(crate) fn video(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    match machine.function.videos[inst.imm as usize] {
        Video::Scalar(kind, types, parts, second) => {
            machine.map3(inst, mask, |a: u32, b: u32, c: u32| scalar(kind, types, parts, second, a, b, c))
        }
        Video::Mad(how, types, parts) => {
            machine.map3(inst, mask, |a: u32, b: u32, c: u32| mad(how, types, parts, a, b, c))
        }
        Video::Simd(how) => machine.map3(inst, mask, |a: u32, b: u32, c: u32| simd(&how, a, b, c)),
    }
}
