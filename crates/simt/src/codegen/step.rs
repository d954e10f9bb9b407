//! Instructions that the executor runs, one at a time, for the lanes of a gang: those that [`how`](super::how::how) names.
//!
//! Operands and results are handed over through memory, as [`Step`] says.

use warploom_ptx::ir::{
    Fragment, Geometry, Inst, Layout, MatrixOp, Op, OpaqueRef, Operand, Product, Reg, ScalarType, Shape, Space, Step,
    TextureOp,
};

use super::by_function::Written;
use super::context;
use super::exchange::WARP;
use super::flushing;
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
        let mut step = Step::of(self.plan.info.function, self.inst, inst);
        let body = self.body();
        let ty_of = |reg: &Reg| body.regs[reg.0 as usize].ty;
        let places = (step.reads.len() + step.writes.len()) as u32;
        if step.reads.iter().chain(&step.writes).any(|reg| ty_of(reg).bits() > 64) || places > MOST {
            return Err(self.lacks(inst));
        }
        if let Op::Matrix(op) = &inst.op {
            self.allow_matrices(inst, op)?;
        }
        let done = match self.by_function(inst)? {
            Written::All => return Ok(()),
            Written::Here(done) => Some(done),
            Written::Nothing => None,
        };
        let handed = self.handed_over(inst, &mut step);
        self.steps = self.steps.max(places);
        let types: Vec<ScalarType> = step.reads.iter().chain(&step.writes).map(ty_of).collect();
        let number = self.plan.needs_step(step.clone());
        let handle = self.common_handle(inst);
        for (at, reg) in step.reads.iter().enumerate().filter(|(_, reg)| handed.contains(reg) && handle != Some(**reg))
        {
            self.hand_over_register(*reg, types[at], at as u32);
        }
        let fetched = handle.map(|handle| self.fetch(handle, number));
        for (at, reg) in step.reads.iter().enumerate().filter(|(_, reg)| handle == Some(**reg)) {
            self.hand_over_register(*reg, types[at], at as u32);
        }
        self.call_step(number, places);
        if let Some(fetched) = fetched {
            self.line(format!("br label %L{fetched}"));
            self.label(&format!("L{fetched}"));
        }
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

    /// The operands that are handed over: all, but for factors of a product that the executor has from one before, as it does where all lanes run. Then it has
    /// made them ready, too, and need not look whether they are the same.
    fn handed_over(&mut self, inst: &Inst, step: &mut Step) -> Vec<Reg> {
        let Some(product) = product(inst).filter(|_| self.full && inst.guard.is_none()) else {
            return step.reads.clone();
        };
        self.factors.forget(&self.plan.body.insts, self.inst);
        let mut handed: Vec<Reg> = product.c.iter().filter_map(|operand| operand.reg()).collect();
        for (kept, side) in step.kept.iter_mut().zip([Fragment::A, Fragment::B]) {
            let factor = factor(product, side);
            *kept = self.factors.known.contains(&factor);
            if !*kept {
                handed.extend(&factor.registers);
                self.factors.known.push(factor);
            }
        }
        handed
    }

    /// Puts all lanes of a register into a place.
    fn hand_over_register(&mut self, reg: Reg, ty: ScalarType, place: u32) {
        let value = self.operand(Operand::Reg(reg), ty);
        let value = self.splat(&value);
        let value = match ty {
            ScalarType::Pred => {
                let bits = self.bits_of(&value.text);
                self.resize(&bits, 32, false)
            }
            ty => self.resize(&value, if ty.bits() > 32 { 64 } else { 32 }, false),
        };
        let place = self.offset("%steps", PLACE * place);
        self.line(format!("store {} {}, ptr {place}", value.ty.text(), value.text));
    }

    /// The handle of a texture of two dimensions from which floats fetch, where all lanes have the same.
    fn common_handle(&self, inst: &Inst) -> Option<Reg> {
        let Op::Texture(op) = &inst.op else { return None };
        let TextureOp::Tex {
            geometry: Geometry::D2,
            gather: None,
            coord_ty: ScalarType::F32,
            resident: None,
            texture: OpaqueRef::Handle(handle),
            offset: None,
            depth_compare: None,
            ..
        } = **op
        else {
            return None;
        };
        let value = self.value_of(Operand::Reg(handle))?;
        self.is_scalar(value).then_some(handle)
    }

    /// Calls the executor's function for fetches; what follows is for where it has not fetched. The label where it has is given back.
    fn fetch(&mut self, handle: Reg, number: usize) -> u32 {
        let handle = self.operand(Operand::Reg(handle), ScalarType::B64);
        let function = self.pointer(context::FETCH);
        let arguments = [
            ("ptr", "%context".to_owned()),
            ("ptr", "%steps".to_owned()),
            ("i32", number.to_string()),
            ("i32", self.lanes().to_string()),
            ("i64", handle.text),
        ];
        let call = flushing::call(self.plan, "fetch", &function, &arguments);
        let answer = self.set(Ty::int(32, 0), call);
        let zero = self.constant(answer.ty, 0);
        let fine = self.compare("ne", &answer, &zero);
        let (fetched, other) = (self.fresh(), self.fresh());
        self.line(format!("br i1 {}, label %L{fetched}, label %L{other}, !prof !2", fine.text));
        self.label(&format!("L{other}"));
        fetched
    }

    /// Calls the executor, and leaves if the instruction has failed.
    fn call_step(&mut self, number: usize, places: u32) {
        let bits = self.running();
        let function = self.pointer(context::STEP);
        // What has no registers needs no room for them, and gets another's.
        let room = if places == 0 { "%scratch" } else { "%steps" };
        let arguments = [
            ("ptr", "%context".to_owned()),
            ("ptr", room.to_owned()),
            ("i32", bits.text),
            ("i32", number.to_string()),
            ("i32", places.to_string()),
            ("i32", self.lanes().to_string()),
            ("i32", self.thread()),
        ];
        let call = flushing::call(self.plan, "step", &function, &arguments);
        let answer = self.set(Ty::int(32, 0), call);
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
        self.element(value, &lane)
    }
}

/// The product that an instruction is, if the executor keeps factors of such: of 16 bits or `.tf32`, in blocks of 16 rows, whose operands are all registers.
fn product(inst: &Inst) -> Option<&Product> {
    /// Elements of results, and of what is multiplied for each, at most.
    const RESULTS: u32 = 256;
    const TERMS: u32 = 16;
    let Op::Matrix(op) = &inst.op else { return None };
    let (MatrixOp::WmmaMma(product) | MatrixOp::Mma(product)) = &**op else { return None };
    let Shape { m, n, k } = product.shape;
    let wide = matches!(product.a_ty, ScalarType::F16 | ScalarType::Bf16 | ScalarType::Tf32);
    let whole = m.is_multiple_of(16) && u32::from(m) * u32::from(n) <= RESULTS && u32::from(k) <= TERMS;
    let plain = !product.satfinite && product.sparse.is_none() && product.scales.is_none();
    let registers = [&product.a, &product.b].iter().all(|factor| factor.iter().all(|operand| operand.reg().is_some()));
    (wide && whole && plain && registers).then_some(product)
}

/// Factors of products that the executor has run since full code began, as long as nothing writes to their registers.
#[derive(Debug, Default)]
pub(super) struct Factors {
    known: Vec<Factor>,
    /// The instruction up to which writes are known of.
    until: u32,
}

/// A factor of a product: how it lies in which registers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Factor {
    side: Fragment,
    shape: Shape,
    ty: ScalarType,
    layout: Layout,
    registers: Vec<Reg>,
}

impl Factors {
    /// Forgets what instructions before `number` have written to.
    fn forget(&mut self, insts: &[Inst], number: u32) {
        for inst in &insts[self.until.min(number) as usize..number as usize] {
            if self.known.is_empty() {
                break;
            }
            for reg in inst.operands().iter().filter_map(|operand| operand.def()) {
                self.known.retain(|factor| !factor.registers.contains(&reg));
            }
        }
        self.until = number;
    }
}

fn factor(product: &Product, side: Fragment) -> Factor {
    let (ty, layout, operands) = match side {
        Fragment::A => (product.a_ty, product.a_layout, &product.a),
        _ => (product.b_ty, product.b_layout, &product.b),
    };
    let registers = operands.iter().filter_map(|operand| operand.reg()).collect();
    Factor { side, shape: product.shape, ty, layout, registers }
}
