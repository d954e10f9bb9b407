//! Texture and surface references of modules, and the first ABI of variables.
use warploom_abi::{CUdeviceptr_v1, CUmodule, CUsurfref, CUtexref};
use warploom_driver::Handle;

use super::memory::first_abi::refused_handle;
use super::module::name;
use crate::border::{ApiResult, InStr, Out};
use crate::process::driver;

pub(crate) fn cuModuleGetGlobal(
    _dptr: Out<'_, CUdeviceptr_v1>,
    _bytes: Out<'_, u32>,
    _hmod: CUmodule,
    _name: InStr<'_>,
) -> ApiResult {
    refused_handle()
}

pub(crate) fn cuModuleGetTexRef(pTexRef: Out<'_, CUtexref>, hmod: CUmodule, name: InStr<'_>) -> ApiResult {
    let place = pTexRef.required("pTexRef")?;
    let name = self::name(&name)?;
    let driver = driver()?;
    let module = driver.module(Handle::from_raw(hmod.0))?;
    place.set(CUtexref(driver.texture_reference_named(&module, name)?.raw()));
    Ok(())
}

pub(crate) fn cuModuleGetSurfRef(pSurfRef: Out<'_, CUsurfref>, hmod: CUmodule, name: InStr<'_>) -> ApiResult {
    let place = pSurfRef.required("pSurfRef")?;
    let name = self::name(&name)?;
    let driver = driver()?;
    let module = driver.module(Handle::from_raw(hmod.0))?;
    place.set(CUsurfref(driver.surface_reference_named(&module, name)?.raw()));
    Ok(())
}
