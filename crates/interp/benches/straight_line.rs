//! Lane-instructions per second and core: executed instructions times active lanes.
#![allow(missing_docs, reason = "criterion_group! makes a public function")]

use std::fmt::Write;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warploom_interp_testing::{Device, Shape};

/// Trips of the loop in each thread.
const TRIPS: u64 = 2000;

/// A loop of 256 instructions `body(index)` on eight accumulators.
fn kernel(body: impl Fn(usize) -> String) -> String {
    let mut text = String::from(
        ".visible .entry kernel(.param .u64 out) { .reg .f32 %f<9>; .reg .f64 %g<9>; .reg .b32 %r<12>; .reg .b64 %d<12>; .reg .pred %p;
        ld.param.u64 %d9, [out]; mov.u32 %r8, %tid.x; cvt.u64.u32 %d10, %r8; shl.b64 %d10, %d10, 2; add.u64 %d9, %d9, %d10;\n",
    );
    for index in 0..8 {
        let _ =
            writeln!(text, "mov.f32 %f{index}, 0f3F800000; mov.u32 %r{index}, {index}; mov.u64 %d{index}, {index};");
    }
    text.push_str("mov.u32 %r9, 0; mov.f32 %f8, 0f3F000000;\nL:\n");
    for index in 0..256 {
        text.push_str(&body(index));
        text.push('\n');
    }
    let _ =
        write!(text, "add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, {TRIPS}; @%p bra L; st.global.f32 [%d9], %f0; ret; }}");
    text
}

fn straight_line(criterion: &mut Criterion) {
    let device = Device::with_threads(1);
    let out = device.alloc(1 << 16);
    let mut group = criterion.benchmark_group("straight_line");
    let at = |index: usize, step: usize| (index + step) % 8;
    let kernels: [(&str, String); 5] = [
        ("fma.rn.f32", kernel(|i| format!("fma.rn.f32 %f{}, %f{}, %f8, %f{};", i % 8, at(i, 1), at(i, 3)))),
        ("add.f32 mul.f32", kernel(|i| format!("{}.f32 %f{}, %f{}, %f8;", ["add", "mul"][i % 2], i % 8, at(i, 3)))),
        ("add.s32", kernel(|i| format!("add.s32 %r{}, %r{}, %r{};", i % 8, at(i, 1), at(i, 3)))),
        ("fma.rn.f64", kernel(|i| format!("fma.rn.f64 %g{}, %g{}, %g8, %g{};", i % 8, at(i, 1), at(i, 3)))),
        ("ld.global.f32", kernel(|i| format!("ld.global.f32 %f{}, [%d9];", i % 8))),
    ];
    for (name, ptx) in kernels {
        let kernel = device.kernel(&ptx).unwrap();
        group.throughput(Throughput::Elements(TRIPS * 259 * 32));
        group.bench_function(name, |bencher| {
            bencher.iter(|| device.launch(&kernel, Shape::new(1, 32), &[out]).unwrap());
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(1));
    targets = straight_line
}
criterion_main!(benches);
