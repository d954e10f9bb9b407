//! What warps cost besides the work of their lanes: to start, to meet at barriers, to go apart.
#![allow(missing_docs, reason = "criterion_group! makes a public function")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warploom_interp_testing::{Device, Shape};

/// CTAs of a launch, of eight warps each.
const CTAS: u32 = 64;
const WARPS: u64 = 8;
/// Trips of a loop.
const TRIPS: u64 = 100;

/// A kernel with `body` run so many times by each thread.
fn looped(body: &str) -> String {
    format!(
        ".visible .entry kernel(.param .u64 out) {{ .reg .b32 %r<8>; .reg .pred %p<3>; mov.u32 %r0, %tid.x; mov.u32 %r1, 0;
        L: {body} add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, {TRIPS}; @%p0 bra L; ret; }}"
    )
}

fn control_path(criterion: &mut Criterion) {
    let device = Device::with_threads(1);
    let out = device.alloc(1 << 16);
    let mut group = criterion.benchmark_group("control_path");
    let kernels: [(&str, u64, String); 3] = [
        ("warp start", 1, ".visible .entry kernel(.param .u64 out) { ret; }".to_owned()),
        ("barrier", TRIPS, looped("bar.sync 0;")),
        (
            "divergent branch",
            TRIPS,
            looped("and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra S; add.u32 %r3, %r3, 1; S:"),
        ),
    ];
    for (name, times, ptx) in kernels {
        let kernel = device.kernel(&ptx).unwrap();
        group.throughput(Throughput::Elements(u64::from(CTAS) * WARPS * times));
        group.bench_function(name, |bencher| {
            bencher.iter(|| device.launch(&kernel, Shape::new(CTAS, 32 * WARPS as u32), &[out]).unwrap());
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(1));
    targets = control_path
}
criterion_main!(benches);
