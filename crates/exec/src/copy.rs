//! Copies and fills of whole ranges, for the host side of the API.
//!
//! The window's side of a copy is checked like an access of a kernel, the host's side is vouched for by a
//! [`HostRange`]. Source and destination may overlap.

use crate::bulk::Bulk;
use crate::fault::{AccessFault, AccessKind};
use crate::memory::{HostRange, Memory};

/// Bytes that [`Memory::digest`] has a number for.
pub const PART: u64 = 4096;

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// An address that kernels could access: window or registered pages.
    Device(u64),
    /// Host memory.
    Host(HostRange),
}

impl Memory {
    /// Copies `len` bytes. A host side must have that many.
    pub fn copy(&self, to: Side, from: Side, len: u64) -> Result<(), Box<AccessFault>> {
        let _still = self.keep_still();
        let to = self.resolve(to, len, AccessKind::Store)?;
        let from = self.resolve(from, len, AccessKind::Load)?;
        // SAFETY: both ranges are mapped for `len` bytes, the first writable: checked, or vouched for.
        unsafe { self.in_bulk(Bulk::Copy { to, from }, len) };
        Ok(())
    }

    /// Sets `count` elements of 1, 2 or 4 bytes, at any alignment, to `value` (as `cuMemsetD8`, `D16`, `D32`).
    pub fn fill(&self, address: u64, element: FillWidth, value: u32, count: u64) -> Result<(), Box<AccessFault>> {
        let size = element as u64;
        let len = count.saturating_mul(size);
        if len == 0 {
            return Ok(());
        }
        let _still = self.keep_still();
        self.check_exact(address, len, AccessKind::Store)?;
        let [a, b, c, d] = value.to_le_bytes();
        let bytes = match element {
            FillWidth::One => [a; 4],
            FillWidth::Two => [a, b, a, b],
            FillWidth::Four => [a, b, c, d],
        };
        // SAFETY: checked: mapped and writable for `len` bytes.
        unsafe { self.in_bulk(Bulk::Fill { to: address, bytes }, len) };
        Ok(())
    }

    /// A number for every [`PART`] bytes of memory, which differs where the bytes do.
    ///
    /// # Errors
    /// As for copies.
    pub fn digest(&self, side: Side, len: u64) -> Result<Vec<u64>, Box<AccessFault>> {
        let _still = self.keep_still();
        let from = self.resolve(side, len, AccessKind::Load)?;
        let mut buffer = [0u8; PART as usize];
        let mut parts = Vec::new();
        let mut at = 0;
        while at < len {
            let bytes = PART.min(len - at) as usize;
            let source = std::ptr::with_exposed_provenance::<u8>((from + at) as usize);
            // SAFETY: the range is mapped for `len` bytes: checked, or vouched for; the buffer has room for a part.
            unsafe { std::ptr::copy_nonoverlapping(source, buffer.as_mut_ptr(), bytes) };
            let mut hasher = std::hash::DefaultHasher::new();
            std::hash::Hasher::write(&mut hasher, &buffer[..bytes]);
            parts.push(std::hash::Hasher::finish(&hasher));
            at += bytes as u64;
        }
        Ok(parts)
    }

    fn resolve(&self, side: Side, len: u64, kind: AccessKind) -> Result<u64, Box<AccessFault>> {
        match side {
            Side::Device(address) => {
                if len != 0 {
                    self.check_exact(address, len, kind)?;
                }
                Ok(address)
            }
            Side::Host(range) => {
                assert!(len <= range.size(), "a copy of {len} bytes with {} bytes of host memory", range.size());
                Ok(range.address())
            }
        }
    }
}

/// Size of the elements of a fill, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillWidth {
    /// 8 bits.
    One = 1,
    /// 16 bits.
    Two = 2,
    /// 32 bits.
    Four = 4,
}
