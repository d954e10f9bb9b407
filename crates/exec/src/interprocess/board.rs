//! A process's board, and the names that lead to its entries.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::event::EventState;
use crate::memory::FilePlace;

/// Entries of a board.
const ENTRIES: u32 = 1 << 16;
/// Freed entries that wait before they are used again: a process that still waits for an event which its owner has destroyed sees no other's.
const WAITING_ENTRIES: usize = 1024;
const MARK: &[u8; 8] = b"warploom";

/// What stands on a board.
#[repr(C)]
pub(super) struct Entry {
    /// Nothing is offered here while it is 0.
    secret: [AtomicU64; 2],
    /// The descriptor of memory, and the number of its file.
    descriptor: AtomicU32,
    /// How many others have opened it.
    pub(super) users: AtomicU32,
    file: AtomicU64,
    offset: AtomicU64,
    size: AtomicU64,
    /// What the process says of it besides.
    about: AtomicU64,
    pub(super) event: EventState,
}

const _: () = assert!(size_of::<Entry>() == 512);
const SIZE: usize = size_of::<Entry>() * ENTRIES as usize;

/// A mapping of a board, one's own or another's.
struct Mapping(*mut Entry);

// SAFETY: an address of memory that consists of atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &File) -> io::Result<Mapping> {
        // SAFETY: a new shared mapping of a file of that size, which is sealed against shrinking.
        let start = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), SIZE, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Mapping(start.cast())) }
    }

    fn entry(&self, index: u32) -> Option<&Entry> {
        // SAFETY: within the mapping, which is aligned to a page; an entry consists of atomics, for which all bytes are values.
        (index < ENTRIES).then(|| unsafe { &*self.0.add(index as usize) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `new`, into which nothing points any more.
        unsafe { libc::munmap(self.0.cast(), SIZE) };
    }
}

/// See the head of the module.
pub struct Board {
    mapping: Mapping,
    /// None for that of another process.
    own: Option<Own>,
    process: u32,
    number: u64,
}

struct Own {
    file: File,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    used: u32,
    free: VecDeque<u32>,
}

/// A name for something that a process offers, which other processes can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    process: u32,
    descriptor: u32,
    /// The number of the board's file.
    board: u64,
    index: u32,
    secret: [u64; 2],
}

/// Memory of another process, opened.
pub struct OfferedMemory {
    /// The memory file.
    pub descriptor: OwnedFd,
    /// Where the memory begins in it, in bytes.
    pub offset: u64,
    /// In bytes.
    pub size: u64,
    /// What its process says of it besides.
    pub about: u64,
}

/// Why a name leads to nothing.
#[derive(Debug)]
pub enum OpenError {
    /// The process has ended.
    Gone,
    /// The process offers nothing under the name any more.
    Withdrawn,
    /// The host does not let this process look: the other belongs to another user, or `/proc` is not there.
    Refused(io::Error),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OpenError::Gone => f.write_str("its process has ended"),
            OpenError::Withdrawn => f.write_str("its process offers it no more"),
            OpenError::Refused(error) => write!(f, "the host does not let this process open it: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl Name {
    /// As bytes, for other processes.
    pub fn to_bytes(self) -> [u8; 64] {
        let mut bytes = [0; 64];
        let words = [
            u64::from_le_bytes(*MARK),
            u64::from(self.process) | u64::from(self.descriptor) << 32,
            self.board,
            u64::from(self.index),
            self.secret[0],
            self.secret[1],
        ];
        for (place, byte) in bytes.iter_mut().zip(words.map(u64::to_le_bytes).as_flattened()) {
            *place = *byte;
        }
        bytes
    }

    /// From such bytes; None for others.
    pub fn from_bytes(bytes: &[u8; 64]) -> Option<Name> {
        let word = |index: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * index + byte]));
        let low = |word: u64| word as u32;
        let name = Name {
            process: low(word(1)),
            descriptor: low(word(1) >> 32),
            board: word(2),
            index: u32::try_from(word(3)).ok()?,
            secret: [word(4), word(5)],
        };
        (bytes.starts_with(MARK) && bytes[48..].iter().all(|byte| *byte == 0)).then_some(name)
    }

    /// Whether this process has given it.
    pub fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    pub(super) fn index(&self) -> u32 {
        self.index
    }

    /// Which board it is on, of all that there are.
    pub(super) fn board(&self) -> (u32, u64) {
        (self.process, self.board)
    }

    /// Opens the memory of another process that the name stands for.
    ///
    /// # Errors
    /// As [`OpenError`] says.
    pub fn open_memory(&self) -> Result<OfferedMemory, OpenError> {
        let board = self.open_board()?;
        let entry = board.entry_of(self).ok_or(OpenError::Withdrawn)?;
        let word = |word: &AtomicU64| word.load(Ordering::Acquire);
        let (file, offset, size, about) =
            (word(&entry.file), word(&entry.offset), word(&entry.size), word(&entry.about));
        let descriptor = entry.descriptor.load(Ordering::Acquire);
        // What was read between two looks at the secret belongs to it.
        board.entry_of(self).ok_or(OpenError::Withdrawn)?;
        let descriptor = open_descriptor(self.process, descriptor, file).map_err(|error| match error {
            OpenError::Gone => OpenError::Withdrawn,
            error => error,
        })?;
        let descriptor = descriptor.into();
        Ok(OfferedMemory { descriptor, offset, size, about })
    }

    pub(super) fn open_board(&self) -> Result<Board, OpenError> {
        let file = open_descriptor(self.process, self.descriptor, self.board)?;
        // SAFETY: asks for the seals of a descriptor that is open; anything else than a memory file has none.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        let length = file.metadata().map_err(OpenError::Refused)?.len();
        if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 || length != SIZE as u64 {
            return Err(OpenError::Gone);
        }
        let mapping = Mapping::new(&file).map_err(OpenError::Refused)?;
        Ok(Board { mapping, own: None, process: self.process, number: self.board })
    }
}

/// Opens what a descriptor of another process stands for, if that is the file with this number.
fn open_descriptor(process: u32, descriptor: u32, number: u64) -> Result<File, OpenError> {
    let path = format!("/proc/{process}/fd/{descriptor}");
    let explain = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => OpenError::Gone,
        _ => OpenError::Refused(error),
    };
    // First a look that opens nothing: the descriptor may have come to stand for anything.
    if std::fs::metadata(&path).map_err(explain)?.ino() != number {
        return Err(OpenError::Gone);
    }
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path).map_err(explain)?;
    let found = file.metadata().map_err(OpenError::Refused)?;
    if found.ino() == number && found.is_file() { Ok(file) } else { Err(OpenError::Gone) }
}

fn secret() -> io::Result<[u64; 2]> {
    let mut bytes = [0_u8; 16];
    // SAFETY: room for as many bytes.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got != bytes.len() as isize {
        return Err(io::Error::last_os_error());
    }
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|n| bytes[at + n]));
    // Never 0, which says that nothing is offered.
    Ok([word(0) | 1, word(8)])
}

impl Board {
    /// A board of this process, empty.
    ///
    /// # Errors
    /// The host gives no memory file.
    pub fn new() -> io::Result<Arc<Board>> {
        // SAFETY: the name is a C string; the descriptor returned is new and owned by nobody else.
        let file = unsafe {
            match libc::memfd_create(c"warploom".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) {
                -1 => return Err(io::Error::last_os_error()),
                descriptor => File::from_raw_fd(descriptor),
            }
        };
        file.set_len(SIZE as u64)?;
        // SAFETY: seals a file that is ours.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let mapping = Mapping::new(&file)?;
        let number = file.metadata()?.ino();
        let own = Own { file, entries: Mutex::default() };
        Ok(Arc::new(Board { mapping, own: Some(own), process: std::process::id(), number }))
    }

    /// The entry that a name means, as long as its secret stands there.
    pub(super) fn entry_of(&self, name: &Name) -> Option<&Entry> {
        let entry = self.mapping.entry(name.index)?;
        let stands = |n: usize| entry.secret[n].load(Ordering::SeqCst) == name.secret[n];
        (name.secret[0] != 0 && stands(0) && stands(1)).then_some(entry)
    }

    /// The entry with a number that a name of this board has, whatever stands there now.
    pub(super) fn entry(&self, index: u32) -> &Entry {
        self.mapping.entry(index).expect("the index of a name that was found")
    }

    /// Whether it is another process's.
    pub(super) fn is_foreign(&self) -> bool {
        self.own.is_none()
    }

    /// Offers memory of this process under a new name.
    ///
    /// # Errors
    /// The board is full, or the host has no random numbers.
    pub fn offer_memory(&self, place: &FilePlace, size: u64, about: u64) -> io::Result<Name> {
        self.offer(|entry| {
            entry.descriptor.store(place.descriptor as u32, Ordering::Relaxed);
            for (word, value) in
                [(&entry.file, place.file), (&entry.offset, place.offset), (&entry.size, size), (&entry.about, about)]
            {
                word.store(value, Ordering::Relaxed);
            }
        })
    }

    /// Fills a free entry, then shows it.
    pub(super) fn offer(&self, fill: impl FnOnce(&Entry)) -> io::Result<Name> {
        let full = || io::Error::new(io::ErrorKind::StorageFull, "too much is offered to other processes");
        let own = self.own.as_ref().ok_or_else(full)?;
        let secret = secret()?;
        let index = {
            let mut entries = own.entries.lock().unwrap_or_else(PoisonError::into_inner);
            // What others still have open stays theirs.
            let unused = |index: &u32| self.entry(*index).users.load(Ordering::SeqCst) == 0;
            let old = if entries.free.len() > WAITING_ENTRIES { entries.free.iter().position(unused) } else { None };
            match old.and_then(|at| entries.free.remove(at)) {
                Some(index) => index,
                None if entries.used < ENTRIES => {
                    entries.used += 1;
                    entries.used - 1
                }
                None => return Err(full()),
            }
        };
        let entry = self.entry(index);
        fill(entry);
        for (word, value) in entry.secret.iter().zip(secret).rev() {
            word.store(value, Ordering::SeqCst);
        }
        Ok(Name { process: self.process, descriptor: own.file.as_raw_fd() as u32, board: self.number, index, secret })
    }

    /// Offers what stands under a name of this process no more.
    pub fn withdraw(&self, name: &Name) {
        if let (Some(own), Some(entry)) = (&self.own, self.entry_of(name)) {
            entry.secret.iter().for_each(|word| word.store(0, Ordering::SeqCst));
            own.entries.lock().unwrap_or_else(PoisonError::into_inner).free.push_back(name.index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_they_were_and_lead_where_they_should() {
        let board = Board::new().unwrap();
        let place =
            FilePlace { descriptor: board.own.as_ref().unwrap().file.as_raw_fd(), file: board.number, offset: 512 };
        let name = board.offer_memory(&place, 77, 5).unwrap();
        assert_eq!(Name::from_bytes(&name.to_bytes()), Some(name));
        assert!(name.is_of_this_process());
        // The way that others take leads here as well.
        let found = name.open_memory().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((found.offset, found.size, found.about), (512, 77, 5));
        board.withdraw(&name);
        assert!(matches!(name.open_memory(), Err(OpenError::Withdrawn)));
        let next = board.offer_memory(&place, 77, 5).unwrap();
        assert!(next.index != name.index && next.secret != name.secret);
    }

    #[test]
    fn bytes_that_are_no_name_are_found_out() {
        let board = Board::new().unwrap();
        let place = FilePlace { descriptor: 0, file: 1, offset: 0 };
        let name = board.offer_memory(&place, 1, 0).unwrap();
        assert!(matches!(name.open_memory(), Err(OpenError::Withdrawn)));
        for byte in 0..64 {
            let mut bytes = name.to_bytes();
            bytes[byte] ^= 1;
            let opened =
                Name::from_bytes(&bytes).map(|name| name.open_board().map(|board| board.entry_of(&name).is_some()));
            assert!(!matches!(opened, Some(Ok(true))), "byte {byte}");
        }
        assert_eq!((Name::from_bytes(&[0; 64]), Name::from_bytes(&[0x5a; 64])), (None, None));
        let gone = Name { process: u32::MAX, ..name };
        assert!(matches!(gone.open_memory(), Err(OpenError::Gone)));
    }

    #[test]
    fn entries_are_used_again_late_and_not_while_others_have_them() {
        let board = Board::new().unwrap();
        let place = FilePlace { descriptor: 0, file: 1, offset: 0 };
        let first = board.offer_memory(&place, 1, 0).unwrap();
        board.entry(first.index).users.store(1, Ordering::SeqCst);
        board.withdraw(&first);
        let indices: Vec<u32> = (0..3 * WAITING_ENTRIES)
            .map(|_| {
                let name = board.offer_memory(&place, 1, 0).unwrap();
                board.withdraw(&name);
                name.index
            })
            .collect();
        assert!(!indices.contains(&first.index));
        assert!(indices.iter().all(|index| *index < 2 * WAITING_ENTRIES as u32));
    }
}
