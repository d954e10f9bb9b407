//! Which executor runs a launch.

use std::any::TypeId;
use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use warploom_exec::fault::{Place, Site, SiteInfo};
use warploom_exec::grid::{Grid, Launch};
use warploom_exec::kernel::{Batch, Cta, CtaExit, LoadedKernel, Worker};
use warploom_interp::{Processor, Steps};
use warploom_ptx::ir::{FunctionId, LocId, Module};
use warploom_simt::codegen::{compile, preferred_width};
use warploom_simt::{Gangs, VectorUnits, analyze, standalone};

use crate::kernel::CompiledKernel;
use crate::llvm::llvm;

/// When kernels are compiled (`WARPLOOM_JIT`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Never.
    #[default]
    Off,
    /// When a launch has much to do.
    Auto,
    /// At the first launch of each shape.
    Always,
}

/// Threads times instructions of a launch from which on compiling is worth it: some tens of milliseconds in the interpreter.
const MUCH: u64 = 1 << 26;

/// The processor that code may be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The one that there is.
    Host,
    /// One with AVX2 and nothing newer, by its name in the x86-64 psABI.
    V3,
}

/// A kernel that `interpreted` runs, and compiled code where it is covered. `declined` hears once for each shape why not.
pub fn tiered(
    mode: Mode,
    target: Target,
    module: &Module,
    kernel: FunctionId,
    interpreted: Arc<dyn LoadedKernel>,
    declined: fn(&str, &str),
) -> Arc<dyn LoadedKernel> {
    if mode == Mode::Off {
        return interpreted;
    }
    let module = standalone(module, kernel);
    Arc::new(Tiered { mode, target, module, kernel, interpreted, declined, variants: Mutex::default() })
}

struct Tiered {
    mode: Mode,
    target: Target,
    /// The kernel with all that it calls as one body, or why that cannot be.
    module: Result<Module, String>,
    kernel: FunctionId,
    interpreted: Arc<dyn LoadedKernel>,
    declined: fn(&str, &str),
    /// By the shape of CTAs; none where it is not covered.
    variants: Mutex<HashMap<[u32; 3], Option<Arc<CompiledKernel>>>>,
}

impl Tiered {
    fn covers(&self, launch: &Launch) -> bool {
        let small = (0..3).all(|axis| u64::from(launch.grid[axis]) * u64::from(launch.cta[axis]) < 1 << 31);
        small && launch.cluster == [1; 3]
    }

    fn compile(&self, cta: [u32; 3]) -> Result<CompiledKernel, String> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let llvm = llvm()?;
        let module = self.module.as_ref().map_err(String::clone)?;
        let function = &module.functions[self.kernel.0 as usize];
        let body = function.body.as_ref().ok_or("it has no code")?;
        let host = llvm.features();
        if cfg!(target_arch = "x86_64") && !["+avx2", "+fma"].iter().all(|feature| host.contains(feature)) {
            return Err("the processor has no AVX2".to_owned());
        }
        let (cpu, features) = match self.target {
            Target::Host => (llvm.cpu(), host),
            Target::V3 => ("x86-64-v3".to_owned(), "+avx2,+fma".to_owned()),
        };
        let units = match () {
            () if features.contains("+avx512f") => VectorUnits::Avx512,
            () if cfg!(target_arch = "x86_64") => VectorUnits::Avx2,
            () => VectorUnits::Neon,
        };
        let gangs = |width| Gangs::new(cta, width);
        let mut info = analyze(module, self.kernel, gangs(units.lanes())?).ok_or("it is no kernel")?;
        let width = preferred_width(&info, units);
        if width != units.lanes() {
            info = analyze(module, self.kernel, gangs(width)?).ok_or("it is no kernel")?;
        }
        let written = compile(&info, &cpu, &features).map_err(|declined| declined.0)?;
        let processor = match self.target {
            Target::Host => Processor::V4,
            Target::V3 => Processor::V3,
        };
        let steps = Steps::new(module, self.kernel, &written.steps, processor).map_err(|error| error.to_string())?;
        let code = llvm.compile(&written.text).map_err(|error| format!("LLVM says: {error}"))?;
        let place = |line: u32, loc: Option<LocId>| {
            let loc = loc.and_then(|loc| body.locs.get(loc.index()));
            let source = loc.and_then(|loc| Some((module.files.get(&loc.file)?.clone(), loc.line)));
            Place { ptx_line: Some(line), source, ..Place::default() }
        };
        let sites = written.sites.iter().map(|site| place(site.line, body.insts[site.inst as usize].loc));
        let places = sites.chain(written.stops.iter().map(|stop| place(stop.line, stop.loc)));
        Ok(CompiledKernel {
            name: function.name.clone(),
            places: places.collect(),
            code,
            sites: written.sites,
            stops: written.stops,
            frames: written.frames,
            local: written.local,
            shared: module.shared_layout(self.kernel).size,
            cta,
            steps,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }
}

impl LoadedKernel for Tiered {
    fn name(&self) -> &str {
        self.interpreted.name()
    }

    fn stack_need(&self) -> usize {
        self.interpreted.stack_need()
    }

    fn state_type(&self) -> TypeId {
        self.interpreted.state_type()
    }

    fn variant(&self, launch: &Launch) -> Option<Arc<dyn LoadedKernel>> {
        let other = || self.interpreted.variant(launch).or_else(|| Some(self.interpreted.clone()));
        if !self.covers(launch) {
            return other();
        }
        let mut variants = self.variants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = variants.get(&launch.cta) {
            return known.clone().map_or_else(other, |kernel| Some(kernel));
        }
        let module = self.module.as_ref().ok();
        let body = module.and_then(|module| module.functions[self.kernel.0 as usize].body.as_ref());
        let insts = body.map_or(0, |body| body.insts.len() as u64);
        let threads = launch.grid.iter().chain(&launch.cta).map(|extent| u64::from(*extent)).product::<u64>();
        if self.mode == Mode::Auto && threads.saturating_mul(insts) < MUCH {
            return other();
        }
        // A defect of the compiler costs speed, nothing else.
        let attempt = catch_unwind(AssertUnwindSafe(|| self.compile(launch.cta)));
        let compiled = match attempt.unwrap_or_else(|_| Err("an internal error of the compiler".to_owned())) {
            Ok(compiled) => Some(Arc::new(compiled)),
            Err(why) => {
                (self.declined)(self.name(), &why);
                None
            }
        };
        variants.insert(launch.cta, compiled.clone());
        compiled.map_or_else(other, |kernel| Some(kernel))
    }

    fn most_parts(&self, launch: &Launch) -> u32 {
        self.interpreted.most_parts(launch)
    }

    fn run_ctas(&self, grid: &Grid, units: Range<u64>, worker: &mut Worker) -> Batch {
        self.interpreted.run_ctas(grid, units, worker)
    }

    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit {
        self.interpreted.run_cta(grid, cta, worker)
    }

    fn site(&self, site: Site) -> SiteInfo {
        self.interpreted.site(site)
    }

    fn describe(&self, cta: &Cta) -> String {
        self.interpreted.describe(cta)
    }
}
