//! Physical memory: bytes that can be mapped at addresses (`cuMemCreate`), and shared with other processes.
//!
//! Most of it is mapped once and as a whole. Its pages then are the window's own, in the chunks where it is mapped: it takes no descriptor, no mapping of
//! the host, and it may have huge pages. Where it is taken out of there, its pages stay in place until the addresses are wanted for something else.
//! Memory that is mapped twice or in part, or exported, moves to a memory file of its own, which nothing else is in.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use crate::interprocess::activity::DeviceActivity;

use super::run::Zone;
use super::virtual_memory::granular;
use super::window::CHUNK;
use super::{AllocError, Memory, MemoryKind, Space, lock};

/// Physical memory without an address. Dropping the last reference, mappings included, gives it back.
pub struct Physical {
    size: u64,
    space: Arc<Space>,
    /// Where it is counted; None for memory that another process created.
    used: Option<DeviceActivity>,
    pub(super) state: Mutex<State>,
}

pub(super) struct State {
    pub(super) pages: Pages,
    /// How often it is mapped now.
    pub(super) mapped: u32,
}

/// Where the bytes are.
pub(super) enum Pages {
    /// There are none: it was never mapped.
    None,
    /// In chunks of a reservation from this address on, where it is mapped or was last.
    InReservation(u64),
    /// In chunks of its own from this address on.
    Parked(u64),
    /// In a memory file, from its start.
    File(File),
}

impl Physical {
    /// Bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn chunks(&self) -> u64 {
        self.size / CHUNK
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        if let Some(used) = &self.used {
            used.fetch_sub(self.size, Ordering::Relaxed);
        }
        let chunks = self.chunks();
        let state = self.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        match state.pages {
            Pages::InReservation(address) => {
                let mut state = lock(&self.space.virtual_memory);
                // Whoever has taken the addresses meanwhile has also seen to the pages.
                if state.left_behind.remove_if_of(address, self) {
                    self.space.window.discard(self.space.window.chunk_of(address), chunks);
                }
            }
            Pages::Parked(address) => self.space.give_back(self.space.window.chunk_of(address), chunks),
            Pages::None | Pages::File(_) => {}
        }
    }
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExportError::Host(error) => write!(f, "the host refuses: {error}"),
            ExportError::NotExported => f.write_str("the descriptor is not that of exported memory"),
        }
    }
}

impl std::error::Error for ExportError {}

/// Why memory cannot be exported or imported.
#[derive(Debug)]
pub enum ExportError {
    /// The host refuses: no descriptor is left, or no memory.
    Host(io::Error),
    /// The descriptor is not that of memory that a driver of this kind has exported.
    NotExported,
}

/// What stands behind the bytes of an exported file, in a page of its own: mark, size of the memory, length of the note, note.
const MARK: &[u8; 8] = b"warploom";
const TRAILER: u64 = 4096;
/// Longest note of an export, in bytes.
const NOTE: usize = 64;

impl Memory {
    /// Physical memory of `size` bytes, counted against a device's capacity.
    pub fn create_physical(&self, device: u32, size: u64) -> Result<Arc<Physical>, AllocError> {
        if !granular(size) {
            return Err(AllocError::Empty);
        }
        self.charge(MemoryKind::Device, device, size)?;
        let used = Some(self.device_account(device).clone());
        let state = Mutex::new(State { pages: Pages::None, mapped: 0 });
        Ok(Arc::new(Physical { size, space: self.space.clone(), used, state }))
    }

    /// Physical memory of `size` bytes in a file of its own, which is not counted.
    pub(super) fn in_new_file(&self, size: u64) -> io::Result<Physical> {
        let state = Mutex::new(State { pages: Pages::File(new_file(size)?), mapped: 0 });
        Ok(Physical { size, space: self.space.clone(), used: None, state })
    }

    /// A descriptor of a memory file with the bytes of physical memory and with a note for whoever imports it, of up to 64 bytes. The memory
    /// lives as long as the descriptor or a copy of it is open anywhere. Kernels and copies pause while the bytes move to the file.
    pub fn export(&self, physical: &Physical, note: &[u8]) -> Result<OwnedFd, ExportError> {
        assert!(note.len() <= NOTE);
        self.move_to_file(physical).map_err(ExportError::Host)?;
        let state = lock(&physical.state);
        let Pages::File(file) = &state.pages else { return Err(ExportError::NotExported) };
        seal(file, physical.size, note).map_err(ExportError::Host)?;
        file.as_fd().try_clone_to_owned().map_err(ExportError::Host)
    }

    /// The physical memory that a descriptor from [`Memory::export`] stands for, and the note. The memory is not counted here: who created it has
    /// counted it.
    pub fn import(&self, descriptor: OwnedFd) -> Result<(Arc<Physical>, Vec<u8>), ExportError> {
        // SAFETY: asks for the seals of a descriptor that is open; anything else than a memory file has none.
        let seals = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_GET_SEALS) };
        // A file that could shrink would take pages away under running kernels.
        if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
            return Err(ExportError::NotExported);
        }
        let file = File::from(descriptor);
        let (size, note) = trailer_of(&file).map_err(ExportError::Host)?.ok_or(ExportError::NotExported)?;
        let state = Mutex::new(State { pages: Pages::File(file), mapped: 0 });
        let physical = Physical { size, space: self.space.clone(), used: None, state };
        Ok((Arc::new(physical), note))
    }

    /// Sees to it that the bytes are in a file, wherever they are mapped.
    pub(super) fn move_to_file(&self, physical: &Physical) -> io::Result<()> {
        let mapped = {
            let state = lock(&physical.state);
            if matches!(state.pages, Pages::File(_)) {
                return Ok(());
            }
            state.mapped != 0
        };
        let mut moved = Ok(());
        self.while_nothing_moves(mapped, &mut || moved = self.space.move_to_file(physical));
        moved
    }

    /// Calls `action` while no copy of the host runs and, if the crew `pauses`, no kernel either.
    pub(super) fn while_nothing_moves(&self, pauses: bool, action: &mut dyn FnMut()) {
        let mut go = || {
            let _still = self.space.still.write().unwrap_or_else(std::sync::PoisonError::into_inner);
            action();
        };
        match self.crew() {
            Some(crew) if pauses => crew.pause(&mut go),
            _ => go(),
        }
    }
}

impl Space {
    fn move_to_file(&self, physical: &Physical) -> io::Result<()> {
        let mut virtual_memory = lock(&self.virtual_memory);
        let mut state = lock(&physical.state);
        let chunks = physical.chunks();
        let file = match state.pages {
            Pages::File(_) => return Ok(()),
            _ => new_file(physical.size)?,
        };
        let mut parked = None;
        match state.pages {
            Pages::InReservation(address) => {
                self.write_to(&file, address, chunks)?;
                if state.mapped != 0 {
                    self.window.map_file(address, physical.size, &file, 0)?;
                } else if virtual_memory.left_behind.remove_if_of(address, physical) {
                    self.window.discard(self.window.chunk_of(address), chunks);
                }
            }
            Pages::Parked(address) => {
                self.write_to(&file, address, chunks)?;
                parked = Some(self.window.chunk_of(address));
            }
            Pages::None | Pages::File(_) => {}
        }
        state.pages = Pages::File(file);
        drop(state);
        drop(virtual_memory);
        if let Some(first) = parked {
            self.give_back(first, chunks);
        }
        Ok(())
    }

    /// Copies what has been touched of some chunks to the start of a file.
    pub(super) fn write_to(&self, file: &File, address: u64, chunks: u64) -> io::Result<()> {
        self.window.each_touched(self.window.chunk_of(address), chunks, |from, len| {
            let mut at = 0;
            while at < len {
                // SAFETY: the chunks are committed; the kernel reads them.
                let wrote = unsafe {
                    let (start, offset) = ((from + at) as *const libc::c_void, (from - address + at) as i64);
                    libc::pwrite(file.as_raw_fd(), start, (len - at) as usize, offset)
                };
                match u64::try_from(wrote) {
                    Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero)),
                    Ok(wrote) => at += wrote,
                    Err(_) => match io::Error::last_os_error() {
                        error if error.kind() == io::ErrorKind::Interrupted => {}
                        error => return Err(error),
                    },
                }
            }
            Ok(())
        })
    }

    /// Moves bytes that are nowhere accessible to other chunks, which have no pages yet, and takes the pages of the old ones away.
    pub(super) fn move_chunks(&self, from: u64, to: u64, chunks: u64) -> io::Result<()> {
        self.window.each_touched(self.window.chunk_of(from), chunks, |start, len| {
            // SAFETY: both are committed chunks of the window, which nobody else uses now and which do not overlap.
            unsafe {
                let target = (to + (start - from)) as *mut u8;
                std::ptr::copy_nonoverlapping(start as *const u8, target, len as usize);
            }
            Ok(())
        })?;
        self.window.discard(self.window.chunk_of(from), chunks);
        Ok(())
    }

    /// Moves what was left behind in a reservation to chunks of its own.
    pub(super) fn park(&self, runs: &mut super::run::Runs, physical: &Physical, state: &mut State) -> io::Result<()> {
        let Pages::InReservation(address) = state.pages else { return Ok(()) };
        let (first, _) = self
            .take_committed(runs, physical.chunks(), Zone::Own)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let target = self.address_of(first);
        if let Err(error) = self.move_chunks(address, target, physical.chunks()) {
            self.window.discard(first, physical.chunks());
            runs.give(first, physical.chunks());
            return Err(error);
        }
        state.pages = Pages::Parked(target);
        Ok(())
    }
}

/// An empty memory file of `size` bytes of memory and a trailer.
pub(super) fn new_file(size: u64) -> io::Result<File> {
    // SAFETY: the name is a C string; the descriptor returned is new and owned by nobody else.
    let file = unsafe {
        match libc::memfd_create(c"warploom".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) {
            -1 => return Err(io::Error::last_os_error()),
            descriptor => File::from_raw_fd(descriptor),
        }
    };
    file.set_len(size + TRAILER)?;
    Ok(file)
}

/// Size and note of memory that was exported as this file; None for other files.
fn trailer_of(file: &File) -> io::Result<Option<(u64, Vec<u8>)>> {
    let length = file.metadata()?.len();
    let Some(size) = length.checked_sub(TRAILER).filter(|size| granular(*size)) else { return Ok(None) };
    let mut trailer = [0; 24 + NOTE];
    file.read_exact_at(&mut trailer, size)?;
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|n| trailer[at + n]));
    let note = usize::try_from(number(16)).ok().and_then(|len| trailer[24..].get(..len));
    Ok(note.filter(|_| trailer.starts_with(MARK) && number(8) == size).map(|note| (size, note.to_vec())))
}

/// The bytes of memory that was exported as this file; None for other files.
pub(super) fn memory_size(file: &File) -> Option<u64> {
    trailer_of(file).ok().flatten().map(|(size, _)| size)
}

/// Writes the trailer, and fixes the file's size: whoever maps it can rely on it.
pub(super) fn seal(file: &File, size: u64, note: &[u8]) -> io::Result<()> {
    let mut trailer = MARK.to_vec();
    trailer.extend(size.to_le_bytes());
    trailer.extend((note.len() as u64).to_le_bytes());
    trailer.extend(note);
    file.write_all_at(&trailer, size)?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: seals a file that is ours.
    let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } == 0;
    match io::Error::last_os_error() {
        // It is sealed already, by an earlier export.
        error if !sealed && error.raw_os_error() != Some(libc::EPERM) => Err(error),
        _ => Ok(()),
    }
}
