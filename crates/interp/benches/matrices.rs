//! Products of matrices: FLOP/s of one core, counted as two for each product of elements.
#![allow(missing_docs, reason = "criterion_group! makes a public function")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warploom_interp_testing::{Device, Shape};

/// Trips of the loop, of eight products each.
const TRIPS: u64 = 500;

/// A loop of products of type `ty` with `a`, `b` and `c` registers of fragments, all of them of `.b32` but for `c`, which is `.f32` or `.b32`.
fn kernel(instruction: &str, [a, b, c]: [usize; 3], c_ty: &str) -> String {
    let list = |name: &str, count: usize| {
        let registers: Vec<String> = (0..count).map(|index| format!("%{name}{index}")).collect();
        format!("{{{}}}", registers.join(", "))
    };
    let mut text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 out) {{ .reg .b32 %a<{a}>, %b<{b}>, %trip; .reg .{c_ty} %c<{c}>; .reg .b64 %d; .reg .pred %p;\n"
    );
    // Elements from a quarter to two, so that no sum is anything special.
    for (name, count) in [("a", a), ("b", b)] {
        for index in 0..count {
            text.push_str(&format!("mov.u32 %{name}{index}, %tid.x; and.b32 %{name}{index}, %{name}{index}, 0x00070003; or.b32 %{name}{index}, %{name}{index}, 0x38003c00;\n"));
        }
    }
    for index in 0..c {
        text.push_str(&format!("mov.b32 %c{index}, 0;\n"));
    }
    text.push_str("mov.u32 %trip, 0;\nL:\n");
    for _ in 0..8 {
        let (a, b, c) = (list("a", a), list("b", b), list("c", c));
        text.push_str(&format!("{instruction} {c}, {a}, {b}, {c};\n"));
    }
    text.push_str(&format!(
        "add.u32 %trip, %trip, 1; setp.lt.u32 %p, %trip, {TRIPS}; @%p bra L; ld.param.u64 %d, [out]; st.global.{c_ty} [%d], %c0; ret; }}"
    ));
    text
}

fn matrices(criterion: &mut Criterion) {
    let device = Device::with_threads(1);
    let out = device.alloc(1 << 12);
    let mut group = criterion.benchmark_group("matrices");
    let kernels = [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", [4, 2, 4], "f32", 16 * 8 * 16),
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", [4, 2, 4], "f32", 16 * 8 * 16),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", [4, 2, 4], "f32", 16 * 8 * 8),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", [4, 2, 4], "f32", 16 * 8 * 32),
        ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", [4, 2, 4], "b32", 16 * 8 * 32),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", [8, 8, 8], "f32", 16 * 16 * 16),
    ];
    for (instruction, registers, c_ty, products) in kernels {
        let kernel = device.kernel(&kernel(instruction, registers, c_ty)).unwrap();
        group.throughput(Throughput::Elements(TRIPS * 8 * 2 * products));
        group.bench_function(instruction, |bencher| {
            bencher.iter(|| device.launch(&kernel, Shape::new(1, 32), &[out]).unwrap());
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(1));
    targets = matrices
}
criterion_main!(benches);
