//! Memory management: variables of compiled device code, which are named by the address of their stand-in in the host program.
use std::ffi::c_void;

use super::memory::pointer;
use crate::border::{Out, Passed};
use crate::failure::ApiResult;
use crate::{binaries, context};

pub fn cudaGetSymbolAddress(devPtr: Out<'_, *mut c_void>, symbol: Passed<'_, c_void>) -> ApiResult {
    let place = devPtr.required("devPtr")?;
    context::ensure()?;
    place.set(pointer(binaries::variable(symbol.addr() as usize)?.0));
    Ok(())
}

pub fn cudaGetSymbolSize(size: Out<'_, usize>, symbol: Passed<'_, c_void>) -> ApiResult {
    let place = size.required("size")?;
    context::ensure()?;
    place.set(binaries::variable(symbol.addr() as usize)?.1);
    Ok(())
}
