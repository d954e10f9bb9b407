//! Functions: the kernels of loaded modules.
use std::ffi::{CStr, CString};
use std::io::Write;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use warploom_exec::kernel::LoadedKernel;
use warploom_ptx::ir::{FunctionId, Storage};
use warploom_ptx::resources::KernelResources;

use super::Module;
use crate::device::{MOST_SHARED, MOST_THREADS, attribute};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::launch::LegacyLaunch;
use crate::{DriverError, DriverResult, ErrorCode};

/// Where a parameter lies in the parameter buffer, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterPlace {
    /// From the start of the buffer.
    pub offset: u32,
    /// Size.
    pub size: u32,
}

/// One kernel of a loaded module.
pub struct Function {
    handle: Handle,
    module: Arc<Module>,
    id: FunctionId,
    name: CString,
    parameters: Box<[ParameterPlace]>,
    static_shared: u32,
    resources: OnceLock<KernelResources>,
    /// Who runs it, from the first use on.
    loaded: OnceLock<DriverResult<Arc<dyn LoadedKernel>>>,
    max_dynamic_shared: AtomicU32,
    carveout: AtomicI32,
    cache_config: AtomicU32,
    cluster: [AtomicU32; 5],
    pub(crate) legacy: Mutex<LegacyLaunch>,
}

/// What can be asked of a function (`CUfunction_attribute`), in the order of the numbers from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of CUfunction_attribute say it")]
pub enum FunctionAttribute {
    MaxThreadsPerBlock,
    SharedSizeBytes,
    ConstSizeBytes,
    LocalSizeBytes,
    NumRegs,
    PtxVersion,
    BinaryVersion,
    CacheModeCa,
    MaxDynamicSharedSizeBytes,
    PreferredSharedMemoryCarveout,
    ClusterSizeMustBeSet,
    RequiredClusterWidth,
    RequiredClusterHeight,
    RequiredClusterDepth,
    NonPortableClusterSizeAllowed,
    ClusterSchedulingPolicyPreference,
}

impl FunctionAttribute {
    const ALL: [FunctionAttribute; 16] = [
        FunctionAttribute::MaxThreadsPerBlock,
        FunctionAttribute::SharedSizeBytes,
        FunctionAttribute::ConstSizeBytes,
        FunctionAttribute::LocalSizeBytes,
        FunctionAttribute::NumRegs,
        FunctionAttribute::PtxVersion,
        FunctionAttribute::BinaryVersion,
        FunctionAttribute::CacheModeCa,
        FunctionAttribute::MaxDynamicSharedSizeBytes,
        FunctionAttribute::PreferredSharedMemoryCarveout,
        FunctionAttribute::ClusterSizeMustBeSet,
        FunctionAttribute::RequiredClusterWidth,
        FunctionAttribute::RequiredClusterHeight,
        FunctionAttribute::RequiredClusterDepth,
        FunctionAttribute::NonPortableClusterSizeAllowed,
        FunctionAttribute::ClusterSchedulingPolicyPreference,
    ];

    /// The attribute with this number.
    ///
    /// # Errors
    /// `InvalidValue` for other numbers.
    pub fn from_number(number: u32) -> DriverResult<FunctionAttribute> {
        let known = usize::try_from(number).ok().and_then(|number| FunctionAttribute::ALL.get(number));
        known.copied().ok_or_else(|| DriverError::invalid_value(format!("{number} is no attribute of functions")))
    }
}

/// Places in [`Function::cluster`].
const WIDTH: usize = 0;
const NON_PORTABLE: usize = 3;
/// `CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING`.
const LAST_POLICY: i32 = 2;
const POLICY: usize = 4;

impl Function {
    pub(super) fn new(handle: Handle, module: &Arc<Module>, id: FunctionId) -> Function {
        let code = module.code().module();
        let source = code.functions.get(id.0 as usize);
        let place = |param: &warploom_ptx::ir::Param| match param.storage {
            Storage::Memory { offset } => ParameterPlace { offset, size: param.size },
            Storage::Register(_) => ParameterPlace { offset: 0, size: 0 },
        };
        let static_shared = module.code().static_shared(id);
        let name = source.map(|function| function.name.clone()).unwrap_or_default();
        let required = source.and_then(|function| function.directives.reqnctapercluster).unwrap_or_default();
        Function {
            handle,
            module: Arc::clone(module),
            id,
            name: CString::new(name).unwrap_or_default(),
            parameters: source.map(|function| function.params.iter().map(place).collect()).unwrap_or_default(),
            static_shared,
            resources: OnceLock::new(),
            loaded: OnceLock::new(),
            max_dynamic_shared: AtomicU32::new(MOST_SHARED.saturating_sub(static_shared)),
            carveout: AtomicI32::new(-1),
            cache_config: AtomicU32::new(0),
            cluster: [required[0], required[1], required[2], 0, 0].map(AtomicU32::new),
            legacy: Mutex::default(),
        }
    }

    /// Its handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Its name.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// The module that it belongs to.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// Places of its parameters, in order.
    pub fn parameters(&self) -> &[ParameterPlace] {
        &self.parameters
    }

    /// Bytes of its parameter buffer.
    pub fn parameter_bytes(&self) -> u32 {
        self.parameters.last().map_or(0, |last| last.offset + last.size)
    }

    /// Bytes of shared memory that the source declares.
    pub(crate) fn static_shared(&self) -> u32 {
        self.static_shared
    }

    /// What it needs of a device, whoever runs it.
    pub(crate) fn resources(&self) -> KernelResources {
        *self.resources.get_or_init(|| self.module.code().resources(self.id))
    }

    /// Whether it can call functions of the device's runtime library that are there only where that is linked.
    pub(crate) fn launches_kernels(&self) -> bool {
        self.resources().linked_runtime
    }

    /// How much of its most shared memory a multiprocessor is to have, in percent; negative if nothing was said.
    pub(crate) fn carveout(&self) -> i32 {
        self.carveout.load(Ordering::Relaxed)
    }

    /// What it prefers of cache and shared memory (`CUfunc_cache`), which only counts for its occupancy.
    pub(crate) fn cache_config(&self) -> u32 {
        self.cache_config.load(Ordering::Relaxed)
    }

    /// Says what it prefers.
    pub fn set_cache_config(&self, config: u32) {
        self.cache_config.store(config, Ordering::Relaxed);
    }

    /// Most bytes of dynamic shared memory that a launch may ask for.
    pub(crate) fn max_dynamic_shared(&self) -> u32 {
        self.max_dynamic_shared.load(Ordering::Relaxed)
    }

    fn directives(&self) -> Option<&warploom_ptx::ir::Directives> {
        Some(&self.module.code().module().functions.get(self.id.0 as usize)?.directives)
    }

    /// `.reqntid`.
    pub(crate) fn required_cta(&self) -> Option<[u32; 3]> {
        Some(self.directives()?.reqntid?.map(|extent| extent.max(1)))
    }

    /// `.blocksareclusters`: a launch says how many clusters a grid has.
    pub(crate) fn blocks_are_clusters(&self) -> bool {
        self.directives().is_some_and(|directives| directives.blocksareclusters)
    }

    /// The cluster that the source or an attribute asks for.
    pub fn required_cluster(&self) -> Option<[u32; 3]> {
        let size = [0, 1, 2].map(|axis| self.cluster[WIDTH + axis].load(Ordering::Relaxed));
        // As recorded, no launch has clusters of which some extents are 0.
        (size != [0; 3]).then_some(size)
    }

    /// `.explicitcluster`: each launch must say how large its clusters are, unless the source does.
    pub(crate) fn is_explicitly_clustered(&self) -> bool {
        self.directives().is_some_and(|directives| directives.explicitcluster)
    }

    /// `.maxclusterrank`: most CTAs of a cluster.
    pub(crate) fn largest_cluster(&self) -> u64 {
        self.directives().and_then(|directives| directives.maxclusterrank).map_or(u64::MAX, u64::from)
    }

    /// Whether clusters of more than 8 CTAs are allowed.
    pub(crate) fn allows_large_clusters(&self) -> bool {
        self.cluster[NON_PORTABLE].load(Ordering::Relaxed) != 0
    }

    /// Most threads of a CTA: `.maxntid`, or what the device has.
    pub(crate) fn max_threads(&self) -> u32 {
        let bound = self.directives().and_then(|directives| directives.maxntid);
        bound.map_or(MOST_THREADS, |size| size.iter().product::<u32>().min(MOST_THREADS))
    }

    /// The kernel, made runnable at the first use.
    ///
    /// # Errors
    /// `NotSupported` for a kernel with instructions that cannot be executed.
    #[inline]
    pub(crate) fn loaded(&self, driver: &Driver) -> DriverResult<Arc<dyn LoadedKernel>> {
        match self.loaded.get() {
            Some(known) => known.clone(),
            None => self.load(driver),
        }
    }

    #[cold]
    fn load(&self, driver: &Driver) -> DriverResult<Arc<dyn LoadedKernel>> {
        let load = || {
            let runnable = self.module.code().runnable(self.id, &**driver.executor());
            runnable.map_err(|error| self.refused(&error.to_string()))
        };
        self.loaded.get_or_init(load).clone()
    }

    /// Says on standard error, once, why no launch of the kernel succeeds: few programs tell more than the result code.
    fn refused(&self, why: &str) -> DriverError {
        let report = format!(
            "warploom: error: {why}\n  in kernel {}, which cannot be launched\n  = {}\n",
            self.name.to_string_lossy(),
            ErrorCode::NotSupported.name()
        );
        // Without standard error nobody reads reports.
        let _ = std::io::stderr().write_all(report.as_bytes());
        DriverError::new(ErrorCode::NotSupported, why.to_owned())
    }

    /// Whether it has been made runnable.
    pub fn is_loaded(&self) -> bool {
        self.loaded.get().is_some()
    }
}

impl Driver {
    /// The function of a handle.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; the sticky error.
    #[inline]
    pub fn function(&self, function: Handle) -> DriverResult<Arc<Function>> {
        // As recorded, a fault is told before what is wrong with the handle.
        let function = self.functions.lookup(function).map_err(|wrong| self.check().err().unwrap_or(wrong))?;
        function.module().context().check()?;
        Ok(function)
    }

    /// Makes a function runnable now.
    ///
    /// # Errors
    /// `NotSupported` for a kernel with instructions that cannot be executed.
    pub fn load_function(&self, function: &Function) -> DriverResult {
        function.loaded(self).map(|_| ())
    }

    /// An attribute of a function.
    ///
    /// # Errors
    /// `InvalidDevice` if its device is gone.
    pub fn function_attribute(&self, function: &Function, attribute: FunctionAttribute) -> DriverResult<i32> {
        let device = self.device_of(function.module().context())?;
        let number = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        let wide = |value: u64| i32::try_from(value).unwrap_or(i32::MAX);
        let cluster = |index: usize| number(function.cluster[index].load(Ordering::Relaxed));
        Ok(match attribute {
            FunctionAttribute::MaxThreadsPerBlock => number(function.max_threads()),
            FunctionAttribute::SharedSizeBytes => number(function.static_shared),
            FunctionAttribute::ConstSizeBytes => wide(function.resources().constant),
            FunctionAttribute::LocalSizeBytes => wide(function.resources().local),
            FunctionAttribute::NumRegs => number(function.resources().registers),
            FunctionAttribute::PtxVersion => number(function.module().code().module().target.sm),
            FunctionAttribute::BinaryVersion => number(device.capability()),
            FunctionAttribute::CacheModeCa => 0,
            FunctionAttribute::MaxDynamicSharedSizeBytes => number(function.max_dynamic_shared()),
            FunctionAttribute::PreferredSharedMemoryCarveout => function.carveout.load(Ordering::Relaxed),
            FunctionAttribute::ClusterSizeMustBeSet => {
                i32::from(function.directives().is_some_and(|directives| directives.explicitcluster))
            }
            FunctionAttribute::RequiredClusterWidth => cluster(WIDTH),
            FunctionAttribute::RequiredClusterHeight => cluster(WIDTH + 1),
            FunctionAttribute::RequiredClusterDepth => cluster(WIDTH + 2),
            FunctionAttribute::NonPortableClusterSizeAllowed => cluster(NON_PORTABLE),
            FunctionAttribute::ClusterSchedulingPolicyPreference => cluster(POLICY),
        })
    }

    /// Changes an attribute of a function.
    ///
    /// # Errors
    /// `InvalidValue` for attributes that cannot be changed and values out of range.
    pub fn set_function_attribute(
        &self,
        function: &Function,
        attribute: FunctionAttribute,
        value: i32,
    ) -> DriverResult {
        let device = self.device_of(function.module().context())?;
        let refuse = || Err(DriverError::invalid_value(format!("{attribute:?} cannot be {value}")));
        match attribute {
            FunctionAttribute::MaxDynamicSharedSizeBytes => {
                let most = device.limit(attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
                let most = most.saturating_sub(function.static_shared);
                match u32::try_from(value) {
                    Ok(bytes) if bytes <= most => function.max_dynamic_shared.store(bytes, Ordering::Relaxed),
                    _ => return refuse(),
                }
            }
            FunctionAttribute::PreferredSharedMemoryCarveout if (-1..=100).contains(&value) => {
                function.carveout.store(value, Ordering::Relaxed);
            }
            FunctionAttribute::NonPortableClusterSizeAllowed => {
                function.cluster[NON_PORTABLE].store(u32::from(value != 0), Ordering::Relaxed);
            }
            FunctionAttribute::ClusterSchedulingPolicyPreference if value > LAST_POLICY => return refuse(),
            FunctionAttribute::RequiredClusterWidth
            | FunctionAttribute::RequiredClusterHeight
            | FunctionAttribute::RequiredClusterDepth
            | FunctionAttribute::ClusterSchedulingPolicyPreference => {
                let index = attribute as usize - FunctionAttribute::RequiredClusterWidth as usize;
                // What the source requires stays.
                let required = function.directives().is_some_and(|directives| directives.reqnctapercluster.is_some());
                if required && attribute != FunctionAttribute::ClusterSchedulingPolicyPreference {
                    let kept = function.cluster[index].load(Ordering::Relaxed).cast_signed();
                    return if value == kept { Ok(()) } else { refuse() };
                }
                match u32::try_from(value) {
                    Ok(value) => function.cluster[index].store(value, Ordering::Relaxed),
                    Err(_) => return refuse(),
                }
            }
            _ => return refuse(),
        }
        Ok(())
    }
}
