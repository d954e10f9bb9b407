//! Primary contexts: one a device, shared by all who retain it.
use std::sync::Arc;

use parking_lot::MutexGuard;

use super::{Context, check_flags, context_flags};
use crate::device::Device;
use crate::driver::Driver;
use crate::{DriverError, DriverResult, ErrorCode};

/// What a device keeps of its primary context.
#[derive(Default)]
pub(crate) struct Primary {
    retained: u32,
    flags: u32,
}

/// What `cuDevicePrimaryCtxGetState` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrimaryState {
    /// `CUctx_flags`, of the living context or of the next.
    pub flags: u32,
    /// Whether it lives.
    pub active: bool,
}

impl Driver {
    /// Counts one more user of a device's primary context, which is created for the first.
    ///
    /// # Errors
    /// `InvalidDevice`, and the sticky error.
    pub fn retain_primary(&self, ordinal: i32) -> DriverResult<Arc<Context>> {
        let device = self.device(ordinal)?;
        device.state().check()?;
        let mut primary = device.primary.lock();
        let handle = device.primary_handle();
        let context = match self.contexts.get(handle) {
            Some(context) => context,
            None => {
                let context = Arc::new(self.new_context(handle, device, primary.flags, true));
                self.contexts.restore(handle, Arc::clone(&context));
                context
            }
        };
        primary.retained += 1;
        Ok(context)
    }

    /// Counts one user less; the last destroys the context.
    ///
    /// # Errors
    /// `InvalidDevice`; `InvalidContext` if nobody uses it.
    pub fn release_primary(&self, ordinal: i32) -> DriverResult {
        let device = self.device(ordinal)?;
        let mut primary = device.primary.lock();
        match primary.retained {
            0 => Err(DriverError::new(ErrorCode::InvalidContext, "the primary context is not retained")),
            1 => {
                primary.retained = 0;
                self.end_primary(device, primary);
                Ok(())
            }
            _ => {
                primary.retained -= 1;
                Ok(())
            }
        }
    }

    /// Destroys a device's primary context, however many use it. They stay counted, as recorded: who retains it next makes it anew for all of them.
    ///
    /// # Errors
    /// `InvalidDevice`; as recorded, `NotPermitted` while it has green contexts.
    pub fn reset_primary(&self, ordinal: i32) -> DriverResult {
        let device = self.device(ordinal)?;
        let primary = device.primary.lock();
        if self.contexts.get(device.primary_handle()).is_some_and(|context| context.has_green()) {
            let reason = "the primary context has green contexts, which would lose it";
            return Err(DriverError::new(ErrorCode::NotPermitted, reason));
        }
        self.end_primary(device, primary);
        Ok(())
    }

    /// Ends the context, if it lives. The flags end with it, as recorded. Who retains it from now on gets another one: that this one ends is settled before
    /// anybody else can look.
    fn end_primary(&self, device: &Device, mut primary: MutexGuard<'_, Primary>) {
        let Some(context) = self.contexts.suspend(device.primary_handle()) else { return };
        primary.flags = 0;
        drop(primary);
        self.end(&context);
    }

    /// The primary context of a device, if it lives.
    pub(crate) fn active_primary(&self, ordinal: i32) -> Option<Arc<Context>> {
        self.contexts.get(self.device(ordinal).ok()?.primary_handle())
    }

    /// Flags and whether the context lives.
    ///
    /// # Errors
    /// `InvalidDevice`.
    pub fn primary_state(&self, ordinal: i32) -> DriverResult<PrimaryState> {
        let device = self.device(ordinal)?;
        let flags = device.primary.lock().flags;
        let context = self.contexts.get(device.primary_handle());
        // As recorded, of what was set for the context itself only that copies are synchronous.
        let own = context.as_ref().map_or(0, |context| context.own_flags() & context_flags::SYNC_MEMOPS);
        Ok(PrimaryState { flags: flags | own, active: context.is_some() })
    }

    /// Sets the flags of the living context, and of those to come.
    ///
    /// # Errors
    /// `InvalidDevice`; `InvalidValue` for flags that do not exist and, as recorded, that of mapped host memory.
    pub fn set_primary_flags(&self, ordinal: i32, flags: u32) -> DriverResult {
        let device = self.device(ordinal)?;
        let mut primary = device.primary.lock();
        if flags & context_flags::MAP_HOST != 0 {
            return Err(DriverError::invalid_value("a primary context maps host memory in any case"));
        }
        primary.flags = check_flags(flags)?;
        if let Some(context) = self.contexts.get(device.primary_handle()) {
            context.set_flags(flags)?;
        }
        Ok(())
    }
}
