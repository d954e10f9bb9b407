//! What a lookup costs, next to glibc's `dlsym` on the same library in the same process.
#![allow(missing_docs, reason = "criterion_group! makes a public function")]
use std::ffi::{CStr, c_char, c_int, c_void};
use std::hint::black_box;
use std::path::PathBuf;

use criterion::{Criterion, criterion_group, criterion_main};
use warploom_abi::{CUdriverProcAddressQueryResult, CUresult};
use warploom_entrypoint::Driver;

type GetProcAddress =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut CUdriverProcAddressQueryResult) -> CUresult;

fn library() -> PathBuf {
    let bench = std::env::current_exe().expect("a benchmark knows its executable");
    let mut candidates = bench.ancestors().skip(1).take(2).map(|folder| folder.join("libcuda.so"));
    candidates.find(|candidate| candidate.exists()).expect("cargo builds libcuda.so before its benchmarks")
}

fn lookups(criterion: &mut Criterion) {
    let library = library();
    let driver = Driver::open(&library).expect("our own library loads");
    let get = driver.symbol("cuGetProcAddress_v2").expect("it is exported").address();
    // SAFETY: the prototype is that of the manual.
    let get = unsafe { std::mem::transmute::<*const (), GetProcAddress>(get) };
    // SAFETY: the library is loaded already.
    let handle = unsafe { libloading::os::unix::Library::new(&library) }.expect("our own library loads").into_raw();
    let mut group = criterion.benchmark_group("lookup");
    let ask = |name: &CStr, version: c_int| {
        let mut address = std::ptr::null_mut();
        let mut status = CUdriverProcAddressQueryResult(0);
        // SAFETY: the name ends in NUL and the outputs are ours.
        unsafe { get(black_box(name.as_ptr()), &mut address, version, 0, &mut status) };
        black_box(address)
    };
    let found: [(&str, &CStr, c_int); 3] = [
        ("found", c"cuMemAlloc", 12_000),
        ("found, older version", c"cuMemAlloc", 2_000),
        ("found, long name", c"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 12_000),
    ];
    for (label, name, version) in found {
        assert!(!ask(name, version).is_null());
        group.bench_function(label, |bencher| bencher.iter(|| ask(name, version)));
    }
    let unknown: [(&str, &CStr); 2] = [("unknown", c"cuMemAllok"), ("unknown, symbol name", c"cuMemAlloc_v2")];
    for (label, name) in unknown {
        assert!(ask(name, 12_000).is_null());
        group.bench_function(label, |bencher| bencher.iter(|| ask(name, 12_000)));
    }
    for (label, name) in [("dlsym found", c"cuMemAlloc_v2"), ("dlsym unknown", c"cuMemAllok")] {
        // SAFETY: the handle is that of a loaded library and the name ends in NUL.
        group
            .bench_function(label, |bencher| bencher.iter(|| unsafe { libc::dlsym(handle, black_box(name.as_ptr())) }));
    }
    group.finish();
}

criterion_group!(benches, lookups);
criterion_main!(benches);
