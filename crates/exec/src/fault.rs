//! What ends a kernel early, and the report of it.
//!
//! A fault is data: kind, place, thread, the access and the allocation that it missed. Executors return a [`Trap`], the grid makes
//! the first one a [`Fault`], the driver turns it into a sticky error by [`Fault::code_name`] and shows [`Fault`]'s `Display` form.
//! Result codes are known by name here, not by number.

use std::fmt;

use crate::memory::AllocationInfo;

/// How memory was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic or a reduction.
    Atomic,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic => "atomic access",
        })
    }
}

/// Why an access is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No live allocation holds all the bytes.
    Unmapped,
    /// The address is not a multiple of the access size.
    Misaligned,
    /// The pages were registered read-only.
    ReadOnly,
}

/// Where an address lies relative to the allocation that it most probably means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// The access starts inside the allocation and runs over its end.
    Straddles(AllocationInfo),
    /// This many bytes after the end of a live allocation.
    After(u64, AllocationInfo),
    /// This many bytes before the start of a live allocation.
    Before(u64, AllocationInfo),
    /// At this offset in an allocation that has been freed.
    Freed(u64, AllocationInfo),
    /// At this offset in a live allocation: the access is refused for another reason.
    Inside(u64, AllocationInfo),
    /// Host memory that kernels may not access.
    Host,
}

impl Nearest {
    /// The allocation.
    pub fn allocation(&self) -> Option<&AllocationInfo> {
        match self {
            Nearest::Straddles(info)
            | Nearest::After(_, info)
            | Nearest::Before(_, info)
            | Nearest::Freed(_, info)
            | Nearest::Inside(_, info) => Some(info),
            Nearest::Host => None,
        }
    }
}

/// A refused memory access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessFault {
    /// The address accessed.
    pub address: u64,
    /// The size in bytes of the access (of one thread).
    pub size: u64,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// Why it is refused.
    pub refusal: Refusal,
    /// The lane of the warp whose access it is, for the forms that take a whole warp's addresses.
    pub lane: u32,
    /// The allocation that was missed, if one is near.
    pub nearest: Option<Nearest>,
}

impl fmt::Display for AccessFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AccessFault { address, size, kind, .. } = self;
        match self.refusal {
            Refusal::Unmapped => write!(f, "{kind} of {size} bytes at {address:#x}, which is not in device memory")?,
            Refusal::Misaligned => {
                write!(f, "{kind} of {size} bytes at {address:#x}, which is not a multiple of {size}")?
            }
            Refusal::ReadOnly => write!(f, "{kind} of {size} bytes at {address:#x}, which is registered as read-only")?,
        }
        match &self.nearest {
            None if self.refusal == Refusal::Unmapped && *address < 1 << 16 => {
                f.write_str(": a null pointer, perhaps with an offset")
            }
            None => Ok(()),
            Some(Nearest::Straddles(a)) => write!(f, ": it runs over the end of {a}"),
            Some(Nearest::After(0, a)) => write!(f, ": just past the end of {a}"),
            Some(Nearest::After(n, a)) => write!(f, ": {n} bytes after the end of {a}"),
            Some(Nearest::Before(n, a)) => write!(f, ": {n} bytes before {a}"),
            Some(Nearest::Freed(n, a)) => write!(f, ": at offset {n} of {a}, which has been freed"),
            Some(Nearest::Inside(n, a)) => write!(f, ": at offset {n} of {a}"),
            Some(Nearest::Host) => f.write_str(
                ": it is host memory that was neither allocated by the driver (cuMemHostAlloc) nor registered \
                 (cuMemHostRegister)",
            ),
        }
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An access to the memory window or to registered pages was refused.
    Access(AccessFault),
    /// An access to shared, local or parameter storage outside what the thread has. `space` is the PTX name of the
    /// state space, `limit` the bytes that exist.
    OutsideSpace {
        /// PTX name of the state space.
        space: &'static str,
        /// The address in that space.
        address: u64,
        /// Bytes accessed.
        size: u64,
        /// Bytes that exist.
        limit: u64,
        /// Load, store or atomic.
        kind: AccessKind,
    },
    /// A `.shared::cluster` address names a CTA that the cluster does not have.
    NoSuchCta {
        /// The `.shared` address.
        address: u32,
        /// CTAs in the cluster.
        cluster_size: u32,
    },
    /// A load from, or an atomic on, the shared memory of a CTA of the cluster that has exited.
    CtaHasExited {
        /// The `.shared` address.
        address: u32,
        /// Load or atomic.
        kind: AccessKind,
    },
    /// An mbarrier object that is no sound one, or would be none any more: the text says why.
    Mbarrier(String),
    /// An address of shared, local or parameter storage that is not a multiple of the access size.
    MisalignedInSpace {
        /// PTX name of the state space.
        space: &'static str,
        /// The address in that space.
        address: u64,
        /// Bytes accessed.
        size: u64,
    },
    /// A surface access in mode `.trap` outside the surface (PTX ISA 9.7.11).
    OutsideSurface {
        /// Name of the first dimension in which it is outside.
        dimension: &'static str,
        /// The coordinate there: bytes in x, rows and slices in y and z.
        coordinate: i64,
        /// Bytes accessed.
        size: u64,
        /// Load or store.
        kind: AccessKind,
    },
    /// A surface access at a byte of a row that is not a multiple of its size (PTX ISA 9.7.11), inside the surface or not.
    MisalignedInSurface {
        /// The byte.
        coordinate: i64,
        /// Bytes accessed.
        size: u64,
        /// Load, store or atomic.
        kind: AccessKind,
    },
    /// A texture or surface instruction with a number that is no handle.
    NoObject {
        /// What there should be.
        kind: &'static str,
        /// The number.
        handle: u64,
    },
    /// An access to an array whose memory the program has not mapped yet (`CUDA_ARRAY3D_DEFERRED_MAPPING`).
    UnmappedArray {
        /// Load, store or atomic.
        kind: AccessKind,
    },
    /// `multimem` (PTX ISA 9.7.9.13): there is no memory of a multicast object.
    NoMulticast,
    /// `trap` (PTX ISA 9.7.19.4) or `brkpt` without a debugger.
    Trap,
    /// `__assertfail`: the text is the whole message, as printed.
    Assert(String),
    /// Local memory and call frames need more than the stack limit (`CU_LIMIT_STACK_SIZE`).
    StackOverflow {
        /// Bytes a thread may use.
        limit: u64,
    },
    /// The host has no memory for the local memory of a thread and those that run with it.
    NoLocalMemory {
        /// Bytes that each thread needs.
        bytes: u64,
    },
    /// An instruction with operands that it cannot execute.
    IllegalInstruction(String),
    /// An indirect call or branch to something that is not a function or label.
    InvalidPc {
        /// The address called.
        address: u64,
    },
    /// A generic address of a window that the operation does not take.
    InvalidAddressSpace(String),
    /// Barrier misuse, or all threads wait for what cannot come: the text says who waits where.
    Stuck(String),
    /// The grid ran longer than the limit that the user set.
    LaunchTimeout {
        /// How long it ran, in milliseconds.
        after_ms: u64,
        /// What the threads were doing.
        state: String,
    },
    /// A defect of the executor itself, caught before it could do harm.
    Internal(String),
}

/// Where in the program a fault happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Line in the PTX text, from 1.
    pub ptx_line: Option<u32>,
    /// File and line by `.loc` (PTX ISA 11.5).
    pub source: Option<(String, u32)>,
    /// The PTX function, where it is not the kernel itself.
    pub function: Option<String>,
    /// The instruction's text.
    pub instruction: Option<String>,
}

/// An instruction that can fault, by the number that the kernel's executor has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site(pub u64);

/// What a kernel knows of a [`Site`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteInfo {
    /// Where it is.
    pub place: Place,
    /// How it accesses memory, and how many bytes a thread.
    pub access: Option<(AccessKind, u64)>,
}

/// Why a thread could not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The executor knows.
    Known(FaultKind),
    /// The access of the site, at this address: what is wrong with it is found out for the report.
    Access(u64),
}

/// A fault as executors return it: the report is made of it and of what the kernel knows of the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Why.
    pub cause: Cause,
    /// At which instruction, where known.
    pub site: Option<Site>,
    /// `%ctaid`, where it is not the first CTA of the unit.
    pub cta: Option<[u32; 3]>,
    /// `%tid` of the first thread concerned, where known.
    pub thread: Option<[u32; 3]>,
}

impl Trap {
    /// A trap of which only the kind is known.
    pub fn new(kind: FaultKind) -> Trap {
        Trap { cause: Cause::Known(kind), site: None, cta: None, thread: None }
    }
}

/// The event that ended a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The kernel's name.
    pub kernel: String,
    /// `%ctaid`, where known.
    pub cta: Option<[u32; 3]>,
    /// `%tid` of the first thread concerned, where known.
    pub thread: Option<[u32; 3]>,
    /// Where in the program.
    pub place: Place,
}

impl Fault {
    /// A fault of which only kind and kernel are known yet.
    pub fn new(kind: FaultKind, kernel: impl Into<String>) -> Fault {
        Fault { kind, kernel: kernel.into(), cta: None, thread: None, place: Place::default() }
    }

    /// The name of the CUDA result code that a real driver gives for this (recorded where recordings exist).
    pub fn code_name(&self) -> &'static str {
        match &self.kind {
            FaultKind::Access(a) if a.refusal == Refusal::Misaligned => "CUDA_ERROR_MISALIGNED_ADDRESS",
            FaultKind::Access(_)
            | FaultKind::OutsideSpace { .. }
            | FaultKind::OutsideSurface { .. }
            | FaultKind::UnmappedArray { .. }
            | FaultKind::NoMulticast
            | FaultKind::NoObject { .. } => "CUDA_ERROR_ILLEGAL_ADDRESS",
            FaultKind::NoSuchCta { cluster_size: 1, .. } | FaultKind::IllegalInstruction(_) => {
                "CUDA_ERROR_ILLEGAL_INSTRUCTION"
            }
            FaultKind::NoSuchCta { .. } | FaultKind::CtaHasExited { .. } | FaultKind::Mbarrier(_) => {
                "CUDA_ERROR_LAUNCH_FAILED"
            }
            FaultKind::MisalignedInSpace { .. } | FaultKind::MisalignedInSurface { .. } => {
                "CUDA_ERROR_MISALIGNED_ADDRESS"
            }
            FaultKind::Assert(_) => "CUDA_ERROR_ASSERT",
            // As recorded for endless recursion: the frames run out of the thread's local memory.
            FaultKind::StackOverflow { .. } => "CUDA_ERROR_ILLEGAL_ADDRESS",
            FaultKind::NoLocalMemory { .. } => "CUDA_ERROR_OUT_OF_MEMORY",
            FaultKind::InvalidPc { .. } => "CUDA_ERROR_INVALID_PC",
            FaultKind::InvalidAddressSpace(_) => "CUDA_ERROR_INVALID_ADDRESS_SPACE",
            FaultKind::Stuck(_) | FaultKind::LaunchTimeout { .. } => "CUDA_ERROR_LAUNCH_TIMEOUT",
            FaultKind::Trap | FaultKind::Internal(_) => "CUDA_ERROR_LAUNCH_FAILED",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::Access(access) => match access.refusal {
                Refusal::Misaligned => write!(f, "misaligned address: {access}"),
                _ => write!(f, "illegal address: {access}"),
            },
            FaultKind::OutsideSpace { space, address, size, limit, kind } => {
                write!(
                    f,
                    "illegal address: {kind} of {size} bytes at {space} address {address:#x}; there are {limit} bytes of {space} memory"
                )
            }
            FaultKind::NoSuchCta { address, cluster_size } => {
                write!(
                    f,
                    "illegal address: shared address {address:#x} means CTA {} of a cluster of {cluster_size}",
                    address >> 24
                )
            }
            FaultKind::CtaHasExited { address, kind } => {
                write!(
                    f,
                    "{kind} at shared address {address:#x} of CTA {} of the cluster, which has exited",
                    address >> 24
                )
            }
            FaultKind::Mbarrier(why) => write!(f, "mbarrier: {why}"),
            FaultKind::MisalignedInSpace { space, address, size } => {
                write!(
                    f,
                    "misaligned address: access of {size} bytes at {space} address {address:#x}, which is not a multiple of {size}"
                )
            }
            FaultKind::OutsideSurface { dimension, coordinate, size, kind } => {
                write!(f, "illegal address: {kind} of {size} bytes outside a surface, at {coordinate} in {dimension}")
            }
            FaultKind::MisalignedInSurface { coordinate, size, kind } => {
                write!(
                    f,
                    "misaligned address: {kind} of {size} bytes in a surface at byte {coordinate} of a row, which is not a multiple of {size}"
                )
            }
            FaultKind::NoObject { kind, handle } => {
                write!(f, "illegal address: {handle:#x} is not the handle of a {kind}")
            }
            FaultKind::UnmappedArray { kind } => {
                write!(f, "illegal address: {kind} in an array into which no memory is mapped (cuMemMapArrayAsync)")
            }
            FaultKind::NoMulticast => f.write_str(
                "illegal address: there is no memory of a multicast object (CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED is 0) or of a logical endpoint",
            ),
            FaultKind::Trap => f.write_str("trap"),
            FaultKind::Assert(message) => write!(f, "assertion failed: {message}"),
            FaultKind::StackOverflow { limit } => {
                write!(f, "stack overflow: a thread needs more than its {limit} bytes (CU_LIMIT_STACK_SIZE)")
            }
            FaultKind::NoLocalMemory { bytes } => {
                write!(f, "out of memory: there is none for {bytes} bytes of local memory of each thread")
            }
            FaultKind::IllegalInstruction(why) => write!(f, "illegal instruction: {why}"),
            FaultKind::InvalidPc { address } => write!(f, "call of {address:#x}, which is not a device function"),
            FaultKind::InvalidAddressSpace(why) => write!(f, "invalid address space: {why}"),
            FaultKind::Stuck(why) => {
                write!(f, "the kernel cannot go on, all threads that are left wait for each other:{why}")
            }
            FaultKind::LaunchTimeout { after_ms, state } => write!(f, "still running after {after_ms} ms: {state}"),
            FaultKind::Internal(why) => write!(f, "internal error of warploom: {why}"),
        }
    }
}

/// The report, in the manner of a compiler's diagnostics: what, then where, then who.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.kind)?;
        let place = &self.place;
        if let Some((file, line)) = &place.source {
            write!(f, "\n  --> {file}:{line}")?;
        }
        if let Some(line) = place.ptx_line {
            write!(f, "\n  --> PTX line {line}")?;
        }
        if let Some(text) = &place.instruction {
            write!(f, "\n   |  {text}")?;
        }
        write!(f, "\n  in kernel {}", self.kernel)?;
        if let Some(function) = &place.function {
            write!(f, ", function {function}")?;
        }
        if let Some([x, y, z]) = self.cta {
            write!(f, ", CTA ({x}, {y}, {z})")?;
        }
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x}, {y}, {z})")?;
        }
        write!(f, "\n  = {}", self.code_name())
    }
}

impl std::error::Error for Fault {}
