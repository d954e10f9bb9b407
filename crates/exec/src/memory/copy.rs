//! Copies and fills of whole ranges, between the window and host memory that a caller vouches for.

use super::registered::HostRange;
use super::{Memory, Scalar};
use crate::fault::{AccessFault, AccessKind};

/// Copies `src` to `dst`, which has as many bytes and may overlap it. Bytes beyond the shorter of the two stay.
pub fn copy_host(dst: HostRange, src: HostRange) {
    // SAFETY: both ranges are promised by `HostRange`.
    unsafe { move_bytes(dst.address(), src.address(), src.size().min(dst.size())) }
}

impl Memory {
    /// Copies host memory to `dst` in device memory.
    pub fn copy_in(&self, dst: u64, src: HostRange) -> Result<(), Box<AccessFault>> {
        self.check(dst, src.size(), AccessKind::Store)?;
        // SAFETY: the destination was checked and stays mapped (see `window`); the source is promised by `HostRange`.
        unsafe { move_bytes(dst, src.address(), src.size()) }
        Ok(())
    }

    /// Copies device memory from `src` to host memory.
    pub fn copy_out(&self, dst: HostRange, src: u64) -> Result<(), Box<AccessFault>> {
        self.check(src, dst.size(), AccessKind::Load)?;
        // SAFETY: the source was checked and stays mapped (see `window`); the destination is promised by `HostRange`.
        unsafe { move_bytes(dst.address(), src, dst.size()) }
        Ok(())
    }

    /// Copies inside device memory; the ranges may overlap.
    pub fn copy(&self, dst: u64, src: u64, len: u64) -> Result<(), Box<AccessFault>> {
        self.check(src, len, AccessKind::Load)?;
        self.check(dst, len, AccessKind::Store)?;
        // SAFETY: both ranges were checked and stay mapped (see `window`).
        unsafe { move_bytes(dst, src, len) }
        Ok(())
    }

    /// Writes `count` times `value` from `dst` on, which is a multiple of the value's size.
    pub fn fill<T: Scalar>(&self, dst: u64, value: T, count: u64) -> Result<(), Box<AccessFault>> {
        let Some(len) = count.checked_mul(T::SIZE) else {
            return Err(self.refuse(dst, u64::MAX, AccessKind::Store, crate::fault::Refusal::Unmapped));
        };
        if dst % T::SIZE != 0 {
            return Err(self.refuse(dst, T::SIZE, AccessKind::Store, crate::fault::Refusal::Misaligned));
        }
        self.check(dst, len, AccessKind::Store)?;
        // SAFETY: checked for `count` values at their alignment, and mapped (see `window`); others may access the bytes
        // meanwhile as a kernel may, so they are written through a raw pointer and never made a reference.
        unsafe {
            let start = std::ptr::with_exposed_provenance_mut::<T>(dst as usize);
            for index in 0..count as usize {
                start.add(index).write(value);
            }
        }
        Ok(())
    }
}

/// # Safety
/// Both ranges are mapped; others may access them meanwhile as a C program's threads or a kernel may.
unsafe fn move_bytes(dst: u64, src: u64, len: u64) {
    // SAFETY: the caller's.
    unsafe {
        std::ptr::copy(
            std::ptr::with_exposed_provenance::<u8>(src as usize),
            std::ptr::with_exposed_provenance_mut::<u8>(dst as usize),
            len as usize,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AllocSpec, MemoryKind, Options};
    use super::*;

    fn memory(size: u64) -> (Memory, u64) {
        let memory = Memory::new(Options { window: 1 << 30, capacity: 1 << 24 }).unwrap();
        let spec = AllocSpec { size, kind: MemoryKind::Device, device: 0, owner: 0, tag: 0, origin: "test" };
        let base = memory.alloc(spec).unwrap().base;
        (memory, base)
    }

    fn range(bytes: &mut [u8]) -> HostRange {
        // SAFETY: the slice outlives the use in these tests.
        unsafe { HostRange::new(bytes.as_mut_ptr().expose_provenance() as u64, bytes.len() as u64) }
    }

    #[test]
    fn bytes_go_in_around_and_out() {
        let (memory, base) = memory(1024);
        let mut bytes: Vec<u8> = (0..=255).collect();
        memory.copy_in(base, range(&mut bytes)).unwrap();
        memory.copy(base + 1, base, 256).unwrap();
        let mut back = [0; 256];
        memory.copy_out(range(&mut back), base + 1).unwrap();
        assert_eq!(back[..], bytes[..]);
        memory.fill(base + 8, 0x0102_0304_u32, 2).unwrap();
        memory.copy_out(range(&mut back[..9]), base + 8).unwrap();
        assert_eq!(back[..9], [4, 3, 2, 1, 4, 3, 2, 1, 15]);
    }

    #[test]
    fn ranges_outside_are_refused() {
        let (memory, base) = memory(1024);
        let mut bytes = [0; 16];
        assert!(memory.copy_in(base + 1020, range(&mut bytes)).is_err());
        assert!(memory.copy_out(range(&mut bytes), 16).is_err());
        assert!(memory.copy(base, base + 1000, 100).is_err());
        assert!(memory.fill(base, 1u8, 1025).is_err());
        assert!(memory.fill(base + 1, 1u32, 1).is_err());
        assert!(memory.fill(base, 1u32, u64::MAX).is_err());
    }
}
