//! Flow between blocks: branches that all lanes take, masks where they part, and barriers.

use std::collections::BTreeSet;

use warploom_ptx::ir::{Inst, Terminator, TerminatorKind};

use super::asked::Asked;
use super::function::{Val, Writer};
use super::names::Ty;
use super::plan::Keep;
use super::{called, context, outcome};
use crate::barrier::RegionStart;
use crate::divergence::{only_ends, stops};
use crate::values::ValueId;

impl Writer<'_> {
    /// The whole function.
    pub(super) fn region(mut self, number: usize) -> Result<String, String> {
        let region = &self.plan.regions()[number];
        self.began = Some(number);
        let lanes = self.lanes();
        let blocks = self.plan.blocks_of(region);
        let full = self.plan.has_full();
        let rest = match region.start {
            RegionStart::Entry => {
                self.fill_or(0, "B0");
                None
            }
            RegionStart::Barrier(inst) => {
                let block = self.plan.block_of[inst as usize];
                self.begin_behind_barrier(&blocks);
                Some((block, inst + 1..self.body().blocks[block as usize].insts.end))
            }
        };
        if full {
            if let Some((block, insts)) = rest.clone() {
                self.label("filled");
                self.fill();
                self.reduced_value(insts.start - 1)?;
                if self.insts(insts)?.is_some() {
                    self.end_in_full(block)?;
                }
            }
            for block in &blocks {
                self.full_block(*block)?;
            }
            self.full = false;
        }
        if let Some((block, insts)) = rest {
            self.label("start");
            self.together_mask();
            self.reduced_value(insts.start - 1)?;
            if self.insts(insts)?.is_some() {
                self.end_of(block)?;
            }
        }
        for block in blocks {
            self.block(block)?;
        }
        self.label("end");
        if self.plan.regions().len() > 1 {
            // Nothing of the gang runs in the regions that follow.
            self.line(format!("store <{lanes} x i1> zeroinitializer, ptr %frame, align 64, !tbaa !9"));
        }
        self.line(format!("ret i32 {}", outcome::ENDED));
        self.label("fault");
        self.line(format!("ret i32 {}", outcome::FAULT));
        if let Some(reason) = self.refused.take() {
            return Err(reason);
        }
        let body = self.take_text();
        let reduced = region.start.barrier().is_some_and(|barrier| self.plan.reduction(barrier).is_some());
        let kept = region.start.barrier().map(|_| self.plan.kept(number));
        let name = match self.plan.info.is_called() {
            true => called(self.plan.info.function),
            false => format!("region{number}"),
        };
        Ok(self.prologue(&name, kept, if reduced { ", i32 %reduced" } else { "" }) + &body + "}\n\n")
    }

    /// To full code if all lanes go on behind a barrier, to masked code if some do.
    fn begin_behind_barrier(&mut self, blocks: &BTreeSet<u32>) {
        let alive = self.load(self.mask_type(), "%alive");
        if self.plan.has_full() {
            let bits = self.bits_of(&alive.text);
            let every = self.constant(bits.ty, -1);
            let all = self.compare("eq", &bits, &every);
            let (full, some) = (self.fresh(), self.fresh());
            self.line(format!("br i1 {}, label %L{full}, label %L{some}", all.text));
            self.label(&format!("L{full}"));
            self.forget_masks(blocks);
            self.line("br label %filled");
            self.label(&format!("L{some}"));
        }
        let any = self.any(&alive.text);
        self.line(format!("br i1 {}, label %start, label %end", any.text));
    }

    fn together_mask(&mut self) {
        self.full = false;
        self.together = true;
        let alive = self.load(self.mask_type(), "%alive");
        self.mask = alive.text;
    }

    pub(super) fn block(&mut self, block: u32) -> Result<(), String> {
        if self.plan.group_of(block).is_some() {
            // Lanes come to it on their own: for those that have.
            self.label(&format!("B{block}"));
            let waiting = self.load(self.mask_type(), &format!("%m{block}"));
            let any = self.any(&waiting.text);
            self.line(format!("br i1 {}, label %R{block}, label %N{block}", any.text));
            self.label(&format!("R{block}"));
            let none = self.constant(self.mask_type(), 0);
            self.store(&none, &format!("%m{block}"));
            self.together = false;
            self.mask = waiting.text;
        } else {
            self.label(&format!("B{block}"));
            self.together_mask();
        }
        if let Some(()) = self.insts(self.body().blocks[block as usize].insts.clone())? {
            if self.end_resumes.contains(&block) {
                self.enter_here(block, &format!("E{block}"));
            }
            self.end_of(block)?;
        }
        if self.plan.group_of(block).is_some() {
            self.after(block);
        }
        Ok(())
    }

    /// Writes instructions; none if a barrier ends them.
    pub(super) fn insts(&mut self, range: std::ops::Range<u32>) -> Result<Option<()>, String> {
        for number in range {
            self.inst = number;
            self.resume();
            self.values = self.plan.info.values.of_inst(number);
            let inst = &self.body().insts[number as usize];
            if self.plan.barrier(number).is_some() {
                self.leave_at(number)?;
                if self.full || !self.resumed {
                    return Ok(None);
                }
                // Nobody comes here but who goes on from behind it.
                self.label(&format!("A{number}"));
                self.mask = self.load(self.mask_type(), "%alive").text;
                continue;
            }
            if !self.defers(number) && !self.written_before.remove(&number) {
                self.guarded(inst)?;
            }
            self.note_sides(inst);
            self.note_guesses(inst);
        }
        Ok(Some(()))
    }

    pub(super) fn guarded(&mut self, inst: &Inst) -> Result<(), String> {
        let Some(guard) = inst.guard else { return self.instruction(inst) };
        let condition = self.predicate(guard);
        let before = self.mask.clone();
        let (run, behind) = (self.fresh(), self.fresh());
        if condition.ty.lanes == 0 {
            self.line(format!("br i1 {}, label %L{run}, label %L{behind}", condition.text));
        } else {
            let mask = self.mask_value();
            let both = self.binary("and", &mask, &condition);
            let any = self.any(&both.text);
            self.mask = both.text;
            self.line(format!("br i1 {}, label %L{run}, label %L{behind}", any.text));
        }
        self.label(&format!("L{run}"));
        self.instruction(inst)?;
        self.line(format!("br label %L{behind}"));
        self.label(&format!("L{behind}"));
        self.mask = before;
        Ok(())
    }

    /// Lanes of a mask go on to a block.
    pub(super) fn send(&mut self, mask: &str, to: u32) -> Result<(), String> {
        if only_ends(self.body(), to) {
            self.end_lanes(mask);
        } else if stops(self.body(), to) {
            self.stop_lanes(mask, to)?;
        } else if self.plan.group_of(to).is_some() {
            let ty = self.mask_type();
            let place = format!("%m{to}");
            let waiting = self.load(ty, &place);
            let both = self.binary("or", &waiting, &Val { ty, text: mask.to_owned() });
            self.store(&both, &place);
        }
        Ok(())
    }

    fn end_lanes(&mut self, mask: &str) {
        let ty = self.mask_type();
        let alive = self.load(ty, "%alive");
        let ones = self.constant(ty, 1);
        let rest = self.binary("xor", &Val { ty, text: mask.to_owned() }, &ones);
        let left = self.binary("and", &alive, &rest);
        self.store(&left, "%alive");
    }

    /// Goes on where all lanes that are left are together.
    fn go(&mut self, from: u32, to: u32) {
        let back = to <= from && self.plan.group_of(to).is_none();
        let target = if only_ends(self.body(), to) { "end".to_owned() } else { format!("B{to}") };
        if back {
            let on = self.fresh();
            self.poll(&format!("L{on}"));
            self.label(&format!("L{on}"));
            self.fill_or(to, &target);
        } else if self.plan.group_of(to).is_none() && target != "end" {
            self.fill_or(to, &target);
        } else {
            self.line(format!("br label %{target}"));
        }
    }

    /// Whether the attention word says that something is to be asked.
    pub(super) fn is_raised(&mut self) -> Val {
        let word = self.pointer(context::ATTENTION);
        let raised = self.set(Ty::int(32, 0), format!("load atomic i32, ptr {word} monotonic, align 4"));
        let zero = self.constant(raised.ty, 0);
        self.compare("ne", &raised, &zero)
    }

    /// Looks at the attention word before it goes back.
    fn poll(&mut self, target: &str) {
        let asked = self.fresh();
        let raised = self.is_raised();
        self.line(format!("br i1 {}, label %L{asked}, label %{target}, !prof !1", raised.text));
        self.label(&format!("L{asked}"));
        self.ask_whether_to_go_on(target);
    }

    /// Asks the executor whether the CTA is to be given up.
    pub(super) fn ask_whether_to_go_on(&mut self, target: &str) {
        let given_up = self.fresh();
        let answer = self.ask_executor(Asked::Poll, &[]);
        self.line(format!("br i1 {}, label %L{given_up}, label %{target}", answer.text));
        self.label(&format!("L{given_up}"));
        self.line(format!("ret i32 {}", outcome::CANCELLED));
    }

    /// What the guard of a block's end says.
    pub(super) fn guard_of(&mut self, end: &Terminator) -> Result<Option<Val>, String> {
        let Some(guard) = end.guard else { return Ok(None) };
        let id = self.values.first().copied().flatten().ok_or("a guard without a value")?;
        let value = self.read(id);
        let ones = self.constant(value.ty, 1);
        Ok(Some(if guard.negated { self.binary("xor", &value, &ones) } else { value }))
    }

    /// The end of a block.
    fn end_of(&mut self, block: u32) -> Result<(), String> {
        let end = &self.body().blocks[block as usize].terminator;
        self.values = self.plan.info.values.of_end(block);
        let group = self.plan.group_of(block);
        let guard = self.guard_of(end)?;
        match &end.kind {
            TerminatorKind::BrxIdx { index, targets, .. } => {
                return self.switch(block, guard, *index, targets, end.next.map(|next| next.0));
            }
            TerminatorKind::Trap => {
                self.trap(guard.clone(), end)?;
                if end.guard.is_none() {
                    return Ok(());
                }
            }
            _ => {}
        }
        let guard = guard.filter(|_| !matches!(end.kind, TerminatorKind::Trap));
        let taken = match &end.kind {
            TerminatorKind::Next | TerminatorKind::Trap | TerminatorKind::BrxIdx { .. } => None,
            TerminatorKind::Bra { target, .. } => Some(target.0),
            TerminatorKind::Ret { .. } | TerminatorKind::Exit => None,
        };
        let ends = matches!(end.kind, TerminatorKind::Ret { .. } | TerminatorKind::Exit);
        let next = end.next.map(|next| next.0);
        if group.is_none() {
            return self.end_together(block, guard, taken, ends, next);
        }
        // Everything by masks; a condition in common gives one side all lanes.
        let mask = self.mask.clone();
        match guard {
            None if ends => self.end_lanes(&mask),
            None => {
                if let Some(to) = taken.or(next) {
                    self.send(&mask, to)?;
                }
            }
            Some(condition) => {
                let (yes, no) = self.divide(&condition);
                match taken {
                    Some(to) => self.send(&yes, to)?,
                    None => self.end_lanes(&yes),
                }
                if let Some(to) = next {
                    self.send(&no, to)?;
                }
            }
        }
        self.line(format!("br label %N{block}"));
        Ok(())
    }

    /// The lanes of the mask for which a condition holds, and the others.
    pub(super) fn divide(&mut self, condition: &Val) -> (String, String) {
        let condition = self.splat(condition);
        let mask = self.mask_value();
        let yes = self.binary("and", &mask, &condition);
        let no = self.binary("xor", &mask, &yes);
        (yes.text, no.text)
    }

    fn end_together(
        &mut self,
        block: u32,
        guard: Option<Val>,
        taken: Option<u32>,
        ends: bool,
        next: Option<u32>,
    ) -> Result<(), String> {
        let Some(condition) = guard else {
            if ends {
                self.line("br label %end");
            } else if let Some(to) = taken.or(next) {
                self.enter(block, to)?;
            }
            return Ok(());
        };
        if condition.ty.lanes == 0 {
            let (yes, no) = (self.fresh(), self.fresh());
            self.line(format!("br i1 {}, label %L{yes}, label %L{no}", condition.text));
            self.label(&format!("L{yes}"));
            match taken {
                Some(to) => self.enter(block, to)?,
                None => self.line("br label %end"),
            }
            self.label(&format!("L{no}"));
            return next.map_or(Ok(()), |to| self.enter(block, to));
        }
        self.part(block, &condition, taken, next)
    }

    /// Lanes part at the end of a block that all of them have run.
    pub(super) fn part(
        &mut self,
        block: u32,
        condition: &Val,
        taken: Option<u32>,
        next: Option<u32>,
    ) -> Result<(), String> {
        let (yes, no) = self.divide(condition);
        let targets = [taken.map(|to| (yes.clone(), to)), next.map(|to| (no, to))];
        if taken.is_none() {
            self.end_lanes(&yes);
        }
        for (mask, to) in targets.iter().flatten() {
            self.send(mask, *to)?;
        }
        self.go_behind(block, targets.iter().flatten().map(|(_, to)| *to))
    }

    /// Goes on behind a block from which lanes have been sent to several: to the first of those that they run on their own.
    pub(super) fn go_behind(&mut self, block: u32, targets: impl Iterator<Item = u32>) -> Result<(), String> {
        if self.plan.group_of(block).is_some() {
            self.line(format!("br label %N{block}"));
            return Ok(());
        }
        let first = targets.filter(|to| self.plan.group_of(*to).is_some()).min();
        match first.or(self.plan.converges(block)?) {
            Some(to) if self.plan.group_of(to).is_some() => self.line(format!("br label %B{to}")),
            Some(to) => self.meet(block, to),
            None => self.line("br label %end"),
        }
        Ok(())
    }

    /// All lanes go on together to a block, of which others may come on their own.
    pub(super) fn enter(&mut self, from: u32, to: u32) -> Result<(), String> {
        if self.plan.group_of(to).is_some() {
            let mask = self.mask.clone();
            self.send(&mask, to)?;
            self.line(format!("br label %B{to}"));
        } else {
            self.go(from, to);
        }
        Ok(())
    }

    /// Lanes that have parted meet; perhaps none is left.
    fn meet(&mut self, from: u32, to: u32) {
        let alive = self.load(self.mask_type(), "%alive");
        let any = self.any(&alive.text);
        let left = self.fresh();
        self.line(format!("br i1 {}, label %L{left}, label %end", any.text));
        self.label(&format!("L{left}"));
        self.go(from, to);
    }

    /// What follows a block of a group: the next trip of a loop that ends there, or the next block, or where all meet.
    fn after(&mut self, block: u32) {
        self.label(&format!("N{block}"));
        let Some(group) = self.plan.group_of(block) else { return };
        let mut loops: Vec<u32> = Vec::new();
        for inner in &self.body().loops {
            if inner.blocks.end == block + 1 && self.plan.group_of(inner.blocks.start) == Some(group) {
                loops.push(inner.blocks.start);
            }
        }
        for header in loops.into_iter().rev() {
            let waiting = self.load(self.mask_type(), &format!("%m{header}"));
            let any = self.any(&waiting.text);
            let (again, on) = (self.fresh(), self.fresh());
            self.line(format!("br i1 {}, label %L{again}, label %L{on}", any.text));
            self.label(&format!("L{again}"));
            let (asked, some) = (self.fresh(), format!("B{header}"));
            self.poll(&format!("L{asked}"));
            self.label(&format!("L{asked}"));
            self.fill_if(&waiting, header, &some);
            self.label(&format!("L{on}"));
        }
        match self.plan.next_in_group(block) {
            Some(next) => self.line(format!("br label %B{next}")),
            None => match self.plan.groups[group as usize].converges {
                Some(to) => self.meet(block, to),
                None => self.line("br label %end"),
            },
        }
    }

    /// Keeps what is alive behind a barrier, and goes on to the next gang.
    pub(super) fn leave_at(&mut self, barrier: u32) -> Result<(), String> {
        let next = self.plan.barrier(barrier).ok_or("no barrier")?;
        self.add_reduction(barrier)?;
        for &(value, keep) in self.plan.kept(next) {
            if self.began.is_some_and(|region| self.plan.is_kept_since(region, value)) {
                continue;
            }
            // All gangs write the same to what is kept once, and have read it before any of them writes.
            self.keep(value, keep);
        }
        if self.team == 0 && !self.plan.all_go_on() {
            let alive = self.load(self.mask_type(), "%alive");
            self.line(format!("store {} {}, ptr %frame, align 64, !tbaa !9", alive.ty.text(), alive.text));
        }
        self.line(format!("ret i32 {next}"));
        Ok(())
    }

    /// Writes what a value holds to where it is kept: for each gang of a team, if it is not kept once.
    pub(super) fn keep(&mut self, value: ValueId, keep: Keep) {
        self.used.insert(value);
        let (frames, offset) = match keep {
            Keep::Cta(offset) => (Some(self.pointer(context::FRAMES)), offset),
            Keep::Gang(offset) => (None, offset),
        };
        self.for_members(value, |this, member| {
            let own = if this.team == 0 { "%frame".to_owned() } else { format!("%frame{member}") };
            let frame = frames.clone().unwrap_or(own);
            for (place, ty, offset) in this.plan.places(value, offset) {
                let held = this.held(value, place, ty);
                let at = this.set(Ty::int(64, 0), format!("getelementptr i8, ptr {frame}, i64 {offset}"));
                this.line(format!("store {} {}, ptr {}, !tbaa !9", held.ty.text(), held.text, at.text));
            }
        });
    }
}
