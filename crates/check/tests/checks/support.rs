//! A device whose kernels are checked.

use std::sync::{Arc, Mutex};

use warploom_check::{Check, Checker, Settings};
use warploom_exec::stream::Stream;
use warploom_interp_testing::{Device, Shape};

/// A device that is checked, and what it says.
pub(crate) struct Checked {
    pub(crate) device: Device,
    pub(crate) checker: Arc<Checker>,
    said: Arc<Mutex<String>>,
}

impl Checked {
    pub(crate) fn new(checks: &[Check]) -> Checked {
        let said = Arc::new(Mutex::new(String::new()));
        let out = Arc::clone(&said);
        let say = Arc::new(move |text: &str| out.lock().unwrap().push_str(text));
        let settings = Settings { checks: checks.to_vec(), ..Settings::default() };
        let checker = Checker::new(settings, say).expect("no suppressions");
        Checked { device: Device::observed(checker.clone()), checker, said }
    }

    /// As [`Checked::launch`], in a stream.
    pub(crate) fn launch_in(&self, stream: &Stream, ptx: &str, params: &[(&str, u64)]) -> String {
        let kernel = self.device.kernel(ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        let values: Vec<u64> = params.iter().map(|(_, value)| *value).collect();
        self.device.launch_in(stream, &kernel, Shape::new(1, 32), &values);
        named(&self.said(), params)
    }

    /// As [`Checked::launch`], in streams: all of them before the host waits for any.
    pub(crate) fn launch_all(&self, launches: &[(&Stream, &str)], params: &[(&str, u64)]) -> String {
        let values: Vec<u64> = params.iter().map(|(_, value)| *value).collect();
        for (stream, ptx) in launches {
            let kernel = self.device.kernel(ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
            self.device.submit_in(stream, &kernel, Shape::new(1, 32), &values);
        }
        launches.iter().for_each(|(stream, _)| stream.synchronize());
        named(&self.said(), params)
    }

    /// What was said since the last time.
    pub(crate) fn said(&self) -> String {
        std::mem::take(&mut *self.said.lock().unwrap())
    }

    /// What is said of a launch of one warp. Addresses are named by the parameter that is next below them.
    pub(crate) fn launch(&self, ptx: &str, params: &[(&str, u64)]) -> String {
        let kernel = self.device.kernel(ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        let values: Vec<u64> = params.iter().map(|(_, value)| *value).collect();
        // A fault that ends the kernel is reported by the device, too.
        let _ = self.device.launch(&kernel, Shape::new(1, 32), &values);
        named(&self.said(), params)
    }
}

fn named(text: &str, params: &[(&str, u64)]) -> String {
    /// Farther from the start of a parameter's memory no address is named by it.
    const NEAR: u64 = 1 << 20;
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("0x") {
        let digits = &rest[at + 2..];
        let end = digits.find(|digit: char| !digit.is_ascii_hexdigit()).unwrap_or(digits.len());
        let address = u64::from_str_radix(&digits[..end], 16).expect("digits");
        let below = params.iter().filter(|(_, value)| *value != 0 && (*value..value + NEAR).contains(&address));
        out.push_str(&rest[..at]);
        match below.max_by_key(|(_, value)| *value) {
            Some((name, value)) if *value == address => out.push_str(name),
            Some((name, value)) => out.push_str(&format!("{name}+{:#x}", address - value)),
            None => out.push_str(&rest[at..at + 2 + end]),
        }
        rest = &digits[end..];
    }
    out + rest
}

/// Holds a text against the one that is kept.
pub(crate) fn snapshot(text: &str, name: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "snapshots" }, {
        insta::assert_snapshot!(name, text);
    });
}
