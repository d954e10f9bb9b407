//! The function of a kernel whose lanes go their own ways: see [`Turns`](super::places::Turns).
//!
//! It runs one group of lanes of a warp, with one mask all the way. What is alive where lanes may stop is in the warp's frame, and nowhere else.

use warploom_ptx::ir::{BarrierOp, Inst, Op, Operand, Predicate, ScalarType, TerminatorKind, VoteMode};

use super::function::{Val, Writer};
use super::how::{How, how};
use super::names::{Element, Ty};
use super::places::{Meeting, NamedBarrier, members, turn};
use super::regions::entry;
use super::{context, outcome};

/// Lanes of a warp.
const WARP: u32 = 32;

impl Writer<'_> {
    /// All of it.
    pub(super) fn groups(mut self) -> Result<String, String> {
        self.mask = "%mask".to_owned();
        self.together = false;
        for block in 0..self.body().blocks.len() as u32 {
            self.block_of_groups(block)?;
        }
        if let Some(reason) = self.refused.take() {
            return Err(reason);
        }
        let text = self.take_text();
        Ok(self.head_of_groups() + &text + "}\n\n")
    }

    fn head_of_groups(&mut self) -> String {
        let plan = self.plan;
        let (lanes, mut own) = (self.lanes(), Vec::new());
        for value in self.used.clone() {
            match plan.home(value) {
                Some(keep) => own.push((value, keep)),
                None => self.places_on_stack(value),
            }
        }
        for (place, ty) in std::mem::take(&mut self.places) {
            self.line(format!("{place} = alloca {}", ty.text()));
        }
        self.rooms();
        let frames = self.pointer(context::FRAMES);
        self.line("%warp64 = zext i32 %warp to i64");
        self.line(format!("%at = mul i64 %warp64, {}", plan.frame_size()));
        self.line(format!("%frame = getelementptr i8, ptr {frames}, i64 %at"));
        self.line(format!("%thread = mul i32 %warp, {lanes}"));
        self.line(format!("%mask = bitcast i32 %lanes to <{lanes} x i1>"));
        for (value, keep) in own {
            let super::plan::Keep::Gang(offset) = keep else { continue };
            for (place, _, offset) in plan.places(value, offset) {
                self.line(format!("{place} = getelementptr i8, ptr %frame, i64 {offset}"));
            }
        }
        let count = plan.turns().map_or(0, |places| places.turns.places.len());
        let ways: String = (0..count).map(|place| format!(" i32 {place}, label %P{place}")).collect();
        self.line(format!("switch i32 %place, label %fault [{ways} ]"));
        self.label("fault");
        self.line(format!("ret i32 {}", outcome::FAULT));
        let parameters = "ptr noalias %context, i32 %warp, i32 %place, i32 %lanes, i32 %limit";
        format!("define {}({parameters}) #0 {{\n", entry(plan)) + &self.take_text()
    }

    fn block_of_groups(&mut self, block: u32) -> Result<(), String> {
        let Some(places) = self.plan.turns() else { return Err("no places".to_owned()) };
        let mut here = places.begin(block);
        self.label(&format!("P{here}"));
        for number in self.body().blocks[block as usize].insts.clone() {
            self.inst = number;
            self.values = self.plan.info.values.of_inst(number);
            let inst = &self.body().insts[number as usize];
            match places.meeting(number) {
                Some(meeting) => here = self.meet_at(inst, meeting)?,
                None => self.guarded(inst)?,
            }
        }
        self.end_of_groups(block, here)
    }

    /// The end of a block that lanes come to from a place.
    fn end_of_groups(&mut self, block: u32, here: u32) -> Result<(), String> {
        let end = &self.body().blocks[block as usize].terminator;
        self.values = self.plan.info.values.of_end(block);
        let next = end.next.map(|next| next.0);
        let guard = self.guard_of(end)?;
        let (taken, ends) = match &end.kind {
            TerminatorKind::BrxIdx { index, targets, .. } => {
                let targets: Vec<u32> = targets.iter().map(|target| target.0).collect();
                self.branch_apart(guard, *index, &targets, next);
                return Ok(());
            }
            TerminatorKind::Trap => {
                self.trap(guard, end)?;
                if end.guard.is_some() {
                    self.go_or_end(block, here, next);
                }
                return Ok(());
            }
            TerminatorKind::Bra { target, .. } => (Some(target.0), false),
            TerminatorKind::Ret { .. } | TerminatorKind::Exit => (None, true),
            TerminatorKind::Next => (None, false),
        };
        let Some(condition) = guard else {
            let to = taken.or(next).filter(|_| !ends);
            self.go_or_end(block, here, to);
            return Ok(());
        };
        let (all, some, none, both) = (self.fresh(), self.fresh(), self.fresh(), self.fresh());
        if condition.ty.lanes == 0 {
            self.line(format!("br i1 {}, label %L{all}, label %L{none}", condition.text));
        } else {
            let (yes, no) = self.divide(&condition);
            let any = self.any(&yes);
            self.line(format!("br i1 {}, label %L{some}, label %L{none}", any.text));
            self.label(&format!("L{some}"));
            let any = self.any(&no);
            self.line(format!("br i1 {}, label %L{both}, label %L{all}", any.text));
            self.label(&format!("L{both}"));
            let place = |block: Option<u32>| match (block, self.plan.turns()) {
                (Some(block), Some(places)) => places.begin(block),
                _ => turn::END,
            };
            let (taken, next) = (place(taken), place(next));
            self.stand(taken, Some((&no, next)));
            self.come_back(turn::STANDS);
        }
        self.label(&format!("L{all}"));
        self.go_or_end(block, here, taken);
        self.label(&format!("L{none}"));
        self.go_or_end(block, here, next);
        Ok(())
    }

    /// All lanes of the group go on with a block, or end.
    fn go_or_end(&mut self, from: u32, here: u32, to: Option<u32>) {
        let (Some(block), Some(places)) = (to, self.plan.turns()) else {
            self.stand(turn::END, None);
            self.come_back(turn::STANDS);
            return;
        };
        let to = places.begin(block);
        if to > here {
            self.go_on_at(to);
            return;
        }
        if places.looks_again(from, block) {
            self.stand(to, None);
            self.come_back(turn::LOOKED);
            return;
        }
        // Who waits to go on with them waits behind the loop.
        let (on, stop) = (self.fresh(), self.fresh());
        let raised = self.is_raised();
        self.line(format!("br i1 {}, label %L{stop}, label %L{on}, !prof !1", raised.text));
        self.label(&format!("L{on}"));
        self.line(format!("br label %P{to}"));
        self.label(&format!("L{stop}"));
        self.stand(to, None);
        self.come_back(turn::RAISED);
    }

    /// They go on with a place further on, unless others wait there or before.
    fn go_on_at(&mut self, to: u32) {
        let stop = self.fresh();
        let limit = Val { ty: Ty::int(32, 0), text: "%limit".to_owned() };
        let place = self.constant(limit.ty, i64::from(to));
        let free = self.compare("ugt", &limit, &place);
        self.line(format!("br i1 {}, label %P{to}, label %L{stop}", free.text));
        self.label(&format!("L{stop}"));
        self.stand(to, None);
        self.come_back(turn::STANDS);
    }

    /// `brx.idx`: each lane to its target, those with an index beyond the table behind it.
    fn branch_apart(&mut self, guard: Option<Val>, index: Operand, targets: &[u32], next: Option<u32>) {
        let Some(places) = self.plan.turns() else { return };
        let id = self.values.get(usize::from(guard.is_some())).copied().flatten();
        let index = match (index, id) {
            (Operand::Imm(index), _) => self.constant(Ty::int(32, 0), index as i64),
            (Operand::Reg(_), Some(id)) => self.read(id),
            (Operand::Reg(_), None) => self.constant(Ty::int(32, 0), 0),
        };
        let index = self.splat(&index);
        let mask = self.mask_value();
        let taking = match guard {
            Some(guard) => {
                let guard = self.splat(&guard);
                self.binary("and", &mask, &guard)
            }
            None => mask.clone(),
        };
        self.stand_each(&mask.text, next.map_or(turn::END, |next| places.begin(next)));
        for (number, target) in targets.iter().enumerate() {
            let number = self.constant(index.ty, number as i64);
            let is = self.compare("eq", &index, &number);
            let yes = self.binary("and", &taking, &is);
            self.stand_each(&yes.text, places.begin(*target));
        }
        self.come_back(turn::SCATTERED);
    }

    fn come_back(&mut self, with: i32) {
        self.line(format!("ret i32 {with}"));
    }

    /// The lanes of the group stand at a place, but for those of a mask that stand at another.
    fn stand(&mut self, place: u32, others: Option<(&str, u32)>) {
        let word = |place: u32| Val { ty: Ty::int(32, 0), text: (place as i32).to_string() };
        self.put_word(turn::PLACE, &word(place));
        let bits = match others {
            Some((mask, place)) => {
                self.put_word(turn::OTHER_PLACE, &word(place));
                self.bits_of(mask)
            }
            None => word(0),
        };
        self.put_word(turn::OTHERS, &bits);
    }

    /// Lanes of a mask stand at a place, each for itself.
    fn stand_each(&mut self, mask: &str, place: u32) {
        let place = self.constant(Ty::int(32, WARP), i64::from(place as i32));
        self.put_row(turn::PLACES, &place, mask);
    }

    /// Writes lanes of a row of the frame.
    fn put_row(&mut self, offset: u32, value: &Val, mask: &str) {
        let value = self.splat(value);
        let at = self.offset("%frame", offset);
        let old = self.load(value.ty, &at);
        let mask = Val { ty: self.mask_type(), text: mask.to_owned() };
        let new = self.select(&mask, &value, &old);
        self.store(&new, &at);
    }

    fn put_word(&mut self, offset: u32, value: &Val) {
        let at = self.offset("%frame", offset);
        self.store(value, &at);
    }

    /// An instruction at which lanes meet; the place that what follows is behind.
    fn meet_at(&mut self, inst: &Inst, meeting: Meeting) -> Result<u32, String> {
        let Meeting { number, take, behind } = meeting;
        let here = self.inst;
        let mask = self.mask_value();
        let (coming, staying) = match inst.guard {
            Some(guard) => {
                let condition = self.predicate(guard);
                let (yes, no) = self.divide(&condition);
                let (some, none) = (self.fresh(), self.fresh());
                let any = self.any(&yes);
                self.line(format!("br i1 {}, label %L{some}, label %L{none}", any.text));
                self.label(&format!("L{none}"));
                self.go_on_at(behind.unwrap_or(take));
                self.label(&format!("L{some}"));
                (yes, Some(no))
            }
            None => (mask.text, None),
        };
        if inst.guard.is_none() && members(&inst.op).is_some() && how(&inst.op) != How::Turns {
            // All that it is for are here.
            let (fast, slow) = (self.fresh(), self.fresh());
            let complete = self.is_complete(&inst.op);
            self.line(format!("br i1 {}, label %L{fast}, label %L{slow}", complete.text));
            self.label(&format!("L{fast}"));
            self.instruction(inst)?;
            self.line(format!("br label %C{here}"));
            self.label(&format!("L{slow}"));
        }
        self.bring(inst, &coming)?;
        self.stand(take, staying.as_deref().map(|mask| (mask, behind.unwrap_or(take))));
        let number = self.constant(Ty::int(32, 0), i64::from(number));
        self.put_word(turn::MEETING, &number);
        self.come_back(turn::MET);
        self.label(&format!("P{take}"));
        self.values = self.plan.info.values.of_inst(here);
        self.take(inst)?;
        match behind {
            Some(behind) => {
                self.go_on_at(behind);
                self.label(&format!("P{behind}"));
                Ok(behind)
            }
            None => {
                self.line(format!("br label %C{here}"));
                self.label(&format!("C{here}"));
                Ok(take)
            }
        }
    }

    /// Whether the lanes that run are just those that an exchange is for, of those that have not ended.
    fn is_complete(&mut self, op: &Op) -> Val {
        let Some(members) = members(op) else { return self.constant(Ty::int(1, 0), 0) };
        let members = self.operand(members, ScalarType::B32);
        let at = self.offset("%frame", turn::ALIVE);
        let alive = self.load(Ty::int(32, 0), &at);
        let running = self.running();
        if members.ty.lanes == 0 {
            let left = self.binary("and", &members, &alive);
            return self.compare("eq", &left, &running);
        }
        let (alive, running) = (self.splat(&alive), self.splat(&running));
        let left = self.binary("and", &members, &alive);
        let others = self.compare("ne", &left, &running);
        let mask = self.mask_value();
        let others = self.binary("and", &others, &mask);
        let any = self.any(&others.text);
        let ones = self.constant(any.ty, 1);
        self.binary("xor", &any, &ones)
    }

    /// What lanes bring to a meeting.
    fn bring(&mut self, inst: &Inst, mask: &str) -> Result<(), String> {
        let word = |this: &mut Self, operand: Operand, row: u32| {
            let value = this.operand(operand, ScalarType::B32);
            this.put_row(row, &value, mask);
        };
        let given = |this: &mut Self, value: Val| {
            let value = this.resize(&value, 64, false);
            this.put_row(turn::GIVEN, &value, mask);
        };
        let holds = |this: &mut Self, predicate: Predicate| {
            let value = this.predicate(predicate);
            given(this, value);
        };
        if let Some(members) = members(&inst.op) {
            word(self, members, turn::MEMBERS);
        }
        match &inst.op {
            Op::Shfl { a, b, c, .. } => {
                let value = self.operand(*a, ScalarType::B32);
                given(self, value);
                word(self, *b, turn::WHICH);
                word(self, *c, turn::EXTENT);
            }
            Op::Vote { src, .. } => holds(self, *src),
            Op::Match { ty, a, .. } | Op::Redux { ty, a, .. } => {
                let value = self.operand(*a, *ty);
                given(self, value);
            }
            Op::Elect { .. }
            | Op::Matrix(_)
            | Op::Barrier(BarrierOp::Warp { .. } | BarrierOp::ClusterArrive { .. } | BarrierOp::ClusterWait { .. }) => {
            }
            Op::Barrier(op) => {
                let Some(named) = NamedBarrier::of(op) else { return Err(self.lacks(inst)) };
                if named.known().is_none() {
                    word(self, named.id, turn::WHICH);
                    word(self, named.count, turn::EXTENT);
                }
                if let BarrierOp::Reduce { src, .. } = op {
                    holds(self, *src);
                }
            }
            _ => return Err(self.lacks(inst)),
        }
        Ok(())
    }

    /// What a meeting has given them.
    fn take(&mut self, inst: &Inst) -> Result<(), String> {
        let row = Ty::int(32, WARP);
        let taken = |this: &mut Self, at: usize| {
            let place = this.offset("%frame", turn::TAKEN);
            let value = this.load(row, &place);
            this.write(inst, at, &value, false)
        };
        let holds = |this: &mut Self, at: usize| {
            let place = this.offset("%frame", turn::HOLDS);
            let bits = this.load(Ty::int(WARP, 0), &place);
            let value = this.set(this.mask_type(), format!("bitcast i32 {} to <{WARP} x i1>", bits.text));
            this.write(inst, at, &value, false)
        };
        match &inst.op {
            Op::Shfl { dst_p, .. } | Op::Match { dst_p, .. } => {
                taken(self, 0)?;
                if dst_p.is_some() { holds(self, 1) } else { Ok(()) }
            }
            Op::Vote { mode: VoteMode::Ballot, .. } | Op::Redux { .. } => taken(self, 0),
            Op::Vote { .. } => holds(self, 0),
            Op::Elect { .. } => {
                taken(self, 0)?;
                holds(self, 1)
            }
            // They only wait for each other there.
            Op::Matrix(_) if how(&inst.op) == How::Step => self.instruction(inst),
            Op::Barrier(BarrierOp::Reduce { .. }) => {
                let predicate = self.written(inst, 0).is_some_and(|value| self.element_of(value) == Element::Int(1));
                if predicate { holds(self, 0) } else { taken(self, 0) }
            }
            _ => Ok(()),
        }
    }
}
