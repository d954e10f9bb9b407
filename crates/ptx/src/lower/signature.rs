//! Kernels, device functions and prototypes: parameters and where they lie.

use super::body::place;
use super::scope::{ELEMENTS, Symbol};
use super::{Lowering, scalar_type};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{
    Builtin, Function, FunctionId, FunctionKind, Linkage, Param, Prototype, PrototypeId, Reg, Space, Storage,
};
use crate::syntax::ast::{self, DirectiveKind, StateSpace};

/// Most bytes of parameters that a kernel takes: 4352 before PTX ISA 8.1 and sm_70, 32764 since (PTX ISA 5.1.6.1).
const MAX_KERNEL_PARAMS: u32 = 32764;

impl Lowering<'_> {
    /// Enters a function into the module, or merges it with its earlier declaration.
    pub(super) fn declare_function(&mut self, id: ast::Id<ast::Function>) {
        let ast = self.ast;
        let written = &ast[id];
        let name = self.text(written.name.name);
        let kind = match written.kind {
            ast::FunctionKind::Entry => FunctionKind::Kernel,
            ast::FunctionKind::Func => FunctionKind::Device,
        };
        let (params, returns, end) = self.signature(written.params, written.returns, kind);
        if kind == FunctionKind::Kernel && end > MAX_KERNEL_PARAMS {
            let message = format!(
                "Formal parameter space overflowed ({end} bytes, max {MAX_KERNEL_PARAMS} bytes) in function {name}"
            );
            self.error(Code::Limit, written.name.span, message);
        }
        let directives = self.directives(written);
        if written.linkage == Some(ast::Linkage::Extern) && written.body.is_some() {
            let message = format!("Function definition conflicts with '.extern' declaration for function '{name}'");
            self.error(Code::Declaration, written.name.span, message);
        }
        for variable in ast[written.params].iter().chain(&ast[written.returns]) {
            if self.text(variable.name.name) == "_" {
                self.error(Code::Declaration, variable.name.span, "Illegal parameter name '_'");
            }
        }
        let function = Function {
            name: name.to_owned(),
            kind,
            linkage: linkage(written.linkage),
            params,
            returns,
            param_buffer_size: if kind == FunctionKind::Kernel { end } else { 0 },
            directives,
            line: self.lines.line(written.span.start),
            builtin: if written.body.is_none() { Builtin::named(name) } else { None },
            body: None,
        };
        let definition = written.body.is_some().then_some(id);
        if let Some(Symbol::Function(known)) = self.lookup(written.name.name) {
            self.redeclare_function(known, function, definition, written);
            return;
        }
        let index = self.module.functions.len() as u32;
        self.module.functions.push(function);
        self.function_spans.push(written.name.span);
        self.first_declared.push(written.name.span);
        self.definitions.push(definition);
        self.declare(written.name, Symbol::Function(FunctionId(index)), "function");
    }

    fn redeclare_function(
        &mut self,
        known: FunctionId,
        function: Function,
        definition: Option<ast::Id<ast::Function>>,
        written: &ast::Function,
    ) {
        let index = known.0 as usize;
        let earlier = self.function_spans[index];
        let name = self.text(written.name.name);
        if self.definitions[index].is_some() {
            let message = format!("Duplicate definition of function '{name}'");
            self.report(
                Diagnostic::error(Code::Redeclared, written.name.span, message).label(earlier, "first defined here"),
            );
            return;
        }
        let old = &self.module.functions[index];
        // What was declared with a word for its linkage keeps it, with the same word or none; what is elsewhere is not defined here.
        let other = function.linkage != old.linkage && function.linkage != Linkage::Internal;
        let elsewhere = old.linkage == Linkage::Extern && function.linkage != Linkage::Extern;
        if other || elsewhere && definition.is_some() || old.directives.noreturn != function.directives.noreturn {
            let message = format!("Inconsistent redefinition of variable '{name}'");
            self.report(
                Diagnostic::error(Code::Redeclared, written.name.span, message).label(earlier, "declared here"),
            );
            return;
        }
        let shape = |f: &Function| -> Vec<_> {
            let in_memory = |param: &Param| matches!(param.storage, Storage::Memory { .. });
            f.params.iter().chain(&f.returns).map(|p| (p.ty, p.size, p.align, in_memory(p))).collect()
        };
        if old.kind != function.kind || shape(old) != shape(&function) || old.params.len() != function.params.len() {
            let message = format!("Definition of function '{name}' does not match its earlier declaration");
            self.report(
                Diagnostic::error(Code::Declaration, written.name.span, message).label(earlier, "declared here"),
            );
            return;
        }
        if definition.is_some() {
            let linkage = if function.linkage == Linkage::Internal { old.linkage } else { function.linkage };
            self.module.functions[index] = Function { linkage, ..function };
            self.function_spans[index] = written.name.span;
            self.definitions[index] = definition;
        }
    }

    /// Parameters, return values, and the bytes that those in memory take.
    fn signature(
        &mut self,
        params: ast::List<ast::Variable>,
        returns: ast::List<ast::Variable>,
        kind: FunctionKind,
    ) -> (Vec<Param>, Vec<Param>, u32) {
        let ast = self.ast;
        let (mut end, mut regs) = (0u32, 0u32);
        let mut lay_out = |lowering: &mut Self, list: ast::List<ast::Variable>| -> Vec<Param> {
            ast[list].iter().flat_map(|variable| lowering.param(variable, kind, &mut end, &mut regs)).collect()
        };
        let params = lay_out(self, params);
        let returns = lay_out(self, returns);
        (params, returns, end)
    }

    /// One parameter; of a vector register one for each element.
    fn param(&mut self, variable: &ast::Variable, kind: FunctionKind, end: &mut u32, regs: &mut u32) -> Vec<Param> {
        let elements = match (variable.space, variable.vector) {
            (StateSpace::Reg, Some(count)) => &ELEMENTS[..usize::from(count).min(ELEMENTS.len())],
            _ => return self.scalar_param(variable, kind, end, regs).into_iter().collect(),
        };
        let scalar = ast::Variable { vector: None, ..*variable };
        let named = |(param, element): (Param, &&str)| Param { name: format!("{}.{element}", param.name), ..param };
        let params = elements.iter().map_while(|_| self.scalar_param(&scalar, kind, end, regs));
        params.zip(elements).map(named).collect()
    }

    fn scalar_param(
        &mut self,
        variable: &ast::Variable,
        kind: FunctionKind,
        end: &mut u32,
        regs: &mut u32,
    ) -> Option<Param> {
        let ty = scalar_type(variable.ty.value);
        self.check_param(variable, kind)?;
        let (size, align) = self.layout(variable)?;
        let storage = match variable.space {
            StateSpace::Reg if kind == FunctionKind::Device => {
                *regs += 1;
                Storage::Register(Reg(*regs - 1))
            }
            StateSpace::Param => Storage::Memory { offset: place(end, size, align) },
            _ => {
                let message = "Parameters are declared in the .param state space";
                self.error(Code::Declaration, variable.span, message);
                return None;
            }
        };
        let pointer = variable.ptr.map(|ptr| {
            let space = match ptr.space {
                Some(StateSpace::Global) => Space::Global,
                Some(StateSpace::Const) => Space::Const,
                Some(StateSpace::Shared) => Space::Shared,
                Some(StateSpace::Local) => Space::Local,
                _ => Space::Generic,
            };
            (space, ptr.align.unwrap_or(4))
        });
        Some(Param { name: self.text(variable.name.name).to_owned(), ty, size, align, storage, pointer })
    }

    /// Checks the type of a parameter in memory.
    fn check_param(&mut self, variable: &ast::Variable, kind: FunctionKind) -> Option<()> {
        if variable.space != StateSpace::Param {
            return Some(());
        }
        self.check_param_type(variable)?;
        let name = self.text(variable.name.name);
        let open = self.ast[variable.dims].iter().any(|extent| extent.unwrap_or(0) == 0);
        let message = if variable.ty.value == ast::ScalarType::Pred {
            format!("Predicate variable '{name}' must be in register state space")
        } else if kind == FunctionKind::Kernel && open {
            "Parameter to entry function cannot be an incomplete array.".to_owned()
        } else {
            return Some(());
        };
        self.error(Code::Declaration, variable.span, message);
        None
    }

    /// The shape behind a `.callprototype`.
    pub(super) fn prototype(&mut self, written: &ast::Prototype) -> PrototypeId {
        let (params, returns, param_size) = self.signature(written.params, written.returns, FunctionKind::Device);
        let noreturn = self.ast[written.directives].iter().any(|d| d.kind == DirectiveKind::NoReturn);
        self.module.prototypes.push(Prototype { params, returns, noreturn, param_size });
        PrototypeId(self.module.prototypes.len() as u32 - 1)
    }
}

/// The IR's linkage of a declaration.
pub(super) fn linkage(written: Option<ast::Linkage>) -> Linkage {
    match written {
        None => Linkage::Internal,
        Some(ast::Linkage::Extern) => Linkage::Extern,
        Some(ast::Linkage::Visible) => Linkage::Visible,
        Some(ast::Linkage::Weak) => Linkage::Weak,
        Some(ast::Linkage::Common) => Linkage::Common,
    }
}
