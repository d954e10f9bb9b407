//! Tensor map object management.
use warploom_abi::{
    CUtensorMap, CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapInterleave, CUtensorMapL2promotion,
    CUtensorMapSwizzle,
};
use warploom_driver::tensor_map::{Tensor, TensorMapBytes, TensorPart, check_rank};
use warploom_driver::{DriverError, DriverResult};

use crate::border::{ApiResult, HostPtr, InArray, InOut, Out};
use crate::process::driver;

fn opaque(bytes: &TensorMapBytes) -> CUtensorMap {
    let mut map = CUtensorMap::default();
    for (word, part) in map.opaque.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*part);
    }
    map
}

fn bytes(map: &CUtensorMap) -> TensorMapBytes {
    let mut bytes = [0; size_of::<TensorMapBytes>()];
    for (part, word) in bytes.chunks_exact_mut(8).zip(map.opaque) {
        part.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// What both encodings are told of a tensor.
struct Described<'p> {
    ty: CUtensorMapDataType,
    address: HostPtr,
    dims: InArray<'p, u64>,
    strides: InArray<'p, u64>,
    steps: InArray<'p, u32>,
    interleave: CUtensorMapInterleave,
    swizzle: CUtensorMapSwizzle,
    promotion: CUtensorMapL2promotion,
    fill: CUtensorMapFloatOOBfill,
}

impl Described<'_> {
    /// The map of a tensor of so many dimensions.
    fn encode(&self, rank: usize, part: &TensorPart<'_>) -> DriverResult<CUtensorMap> {
        let tensor = Tensor {
            ty: self.ty.0,
            address: self.address.required("globalAddress")? as u64,
            dims: &self.dims.get(rank, "globalDim")?,
            strides: &self.strides.get(rank - 1, "globalStrides")?,
            steps: &self.steps.get(rank, "elementStrides")?,
            interleave: self.interleave.0,
            swizzle: self.swizzle.0,
            promotion: self.promotion.0,
            fill: self.fill.0,
        };
        Ok(opaque(&driver()?.encode_tensor_map(&tensor, part)?))
    }
}

pub(crate) fn cuTensorMapEncodeTiled(
    tensorMap: Out<'_, CUtensorMap>,
    tensorDataType: CUtensorMapDataType,
    tensorRank: u32,
    globalAddress: HostPtr,
    globalDim: InArray<'_, u64>,
    globalStrides: InArray<'_, u64>,
    boxDim: InArray<'_, u32>,
    elementStrides: InArray<'_, u32>,
    interleave: CUtensorMapInterleave,
    swizzle: CUtensorMapSwizzle,
    l2Promotion: CUtensorMapL2promotion,
    oobFill: CUtensorMapFloatOOBfill,
) -> ApiResult {
    let place = tensorMap.required("tensorMap")?;
    let rank = check_rank(tensorRank, false)?;
    // Also of one dimension, which has none (recorded).
    if globalStrides.is_null() {
        return Err(DriverError::invalid_value("globalStrides is NULL"));
    }
    let tensor = Described {
        ty: tensorDataType,
        address: globalAddress,
        dims: globalDim,
        strides: globalStrides,
        steps: elementStrides,
        interleave,
        swizzle,
        promotion: l2Promotion,
        fill: oobFill,
    };
    let extents = boxDim.get(rank, "boxDim")?;
    place.set(tensor.encode(rank, &TensorPart::Box(&extents))?);
    Ok(())
}

pub(crate) fn cuTensorMapEncodeIm2col(
    tensorMap: Out<'_, CUtensorMap>,
    tensorDataType: CUtensorMapDataType,
    tensorRank: u32,
    globalAddress: HostPtr,
    globalDim: InArray<'_, u64>,
    globalStrides: InArray<'_, u64>,
    pixelBoxLowerCorner: InArray<'_, i32>,
    pixelBoxUpperCorner: InArray<'_, i32>,
    channelsPerPixel: u32,
    pixelsPerColumn: u32,
    elementStrides: InArray<'_, u32>,
    interleave: CUtensorMapInterleave,
    swizzle: CUtensorMapSwizzle,
    l2Promotion: CUtensorMapL2promotion,
    oobFill: CUtensorMapFloatOOBfill,
) -> ApiResult {
    let place = tensorMap.required("tensorMap")?;
    let rank = check_rank(tensorRank, true)?;
    let tensor = Described {
        ty: tensorDataType,
        address: globalAddress,
        dims: globalDim,
        strides: globalStrides,
        steps: elementStrides,
        interleave,
        swizzle,
        promotion: l2Promotion,
        fill: oobFill,
    };
    let part = TensorPart::Columns {
        lower: &pixelBoxLowerCorner.get(rank - 2, "pixelBoxLowerCorner")?,
        upper: &pixelBoxUpperCorner.get(rank - 2, "pixelBoxUpperCorner")?,
        channels: channelsPerPixel,
        pixels: pixelsPerColumn,
    };
    place.set(tensor.encode(rank, &part)?);
    Ok(())
}

pub(crate) fn cuTensorMapReplaceAddress(tensorMap: InOut<'_, CUtensorMap>, globalAddress: HostPtr) -> ApiResult {
    let old = tensorMap.get("tensorMap")?;
    let address = globalAddress.required("globalAddress")? as u64;
    tensorMap.set(opaque(&driver()?.replace_tensor_address(&bytes(&old), address)?));
    Ok(())
}
