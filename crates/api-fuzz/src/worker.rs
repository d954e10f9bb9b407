//! A worker: rounds of calls, and the checks after each.

use std::fs::OpenOptions;
use std::os::fd::IntoRawFd;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fastrand::Rng;
use warploom_abi::CUresult;
use warploom_fuzzing::Resident;

use crate::Options;
use crate::arena::Arena;
use crate::arguments::{AWAITED, Arguments, Cells, Harvest, Shared};
use crate::cleaning::destroy_everything;
use crate::driver::Driver;
use crate::generated::FUNCTIONS;
use crate::pool::Pool;
use crate::progress::{self, MOST_THREADS, Progress};
use crate::scene::Scene;
use crate::seeding::Seeding;

/// Ends of a worker that are no finding.
pub(crate) const DONE: u8 = 0;
/// A kernel has faulted, after which nothing but errors comes from the driver.
pub(crate) const FAULTED: u8 = 20;
/// Something was found, and said on standard error.
pub(crate) const FOUND: u8 = 21;

const CALLS_PER_ROUND: u64 = 2500;

/// Calls that a round still makes after a kernel has faulted.
const CALLS_AFTER_FAULT: u64 = 150;

/// A call that takes longer than this hangs.
const LONGEST_CALL: Duration = Duration::from_secs(15);

/// Bytes by which the resident memory may be larger after the last round than after those that warm up, without device memory, which is
/// counted by itself and of which the driver keeps pages.
const RSS_SLACK: u64 = 24 << 20;
const WARM_UP: u64 = 4;

/// Those that answer `CUDA_ERROR_UNKNOWN` as recorded: for descriptors that are none of theirs, and where the process has no VDPAU or EGL.
const ANSWER_UNKNOWN: [&str; 9] = [
    "cuMemPoolImportFromShareableHandle",
    "cuImportExternalMemory",
    "cuImportExternalSemaphore",
    "cuVDPAUGetDevice",
    "cuVDPAUCtxCreate_v2",
    "cuGraphicsEGLRegisterImage",
    "cuEGLStreamConsumerConnect",
    "cuEGLStreamConsumerConnectWithFlags",
    "cuEGLStreamProducerConnect",
];

/// Everything that threads of a worker use.
struct Worker {
    driver: Driver,
    shared: Shared,
    progress: &'static Progress,
    /// Functions to choose from; those with a handler several times.
    choice: Vec<usize>,
    trace: bool,
    /// Milliseconds since the start, by thread, at which its call began.
    started: [AtomicU64; MOST_THREADS],
    start: Instant,
    over: AtomicBool,
}

/// Runs as a worker.
pub(crate) fn run(options: &Options, progress: &Path) -> Result<ExitCode> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(progress)?;
    let libcuda = options.libcuda.canonicalize()?;
    // Calls are given names of files, relative ones too, some of which they write.
    let folder = progress.parent().filter(|folder| !folder.as_os_str().is_empty());
    std::env::set_current_dir(folder.context("the file of the progress stands in no folder")?)?;
    let mut rng = Rng::with_seed(options.seed);
    let driver = Driver::load(&libcuda)?;
    let started = driver.call("cuInit", &[0]);
    if started != CUresult::CUDA_SUCCESS {
        bail!("cuInit answers {started:?}");
    }
    let cells = Cells::new(&driver)?;
    let choice = choice(&driver);
    let shared = Shared { pool: Mutex::new(Pool::default()), scene: Scene::new(&mut rng)?, cells };
    let worker = Worker {
        driver,
        shared,
        progress: progress::map(&file)?,
        choice,
        trace: options.trace,
        started: [const { AtomicU64::new(0) }; MOST_THREADS],
        start: Instant::now(),
        over: AtomicBool::new(false),
    };
    let code = std::thread::scope(|scope| {
        scope.spawn(|| worker.watch());
        let _over = Over(&worker.over);
        worker.rounds(options)
    });
    match code {
        Ok(code) => Ok(ExitCode::from(code)),
        Err(finding) => {
            eprintln!("finding: {finding:#}");
            Ok(ExitCode::from(FOUND))
        }
    }
}

/// Ends the watch, also when a panic does.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Each function once, and ten times more if it does more than to say that it is not supported.
fn choice(driver: &Driver) -> Vec<usize> {
    let mut choice = Vec::new();
    for (index, function) in FUNCTIONS.iter().enumerate() {
        let weight = match function.symbol {
            // These end what the others need: rarely is enough.
            "cuCtxDestroy" | "cuCtxDestroy_v2" | "cuDevicePrimaryCtxReset" | "cuDevicePrimaryCtxReset_v2" => 3,
            symbol if driver.call(symbol, &[]) == CUresult::CUDA_ERROR_NOT_SUPPORTED => 1,
            _ => 10,
        };
        choice.extend(std::iter::repeat_n(index, weight));
    }
    choice
}

impl Cells {
    /// Memory in a context that nobody else knows.
    fn new(driver: &Driver) -> Result<Cells> {
        let context = driver.ask("cuCtxCreate_v2", |output| vec![output, 0, 0]).context("no context")?;
        let base = driver.ask("cuMemAllocHost_v2", |output| vec![output, 64]).context("no pinned memory")?;
        driver
            .ask("cuCtxPopCurrent_v2", |output| vec![output])
            .filter(|popped| *popped == context)
            .context("no pop")?;
        Ok(Cells { addresses: (0..4).map(|index| base + 16 * index).collect() })
    }

    /// Stores one of the awaited values in all cells.
    fn store(&self, turn: usize) {
        for address in &self.addresses {
            // SAFETY: the memory is the driver's and stays for the life of the process; others only look at it.
            unsafe {
                let cell = std::ptr::with_exposed_provenance_mut::<u64>(*address as usize);
                AtomicU64::from_ptr(cell).store(AWAITED[turn % AWAITED.len()], Ordering::Release);
            }
        }
    }
}

fn lock(pool: &Mutex<Pool>) -> MutexGuard<'_, Pool> {
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Worker {
    /// Ends waits of streams, and the process if a call hangs.
    fn watch(&self) {
        let hangs = |index: u32| -> ! {
            eprintln!("finding: {} hangs", FUNCTIONS[index as usize - 1].symbol);
            std::process::abort();
        };
        let (mut named, mut named_since) = (0, 0);
        for turn in 0.. {
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            self.shared.cells.store(turn);
            self.shared.scene.descriptors.signal(turn);
            std::thread::sleep(Duration::from_millis(1));
            let (now, longest) = (self.now(), LONGEST_CALL.as_millis() as u64);
            for (current, since) in self.progress.current.iter().zip(&self.started) {
                let index = current.load(Ordering::Relaxed);
                if index != 0 && now.saturating_sub(since.load(Ordering::Relaxed)) > longest {
                    hangs(index);
                }
            }
            let (calls, index) = self.driver.named_calls();
            if calls != named || index == 0 {
                (named, named_since) = (calls, now);
            } else if now - named_since > longest {
                hangs(index);
            }
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    fn rounds(&self, options: &Options) -> Result<u8> {
        let mut memory_at_start = None;
        let mut resident_when_warm: Option<Resident> = None;
        for round in 0..options.rounds {
            if self.start.elapsed().as_secs() >= options.seconds {
                break;
            }
            // The last rounds are shared among threads.
            let threads = if round % 4 == 3 { 3 } else { 1 };
            let seed = options.seed.wrapping_mul(1_000_003).wrapping_add(round);
            if self.round(seed, threads)? {
                return Ok(FAULTED);
            }
            let addresses = lock(&self.shared.pool).all("CUdeviceptr_v2").to_vec();
            destroy_everything(&self.driver, &mut lock(&self.shared.pool), &self.shared.scene);
            if !self.shared.scene.source_is_unchanged() {
                bail!("memory that calls may only read was written");
            }
            let Some(memory) = self.free_memory()? else { return Ok(FAULTED) };
            let before = *memory_at_start.get_or_insert(memory);
            if memory < before {
                let left: Vec<u64> = addresses.into_iter().filter(|address| self.is_allocated(*address)).collect();
                let lost = before - memory;
                bail!("{lost} bytes of device memory are gone after round {round}; still allocated: {left:#x?}");
            }
            let resident = self.resident()?;
            if options.trace {
                eprintln!("round {round}: {} bytes resident", resident.bytes());
            }
            match &resident_when_warm {
                Some(warm) if resident.bytes() > warm.bytes() + RSS_SLACK => bail!(
                    "resident memory grew from {} to {} bytes in {} rounds: {}",
                    warm.bytes(),
                    resident.bytes(),
                    round - WARM_UP,
                    resident.growth_since(warm)
                ),
                None if round == WARM_UP => resident_when_warm = Some(resident),
                _ => {}
            }
        }
        Ok(DONE)
    }

    /// Whether a kernel has faulted.
    fn round(&self, seed: u64, threads: usize) -> Result<bool> {
        let results: Vec<Result<bool>> = std::thread::scope(|scope| {
            let call =
                |thread: usize| move || self.calls(thread, Rng::with_seed(seed ^ (thread as u64) << 56), threads);
            let running: Vec<_> = (1..threads).map(|thread| scope.spawn(call(thread))).collect();
            let first = call(0)();
            let others = running.into_iter().map(|thread| thread.join().expect("the worker itself does not panic"));
            std::iter::once(first).chain(others).collect()
        });
        results.into_iter().try_fold(false, |faulted, result| Ok(faulted | result?))
    }

    fn calls(&self, thread: usize, mut rng: Rng, threads: usize) -> Result<bool> {
        let mut arena = Arena::new()?;
        let mut left = CALLS_PER_ROUND / threads as u64;
        let mut faulted = false;
        while left > 0 {
            left -= 1;
            if left.is_multiple_of(64) {
                self.have_a_context(&mut rng);
            }
            let index = *rng.choice(&self.choice).expect("there are functions");
            let result = self.one_call(thread, index, &mut rng, &mut arena)?;
            if is_sticky(result) && !faulted {
                faulted = true;
                left = left.min(CALLS_AFTER_FAULT);
            }
        }
        Ok(faulted)
    }

    /// Most functions want a current context: after a while without one, there is one again, and something in it.
    fn have_a_context(&self, rng: &mut Rng) {
        let current = self.driver.ask("cuCtxGetCurrent", |output| vec![output]);
        if current.is_some_and(|context| context != 0) {
            if rng.u8(..8) == 0 {
                self.seed(rng);
            }
            return;
        }
        let context = if rng.bool() {
            self.driver.ask("cuDevicePrimaryCtxRetain", |output| vec![output, 0])
        } else {
            self.driver.ask("cuCtxCreate_v2", |output| vec![output, 0, 0])
        };
        let Some(context) = context else { return };
        self.driver.call("cuCtxSetCurrent", &[context]);
        lock(&self.shared.pool).add("CUcontext", context);
        self.seed(rng);
    }

    fn seed(&self, rng: &mut Rng) {
        let mut pool = lock(&self.shared.pool);
        Seeding { driver: &self.driver, pool: &mut pool, scene: &self.shared.scene }.some(rng);
    }

    fn one_call(&self, thread: usize, index: usize, rng: &mut Rng, arena: &mut Arena) -> Result<CUresult> {
        let function = &FUNCTIONS[index];
        let (slots, harvest, descriptors) = {
            let pool = lock(&self.shared.pool);
            let mut arguments = Arguments::new(function, rng, arena, &pool, &self.shared, self.trace);
            let slots = arguments.slots();
            if let Some(text) = arguments.text {
                eprint!("{thread}: {}{text}", function.symbol);
            }
            (slots, arguments.harvest, arguments.descriptors)
        };
        self.started[thread].store(self.now(), Ordering::Relaxed);
        self.progress.current[thread].store(index as u32 + 1, Ordering::Relaxed);
        let result = self.driver.call_at(index, &slots);
        self.progress.current[thread].store(0, Ordering::Relaxed);
        if self.trace {
            eprintln!(" = {result:?}");
        }
        self.progress.calls.fetch_add(1, Ordering::Relaxed);
        let counts = &self.progress.by_function[index];
        counts.calls.fetch_add(1, Ordering::Relaxed);
        match result {
            CUresult::CUDA_SUCCESS => {
                counts.successes.fetch_add(1, Ordering::Relaxed);
                self.harvest(&harvest, arena);
                // The driver's now, as documented; the others are closed here, which fails loudly if the driver has.
                descriptors.into_iter().for_each(|descriptor| _ = descriptor.into_raw_fd());
            }
            CUresult::CUDA_ERROR_NOT_SUPPORTED => _ = counts.unsupported.fetch_add(1, Ordering::Relaxed),
            _ => {}
        }
        arena.take_back().map_err(|damage| anyhow::anyhow!("{} {damage}", function.symbol))?;
        // What a panic answers.
        if result == CUresult::CUDA_ERROR_UNKNOWN && !ANSWER_UNKNOWN.contains(&function.symbol) {
            bail!("{} panics", function.symbol);
        }
        Ok(result)
    }

    fn harvest(&self, harvest: &[Harvest], arena: &Arena) {
        const UNTOUCHED: u64 = 0x5a5a_5a5a_5a5a_5a5a;
        let mut pool = lock(&self.shared.pool);
        for Harvest { address, kind, size } in harvest {
            for value in arena.contents(*address).unwrap_or_default().chunks_exact(*size) {
                let word = value.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
                if word != UNTOUCHED && *size == 8 {
                    pool.add(kind, word);
                    if self.trace {
                        eprintln!("  {kind} {word:#x}");
                    }
                }
            }
        }
    }

    /// Whether an address lies in an allocation.
    fn is_allocated(&self, address: u64) -> bool {
        const MEMORY_TYPE: u64 = 2;
        self.driver.ask("cuPointerGetAttribute", |output| vec![output, MEMORY_TYPE, address]).is_some()
    }

    /// Of all devices together, as the driver counts it, in contexts that are gone afterwards; None if a kernel has faulted meanwhile.
    fn free_memory(&self) -> Result<Option<u64>> {
        let devices = self.driver.ask("cuDeviceGetCount", |output| vec![output]).context("no devices")?;
        let mut free = 0;
        for device in 0..devices {
            let mut context = 0_u64;
            let output = (&raw mut context).expose_provenance() as u64;
            let created = self.driver.call("cuCtxCreate_v2", &[output, 0, device]);
            if is_sticky(created) {
                return Ok(None);
            }
            if created != CUresult::CUDA_SUCCESS {
                bail!("no context after a round: {created:?}");
            }
            let mut total = 0_u64;
            let total = (&raw mut total).expose_provenance() as u64;
            free += self.driver.ask("cuMemGetInfo_v2", |output| vec![output, total]).context("no information")?;
            self.driver.call("cuCtxDestroy_v2", &[context]);
        }
        Ok(Some(free))
    }

    /// What of this process has pages, without device memory and without what is free already.
    fn resident(&self) -> Result<Resident> {
        let mut context = 0_u64;
        self.driver.call("cuCtxCreate_v2", &[(&raw mut context).expose_provenance() as u64, 0, 0]);
        let address = self.driver.ask("cuMemAlloc_v2", |output| vec![output, 16]).context("no device memory")?;
        // The allocator keeps pages of what was freed, in a heap for each thread: one large temporary in each would look like a leak.
        // SAFETY: it changes nothing but the pages of memory that nobody owns.
        unsafe { libc::malloc_trim(0) };
        let outside = Resident::outside(address);
        self.driver.call("cuCtxDestroy_v2", &[context]);
        outside
    }
}

/// Whether a result says that a kernel has faulted, after which every call says so.
fn is_sticky(result: CUresult) -> bool {
    matches!(result.0, 700 | 702 | 710 | 714..=719)
}
