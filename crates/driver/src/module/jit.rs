//! Translation of images to code: options, and the logs that come back.
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Code, Image};
use crate::driver::Driver;
use crate::{DriverError, DriverResult, ErrorCode};

/// What a program asks of the translation of PTX, as far as it means something here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitOptions {
    /// The compute capability to translate for, if it is not the device's (`CU_JIT_TARGET`).
    pub target: Option<u32>,
    /// Notes about each kernel are wanted in the info log (`CU_JIT_LOG_VERBOSE`).
    pub verbose: bool,
}

/// What the translation has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitLogs {
    /// Errors, one a line.
    pub errors: String,
    /// Notes, one a line.
    pub info: String,
    /// How long it took.
    pub time: Duration,
}

impl Driver {
    /// Translates an image. The logs are there in any case.
    ///
    /// # Errors
    /// `InvalidImage` for what is no image, `InvalidPtx`, `UnsupportedPtxVersion`, `NoBinaryForGpu` for an image with
    /// nothing but machine code.
    pub fn translate(&self, image: &Image, options: &JitOptions, logs: &mut JitLogs) -> DriverResult<Arc<Code>> {
        let start = Instant::now();
        let result = match image {
            Image::Text(text) => self.translate_text(text, options, logs),
            Image::Elf(_) | Image::FatBinary(_) | Image::WrappedFatBinary(_) => {
                Err(DriverError::new(ErrorCode::NotSupported, "images other than PTX text are not read yet"))
            }
        };
        logs.time += start.elapsed();
        result
    }
}

impl Driver {
    fn translate_text(&self, text: &[u8], options: &JitOptions, logs: &mut JitLogs) -> DriverResult<Arc<Code>> {
        let _ = (text, options, logs);
        Err(DriverError::new(ErrorCode::NotSupported, "PTX is not translated yet"))
    }
}
