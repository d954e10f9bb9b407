//! Memory management: formats of array elements.
use warploom_abi::CUarray_format;
use warploom_abi::runtime::*;

use crate::failure::{ApiResult, Failure};

pub fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, f: cudaChannelFormatKind) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f }
}

/// The driver's format and number of channels: channels of one size, without gaps.
pub(crate) fn driver_format(format: &cudaChannelFormatDesc) -> ApiResult<(CUarray_format, u32)> {
    let sizes = [format.x, format.y, format.z, format.w];
    let channels = sizes.iter().take_while(|&&bits| bits != 0).count();
    let uniform =
        sizes[..channels].iter().all(|&bits| bits == sizes[0]) && sizes[channels..].iter().all(|&bits| bits == 0);
    let kind = match (format.f, sizes[0]) {
        (cudaChannelFormatKind::cudaChannelFormatKindSigned, 8) => CUarray_format::CU_AD_FORMAT_SIGNED_INT8,
        (cudaChannelFormatKind::cudaChannelFormatKindSigned, 16) => CUarray_format::CU_AD_FORMAT_SIGNED_INT16,
        (cudaChannelFormatKind::cudaChannelFormatKindSigned, 32) => CUarray_format::CU_AD_FORMAT_SIGNED_INT32,
        (cudaChannelFormatKind::cudaChannelFormatKindUnsigned, 8) => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
        (cudaChannelFormatKind::cudaChannelFormatKindUnsigned, 16) => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16,
        (cudaChannelFormatKind::cudaChannelFormatKindUnsigned, 32) => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
        (cudaChannelFormatKind::cudaChannelFormatKindFloat, 16) => CUarray_format::CU_AD_FORMAT_HALF,
        (cudaChannelFormatKind::cudaChannelFormatKindFloat, 32) => CUarray_format::CU_AD_FORMAT_FLOAT,
        _ => return Err(unknown(format)),
    };
    match u32::try_from(channels) {
        Ok(channels @ (1 | 2 | 4)) if uniform => Ok((kind, channels)),
        _ => Err(unknown(format)),
    }
}

fn unknown(format: &cudaChannelFormatDesc) -> Failure {
    let code = cudaError::cudaErrorInvalidChannelDescriptor;
    Failure::new(code, format!("the driver has no format for elements of {format:?}"))
}
