//! Gangs all of whose lanes run: the usual case, which is written without masks, beside what stands for some of the lanes.
//!
//! Blocks are written twice. In full code all lanes run, so that nothing is masked, a branch by lanes is a branch if all take it alike, and each
//! access has only its short way. Where that does not hold any more, the gang leaves full code: lanes that part go on by masks, and an access that
//! needs a longer look is done again by masked code, at the same instruction. What registers hold is in the same places for both. The gang
//! comes back where all its lanes are together and have not ended.
//!
//! So nothing joins full code from the side, and what is known there once stays known: tables, bases and limits are read once for a whole loop.

use std::collections::BTreeSet;

use warploom_ptx::ir::{BoolOp, Compare, Inst, LogicOp, Op, Operand, ScalarType, TerminatorKind};

use super::function::{Val, Writer};
use super::guess::Sure;
use super::memory::Target;
use super::names::Ty;
use super::span::Across;
use super::step::Factors;
use super::team::Point;
use crate::barrier::RegionStart;
use crate::divergence::only_ends;
use crate::range::is_integer;
use crate::shape::Shape;
use crate::values::{ValueId, paired};

/// What is known of a predicate that differs by lane without looking at each: two `i1`, that it is true in all lanes, and that it is false in all.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    pub(super) all: Val,
    pub(super) none: Val,
    /// Which of both is usual, if one is: that all have it.
    pub(super) usual: Option<bool>,
}

/// Of the ways on from a block, with their labels, the label of that to a loop's next trip.
pub(super) fn next_trip(block: u32, ways: [(Option<u32>, u32); 2]) -> Option<u32> {
    ways.into_iter().find(|(to, _)| to.is_some_and(|to| to <= block)).map(|(_, label)| label)
}

impl Writer<'_> {
    /// A block for gangs all of whose lanes run it.
    pub(super) fn full_block(&mut self, block: u32) -> Result<(), String> {
        self.label(&format!("F{block}"));
        self.fill();
        if self.insts(self.body().blocks[block as usize].insts.clone())?.is_some() {
            self.end_in_full(block)?;
        }
        Ok(())
    }

    /// Full code begins.
    pub(super) fn fill(&mut self) {
        self.full = true;
        self.together = true;
        self.mask = self.constant(self.mask_type(), 1).text;
        self.sides.clear();
        self.sure = Sure::default();
        self.quads.clear();
        self.stored_with.clear();
        self.factors = Factors::default();
        self.deferred.clear();
    }

    /// Goes to full code if all lanes run, else to a label. What masks hold is written down, so that it is known on that way.
    pub(super) fn fill_or(&mut self, to: u32, label: &str) {
        let alive = self.load(self.mask_type(), "%alive");
        self.fill_if(&alive, to, label);
    }

    /// To full code at a block if a mask has all lanes, else to a label.
    pub(super) fn fill_if(&mut self, mask: &Val, to: u32, label: &str) {
        if !self.plan.has_full() {
            self.line(format!("br label %{label}"));
            return;
        }
        let bits = self.bits_of(&mask.text);
        let every = self.constant(bits.ty, -1);
        let all = self.compare("eq", &bits, &every);
        let full = self.fresh();
        self.line(format!("br i1 {}, label %L{full}, label %{label}", all.text));
        self.label(&format!("L{full}"));
        self.forget_masks(&self.plan.blocks_from(vec![to]));
        self.line(format!("br label %F{to}"));
    }

    /// All lanes run, and none waits in those blocks that they may come to.
    pub(super) fn forget_masks(&mut self, blocks: &BTreeSet<u32>) {
        let ty = self.mask_type();
        let (all, none) = (self.constant(ty, 1), self.constant(ty, 0));
        self.store(&all, "%alive");
        for block in blocks.iter().filter(|block| self.plan.group_of(**block).is_some()) {
            self.store(&none, &format!("%m{block}"));
        }
    }

    /// Goes on in full code where something holds, and in masked code at this instruction where it does not.
    pub(super) fn or_leave(&mut self, holds: &Val) {
        if holds.text == "true" {
            return;
        }
        if self.team > 0 {
            let (on, leave) = (self.fresh(), self.fresh());
            self.line(format!("br i1 {}, label %L{on}, label %L{leave}, !prof !2", holds.text));
            self.label(&format!("L{leave}"));
            if let Err(reason) = self.leave_team(Point::Inst(self.leaves_at.unwrap_or(self.inst))) {
                self.refused.get_or_insert(reason);
            }
            self.label(&format!("L{on}"));
            return;
        }
        let (on, leave) = (self.fresh(), self.fresh());
        self.line(format!("br i1 {}, label %L{on}, label %L{leave}, !prof !2", holds.text));
        self.label(&format!("L{leave}"));
        if let Err(reason) = self.write_deferred() {
            self.refused.get_or_insert(reason);
        }
        let all = self.constant(self.mask_type(), 1);
        let place = self.mask_place(self.plan.block_of[self.inst as usize]);
        self.store(&all, &place);
        self.line(format!("br label %K{}", self.inst));
        self.label(&format!("L{on}"));
        self.resumes.insert(self.inst);
    }

    /// Where masked code keeps the mask of the block that is written, for instructions that full code leaves at.
    pub(super) fn mask_place(&mut self, block: u32) -> String {
        let place = format!("%k{block}");
        let ty = self.mask_type();
        if !self.places.iter().any(|(known, _)| *known == place) {
            self.places.push((place.clone(), ty));
        }
        place
    }

    /// Masked code can be entered at this instruction, if full code is left at it.
    pub(super) fn resume(&mut self) {
        if self.full || !self.resumes.contains(&self.inst) {
            return;
        }
        let block = self.plan.block_of[self.inst as usize];
        self.enter_here(block, &format!("K{}", self.inst));
    }

    /// A label at which masked code can be entered, with the mask that is kept for the block.
    pub(super) fn enter_here(&mut self, block: u32, label: &str) {
        let place = self.mask_place(block);
        let mask = self.mask_value();
        self.store(&mask, &place);
        self.line(format!("br label %{label}"));
        self.label(label);
        self.mask = self.load(mask.ty, &place).text;
    }

    /// Whether all lanes may access: else masked code looks closer.
    pub(super) fn check_in_full(&mut self, inst: &Inst, target: &Target) -> Result<(), String> {
        let Some(holds) = self.fits_in_full(inst, target)? else { return Ok(()) };
        self.or_leave(&holds);
        if let Some((site, _)) = self.plan.hull(self.inst) {
            let yes = self.constant(Ty::int(1, 0), 1);
            self.store(&yes, &format!("%h{site}"));
        }
        self.fetch_later_cta(target);
        self.fetch_later_gang(target);
        self.fetch_next_gang(target);
        self.fetch_later_plane(target);
        Ok(())
    }

    /// What is to be looked at for an access in full code, if there is anything.
    pub(super) fn fits_in_full(&mut self, inst: &Inst, target: &Target) -> Result<Option<Val>, String> {
        if target.is_proven() {
            return Ok(None);
        }
        match self.plan.hull(self.inst) {
            Some((_, hull)) if hull.first == self.inst => Ok(self.hull_fits(inst, target)?.map(|(_, fits)| fits)),
            Some(_) => Ok(None),
            None => self.fits(inst, target).map(Some),
        }
    }

    pub(super) fn end_in_full(&mut self, block: u32) -> Result<(), String> {
        let end = &self.body().blocks[block as usize].terminator;
        self.values = self.plan.info.values.of_end(block);
        let ends = matches!(end.kind, TerminatorKind::Ret { .. } | TerminatorKind::Exit);
        let taken = match &end.kind {
            TerminatorKind::Bra { target, .. } => Some(target.0),
            TerminatorKind::Next | TerminatorKind::Ret { .. } | TerminatorKind::Exit => None,
            TerminatorKind::BrxIdx { index, targets, .. } => {
                self.write_deferred()?;
                let guard = self.guard_of(end)?;
                return self.switch(block, guard, *index, targets, end.next.map(|next| next.0));
            }
            TerminatorKind::Trap => {
                self.write_deferred()?;
                let guard = self.guard_of(end)?;
                self.trap(guard, end)?;
                if end.guard.is_some()
                    && let Some(next) = end.next
                {
                    self.go_in_full(block, next.0);
                }
                return Ok(());
            }
        };
        let next = end.next.map(|next| next.0);
        let Some(guard) = end.guard else {
            match taken.or(next) {
                Some(to) if !ends => self.go_in_full(block, to),
                _ => self.line("br label %end"),
            }
            return Ok(());
        };
        let id = self.values.first().copied().flatten().ok_or("a guard without a value")?;
        let (yes, no) = (self.fresh(), self.fresh());
        if !self.is_scalar(id) {
            if let Some(known) = self.known_sides(id) {
                self.branch_two_ways(guard.negated, known, [yes, no], next_trip(block, [(taken, yes), (next, no)]));
            }
            self.write_deferred()?;
        }
        let condition = self.guard_of(end)?.ok_or("a guard without a value")?;
        if condition.ty.lanes == 0 {
            self.line(format!("br i1 {}, label %L{yes}, label %L{no}", condition.text));
        } else {
            self.three_ways(&condition, yes, no);
            self.part(block, &condition, taken, next)?;
        }
        self.label(&format!("L{yes}"));
        match taken {
            Some(to) => self.go_in_full(block, to),
            None => self.line("br label %end"),
        }
        self.label(&format!("L{no}"));
        match next {
            Some(to) => self.go_in_full(block, to),
            None => self.line("br label %end"),
        }
        Ok(())
    }

    /// To one label if all lanes have a condition, to another if none has, and on if they part.
    fn three_ways(&mut self, condition: &Val, yes: u32, no: u32) {
        let bits = self.bits_of(&condition.text);
        for (number, to) in [(-1, yes), (0, no)] {
            let on = self.fresh();
            let number = self.constant(bits.ty, number);
            let alike = self.compare("eq", &bits, &number);
            self.line(format!("br i1 {}, label %L{to}, label %L{on}", alike.text));
            self.label(&format!("L{on}"));
        }
    }

    /// To a label where it is known that all have a condition, to another where none has, and on otherwise. One of them may be the next trip of a loop.
    pub(super) fn branch_two_ways(&mut self, negated: bool, known: Sides, [yes, no]: [u32; 2], back: Option<u32>) {
        let (all, none) = if negated { (known.none, known.all) } else { (known.all, known.none) };
        let usual = back.or(known.usual.map(|all| if all == negated { no } else { yes }));
        let mut sides = vec![(all, yes), (none, no)];
        sides.retain(|(known, _)| known.text != "false");
        sides.sort_by_key(|(_, to)| usual != Some(*to));
        let mut left = sides.len();
        for (known, to) in sides {
            let on = self.fresh();
            left -= 1;
            // That neither holds is seldom: what follows is not to stand in the middle of a loop.
            let weights = if left == 0 || usual == Some(to) { ", !prof !2" } else { "" };
            self.line(format!("br i1 {}, label %L{to}, label %L{on}{weights}", known.text));
            self.label(&format!("L{on}"));
        }
    }

    /// All lanes go on to a block.
    pub(super) fn go_in_full(&mut self, from: u32, to: u32) {
        if only_ends(self.body(), to) {
            self.line("br label %end");
        } else if to > from {
            self.line(format!("br label %F{to}"));
        } else {
            // Asked by masked code, so that no call stands in the loop.
            let asked = self.fresh();
            let raised = self.is_raised();
            self.line(format!("br i1 {}, label %L{asked}, label %F{to}, !prof !1", raised.text));
            self.label(&format!("L{asked}"));
            if self.plan.group_of(to).is_some() {
                let all = self.constant(self.mask_type(), 1);
                self.store(&all, &format!("%m{to}"));
            }
            self.ask_whether_to_go_on(&format!("B{to}"));
        }
    }

    /// Notes what is known of the predicate that an instruction has written, for the branch that it is for.
    pub(super) fn note_sides(&mut self, inst: &Inst) {
        if !self.full || inst.guard.is_some() {
            return;
        }
        let Some(id) = self.plan.info.values.written(self.plan.body, self.inst) else { return };
        self.sides.remove(&(self.side_key(), id));
        if let Some(sides) = self.sides_written(inst) {
            self.sides.insert((self.side_key(), id), sides);
        }
    }

    /// What is known of the predicate that an instruction writes, by what it reads.
    pub(super) fn sides_written(&mut self, inst: &Inst) -> Option<Sides> {
        match &inst.op {
            Op::Setp { cmp, ty, a, b, combine, dst_q: None, .. } if is_integer(*ty) => {
                let own = self.compared(*cmp, *ty, *a, *b);
                match (own, combine) {
                    (own, None) => own,
                    (own, Some((op @ (BoolOp::And | BoolOp::Or), other))) => {
                        let other = self.sides_of(Operand::Reg(other.reg), other.negated);
                        self.both(own, other, *op == BoolOp::And)
                    }
                    (_, Some((BoolOp::Xor, _))) => None,
                }
            }
            Op::Logic { op: op @ (LogicOp::And | LogicOp::Or), ty: ScalarType::Pred, a, b, .. } => {
                let (a, b) = (self.sides_of(*a, false), self.sides_of(*b, false));
                self.both(a, b, *op == LogicOp::And)
            }
            _ => None,
        }
    }

    /// What is known of a predicate of the gang that is written for.
    pub(super) fn known_sides(&mut self, id: ValueId) -> Option<Sides> {
        let key = (self.side_key(), id);
        if let Some(sides) = self.sides.get(&key) {
            return Some(sides.clone());
        }
        let sides = self.sides_from_before(id)?;
        self.sides.insert(key, sides.clone());
        Some(sides)
    }

    /// Of a predicate that another block has written: the same once more, by what is still in its places.
    fn sides_from_before(&mut self, id: ValueId) -> Option<Sides> {
        let plan = self.plan;
        let def =
            self.def_that_lasts(id).filter(|def| plan.block_of[*def as usize] != plan.block_of[self.inst as usize])?;
        let here = (self.inst, self.values);
        let inst = self.turn_to(def);
        let sides = self.sides_written(inst);
        (self.inst, self.values) = here;
        sides
    }

    /// The only instruction that writes a value, if it would write the same here: what is written in one place only, and read there by an instruction on all ways to here, is
    /// what it was.
    pub(super) fn def_that_lasts(&self, id: ValueId) -> Option<u32> {
        let plan = self.plan;
        if self.resumed {
            return None;
        }
        // Behind a barrier there is what was kept.
        let kept =
            self.began.filter(|began| plan.regions()[*began].start != RegionStart::Entry).map(|began| plan.kept(began));
        let is_here = |value: ValueId| kept.is_none_or(|kept| kept.iter().any(|(other, _)| *other == value));
        let once = |value: ValueId| {
            let known = plan.info.values.get(value);
            (known.defs.len() == 1 && !known.undefined).then(|| known.defs[0])
        };
        let def = once(id)?;
        let inst = &plan.body.insts[def as usize];
        let operands = inst.operands();
        let mut read = paired(&operands, plan.info.values.of_inst(def)).filter(|(operand, _)| operand.read().is_some());
        let last = read.all(|(_, value)| value.is_some_and(|value| once(value).is_some() && is_here(value)));
        (inst.guard.is_none() && last).then_some(def)
    }

    /// Gangs of a team have sides of their own and in common.
    fn side_key(&self) -> u32 {
        if self.whole { u32::MAX } else { self.member }
    }

    /// Of an operand: of what lanes have in common it is the number itself.
    fn sides_of(&mut self, operand: Operand, negated: bool) -> Option<Sides> {
        let id = self.value_of(operand)?;
        let sides = if self.is_common(operand) {
            let all = self.read(id);
            let one = self.constant(all.ty, 1);
            let none = self.binary("xor", &all, &one);
            Sides { all, none, usual: None }
        } else {
            self.known_sides(id)?
        };
        let Sides { all, none, usual } = sides;
        Some(if negated {
            Sides { all: none, none: all, usual: usual.map(|all| !all) }
        } else {
            Sides { all, none, usual }
        })
    }

    /// Whether all lanes have an operand in common: of all gangs, where it is asked for these.
    pub(super) fn is_common(&self, operand: Operand) -> bool {
        let alike = |id| if self.whole { self.plan.across(id) == &Across::Same } else { self.is_scalar(id) };
        matches!(operand, Operand::Imm(_)) || self.value_of(operand).is_some_and(alike)
    }

    fn both(&mut self, a: Option<Sides>, b: Option<Sides>, and: bool) -> Option<Sides> {
        let flag = Ty::int(1, 0);
        let unknown = || Sides { all: self.constant(flag, 0), none: self.constant(flag, 0), usual: None };
        if a.is_none() && b.is_none() {
            return None;
        }
        let (a, b) = (a.unwrap_or_else(unknown), b.unwrap_or_else(unknown));
        let (all, none) = if and { ("and", "or") } else { ("or", "and") };
        let usual = match (a.usual, b.usual) {
            (Some(a), Some(b)) => (a == b).then_some(a),
            (a, b) => a.or(b),
        };
        Some(Sides { all: self.joined(all, &a.all, &b.all), none: self.joined(none, &a.none, &b.none), usual })
    }

    /// `and` or `or` of flags, with what constants make of it.
    pub(super) fn joined(&mut self, op: &str, a: &Val, b: &Val) -> Val {
        match (op, a.text.as_str(), b.text.as_str()) {
            ("and", "false", _) | ("or", _, "false") | ("and", _, "true") => a.clone(),
            ("and", _, "false") | ("or", "false", _) | ("and", "true", _) => b.clone(),
            _ => self.binary(op, a, b),
        }
    }

    /// A pattern that goes up from the first lane, held against what lanes have in common: by its first and its last lane.
    pub(super) fn compared(&mut self, cmp: Compare, ty: ScalarType, a: Operand, b: Operand) -> Option<Sides> {
        let bits = ty.bits();
        if !matches!(bits, 32 | 64) {
            return None;
        }
        let pattern = |this: &Self, operand: Operand| {
            let id = this.value_of(operand)?;
            if this.guessed.as_ref().is_some_and(|guessed| guessed.value == id) {
                let (low, high) = this.plan.info.guess(id)?.lanes.bounds();
                let fits = low == 0 && high < 1 << 30 && this.element_of(id).bits() == bits;
                return fits.then_some((id, high));
            }
            let shape = match this.plan.wide() {
                Some(wide) if this.whole => match this.plan.across(id) {
                    Across::Steps(_) => wide.shape(id),
                    Across::Same | Across::Even | Across::Apart => return None,
                },
                _ => this.shape(id),
            };
            match shape {
                Shape::Affine(affine) if affine.is_constant() && this.element_of(id).bits() == bits => {
                    let (low, high) = affine.lanes.bounds();
                    let sure = affine.told_by.is_empty() || !this.whole;
                    (low == 0 && high < 1 << 30 && sure).then_some((id, high))
                }
                _ => None,
            }
        };
        // As if the pattern stood left.
        let (id, high, limit, cmp) = match (pattern(self, a), pattern(self, b)) {
            (Some((id, high)), None) if self.is_common(b) => (id, high, b, cmp),
            (None, Some((id, high))) if self.is_common(a) => {
                let turned = match cmp {
                    Compare::Lt => Compare::Gt,
                    Compare::Le => Compare::Ge,
                    Compare::Gt => Compare::Lt,
                    Compare::Ge => Compare::Le,
                    other => other,
                };
                (id, high, a, turned)
            }
            _ => return None,
        };
        if matches!(cmp, Compare::Eq | Compare::Ne) {
            // In none if the limit is not among the first lane's number and those that follow, around the end of numbers too.
            let base = self.read_base(id)?;
            let limit = self.operand(limit, ty);
            let distance = self.binary("sub", &limit, &base);
            let high = self.constant(distance.ty, high);
            let apart = self.compare("ugt", &distance, &high);
            let holds = self.read_flag(id);
            let apart = self.joined("and", &apart, &holds);
            let never = self.constant(apart.ty, 0);
            let equal = cmp == Compare::Eq;
            let (all, none) = if equal { (never, apart) } else { (apart, never) };
            return Some(Sides { all, none, usual: None });
        }
        // Whether all lanes are before the limit: less than it, or not more. Or after it.
        let (before, after, all_before) = match cmp {
            Compare::Lt => ("lt", "ge", true),
            Compare::Le => ("le", "gt", true),
            Compare::Gt => ("le", "gt", false),
            Compare::Ge => ("lt", "ge", false),
            _ => return None,
        };
        // A number that is not written into the kernel is its data's end, before which most lanes are.
        let usual = matches!(limit, Operand::Reg(_)).then_some(all_before);
        let base = self.read_base(id)?;
        let limit = self.operand(limit, ty);
        let sign = if ty.is_signed() { "s" } else { "u" };
        let largest = if ty.is_signed() { i64::MAX >> (64 - bits) } else { -1 };
        let largest = self.constant(base.ty, largest - high);
        let whole = self.compare(&format!("{sign}le"), &base, &largest);
        let beyond = self.compare(&format!("{sign}{after}"), &base, &limit);
        let after = self.binary("and", &beyond, &whole);
        // A number between the first lane's and a limit has no place where it could wrap around, but one beyond it has.
        let before = if bits == 32 {
            let base = self.resize(&base, 64, ty.is_signed());
            let limit = self.resize(&limit, 64, ty.is_signed());
            let high = self.constant(limit.ty, high);
            let end = self.binary("sub", &limit, &high);
            self.compare(&format!("s{before}"), &base, &end)
        } else {
            let high = self.constant(base.ty, high);
            let last = self.binary("add", &base, &high);
            let before = self.compare(&format!("{sign}{before}"), &last, &limit);
            self.binary("and", &before, &whole)
        };
        let holds = self.read_flag(id);
        let [before, after] = [before, after].map(|side| self.joined("and", &side, &holds));
        let (all, none) = if all_before { (before, after) } else { (after, before) };
        Some(Sides { all, none, usual })
    }
}
