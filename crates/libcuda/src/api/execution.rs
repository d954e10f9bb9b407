//! Execution control.
use std::collections::BTreeMap;

use warploom_abi::{
    CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END, CUevent, CUfunc_cache,
    CUfunction, CUfunction_attribute, CUfunctionLoadingState, CUhostFn, CUhostTaskSyncMode, CUlaunchAttributeID,
    CUlaunchConfig, CUmodule, CUstream,
};
use warploom_driver::launch::LaunchShape;
use warploom_driver::module::{Function, FunctionAttribute};
use warploom_driver::stream::{AttributeValue, StreamName, check_launch_attribute};
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use super::stream::named;
use crate::border::{
    ApiResult, DefaultStream, HostAddress, HostPtr, In, InArray, Out, OutCStr, answer_launch_attribute, callback,
    launch_attributes,
};
use crate::process::driver;

/// The four preferences for cache or shared memory, which have no effect on a CPU but on what is told of occupancy.
pub(super) fn check_cache_config(config: CUfunc_cache) -> ApiResult {
    if config.0 > CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL.0 {
        return Err(DriverError::invalid_value(format!("{} is no cache configuration", config.0)));
    }
    Ok(())
}

/// Writes where a parameter lies to where the caller wants it.
pub(super) fn give_parameter(
    function: &Function,
    index: usize,
    offset: Out<'_, usize>,
    size: Out<'_, usize>,
) -> ApiResult {
    let offset = offset.required("paramOffset")?;
    let place = function.parameters().get(index).ok_or_else(|| {
        let count = function.parameters().len();
        DriverError::invalid_value(format!("there is no parameter {index}, only {count} from 0 on"))
    })?;
    offset.set(place.offset as usize);
    if let Some(size) = size.optional() {
        size.set(place.size as usize);
    }
    Ok(())
}

pub(crate) fn cuFuncGetAttribute(pi: Out<'_, i32>, attrib: CUfunction_attribute, hfunc: CUfunction) -> ApiResult {
    let place = pi.required("pi")?;
    let driver = driver()?;
    let function = driver.function(Handle::from_raw(hfunc.0))?;
    place.set(driver.function_attribute(&function, FunctionAttribute::from_number(attrib.0)?)?);
    Ok(())
}

pub(crate) fn cuFuncSetAttribute(hfunc: CUfunction, attrib: CUfunction_attribute, value: i32) -> ApiResult {
    let driver = driver()?;
    let function = driver.function(Handle::from_raw(hfunc.0))?;
    driver.set_function_attribute(&function, FunctionAttribute::from_number(attrib.0)?, value)
}

pub(crate) fn cuFuncSetCacheConfig(hfunc: CUfunction, config: CUfunc_cache) -> ApiResult {
    let function = driver()?.function(Handle::from_raw(hfunc.0))?;
    check_cache_config(config)?;
    function.set_cache_config(config.0);
    Ok(())
}

pub(crate) fn cuFuncGetModule(hmod: Out<'_, CUmodule>, hfunc: CUfunction) -> ApiResult {
    let place = hmod.required("hmod")?;
    let function = driver()?.function(given(hfunc)?)?;
    place.set(CUmodule(function.module().handle().raw()));
    Ok(())
}

/// A function that must not be NULL: some entry points answer an invalid value for it, as recorded.
fn given(function: CUfunction) -> DriverResult<Handle> {
    if function == CUfunction::NULL {
        return Err(DriverError::invalid_value("the function is NULL"));
    }
    Ok(Handle::from_raw(function.0))
}

pub(crate) fn cuFuncGetName(name: OutCStr<'_>, hfunc: CUfunction) -> ApiResult {
    if name.is_null() {
        return Err(DriverError::invalid_value("name is NULL"));
    }
    let function = driver()?.function(given(hfunc)?)?;
    name.set("name", Some(function.name()))
}

pub(crate) fn cuFuncGetParamInfo(
    func: CUfunction,
    paramIndex: usize,
    paramOffset: Out<'_, usize>,
    paramSize: Out<'_, usize>,
) -> ApiResult {
    let function = driver()?.function(given(func)?)?;
    give_parameter(&function, paramIndex, paramOffset, paramSize)
}

pub(crate) fn cuFuncGetParamCount(func: CUfunction, paramCount: Out<'_, usize>) -> ApiResult {
    let place = paramCount.required("paramCount")?;
    place.set(driver()?.function(given(func)?)?.parameters().len());
    Ok(())
}

/// A function that a program has the handle of counts as loaded, as recorded: what is left is done at the first launch.
pub(crate) fn cuFuncIsLoaded(state: Out<'_, CUfunctionLoadingState>, function: CUfunction) -> ApiResult {
    let place = state.required("state")?;
    driver()?.function(Handle::from_raw(function.0))?;
    place.set(CUfunctionLoadingState::CU_FUNCTION_LOADING_STATE_LOADED);
    Ok(())
}

pub(crate) fn cuFuncLoad(function: CUfunction) -> ApiResult {
    let driver = driver()?;
    driver.load_function(&*driver.function(Handle::from_raw(function.0))?)
}

/// So many zeros, of memory that the C library keeps at hand: it does not for memory that is to be zero from the start.
#[expect(
    clippy::slow_vector_initialization,
    reason = "the parameters of a launch take 174 instructions so, and 272 with calloc"
)]
fn zeros(size: usize) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(size);
    buffer.resize(size, 0);
    buffer
}

/// The parameter buffer of a launch, from a pointer for each parameter or from a packed buffer.
pub(super) fn parameters(
    function: &Function,
    pointers: &InArray<'_, HostPtr>,
    extra: &InArray<'_, HostPtr>,
) -> DriverResult<Box<[u8]>> {
    match (pointers.is_null(), extra.is_null()) {
        (false, false) => Err(DriverError::invalid_value("both kernelParams and extra are given")),
        (true, true) if function.parameters().is_empty() => Ok(Box::default()),
        (true, true) => Err(DriverError::invalid_value("the kernel has parameters, and none are given")),
        (false, true) => {
            let mut buffer = zeros(function.parameter_bytes() as usize);
            for (index, place) in function.parameters().iter().enumerate() {
                let source = pointers.at("kernelParams", index)?;
                let rest = buffer.get_mut(place.offset as usize..);
                if let Some(place) = rest.and_then(|rest| rest.get_mut(..place.size as usize)) {
                    source.read_into("a parameter", place)?;
                }
            }
            Ok(buffer.into())
        }
        (true, false) => packed(function, extra),
    }
}

/// The buffer that `extra` describes: tags with their values, in any order.
fn packed(function: &Function, extra: &InArray<'_, HostPtr>) -> DriverResult<Box<[u8]>> {
    let (mut buffer, mut size) = (None, None);
    let mut index = 0;
    loop {
        let value = |offset: usize| extra.at("extra", index + offset);
        match value(0)?.addr() {
            CU_LAUNCH_PARAM_END => break,
            CU_LAUNCH_PARAM_BUFFER_POINTER => buffer = Some(value(1)?),
            CU_LAUNCH_PARAM_BUFFER_SIZE => {
                let bytes = value(1)?.read_bytes("the size of the parameter buffer", size_of::<usize>())?;
                size = Some(bytes.iter().rev().fold(0, |size, byte| size << 8 | usize::from(*byte)));
            }
            other => return Err(DriverError::invalid_value(format!("{other} in extra is no tag"))),
        }
        index += 2;
    }
    match (buffer, size) {
        (Some(buffer), Some(size)) if size > 0 || function.parameters().is_empty() => {
            let most = function.parameter_bytes() as usize;
            if size > most {
                let reason = format!("{size} bytes of parameters for a kernel with {most}");
                return Err(DriverError::new(ErrorCode::LaunchOutOfResources, reason));
            }
            Ok(buffer.read_bytes("the parameter buffer", size)?.into())
        }
        (None, None) if function.parameters().is_empty() => Ok(Box::default()),
        _ => Err(DriverError::invalid_value("extra gives no parameters, and the kernel has some")),
    }
}

pub(crate) fn cuLaunchKernel(
    default: DefaultStream,
    f: CUfunction,
    gridDimX: u32,
    gridDimY: u32,
    gridDimZ: u32,
    blockDimX: u32,
    blockDimY: u32,
    blockDimZ: u32,
    sharedMemBytes: u32,
    hStream: CUstream,
    kernelParams: InArray<'_, HostPtr>,
    extra: InArray<'_, HostPtr>,
) -> ApiResult {
    let shape = LaunchShape {
        grid: [gridDimX, gridDimY, gridDimZ],
        cta: [blockDimX, blockDimY, blockDimZ],
        cluster: None,
        dynamic_shared: sharedMemBytes,
        cooperative: false,
    };
    launch(f, &shape, named(hStream, default), &kernelParams, &extra)
}

pub(super) fn launch(
    function: CUfunction,
    shape: &LaunchShape,
    stream: StreamName,
    kernel_params: &InArray<'_, HostPtr>,
    extra: &InArray<'_, HostPtr>,
) -> ApiResult {
    let driver = driver()?;
    driver.refuse_failed_capture(stream)?;
    let function = driver.launchable(Handle::from_raw(function.0))?;
    // As recorded, sizes of the grid and of CTAs are looked at before parameters, and clusters behind them.
    let parameters = parameters(&function, kernel_params, extra).map_err(|wrong| {
        let sizes = driver.check_launch(&function, shape).err();
        sizes.filter(|error| error.code() == ErrorCode::InvalidValue).unwrap_or(wrong)
    })?;
    driver.launch(&function, shape, stream, parameters, &BTreeMap::new()).map(drop)
}

/// What the attributes of a launch ask for.
#[derive(Default)]
struct Extras {
    cooperative: bool,
    cluster: Option<[u32; 3]>,
    /// Whether clusters of another size are preferred.
    prefers_cluster: bool,
    /// Events to record behind the launch.
    events: Vec<CUevent>,
    /// Preferences that kernel nodes keep.
    preferences: BTreeMap<u32, AttributeValue>,
}

fn extras(config: &CUlaunchConfig) -> DriverResult<Extras> {
    let mut extras = Extras::default();
    for attribute in launch_attributes(config)? {
        check_launch_attribute(attribute.id.0, &attribute.value())?;
        match attribute.id {
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => extras.cooperative = attribute.word(0) != 0,
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                let cluster = [0, 1, 2].map(|axis| attribute.word(axis));
                // As recorded, no cluster at all.
                extras.cluster = (cluster != [0; 3]).then_some(cluster);
            }
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION => {
                extras.prefers_cluster = [0, 1, 2].iter().any(|axis| attribute.word(*axis) != 0);
            }
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => {
                return Err(DriverError::invalid_value("launches have no synchronisation policy"));
            }
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT
            | CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => extras.events.push(attribute.event()),
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
            | CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE
            | CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY => {
                extras.preferences.insert(attribute.id.0, attribute.value());
            }
            // Preferences, which change nothing in what the kernel does.
            CUlaunchAttributeID(0..=14 | 16..=18) => {}
            other => return Err(DriverError::invalid_value(format!("{} is no attribute of launches", other.0))),
        }
    }
    if extras.prefers_cluster && extras.cluster.is_none() {
        let reason = "the launch prefers clusters of some size, and has none";
        return Err(DriverError::new(ErrorCode::InvalidClusterSize, reason));
    }
    Ok(extras)
}

pub(super) fn shape_of(config: &CUlaunchConfig) -> DriverResult<LaunchShape> {
    Ok(shape_with(config, &extras(config)?))
}

fn shape_with(config: &CUlaunchConfig, extras: &Extras) -> LaunchShape {
    LaunchShape {
        grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
        cta: [config.blockDimX, config.blockDimY, config.blockDimZ],
        cluster: extras.cluster,
        dynamic_shared: config.sharedMemBytes,
        cooperative: extras.cooperative,
    }
}

pub(crate) fn cuLaunchKernelEx(
    default: DefaultStream,
    config: In<'_, CUlaunchConfig>,
    f: CUfunction,
    kernelParams: InArray<'_, HostPtr>,
    extra: InArray<'_, HostPtr>,
) -> ApiResult {
    let config = config.get("config")?;
    let driver = driver()?;
    let function = driver.launchable(Handle::from_raw(f.0))?;
    let extras = extras(&config)?;
    let shape = shape_with(&config, &extras);
    let parameters = parameters(&function, &kernelParams, &extra)?;
    let stream = named(config.hStream, default);
    if let Some(named) = driver.launch(&function, &shape, stream, parameters, &extras.preferences)? {
        answer_launch_attribute(&config, CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, named);
    }
    for event in extras.events {
        driver.record_event(Handle::from_raw(event.0), stream, 0)?;
    }
    Ok(())
}

pub(crate) fn cuLaunchCooperativeKernel(
    default: DefaultStream,
    f: CUfunction,
    gridDimX: u32,
    gridDimY: u32,
    gridDimZ: u32,
    blockDimX: u32,
    blockDimY: u32,
    blockDimZ: u32,
    sharedMemBytes: u32,
    hStream: CUstream,
    kernelParams: InArray<'_, HostPtr>,
) -> ApiResult {
    let shape = LaunchShape {
        grid: [gridDimX, gridDimY, gridDimZ],
        cta: [blockDimX, blockDimY, blockDimZ],
        cluster: None,
        dynamic_shared: sharedMemBytes,
        cooperative: true,
    };
    launch(f, &shape, named(hStream, default), &kernelParams, &InArray::none())
}

pub(crate) fn cuLaunchHostFunc(
    default: DefaultStream,
    hStream: CUstream,
    r#fn: CUhostFn,
    userData: HostAddress,
) -> ApiResult {
    if r#fn == CUhostFn::default() {
        return Err(DriverError::invalid_value("fn is NULL"));
    }
    driver()?.run_on_host(
        named(hStream, default),
        callback::host_function("a host function (cuLaunchHostFunc)", r#fn, userData),
    )
}

/// How the thread that runs host functions waits for them makes no difference to what they do.
pub(crate) fn cuLaunchHostFunc_v2(
    default: DefaultStream,
    hStream: CUstream,
    r#fn: CUhostFn,
    userData: HostAddress,
    syncMode: u32,
) -> ApiResult {
    let modes = [CUhostTaskSyncMode::CU_HOST_TASK_BLOCKING, CUhostTaskSyncMode::CU_HOST_TASK_SPINWAIT];
    if !modes.contains(&CUhostTaskSyncMode(syncMode)) {
        return Err(DriverError::invalid_value(format!("syncMode {syncMode} is no way to wait")));
    }
    cuLaunchHostFunc(default, hStream, r#fn, userData)
}
