//! Members of C unions. Whatever a caller wrote last, its bytes are numbers.
use warploom_abi::CUmemLocation;
use warploom_driver::memory::Location;

/// The place that a `CUmemLocation` names.
pub(crate) fn location(location: CUmemLocation) -> Location {
    // SAFETY: every member of the union is made of integers, and all of its bytes are part of the argument.
    let bytes = unsafe { location.anonymous0.bytes_of_union };
    Location { kind: location.r#type.0, id: i32::from_ne_bytes(bytes) }
}
