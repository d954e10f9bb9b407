//! Settings of coredumps (`cuCoredump*`): programs set them and ask for them, so they are kept, though no core of a device is written.
//! Which values and sizes are taken is as recorded.
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
    pub(crate) fn for_context() -> CoredumpSettings {
        CoredumpSettings { of_context: true, ..GLOBAL.lock().clone() }
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

fn exactly(value: &[u8], size: usize) -> DriverResult<Vec<u8>> {
    if value.len() != size {
        return Err(DriverError::invalid_value(format!("{size} bytes, {} are expected", value.len())));
    }
    Ok(value.to_vec())
}
