//! How long it takes to compile kernels of 200 to 20,000 instructions, and to load what was compiled before: `cargo bench -p warploom-jit --bench compile`.

#[path = "../tests/device/mod.rs"]
mod device;
#[path = "../tests/length/mod.rs"]
mod length;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use device::Device;
use length::text;
use warploom_interp::Processor;
use warploom_jit::{Cache, CacheSettings, Made, Mode, Options as Jit, Origin, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, load};

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
