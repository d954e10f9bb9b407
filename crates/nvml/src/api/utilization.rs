//! How busy devices are: in how much of the time kernels ran, whatever they did. How much of it memory was accessed is not measured; it counts as none.

use std::time::{Duration, SystemTime};

use warploom_abi::nvml::{
    nvmlDevice_t, nvmlProcessUtilizationSample_t, nvmlReturn_t, nvmlSample_t, nvmlSamplingType_t, nvmlUtilization_t,
    nvmlValue_t, nvmlValueType_t,
};
use warploom_monitor::Look;

use super::write_list;
use crate::border::{ApiResult, Failure, InOut, Out, OutArray};
use crate::library::device as find;

/// How many samples there are of the time until now, and of how much time each is.
const SAMPLES: u32 = 15;
const SAMPLE: Duration = Duration::from_millis(200);

/// Of the last second.
pub(crate) fn nvmlDeviceGetUtilizationRates(
    device: nvmlDevice_t,
    utilization: Out<'_, nvmlUtilization_t>,
) -> ApiResult {
    let device = find(device)?;
    let place = utilization.required("utilization")?;
    place.set(nvmlUtilization_t { gpu: Look::now().busy(device.number()), memory: 0 });
    Ok(())
}

/// Microseconds since 1970, so long ago.
fn time(ago: Duration) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(ago).as_micros() as u64
}

fn no_data() -> Failure {
    Failure::new(nvmlReturn_t::NVML_ERROR_NOT_FOUND, "there are no samples of that time")
}

/// One sample of each process whose kernels ran in the last second.
pub(crate) fn nvmlDeviceGetProcessUtilization(
    device: nvmlDevice_t,
    utilization: OutArray<'_, nvmlProcessUtilizationSample_t>,
    processSamplesCount: InOut<'_, u32>,
    lastSeenTimeStamp: u64,
) -> ApiResult {
    let device = find(device)?;
    let timeStamp = time(Duration::ZERO);
    let busy = Look::now().processes(device.number()).into_iter().filter(|process| process.busy > 0);
    let samples: Vec<nvmlProcessUtilizationSample_t> = busy
        .map(|process| nvmlProcessUtilizationSample_t {
            pid: process.process,
            timeStamp,
            smUtil: process.busy,
            memUtil: 0,
            encUtil: 0,
            decUtil: 0,
        })
        .collect();
    if samples.is_empty() || lastSeenTimeStamp >= timeStamp {
        processSamplesCount.get("processSamplesCount")?;
        processSamplesCount.set(0);
        return Err(no_data());
    }
    write_list(&processSamplesCount, &utilization, &samples)
}

/// How busy the device was in the last seconds.
pub(crate) fn nvmlDeviceGetSamples(
    device: nvmlDevice_t,
    r#type: nvmlSamplingType_t,
    lastSeenTimeStamp: u64,
    sampleValType: Out<'_, nvmlValueType_t>,
    sampleCount: InOut<'_, u32>,
    samples: OutArray<'_, nvmlSample_t>,
) -> ApiResult {
    let device = find(device)?;
    let place = sampleValType.required("sampleValType")?;
    let room = sampleCount.get("sampleCount")?;
    match r#type {
        nvmlSamplingType_t::NVML_GPU_UTILIZATION_SAMPLES => {}
        other if other < nvmlSamplingType_t::NVML_SAMPLINGTYPE_COUNT => {
            return Err(Failure::not_supported(format!("there are no samples of {:?}", r#type)));
        }
        _ => return Err(Failure::invalid_argument(format!("{:?} is no kind of samples", r#type))),
    }
    place.set(nvmlValueType_t::NVML_VALUE_TYPE_UNSIGNED_INT);
    // Without a list it is asked for how many there has to be room.
    if samples.is_null() {
        sampleCount.set(SAMPLES);
        return Ok(());
    }
    let look = Look::now();
    let all = (0..SAMPLES).rev().map(|number| {
        let ago = SAMPLE * number;
        let mut sampleValue = nvmlValue_t::default();
        sampleValue.uiVal = look.busy_before(device.number(), ago, SAMPLE);
        nvmlSample_t { timeStamp: time(ago), sampleValue }
    });
    let new: Vec<nvmlSample_t> =
        all.filter(|sample| sample.timeStamp > lastSeenTimeStamp).take(room as usize).collect();
    if new.is_empty() {
        return Err(no_data());
    }
    write_list(&sampleCount, &samples, &new)
}
