//! How long it takes to compile kernels of 200 to 20,000 instructions, and to load what was compiled before: `cargo bench -p warploom-jit --bench compile`.

#[path = "../tests/device/mod.rs"]
mod device;

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use device::Device;
use warploom_interp::Processor;
use warploom_jit::{Cache, CacheSettings, Made, Mode, Options as Jit, Origin, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, load};

/// A kernel of about so many instructions: loads, arithmetic, a branch that lanes take apart, and a store for every forty.
fn text(instructions: usize) -> String {
    let mut out = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
         .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<9>; .reg .pred %p<4>;\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n"
        .to_owned();
    for group in 0..instructions / 40 {
        let _ = write!(
            out,
            "ld.global.f32 %f1, [%rd3+{}]; ld.global.u32 %r2, [%rd3+{}];\nsetp.gt.u32 %p1, %r2, {group}; @%p1 bra skip{group};\n",
            group % 64 * 4,
            group % 32 * 8
        );
        for at in 0..16 {
            let _ = writeln!(out, "fma.rn.f32 %f{}, %f{}, %f1, %f{};", 2 + at, 2 + (at + 1) % 16, 2 + at);
        }
        let _ = writeln!(out, "skip{group}:");
        for at in 0..16 {
            let _ = writeln!(out, "mad.lo.s32 %r{}, %r{}, %r2, %r{};", 3 + at, 3 + (at + 1) % 16, 3 + at);
        }
        let _ = writeln!(
            out,
            "st.global.f32 [%rd3+{}], %f{}; st.global.u32 [%rd3+{}], %r{};",
            group % 64 * 4,
            2 + group % 16,
            group % 32 * 8,
            3 + group % 16
        );
    }
    out + "ret;\n}\n"
}

/// Runs it once, and says what has become of it and how long that took.
fn made(text: &str, cache: Option<Arc<Cache>>) -> (Origin, Duration) {
    let device = Device::new();
    let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
    let data = device.buffer(&[0; 1024]);
    let found = Arc::new(Mutex::new(None));
    let report = {
        let found = found.clone();
        Arc::new(move |made: &Made<'_>| {
            *found.lock().expect("whole") = Some((made.code.map_err(str::to_owned), made.took))
        })
    };
    let jit =
        Jit { mode: Mode::Always, target: Target::Host, cache, dump: None, style: warploom_jit::Style::Chosen, report };
    let interpreted = warploom_interp::load(&module, FunctionId(0), &|_| true, Processor::V4).expect("covered");
    let kernel = tiered(jit, &module, FunctionId(0), interpreted);
    device.run(&module, kernel, [1, 1, 1], [128, 1, 1], &[&data.to_le_bytes()]);
    let (code, took) = found.lock().expect("whole").take().expect("reported");
    (code.expect("compiled"), took)
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = CacheSettings { folder: folder.path().to_owned(), limit: 1 << 30 };
    let cache = || Some(Arc::new(Cache::new(settings.clone(), |what| panic!("{what}"))));
    // The first opens LLVM.
    let (_, first) = made(&text(40), None);
    println!("first kernel, opening LLVM: {:.1} ms", first.as_secs_f64() * 1e3);
    println!("{:>14} {:>14} {:>14}", "instructions", "compiled, ms", "loaded, ms");
    for instructions in [200, 600, 2000, 6000, 20_000] {
        let text = text(instructions);
        let rounds = if instructions > 2000 { 1 } else { 5 };
        let best = |cache: &dyn Fn() -> Option<Arc<Cache>>, origin| {
            let times = (0..rounds).map(|_| made(&text, cache())).inspect(|(from, _)| assert_eq!(*from, origin));
            times.map(|(_, took)| took).min().expect("rounds").as_secs_f64() * 1e3
        };
        let compiled = best(&|| None, Origin::Compiler);
        made(&text, cache());
        let loaded = best(&cache, Origin::Cache);
        println!("{instructions:>14} {compiled:>14.1} {loaded:>14.2}");
    }
}
