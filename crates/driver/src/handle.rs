//! Handles: what a program holds instead of an object, and the tables that turn one into the other.
//!
//! A handle is a slot's index, the slot's generation and the kind of object; it is never an address. A stale handle, one of
//! another kind, or a number that was never a handle is found out by comparing, and answers an error. Values are multiples
//! of 16 above 64 KiB and stay below 2^47, since clients mark low bits and mix handles with pointers.
mod table;

pub use table::HandleTable;

use std::fmt;

use crate::ErrorCode;

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A context.
    Context = 1,
    /// A module.
    Module,
    /// A kernel of a module.
    Function,
    /// A library.
    Library,
    /// A kernel of a library, valid where a function is.
    Kernel,
    /// A linker in use.
    Linker,
    /// A stream.
    Stream,
    /// An event.
    Event,
    /// An array.
    Array,
    /// A mipmapped array.
    MipmappedArray,
    /// A texture object.
    Texture,
    /// A surface object.
    Surface,
    /// A texture reference of a module.
    TextureReference,
    /// A surface reference of a module.
    SurfaceReference,
    /// A pool of stream-ordered memory.
    MemoryPool,
    /// Physical memory without an address.
    PhysicalMemory,
    /// A graph.
    Graph,
    /// A node of a graph.
    GraphNode,
    /// An instance of a graph.
    GraphExec,
    /// A resource of the program that graphs may hold.
    UserObject,
    /// A registration for the notifications of a device.
    Listener,
    /// A memory file of the program.
    ExternalMemory,
    /// A semaphore of the host.
    ExternalSemaphore,
    /// A green context, which is found where a context is named too.
    GreenContext,
    /// A description of parts of devices.
    ResourceDescription,
}

impl Kind {
    /// What a NULL, stale or foreign handle of this kind answers.
    pub fn error(self) -> ErrorCode {
        match self {
            Kind::Context | Kind::GreenContext => ErrorCode::InvalidContext,
            Kind::TextureReference
            | Kind::SurfaceReference
            | Kind::Texture
            | Kind::Surface
            | Kind::MemoryPool
            | Kind::PhysicalMemory
            | Kind::Graph
            | Kind::GraphNode
            | Kind::GraphExec
            | Kind::UserObject
            | Kind::Listener
            | Kind::ResourceDescription => ErrorCode::InvalidValue,
            _ => ErrorCode::InvalidHandle,
        }
    }

    /// The kind in words.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Context => "context",
            Kind::GreenContext => "green context",
            Kind::ResourceDescription => "description of resources",
            Kind::ExternalMemory => "external memory",
            Kind::ExternalSemaphore => "external semaphore",
            Kind::Module => "module",
            Kind::Function => "function",
            Kind::Library => "library",
            Kind::Kernel => "kernel",
            Kind::Linker => "linker",
            Kind::Stream => "stream",
            Kind::Event => "event",
            Kind::Array => "array",
            Kind::MipmappedArray => "mipmapped array",
            Kind::Texture => "texture object",
            Kind::Surface => "surface object",
            Kind::TextureReference => "texture reference",
            Kind::SurfaceReference => "surface reference",
            Kind::MemoryPool => "memory pool",
            Kind::PhysicalMemory => "piece of physical memory",
            Kind::Graph => "graph",
            Kind::GraphNode => "node of a graph",
            Kind::GraphExec => "instance of a graph",
            Kind::UserObject => "user object",
            Kind::Listener => "registration for notifications",
        }
    }
}

const KIND_SHIFT: u32 = 4;
const KIND_BITS: u32 = 5;
const INDEX_SHIFT: u32 = KIND_SHIFT + KIND_BITS;
const INDEX_BITS: u32 = 22;
const GENERATION_SHIFT: u32 = INDEX_SHIFT + INDEX_BITS;
const GENERATION_BITS: u32 = 16;
const LAST_GENERATION: u32 = (1 << GENERATION_BITS) - 1;

/// The value that stands for an object outside the driver; 0 is NULL.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(usize);

impl Handle {
    /// No object.
    pub const NULL: Handle = Handle(0);

    /// Takes a number from outside for a handle; whether it is one is found out at lookup.
    pub const fn from_raw(raw: usize) -> Handle {
        Handle(raw)
    }

    /// The number that goes out.
    pub const fn raw(self) -> usize {
        self.0
    }

    /// Whether it is NULL.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Whether its bits say that it is of `kind`; it may be stale all the same.
    pub const fn claims(self, kind: Kind) -> bool {
        (self.0 >> KIND_SHIFT) & ((1 << KIND_BITS) - 1) == kind as usize
    }

    fn new(kind: Kind, index: u32, generation: u32) -> Handle {
        Handle(
            (generation as usize) << GENERATION_SHIFT | (index as usize) << INDEX_SHIFT | (kind as usize) << KIND_SHIFT,
        )
    }

    /// Index and generation, if all the other bits are right for `kind`.
    fn decode(self, kind: Kind) -> Option<(u32, u32)> {
        let index = (self.0 >> INDEX_SHIFT) as u32 & ((1 << INDEX_BITS) - 1);
        let generation = (self.0 >> GENERATION_SHIFT) as u32 & LAST_GENERATION;
        // Generations count from 1: 0 is that of slots without a handle.
        (generation != 0 && Handle::new(kind, index, generation) == self).then_some((index, generation))
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
