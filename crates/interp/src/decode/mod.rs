//! Typed IR to dense code, once per kernel.
//!
//! Registers become slots, constants become rows that are filled when a frame is made, branch targets become instruction indices,
//! modifiers choose the operation. One file per instruction family, in the order of PTX ISA 9.7. An instruction that the interpreter
//! lacks makes the load fail with its name and line.

mod access;
mod asynchronous;
mod compare;
mod control;
mod convert;
mod family;
mod float;
mod hoist;
mod integer;
mod logic;
mod matrix;
mod memory;
mod moves;
mod observe;
mod operands;
mod pieces;
mod simplify;
mod slots;
mod spreads;
mod sums;
mod sync;
mod texture;
mod video;

use std::collections::HashMap;
use std::ops::Range;

use warploom_exec::observe::Wants;
use warploom_ptx::ir::{self, BlockId, Body, FunctionId, FunctionKind, GlobalId, Module, Predicate, SharedLayout};

use crate::dispatch::stretches;
use crate::error::LoadError;
use crate::frame::{FrameLayout, Home};
use crate::isa::{Isa, Op};
use crate::machine::NO_GUARD;
use crate::program::{Function, Inst, Line};
use family::Family;
use hoist::{Hoisted, When};
use observe::Behind;
use spreads::Spreads;

/// What all functions of a program are decoded against.
pub(crate) struct Context<'a> {
    pub(crate) module: &'a Module,
    pub(crate) isa: Isa,
    /// Index in the program of each function of the module that the kernel reaches.
    pub(crate) functions: &'a HashMap<FunctionId, u32>,
    /// Addresses of variables in global and constant memory.
    pub(crate) is_placed: &'a dyn Fn(GlobalId) -> bool,
    pub(crate) shared: &'a SharedLayout,
    /// What an observer wants to be told of, if there is one.
    pub(crate) observed: Option<Wants>,
}

/// Why an instruction cannot be decoded.
pub(crate) enum Refused {
    /// The interpreter lacks it.
    Unsupported,
    /// A variable has no address.
    Unresolved(String),
}

/// Where a variable of the module is.
enum Variable {
    /// At this offset of a CTA's shared memory.
    Shared(u32),
    /// Where the launch says, under this number.
    Placed(u32),
}

type Decoded<T = ()> = Result<T, Refused>;

/// Decodes the body of `id`.
pub(crate) fn decode(context: &Context<'_>, id: FunctionId) -> Result<Function, LoadError> {
    let source = &context.module.functions[id.0 as usize];
    let Some(body) = &source.body else {
        return Err(LoadError::Undefined { function: source.name.clone() });
    };
    let mut body = simplify::simplify(source, body);
    let sums = sums::arrange(context.module, source, &mut body);
    ir::assert_sound(|| ir::check(context.module, source, &body));
    let hoisted = hoist::hoist(context.module, source, &body);
    let number = context.functions.get(&id).copied().unwrap_or_default();
    Decoder::new(context, number, source, &body, &hoisted).run(sums)
}

struct Decoder<'a> {
    context: &'a Context<'a>,
    /// Of the function in the program.
    number: u32,
    source: &'a ir::Function,
    body: &'a Body,
    hoisted: &'a Hoisted,
    counts: simplify::Counts,
    function: Function,
    homes: Vec<Home>,
    constants32: HashMap<u32, u32>,
    constants64: HashMap<u64, u32>,
    variables: HashMap<(u32, i64), u32>,
    constant_predicates: [Option<u32>; 2],
    guard: u32,
    line: Line,
    /// What is known at this place of how addresses lie, and what is looked at ahead.
    spreads: Spreads,
    looks_ahead: Vec<(Inst, When)>,
    /// Instructions that follow the one being decoded, to widen its result.
    after: Vec<(Inst, Line)>,
    starts: Vec<u32>,
    /// Of each instruction, whether it goes on with the next one or fails.
    straight: Vec<bool>,
    fixups: Vec<(usize, BlockId)>,
    table_fixups: Vec<Vec<BlockId>>,
}

impl<'a> Decoder<'a> {
    fn new(
        context: &'a Context<'a>,
        number: u32,
        source: &'a ir::Function,
        body: &'a Body,
        hoisted: &'a Hoisted,
    ) -> Self {
        let mut layout = FrameLayout::default();
        let homes = slots::assign(source, body, &hoisted.kept, &mut layout);
        let local = body.local_size.next_multiple_of(16);
        let params = body.param_size.saturating_sub(outside_frame(source));
        let own = if source.kind == FunctionKind::Kernel { source.param_buffer_size } else { 0 };
        let local_bytes = (local + params).next_multiple_of(16);
        let function = Function {
            name: source.name.clone(),
            frame_for_each_warp: hoisted.frame_for_each_warp,
            layout,
            stack_bytes: body.local_size,
            local_bytes,
            local_end: if body.param_size > own { local_bytes } else { body.local_size },
            ..Function::default()
        };
        let mut decoder = Self {
            context,
            number,
            source,
            body,
            hoisted,
            counts: simplify::Counts::of(source, body),
            function,
            spreads: Spreads::new(&homes, hoisted),
            looks_ahead: Vec::new(),
            homes,
            constants32: HashMap::new(),
            constants64: HashMap::new(),
            variables: HashMap::new(),
            constant_predicates: [None; 2],
            guard: NO_GUARD,
            line: Line::default(),
            after: Vec::new(),
            starts: Vec::new(),
            straight: Vec::new(),
            fixups: Vec::new(),
            table_fixups: Vec::new(),
        };
        if source.kind == FunctionKind::Device {
            decoder.function.parameters = source.params.iter().map(|param| decoder.formal(param)).collect();
            decoder.function.results = source.returns.iter().map(|param| decoder.formal(param)).collect();
        }
        decoder
    }

    /// `sums`: the ranges of instructions that may be replaced, in ascending order.
    fn run(&mut self, sums: Vec<Range<usize>>) -> Result<Function, LoadError> {
        let mut sums = sums.into_iter().peekable();
        self.observe_entry();
        for block in &self.body.blocks {
            self.starts.push(self.function.code.len() as u32);
            self.spreads.forget_all();
            let mut plain_end = None;
            for index in block.insts.start as usize..block.insts.end as usize {
                let inst = &self.body.insts[index];
                if let Some(range) = sums.next_if(|range| range.start == index)
                    && self.hoisted.when[range.clone()].iter().all(|when| *when == When::Here)
                {
                    self.place(inst.line, inst.loc, None);
                    plain_end = self.sums(range.clone()).map(|site| (site, range.end));
                }
                if let Some((site, _)) = plain_end.take_if(|(_, end)| *end == index) {
                    self.end_of_sums(site);
                }
                let first = self.function.code.len();
                self.place(inst.line, inst.loc, inst.guard);
                let behind = match self.hoisted.when[index] {
                    When::Here => self.observe(inst).map_err(|refused| self.refuse(refused, inst))?,
                    When::Launch | When::Cta => Behind::default(),
                };
                self.inst(inst).map_err(|refused| self.refuse(refused, inst))?;
                self.note_written(inst);
                for (inst, line) in std::mem::take(&mut self.after) {
                    self.function.code.push(inst);
                    self.function.lines.push(line);
                    self.straight.push(true);
                }
                self.observe_behind(behind);
                let ahead = match self.hoisted.when[index] {
                    When::Here => continue,
                    When::Launch => &mut self.function.before_launch,
                    When::Cta => &mut self.function.before_cta,
                };
                ahead.extend(self.function.code.drain(first..));
                self.function.lines.truncate(first);
                self.straight.truncate(first);
            }
            if let Some((site, _)) = plain_end {
                self.end_of_sums(site);
            }
            let terminator = &block.terminator;
            self.place(terminator.line, terminator.loc, terminator.guard);
            self.observe_end(terminator);
            self.terminator(terminator).map_err(|_| LoadError::Unsupported {
                function: self.source.name.clone(),
                instruction: "branch".into(),
                line: terminator.line,
            })?;
        }
        let mut branches = vec![false; self.function.code.len()];
        for (index, target) in std::mem::take(&mut self.fixups) {
            branches[index] = true;
            self.function.code[index].imm = self.starts[target.0 as usize];
        }
        for targets in std::mem::take(&mut self.table_fixups) {
            let targets = targets.iter().map(|target| self.starts[target.0 as usize]).collect();
            self.function.branches.push(targets);
        }
        for (look, when) in std::mem::take(&mut self.looks_ahead) {
            match when {
                When::Cta => self.function.before_cta.push(look),
                When::Launch | When::Here => self.function.before_launch.push(look),
            }
        }
        self.function.ends = stretches(&self.straight, &branches, &self.starts);
        Ok(std::mem::take(&mut self.function))
    }

    fn refuse(&self, refused: Refused, inst: &ir::Inst) -> LoadError {
        let function = self.source.name.clone();
        let line = inst.line;
        match refused {
            Refused::Unresolved(variable) => LoadError::Unresolved { function, variable, line },
            Refused::Unsupported => {
                let instruction = self.context.module.mnemonic(inst.mnemonic).to_owned();
                LoadError::Unsupported { function, instruction, line }
            }
        }
    }

    fn place(&mut self, line: u32, loc: Option<ir::LocId>, guard: Option<Predicate>) {
        let source = loc.and_then(|loc| self.body.locs.get(loc.index()));
        self.line = Line {
            ptx: line,
            file: source.map_or(0, |source| source.file),
            line: source.map_or(0, |source| source.line),
        };
        self.guard = guard.map_or(NO_GUARD, |guard| self.predicate(guard));
    }

    fn inst(&mut self, inst: &ir::Inst) -> Decoded {
        match Family::of(&inst.op) {
            Family::Integer => self.integer(&inst.op),
            Family::Extended => self.extended(&inst.op),
            Family::Float => self.float(&inst.op),
            Family::Comparison => self.comparison(&inst.op),
            Family::Logic => self.logic(&inst.op),
            Family::Moves => self.moves(&inst.op),
            Family::Conversion => self.conversion(&inst.op),
            Family::Memory => self.memory(&inst.op),
            Family::Control => self.control(&inst.op),
            Family::Sync => self.sync(&inst.op),
            Family::Video(op) => self.video(op),
            Family::Texture(op) => self.texture(op),
            Family::Asynchronous(op) => self.asynchronous(op),
            Family::Matrix(op) => self.matrix(op),
            Family::Unsupported => Err(Refused::Unsupported),
        }
    }

    /// Appends an instruction under the current guard.
    fn emit(&mut self, op: Op, d: u32, [a, b, c]: [u32; 3], imm: u32) {
        let run = op.select(self.context.isa);
        self.function.code.push(Inst { run, d, a, b, c, imm, guard: self.guard });
        self.function.lines.push(self.line);
        self.straight.push(op.straight);
    }

    /// Appends an instruction behind the one being decoded.
    fn emit_after(&mut self, op: Op, d: u32, a: u32) {
        let run = op.select(self.context.isa);
        self.after.push((Inst { run, d, a, b: 0, c: 0, imm: 0, guard: self.guard }, self.line));
    }
}

/// How much of a function's parameter frame is not in its local memory: what a kernel is launched with, in units that keep
/// the alignment of the `.param` variables behind it.
fn outside_frame(source: &ir::Function) -> u32 {
    match source.kind {
        FunctionKind::Kernel => source.param_buffer_size & !15,
        FunctionKind::Device => 0,
    }
}

/// Reserves rows and returns the first.
fn bump(count: &mut usize, rows: usize) -> u32 {
    let slot = *count as u32;
    *count += rows;
    slot
}

/// Puts something into a table of the function; its index.
fn enter<T>(table: &mut Vec<T>, entry: T) -> u32 {
    table.push(entry);
    table.len() as u32 - 1
}
