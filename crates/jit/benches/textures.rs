//! What fetches between four texels cost in compiled code: consecutive threads fetch along a row, in a loop that moves on by a part of one. `cargo bench -p warploom-jit --bench
//! textures`, with the beginning of a case's name behind it (`-- f32,`) for some of them.
//!
//! All are loops of one warp on one core, taken in turns with one that fetches nothing; the best of several rounds counts, of each.

#[path = "../tests/device/mod.rs"]
mod device;

use std::sync::Arc;
use std::time::{Duration, Instant};

use device::{Device, Nobody};
use warploom_exec::kernel::LoadedKernel;
use warploom_exec::pool::PoolOptions;
use warploom_exec::texture::{AddressMode, Channel, Objects, Sampler, Texels, Texture};
use warploom_jit::{Made, Mode, Options as Jit, Origin, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, VerifiedModule, load};

/// Trips of a loop, and rounds.
const TRIPS: u32 = 4_000;
const ROUNDS: u32 = 40;
/// Texels of a side.
const SIZE: u32 = 256;
/// Bytes of a texel at most.
const BYTES: u32 = 16;

const CASES: [(&str, Channel, u32); 8] = [
    ("f32", Channel::F32, 1),
    ("u8", Channel::U8, 1),
    ("u8x4", Channel::U8, 4),
    ("u16x2", Channel::U16, 2),
    ("f16x2", Channel::F16, 2),
    ("f16x4", Channel::F16, 4),
    ("f32x2", Channel::F32, 2),
    ("f32x4", Channel::F32, 4),
];

/// A texture for each case, by its number from 1; the same again with normalised coordinates, from 101.
struct Textures(u64);

impl Objects for Textures {
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        let (normalized, number) = (handle > 100, handle % 100);
        let &(_, channel, channels) = CASES.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
        let pitch = u64::from(SIZE) * channel.bytes() * u64::from(channels);
        let texels = Texels {
            address: self.0,
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
        let address = if normalized { AddressMode::Wrap } else { AddressMode::Clamp };
        let sampler = Sampler { address: [address; 3], linear: true, normalized, ..Sampler::default() };
        Some(Arc::new(Texture::new(vec![texels], sampler)))
    }

    fn surface(&self, _handle: u64) -> Option<Arc<Texels>> {
        None
    }
}

/// A kernel whose loop fetches from a texture, if one is named.
fn text(handle: Option<u64>) -> String {
    let scale = if handle > Some(100) { 1.0 / SIZE as f32 } else { 1.0 };
    let (scale, step) = (scale.to_bits(), (0.046 * scale).to_bits());
    let fetch =
        handle.map_or("add.rn.f32 %r0, %r0, %y;", |_| "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%x, %y}];");
    let sums: String = (0..4).map(|at| format!("add.rn.f32 %s{at}, %s{at}, %r{at};\n")).collect();
    let stores: String = (0..4).map(|at| format!("st.global.f32 [%d+{}], %s{at};\n", 4 * at)).collect();
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b32 %lane, %trip; .reg .f32 %x, %y, %r<4>, %s<4>; .reg .b64 %t, %d; .reg .pred %p;\n\
         mov.u32 %lane, %tid.x; cvt.rn.f32.u32 %x, %lane; mul.rn.f32 %x, %x, 0f{scale:08x}; mov.f32 %y, 0f00000000;\n\
         mov.u64 %t, {}; mov.u32 %trip, 0;\n\
         mov.f32 %r0, %x; mov.f32 %r1, %x; mov.f32 %r2, %x; mov.f32 %r3, %x; mov.f32 %s0, %y; mov.f32 %s1, %y; mov.f32 %s2, %y; mov.f32 %s3, %y;\n\
         L:\n{fetch}\n{sums}add.rn.f32 %y, %y, 0f{step:08x}; add.u32 %trip, %trip, 1; setp.lt.u32 %p, %trip, {TRIPS}; @%p bra L;\n\
         ld.param.u64 %d, [out]; mad.wide.u32 %d, %lane, 16, %d;\n{stores}ret;\n}}\n",
        handle.unwrap_or(0)
    )
}

struct Kernel {
    name: String,
    module: Arc<VerifiedModule>,
    loaded: Arc<dyn LoadedKernel>,
    best: Duration,
}

fn kernel(name: String, handle: Option<u64>) -> Kernel {
    let options = Options { driver_version: 13000, sm: 90 };
    let module = Arc::new(load(text(handle).as_bytes(), &options).expect("loads"));
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
    Kernel { name, module, loaded, best: Duration::MAX }
}

fn main() {
    let mut device = Device::with_pool(PoolOptions { threads: 1, ..PoolOptions::default() });
    let out = device.buffer(&[0; 4 * 32]);
    device.objects = Arc::new(Textures(device.buffer(&vec![0x3c00_3800; (SIZE * SIZE * BYTES / 4) as usize])));
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let mut kernels = vec![kernel("nothing".to_owned(), None)];
    for (at, (texel, ..)) in CASES.iter().enumerate() {
        for (mode, handle) in [("clamp", at as u64 + 1), ("wrap", at as u64 + 101)] {
            let name = format!("{texel}, {mode}");
            if name.starts_with(&only) {
                kernels.push(kernel(name, Some(handle)));
            }
        }
    }
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
    println!("{:>14} {:>10}", "", "ns a lane");
    for kernel in &kernels {
        println!("{:>14} {:>10.2}", kernel.name, kernel.best.as_secs_f64() * 1e9 / f64::from(32 * TRIPS));
    }
}
