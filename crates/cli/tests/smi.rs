//! `warploom smi`, and the command under the name `nvidia-smi`.
mod support;

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use support::warploom;

const SETTINGS: [(&str, &str); 3] =
    [("WARPLOOM_DEVICE_COUNT", "2"), ("WARPLOOM_MEMORY", "4G"), ("WARPLOOM_CUDA_VERSION", "13.0")];

/// Exit status and what is printed on standard output and standard error.
fn printed(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().expect("the command starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn smi(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = warploom();
    printed(command.arg("smi").args(arguments).envs(SETTINGS))
}

fn facts(arguments: &[&str]) -> String {
    let (status, text, errors) = smi(arguments);
    assert_eq!((status, errors.as_str()), (Some(0), ""), "{text}");
    text
}

#[test]
fn facts_are_printed_as_asked_for() {
    let fields = "--query-gpu=index,gpu_bus_id,pci.domain,memory.total,compute_mode,fan.speed,driver_version,count,utilization.memory,ecc.mode.current";
    insta::assert_snapshot!(facts(&[fields, "--format=csv"]), @r"
    index, pci.bus_id, pci.domain, memory.total [MiB], compute_mode, fan.speed [%], driver_version, count, utilization.memory [%], ecc.mode.current
    0, 0000CAFE:00:00.0, 0xCAFE, 2048 MiB, Default, [N/A], 580.00, 2, 0 %, [N/A]
    1, 0000CAFE:01:00.0, 0xCAFE, 2048 MiB, Default, [N/A], 580.00, 2, 0 %, [N/A]
    ");
    let second = facts(&["--query-gpu=index, memory.total", "--format=csv,noheader,nounits", "-i", "1"]);
    assert_eq!(second, "1, 2048\n");
    assert_eq!(facts(&["--query-gpu=index", "--format=csv,noheader", "-i", "0000cafe:00:00.0,1"]), "0\n1\n");
    let processes = facts(&["--query-compute-apps=pid,name,used_memory,gpu_uuid", "--format=csv"]);
    assert_eq!(processes.lines().next(), Some("pid, process_name, used_gpu_memory [MiB], gpu_uuid"));
}

#[test]
fn what_is_wrong_is_said() {
    let (status, text, _) = smi(&["-i", "7"]);
    assert_eq!((status, text.as_str()), (Some(6), "No devices were found\n"));
    let (status, text, errors) = smi(&["--query-gpu=index,foo", "--format=csv"]);
    assert_eq!((status, text.as_str()), (Some(2), ""));
    assert_eq!(errors, "warploom: field \"foo\" is not a valid field to query\n");
    assert_eq!(smi(&["--query-gpu=index"]).0, Some(2));
    assert_eq!(smi(&["--query-gpu=index", "--format=xml"]).0, Some(2));
}

/// The table, with what differs by machine and moment taken out.
#[test]
fn the_table_shows_each_device() {
    let text = facts(&[]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().skip(1).all(|line| line.is_empty() || line.chars().count() == 91), "{text}");
    let cell = |line: &str, at: usize| line.split('|').nth(at).unwrap_or_default().trim().to_owned();
    let device = lines.iter().position(|line| line.starts_with("|   1  warploom (")).expect("it is there");
    assert_eq!(cell(lines[device], 2), "0000CAFE:01:00.0 Off");
    assert!(cell(lines[device + 1], 2).ends_with("MiB /   2048MiB"), "{text}");
    assert!(cell(lines[device + 1], 3).ends_with("%      Default"), "{text}");
    assert!(lines[2].contains(" Driver Version: 580.00 ") && lines[2].contains(" CUDA Version: 13.0 "), "{text}");
    let list = facts(&["-L"]);
    assert_eq!(list.lines().count(), 2);
    assert!(list.starts_with("GPU 0: warploom (") && list.contains(" (UUID: GPU-"), "{list}");
    assert!(facts(&["-q"]).contains("    Compute Mode                                       : Default\n"));
}

#[test]
fn programs_find_it_as_nvidia_smi() {
    let mut command = warploom();
    command.args(["run", "--devices", "3", "--", "nvidia-smi", "--query-gpu=count", "--format=csv,noheader", "--id=2"]);
    assert_eq!(printed(&mut command), (Some(0), "3\n".to_owned(), String::new()));
    // Whatever the file is called that the link leads to.
    let mut command = warploom();
    assert_eq!(printed(command.arg0("/somewhere/nvidia-smi").args(["-i", "9"])).0, Some(6));
}

/// A program in Python that asks the management library that it finds.
const COUNT: &str = "
import ctypes
nvml = ctypes.CDLL('libnvidia-ml.so.1')
count = ctypes.c_uint()
assert nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
print(count.value, nvml.nvmlShutdown(), ctypes.CDLL('/nonexistent/libnvidia-ml.so.1').nvmlShutdown())
";

#[test]
fn programs_get_the_management_library() {
    let mut command = warploom();
    command.args(["run", "--devices", "4", "--", "/usr/bin/python3", "-c", COUNT]).env("CUDA_VISIBLE_DEVICES", "1");
    assert_eq!(printed(&mut command), (Some(0), "4 0 1\n".to_owned(), String::new()));
}

#[test]
fn a_process_is_listed_with_what_it_has() {
    const USES: &str = "
import ctypes, os, subprocess
cuda = ctypes.CDLL('libcuda.so.1')
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1) == 0
assert cuda.cuCtxSetCurrent(context) == 0 and cuda.cuMemAlloc_v2(ctypes.byref(memory), 64 << 20) == 0
query = ['nvidia-smi', '--query-compute-apps=pid,used_memory', '--format=csv,noheader,nounits', '-i', '1']
lines = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
used = [int(line.split(', ')[1]) for line in lines if line.startswith(f'{os.getpid()}, ')]
assert len(used) == 1 and 64 <= used[0] < 72, lines
";
    let mut command = warploom();
    command.args(["run", "--devices", "2", "--", "/usr/bin/python3", "-c", USES]);
    assert_eq!(printed(&mut command), (Some(0), String::new(), String::new()));
    assert!(Path::new("/proc/self/fd").exists(), "the host has what this relies on");
}
