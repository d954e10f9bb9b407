//! What a pointer points to (`cuPointerGetAttribute`).
use warploom_exec::memory::MemoryKind;

use super::HandleTypes;
use crate::driver::Driver;

/// The kind of memory behind a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerKind {
    /// Device memory, variables of modules included.
    Device,
    /// Managed memory.
    Managed,
    /// Pinned host memory.
    Pinned,
    /// Registered host pages.
    Registered,
}

/// What is known of the memory that a pointer points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Kind of memory.
    pub kind: PointerKind,
    /// First address.
    pub base: u64,
    /// Bytes.
    pub size: u64,
    /// [`Context::id`](crate::context::Context::id) of the context that it belongs to.
    pub context_id: u64,
    /// Ordinal of the device.
    pub device: u32,
    /// The flags that it was allocated with; for device memory 0.
    pub flags: u32,
    /// The memory pool that it came from, as a handle's number; 0 for none.
    pub pool: u64,
    /// Whether it can be named for other processes (`cuIpcGetMemHandle`).
    pub can_be_named: bool,
    /// The kinds of handles as which it can be exported, for memory that was mapped (`cuMemMap`).
    pub mapped: Option<HandleTypes>,
    /// A number that no other allocation of the process has.
    pub id: u64,
}

impl Pointer {
    /// Whether it is host memory.
    pub fn is_host(&self) -> bool {
        matches!(self.kind, PointerKind::Pinned | PointerKind::Registered)
    }

    /// Whether the host can access it at the same address.
    pub fn is_host_accessible(&self) -> bool {
        self.kind != PointerKind::Device
    }
}

impl Driver {
    /// Start and size of the addresses that memory is at: as recorded, the whole reservation of memory that was mapped, other memory's own.
    pub fn addresses_around(&self, pointer: &Pointer) -> (u64, u64) {
        let reserved = pointer.mapped.and_then(|_| self.memory().reservation_at(pointer.base));
        reserved.unwrap_or((pointer.base, pointer.size))
    }

    /// What `address` points into; None if it is nothing that the driver knows, or memory that a stream is to free, as recorded.
    pub fn pointer(&self, address: u64) -> Option<Pointer> {
        if let Some(info) = self.allocated_at(address) {
            self.frees.check(info.base).ok()?;
            let kind = match info.kind {
                MemoryKind::Managed => PointerKind::Managed,
                MemoryKind::PinnedHost => PointerKind::Pinned,
                MemoryKind::Device | MemoryKind::ModuleGlobal | MemoryKind::ModuleConst | MemoryKind::DeviceHeap => {
                    PointerKind::Device
                }
                MemoryKind::Array | MemoryKind::Internal => return None,
            };
            let pool = super::pool::pool_of(&info).raw() as u64;
            let mapped = super::virtual_memory::mapped_types(&info);
            return Some(Pointer {
                kind,
                base: info.base,
                size: info.size,
                context_id: info.owner,
                device: info.device,
                flags: if kind == PointerKind::Device { 0 } else { (info.tag & 0xf) as u32 },
                can_be_named: super::ipc::can_be_named(&info),
                pool,
                mapped,
                id: info.id,
            });
        }
        let (range, _) = self.memory().registered_at(address)?;
        let page = *self.registered.lock().get(&range.address())?;
        Some(Pointer {
            kind: PointerKind::Registered,
            base: range.address(),
            size: range.size(),
            context_id: page.owner,
            device: page.device,
            flags: page.flags,
            pool: 0,
            can_be_named: false,
            mapped: None,
            id: page.id,
        })
    }
}
