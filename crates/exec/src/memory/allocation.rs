//! Allocations as they are asked for and looked up, and why they are refused.

use std::fmt;

/// What kind of memory an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// `cuMemAlloc` and its like.
    Device,
    /// `cuMemAllocManaged` and `__managed__` variables.
    Managed,
    /// `cuMemHostAlloc`, `cuMemAllocHost`.
    PinnedHost,
    /// Module variables in `.global`.
    ModuleGlobal,
    /// Module variables in `.const`.
    ModuleConst,
    /// `malloc` in a kernel.
    DeviceHeap,
    /// Storage of arrays (textures and surfaces), of which no program is told the address.
    Array,
    /// What the driver itself needs in the window.
    Internal,
}

impl MemoryKind {
    fn describe(self) -> &'static str {
        match self {
            MemoryKind::Device => "device",
            MemoryKind::Managed => "managed",
            MemoryKind::PinnedHost => "pinned host",
            MemoryKind::ModuleGlobal => "global variable",
            MemoryKind::ModuleConst => "constant variable",
            MemoryKind::DeviceHeap => "device heap",
            MemoryKind::Array => "array",
            MemoryKind::Internal => "internal",
        }
    }
}

/// What to allocate, and what to remember about it.
#[derive(Clone, Copy, Debug)]
pub struct AllocSpec {
    /// Bytes; 0 is an error.
    pub size: u64,
    /// Kind of memory.
    pub kind: MemoryKind,
    /// Device ordinal.
    pub device: u32,
    /// The context that owns it, as the caller counts contexts.
    pub owner: u64,
    /// Anything else that the caller wants back from a lookup.
    pub tag: u64,
    /// Who allocated it, for reports: the entry point or "variable `name`" kind of origin.
    pub origin: &'static str,
}

/// A live or former allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationInfo {
    /// First address.
    pub base: u64,
    /// Bytes asked for.
    pub size: u64,
    /// Kind of memory.
    pub kind: MemoryKind,
    /// Device ordinal.
    pub device: u32,
    /// The owner given at allocation.
    pub owner: u64,
    /// The tag given at allocation.
    pub tag: u64,
    /// The origin given at allocation.
    pub origin: &'static str,
    /// A number that no other allocation of the process has (`CU_POINTER_ATTRIBUTE_BUFFER_ID`).
    pub id: u64,
}

impl fmt::Display for AllocationInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AllocationInfo { base, size, kind, origin, .. } = self;
        write!(f, "the {size}-byte {} allocation at {base:#x}, made by {origin}", kind.describe())
    }
}

/// Why an allocation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocError {
    /// A size of 0.
    Empty,
    /// More than the capacity leaves.
    OutOfMemory,
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AllocError::Empty => "an allocation of 0 bytes",
            AllocError::OutOfMemory => "out of device memory",
        })
    }
}

impl std::error::Error for AllocError {}

/// Why a free failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeError {
    /// Nothing was ever allocated there.
    NotAllocated,
    /// The address lies inside this allocation, not at its start.
    NotTheStart(AllocationInfo),
    /// This allocation has been freed already.
    AlreadyFreed(AllocationInfo),
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FreeError::NotAllocated => f.write_str("nothing is allocated there"),
            FreeError::NotTheStart(a) => write!(f, "the address lies inside {a}, not at its start"),
            FreeError::AlreadyFreed(a) => write!(f, "already freed: {a}"),
        }
    }
}

impl std::error::Error for FreeError {}
