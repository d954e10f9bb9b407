//! Options of the translation of PTX, and the logs that go back into the option values.
use std::time::Duration;

use warploom_abi::CUjit_option;
use warploom_driver::module::{JitLogs, JitOptions};
use warploom_driver::{DriverError, DriverResult, ErrorCode};

use crate::border::{HostPtr, InArray, Kept, write_log};
use crate::process::driver;

/// A log buffer that the caller gave, with the place of its size among the values.
#[derive(Clone, Copy, Default)]
struct LogBuffer {
    address: Option<HostPtr>,
    size: Option<(usize, usize)>,
}

impl LogBuffer {
    /// A buffer needs a size, and an address unless the size is 0; a size without a buffer is refused, as recorded.
    fn check(&self) -> DriverResult {
        match (self.address, self.size) {
            (Some(_), None) => Err(DriverError::invalid_value("a log buffer without a size")),
            (None, Some(_)) => Err(DriverError::invalid_value("the size of a log buffer without the buffer")),
            (Some(address), Some((_, size))) if address.is_null() && size > 0 => {
                Err(DriverError::invalid_value("a log buffer that is NULL"))
            }
            _ => Ok(()),
        }
    }
}

/// The options of one call.
pub(super) struct Jit {
    /// What they mean for the translation.
    pub(super) options: JitOptions,
    values: Kept<HostPtr>,
    errors: LogBuffer,
    info: LogBuffer,
    wall_time: Option<usize>,
    /// The place of what `CU_JIT_THREADS_PER_BLOCK` asks for, and that.
    threads: Option<(usize, u32)>,
}

/// Options that belong to a link as a whole, and are refused for one of its inputs (recorded).
const OF_LINKS: [CUjit_option; 15] = [
    CUjit_option::CU_JIT_TARGET_FROM_CUCONTEXT,
    CUjit_option::CU_JIT_TARGET,
    CUjit_option::CU_JIT_FALLBACK_STRATEGY,
    CUjit_option::CU_JIT_GLOBAL_SYMBOL_NAMES,
    CUjit_option::CU_JIT_GLOBAL_SYMBOL_ADDRESSES,
    CUjit_option::CU_JIT_GLOBAL_SYMBOL_COUNT,
    CUjit_option::CU_JIT_LTO,
    CUjit_option::CU_JIT_FTZ,
    CUjit_option::CU_JIT_PREC_DIV,
    CUjit_option::CU_JIT_REFERENCED_KERNEL_NAMES,
    CUjit_option::CU_JIT_REFERENCED_KERNEL_COUNT,
    CUjit_option::CU_JIT_REFERENCED_VARIABLE_NAMES,
    CUjit_option::CU_JIT_REFERENCED_VARIABLE_COUNT,
    CUjit_option::CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES,
    CUjit_option::CU_JIT_BINARY_LOADER_THREAD_COUNT,
];

/// Reads the options of one input of a link.
pub(super) fn read_of_input(
    count: u32,
    options: &InArray<'_, CUjit_option>,
    values: &InArray<'_, HostPtr>,
) -> DriverResult {
    let named = options.get(count as usize, "options")?;
    if let Some(name) = named.iter().find(|name| OF_LINKS.contains(name)) {
        return Err(DriverError::invalid_value(format!("{name:?} is for a link, not for one of its inputs")));
    }
    read(count, options, values).map(drop)
}

/// Architectures that `CU_JIT_TARGET` can name.
const TARGETS: [usize; 18] = [30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90];
const LATER_TARGETS: [usize; 6] = [100, 101, 103, 110, 120, 121];

/// Reads the options of a call, as recorded: values out of range are refused, and what means nothing on a CPU is accepted.
pub(super) fn read(
    count: u32,
    options: &InArray<'_, CUjit_option>,
    values: &InArray<'_, HostPtr>,
) -> DriverResult<Jit> {
    let count = count as usize;
    let names = options.get(count, "options")?;
    let given = values.get(count, "optionValues")?;
    let mut jit = Jit {
        options: JitOptions::default(),
        values: values.keep(),
        errors: LogBuffer::default(),
        info: LogBuffer::default(),
        wall_time: None,
        threads: None,
    };
    for (index, (name, value)) in names.into_iter().zip(given).enumerate() {
        let number = value.addr();
        let refuse = || Err(DriverError::invalid_value(format!("{name:?} cannot be {number}")));
        match name {
            CUjit_option::CU_JIT_MAX_REGISTERS => match number as u32 {
                0 => return refuse(),
                most => jit.options.most_registers = Some(most),
            },
            CUjit_option::CU_JIT_THREADS_PER_BLOCK => jit.threads = Some((index, number as u32)),
            // As recorded: an option of compilers that are gone.
            CUjit_option::CU_JIT_NEW_SM3X_OPT if number != 0 => {
                return Err(DriverError::new(ErrorCode::InvalidPtx, "CU_JIT_NEW_SM3X_OPT is no longer available"));
            }
            CUjit_option::CU_JIT_WALL_TIME => jit.wall_time = Some(index),
            CUjit_option::CU_JIT_INFO_LOG_BUFFER => jit.info.address = Some(value),
            CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES => jit.info.size = Some((index, number as u32 as usize)),
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER => jit.errors.address = Some(value),
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES => jit.errors.size = Some((index, number as u32 as usize)),
            CUjit_option::CU_JIT_TARGET => jit.options.target = Some(target(number)?),
            CUjit_option::CU_JIT_LOG_VERBOSE => jit.options.verbose = number != 0,
            CUjit_option::CU_JIT_CACHE_MODE if number > 2 => return refuse(),
            CUjit_option::CU_JIT_BINARY_LOADER_THREAD_COUNT if driver()?.options().machine.cuda_version <= 13_000 => {
                return refuse();
            }
            CUjit_option(0..=35) => {}
            _ => return Err(DriverError::invalid_value(format!("{} is no option", name.0))),
        }
    }
    jit.errors.check()?;
    jit.info.check()?;
    Ok(jit)
}

/// The compute capability that a value of `CU_JIT_TARGET` names: architecture-specific ones carry a bit above the number.
fn target(value: usize) -> DriverResult<u32> {
    let number = value & 0xffff;
    if !TARGETS.contains(&number) && !LATER_TARGETS.contains(&number) {
        return Err(DriverError::invalid_value(format!("CU_JIT_TARGET cannot be {value}")));
    }
    let capability = driver()?.device(0)?.capability();
    if number as u32 != capability {
        let reason = format!("code for sm_{number} does not run on this device, sm_{capability}");
        return Err(DriverError::new(ErrorCode::InvalidSource, reason));
    }
    Ok(capability)
}

/// For how many threads of a CTA code is made that is to be for so many at least: whole warps, as recorded.
fn threads_of_block(threads: u32) -> u32 {
    const WARP: u32 = 32;
    const MOST: u32 = 1024;
    threads.clamp(WARP, MOST).next_multiple_of(WARP)
}

impl Jit {
    /// Whether there is a place for what is said of the translation.
    pub(super) fn wants_logs(&self) -> bool {
        let logs = self.errors.address.is_some() || self.info.address.is_some();
        logs || self.wall_time.is_some() || self.threads.is_some()
    }

    /// Hands the logs out: into the buffers, and their sizes and the time into the option values.
    pub(super) fn report(&self, logs: &JitLogs) {
        if let Some((index, threads)) = self.threads {
            self.values.list().write_back_number(index, threads_of_block(threads) as usize);
        }
        self.write(&self.errors, &logs.errors);
        self.write(&self.info, &logs.info);
        if let Some(index) = self.wall_time {
            self.write_time(index, logs.time);
        }
    }

    /// The size of a log that was cut off is that of the buffer, and without room for one character 0, as recorded.
    fn write(&self, buffer: &LogBuffer, text: &str) {
        let Some((index, size)) = buffer.size else { return };
        let written = match buffer.address {
            Some(address) if size > 0 => write_log(address, size, text),
            _ => 0,
        };
        let len = if written < text.len() && written > 0 { size } else { written };
        self.values.list().write_back_number(index, len);
    }

    /// A float in milliseconds in the low half of the value; the high half stays.
    fn write_time(&self, index: usize, time: Duration) {
        let old = self.values.list().at("optionValues", index).map_or(0, HostPtr::addr) as u64;
        let milliseconds = time.as_secs_f32() * 1e3;
        let new = old & !0xffff_ffff | u64::from(milliseconds.to_bits());
        self.values.list().write_back_number(index, new as usize);
    }
}
