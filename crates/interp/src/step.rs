//! Single instructions of a kernel, for an executor that has no code of its own for them: operands in, results out, for the lanes of a warp.
//!
//! Each becomes a device function of its own, with what it reads as parameters and what it writes as results, so that it means exactly what it does in a
//! kernel. Instructions that compute, those on textures and surfaces, on matrices and mbarriers, asynchronous copies, and calls of what the system provides can be had so: the CTA's
//! shared memory lies here for them, and local memory is lent. So can those that move the end of a thread's stack. Others that access local memory, wait, call or branch cannot.

use std::collections::HashMap;

use bytemuck::{cast_mut, cast_slice};
use warploom_exec::fault::FaultKind;
use warploom_exec::grid::Grid;
use warploom_exec::memory::Readable;
use warploom_ptx::ir::{
    Block, Body, CallTarget, Directives, Function, FunctionId, FunctionKind, Inst, Linkage, Module, Op, Param, Reg,
    Space, Step, Storage, Terminator, TerminatorKind,
};

use crate::cta::CtaShared;
use crate::decode::{Context, decode};
use crate::dispatch::End;
use crate::error::LoadError;
use crate::frame::{FULL, Row32};
use crate::isa::{Isa, Processor};
use crate::machine::{Flow, Machine, NO_GUARD, Trouble};
use crate::ops::matrix::direct::{Direct, Factors, Numbers};
use crate::ops::matrix::warpgroup_blocks;
use crate::ops::plane::direct::{Direct as Fetch, FetchPlaces, PreparedFetch};
use crate::ops::plane::{Found, found};
use crate::program::{Program, ValuePlace};
use crate::warp::{Activation, Warp};

/// Warps that a CTA has at most (CUDA programming guide, technical specifications).
const MOST_WARPS: usize = 32;

/// Some instructions of a kernel.
pub struct Steps {
    program: Program,
    isa: Isa,
    /// By step: a product that needs no warp.
    products: Vec<Option<Direct>>,
    /// By step: a part of a product of a warpgroup that needs no warp.
    warpgroup_products: Vec<Option<warpgroup_blocks::Direct>>,
    /// By step: a fetch that needs none.
    fetches: Vec<Option<Fetch>>,
    /// By step: what it needs of the threads.
    needs: Vec<Needs>,
}

/// What an instruction needs of its threads beside operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// Who they are, and what is in their local memory.
    Memory,
    /// The ends of their stacks.
    Stack,
}

/// For whom a step runs.
#[derive(Debug)]
pub struct Gang<'g> {
    /// `%ctaid`
    pub cta: [u32; 3],
    /// `%smid`
    pub worker: u32,
    /// Lanes that are handed over, up to 32.
    pub width: usize,
    /// Those of them that run.
    pub mask: u32,
    /// Number in the CTA of the first lane's thread.
    pub thread: u32,
    /// Their local memory.
    pub local: Local<'g>,
    /// By lane: the end of its thread's stack. Empty where no step moves it.
    pub tops: &'g mut [u32],
}

/// Local memory of threads that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Local<'l> {
    /// From the first byte of the first one's on.
    pub bytes: &'l [u8],
    /// Bytes of each.
    pub size: usize,
    /// Bytes from one to the next.
    pub stride: usize,
}

/// What steps leave from one to the next.
#[derive(Default)]
pub struct StepState {
    shared: CtaShared,
    warp: Option<Box<Warp>>,
    factors: Factors,
    /// By step: what it has found last.
    found: Vec<Option<Found<PreparedFetch>>>,
}

impl StepState {
    /// The CTA's shared memory.
    pub fn shared_memory(&mut self) -> &mut [u8] {
        &mut self.shared.shared
    }

    /// Shared memory for a new CTA of so many threads: so many zeros. It stays where it is until the next time.
    pub fn start(&mut self, threads: u32, bytes: usize) -> &mut [u8] {
        let warps = MOST_WARPS.min(threads.div_ceil(32) as usize);
        self.shared.start_memory(bytes);
        // No step changes what is known of warps. Copied for each CTA, they would be loaded when they have just been stored by narrower stores, for
        // which a processor waits until all that the CTA before has stored is in its cache.
        if self.shared.barriers.warps() != warps {
            self.shared.barriers.start(&[u32::MAX; MOST_WARPS][..warps]);
        }
        &mut self.shared.shared
    }
}

impl Steps {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// Decodes some instructions of a kernel, and of functions that it calls.
    ///
    /// # Errors
    /// [`LoadError`] for an instruction that the interpreter lacks, or that cannot be had on its own.
    pub fn new(module: &Module, kernel: FunctionId, steps: &[Step], processor: Processor) -> Result<Steps, LoadError> {
        let isa = Isa::detect(processor);
        let body = |step: &Step| {
            let source = &module.functions[step.function.0 as usize];
            source.body.as_ref().ok_or_else(|| LoadError::Undefined { function: source.name.clone() })
        };
        let bodies = steps.iter().map(body).collect::<Result<Vec<_>, _>>()?;
        let insts: Vec<&Inst> = bodies.iter().zip(steps).map(|(body, step)| &body.insts[step.inst as usize]).collect();
        let unsupported = |step: &Step, inst: &Inst, instruction: String| LoadError::Unsupported {
            function: module.functions[step.function.0 as usize].name.clone(),
            instruction,
            line: inst.line,
        };
        let mut functions: Vec<Function> = bodies.iter().zip(steps).map(|(body, step)| function(body, step)).collect();
        // What calls mean stands behind them.
        for call in 0..functions.len() {
            let next = FunctionId(functions.len() as u32);
            let Some(Body { insts, callees, .. }) = &mut functions[call].body else { continue };
            if let [Inst { op: Op::Call { target, .. }, .. }] = &mut insts[..]
                && let CallTarget::Direct(id) = &mut **target
            {
                let provided = provided(&module.functions[id.0 as usize]);
                *id = next;
                callees.push(next);
                functions.push(provided);
            }
        }
        let alone = Module {
            version: module.version,
            target: module.target.clone(),
            address_size: module.address_size,
            globals: module.globals.clone(),
            mnemonics: module.mnemonics.clone(),
            functions,
            ..Module::default()
        };
        let ids: Vec<FunctionId> = (0..steps.len() as u32).map(FunctionId).collect();
        let by_id: HashMap<FunctionId, u32> = ids.iter().map(|id| (*id, id.0)).collect();
        let shared = module.shared_layout(kernel);
        let context =
            Context { module: &alone, isa, functions: &by_id, is_placed: &|_| true, shared: &shared, observed: None };
        let functions = ids.iter().map(|id| decode(&context, *id)).collect::<Result<Vec<_>, _>>()?;
        for (function, (step, inst)) in functions.iter().zip(steps.iter().zip(&insts)) {
            // One stretch of code, and the return behind it; or what may end a stretch, but goes on where it has not failed.
            let goes_on = matches!(inst.op, Op::Matrix(_) | Op::Async(_) | Op::Mbarrier(_) | Op::Call { .. });
            if !goes_on && function.ends.first() != Some(&End::control(function.code.len() as u32 - 1)) {
                return Err(unsupported(step, inst, module.mnemonic(inst.mnemonic).to_owned()));
            }
        }
        let constants = module.globals.iter().zip(0u32..).filter(|(global, _)| global.space == Space::Const);
        let constants = constants.map(|(global, index)| (index, global.size)).collect();
        let mut numbers = Numbers::default();
        let products = functions.iter().zip(steps).map(|(function, step)| Direct::new(function, step, &mut numbers));
        let products: Vec<_> = products.collect();
        let lacking = |at: &usize| steps[*at].kept != [false; 2] && products[*at].is_none();
        if let Some(at) = (0..steps.len()).find(lacking) {
            let instruction = format!("{} without its factors", module.mnemonic(insts[at].mnemonic));
            return Err(unsupported(&steps[at], insts[at], instruction));
        }
        let warpgroup_products = functions.iter().map(warpgroup_blocks::Direct::new).collect();
        let fetches = functions.iter().map(Fetch::new).collect();
        let needs = insts.iter().map(|inst| match inst.op {
            Op::Call { .. } => Needs::Memory,
            Op::StackSave { .. } | Op::StackRestore { .. } | Op::Alloca { .. } => Needs::Stack,
            _ => Needs::Nothing,
        });
        let needs = needs.collect();
        let program =
            Program { functions, kernel: 0, static_shared: 0, known_stack: 0, files: HashMap::new(), by_id, constants };
        Ok(Steps { program, isa, products, warpgroup_products, fetches, needs })
    }

    /// How many rows registers have, of 32 and of 64 bits.
    pub fn rows(&self) -> [usize; 2] {
        let layout = &self.program.functions[0].layout;
        [layout.rows32, layout.rows64]
    }

    /// One of them, if it is a fetch that needs nothing but its operands, and the texture of a handle that all lanes have, which may be read.
    #[inline(always)]
    pub fn fetch<'s, 'g>(
        &self,
        state: &'s mut StepState,
        grid: &'g Grid,
        step: usize,
        handle: u64,
    ) -> Option<(&'s PreparedFetch, Readable<'g>)> {
        if state.found.len() <= step {
            state.found.resize_with(self.fetches.len(), || None);
        }
        let make = || self.fetches.get(step)?.as_ref()?.prepare(self.isa, grid, handle);
        found(state.found.get_mut(step)?, grid, handle, make)
    }

    /// Runs one of them, if it is such a fetch whose lanes have one handle, as [`Steps::run`] does.
    fn run_fetch(
        &self,
        state: &mut StepState,
        grid: &Grid,
        step: usize,
        (width, mask): (usize, u32),
        words: &mut [u64],
    ) -> Option<()> {
        let handle = self.fetches[step].as_ref()?.handle((width, mask), words)?;
        let (fetch, memory) = self.fetch(state, grid, step, handle)?;
        let FetchPlaces { at: [x, y], results } = fetch.places();
        let (operands, others) = words.as_chunks_mut::<{ Step::PLACE_WORDS }>().0.split_at_mut_checked(results)?;
        let operands: &[[Row32; 2]] = cast_slice(operands);
        fetch.run(memory, [&operands.get(x)?[0], &operands.get(y)?[0]], cast_mut(others.first_chunk_mut::<4>()?), width)
    }

    /// Runs one of them: operands and results are handed over in `words`, see [`Step`].
    ///
    /// # Errors
    /// The fault and its lane.
    pub fn run(
        &self,
        state: &mut StepState,
        grid: &Grid,
        step: usize,
        gang: &mut Gang<'_>,
        words: &mut [u64],
    ) -> Result<(), (FaultKind, u32)> {
        let &mut Gang { cta, worker, width, mask, .. } = gang;
        if let (LANES, FULL, Some(product)) = (width, mask, &self.products[step])
            && product.run(self.isa, words, &mut state.factors)
        {
            return Ok(());
        }
        if self.products[step].as_ref().is_some_and(|product| product.lacks_factors() && (width, mask) != (LANES, FULL))
        {
            return Err((FaultKind::Internal("a product of some lanes without its factors".to_owned()), 0));
        }
        if let (LANES, FULL, Some(product)) = (width, mask, &self.warpgroup_products[step])
            && product.run(self.isa, gang.thread / 32, words, &mut state.shared)
        {
            return Ok(());
        }
        if self.run_fetch(state, grid, step, (width, mask), words).is_some() {
            return Ok(());
        }
        state.shared.id = cta;
        state.shared.worker = worker;
        let function = &self.program.functions[step];
        let frame = state.shared.frames.take(&self.program, step as u32, 0, &grid.launch.variables);
        let mut warp = state.warp.take().unwrap_or_default();
        (warp.index, warp.lanes) = (gang.thread / 32, mask);
        match self.needs[step] {
            Needs::Nothing => {}
            Needs::Memory => warp.lend(gang, grid.launch.cta).map_err(|kind| (kind, mask.trailing_zeros()))?,
            Needs::Stack => warp.lend_stack(gang),
        }
        let shared = &mut state.shared;
        let mut machine = Machine {
            active: mask,
            activation: 0,
            ..Machine::new(&self.program, function, self.isa, grid, shared, frame, warp)
        };
        let mut slots = words.chunks_exact_mut(Step::PLACE_WORDS);
        for (place, slot) in function.parameters.iter().zip(&mut slots) {
            take(&mut machine, *place, width, slot);
        }
        let end = function.code.len().saturating_sub(1);
        let mut fault = None;
        for (at, inst) in function.code[..end].iter().enumerate() {
            let running = if inst.guard == NO_GUARD { mask } else { mask & machine.predicate(inst.guard) };
            machine.pc = at as u32;
            if running != 0 && (inst.run)(&mut machine, inst, running) != Flow::Next {
                let unknown =
                    || Trouble { kind: FaultKind::Internal("an instruction on its own has branched".into()), lane: 0 };
                fault = Some(machine.fault.take().unwrap_or_else(unknown));
                break;
            }
        }
        for (place, slot) in function.results.iter().zip(&mut slots) {
            give(&machine, *place, width, slot);
        }
        let Machine { view, cta, warp, frame, .. } = machine;
        if self.needs[step] == Needs::Stack {
            gang.tops.copy_from_slice(&warp.activations[0].top()[..gang.tops.len()]);
        }
        cta.frames.give(frame);
        cta.recent = Some(view.into_recent());
        state.warp = Some(warp);
        fault.map_or(Ok(()), |trouble| Err((trouble.kind, trouble.lane)))
    }
}

impl Warp {
    /// Is the warp of some threads, with a copy of their local memory.
    #[cold]
    fn lend(&mut self, gang: &Gang<'_>, [x, y, _]: [u32; 3]) -> Result<(), FaultKind> {
        self.tid.resize(3, [0; 32]);
        for lane in 0..gang.width {
            let thread = gang.thread + lane as u32;
            let tid = [thread % x, thread / x % y, thread / (x * y)];
            (0..3).for_each(|axis| self.tid[axis][lane] = tid[axis]);
        }
        let Local { bytes, size, stride } = gang.local;
        if size == 0 {
            return Ok(());
        }
        self.reserve_local(size as u32)?;
        for lane in (0..gang.width).filter(|lane| gang.mask >> lane & 1 != 0) {
            for (row, word) in self.local.iter_mut().zip(bytes[lane * stride..][..size].chunks(4)) {
                let mut value = [0; 4];
                value[..word.len()].copy_from_slice(word);
                row[lane] = u32::from_le_bytes(value);
            }
        }
        Ok(())
    }

    /// Stands where the threads' stacks end.
    #[cold]
    fn lend_stack(&mut self, gang: &Gang<'_>) {
        if self.activations.is_empty() {
            self.activations.push(Activation::default());
        }
        self.activations[0].top_mut()[..gang.tops.len()].copy_from_slice(gang.tops);
    }
}

/// What stands for a function that the system provides.
fn provided(function: &Function) -> Function {
    Function {
        name: function.name.clone(),
        kind: FunctionKind::Device,
        linkage: function.linkage,
        params: function.params.clone(),
        returns: function.returns.clone(),
        param_buffer_size: 0,
        directives: Directives::default(),
        line: function.line,
        builtin: function.builtin,
        body: None,
    }
}

/// The function that is one instruction. It has the registers that the instruction names and no others: all those of a kernel would be rows and names for each of
/// its steps.
fn function(body: &Body, step: &Step) -> Function {
    let mut inst = Inst { guard: None, loc: None, ..body.insts[step.inst as usize].clone() };
    let mut named: Vec<Reg> = Vec::new();
    for mut operand in inst.operands_mut() {
        if let Some(reg) = operand.reg() {
            *reg = numbered(&mut named, *reg);
        }
    }
    let mut param = |reg: &Reg| {
        let ty = body.regs[reg.0 as usize].ty;
        let size = ty.bits().div_ceil(8);
        let storage = Storage::Register(numbered(&mut named, *reg));
        Param { name: String::new(), ty, size, align: size, storage, pointer: None }
    };
    let (params, returns) = (step.reads.iter().map(&mut param).collect(), step.writes.iter().map(param).collect());
    let regs = named.iter().map(|reg| body.regs[reg.0 as usize].clone()).collect();
    let end = Terminator {
        guard: None,
        kind: TerminatorKind::Ret { uniform: false },
        next: None,
        line: inst.line,
        loc: None,
    };
    Function {
        name: "step".to_owned(),
        kind: FunctionKind::Device,
        linkage: Linkage::Internal,
        params,
        returns,
        param_buffer_size: 0,
        directives: Directives::default(),
        line: inst.line,
        builtin: None,
        body: Some(Body {
            regs,
            insts: vec![inst],
            blocks: vec![Block { label: None, insts: 0..1, terminator: end }],
            globals: body.globals.clone(),
            ..Body::default()
        }),
    }
}

/// The number of a register among those that are named.
fn numbered(named: &mut Vec<Reg>, reg: Reg) -> Reg {
    let at = named.iter().position(|other| *other == reg).unwrap_or_else(|| {
        named.push(reg);
        named.len() - 1
    });
    Reg(at as u32)
}

/// Lanes of a whole warp, whose words are copied at once: compiled code runs where the low one of two comes first.
const LANES: usize = 32;

/// An operand into its row.
fn take(machine: &mut Machine<'_>, place: ValuePlace, width: usize, slot: &[u64]) {
    match place {
        ValuePlace::Word(row) => {
            let row = &mut machine.frame.r32[row as usize];
            if let (LANES, Some(words)) = (width, slot.first_chunk::<{ LANES / 2 }>()) {
                *row = bytemuck::must_cast(*words);
                return;
            }
            for (lane, word) in row.iter_mut().enumerate().take(width) {
                *word = (slot[lane / 2] >> (32 * (lane % 2))) as u32;
            }
        }
        ValuePlace::Double(row) => machine.frame.r64[row as usize][..width].copy_from_slice(&slot[..width]),
        ValuePlace::Predicate(at) => machine.frame.p[at as usize] = slot[0] as u32,
        ValuePlace::Constant(_) | ValuePlace::Bytes(..) => {}
    }
}

/// A result out of its row.
fn give(machine: &Machine<'_>, place: ValuePlace, width: usize, slot: &mut [u64]) {
    match place {
        ValuePlace::Word(row) => {
            let row = &machine.frame.r32[row as usize];
            if let (LANES, Some(words)) = (width, slot.first_chunk_mut::<{ LANES / 2 }>()) {
                *words = bytemuck::must_cast(*row);
                return;
            }
            for (pair, word) in row.chunks_exact(2).zip(slot).take(width.div_ceil(2)) {
                *word = u64::from(pair[0]) | u64::from(pair[1]) << 32;
            }
        }
        ValuePlace::Double(row) => slot[..width].copy_from_slice(&machine.frame.r64[row as usize][..width]),
        ValuePlace::Predicate(at) => slot[0] = u64::from(machine.frame.p[at as usize]),
        ValuePlace::Constant(_) | ValuePlace::Bytes(..) => {}
    }
}
