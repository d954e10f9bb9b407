//! What the variables of the environment ask of coredumps (CUDA-GDB's manual, "GPU core dump support"). Which values count, and for what, is as recorded:
//! `tests/c/answers/arrays.c`. `CUDA_ENABLE_LIGHTWEIGHT_COREDUMP` changes no setting.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::{CoredumpSetting, CoredumpSettings, expanded};

/// Bits of `CUcoredumpGenerationFlags`, by the names that `CUDA_COREDUMP_GENERATION_FLAGS` has for them.
const FLAGS: [(&str, u32); 6] = [
    ("skip_nonrelocated_elf_images", 1),
    ("skip_global_memory", 2),
    ("skip_shared_memory", 4),
    ("skip_local_memory", 8),
    ("skip_abort", SKIP_ABORT),
    ("skip_constbank_memory", 32),
];

/// The host goes on, without a dump of its own.
const SKIP_ABORT: u32 = 16;

/// All that a dump can leave out of the device's state.
const LIGHTWEIGHT: u32 = 47;

/// What the environment asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoredumpEnvironment {
    on_exception: bool,
    user_trigger: bool,
    file: Option<Vec<u8>>,
    pipe: Option<Vec<u8>>,
    /// Bits of `CUcoredumpGenerationFlags`.
    generation: Option<u32>,
}

impl CoredumpEnvironment {
    /// Reads the variables through `variable`, and says which words it does not know.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> (CoredumpEnvironment, Vec<String>) {
        let is = |name: &str, value: &str| variable(name).is_some_and(|text| text == value);
        let given = |name: &str| variable(name).filter(|text| !text.is_empty());
        let name = |variable: &str| given(variable).map(|text| expanded(&text.into_vec()));
        let mut complaints = Vec::new();
        let mut generation = is("CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION", "0").then_some(SKIP_ABORT);
        // It takes the place of the former.
        if let Some(text) = given("CUDA_COREDUMP_GENERATION_FLAGS") {
            let text = text.to_string_lossy();
            let mut bits = 0;
            for word in text.split(',') {
                match FLAGS.iter().find(|(name, _)| *name == word) {
                    Some((_, bit)) => bits |= bit,
                    None => complaints.push(format!("CUDA_COREDUMP_GENERATION_FLAGS: {word} is no flag, and ignored")),
                }
            }
            generation = Some(bits);
        }
        let user_trigger = is("CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "1");
        let environment = CoredumpEnvironment {
            // Who may ask for a dump at any time gets one of a fault too.
            on_exception: user_trigger || is("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"),
            user_trigger,
            file: name("CUDA_COREDUMP_FILE"),
            pipe: name("CUDA_COREDUMP_PIPE"),
            generation,
        };
        (environment, complaints)
    }

    /// Changes the settings of the process, when the driver is initialised.
    pub fn apply(&self, settings: &mut CoredumpSettings) {
        let mut set = |setting: CoredumpSetting, value: bool| settings.flags[setting as usize] = u8::from(value);
        if self.on_exception {
            set(CoredumpSetting::EnableOnException, true);
        }
        if self.user_trigger {
            set(CoredumpSetting::EnableUserTrigger, true);
        }
        if let Some(bits) = self.generation {
            set(CoredumpSetting::TriggerHost, bits & SKIP_ABORT == 0);
            set(CoredumpSetting::Lightweight, bits & LIGHTWEIGHT == LIGHTWEIGHT);
            settings.generation = bits.to_ne_bytes();
        }
        if let Some(name) = &self.file {
            settings.file.clone_from(name);
        }
        if let Some(name) = &self.pipe {
            settings.pipe.clone_from(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_flags_are_named() {
        let (environment, complaints) = CoredumpEnvironment::read(|name| {
            (name == "CUDA_COREDUMP_GENERATION_FLAGS").then(|| "skip_abort,nonsense".into())
        });
        assert_eq!(environment, CoredumpEnvironment { generation: Some(SKIP_ABORT), ..Default::default() });
        assert_eq!(complaints, ["CUDA_COREDUMP_GENERATION_FLAGS: nonsense is no flag, and ignored"]);
    }
}
