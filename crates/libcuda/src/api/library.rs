//! Library management.
use warploom_abi::{
    CUdevice, CUdeviceptr, CUfunc_cache, CUfunction, CUfunction_attribute, CUjit_option, CUkernel, CUlibrary,
    CUlibraryOption, CUmodule,
};
use warploom_driver::module::{FunctionAttribute, Image, JitLogs};
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use super::jit::{self, Jit};
use super::module::{name, read_file};
use crate::border::{ApiResult, HostAddress, HostPtr, InArray, InStr, Out, OutArray, OutCStr, read_image};
use crate::process::driver;

/// The options of loading that exist: a place for pointers to kernels, and a promise about the image.
fn check_options(count: u32, options: &InArray<'_, CUlibraryOption>) -> ApiResult {
    for option in options.get(count as usize, "libraryOptions")? {
        if option.0 > CUlibraryOption::CU_LIBRARY_BINARY_IS_PRESERVED.0 {
            return Err(DriverError::invalid_value(format!("{} is no option of libraries", option.0)));
        }
    }
    Ok(())
}

pub(crate) fn cuLibraryLoadData(
    library: Out<'_, CUlibrary>,
    code: HostPtr,
    jitOptions: InArray<'_, CUjit_option>,
    jitOptionsValues: InArray<'_, HostPtr>,
    numJitOptions: u32,
    libraryOptions: InArray<'_, CUlibraryOption>,
    _libraryOptionValues: InArray<'_, HostPtr>,
    numLibraryOptions: u32,
) -> ApiResult {
    let place = library.required("library")?;
    let image = read_image(code)?;
    let jit = jit::read(numJitOptions, &jitOptions, &jitOptionsValues)?;
    check_options(numLibraryOptions, &libraryOptions)?;
    place.set(load(image, jit)?);
    Ok(())
}

/// Keeps an image as a library. Who gives places for logs gets them now; what is wrong with the image shows when something in it is
/// asked for, as recorded.
fn load(image: Image, mut jit: Jit) -> DriverResult<CUlibrary> {
    let driver = driver()?;
    let library = driver.load_library(image, std::mem::take(&mut jit.options))?;
    if jit.wants_logs() {
        let mut logs = JitLogs::default();
        driver.translate_library(library, &mut logs)?;
        jit.report(&logs);
    }
    Ok(CUlibrary(library.raw()))
}

pub(crate) fn cuLibraryLoadFromFile(
    library: Out<'_, CUlibrary>,
    fileName: InStr<'_>,
    jitOptions: InArray<'_, CUjit_option>,
    jitOptionsValues: InArray<'_, HostPtr>,
    numJitOptions: u32,
    libraryOptions: InArray<'_, CUlibraryOption>,
    _libraryOptionValues: InArray<'_, HostPtr>,
    numLibraryOptions: u32,
) -> ApiResult {
    let place = library.required("library")?;
    let image = Image::from_bytes(read_file(fileName.get("fileName")?)?);
    let jit = jit::read(numJitOptions, &jitOptions, &jitOptionsValues)?;
    check_options(numLibraryOptions, &libraryOptions)?;
    place.set(load(image, jit)?);
    Ok(())
}

pub(crate) fn cuLibraryUnload(library: CUlibrary) -> ApiResult {
    driver()?.unload_library(Handle::from_raw(library.0))
}

pub(crate) fn cuLibraryGetKernel(pKernel: Out<'_, CUkernel>, library: CUlibrary, name: InStr<'_>) -> ApiResult {
    let place = pKernel.required("pKernel")?;
    // As recorded, of an empty name there is none; other calls refuse it.
    if name.get("name")?.is_empty() {
        return Err(DriverError::new(ErrorCode::NotFound, "no kernel has an empty name"));
    }
    let name = self::name(&name)?;
    let driver = driver()?;
    let library = driver.library(Handle::from_raw(library.0))?;
    place.set(CUkernel(driver.kernel_named(&library, name)?.raw()));
    Ok(())
}

pub(crate) fn cuLibraryGetKernelCount(count: Out<'_, u32>, lib: CUlibrary) -> ApiResult {
    let place = count.required("count")?;
    let driver = driver()?;
    let library = driver.library(Handle::from_raw(lib.0))?;
    place.set(u32::try_from(driver.library_code(&library)?.kernel_count()).unwrap_or(u32::MAX));
    Ok(())
}

pub(crate) fn cuLibraryEnumerateKernels(kernels: OutArray<'_, CUkernel>, numKernels: u32, lib: CUlibrary) -> ApiResult {
    if kernels.is_null() {
        return Err(DriverError::invalid_value("kernels is NULL"));
    }
    let driver = driver()?;
    let library = driver.library(Handle::from_raw(lib.0))?;
    for (index, kernel) in driver.kernels_of(&library, numKernels as usize)?.into_iter().enumerate() {
        kernels.set(index, CUkernel(kernel.raw()));
    }
    Ok(())
}

pub(crate) fn cuLibraryGetModule(pMod: Out<'_, CUmodule>, library: CUlibrary) -> ApiResult {
    let place = pMod.required("pMod")?;
    let driver = driver()?;
    let library = driver.library(Handle::from_raw(library.0))?;
    place.set(CUmodule(driver.library_module(&library)?.handle().raw()));
    Ok(())
}

pub(crate) fn cuKernelGetFunction(pFunc: Out<'_, CUfunction>, kernel: CUkernel) -> ApiResult {
    let place = pFunc.required("pFunc")?;
    let driver = driver()?;
    let kernel = driver.kernel(Handle::from_raw(kernel.0))?;
    place.set(CUfunction(driver.function_of(&kernel)?.handle().raw()));
    Ok(())
}

pub(crate) fn cuKernelGetLibrary(pLib: Out<'_, CUlibrary>, kernel: CUkernel) -> ApiResult {
    let place = pLib.required("pLib")?;
    let kernel = driver()?.kernel(Handle::from_raw(kernel.0))?;
    place.set(CUlibrary(kernel.library().handle().raw()));
    Ok(())
}

/// Writes address and size to where the caller wants them, which is at least one place.
fn give(dptr: Out<'_, CUdeviceptr>, bytes: Out<'_, usize>, variable: (u64, u64)) {
    if let Some(place) = dptr.optional() {
        place.set(variable.0);
    }
    if let Some(place) = bytes.optional() {
        place.set(variable.1 as usize);
    }
}

/// Address and size of a variable need one place at least.
fn one_place(dptr: &Out<'_, CUdeviceptr>, bytes: &Out<'_, usize>) -> DriverResult {
    if dptr.is_null() && bytes.is_null() {
        return Err(DriverError::invalid_value("dptr and bytes are NULL"));
    }
    Ok(())
}

pub(crate) fn cuLibraryGetGlobal(
    dptr: Out<'_, CUdeviceptr>,
    bytes: Out<'_, usize>,
    library: CUlibrary,
    name: InStr<'_>,
) -> ApiResult {
    one_place(&dptr, &bytes)?;
    let name = self::name(&name)?;
    let driver = driver()?;
    let library = driver.library(Handle::from_raw(library.0))?;
    let module = driver.library_module(&library)?;
    give(dptr, bytes, driver.variable_named(&module, name)?);
    Ok(())
}

pub(crate) fn cuLibraryGetManaged(
    dptr: Out<'_, CUdeviceptr>,
    bytes: Out<'_, usize>,
    library: CUlibrary,
    name: InStr<'_>,
) -> ApiResult {
    one_place(&dptr, &bytes)?;
    let name = self::name(&name)?;
    let driver = driver()?;
    let library = driver.library(Handle::from_raw(library.0))?;
    give(dptr, bytes, driver.managed_named(&library, name)?);
    Ok(())
}

/// PTX has no unified functions: none is ever found, which answers `CUDA_ERROR_INVALID_VALUE` as recorded.
pub(crate) fn cuLibraryGetUnifiedFunction(
    fptr: Out<'_, HostAddress>,
    library: CUlibrary,
    symbol: InStr<'_>,
) -> ApiResult {
    fptr.required("fptr")?;
    let symbol = self::name(&symbol)?;
    driver()?.library(Handle::from_raw(library.0))?;
    Err(DriverError::invalid_value(format!("{symbol} is no unified function")))
}

pub(crate) fn cuKernelGetAttribute(
    pi: Out<'_, i32>,
    attrib: CUfunction_attribute,
    kernel: CUkernel,
    dev: CUdevice,
) -> ApiResult {
    let place = pi.required("pi")?;
    let driver = driver()?;
    let kernel = driver.kernel(Handle::from_raw(kernel.0))?;
    let function = driver.function_on(&kernel, dev)?;
    place.set(driver.function_attribute(&function, FunctionAttribute::from_number(attrib.0)?)?);
    Ok(())
}

pub(crate) fn cuKernelSetAttribute(
    attrib: CUfunction_attribute,
    val: i32,
    kernel: CUkernel,
    dev: CUdevice,
) -> ApiResult {
    let driver = driver()?;
    let kernel = driver.kernel(Handle::from_raw(kernel.0))?;
    driver.device(dev)?;
    driver.set_kernel_attribute(&kernel, FunctionAttribute::from_number(attrib.0)?, val, dev)
}

/// The preference has no effect on a CPU, but that occupancy is told by it.
pub(crate) fn cuKernelSetCacheConfig(kernel: CUkernel, config: CUfunc_cache, dev: CUdevice) -> ApiResult {
    let driver = driver()?;
    let kernel = driver.kernel(Handle::from_raw(kernel.0))?;
    driver.device(dev)?;
    super::execution::check_cache_config(config)?;
    driver.set_kernel_cache_config(&kernel, config.0);
    Ok(())
}

/// A kernel that must not be NULL: some entry points answer an invalid value for it, as recorded.
fn given(kernel: CUkernel) -> DriverResult<Handle> {
    if kernel == CUkernel::NULL {
        return Err(DriverError::invalid_value("the kernel is NULL"));
    }
    Ok(Handle::from_raw(kernel.0))
}

pub(crate) fn cuKernelGetName(name: OutCStr<'_>, hfunc: CUkernel) -> ApiResult {
    let kernel = driver()?.kernel(given(hfunc)?)?;
    name.set("name", Some(kernel.name()))
}

pub(crate) fn cuKernelGetParamInfo(
    kernel: CUkernel,
    paramIndex: usize,
    paramOffset: Out<'_, usize>,
    paramSize: Out<'_, usize>,
) -> ApiResult {
    let driver = driver()?;
    let kernel = driver.kernel(given(kernel)?)?;
    let function = driver.function_of(&kernel)?;
    super::execution::give_parameter(&function, paramIndex, paramOffset, paramSize)
}

pub(crate) fn cuKernelGetParamCount(kernel: CUkernel, paramCount: Out<'_, usize>) -> ApiResult {
    let place = paramCount.required("paramCount")?;
    let driver = driver()?;
    let kernel = driver.kernel(given(kernel)?)?;
    place.set(driver.function_of(&kernel)?.parameters().len());
    Ok(())
}
