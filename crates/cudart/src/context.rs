//! Which device and which context a call is for.
//!
//! A context that is current, made by the driver API or here, is the one that is used. Otherwise the primary context of the thread's
//! device becomes current, and is kept until the device is reset.
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use parking_lot::Mutex;
use warploom_abi::runtime::cudaError;
use warploom_abi::{CUcontext, CUdevice};

use crate::border::version;
use crate::driver::{self, driver};
use crate::failure::{ApiResult, Failure};

/// The number of devices, 0 before the driver is initialised. It needs no driver any more: callbacks and forked processes may ask.
static DEVICES: AtomicI32 = AtomicI32::new(0);

/// A device's primary context, as far as this runtime has to do with it.
#[derive(Clone, Copy)]
enum Primary {
    /// It was never retained.
    Unused,
    /// It is retained: its handle, which stays the same whenever it is made again, and its number, which does not (`cuCtxGetId`).
    Retained(CUcontext, u64),
    /// It was reset, and not retained since: its handle stays, and may still be current.
    Reset(CUcontext),
}

/// The primary contexts, by device.
static PRIMARY: Mutex<Vec<Primary>> = Mutex::new(Vec::new());

/// Whether any context was reset ever.
static ANY_RESET: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The device that the thread chose.
    static DEVICE: Cell<i32> = const { Cell::new(0) };
}

/// The number of devices, at least 1. Initialises the driver.
#[inline(always)]
pub(crate) fn devices() -> ApiResult<i32> {
    match DEVICES.load(Ordering::Acquire) {
        0 => initialize(),
        count => Ok(count),
    }
}

#[cold]
fn initialize() -> ApiResult<i32> {
    let library = driver::library()?;
    let (runtime, driver) = (version(), library.version());
    if driver < runtime / 1000 * 1000 {
        let reason =
            format!("a driver of CUDA {driver} is too old for a runtime of CUDA {runtime}: {}", library.identity());
        return Err(Failure::new(cudaError::cudaErrorInsufficientDriver, reason));
    }
    driver!(cuInit_v2000(0))?;
    let mut count = 0;
    driver!(cuDeviceGetCount_v2000(&mut count))?;
    if count == 0 {
        return Err(Failure::new(cudaError::cudaErrorNoDevice, "the driver has no device"));
    }
    DEVICES.store(count, Ordering::Release);
    Ok(count)
}

/// The device of an ordinal.
pub(crate) fn device(ordinal: i32) -> ApiResult<CUdevice> {
    let count = devices()?;
    if !(0..count).contains(&ordinal) {
        let reason = format!("there is no device {ordinal}: they count from 0 to {}", count - 1);
        return Err(Failure::new(cudaError::cudaErrorInvalidDevice, reason));
    }
    let mut device = CUdevice::default();
    driver!(cuDeviceGet_v2000(&mut device, ordinal))?;
    Ok(device)
}

/// Sees to it that a context is current.
#[inline(always)]
pub(crate) fn ensure() -> ApiResult {
    devices()?;
    let current = current()?;
    if current == CUcontext::NULL {
        return enter(DEVICE.get());
    }
    if ANY_RESET.load(Ordering::Relaxed) { revive(current) } else { Ok(()) }
}

/// Whether the thread's context, which the driver says is destroyed, was a primary one that this runtime has retained, and there is
/// another one now: who resets a primary context by the driver API does not tell the runtime.
#[cold]
pub(crate) fn replaced() -> bool {
    let Ok(context) = current() else { return false };
    let Some(ordinal) = primary_device(context) else { return false };
    let was_reset = device(ordinal).and_then(is_active).is_ok_and(|active| !active);
    was_reset && enter(ordinal).is_ok()
}

/// The device whose primary context this is, if this runtime has ever retained it.
fn primary_device(context: CUcontext) -> Option<i32> {
    let is_it =
        |primary: &Primary| matches!(primary, Primary::Retained(known, _) | Primary::Reset(known) if *known == context);
    let index = PRIMARY.lock().iter().position(is_it);
    index.and_then(|index| i32::try_from(index).ok())
}

/// Whether a device's primary context lives.
fn is_active(device: CUdevice) -> ApiResult<bool> {
    let (mut flags, mut active) = (0, 0);
    driver!(cuDevicePrimaryCtxGetState_v7000(device, &mut flags, &mut active))?;
    Ok(active != 0)
}

/// Retains the current context anew if it is a primary context that was reset: its handle stays, and stays current.
#[cold]
fn revive(current: CUcontext) -> ApiResult {
    reset_device(current).map_or(Ok(()), enter)
}

/// The device whose primary context this is, if it was reset and nobody has retained it since.
fn reset_device(context: CUcontext) -> Option<i32> {
    let is_it = |primary: &Primary| matches!(primary, Primary::Reset(reset) if *reset == context);
    let index = PRIMARY.lock().iter().position(is_it);
    index.and_then(|index| i32::try_from(index).ok())
}

/// The thread's context, or NULL.
#[inline(always)]
pub(crate) fn current() -> ApiResult<CUcontext> {
    let mut context = CUcontext::NULL;
    driver!(cuCtxGetCurrent_v4000(&mut context))?;
    Ok(context)
}

/// Makes the primary context of a device current.
pub(crate) fn enter(ordinal: i32) -> ApiResult {
    let context = primary(ordinal)?;
    driver!(cuCtxSetCurrent_v4000(context))
}

/// The primary context of a device, which is retained once, and again when it was reset.
pub(crate) fn primary(ordinal: i32) -> ApiResult<CUcontext> {
    let device = device(ordinal)?;
    let index = usize::try_from(ordinal).unwrap_or_default();
    let mut contexts = PRIMARY.lock();
    if contexts.len() <= index {
        contexts.resize(index + 1, Primary::Unused);
    }
    if let Primary::Retained(context, number) = contexts[index] {
        match is_active(device)? {
            true if is_the_same(context, number) => return Ok(context),
            // Others have made it anew.
            true => {}
            // Reset by others, or released once too often: one use is counted, not one for each time that it is made again.
            false => give_back(device),
        }
        contexts[index] = Primary::Unused;
    }
    let mut context = CUcontext::NULL;
    driver!(cuDevicePrimaryCtxRetain_v7000(&mut context, device)).map_err(lost)?;
    let mut number = 0;
    driver!(cuCtxGetId_v12000(context, &mut number))?;
    contexts[index] = Primary::Retained(context, number);
    Ok(context)
}

/// Whether a living primary context is the one that had this number when it was retained. One that cannot be asked any more, after a fault, is.
fn is_the_same(context: CUcontext, number: u64) -> bool {
    let mut now = number;
    let _as_it_was = driver!(cuCtxGetId_v12000(context, &mut now));
    now == number
}

/// The number of the current context, which no other has ever.
pub(crate) fn number() -> ApiResult<u64> {
    let mut number = 0;
    driver!(cuCtxGetId_v12000(CUcontext::NULL, &mut number))?;
    Ok(number)
}

/// Ends this runtime's use of a device's primary context. Where others have released it in its place, nothing is left to end.
fn give_back(device: CUdevice) {
    let _nobody_uses_it = driver!(cuDevicePrimaryCtxRelease_v11000(device));
}

/// After a fault that ended a device's work the driver makes no new context, and tells of the fault.
fn lost(failure: Failure) -> Failure {
    let faults = cudaError::cudaErrorIllegalAddress..=cudaError::cudaErrorLaunchFailure;
    if faults.contains(&failure.code) {
        return Failure::new(cudaError::cudaErrorDevicesUnavailable, "a fault has ended the use of the device");
    }
    failure
}

/// The device that the thread's calls go to.
pub(crate) fn current_device() -> ApiResult<i32> {
    devices()?;
    let current = current()?;
    if current == CUcontext::NULL {
        return Ok(DEVICE.get());
    }
    if ANY_RESET.load(Ordering::Relaxed)
        && let Some(ordinal) = reset_device(current)
    {
        return Ok(ordinal);
    }
    let mut device = CUdevice::default();
    driver!(cuCtxGetDevice_v2000(&mut device))?;
    Ok(device)
}

/// Chooses the thread's device, whose primary context becomes current.
pub(crate) fn choose(ordinal: i32) -> ApiResult {
    enter(ordinal)?;
    DEVICE.set(ordinal);
    Ok(())
}

/// Chooses the device that the thread uses as long as it chooses none and no context is current.
pub(crate) fn prefer(ordinal: i32) {
    DEVICE.set(ordinal);
}

/// Resets the primary context of the thread's device if it is in use here, and forgets it: whoever needs it next retains it anew. One that was never
/// used here, or that others have reset, stays as it is.
pub(crate) fn reset() -> ApiResult {
    devices()?;
    let ordinal = match primary_device(current()?) {
        Some(ordinal) => ordinal,
        None => current_device()?,
    };
    let device = device(ordinal)?;
    let mut contexts = PRIMARY.lock();
    let index = usize::try_from(ordinal).unwrap_or_default();
    let Some(Primary::Retained(context, number)) = contexts.get(index).copied() else { return Ok(()) };
    if is_active(device)? && is_the_same(context, number) {
        driver!(cuDevicePrimaryCtxReset_v11000(device))?;
        give_back(device);
        contexts[index] = Primary::Reset(context);
        ANY_RESET.store(true, Ordering::Relaxed);
    }
    Ok(())
}
