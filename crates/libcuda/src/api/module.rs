//! Module management.
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use warploom_abi::{CUdeviceptr, CUfunction, CUjit_option, CUmodule, CUmoduleLoadingMode};
use warploom_driver::module::{Image, JitLogs, JitOptions};
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use super::jit;
use crate::border::{ApiResult, HostPtr, InArray, InStr, Out, OutArray, read_image};
use crate::process::driver;

/// A name in a module: empty ones are refused, as recorded.
pub(super) fn name<'a>(name: &InStr<'a>) -> DriverResult<&'a str> {
    let text = name.get("name")?;
    if text.is_empty() {
        return Err(DriverError::invalid_value("name is empty"));
    }
    utf8(text)
}

fn utf8(text: &CStr) -> DriverResult<&str> {
    // PTX identifiers are ASCII: another name is in no module.
    text.to_str().map_err(|_| DriverError::new(ErrorCode::NotFound, format!("{text:?} is no name")))
}

/// Reads a file of code.
pub(super) fn read_file(path: &CStr) -> DriverResult<Vec<u8>> {
    fs::read(Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()))).map_err(|error| {
        let code = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => ErrorCode::FileNotFound,
            io::ErrorKind::OutOfMemory => ErrorCode::OutOfMemory,
            _ => ErrorCode::InvalidSource,
        };
        DriverError::new(code, format!("{}: {error}", path.to_string_lossy()))
    })
}

fn load(image: &Image, options: &JitOptions, logs: &mut JitLogs) -> DriverResult<CUmodule> {
    let driver = driver()?;
    driver.current()?;
    let code = driver.translate(image, options, logs)?;
    Ok(CUmodule(driver.load_module(&code)?.raw()))
}

pub(crate) fn cuModuleLoad(module: Out<'_, CUmodule>, fname: InStr<'_>) -> ApiResult {
    let place = module.required("module")?;
    let path = fname.get("fname")?;
    driver()?.current()?;
    let image = Image::from_bytes(read_file(path)?);
    place.set(load(&image, &JitOptions::default(), &mut JitLogs::default())?);
    Ok(())
}

pub(crate) fn cuModuleLoadData(module: Out<'_, CUmodule>, image: HostPtr) -> ApiResult {
    let place = module.required("module")?;
    place.set(load(&read_image(image)?, &JitOptions::default(), &mut JitLogs::default())?);
    Ok(())
}

pub(crate) fn cuModuleLoadDataEx(
    module: Out<'_, CUmodule>,
    image: HostPtr,
    numOptions: u32,
    options: InArray<'_, CUjit_option>,
    optionValues: InArray<'_, HostPtr>,
) -> ApiResult {
    let place = module.required("module")?;
    let image = read_image(image)?;
    let jit = jit::read(numOptions, &options, &optionValues)?;
    let mut logs = JitLogs::default();
    let result = load(&image, &jit.options, &mut logs);
    jit.report(&logs);
    place.set(result?);
    Ok(())
}

pub(crate) fn cuModuleLoadFatBinary(module: Out<'_, CUmodule>, fatCubin: HostPtr) -> ApiResult {
    let place = module.required("module")?;
    place.set(load(&read_image(fatCubin)?, &JitOptions::default(), &mut JitLogs::default())?);
    Ok(())
}

pub(crate) fn cuModuleUnload(hmod: CUmodule) -> ApiResult {
    driver()?.unload_module(Handle::from_raw(hmod.0))
}

pub(crate) fn cuModuleGetLoadingMode(mode: Out<'_, CUmoduleLoadingMode>) -> ApiResult {
    let (eager, lazy) = (CUmoduleLoadingMode::CU_MODULE_EAGER_LOADING, CUmoduleLoadingMode::CU_MODULE_LAZY_LOADING);
    mode.required("mode")?.set(if driver()?.options().eager_loading { eager } else { lazy });
    Ok(())
}

pub(crate) fn cuModuleGetFunction(hfunc: Out<'_, CUfunction>, hmod: CUmodule, name: InStr<'_>) -> ApiResult {
    let place = hfunc.required("hfunc")?;
    let driver = driver()?;
    let name = self::name(&name)?;
    let module = driver.module(Handle::from_raw(hmod.0))?;
    place.set(CUfunction(driver.function_named(&module, name)?.raw()));
    Ok(())
}

pub(crate) fn cuModuleGetFunctionCount(count: Out<'_, u32>, r#mod: CUmodule) -> ApiResult {
    let place = count.required("count")?;
    let module = driver()?.module(Handle::from_raw(r#mod.0))?;
    place.set(u32::try_from(module.code().kernel_count()).unwrap_or(u32::MAX));
    Ok(())
}

pub(crate) fn cuModuleEnumerateFunctions(
    functions: OutArray<'_, CUfunction>,
    numFunctions: u32,
    r#mod: CUmodule,
) -> ApiResult {
    let driver = driver()?;
    if functions.is_null() {
        return Err(DriverError::invalid_value("functions is NULL"));
    }
    let module = driver.module(Handle::from_raw(r#mod.0))?;
    let handles = driver.functions_of(&module, numFunctions as usize)?;
    for (index, handle) in handles.into_iter().enumerate() {
        functions.set(index, CUfunction(handle.raw()));
    }
    Ok(())
}

pub(crate) fn cuModuleGetGlobal_v2(
    dptr: Out<'_, CUdeviceptr>,
    bytes: Out<'_, usize>,
    hmod: CUmodule,
    name: InStr<'_>,
) -> ApiResult {
    if dptr.is_null() && bytes.is_null() {
        return Err(DriverError::invalid_value("dptr and bytes are NULL"));
    }
    let driver = driver()?;
    let name = self::name(&name)?;
    let module = driver.module(Handle::from_raw(hmod.0))?;
    let (address, size) = driver.variable_named(&module, name)?;
    if let Some(place) = dptr.optional() {
        place.set(address);
    }
    if let Some(place) = bytes.optional() {
        place.set(size as usize);
    }
    Ok(())
}
