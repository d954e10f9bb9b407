//! Rows of tiles that a team loads in the next trip of its loop, fetched among the multiplications of this one. A processor that has as many multiplications before it as it holds sees none of
//! the loads behind them; fetched together, beside the loads of this trip, the rows would only keep those waiting.

use std::ops::Range;

use warploom_ptx::ir::{Address, Inst, Op, Semantics, Space};

use super::ahead::{Cache, LINE};
use super::function::Writer;
use super::names::Ty;
use super::span::Across;
use crate::access::Pattern;

/// Of fewer multiplications the processor sees what is behind them.
const FEW: usize = 8;

/// Rows that are fetched among the multiplications of a block.
pub(super) struct Among {
    /// By row: what loads it, and for which gang of the team.
    rows: Vec<(u32, u32)>,
    /// The multiplications that are still to be written.
    left: usize,
}

impl Writer<'_> {
    /// What is fetched among some instructions of a block, if anything is.
    pub(super) fn rows_among(&self, insts: &Range<u32>) -> Option<Among> {
        let body = self.body();
        let multiplies = |inst: &u32| matches!(body.insts[*inst as usize].op, Op::Fma { .. });
        let left = insts.clone().filter(multiplies).count();
        let inner = body.innermost_loops()[*self.plan.block_of.get(insts.start as usize)? as usize]?;
        if left < FEW || !self.plan.machine().x86 {
            return None;
        }
        let blocks = body.loops[inner as usize].blocks.clone();
        let loads = blocks.flat_map(|block| body.blocks[block as usize].insts.clone());
        let loads = loads.filter(|inst| self.loads_rows_steps_apart(*inst));
        let rows: Vec<_> = loads.flat_map(|inst| (0..self.team).map(move |member| (inst, member))).collect();
        (!rows.is_empty()).then_some(Among { rows, left })
    }

    /// Whether an instruction loads a row for each gang of the team, which lie a step apart.
    fn loads_rows_steps_apart(&self, number: u32) -> bool {
        let inst = &self.body().insts[number as usize];
        let plain = matches!(inst.op, Op::Ld { space: Space::Global, semantics: Semantics::Weak, .. });
        let address = self.plan.address_of(number).filter(|_| plain && inst.guard.is_none());
        let Some((_, access)) = self.plan.access(number) else { return false };
        let row = access.pattern == Pattern::Contiguous && self.lanes() * access.bytes >= LINE;
        // What is loaded and what is multiplied stand in one function then.
        row && self.plan.is_one_team() && address.is_some_and(|address| self.plan.across(address) == &Across::Even)
    }

    /// Notes how far the rows that an instruction loads, if it does, are from those of the last trip.
    pub(super) fn note_trip(&mut self, inst: &Inst, space: Space, address: Address) -> Result<(), String> {
        let block = self.plan.block_of[self.inst as usize];
        if !self.loads_rows_steps_apart(self.inst) || self.body().innermost_loops()[block as usize].is_none() {
            return Ok(());
        }
        let Some(first) = self.target(inst, space, address)?.first else { return Ok(()) };
        let [last, step] = self.since_last_trip(&first);
        // The first trip tells nothing.
        let none = self.constant(first.ty, 0);
        let is_first = self.compare("eq", &last, &none);
        let step = self.select(&is_first, &none, &step);
        let place = self.place_of_step(self.inst);
        self.store(&step, &place);
        Ok(())
    }

    /// Where it is kept how far a load's rows are from those of the last trip.
    fn place_of_step(&mut self, load: u32) -> String {
        self.begun_place(format!("%way{load}"))
    }

    /// Has the share of rows fetched that comes with an instruction.
    pub(super) fn fetch_among(&mut self, among: &mut Among, number: u32) {
        let Op::Fma { .. } = self.body().insts[number as usize].op else { return };
        let share = among.rows.len().div_ceil(among.left.max(1));
        among.left = among.left.saturating_sub(1);
        let rows: Vec<_> = among.rows.drain(..share.min(among.rows.len())).collect();
        for (load, member) in rows {
            self.fetch_next_row(load, member);
        }
        self.turn_to(number);
    }

    /// Has the lines fetched that a row ends in, and those before that lie within it: where it begins within a line, that is mostly another row's end.
    fn fetch_next_row(&mut self, load: u32, member: u32) {
        let inst = self.turn_to(load);
        let Op::Ld { space, addr, .. } = inst.op else { return };
        let target = self.of_member(member, |this| this.target(inst, space, addr));
        let Some(first) = target.as_ref().ok().and_then(|target| target.first.clone()) else { return };
        let word = Ty::int(64, 0);
        let place = self.place_of_step(load);
        let step = self.set(word, format!("load i64, ptr {place}"));
        let there = self.binary("add", &first, &step);
        let there = self.at_address(&there).text;
        let bytes = self.plan.access(load).map_or(0, |(_, access)| access.bytes) * self.lanes();
        for end in (LINE..=bytes).step_by(LINE as usize) {
            let line = self.offset(&there, end - 1);
            self.prefetch(&line, Cache::First);
        }
    }
}
