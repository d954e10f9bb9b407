//! The settings of the driver, read from the environment once, at the first call of the process: `WARPLOOM_*`, `CUDA_MODULE_LOADING`,
//! `CUDA_VISIBLE_DEVICES`, `CUDA_LAUNCH_BLOCKING`, `CUDA_CACHE_*`, and those of coredumps.
//!
//! A value that cannot be understood is reported on standard error, and the default holds: a driver cannot refuse to load.
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use warploom_border::settings::{MachineSettings, Reader, parse_count};
use warploom_border::{LogSettings, say};
use warploom_driver::coredump::CoredumpEnvironment;
use warploom_exec::memory::Bounds;
use warploom_interp::Processor;
use warploom_jit::{CacheSettings, Mode};

use crate::visible_devices::VisibleDevices;

/// How this driver is asked to behave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The machine, and what its devices are to be.
    pub(crate) machine: MachineSettings,
    /// Which of the devices the process sees.
    pub(crate) visible: VisibleDevices,
    /// The instruction set that kernels may use of the processor's (`WARPLOOM_CPU=x86-64-v3`).
    pub(crate) processor: Processor,
    /// After how long a kernel in which nothing moves is reported (`WARPLOOM_STALL_SECONDS`).
    pub(crate) report_stalled: Option<Duration>,
    /// After how long a kernel is ended (`WARPLOOM_LAUNCH_TIMEOUT`, in seconds).
    pub(crate) launch_timeout: Option<Duration>,
    /// Whether modules are loaded as a whole (`CUDA_MODULE_LOADING=EAGER`, as with NVIDIA's driver).
    pub(crate) eager_loading: bool,
    /// Whether launches come back when their kernels have ended (`CUDA_LAUNCH_BLOCKING=1`; nothing else counts, as recorded).
    pub(crate) blocking_launches: bool,
    /// What is asked of coredumps (`CUDA_ENABLE_COREDUMP_ON_EXCEPTION` and its like).
    pub(crate) coredumps: CoredumpEnvironment,
    /// What is logged (`WARPLOOM_LOG=calls,errors`).
    pub(crate) log: LogSettings,
    /// When kernels are compiled (`WARPLOOM_JIT=always`).
    pub(crate) jit: Mode,
    /// Where compiled code is kept, if it is (`WARPLOOM_CACHE_DIR` and CUDA's variables for its cache).
    pub(crate) cache: Option<CacheSettings>,
    /// The folder that the text goes to of which code is made (`WARPLOOM_DUMP`).
    pub(crate) dump: Option<PathBuf>,
    /// Whether to say what became of each kernel (`WARPLOOM_EXPLAIN`).
    pub(crate) explain: bool,
    /// What each byte of fresh device memory holds; None for 0, as it comes (`WARPLOOM_FRESH_MEMORY=0xa5`).
    pub(crate) fresh_memory: Option<u8>,
    /// What kernels may access around an allocation (`WARPLOOM_BOUNDS=pages`).
    pub(crate) bounds: Bounds,
    /// What is checked (`WARPLOOM_CHECK=memory`, and with it `WARPLOOM_CHECK_SUPPRESSIONS`, `_REPORT`, `_EXIT`, `_LOG`, `_KERNELS` and `_PRINT`).
    pub(crate) check: warploom_check::Settings,
}

impl Settings {
    /// The settings of this process.
    pub(crate) fn get() -> &'static Settings {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| {
            let (settings, complaints) = Settings::read(|name| std::env::var_os(name));
            for complaint in complaints {
                say(&complaint);
            }
            settings
        })
    }

    /// Reads the variables through `variable`, and says what it could not use.
    fn read(variable: impl Fn(&str) -> Option<OsString>) -> (Settings, Vec<String>) {
        let mut reader = Reader::new(variable);
        let visible = VisibleDevices::read(reader.variable());
        let (cache, complaints) = CacheSettings::read(reader.variable());
        reader.complain(complaints);
        let (coredumps, complaints) = CoredumpEnvironment::read(reader.variable());
        reader.complain(complaints);
        let settings = Settings {
            visible,
            machine: MachineSettings::read(&mut reader),
            processor: reader.one("WARPLOOM_CPU", Processor::default(), parse_processor),
            report_stalled: reader.one("WARPLOOM_STALL_SECONDS", None, |text| parse_seconds(text).map(Some)),
            launch_timeout: reader.one("WARPLOOM_LAUNCH_TIMEOUT", None, |text| parse_seconds(text).map(Some)),
            eager_loading: reader.one("CUDA_MODULE_LOADING", false, parse_loading),
            blocking_launches: (reader.variable())("CUDA_LAUNCH_BLOCKING").is_some_and(|text| text == "1"),
            coredumps,
            log: reader.one("WARPLOOM_LOG", LogSettings::default(), LogSettings::parse),
            jit: reader.one("WARPLOOM_JIT", Mode::default(), parse_jit),
            cache,
            dump: reader.one("WARPLOOM_DUMP", None, |text| Ok(Some(PathBuf::from(text)))),
            explain: reader.one("WARPLOOM_EXPLAIN", false, |_| Ok(true)),
            fresh_memory: reader.one("WARPLOOM_FRESH_MEMORY", None, |text| parse_byte(text).map(Some)),
            bounds: reader.one("WARPLOOM_BOUNDS", Bounds::default(), parse_bounds),
            check: warploom_check::Settings {
                checks: reader.one("WARPLOOM_CHECK", Vec::new(), warploom_check::Settings::parse_checks),
                suppressions: reader.one("WARPLOOM_CHECK_SUPPRESSIONS", None, |text| Ok(Some(text.into()))),
                report: reader.one("WARPLOOM_CHECK_REPORT", None, |text| Ok(Some(text.into()))),
                error_exit: reader.one("WARPLOOM_CHECK_EXIT", None, |text| parse_status(text).map(Some)),
                log: reader.one("WARPLOOM_CHECK_LOG", None, |text| Ok(Some(text.into()))),
                kernels: reader
                    .one("WARPLOOM_CHECK_KERNELS", Vec::new(), |text| Ok(text.lines().map(str::to_owned).collect())),
                print_limit: reader.one("WARPLOOM_CHECK_PRINT", None, |text| {
                    parse_count(text, 0, u32::MAX).map(|count| Some(count as usize))
                }),
                level: reader.one("WARPLOOM_CHECK_LEVEL", warploom_check::report::Severity::default(), str::parse),
            },
        };
        (settings, reader.complaints())
    }
}

fn parse_byte(text: &str) -> Result<u8, String> {
    let byte = text.strip_prefix("0x").map_or_else(|| text.parse(), |digits| u8::from_str_radix(digits, 16));
    byte.map_err(|_| "a byte such as 0xa5 is expected".to_owned())
}

fn parse_status(text: &str) -> Result<i32, String> {
    let status = text.parse().ok().filter(|status| (0..=255).contains(status));
    status.ok_or_else(|| "a number from 0 to 255 is expected".to_owned())
}

fn parse_processor(text: &str) -> Result<Processor, String> {
    match text {
        "x86-64" => Ok(Processor::Baseline),
        "x86-64-v3" => Ok(Processor::V3),
        "x86-64-v4" => Ok(Processor::V4),
        _ => Err("x86-64, x86-64-v3 or x86-64-v4 is expected".to_owned()),
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && *seconds < 1e9);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "a number of seconds is expected".to_owned())
}

fn parse_loading(text: &str) -> Result<bool, String> {
    match text {
        "EAGER" => Ok(true),
        "LAZY" | "DEFAULT" => Ok(false),
        _ => Err("EAGER, LAZY or DEFAULT is expected".to_owned()),
    }
}

fn parse_bounds(text: &str) -> Result<Bounds, String> {
    match text {
        "allocations" => Ok(Bounds::Allocations),
        "pages" => Ok(Bounds::Pages),
        _ => Err("allocations or pages is expected".to_owned()),
    }
}

fn parse_jit(text: &str) -> Result<Mode, String> {
    match text {
        "off" => Ok(Mode::Off),
        "auto" => Ok(Mode::Auto),
        "always" => Ok(Mode::Always),
        _ => Err("off, auto or always is expected".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::read(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn defaults_hold_without_variables_and_with_empty_ones() {
        let (settings, complaints) = read(&[]);
        assert_eq!(complaints, Vec::<String>::new());
        assert_eq!(settings.machine.cuda_version, warploom_abi::CUDA_VERSION);
        let machine = &settings.machine;
        assert_eq!((machine.compute_capability, machine.device_count, machine.threads), (90, 1, None));
        assert_eq!(read(&[("WARPLOOM_DEVICE", ""), ("WARPLOOM_CUDA_VERSION", " ")]), (settings, Vec::new()));
    }

    #[test]
    fn every_device_has_limits() {
        assert_eq!(
            warploom_driver::device::capabilities().collect::<Vec<_>>(),
            warploom_abi::settings::COMPUTE_CAPABILITIES
        );
    }

    #[test]
    fn values_are_understood() {
        let (settings, complaints) = read(&[
            ("WARPLOOM_CUDA_VERSION", "12.4"),
            ("WARPLOOM_DEVICE", "sm_120"),
            ("WARPLOOM_DEVICE_COUNT", "0"),
            ("WARPLOOM_THREADS", "3"),
            ("WARPLOOM_CPU", "x86-64-v3"),
            ("WARPLOOM_MULTIPROCESSORS", "68"),
            ("WARPLOOM_MEMORY", "8G"),
            ("WARPLOOM_STALL_SECONDS", "2.5"),
            ("WARPLOOM_LAUNCH_TIMEOUT", "60"),
            ("CUDA_MODULE_LOADING", "EAGER"),
            ("CUDA_LAUNCH_BLOCKING", "1"),
            ("WARPLOOM_LOG", "calls"),
            ("WARPLOOM_JIT", "always"),
            ("WARPLOOM_CACHE_DIR", "/kept"),
            ("CUDA_CACHE_MAXSIZE", "1000"),
            ("WARPLOOM_DUMP", "/dumped"),
            ("WARPLOOM_EXPLAIN", "1"),
            ("WARPLOOM_CHECK", "memory"),
            ("WARPLOOM_CHECK_SUPPRESSIONS", "/known"),
            ("WARPLOOM_CHECK_REPORT", "/report.json"),
            ("WARPLOOM_CHECK_EXIT", "9"),
            ("WARPLOOM_CHECK_LOG", "/log"),
            ("WARPLOOM_CHECK_KERNELS", "kne=a\n!kns=b"),
            ("WARPLOOM_CHECK_PRINT", "5"),
            ("WARPLOOM_CHECK_LEVEL", "info"),
            ("WARPLOOM_FRESH_MEMORY", "0xa5"),
            ("WARPLOOM_BOUNDS", "pages"),
        ]);
        assert_eq!(complaints, Vec::<String>::new());
        let expected = Settings {
            machine: MachineSettings {
                cuda_version: 12_040,
                compute_capability: 120,
                device_count: 0,
                threads: Some(3),
                multiprocessors: Some(68),
                memory: Some(8 << 30),
            },
            visible: VisibleDevices::default(),
            processor: Processor::V3,
            report_stalled: Some(Duration::from_millis(2500)),
            launch_timeout: Some(Duration::from_secs(60)),
            eager_loading: true,
            blocking_launches: true,
            coredumps: CoredumpEnvironment::default(),
            log: LogSettings { calls: true, errors: false },
            jit: Mode::Always,
            cache: Some(CacheSettings { folder: "/kept".into(), limit: 1000 }),
            dump: Some("/dumped".into()),
            explain: true,
            fresh_memory: Some(0xa5),
            bounds: Bounds::Pages,
            check: warploom_check::Settings {
                checks: vec![warploom_check::Check::Memory],
                suppressions: Some("/known".into()),
                report: Some("/report.json".into()),
                error_exit: Some(9),
                log: Some("/log".into()),
                kernels: vec!["kne=a".into(), "!kns=b".into()],
                print_limit: Some(5),
                level: warploom_check::report::Severity::Info,
            },
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn wrong_values_are_reported_and_ignored() {
        let wrong = [
            ("WARPLOOM_CUDA_VERSION", "11.2"),
            ("WARPLOOM_CUDA_VERSION", "12"),
            ("WARPLOOM_CUDA_VERSION", "99.0"),
            ("WARPLOOM_DEVICE", "sm_70"),
            ("WARPLOOM_DEVICE", "90"),
            ("WARPLOOM_DEVICE_COUNT", "-1"),
            ("WARPLOOM_THREADS", "0"),
            ("WARPLOOM_THREADS", "5000"),
            ("WARPLOOM_CPU", "avx2"),
            ("WARPLOOM_MEMORY", "lots"),
            ("WARPLOOM_MEMORY", "0"),
            ("WARPLOOM_MEMORY", "99999999999T"),
            ("WARPLOOM_STALL_SECONDS", "-1"),
            ("WARPLOOM_LAUNCH_TIMEOUT", "soon"),
            ("CUDA_MODULE_LOADING", "sometimes"),
            ("WARPLOOM_LOG", "everything"),
            ("CUDA_CACHE_DISABLE", "perhaps"),
            ("WARPLOOM_JIT", "sometimes"),
            ("WARPLOOM_FRESH_MEMORY", "0x100"),
        ];
        let (default, _) = read(&[]);
        for (name, value) in wrong {
            let (settings, complaints) = read(&[(name, value)]);
            assert_eq!(settings, default, "{name}={value}");
            assert_eq!(complaints.len(), 1, "{name}={value}");
            assert!(complaints[0].starts_with(&format!("{name}={value} is ignored: ")), "{}", complaints[0]);
        }
    }
}
