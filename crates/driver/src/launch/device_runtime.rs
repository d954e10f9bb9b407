//! What kernels that launch kernels ask of the driver: launches of kernels of their own module, graphs, and queries.
use std::ffi::CStr;
use std::sync::{Arc, Weak};

use warploom_exec::copy::FillWidth;
use warploom_exec::device_runtime::{DeviceRuntime, FunctionFacts, NodeUpdate, RuntimeError};
use warploom_exec::family::{ChildLaunch, ChildWork, Family};
use warploom_exec::grid::Launch;
use warploom_exec::memory::{AllocSpec, MemoryKind};

use super::LaunchShape;
use crate::context::Limit;
use crate::driver::Driver;
use crate::module::{Function, FunctionAttribute, Module};
use crate::{DriverError, ErrorCode, Handle};

/// Name and text of an error of the runtime API by its number, as the runtime library of the driver's major version has them.
pub type RuntimeErrorTexts = fn(u32) -> (&'static CStr, &'static CStr);

/// The driver, for the kernels of one module.
pub(crate) struct ModuleRuntime {
    driver: Weak<Driver>,
    module: Arc<Module>,
}

impl ModuleRuntime {
    pub(crate) fn new(driver: Weak<Driver>, module: &Arc<Module>) -> ModuleRuntime {
        ModuleRuntime { driver, module: Arc::clone(module) }
    }

    /// The driver is there as long as anybody runs kernels, but for the end of the process.
    fn driver(&self) -> Result<Arc<Driver>, RuntimeError> {
        self.driver.upgrade().ok_or(RuntimeError::NOT_SUPPORTED)
    }

    /// The kernel of the module that has this address.
    fn kernel(&self, driver: &Driver, address: u64) -> Result<Arc<Function>, RuntimeError> {
        let code = self.module.code();
        let mut kernels = code.kernels();
        let found = kernels.find(|(id, _)| driver.executor().function_address(*id) == address);
        let (id, _) = found.ok_or(RuntimeError::INVALID_DEVICE_FUNCTION)?;
        let function = driver.function_with_id(&self.module, id).and_then(|handle| driver.functions.lookup(handle));
        function.map_err(|_| RuntimeError::INVALID_DEVICE_FUNCTION)
    }

    fn attribute_of(driver: &Driver, function: &Function, attribute: FunctionAttribute) -> i32 {
        // None of those that are asked for here can fail.
        driver.function_attribute(function, attribute).unwrap_or(0)
    }
}

fn shape_of(child: &ChildLaunch) -> LaunchShape {
    let ChildLaunch { grid, cta, dynamic_shared, .. } = *child;
    LaunchShape { grid, cta, cluster: None, dynamic_shared, cooperative: false }
}

/// As recorded, a kernel is told no more of a launch that is not possible than that it is not.
fn refused(error: &DriverError) -> RuntimeError {
    match error.code() {
        ErrorCode::OutOfMemory => RuntimeError::MEMORY_ALLOCATION,
        ErrorCode::NotSupported => RuntimeError::NOT_SUPPORTED,
        _ => RuntimeError::INVALID_CONFIGURATION,
    }
}

impl DeviceRuntime for ModuleRuntime {
    fn parameter_bytes(&self, function: u64) -> Result<u32, RuntimeError> {
        Ok(self.kernel(&*self.driver()?, function)?.parameter_bytes())
    }

    fn check(&self, child: &ChildLaunch) -> Result<(), RuntimeError> {
        let driver = self.driver()?;
        let function = self.kernel(&driver, child.function)?;
        driver.check_shape(&function, &shape_of(child), None).map_err(|error| refused(&error))?;
        Ok(())
    }

    fn prepare(&self, child: &ChildLaunch, parameters: Box<[u8]>) -> Result<Launch, RuntimeError> {
        let driver = self.driver()?;
        let function = self.kernel(&driver, child.function)?;
        driver.prepare_launch(&function, &shape_of(child), parameters, None).map_err(|error| refused(&error))
    }

    fn attribute(&self, attribute: i32, device: i32) -> Result<i32, RuntimeError> {
        let driver = self.driver()?;
        let device = driver.device(device).map_err(|_| RuntimeError::INVALID_DEVICE)?;
        device.attribute(attribute).ok_or(RuntimeError::INVALID_VALUE)
    }

    fn limit(&self, limit: u32) -> Result<u64, RuntimeError> {
        let limit = Limit::from_number(limit).map_err(|_| RuntimeError::INVALID_VALUE)?;
        Ok(self.module.context().limit(limit))
    }

    fn device(&self) -> i32 {
        i32::try_from(self.module.context().ordinal()).unwrap_or(0)
    }

    fn device_count(&self) -> i32 {
        self.driver.upgrade().map_or(0, |driver| i32::try_from(driver.devices().len()).unwrap_or(i32::MAX))
    }

    fn version(&self) -> i32 {
        self.driver.upgrade().map_or(0, |driver| driver.options().machine.cuda_version)
    }

    fn function(&self, function: u64) -> Result<FunctionFacts, RuntimeError> {
        let driver = self.driver()?;
        let function = self.kernel(&driver, function)?;
        let number = |attribute| ModuleRuntime::attribute_of(&driver, &function, attribute);
        let size = |attribute| u64::try_from(number(attribute)).unwrap_or(0);
        Ok(FunctionFacts {
            shared_size_bytes: size(FunctionAttribute::SharedSizeBytes),
            const_size_bytes: size(FunctionAttribute::ConstSizeBytes),
            local_size_bytes: size(FunctionAttribute::LocalSizeBytes),
            max_threads_per_block: number(FunctionAttribute::MaxThreadsPerBlock),
            num_regs: number(FunctionAttribute::NumRegs),
            ptx_version: number(FunctionAttribute::PtxVersion),
            binary_version: number(FunctionAttribute::BinaryVersion),
            cache_mode_ca: number(FunctionAttribute::CacheModeCa),
        })
    }

    fn resident_ctas(&self, function: u64, threads: i32, dynamic_shared: u64) -> Result<i32, RuntimeError> {
        let driver = self.driver()?;
        let function = self.kernel(&driver, function)?;
        let threads = u64::try_from(threads).map_err(|_| RuntimeError::INVALID_VALUE)?;
        let ctas = driver.resident_ctas(&function, threads, dynamic_shared).map_err(|_| RuntimeError::INVALID_VALUE)?;
        Ok(i32::try_from(ctas).unwrap_or(i32::MAX))
    }

    fn error_text(&self, code: u32, name: bool) -> Result<u64, RuntimeError> {
        let driver = self.driver()?;
        let ordinal = self.module.context().ordinal();
        let (named, text) = (driver.options().runtime_error_texts)(code);
        let text = if name { named } else { text };
        let mut known = driver.runtime_texts.lock();
        if let Some(address) = known.get(&(ordinal, text)) {
            return Ok(*address);
        }
        let bytes = text.to_bytes_with_nul();
        let (size, kind) = (bytes.len() as u64, MemoryKind::Internal);
        let spec = AllocSpec { size, kind, device: ordinal, owner: 0, tag: 0, origin: "the text of an error" };
        let address = driver.memory().alloc(spec).map_err(|_| RuntimeError::MEMORY_ALLOCATION)?.base;
        for (place, byte) in (address..).zip(bytes) {
            let filled = driver.memory().fill(place, FillWidth::One, (*byte).into(), 1);
            filled.map_err(|_| RuntimeError::MEMORY_ALLOCATION)?;
        }
        known.insert((ordinal, text), address);
        Ok(address)
    }

    fn graph(&self, exec: u64, beside: &Arc<Family>) -> Result<ChildWork, RuntimeError> {
        let exec = usize::try_from(exec).map_err(|_| RuntimeError::INVALID_VALUE)?;
        let driver = self.driver()?;
        driver.graph_for_kernel(Handle::from_raw(exec), beside).map_err(|_| RuntimeError::INVALID_VALUE)
    }

    fn update_nodes(&self, updates: &[NodeUpdate]) -> Result<(), RuntimeError> {
        let ordinal = self.module.context().ordinal();
        self.driver()?.update_nodes(ordinal, updates).map_err(|_| RuntimeError::INVALID_VALUE)
    }
}
