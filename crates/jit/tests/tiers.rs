//! A grid begins in one executor and ends in the other: results and reports are those of one.

mod device;

use std::any::TypeId;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use device::Device;
use warploom_exec::grid::{Grid, Launch};
use warploom_exec::kernel::{Batch, Cta, CtaExit, LoadedKernel, Worker};
use warploom_interp::Processor;
use warploom_jit::{Made, Mode, Options as Jit, Origin, Target, tiered};
use warploom_ptx::ir::{FunctionId, Module};
use warploom_ptx::{Options, VerifiedModule, load};

/// The interpreter, slowed down, and how many CTAs it has run.
struct Slow {
    interpreter: Arc<dyn LoadedKernel>,
    ctas: AtomicU64,
    pause: Duration,
}

impl Slow {
    fn new(module: &Module, pause: Duration) -> Arc<Slow> {
        let interpreter = warploom_interp::load(module, FunctionId(0), &|_| true, Processor::V4).expect("covered");
        Arc::new(Slow { interpreter, ctas: AtomicU64::new(0), pause })
    }

    fn ctas(&self) -> u64 {
        self.ctas.load(Ordering::Relaxed)
    }
}

impl LoadedKernel for Slow {
    fn name(&self) -> &str {
        self.interpreter.name()
    }

    fn state_type(&self) -> TypeId {
        self.interpreter.state_type()
    }

    fn most_parts(&self, launch: &Launch) -> u32 {
        self.interpreter.most_parts(launch)
    }

    fn run_ctas(&self, grid: &Grid, units: Range<u64>, worker: &mut Worker) -> Batch {
        std::thread::sleep(self.pause * (units.end - units.start) as u32);
        let batch = self.interpreter.run_ctas(grid, units, worker);
        self.ctas.fetch_add(batch.done, Ordering::Relaxed);
        batch
    }

    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit {
        self.interpreter.run_cta(grid, cta, worker)
    }

    fn site(&self, site: warploom_exec::fault::Site) -> warploom_exec::fault::SiteInfo {
        self.interpreter.site(site)
    }
}

/// Each thread adds up the numbers to its own, and writes the sum; the access stands in line 18.
const SUMS: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry sums(.param .u64 out)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<2>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
mad.lo.u32 %r4, %r1, %r2, %r3;
mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;
and.b32 %r8, %r4, 63;
mov.u32 %r5, 0; mov.u32 %r6, 0;
again:
add.u32 %r6, %r6, %r5;
add.u32 %r5, %r5, 1;
setp.le.u32 %p1, %r5, %r8;
@%p1 bra again;
st.global.u32 [%rd3], %r6;
ret;
}
";

fn sums() -> Arc<VerifiedModule> {
    Arc::new(load(SUMS.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"))
}

fn expected(thread: u32) -> u32 {
    let last = thread % 64;
    last * (last + 1) / 2
}

fn must_be_compiled(made: &Made<'_>) {
    assert_eq!(made.code, Ok(Origin::Compiler), "{}", made.kernel);
}

fn auto() -> Jit {
    Jit {
        mode: Mode::Auto,
        target: Target::Host,
        cache: None,
        dump: None,
        style: warploom_jit::Style::Chosen,
        report: Arc::new(must_be_compiled),
    }
}

/// More than what compiling takes, one after another; with code it would be a matter of milliseconds.
const MANY: u32 = 20_000;

#[test]
fn a_running_grid_moves_to_compiled_code() {
    let (device, module) = (Device::new(), sums());
    let slow = Slow::new(&module, Duration::from_micros(500));
    let out = device.buffer(&vec![u32::MAX; 64 * MANY as usize]);
    let kernel = tiered(auto(), &module, FunctionId(0), slow.clone());
    device.run(&module, kernel.clone(), [MANY, 1, 1], [64, 1, 1], &[&out.to_le_bytes()]);
    assert!(device.engine.fault().is_none());
    let begun = slow.ctas();
    assert!(0 < begun && begun < u64::from(MANY), "{begun} CTAs were interpreted");
    let words = device.words(out, 64 * MANY as usize);
    assert!(words.iter().zip(0..).all(|(word, thread)| *word == expected(thread)));
    // The next launch has code from the start.
    device.run(&module, kernel, [MANY, 1, 1], [64, 1, 1], &[&out.to_le_bytes()]);
    assert_eq!(slow.ctas(), begun);
}

#[test]
fn a_fault_behind_the_move_names_its_line() {
    let (device, module) = (Device::new(), sums());
    let slow = Slow::new(&module, Duration::from_micros(500));
    let out = device.buffer(&vec![0; 64 * (MANY - 1) as usize]);
    let kernel = tiered(auto(), &module, FunctionId(0), slow.clone());
    device.run(&module, kernel, [MANY, 1, 1], [64, 1, 1], &[&out.to_le_bytes()]);
    assert!(slow.ctas() < u64::from(MANY));
    let fault = device.engine.fault().expect("a fault");
    assert_eq!((fault.place.ptx_line, fault.cta), (Some(18), Some([MANY - 1, 0, 0])), "{fault}");
}

#[test]
fn a_grid_that_is_large_at_sight_waits() {
    let (device, module) = (Device::new(), sums());
    let slow = Slow::new(&module, Duration::ZERO);
    let many = 20 * MANY;
    let out = device.buffer(&vec![u32::MAX; 64 * many as usize]);
    let kernel = tiered(auto(), &module, FunctionId(0), slow.clone());
    device.run(&module, kernel, [many, 1, 1], [64, 1, 1], &[&out.to_le_bytes()]);
    assert_eq!(slow.ctas(), 0);
    let words = device.words(out, 64 * many as usize);
    assert!(words.iter().zip(0..).all(|(word, thread)| *word == expected(thread)));
}

#[test]
fn small_work_is_interpreted_until_it_adds_up() {
    let (device, module) = (Device::new(), sums());
    let slow = Slow::new(&module, Duration::from_millis(1));
    let out = device.buffer(&[0; 64]);
    let kernel = tiered(auto(), &module, FunctionId(0), slow.clone());
    let launch = || device.run(&module, kernel.clone(), [1, 1, 1], [64, 1, 1], &[&out.to_le_bytes()]);
    launch();
    let (mut launches, mut interpreted) = (1, slow.ctas());
    assert!(interpreted > 0);
    // Until launches come that the interpreter does not hear of.
    loop {
        launch();
        launches += 1;
        assert!(launches < 10_000, "never compiled");
        if slow.ctas() == interpreted {
            break;
        }
        interpreted = slow.ctas();
    }
    assert!(launches > 3, "compiled after {launches} launches");
    assert_eq!(device.words(out, 64), (0..64).map(expected).collect::<Vec<_>>());
}

#[test]
fn a_grid_that_waits_for_its_compiler_says_so_and_is_not_stuck() {
    let (device, reports) = Device::watched(Duration::from_millis(20), None);
    // Enough for compiling to take longer than that.
    let more = "mad.lo.u32 %r6, %r6, %r5, %r4;\n".repeat(1500);
    let text = SUMS.replace("st.global", &format!("{more}st.global"));
    let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
    let slow = Slow::new(&module, Duration::ZERO);
    let out = device.buffer(&[0; 64]);
    let kernel = tiered(Jit { mode: Mode::Always, ..auto() }, &module, FunctionId(0), slow.clone());
    device.run(&module, kernel, [1, 1, 1], [64, 1, 1], &[&out.to_le_bytes()]);
    assert_eq!(slow.ctas(), 0);
    let reports = reports.lock().expect("no panic");
    let first = reports.first().expect("a report");
    let expected =
        "kernel sums waits for its code from the compiler (WARPLOOM_JIT=off goes without): no CTA has ended for ";
    assert!(first.starts_with(expected) && first.ends_with("0 of 1 CTAs have ended"), "{first}");
    assert!(!reports.iter().any(|text| text.contains("stuck")), "{reports:?}");
}
