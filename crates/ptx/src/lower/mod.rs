//! Syntax tree to typed IR: names are resolved, operands typed, modifiers read through [`crate::isa`], control flow made explicit.
//!
//! Everything that is wrong with an instruction or a declaration by itself is found here, where its place in the text is known;
//! what concerns a module as a whole is the business of [`crate::verify`].

mod address;
mod array;
mod body;
mod call;
mod constant;
mod directives;
mod flow;
mod instruction;
mod mnemonic;
mod operand;
mod scope;
mod signature;
mod variable;
mod vector;
mod width;

use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::syntax::ast::{self, Item};
use crate::syntax::{Name, Span};
use scope::{Scopes, Symbol};

/// After so many problems the rest of the module is not looked at.
const MAX_DIAGNOSTICS: usize = 200;

/// A lowered module and what was wrong with it.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The module; parts with errors are missing from it.
    pub module: ir::Module,
    /// In the order of the text within a function.
    pub diagnostics: Vec<Diagnostic>,
    /// Where the functions of `module` are declared, by index.
    pub function_spans: Vec<Span>,
    /// Where the variables are declared, by index.
    pub global_spans: Vec<Span>,
}

/// Lowers a parsed module.
pub fn lower(module: &ast::Module) -> Lowered {
    let mut lowering = Lowering::new(module);
    lowering.declare_items();
    lowering.lower_bodies();
    lowering.finish()
}

/// State of the lowering of one module.
struct Lowering<'a> {
    ast: &'a ast::Module,
    module: ir::Module,
    scopes: Scopes,
    diagnostics: Vec<Diagnostic>,
    mnemonics: mnemonic::Cache,
    lines: LineCursor,
    function_spans: Vec<Span>,
    /// By function: its first declaration.
    first_declared: Vec<Span>,
    /// Variables of each thread that are declared outside of functions.
    own_variables: Vec<ast::Id<ast::Variable>>,
    global_spans: Vec<Span>,
    /// By variable of the module: whether it is an array, which `name[index]` asks.
    global_arrays: Vec<bool>,
    /// By function: its definition in the tree.
    definitions: Vec<Option<ast::Id<ast::Function>>>,
    /// Initialisers to evaluate when all names are known.
    initialisers: Vec<(ir::GlobalId, ast::Id<ast::Variable>)>,
    aliases: Vec<(ast::Ident, ast::Ident)>,
}

/// Finds the line of offsets that mostly ascend.
struct LineCursor {
    starts: Vec<u32>,
    at: usize,
}

impl LineCursor {
    fn new(text: &str) -> LineCursor {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        LineCursor { starts: std::iter::once(0).chain(breaks.map(|(at, _)| at as u32 + 1)).collect(), at: 0 }
    }

    /// The line of a byte, from 1.
    fn line(&mut self, offset: u32) -> u32 {
        if self.starts[self.at] > offset {
            self.at = self.starts.partition_point(|start| *start <= offset).max(1) - 1;
        }
        while self.starts.get(self.at + 1).is_some_and(|start| *start <= offset) {
            self.at += 1;
        }
        self.at as u32 + 1
    }
}

impl<'a> Lowering<'a> {
    fn new(ast: &'a ast::Module) -> Lowering<'a> {
        let version = ast.version.map_or((0, 0), |v| (v.value.major, v.value.minor));
        let target = read_target(ast);
        let module = ir::Module {
            version,
            target,
            address_size: ast.address_size.map_or(64, |size| size.value),
            ..ir::Module::default()
        };
        Lowering {
            ast,
            module,
            scopes: Scopes::new(ast.names().len()),
            diagnostics: Vec::new(),
            mnemonics: mnemonic::Cache::default(),
            lines: LineCursor::new(ast.source()),
            function_spans: Vec::new(),
            first_declared: Vec::new(),
            own_variables: Vec::new(),
            global_spans: Vec::new(),
            global_arrays: Vec::new(),
            definitions: Vec::new(),
            initialisers: Vec::new(),
            aliases: Vec::new(),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }

    fn text(&self, name: Name) -> &'a str {
        self.ast.name(name)
    }

    /// Binds a name in the innermost scope, and reports if it has one already.
    fn declare(&mut self, ident: ast::Ident, symbol: Symbol, what: &str) {
        if let Err(earlier) = self.scopes.declare(ident.name, symbol, ident.span) {
            let message = format!("Duplicate definition of {what} '{}'", self.text(ident.name));
            self.report(Diagnostic::error(Code::Redeclared, ident.span, message).label(earlier, "first declared here"));
        }
    }

    fn declare_items(&mut self) {
        for item in &self.ast.items {
            match *item {
                Item::Variable(id) => self.declare_global(id),
                Item::Function(id) => self.declare_function(id),
                Item::Alias { alias, target, .. } => self.aliases.push((alias, target)),
                Item::File { index, name, .. } => {
                    let text = self.text(self.ast[name].text).to_owned();
                    self.module.files.insert(index, text);
                }
                Item::Section { .. } | Item::Dwarf(_) | Item::Pragma(_) | Item::Loc(_) => {}
            }
        }
        for (alias, target) in std::mem::take(&mut self.aliases) {
            self.declare_alias(alias, target);
        }
        for (global, variable) in std::mem::take(&mut self.initialisers) {
            self.initialise(global, variable);
        }
    }

    /// `.alias a, f;`: `a` was declared as a function without body and becomes another name of `f` (PTX ISA 11.7.2).
    fn declare_alias(&mut self, alias: ast::Ident, target: ast::Ident) {
        let of = |lowering: &mut Self, ident: ast::Ident| match lowering.lookup(ident.name) {
            Some(Symbol::Function(id)) => Some(id),
            _ => {
                let text = lowering.text(ident.name);
                lowering.error(Code::Undeclared, ident.span, format!("Unknown symbol '{text}'"));
                None
            }
        };
        let (Some(alias_id), Some(target_id)) = (of(self, alias), of(self, target)) else { return };
        let (alias_text, target_text) = (self.text(alias.name), self.text(target.name));
        let (of_alias, of_target) = (self.function(alias_id), self.function(target_id));
        let shape =
            |f: &ir::Function| -> Vec<_> { f.params.iter().chain(&f.returns).map(|p| (p.ty, p.size)).collect() };
        let message = if self.definitions[alias_id.0 as usize].is_some() {
            format!("Alias '{alias_text}' must be a function without a body")
        } else if of_target.kind == ir::FunctionKind::Kernel {
            format!("Cannot define alias to entry function '{target_text}'")
        } else if of_target.linkage == ir::Linkage::Extern {
            format!("Function '{target_text}' with .extern scope cannot be aliased")
        } else if of_alias.params.len() != of_target.params.len() || shape(of_alias) != shape(of_target) {
            format!("Mismatch in prototype of alias '{alias_text}' and aliasee '{target_text}'")
        } else {
            String::new()
        };
        if !message.is_empty() {
            self.error(Code::Declaration, alias.span, message);
            return;
        }
        self.definitions[alias_id.0 as usize] = self.definitions[target_id.0 as usize];
        self.module.functions[alias_id.0 as usize].linkage = self.module.functions[target_id.0 as usize].linkage;
    }

    fn function(&self, id: ir::FunctionId) -> &ir::Function {
        &self.module.functions[id.0 as usize]
    }

    /// What a name stands for that is no register of a range.
    fn lookup(&mut self, name: Name) -> Option<Symbol> {
        match self.scopes.find(name, || None)? {
            scope::Found::Symbol(symbol) => Some(symbol),
            scope::Found::New(_) => None,
        }
    }

    fn lower_bodies(&mut self) {
        for index in 0..self.definitions.len() {
            if self.diagnostics.len() >= MAX_DIAGNOSTICS {
                break;
            }
            if let Some(definition) = self.definitions[index] {
                self.lower_body(ir::FunctionId(index as u32), definition);
            }
        }
        // Variables inside functions have initialisers too.
        for (global, variable) in std::mem::take(&mut self.initialisers) {
            self.initialise(global, variable);
        }
    }

    fn finish(self) -> Lowered {
        Lowered {
            module: self.module,
            diagnostics: self.diagnostics,
            function_spans: self.function_spans,
            global_spans: self.global_spans,
        }
    }
}

/// Reads what `.target` lists; what is wrong with it is for the verifier to say.
fn read_target(ast: &ast::Module) -> ir::Target {
    let mut target = ir::Target::default();
    for ident in &ast[ast.targets] {
        let text = ast.name(ident.name);
        if let Some(arch) = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")) {
            let digits = arch.trim_end_matches(|c: char| !c.is_ascii_digit());
            target.sm = digits.parse().unwrap_or(0);
            target.suffix = arch[digits.len()..].chars().next();
        } else if text == "texmode_independent" {
            target.texmode_independent = true;
        } else if text == "debug" {
            target.debug = true;
        }
    }
    target
}

/// The IR type of a declared type.
fn scalar_type(ty: ast::ScalarType) -> ir::ScalarType {
    use ast::ScalarType as A;
    use ir::ScalarType as I;
    match ty {
        A::B8 => I::B8,
        A::B16 => I::B16,
        A::B32 => I::B32,
        A::B64 => I::B64,
        A::B128 => I::B128,
        A::U8 => I::U8,
        A::U16 => I::U16,
        A::U32 => I::U32,
        A::U64 => I::U64,
        A::S8 => I::S8,
        A::S16 => I::S16,
        A::S32 => I::S32,
        A::S64 => I::S64,
        A::F16 => I::F16,
        A::F16x2 => I::F16x2,
        A::Bf16 => I::Bf16,
        A::Bf16x2 => I::Bf16x2,
        A::Tf32 => I::Tf32,
        A::F32 => I::F32,
        A::F64 => I::F64,
        A::Pred => I::Pred,
        A::Texref => I::TexRef,
        A::Samplerref => I::SamplerRef,
        A::Surfref => I::SurfRef,
    }
}

/// How a name that ends in digits divides into the prefix of a register range and a number, e.g. `%r12`.
fn split_register(ast: &ast::Module, name: Name) -> Option<(Name, u32)> {
    let text = ast.name(name);
    let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
    // Of `%r01` the prefix may be `%r` or `%r0`; only the shortest is looked for.
    let index = text[prefix.len()..].parse().ok()?;
    Some((ast.names().find(prefix)?, index))
}
