//! Writes modules, functions and blocks.

use super::reader::Name;
use super::{Text, Writer};
use crate::ir::{
    Body, Builtin, Directives, Function, FunctionId, FunctionKind, Global, Inst, LocId, Module, Op, Param,
    RelocationTarget, SourceLoc, Storage, Terminator, TerminatorKind,
};
use std::fmt::{Display, Formatter, Result, Write};

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.write(&mut Writer::new(f))
    }
}

impl Display for Terminator {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(guard) = self.guard {
            write!(f, "@{guard:?} ")?;
        }
        match &self.kind {
            TerminatorKind::Next => f.write_str("next")?,
            TerminatorKind::Bra { target, .. } => write!(f, "bra {target:?}")?,
            TerminatorKind::BrxIdx { index, targets, .. } => write!(f, "brx {index:?} {targets:?}")?,
            TerminatorKind::Ret { .. } => f.write_str("ret")?,
            TerminatorKind::Exit => f.write_str("exit")?,
            TerminatorKind::Trap => f.write_str("trap")?,
        }
        if let TerminatorKind::Bra { uniform: true, .. }
        | TerminatorKind::BrxIdx { uniform: true, .. }
        | TerminatorKind::Ret { uniform: true } = self.kind
        {
            f.write_str(" uniform")?;
        }
        match self.next {
            Some(next) if self.kind == TerminatorKind::Next => write!(f, " {next:?}"),
            Some(next) => write!(f, ", else {next:?}"),
            None => Ok(()),
        }
    }
}

/// Writes a word and a number unless the number is 0.
fn number(f: &mut Formatter<'_>, word: &str, value: u32) -> Result {
    if value == 0 { Ok(()) } else { write!(f, " {word} {value}") }
}

fn write_instruction(f: &mut Formatter<'_>, inst: &Inst, module: &Module) -> Result {
    write!(f, "{:>5}  ", inst.line)?;
    if let Some(guard) = inst.guard {
        write!(f, "@{guard:?} ")?;
    }
    write!(f, "{}", inst.op)?;
    let mnemonic = module.mnemonics.get(inst.mnemonic.0 as usize);
    write_source(f, mnemonic.map(|text| &**text), inst.loc)
}

/// What stands behind the semicolon: how the source writes it, and where that comes from.
fn write_source(f: &mut Formatter<'_>, mnemonic: Option<&str>, loc: Option<LocId>) -> Result {
    if mnemonic.is_some() || loc.is_some() {
        f.write_str(" ;")?;
    }
    if let Some(mnemonic) = mnemonic {
        write!(f, " {mnemonic}")?;
    }
    match loc {
        Some(loc) => writeln!(f, " {loc:?}"),
        None => f.write_char('\n'),
    }
}

fn write_locs(f: &mut Formatter<'_>, locs: &[SourceLoc]) -> Result {
    for (index, loc) in locs.iter().enumerate() {
        write!(f, "  loc{index} {}:{}:{}", loc.file, loc.line, loc.column)?;
        match loc.inlined_at {
            Some((file, line, column)) => writeln!(f, " at {file}:{line}:{column}")?,
            None => f.write_char('\n')?,
        }
    }
    Ok(())
}

fn write_body(f: &mut Formatter<'_>, body: &Body, module: &Module) -> Result {
    for (index, reg) in body.regs.iter().enumerate() {
        write!(f, "{}r{index} .{}", if index % 8 == 0 { "\n  " } else { ", " }, reg.ty)?;
        if !reg.name.is_empty() {
            write!(f, " {}", Name(&reg.name))?;
        }
    }
    writeln!(f)?;
    if body.local_size > 0 || body.local_align > 1 {
        writeln!(f, "  local frame: {} bytes, align {}", body.local_size, body.local_align)?;
    }
    if body.param_size > 0 {
        writeln!(f, "  param frame: {} bytes", body.param_size)?;
    }
    if !body.globals.is_empty() || !body.callees.is_empty() {
        f.write_str("  names:")?;
        body.globals.iter().try_for_each(|id| write!(f, " {id:?}"))?;
        body.callees.iter().try_for_each(|id| write!(f, " {id:?}"))?;
        writeln!(f)?;
    }
    write_locs(f, &body.locs)?;
    let mut loops = body.loops.iter().peekable();
    for (index, block) in body.blocks.iter().enumerate() {
        write!(f, "b{index}:")?;
        if let Some(inside) = loops.next_if(|inside| inside.blocks.start as usize == index) {
            write!(f, " loop to b{}", inside.blocks.end.saturating_sub(1))?;
            if inside.irreducible {
                f.write_str(" irreducible")?;
            }
        }
        if let Some(label) = &block.label {
            write!(f, " label {}", Name(label))?;
        }
        writeln!(f)?;
        for inst in &body.insts[block.insts.start as usize..block.insts.end as usize] {
            write_instruction(f, inst, module)?;
        }
        write!(f, "{:>5}  {}", block.terminator.line, block.terminator)?;
        write_source(f, None, block.terminator.loc)?;
    }
    for found in &body.unsupported {
        write!(f, "{:>5}  not executable: {}", found.line, module.mnemonic(found.mnemonic))?;
        match &found.unread {
            Some(unread) => writeln!(f, " unread {}", Name(unread))?,
            None => writeln!(f)?,
        }
    }
    Ok(())
}

fn write_params(f: &mut Formatter<'_>, params: &[Param]) -> Result {
    f.write_char('(')?;
    for (index, param) in params.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        write!(f, "{separator}{} .{}", Name(&param.name), param.ty)?;
        match param.storage {
            Storage::Memory { offset } => write!(f, " at {offset}")?,
            Storage::Register(reg) => write!(f, " in {reg:?}")?,
        }
        write!(f, " size {} align {}", param.size, param.align)?;
        if let Some((space, align)) = param.pointer {
            write!(f, " ptr .{space} align {align}")?;
        }
    }
    f.write_char(')')
}

fn write_directives(f: &mut Formatter<'_>, directives: &Directives) -> Result {
    let Directives {
        maxntid,
        reqntid,
        maxnreg,
        minnctapersm,
        maxnctapersm,
        reqnctapercluster,
        explicitcluster,
        maxclusterrank,
        blocksareclusters,
        noreturn,
        pragmas,
    } = directives;
    for (name, extents) in [("maxntid", maxntid), ("reqntid", reqntid), ("reqnctapercluster", reqnctapercluster)] {
        if let Some([x, y, z]) = extents {
            write!(f, " {name} {x} {y} {z}")?;
        }
    }
    for (name, value) in [
        ("maxnreg", maxnreg),
        ("minnctapersm", minnctapersm),
        ("maxnctapersm", maxnctapersm),
        ("maxclusterrank", maxclusterrank),
    ] {
        if let Some(value) = value {
            write!(f, " {name} {value}")?;
        }
    }
    for (name, flag) in
        [("explicitcluster", explicitcluster), ("blocksareclusters", blocksareclusters), ("noreturn", noreturn)]
    {
        if *flag {
            write!(f, " {name}")?;
        }
    }
    pragmas.iter().try_for_each(|pragma| write!(f, " pragma {pragma:?}"))
}

fn write_function(f: &mut Formatter<'_>, function: &Function, module: &Module) -> Result {
    let kind = match function.kind {
        FunctionKind::Kernel => "kernel",
        FunctionKind::Device => "function",
    };
    write!(f, "{:?} {kind} {} ", function.linkage, Name(&function.name))?;
    write_params(f, &function.params)?;
    if !function.returns.is_empty() {
        f.write_str(" -> ")?;
        write_params(f, &function.returns)?;
    }
    number(f, "buffer", function.param_buffer_size)?;
    number(f, "line", function.line)?;
    match function.builtin {
        // Which one, its name says.
        Some(Builtin::Runtime(_)) => f.write_str(" builtin Runtime")?,
        Some(builtin) => write!(f, " builtin {builtin:?}")?,
        None => {}
    }
    write_directives(f, &function.directives)?;
    match &function.body {
        Some(body) => write_body(f, body, module),
        None => f.write_char('\n'),
    }
}

impl Display for Global {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{:?} .{} {} .{}", self.linkage, self.space, Name(&self.name), self.ty)?;
        write!(f, " size {} align {}", self.size, self.align)?;
        if self.managed {
            f.write_str(" managed")?;
        }
        number(f, "line", self.line)?;
        if !self.init.is_empty() {
            f.write_str(" =")?;
            self.init.iter().try_for_each(|byte| write!(f, " {byte:02x}"))?;
        }
        for relocation in &self.relocations {
            write!(f, " +{} size {}", relocation.offset, relocation.size)?;
            if relocation.generic {
                f.write_str(" generic")?;
            }
            match relocation.target {
                RelocationTarget::Global(id) => write!(f, " {id:?}")?,
                RelocationTarget::Function(id) => write!(f, " {id:?}")?,
            }
            if relocation.addend != 0 {
                write!(f, "{:+}", relocation.addend)?;
            }
            if relocation.shift != 0 {
                write!(f, ">>{}", relocation.shift)?;
            }
        }
        self.opaque_fields.iter().try_for_each(|(name, value)| write!(f, " {}={}", Name(name), Name(value)))
    }
}

impl Module {
    /// One function in the IR's text.
    pub fn function_text(&self, FunctionId(number): FunctionId) -> impl Display {
        std::fmt::from_fn(move |f| write_function(f, &self.functions[number as usize], self))
    }
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let suffix = self.target.suffix.map(String::from).unwrap_or_default();
        write!(f, "version {}.{} target sm_{}{suffix}", self.version.0, self.version.1, self.target.sm)?;
        for (flag, word) in [(self.target.texmode_independent, "texmode_independent"), (self.target.debug, "debug")] {
            if flag {
                write!(f, " {word}")?;
            }
        }
        if self.address_size != 64 {
            write!(f, " address {}", self.address_size)?;
        }
        writeln!(f)?;
        let mut files: Vec<(&u32, &String)> = self.files.iter().collect();
        files.sort();
        for (number, name) in files {
            writeln!(f, "file {number} {name:?}")?;
        }
        for (index, global) in self.globals.iter().enumerate() {
            writeln!(f, "g{index}: {global}")?;
        }
        for (index, prototype) in self.prototypes.iter().enumerate() {
            write!(f, "p{index}: ")?;
            write_params(f, &prototype.params)?;
            f.write_str(" -> ")?;
            write_params(f, &prototype.returns)?;
            number(f, "frame", prototype.param_size)?;
            writeln!(f, "{}", if prototype.noreturn { " noreturn" } else { "" })?;
        }
        for (index, function) in self.functions.iter().enumerate() {
            write!(f, "f{index}: ")?;
            write_function(f, function, self)?;
        }
        Ok(())
    }
}
