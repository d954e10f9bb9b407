//! Where registers are alive, and how many at once.
//!
//! A register is alive where a thread may yet read the value that it holds there. A write under a guard leaves the old value to
//! other threads, so it does not end the life of what was there before. [`Liveness::pressure`] is what a register allocator could not do
//! without: the number of registers that a launch needs of each thread, counted from the PTX alone, whoever executes it.
//!
//! A loop that writes a register nowhere has it alive in all of its blocks or in none, because each of them can reach each other; so the
//! walk back from the readers of a register passes such a loop in one step, and the work is nearly linear however deep loops nest.

use super::{Body, Cfg, Function, FunctionKind, Loop, OperandRef, Reg, ScalarType, Storage, TerminatorKind};
use std::ops::Range;

/// The blocks at whose beginnings and ends each register of a body is alive.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    ranges: Vec<Range<u32>>,
    /// By register: its part of `ranges`, the beginnings up to the second number, the ends behind.
    of: Vec<[u32; 3]>,
}

/// The most registers that are alive at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Of 32 bits; one of 64 bits counts as two, one of 128 as four, one of fewer as one.
    pub registers: u32,
    /// Of type `.pred`.
    pub predicates: u32,
}

/// What a block does with a register.
#[derive(Clone, Copy)]
struct Touch {
    reg: Reg,
    block: u32,
    /// It reads what the register held at its beginning.
    exposed: bool,
    /// It writes the register in all threads that come by.
    kills: bool,
}

impl Liveness {
    /// Computes it.
    pub fn new(function: &Function, body: &Body) -> Liveness {
        let flow = Flow::new(body);
        let mut touches = touches(function, body);
        touches.sort_by_key(|touch| (touch.reg, touch.block));
        let mut of = vec![[0; 3]; body.regs.len()];
        let mut walk = Walk::new(&flow);
        for touches in touches.chunk_by(|a, b| a.reg == b.reg) {
            let start = walk.out.len() as u32;
            let middle = walk.run(touches);
            of[touches[0].reg.0 as usize] = [start, middle, walk.out.len() as u32];
        }
        Liveness { ranges: walk.out, of }
    }

    /// Ranges of blocks at whose beginning the register is alive, in ascending order with gaps between them.
    pub fn live_in(&self, reg: Reg) -> &[Range<u32>] {
        let [start, middle, _] = self.of[reg.0 as usize];
        &self.ranges[start as usize..middle as usize]
    }

    /// Ranges of blocks at whose end the register is alive, in ascending order with gaps between them.
    pub fn live_out(&self, reg: Reg) -> &[Range<u32>] {
        let [_, middle, end] = self.of[reg.0 as usize];
        &self.ranges[middle as usize..end as usize]
    }

    /// The most registers that are alive at once in `body`, results that nothing reads included while they are written.
    pub fn pressure(&self, function: &Function, body: &Body) -> Pressure {
        let mut ends = Vec::new();
        let mut carried = vec![Count::default(); body.blocks.len() + 1];
        for (reg, decl) in body.regs.iter().enumerate() {
            let reg = Reg(reg as u32);
            for range in self.live_out(reg) {
                carried[range.start as usize].add(decl.ty);
                carried[range.end as usize].remove(decl.ty);
            }
        }
        for touch in touches(function, body) {
            let ranges = self.live_out(touch.reg);
            let at = ranges.partition_point(|range| range.end <= touch.block);
            if ranges.get(at).is_some_and(|range| range.contains(&touch.block)) {
                ends.push((touch.block, touch.reg));
            }
        }
        ends.sort_unstable();
        let mut ends = ends.chunk_by(|a, b| a.0 == b.0).peekable();
        let mut alive = vec![false; body.regs.len()];
        let mut sum = Count::default();
        let mut most = Pressure::default();
        for (number, block) in body.blocks.iter().enumerate() {
            sum.merge(carried[number]);
            let mut scan = Scan { body, alive: &mut alive, now: sum, most: &mut most, touched: Vec::new() };
            if let Some(known) = ends.next_if(|known| known[0].0 as usize == number) {
                for &(_, reg) in known {
                    scan.mark(reg);
                }
            }
            let results = results(function, &block.terminator.kind);
            scan.step(&block.terminator.operands(), results, false);
            for inst in body.insts[block.insts.start as usize..block.insts.end as usize].iter().rev() {
                scan.step(&inst.operands(), &[], inst.guard.is_some());
            }
            for reg in scan.touched {
                alive[reg.0 as usize] = false;
            }
        }
        most
    }
}

/// The result registers that the end of a block hands to the caller.
fn results<'f>(function: &'f Function, end: &TerminatorKind) -> &'f [super::Param] {
    match end {
        TerminatorKind::Ret { .. } if function.kind == FunctionKind::Device => &function.returns,
        _ => &[],
    }
}

fn in_registers(params: &[super::Param]) -> impl Iterator<Item = Reg> + '_ {
    params.iter().filter_map(|param| match param.storage {
        Storage::Register(reg) => Some(reg),
        Storage::Memory { .. } => None,
    })
}

/// What each block does with each register that it touches.
fn touches(function: &Function, body: &Body) -> Vec<Touch> {
    let mut out: Vec<Touch> = Vec::new();
    // By register: where in `out` it is for the block at hand.
    let mut known: Vec<Option<usize>> = vec![None; body.regs.len()];
    for (number, block) in body.blocks.iter().enumerate() {
        let number = number as u32;
        let first = out.len();
        let mut touch = |reg: Reg, change: &dyn Fn(&mut Touch)| {
            let index = known[reg.0 as usize].filter(|index| *index >= first).unwrap_or_else(|| {
                out.push(Touch { reg, block: number, exposed: false, kills: false });
                out.len() - 1
            });
            known[reg.0 as usize] = Some(index);
            change(&mut out[index]);
        };
        let read = |touch: &mut Touch| touch.exposed |= !touch.kills;
        for inst in &body.insts[block.insts.start as usize..block.insts.end as usize] {
            let operands = inst.operands();
            operands.iter().filter_map(OperandRef::read).for_each(|reg| touch(reg, &read));
            let kills = inst.guard.is_none();
            operands.iter().filter_map(OperandRef::def).for_each(|reg| touch(reg, &|touch| touch.kills |= kills));
        }
        let end = &block.terminator;
        end.operands().iter().filter_map(OperandRef::read).for_each(|reg| touch(reg, &read));
        in_registers(results(function, &end.kind)).for_each(|reg| touch(reg, &read));
    }
    out
}

/// The flow graph as the walk wants it.
struct Flow<'b> {
    loops: &'b [Loop],
    predecessors: Vec<Vec<u32>>,
    /// By block: the innermost loop around it.
    innermost: Vec<Option<u32>>,
    /// By loop: the blocks outside from which control enters it.
    entered_from: Vec<Vec<u32>>,
}

impl<'b> Flow<'b> {
    fn new(body: &'b Body) -> Flow<'b> {
        let predecessors: Vec<Vec<u32>> = Cfg::new(body)
            .predecessors
            .into_iter()
            .map(|from| from.into_iter().map(|block| block.0).collect())
            .collect();
        let innermost = body.innermost_loops();
        let mut entered_from = vec![Vec::new(); body.loops.len()];
        for (block, from) in predecessors.iter().enumerate() {
            for &from in from {
                let mut around = innermost[block];
                while let Some(index) = around
                    && !body.loops[index as usize].blocks.contains(&from)
                {
                    entered_from[index as usize].push(from);
                    around = body.loops[index as usize].parent;
                }
            }
        }
        Flow { loops: &body.loops, predecessors, innermost, entered_from }
    }
}

/// A block, or a loop that does not write the register.
#[derive(Clone, Copy)]
enum Unit {
    Block(u32),
    Loop(u32),
}

/// Goes back from where a register is read to where it is written, one register after the other.
struct Walk<'f> {
    flow: &'f Flow<'f>,
    out: Vec<Range<u32>>,
    begins: Vec<Range<u32>>,
    ends: Vec<Range<u32>>,
    /// The blocks that write the register for all threads, ascending.
    kills: Vec<u32>,
    /// The register that a block's beginning, a block's end, or a loop was last marked for, by a number that grows.
    round: u32,
    begun: Vec<u32>,
    ended: Vec<u32>,
    passed: Vec<u32>,
    /// Blocks at whose end the register was found to be alive.
    pending: Vec<u32>,
}

impl<'f> Walk<'f> {
    fn new(flow: &'f Flow<'f>) -> Self {
        let blocks = flow.predecessors.len();
        Walk {
            flow,
            out: Vec::new(),
            begins: Vec::new(),
            ends: Vec::new(),
            kills: Vec::new(),
            round: 0,
            begun: vec![0; blocks],
            ended: vec![0; blocks],
            passed: vec![0; flow.loops.len()],
            pending: Vec::new(),
        }
    }

    /// Appends the ranges of one register, touched as listed; gives where those of ends begin.
    fn run(&mut self, touches: &[Touch]) -> u32 {
        self.round += 1;
        self.kills.clear();
        self.kills.extend(touches.iter().filter(|touch| touch.kills).map(|touch| touch.block));
        for touch in touches.iter().filter(|touch| touch.exposed) {
            self.begin(touch.block);
        }
        while let Some(block) = self.pending.pop() {
            match self.unit(block) {
                Unit::Loop(index) => self.pass(index),
                Unit::Block(block) => {
                    if std::mem::replace(&mut self.ended[block as usize], self.round) == self.round {
                        continue;
                    }
                    self.ends.push(block..block + 1);
                    if self.kills.binary_search(&block).is_err() {
                        self.begin(block);
                    }
                }
            }
        }
        append_joined(&mut self.out, &mut self.begins);
        let middle = self.out.len() as u32;
        append_joined(&mut self.out, &mut self.ends);
        middle
    }

    /// The outermost loop around a block that does not write the register, or the block.
    fn unit(&self, block: u32) -> Unit {
        let mut unit = Unit::Block(block);
        let mut around = self.flow.innermost[block as usize];
        while let Some(index) = around {
            let Loop { blocks, parent, .. } = &self.flow.loops[index as usize];
            let first = self.kills.partition_point(|kill| *kill < blocks.start);
            if self.kills.get(first).is_some_and(|kill| *kill < blocks.end) {
                break;
            }
            unit = Unit::Loop(index);
            around = *parent;
        }
        unit
    }

    /// The register is alive at the beginning of a block.
    fn begin(&mut self, block: u32) {
        match self.unit(block) {
            Unit::Loop(index) => self.pass(index),
            Unit::Block(block) => {
                if std::mem::replace(&mut self.begun[block as usize], self.round) != self.round {
                    self.begins.push(block..block + 1);
                    self.pending.extend(&self.flow.predecessors[block as usize]);
                }
            }
        }
    }

    /// The register is alive in all of a loop.
    fn pass(&mut self, index: u32) {
        if std::mem::replace(&mut self.passed[index as usize], self.round) != self.round {
            let blocks = &self.flow.loops[index as usize].blocks;
            self.begins.push(blocks.clone());
            self.ends.push(blocks.clone());
            self.pending.extend(&self.flow.entered_from[index as usize]);
        }
    }
}

/// Moves ranges over in ascending order, joined where they meet.
fn append_joined(out: &mut Vec<Range<u32>>, ranges: &mut Vec<Range<u32>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    let first = out.len();
    for range in ranges.drain(..) {
        match out[first..].last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
}

/// Registers of 32 bits and predicates, or a difference of them.
#[derive(Clone, Copy, Default)]
struct Count {
    registers: i64,
    predicates: i64,
}

impl Count {
    fn add(&mut self, ty: ScalarType) {
        self.change(ty, 1);
    }

    fn remove(&mut self, ty: ScalarType) {
        self.change(ty, -1);
    }

    fn change(&mut self, ty: ScalarType, sign: i64) {
        match ty {
            ScalarType::Pred => self.predicates += sign,
            ty => self.registers += sign * i64::from(ty.bits().div_ceil(32)),
        }
    }

    fn merge(&mut self, other: Count) {
        self.registers += other.registers;
        self.predicates += other.predicates;
    }
}

/// Goes through a block from its end.
struct Scan<'b> {
    body: &'b Body,
    alive: &'b mut [bool],
    now: Count,
    most: &'b mut Pressure,
    touched: Vec<Reg>,
}

impl Scan<'_> {
    /// Whether the register was dead until now; it is alive from here on.
    fn mark(&mut self, reg: Reg) -> bool {
        let fresh = !std::mem::replace(&mut self.alive[reg.0 as usize], true);
        if fresh {
            self.touched.push(reg);
        }
        fresh
    }

    fn note(&mut self) {
        self.most.registers = self.most.registers.max(self.now.registers as u32);
        self.most.predicates = self.most.predicates.max(self.now.predicates as u32);
    }

    fn step(&mut self, operands: &[OperandRef], results: &[super::Param], guarded: bool) {
        // A result that nothing reads takes a register all the same, while it is written.
        let defs = || operands.iter().filter_map(OperandRef::def);
        let unread: Vec<Reg> = defs().filter(|reg| self.mark(*reg)).collect();
        unread.iter().for_each(|reg| self.now.add(self.body.regs[reg.0 as usize].ty));
        self.note();
        for reg in defs().filter(|reg| !guarded || unread.contains(reg)) {
            if std::mem::replace(&mut self.alive[reg.0 as usize], false) {
                self.now.remove(self.body.regs[reg.0 as usize].ty);
            }
        }
        for reg in operands.iter().filter_map(OperandRef::read).chain(in_registers(results)) {
            if self.mark(reg) {
                self.now.add(self.body.regs[reg.0 as usize].ty);
            }
        }
        self.note();
    }
}
