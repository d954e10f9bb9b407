//! Costs that every program meets: allocation, launch and synchronise, events, small copies, checked access.

use std::hint::black_box;
use std::sync::Arc;

use criterion::Criterion;
use warploom_exec::copy::Side;
use warploom_exec::grid::{Environment, Grid, Launch};
use warploom_exec::heap::DeviceHeap;
use warploom_exec::kernel::{Cta, CtaExit, LoadedKernel, Worker};
use warploom_exec::memory::{AllocSpec, HostRange, Lanes, Memory, MemoryKind, Options};
use warploom_exec::output::{Buffered, CStdout};
use warploom_exec::pool::{Pool, PoolOptions};
use warploom_exec::stream::{Engine, Group, Stream, StreamKind, Weight};

struct Empty;

impl LoadedKernel for Empty {
    fn name(&self) -> &str {
        "empty"
    }

    fn run_cta(&self, _: &Grid, _: &mut Cta, _: &mut Worker) -> CtaExit {
        CtaExit::Finished
    }
}

fn device(c: &mut Criterion) {
    let memory = Arc::new(Memory::new(Options::default()).expect("the window can be reserved"));
    let spec = |size| AllocSpec { size, kind: MemoryKind::Device, device: 0, owner: 1, tag: 0, origin: "benchmark" };
    for (name, size) in [("alloc+free 1 KiB", 1 << 10), ("alloc+free 64 MiB", 64 << 20)] {
        c.bench_function(name, |b| {
            b.iter(|| memory.free(memory.alloc(spec(size)).unwrap().base).unwrap());
        });
    }

    let base = memory.alloc(spec(1 << 20)).unwrap().base;
    memory.fill(base, warploom_exec::copy::FillWidth::One, 0, 1 << 20).unwrap();
    let mut view = memory.view();
    c.bench_function("load u32", |b| b.iter(|| view.load::<u32>(black_box(base + 64)).unwrap()));
    let consecutive: [u64; 32] = std::array::from_fn(|lane| base + 4 * lane as u64);
    let strided: [u64; 32] = std::array::from_fn(|lane| base + 132 * lane as u64);
    let mut out = [0u32; 32];
    for (name, addresses) in [("gather 32 x u32, consecutive", consecutive), ("gather 32 x u32, strided", strided)] {
        c.bench_function(name, |b| {
            b.iter(|| view.gather(Lanes::new(black_box(&addresses), u32::MAX, 4), black_box(&mut out)).unwrap());
        });
    }
    let vectors: [u64; 32] = std::array::from_fn(|lane| base + 16 * lane as u64);
    let mut rows = [[0u32; 32]; 4];
    c.bench_function("gather_vector 32 x 4 x u32, consecutive", |b| {
        b.iter(|| {
            view.gather_vector(Lanes::new(black_box(&vectors), u32::MAX, 16), black_box(&mut rows).each_mut()).unwrap()
        });
    });
    c.bench_function("load_run 32 x u32", |b| {
        b.iter(|| view.load_run(black_box(base), black_box(&mut out)).unwrap());
    });

    for size in [256 << 10, 64 << 20] {
        c.bench_function(&format!("alloc, fill and free {} KiB", size >> 10), |b| {
            b.iter(|| {
                let base = memory.alloc(spec(size)).unwrap().base;
                memory.fill(base, warploom_exec::copy::FillWidth::One, 1, size).unwrap();
                memory.free(base).unwrap();
            });
        });
    }

    let engine = Engine::new(&Pool::new(PoolOptions::default()), Some(0), Box::new(|_| {}));
    let group = Arc::new(Group::default());
    let stream = Stream::new(&engine, &group, StreamKind::Legacy, false);
    let heap = DeviceHeap::new(memory.clone(), 0, 1);
    let output = Arc::new(Buffered::new(1 << 20, CStdout));
    let environment =
        Arc::new(Environment { memory: memory.clone(), heap, output, clock_khz: 1_000_000, pending: Arc::default() });
    let kernel = Arc::new(Empty);
    let launch = |ctas: u32| Launch::new(kernel.clone(), [ctas, 1, 1], [32, 1, 1], &environment);
    for ctas in [1, 10_000] {
        c.bench_function(&format!("empty kernel of {ctas} CTAs, then synchronise"), |b| {
            b.iter(|| {
                stream.launch(launch(ctas));
                stream.synchronize();
            });
        });
    }
    c.bench_function("empty kernel, 200 in a row, then synchronise", |b| {
        b.iter(|| {
            for _ in 0..200 {
                stream.launch(launch(1));
            }
            stream.synchronize();
        });
    });
    c.bench_function("record on an idle stream", |b| b.iter(|| stream.record()));
    let mut bytes = [0u8; 4];
    // SAFETY: `bytes` outlives the loop.
    let host = Side::Host(unsafe { HostRange::new(bytes.as_mut_ptr() as u64, 4) });
    c.bench_function("copy 4 bytes on an idle stream", |b| {
        b.iter(|| {
            let memory = memory.clone();
            stream.run(Weight::Light, move || memory.copy(Side::Device(base), host, 4).unwrap());
        });
    });
    c.bench_function("stream create and destroy", |b| {
        b.iter(|| Stream::new(&engine, &group, StreamKind::Blocking, false));
    });
}

fn main() {
    device(&mut Criterion::default().configure_from_args());
}
