//! Libraries: code that is loaded into each context when it is first used there, and its kernels.
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use warploom_ptx::ir::FunctionId;

use crate::context::Context;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::module::{Code, Function, FunctionAttribute, Image, JitLogs, JitOptions, Module};
use crate::{DriverError, DriverResult};

/// One library. Its image is translated when something in it is first asked for, as recorded.
pub struct Library {
    handle: Handle,
    image: Image,
    options: JitOptions,
    code: OnceLock<DriverResult<Arc<Code>>>,
    /// The library's module in each context, by the context's id.
    modules: Mutex<HashMap<u64, Handle>>,
    kernels: Mutex<HashMap<FunctionId, Handle>>,
}

/// A kernel of a library, which stands for a function in each context.
pub struct Kernel {
    handle: Handle,
    library: Arc<Library>,
    id: FunctionId,
    name: CString,
    /// The function that it is in each context, by the context's id, from its first use there on.
    functions: RwLock<Vec<(u64, Handle)>>,
    /// Attributes that were set, for the functions of contexts that are yet to come.
    attributes: Mutex<Vec<(FunctionAttribute, i32)>>,
    /// What it prefers, for the same (`CUfunc_cache`).
    cache_config: AtomicU32,
}

impl Library {
    /// Its handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }
}

impl Kernel {
    /// Its handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Its name.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// The library that it belongs to.
    pub fn library(&self) -> &Arc<Library> {
        &self.library
    }
}

impl Driver {
    /// Keeps an image as a library.
    ///
    /// # Errors
    /// `OutOfMemory` if there are no handles left; the sticky error.
    pub fn load_library(&self, image: Image, options: JitOptions) -> DriverResult<Handle> {
        self.check()?;
        let library = self.libraries.insert(|handle| Library {
            handle,
            image,
            options,
            code: OnceLock::new(),
            modules: Mutex::default(),
            kernels: Mutex::default(),
        })?;
        Ok(library.handle)
    }

    /// Unloads a library with its kernels, and from all contexts.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; the sticky error.
    pub fn unload_library(&self, library: Handle) -> DriverResult {
        self.check()?;
        let library = self.libraries.remove(library)?;
        for (_, kernel) in library.kernels.lock().drain() {
            // A kernel's handle ends with its library only: it is there.
            let _ = self.kernels.remove(kernel);
        }
        let modules: Vec<Handle> = library.modules.lock().drain().map(|(_, module)| module).collect();
        for module in modules {
            // The module of a context that was destroyed is gone already.
            if let Some(module) = self.modules.get(module) {
                self.unload(&module)?;
            }
        }
        Ok(())
    }

    /// The library of a handle.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; the sticky error.
    pub fn library(&self, library: Handle) -> DriverResult<Arc<Library>> {
        let library = self.libraries.lookup(library)?;
        self.check()?;
        Ok(library)
    }

    /// Translates a library that was not used yet, for what the translation says. A failure is kept for the first use.
    ///
    /// # Errors
    /// As [`Driver::library`].
    pub fn translate_library(&self, library: Handle, logs: &mut JitLogs) -> DriverResult {
        let library = self.library(library)?;
        // Who asks for something in it is told what went wrong.
        let _ = library.code.get_or_init(|| self.translate(&library.image, &library.options, logs));
        Ok(())
    }

    /// The code of a library, translated at the first use.
    ///
    /// # Errors
    /// As [`Driver::translate`].
    pub fn library_code<'a>(&self, library: &'a Library) -> DriverResult<&'a Arc<Code>> {
        let translate = || self.translate(&library.image, &library.options, &mut JitLogs::default());
        library.code.get_or_init(translate).as_ref().map_err(Clone::clone)
    }

    /// The module that a library is in the calling thread's context.
    ///
    /// # Errors
    /// Those of [`Driver::current`] and [`Driver::load_module`].
    pub fn library_module(&self, library: &Library) -> DriverResult<Arc<Module>> {
        self.library_module_in(&self.current()?, library)
    }

    fn library_module_in(&self, context: &Arc<Context>, library: &Library) -> DriverResult<Arc<Module>> {
        let code = self.library_code(library)?;
        let mut modules = library.modules.lock();
        if let Some(module) = modules.get(&context.id()).and_then(|module| self.modules.get(*module)) {
            return Ok(module);
        }
        let module = self.load_into(context, code, true)?;
        modules.insert(context.id(), module.handle());
        Ok(module)
    }

    /// The kernel of a library with this name.
    ///
    /// # Errors
    /// `NotFound`; as [`Driver::translate`].
    pub fn kernel_named(&self, library: &Arc<Library>, name: &str) -> DriverResult<Handle> {
        let id = self.library_code(library)?.kernel_named(name)?;
        self.kernel_with_id(library, id, name)
    }

    fn kernel_with_id(&self, library: &Arc<Library>, id: FunctionId, name: &str) -> DriverResult<Handle> {
        let mut kernels = library.kernels.lock();
        if let Some(known) = kernels.get(&id) {
            return Ok(*known);
        }
        let kernel = self.kernels.insert(|handle| Kernel {
            handle,
            library: Arc::clone(library),
            id,
            name: CString::new(name).unwrap_or_default(),
            functions: RwLock::default(),
            attributes: Mutex::default(),
            cache_config: AtomicU32::new(0),
        })?;
        kernels.insert(id, kernel.handle);
        Ok(kernel.handle)
    }

    /// Up to `most` kernels of a library, in the order of the source.
    ///
    /// # Errors
    /// As [`Driver::translate`].
    pub fn kernels_of(&self, library: &Arc<Library>, most: usize) -> DriverResult<Vec<Handle>> {
        let code = self.library_code(library)?;
        code.kernels().take(most).map(|(id, name)| self.kernel_with_id(library, id, name)).collect()
    }

    /// The kernel of a handle.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; the sticky error.
    pub fn kernel(&self, kernel: Handle) -> DriverResult<Arc<Kernel>> {
        let kernel = self.kernels.lookup(kernel)?;
        self.check()?;
        Ok(kernel)
    }

    /// The function that a kernel is in the calling thread's context.
    ///
    /// # Errors
    /// As [`Driver::library_module`].
    #[inline]
    pub fn function_of(&self, kernel: &Kernel) -> DriverResult<Arc<Function>> {
        let context = self.current()?;
        let known = kernel.functions.read().iter().find(|(id, _)| *id == context.id()).map(|(_, handle)| *handle);
        match known.and_then(|handle| self.functions.get(handle)) {
            Some(function) => Ok(function),
            None => self.first_use(kernel, &context),
        }
    }

    /// The function that a kernel is on a device, whose attributes can be asked for and set without a current context where the primary one is there (recorded).
    ///
    /// # Errors
    /// `InvalidDevice`; as [`Driver::library_module`].
    pub fn function_on(&self, kernel: &Kernel, ordinal: i32) -> DriverResult<Arc<Function>> {
        self.device(ordinal)?;
        match self.current() {
            Ok(_) => self.function_of(kernel),
            Err(error) => self.first_use(kernel, &self.active_primary(ordinal).ok_or(error)?),
        }
    }

    /// The function of a kernel that is used in a context for the first time, with the attributes that were set before.
    #[cold]
    fn first_use(&self, kernel: &Kernel, context: &Arc<Context>) -> DriverResult<Arc<Function>> {
        let module = self.library_module_in(context, &kernel.library)?;
        let context = context.id();
        let function = self.function(self.function_with_id(&module, kernel.id)?)?;
        // Held until the function is known: an attribute that is set meanwhile is set on it too.
        let attributes = kernel.attributes.lock();
        let mut functions = kernel.functions.write();
        functions.retain(|(id, handle)| *id != context && self.functions.get(*handle).is_some());
        functions.push((context, function.handle()));
        drop(functions);
        for (attribute, value) in attributes.iter() {
            self.set_function_attribute(&function, *attribute, *value)?;
        }
        function.set_cache_config(kernel.cache_config.load(Ordering::Relaxed));
        Ok(function)
    }

    /// Says what a kernel prefers of cache and shared memory (`CUfunc_cache`), in all contexts.
    pub fn set_kernel_cache_config(&self, kernel: &Kernel, config: u32) {
        // Held as for attributes.
        let _attributes = kernel.attributes.lock();
        kernel.cache_config.store(config, Ordering::Relaxed);
        self.functions_by_now(kernel).for_each(|function| function.set_cache_config(config));
    }

    /// The functions that a kernel is in contexts by now.
    fn functions_by_now(&self, kernel: &Kernel) -> impl Iterator<Item = Arc<Function>> {
        let handles: Vec<Handle> = kernel.functions.read().iter().map(|(_, handle)| *handle).collect();
        handles.into_iter().filter_map(|handle| self.functions.get(handle))
    }

    /// Changes an attribute of a kernel, in all contexts.
    ///
    /// # Errors
    /// As [`Driver::set_function_attribute`] and [`Driver::function_on`].
    pub fn set_kernel_attribute(
        &self,
        kernel: &Kernel,
        attribute: FunctionAttribute,
        value: i32,
        ordinal: i32,
    ) -> DriverResult {
        let function = self.function_on(kernel, ordinal)?;
        self.set_function_attribute(&function, attribute, value)?;
        let mut attributes = kernel.attributes.lock();
        for function in self.functions_by_now(kernel) {
            self.set_function_attribute(&function, attribute, value)?;
        }
        attributes.retain(|(known, _)| *known != attribute);
        attributes.push((attribute, value));
        Ok(())
    }

    /// The function to launch: `handle` may be a kernel's, which is valid where a function is.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; as [`Driver::function_of`].
    #[inline]
    pub fn launchable(&self, handle: Handle) -> DriverResult<Arc<Function>> {
        if handle.claims(crate::Kind::Kernel) {
            self.function_of(&*self.kernel(handle)?)
        } else {
            self.function(handle)
        }
    }

    /// Address and size of a managed variable of a library. As recorded, no context need be current.
    ///
    /// # Errors
    /// `NotFound` if there is none of this name; as [`Driver::library_module`].
    pub fn managed_named(&self, library: &Library, name: &str) -> DriverResult<(u64, u64)> {
        let context = self.current().or_else(|error| self.active_primary(0).ok_or(error))?;
        let module = self.library_module_in(&context, library)?;
        let managed = module.code().module().globals.iter().any(|global| global.name == name && global.managed);
        if !managed {
            let reason = format!("the library has no managed variable {name}");
            return Err(DriverError::new(crate::ErrorCode::NotFound, reason));
        }
        self.variable_named(&module, name)
    }
}
