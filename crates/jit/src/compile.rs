//! From a kernel of a module to compiled code for one shape of CTAs: out of the cache, or made by LLVM and kept.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use warploom_exec::fault::Place;
use warploom_exec::kernel::WORKER_STACK;
use warploom_interp::{Processor, Steps};
use warploom_ptx::ir::{FunctionId, LocId, Module};
use warploom_simt::codegen::{self, Compiled, SMALL_STACK, Style, compile_as, preferred_width, runs_as_warps};
use warploom_simt::{Gangs, VectorUnits, analyze, called_by, stack_bottom};

use crate::apart::{Apart, Make};
use crate::cache::Cache;
use crate::cache::entry::{Entry, Parts};
use crate::cache::key::Key;
use crate::kernel::CompiledKernel;
use crate::llvm::{self, llvm};
use crate::microarchitecture::{Microarchitecture, microarchitecture};
use crate::object;
use crate::turns::Ways;

/// The processor that code may be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The one that there is.
    Host,
    /// One with AVX2 and nothing newer, by its name in the x86-64 psABI.
    V3,
}

/// Where code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// LLVM has made it.
    Compiler,
    /// It was made before.
    Cache,
}

/// Why there is no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) why: String,
    /// Something is wrong with the compiler.
    pub(crate) defect: bool,
}

impl Refusal {
    pub(crate) fn defect(why: impl Into<String>) -> Refusal {
        Refusal { why: why.into(), defect: true }
    }
}

impl<W: Into<String>> From<W> for Refusal {
    fn from(why: W) -> Refusal {
        Refusal { why: why.into(), defect: false }
    }
}

/// What is to be compiled.
#[derive(Clone, Copy)]
pub(crate) struct Task<'m> {
    /// Of the kernel, and of what it calls alone ([`warploom_simt::standalone`]).
    pub(crate) module: &'m Module,
    pub(crate) kernel: FunctionId,
    pub(crate) cta: [u32; 3],
    pub(crate) target: Target,
    pub(crate) style: Style,
    /// The folder that the text goes to of which code is made.
    pub(crate) dump: Option<&'m Path>,
}

impl Task<'_> {
    /// Code from the cache, or from the compiler if it may be asked; it may not if `None` comes back.
    /// `make_apart` gives the [`Make`] of a kernel with teams, for the digest of its text.
    ///
    /// # Errors
    /// Why there is none, and will be none.
    pub(crate) fn run(
        &self,
        cache: Option<&Cache>,
        may_compile: bool,
        make_apart: impl Fn([u8; 32]) -> Make,
    ) -> Result<Option<(CompiledKernel, Origin)>, Refusal> {
        let key = cache.map(|cache| (cache, self.key()));
        // Who wants to see the text wants it written.
        let kept = key.as_ref().filter(|_| self.dump.is_none()).and_then(|(cache, key)| cache.load(key));
        let is_kept = |of: &[u8; 32]| key.as_ref().is_some_and(|(cache, key)| cache.has(&key.apart(of)));
        match kept {
            Some(Entry::Declined(why)) => return Err(why.into()),
            // Without a compiler nobody could make the rest.
            Some(Entry::Compiled(parts)) if !llvm::is_there() && parts.apart.is_some_and(|of| !is_kept(&of)) => {}
            Some(Entry::Compiled(parts)) => match self.assemble(*parts, &make_apart) {
                Ok(kernel) => return Ok(Some((kernel, Origin::Cache))),
                Err(why) => {
                    if let Some((cache, key)) = &key {
                        cache.refuse(key, &why);
                    }
                }
            },
            Some(Entry::Apart(_)) | None => {}
        }
        if !may_compile {
            return Ok(None);
        }
        let llvm = llvm()?;
        let (cpu, features) = self.processor(llvm.cpu(), llvm.features());
        let keep = |entry: &Entry| {
            if let Some((cache, key)) = &key {
                cache.store(key, entry);
            }
        };
        let written = self.write(&cpu, &features).inspect_err(|why| keep(&Entry::Declined(why.clone())))?;
        if let Some(folder) = self.dump {
            self.keep_text(folder, &written.text, "")?;
        }
        let made = llvm.compile(&written.text).map_err(|error| Refusal::defect(format!("LLVM says: {error}")))?;
        let fits = |stack: &u32| stack_need(*stack, written.apart.is_some()) <= WORKER_STACK;
        let needed = self.stack_of(&made.stacks);
        let stack = u32::try_from(needed).ok().filter(fits);
        let Some(stack) = stack else {
            let why = format!("its code needs {needed} bytes of stack");
            keep(&Entry::Declined(why.clone()));
            return Err(why.into());
        };
        let parts = Parts {
            stack,
            sites: written.sites,
            frames: written.frames,
            local: written.local,
            steps: written.steps,
            stops: written.stops,
            turns: written.turns,
            apart: written.apart.is_some().then(|| digest(&written.text)),
            object: made.bytes,
        };
        let entry = Entry::Compiled(Box::new(parts));
        keep(&entry);
        let Entry::Compiled(parts) = entry else { return Ok(None) };
        self.assemble(*parts, &make_apart).map(|kernel| Some((kernel, Origin::Compiler))).map_err(Refusal::defect)
    }

    /// The object file of what follows where a team is left, of the kernel whose text has this digest: out of the cache, or from the compiler. On the thread
    /// that compiles.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn run_apart(&self, cache: Option<&Cache>, of: [u8; 32]) -> Result<(Vec<u8>, Origin), String> {
        let key = cache.map(|cache| (cache, self.key().apart(&of)));
        let kept = key.as_ref().filter(|_| self.dump.is_none()).and_then(|(cache, key)| cache.load(key));
        if let Some(Entry::Apart(object)) = kept {
            return Ok((object, Origin::Cache));
        }
        let llvm = llvm()?;
        let (cpu, features) = self.processor(llvm.cpu(), llvm.features());
        let written = self.write(&cpu, &features)?;
        let text = written.apart.filter(|_| digest(&written.text) == of);
        let text = text.ok_or("the kernel is written in another way than before")?;
        if let Some(folder) = self.dump {
            self.keep_text(folder, &text, "-apart")?;
        }
        let made = llvm.compile(&text).map_err(|error| format!("LLVM says: {error}"))?;
        let entry = Entry::Apart(made.bytes);
        if let Some((cache, key)) = &key {
            cache.store(key, &entry);
        }
        let Entry::Apart(object) = entry else { return Err("it is no object".to_owned()) };
        Ok((object, Origin::Compiler))
    }

    /// Bytes of stack that code needs at most, of functions that need so many: of those that are called, for the deepest way down; of all others, which are parts of one another, together.
    fn stack_of(&self, stacks: &[(String, u64)]) -> u64 {
        let of = |function: FunctionId| {
            let name = codegen::called(function);
            stacks.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
        };
        let ids = (0..self.module.functions.len() as u32).map(FunctionId);
        let called: u64 = ids.filter(|id| *id != self.kernel).filter_map(of).sum();
        let all: u64 = stacks.iter().map(|(_, bytes)| bytes).sum();
        all - called + self.deepest(self.kernel, &of, &mut HashMap::new())
    }

    /// Of what a function calls, and all that those do.
    fn deepest(
        &self,
        function: FunctionId,
        of: &dyn Fn(FunctionId) -> Option<u64>,
        known: &mut HashMap<FunctionId, u64>,
    ) -> u64 {
        if let Some(bytes) = known.get(&function) {
            return *bytes;
        }
        let mut most = 0;
        for callee in called_by(self.module, function) {
            // What is too little to be told of is counted too, as there may be many on the way.
            let own = of(callee).unwrap_or(u64::from(SMALL_STACK));
            most = most.max(own + self.deepest(callee, of, known));
        }
        known.insert(function, most);
        most
    }

    fn key(&self) -> Key {
        Key::new(self.module, self.kernel, self.cta, &self.machine())
    }

    fn keep_text(&self, folder: &Path, text: &str, part: &str) -> Result<(), String> {
        let name = &self.module.functions[self.kernel.0 as usize].name;
        let [x, y, z] = self.cta;
        // Names of kernels may be as long as templates make them; files' may not.
        let name: String = name.chars().take(200).collect();
        let path = folder.join(format!("{name}-{x}x{y}x{z}{part}.ll"));
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("its text cannot be written to {}: {error}", path.display()))
    }

    /// The kernel in LLVM's text, for the processor that there is as LLVM names it, with what it has.
    ///
    /// # Errors
    /// Why it is not covered.
    pub(crate) fn write(&self, cpu: &str, features: &str) -> Result<Compiled, String> {
        if cfg!(target_arch = "x86_64") && !["+avx2", "+fma"].iter().all(|feature| features.contains(feature)) {
            return Err("the processor has no AVX2".to_owned());
        }
        let units = match () {
            () if features.contains("+avx512f") => VectorUnits::Avx512,
            () if cfg!(target_arch = "x86_64") => VectorUnits::Avx2,
            () => VectorUnits::Neon,
        };
        let analyze = |width| {
            let gangs = Gangs::new(self.cta, width)?;
            analyze(self.module, self.kernel, gangs).ok_or_else(|| "it is no kernel".to_owned())
        };
        let mut info = analyze(units.lanes())?;
        // AVX2 has gathers that are loads, and some take those of AVX-512 apart as well.
        let slow_gathers = units == VectorUnits::Avx2
            || matches!(microarchitecture(), Microarchitecture::Amd | Microarchitecture::SkylakeServer);
        let width = match self.style {
            Style::Threads if !runs_as_warps(&info) => 1,
            _ => preferred_width(&info, units, slow_gathers),
        };
        if width != units.lanes() {
            info = analyze(width)?;
        }
        let amd = microarchitecture() == Microarchitecture::Amd;
        let processor = codegen::Processor { name: cpu, features, fetches_rows: amd, loads_gathers: amd };
        compile_as(self.style, &info, &processor).map_err(|declined| declined.0)
    }

    /// For whom code is made, if the host is called so and has that.
    pub(crate) fn processor(&self, cpu: String, features: String) -> (String, String) {
        match self.target {
            Target::Host => (cpu, features),
            Target::V3 => ("x86-64-v3".to_owned(), "+avx2,+fma".to_owned()),
        }
    }

    /// What tells processors apart that run different code.
    fn machine(&self) -> String {
        let processor = match self.target {
            Target::Host => host().to_owned(),
            Target::V3 => format!("x86-64-v3 of {:?}", microarchitecture()),
        };
        format!("{processor} {:?}", self.style)
    }

    fn assemble(&self, parts: Parts, make_apart: impl Fn([u8; 32]) -> Make) -> Result<CompiledKernel, String> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let function = &self.module.functions[self.kernel.0 as usize];
        let body = function.body.as_ref().ok_or("it has no code")?;
        let processor = match self.target {
            Target::Host => Processor::V4,
            Target::V3 => Processor::V3,
        };
        let steps = Steps::new(self.module, self.kernel, &parts.steps, processor).map_err(|error| error.to_string())?;
        let body_of = |function: FunctionId| self.module.functions.get(function.0 as usize)?.body.as_ref();
        let place = |function: FunctionId, line: u32, loc: Option<LocId>| {
            let loc = loc.and_then(|loc| body_of(function)?.locs.get(loc.index()));
            let source = loc.and_then(|loc| Some((self.module.files.get(&loc.file)?.clone(), loc.line)));
            Place { ptx_line: Some(line), source, ..Place::default() }
        };
        let loc = |function: FunctionId, inst: u32| body_of(function)?.insts.get(inst as usize)?.loc;
        let sites = parts.sites.iter().map(|site| place(site.function, site.line, loc(site.function, site.inst)));
        let stops = parts.stops.iter().map(|stop| place(stop.function, stop.line, stop.loc));
        let at = |inst: u32, line: u32| place(self.kernel, line, loc(self.kernel, inst));
        let line = |function: FunctionId, inst: u32| Some(body_of(function)?.insts.get(inst as usize)?.line);
        let stepped = parts.steps.iter().map(|step| {
            place(step.function, line(step.function, step.inst).unwrap_or(0), loc(step.function, step.inst))
        });
        let meetings = parts.turns.iter().flat_map(|turns| &turns.meetings);
        let meetings = meetings.map(|inst| at(*inst, body.insts.get(*inst as usize).map_or(0, |inst| inst.line)));
        let places = sites.chain(stops).chain(stepped).chain(meetings);
        let first = (parts.sites.len() + parts.stops.len() + parts.steps.len()) as u64;
        let warps = self.cta.iter().product::<u32>().div_ceil(32);
        let ways = |turns| Ways::new(turns, body, parts.frames / warps, first, at);
        Ok(CompiledKernel {
            name: function.name.clone(),
            places: places.collect(),
            ways: parts.turns.as_ref().map(ways).transpose()?,
            code: object::load(&parts.object)?,
            apart: parts.apart.map(|of| Apart::new(make_apart(of))),
            stack_need: stack_need(parts.stack, parts.apart.is_some()),
            keeps_back: parts.sites.iter().any(|site| site.kept_back),
            sites: parts.sites,
            stops: parts.stops,
            frames: parts.frames,
            local: parts.local,
            stack: stack_bottom(body),
            shared: self.module.shared_layout(self.kernel).size,
            cta: self.cta,
            steps,
            through: body.runs_through().then_some(body.insts.len() as u64),
            independent: body.has_independent_ctas(),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }
}

/// Bytes of stack that a thread must have left to run code whose functions with more than a little need so many. What follows where a team is left, and is made
/// later, needs about as many.
fn stack_need(functions: u32, apart: bool) -> usize {
    /// For the other functions, and for what calls the code and is called by it.
    const REST: usize = 256 << 10;
    REST + (functions as usize) * if apart { 2 } else { 1 }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The processor that there is, by what it says of itself.
#[cfg(target_arch = "x86_64")]
fn host() -> &'static str {
    use std::arch::x86_64::{__cpuid_count, __get_cpuid_max};
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let mut words = Vec::new();
        // Model and features; what tells one core from another (APIC numbers) is left out.
        for (leaf, sub, mask) in [
            (0, 0, [false, true, true, true]),
            (1, 0, [true, false, true, true]),
            (7, 0, [false, true, true, true]),
            (7, 1, [true, true, true, true]),
            (0x24, 0, [false, true, false, false]),
            (0x8000_0001, 0, [false, false, true, true]),
        ] {
            let known = __get_cpuid_max(leaf & 0x8000_0000).0 >= leaf;
            let found = if known {
                __cpuid_count(leaf, sub)
            } else {
                std::arch::x86_64::CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 }
            };
            let registers = [found.eax, found.ebx, found.ecx, found.edx];
            words.extend(registers.into_iter().zip(mask).filter(|(_, used)| *used).map(|(register, _)| register));
        }
        // What the operating system saves is not in those words.
        let usable = [std::arch::is_x86_feature_detected!("avx2"), std::arch::is_x86_feature_detected!("avx512f")];
        format!("x86-64 {words:08x?} {usable:?}")
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn host() -> &'static str {
    std::env::consts::ARCH
}
