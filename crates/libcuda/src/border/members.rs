//! Members of C unions. Whatever a caller wrote last, its bytes are numbers.
use warploom_abi::{
    CUmemLocation, CUmemLocation_v1_anonymous0, CUmemLocationType, CUstreamBatchMemOpParams, CUstreamBatchMemOpType,
};
use warploom_driver::memory::Location;

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
