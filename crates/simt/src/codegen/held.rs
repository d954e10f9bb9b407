//! What values hold: places for them, reading operands, writing results for the lanes that run.

use warploom_ptx::ir::{Inst, Operand, Predicate, ScalarType};

use super::function::{Val, Writer};
use super::names::{Element, Ty};
use super::span::Across;
use crate::reason::Reason;
use crate::shape::Shape;
use crate::values::{ValueId, paired};

impl<'p> Writer<'p> {
    pub(super) fn shape(&self, value: ValueId) -> &'p Shape {
        self.plan.info.shape(value)
    }

    pub(super) fn is_scalar(&self, value: ValueId) -> bool {
        self.shape(value).is_uniform()
    }

    pub(super) fn has_base(&self, value: ValueId) -> bool {
        matches!(self.shape(value), Shape::Affine(affine) if affine.is_constant())
    }

    pub(super) fn element_of(&self, value: ValueId) -> Element {
        Element::bits_of(self.plan.info.values.get(value).ty)
    }

    pub(super) fn value_of(&self, operand: Operand) -> Option<ValueId> {
        let reg = operand.reg()?;
        let operands = self.body().insts[self.inst as usize].operands();
        paired(&operands, self.values).find(|(operand, _)| operand.read() == Some(reg)).and_then(|(_, value)| value)
    }

    fn place(&mut self, value: ValueId) -> String {
        self.part_of(value, 'v')
    }

    /// The place of a part of a value: all lanes, the first one, or whether the pattern holds.
    fn part_of(&mut self, value: ValueId, part: char) -> String {
        self.used.insert(value);
        self.own(value, format!("%{part}{}", value.0))
    }

    /// The name of a place for the gang that is written for: what differs between gangs in no known way has one for each of a team.
    pub(super) fn own(&self, value: ValueId, place: String) -> String {
        if self.team == 0 || self.holders(value, &place) == 1 { place } else { format!("{place}.{}", self.member) }
    }

    /// How many gangs of a team, the first ones, have a place of their own for a part of a value, where that tells what the others have.
    pub(super) fn holders(&self, value: ValueId, place: &str) -> u32 {
        let is_followed = self.is_scalar(value) || !place.starts_with("%v");
        match self.plan.across(value) {
            Across::Same => 1,
            Across::Steps(_) if is_followed => 1,
            // Whether the pattern holds is said for all at once.
            Across::Even if place.starts_with("%w") => 1,
            Across::Even if is_followed => 2,
            Across::Steps(_) | Across::Even | Across::Apart => self.team,
        }
    }

    /// Whether the gang that is written for has a place of its own for a part of a value.
    pub(super) fn has_own(&self, value: ValueId, place: &str) -> bool {
        self.team == 0 || self.member < self.holders(value, place)
    }

    /// What a place holds for the gang that is written for.
    pub(super) fn held(&mut self, value: ValueId, place: String, ty: Ty) -> Val {
        self.used.insert(value);
        if self.has_own(value, &place) || place.starts_with("%w") {
            let own = self.own(value, place);
            return self.load(ty, &own);
        }
        match self.plan.across(value) {
            Across::Steps(steps) => {
                let held = self.load(ty, &place);
                let step = self.constant(ty, steps[self.member as usize]);
                self.binary("add", &held, &step)
            }
            Across::Even => {
                let [first, second] = [0, 1].map(|member| self.load(ty, &format!("{place}.{member}")));
                let step = self.binary("sub", &second, &first);
                let times = self.constant(ty, i64::from(self.member));
                let step = self.binary("mul", &step, &times);
                self.binary("add", &first, &step)
            }
            Across::Same | Across::Apart => self.load(ty, &place),
        }
    }

    /// The number of the gang's first thread.
    pub(super) fn thread(&self) -> String {
        if self.team == 0 { "%thread".to_owned() } else { format!("%thread{}", self.member) }
    }

    /// What a value holds: a scalar if all lanes have it in common.
    pub(super) fn read(&mut self, value: ValueId) -> Val {
        let lanes = if self.is_scalar(value) { 0 } else { self.lanes() };
        let ty = Ty { element: self.element_of(value), lanes };
        if self.plan.is_lazy(value) {
            return self.all_lanes(value, ty);
        }
        if self.plan.begins(value).is_some() {
            let first = self.held(value, format!("%b{}", value.0), Ty { lanes: 0, ..ty });
            let first = self.splat(&first);
            let apart = self.held(value, format!("%v{}", value.0), ty);
            return self.binary("add", &first, &apart);
        }
        match self.float_kept(value, lanes) {
            Some(float) => {
                let held = self.held(value, format!("%v{}", value.0), Ty { element: float, lanes });
                self.cast("bitcast", &held, ty.element)
            }
            None => self.held(value, format!("%v{}", value.0), ty),
        }
    }

    /// Where a value's lanes are in memory as they are, for what reads them from there.
    pub(super) fn lanes_in_place(&mut self, value: ValueId) -> Option<String> {
        let place = format!("%v{}", value.0);
        let plain = !self.is_scalar(value) && !self.plan.is_lazy(value) && self.plan.begins(value).is_none();
        let whole = self.has_own(value, &place) || matches!(self.plan.across(value), Across::Same | Across::Apart);
        (plain && whole).then(|| self.place(value))
    }

    /// Where a result's lanes may be put as they are, by what writes all of them at once.
    pub(super) fn place_of_all(&mut self, value: ValueId) -> Option<String> {
        (!self.is_scalar(value) && !self.plan.is_lazy(value)).then(|| self.place(value))
    }

    /// The type in which a place keeps a floating-point register, if it is one number: LLVM moves bits to another register and back where they come to a loop.
    fn float_kept(&self, value: ValueId, lanes: u32) -> Option<Element> {
        Element::float(self.plan.info.values.get(value).ty).filter(|_| lanes <= 1)
    }

    /// The type of a place on the stack.
    pub(super) fn stack_type(&self, value: ValueId, place: &str, ty: Ty) -> Ty {
        match self.float_kept(value, ty.lanes) {
            Some(float) if place.starts_with("%v") => ty.with(float),
            _ => ty,
        }
    }

    /// Puts what a value holds into its place.
    fn put(&mut self, id: ValueId, value: &Val, place: &str) {
        match self.float_kept(id, value.ty.lanes) {
            Some(float) => {
                let value = self.cast("bitcast", value, float);
                self.store(&value, place);
            }
            None => self.store(value, place),
        }
    }

    /// All lanes of a pattern of which only the first is kept.
    fn all_lanes(&mut self, value: ValueId, ty: Ty) -> Val {
        let plan = self.plan;
        let Shape::Affine(affine) = self.shape(value) else { return self.constant(ty, 0) };
        if affine.told_by.is_empty() {
            let first = self.held(value, format!("%b{}", value.0), Ty { lanes: 0, ..ty });
            let first = self.splat(&first);
            let apart = Val { ty, text: ty.lanes(affine.lanes.get().iter().copied()) };
            return self.binary("add", &first, &apart);
        }
        let def = plan.info.values.get(value).defs[0];
        let before = (self.inst, self.values, self.first_lane);
        (self.inst, self.values, self.first_lane) = (def, plan.info.values.of_inst(def), false);
        let result = self.result(&plan.body.insts[def as usize]);
        (self.inst, self.values, self.first_lane) = before;
        match result {
            Ok((result, signed)) => {
                let result = self.resize(&result, ty.element.bits(), signed);
                self.splat(&result)
            }
            Err(reason) => {
                self.refused.get_or_insert(reason);
                self.constant(ty, 0)
            }
        }
    }

    /// What it holds in the first lane, of a value with a constant pattern or in common.
    pub(super) fn read_base(&mut self, value: ValueId) -> Option<Val> {
        if self.is_scalar(value) {
            return Some(self.read(value));
        }
        if let Some(guessed) = self.guessed.as_ref().filter(|guessed| guessed.value == value) {
            return Some(guessed.first.clone());
        }
        if !self.has_base(value) {
            return None;
        }
        let ty = Ty::scalar(self.element_of(value));
        Some(self.held(value, format!("%b{}", value.0), ty))
    }

    /// Whether the pattern of a value holds: an `i1` that is false if something has wrapped around, or lanes are not where they were guessed to be.
    pub(super) fn read_flag(&mut self, value: ValueId) -> Val {
        if let Some(guessed) = self.guessed.as_ref().filter(|guessed| guessed.value == value) {
            return guessed.holds.clone();
        }
        match self.shape(value) {
            Shape::Affine(affine) if affine.is_constant() && !affine.told_by.is_empty() => {
                self.held(value, format!("%w{}", value.0), Ty::int(1, 0))
            }
            _ => self.constant(Ty::int(1, 0), 1),
        }
    }

    /// An operand as bits of a type; its low bits if the register is wider.
    pub(super) fn operand(&mut self, operand: Operand, ty: ScalarType) -> Val {
        match (operand, self.value_of(operand)) {
            // A constant has 64 bits at most, and no sign beyond them.
            (Operand::Imm(bits), _) if ty.bits() > 64 => {
                Val { ty: Ty::scalar(Element::bits_of(ty)), text: bits.to_string() }
            }
            (Operand::Imm(bits), _) => self.constant(Ty::scalar(Element::bits_of(ty)), bits as i64),
            (_, Some(value)) => {
                let first = if self.first_lane { self.read_base(value) } else { None };
                let read = first.unwrap_or_else(|| self.read(value));
                self.resize(&read, ty.bits(), false)
            }
            (Operand::Reg(_), None) => self.constant(Ty::scalar(Element::bits_of(ty)), 0),
        }
    }

    pub(super) fn float_operand(&mut self, operand: Operand, ty: ScalarType) -> Result<Val, String> {
        let element = Element::float(ty).ok_or_else(|| format!("arithmetic on .{ty}"))?;
        let bits = self.operand(operand, ty);
        Ok(match operand {
            Operand::Imm(number) => self.constant(Ty::scalar(element), number as i64),
            Operand::Reg(_) => self.cast("bitcast", &bits, element),
        })
    }

    pub(super) fn predicate(&mut self, predicate: Predicate) -> Val {
        let value = self.operand(Operand::Reg(predicate.reg), ScalarType::Pred);
        if predicate.negated {
            let ones = self.constant(value.ty, 1);
            return self.binary("xor", &value, &ones);
        }
        value
    }

    /// Both as scalars, or both as vectors.
    pub(super) fn alike(&mut self, a: Val, b: Val) -> (Val, Val) {
        if a.ty.lanes == b.ty.lanes { (a, b) } else { (self.splat(&a), self.splat(&b)) }
    }

    pub(super) fn alike3(&mut self, a: Val, b: Val, c: Val) -> (Val, Val, Val) {
        if a.ty.lanes == b.ty.lanes && b.ty.lanes == c.ty.lanes {
            return (a, b, c);
        }
        (self.splat(&a), self.splat(&b), self.splat(&c))
    }

    /// The value that is the result of a number of an instruction.
    pub(super) fn written(&self, inst: &Inst, at: usize) -> Option<ValueId> {
        let operands = inst.operands();
        let defs = operands.iter().zip(self.values).filter(|(operand, _)| operand.def().is_some());
        defs.map(|(_, value)| *value).nth(at).flatten()
    }

    /// Writes a result, extended or cut to the register, for the lanes that the instruction runs for.
    pub(super) fn write(&mut self, inst: &Inst, at: usize, value: &Val, signed: bool) -> Result<(), String> {
        let Some(id) = self.written(inst, at) else { return Ok(()) };
        let element = self.element_of(id);
        let bits = match value.ty.element {
            Element::Int(_) => value.clone(),
            other => self.cast("bitcast", value, Element::Int(other.bits())),
        };
        let value = self.resize(&bits, element.bits(), signed);
        if self.is_scalar(id) {
            if value.ty.lanes != 0 {
                return Err(format!("line {}: a scalar result is computed by lane", inst.line));
            }
            let place = self.place(id);
            self.put(id, &value, &place);
            return Ok(());
        }
        let known = self.plan.info.values.get(id);
        let mut value = self.splat(&value);
        // What other lanes read of it later must stay: writes that meet others, and what is left over of loops.
        let kept = known.defs.len() + usize::from(known.undefined) > 1
            || matches!(self.shape(id), Shape::Varying(Reason::LeftLoop { .. }));
        let place = self.place(id);
        // Lanes that go their own ways may come to it long before others read what they have written there.
        let waits = self.plan.turns().is_some() && self.plan.home(id).is_some();
        if waits || (kept && (!self.together || inst.guard.is_some())) {
            let old = self.load(value.ty, &place);
            let mask = self.mask_value();
            value = self.select(&mask, &value, &old);
        }
        self.put(id, &value, &place);
        Ok(())
    }

    /// Writes the first lane's part of a pattern, and whether the pattern holds.
    pub(super) fn write_base(&mut self, inst: &Inst, base: Option<Val>, flag: Val) -> Result<(), String> {
        let Some(id) = self.plan.info.values.written(self.body(), self.inst) else { return Ok(()) };
        if !self.has_base(id) {
            return Ok(());
        }
        let base = base.ok_or_else(|| format!("line {}: a pattern without its first lane", inst.line))?;
        let base = self.resize(&base, self.element_of(id).bits(), false);
        let place = self.part_of(id, 'b');
        self.store(&base, &place);
        if self.plan.is_flagged(id) && self.has_own(id, "%w") {
            let place = self.part_of(id, 'w');
            self.store(&flag, &place);
        }
        Ok(())
    }

    /// Whether the result of this instruction has a pattern with a first lane of its own.
    pub(super) fn wants_base(&self) -> bool {
        let written = self.plan.info.values.written(self.body(), self.inst);
        written.is_some_and(|id| self.has_base(id) && self.has_own(id, "%b"))
    }

    /// A place for what either of two ways gives.
    pub(super) fn new_place(&mut self, ty: Ty) -> String {
        let place = format!("%x{}", self.fresh());
        self.places.push((place.clone(), ty));
        place
    }
}
