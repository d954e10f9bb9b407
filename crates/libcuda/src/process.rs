//! The driver of this process: made by the first `cuInit` that succeeds, and ended by the exit of the process.
use parking_lot::Mutex;
use std::ffi::CStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use warploom_abi::runtime::cudaError;
use warploom_border::settings::MachineSettings;
use warploom_driver::coredump::CoredumpSettings;
use warploom_driver::device::Machine;
use warploom_driver::{Driver, DriverError, DriverOptions, DriverResult, ErrorCode};

use crate::border::state;
use crate::checks;
use crate::kernels::Kernels;
use crate::settings::Settings;

static DRIVER: OnceLock<Arc<Driver>> = OnceLock::new();

/// Makes the driver from the settings, once; then the process is initialised.
///
/// # Errors
/// `NoDevice` if the settings ask for a machine without one; what [`VisibleDevices::of`](crate::visible_devices::VisibleDevices::of)
/// and what [`Driver::new`] answers.
pub(crate) fn initialize() -> DriverResult {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    if DRIVER.get().is_none() {
        let settings = Settings::get();
        if settings.machine.device_count == 0 {
            let reason = "WARPLOOM_DEVICE_COUNT=0 asks for a machine without devices";
            return Err(DriverError::new(ErrorCode::NoDevice, reason));
        }
        let options = DriverOptions {
            machine: machine(&settings.machine),
            devices: settings.visible.of(settings.machine.device_count, warploom_driver::device::uuid)?,
            report_stalled: settings.report_stalled,
            fresh_memory: settings.fresh_memory,
            bounds: settings.bounds,
            launch_timeout: settings.launch_timeout,
            eager_loading: settings.eager_loading,
            blocking_launches: settings.blocking_launches,
            runtime_error_texts: runtime_error,
        };
        settings.coredumps.apply(&mut CoredumpSettings::of_process().lock());
        let driver = Driver::new(options, Arc::new(Kernels::new(settings)))?;
        DRIVER.get_or_init(|| driver);
    }
    state::initialized();
    Ok(())
}

/// The machine that settings ask for.
fn machine(settings: &MachineSettings) -> Machine {
    let &MachineSettings { cuda_version, compute_capability, device_count, threads, multiprocessors, memory } =
        settings;
    Machine { cuda_version, compute_capability, device_count, threads, multiprocessors, memory }
}

/// Name and text of an error of the runtime API, as kernels are told.
fn runtime_error(code: u32) -> (&'static CStr, &'static CStr) {
    const UNRECOGNIZED: &CStr = c"unrecognized error code";
    let major = u32::try_from(Settings::get().machine.cuda_version / 1000).unwrap_or_default();
    cudaError(code).name_and_text(major).unwrap_or((UNRECOGNIZED, UNRECOGNIZED))
}

/// Longest time that the end of the process waits for kernels to notice it.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// The process runs its exit handlers: nothing of the driver runs any more when this comes back.
pub(crate) fn end() {
    if let Some(driver) = DRIVER.get() {
        driver.close(LAST_WAIT);
        warploom_jit::close();
        checks::end();
    }
}

/// The driver. Exports that need `cuInit` are answered before they come here, so it is there.
#[inline]
pub(crate) fn driver() -> DriverResult<&'static Driver> {
    DRIVER
        .get()
        .map(|driver| &**driver)
        .ok_or_else(|| DriverError::new(ErrorCode::NotInitialized, "cuInit was not called"))
}
