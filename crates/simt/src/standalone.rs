//! A kernel and all that it calls as one body, for CTAs that are a cluster each.
//!
//! Every call is replaced by a copy of what it calls: analysis and code then need to know nothing of calls, and barriers, uniform values and masks
//! come out of themselves. Parameters that are in memory (PTX ISA 7.1) have a place in local memory, as the local variables of the copy do; copies that
//! are never active together share it. An indirect call becomes a chain of tests for the functions that it can mean, behind which the
//! call itself is left: whoever comes there holds no address of them. Calls of what the system provides are left too, with registers as parameters.
//!
//! Of a kernel that would be too long so, some functions [stay](called), with bodies of their own that hold copies of all others; a call of one has no parameters, as what is
//! handed over lies in its frame.

mod again;
mod called;
mod calls;
mod copies;
mod trips;

use std::collections::{BTreeMap, BTreeSet};

use warploom_ptx::ir::{
    Address, AddressTarget, Base, Block, BlockId, Body, FunctionId, Inst, LocId, Module, Op, Operand, Param, Reg,
    RegDecl, ScalarType, Space, Symbol, Terminator, TerminatorKind, arrange,
};

use crate::codegen::Style;
pub use called::Calls;
use called::{Called, Frame, launched};
use calls::callees;
pub(crate) use copies::copies_whole_words;

/// A module that has bodies only for the kernel and for functions that stay. Functions keep their numbers.
///
/// # Errors
/// Why calls cannot be replaced.
pub fn standalone(module: &Module, kernel: FunctionId, cta: [u32; 3], style: Style) -> Result<Module, String> {
    let mut bodies: BTreeMap<FunctionId, Body> = BTreeMap::new();
    match &module.functions[kernel.0 as usize].body {
        Some(body) if body.insts.iter().any(|inst| matches!(inst.op, Op::Call { .. })) => {
            let called = Called::new(module, kernel, style == Style::Called)?;
            for root in [&[kernel], &called.order[..]].concat() {
                bodies.insert(root, Inliner::new(module, kernel, &called).inlined(root)?);
            }
        }
        body => bodies.extend(body.iter().map(|body| (kernel, body.clone()))),
    }
    for body in bodies.values_mut() {
        body.insts.iter_mut().for_each(only_cta_of_its_cluster);
        copies::replace(body);
        trips::write_out(body, cta);
        again::tell_apart(body);
    }
    // One local memory holds all their frames.
    let mut size = bodies.values().map(|body| body.local_size).max().unwrap_or(0);
    let align = bodies.values().map(|body| body.local_align).max().unwrap_or(0);
    if bodies.values().flat_map(|body| &body.insts).any(asks_for_stack) {
        size = size.next_multiple_of(16) + STACK_ROOM;
    }
    bodies.values_mut().for_each(|body| (body.local_size, body.local_align) = (size, align));
    let functions = module.functions.iter().zip(0u32..).map(|(function, at)| {
        let body = bodies.remove(&FunctionId(at));
        // What is handed over to one that stays lies in its frame. Of the others only that they are there is of interest.
        let stays = body.is_some() && at != kernel.0;
        let handed_over = |params: &[Param]| if stays { Vec::new() } else { params.to_vec() };
        warploom_ptx::ir::Function {
            name: function.name.clone(),
            kind: function.kind,
            linkage: function.linkage,
            params: handed_over(&function.params),
            returns: handed_over(&function.returns),
            param_buffer_size: function.param_buffer_size,
            directives: function.directives.clone(),
            line: function.line,
            builtin: function.builtin,
            body,
        }
    });
    Ok(Module {
        version: module.version,
        target: module.target.clone(),
        address_size: module.address_size,
        files: module.files.clone(),
        globals: module.globals.clone(),
        functions: functions.collect(),
        prototypes: module.prototypes.clone(),
        mnemonics: module.mnemonics.clone(),
    })
}

/// Bytes of local memory behind the variables of a kernel that asks for more while it runs.
const STACK_ROOM: u32 = 4096;

/// `.b8` to `.b64`, by its bytes.
pub(crate) fn untyped(bytes: u32) -> Option<ScalarType> {
    let all = [ScalarType::B8, ScalarType::B16, ScalarType::B32, ScalarType::B64];
    all.into_iter().find(|ty| ty.bytes() == bytes)
}

fn asks_for_stack(inst: &Inst) -> bool {
    matches!(inst.op, Op::StackSave { .. } | Op::StackRestore { .. } | Op::Alloca { .. })
}

/// Where the threads' stacks begin in the local memory of a [`standalone`] kernel; none of one that never asks for more of it.
pub fn stack_bottom(body: &Body) -> Option<u32> {
    body.insts.iter().any(asks_for_stack).then(|| body.local_size.saturating_sub(STACK_ROOM))
}

/// In a cluster of one CTA all that the threads reach of its shared memory is their own: addresses with the rank of another one are refused as any others outside.
fn only_cta_of_its_cluster(inst: &mut Inst) {
    if let Op::Ld { space, .. } | Op::St { space, .. } | Op::Atom { space, .. } = &mut inst.op
        && *space == Space::SharedCluster
    {
        *space = Space::Shared;
    }
}

/// A block of the new body, whose targets are numbers of such blocks.
struct Draft {
    label: Option<Box<str>>,
    insts: Vec<Inst>,
    end: Terminator,
}

struct Inliner<'m> {
    module: &'m Module,
    kernel: FunctionId,
    called: &'m Called,
    body: Body,
    drafts: Vec<Draft>,
}

/// Where the parts of one copy are.
struct Copy {
    /// What is added to numbers of registers.
    regs: u32,
    /// And to source places.
    locs: usize,
    /// Offset of its local variables.
    local: u32,
    /// Offset of its parameter frame in local memory. For the kernel that of what stands behind the parameters of the launch.
    params: i64,
    /// Bytes of the launch's parameters; 0 for a function.
    launched: i64,
    /// The first byte of local memory behind it.
    end: u32,
    /// Where it returns to; none for the kernel.
    back: Option<u32>,
}

impl Copy {
    fn reg(&self, reg: Reg) -> Reg {
        Reg(reg.0 + self.regs)
    }

    fn operand(&self, operand: Operand) -> Operand {
        match operand {
            Operand::Reg(reg) => Operand::Reg(self.reg(reg)),
            other => other,
        }
    }

    /// Where an offset of the parameter frame is in local memory; none for parameters of the launch.
    fn param(&self, offset: i64) -> Option<Address> {
        let offset = (offset >= self.launched).then_some(offset + self.params)?;
        Some(Address { base: Base::LocalFrame, offset })
    }
}

fn nowhere(line: u32, loc: Option<LocId>) -> Terminator {
    Terminator { guard: None, kind: TerminatorKind::Next, next: None, line, loc }
}

impl<'m> Inliner<'m> {
    fn new(module: &'m Module, kernel: FunctionId, called: &'m Called) -> Inliner<'m> {
        Inliner { module, kernel, called, body: Body::default(), drafts: Vec::new() }
    }

    /// The kernel, or a function that stays, with copies of all that it calls and that does not.
    fn inlined(mut self, root: FunctionId) -> Result<Body, String> {
        let function = &self.module.functions[root.0 as usize];
        let own =
            function.body.as_ref().ok_or_else(|| format!("line {}: {} has no code", function.line, function.name))?;
        self.body.local_align = own.local_align.max(16);
        match (self.called.local(root), self.called.frame(self.module, root)) {
            (Some(local), Some(frame)) => {
                let enter = self.draft(nowhere(function.line, None));
                let ret = TerminatorKind::Ret { uniform: false };
                let leave = self.draft(Terminator { kind: ret, ..nowhere(function.line, None) });
                let (first, copy) = self.copy(root, own, local, Some(leave))?;
                self.drafts[enter as usize].end.next = Some(BlockId(first));
                self.take_over(&copy, root, frame, enter, leave)?;
            }
            _ => {
                self.body.param_size = own.param_size;
                self.copy(root, own, 0, None)?;
            }
        }
        let reachable = self.module.reachable(self.kernel);
        let bodies = reachable.iter().filter_map(|id| self.module.functions[id.0 as usize].body.as_ref());
        let mut globals: Vec<_> = bodies.clone().flat_map(|body| body.globals.iter().copied()).collect();
        globals.sort_unstable();
        globals.dedup();
        self.body.globals = globals;
        self.body.unsupported = bodies.flat_map(|body| body.unsupported.iter().cloned()).collect();
        self.arrange();
        let named = self.body.insts.iter().flat_map(Inst::symbols).filter_map(|symbol| match symbol {
            Symbol::Function(id) => Some(id),
            Symbol::Global(_) | Symbol::Prototype(_) => None,
        });
        let callees: BTreeSet<FunctionId> = named.collect();
        self.body.callees = callees.into_iter().collect();
        Ok(self.body)
    }

    /// Copies a body; its first block, with what it returns to.
    fn copy(&mut self, id: FunctionId, from: &Body, local: u32, back: Option<u32>) -> Result<(u32, Copy), String> {
        let launched = launched(self.module, self.kernel, id);
        let frame = match self.called.frame(self.module, id) {
            Some(frame) => frame,
            None => Frame::new(from, local, launched),
        };
        let copy = Copy {
            regs: self.body.regs.len() as u32,
            locs: self.body.locs.len(),
            local,
            params: frame.params,
            launched: i64::from(launched),
            end: frame.end,
            back,
        };
        self.body.local_size = self.body.local_size.max(frame.end);
        self.body.local_align = self.body.local_align.max(from.local_align);
        self.body.regs.extend(from.regs.iter().cloned());
        self.body.locs.extend(from.locs.iter().cloned());
        let first = self.drafts.len() as u32;
        for block in &from.blocks {
            let end = self.end(&copy, &block.terminator, first);
            self.drafts.push(Draft { label: block.label.clone(), insts: Vec::new(), end });
        }
        for (at, block) in from.blocks.iter().enumerate() {
            let mut current = first + at as u32;
            for inst in &from.insts[block.insts.start as usize..block.insts.end as usize] {
                let inst = self.instruction(&copy, inst)?;
                match &inst.op {
                    Op::Call { target, returns, args, .. } => {
                        current = self.call(&copy, current, &inst, target, returns, args)?;
                    }
                    _ => self.drafts[current as usize].insts.push(inst),
                }
            }
        }
        Ok((first, copy))
    }

    fn end(&self, copy: &Copy, end: &Terminator, first: u32) -> Terminator {
        let mut end = end.clone();
        redirect(&mut end, &|to| to + first);
        if let Some(guard) = &mut end.guard {
            guard.reg = copy.reg(guard.reg);
        }
        end.loc = end.loc.map(|loc| LocId::new(loc.index() + copy.locs));
        match &mut end.kind {
            TerminatorKind::BrxIdx { index, .. } => *index = copy.operand(*index),
            TerminatorKind::Ret { uniform } => {
                if let Some(back) = copy.back {
                    end.kind = TerminatorKind::Bra { target: BlockId(back), uniform: *uniform };
                }
            }
            TerminatorKind::Bra { .. } | TerminatorKind::Next | TerminatorKind::Exit | TerminatorKind::Trap => {}
        }
        end
    }

    /// An instruction with the registers and frames of its copy.
    fn instruction(&self, copy: &Copy, inst: &Inst) -> Result<Inst, String> {
        let mut inst = inst.clone();
        for operand in &mut inst.operands_mut() {
            if let Some(reg) = operand.reg() {
                *reg = copy.reg(*reg);
            }
        }
        inst.loc = inst.loc.map(|loc| LocId::new(loc.index() + copy.locs));
        let line = inst.line;
        let refused = || Err(format!("line {line}: {}", self.module.mnemonic(inst.mnemonic)));
        let in_memory = |base: Base| matches!(base, Base::LocalFrame | Base::ParamFrame);
        match &mut inst.op {
            Op::Ld { space, addr, .. } | Op::St { space, addr, .. } => match addr.base {
                Base::LocalFrame => addr.offset += i64::from(copy.local),
                Base::ParamFrame => {
                    if let Some(place) = copy.param(addr.offset) {
                        (*space, *addr) = (Space::Local, place);
                    }
                }
                // Of a function all parameters are in local memory.
                _ if *space == Space::Param && copy.back.is_some() => *space = Space::Local,
                _ => {}
            },
            Op::AddressOf {
                target: target @ (AddressTarget::LocalFrame | AddressTarget::ParamFrame), offset, ..
            } => {
                match target {
                    AddressTarget::LocalFrame => *offset += i64::from(copy.local),
                    _ => match copy.param(*offset) {
                        Some(place) if copy.back.is_some() => {
                            (*target, *offset) = (AddressTarget::LocalFrame, place.offset);
                        }
                        // Addresses of the two kinds would be told apart by nothing.
                        Some(_) => return refused(),
                        None => {}
                    },
                }
            }
            Op::Cvta { space: space @ Space::Param, .. } if copy.back.is_some() => *space = Space::Local,
            // Their frames end with the function.
            Op::StackSave { .. } | Op::StackRestore { .. } | Op::Alloca { .. } => return refused(),
            op => {
                let op = Inst { op: op.clone(), guard: None, ..inst };
                if op.addresses().iter().any(|address| in_memory(address.base)) {
                    return refused();
                }
                return Ok(Inst { guard: inst.guard, ..op });
            }
        }
        Ok(inst)
    }

    fn draft(&mut self, end: Terminator) -> u32 {
        self.drafts.push(Draft { label: None, insts: Vec::new(), end });
        self.drafts.len() as u32 - 1
    }

    fn register(&mut self, ty: ScalarType) -> Reg {
        self.body.regs.push(RegDecl { name: "".into(), ty });
        Reg(self.body.regs.len() as u32 - 1)
    }

    /// Puts the blocks into their order.
    fn arrange(&mut self) {
        let drafts = std::mem::take(&mut self.drafts);
        arrange_into(&mut self.body, drafts);
    }
}

/// Where the end of a block leads to.
fn targets(end: &Terminator) -> Vec<u32> {
    let mut all: Vec<u32> = match &end.kind {
        TerminatorKind::Bra { target, .. } => vec![target.0],
        TerminatorKind::BrxIdx { targets, .. } => targets.iter().map(|target| target.0).collect(),
        _ => Vec::new(),
    };
    all.extend(end.next.map(|next| next.0));
    all
}

/// Gives the blocks that an end leads to other numbers.
fn redirect(end: &mut Terminator, place: &dyn Fn(u32) -> u32) {
    let to = |block: &mut BlockId| block.0 = place(block.0);
    end.next.iter_mut().for_each(to);
    match &mut end.kind {
        TerminatorKind::Bra { target, .. } => to(target),
        TerminatorKind::BrxIdx { targets, .. } => targets.iter_mut().for_each(to),
        _ => {}
    }
}

/// Makes a body of blocks, in their order; those that nothing reaches are left out.
fn arrange_into(body: &mut Body, drafts: Vec<Draft>) {
    (body.insts, body.blocks) = (Vec::new(), Vec::new());
    let successors: Vec<Vec<u32>> = drafts.iter().map(|draft| targets(&draft.end)).collect();
    let arrangement = arrange(&successors);
    let mut place = vec![0; drafts.len()];
    for (new, old) in arrangement.order.iter().enumerate() {
        place[*old as usize] = new as u32;
    }
    let mut drafts: Vec<Option<Draft>> = drafts.into_iter().map(Some).collect();
    for old in arrangement.order {
        let Some(Draft { label, insts, mut end }) = drafts[old as usize].take() else { continue };
        redirect(&mut end, &|to| place[to as usize]);
        let start = body.insts.len() as u32;
        body.insts.extend(insts);
        body.blocks.push(Block { label, insts: start..body.insts.len() as u32, terminator: end });
    }
    body.loops = arrangement.loops;
}
