//! Reads modules, functions and blocks.

use super::reader::{Malformed, Read, Reader};
use super::{Text, value};
use crate::ir::{
    Block, BlockId, Body, Builtin, Directives, Function, FunctionId, FunctionKind, Global, GlobalId, Inst, Linkage,
    LocId, Loop, MnemonicId, Module, Op, Operand, Param, Predicate, Prototype, Reg, RegDecl, Relocation,
    RelocationTarget, ScalarType, SourceLoc, Space, Storage, Target, Terminator, TerminatorKind, UnsupportedUse,
    check_module,
};
use std::collections::HashMap;

/// Why a text gives no module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It does not follow the grammar.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It does, and the checker refuses what it says: the broken rule.
    #[error("{0}")]
    Unsound(String),
}

impl Module {
    /// Reads what [`Display`](std::fmt::Display) writes, and checks it ([`check_module`]).
    pub fn read(text: &str) -> Result<Module, ReadError> {
        let mut parser = Parser {
            input: Reader::new(text),
            module: Module { address_size: 64, ..Module::default() },
            mnemonics: HashMap::new(),
        };
        parser.module()?;
        check_module(&parser.module).map_err(ReadError::Unsound)?;
        Ok(parser.module)
    }
}

struct Parser<'t> {
    input: Reader<'t>,
    module: Module,
    mnemonics: HashMap<&'t str, MnemonicId>,
}

const LINKAGES: [Linkage; 5] = [Linkage::Internal, Linkage::Extern, Linkage::Visible, Linkage::Weak, Linkage::Common];

const BUILTINS: [Builtin; 5] =
    [Builtin::Vprintf, Builtin::Malloc, Builtin::Free, Builtin::GraphSetConditional, Builtin::AssertFail];

/// A loop as it is written: its blocks, and whether control enters in the middle.
type WrittenLoop = (std::ops::Range<u32>, bool);

impl<'t> Parser<'t> {
    fn module(&mut self) -> Read<()> {
        self.input.skip_lines();
        self.head()?;
        while !self.input.at_end() {
            if self.input.keyword("file") {
                let number = self.input.number()?;
                let name = self.input.string()?;
                if self.module.files.insert(number, name).is_some() {
                    return Err(self.input.error(format!("file {number} has a name already")));
                }
                self.input.end_line()?;
            } else if let Some(id) = self.input.try_id("g") {
                self.in_order(id, self.module.globals.len(), "g")?;
                let global = self.global()?;
                self.module.globals.push(global);
            } else if let Some(id) = self.input.try_id("p") {
                self.in_order(id, self.module.prototypes.len(), "p")?;
                let prototype = self.prototype()?;
                self.module.prototypes.push(prototype);
            } else if let Some(id) = self.input.try_id("f") {
                self.in_order(id, self.module.functions.len(), "f")?;
                let function = self.function()?;
                self.module.functions.push(function);
            } else {
                return Err(self.input.expected("`file`, or the number of a variable, prototype or function"));
            }
        }
        Ok(())
    }

    /// `version 8.0 target sm_90a`
    fn head(&mut self) -> Read<()> {
        let input = &mut self.input;
        input.expect_keyword("version")?;
        let major = input.number()?;
        input.expect(".")?;
        self.module.version = (major, input.number()?);
        input.expect_keyword("target")?;
        let word = input.word("an architecture such as `sm_90`")?;
        let arch = word.text.strip_prefix("sm_").unwrap_or_default();
        let digits = arch.trim_end_matches(|c: char| !c.is_ascii_digit());
        let mut suffix = arch[digits.len()..].chars();
        let target = Target { sm: digits.parse().unwrap_or(u32::MAX), suffix: suffix.next(), ..Target::default() };
        if target.sm == u32::MAX || suffix.next().is_some() {
            return Err(word.unknown("architecture", &["sm_90"]));
        }
        self.module.target = target;
        self.module.target.texmode_independent = input.keyword("texmode_independent");
        self.module.target.debug = input.keyword("debug");
        if input.keyword("address") {
            self.module.address_size = input.number()?;
        }
        input.end_line()
    }

    /// Ids are places in a list, so they stand in its order.
    fn in_order(&mut self, id: u32, next: usize, prefix: &str) -> Read<()> {
        if id as usize != next {
            return Err(self.input.error(format!("`{prefix}{id}` stands where `{prefix}{next}` is next")));
        }
        if matches!(prefix, "r" | "loc") { Ok(()) } else { self.input.expect(":") }
    }

    fn linkage(&mut self) -> Read<Linkage> {
        let word = self.input.word("a linkage")?;
        let known = ["Internal", "Extern", "Visible", "Weak", "Common"];
        value::variant(&LINKAGES, word.text).ok_or_else(|| word.unknown("linkage", &known))
    }

    fn ty(&mut self) -> Read<ScalarType> {
        self.input.dotted("a type such as `.u32`", ScalarType::from_text)
    }

    fn space(&mut self) -> Read<Space> {
        self.input.dotted("a state space such as `.global`", Space::from_text)
    }

    /// The number behind a word that can be left out.
    fn optional(&mut self, word: &str) -> Read<u32> {
        if self.input.keyword(word) { self.input.number() } else { Ok(0) }
    }

    /// The number behind a word.
    fn counted<T: TryFrom<i128>>(&mut self, word: &str) -> Read<T> {
        self.input.expect_keyword(word)?;
        self.input.number()
    }

    fn global(&mut self) -> Read<Global> {
        let linkage = self.linkage()?;
        let space = self.space()?;
        let name = self.input.name()?;
        let ty = self.ty()?;
        let (size, align) = (self.counted("size")?, self.counted("align")?);
        let managed = self.input.keyword("managed");
        let line = self.optional("line")?;
        let mut init = Vec::new();
        if self.input.eat("=") {
            while let Some(byte) = self.input.try_byte() {
                init.push(byte);
            }
        }
        let mut relocations = Vec::new();
        while self.input.eat("+") {
            relocations.push(self.relocation()?);
        }
        let mut opaque_fields = Vec::new();
        while self.input.at_name() {
            let name = self.input.name()?;
            self.input.expect("=")?;
            opaque_fields.push((name, self.input.name()?));
        }
        self.input.end_line()?;
        Ok(Global { name, space, ty, size, align, init, relocations, linkage, managed, opaque_fields, line })
    }

    /// `+8 size 8 generic g1-4>>8`, behind the plus.
    fn relocation(&mut self) -> Read<Relocation> {
        let offset = self.input.number()?;
        let size = self.counted("size")?;
        let generic = self.input.keyword("generic");
        let target = match self.input.try_id("g") {
            Some(id) => RelocationTarget::Global(GlobalId(id)),
            None => RelocationTarget::Function(FunctionId(self.input.id("f")?)),
        };
        // A plus with a space in front begins the next relocation.
        let addend = if self.input.at_sign() { self.input.number()? } else { 0 };
        let shift = if self.input.eat(">>") { self.input.number()? } else { 0 };
        Ok(Relocation { offset, target, addend, generic, size, shift })
    }

    fn params(&mut self) -> Read<Vec<Param>> {
        self.input.expect("(")?;
        let mut params = Vec::new();
        while !self.input.eat(")") {
            if !params.is_empty() {
                self.input.expect(",")?;
            }
            let name = self.input.name()?;
            let ty = self.ty()?;
            let storage = if self.input.keyword("in") {
                Storage::Register(Reg::read(&mut self.input)?)
            } else {
                Storage::Memory { offset: self.counted("at")? }
            };
            let (size, align) = (self.counted("size")?, self.counted("align")?);
            let pointer = if self.input.keyword("ptr") { Some((self.space()?, self.counted("align")?)) } else { None };
            params.push(Param { name, ty, size, align, storage, pointer });
        }
        Ok(params)
    }

    fn prototype(&mut self) -> Read<Prototype> {
        let params = self.params()?;
        self.input.expect("->")?;
        let returns = self.params()?;
        let param_size = self.optional("frame")?;
        let noreturn = self.input.keyword("noreturn");
        self.input.end_line()?;
        Ok(Prototype { returns, params, noreturn, param_size })
    }

    fn function(&mut self) -> Read<Function> {
        let linkage = self.linkage()?;
        let kind = if self.input.keyword("kernel") {
            FunctionKind::Kernel
        } else {
            self.input.expect_keyword("function")?;
            FunctionKind::Device
        };
        let name = self.input.name()?;
        let params = self.params()?;
        let returns = if self.input.eat("->") { self.params()? } else { Vec::new() };
        let param_buffer_size = self.optional("buffer")?;
        let line = self.optional("line")?;
        let mut builtin = None;
        if self.input.keyword("builtin") {
            let word = self.input.word("a system function")?;
            builtin = match word.text {
                "Runtime" => Builtin::named(&name),
                _ => value::variant(&BUILTINS, word.text),
            };
            if builtin.is_none() {
                return Err(word.unknown("system function", &[]));
            }
        }
        let directives = self.directives()?;
        self.input.end_line()?;
        let body = self.body()?;
        Ok(Function { name, kind, linkage, params, returns, param_buffer_size, directives, line, builtin, body })
    }

    fn extents(&mut self) -> Read<[u32; 3]> {
        Ok([self.input.number()?, self.input.number()?, self.input.number()?])
    }

    fn directives(&mut self) -> Read<Directives> {
        let mut out = Directives::default();
        while self.input.in_line() {
            let word = self.input.word("a directive")?;
            match word.text {
                "maxntid" => out.maxntid = Some(self.extents()?),
                "reqntid" => out.reqntid = Some(self.extents()?),
                "reqnctapercluster" => out.reqnctapercluster = Some(self.extents()?),
                "maxnreg" => out.maxnreg = Some(self.input.number()?),
                "minnctapersm" => out.minnctapersm = Some(self.input.number()?),
                "maxnctapersm" => out.maxnctapersm = Some(self.input.number()?),
                "maxclusterrank" => out.maxclusterrank = Some(self.input.number()?),
                "explicitcluster" => out.explicitcluster = true,
                "blocksareclusters" => out.blocksareclusters = true,
                "noreturn" => out.noreturn = true,
                "pragma" => out.pragmas.push(self.input.string()?),
                _ => return Err(word.unknown("directive", &[])),
            }
        }
        Ok(out)
    }

    /// What follows the head of a function: nothing for a declaration.
    fn body(&mut self) -> Read<Option<Body>> {
        let mut body = Body { local_align: 1, ..Body::default() };
        while let Some(id) = self.input.try_id("r") {
            self.registers(id, &mut body)?;
        }
        if self.input.keyword("local") {
            self.input.expect_keyword("frame")?;
            self.input.expect(":")?;
            body.local_size = self.input.number()?;
            self.input.expect_keyword("bytes")?;
            self.input.expect(",")?;
            body.local_align = self.counted("align")?;
            self.input.end_line()?;
        }
        if self.input.keyword("param") {
            self.input.expect_keyword("frame")?;
            self.input.expect(":")?;
            body.param_size = self.input.number()?;
            self.input.expect_keyword("bytes")?;
            self.input.end_line()?;
        }
        if self.input.keyword("names") {
            self.input.expect(":")?;
            while let Some(id) = self.input.try_id("g") {
                body.globals.push(GlobalId(id));
            }
            while let Some(id) = self.input.try_id("f") {
                body.callees.push(FunctionId(id));
            }
            self.input.end_line()?;
        }
        while let Some(id) = self.input.try_id("loc") {
            self.in_order(id, body.locs.len(), "loc")?;
            let (file, line, column) = self.source_place()?;
            let inlined_at = if self.input.keyword("at") { Some(self.source_place()?) } else { None };
            body.locs.push(SourceLoc { file, line, column, inlined_at });
            self.input.end_line()?;
        }
        let mut loops: Vec<WrittenLoop> = Vec::new();
        while let Some(id) = self.input.try_id("b") {
            self.in_order(id, body.blocks.len(), "b")?;
            self.block(id, &mut body, &mut loops)?;
        }
        body.loops = nest(loops);
        let empty = body.blocks.is_empty();
        while self.input.at_number() {
            let found = self.unsupported()?;
            body.unsupported.push(found);
        }
        let declared = body.regs.is_empty() && body.unsupported.is_empty();
        Ok((!empty || !declared).then_some(body))
    }

    /// `r0 .b32 %a, r1 .pred`, behind the first number.
    fn registers(&mut self, first: u32, body: &mut Body) -> Read<()> {
        let mut id = first;
        loop {
            self.in_order(id, body.regs.len(), "r")?;
            let ty = self.ty()?;
            let name = if self.input.at_name() { self.input.name()? } else { String::new() };
            body.regs.push(RegDecl { name: name.into(), ty });
            if !self.input.eat(",") {
                return self.input.end_line();
            }
            id = self.input.id("r")?;
        }
    }

    fn source_place(&mut self) -> Read<(u32, u32, u32)> {
        let file = self.input.number()?;
        self.input.expect(":")?;
        let line = self.input.number()?;
        self.input.expect(":")?;
        Ok((file, line, self.input.number()?))
    }

    fn block(&mut self, id: u32, body: &mut Body, loops: &mut Vec<WrittenLoop>) -> Read<()> {
        if self.input.keyword("loop") {
            self.input.expect_keyword("to")?;
            let last = BlockId::read(&mut self.input)?;
            loops.push((id..last.0.saturating_add(1), self.input.keyword("irreducible")));
        }
        let label = if self.input.keyword("label") { Some(self.input.name()?.into()) } else { None };
        self.input.end_line()?;
        let start = body.insts.len() as u32;
        loop {
            if self.input.at_end() || self.input.at_id("b") || self.input.at_id("f") {
                return Err(self.input.expected("an instruction or the end of the block"));
            }
            let line = if self.input.at_number() { self.input.number()? } else { 0 };
            let guard = if self.input.eat("@") { Some(Predicate::read(&mut self.input)?) } else { None };
            if let Some((kind, next)) = self.terminator()? {
                // How a branch is written, its text says.
                let loc = if self.input.eat(";") { Some(self.loc()?) } else { None };
                self.input.end_line()?;
                let terminator = Terminator { guard, kind, next, line, loc };
                body.blocks.push(Block { label, insts: start..body.insts.len() as u32, terminator });
                return Ok(());
            }
            let op = Op::read(&mut self.input)?;
            let (mnemonic, loc) = self.source()?;
            body.insts.push(Inst { guard, op, mnemonic, line, loc });
        }
    }

    fn terminator(&mut self) -> Read<Option<(TerminatorKind, Option<BlockId>)>> {
        let input = &mut self.input;
        if input.keyword("next") {
            return Ok(Some((TerminatorKind::Next, Some(BlockId::read(input)?))));
        }
        let kind = if input.keyword("bra") {
            let target = BlockId::read(input)?;
            TerminatorKind::Bra { target, uniform: input.keyword("uniform") }
        } else if input.keyword("brx") {
            let (index, targets) = (Operand::read(input)?, Vec::read(input)?);
            TerminatorKind::BrxIdx { index, targets, uniform: input.keyword("uniform") }
        } else if input.keyword("ret") {
            TerminatorKind::Ret { uniform: input.keyword("uniform") }
        } else if input.keyword("exit") {
            TerminatorKind::Exit
        } else if input.keyword("trap") {
            TerminatorKind::Trap
        } else {
            return Ok(None);
        };
        let mut next = None;
        if input.eat(",") {
            input.expect_keyword("else")?;
            next = Some(BlockId::read(input)?);
        }
        Ok(Some((kind, next)))
    }

    /// `; add.u32 loc3` and the end of the line.
    fn source(&mut self) -> Read<(MnemonicId, Option<LocId>)> {
        let (mut mnemonic, mut loc) = (MnemonicId::NONE, None);
        if self.input.eat(";") {
            if !self.input.at_id("loc") {
                mnemonic = self.mnemonic()?;
            }
            if self.input.at_id("loc") {
                loc = Some(self.loc()?);
            }
        }
        self.input.end_line()?;
        Ok((mnemonic, loc))
    }

    fn loc(&mut self) -> Read<LocId> {
        self.input.id("loc").map(|index| LocId::new(index as usize))
    }

    fn mnemonic(&mut self) -> Read<MnemonicId> {
        let text = self.input.mnemonic()?;
        let list = &mut self.module.mnemonics;
        Ok(*self.mnemonics.entry(text).or_insert_with(|| {
            list.push(text.into());
            MnemonicId(list.len() as u32 - 1)
        }))
    }

    /// `12  not executable: multimem.red.add.u32`
    fn unsupported(&mut self) -> Read<UnsupportedUse> {
        let line = self.input.number()?;
        self.input.expect_keyword("not")?;
        self.input.expect_keyword("executable")?;
        self.input.expect(":")?;
        let mnemonic = self.mnemonic()?;
        let unread = if self.input.keyword("unread") { Some(self.input.name()?) } else { None };
        self.input.end_line()?;
        Ok(UnsupportedUse { mnemonic, line, unread })
    }
}

/// Gives loops their parents and depths, which follow from their ranges.
fn nest(written: Vec<WrittenLoop>) -> Vec<Loop> {
    let mut loops: Vec<Loop> = Vec::with_capacity(written.len());
    let mut open: Vec<u32> = Vec::new();
    for (blocks, irreducible) in written {
        while open.last().is_some_and(|outer| loops[*outer as usize].blocks.end <= blocks.start) {
            open.pop();
        }
        loops.push(Loop { blocks, parent: open.last().copied(), depth: open.len() as u32 + 1, irreducible });
        open.push(loops.len() as u32 - 1);
    }
    loops
}
