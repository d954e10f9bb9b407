//! What products of matrices cost in compiled code, beside the fused multiply-adds of the same processor: `cargo bench -p warploom-jit --bench matrices`.
//!
//! Both are loops of one warp on one core, taken in turns; the best of several rounds counts, of each.

#[path = "../tests/device/mod.rs"]
mod device;

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use device::{Device, Nobody};
use warploom_exec::kernel::LoadedKernel;
use warploom_exec::pool::PoolOptions;
use warploom_jit::{Made, Mode, Options as Jit, Origin, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, VerifiedModule, load};

/// Trips of a loop, and rounds.
const TRIPS: u32 = 40_000;
const ROUNDS: u32 = 15;

/// A loop around some text, whose registers `%f0` to `%f31` begin with the lane's number, and `%r0` to `%r7` with pairs of halves from a quarter to two.
fn text(body: &str) -> String {
    let mut out = ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
         .reg .b32 %r<8>, %trip; .reg .f32 %f<32>; .reg .b64 %d; .reg .pred %p;\n"
        .to_owned();
    for at in 0..8 {
        let _ = writeln!(
            out,
            "mov.u32 %r{at}, %tid.x; mul.lo.u32 %r{at}, %r{at}, {}; and.b32 %r{at}, %r{at}, 0x87ff87ff; or.b32 %r{at}, %r{at}, 0x38003800;",
            0x9e37_79b9u32.wrapping_mul(at + 1)
        );
    }
    for at in 0..32 {
        let _ = writeln!(out, "cvt.rn.f32.u32 %f{at}, %r7;");
    }
    out += "mov.u32 %trip, 0;\nL:\n";
    out += body;
    let _ =
        writeln!(out, "add.u32 %trip, %trip, 1; setp.lt.u32 %p, %trip, {TRIPS}; @%p bra L; ld.param.u64 %d, [out];");
    for at in 0..32 {
        let _ = writeln!(out, "st.global.f32 [%d+{}], %f{at};", 4 * at);
    }
    out + "ret;\n}\n"
}

struct Kernel {
    name: &'static str,
    /// Floating-point operations of a launch.
    work: f64,
    module: Arc<VerifiedModule>,
    loaded: Arc<dyn LoadedKernel>,
    best: Duration,
}

fn kernel(name: &'static str, body: &str, operations: u64) -> Kernel {
    let module = Arc::new(load(text(body).as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
    let report = Arc::new(|made: &Made<'_>| assert_eq!(made.code, Ok(Origin::Compiler), "{}", made.kernel));
    let jit = Jit {
        mode: Mode::Always,
        target: Target::Host,
        cache: None,
        dump: None,
        style: warploom_jit::Style::Chosen,
        report,
    };
    let loaded = tiered(jit, &module, FunctionId(0), Arc::new(Nobody));
    Kernel { name, work: (u64::from(TRIPS) * operations) as f64, module, loaded, best: Duration::MAX }
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

fn main() {
    let device = Device::with_pool(PoolOptions { threads: 1, ..PoolOptions::default() });
    let out = device.buffer(&[0; 64]);
    let adds: String = (0..32).map(|at| format!("fma.rn.f32 %f{at}, %f{at}, 0f3F7FF972, 0f3A83126F;\n")).collect();
    let mut kernels = [
        kernel("fma.rn.f32", &adds, 32 * 32 * 2),
        kernel("f16", &products("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), 8 * 2 * 16 * 8 * 16),
        kernel("bf16", &products("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), 8 * 2 * 16 * 8 * 16),
        kernel("tf32", &products("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"), 8 * 2 * 16 * 8 * 8),
    ];
    for round in 0..=ROUNDS {
        for kernel in &mut kernels {
            let start = Instant::now();
            device.run(&kernel.module, kernel.loaded.clone(), [1, 1, 1], [32, 1, 1], &[&out.to_le_bytes()]);
            // The first round compiles.
            if round > 0 {
                kernel.best = kernel.best.min(start.elapsed());
            }
        }
    }
    let speed = |kernel: &Kernel| kernel.work / kernel.best.as_secs_f64() / 1e9;
    let peak = speed(&kernels[0]);
    println!("{:>12} {:>10} {:>10}", "", "GFLOP/s", "of FMA");
    for kernel in &kernels {
        println!("{:>12} {:>10.1} {:>10.3}", kernel.name, speed(kernel), speed(kernel) / peak);
    }
}
