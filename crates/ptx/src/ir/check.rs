//! Checks that a body is what the rest of the crate and the executors take it for.
//!
//! Lowering and linking are right or not for every input alike, so a body that breaks these rules is a mistake in a pass and not in the
//! text: it runs behind each pass in debug builds ([`assert_sound`]) and in tests, and its message names the place. What it looks at: that every register exists and has the width and
//! class that the list of operands gives ([`Inst::operands`](super::Inst::operands)), that blocks follow each other in [`Body::insts`] without gap, that branches go to blocks, `next` stands exactly where control
//! can go on, edges that go back go to the header of a loop around them and loops nest, that calls have the arguments of their callees, that parameters are in their frames, each in bytes of its own, that addresses in initial values are
//! those of something, and that what an instruction names is in the body's own lists.

use super::{
    Body, CallArg, CallTarget, Cfg, Function, FunctionId, Global, GlobalId, LocId, Loop, Module, Op, Operand,
    OperandRef, Param, Reg, RelocationTarget, Role, ScalarType, Storage, Symbol, Terminator, TerminatorKind,
};
use std::collections::{HashMap, HashSet};

/// Checks every body of a module; the first broken rule, in words.
pub fn check_module(module: &Module) -> Result<(), String> {
    module.globals.iter().try_for_each(|global| check_global(module, global))?;
    for function in &module.functions {
        if let Some(body) = &function.body {
            check(module, function, body).map_err(|broken| format!("function {}: {broken}", function.name))?;
        }
    }
    Ok(())
}

/// Checks the place of a variable and the addresses in its initial value.
fn check_global(module: &Module, global: &Global) -> Result<(), String> {
    let Global { name, align, size, .. } = global;
    require(align.is_power_of_two(), || format!("variable {name} is aligned to {align}"))?;
    for relocation in &global.relocations {
        let (exists, target) = match relocation.target {
            RelocationTarget::Global(id) => ((id.0 as usize) < module.globals.len(), format!("{id:?}")),
            RelocationTarget::Function(id) => ((id.0 as usize) < module.functions.len(), format!("{id:?}")),
        };
        require(exists, || format!("variable {name} refers to {target}, which does not exist"))?;
        let end = relocation.offset.saturating_add(u64::from(relocation.size));
        require(end <= *size, || {
            format!("variable {name} has an address at {}..{end} of {size} bytes", relocation.offset)
        })?;
    }
    Ok(())
}

/// Checks one body.
pub fn check(module: &Module, function: &Function, body: &Body) -> Result<(), String> {
    let (globals, callees) = (body.globals.iter().copied().collect(), body.callees.iter().copied().collect());
    let checker = Checker { module, body, globals, callees };
    checker.parameters(function)?;
    checker.lists()?;
    checker.blocks()?;
    checker.loops()?;
    for (number, block) in body.blocks.iter().enumerate() {
        let at = |broken: String| format!("b{number}: {broken}");
        for inst in &body.insts[block.insts.start as usize..block.insts.end as usize] {
            let at = |broken: String| at(format!("line {}: {}: {broken}", inst.line, inst.op));
            inst.operands().iter().try_for_each(|operand| checker.operand(operand)).map_err(at)?;
            inst.symbols().into_iter().try_for_each(|symbol| checker.symbol(symbol)).map_err(at)?;
            checker.source(inst.loc).map_err(at)?;
            if let Op::Call { target, returns, args, .. } = &inst.op {
                checker.call(target, returns, args).map_err(at)?;
            }
        }
        checker.terminator(&block.terminator).and_then(|()| checker.source(block.terminator.loc)).map_err(at)?;
    }
    Ok(())
}

/// Stops a debug build at a body that a pass has broken.
///
/// # Panics
/// In debug builds, if `checked` gives an error; others do not ask.
pub fn assert_sound(checked: impl FnOnce() -> Result<(), String>) {
    if cfg!(debug_assertions)
        && let Err(broken) = checked()
    {
        panic!("a pass has broken the IR: {broken}");
    }
}

struct Checker<'m> {
    module: &'m Module,
    body: &'m Body,
    globals: HashSet<GlobalId>,
    callees: HashSet<FunctionId>,
}

fn require(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken()) }
}

impl Checker<'_> {
    fn ty(&self, reg: Reg) -> Result<ScalarType, String> {
        self.body.regs.get(reg.0 as usize).map(|decl| decl.ty).ok_or_else(|| format!("{reg:?} is not declared"))
    }

    fn parameters(&self, function: &Function) -> Result<(), String> {
        for param in function.params.iter().chain(&function.returns) {
            match param.storage {
                Storage::Register(reg) => {
                    let ty = self.ty(reg)?;
                    let name = &param.name;
                    require(ty == param.ty, || format!("parameter {name} is .{} in {reg:?}, a .{ty}", param.ty))?;
                }
                Storage::Memory { offset } => {
                    let inside = self.in_frame(offset, param.size);
                    require(inside, || format!("parameter {} is not in the frame", param.name))?;
                }
            }
        }
        self.apart(function)
    }

    /// No two parameters have the same bytes.
    fn apart(&self, function: &Function) -> Result<(), String> {
        let place = |param: &'_ Param| match param.storage {
            Storage::Memory { offset } if param.size != 0 => Some((offset, offset + param.size)),
            Storage::Memory { .. } | Storage::Register(_) => None,
        };
        let mut places: Vec<_> = function.params.iter().chain(&function.returns).filter_map(place).collect();
        places.sort_unstable();
        let meet = places.windows(2).find(|pair| pair[0].1 > pair[1].0);
        require(meet.is_none(), || {
            format!("two parameters are at byte {} of the frame", meet.map_or(0, |pair| pair[1].0))
        })
    }

    fn in_frame(&self, offset: u32, size: u32) -> bool {
        offset.checked_add(size).is_some_and(|end| end <= self.body.param_size)
    }

    /// The lists of what the body names.
    fn lists(&self) -> Result<(), String> {
        let globals = self.body.globals.iter().try_for_each(|id| self.symbol(Symbol::Global(*id)));
        globals.and_then(|()| self.body.callees.iter().try_for_each(|id| self.symbol(Symbol::Function(*id))))
    }

    fn source(&self, loc: Option<LocId>) -> Result<(), String> {
        require(loc.is_none_or(|loc| loc.index() < self.body.locs.len()), || "no such source place".to_owned())
    }

    /// The arguments and the places of results; what is called has been found to exist.
    fn call(&self, target: &CallTarget, returns: &[CallArg], args: &[CallArg]) -> Result<(), String> {
        let (formal_returns, formal_params) = match target {
            CallTarget::Direct(id) => {
                let function = &self.module.functions[id.0 as usize];
                (&function.returns, &function.params)
            }
            CallTarget::Indirect { prototype, .. } => {
                let prototype = &self.module.prototypes[prototype.0 as usize];
                (&prototype.returns, &prototype.params)
            }
        };
        for (given, formal, what) in
            [(args, formal_params, "arguments"), (returns, formal_returns, "places of results")]
        {
            let (given, formal) = (given.len(), formal.len());
            require(given == formal, || format!("{given} {what} for {formal} parameters"))?;
        }
        for arg in args.iter().chain(returns) {
            if let CallArg::Param { offset, size } = arg {
                require(self.in_frame(*offset, *size), || format!("argument {arg:?} is not in the frame"))?;
            }
        }
        let constant = |place: &CallArg| matches!(place, CallArg::Value { value: Operand::Imm(_), .. });
        require(!returns.iter().any(constant), || "a constant as the place of a result".to_owned())
    }

    fn operand(&self, operand: &OperandRef) -> Result<(), String> {
        let OperandRef { role, ty, value } = *operand;
        let Some(reg) = value.reg() else {
            return require(role == Role::Use, || format!("a constant as {role:?}"));
        };
        let declared = self.ty(reg)?;
        let fits = match role {
            Role::Address => matches!(declared.bits(), 32 | 64),
            _ => declared.to_bits() == ty.to_bits(),
        };
        require(fits && (declared == ScalarType::Pred) == (ty == ScalarType::Pred), || {
            format!("{reg:?} is .{declared}, but {role:?} of .{ty}")
        })
    }

    fn symbol(&self, symbol: Symbol) -> Result<(), String> {
        match symbol {
            Symbol::Global(id) => {
                require((id.0 as usize) < self.module.globals.len(), || format!("{id:?} does not exist"))?;
                require(self.globals.contains(&id), || format!("{id:?} is not in the list of variables"))
            }
            Symbol::Function(id) => {
                require((id.0 as usize) < self.module.functions.len(), || format!("{id:?} does not exist"))?;
                require(self.callees.contains(&id), || format!("{id:?} is not in the list of functions"))
            }
            Symbol::Prototype(id) => {
                require((id.0 as usize) < self.module.prototypes.len(), || format!("{id:?} does not exist"))
            }
        }
    }

    fn blocks(&self) -> Result<(), String> {
        require(!self.body.blocks.is_empty(), || "there is no block".to_owned())?;
        let mut end = 0;
        for (number, block) in self.body.blocks.iter().enumerate() {
            let follows = block.insts.start == end && block.insts.end >= end;
            require(follows, || format!("b{number} has instructions {:?} behind {end}", block.insts))?;
            end = block.insts.end;
        }
        require(end as usize == self.body.insts.len(), || format!("instructions from {end} on are in no block"))
    }

    fn loops(&self) -> Result<(), String> {
        let count = self.body.blocks.len() as u32;
        let loops = &self.body.loops;
        let mut open: Vec<u32> = Vec::new();
        for (index, inner) in loops.iter().enumerate() {
            let broken = || format!("loop {index} {inner:?} of {count} blocks is not where it should be");
            while open.last().is_some_and(|outer| loops[*outer as usize].blocks.end <= inner.blocks.start) {
                open.pop();
            }
            let around = open.last().map(|outer| &loops[*outer as usize]);
            let nests = around
                .is_none_or(|outer| outer.blocks.start < inner.blocks.start && inner.blocks.end <= outer.blocks.end);
            let ascends = index == 0 || loops[index - 1].blocks.start < inner.blocks.start;
            require(!inner.blocks.is_empty() && inner.blocks.end <= count && nests && ascends, broken)?;
            let depth = around.map_or(1, |outer| outer.depth + 1);
            require(inner.parent == open.last().copied() && inner.depth == depth, broken)?;
            open.push(index as u32);
        }
        let headers: HashMap<u32, &Loop> = loops.iter().map(|inner| (inner.blocks.start, inner)).collect();
        for (from, targets) in self.targets()?.iter().enumerate() {
            for &to in targets.iter().filter(|to| **to <= from as u32) {
                let back = headers.get(&to).is_some_and(|inner| inner.blocks.contains(&(from as u32)));
                require(back, || format!("the edge from b{from} back to b{to} is of no loop"))?;
            }
        }
        Ok(())
    }

    /// By block: where control goes, all of them blocks.
    fn targets(&self) -> Result<Vec<Vec<u32>>, String> {
        let count = self.body.blocks.len() as u32;
        for (number, block) in self.body.blocks.iter().enumerate() {
            let listed = match &block.terminator.kind {
                TerminatorKind::Bra { target, .. } => std::slice::from_ref(target),
                TerminatorKind::BrxIdx { targets, .. } => targets,
                _ => &[],
            };
            let mut all = listed.iter().chain(&block.terminator.next);
            require(all.all(|target| target.0 < count), || format!("b{number} goes to a block that does not exist"))?;
        }
        let successors = Cfg::new(self.body).successors;
        Ok(successors.into_iter().map(|next| next.into_iter().map(|block| block.0).collect()).collect())
    }

    fn terminator(&self, end: &Terminator) -> Result<(), String> {
        end.operands().iter().try_for_each(|operand| self.operand(operand))?;
        let may_go_on = end.guard.is_some() || matches!(end.kind, TerminatorKind::Next);
        let open_ended = matches!(end.kind, TerminatorKind::BrxIdx { .. });
        require(end.next.is_some() == may_go_on || open_ended, || format!("`next` does not go with `{end}`"))
    }
}
