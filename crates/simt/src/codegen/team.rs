//! Several gangs of a CTA at once, all of whose lanes run: a *team*.
//!
//! Each instruction is written for one gang after the other, and what the whole CTA has in common once. So what one gang loads the next ones need not load
//! again, what is accumulated stays in registers, and loops that go through memory with a stride go through it by the whole CTA, not by a gang at a
//! time. If all gangs of a CTA are one team, its barriers need no code: every instruction is one.
//!
//! As soon as something does not hold for all of them alike, a branch or the short way of an access, the team is left: what is alive goes to the gangs'
//! frames, and each of them goes on by itself from that point to the next barrier. Nothing of the instruction has been done by then: all accesses
//! of it are looked at before the first.

mod choice;

use std::collections::BTreeSet;

use warploom_ptx::ir::{Address, Base, Inst, Op, Space, TerminatorKind};

use super::asked::{Argument, Asked};
use super::full::{Sides, next_trip};
use super::function::{Val, Writer};
use super::names::Ty;
use super::plan::{Keep, Plan};
use super::span::Across;
use super::{context, outcome};
use crate::barrier::RegionStart;
use crate::divergence::only_ends;
use crate::values::{ValueId, paired};

pub(super) use choice::{Teams, comes_of, goes_through_memory, is_seldom_apart, preferred_team};

/// Where a team is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Point {
    /// Before an instruction.
    Inst(u32),
    /// Before the branch at the end of a block.
    End(u32),
    /// Behind a barrier, where nothing is left but what is kept there.
    Behind(u32),
}

impl Point {
    pub(super) fn block(self, plan: &Plan<'_>) -> u32 {
        match self {
            Point::Inst(inst) | Point::Behind(inst) => plan.block_of[inst as usize],
            Point::End(block) => block,
        }
    }

    /// A number of its own.
    pub(super) fn number(self, plan: &Plan<'_>) -> u32 {
        match self {
            Point::Inst(inst) | Point::Behind(inst) => inst,
            Point::End(block) => plan.body.insts.len() as u32 + block,
        }
    }

    /// The label of masked code.
    fn label(self) -> String {
        match self {
            Point::Inst(inst) => format!("K{inst}"),
            Point::End(block) => format!("E{block}"),
            Point::Behind(inst) => format!("A{inst}"),
        }
    }
}

impl Writer<'_> {
    /// What teams run from the kernel's entry, or from a barrier, to the next one, or to the end if all gangs are one team.
    pub(super) fn team(mut self, number: usize) -> Result<String, String> {
        let region = &self.plan.regions()[number];
        self.team = self.plan.team();
        self.began = (!self.plan.is_one_team()).then_some(number);
        let blocks = if self.plan.is_one_team() {
            let all = 0..self.body().blocks.len() as u32;
            let own = all.filter(|block| self.plan.arm_of(*block).is_none_or(|arm| !arm.is_known()));
            own.filter(|block| *block == 0 || !only_ends(self.body(), *block)).collect()
        } else {
            self.plan.blocks_of(region)
        };
        self.fill();
        match region.start {
            RegionStart::Entry => self.line("br label %T0"),
            RegionStart::Barrier(inst) => {
                let block = self.plan.block_of[inst as usize];
                if self.team_insts(inst + 1..self.body().blocks[block as usize].insts.end)? {
                    self.team_end(block)?;
                }
            }
        }
        for block in blocks {
            self.label(&format!("T{block}"));
            self.fill();
            if self.team_insts(self.body().blocks[block as usize].insts.clone())? {
                self.team_end(block)?;
            }
        }
        self.label("end");
        self.line(format!("ret i32 {}", outcome::ENDED));
        self.label("fault");
        self.line(format!("ret i32 {}", outcome::FAULT));
        if let Some(reason) = self.refused.take() {
            return Err(reason);
        }
        if self.steps > 0 {
            return Err("a team has no steps".to_owned());
        }
        let body = self.take_text();
        Ok(self.team_prologue(number, region.start) + &body + "}\n\n")
    }

    fn team_prologue(&mut self, number: usize, start: RegionStart) -> String {
        let plan = self.plan;
        let (lanes, team) = (self.lanes(), self.team);
        self.take_text();
        let kept = if start == RegionStart::Entry { &[][..] } else { plan.kept(number) };
        self.used.extend(kept.iter().map(|(value, _)| *value));
        for value in self.used.clone() {
            self.for_members(value, |this, _| {
                for (place, ty, _) in plan.places(value, 0) {
                    if !this.has_own(value, &place) {
                        continue;
                    }
                    let place = this.own(value, place);
                    let held = this.stack_type(value, &place, ty);
                    this.line(format!("{place} = alloca {}", held.text()));
                    let zero = this.constant(ty, 0);
                    this.store(&zero, &place);
                }
            });
        }
        for (place, ty) in std::mem::take(&mut self.places) {
            self.line(format!("{place} = alloca {}", ty.text()));
        }
        self.begin_places();
        self.line(format!("%addresses = alloca [{} x i64], align 64", lanes.max(team * lanes / 2)));
        self.line(format!("%scratch = alloca [{} x i64], align 64", 6 * lanes));
        let frames = self.pointer(context::FRAMES);
        self.line(format!("%gang = mul i32 %team, {team}"));
        for member in 0..team {
            self.line(format!("%gang{member} = add i32 %gang, {member}"));
            self.line(format!("%thread{member} = mul i32 %gang{member}, {lanes}"));
            self.line(format!("%wide{member} = zext i32 %gang{member} to i64"));
            self.line(format!("%behind{member} = mul i64 %wide{member}, {}", plan.frame_size()));
            self.line(format!("%at{member} = add i64 %behind{member}, {}", plan.cta_frame()));
            self.line(format!("%frame{member} = getelementptr i8, ptr {frames}, i64 %at{member}"));
        }
        let mut shared = (0..).map(|number| format!("%c{number}"));
        for &(value, keep) in kept {
            let Keep::Gang(offset) = keep else {
                let (place, ty, _) = plan.places(value, 0).swap_remove(0);
                let text = shared.next().unwrap_or_default();
                self.store(&Val { ty, text }, &place);
                continue;
            };
            self.for_members(value, |this, member| {
                for (place, ty, offset) in plan.places(value, offset) {
                    if !this.has_own(value, &place) {
                        continue;
                    }
                    let at = this.offset(&format!("%frame{member}"), offset);
                    let held = this.set(ty, format!("load {}, ptr {at}, !tbaa !9", ty.text()));
                    let place = this.own(value, place);
                    this.store(&held, &place);
                }
            });
        }
        let text = self.take_text();
        let parameters = plan.shared_parameters(kept);
        let head = format!("define internal i32 @team{number}(ptr noalias %context, i32 %team{parameters}) #1 {{\n");
        head + &text + "  br label %code\ncode:\n"
    }

    /// Once for each gang of the team, or once for all if they have a value in common.
    pub(super) fn for_members(&mut self, value: ValueId, mut with: impl FnMut(&mut Self, u32)) {
        let members = if self.shape(value).is_cta_uniform() { 1 } else { self.team.max(1) };
        for member in 0..members {
            self.member = member;
            with(self, member);
        }
        self.member = 0;
    }

    /// Something of one gang of the team.
    pub(super) fn of_member<T>(&mut self, member: u32, with: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.member, member);
        let out = with(self);
        self.member = before;
        out
    }

    /// Writes instructions; false if a barrier ends them.
    fn team_insts(&mut self, range: std::ops::Range<u32>) -> Result<bool, String> {
        let mut among = self.rows_among(&range);
        let mut rest = range;
        while let Some(number) = rest.next() {
            if let Some(stream) = self.stream(number..rest.end) {
                rest = stream.end()..rest.end;
                self.write_stream(&stream)?;
                continue;
            }
            if let Some(stretch) = self.stretch(number..rest.end) {
                rest = stretch.end..rest.end;
                self.write_stretch(&stretch, among.as_mut())?;
                continue;
            }
            self.inst = number;
            self.values = self.plan.info.values.of_inst(number);
            let inst = &self.body().insts[number as usize];
            if self.plan.barrier(number).is_some() {
                if self.plan.is_one_team() {
                    continue;
                }
                self.leave_at(number)?;
                return Ok(false);
            }
            if self.defers(number) {
                self.note_for_all(inst);
                continue;
            }
            if let Some(among) = &mut among {
                self.fetch_among(among, number);
            }
            let members = self.leaders(number);
            self.look_at_all(inst, members)?;
            self.checked = true;
            if !self.update_as_team(inst)? {
                for member in 0..members {
                    self.member = member;
                    self.guarded(inst)?;
                }
            }
            self.checked = false;
            self.member = 0;
            self.note_for_all(inst);
        }
        Ok(true)
    }

    /// Notes what is known of a predicate for all gangs.
    pub(super) fn note_for_all(&mut self, inst: &Inst) {
        self.whole = true;
        self.note_sides(inst);
        self.whole = false;
    }

    /// For how many gangs, the first ones, an instruction is written: what others have is known of what these have, or it does the same for all.
    pub(super) fn leaders(&self, number: u32) -> u32 {
        let inst = &self.body().insts[number as usize];
        let operands = inst.operands();
        let values = self.plan.info.values.of_inst(number);
        let mut written = operands.iter().zip(values).filter(|(operand, _)| operand.def().is_some()).peekable();
        match &inst.op {
            Op::Fence(_) => 1,
            Op::St { .. } | Op::Atom { .. } => self.team,
            _ if written.peek().is_none() => self.team,
            _ => {
                let goes_on = |value| self.plan.begins(value).is_some_and(|begins| begins != number);
                let part = |value| if self.plan.is_lazy(value) || goes_on(value) { "%b" } else { "%v" };
                let holders = written.map(|(_, value)| value.map_or(1, |value| self.holders(value, part(value))));
                holders.max().unwrap_or(self.team)
            }
        }
    }

    /// Whether what an instruction does for the first gangs tells what it does for all.
    pub(super) fn is_led(&self, number: u32) -> bool {
        self.leaders(number) < self.team
    }

    /// One look for all gangs, whose lanes are a known way apart.
    fn look_once(&mut self, inst: &Inst, space: Space, address: Address) -> Result<(), String> {
        let plan = self.plan;
        let Some((site, span)) = plan.span(self.inst) else { return Ok(()) };
        let target = self.target(inst, space, address)?;
        let Some(first) = target.first.clone() else { return Err(self.lacks(inst)) };
        let offset = if plan.hull(self.inst).is_some() { plan.offset_of(self.inst) } else { 0 };
        let by = self.constant(first.ty, span.low - offset);
        let from = self.binary("add", &first, &by);
        let inside = self.is_inside(site, &from, span.bytes);
        let holds = self.joined("and", &inside, &target.flag);
        if space == Space::Shared {
            self.or_leave(&holds);
            return Ok(());
        }
        let (on, find) = (self.fresh(), self.fresh());
        self.line(format!("br i1 {}, label %L{on}, label %L{find}, !prof !2", holds.text));
        self.label(&format!("L{find}"));
        let found = self.ask_executor(Asked::Find, &[Argument::Value(&from), Argument::Number(site)]);
        let found = self.joined("and", &found, &target.flag);
        self.or_leave(&found);
        self.line(format!("br label %L{on}"));
        self.label(&format!("L{on}"));
        self.fetch_later_trip(site, span, &from);
        Ok(())
    }

    /// Whether an access has been looked at with the first of those with its base.
    pub(super) fn is_seen(&self, inst: u32) -> bool {
        self.plan.hull(inst).is_some_and(|(_, hull)| hull.first != inst && self.plan.span(hull.first).is_some())
    }

    /// Leaves the team unless the accesses of an instruction are allowed for all gangs.
    pub(super) fn look_at_all(&mut self, inst: &Inst, members: u32) -> Result<(), String> {
        let (space, address) = match &inst.op {
            Op::Ld { space, addr, .. } | Op::St { space, addr, .. } | Op::Atom { space, addr, .. } => (*space, *addr),
            _ => return Ok(()),
        };
        if address.base == Base::ParamFrame {
            return Ok(());
        }
        if self.plan.span(self.inst).is_some() {
            return self.look_once(inst, space, address);
        }
        if self.is_seen(self.inst) {
            return Ok(());
        }
        let mut all = self.steps_are_short(inst);
        let looked_at = if all.is_some() { self.ends() } else { (0..members).collect() };
        for member in looked_at {
            self.member = member;
            let before = self.mask.clone();
            let condition = inst.guard.map(|guard| self.predicate(guard));
            if let Some(condition) = condition.as_ref().filter(|condition| condition.ty.lanes != 0) {
                self.mask.clone_from(&condition.text);
            }
            let target = self.target(inst, space, address)?;
            let holds = self.fits_in_full(inst, &target)?;
            self.mask = before;
            let Some(mut holds) = holds else { continue };
            if let Some(condition) = condition {
                let runs = if condition.ty.lanes == 0 { condition } else { self.any(&condition.text) };
                holds = self.if_runs(&holds, &runs);
            }
            all = Some(match all {
                Some(all) => self.joined("and", &all, &holds),
                None => holds,
            });
        }
        self.member = 0;
        if let Some(all) = all {
            self.or_leave(&all);
        }
        self.note_trip(inst, space, address)
    }

    /// Of an access whose addresses are as far apart from gang to gang: whether that is not so far that they go around the end of numbers. Then what lies between the
    /// first gang's and the last one's is allowed as they are.
    fn steps_are_short(&mut self, inst: &Inst) -> Option<Val> {
        /// As long as addresses are.
        const ADDRESS: i64 = 48;
        let address = self.plan.address_of(self.inst).filter(|_| inst.guard.is_none())?;
        let long = self.element_of(address).bits() == 64 && self.plan.across(address) == &Across::Even;
        let is_seen = self.plan.hull(self.inst).is_some_and(|(_, hull)| hull.first != self.inst);
        if !long || is_seen || self.plan.access(self.inst)?.1.is_always_allowed() {
            return None;
        }
        let [first, second] = [0, 1].map(|member| self.of_member(member, |this| this.read_base(address)));
        let step = self.binary("sub", &second?, &first?);
        let (least, many) = (self.constant(step.ty, 1 << ADDRESS), self.constant(step.ty, 2 << ADDRESS));
        let from = self.binary("add", &step, &least);
        Some(self.compare("ult", &from, &many))
    }

    /// The gangs of a team whose addresses tell of all, where these are as far apart from gang to gang: the last as many steps from the first as there are, which is aligned
    /// only where each step is if they are an odd number.
    fn ends(&self) -> Vec<u32> {
        let last = self.team - 1;
        if last.is_multiple_of(2) { vec![0, 1, last] } else { vec![0, last] }
    }

    /// What need not hold for a gang of which nothing runs.
    pub(super) fn if_runs(&mut self, holds: &Val, runs: &Val) -> Val {
        let one = self.constant(runs.ty, 1);
        let idle = self.binary("xor", runs, &one);
        self.binary("or", holds, &idle)
    }

    fn team_end(&mut self, block: u32) -> Result<(), String> {
        let plan = self.plan;
        if let Some(arm) = plan.arm(block)
            && let Some(runs) = &arm.runs
        {
            let masks = self.known_masks(runs);
            return self.team_arm(block, arm, masks);
        }
        let end = &self.body().blocks[block as usize].terminator;
        self.values = self.plan.info.values.of_end(block);
        let ends = matches!(end.kind, TerminatorKind::Ret { .. } | TerminatorKind::Exit);
        let taken = match &end.kind {
            TerminatorKind::Bra { target, .. } => Some(target.0),
            TerminatorKind::Next | TerminatorKind::Ret { .. } | TerminatorKind::Exit => None,
            TerminatorKind::BrxIdx { .. } | TerminatorKind::Trap => return self.leave_team(Point::End(block)),
        };
        let next = end.next.map(|next| next.0);
        let Some(guard) = end.guard else {
            return match taken.or(next) {
                Some(to) if !ends => {
                    self.go_as_team(block, to);
                    Ok(())
                }
                _ => {
                    self.line("br label %end");
                    Ok(())
                }
            };
        };
        let id = self.values.first().copied().flatten().ok_or("a guard without a value")?;
        let (yes, no) = (self.fresh(), self.fresh());
        if self.plan.across(id) == &Across::Same {
            let condition = self.guard_of(end)?.ok_or("a guard without a value")?;
            self.line(format!("br i1 {}, label %L{yes}, label %L{no}", condition.text));
        } else {
            let back = next_trip(block, [(taken, yes), (next, no)]);
            self.team_parts(block, id, guard.negated, [yes, no], back)?;
        }
        for (label, to) in [(yes, taken), (no, next)] {
            self.label(&format!("L{label}"));
            match to {
                Some(to) => self.go_as_team(block, to),
                None => self.line("br label %end"),
            }
        }
        Ok(())
    }

    /// To one label if all lanes of all gangs have a condition, to another if none has. If they differ, the team runs the arm with masks, or is left.
    fn team_parts(
        &mut self,
        block: u32,
        id: ValueId,
        negated: bool,
        labels: [u32; 2],
        back: Option<u32>,
    ) -> Result<(), String> {
        self.whole = true;
        let known = self.known_sides(id);
        self.whole = false;
        if let Some(known) = known {
            self.branch_two_ways(negated, known, labels, back);
        }
        self.write_deferred()?;
        // It is written once only on this way, and on the others not at all.
        let deferred = std::mem::take(&mut self.deferred);
        let looked_at = self.of_members(|this| {
            let held = this.read(id);
            Some(if held.ty.lanes == 0 {
                let one = this.constant(held.ty, 1);
                let none = this.binary("xor", &held, &one);
                Sides { all: held, none, usual: None }
            } else {
                let bits = this.bits_of(&held.text);
                let [all, none] = [-1, 0].map(|number| {
                    let number = this.constant(bits.ty, number);
                    this.compare("eq", &bits, &number)
                });
                Sides { all, none, usual: None }
            })
        });
        if let Some(looked_at) = looked_at {
            self.branch_two_ways(negated, looked_at, labels, back);
        }
        match self.plan.arm(block) {
            Some(arm) => {
                let masks = self.asked_masks(id, negated, arm);
                self.team_arm(block, arm, masks)?;
            }
            None => self.leave_team(Point::End(block))?,
        }
        self.deferred = deferred;
        Ok(())
    }

    /// What holds for all gangs of the team.
    fn of_members(&mut self, with: impl Fn(&mut Self) -> Option<Sides>) -> Option<Sides> {
        let mut out: Option<Sides> = None;
        for member in 0..self.team {
            self.member = member;
            let own = with(self);
            self.member = 0;
            let own = own?;
            out = Some(match out {
                None => own,
                Some(Sides { all, none, usual }) => {
                    Sides { all: self.joined("and", &all, &own.all), none: self.joined("and", &none, &own.none), usual }
                }
            });
        }
        out
    }

    /// All gangs go on to a block. They stay together when the executor has been asked: the clock raises the word again and again, and a CTA that
    /// works for long would run most of its trips gang by gang.
    pub(super) fn go_as_team(&mut self, from: u32, to: u32) {
        if only_ends(self.body(), to) {
            self.line("br label %end");
        } else if to > from {
            self.line(format!("br label %T{to}"));
        } else {
            let asked = self.fresh();
            let raised = self.is_raised();
            self.line(format!("br i1 {}, label %L{asked}, label %T{to}, !prof !1", raised.text));
            self.label(&format!("L{asked}"));
            self.ask_whether_to_go_on(&format!("T{to}"));
        }
    }

    /// Keeps what is alive, and has each gang go on by itself from a point.
    pub(super) fn leave_team(&mut self, point: Point) -> Result<(), String> {
        self.write_deferred()?;
        let plan = self.plan;
        let mut live = plan.live_at(point);
        if let Some(arm) = plan.arm_of(point.block(plan)) {
            // Lanes that do not run it have what the others may have written meanwhile.
            live.extend(arm.meets.iter().flat_map(|to| plan.info.values.live_in(*to)));
            self.keep_lanes_of_arm();
        }
        for value in with_sources(plan, live) {
            let keep = plan.home(value).ok_or("a value without a home")?;
            self.keep(value, keep);
        }
        if !plan.all_go_on() {
            let all = self.constant(self.mask_type(), 1);
            for member in 0..self.team {
                self.line(format!("store {} {}, ptr %frame{member}, align 64, !tbaa !9", all.ty.text(), all.text));
            }
        }
        plan.needs_point(point);
        let result =
            self.set(Ty::int(32, 0), format!("call i32 @apart(ptr %context, i32 %gang, i32 {})", point.number(plan)));
        self.line(format!("ret i32 {}", result.text));
        Ok(())
    }

    /// What one gang runs from where its team was left to the next barrier.
    pub(super) fn resumed(mut self) -> Result<String, String> {
        let plan = self.plan;
        let lanes = self.lanes();
        self.resumed = true;
        let mut points = plan.points();
        if plan.seldom_apart() && plan.is_one_team() {
            points.extend(plan.info.barriers.all.iter().map(|(barrier, _)| Point::Behind(*barrier)));
        }
        let mut targets = String::new();
        for point in &points {
            match *point {
                Point::Inst(inst) => _ = self.resumes.insert(inst),
                Point::End(block) => _ = self.end_resumes.insert(block),
                Point::Behind(_) => {}
            }
            targets += &format!(" i32 {0}, label %S{0}", point.number(plan));
        }
        self.line(format!("switch i32 %where, label %end [{targets} ]"));
        for point in &points {
            self.label(&format!("S{}", point.number(plan)));
            if let Point::Behind(_) = point {
                let alive = self.load(self.mask_type(), "%alive");
                let any = self.any(&alive.text);
                self.line(format!("br i1 {}, label %{}, label %end", any.text, point.label()));
                continue;
            }
            let all = self.constant(self.mask_type(), 1);
            let place = self.mask_place(point.block(plan));
            let block = point.block(plan);
            if let Some(arm) = plan.arm_of(block) {
                let at = self.offset("%frame", Plan::ARM);
                let runs = self.set(all.ty, format!("load {}, ptr {at}, align 4, !tbaa !9", all.ty.text()));
                self.store(&runs, &place);
                if arm.ends {
                    self.store(&runs, "%alive");
                }
                let any = self.any(&runs.text);
                let behind = match arm.meets {
                    _ if arm.ends => "end".to_owned(),
                    // The whole gang comes to the arm, or does not.
                    Some(meets) if plan.group_of(block).is_none() => format!("B{meets}"),
                    _ => format!("N{block}"),
                };
                self.line(format!("br i1 {}, label %{}, label %{behind}", any.text, point.label()));
                continue;
            }
            let alive = self.load(all.ty, "%alive");
            self.store(&alive, &place);
            self.line(format!("br label %{}", point.label()));
        }
        for hull in plan.hull_sites() {
            self.places.push((format!("%h{hull}"), Ty::int(1, 0)));
        }
        let all = 0..self.body().blocks.len() as u32;
        let blocks: Vec<u32> = all.filter(|block| *block == 0 || !only_ends(self.body(), *block)).collect();
        if plan.has_full() {
            for block in &blocks {
                self.full_block(*block)?;
            }
        }
        self.full = false;
        for block in blocks {
            self.block(block)?;
        }
        self.label("end");
        if plan.regions().len() > 1 {
            self.line(format!("store <{lanes} x i1> zeroinitializer, ptr %frame, align 64, !tbaa !9"));
        }
        self.line(format!("ret i32 {}", outcome::ENDED));
        self.label("fault");
        self.line(format!("ret i32 {}", outcome::FAULT));
        if let Some(reason) = self.refused.take() {
            return Err(reason);
        }
        let body = self.take_text();
        Ok(self.prologue("resumed", Some(&plan.homes()), ", i32 %where") + &body + "}\n\n" + &apart(plan))
    }
}

/// All gangs of a team, one by one, from where it was left.
fn apart(plan: &Plan<'_>) -> String {
    let (loads, arguments) = plan.shared_arguments(&plan.homes());
    let (team, ended) = (plan.team(), outcome::ENDED);
    plan.declare("declare i32 @llvm.smax.i32(i32, i32)".to_owned());
    format!(
        "define internal i32 @apart(ptr noalias %context, i32 %first, i32 %where) #2 {{\n{loads}  %end = add i32 %first, {team}\n  \
         br label %gangs\ngangs:\n  %gang = phi i32 [ %first, %0 ], [ %next, %on ]\n  %so_far = phi i32 [ {ended}, %0 ], [ %then, %on ]\n  \
         %result = call i32 @resumed(ptr %context, i32 %gang, i32 %where{arguments})\n  \
         %bad = icmp slt i32 %result, {ended}\n  br i1 %bad, label %out, label %on, !prof !1\non:\n  \
         %then = call i32 @llvm.smax.i32(i32 %so_far, i32 %result)\n  %next = add i32 %gang, 1\n  \
         %more = icmp ult i32 %next, %end\n  br i1 %more, label %gangs, label %out\nout:\n  \
         %answer = phi i32 [ %result, %gangs ], [ %then, %on ]\n  ret i32 %answer\n}}\n\n"
    )
}

/// The values that must be kept for those that are alive: of a pattern of which only the first lane is kept, what the others are computed from.
pub(super) fn with_sources(plan: &Plan<'_>, live: BTreeSet<ValueId>) -> BTreeSet<ValueId> {
    let mut pending: Vec<ValueId> = live.into_iter().collect();
    let mut out = BTreeSet::new();
    while let Some(value) = pending.pop() {
        if out.insert(value) && plan.is_lazy(value) && plan.is_flagged(value) {
            for def in &plan.info.values.get(value).defs {
                let operands = plan.body.insts[*def as usize].operands();
                let sources = paired(&operands, plan.info.values.of_inst(*def));
                pending.extend(sources.filter(|(operand, _)| operand.read().is_some()).filter_map(|(_, value)| value));
            }
        }
    }
    out
}
