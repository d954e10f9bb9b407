//! What instructions on matrices cost in compiled code: products beside the fused multiply-adds of the same processor, and what brings their factors
//! into registers and out again beside the interpreter: `cargo bench -p warploom-jit --bench matrices`.
//!
//! All are loops of one warp, or of a warpgroup, on one core, taken in turns; the best of several rounds counts, of each.

#[path = "../tests/device/mod.rs"]
mod device;

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use device::Device;
use warploom_exec::kernel::LoadedKernel;
use warploom_exec::pool::PoolOptions;
use warploom_interp::Processor;
use warploom_jit::{Made, Mode, Options as Jit, Origin, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, VerifiedModule, load};

/// Trips of a loop, and rounds.
const TRIPS: u32 = 40_000;
const ROUNDS: u32 = 15;

/// A loop around some text, whose registers `%f0` to `%f31` begin with the lane's number, and `%r0` to `%r7`, and shared memory, with pairs of halves from a half to two.
fn text(body: &str) -> String {
    let mut out = ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
         .reg .b32 %r<8>, %trip, %own; .reg .f32 %f<32>; .reg .f64 %g<18>; .reg .b64 %d, %a, %b; .reg .pred %p; .shared .align 128 .b8 tile[4096];\n\
         ld.param.u64 %d, [out]; mov.u32 %own, tile; mov.u32 %trip, %tid.x; mad.lo.u32 %own, %trip, 16, %own;\n"
        .to_owned();
    for at in 0..8 {
        let _ = writeln!(
            out,
            "mov.u32 %r{at}, %tid.x; mul.lo.u32 %r{at}, %r{at}, {}; and.b32 %r{at}, %r{at}, 0x87ff87ff; or.b32 %r{at}, %r{at}, 0x38003800;",
            0x9e37_79b9u32.wrapping_mul(at + 1)
        );
    }
    out += "st.shared.v4.b32 [%own], {%r0, %r1, %r2, %r3}; st.shared.v4.b32 [%own+2048], {%r4, %r5, %r6, %r7}; bar.sync 0;\n";
    // Descriptors: units of 8 rows follow each other, two of them for each eight rows.
    out += "mov.u32 %trip, tile; shr.u32 %trip, %trip, 4; cvt.u64.u32 %a, %trip; or.b64 %a, %a, 0x1000080000; add.u64 %b, %a, 128;\n";
    for at in 0..32 {
        let _ = writeln!(out, "cvt.rn.f32.u32 %f{at}, %r7;");
    }
    for at in 0..18 {
        let _ = writeln!(out, "cvt.f64.f32 %g{at}, %f{at};");
    }
    out += "mov.u32 %trip, 0;\nL:\n";
    out += body;
    let _ = writeln!(out, "add.u32 %trip, %trip, 1; setp.lt.u32 %p, %trip, {TRIPS}; @%p bra L;");
    for at in 0..32 {
        let _ = writeln!(out, "st.global.f32 [%d+{}], %f{at};", 4 * at);
    }
    for at in 0..18 {
        let _ = writeln!(out, "st.global.f64 [%d+{}], %g{at};", 128 + 8 * at);
    }
    out + "ret;\n}\n"
}

struct Kernel {
    name: &'static str,
    threads: u32,
    /// What a launch does: floating-point operations, or instructions.
    work: f64,
    module: Arc<VerifiedModule>,
    loaded: Arc<dyn LoadedKernel>,
    best: Duration,
}

fn kernel(name: &'static str, body: &str, operations: u64, mode: Mode) -> Kernel {
    let module = Arc::new(load(text(body).as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
    let compiled = mode == Mode::Always;
    let report = Arc::new(move |made: &Made<'_>| {
        assert!(!compiled || made.code == Ok(Origin::Compiler), "{}: {:?}", made.kernel, made.code);
    });
    let jit = Jit { mode, target: Target::Host, cache: None, dump: None, style: warploom_jit::Style::Chosen, report };
    let interpreted = warploom_interp::load(&module, FunctionId(0), &|_| true, Processor::V4).expect("covered");
    let loaded = tiered(jit, &module, FunctionId(0), interpreted);
    let threads = if body.contains("wgmma") { 128 } else { 32 };
    Kernel { name, threads, work: (u64::from(TRIPS) * operations) as f64, module, loaded, best: Duration::MAX }
}

/// Eight products, each with sums of its own.
fn products(instruction: &str) -> String {
    let product = |at: usize| {
        let sums: Vec<String> = (0..4).map(|sum| format!("%f{}", 4 * at + sum)).collect();
        let sums = sums.join(", ");
        format!("{instruction} {{{sums}}}, {{%r0, %r1, %r2, %r3}}, {{%r4, %r5}}, {{{sums}}};\n")
    };
    (0..8).map(product).collect()
}

/// The same of doubles, of which each has two sums.
fn products_of_doubles() -> String {
    let product = |at: usize| {
        let sums = format!("%g{}, %g{}", 2 * at, 2 * at + 1);
        format!("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{sums}}}, {{%g16}}, {{%g17}}, {{{sums}}};\n")
    };
    (0..8).map(product).collect()
}

/// A product of a warpgroup.
fn product_of_a_warpgroup() -> String {
    let sums: Vec<String> = (0..32).map(|sum| format!("%f{sum}")).collect();
    format!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{}}}, %a, %b, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n",
        sums.join(", ")
    )
}

/// What moves matrices, four times each.
const MOVES: [(&str, &str); 9] = [
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%own];"),
    ("ldmatrix.trans", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r0, %r1, %r2, %r3}, [%own];"),
    ("stmatrix", "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%own], {%r0, %r1, %r2, %r3};"),
    (
        "wmma.load",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [tile], 24;",
    ),
    (
        "wmma.load, global",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%d], 24;",
    ),
    ("wmma.load, f64", "wmma.load.a.sync.aligned.row.m8n8k4.shared.f64 {%g16}, [tile], 24;"),
    (
        "wmma.store",
        "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, 20;",
    ),
    (
        "wmma.store, global",
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, 20;",
    ),
    (
        "cp.async",
        "{.reg .b64 %from; cvt.u64.u32 %from, %own; add.u64 %from, %from, %d; cp.async.cg.shared.global [%own], [%from], 16;}",
    ),
];

fn main() {
    let device = Device::with_pool(PoolOptions { threads: 1, ..PoolOptions::default() });
    let out = device.buffer(&[0; 1024]);
    products_beside_fma(&device, out);
    println!("{:>20} {:>10} {:>12}", "ns each", "compiled", "interpreter");
    for (name, instruction) in MOVES {
        let body = format!("{instruction}\n").repeat(4);
        let mut both = [Mode::Always, Mode::Off].map(|mode| kernel(name, &body, 4, mode));
        rounds(&device, out, &mut both);
        let [compiled, interpreter] = both.map(|kernel| kernel.best.as_secs_f64() / kernel.work * 1e9);
        println!("{name:>20} {compiled:>10.1} {interpreter:>12.1}");
    }
}

fn products_beside_fma(device: &Device, out: u64) {
    let adds: String = (0..32).map(|at| format!("fma.rn.f32 %f{at}, %f{at}, 0f3F7FF972, 0f3A83126F;\n")).collect();
    let mut kernels = [
        kernel("fma.rn.f32", &adds, 32 * 32 * 2, Mode::Always),
        kernel(
            "f16",
            &products("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
            8 * 2 * 16 * 8 * 16,
            Mode::Always,
        ),
        kernel(
            "bf16",
            &products("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
            8 * 2 * 16 * 8 * 16,
            Mode::Always,
        ),
        kernel(
            "tf32",
            &products("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
            8 * 2 * 16 * 8 * 8,
            Mode::Always,
        ),
        kernel(
            "e4m3",
            &products("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
            8 * 2 * 16 * 8 * 32,
            Mode::Always,
        ),
        kernel("f64", &products_of_doubles(), 8 * 2 * 8 * 8 * 4, Mode::Always),
        kernel("wgmma, f16", &product_of_a_warpgroup(), 2 * 64 * 64 * 16, Mode::Always),
    ];
    rounds(device, out, &mut kernels);
    let speed = |kernel: &Kernel| kernel.work / kernel.best.as_secs_f64() / 1e9;
    let peak = speed(&kernels[0]);
    println!("{:>12} {:>10} {:>10}", "", "GFLOP/s", "of FMA");
    for kernel in &kernels {
        println!("{:>12} {:>10.1} {:>10.3}", kernel.name, speed(kernel), speed(kernel) / peak);
    }
}

fn rounds(device: &Device, out: u64, kernels: &mut [Kernel]) {
    for round in 0..=ROUNDS {
        for kernel in &mut *kernels {
            let start = Instant::now();
            device.run(&kernel.module, kernel.loaded.clone(), [1, 1, 1], [kernel.threads, 1, 1], &[&out.to_le_bytes()]);
            assert!(device.engine.fault().is_none(), "{}: {:?}", kernel.name, device.engine.fault());
            // The first round compiles.
            if round > 0 {
                kernel.best = kernel.best.min(start.elapsed());
            }
        }
    }
}
