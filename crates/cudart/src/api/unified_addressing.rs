//! Unified addressing.
use std::ffi::c_void;

use warploom_abi::CUpointer_attribute;
use warploom_abi::runtime::*;

use super::memory::pointer;
use crate::border::{Out, Passed, version};
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

/// Of memory that the driver does not know, that it is the host's. Needs no context.
pub fn cudaPointerGetAttributes(attributes: Out<'_, cudaPointerAttributes>, ptr: Passed<'_, c_void>) -> ApiResult {
    let place = attributes.required("attributes")?;
    context::devices()?;
    let (mut memory, mut managed, mut ordinal, mut device, mut host) = (0_u32, 0_u32, 0_i32, 0_u64, 0_u64);
    let mut asked = [
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER,
    ];
    let mut places: [*mut c_void; 5] = [
        (&raw mut memory).cast(),
        (&raw mut managed).cast(),
        (&raw mut ordinal).cast(),
        (&raw mut device).cast(),
        (&raw mut host).cast(),
    ];
    driver!(cuPointerGetAttributes_v7000(5, asked.as_mut_ptr(), places.as_mut_ptr(), ptr.addr()))?;
    let kind = match memory {
        0 => cudaMemoryType::cudaMemoryTypeUnregistered,
        _ if managed != 0 => cudaMemoryType::cudaMemoryTypeManaged,
        1 => cudaMemoryType::cudaMemoryTypeHost,
        _ => cudaMemoryType::cudaMemoryTypeDevice,
    };
    let mut found = cudaPointerAttributes { r#type: kind, ..Default::default() };
    if kind == cudaMemoryType::cudaMemoryTypeUnregistered {
        found.device = cudaInvalidDeviceId;
        found.hostPointer = ptr.get();
    } else {
        found.device = ordinal;
        found.devicePointer = pointer(device);
        found.hostPointer = pointer(host);
    }
    // The structure of runtime 12 ends here.
    const END_12: usize = std::mem::offset_of!(cudaPointerAttributes, anonymous0);
    if version() < 13_000 {
        place.set_start::<END_12>(&found)
    } else {
        place.set(found)
    }
    Ok(())
}
