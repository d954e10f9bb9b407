//! The first ABI, with 32-bit addresses and sizes. No context of a 64-bit process can serve it: the driver answers
//! `CUDA_ERROR_INVALID_CONTEXT` whatever the arguments are, as recorded on real hardware.
use warploom_abi::{
    CUDA_ARRAY_DESCRIPTOR_v1, CUDA_ARRAY3D_DESCRIPTOR_v1, CUDA_MEMCPY2D_v1, CUDA_MEMCPY3D_v1, CUarray, CUdeviceptr_v1,
    CUstream,
};
use warploom_driver::{DriverError, ErrorCode};

use crate::border::{ApiResult, HostAddress, HostPtr, In, Out};
use crate::process::driver;

fn refused() -> ApiResult {
    let reason = "the first version of this function has 32-bit addresses, which no context of a 64-bit process serves";
    Err(DriverError::new(ErrorCode::InvalidContext, reason))
}

/// What functions of the first ABI answer whose handle cannot be right without a context, as recorded.
pub(in crate::api) fn refused_handle() -> ApiResult {
    if driver()?.current_handle().is_null() {
        return Err(DriverError::invalid_handle("without a context the handle belongs to none"));
    }
    refused()
}

/// Without a context, 0 is freed and everything else is unknown, as recorded.
pub(crate) fn cuMemFree(dptr: CUdeviceptr_v1) -> ApiResult {
    if !driver()?.current_handle().is_null() {
        return refused();
    }
    if dptr == 0 { Ok(()) } else { Err(DriverError::invalid_value(format!("nothing is allocated at {dptr:#x}"))) }
}

/// No array can have been created through this ABI.
pub(crate) fn cuArrayGetDescriptor(
    _pArrayDescriptor: Out<'_, CUDA_ARRAY_DESCRIPTOR_v1>,
    _hArray: CUarray,
) -> ApiResult {
    Err(DriverError::invalid_handle("no array was created through the first ABI"))
}

/// No array can have been created through this ABI.
pub(crate) fn cuArray3DGetDescriptor(
    _pArrayDescriptor: Out<'_, CUDA_ARRAY3D_DESCRIPTOR_v1>,
    _hArray: CUarray,
) -> ApiResult {
    Err(DriverError::invalid_handle("no array was created through the first ABI"))
}

pub(crate) fn cuMemGetInfo(_free: Out<'_, u32>, _total: Out<'_, u32>) -> ApiResult {
    refused()
}

pub(crate) fn cuMemAlloc(_dptr: Out<'_, CUdeviceptr_v1>, _bytesize: u32) -> ApiResult {
    refused()
}

pub(crate) fn cuMemAllocPitch(
    _dptr: Out<'_, CUdeviceptr_v1>,
    _pPitch: Out<'_, u32>,
    _WidthInBytes: u32,
    _Height: u32,
    _ElementSizeBytes: u32,
) -> ApiResult {
    refused()
}

pub(crate) fn cuMemGetAddressRange(
    pbase: Out<'_, CUdeviceptr_v1>,
    psize: Out<'_, u32>,
    _dptr: CUdeviceptr_v1,
) -> ApiResult {
    if pbase.is_null() && psize.is_null() {
        return Ok(());
    }
    refused()
}

pub(crate) fn cuMemAllocHost(_pp: Out<'_, HostAddress>, _bytesize: u32) -> ApiResult {
    refused()
}

pub(crate) fn cuMemHostGetDevicePointer(_pdptr: Out<'_, CUdeviceptr_v1>, _p: HostPtr, _Flags: u32) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyHtoD(_dstDevice: CUdeviceptr_v1, _srcHost: HostPtr, _ByteCount: u32) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyDtoH(_dstHost: HostPtr, _srcDevice: CUdeviceptr_v1, _ByteCount: u32) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyDtoD(_dstDevice: CUdeviceptr_v1, _srcDevice: CUdeviceptr_v1, _ByteCount: u32) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyDtoA(
    _dstArray: CUarray,
    _dstOffset: u32,
    _srcDevice: CUdeviceptr_v1,
    _ByteCount: u32,
) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyAtoD(
    _dstDevice: CUdeviceptr_v1,
    _srcArray: CUarray,
    _srcOffset: u32,
    _ByteCount: u32,
) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyHtoA(_dstArray: CUarray, _dstOffset: u32, _srcHost: HostPtr, _ByteCount: u32) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyAtoH(_dstHost: HostPtr, _srcArray: CUarray, _srcOffset: u32, _ByteCount: u32) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyAtoA(
    _dstArray: CUarray,
    _dstOffset: u32,
    _srcArray: CUarray,
    _srcOffset: u32,
    _ByteCount: u32,
) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpy2D(_pCopy: In<'_, CUDA_MEMCPY2D_v1>) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpy2DUnaligned(_pCopy: In<'_, CUDA_MEMCPY2D_v1>) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpy3D(_pCopy: In<'_, CUDA_MEMCPY3D_v1>) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyHtoDAsync(
    _dstDevice: CUdeviceptr_v1,
    _srcHost: HostPtr,
    _ByteCount: u32,
    _hStream: CUstream,
) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyDtoHAsync(
    _dstHost: HostPtr,
    _srcDevice: CUdeviceptr_v1,
    _ByteCount: u32,
    _hStream: CUstream,
) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyDtoDAsync(
    _dstDevice: CUdeviceptr_v1,
    _srcDevice: CUdeviceptr_v1,
    _ByteCount: u32,
    _hStream: CUstream,
) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyHtoAAsync(
    _dstArray: CUarray,
    _dstOffset: u32,
    _srcHost: HostPtr,
    _ByteCount: u32,
    _hStream: CUstream,
) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpyAtoHAsync(
    _dstHost: HostPtr,
    _srcArray: CUarray,
    _srcOffset: u32,
    _ByteCount: u32,
    _hStream: CUstream,
) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpy2DAsync(_pCopy: In<'_, CUDA_MEMCPY2D_v1>, _hStream: CUstream) -> ApiResult {
    refused()
}

pub(crate) fn cuMemcpy3DAsync(_pCopy: In<'_, CUDA_MEMCPY3D_v1>, _hStream: CUstream) -> ApiResult {
    refused()
}

pub(crate) fn cuMemsetD8(_dstDevice: CUdeviceptr_v1, _uc: u8, _N: u32) -> ApiResult {
    refused()
}

pub(crate) fn cuMemsetD16(_dstDevice: CUdeviceptr_v1, _us: u16, _N: u32) -> ApiResult {
    refused()
}

pub(crate) fn cuMemsetD32(_dstDevice: CUdeviceptr_v1, _ui: u32, _N: u32) -> ApiResult {
    refused()
}

pub(crate) fn cuMemsetD2D8(
    _dstDevice: CUdeviceptr_v1,
    _dstPitch: u32,
    _uc: u8,
    _Width: u32,
    _Height: u32,
) -> ApiResult {
    refused()
}

pub(crate) fn cuMemsetD2D16(
    _dstDevice: CUdeviceptr_v1,
    _dstPitch: u32,
    _us: u16,
    _Width: u32,
    _Height: u32,
) -> ApiResult {
    refused()
}

pub(crate) fn cuMemsetD2D32(
    _dstDevice: CUdeviceptr_v1,
    _dstPitch: u32,
    _ui: u32,
    _Width: u32,
    _Height: u32,
) -> ApiResult {
    refused()
}

pub(crate) fn cuArrayCreate(
    _pHandle: Out<'_, CUarray>,
    _pAllocateArray: In<'_, CUDA_ARRAY_DESCRIPTOR_v1>,
) -> ApiResult {
    refused()
}

pub(crate) fn cuArray3DCreate(
    _pHandle: Out<'_, CUarray>,
    _pAllocateArray: In<'_, CUDA_ARRAY3D_DESCRIPTOR_v1>,
) -> ApiResult {
    refused()
}
