//! What the runtime costs over the driver: launches, small allocations, and the start of a process.
//!
//! Both sides of a comparison are measured in turn, many times; the median of the differences counts. The libraries are those beside
//! the benchmark's folder, which `make release` builds.
#![allow(missing_docs, reason = "a program has no interface")]
use std::ffi::{CString, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use warploom_abi::runtime::dim3;

const KERNEL: &str = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry empty() { ret; }\n";

type Launch = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    *mut c_void,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;
type RuntimeLaunch = unsafe extern "C" fn(*const c_void, dim3, dim3, *mut *mut c_void, usize, *mut c_void) -> c_int;
type LoadLibrary = unsafe extern "C" fn(
    *mut *mut c_void,
    *const c_void,
    *mut c_void,
    *mut c_void,
    c_uint,
    *mut c_void,
    *mut c_void,
    c_uint,
) -> c_int;
type RegisterFunction = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    *const c_void,
    *const c_void,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
);

/// Where the libraries are.
fn folder() -> PathBuf {
    let bench = std::env::current_exe().expect("a benchmark knows its executable");
    let mut folders = bench.ancestors().skip(1).take(2);
    folders
        .find(|folder| folder.join("libcudart.so.13").exists())
        .expect("`make release` builds the libraries")
        .to_owned()
}

fn open(path: &Path) -> Library {
    // SAFETY: our own libraries run no code that asks for more when they are loaded.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.unwrap_or_else(|error| panic!("{error}"))
}

/// A function of a library, whose type the caller knows from the manual.
fn function<T: Copy>(library: &Library, name: &str) -> T {
    // SAFETY: every use names the type of the prototype.
    unsafe { *library.get::<T>(name.as_bytes()).unwrap_or_else(|error| panic!("{error}")) }
}

fn done(answer: c_int) {
    assert_eq!(answer, 0);
}

/// What `ours` costs over `theirs` in microseconds: the median over many rounds of both in turn; and their own medians.
fn compare(name: &str, limit: f64, mut theirs: impl FnMut(), mut ours: impl FnMut()) {
    const ROUNDS: usize = 301;
    const CALLS: u32 = 200;
    let timed = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| work());
        start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
    };
    let rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (timed(&mut theirs), timed(&mut ours))).collect();
    let median = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[ROUNDS / 2]
    };
    println!(
        "{name:<46} driver {:7.3} us, runtime {:7.3} us, over {:6.3} us (at most {limit})",
        median(&|round| round.0),
        median(&|round| round.1),
        median(&|round| round.1 - round.0),
    );
}

/// A fat binary with one PTX text, and the structure that points to it.
fn registered(runtime: &Library, stand_in: *const c_void) {
    let mut text = KERNEL.as_bytes().to_vec();
    text.resize((text.len() + 1).next_multiple_of(8), 0);
    let mut binary = Vec::new();
    binary.extend(0xba55_ed50u32.to_le_bytes());
    binary.extend([1, 0, 16, 0]);
    binary.extend((64 + text.len() as u64).to_le_bytes());
    let mut entry = [0u8; 64];
    entry[0] = 1;
    entry[4] = 64;
    entry[8..16].copy_from_slice(&(text.len() as u64).to_le_bytes());
    entry[26] = 7;
    entry[28] = 50;
    entry[40] = 1;
    binary.extend(entry);
    binary.extend(text);
    let binary = Vec::leak(binary).as_ptr().expose_provenance() as u64;
    let wrapper = Box::leak(Box::new([0x0000_0001_4662_43b1, binary, 0]));
    let register: unsafe extern "C" fn(*mut c_void) -> *mut c_void = function(runtime, "__cudaRegisterFatBinary");
    let kernel: RegisterFunction = function(runtime, "__cudaRegisterFunction");
    let end: unsafe extern "C" fn(*mut c_void) = function(runtime, "__cudaRegisterFatBinaryEnd");
    let name = c"empty".as_ptr().cast();
    // SAFETY: what is registered stays for as long as the process does.
    unsafe {
        let handle = register(wrapper.as_mut_ptr().cast());
        kernel(handle, stand_in, name, name, -1, null_mut(), null_mut(), null_mut(), null_mut(), null_mut());
        end(handle);
    }
}

fn calls(folder: &Path) {
    let (driver, runtime) = (open(&folder.join("libcuda.so")), open(&folder.join("libcudart13.so")));
    static STAND_IN: u8 = 0;
    let stand_in = (&raw const STAND_IN).cast::<c_void>();
    registered(&runtime, stand_in);
    let free: unsafe extern "C" fn(*mut c_void) -> c_int = function(&runtime, "cudaFree");
    // SAFETY: NULL is freed by doing nothing, but for making the primary context current.
    done(unsafe { free(null_mut()) });
    let load: LoadLibrary = function(&driver, "cuLibraryLoadData");
    let kernel: unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_void) -> c_int =
        function(&driver, "cuLibraryGetKernel");
    let to_function: unsafe extern "C" fn(*mut *mut c_void, *mut c_void) -> c_int =
        function(&driver, "cuKernelGetFunction");
    let text = CString::new(KERNEL).expect("no NUL in it");
    let (mut library, mut handle, mut of_driver) = (null_mut(), null_mut(), null_mut());
    // SAFETY: the outputs are ours, the text ends in NUL.
    unsafe {
        done(load(&mut library, text.as_ptr().cast(), null_mut(), null_mut(), 0, null_mut(), null_mut(), 0));
        done(kernel(&mut handle, library, c"empty".as_ptr().cast()));
        done(to_function(&mut of_driver, handle));
    }
    let launch: Launch = function(&driver, "cuLaunchKernel");
    let runtime_launch: RuntimeLaunch = function(&runtime, "cudaLaunchKernel");
    let wait: unsafe extern "C" fn(*mut c_void) -> c_int = function(&driver, "cuStreamSynchronize");
    let one = dim3 { x: 1, y: 1, z: 1 };
    // SAFETY: an empty kernel without parameters.
    let driver_launch = || unsafe {
        done(launch(of_driver, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut()));
    };
    // SAFETY: as above.
    let our_launch = || unsafe { done(runtime_launch(stand_in, one, one, null_mut(), 0, null_mut())) };
    // SAFETY: the default stream.
    let synchronize = || unsafe { done(wait(null_mut())) };
    compare("launch and wait", 0.2, || (driver_launch(), synchronize()).0, || (our_launch(), synchronize()).0);
    let allocate: unsafe extern "C" fn(*mut u64, usize) -> c_int = function(&driver, "cuMemAlloc_v2");
    let release: unsafe extern "C" fn(u64) -> c_int = function(&driver, "cuMemFree_v2");
    let runtime_allocate: unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int = function(&runtime, "cudaMalloc");
    let driver_memory = || {
        let mut address = 0;
        // SAFETY: the output is ours; what was allocated is freed.
        unsafe {
            done(allocate(&mut address, 1024));
            done(release(address));
        }
    };
    let our_memory = || {
        let mut address = null_mut();
        // SAFETY: as above.
        unsafe {
            done(runtime_allocate(&mut address, 1024));
            done(free(address));
        }
    };
    compare("allocate and free 1 KiB (each at most 0.3)", 0.3, driver_memory, our_memory);
}

/// From the start of a process to its end, which comes right after its first result: the median in milliseconds.
fn start(name: &str, program: &Path, libraries: &Path) {
    const RUNS: usize = 41;
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let output = Command::new(program).env("LD_LIBRARY_PATH", libraries).output().expect("the program starts");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            start.elapsed()
        })
        .collect();
    times.sort();
    let milliseconds = |at: usize| times[at].as_secs_f64() * 1e3;
    println!("{name:<46} median {:6.2} ms, least {:6.2} ms (at most 10)", milliseconds(RUNS / 2), milliseconds(0));
}

/// Builds `tests/c/runtime/vector_add.c` with a runtime library.
fn vector_add(folder: &Path, name: &str, runtime: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = folder.join(name);
    let mut command = Command::new("cc");
    command.arg("-O2").arg("-I").arg(root.join("include")).arg(root.join("tests/c/runtime/vector_add.c"));
    command.arg(runtime).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
    assert!(command.status().expect("the compiler starts").success());
    program
}

fn starts(folder: &Path) {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let shared = vector_add(scratch, "start_shared", &folder.join("libcudart.so.13"));
    start("process of a vector addition, shared", &shared, folder);
    let archive = folder.join("13/libcudart_static.a");
    let linked = vector_add(scratch, "start_static", &archive);
    start("process of a vector addition, static", &linked, folder);
    // What a process costs that does nothing.
    start("process of `true`", Path::new("/bin/true"), folder);
}

fn main() {
    let folder = folder();
    calls(&folder);
    starts(&folder);
}
