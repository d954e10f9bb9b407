//! Text form of the IR, for `WARPLOOM_DUMP=ir` and the snapshots of tests.
//!
//! Instructions print as their variant with its fields; flags that are off and parts that are absent are left out.

use super::{
    Address, AddressTarget, Base, BlockId, Body, CallArg, CallTarget, Function, FunctionId, FunctionKind, Global,
    GlobalId, LocId, Module, Operand, Param, Predicate, PrototypeId, Reg, Storage, Terminator, TerminatorKind,
};
use std::fmt::{Debug, Display, Formatter, Result, Write};

macro_rules! debug_as {
    ($($ty:ident $prefix:literal),*) => {
        $(impl Debug for $ty {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result { write!(f, concat!($prefix, "{}"), self.0) }
        })*
    };
}
debug_as!(Reg "r", BlockId "b", GlobalId "g", FunctionId "f", PrototypeId "p");

impl Debug for LocId {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "loc{}", self.index())
    }
}

impl Debug for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Operand::Reg(reg) => reg.fmt(f),
            Operand::Imm(bits) => write!(f, "{bits:#x}"),
        }
    }
}

impl Debug for Predicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}{:?}", if self.negated { "!" } else { "" }, self.reg)
    }
}

impl Debug for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.base {
            Base::Absolute => f.write_str("[absolute")?,
            Base::Reg(reg) => write!(f, "[{reg:?}")?,
            Base::Global(id) => write!(f, "[{id:?}")?,
            Base::LocalFrame => f.write_str("[local")?,
            Base::ParamFrame => f.write_str("[param")?,
        }
        match self.offset {
            0 => f.write_char(']'),
            offset => write!(f, "{offset:+}]"),
        }
    }
}

impl Debug for AddressTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            AddressTarget::Global(id) => id.fmt(f),
            AddressTarget::Function(id) => id.fmt(f),
            AddressTarget::LocalFrame => f.write_str("local"),
            AddressTarget::ParamFrame => f.write_str("param"),
        }
    }
}

impl Debug for CallArg {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            CallArg::Value { ty, value } => write!(f, "{value:?}.{ty}"),
            CallArg::Param { offset, size } => write!(f, "param+{offset}..{}", offset + size),
        }
    }
}

impl Debug for CallTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            CallTarget::Direct(id) => id.fmt(f),
            CallTarget::Indirect { address, prototype, candidates } => {
                write!(f, "*{address:?} as {prototype:?}")?;
                if candidates.is_empty() { Ok(()) } else { write!(f, " among {candidates:?}") }
            }
        }
    }
}

/// Drops `field: false` and `field: None` from the derived form of an instruction.
fn compact(text: &str) -> String {
    let Some((name, fields)) = text.split_once(" { ") else { return text.to_owned() };
    let Some(fields) = fields.strip_suffix(" }") else { return text.to_owned() };
    let mut out = name.to_owned();
    let mut depth = 0;
    let mut start = 0;
    let mut parts = Vec::new();
    for (at, byte) in fields.bytes().enumerate() {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&fields[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&fields[start..]);
    let shown =
        parts.iter().map(|part| part.trim()).filter(|part| !part.ends_with(": false") && !part.ends_with(": None"));
    for (index, part) in shown.enumerate() {
        out.push_str(if index == 0 { " " } else { ", " });
        out.push_str(part);
    }
    out
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

impl Display for Body {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (index, reg) in self.regs.iter().enumerate() {
            write!(f, "{}r{index} .{}", if index % 8 == 0 { "\n  " } else { ", " }, reg.ty)?;
            if !reg.name.is_empty() {
                write!(f, " {}", reg.name)?;
            }
        }
        writeln!(f)?;
        if self.local_size > 0 {
            writeln!(f, "  local frame: {} bytes, align {}", self.local_size, self.local_align)?;
        }
        if self.param_size > 0 {
            writeln!(f, "  param frame: {} bytes", self.param_size)?;
        }
        let mut loops = self.loops.iter().peekable();
        for (index, block) in self.blocks.iter().enumerate() {
            write!(f, "b{index}:")?;
            if let Some(inside) = loops.next_if(|inside| inside.blocks.start as usize == index) {
                write!(f, " loop to b{}", inside.blocks.end - 1)?;
                if inside.irreducible {
                    f.write_str(" irreducible")?;
                }
            }
            if let Some(label) = &block.label {
                write!(f, " // {label}")?;
            }
            writeln!(f)?;
            for inst in &self.insts[block.insts.start as usize..block.insts.end as usize] {
                write!(f, "{:>5}  ", inst.line)?;
                if let Some(guard) = inst.guard {
                    write!(f, "@{guard:?} ")?;
                }
                writeln!(f, "{}", compact(&format!("{:?}", inst.op)))?;
            }
            writeln!(f, "{:>5}  {}", block.terminator.line, block.terminator)?;
        }
        Ok(())
    }
}

fn write_params(f: &mut Formatter<'_>, params: &[Param]) -> Result {
    f.write_char('(')?;
    for (index, param) in params.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        write!(f, "{separator}{} .{}", param.name, param.ty)?;
        match param.storage {
            Storage::Memory { offset } => write!(f, " at {offset} size {} align {}", param.size, param.align)?,
            Storage::Register(reg) => write!(f, " in {reg:?}")?,
        }
    }
    f.write_char(')')
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let kind = match self.kind {
            FunctionKind::Kernel => "kernel",
            FunctionKind::Device => "function",
        };
        write!(f, "{:?} {kind} {} ", self.linkage, self.name)?;
        write_params(f, &self.params)?;
        if !self.returns.is_empty() {
            f.write_str(" -> ")?;
            write_params(f, &self.returns)?;
        }
        if let Some(builtin) = self.builtin {
            write!(f, " builtin {builtin:?}")?;
        }
        match &self.body {
            Some(body) => Display::fmt(body, f),
            None => f.write_char('\n'),
        }
    }
}

impl Display for Global {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{:?} .{} {} .{}", self.linkage, self.space, self.name, self.ty)?;
        write!(f, " size {} align {}", self.size, self.align)?;
        if self.managed {
            f.write_str(" managed")?;
        }
        if !self.init.is_empty() {
            f.write_str(" =")?;
            self.init.iter().try_for_each(|byte| write!(f, " {byte:02x}"))?;
        }
        for relocation in &self.relocations {
            write!(f, " +{} {:?}", relocation.offset, relocation.target)?;
            if relocation.addend != 0 {
                write!(f, "{:+}", relocation.addend)?;
            }
            if relocation.shift != 0 {
                write!(f, ">>{}", relocation.shift)?;
            }
        }
        self.opaque_fields.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let suffix = self.target.suffix.map(String::from).unwrap_or_default();
        writeln!(f, "version {}.{} target sm_{}{suffix}", self.version.0, self.version.1, self.target.sm)?;
        for (index, global) in self.globals.iter().enumerate() {
            writeln!(f, "g{index}: {global}")?;
        }
        for (index, prototype) in self.prototypes.iter().enumerate() {
            write!(f, "p{index}: ")?;
            write_params(f, &prototype.params)?;
            f.write_str(" -> ")?;
            write_params(f, &prototype.returns)?;
            writeln!(f)?;
        }
        for (index, function) in self.functions.iter().enumerate() {
            write!(f, "f{index}: {function}")?;
            for found in function.body.iter().flat_map(|body| &body.unsupported) {
                writeln!(f, "{:>5}  not executable: {}", found.line, self.mnemonic(found.mnemonic))?;
            }
        }
        Ok(())
    }
}
