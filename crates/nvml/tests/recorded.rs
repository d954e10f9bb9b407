//! What NVIDIA's library answered to calls with nothing but NULL, before and after it was initialised (`tests/goldens/nvml.py`), is what ours answers.
mod support;

use serde_json::{Map, Value};
use support::{CHILD, Nvml, again};
use warploom_abi::nvml::{nvmlDevice_t, nvmlReturn_t};

const RECORDED: &str = include_str!("../../../tests/goldens/nvml.json");
/// A private interface.
const PRIVATE: &str = "nvmlInternalGetExportTable";

/// Functions that said to NULL what a CPU says as well, though not to NULL: they looked at the device first, or at nothing.
const OTHER_ORDER: [(&str, &str); 2] = [
    (
        "all NULL",
        "nvmlDeviceGetNvLinkUtilizationControl nvmlDeviceGetNvLinkUtilizationCounter nvmlGetVgpuVersion nvmlVgpuInstanceGetVmID",
    ),
    (
        "device, then NULL",
        "nvmlDeviceGetNvLinkUtilizationControl nvmlDeviceGetNvLinkUtilizationCounter nvmlDeviceGetLastBBXFlushTime \
         nvmlDeviceGetActiveVgpus nvmlDeviceGetCreatableVgpus nvmlDeviceGetGpuOperationMode nvmlDeviceGetSupportedVgpus \
         nvmlDeviceGetVgpuHeterogeneousMode nvmlDeviceGetVgpuProcessUtilization nvmlDeviceGetVgpuTypeCreatablePlacements \
         nvmlDeviceGetVgpuTypeSupportedPlacements nvmlDeviceGetVgpuUtilization",
    ),
];

fn recorded(situation: &str) -> Map<String, Value> {
    let all: Value = serde_json::from_str(RECORDED).expect("the recording is JSON");
    all[situation].as_object().expect("it was recorded").clone()
}

/// Compares what functions answer to `first` and five NULLs with what was recorded; calls that crashed there are left out.
fn compare(nvml: &Nvml, situation: &str, first: usize) {
    let other_order = OTHER_ORDER.iter().find(|(name, _)| *name == situation).map_or("", |(_, functions)| functions);
    let mut compared = 0;
    for (name, code) in recorded(situation) {
        // Those that are about no device take something else first.
        let device = !name.starts_with("nvmlDeviceGetHandleBy") && !name.starts_with("nvmlDeviceGetCount");
        let skipped = [PRIVATE, "nvmlErrorString", "nvmlShutdown"].contains(&name.as_str());
        let Some(code) = code.as_u64().filter(|_| !skipped && (device || first == 0)) else { continue };
        let function: unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> nvmlReturn_t = nvml.get(&name);
        // SAFETY: arguments that a function does not have do no harm in this convention, and NULL is refused.
        let ours = unsafe { function(first, 0, 0, 0, 0, 0) };
        if !other_order.split_whitespace().any(|other| other == name) {
            assert_eq!(u64::from(ours.0), code, "{situation}: {name}");
            compared += 1;
        }
    }
    assert!(compared > 190, "{situation}: {compared}");
}

#[test]
fn nothing_is_refused_as_recorded() {
    const TEST: &str = "nothing_is_refused_as_recorded";
    if std::env::var_os(CHILD).is_none() {
        assert!(again(TEST, &[]).status().expect("it starts").success());
        return;
    }
    let nvml = Nvml::open();
    compare(&nvml, "before initialisation", 0);
    let nvml = Nvml::initialized();
    compare(&nvml, "all NULL", 0);
    let nvmlDevice_t(device) = nvml.device(0);
    compare(&nvml, "device, then NULL", device);
}

#[test]
fn every_recorded_function_is_there_but_a_private_one() {
    let all: Value = serde_json::from_str(RECORDED).expect("the recording is JSON");
    let ours = include_str!("../src/generated/symbols.txt");
    let names = all["exports"].as_array().expect("they were recorded").iter().filter_map(Value::as_str);
    let missing: Vec<&str> = names.filter(|name| !ours.lines().any(|line| line == *name)).collect();
    assert_eq!(missing, [PRIVATE]);
}

#[test]
fn codes_have_their_texts() {
    let all: Value = serde_json::from_str(RECORDED).expect("the recording is JSON");
    for (code, text) in all["questions"]["texts"].as_object().expect("they were recorded") {
        let code = nvmlReturn_t(code.parse::<i32>().expect("a number") as u32);
        let known = code.text().or(nvmlReturn_t::NVML_ERROR_UNKNOWN.text()).expect("it has a text");
        assert_eq!(known.to_str().ok(), text.as_str(), "{code:?}");
    }
}
