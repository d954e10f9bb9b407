//! Device memory that is counted without having addresses: what kernels keep for their threads.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::interprocess::activity::DeviceActivity;

use super::{AllocError, Memory, MemoryKind};

/// Bytes of a device's memory that count as used for as long as this lives.
pub struct Reservation {
    used: DeviceActivity,
    bytes: u64,
    /// What it adds to.
    below: Option<Arc<Reservation>>,
}

impl Reservation {
    /// Bytes, with those that it adds to.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.below.as_ref().map_or(0, |below| below.bytes())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Memory {
    /// Counts `bytes` of a device as used, those of `below` among them, which are of the same device.
    pub fn reserve_bytes(
        &self,
        device: u32,
        bytes: u64,
        below: Option<Arc<Reservation>>,
    ) -> Result<Arc<Reservation>, AllocError> {
        let more = bytes.saturating_sub(below.as_ref().map_or(0, |below| below.bytes()));
        self.charge(MemoryKind::Device, device, more)?;
        Ok(Arc::new(Reservation { used: self.device_account(device).clone(), bytes: more, below }))
    }
}
