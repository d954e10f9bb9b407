//! What checks cost: the kernels of `benches/suite`, interpreted with one worker and no check, and with each check and all of them, in turns in one
//! process. The table has the quotients of the best times that the process ran, and the bytes of shadow for a byte that a kernel touches.
//!
//!     cargo bench -p warploom-check --bench cost [-- KERNEL... CHECK...]
//!
//! The PTX is made by `benches/suite/tools/make_ptx.sh`; the sizes are those of the suite's `--quick`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use warploom_check::{Check, Checker, Settings};
use warploom_exec::memory::{AllocationInfo, MemoryKind};
use warploom_exec::observe::{Bytes, HostEvent, Observer, StreamPlace};
use warploom_exec::pool::PoolOptions;
use warploom_interp_testing::{Device, Shape};

/// Rounds of a kernel, and the time after which no further one begins.
const ROUNDS: usize = 9;
const PATIENCE: Duration = Duration::from_secs(8);

/// A parameter of a kernel.
#[derive(Clone, Copy)]
enum Value {
    Buffer(usize),
    Int(u32),
    Float(f32),
}
use Value::{Buffer, Float, Int};

/// What a buffer of words holds.
#[derive(Clone, Copy)]
enum Words {
    Zero,
    /// Floats from the first to the second.
    Floats(f32, f32),
    /// Numbers below.
    Below(u32),
    /// Where rows of up to 31 begin.
    Rows,
}

struct Launch {
    kernel: &'static str,
    grid: [u32; 2],
    cta: [u32; 2],
    dynamic_shared: u32,
    values: Vec<Value>,
}

struct Case {
    file: &'static str,
    buffers: Vec<(usize, Words)>,
    launches: Vec<Launch>,
}

impl Case {
    fn new(kernel: &'static str, buffers: &[(usize, Words)], grid: [u32; 2], cta: [u32; 2], values: &[Value]) -> Case {
        Case { file: kernel, buffers: buffers.to_vec(), launches: Vec::new() }.then(kernel, grid, cta, 0, values)
    }

    fn then(
        mut self,
        kernel: &'static str,
        grid: [u32; 2],
        cta: [u32; 2],
        dynamic_shared: u32,
        values: &[Value],
    ) -> Case {
        self.launches.push(Launch { kernel, grid, cta, dynamic_shared, values: values.to_vec() });
        self
    }
}

fn cases() -> Vec<Case> {
    use Words::{Below, Floats, Rows, Zero};
    let unit = Floats(-1.0, 1.0);
    let line = |threads: u32, cta: u32| ([threads.div_ceil(cta), 1], [cta, 1]);
    let mut all = Vec::new();

    let n = 1_000_001;
    let (grid, cta) = line(n, 256);
    let three = [(n as usize, unit), (n as usize, unit), (n as usize, Zero)];
    all.push(Case::new("vecadd", &three, grid, cta, &[Buffer(0), Buffer(1), Buffer(2), Int(n)]));
    let saxpy = [Int(n), Float(1.0 / 1024.0), Buffer(0), Buffer(1)];
    all.push(Case::new("saxpy", &three[..2], [1024, 1], [256, 1], &saxpy));

    let (m, n, k) = (150u32, 166u32, 130);
    let matrices = |m: u32, n: u32, k: u32| [(m * k, unit), (k * n, unit), (m * n, Zero)].map(|(n, w)| (n as usize, w));
    let (grid, cta) = ([n.div_ceil(16), m.div_ceil(16)], [16, 16]);
    let naive = [Int(m), Int(n), Int(k), Float(1.5), Buffer(0), Buffer(1), Float(0.5), Buffer(2)];
    all.push(Case::new("sgemm_naive", &matrices(m, n, k), grid, cta, &naive));
    let tiled = |m, n, k| [Int(m), Int(n), Int(k), Buffer(0), Buffer(1), Buffer(2)];
    all.push(Case::new("sgemm_tiled16", &matrices(m, n, k), grid, cta, &tiled(m, n, k)));
    let (m, n, k) = (160, 192, 128);
    all.push(Case::new("sgemm_tiled32x8", &matrices(m, n, k), [n / 32, m / 32], [32, 8], &tiled(m, n, k)));

    let (w, h) = (1056, 544);
    let plane = [((w * h) as usize, unit), ((w * h) as usize, Zero)];
    let transpose = [Buffer(0), Buffer(1), Int(w), Int(h)];
    all.push(Case::new("transpose_tiled", &plane, [w / 32, h / 32], [32, 8], &transpose));

    let n = 1_000_003;
    for (kernel, shared) in [("reduce_shared", 1024), ("reduce_shfl", 0)] {
        let buffers = vec![(n as usize, unit), (256, Zero), (1, Zero)];
        let case = Case { file: kernel, buffers, launches: Vec::new() };
        let case = case.then(kernel, [256, 1], [256, 1], shared, &[Buffer(0), Buffer(1), Int(n)]);
        all.push(case.then(kernel, [1, 1], [256, 1], shared, &[Buffer(1), Buffer(2), Int(256)]));
    }

    let n = 300_007;
    let ((grid, cta), blocks) = (line(n, 256), n.div_ceil(256));
    let buffers = [(n as usize, Below(64)), (n as usize, Zero), (blocks as usize, Zero)];
    let scan = Case::new("scan_block", &buffers, grid, cta, &[Buffer(0), Buffer(1), Buffer(2), Int(n)]);
    let scan = scan.then("scan_sums", [1, 1], [256, 1], 0, &[Buffer(2), Int(blocks)]);
    all.push(scan.then("scan_add", grid, cta, 0, &[Buffer(1), Buffer(2), Int(n)]));

    let (w, h) = (1001, 600);
    let plane = [((w * h) as usize, unit), ((w * h) as usize, Zero)];
    let stencil = [Buffer(0), Buffer(1), Int(w), Int(h), Float(0.5), Float(0.125)];
    all.push(Case::new("stencil2d", &plane, [w.div_ceil(32), h.div_ceil(8)], [32, 8], &stencil));
    let (w, h) = (500, 300);
    let plane = [(((w + 6) * (h + 6)) as usize, unit), ((w * h) as usize, Zero)];
    let conv = [Buffer(0), Buffer(1), Int(w), Int(h)];
    all.push(Case::new("conv2d_const", &plane, [w.div_ceil(16), h.div_ceil(16)], [16, 16], &conv));

    let n = 1024;
    let bodies = [(4 * n as usize, unit), (4 * n as usize, Zero)];
    all.push(Case::new("nbody", &bodies, [n / 128, 1], [128, 1], &[Buffer(0), Buffer(1), Int(n), Float(0.01)]));
    let (w, h) = (200, 120);
    let step = [Float(-2.2), Float(-1.2), Float(3.2 / 200.0), Float(2.4 / 120.0)];
    let values = [[Buffer(0), Int(w), Int(h)].as_slice(), &step, &[Int(256)]].concat();
    let grid = [w.div_ceil(16), h.div_ceil(16)];
    all.push(Case::new("mandelbrot", &[((w * h) as usize, Zero)], grid, [16, 16], &values));

    let n = 100_003;
    let (grid, cta) = line(n, 128);
    let [s, x, t] = [Floats(5.0, 30.0), Floats(1.0, 100.0), Floats(0.25, 10.0)];
    let buffers = [s, x, t, Zero, Zero].map(|words| (n as usize, words));
    let values = [Buffer(0), Buffer(1), Buffer(2), Buffer(3), Buffer(4), Float(0.02), Float(0.3), Int(n)];
    all.push(Case::new("blackscholes", &buffers, grid, cta, &values));

    let n = 400_001;
    let (grid, cta) = line(n, 256);
    let histogram = |bins| [(n as usize, Below(u32::MAX)), (bins, Zero)];
    let values = [Buffer(0), Buffer(1), Int(n)];
    all.push(Case::new("histogram_shared_atomics", &histogram(256), [64, 1], [256, 1], &values));
    all.push(Case::new("histogram_global_atomics", &histogram(4096), grid, cta, &values));

    let rows = 30_000;
    let (grid, cta) = line(rows, 128);
    let most = 31 * rows as usize;
    let buffers =
        [(rows as usize + 1, Rows), (most, Below(rows)), (most, unit), (rows as usize, unit), (rows as usize, Zero)];
    let values = [Int(rows), Buffer(0), Buffer(1), Buffer(2), Buffer(3), Buffer(4)];
    all.push(Case::new("spmv_csr_scalar", &buffers, grid, cta, &values));

    let (rows, cols) = (500u32, 1000);
    let plane = [((rows * cols) as usize, Floats(-8.0, 8.0)), ((rows * cols) as usize, Zero)];
    all.push(Case::new(
        "nn_softmax_row",
        &plane,
        [rows.div_ceil(4), 1],
        [128, 1],
        &[Buffer(0), Buffer(1), Int(rows), Int(cols)],
    ));
    all
}

/// Numbers that look random, the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }
}

fn words(count: usize, what: Words, random: &mut Random) -> Vec<u32> {
    let mut start = 0;
    let mut word = || match what {
        Words::Zero => 0,
        Words::Floats(low, high) => (low + (high - low) * random.next() as f32 / u32::MAX as f32).to_bits(),
        Words::Below(limit) => random.next() % limit,
        Words::Rows => {
            let here = start;
            start += 1 + random.next() % 31;
            here
        }
    };
    (0..count).map(|_| word()).collect()
}

/// A buffer was allocated, and the host copies to it.
fn tell_of_buffer(checker: &Checker, number: u64, range: Range<u64>) {
    let (base, size) = (range.start, range.end - range.start);
    let origin = "cuMemAlloc";
    let info = AllocationInfo { base, size, kind: MemoryKind::Device, device: 0, owner: 1, tag: 0, origin, id: number };
    checker.host(&HostEvent::Alloc { info, place: None });
    let place = StreamPlace { stream: 1, number };
    let read = Some(Bytes { range: 0..size, host: true });
    let written = Some(Bytes { range, host: false });
    checker.host(&HostEvent::Submit { place });
    checker.host(&HostEvent::Touches { place, read, written, what: "a copy" });
    checker.host(&HostEvent::Waited(place));
}

/// A case on a device with some checks.
struct Set {
    device: Device,
    checker: Option<Arc<Checker>>,
    launches: Vec<(warploom_interp_testing::Kernel, Shape, Vec<u8>)>,
    best: Duration,
}

impl Set {
    fn new(case: &Case, ptx: &str, checks: &[Check]) -> Set {
        let checker = (!checks.is_empty()).then(|| {
            let settings = Settings { checks: checks.to_vec(), ..Settings::default() };
            Checker::new(settings, Arc::new(|text: &str| panic!("a report: {text}"))).expect("no suppressions")
        });
        let observer = checker.clone().map(|checker| checker as _);
        let device = Device::with_pool(PoolOptions { threads: 1, observer, ..PoolOptions::default() });
        let mut random = Random(7);
        let mut number = 0;
        let mut buffer = |&(count, what): &(usize, Words)| {
            let base = device.buffer(&words(count, what, &mut random));
            number += 1;
            if let Some(checker) = &checker {
                tell_of_buffer(checker, number, base..base + 4 * count as u64);
            }
            base
        };
        let buffers: Vec<u64> = case.buffers.iter().map(&mut buffer).collect();
        let bytes = |value: &Value, out: &mut Vec<u8>| match *value {
            Buffer(index) => {
                out.resize(out.len().next_multiple_of(8), 0);
                out.extend(buffers[index].to_le_bytes());
            }
            Int(value) => out.extend(value.to_le_bytes()),
            Float(value) => out.extend(value.to_le_bytes()),
        };
        let launches = case.launches.iter().map(|launch| {
            let kernel = device.kernel_named(ptx, launch.kernel).unwrap_or_else(|error| panic!("{error}"));
            let [[gx, gy], [cx, cy]] = [launch.grid, launch.cta];
            let dynamic_shared = launch.dynamic_shared;
            let shape = Shape { grid: [gx, gy, 1], cta: [cx, cy, 1], dynamic_shared, ..Shape::new(1, 1) };
            let mut params = Vec::new();
            launch.values.iter().for_each(|value| bytes(value, &mut params));
            (kernel, shape, params)
        });
        let launches = launches.collect();
        Set { device, checker, launches, best: Duration::MAX }
    }

    fn run(&mut self) {
        let start = thread_times();
        for (kernel, shape, params) in &self.launches {
            self.device.launch_bytes(kernel, *shape, params.clone()).unwrap_or_else(|fault| panic!("{fault}"));
        }
        let ran = |(thread, end): (OsString, u64)| end - start.get(&thread).copied().unwrap_or(0);
        self.best = self.best.min(Duration::from_nanos(thread_times().into_iter().map(ran).sum()));
    }
}

/// How long each thread of the process has run, in nanoseconds: others on the machine do not count.
fn thread_times() -> HashMap<OsString, u64> {
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let of = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        Some((thread.file_name(), text.split(' ').next()?.parse().ok()?))
    };
    threads.filter_map(of).collect()
}

fn main() {
    let (checks, wanted): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).partition(|arg| arg.parse::<Check>().is_ok());
    let ptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/suite/ptx");
    let mut sets: Vec<Vec<Check>> =
        Check::ALL.map(|check| vec![check]).into_iter().chain([Check::ALL.to_vec()]).collect();
    if !checks.is_empty() {
        sets = checks.iter().map(|name| vec![name.parse().expect("a check")]).collect();
    }
    let names = sets.iter().map(|checks| if let [one] = checks[..] { one.name() } else { "all" });
    let head: String = names.map(|name| format!("{name:>8}")).collect();
    println!("{:<26}{:>10}{head}{:>8}", "kernel", "plain ms", "shadow");
    for case in cases().iter().filter(|case| wanted.is_empty() || wanted.iter().any(|name| name == case.file)) {
        let path = ptx.join(format!("{}.ptx", case.file));
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; benches/suite/tools/make_ptx.sh makes it", path.display()));
        let mut plain = Set::new(case, &text, &[]);
        let mut checked: Vec<Set> = sets.iter().map(|checks| Set::new(case, &text, checks)).collect();
        let start = Instant::now();
        for round in 0..ROUNDS {
            if round > 1 && start.elapsed() > PATIENCE {
                break;
            }
            plain.run();
            checked.iter_mut().for_each(Set::run);
        }
        let times = |set: &Set| set.best.as_secs_f64() / plain.best.as_secs_f64();
        let columns: String = checked.iter().map(|set| format!("{:>8.2}", times(set))).collect();
        let touched: usize = case.buffers.iter().map(|(count, _)| 4 * count).sum();
        let shadow = checked.iter().filter_map(|set| set.checker.as_ref()).map(|checker| checker.shadow_bytes()).max();
        let shadow = shadow.unwrap_or(0) as f64 / touched as f64;
        println!("{:<26}{:>10.2}{columns}{shadow:>8.2}", case.file, plain.best.as_secs_f64() * 1e3);
    }
}
