//! Asynchronous copies of single threads (PTX ISA 9.7.9.25.3): `cp.async`.
//!
//! They are done when they are issued, which is one of the orders that the manual allows: nothing is ever pending, so that groups, and waits for
//! them, leave nothing to do.

use warploom_exec::fault::{AccessFault, AccessKind, FaultKind, Refusal};
use warploom_exec::memory::{Lanes, RunMut, Scalar};

use crate::frame::Row64;
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine, lanes};
use crate::memory::{Base, StateSpace};
use crate::program::Inst;

/// The most that `cp.async` copies.
const MOST: usize = 16;

/// The operands of a `cp.async`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopySite {
    /// In shared memory.
    pub(crate) to: (Base, i64),
    /// In global memory.
    pub(crate) from: (Base, i64),
    /// 4, 8 or 16 bytes.
    pub(crate) size: u32,
    /// 32-bit row of the bytes that are read; the others are written as zeros.
    pub(crate) read: Option<u32>,
    /// Predicate operand: nothing is read where it holds.
    pub(crate) ignores: Option<u32>,
}

/// `cp.async`: site `imm`.
pub(crate) struct Copy;

impl LaneOp for Copy {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let function = machine.function;
        let site = &function.copies[inst.imm as usize];
        let to = machine.addresses(site.to.0, site.to.1);
        let from = machine.addresses(site.from.0, site.from.1);
        let ignored = site.ignores.map_or(0, |operand| machine.predicate(operand));
        let whole = site.read.is_none() && ignored & mask == 0;
        let copied = whole
            && match site.size {
                4 => machine.copy_all::<u32>(&to, &from, mask),
                8 => machine.copy_all::<u64>(&to, &from, mask),
                _ => machine.copy_all::<u128>(&to, &from, mask),
            };
        if copied {
            machine.stores += 1;
            return Flow::Next;
        }
        for lane in lanes(mask) {
            let read = match site.read.map(|row| machine.frame.r32[row as usize][lane]) {
                _ if ignored >> lane & 1 != 0 => 0,
                Some(bytes) => bytes.min(site.size),
                None => site.size,
            };
            let copied = machine.copy_one(to[lane], from[lane], site.size as usize, read as usize);
            if let Err(kind) = copied {
                return machine.fail(1 << lane, kind);
            }
        }
        machine.stores += 1;
        Flow::Next
    }
}

impl Machine<'_> {
    /// Copies for all lanes at once; `false`, and nothing is copied, if one of them takes a closer look.
    #[inline(always)]
    fn copy_all<T: Scalar>(&mut self, to: &Row64, from: &Row64, mask: u32) -> bool {
        let mut values = [T::default(); 32];
        let start = u64::from(self.cta.base);
        self.view.gather(Lanes::new(from, mask, T::SIZE), &mut values).is_ok()
            && RunMut::of(&mut self.cta.shared).scatter(&to.map(|to| to.wrapping_sub(start)), mask, [&values])
    }

    fn copy_one(&mut self, to: u64, from: u64, size: usize, read: usize) -> Result<(), FaultKind> {
        let mut bytes = [0; MOST];
        if !from.is_multiple_of(size as u64) {
            let (kind, refusal) = (AccessKind::Load, Refusal::Misaligned);
            let fault = AccessFault { address: from, size: size as u64, kind, refusal, lane: 0, nearest: None };
            return Err(FaultKind::Access(fault));
        }
        if read != 0 {
            self.view.read_bytes(from, &mut bytes[..read]).map_err(|fault| FaultKind::Access(*fault))?;
        }
        let place = self.shared_bytes(StateSpace::Shared, to, size, size as u64, AccessKind::Store)?;
        place.copy_from_slice(&bytes[..size]);
        Ok(())
    }
}
