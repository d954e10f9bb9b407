//! What the host tells about its processor. Read once, from `/proc` and `/sys`; what is missing there is left out.
use std::fs;
use std::sync::OnceLock;

/// The processor.
pub(super) struct Host {
    /// Model name, as `/proc/cpuinfo` has it.
    pub(super) model: String,
    /// Clock in kHz: the rate at which kernels see `%clock64` count. 1 GHz if unknown.
    pub(super) clock_khz: i32,
    /// Size of the last level cache; 0 if unknown.
    pub(super) last_cache_bytes: i32,
}

impl Host {
    pub(super) fn get() -> &'static Host {
        static HOST: OnceLock<Host> = OnceLock::new();
        HOST.get_or_init(|| {
            let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
            let field = |name: &str| {
                let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
                Some(line.split_once(':')?.1.trim().to_owned())
            };
            let megahertz = || field("cpu MHz")?.parse::<f64>().ok();
            Host {
                model: field("model name").unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH)),
                clock_khz: max_clock_khz()
                    .or_else(|| Some((megahertz()? * 1000.0) as i32))
                    .filter(|rate| *rate > 0)
                    .unwrap_or(1_000_000),
                last_cache_bytes: last_cache().unwrap_or(0),
            }
        })
    }
}

fn max_clock_khz() -> Option<i32> {
    fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").ok()?.trim().parse().ok()
}

fn last_cache() -> Option<i32> {
    let size = |index| fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size")).ok();
    let text = (0..8).filter_map(size).next_back()?;
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let scale: i64 = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => 1,
    };
    i32::try_from(number.parse::<i64>().ok()? * scale).ok()
}

/// An identifier that stays the same for the device `ordinal` on this machine: FNV-1a over machine id, model and ordinal,
/// marked as a version 8 UUID (RFC 9562).
pub(super) fn uuid(model: &str, ordinal: u32) -> [u8; 16] {
    let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let half = |salt: u8| {
        let bytes = machine.bytes().chain(model.bytes()).chain(ordinal.to_le_bytes()).chain([salt]);
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    };
    let mut uuid = [0; 16];
    uuid[..8].copy_from_slice(&half(0).to_be_bytes());
    uuid[8..].copy_from_slice(&half(1).to_be_bytes());
    uuid[6] = uuid[6] & 0x0f | 0x80;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_a_name() {
        assert!(!Host::get().model.is_empty());
    }

    #[test]
    fn devices_have_different_uuids() {
        assert_ne!(uuid("model", 0), uuid("model", 1));
        assert_eq!(uuid("model", 0), uuid("model", 0));
    }
}
