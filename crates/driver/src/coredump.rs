//! Coredumps (`cuCoredump*`): their settings, and the file that is written when a kernel faults. There is no state of a GPU to write: the file is the report
//! of the fault, for people. Which values and sizes are taken is as recorded.
mod environment;

pub use environment::CoredumpEnvironment;

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use crate::error::{DriverError, DriverResult};
use crate::generated::ErrorCode;

/// Bytes of a file name, with the NUL.
const NAME: usize = 1024;

/// One setting (`CUcoredumpSettings`, whose numbers begin at 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of CUcoredumpSettings say it")]
pub enum CoredumpSetting {
    EnableOnException,
    TriggerHost,
    Lightweight,
    EnableUserTrigger,
    File,
    Pipe,
    GenerationFlags,
}

impl CoredumpSetting {
    /// The setting with a number.
    ///
    /// # Errors
    /// `InvalidValue`.
    pub fn from_number(number: u32) -> DriverResult<CoredumpSetting> {
        use CoredumpSetting as S;
        let all = [
            S::EnableOnException,
            S::TriggerHost,
            S::Lightweight,
            S::EnableUserTrigger,
            S::File,
            S::Pipe,
            S::GenerationFlags,
        ];
        let found = (number as usize).checked_sub(1).and_then(|index| all.get(index));
        found.copied().ok_or_else(|| DriverError::invalid_value(format!("{number} is no setting of coredumps")))
    }

    /// Bytes of its largest value.
    pub fn size(self) -> usize {
        match self {
            CoredumpSetting::File | CoredumpSetting::Pipe => NAME,
            CoredumpSetting::GenerationFlags => size_of::<u32>(),
            _ => size_of::<bool>(),
        }
    }

    /// Whether only the process has it, not each context.
    fn is_global(self) -> bool {
        matches!(self, CoredumpSetting::EnableUserTrigger | CoredumpSetting::Pipe)
    }
}

/// The settings of the process or of a context.
#[derive(Clone, Debug)]
pub struct CoredumpSettings {
    of_context: bool,
    flags: [u8; 4],
    file: Vec<u8>,
    pipe: Vec<u8>,
    generation: [u8; 4],
}

/// What contexts begin with, and what holds for the process. It can be set before there is a driver.
static GLOBAL: Mutex<CoredumpSettings> = Mutex::new(CoredumpSettings {
    of_context: false,
    flags: [0, 1, 0, 0],
    file: Vec::new(),
    pipe: Vec::new(),
    generation: [0; 4],
});

impl CoredumpSettings {
    /// Those of the process.
    pub fn of_process() -> &'static Mutex<CoredumpSettings> {
        &GLOBAL
    }

    /// Those that a new context has.
    fn for_context() -> CoredumpSettings {
        CoredumpSettings { of_context: true, ..GLOBAL.lock().clone() }
    }

    /// Where the file goes if a fault is to leave one.
    fn file_of_faults(&self) -> Option<PathBuf> {
        if self.flags[CoredumpSetting::EnableOnException as usize] == 0 {
            return None;
        }
        let name = if self.file.is_empty() { DEFAULT_NAME } else { &self.file };
        Some(PathBuf::from(OsString::from_vec(expanded(name))))
    }

    fn check(&self, setting: CoredumpSetting) -> DriverResult {
        if self.of_context && setting.is_global() {
            return Err(DriverError::invalid_value(format!(
                "{setting:?} is a setting of the process, not of contexts"
            )));
        }
        Ok(())
    }

    /// Bytes of the largest value of a setting.
    ///
    /// # Errors
    /// `InvalidValue` for a setting that contexts do not have.
    pub fn size(&self, setting: CoredumpSetting) -> DriverResult<usize> {
        self.check(setting).map(|()| setting.size())
    }

    /// The value, for a place of `room` bytes: a file name with zeros behind it.
    ///
    /// # Errors
    /// `InvalidValue` for a place of another size than the value's, or too small for the name.
    pub fn get(&self, setting: CoredumpSetting, room: usize) -> DriverResult<Vec<u8>> {
        self.check(setting)?;
        let name = match setting {
            CoredumpSetting::File => &self.file,
            CoredumpSetting::Pipe => &self.pipe,
            CoredumpSetting::GenerationFlags => return exactly(&self.generation, room),
            one => return exactly(&self.flags[one as usize..=one as usize], room),
        };
        if !name.is_empty() && room <= name.len() {
            return Err(DriverError::invalid_value(format!("{room} bytes for a name of {}", name.len())));
        }
        let mut bytes = name.clone();
        bytes.resize(room.min(NAME), 0);
        Ok(bytes)
    }

    /// Changes a setting. A file name ends at its first NUL.
    ///
    /// # Errors
    /// `InvalidValue` for a value of the wrong size; `NotSupported` for the pipe once the driver is `initialized`.
    pub fn set(&mut self, setting: CoredumpSetting, value: &[u8], initialized: bool) -> DriverResult {
        self.check(setting)?;
        let text = || value.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
        match setting {
            CoredumpSetting::File | CoredumpSetting::Pipe if value.len() > NAME => {
                return Err(DriverError::invalid_value(format!("a name of {} bytes", value.len())));
            }
            CoredumpSetting::Pipe if initialized => {
                return Err(DriverError::new(ErrorCode::NotSupported, "the pipe is set before cuInit"));
            }
            CoredumpSetting::File => self.file = text(),
            CoredumpSetting::Pipe => self.pipe = text(),
            CoredumpSetting::GenerationFlags => self.generation.copy_from_slice(&exactly(value, 4)?),
            one => {
                let value = exactly(value, 1)?[0];
                let only_a_bit = matches!(one, CoredumpSetting::TriggerHost | CoredumpSetting::Lightweight);
                self.flags[one as usize] = if only_a_bit { u8::from(value != 0) } else { value };
            }
        }
        Ok(())
    }
}

/// The name of the file where none was set, as documented.
const DEFAULT_NAME: &[u8] = b"core.cuda.%h.%p";

/// A name in which `%h`, `%p` and `%t` stand for the host, the process and the time in seconds, and `%%` for a `%`.
fn expanded(name: &[u8]) -> Vec<u8> {
    let mut expanded = Vec::new();
    let mut rest = name.iter();
    while let Some(byte) = rest.next() {
        if *byte != b'%' {
            expanded.push(*byte);
            continue;
        }
        match rest.next() {
            Some(b'h') => {
                let host = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
                expanded.extend(host.trim_ascii());
            }
            Some(b'p') => expanded.extend(std::process::id().to_string().bytes()),
            Some(b'%') => expanded.push(b'%'),
            Some(b't') => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                expanded.extend(now.as_secs().to_string().bytes());
            }
            Some(other) => expanded.extend([b'%', *other]),
            None => expanded.push(b'%'),
        }
    }
    expanded
}

/// The settings of the contexts of a device.
#[derive(Default)]
pub(crate) struct Coredumps(Mutex<Vec<Weak<Mutex<CoredumpSettings>>>>);

impl Coredumps {
    /// Those of a new context.
    pub(crate) fn for_context(&self) -> Arc<Mutex<CoredumpSettings>> {
        let settings = Arc::new(Mutex::new(CoredumpSettings::for_context()));
        let mut all = self.0.lock();
        all.retain(|known| known.strong_count() != 0);
        all.push(Arc::downgrade(&settings));
        settings
    }

    /// Writes the report of a fault for the first context that asks for it; what to say of it.
    pub(crate) fn write(&self, report: &str) -> Option<String> {
        let known = self.0.lock().clone();
        let path = known.iter().filter_map(Weak::upgrade).find_map(|settings| settings.lock().file_of_faults())?;
        let program = std::env::args_os().next().unwrap_or_default();
        let head = format!("process {} ({})\n", std::process::id(), program.display());
        let written = std::fs::File::create(&path)
            .and_then(|mut file| file.write_all(head.as_bytes()).and_then(|()| file.write_all(report.as_bytes())));
        Some(match written {
            Ok(()) => format!("  = the report is in {}\n", path.display()),
            Err(error) => format!("  = the report cannot be written to {}: {error}\n", path.display()),
        })
    }
}

fn exactly(value: &[u8], size: usize) -> DriverResult<Vec<u8>> {
    if value.len() != size {
        return Err(DriverError::invalid_value(format!("{size} bytes, {} are expected", value.len())));
    }
    Ok(value.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_host_process_and_time() {
        let process = std::process::id().to_string();
        assert_eq!(expanded(b"a%pb%%c%"), format!("a{process}b%c%").into_bytes());
        let text = String::from_utf8(expanded(DEFAULT_NAME)).expect("names of hosts are text");
        assert!(text.starts_with("core.cuda.") && text.ends_with(&process) && !text.contains('%'), "{text}");
        assert!(expanded(b"%t").iter().all(u8::is_ascii_digit));
    }
}
