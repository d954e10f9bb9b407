//! Version management.
use crate::border::{ApiResult, Out};
use crate::settings::Settings;

pub(crate) fn cuDriverGetVersion(driverVersion: Out<'_, i32>) -> ApiResult {
    driverVersion.required("driverVersion")?.set(Settings::get().machine.cuda_version);
    Ok(())
}
