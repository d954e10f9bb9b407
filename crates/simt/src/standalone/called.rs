//! Which functions stay functions, of a kernel that is too long with a copy for each call, and where in local memory they have their frames.
//!
//! What stays is compiled once, and called for the lanes of a mask: nothing in it may ask for lanes that are not there. So what has barriers, exchanges of a warp or an `exit` is
//! copied into its callers, as is what looks at memory that others write meanwhile: a loop around its call may wait for it. What is short is copied too: a call hands its
//! arguments over in local memory.

use std::collections::{BTreeMap, HashMap};

use warploom_ptx::ir::{Body, Cfg, FunctionId, Module, Op, TerminatorKind};

use super::{asks_for_stack, callees};
use crate::codegen::is_exchange;
use crate::wait::looks;

/// Shorter ones are copied.
const LEAST: u64 = 200;
/// And so are those that are called in one place, if they are shorter than this.
const LEAST_ONCE: u64 = 2000;
/// Instructions of a kernel with a copy for each call, up to which there is one.
const MANY: u64 = 20_000;
/// And beyond which there is none.
const MOST: u64 = 60_000;
/// Instructions of a kernel with a copy for each call, from which on those functions stay that are called [seldom](Calls::seldom), such as what mathematical functions do with numbers
/// out of their usual range: longer kernels have less done to them, and a copy is as much text as any other part.
const MANY_SELDOM: u64 = 2_000;
/// Shorter ones of those are copied.
const LEAST_SELDOM: u64 = 64;
/// Instructions of a block that does nothing but call, and hand over what that takes.
const DETOUR: usize = 24;
/// Instructions of a kernel and the functions that stay. LLVM takes more of them as they are written, and such code is no faster than the interpreter (docs/performance.md).
const MOST_OF_ALL: u64 = 20_000;
/// Bytes of a register that a call hands over.
const SLOT: u32 = 8;

/// Where one copy of a body has its part of local memory: its variables, then its parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// What is added to offsets of its parameters.
    pub(super) params: i64,
    /// The first byte behind both: of a function that stays, of the places of what it is handed in registers.
    slots: u32,
    /// The first byte behind all.
    pub(super) end: u32,
}

impl Frame {
    /// Of a body whose variables begin at `local`, and of whose parameters the launch has the first bytes.
    pub(super) fn new(body: &Body, local: u32, launched: u32) -> Frame {
        // What the launch passes has no place here: the rest begins where it is as well aligned as it was.
        let skipped = launched & !15;
        let params = (local + body.local_size).next_multiple_of(16);
        let end = (params + body.param_size.saturating_sub(skipped)).next_multiple_of(16);
        Frame { params: i64::from(params) - i64::from(skipped), slots: end, end }
    }

    /// The place of a parameter that is a register, or, behind all of those, of a result.
    pub(super) fn slot(&self, number: usize) -> i64 {
        i64::from(self.slots) + i64::from(SLOT) * number as i64
    }
}

/// The functions that stay.
#[derive(Debug, Default)]
pub(super) struct Called {
    /// Callers before what they call.
    pub(super) order: Vec<FunctionId>,
    /// Where the variables of each begin.
    locals: BTreeMap<FunctionId, u32>,
}

impl Called {
    /// Of a kernel: with `all`, whatever can stay does.
    ///
    /// # Errors
    /// Why its calls cannot be replaced.
    pub(super) fn new(module: &Module, kernel: FunctionId, all: bool) -> Result<Called, String> {
        let calls = Calls::new(module, kernel);
        if let Some(why) = calls.recursion {
            return Err(why);
        }
        let Some(lengths) = calls.that_stay(all)? else { return Ok(Called::default()) };
        let stay = calls.order.iter().copied().filter(|id| *id != kernel && lengths[id].stays);
        let mut called = Called { order: Vec::new(), locals: stay.clone().map(|id| (id, 0)).collect() };
        let frame = |id: FunctionId| calls.body(id).map(|body| Frame::new(body, 0, launched(module, kernel, id)).end);
        called.reserve(&calls, kernel, frame(kernel).unwrap_or(0));
        // Those that are called stand before their callers in `calls`.
        for id in stay.rev() {
            let end = called.frame(module, id).map_or(0, |frame| frame.end);
            called.reserve(&calls, id, end);
            called.order.push(id);
        }
        Ok(called)
    }

    /// Puts the frames of what a body calls behind its own, which ends there.
    fn reserve(&mut self, calls: &Calls<'_>, id: FunctionId, end: u32) {
        for (_, callee) in calls.of(id) {
            match self.locals.get_mut(callee) {
                Some(local) => *local = end.max(*local),
                None => {
                    let end = calls.body(*callee).map_or(end, |body| Frame::new(body, end, 0).end);
                    self.reserve(calls, *callee, end);
                }
            }
        }
    }

    /// Where the variables begin of a function that stays; none of another one.
    pub(super) fn local(&self, id: FunctionId) -> Option<u32> {
        self.locals.get(&id).copied()
    }

    /// The frame of a function that stays, with the places of what is handed over in registers behind its parameters.
    pub(super) fn frame(&self, module: &Module, id: FunctionId) -> Option<Frame> {
        let function = &module.functions[id.0 as usize];
        let frame = Frame::new(function.body.as_ref()?, self.local(id)?, 0);
        let slots = function.params.len() + function.returns.len();
        Some(Frame { end: (frame.slots + SLOT * slots as u32).next_multiple_of(16), ..frame })
    }
}

/// Bytes of parameters that a launch passes.
pub(super) fn launched(module: &Module, kernel: FunctionId, id: FunctionId) -> u32 {
    if id == kernel { module.functions[id.0 as usize].param_buffer_size } else { 0 }
}

/// Which functions a kernel comes to.
pub struct Calls<'m> {
    module: &'m Module,
    kernel: FunctionId,
    /// What is called before its callers, but for functions that call themselves; the kernel last.
    order: Vec<FunctionId>,
    /// By function: what each of its calls can come to, with the call's block.
    callees: HashMap<FunctionId, Vec<(u32, FunctionId)>>,
    /// That one of them calls itself.
    recursion: Option<String>,
}

/// Which functions stay, of those that can.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stay {
    All,
    Long,
    Seldom,
}

/// Of a function.
struct Length {
    /// Instructions with all that is copied into it.
    own: u64,
    /// It stays a function.
    stays: bool,
    /// It cannot.
    bound: bool,
}

impl<'m> Calls<'m> {
    /// Looks at all that a kernel of the module calls.
    pub fn new(module: &'m Module, kernel: FunctionId) -> Calls<'m> {
        let mut calls = Calls { module, kernel, order: Vec::new(), callees: HashMap::new(), recursion: None };
        calls.visit(kernel, &mut Vec::new());
        calls
    }

    fn visit(&mut self, id: FunctionId, active: &mut Vec<FunctionId>) {
        let function = &self.module.functions[id.0 as usize];
        if active.contains(&id) {
            self.recursion.get_or_insert_with(|| format!("line {}: {} calls itself", function.line, function.name));
            return;
        }
        if self.callees.contains_key(&id) {
            return;
        }
        active.push(id);
        let mut all = Vec::new();
        if let Some(body) = &function.body {
            for (block, number) in body.blocks.iter().zip(0..) {
                for inst in &body.insts[block.insts.start as usize..block.insts.end as usize] {
                    let Op::Call { target, .. } = &inst.op else { continue };
                    let has_code = |id: &FunctionId| self.module.functions[id.0 as usize].body.is_some();
                    let callees = callees(self.module, self.kernel, target).into_iter().filter(has_code);
                    all.extend(callees.map(|callee| (number, callee)));
                }
            }
        }
        for (_, callee) in &all {
            self.visit(*callee, active);
        }
        active.pop();
        self.callees.insert(id, all);
        self.order.push(id);
    }

    /// The functions, what is called before its callers, but for those that call themselves; the kernel last.
    pub fn order(&self) -> &[FunctionId] {
        &self.order
    }

    /// What the calls of a function can come to, with their blocks.
    pub fn of(&self, id: FunctionId) -> &[(u32, FunctionId)] {
        self.callees.get(&id).map_or(&[], |callees| callees)
    }

    /// Instructions that code of the kernel is written for: those of a function as often as it is copied. 0 of one that has no code, which is soon found.
    pub fn written(&self) -> u64 {
        if self.recursion.is_some() {
            return 0;
        }
        match self.that_stay(false) {
            Err(_) => 0,
            Ok(None) => self.copied(),
            Ok(Some(lengths)) => self.of_all(&lengths),
        }
    }

    fn body(&self, id: FunctionId) -> Option<&'m Body> {
        self.module.functions[id.0 as usize].body.as_ref()
    }

    /// Instructions of the kernel with a copy of what it calls for each call.
    fn copied(&self) -> u64 {
        let mut lengths: HashMap<FunctionId, u64> = HashMap::new();
        for id in &self.order {
            let called = self.of(*id).iter().fold(0, |all: u64, (_, callee)| all.saturating_add(lengths[callee]));
            let own = self.body(*id).map_or(0, |body| body.insts.len() as u64);
            lengths.insert(*id, own.saturating_add(called));
        }
        lengths[&self.kernel]
    }

    /// Of all of them, if some stay functions.
    ///
    /// # Errors
    /// There is too much of it in any case.
    fn that_stay(&self, all: bool) -> Result<Option<HashMap<FunctionId, Length>>, String> {
        let copied = self.copied();
        if !all && copied <= MANY_SELDOM {
            return Ok(None);
        }
        if !all && copied <= MANY {
            let lengths = self.lengths(Stay::Seldom);
            return Ok((self.of_all(&lengths) <= copied / 3 * 2).then_some(lengths));
        }
        let lengths = self.lengths(if all { Stay::All } else { Stay::Long });
        let sum = self.of_all(&lengths);
        match () {
            () if all || (sum <= MOST_OF_ALL && sum <= copied / 2) => Ok(Some(lengths)),
            () if copied <= MOST => Ok(None),
            () => Err(format!("{sum} instructions with all that it calls, which is more than {MOST_OF_ALL}")),
        }
    }

    /// Instructions of the kernel and of all that stay.
    fn of_all(&self, lengths: &HashMap<FunctionId, Length>) -> u64 {
        self.order.iter().filter(|id| **id == self.kernel || lengths[id].stays).map(|id| lengths[id].own).sum()
    }

    /// Of all of them.
    fn lengths(&self, which: Stay) -> HashMap<FunctionId, Length> {
        let mut places: HashMap<FunctionId, u32> = HashMap::new();
        self.callees.values().flatten().for_each(|(_, callee)| *places.entry(*callee).or_default() += 1);
        let mut lengths: HashMap<FunctionId, Length> = HashMap::new();
        for id in &self.order {
            let Some(body) = self.body(*id) else { continue };
            let copied =
                || self.of(*id).iter().filter_map(|(_, callee)| lengths.get(callee)).filter(|callee| !callee.stays);
            let own = copied().fold(body.insts.len() as u64, |all, callee| all.saturating_add(callee.own));
            let bound = asks_for_others(body) || copied().any(|callee| callee.bound);
            let many = places.get(id).is_some_and(|places| *places > 1);
            let chosen = match which {
                Stay::All => true,
                Stay::Long => own >= if many { LEAST } else { LEAST_ONCE },
                Stay::Seldom => many && own >= LEAST_SELDOM && self.seldom(*id),
            };
            lengths.insert(*id, Length { own, stays: !bound && chosen, bound });
        }
        lengths
    }

    /// Whether each call of a function is a detour: a block by itself that a branch goes around.
    fn seldom(&self, id: FunctionId) -> bool {
        self.order.iter().all(|caller| {
            let mut places = self.of(*caller).iter().filter(|(_, callee)| *callee == id).peekable();
            let Some(body) = self.body(*caller).filter(|_| places.peek().is_some()) else { return true };
            let cfg = Cfg::new(body);
            places.all(|(block, _)| is_detour(body, &cfg, *block))
        })
    }
}

/// Whether a short block is entered from one place only, which else goes on where the block does.
fn is_detour(body: &Body, cfg: &Cfg, block: u32) -> bool {
    let block = block as usize;
    let ([behind], [from]) = (&cfg.successors[block][..], &cfg.predecessors[block][..]) else { return false };
    body.blocks[block].insts.len() <= DETOUR && cfg.successors[from.0 as usize].contains(behind)
}

/// Whether a body asks for lanes that may not be there where it is called, or for what only a kernel has.
fn asks_for_others(body: &Body) -> bool {
    let asks = |op: &Op| {
        matches!(op, Op::Barrier(_) | Op::Mbarrier(_) | Op::Matrix(_) | Op::Async(_)) || is_exchange(op) || looks(op)
    };
    body.insts.iter().any(|inst| asks(&inst.op) || asks_for_stack(inst))
        || body.blocks.iter().any(|block| matches!(block.terminator.kind, TerminatorKind::Exit))
}
