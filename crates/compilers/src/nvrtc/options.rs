//! The options of `nvrtcCompileProgram` (NVRTC's manual, "Supported Compile Options"): the value of an option stands behind `=` or is the
//! next word; the last of several counts.
use std::ffi::CString;

use warploom_ptx::image::Architecture;

use crate::image::Settings;

const ARCHITECTURE: [&str; 2] = ["--gpu-architecture", "-arch"];
const REGISTERS: [&str; 2] = ["--maxrregcount", "-maxrregcount"];
const RELOCATABLE: [&str; 2] = ["--relocatable-device-code", "-rdc"];
const RELOCATABLE_FLAGS: [&str; 2] = ["--device-c", "-dc"];
const ASSEMBLER: [&str; 2] = ["--ptxas-options", "-Xptxas"];
const VERBOSE: [&str; 2] = ["--verbose", "-v"];
/// How the name of a device begins, and that of what it has in common with later ones.
const DEVICE: &str = "sm_";
const VIRTUAL: &str = "compute_";

/// What the library is to compile.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Compilation {
    /// For no device, but for what it has in common with others.
    pub(super) options: Vec<CString>,
    /// What an image is to be made for, if the program asked for a device.
    pub(super) device: Option<Settings>,
}

impl Compilation {
    /// What a program's options ask for.
    pub(super) fn new(mut options: Vec<CString>) -> Compilation {
        let (mut device, mut settings) = (false, Settings::default());
        let mut at = 0;
        while let Some(word) = options.get(at).and_then(|word| word.to_str().ok()) {
            if RELOCATABLE_FLAGS.contains(&word) {
                settings.relocatable = true;
            }
            let next = options.get(at + 1).and_then(|word| word.to_str().ok());
            let (name, value, place) = match (word.split_once('='), next) {
                (Some((name, value)), _) => (name, value, at),
                (None, Some(value)) if takes_value(word) => (word, value, at + 1),
                _ => (word, "", at),
            };
            let mut new = None;
            if ARCHITECTURE.contains(&name) {
                let architecture: Option<Architecture> = value.parse().ok();
                device = value.starts_with(DEVICE) && architecture.is_some();
                settings.sm = architecture.map_or(0, |architecture| architecture.sm);
                new = value.strip_prefix(DEVICE).map(|rest| format!("{VIRTUAL}{rest}"));
                new = new.map(|new| if place == at { format!("{name}={new}") } else { new });
            } else if REGISTERS.contains(&name) {
                settings.most_registers = value.parse().ok();
            } else if RELOCATABLE.contains(&name) {
                settings.relocatable = value == "true";
            } else if ASSEMBLER.contains(&name) {
                settings.verbose |= value.split([',', ' ']).any(|option| VERBOSE.contains(&option));
            }
            if let Some(new) = new.and_then(|new| CString::new(new).ok()) {
                options[place] = new;
            }
            at = place + 1;
        }
        Compilation { options, device: device.then_some(settings) }
    }
}

fn takes_value(name: &str) -> bool {
    [ARCHITECTURE, REGISTERS, RELOCATABLE, ASSEMBLER].iter().any(|names| names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compilation(options: &[&str]) -> (Vec<String>, Option<Settings>) {
        let options = options.iter().map(|word| CString::new(*word).expect("no NUL")).collect();
        let Compilation { options, device } = Compilation::new(options);
        (options.into_iter().map(|word| word.into_string().expect("text")).collect(), device)
    }

    #[test]
    fn devices_become_what_they_have_in_common_in_every_spelling() {
        for (given, expected, sm) in [
            (&["-arch=sm_90"][..], &["-arch=compute_90"][..], 90),
            (&["-I", "x", "-arch", "sm_90a", "-G"], &["-I", "x", "-arch", "compute_90a", "-G"], 90),
            (&["--gpu-architecture=sm_100f"], &["--gpu-architecture=compute_100f"], 100),
            (&["--gpu-architecture", "sm_120", "-dlto"], &["--gpu-architecture", "compute_120", "-dlto"], 120),
            (&["-arch=compute_80", "-arch=sm_75"], &["-arch=compute_80", "-arch=compute_75"], 75),
        ] {
            let (options, device) = compilation(given);
            assert_eq!(
                (options, device.map(|device| device.sm)),
                (expected.iter().map(|word| (*word).to_owned()).collect(), Some(sm))
            );
        }
    }

    #[test]
    fn what_asks_for_no_device_stays() {
        for given in [
            &[][..],
            &["-arch=compute_90", "-DA=sm_90", "sm_90"],
            // The last one counts.
            &["--gpu-architecture=compute_90"],
            &["-arch"],
            &["-arch=native"],
            &["--arch=sm_90"],
        ] {
            let (options, device) = compilation(given);
            assert_eq!((options, device), (given.iter().map(|word| (*word).to_owned()).collect(), None));
        }
        assert_eq!(compilation(&["-arch=sm_90", "-arch=compute_80"]).1, None);
    }

    #[test]
    fn what_decides_about_the_image_is_read() {
        let device = |options: &[&str]| compilation(&[&["-arch=sm_80"], options].concat()).1.expect("a device");
        let plain = Settings { sm: 80, ..Settings::default() };
        assert_eq!(device(&[]), plain);
        assert_eq!(device(&["-maxrregcount=32"]), Settings { most_registers: Some(32), ..plain });
        assert_eq!(device(&["--maxrregcount", "40"]), Settings { most_registers: Some(40), ..plain });
        assert!(
            device(&["-rdc=true"]).relocatable && device(&["-dc"]).relocatable && !device(&["-rdc=false"]).relocatable
        );
        assert!(device(&["-Xptxas", "-v"]).verbose && device(&["--ptxas-options=-O3,--verbose"]).verbose);
    }
}
