//! Fetches from textures in compiled code give what the interpreter gives: with the same handle in all lanes, which is then handed over once, and with others.

mod device;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use device::{Device, Nobody, line_of};
use warploom_exec::kernel::LoadedKernel;
use warploom_exec::texture::{AddressMode, Channel, Objects, Sampler, Texels, Texture};
use warploom_interp::Processor;
use warploom_jit::{Made, Mode, Options as Jit, Origin, Style, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, VerifiedModule, load};

/// Texels of a side.
const SIZE: u32 = 48;
/// Threads of a CTA, and CTAs.
const THREADS: usize = 64;
const CTAS: usize = 3;
/// Trips of the kernels' loop.
const TRIPS: u64 = 16;

/// Textures by their number from 1 on: numbers of bytes, floats, floats with a border, which are read lane by lane, and the nearest of pairs of halves.
struct Textures {
    address: u64,
    /// How often one was looked up.
    looked_up: AtomicU64,
}

impl Objects for Textures {
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.looked_up.fetch_add(1, Ordering::Relaxed);
        let (channel, channels, address, linear) = match handle {
            1 => (Channel::U8, 4, AddressMode::Clamp, true),
            2 => (Channel::F32, 1, AddressMode::Wrap, true),
            3 => (Channel::F32, 1, AddressMode::Border, true),
            4 => (Channel::F16, 2, AddressMode::Mirror, false),
            _ => return None,
        };
        let pitch = u64::from(SIZE) * channel.bytes() * u64::from(channels);
        let texels = Texels {
            address: self.address,
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
        let sampler = Sampler {
            address: [address; 3],
            linear,
            normalized: matches!(address, AddressMode::Wrap | AddressMode::Mirror),
            border: [0.25, 0.5, 1.0, 2.0],
            ..Sampler::default()
        };
        Some(Arc::new(Texture::new(vec![texels], sampler)))
    }

    fn surface(&self, _handle: u64) -> Option<Arc<Texels>> {
        None
    }
}

/// A kernel that fetches in a loop. `handle` leaves the handle in `%t`, of trip `%trip` and thread `%tid`; `guard` stands before the fetch, where `%odd` is known.
fn text(handle: &str, guard: &str) -> String {
    let sums: String = (0..4).map(|at| format!("add.rn.f32 %s{at}, %s{at}, %r{at};\n")).collect();
    let stores: String = (0..4).map(|at| format!("st.global.f32 [%d+{}], %s{at};\n", 4 * at)).collect();
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 table)\n{{\n\
         .reg .b32 %tid, %trip, %n; .reg .f32 %x, %y, %step, %r<4>, %s<4>; .reg .b64 %t, %at, %d, %table; .reg .pred %p, %odd;\n\
         ld.param.u64 %d, [out]; ld.param.u64 %table, [table]; mov.u32 %tid, %tid.x; and.b32 %n, %tid, 1; setp.ne.u32 %odd, %n, 0;\n\
         cvt.rn.f32.u32 %x, %tid; mul.rn.f32 %x, %x, 0f3f34cccd; mov.u32 %n, %ctaid.x; cvt.rn.f32.u32 %y, %n; mov.u32 %trip, 0;\n\
         mov.f32 %s0, 0f00000000; mov.f32 %s1, %s0; mov.f32 %s2, %s0; mov.f32 %s3, %s0; mov.f32 %r0, %s0; mov.f32 %r1, %s0; mov.f32 %r2, %s0; mov.f32 %r3, %s0;\n\
         L:\n{handle}\n{guard} tex.2d.v4.f32.f32 {{%r0, %r1, %r2, %r3}}, [%t, {{%x, %y}}];\n{sums}\
         add.rn.f32 %y, %y, 0f3f2ccccd; add.rn.f32 %x, %x, 0f3e2ccccd; add.u32 %trip, %trip, 1; setp.lt.u32 %p, %trip, {TRIPS}; @%p bra L;\n\
         mad.lo.u32 %n, %n, {THREADS}, %tid; mad.wide.u32 %d, %n, 16, %d;\n{stores}ret;\n}}\n"
    )
}

/// The handle behind the table's word of this number.
fn of_table(number: &str) -> String {
    format!("{number} mad.wide.u32 %at, %n, 8, %table; ld.global.u64 %t, [%at]; mov.u32 %n, %ctaid.x;")
}

/// Another table.
const OTHER: [u64; 4] = [4, 3, 2, 1];

struct Run {
    words: Vec<u32>,
    fault: Option<String>,
    looked_up: u64,
}

fn run(module: &VerifiedModule, kernel: &Arc<dyn LoadedKernel>, handles: [u64; 4]) -> Run {
    let mut device = Device::new();
    let texels: Vec<u32> = (0..SIZE * SIZE * 4).map(|at| 0x3c00_3800 ^ at.wrapping_mul(0x9e37_79b9) >> 12).collect();
    let textures = Arc::new(Textures { address: device.buffer(&texels), looked_up: AtomicU64::new(0) });
    device.objects = textures.clone();
    let out = device.buffer(&[0; 4 * THREADS * CTAS]);
    let table: Vec<u32> = handles.iter().flat_map(|handle| [*handle as u32, (handle >> 32) as u32]).collect();
    let params = [out, device.buffer(&table)].map(u64::to_le_bytes);
    let [first, second] = &params;
    device.run(module, kernel.clone(), [CTAS as u32, 1, 1], [THREADS as u32, 1, 1], &[first, second]);
    let fault = device.engine.fault().map(|fault| fault.to_string());
    let words = if fault.is_none() { device.words(out, 4 * THREADS * CTAS) } else { Vec::new() };
    Run { words, fault, looked_up: textures.looked_up.load(Ordering::Relaxed) }
}

/// Runs a kernel compiled, for both instruction sets and in two styles, and interpreted: how often textures were looked up in compiled code, at most.
fn same(text: &str, handles: [u64; 4]) -> u64 {
    let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
    let interpreted = warploom_interp::load(&module, FunctionId(0), &|_| true, Processor::V4).expect("covered");
    let [expected, other] = [handles, OTHER].map(|handles| run(&module, &interpreted, handles));
    let mut most = 0;
    for (target, style) in [(Target::Host, Style::Chosen), (Target::V3, Style::Chosen), (Target::Host, Style::Apart)] {
        let report = Arc::new(|made: &Made<'_>| assert_eq!(made.code, Ok(Origin::Compiler), "{}", made.kernel));
        let jit = Jit { mode: Mode::Always, target, cache: None, dump: None, style, report };
        let kernel = tiered(jit, &module, FunctionId(0), Arc::new(Nobody));
        // Once more with another table: what a launch has found is not another's.
        for (handles, expected) in [(handles, &expected), (OTHER, &other), (handles, &expected)] {
            let given = run(&module, &kernel, handles);
            assert_eq!(given.words, expected.words, "{target:?} {style:?} {handles:?}\n{text}");
            // A fault, and the line that it is told with.
            let line = |fault: &Option<String>| fault.as_deref().map(line_of);
            assert_eq!(
                line(&given.fault),
                line(&expected.fault),
                "{target:?} {style:?} {handles:?}: {:?}",
                given.fault
            );
            if handles != OTHER {
                most = most.max(given.looked_up);
            }
        }
    }
    most
}

#[test]
fn one_handle() {
    let handle = of_table("mov.u32 %n, 1;");
    for handles in [[0, 1, 0, 0], [0, 2, 0, 0], [0, 4, 0, 0]] {
        // Each thread that runs CTAs looks for itself.
        let looked_up = same(&text(&handle, ""), handles);
        assert!(looked_up <= 4, "{looked_up}");
    }
    same(&text(&handle, ""), [0, 3, 0, 0]);
}

#[test]
fn one_handle_after_the_other() {
    same(&text(&of_table("and.b32 %n, %trip, 3;"), ""), [1, 2, 3, 4]);
}

#[test]
fn some_lanes() {
    same(&text(&of_table("and.b32 %n, %trip, 3;"), "@%odd"), [2, 2, 4, 1]);
    same(&text(&of_table("and.b32 %n, %tid, 1;"), "@%odd"), [0, 2, 0, 0]);
}

#[test]
fn a_handle_for_each_lane() {
    same(&text(&of_table("and.b32 %n, %tid, 3;"), ""), [1, 2, 3, 4]);
    // It turns out to be the same.
    let looked_up = same(&text(&of_table("and.b32 %n, %tid, 3;"), ""), [2, 2, 2, 2]);
    assert!(looked_up <= 4, "{looked_up}");
}

#[test]
fn no_texture() {
    same(&text(&of_table("mov.u32 %n, 1;"), ""), [0, 7, 0, 0]);
    same(&text(&of_table("and.b32 %n, %trip, 3;"), ""), [1, 2, 0, 0]);
}
