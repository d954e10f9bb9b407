//! The state of the library: how often it was initialised, and the machine as it was then.

use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use warploom_abi::nvml::{nvmlDevice_t, nvmlReturn_t};
use warploom_monitor::{Device, Monitor};

use crate::border::{ApiResult, Failure};

struct State {
    users: u32,
    monitor: Option<Arc<Monitor>>,
}

static STATE: RwLock<State> = RwLock::new(State { users: 0, monitor: None });

fn state() -> RwLockWriteGuard<'static, State> {
    STATE.write().unwrap_or_else(PoisonError::into_inner)
}

/// One user more; the first has the settings read. What is wrong with them is said by the driver, which reads them too.
pub(crate) fn begin() {
    let mut state = state();
    state.users += 1;
    if state.monitor.is_none() {
        state.monitor = Some(Arc::new(Monitor::from_environment().0));
    }
}

/// One user less.
pub(crate) fn end() -> ApiResult {
    let mut state = state();
    let Some(users) = state.users.checked_sub(1) else { return Err(uninitialized()) };
    state.users = users;
    if users == 0 {
        state.monitor = None;
    }
    Ok(())
}

fn uninitialized() -> Failure {
    Failure::new(nvmlReturn_t::NVML_ERROR_UNINITIALIZED, "nvmlInit was not called")
}

/// The machine.
pub(crate) fn monitor() -> ApiResult<Arc<Monitor>> {
    let state = STATE.read().unwrap_or_else(PoisonError::into_inner);
    state.monitor.clone().ok_or_else(uninitialized)
}

/// Handles begin here: addresses that no program has.
const FIRST_HANDLE: usize = 0x7fff_0000_0000_0000;
/// The distance of two handles.
const STEP: usize = 16;

/// The handle of a device.
pub(crate) fn handle(device: &Device) -> nvmlDevice_t {
    nvmlDevice_t(FIRST_HANDLE + STEP * device.number() as usize)
}

/// A device of the machine.
pub(crate) struct Found {
    monitor: Arc<Monitor>,
    number: usize,
}

impl Deref for Found {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.monitor.devices()[self.number]
    }
}

/// The device that a handle means.
pub(crate) fn device(handle: nvmlDevice_t) -> ApiResult<Found> {
    let monitor = monitor()?;
    let number = handle.0.wrapping_sub(FIRST_HANDLE) / STEP;
    if !handle.0.is_multiple_of(STEP) || number >= monitor.devices().len() {
        return Err(Failure::invalid_argument(format!("{:#x} is no device", handle.0)));
    }
    Ok(Found { monitor, number })
}
