//! The library exports what the registry says, and answers as documented to bad input, and as the driver to good one.
mod support;

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use libloading::Library;
use support::{CHILD, Nvml, again, c_text, folder};
use warploom_abi::nvml::*;

const SYMBOLS: &str = include_str!("../src/generated/symbols.txt");

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.starts_with('#'))
}

fn tool(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).arg(folder().join("libwarploom_nvml.so")).output();
    String::from_utf8(output.expect("the binary utilities are there").stdout).expect("names are ASCII")
}

#[test]
fn names_are_the_registrys_and_the_soname_is_nvidias() {
    let expected: BTreeSet<&str> = names(SYMBOLS).collect();
    let text = tool("nm", "-D");
    let defined = text.lines().filter(|line| line.contains(" T "));
    let exported: BTreeSet<&str> = defined.filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(exported, expected);
    assert!(tool("readelf", "-d").contains("Library soname: [libnvidia-ml.so.1]"));
}

/// Calls every function with six zeros, which are NULL where pointers are.
fn with_zeros(nvml: &Nvml) -> Vec<(&'static str, nvmlReturn_t)> {
    let functions =
        names(SYMBOLS).filter(|name| !name.contains("Init") && !["nvmlErrorString", "nvmlShutdown"].contains(name));
    let call = |name| {
        let function: unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> nvmlReturn_t = nvml.get(name);
        // SAFETY: arguments that a function does not have do no harm in this convention, and NULL is refused.
        (name, unsafe { function(0, 0, 0, 0, 0, 0) })
    };
    functions.map(call).collect()
}

#[test]
fn users_are_counted() {
    const TEST: &str = "users_are_counted";
    if std::env::var_os(CHILD).is_none() {
        assert!(again(TEST, &[]).status().expect("it starts").success());
        return;
    }
    let nvml = Nvml::open();
    for (name, code) in with_zeros(&nvml) {
        let always = name == "nvmlSystemGetNVMLVersion";
        let expected =
            if always { nvmlReturn_t::NVML_ERROR_INVALID_ARGUMENT } else { nvmlReturn_t::NVML_ERROR_UNINITIALIZED };
        assert_eq!(code, expected, "{name}");
    }
    assert_eq!(nvml.call0("nvmlShutdown"), nvmlReturn_t::NVML_ERROR_UNINITIALIZED);
    for name in ["nvmlInit", "nvmlInit_v2"] {
        assert_eq!(nvml.call0(name), nvmlReturn_t::NVML_SUCCESS);
    }
    assert_eq!(nvml.call0("nvmlShutdown"), nvmlReturn_t::NVML_SUCCESS);
    assert_eq!(nvml.result::<c_uint>("nvmlDeviceGetCount_v2"), (nvmlReturn_t::NVML_SUCCESS, 1));
    assert_eq!(nvml.call0("nvmlShutdown"), nvmlReturn_t::NVML_SUCCESS);
    assert_eq!(nvml.result::<c_uint>("nvmlDeviceGetCount_v2").0, nvmlReturn_t::NVML_ERROR_UNINITIALIZED);
}

#[test]
fn bad_arguments_get_documented_codes() {
    let nvml = Nvml::initialized();
    for (name, code) in with_zeros(&nvml) {
        let documented = [nvmlReturn_t::NVML_ERROR_INVALID_ARGUMENT, nvmlReturn_t::NVML_ERROR_NOT_SUPPORTED];
        let without_pointers = ["nvmlSystemGetProcessName"];
        assert!(documented.contains(&code) || without_pointers.contains(&name), "{name}: {code:?}");
    }
    let device = nvml.device(0);
    assert_eq!(
        nvml.of::<nvmlMemory_t>("nvmlDeviceGetMemoryInfo", nvmlDevice_t(device.0 + 8)).0,
        nvmlReturn_t::NVML_ERROR_INVALID_ARGUMENT
    );
    let name: unsafe extern "C" fn(nvmlDevice_t, *mut c_char, c_uint) -> nvmlReturn_t = nvml.get("nvmlDeviceGetName");
    let mut room: [c_char; 4] = [7; 4];
    // SAFETY: the room is as large as said.
    assert_eq!(unsafe { name(device, room.as_mut_ptr(), 4) }, nvmlReturn_t::NVML_ERROR_INSUFFICIENT_SIZE);
    assert_eq!(room, [7; 4]);
    let (code, _) = nvml.of::<nvmlMemory_v2_t>("nvmlDeviceGetMemoryInfo_v2", device);
    assert_eq!(code, nvmlReturn_t::NVML_ERROR_FUNCTION_NOT_FOUND, "as recorded");
    assert_eq!(nvml.of::<c_uint>("nvmlDeviceGetPowerUsage", device).0, nvmlReturn_t::NVML_ERROR_NOT_SUPPORTED);
    // How many pages are retired is asked without a list.
    let retired: unsafe extern "C" fn(nvmlDevice_t, c_uint, *mut c_uint, *mut u64) -> nvmlReturn_t =
        nvml.get("nvmlDeviceGetRetiredPages");
    // SAFETY: NULL is allowed.
    assert_eq!(unsafe { retired(device, 0, &mut 0, std::ptr::null_mut()) }, nvmlReturn_t::NVML_ERROR_NOT_SUPPORTED);
    let text: unsafe extern "C" fn(nvmlReturn_t) -> *const c_char = nvml.get("nvmlErrorString");
    // SAFETY: the text is constant.
    let text = |code| unsafe { CStr::from_ptr(text(code)) }.to_string_lossy().into_owned();
    assert_eq!(text(nvmlReturn_t::NVML_ERROR_NOT_SUPPORTED), "Not Supported");
    assert_eq!(text(nvmlReturn_t(12345)), text(nvmlReturn_t::NVML_ERROR_UNKNOWN));
}

#[test]
fn devices_have_numbers_of_their_own_and_no_further_features() {
    let nvml = Nvml::initialized();
    let device = nvml.device(0);
    fn ask<T>(nvml: &Nvml, name: &str, device: nvmlDevice_t, mut value: T) -> (nvmlReturn_t, T) {
        let function: unsafe extern "C" fn(nvmlDevice_t, *mut T) -> nvmlReturn_t = nvml.get(name);
        // SAFETY: the function writes a value of this type.
        (unsafe { function(device, &mut value) }, value)
    }
    let version = |size: usize| size as c_uint | 1 << 24;
    let number = nvmlPdi_t { version: version(size_of::<nvmlPdi_t>()), value: 0 };
    let (code, number) = ask(&nvml, "nvmlDeviceGetPdi", device, number);
    assert!(code == nvmlReturn_t::NVML_SUCCESS && number.value != 0, "{code:?}");
    let features = nvmlDeviceCapabilities_t { version: version(size_of::<nvmlDeviceCapabilities_t>()), capMask: 7 };
    let (code, features) = ask(&nvml, "nvmlDeviceGetCapabilities", device, features);
    assert_eq!((code, features.capMask), (nvmlReturn_t::NVML_SUCCESS, 0));
    let (code, _) =
        ask(&nvml, "nvmlDeviceGetCapabilities", device, nvmlDeviceCapabilities_t { version: 3, ..features });
    assert_eq!(code, nvmlReturn_t::NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    for version in ["", "_v2", "_v3", "_v4"] {
        let name = format!("nvmlDeviceGetGridLicensableFeatures{version}");
        // Older structures are shorter: nothing behind the two numbers is written.
        assert_eq!(ask(&nvml, &name, device, [9_u32; 4]), (nvmlReturn_t::NVML_SUCCESS, [0, 0, 9, 9]), "{name}");
    }
}

/// What the driver says of a device that programs compare with what this library says.
struct OfDriver {
    name: String,
    uuid: [u8; 16],
    pci: String,
    memory: usize,
    capability: (c_int, c_int),
}

/// All devices of the driver, which is initialised here.
fn devices_of_driver() -> Vec<OfDriver> {
    // SAFETY: our own library; its functions are called as the manual has them, with places of ours.
    unsafe {
        let library = Library::new(folder().join("libcuda.so")).expect("our own library loads");
        let get = |name: &str| {
            *library.get::<unsafe extern "C" fn(usize, usize, usize) -> c_int>(name.as_bytes()).expect("it is there")
        };
        assert_eq!(get("cuInit")(0, 0, 0), 0);
        let mut count: c_int = 0;
        assert_eq!(get("cuDeviceGetCount")(&raw mut count as usize, 0, 0), 0);
        let describe = |ordinal: c_int| {
            let (mut name, mut pci) = ([0 as c_char; 96], [0 as c_char; 32]);
            let (mut uuid, mut memory, mut capability) = ([0_u8; 16], 0_usize, (0, 0));
            let device = ordinal as usize;
            assert_eq!(get("cuDeviceGetName")(name.as_mut_ptr() as usize, 96, device), 0);
            assert_eq!(get("cuDeviceGetUuid_v2")(uuid.as_mut_ptr() as usize, device, 0), 0);
            assert_eq!(get("cuDeviceGetPCIBusId")(pci.as_mut_ptr() as usize, 32, device), 0);
            assert_eq!(get("cuDeviceTotalMem_v2")(&raw mut memory as usize, device, 0), 0);
            assert_eq!(
                get("cuDeviceComputeCapability")(
                    &raw mut capability.0 as usize,
                    &raw mut capability.1 as usize,
                    device
                ),
                0
            );
            OfDriver { name: c_text(&name), uuid, pci: c_text(&pci), memory, capability }
        };
        let devices = (0..count).map(describe).collect();
        std::mem::forget(library);
        devices
    }
}

#[test]
fn devices_are_the_drivers_whichever_it_sees() {
    const TEST: &str = "devices_are_the_drivers_whichever_it_sees";
    if std::env::var_os(CHILD).is_none() {
        let settings = [
            ("WARPLOOM_DEVICE_COUNT", "3"),
            ("WARPLOOM_DEVICE", "sm_89"),
            ("WARPLOOM_MEMORY", "3G"),
            ("CUDA_VISIBLE_DEVICES", "2,0"),
        ];
        assert!(again(TEST, &settings).status().expect("it starts").success());
        return;
    }
    let nvml = Nvml::initialized();
    assert_eq!(nvml.result::<c_uint>("nvmlDeviceGetCount_v2"), (nvmlReturn_t::NVML_SUCCESS, 3));
    for (device, index) in devices_of_driver().iter().zip([2, 0]) {
        let handle = nvml.device(index);
        assert_eq!(nvml.text("nvmlDeviceGetName", handle), device.name);
        let digits: String = device.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        let uuid = nvml.text("nvmlDeviceGetUUID", handle);
        assert_eq!(uuid.replace('-', ""), format!("GPU{digits}"));
        let (_, pci) = nvml.of::<nvmlPciInfo_t>("nvmlDeviceGetPciInfo_v3", handle);
        assert!(c_text(&pci.busIdLegacy).eq_ignore_ascii_case(&device.pci), "{}", device.pci);
        assert_eq!(nvml.of::<nvmlMemory_t>("nvmlDeviceGetMemoryInfo", handle).1.total, device.memory as u64);
        let both: unsafe extern "C" fn(nvmlDevice_t, *mut c_int, *mut c_int) -> nvmlReturn_t =
            nvml.get("nvmlDeviceGetCudaComputeCapability");
        let mut capability = (0, 0);
        // SAFETY: the places are ours.
        unsafe { both(handle, &mut capability.0, &mut capability.1) };
        assert_eq!(capability, device.capability);
        // What programs find a device with leads back to it.
        for (name, text) in
            [("nvmlDeviceGetHandleByUUID", uuid), ("nvmlDeviceGetHandleByPciBusId_v2", device.pci.clone())]
        {
            let text = std::ffi::CString::new(text).expect("it has no NUL");
            let find: unsafe extern "C" fn(*const c_char, *mut nvmlDevice_t) -> nvmlReturn_t = nvml.get(name);
            let mut found = nvmlDevice_t::NULL;
            // SAFETY: the text ends in NUL, and the place is ours.
            assert_eq!(unsafe { find(text.as_ptr(), &mut found) }, nvmlReturn_t::NVML_SUCCESS, "{name}");
            assert_eq!(found, handle);
        }
        let (code, level) = {
            let mut level = nvmlGpuTopologyLevel_t(7);
            let get: unsafe extern "C" fn(nvmlDevice_t, nvmlDevice_t, *mut nvmlGpuTopologyLevel_t) -> nvmlReturn_t =
                nvml.get("nvmlDeviceGetTopologyCommonAncestor");
            // SAFETY: the place is ours.
            (unsafe { get(handle, nvml.device(1), &mut level) }, level)
        };
        assert_eq!(code, nvmlReturn_t::NVML_SUCCESS);
        assert!(level >= nvmlGpuTopologyLevel_t::NVML_TOPOLOGY_NODE, "{level:?}");
    }
}

/// Memory that the other process takes.
const MEMORY: usize = 100 << 20;

/// A process with a context on the second of two devices and memory there.
fn other_process() {
    // SAFETY: our own library; its functions are called as the manual has them, with places of ours.
    unsafe {
        let library = Library::new(folder().join("libcuda.so")).expect("our own library loads");
        let get = |name: &str| {
            *library.get::<unsafe extern "C" fn(usize, usize, usize) -> c_int>(name.as_bytes()).expect("it is there")
        };
        let (mut context, mut memory) = (0_usize, 0_usize);
        assert_eq!(get("cuInit")(0, 0, 0), 0);
        assert_eq!(get("cuDevicePrimaryCtxRetain")(&raw mut context as usize, 1, 0), 0);
        assert_eq!(get("cuCtxSetCurrent")(context, 0, 0), 0);
        assert_eq!(get("cuMemAlloc_v2")(&raw mut memory as usize, MEMORY, 0), 0);
        println!("\nthere");
        let _ = std::io::stdin().read_line(&mut String::new());
        assert_eq!(get("cuMemFree_v2")(memory, 0, 0), 0);
        assert_eq!(get("cuDevicePrimaryCtxRelease_v2")(1, 0, 0), 0);
        println!("\ngone");
        let _ = std::io::stdin().read_line(&mut String::new());
        std::mem::forget(library);
    }
}

/// The processes on a device and their memory.
fn processes(nvml: &Nvml, device: nvmlDevice_t) -> Vec<(u32, u64)> {
    let get: unsafe extern "C" fn(nvmlDevice_t, *mut c_uint, *mut nvmlProcessInfo_t) -> nvmlReturn_t =
        nvml.get("nvmlDeviceGetComputeRunningProcesses_v3");
    let mut infos = [nvmlProcessInfo_t::default(); 64];
    let mut count = 64;
    // SAFETY: there is room for as many.
    assert_eq!(unsafe { get(device, &mut count, infos.as_mut_ptr()) }, nvmlReturn_t::NVML_SUCCESS);
    infos[..count as usize].iter().map(|info| (info.pid, info.usedGpuMemory)).collect()
}

#[test]
fn other_processes_are_seen_with_their_memory() {
    const TEST: &str = "other_processes_are_seen_with_their_memory";
    match std::env::var(CHILD).as_deref() {
        Ok("other") => return other_process(),
        Ok(_) => {}
        Err(_) => {
            let settings = [("WARPLOOM_DEVICE_COUNT", "2"), ("WARPLOOM_MEMORY", "1G")];
            assert!(again(TEST, &settings).status().expect("it starts").success());
            return;
        }
    }
    let mut other = again(TEST, &[("WARPLOOM_DEVICE_COUNT", "2"), ("WARPLOOM_MEMORY", "1G")]);
    let mut other = other.env(CHILD, "other").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(other.stdout.take().expect("it is piped")).lines();
    let mut wait = |word: &str| assert!(said.any(|line| line.is_ok_and(|line| line == word)), "it says {word}");
    wait("there");
    let nvml = Nvml::initialized();
    let (first, second) = (nvml.device(0), nvml.device(1));
    let id = other.id();
    let memory_of = |device| processes(&nvml, device).into_iter().find(|(process, _)| *process == id);
    let (_, memory) = memory_of(second).expect("it is listed");
    assert!((MEMORY as u64..MEMORY as u64 + (8 << 20)).contains(&memory), "{memory}");
    assert_eq!(memory_of(first), None);
    let (_, info) = nvml.of::<nvmlMemory_t>("nvmlDeviceGetMemoryInfo", second);
    assert!(info.used >= memory && info.used + info.free == info.total, "{info:?}");
    // Without room it is said how much is needed.
    let get: unsafe extern "C" fn(nvmlDevice_t, *mut c_uint, *mut nvmlProcessInfo_v1_t) -> nvmlReturn_t =
        nvml.get("nvmlDeviceGetComputeRunningProcesses");
    let mut count = 0;
    // SAFETY: no room is promised.
    let code = unsafe { get(second, &mut count, std::ptr::null_mut()) };
    assert!(code == nvmlReturn_t::NVML_ERROR_INSUFFICIENT_SIZE && count >= 1, "{code:?}, {count}");
    let mut input = other.stdin.take().expect("it is piped");
    input.write_all(b"\n").expect("it reads");
    wait("gone");
    assert_eq!(memory_of(second), None, "it has no context any more");
    other.kill().expect("it runs");
    other.wait().expect("it ends");
}
