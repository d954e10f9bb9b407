//! Occupancy: how many CTAs a multiprocessor could hold. A worker thread stands for a multiprocessor and runs CTAs one
//! after another; the numbers are those of the emulated device, by which programs size their grids.
use crate::device::attribute;
use crate::driver::Driver;
use crate::module::Function;
use crate::{DriverError, DriverResult};

/// Threads of a warp.
const WARP: u64 = 32;
/// Shared memory is given out in units of this many bytes.
const SHARED_UNIT: u64 = 128;
/// Registers are given out to warps in units of this many.
const REGISTER_UNIT: u64 = 256;

/// Kilobytes that a multiprocessor may have as shared memory, as recorded of one that has 228 at most; those beyond its own are left out.
const SHARED_SIZES: [u64; 8] = [8, 16, 32, 64, 100, 132, 164, 196];

/// What a preference for shared memory or the first-level cache leaves of the most shared memory, in percent (`CUfunc_cache`): none says nothing.
fn percent_of(config: u32) -> Option<u64> {
    match config {
        1 => Some(100),
        2 => Some(0),
        3 => Some(50),
        _ => None,
    }
}

impl Driver {
    /// Bytes that a multiprocessor has as shared memory for a function of which one CTA needs so many: as recorded, the least that there can be as is asked for, in which
    /// that fits.
    fn shared_for(&self, function: &Function, needed: u64) -> DriverResult<u64> {
        let context = function.module().context();
        let most = u64::from(self.device_of(context)?.limit(attribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
        let asked = u64::try_from(function.carveout()).ok();
        let preferred = || percent_of(function.cache_config()).or_else(|| percent_of(context.cache_config()));
        let Some(percent) = asked.or_else(preferred) else { return Ok(most) };
        let fits = |bytes: &u64| bytes * 100 >= percent * most && *bytes >= needed;
        Ok(SHARED_SIZES.iter().map(|size| size << 10).take_while(|bytes| *bytes < most).find(fits).unwrap_or(most))
    }

    /// How many CTAs of `threads` threads fit a multiprocessor at once; 0 if not even one does.
    ///
    /// # Errors
    /// `InvalidValue` for 0 threads.
    pub fn resident_ctas(&self, function: &Function, threads: u64, dynamic_shared: u64) -> DriverResult<u32> {
        if threads == 0 {
            return Err(DriverError::invalid_value("CTAs of 0 threads"));
        }
        let device = self.device_of(function.module().context())?;
        let limit = |number| u64::from(device.limit(number));
        let shared = u64::from(function.static_shared()).saturating_add(dynamic_shared);
        // As recorded, what the kernel says about its largest CTA (`.maxntid`) does not count here. Its attribute of most dynamic shared memory counts
        // beyond what every kernel can have.
        let (most_threads, any) =
            (limit(attribute::MAX_THREADS_PER_BLOCK), limit(attribute::MAX_SHARED_MEMORY_PER_BLOCK));
        if threads > most_threads || shared > any && dynamic_shared > u64::from(function.max_dynamic_shared()) {
            return Ok(0);
        }
        let warps = threads.div_ceil(WARP);
        let shared = (shared + limit(attribute::RESERVED_SHARED_MEMORY_PER_BLOCK)).next_multiple_of(SHARED_UNIT);
        let registers = u64::from(function.resources().registers);
        let registers = (registers * WARP).next_multiple_of(REGISTER_UNIT) * warps;
        let fits = [
            limit(attribute::MAX_BLOCKS_PER_MULTIPROCESSOR),
            limit(attribute::MAX_THREADS_PER_MULTIPROCESSOR) / (warps * WARP),
            self.shared_for(function, shared)? / shared.max(1),
            limit(attribute::MAX_REGISTERS_PER_MULTIPROCESSOR) / registers,
        ];
        Ok(fits.into_iter().min().map_or(0, |ctas| ctas as u32))
    }

    /// The size of CTA, up to `most` threads (0 for no bound), that keeps most threads resident, and the number of CTAs
    /// that fill the device with it. `dynamic_shared` says how much shared memory a CTA of a size needs.
    ///
    /// # Errors
    /// `InvalidDevice` if the function's device is gone.
    pub fn best_cta(
        &self,
        function: &Function,
        most: u32,
        dynamic_shared: impl Fn(u32) -> u64,
    ) -> DriverResult<(u32, u32)> {
        let device = self.device_of(function.module().context())?;
        let bound = if most == 0 { function.max_threads() } else { most.min(function.max_threads()) };
        let (mut best, mut best_resident) = ((0, 0), 0);
        // Larger ones first: among equals the largest is taken. A bound that is no whole number of warps is tried too.
        let multiples = (1..=bound / WARP as u32).rev().map(|warps| warps * WARP as u32);
        let bound_itself = (bound % WARP as u32 != 0).then_some(bound);
        for threads in bound_itself.into_iter().chain(multiples) {
            let ctas = self.resident_ctas(function, u64::from(threads), dynamic_shared(threads))?;
            let resident = threads * ctas;
            if resident > best_resident {
                best_resident = resident;
                best = (threads, ctas * device.limit(attribute::MULTIPROCESSOR_COUNT));
            }
        }
        Ok(best)
    }

    /// Bytes of dynamic shared memory that each of `ctas` CTAs of a multiprocessor can have.
    ///
    /// # Errors
    /// `InvalidValue` if so many CTAs of `threads` threads do not fit.
    pub fn available_shared(&self, function: &Function, ctas: u32, threads: u32) -> DriverResult<u64> {
        let resident = self.resident_ctas(function, u64::from(threads), 0)?;
        if ctas == 0 || ctas > resident {
            return Err(DriverError::invalid_value(format!("{ctas} CTAs of {threads} threads; {resident} fit")));
        }
        let device = self.device_of(function.module().context())?;
        let limit = |number| u64::from(device.limit(number));
        let own = u64::from(function.static_shared());
        // As recorded: one CTA gets what it asks for, what the system reserves is not taken off, and no more is told than a launch of the function may ask for.
        let all = match ctas {
            1 => limit(attribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
            _ => self.shared_for(function, own + limit(attribute::RESERVED_SHARED_MEMORY_PER_BLOCK))?,
        };
        let share = all / u64::from(ctas) / SHARED_UNIT * SHARED_UNIT;
        Ok(share.saturating_sub(own).min(u64::from(function.max_dynamic_shared())))
    }
}
