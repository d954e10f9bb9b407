//! Members of C unions. Whatever a caller wrote last, its bytes are numbers.
use warploom_abi::{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC, CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, CUDA_RESOURCE_DESC,
    CUDA_RESOURCE_DESC_v1_res, CUDA_RESOURCE_DESC_v1_res_array, CUDA_RESOURCE_DESC_v1_res_linear,
    CUDA_RESOURCE_DESC_v1_res_mipmap, CUDA_RESOURCE_DESC_v1_res_pitch2D, CUarray, CUarray_format, CUarrayMapInfo,
    CUarraySparseSubresourceType, CUmemHandleType, CUmemLocation, CUmemLocation_v1_anonymous0, CUmemLocationType,
    CUmemOperationType, CUmemcpy3DOperand, CUmemcpy3DOperand_v1_op_array, CUmemcpy3DOperandType, CUmipmappedArray,
    CUresourcetype, CUstreamAttrValue, CUstreamBatchMemOpParams, CUstreamBatchMemOpParams_v1_writeValue,
    CUstreamBatchMemOpParams_v1_writeValue_anonymous0, CUstreamBatchMemOpType,
};
use warploom_driver::array::{AnyArray, ArrayMap, ArrayPart, Format};
use warploom_driver::memory::Location;
use warploom_driver::stream::AttributeValue;
use warploom_driver::texture::Resource;
use warploom_driver::{DriverError, DriverResult, Handle};

/// The place that a `CUmemLocation` names.
pub(crate) fn location(location: CUmemLocation) -> Location {
    // SAFETY: every member of the union is made of integers, and all of its bytes are part of the argument.
    let bytes = unsafe { location.anonymous0.bytes_of_union };
    Location { kind: location.r#type.0, id: i32::from_ne_bytes(bytes) }
}

/// The `CUmemLocation` that names a place.
pub(crate) fn c_location(location: Location) -> CUmemLocation {
    let anonymous0 = CUmemLocation_v1_anonymous0 { id: location.id };
    CUmemLocation { r#type: CUmemLocationType(location.kind), anonymous0 }
}

/// The descriptor of external memory.
pub(crate) fn memory_descriptor(given: &CUDA_EXTERNAL_MEMORY_HANDLE_DESC) -> i32 {
    // SAFETY: every member of the union is made of integers and addresses, and all of its bytes are part of the argument.
    unsafe { given.handle.fd }
}

/// The descriptor of an external semaphore.
pub(crate) fn semaphore_descriptor(given: &CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC) -> i32 {
    // SAFETY: as above.
    unsafe { given.handle.fd }
}

/// One operation of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryOperation {
    /// What to do.
    pub(crate) operation: CUstreamBatchMemOpType,
    /// Where.
    pub(crate) address: u64,
    /// With which value; of 32-bit operations the lower half counts.
    pub(crate) value: u64,
    /// How.
    pub(crate) flags: u32,
}

/// The members of an operation. Waits and writes have the same layout.
pub(crate) fn memory_operation(parameters: &CUstreamBatchMemOpParams) -> MemoryOperation {
    // SAFETY: every member of both unions is made of integers, and all bytes of the outer one are part of the argument.
    unsafe {
        let members = parameters.writeValue;
        let value = u64::from_ne_bytes(members.anonymous0.bytes_of_union);
        MemoryOperation { operation: members.operation, address: members.address, value, flags: members.flags }
    }
}

/// One side of a copy of a batch, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyOperand {
    /// Memory.
    Pointer {
        /// Where it starts.
        address: u64,
        /// Elements from row to row; 0 for as many as are copied.
        row_length: u64,
        /// Rows from layer to layer; 0 for as many as are copied.
        layer_height: u64,
    },
    /// An array.
    Array {
        /// Its handle.
        array: Handle,
        /// Where in it.
        offset: [u64; 3],
    },
}

/// The side of a copy that an operand names.
///
/// # Errors
/// `InvalidValue` for a kind of operand that does not exist.
pub(crate) fn copy_operand(operand: &CUmemcpy3DOperand) -> DriverResult<CopyOperand> {
    // SAFETY: the number says which member the program wrote, and all members are plain numbers.
    unsafe {
        match operand.r#type {
            CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_POINTER => {
                let pointer = operand.op.ptr;
                let (row_length, layer_height) = (pointer.rowLength as u64, pointer.layerHeight as u64);
                Ok(CopyOperand::Pointer { address: pointer.ptr, row_length, layer_height })
            }
            CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_ARRAY => {
                let CUmemcpy3DOperand_v1_op_array { array, offset } = operand.op.array;
                let offset = [offset.x, offset.y, offset.z].map(|part| part as u64);
                Ok(CopyOperand::Array { array: Handle::from_raw(array.0), offset })
            }
            other => Err(DriverError::invalid_value(format!("{other:?} is no kind of operand"))),
        }
    }
}

/// The description of an operation, as a caller would give it.
pub(crate) fn operation_parameters(operation: &MemoryOperation) -> CUstreamBatchMemOpParams {
    let members = CUstreamBatchMemOpParams_v1_writeValue {
        operation: operation.operation,
        address: operation.address,
        anonymous0: CUstreamBatchMemOpParams_v1_writeValue_anonymous0 { value64: operation.value },
        flags: operation.flags,
        alias: 0,
    };
    CUstreamBatchMemOpParams { writeValue: members }
}

/// The bytes of an attribute's value.
pub(crate) fn attribute_value(value: &CUstreamAttrValue) -> AttributeValue {
    // SAFETY: all bytes of the union are part of the argument.
    unsafe { value.bytes_of_union }
}

/// What a program asks to map into an array.
///
/// # Errors
/// `InvalidValue` for an array, an operation or a kind of memory that does not exist.
pub(crate) fn array_map(asked: &CUarrayMapInfo) -> DriverResult<ArrayMap> {
    let invalid = |what: &str| DriverError::invalid_value(format!("{what} of an array to map"));
    if asked.flags != 0 || asked.reserved != [0; 2] {
        return Err(invalid("flags or reserved words"));
    }
    if asked.memHandleType != CUmemHandleType::CU_MEM_HANDLE_TYPE_GENERIC {
        return Err(invalid("the type of the memory's handle"));
    }
    // SAFETY: the numbers say which members the program wrote, and all of them are plain numbers.
    let (array, part, memory) = unsafe {
        let array = match asked.resourceType {
            CUresourcetype::CU_RESOURCE_TYPE_ARRAY => AnyArray::Array(Handle::from_raw(asked.resource.array.0)),
            CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                AnyArray::Mipmapped(Handle::from_raw(asked.resource.mipmap.0))
            }
            _ => return Err(invalid("the type")),
        };
        let part = match asked.subresourceType {
            CUarraySparseSubresourceType::CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL => {
                let level = asked.subresource.sparseLevel;
                Some(ArrayPart::Tiles {
                    level: level.level,
                    layer: level.layer,
                    offset: [level.offsetX, level.offsetY, level.offsetZ].map(u64::from),
                    extent: [level.extentWidth, level.extentHeight, level.extentDepth].map(u64::from),
                })
            }
            CUarraySparseSubresourceType::CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL => {
                let tail = asked.subresource.miptail;
                Some(ArrayPart::Tail { layer: tail.layer, offset: tail.offset, size: tail.size })
            }
            _ => None,
        };
        (array, part, Handle::from_raw(usize::try_from(asked.memHandle.memHandle).unwrap_or(0)))
    };
    let memory = match asked.memOperationType {
        CUmemOperationType::CU_MEM_OPERATION_TYPE_MAP => Some((memory, asked.offset)),
        CUmemOperationType::CU_MEM_OPERATION_TYPE_UNMAP => None,
        _ => return Err(invalid("the operation")),
    };
    Ok(ArrayMap { array, part, memory, devices: asked.deviceBitMask })
}

/// The resource that a description names.
///
/// # Errors
/// `InvalidValue` for a kind or format that does not exist.
pub(crate) fn resource(description: &CUDA_RESOURCE_DESC) -> DriverResult<Resource> {
    if description.flags != 0 {
        return Err(DriverError::invalid_value(format!("flags is {}, must be 0", description.flags)));
    }
    let union = &description.res;
    // SAFETY: the number says which member the program wrote, and all members are plain numbers.
    unsafe {
        match description.resType {
            CUresourcetype::CU_RESOURCE_TYPE_ARRAY => Ok(Resource::Array(Handle::from_raw(union.array.hArray.0))),
            CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                Ok(Resource::Mipmapped(Handle::from_raw(union.mipmap.hMipmappedArray.0)))
            }
            CUresourcetype::CU_RESOURCE_TYPE_LINEAR => Ok(Resource::Linear {
                address: union.linear.devPtr,
                format: Format::of_memory(union.linear.format.0)?,
                channels: union.linear.numChannels,
                bytes: union.linear.sizeInBytes as u64,
            }),
            CUresourcetype::CU_RESOURCE_TYPE_PITCH2D => Ok(Resource::Pitch2d {
                address: union.pitch2D.devPtr,
                format: Format::of_memory(union.pitch2D.format.0)?,
                channels: union.pitch2D.numChannels,
                width: union.pitch2D.width as u64,
                height: union.pitch2D.height as u64,
                pitch: union.pitch2D.pitchInBytes as u64,
            }),
            other => Err(DriverError::invalid_value(format!("{} is no kind of resource", other.0))),
        }
    }
}

/// The description of a resource.
pub(crate) fn resource_description(resource: &Resource) -> CUDA_RESOURCE_DESC {
    let format = |format: Format| CUarray_format(format.number());
    let (kind, union) = match *resource {
        Resource::Array(array) => {
            let array = CUDA_RESOURCE_DESC_v1_res_array { hArray: CUarray(array.raw()) };
            (CUresourcetype::CU_RESOURCE_TYPE_ARRAY, CUDA_RESOURCE_DESC_v1_res { array })
        }
        Resource::Mipmapped(array) => {
            let mipmap = CUDA_RESOURCE_DESC_v1_res_mipmap { hMipmappedArray: CUmipmappedArray(array.raw()) };
            (CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, CUDA_RESOURCE_DESC_v1_res { mipmap })
        }
        Resource::Linear { address, format: known, channels, bytes } => {
            let linear = CUDA_RESOURCE_DESC_v1_res_linear {
                devPtr: address,
                format: format(known),
                numChannels: channels,
                sizeInBytes: bytes as usize,
            };
            (CUresourcetype::CU_RESOURCE_TYPE_LINEAR, CUDA_RESOURCE_DESC_v1_res { linear })
        }
        Resource::Pitch2d { address, format: known, channels, width, height, pitch } => {
            let plane = CUDA_RESOURCE_DESC_v1_res_pitch2D {
                devPtr: address,
                format: format(known),
                numChannels: channels,
                width: width as usize,
                height: height as usize,
                pitchInBytes: pitch as usize,
            };
            (CUresourcetype::CU_RESOURCE_TYPE_PITCH2D, CUDA_RESOURCE_DESC_v1_res { pitch2D: plane })
        }
    };
    CUDA_RESOURCE_DESC { resType: kind, res: union, flags: 0 }
}
