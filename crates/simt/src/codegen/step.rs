//! Instructions that the executor runs, one at a time, for the lanes of a gang: those that [`how`](super::how::how) names.
//!
//! Operands and results are handed over through memory, as [`Step`] says.

use warploom_ptx::ir::{Inst, MatrixOp, Op, Reg, ScalarType, Space, Step};

use super::context;
use super::double::Doubles;
use super::exchange::WARP;
use super::function::{Val, Writer};
use super::names::{Element, Ty};

/// Bytes of a register's place.
pub(super) const PLACE: u32 = 8 * Step::PLACE_WORDS as u32;

/// Registers that an instruction may name: a product of a warpgroup has the most, 128 for its sums before and behind.
const MOST: u32 = 272;

impl Writer<'_> {
    /// Matrices are a warp's, and the executor does not reach the threads' local memory.
    fn allow_matrices(&self, inst: &Inst, op: &MatrixOp) -> Result<(), String> {
        if self.lanes() != WARP {
            return Err(format!("{} in gangs of {} lanes", self.lacks(inst), self.lanes()));
        }
        if self.plan.turns().is_some() && inst.guard.is_some() {
            return Err(format!("{} of some lanes, where they go their own ways", self.lacks(inst)));
        }
        let generic = matches!(
            op,
            MatrixOp::WmmaLoad { space: Space::Generic, .. } | MatrixOp::WmmaStore { space: Space::Generic, .. }
        );
        if generic && self.body().local_size > 0 {
            return Err(format!("{}, in local memory perhaps", self.lacks(inst)));
        }
        Ok(())
    }

    /// Has the executor run an instruction.
    pub(super) fn stepped(&mut self, inst: &Inst) -> Result<(), String> {
        let step = Step::of(self.inst, inst);
        let body = self.body();
        let ty_of = |reg: &Reg| body.regs[reg.0 as usize].ty;
        let places = (step.reads.len() + step.writes.len()) as u32;
        if step.reads.iter().chain(&step.writes).any(|reg| ty_of(reg).bits() > 64) || places > MOST {
            return Err(self.lacks(inst));
        }
        if let Op::Matrix(op) = &inst.op {
            self.allow_matrices(inst, op)?;
        }
        let done = match self.doubles(inst)? {
            Doubles::All => return Ok(()),
            Doubles::Here(done) => Some(done),
            Doubles::Nothing => None,
        };
        self.steps = self.steps.max(places);
        let types: Vec<ScalarType> = step.reads.iter().chain(&step.writes).map(ty_of).collect();
        for (at, reg) in step.reads.iter().enumerate() {
            let value = self.operand(warploom_ptx::ir::Operand::Reg(*reg), types[at]);
            let value = self.splat(&value);
            let value = match types[at] {
                ScalarType::Pred => {
                    let bits = self.bits_of(&value.text);
                    self.resize(&bits, 32, false)
                }
                ty => self.resize(&value, if ty.bits() > 32 { 64 } else { 32 }, false),
            };
            let place = self.offset("%steps", PLACE * at as u32);
            self.line(format!("store {} {}, ptr {place}", value.ty.text(), value.text));
        }
        self.call_step(&step, places);
        let mut results = Vec::new();
        let width = self.lanes();
        for (at, ty) in types.iter().enumerate().skip(step.reads.len()) {
            let place = self.offset("%steps", PLACE * at as u32);
            results.push(match ty {
                ScalarType::Pred => {
                    let bits = self.load(Ty::int(32, 0), &place);
                    let bits = self.resize(&bits, width, false);
                    self.set(self.mask_type(), format!("bitcast i{width} {} to <{width} x i1>", bits.text))
                }
                ty => {
                    self.load(Ty { element: Element::Int(if ty.bits() > 32 { 64 } else { 32 }), lanes: width }, &place)
                }
            });
        }
        let operands = inst.operands();
        let defs: Vec<Reg> = operands.iter().filter_map(|operand| operand.def()).collect();
        for (number, def) in defs.iter().enumerate() {
            let Some(at) = step.writes.iter().position(|reg| reg == def) else { continue };
            let common = self.written(inst, number).is_some_and(|value| self.is_scalar(value));
            let value = results[at].clone();
            let value = if common { self.first_running(&value) } else { value };
            self.write(inst, number, &value, false)?;
        }
        if let Some(done) = done {
            self.line(format!("br label %L{done}"));
            self.label(&format!("L{done}"));
        }
        Ok(())
    }

    /// Calls the executor, and leaves if the instruction has failed.
    fn call_step(&mut self, step: &Step, places: u32) {
        let bits = self.running();
        let number = self.plan.needs_step(step.clone());
        let function = self.pointer(context::STEP);
        let (width, count) = (self.lanes(), places);
        let answer = self.set(
            Ty::int(32, 0),
            format!(
                "call i32 {function}(ptr %context, ptr %steps, i32 {}, i32 {number}, i32 {count}, i32 {width}, i32 {})",
                bits.text,
                self.thread()
            ),
        );
        let zero = self.constant(answer.ty, 0);
        let fine = self.compare("ne", &answer, &zero);
        let on = self.fresh();
        self.line(format!("br i1 {}, label %L{on}, label %fault, !prof !2", fine.text));
        self.label(&format!("L{on}"));
    }

    /// What the first of the lanes that run has.
    pub(super) fn first_running(&mut self, value: &Val) -> Val {
        let bits = self.running();
        let lane = self.intrinsic_flag("cttz", &bits);
        self.set(
            Ty::scalar(value.ty.element),
            format!("extractelement {} {}, i32 {}", value.ty.text(), value.text, lane.text),
        )
    }
}
