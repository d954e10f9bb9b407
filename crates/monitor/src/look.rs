//! What processes show of themselves at one time.

use std::fs;
use std::time::Duration;

use warploom_exec::interprocess::activity::{self, ProcessActivity};

/// The time that rates are about: as much as has passed until now.
const PERIOD: Duration = Duration::from_secs(1);

/// See the head of the file.
#[derive(Debug)]
pub struct Look {
    /// As [`activity::now`] says it.
    at: u64,
    processes: Vec<ProcessActivity>,
}

/// What a process does with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessUse {
    /// The process.
    pub process: u32,
    /// Bytes of device memory that it has.
    pub memory: u64,
    /// In how many of a hundred parts of the last second its kernels ran.
    pub busy: u32,
}

impl Look {
    /// At all processes that this one may look into: those of the same user, or all for root.
    pub fn now() -> Look {
        // In this order: what is read later may say that something ran until after that time, which does not count.
        let processes = activity::all();
        Look { at: activity::now(), processes }
    }

    /// Bytes of a device's memory that processes have.
    pub fn used(&self, device: u32) -> u64 {
        self.processes.iter().filter_map(|process| process.devices.get(&device)).map(|part| part.used).sum()
    }

    /// In how many of a hundred parts of the last second kernels of any process ran on a device.
    pub fn busy(&self, device: u32) -> u32 {
        self.busy_before(device, Duration::ZERO, PERIOD)
    }

    /// The same of a period that ended some time ago; the period began at most three seconds ago. Kernels of several processes count one after the other.
    pub fn busy_before(&self, device: u32, ago: Duration, period: Duration) -> u32 {
        let end = self.at.saturating_sub(ago.as_nanos() as u64);
        let begin = end.saturating_sub(period.as_nanos() as u64);
        let parts = self.processes.iter().filter_map(|process| process.devices.get(&device));
        percent(parts.map(|part| part.busy(begin, end)).sum(), period)
    }

    /// The processes that have a context on a device, in ascending order of their numbers.
    pub fn processes(&self, device: u32) -> Vec<ProcessUse> {
        let begin = self.at.saturating_sub(PERIOD.as_nanos() as u64);
        let of_device = |process: &ProcessActivity| {
            let part = process.devices.get(&device).filter(|part| part.contexts > 0)?;
            let busy = percent(part.busy(begin, self.at), PERIOD);
            Some(ProcessUse { process: process.process, memory: part.used, busy })
        };
        self.processes.iter().filter_map(of_device).collect()
    }
}

fn percent(part: Duration, whole: Duration) -> u32 {
    ((100.0 * part.as_secs_f64() / whole.as_secs_f64()).round() as u32).min(100)
}

/// The path of a process's program, or how it was called if that is not to be seen; None if there is no such process.
pub fn name_of_process(process: u32) -> Option<String> {
    let folder = format!("/proc/{process}");
    let path = fs::read_link(format!("{folder}/exe")).ok().map(|path| path.to_string_lossy().into_owned());
    let called = || {
        let line = fs::read(format!("{folder}/cmdline")).ok()?;
        let first = line.split(|byte| *byte == 0).next().filter(|word| !word.is_empty())?;
        Some(String::from_utf8_lossy(first).into_owned())
    };
    let short = || Some(fs::read_to_string(format!("{folder}/comm")).ok()?.trim_end().to_owned());
    called().or(path).or_else(short)
}
