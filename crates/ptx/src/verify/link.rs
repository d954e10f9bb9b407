//! Linking: inputs become one module, `.extern` finds `.visible`, `.weak` and `.common` (PTX ISA 11.6).

mod prototype;

use super::{Input, VerifiedModule};
use crate::ir::{Function, FunctionId, Global, GlobalId, Linkage, Module, RelocationTarget, Space, SymbolMut};
use std::collections::HashMap;

/// What a symbol of the linked module is, and where it came from.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    place: SymbolId,
    linkage: Linkage,
    /// Whether there is a definition yet.
    defined: bool,
    /// Index of the input that defined or first named it.
    input: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SymbolId {
    Global(GlobalId),
    Function(FunctionId),
}

/// A link in progress.
#[derive(Clone, Debug, Default)]
pub struct Linker {
    module: Module,
    inputs: Vec<String>,
    symbols: HashMap<String, Symbol>,
    warnings: Vec<crate::diagnostic::Diagnostic>,
    /// By function: the input that uses it first.
    users: HashMap<FunctionId, usize>,
    /// By variable: the input whose code uses it first.
    variable_users: HashMap<GlobalId, usize>,
    /// Whether functions may be declared otherwise than they are defined, and which are: messages.
    any_prototypes: bool,
    mismatches: Vec<String>,
}

/// What is to be done with a symbol of a new input.
enum Merge {
    /// It is new to the link.
    Append,
    /// The link has it, and keeps what it has.
    Keep(SymbolId),
    /// The link has it, and takes the new one in its place.
    Replace(SymbolId),
}

/// Ids of an input, and what they became.
struct Renaming {
    globals: Vec<GlobalId>,
    functions: Vec<FunctionId>,
    prototypes: u32,
    mnemonics: u32,
}

impl Renaming {
    fn rename(&self, symbol: SymbolMut<'_>) {
        match symbol {
            SymbolMut::Global(id) => *id = self.globals[id.0 as usize],
            SymbolMut::Function(id) => *id = self.functions[id.0 as usize],
            SymbolMut::Prototype(id) => id.0 += self.prototypes,
        }
    }
}

impl Linker {
    /// A link without inputs.
    pub fn new() -> Linker {
        Linker::default()
    }

    /// A link without inputs that takes functions which inputs declare in different ways, as NVIDIA's nvJitLink does, and as images that it has made are:
    /// a call gets what results there are, and arguments that are too many are dropped. [`Linker::mismatches`] says which they are.
    pub fn with_any_prototypes() -> Linker {
        Linker { any_prototypes: true, ..Linker::default() }
    }

    /// What [`Linker::with_any_prototypes`] has taken so far: messages.
    pub fn mismatches(&self) -> &[String] {
        &self.mismatches
    }

    /// Adds an input under the name that messages call it by. If it clashes with what is there, nothing of it is added and the
    /// messages say why.
    pub fn add(&mut self, name: &str, input: Input) -> Result<(), Vec<String>> {
        let Input { lowered, .. } = input;
        let mut module = lowered.module;
        let index = self.inputs.len();
        let (globals, functions, mut clashes) = self.plan(name, &module);
        let mismatches = self.prototype_mismatches(name, &module);
        if !self.any_prototypes {
            clashes.extend(mismatches);
        } else {
            self.mismatches.extend(mismatches);
        }
        if !clashes.is_empty() {
            return Err(clashes);
        }
        self.inputs.push(name.to_owned());
        self.warnings.extend(lowered.diagnostics);
        if index == 0 {
            self.module.version = module.version;
            self.module.target = module.target.clone();
            self.module.address_size = module.address_size;
        }
        self.module.version = self.module.version.max(module.version);
        for (number, file) in module.files.drain() {
            self.module.files.entry(number).or_insert(file);
        }
        let (globals, new_globals) = self.place_globals(&module.globals, globals, index);
        let (functions, new_functions) = self.place_functions(&module.functions, functions, index);
        let renaming = Renaming {
            globals,
            functions,
            prototypes: self.module.prototypes.len() as u32,
            mnemonics: self.module.mnemonics.len() as u32,
        };
        self.module.mnemonics.append(&mut module.mnemonics);
        self.module.prototypes.append(&mut module.prototypes);
        self.rename_relocations(&new_globals, &renaming);
        for old in new_functions {
            self.take_body(&mut module.functions[old], old, &renaming, index);
        }
        Ok(())
    }

    /// Decides what becomes of every symbol of an input.
    fn plan(&self, name: &str, module: &Module) -> (Vec<Merge>, Vec<Merge>, Vec<String>) {
        let mut clashes = Vec::new();
        let functions = module.functions.iter().map(|function| {
            let defined = function.body.is_some();
            let merge = self.merge(name, &function.name, function.linkage, defined, |_| true, &mut clashes);
            match merge {
                // A declaration that nobody uses says nothing about the function.
                Merge::Keep(SymbolId::Function(id)) if !self.has_part(id) => Merge::Replace(SymbolId::Function(id)),
                merge => merge,
            }
        });
        let functions = functions.collect();
        let globals = module.globals.iter().map(|global| {
            let same_size = |place: SymbolId| match place {
                SymbolId::Global(id) => {
                    let old = self.module.globals[id.0 as usize].size;
                    old == global.size || old == 0 || global.size == 0
                }
                SymbolId::Function(_) => false,
            };
            let defined = global.linkage != Linkage::Extern;
            self.merge(name, &global.name, global.linkage, defined, same_size, &mut clashes)
        });
        let globals = globals.collect();
        (globals, functions, clashes)
    }

    fn merge(
        &self,
        input: &str,
        name: &str,
        linkage: Linkage,
        defined: bool,
        same_size: impl Fn(SymbolId) -> bool,
        clashes: &mut Vec<String>,
    ) -> Merge {
        let known = self.symbols.get(name).filter(|_| linkage != Linkage::Internal);
        let Some(known) = known else { return Merge::Append };
        let first = &self.inputs[known.input];
        if !same_size(known.place) {
            clashes.push(format!("Size doesn't match for '{name}' in '{input}', first specified in '{first}'"));
        }
        let gives_way = |linkage| matches!(linkage, Linkage::Weak | Linkage::Common);
        match (known.defined, defined) {
            (_, false) => Merge::Keep(known.place),
            (false, true) => Merge::Replace(known.place),
            (true, true) if gives_way(linkage) => Merge::Keep(known.place),
            (true, true) if gives_way(known.linkage) => Merge::Replace(known.place),
            (true, true) => {
                clashes.push(format!("Multiple definition of '{name}' in '{input}', first defined in '{first}'"));
                Merge::Keep(known.place)
            }
        }
    }

    fn record(&mut self, name: &str, place: SymbolId, linkage: Linkage, defined: bool, input: usize) {
        if linkage != Linkage::Internal {
            self.symbols.insert(name.to_owned(), Symbol { place, linkage, defined, input });
        }
    }

    /// Gives the new ids of an input's variables, and those of them whose content is the input's.
    fn place_globals(
        &mut self,
        globals: &[Global],
        merges: Vec<Merge>,
        input: usize,
    ) -> (Vec<GlobalId>, Vec<GlobalId>) {
        let mut ids = Vec::with_capacity(globals.len());
        let mut taken = Vec::new();
        for (global, merge) in globals.iter().zip(merges) {
            let defined = global.linkage != Linkage::Extern;
            let next = GlobalId(self.module.globals.len() as u32);
            let id = match merge {
                Merge::Keep(SymbolId::Global(id)) => id,
                Merge::Replace(place @ SymbolId::Global(id)) => {
                    self.module.globals[id.0 as usize] = global.clone();
                    taken.push(id);
                    self.record(&global.name, place, global.linkage, defined, input);
                    id
                }
                _ => {
                    self.module.globals.push(global.clone());
                    taken.push(next);
                    self.record(&global.name, SymbolId::Global(next), global.linkage, defined, input);
                    next
                }
            };
            ids.push(id);
        }
        (ids, taken)
    }

    /// Gives the new ids of an input's functions, and the old indices of those whose body is the input's.
    fn place_functions(
        &mut self,
        functions: &[Function],
        merges: Vec<Merge>,
        input: usize,
    ) -> (Vec<FunctionId>, Vec<usize>) {
        let mut ids = Vec::with_capacity(functions.len());
        let mut taken = Vec::new();
        for (old, (function, merge)) in functions.iter().zip(merges).enumerate() {
            let next = FunctionId(self.module.functions.len() as u32);
            let head = Function { body: None, ..function.clone() };
            let defined = function.body.is_some();
            let id = match merge {
                Merge::Keep(SymbolId::Function(id)) => id,
                Merge::Replace(place @ SymbolId::Function(id)) => {
                    self.module.functions[id.0 as usize] = head;
                    taken.push(old);
                    self.record(&function.name, place, function.linkage, defined, input);
                    id
                }
                _ => {
                    self.module.functions.push(head);
                    taken.push(old);
                    self.record(&function.name, SymbolId::Function(next), function.linkage, defined, input);
                    next
                }
            };
            ids.push(id);
        }
        (ids, taken)
    }

    /// Moves the body of function `old` of an input over, under its new ids.
    fn take_body(&mut self, function: &mut Function, old: usize, renaming: &Renaming, input: usize) {
        let Some(mut body) = function.body.take() else { return };
        for inst in &mut body.insts {
            inst.symbols_mut().into_iter().for_each(|symbol| renaming.rename(symbol));
            inst.mnemonic.0 += renaming.mnemonics;
        }
        for found in &mut body.unsupported {
            found.mnemonic.0 += renaming.mnemonics;
        }
        body.callees.iter_mut().for_each(|id| *id = renaming.functions[id.0 as usize]);
        body.globals.iter_mut().for_each(|id| *id = renaming.globals[id.0 as usize]);
        for callee in &body.callees {
            self.users.entry(*callee).or_insert(input);
        }
        for global in &body.globals {
            self.variable_users.entry(*global).or_insert(input);
        }
        self.module.functions[renaming.functions[old].0 as usize].body = Some(body);
    }

    fn rename_relocations(&mut self, new_globals: &[GlobalId], renaming: &Renaming) {
        for id in new_globals {
            for relocation in &mut self.module.globals[id.0 as usize].relocations {
                match &mut relocation.target {
                    RelocationTarget::Global(id) => *id = renaming.globals[id.0 as usize],
                    RelocationTarget::Function(id) => *id = renaming.functions[id.0 as usize],
                }
            }
        }
    }

    /// The linked module; or which functions and variables nothing defines.
    pub fn complete(&self) -> Result<VerifiedModule, Vec<String>> {
        let undefined =
            self.undefined().map(|(name, user)| format!("Undefined reference to '{name}' in '{}'", self.inputs[user]));
        let variables = self.module.globals.iter().enumerate().filter_map(|(index, global)| {
            let user = self.variable_users.get(&GlobalId(index as u32))?;
            // An `.extern` variable in shared memory is the dynamic part of it.
            let missing = global.linkage == Linkage::Extern && global.space != Space::Shared;
            missing.then(|| format!("Undefined reference to '{}' in '{}'", global.name, self.inputs[*user]))
        });
        let undefined: Vec<String> = undefined.chain(variables).collect();
        if !undefined.is_empty() {
            return Err(undefined);
        }
        let mut module = self.module.clone();
        if self.any_prototypes {
            prototype::fit_calls(&mut module)?;
        }
        Ok(VerifiedModule::new(module, self.warnings.clone()))
    }

    /// Names of functions that inputs use and none has defined so far.
    pub fn undefined_functions(&self) -> impl Iterator<Item = &str> {
        self.undefined().map(|(name, _)| name)
    }

    /// Those functions, each with the index of the input that uses it first.
    fn undefined(&self) -> impl Iterator<Item = (&str, usize)> {
        self.module.functions.iter().enumerate().filter_map(|(index, function)| {
            let user = self.users.get(&FunctionId(index as u32))?;
            let missing = function.body.is_none() && function.builtin.is_none();
            missing.then_some((function.name.as_str(), *user))
        })
    }
}
