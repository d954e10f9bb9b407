//! Memory for arguments: every buffer ends where an inaccessible page begins, and what lies before it is known and checked.

use std::io;
use std::ptr::{self, NonNull};

const PAGE: usize = 4096;

/// What fills the part of a block that no argument uses.
const CANARY: u8 = 0xa5;

/// Pages between two inaccessible ones.
pub(crate) struct Block {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: a block is memory of its own; the pointer says where.
unsafe impl Send for Block {}
// SAFETY: as above; sharing it gives no access but through its address.
unsafe impl Sync for Block {}

impl Block {
    /// Zeroed memory of at least `size` bytes.
    pub(crate) fn new(size: usize) -> io::Result<Block> {
        let size = size.next_multiple_of(PAGE);
        // SAFETY: a fresh mapping; its first and last page are made inaccessible before anybody knows it.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let all = libc::mmap(ptr::null_mut(), size + 2 * PAGE, libc::PROT_NONE, flags, -1, 0);
            if all == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let start = all.cast::<u8>().add(PAGE);
            if libc::mprotect(start.cast(), size, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Block { start: NonNull::new_unchecked(start), size })
        }
    }

    pub(crate) fn address(&self) -> usize {
        self.start.addr().get()
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Writes `bytes` at `offset`.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.size);
        // SAFETY: inside the block, which only this thread and the driver under test touch; `bytes` is elsewhere.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(offset), bytes.len()) }
    }

    /// A copy of `len` bytes from `offset` on.
    pub(crate) fn read(&self, offset: usize, len: usize) -> Vec<u8> {
        assert!(offset + len <= self.size);
        let mut bytes = vec![0; len];
        // SAFETY: as in `write`.
        unsafe { ptr::copy_nonoverlapping(self.start.as_ptr().add(offset), bytes.as_mut_ptr(), len) }
        bytes
    }

    fn fill(&self, offset: usize, len: usize, value: u8) {
        assert!(offset + len <= self.size);
        // SAFETY: as in `write`.
        unsafe { ptr::write_bytes(self.start.as_ptr().add(offset), value, len) }
    }

    /// The first byte below `len` that is not `value`.
    fn first_other(&self, len: usize, value: u8) -> Option<usize> {
        assert!(len <= self.size);
        // SAFETY: as in `write`; nobody writes while a call is over, or that is the very bug to be found.
        let bytes = unsafe { std::slice::from_raw_parts(self.start.as_ptr(), len) };
        bytes.iter().position(|byte| *byte != value)
    }
}

/// One buffer given to a call.
struct Lent {
    block: usize,
    offset: usize,
    /// What it must still hold after the call, if the call may only read it.
    unchanged: Option<Vec<u8>>,
    len: usize,
}

/// The buffers of one call.
pub(crate) struct Arena {
    blocks: Vec<Block>,
    lent: Vec<Lent>,
}

impl Arena {
    const BLOCKS: usize = 48;
    const BLOCK: usize = 2 * PAGE;

    pub(crate) fn new() -> io::Result<Arena> {
        let blocks: io::Result<Vec<Block>> = (0..Arena::BLOCKS).map(|_| Block::new(Arena::BLOCK)).collect();
        let blocks = blocks?;
        for block in &blocks {
            block.fill(0, block.size(), CANARY);
        }
        Ok(Arena { blocks, lent: Vec::new() })
    }

    /// The most bytes that one buffer can have.
    pub(crate) const LARGEST: usize = Arena::BLOCK;

    /// Gives out a buffer that holds `bytes` and ends at an inaccessible page; None when there are no more.
    pub(crate) fn lend(&mut self, bytes: &[u8], read_only: bool) -> Option<usize> {
        let index = self.lent.len();
        let block = self.blocks.get(index)?;
        let offset = block.size().checked_sub(bytes.len())?;
        block.write(offset, bytes);
        let unchanged = read_only.then(|| bytes.to_vec());
        self.lent.push(Lent { block: index, offset, unchanged, len: bytes.len() });
        Some(block.address() + offset)
    }

    /// What a buffer holds now; None for an address that is none of this call's.
    pub(crate) fn contents(&self, address: usize) -> Option<Vec<u8>> {
        let lent = self.lent.iter().find(|lent| self.blocks[lent.block].address() + lent.offset == address)?;
        Some(self.blocks[lent.block].read(lent.offset, lent.len))
    }

    /// Takes all buffers back.
    ///
    /// # Errors
    /// What was changed that must not be.
    pub(crate) fn take_back(&mut self) -> Result<(), String> {
        let mut damage = Ok(());
        for lent in self.lent.drain(..) {
            let block = &self.blocks[lent.block];
            if let Some(at) = block.first_other(lent.offset, CANARY) {
                damage = Err(format!("wrote {} bytes before a buffer of {}", lent.offset - at, lent.len));
            }
            if lent.unchanged.is_some_and(|bytes| block.read(lent.offset, lent.len) != bytes) {
                damage = Err(format!("changed an input of {} bytes", lent.len));
            }
            if damage.is_err() {
                block.fill(0, block.size(), CANARY);
            } else {
                block.fill(lent.offset, lent.len, CANARY);
            }
        }
        damage
    }
}
