//! Code: a verified PTX program, before it is loaded into a context. It can be loaded into several.
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use warploom_exec::kernel::LoadedKernel;
use warploom_ptx::VerifiedModule;
use warploom_ptx::ir::{FunctionId, FunctionKind, GlobalId, Module};
use warploom_ptx::resources::{KernelResources, ModuleFacts};

use super::variables::is_placed;
use crate::executor::{Executor, LoadError};
use crate::stack::with_room;
use crate::{DriverError, DriverResult, ErrorCode};

/// So many kernels are named where one is missing.
const NAMED: usize = 8;

/// A verified program and an index of its kernels.
pub struct Code {
    module: Arc<VerifiedModule>,
    /// What each kernel needs, from the time on when somebody asks; by the id of the function.
    resources: Box<[OnceLock<KernelResources>]>,
    facts: ModuleFacts,
    most_registers: Option<u32>,
    kernels: HashMap<String, FunctionId>,
    /// What the executor made of each function, by its id: the same for all contexts, as it holds no addresses.
    runnable: Box<[OnceLock<Runnable>]>,
}

type Runnable = Result<Arc<dyn LoadedKernel>, LoadError>;

impl Code {
    /// Takes a verified program. Its kernels are to have no more than `most_registers` registers, if that is said.
    pub fn new(module: impl Into<Arc<VerifiedModule>>, most_registers: Option<u32>) -> Arc<Code> {
        let module = module.into();
        let kernels = kernels_of(&module).map(|(id, name)| (name.to_owned(), id)).collect();
        let resources = module.functions.iter().map(|_| OnceLock::new()).collect();
        let facts = ModuleFacts::new(&module);
        let runnable = module.functions.iter().map(|_| OnceLock::new()).collect();
        Arc::new(Code { module, resources, facts, most_registers, kernels, runnable })
    }

    /// What a kernel needs of a device.
    pub(crate) fn resources(&self, kernel: FunctionId) -> KernelResources {
        let count = || KernelResources::of(&self.module, kernel, &self.facts, self.most_registers);
        self.resources.get(kernel.0 as usize).map_or_else(count, |known| *known.get_or_init(count))
    }

    /// Bytes of shared memory of a CTA that the source declares for a kernel.
    pub(crate) fn static_shared(&self, kernel: FunctionId) -> u32 {
        self.facts.static_shared(&self.module, kernel)
    }

    /// A kernel as the executor runs it, made at the first use in any context.
    pub(crate) fn runnable(&self, kernel: FunctionId, executor: &dyn Executor) -> Runnable {
        let make = || {
            let globals = &self.module.globals;
            let is_placed = |GlobalId(id): GlobalId| globals.get(id as usize).is_some_and(is_placed);
            with_room(|| executor.load(&self.module, kernel, &is_placed))
        };
        match self.runnable.get(kernel.0 as usize) {
            Some(place) => place.get_or_init(make).clone(),
            None => make(),
        }
    }

    /// The program.
    pub fn module(&self) -> &VerifiedModule {
        &self.module
    }

    /// The kernel with this name.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    pub fn kernel_named(&self, name: &str) -> DriverResult<FunctionId> {
        self.kernels.get(name).copied().ok_or_else(|| {
            let kernels: Vec<&str> = self.kernels().map(|(_, name)| name).take(NAMED).collect();
            let more = if self.kernels.len() > NAMED { " and others" } else { "" };
            let reason = format!("there is no kernel {name}, but {}{more}", kernels.join(", "));
            DriverError::new(ErrorCode::NotFound, reason)
        })
    }

    /// All kernels, in the order of the source.
    pub fn kernels(&self) -> impl Iterator<Item = (FunctionId, &str)> {
        kernels_of(&self.module)
    }

    /// How many kernels there are.
    pub fn kernel_count(&self) -> usize {
        self.kernels.len()
    }
}

fn kernels_of(module: &Module) -> impl Iterator<Item = (FunctionId, &str)> {
    let defined = |function: &&warploom_ptx::ir::Function| function.kind == FunctionKind::Kernel;
    (0u32..)
        .zip(&module.functions)
        .filter(move |(_, function)| defined(function))
        .map(|(id, function)| (FunctionId(id), function.name.as_str()))
}
