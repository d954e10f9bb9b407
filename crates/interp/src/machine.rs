//! The state that one decoded instruction works on: the warp that runs, its CTA and its grid; and the shapes of lane loops.

use warploom_exec::fault::FaultKind;
use warploom_exec::grid::Grid;
use warploom_exec::memory::View;

use crate::cta::CtaShared;
use crate::frame::{FULL, Frame, Word, before};
use crate::isa::Isa;
use crate::program::{Function, Inst, Program};
use crate::warp::{NO_PARENT, Warp};

/// What follows an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Flow {
    /// The next instruction.
    Next,
    /// `pc`, `active` or the function were set.
    Jump,
    /// The running group was parked or has ended: choose another.
    Switch,
    /// All lanes of the warp wait or have ended.
    Leave,
    /// The warp has used up its time slice at `pc`.
    Slice,
    /// `Machine::fault` says what went wrong.
    Fault,
}

/// A fault as the instruction sees it; place and names are added where it is reported.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) kind: FaultKind,
    pub(crate) lane: u32,
}

/// One warp in execution.
pub(crate) struct Machine<'a> {
    /// Registers of the running activation.
    pub(crate) frame: Box<Frame>,
    /// Index of the running instruction.
    pub(crate) pc: u32,
    /// Lanes of the running group.
    pub(crate) active: u32,
    /// The next pc at which another group of this activation waits.
    pub(crate) limit: u32,
    /// None waits from here up to there.
    pub(crate) floor: u32,
    /// Instructions left in this time slice, counted where code repeats: at backward branches and calls.
    pub(crate) fuel: i32,
    /// Polls since something was new (see [`crate::waiting`]).
    pub(crate) polls: u32,
    /// Stores and updates since the last poll.
    pub(crate) stores: u32,
    /// Accesses with which a thread may wait for another one, since the last turn.
    pub(crate) looks: u32,
    /// The running activation.
    pub(crate) activation: u32,
    pub(crate) isa: Isa,
    pub(crate) function: &'a Function,
    pub(crate) program: &'a Program,
    pub(crate) grid: &'a Grid,
    pub(crate) view: View<'a>,
    pub(crate) cta: &'a mut CtaShared,
    /// The warp that runs; nobody's between two.
    pub(crate) warp: Box<Warp>,
    pub(crate) fault: Option<Trouble>,
}

impl<'a> Machine<'a> {
    /// At the start of a function, no lane of which runs yet, and with no end to its time.
    ///
    /// Made in its place: it is large, and made for each CTA.
    #[inline(always)]
    pub(crate) fn new(
        program: &'a Program,
        function: &'a Function,
        isa: Isa,
        grid: &'a Grid,
        cta: &'a mut CtaShared,
        frame: Box<Frame>,
        warp: Box<Warp>,
    ) -> Machine<'a> {
        Machine {
            frame,
            pc: 0,
            active: 0,
            limit: u32::MAX,
            floor: 0,
            fuel: i32::MAX,
            polls: 0,
            stores: 0,
            looks: 0,
            activation: NO_PARENT,
            isa,
            function,
            program,
            grid,
            view: grid.memory().view_with(cta.recent.take()),
            cta,
            warp,
            fault: None,
        }
    }

    /// Index of the running function.
    pub(crate) fn function_index(&self) -> u32 {
        self.program.functions.iter().position(|other| std::ptr::eq(other, self.function)).unwrap_or_default() as u32
    }

    /// Records a fault of the first lane in `lanes`.
    #[cold]
    pub(crate) fn fail(&mut self, lanes: u32, kind: FaultKind) -> Flow {
        self.fault = Some(Trouble { kind, lane: lanes.trailing_zeros().min(31) });
        Flow::Fault
    }

    /// Writes `row` to register `slot` in the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn put<D: Word>(&mut self, slot: u32, mask: u32, row: &[D; 32]) {
        let isa = self.isa;
        let old = D::row_mut(&mut self.frame, slot);
        if mask == FULL {
            *old = *row;
        } else if let Some(new) = D::choose(isa, mask, row, &before(old)) {
            // In halves, which makes it another copy than the one above: of two alike the compiler would make one that takes either row
            // from memory, and every result would be written and read back before it is stored.
            let (low, high) = old.split_at_mut(16);
            low.copy_from_slice(&new[..16]);
            high.copy_from_slice(&new[16..]);
        } else {
            // A copy in memory, which the compiler cannot see through: how lanes are picked from it must not shape the code that all
            // lanes run.
            D::blend(old, &std::hint::black_box(*row), mask);
        }
    }

    /// Writes predicate `slot` in the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn put_predicate(&mut self, slot: u32, mask: u32, value: u32) {
        let old = &mut self.frame.p[slot as usize];
        *old = (*old & !mask) | (value & mask);
    }

    /// `d = f(a)`.
    #[inline(always)]
    pub(crate) fn map1<A: Word, D: Word>(&mut self, inst: &Inst, mask: u32, f: impl Fn(A) -> D) -> Flow {
        let a = A::row(&self.frame, inst.a);
        let mut out = [D::default(); 32];
        for lane in 0..32 {
            out[lane] = f(a[lane]);
        }
        self.put(inst.d, mask, &out);
        Flow::Next
    }

    /// `d = f(a, b)`.
    #[inline(always)]
    pub(crate) fn map2<A: Word, B: Word, D: Word>(&mut self, inst: &Inst, mask: u32, f: impl Fn(A, B) -> D) -> Flow {
        let a = A::row(&self.frame, inst.a);
        let b = B::row(&self.frame, inst.b);
        let mut out = [D::default(); 32];
        for lane in 0..32 {
            out[lane] = f(a[lane], b[lane]);
        }
        self.put(inst.d, mask, &out);
        Flow::Next
    }

    /// `d = f(a, b, c)`.
    #[inline(always)]
    pub(crate) fn map3<A: Word, B: Word, C: Word, D: Word>(
        &mut self,
        inst: &Inst,
        mask: u32,
        f: impl Fn(A, B, C) -> D,
    ) -> Flow {
        let a = A::row(&self.frame, inst.a);
        let b = B::row(&self.frame, inst.b);
        let c = C::row(&self.frame, inst.c);
        let mut out = [D::default(); 32];
        for lane in 0..32 {
            out[lane] = f(a[lane], b[lane], c[lane]);
        }
        self.put(inst.d, mask, &out);
        Flow::Next
    }

    /// `d = f(a, b, c, x)`, the fourth operand in the slot that `imm` names.
    #[inline(always)]
    pub(crate) fn map4<A: Word, B: Word, C: Word, X: Word, D: Word>(
        &mut self,
        inst: &Inst,
        mask: u32,
        f: impl Fn(A, B, C, X) -> D,
    ) -> Flow {
        let a = A::row(&self.frame, inst.a);
        let b = B::row(&self.frame, inst.b);
        let c = C::row(&self.frame, inst.c);
        let x = X::row(&self.frame, inst.imm);
        let mut out = [D::default(); 32];
        for lane in 0..32 {
            out[lane] = f(a[lane], b[lane], c[lane], x[lane]);
        }
        self.put(inst.d, mask, &out);
        Flow::Next
    }

    /// The lanes in which `f(a, b)` holds.
    #[inline(always)]
    pub(crate) fn test2<A: Word>(&self, inst: &Inst, f: impl Fn(A, A) -> bool) -> u32 {
        let a = A::row(&self.frame, inst.a);
        let b = A::row(&self.frame, inst.b);
        let isa = self.isa;
        let mut row = [0; 32];
        for lane in 0..32 {
            row[lane] = u32::from(f(a[lane], b[lane])).wrapping_neg();
        }
        isa.top_bits(&row)
    }

    /// The value of predicate operand `p`: a slot, with `INVERT` set for `!p`.
    #[inline(always)]
    pub(crate) fn predicate(&self, operand: u32) -> u32 {
        let value = self.frame.p[(operand & !INVERT) as usize];
        if operand & INVERT != 0 { !value } else { value }
    }
}

/// Set in a predicate operand that is read negated.
pub(crate) const INVERT: u32 = 1 << 31;
/// The guard of an instruction that has none.
pub(crate) const NO_GUARD: u32 = u32::MAX;

/// The lanes of `mask`, lowest first.
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            lane
        })
    })
}
