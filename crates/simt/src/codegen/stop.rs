//! What ends the grid: `trap`, `brkpt`, `multimem`, calls of what is no function.

use warploom_ptx::ir::{CallTarget, FunctionId, Inst, LocId, Op, Operand, Terminator};

use super::asked::{Argument, Asked};
use super::function::{Val, Writer};
use super::names::Ty;

/// Why the grid ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopKind {
    /// `trap` or `brkpt`.
    Trap,
    /// A call of an address that is no function's.
    NoFunction,
    /// `multimem`: there are no multicast objects.
    NoMulticast,
    /// A lane that is not in the member mask that it executes an exchange with.
    NotAMember,
}

/// A place that ends the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Why.
    pub kind: StopKind,
    /// In the body of which function.
    pub function: FunctionId,
    /// PTX line.
    pub line: u32,
    /// Source place.
    pub loc: Option<LocId>,
}

impl Writer<'_> {
    fn stop_at(&self, kind: StopKind, line: u32, loc: Option<LocId>) -> Stop {
        Stop { kind, function: self.plan.info.function, line, loc }
    }

    /// Ends the grid because of the first lane that runs, with what is to be said of it; nothing that follows is reached.
    fn stop(&mut self, stop: Stop, said: Option<Val>) {
        if let Some(said) = said {
            let said = self.splat(&said);
            self.line(format!("store {} {}, ptr %addresses, align 64", said.ty.text(), said.text));
        }
        let bits = self.running();
        let number = self.plan.needs_stop(stop);
        let thread = Val { ty: Ty::int(32, 0), text: self.thread() };
        let (lanes, thread) = (Argument::Value(&bits), Argument::Value(&thread));
        self.ask_executor(
            Asked::Stop,
            &[Argument::Pointer("%addresses"), lanes, Argument::Number(number as u32), thread],
        );
        self.line("br label %fault");
    }

    /// `trap` at the end of a block; where it has a guard, what follows is written next.
    pub(super) fn trap(&mut self, guard: Option<Val>, end: &Terminator) -> Result<(), String> {
        let stop = self.stop_at(StopKind::Trap, end.line, end.loc);
        let Some(condition) = guard else {
            self.stop(stop, None);
            return Ok(());
        };
        self.stop_where(&condition, stop, None);
        Ok(())
    }

    /// Ends the grid if a condition holds for a lane that runs, because of the first one.
    fn stop_where(&mut self, condition: &Val, stop: Stop, said: Option<Val>) {
        let (yes, on) = (self.fresh(), self.fresh());
        let before = self.mask.clone();
        if condition.ty.lanes == 0 {
            self.line(format!("br i1 {}, label %L{yes}, label %L{on}, !prof !1", condition.text));
        } else {
            let (mask, _) = self.divide(condition);
            let any = self.any(&mask);
            self.line(format!("br i1 {}, label %L{yes}, label %L{on}, !prof !1", any.text));
            self.mask = mask;
        }
        self.label(&format!("L{yes}"));
        self.stop(stop, said);
        self.label(&format!("L{on}"));
        self.mask = before;
    }

    /// Ends the grid where a lane is not in the member mask that it executes an exchange with.
    pub(super) fn stop_strangers(&mut self, inst: &Inst, members: &Val) {
        let lane = self.lane_numbers();
        let all = self.splat(members);
        let [one, zero] = [1, 0].map(|number| self.constant(all.ty, number));
        let own = self.binary("lshr", &all, &lane);
        let own = self.binary("and", &own, &one);
        let stranger = self.compare("eq", &own, &zero);
        let said = self.resize(members, 64, false);
        self.stop_where(&stranger, self.stop_at(StopKind::NotAMember, inst.line, inst.loc), Some(said));
    }

    /// Lanes of a mask, if there are any, come to a block that ends the grid: it is written once for each way there.
    pub(super) fn stop_lanes(&mut self, mask: &str, block: u32) -> Result<(), String> {
        let (some, none) = (self.fresh(), self.fresh());
        let any = self.any(mask);
        self.line(format!("br i1 {}, label %L{some}, label %L{none}, !prof !1", any.text));
        self.label(&format!("L{some}"));
        let before =
            (self.inst, self.values, std::mem::replace(&mut self.mask, mask.to_owned()), self.together, self.full);
        // Full code goes on with the block itself, not with one of its copies.
        let resumes = std::mem::take(&mut self.resumes);
        (self.together, self.full) = (false, false);
        let body = self.body();
        let block = &body.blocks[block as usize];
        self.insts(block.insts.clone())?;
        self.trap(None, &block.terminator)?;
        (self.inst, self.values, self.mask, self.together, self.full) = before;
        self.resumes = resumes;
        self.label(&format!("L{none}"));
        Ok(())
    }

    /// An instruction that whoever comes to it does not get beyond: `brkpt`, as no debugger is there, and `multimem`.
    pub(super) fn end(&mut self, inst: &Inst, kind: StopKind) {
        self.stop(self.stop_at(kind, inst.line, inst.loc), None);
        let on = self.fresh();
        self.label(&format!("L{on}"));
    }

    /// An indirect call that none of the functions was meant by.
    pub(super) fn no_function(&mut self, inst: &Inst) -> Result<(), String> {
        let Op::Call { target, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let CallTarget::Indirect { address, .. } = &**target else { return Err(self.lacks(inst)) };
        let address = self.operand(Operand::Reg(*address), warploom_ptx::ir::ScalarType::U64);
        self.stop(self.stop_at(StopKind::NoFunction, inst.line, inst.loc), Some(address));
        let on = self.fresh();
        self.label(&format!("L{on}"));
        Ok(())
    }
}
