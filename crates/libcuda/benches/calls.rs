//! What the cheapest calls cost: the border, and the calling thread's context.
#![allow(missing_docs, reason = "criterion_group! makes a public function")]
use std::ffi::c_int;
use std::path::PathBuf;

use criterion::{Criterion, criterion_group, criterion_main};
use warploom_abi::{CUcontext, CUdevice_attribute, CUresult};
use warploom_entrypoint::{Driver, entry};

fn library() -> PathBuf {
    let bench = std::env::current_exe().expect("a benchmark knows its executable");
    let mut candidates = bench.ancestors().skip(1).take(2).map(|folder| folder.join("libcuda.so"));
    candidates.find(|candidate| candidate.exists()).expect("cargo builds libcuda.so before its benchmarks")
}

fn calls(criterion: &mut Criterion) {
    const THERE: &str = "the driver has it";
    let driver = Driver::open(library()).expect("our own library loads");
    driver.init().expect("there is a device");
    let create = driver.get::<entry::cuCtxCreate_v3020>().expect(THERE);
    let current = driver.get::<entry::cuCtxGetCurrent_v4000>().expect(THERE);
    let attribute = driver.get::<entry::cuDeviceGetAttribute_v2000>().expect(THERE);
    let mut context = CUcontext::NULL;
    // SAFETY: the output is ours.
    assert_eq!(unsafe { create(&mut context, 0, 0) }, CUresult::CUDA_SUCCESS);
    let mut group = criterion.benchmark_group("call");
    group.bench_function("cuCtxGetCurrent", |bencher| {
        bencher.iter(|| {
            let mut context = CUcontext::NULL;
            // SAFETY: the output is ours.
            unsafe { current(&mut context) };
            context
        });
    });
    group.bench_function("cuDeviceGetAttribute", |bencher| {
        bencher.iter(|| {
            let mut value: c_int = 0;
            let warp_size = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE;
            // SAFETY: the output is ours.
            unsafe { attribute(&mut value, warp_size, 0) };
            value
        });
    });
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
