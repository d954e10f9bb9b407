//! The shape of every value, and where lanes part: each decides the other, so both are computed together, from nothing up.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use warploom_ptx::ir::{Base, BlockId, Body, IntBinaryOp, LogicOp, Op, Operand, ScalarType, TerminatorKind};

use crate::affine::Affine;
use crate::alignment::Alignments;
use crate::codegen::{How, how};
use crate::divergence::{Divergence, Split, everything, only_ends, split, successors};
use crate::gang::Gangs;
use crate::range::Ranges;
use crate::reason::Reason;
use crate::shape::{Extent, Shape};
use crate::transfer::{Transfer, is_edge, is_timeless};
use crate::values::{ValueId, Values, paired};

/// After so many rounds what was found before counts too, so that the end is near.
const PATIENCE: usize = 24;

/// Shapes and divergence of a body.
pub(crate) struct Uniformity {
    pub(crate) shapes: Vec<Shape>,
    pub(crate) divergence: Divergence,
    /// By the block whose end branches alike in a gang, and perhaps not in a CTA.
    pub(crate) gang_splits: BTreeMap<u32, Split>,
    /// By value that differs in no known way: the pattern that lanes would have if they never parted.
    pub(crate) guesses: Vec<Option<Affine>>,
    /// Which of them hold in all of a launch, or nowhere in it.
    pub(crate) steady: BTreeSet<ValueId>,
    /// By instruction whose result has what is guessed of it wherever its operands have: those of them of which it is guessed.
    pub(crate) derived: BTreeMap<u32, Vec<ValueId>>,
    /// Some addresses are guessed of lanes that are on one side of an edge, as of a row that ends.
    pub(crate) edges: bool,
}

impl Uniformity {
    /// With `apart`, no lane is known to be where another one is; with `some`, not all of them need be there from the beginning.
    pub(crate) fn new(
        body: &Body,
        values: &Values,
        gangs: &Gangs,
        (ranges, alignments): (&Ranges, &Alignments),
        apart: bool,
        some: bool,
    ) -> Uniformity {
        let fixpoint = |parting: Parting, guesses: Vec<Option<Affine>>| {
            let mut fixpoint = Fixpoint {
                body,
                values,
                gangs,
                ranges,
                alignments,
                innermost: body.innermost_loops(),
                block_of: block_of(body),
                shapes: vec![Shape::Unwritten; values.len()],
                guesses,
                results: vec![Shape::Unwritten; body.insts.len()],
                forced: vec![None; values.len()],
                unsure: vec![None; values.len()],
                least: vec![Extent::Cta; values.len()],
                splits: BTreeMap::new(),
                gang_splits: BTreeMap::new(),
                parting,
            };
            fixpoint.run();
            fixpoint
        };
        let parting = if apart { Parting::Always } else { Parting::AtBranches };
        let mut found = fixpoint(parting, Vec::new());
        // Where nothing differs because of where it is written and read, nor beyond an edge, it would not differ less if lanes never parted.
        let (mut edges, mut steady) = (false, BTreeSet::new());
        if !apart && (found.forced.iter().any(Option::is_some) || found.edges().next().is_some()) {
            let together = fixpoint(Parting::Never, Vec::new());
            let addressed = addressed(body, values);
            for inst in found.edges() {
                match &together.results[inst as usize] {
                    Shape::Varying(_) => continue,
                    // As often as a launch asks for, which nothing ends.
                    Shape::Affine(affine) if !affine.is_constant() => {}
                    _ if together.is_seldom_an_edge(inst) => {}
                    _ => edges |= values.written(body, inst).is_some_and(|value| addressed.contains(&value)),
                }
                if matches!(body.insts[inst as usize].op, Op::Logic { op: LogicOp::Xor, .. }) {
                    steady.extend(values.written(body, inst));
                }
            }
            let steps = steps(body, values);
            let guesses = guesses(together.shapes, &found.shapes, gangs.width as usize, &steps, &mut steady);
            if guesses.iter().any(Option::is_some) {
                follow(body, values, &guesses, &mut steady);
                found = fixpoint(parting, guesses);
            }
        }
        for (guess, shape) in found.guesses.iter_mut().zip(&found.shapes) {
            guess.take_if(|_| !matches!(shape, Shape::Varying(_)));
        }
        let derived = found.derived();
        let Fixpoint { shapes, guesses, splits, gang_splits, .. } = found;
        let mut divergence = Divergence::new(body, splits, &shapes, values);
        divergence.some_end = some || some_end(body, &divergence, &gang_splits, &shapes, values);
        if some {
            divergence.ended.fill(true);
        }
        Uniformity { shapes, divergence, gang_splits, guesses, steady, derived, edges }
    }
}

/// What is taken for granted of where lanes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parting {
    /// They stay together, whatever they branch on: what holds then is a guess.
    Never,
    /// They part at branches that they do not take alike.
    AtBranches,
    /// None is known to be where another one is: only what is the same at any time is the same for all.
    Always,
}

/// The values that addresses are computed of.
fn addressed(body: &Body, values: &Values) -> BTreeSet<ValueId> {
    let mut pending: Vec<ValueId> =
        (0..body.insts.len() as u32).filter_map(|inst| values.address(body, inst)).collect();
    let mut addressed = BTreeSet::new();
    while let Some(value) = pending.pop() {
        if !addressed.insert(value) {
            continue;
        }
        for def in &values.get(value).defs {
            let operands = body.insts[*def as usize].operands();
            let numbers = paired(&operands, values.of_inst(*def))
                .filter(|(operand, _)| operand.read().is_some() && operand.ty != ScalarType::Pred);
            pending.extend(numbers.filter_map(|(_, value)| value));
        }
    }
    addressed
}

/// By value that is a part of addresses: how many bytes are accessed there.
fn steps(body: &Body, values: &Values) -> BTreeMap<ValueId, i64> {
    let mut out = BTreeMap::new();
    for (number, inst) in (0..).zip(&body.insts) {
        let (Op::Ld { ty, .. } | Op::St { ty, .. }) = &inst.op else { continue };
        let Some(address) = values.address(body, number) else { continue };
        let parts = values.get(address).defs.iter().flat_map(|def| match body.insts[*def as usize].op {
            Op::IntBinary { op: IntBinaryOp::Add, a, b, .. } => [a, b].map(|part| values.read(body, *def, part)),
            _ => [None; 2],
        });
        for part in parts.flatten().chain([address]) {
            out.insert(part, i64::from(ty.bytes()));
        }
    }
    out
}

/// What is guessed of values that differ and would have these shapes if lanes never parted: constants of lanes, which one look can find out. A number that lanes are
/// multiplied by and that nobody knows (the stride of a convolution) is mostly 1, or as many bytes as are accessed there: those are `steady`.
fn guesses(
    together: Vec<Shape>,
    shapes: &[Shape],
    width: usize,
    steps: &BTreeMap<ValueId, i64>,
    steady: &mut BTreeSet<ValueId>,
) -> Vec<Option<Affine>> {
    let guess = |(value, (together, shape)): (u32, (Shape, &Shape))| match shape {
        Shape::Varying(_) if together != Shape::Unwritten => {
            let affine = together.as_affine(width).filter(|affine| affine.told_by.is_empty())?;
            if affine.is_constant() {
                return Some(affine);
            }
            let guess = affine.with_direction(steps.get(&ValueId(value)).copied().unwrap_or(1))?;
            steady.insert(ValueId(value));
            Some(guess)
        }
        _ => None,
    };
    (0..).zip(together.into_iter().zip(shapes)).map(guess).collect()
}

/// Adds the values whose guesses come from those of steady ones.
fn follow(body: &Body, values: &Values, guesses: &[Option<Affine>], steady: &mut BTreeSet<ValueId>) {
    let mut before = 0;
    while std::mem::replace(&mut before, steady.len()) != steady.len() {
        for inst in 0..body.insts.len() as u32 {
            let operands = body.insts[inst as usize].operands();
            let mut read = paired(&operands, values.of_inst(inst)).filter(|(operand, _)| operand.read().is_some());
            if read.any(|(_, value)| value.is_some_and(|value| steady.contains(&value))) {
                let written = values.written(body, inst);
                steady.extend(written.filter(|value| guesses[value.0 as usize].is_some()));
            }
        }
    }
}

/// By instruction: its block.
pub(crate) fn block_of(body: &Body) -> Vec<u32> {
    let mut of = vec![0; body.insts.len()];
    for (number, block) in body.blocks.iter().enumerate() {
        block.insts.clone().for_each(|inst| of[inst as usize] = number as u32);
    }
    of
}

struct Fixpoint<'k> {
    body: &'k Body,
    values: &'k Values,
    gangs: &'k Gangs,
    ranges: &'k Ranges,
    alignments: &'k Alignments,
    innermost: Vec<Option<u32>>,
    block_of: Vec<u32>,
    shapes: Vec<Shape>,
    guesses: Vec<Option<Affine>>,
    /// By instruction: the shape of what it writes.
    results: Vec<Shape>,
    /// Values that differ between lanes because of where they are written and read.
    forced: Vec<Option<Reason>>,
    /// Values that each trip of a loop gives the same, which lanes leave in different trips: if only lanes that still run tell whether their pattern holds, it is none behind the loop.
    unsure: Vec<Option<Reason>>,
    /// Values that may differ between gangs for the same cause.
    least: Vec<Extent>,
    splits: BTreeMap<u32, Split>,
    gang_splits: BTreeMap<u32, Split>,
    parting: Parting,
}

impl Fixpoint<'_> {
    fn run(&mut self) {
        if self.parting == Parting::Always {
            self.part(0);
        }
        let mut rounds = 0;
        while self.round(rounds >= PATIENCE) {
            rounds += 1;
        }
    }

    /// Instructions behind which lanes have no pattern though all that these read has one.
    fn edges(&self) -> impl Iterator<Item = u32> {
        let known = |inst: u32| {
            let operands = self.body.insts[inst as usize].operands();
            let mut read = paired(&operands, self.values.of_inst(inst));
            read.all(|(operand, value)| {
                let number = operand.read().is_some() && operand.ty != ScalarType::Pred;
                !number || value.is_none_or(|value| !matches!(self.shapes[value.0 as usize], Shape::Varying(_)))
            })
        };
        let varies = |inst: &u32| matches!(self.results[*inst as usize], Shape::Varying(_));
        let all = 0..self.body.insts.len() as u32;
        all.filter(|inst| is_edge(&self.body.insts[*inst as usize].op)).filter(varies).filter(move |inst| known(*inst))
    }

    /// Whether lanes that never part seldom come to the edge that an instruction is: the sign of an index, or a choice that all of them make.
    fn is_seldom_an_edge(&self, inst: u32) -> bool {
        match self.body.insts[inst as usize].op {
            Op::Shift { ty, amount: Operand::Imm(by), .. } => by >= u64::from(ty.bits()) - 1,
            Op::Selp { c, .. } => {
                let predicate = self.values.read(self.body, inst, Operand::Reg(c.reg));
                predicate.is_some_and(|value| self.shapes[value.0 as usize].is_uniform())
            }
            _ => false,
        }
    }

    fn transfer(&self) -> Transfer<'_> {
        Transfer {
            body: self.body,
            values: self.values,
            gangs: self.gangs,
            ranges: self.ranges,
            alignments: self.alignments,
            shapes: &self.shapes,
            guesses: &self.guesses,
            apart: self.parting == Parting::Always,
            guessing: self.parting == Parting::Never,
        }
    }

    /// The instructions whose results have what is guessed of them wherever their operands have, with those operands of which it is guessed: nothing else was taken for granted.
    fn derived(&self) -> BTreeMap<u32, Vec<ValueId>> {
        if self.guesses.iter().all(Option::is_none) {
            return BTreeMap::new();
        }
        let guess = |value: ValueId| self.guesses[value.0 as usize].as_ref();
        let as_guessed = |(shape, guess): (&Shape, &Option<Affine>)| match guess {
            Some(guess) => Shape::of(Affine { alignment: 0, ..guess.clone() }),
            None => shape.clone(),
        };
        let shapes: Vec<Shape> = self.shapes.iter().zip(&self.guesses).map(as_guessed).collect();
        let transfer = Transfer { shapes: &shapes, guesses: &[], ..self.transfer() };
        let of = |inst: u32| {
            let expected = guess(self.values.written(self.body, inst)?)?;
            let result = transfer.result(inst).as_affine(self.gangs.width as usize)?;
            let same = result.is_constant() && result.told_by.is_empty() && result.lanes == expected.lanes;
            let operands = self.body.insts[inst as usize].operands();
            let read = paired(&operands, self.values.of_inst(inst)).filter(|(operand, _)| operand.read().is_some());
            let guessed: Vec<ValueId> =
                read.filter_map(|(_, value)| value).filter(|value| guess(*value).is_some()).collect();
            (same && !guessed.is_empty()).then_some((inst, guessed))
        };
        (0..self.body.insts.len() as u32).filter_map(of).collect()
    }

    /// Looks at everything once; whether anything was new.
    fn round(&mut self, keep: bool) -> bool {
        let mut changed = false;
        for block in 0..self.body.blocks.len() as u32 {
            for inst in self.body.blocks[block as usize].insts.clone() {
                changed |= self.visit(inst, keep);
            }
            changed |= self.branch(block);
        }
        changed
    }

    fn visit(&mut self, inst: u32, keep: bool) -> bool {
        self.results[inst as usize] = self.transfer().result(inst);
        let instruction = &self.body.insts[inst as usize];
        let operands = instruction.operands();
        let mut changed = false;
        for (operand, value) in paired(&operands, self.values.of_inst(inst)) {
            let (Some(reg), Some(value)) = (operand.def(), value) else { continue };
            let mut shape = self.shape_of(value);
            // Whether its source lane is there is another matter for each lane.
            if matches!(&instruction.op, Op::Shfl { dst_p: Some(beside), .. } if *beside == reg) {
                shape = Shape::Varying(Reason::Exchange { inst });
            }
            let old = &self.shapes[value.0 as usize];
            if keep {
                shape = old.join(&shape, self.gangs.width as usize);
            }
            if *old != shape {
                self.shapes[value.0 as usize] = shape;
                changed = true;
            }
        }
        changed
    }

    /// Of a value, from what its writes give and from where they stand.
    fn shape_of(&self, id: ValueId) -> Shape {
        if let Some(reason) = self.forced[id.0 as usize] {
            return Shape::Varying(reason);
        }
        let value = self.values.get(id);
        let several = value.defs.len() + usize::from(value.undefined) > 1;
        let mut least = self.least[id.0 as usize];
        let mut shape = Shape::Unwritten;
        for &inst in &value.defs {
            if several && self.body.insts[inst as usize].guard.is_some() {
                match self.guard(self.values.of_inst(inst)) {
                    Some(extent) => least = least.max(extent),
                    None => return Shape::Varying(Reason::Guard { inst }),
                }
            }
            shape = shape.join(&self.results[inst as usize], self.gangs.width as usize);
        }
        match (shape, self.unsure[id.0 as usize]) {
            (Shape::Uniform(extent), _) => Shape::Uniform(extent.max(least)),
            (Shape::Affine(affine), Some(reason)) if !affine.told_by.is_empty() => Shape::Varying(reason),
            (other, _) => other,
        }
    }

    /// For which threads a guard, the first of the operands, is the same.
    fn guard(&self, operands: &[Option<ValueId>]) -> Option<Extent> {
        match operands.first().copied().flatten().map(|guard| &self.shapes[guard.0 as usize]) {
            None | Some(Shape::Unwritten) => Some(Extent::Cta),
            Some(Shape::Uniform(extent)) => Some(*extent),
            Some(Shape::Affine(_) | Shape::Varying(_)) => None,
        }
    }

    /// The end of a block; whether it is new that lanes, or gangs, part there.
    fn branch(&mut self, block: u32) -> bool {
        let end = &self.body.blocks[block as usize].terminator;
        let index = usize::from(end.guard.is_some());
        let operands = self.values.of_end(block);
        let mut extent = end.guard.map_or(Some(Extent::Cta), |_| self.guard(operands));
        if let TerminatorKind::BrxIdx { .. } = end.kind {
            extent = extent.zip(self.guard(&operands[index..])).map(|(a, b)| a.max(b));
        }
        match extent {
            Some(Extent::Cta) => false,
            _ if self.parting == Parting::Never || successors(self.body, block).len() < 2 => false,
            Some(Extent::Gang) if !self.gang_splits.contains_key(&block) => {
                let split = split(self.body, &self.innermost, block);
                self.apply(&split, |this, value, _| this.least[value.0 as usize] = Extent::Gang, block);
                self.gang_splits.insert(block, split);
                true
            }
            None if !self.splits.contains_key(&block) => {
                self.part(block);
                true
            }
            _ => false,
        }
    }

    /// Lanes part at the end of a block.
    fn part(&mut self, block: u32) {
        let split = if self.parting == Parting::Always {
            everything(self.body)
        } else {
            split(self.body, &self.innermost, block)
        };
        let force = |this: &mut Self, value: ValueId, reason| {
            this.forced[value.0 as usize].get_or_insert(reason);
        };
        self.splits.insert(block, split.clone());
        self.apply(&split, force, block);
    }

    /// Finds the values that differ because lanes (or gangs) part at the end of `branch`.
    fn apply(&mut self, split: &Split, mut note: impl FnMut(&mut Self, ValueId, Reason), branch: u32) {
        let values = self.values;
        for &block in &split.joins {
            for &id in values.live_in(block) {
                if self.is_also_written_in(id, |at| split.partial.contains(&at)) {
                    note(self, id, Reason::Join { branch, block });
                }
            }
        }
        self.note_other_ways(split, &mut note, branch);
        for &index in &split.loops {
            let blocks = self.body.loops[index as usize].blocks.clone();
            let exits = blocks.clone().flat_map(|block| successors(self.body, block));
            for exit in exits.filter(|to| !blocks.contains(to)) {
                for &id in values.live_in(exit) {
                    if !self.is_written_in(id, |at| blocks.contains(&at)) {
                        continue;
                    }
                    let reason = Reason::LeftLoop { branch };
                    match self.is_constant_in(id, &blocks) {
                        false => note(self, id, reason),
                        true if self.splits.contains_key(&branch) => {
                            self.unsure[id.0 as usize].get_or_insert(reason);
                        }
                        // Gangs that leave a loop in different trips have all their lanes in each.
                        true => {}
                    }
                }
            }
        }
    }
}

impl Fixpoint<'_> {
    /// Ways from a branch run one after the other: a value that holds for one of them what it was before must not be written for all on another one. Loops that
    /// lanes leave are looked at as a whole.
    fn note_other_ways(&mut self, split: &Split, note: &mut impl FnMut(&mut Self, ValueId, Reason), branch: u32) {
        // There every block is a join, which says as much.
        if split.irreducible {
            return;
        }
        let leaves = |way: u32| {
            let loops = split.loops.iter().map(|index| &self.body.loops[*index as usize].blocks);
            loops.into_iter().any(|blocks| blocks.contains(&branch) && !blocks.contains(&way))
        };
        let mut ways = successors(self.body, branch);
        ways.sort_unstable();
        ways.dedup();
        ways.retain(|way| split.partial.contains(way) && !leaves(*way));
        let written: Vec<BTreeSet<u32>> = ways.iter().map(|way| self.reached(*way, &split.partial)).collect();
        let values = self.values;
        for (at, &block) in ways.iter().enumerate() {
            let by_others = |def: u32| (0..).zip(&written).any(|(other, blocks)| other != at && blocks.contains(&def));
            for &id in values.live_in(block) {
                if self.is_also_written_in(id, by_others) {
                    note(self, id, Reason::OtherWay { branch, block });
                }
            }
        }
    }

    /// Whether one of its writes stands in a block that `has` knows.
    fn is_written_in(&self, id: ValueId, has: impl Fn(u32) -> bool) -> bool {
        self.values.get(id).defs.iter().any(|def| has(self.block_of[*def as usize]))
    }

    /// The same of a value that is what another write has left, or nothing has, elsewhere.
    fn is_also_written_in(&self, id: ValueId, has: impl Fn(u32) -> bool) -> bool {
        let value = self.values.get(id);
        value.defs.len() + usize::from(value.undefined) > 1 && self.is_written_in(id, has)
    }

    /// The blocks among some that a way comes to which begins with one of them.
    fn reached(&self, block: u32, among: &BTreeSet<u32>) -> BTreeSet<u32> {
        let (mut reached, mut pending) = (BTreeSet::new(), vec![block]);
        while let Some(block) = pending.pop() {
            if among.contains(&block) && reached.insert(block) {
                pending.extend(successors(self.body, block));
            }
        }
        reached
    }

    /// Whether each trip of a loop gives a value the same, so that nobody has more of it who stays longer: it is computed of what is there before.
    fn is_constant_in(&self, id: ValueId, blocks: &Range<u32>) -> bool {
        /// Instructions that lead to it, at most.
        const PATIENCE: usize = 16;
        let mut pending = vec![id];
        let mut looked_at = 0;
        while let Some(id) = pending.pop() {
            let value = self.values.get(id);
            if !value.defs.iter().any(|def| blocks.contains(&self.block_of[*def as usize])) {
                continue;
            }
            let &[def] = &value.defs[..] else { return false };
            let inst = &self.body.insts[def as usize];
            looked_at += 1;
            if value.undefined || inst.guard.is_some() || looked_at > PATIENCE {
                return false;
            }
            if !is_timeless(&inst.op) || !computes_for_all(&inst.op) {
                return false;
            }
            let operands = inst.operands();
            let read = paired(&operands, self.values.of_inst(def)).filter(|(operand, _)| operand.read().is_some());
            pending.extend(read.filter_map(|(_, value)| value));
        }
        true
    }
}

/// Whether an instruction of some lanes gives those that do not run what it would give them if they ran: steps, and loads of where lanes go, leave them anything.
fn computes_for_all(op: &Op) -> bool {
    let goes_by_lane = matches!(op, Op::Ld { addr, .. } if matches!(addr.base, Base::Reg(_)));
    how(op) == How::Vector && !goes_by_lane
}

/// Whether a thread may end while others of its CTA go on: at an end that not all of them come to.
fn some_end(
    body: &Body,
    divergence: &Divergence,
    gang_splits: &BTreeMap<u32, Split>,
    shapes: &[Shape],
    values: &Values,
) -> bool {
    (0..body.blocks.len() as u32).any(|block| {
        let end = &body.blocks[block as usize].terminator;
        let guard = values.of_end(block).first().copied().flatten().filter(|_| end.guard.is_some());
        let apart = guard.is_some_and(|guard| !shapes[guard.0 as usize].is_cta_uniform());
        let ends = matches!(end.kind, TerminatorKind::Ret { .. } | TerminatorKind::Exit | TerminatorKind::Trap);
        let alone = divergence.partial[block as usize].is_some()
            || gang_splits.values().any(|split| split.partial.contains(&block));
        let parts = divergence.splits.contains_key(&block) || gang_splits.contains_key(&block);
        (ends && (apart || alone)) || (parts && successors(body, block).into_iter().any(|to| only_ends(body, to)))
    })
}

impl Divergence {
    fn new(body: &Body, splits: BTreeMap<u32, Split>, shapes: &[Shape], values: &Values) -> Divergence {
        let count = body.blocks.len();
        let mut partial = vec![None; count];
        for (&branch, split) in &splits {
            for &block in &split.partial {
                partial[block as usize].get_or_insert(branch);
            }
        }
        // Ways on which some lanes end and others go on.
        let mut ended = vec![false; count];
        let mut pending: Vec<u32> = Vec::new();
        for block in 0..count as u32 {
            let end = &body.blocks[block as usize].terminator;
            let divergent = splits.contains_key(&block)
                || (end.guard.is_some() && {
                    let guard = values.of_end(block).first().copied().flatten();
                    guard.is_some_and(|guard| !shapes[guard.0 as usize].is_uniform())
                });
            let ends = matches!(end.kind, TerminatorKind::Ret { .. } | TerminatorKind::Exit);
            let to_end = successors(body, block).into_iter().any(|to| only_ends(body, to));
            let some_end = (divergent && (ends || to_end)) || (ends && partial[block as usize].is_some());
            if some_end {
                // Behind the place where those that are left meet.
                let behind = match partial[block as usize].and_then(|branch| splits.get(&branch)) {
                    Some(split) => split.converges.into_iter().collect(),
                    None => Vec::new(),
                };
                pending.extend(successors(body, block).into_iter().chain(behind));
            }
        }
        while let Some(block) = pending.pop() {
            if !std::mem::replace(&mut ended[block as usize], true) {
                pending.extend(successors(body, block));
            }
        }
        Divergence { splits, partial, ended, some_end: true }
    }

    /// Whether all lanes of a gang that have not ended run a block together.
    pub fn is_together(&self, block: BlockId) -> bool {
        self.partial[block.0 as usize].is_none()
    }
}
