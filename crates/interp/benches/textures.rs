//! Texels per second and core: fetches of consecutive threads from a plane, the nearest texel or between four, each in a loop that moves on by a part of a row.
//! Threads ask for consecutive texels of a row, and, as what is hardest, each for another row.
#![allow(missing_docs, reason = "criterion_group! makes a public function")]

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warploom_exec::texture::{AddressMode, Channel, Objects, Sampler, Texels, Texture};
use warploom_interp_testing::{Device, Shape, entry};

const HANDLE: u64 = 0x70;
/// Trips of the loop in each thread.
const TRIPS: u64 = 4000;
/// Texels of a side.
const SIZE: u32 = 256;

/// A texture, told after the device is made.
#[derive(Default)]
struct One(std::sync::OnceLock<Arc<Texture>>);

impl Objects for One {
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.0.get().filter(|_| handle == HANDLE).cloned()
    }

    fn surface(&self, _handle: u64) -> Option<Arc<Texels>> {
        None
    }
}

fn textures(criterion: &mut Criterion) {
    filtered(criterion, "bilinear", true, false);
    filtered(criterion, "bilinear, diagonal", true, true);
    filtered(criterion, "nearest", false, false);
}

fn filtered(criterion: &mut Criterion, filter: &str, linear: bool, diagonal: bool) {
    let mut group = criterion.benchmark_group(filter);
    let cases = [
        ("f32", Channel::F32, 1),
        ("u8", Channel::U8, 1),
        ("u8x4", Channel::U8, 4),
        ("u16x2", Channel::U16, 2),
        ("f16x2", Channel::F16, 2),
        ("f16x4", Channel::F16, 4),
        ("f32x2", Channel::F32, 2),
        ("f32x4", Channel::F32, 4),
    ];
    for (name, channel, channels) in cases {
        for address in [AddressMode::Clamp, AddressMode::Wrap, AddressMode::Mirror] {
            let normalized = address != AddressMode::Clamp;
            let objects = Arc::new(One::default());
            let device = Device::with_objects(objects.clone());
            let pitch = u64::from(SIZE) * channel.bytes() * u64::from(channels);
            let texels = Texels {
                address: device.buffer(&vec![0x3c00_3800; (pitch * u64::from(SIZE) / 4) as usize]),
                size: [SIZE, SIZE, 1],
                dimensions: 2,
                pitch,
                slice: pitch * u64::from(SIZE),
                channel,
                channels,
                layered: false,
                cube: false,
                linear: false,
                fractions: false,
                blocks: None,
                mapped: None,
            };
            let sampler = Sampler { address: [address; 3], linear, normalized, ..Sampler::default() };
            assert!(objects.0.set(Arc::new(Texture::new(vec![texels], sampler))).is_ok());
            let scale = if normalized { 1.0 / SIZE as f32 } else { 1.0 };
            let (scale, step) = (scale.to_bits(), (0.046 * scale).to_bits());
            let start = if diagonal { "%f1" } else { "0f00000000" };
            let body = format!(
                "cvt.rn.f32.u32 %f1, %r0; mul.rn.f32 %f1, %f1, 0f{scale:08x}; mov.f32 %f2, {start}; mov.u64 %d3, {HANDLE}; mov.u32 %r2, 0;
                 L: tex.2d.v4.f32.f32 {{%f3, %f4, %f5, %f6}}, [%d3, {{%f1, %f2}}];
                 add.rn.f32 %f2, %f2, 0f{step:08x}; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, {TRIPS}; @%p1 bra L;
                 mov.b32 %r1, %f3;"
            );
            let kernel = device.kernel(&entry(&body)).unwrap();
            let out = device.alloc(128);
            group.throughput(Throughput::Elements(32 * TRIPS));
            group.bench_function(format!("{name}, {address:?}"), |bencher| {
                bencher.iter(|| device.launch(&kernel, Shape::new(1, 32), &[out]).unwrap());
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(std::time::Duration::from_millis(300)).measurement_time(std::time::Duration::from_secs(1));
    targets = textures
}
criterion_main!(benches);
