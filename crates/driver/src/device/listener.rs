//! Who wants to hear of a device. Nothing ever happens to one, so they are only counted.
use super::Device;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult};

/// A registration for the notifications of a device.
pub(crate) struct Listener {
    handle: Handle,
    ordinal: u32,
}

impl Driver {
    /// Registers for the notifications of a device.
    ///
    /// # Errors
    /// `InvalidDevice`.
    pub fn add_listener(&self, ordinal: i32) -> DriverResult<Handle> {
        let ordinal = self.device(ordinal)?.ordinal();
        Ok(self.listeners.insert(|handle| Listener { handle, ordinal })?.handle)
    }

    /// Ends a registration.
    ///
    /// # Errors
    /// `InvalidDevice`; `InvalidValue` for what is no registration with this device.
    pub fn remove_listener(&self, ordinal: i32, handle: Handle) -> DriverResult {
        let device: &Device = self.device(ordinal)?;
        if self.listeners.lookup(handle)?.ordinal != device.ordinal() {
            return Err(DriverError::invalid_value(format!("{handle:?} is registered with another device")));
        }
        self.listeners.remove(handle)?;
        Ok(())
    }
}
