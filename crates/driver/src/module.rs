//! Modules: code with its variables, loaded into a context.
mod code;
mod function;
mod image;
mod jit;
mod variables;

pub use code::Code;
pub use function::{Function, FunctionAttribute, ParameterPlace};
pub use image::{ELF_MAGIC, FAT_BINARY_MAGIC, FAT_BINARY_WRAPPER_MAGIC, Image};
pub use jit::{JitLogs, JitOptions};

pub(crate) use jit::{Best, damaged, no_binary, none_for, refused, unlinkable};

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use warploom_ptx::ir::{FunctionId, FunctionKind, GlobalId, ScalarType, Space};

use crate::context::Context;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult, ErrorCode};
pub(crate) use variables::VariableNames;
use variables::Variables;

/// One module.
pub struct Module {
    handle: Handle,
    context: Arc<Context>,
    code: Arc<Code>,
    variables: Variables,
    /// The handle of each function of the code, by its id, from its first use on.
    functions: Mutex<Vec<Handle>>,
    /// The handles of texture and surface references that were asked for.
    references: OnceLock<Mutex<HashMap<GlobalId, Handle>>>,
    /// Whether it is the module of a library, which alone unloads it.
    of_library: bool,
}

impl Module {
    /// Its handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Its code.
    pub fn code(&self) -> &Arc<Code> {
        &self.code
    }

    /// The context that it is loaded into.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The context that it was created in.
    pub(crate) fn context_id(&self) -> u64 {
        self.context.id()
    }

    /// Its texture and surface references, by the id of their variables.
    pub(crate) fn references(&self) -> &Mutex<HashMap<GlobalId, Handle>> {
        self.references.get_or_init(Mutex::default)
    }

    /// These, if one was ever asked for: launches of the many modules that have none take no lock.
    pub(crate) fn known_references(&self) -> Option<&Mutex<HashMap<GlobalId, Handle>>> {
        self.references.get()
    }

    /// Whether it is what a library is in its context, and ends with the library.
    pub(crate) fn is_of_library(&self) -> bool {
        self.of_library
    }

    /// The address of each variable, by its id.
    pub(crate) fn variables(&self) -> &Variables {
        &self.variables
    }
}

impl Driver {
    /// Loads code into the calling thread's context.
    ///
    /// # Errors
    /// `OutOfMemory` for its variables; those of [`Driver::current`].
    pub fn load_module(&self, code: &Arc<Code>) -> DriverResult<Handle> {
        let context = self.current()?;
        Ok(self.load_into(&context, code, false)?.handle)
    }

    pub(crate) fn load_into(
        &self,
        context: &Arc<Context>,
        code: &Arc<Code>,
        of_library: bool,
    ) -> DriverResult<Arc<Module>> {
        self.flush_output();
        // Textures are objects with samplers of their own: as recorded, a module with a sampler by itself is not loaded.
        if let Some(sampler) = code.module().globals.iter().find(|global| global.ty == ScalarType::SamplerRef) {
            let reason = format!("there is nothing to bind the .samplerref {} to", sampler.name);
            return Err(DriverError::new(ErrorCode::NotFound, reason));
        }
        let module = context.while_alive(|| {
            let variables = self.place_variables(context, code)?;
            self.modules.insert(|handle| Module {
                handle,
                context: Arc::clone(context),
                code: Arc::clone(code),
                variables,
                functions: Mutex::new(vec![Handle::NULL; code.module().functions.len()]),
                references: OnceLock::new(),
                of_library,
            })
        })?;
        if self.options().eager_loading {
            for function in self.functions_of(&module, usize::MAX)? {
                // What is wrong with a kernel is told when it is launched: the others run.
                let _ = self.load_function(&*self.function(function)?);
            }
        }
        Ok(module)
    }

    /// The module of a handle.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; the sticky error.
    pub fn module(&self, module: Handle) -> DriverResult<Arc<Module>> {
        let module = self.modules.lookup(module)?;
        module.context.check()?;
        Ok(module)
    }

    /// Unloads a module, once all work of its context is done. Its functions and variables are gone.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; `NotPermitted` for modules of libraries, as recorded; the sticky error.
    pub fn unload_module(&self, module: Handle) -> DriverResult {
        self.refuse_unsafe_in_capture()?;
        let module = self.module(module)?;
        if module.of_library {
            let reason = "the module belongs to a library, which unloads it";
            return Err(DriverError::new(ErrorCode::NotPermitted, reason));
        }
        self.unload(&module)
    }

    pub(crate) fn unload(&self, module: &Module) -> DriverResult {
        self.finish_all_of(&module.context)?;
        self.flush_output();
        self.modules.remove(module.handle)?;
        for function in module.functions.lock().drain(..).filter(|function| !function.is_null()) {
            // A function's handle ends with its module only: it is there.
            let _ = self.functions.remove(function);
        }
        self.forget_references(module);
        self.forget_variables(&module.variables)
    }

    /// The function of a module with this name.
    ///
    /// # Errors
    /// `NotFound` if the module has no such kernel.
    pub fn function_named(&self, module: &Arc<Module>, name: &str) -> DriverResult<Handle> {
        let id = module.code.kernel_named(name)?;
        self.function_with_id(module, id)
    }

    /// The handle of one of a module's kernels.
    pub(crate) fn function_with_id(&self, module: &Arc<Module>, id: FunctionId) -> DriverResult<Handle> {
        let mut functions = module.functions.lock();
        let unknown = || DriverError::invalid_handle("the module is being unloaded");
        let place = functions.get_mut(id.0 as usize).ok_or_else(unknown)?;
        if place.is_null() {
            *place = self.functions.insert(|handle| Function::new(handle, module, id))?.handle();
        }
        Ok(*place)
    }

    /// Up to `most` kernels of a module, in the order of the source.
    ///
    /// # Errors
    /// `OutOfMemory` if there are no handles left.
    pub fn functions_of(&self, module: &Arc<Module>, most: usize) -> DriverResult<Vec<Handle>> {
        module.code.kernels().take(most).map(|(id, _)| self.function_with_id(module, id)).collect()
    }

    /// Address and size of a variable of a module.
    ///
    /// # Errors
    /// `NotFound` if the module has no such variable, `InvalidValue` if the name is that of a function, as recorded.
    pub fn variable_named(&self, module: &Module, name: &str) -> DriverResult<(u64, u64)> {
        let code = module.code.module();
        if code.functions.iter().any(|function| function.name == name && function.kind == FunctionKind::Kernel) {
            return Err(DriverError::invalid_value(format!("{name} is a kernel, not a variable")));
        }
        let missing = || DriverError::new(ErrorCode::NotFound, format!("the module has no variable {name}"));
        let id = code.global(name).ok_or_else(missing)?;
        let global = code.globals.get(id.0 as usize).ok_or_else(missing)?;
        if !matches!(global.space, Space::Global | Space::Const) {
            return Err(missing());
        }
        let address = module.variables.address(id).ok_or_else(missing)?;
        Ok((address, global.size))
    }
}
