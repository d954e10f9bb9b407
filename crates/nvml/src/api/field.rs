//! Values that are asked for by number.

use warploom_abi::nvml::{NVML_FI_MAX, nvmlDevice_t, nvmlFieldValue_t, nvmlReturn_t};

use crate::border::{ApiResult, Failure, OutArray};
use crate::library::device as find;

/// Each value says that it is not supported: those that there are count errors, links, energy and pages of memory.
pub(crate) fn nvmlDeviceGetFieldValues(
    device: nvmlDevice_t,
    valuesCount: i32,
    values: OutArray<'_, nvmlFieldValue_t>,
) -> ApiResult {
    find(device)?;
    let count = usize::try_from(valuesCount).ok().filter(|count| *count > 0);
    let count = count.ok_or_else(|| Failure::invalid_argument(format!("{valuesCount} values are asked for")))?;
    for index in 0..count {
        let mut value = values.at("values", index)?;
        value.nvmlReturn = if value.fieldId < NVML_FI_MAX {
            nvmlReturn_t::NVML_ERROR_NOT_SUPPORTED
        } else {
            nvmlReturn_t::NVML_ERROR_INVALID_ARGUMENT
        };
        values.set(index, value);
    }
    Ok(())
}
