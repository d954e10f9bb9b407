//! Runs a kernel with all executors, and compares.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use warploom_interp_testing::{Device, Shape};
use warploom_jit::{Made, Mode, Options, Target, tiered};

use crate::Style;
use crate::kernel::{INPUTS, Kernel};

/// What came of a kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All have computed the same.
    Same,
    /// The compiler does not cover it.
    Declined(String),
    /// It is no kernel, or fails.
    Broken(String),
    /// What one computed is not what the interpreter did.
    Differs(Difference),
}

/// The first word that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The executor.
    pub(crate) of: String,
    /// Of the output.
    pub(crate) word: usize,
    pub(crate) expected: u32,
    pub(crate) found: u32,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { of, word, expected, found } = self;
        write!(f, "{of}: word {word} is {found:#x}, interpreted {expected:#x}")
    }
}

/// The inputs: words, and numbers that floating-point operations treat differently.
pub(crate) fn inputs() -> [Vec<u32>; 2] {
    const NUMBERS: [u32; 16] = [
        0x0000_0000,
        0x8000_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x0000_0001,
        0x807f_ffff,
        0x0080_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fff_ffff,
        0x4b80_0001,
        0xc2c8_0000,
        0x3dcc_cccd,
        0x4048_f5c3,
        0x2edb_e6ff,
    ];
    let numbers = (0..INPUTS[1]).map(|at| match at % 4 {
        0 => NUMBERS[(at / 4) as usize],
        1 => (at as f32).to_bits(),
        2 => (1.0 / at as f32).to_bits(),
        _ => (-0.37 * at as f32).to_bits(),
    });
    [(0..INPUTS[0]).collect(), numbers.collect()]
}

/// What the memory of a device holds behind a kernel.
pub(crate) struct Executors {
    device: Device,
    inputs: [u64; 2],
    style: Style,
}

impl Executors {
    /// Compiled code is of a style.
    pub(crate) fn new(style: Style) -> Executors {
        let device = Device::default();
        let inputs = inputs().map(|words| device.buffer(&words));
        Executors { device, inputs, style }
    }

    /// What the interpreter computes.
    pub(crate) fn interpreted(&self, kernel: &Kernel, text: &str) -> Result<Vec<u32>, Outcome> {
        self.words(kernel, text, None)
    }

    /// Runs it with all of them.
    pub(crate) fn compare(&self, kernel: &Kernel, without: &BTreeSet<u32>) -> Outcome {
        let text = kernel.text(without);
        let expected = match self.interpreted(kernel, &text) {
            Ok(expected) => expected,
            Err(outcome) => return outcome,
        };
        // Each is compiled for one processor: compiling takes the most time.
        let target = if kernel.seed.is_multiple_of(2) { Target::Host } else { Target::V3 };
        let found = match self.words(kernel, &text, Some(target)) {
            Ok(found) => found,
            Err(outcome) => return outcome,
        };
        let differs = |(at, (expected, found)): (usize, (&u32, &u32))| {
            (expected != found).then(|| Difference {
                of: format!("{target:?}"),
                word: at,
                expected: *expected,
                found: *found,
            })
        };
        if let Some(difference) = expected.iter().zip(&found).enumerate().find_map(differs) {
            return Outcome::Differs(difference);
        }
        Outcome::Same
    }

    /// The output, computed by the interpreter or compiled for a processor.
    fn words(&self, kernel: &Kernel, text: &str, target: Option<Target>) -> Result<Vec<u32>, Outcome> {
        let declined = Arc::new(Mutex::new(None));
        let mut loaded = self.device.kernel(text).map_err(|error| Outcome::Broken(error.to_string()))?;
        if let Some(target) = target {
            let declined = declined.clone();
            let report = Arc::new(move |made: &Made<'_>| {
                if let Err(why) = made.code {
                    *declined.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
                }
            });
            let options = Options {
                mode: Mode::Always,
                target,
                style: self.style.of_compiler(),
                cache: None,
                dump: None,
                report,
            };
            loaded.run_by(|module, id, interpreted| tiered(options, module, id, interpreted));
        }
        let count = kernel.outputs();
        let out = self.device.buffer(&vec![0; count as usize]);
        let shape = Shape { grid: [kernel.grid[0], kernel.grid[1], 1], cta: kernel.cta, ..Shape::new(1, 1) };
        let [a, b] = self.inputs;
        let result = self.device.launch(&loaded, shape, &[a, b, out]);
        let words = self.device.words(out, count as usize);
        self.device.free(out);
        if let Some(why) = declined.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(Outcome::Declined(why));
        }
        result.map(|()| words).map_err(|fault| Outcome::Broken(fault.to_string()))
    }
}
