//! What the choice of executors costs and gains: `cargo bench -p warploom-jit --bench tiers`. Ratios of minima of interleaved rounds.
//!
//! A program of 100 small kernels that run once each should not notice that there is a compiler (1.1 at most); a large grid should take as long as one for
//! which code is there, and what compiling takes (1.1 at most), whether its size can be seen before it runs or not.

#[path = "../tests/device/mod.rs"]
mod device;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use device::Device;
use warploom_interp::Processor;
use warploom_jit::{Made, Mode, Options as Jit, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, load};

/// A kernel whose threads each make `trips` trips through a loop; `number` makes it differ from others.
fn text(number: u32, trips: u32) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k{number}(.param .u64 out)\n{{\n\
         .reg .b32 %r<9>; .reg .f32 %f<4>; .reg .b64 %rd<9>; .reg .pred %p<2>;\n\
         ld.param.u64 %rd1, [out];\n\
         mov.u32 %r1, %ctaid.x; and.b32 %r1, %r1, 1023; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n\
         mad.lo.u32 %r4, %r1, %r2, %r3; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;\n\
         mov.u32 %r5, 0; cvt.rn.f32.u32 %f1, %r4; mov.f32 %f2, 0f3f000000;\n\
         again: fma.rn.f32 %f1, %f1, %f2, 0f3f{number:06x}; add.u32 %r5, %r5, 1;\n\
         setp.lt.u32 %p1, %r5, {trips}; @%p1 bra again;\n\
         st.global.f32 [%rd3], %f1;\nret;\n}}\n"
    )
}

struct Bench {
    device: Device,
    out: u64,
}

impl Bench {
    /// From the text of a kernel to the end of its only launch, and what of that was compiling.
    fn run(&self, text: &str, mode: Mode, ctas: u32) -> (Duration, Duration) {
        let start = Instant::now();
        let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
        let compiling = Arc::new(Mutex::new(Duration::ZERO));
        let report = {
            let compiling = compiling.clone();
            Arc::new(move |made: &Made<'_>| *compiling.lock().expect("whole") = made.took)
        };
        let jit =
            Jit { mode, target: Target::Host, cache: None, dump: None, style: warploom_jit::Style::Chosen, report };
        let interpreted = warploom_interp::load(&module, FunctionId(0), &|_| true, Processor::V4).expect("covered");
        let kernel = tiered(jit, &module, FunctionId(0), interpreted);
        self.device.run(&module, kernel, [ctas, 1, 1], [128, 1, 1], &[&self.out.to_le_bytes()]);
        let compiling = *compiling.lock().expect("whole");
        (start.elapsed(), compiling)
    }
}

fn main() {
    let device = Device::new();
    let out = device.buffer(&vec![0; 128 * 1024]);
    let bench = Bench { device, out };
    // Opens LLVM.
    bench.run(&text(0, 1), Mode::Always, 1);

    let kernels: Vec<String> = (0..100).map(|number| text(number, 10 + number)).collect();
    let all = |mode| kernels.iter().map(|text| bench.run(text, mode, 4).0).sum::<Duration>();
    let mut least = [Duration::MAX; 2];
    for _ in 0..10 {
        for (least, mode) in least.iter_mut().zip([Mode::Off, Mode::Auto]) {
            *least = all(mode).min(*least);
        }
    }
    let [off, auto] = least.map(|time| time.as_secs_f64());
    println!("100 kernels once each: off {:.2} ms, auto {:.2} ms: {:.2}", off * 1e3, auto * 1e3, auto / off);

    for (what, trips, ctas) in [("seen at sight", 16, 400_000), ("with long loops", 20_000, 2000)] {
        let text = text(7, trips);
        // Of the grid alone, with code, and with compiling; and what becomes of it on its own.
        let mut least = [f64::MAX; 3];
        for _ in 0..3 {
            let (off, _) = bench.run(&text, Mode::Off, ctas);
            let (always, compiling) = bench.run(&text, Mode::Always, ctas);
            let (auto, _) = bench.run(&text, Mode::Auto, ctas);
            let wanted = 1.1 * (always - compiling).as_secs_f64() + compiling.as_secs_f64();
            for (least, time) in least.iter_mut().zip([off.as_secs_f64(), wanted, auto.as_secs_f64()]) {
                *least = time.min(*least);
            }
        }
        let [off, wanted, auto] = least.map(|time| time * 1e3);
        println!(
            "large grid, {what}: off {off:.0} ms, 1.1 always + compiling {wanted:.0} ms, auto {auto:.0} ms: {:.2}",
            auto / wanted
        );
    }
}
