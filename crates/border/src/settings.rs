//! How settings are read from the environment, and those that say what devices the machine has: all libraries of a process have to agree on them.

use std::ffi::OsString;
use std::fmt::Display;

use warploom_abi::CUDA_VERSION;
use warploom_abi::settings::{COMPUTE_CAPABILITIES, MOST_MULTIPROCESSORS, MOST_THREADS, OLDEST_CUDA_VERSION};

/// What devices the machine has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSettings {
    /// The CUDA version whose driver this is, as `1000 * major + 10 * minor` (`WARPLOOM_CUDA_VERSION=12.4`).
    pub cuda_version: i32,
    /// Compute capability, `10 * major + minor` (`WARPLOOM_DEVICE=sm_90`).
    pub compute_capability: u32,
    /// How many devices there are (`WARPLOOM_DEVICE_COUNT`).
    pub device_count: u32,
    /// How many threads run kernels; None for one a core that the process may use (`WARPLOOM_THREADS`).
    pub threads: Option<u32>,
    /// How many multiprocessors devices show; None for one a thread that runs kernels (`WARPLOOM_MULTIPROCESSORS`).
    pub multiprocessors: Option<u32>,
    /// Bytes of device memory; None for three quarters of what the process may use (`WARPLOOM_MEMORY=8G`).
    pub memory: Option<u64>,
}

impl MachineSettings {
    /// Those of a reader.
    pub fn read(reader: &mut Reader<impl Fn(&str) -> Option<OsString>>) -> MachineSettings {
        MachineSettings {
            cuda_version: reader.one("WARPLOOM_CUDA_VERSION", CUDA_VERSION, |text| parse_version(text, CUDA_VERSION)),
            compute_capability: reader.one("WARPLOOM_DEVICE", 90, parse_device),
            device_count: reader.one("WARPLOOM_DEVICE_COUNT", 1, |text| parse_count(text, 0, 64)),
            threads: reader.one("WARPLOOM_THREADS", None, |text| parse_count(text, 1, MOST_THREADS).map(Some)),
            multiprocessors: reader
                .one("WARPLOOM_MULTIPROCESSORS", None, |text| parse_count(text, 1, MOST_MULTIPROCESSORS).map(Some)),
            memory: reader.one("WARPLOOM_MEMORY", None, |text| parse_size(text).map(Some)),
        }
    }
}

/// Reads variables, and keeps what is wrong with them.
pub struct Reader<F> {
    variable: F,
    complaints: Vec<String>,
}

impl<F: Fn(&str) -> Option<OsString>> Reader<F> {
    /// Reads the variables through `variable`.
    pub fn new(variable: F) -> Reader<F> {
        Reader { variable, complaints: Vec::new() }
    }

    /// What it reads through.
    pub fn variable(&self) -> &F {
        &self.variable
    }

    /// More that is wrong.
    pub fn complain(&mut self, complaints: Vec<String>) {
        self.complaints.extend(complaints);
    }

    /// All that is wrong.
    pub fn complaints(self) -> Vec<String> {
        self.complaints
    }

    /// The variable `name`, or `default` where it is not set, empty or wrong.
    pub fn one<T>(&mut self, name: &str, default: T, parse: impl FnOnce(&str) -> Result<T, String>) -> T {
        let Some(value) = (self.variable)(name) else { return default };
        let text = value.to_string_lossy();
        let text = text.trim();
        if text.is_empty() {
            return default;
        }
        parse(text).unwrap_or_else(|why| {
            self.complaints.push(format!("{name}={text} is ignored: {why}"));
            default
        })
    }
}

/// `12.4` is 12040.
fn parse_version(text: &str, newest: i32) -> Result<i32, String> {
    let number = |part: &str| part.parse::<u16>().ok().map(i32::from);
    let version = text
        .split_once('.')
        .and_then(|(major, minor)| Some(number(major)? * 1000 + number(minor).filter(|minor| *minor < 100)? * 10))
        .ok_or_else(|| format!("a CUDA version such as {} is expected", dotted(newest)))?;
    if version < OLDEST_CUDA_VERSION || version > newest {
        return Err(format!("versions from {} to {} are known", dotted(OLDEST_CUDA_VERSION), dotted(newest)));
    }
    Ok(version)
}

/// 12040 is `12.4`.
fn dotted(version: i32) -> impl Display {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn parse_device(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix("sm_").and_then(|digits| digits.parse().ok());
    number.filter(|capability| COMPUTE_CAPABILITIES.contains(capability)).ok_or_else(|| {
        let known: Vec<String> = COMPUTE_CAPABILITIES.iter().map(|capability| format!("sm_{capability}")).collect();
        format!("one of {} is expected", known.join(", "))
    })
}

/// A number between two.
///
/// # Errors
/// What is expected instead.
pub fn parse_count(text: &str, least: u32, most: u32) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|count| (least..=most).contains(count))
        .ok_or_else(|| format!("a number from {least} to {most} is expected"))
}

/// `4096`, `512M`, `8G`.
fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        Some((at, 't' | 'T')) => (&text[..at], 40),
        _ => (text, 0),
    };
    let bytes = digits.trim_end().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "a number of bytes is expected, such as 8G".to_owned())
}
