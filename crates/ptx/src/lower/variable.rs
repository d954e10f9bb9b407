//! Variables with static storage and their initial values (PTX ISA 5.4).

use super::constant::{self, Folded};
use super::scope::Symbol;
use super::signature::linkage;
use super::{Lowering, scalar_type};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{FunctionId, Global, GlobalId, Linkage, Relocation, RelocationTarget, ScalarType, Space, TypeClass};
use crate::syntax::ast::{self, Attribute, ExprKind, Literal, StateSpace};

/// Since this version of PTX calls are made by the ABI, and what threads have of their own is declared in functions (PTX ISA 5.1.5, 5.1.7).
const ALWAYS_BY_ABI: (u32, u32) = (3, 0);

impl Lowering<'_> {
    /// Checks what holds for variables of every state space but registers.
    pub(super) fn check_variable(&mut self, variable: &ast::Variable) -> Option<()> {
        self.check_type(variable)?;
        let name = self.text(variable.name.name);
        let is_extern = variable.linkage == Some(ast::Linkage::Extern);
        let has_storage = matches!(variable.space, StateSpace::Global | StateSpace::Const);
        let extents = &self.ast[variable.dims];
        let counted = usize::from(variable.init.is_some());
        let incomplete = extents.iter().enumerate().any(|(at, extent)| match extent {
            Some(extent) => *extent == 0,
            None => at >= counted,
        });
        let texture_mode = variable.ty.value == ast::ScalarType::Samplerref && !self.module.target.texmode_independent;
        let message = if variable.ty.value == ast::ScalarType::Pred {
            format!("Predicate variable '{name}' must be in register state space")
        } else if variable.init.is_some() && !has_storage {
            format!("No initial value is allowed for '{name}' in this state space")
        } else if variable.init.is_some() && is_extern {
            format!("No initial value is allowed for external symbol '{name}'")
        } else if variable.linkage == Some(ast::Linkage::Common) && variable.space != StateSpace::Global {
            ".common variables must be declared in .global space".to_owned()
        } else if incomplete && !is_extern {
            format!("Non-external variable '{name}' has incomplete type")
        } else if texture_mode {
            "Instruction or declaration violates .target texmode_unified setting".to_owned()
        } else if let Some(feature) = self.retired(variable) {
            feature
        } else {
            return Some(());
        };
        self.error(Code::Declaration, variable.span, message);
        None
    }

    /// Checks that the module's version and target have the type (PTX ISA 5.2.1).
    pub(super) fn check_type(&mut self, variable: &ast::Variable) -> Option<()> {
        let lacking = if variable.ty.value != ast::ScalarType::B128 {
            None
        } else if self.module.version < (8, 3) {
            Some("PTX ISA .version 8.3 or later")
        } else if self.module.target.sm < 70 {
            Some(".target sm_70 or higher")
        } else {
            None
        };
        let Some(lacking) = lacking else { return Some(()) };
        self.error(Code::Requirement, variable.ty.span, format!("Feature 'Type .b128' requires {lacking}"));
        None
    }

    /// What the module's version has no more (PTX ISA 5.1.3, 5.1.8).
    fn retired(&self, variable: &ast::Variable) -> Option<String> {
        let since = |what: &str, major, minor| {
            (self.module.version >= (major, minor))
                .then(|| format!("Deprecated feature: '{what}' not supported as of PTX version {major}.{minor}"))
        };
        match variable {
            ast::Variable { space: StateSpace::Tex, .. } => since(".tex", 1, 5),
            ast::Variable { bank: Some(_), .. } => since("explicit constant banks", 2, 2),
            _ => None,
        }
    }

    /// Size and alignment in bytes of a declared variable; an array without a bound has size 0.
    pub(super) fn layout(&mut self, variable: &ast::Variable) -> Option<(u32, u32)> {
        let (size, align) = self.wide_layout(variable)?;
        match u32::try_from(size) {
            Ok(size) => Some((size, align)),
            Err(_) => {
                self.error(Code::Limit, variable.span, "Variable is too large for its state space");
                None
            }
        }
    }

    /// As [`Self::layout`], for a variable of a function's local or parameter frame.
    pub(super) fn frame_layout(&mut self, variable: &ast::Variable) -> Option<(u32, u32)> {
        self.check_variable(variable)?;
        self.check_param_type(variable)?;
        self.layout(variable)
    }

    /// Vectors and pairs of halves cannot be parameters (PTX ISA 7.1).
    pub(super) fn check_param_type(&mut self, variable: &ast::Variable) -> Option<()> {
        let pair = matches!(variable.ty.value, ast::ScalarType::F16x2 | ast::ScalarType::Bf16x2);
        if variable.space != StateSpace::Param || variable.vector.is_none() && !pair {
            return Some(());
        }
        let name = self.text(variable.name.name);
        let message = format!("Variable '{name}' cannot be allocated in .param state space");
        self.error(Code::Declaration, variable.span, message);
        None
    }

    fn wide_layout(&mut self, variable: &ast::Variable) -> Option<(u64, u32)> {
        let element = scalar_type(variable.ty.value).bytes() * u32::from(variable.vector.unwrap_or(1));
        let dims = &self.ast[variable.dims];
        let size = dims.iter().try_fold(u64::from(element), |size, dim| size.checked_mul(dim.unwrap_or(0)));
        let align = variable.align.map_or(element, |align| align.value);
        if !align.is_power_of_two() {
            let message = format!("Alignment must be a power of two, not {align}");
            self.error(Code::Declaration, variable.align.map_or(variable.span, |a| a.span), message);
            return None;
        }
        match size {
            Some(size) => Some((size, align)),
            None => {
                self.error(Code::Limit, variable.span, "Variable is too large for its state space");
                None
            }
        }
    }

    /// A variable at module scope.
    pub(super) fn declare_global(&mut self, id: ast::Id<ast::Variable>) {
        let variable = &self.ast[id];
        if let StateSpace::Reg | StateSpace::Sreg | StateSpace::Local | StateSpace::Param = variable.space {
            let own = matches!(variable.space, StateSpace::Local | StateSpace::Reg);
            if own && self.module.version < ALWAYS_BY_ABI {
                if self.own_variables.is_empty() {
                    let name = self.text(variable.name.name);
                    let message = format!("Use of module scoped .local or .reg variable '{name}' found, disabling ABI");
                    self.report(Diagnostic::warning(Code::Declaration, variable.span, message));
                }
                self.own_variables.push(id);
                return;
            }
            let message = match variable.space {
                StateSpace::Local => "Module-scoped variables in .local state space are not allowed with ABI",
                StateSpace::Reg => "Module-scoped variables in .reg state space are not allowed with ABI",
                _ => "Variables of this state space cannot be declared at module scope",
            };
            self.error(Code::Declaration, variable.span, message);
            return;
        }
        let name = self.text(variable.name.name).to_owned();
        if let Some(Symbol::Global(known)) = self.lookup(variable.name.name) {
            self.redeclare_global(known, variable, id);
            return;
        }
        if let Some(global) = self.make_global(name, variable, id) {
            self.declare(variable.name, Symbol::Global(global), "variable");
        }
    }

    /// An `.extern` declaration and a definition of the same variable are one.
    fn redeclare_global(&mut self, known: GlobalId, variable: &ast::Variable, id: ast::Id<ast::Variable>) {
        let index = known.0 as usize;
        let both_define =
            self.module.globals[index].linkage != Linkage::Extern && variable.linkage != Some(ast::Linkage::Extern);
        let earlier = self.global_spans[index];
        let name = self.text(variable.name.name);
        if both_define {
            let message = format!("Duplicate definition of variable '{name}'");
            self.report(
                Diagnostic::error(Code::Redeclared, variable.name.span, message).label(earlier, "first declared here"),
            );
            return;
        }
        let Some((size, align)) = self.wide_layout(variable) else { return };
        let old = &self.module.globals[index];
        let array = self.global_arrays[index];
        let open = array && (size == 0 || old.size == 0);
        let same = old.ty == scalar_type(variable.ty.value) && array != variable.dims.is_empty();
        let clash = if !same || size != old.size && !open {
            Some(format!("Inconsistent redefinition of variable '{name}'"))
        } else if old.linkage == Linkage::Extern && variable.linkage.is_none() {
            Some(format!("'.extern' variable '{name}' cannot be resolved by a '.static' variable"))
        } else {
            None
        };
        if let Some(message) = clash {
            let error = Diagnostic::error(Code::Redeclared, variable.name.span, message);
            self.report(error.label(earlier, "first declared here"));
            return;
        }
        let old = &mut self.module.globals[index];
        if old.linkage == Linkage::Extern && variable.linkage != Some(ast::Linkage::Extern) {
            old.linkage = linkage(variable.linkage);
            old.size = size;
            old.align = align;
            self.global_spans[index] = variable.name.span;
            if variable.init.is_some() {
                self.initialisers.push((known, id));
            }
        }
    }

    /// A variable declared in a function that lives as long as the module.
    pub(super) fn declare_static(
        &mut self,
        function: FunctionId,
        variable: &ast::Variable,
        id: ast::Id<ast::Variable>,
    ) {
        let name = self.text(variable.name.name);
        let name = format!("{}${name}", self.module.functions[function.0 as usize].name);
        if let Some(global) = self.make_global(name, variable, id) {
            self.declare(variable.name, Symbol::Global(global), "variable");
        }
    }

    fn make_global(&mut self, name: String, variable: &ast::Variable, id: ast::Id<ast::Variable>) -> Option<GlobalId> {
        self.check_variable(variable)?;
        let (size, align) = self.wide_layout(variable)?;
        let space = match variable.space {
            StateSpace::Const => Space::Const,
            StateSpace::Shared => Space::Shared,
            _ => Space::Global,
        };
        let global = Global {
            name,
            space,
            ty: scalar_type(variable.ty.value),
            size,
            align,
            init: Vec::new(),
            relocations: Vec::new(),
            linkage: linkage(variable.linkage),
            managed: variable.attribute == Some(Attribute::Managed),
            opaque_fields: Vec::new(),
            line: self.lines.line(variable.span.start),
        };
        self.module.globals.push(global);
        self.global_arrays.push(!variable.dims.is_empty());
        self.global_spans.push(variable.name.span);
        let global = GlobalId(self.module.globals.len() as u32 - 1);
        if variable.init.is_some() {
            self.initialisers.push((global, id));
        }
        Some(global)
    }

    /// Evaluates an initialiser; all names of the module are known by then.
    pub(super) fn initialise(&mut self, global: GlobalId, variable: ast::Id<ast::Variable>) {
        let ast = self.ast;
        let variable = &ast[variable];
        let Some(init) = variable.init else { return };
        let ty = scalar_type(variable.ty.value);
        if ty.class() == TypeClass::Opaque {
            self.opaque_fields(global, init);
            return;
        }
        let mut dims: Vec<u64> = ast[variable.dims].iter().map(|dim| dim.unwrap_or(0)).collect();
        if let Some(vector) = variable.vector {
            dims.push(u64::from(vector));
        }
        // The bound of `a[] = {..}` is the number of its values.
        let open = ast[variable.dims].first() == Some(&None);
        if open {
            dims[0] = match ast[init].kind {
                ExprKind::Braces(values) => values.len() as u64,
                ExprKind::String(literal) => ast.name(ast[literal].text).len() as u64 + 1,
                _ => 1,
            };
        }
        let mut value = Initial { bytes: Vec::new(), relocations: Vec::new(), ty };
        self.initial(&mut value, init, &dims, 0);
        let size: u64 = dims.iter().product::<u64>().saturating_mul(u64::from(ty.bytes()));
        if value.bytes.len() as u64 > size {
            let name = self.text(variable.name.name);
            let message = format!("Too many initial values for variable '{name}'");
            self.error(Code::Declaration, ast[init].span, message);
            return;
        }
        let target = &mut self.module.globals[global.0 as usize];
        target.init = value.bytes;
        target.relocations = value.relocations;
        if open {
            target.size = size;
        }
    }

    /// `{ filter_mode = linear, addr_mode_0 = wrap }` of a texture or sampler (PTX ISA 5.3).
    fn opaque_fields(&mut self, global: GlobalId, init: ast::Id<ast::Expr>) {
        let ast = self.ast;
        let ExprKind::Braces(fields) = ast[init].kind else {
            self.error(Code::Declaration, ast[init].span, "Fields of an opaque variable stand between braces");
            return;
        };
        for field in &ast[fields] {
            let ExprKind::Field(name, value) = field.kind else {
                self.error(Code::Declaration, field.span, "Field of an opaque variable expected");
                return;
            };
            let pair = (self.text(name).to_owned(), ast.text(ast[value].span).to_owned());
            self.module.globals[global.0 as usize].opaque_fields.push(pair);
        }
    }

    /// Writes the values of `expr` from byte `at` on, shaped by the remaining dimensions.
    fn initial(&mut self, out: &mut Initial, expr: ast::Id<ast::Expr>, dims: &[u64], at: u64) {
        let ast = self.ast;
        match ast[expr].kind {
            ExprKind::Braces(values) => {
                let inner = dims.get(1..).unwrap_or(&[]);
                let step = inner.iter().product::<u64>() * u64::from(out.ty.bytes());
                if dims.is_empty() {
                    self.error(Code::Declaration, ast[expr].span, "Initial value type mismatch");
                    return;
                }
                if values.len() as u64 > dims.first().copied().unwrap_or(1) {
                    self.error(Code::Declaration, ast[expr].span, "Too many initial values");
                    return;
                }
                for (index, value) in values.ids().enumerate() {
                    self.initial(out, value, inner, at + index as u64 * step);
                }
            }
            ExprKind::String(literal) if out.ty.bits() == 8 => {
                let text = ast.name(ast[literal].text);
                out.write(at, text.as_bytes());
            }
            _ if !dims.is_empty() => self.error(Code::Declaration, ast[expr].span, "Initial value type mismatch"),
            _ => match constant::fold(ast, expr) {
                Ok(folded) => self.initial_value(out, expr, folded, at),
                Err(error) => self.report(error),
            },
        }
    }

    fn initial_value(&mut self, out: &mut Initial, expr: ast::Id<ast::Expr>, folded: Folded, at: u64) {
        let span = self.ast[expr].span;
        let Some(symbol) = folded.symbol else {
            let bits = constant::immediate(out.ty, folded.value).or(match (out.ty, folded.value) {
                // Floating-point constants initialise bits as they are stored.
                (ScalarType::B32, Literal::F64(bits)) => Some(u64::from((f64::from_bits(bits) as f32).to_bits())),
                (ScalarType::B64, Literal::F32(bits)) => Some(u64::from(bits)),
                _ => None,
            });
            match bits {
                Some(bits) => out.write(at, &bits.to_le_bytes()[..out.ty.bytes().min(8) as usize]),
                None => self.error(Code::Declaration, span, format!("Initial value is no .{}", out.ty)),
            }
            return;
        };
        // A byte takes one of the address, a whole one is unsigned.
        let takes = out.ty.class() == TypeClass::Unsigned
            && match out.ty.bits() {
                8 => symbol.mask.is_some(),
                bits => bits >= 32,
            };
        if !takes {
            self.error(Code::Declaration, span, "Initial value type mismatch");
            return;
        }
        if let Some(mask) = symbol.mask
            && (0..8).all(|byte| mask != 0xff << (8 * byte))
        {
            self.error(Code::Declaration, span, format!("Invalid mask value '{mask:#x}' used in initializer"));
            return;
        }
        let target = match self.lookup(symbol.name) {
            Some(Symbol::Global(id)) if self.module.globals[id.0 as usize].space == Space::Shared => {
                let message = "Variable used as initial value not in .global or .const state space";
                self.error(Code::Declaration, span, message);
                return;
            }
            Some(Symbol::Global(id)) => RelocationTarget::Global(id),
            Some(Symbol::Function(id)) => RelocationTarget::Function(id),
            _ => {
                let text = self.text(symbol.name);
                self.error(Code::Undeclared, span, format!("Unknown symbol '{text}'"));
                return;
            }
        };
        let size = out.ty.bytes().min(8);
        out.write(at, &[0; 8][..size as usize]);
        out.relocations.push(Relocation {
            offset: at,
            target,
            addend: constant::integer(folded.value).unwrap_or(0) as i64,
            generic: symbol.generic,
            size,
            shift: symbol.mask.map_or(0, |mask| mask.trailing_zeros().min(63)),
        });
    }
}

/// An initial value under construction.
struct Initial {
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
    ty: ScalarType,
}

impl Initial {
    fn write(&mut self, at: u64, bytes: &[u8]) {
        let at = at as usize;
        if self.bytes.len() < at + bytes.len() {
            self.bytes.resize(at + bytes.len(), 0);
        }
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }
}
