//! What a device could have beyond computing, and has not.

use warploom_abi::nvml::{nvmlDevice_t, nvmlDeviceCapabilities_t, nvmlGridLicensableFeatures_t};

use super::{check_version, version_of};
use crate::border::{ApiResult, InOut, Out};
use crate::library::device as find;

/// Its memory is no part of another device's.
pub(crate) fn nvmlDeviceGetCapabilities(device: nvmlDevice_t, caps: InOut<'_, nvmlDeviceCapabilities_t>) -> ApiResult {
    find(device)?;
    let version = caps.get("caps")?.version;
    check_version(version, version_of::<nvmlDeviceCapabilities_t>(1))?;
    caps.set(nvmlDeviceCapabilities_t { version, capMask: 0 });
    Ok(())
}

/// Bytes of the structure before the features, which later versions made longer.
const BEFORE_FEATURES: usize = 8;

/// Nothing needs a licence.
fn licences(device: nvmlDevice_t, features: Out<'_, nvmlGridLicensableFeatures_t>) -> ApiResult {
    find(device)?;
    features
        .required("pGridLicensableFeatures")?
        .set_start::<BEFORE_FEATURES>(&nvmlGridLicensableFeatures_t::default());
    Ok(())
}

pub(crate) fn nvmlDeviceGetGridLicensableFeatures(
    device: nvmlDevice_t,
    pGridLicensableFeatures: Out<'_, nvmlGridLicensableFeatures_t>,
) -> ApiResult {
    licences(device, pGridLicensableFeatures)
}

pub(crate) fn nvmlDeviceGetGridLicensableFeatures_v2(
    device: nvmlDevice_t,
    pGridLicensableFeatures: Out<'_, nvmlGridLicensableFeatures_t>,
) -> ApiResult {
    licences(device, pGridLicensableFeatures)
}

pub(crate) fn nvmlDeviceGetGridLicensableFeatures_v3(
    device: nvmlDevice_t,
    pGridLicensableFeatures: Out<'_, nvmlGridLicensableFeatures_t>,
) -> ApiResult {
    licences(device, pGridLicensableFeatures)
}

pub(crate) fn nvmlDeviceGetGridLicensableFeatures_v4(
    device: nvmlDevice_t,
    pGridLicensableFeatures: Out<'_, nvmlGridLicensableFeatures_t>,
) -> ApiResult {
    licences(device, pGridLicensableFeatures)
}
