//! The options of `nvJitLinkCreate` (nvJitLink's manual, "Linking"): one word each, the last of several counts.
use std::ffi::{CStr, CString};

use warploom_ptx::image::Architecture;

use crate::image::Settings;

const ARCHITECTURE: &str = "-arch=";
const OPTIMIZE: &str = "-lto";
const TEXT: &str = "-ptx";
const REGISTERS: &str = "-maxrregcount=";
const VERBOSE: [&str; 3] = ["-verbose", "-Xptxas=-v", "-Xptxas=--verbose"];
/// How the name of a device begins, and that of what it has in common with later ones.
const DEVICE: &str = "sm_";
const VIRTUAL: &str = "compute_";

/// What a link for a device is to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// For NVIDIA's library: code for link-time optimisation becomes PTX.
    pub(super) options: Vec<CString>,
    pub(super) settings: Settings,
}

impl Order {
    /// What a program's options ask for; `None` if that is nothing for a device.
    pub(super) fn new(mut options: Vec<CString>) -> Option<Order> {
        // NVIDIA's library writes such functions to the log of errors, and links (13.5, with PTX for sm_90).
        let (mut device, mut optimizes, mut settings) =
            (None, false, Settings { any_prototypes: true, ..Settings::default() });
        for (at, word) in options.iter().map(|word| word.to_str().unwrap_or_default()).enumerate() {
            if let Some(name) = word.strip_prefix(ARCHITECTURE) {
                device = name.strip_prefix(DEVICE).map(|rest| (at, format!("{ARCHITECTURE}{VIRTUAL}{rest}")));
                settings.sm = name.parse::<Architecture>().ok()?.sm;
            } else if let Some(most) = word.strip_prefix(REGISTERS) {
                settings.most_registers = most.parse().ok();
            }
            optimizes |= word == OPTIMIZE;
            settings.verbose |= VERBOSE.contains(&word);
            // The program wants no image, and NVIDIA's library makes PTX without us.
            if word == TEXT {
                return None;
            }
        }
        let (at, name) = device?;
        // Without link-time optimisation nothing is left to NVIDIA's library; it says what is wrong with the options.
        if optimizes {
            options[at] = CString::new(name).ok()?;
            options.push(CStr::to_owned(c"-ptx"));
        }
        Some(Order { options, settings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(options: &[&str]) -> Option<(Vec<String>, Settings)> {
        let options = options.iter().map(|word| CString::new(*word).expect("no NUL")).collect();
        let Order { options, settings } = Order::new(options)?;
        Some((options.into_iter().map(|word| word.into_string().expect("text")).collect(), settings))
    }

    #[test]
    fn links_for_devices_are_told() {
        let settings = Settings { sm: 90, any_prototypes: true, ..Settings::default() };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(order(&["-arch=sm_90"]), Some((words(&["-arch=sm_90"]), settings)));
        let optimized = order(&["-lto", "-arch=sm_90a", "-O3"]);
        assert_eq!(optimized, Some((words(&["-lto", "-arch=compute_90a", "-O3", "-ptx"]), settings)));
        let verbose =
            order(&["-arch=sm_80", "-arch=sm_90", "-verbose", "-maxrregcount=40"]).map(|(_, settings)| settings);
        assert_eq!(verbose, Some(Settings { most_registers: Some(40), verbose: true, ..settings }));
        for other in [
            &[][..],
            &["-lto"],
            &["-arch=compute_90", "-lto", "-ptx"],
            &["-arch=sm_90", "-lto", "-ptx"],
            &["-arch=sm_x"],
        ] {
            assert_eq!(order(other), None, "{other:?}");
        }
    }
}
