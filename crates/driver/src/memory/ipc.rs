//! Memory that several processes use by name (`cuIpc*`): what this one has named for others, and what it has opened of theirs.
use std::collections::HashMap;

use parking_lot::Mutex;
use warploom_exec::interprocess::{Name, OfferedMemory, OpenError};
use warploom_exec::memory::{AllocSpec, AllocationInfo, ExportError, MemoryKind};
use warploom_exec::observe::HostEvent;

use super::virtual_memory::{location_in, note_of};
use super::{Location, location_kind};
use crate::context::Context;
use crate::driver::Driver;
use crate::event::not_offered;
use crate::{DriverError, DriverResult, ErrorCode};

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`. As recorded, other bits beside it are ignored.
const LAZY_PEER_ACCESS: u32 = 1;

/// The tag of memory that was opened; that of `cuMemAlloc` is 0.
const OPENED: u64 = 1;

/// What is named and opened.
#[derive(Default)]
pub(crate) struct BetweenProcesses {
    /// By the number of the allocation. Taken last: memory that is given back loses its name, also memory of other processes, while `opened` is held.
    named: Mutex<HashMap<u64, Name>>,
    opened: Mutex<HashMap<Name, Opened>>,
}

/// Memory of another process.
#[derive(Clone, Copy)]
struct Opened {
    address: u64,
    context_id: u64,
    users: u32,
}

/// Whether memory is such that it can be named for other processes: that of `cuMemAlloc` and its like.
pub(super) fn can_be_named(info: &AllocationInfo) -> bool {
    info.kind == MemoryKind::Device && info.tag == 0
}

/// Whether memory is another process's.
pub(super) fn is_opened(info: &AllocationInfo) -> bool {
    info.kind == MemoryKind::Device && info.tag == OPENED
}

impl Driver {
    /// The name of the device memory that `address` lies in, for other processes (`cuIpcGetMemHandle`): that of the whole allocation.
    ///
    /// # Errors
    /// `InvalidValue` for memory that did not come from `cuMemAlloc`; `OperatingSystem` if the host gives no memory file; those of
    /// [`Driver::current`].
    pub fn name_memory(&self, address: u64) -> DriverResult<Name> {
        self.current()?;
        let refuse =
            || DriverError::about(ErrorCode::InvalidValue, address, "is not in memory that cuMemAlloc allocated");
        let info = self.allocated_at(address).filter(can_be_named).ok_or_else(refuse)?;
        if let Some(name) = self.between_processes.named.lock().get(&info.id) {
            return Ok(*name);
        }
        let ordinal = i32::try_from(info.device).unwrap_or(-1);
        let location = Location { kind: location_kind::DEVICE, id: ordinal };
        // No lock is held: work that frees memory comes to an end first.
        let place = self.memory().export_allocation(&info, &note_of(location)).map_err(|error| match error {
            // Another thread has freed it.
            ExportError::NotExported => refuse(),
            ExportError::Host(error) => not_offered(&error),
        })?;
        self.tell(|| HostEvent::Outside(info));
        let number = self.device(ordinal)?.number();
        let name = self.board()?.offer_memory(&place, info.size, u64::from(number));
        let name = name.map_err(|error| not_offered(&error))?;
        let mut named = self.between_processes.named.lock();
        if let Some(first) = named.get(&info.id) {
            // Another thread was faster.
            self.board()?.withdraw(&name);
            return Ok(*first);
        }
        named.insert(info.id, name);
        Ok(name)
    }

    /// Ends the name of an allocation that is freed.
    pub(super) fn forget_name_of(&self, info: &AllocationInfo) {
        // Without a board nothing has a name.
        let Some(board) = self.existing_board() else { return };
        if let Some(name) = self.between_processes.named.lock().remove(&info.id) {
            board.withdraw(&name);
        }
    }

    /// Opens memory of another process (`cuIpcOpenMemHandle`), or counts one user more of it if this process has it open already and `again` allows that. `name`
    /// is None for what is no name of this driver's.
    ///
    /// # Errors
    /// As recorded: `InvalidValue` without the one flag that there is, and for what cannot be opened; `InvalidContext` for memory of this process;
    /// `InvalidHandle` for memory that another context has open, and for that of a process that has ended; `AlreadyMapped` for memory that is open, of the first ABI. `InvalidDevice` for
    /// memory of a device that this process does not see; those of [`Driver::current`].
    pub fn open_memory(&self, name: Option<Name>, flags: u32, again: bool) -> DriverResult<u64> {
        let context = self.current()?;
        if flags & LAZY_PEER_ACCESS == 0 {
            return Err(DriverError::invalid_value(format!("Flags is {flags}, must be {LAZY_PEER_ACCESS}")));
        }
        let cannot = |reason: String| DriverError::invalid_value(format!("the memory cannot be opened: {reason}"));
        let name = name.ok_or_else(|| cannot("the handle was not made by cuIpcGetMemHandle".to_owned()))?;
        if name.is_of_this_process() {
            return Err(DriverError::new(ErrorCode::InvalidContext, "the handle is of this process itself"));
        }
        let mut all_opened = self.between_processes.opened.lock();
        if let Some(opened) = all_opened.get_mut(&name) {
            if opened.context_id != context.id() {
                return Err(DriverError::invalid_handle("another context has opened the memory"));
            }
            if !again {
                return Err(DriverError::new(ErrorCode::AlreadyMapped, "the memory is open already"));
            }
            opened.users += 1;
            return Ok(opened.address);
        }
        let OfferedMemory { descriptor, offset, size, about } = name.open_memory().map_err(|error| match error {
            OpenError::Gone => DriverError::invalid_handle(format!("the memory cannot be opened: {error}")),
            error => cannot(error.to_string()),
        })?;
        let device = self.devices().iter().find(|device| u64::from(device.number()) == about).ok_or_else(|| {
            let reason = format!("the memory is on device {about} of the machine, which this process does not see");
            DriverError::new(ErrorCode::InvalidDevice, reason)
        })?;
        let (device, owner) = (device.ordinal(), context.id());
        let origin = "cuIpcOpenMemHandle";
        let spec = AllocSpec { size, kind: MemoryKind::Device, device, owner, tag: OPENED, origin };
        let address = context.while_alive(|| {
            let (info, note) =
                self.memory().import_allocation(descriptor, offset, spec).map_err(|error| match error {
                    ExportError::Host(error) => DriverError::new(ErrorCode::MapFailed, format!("no mapping: {error}")),
                    ExportError::NotExported => cannot(error.to_string()),
                })?;
            // Pools and physical memory are opened by descriptors only.
            if location_in(&note).is_none() {
                self.give_back(info.base)?;
                return Err(cannot("it is no allocation".to_owned()));
            }
            Ok(info.base)
        })?;
        all_opened.insert(name, Opened { address, context_id: owner, users: 1 });
        Ok(address)
    }

    /// Counts one user less of memory of another process (`cuIpcCloseMemHandle`); the last ends it here, once all work is done.
    ///
    /// # Errors
    /// `InvalidValue` for an address at which nothing begins that was opened; those of [`Driver::current`].
    pub fn close_memory(&self, address: u64) -> DriverResult {
        self.current()?;
        let refuse =
            || DriverError::about(ErrorCode::InvalidValue, address, "is not what cuIpcOpenMemHandle has opened");
        let info = self.allocated_at(address).filter(|info| info.base == address && is_opened(info));
        self.finish_users_of(&info.ok_or_else(refuse)?)?;
        let mut all_opened = self.between_processes.opened.lock();
        let (name, opened) = all_opened.iter_mut().find(|(_, opened)| opened.address == address).ok_or_else(refuse)?;
        opened.users -= 1;
        if opened.users == 0 {
            let name = *name;
            all_opened.remove(&name);
            self.give_back(address)?;
        }
        Ok(())
    }

    /// Closes all that a context has opened.
    pub(super) fn close_memory_of(&self, context: &Context) {
        self.between_processes.opened.lock().retain(|_, opened| opened.context_id != context.id());
    }
}
