//! What a call of the driver can answer other than success: a documented code, and a sentence that says why.
use std::borrow::Cow;

use crate::ErrorCode;

/// A failed call: its code, and one sentence for the log that names the argument or the object at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct DriverError {
    code: ErrorCode,
    reason: Cow<'static, str>,
}

/// What a function of the driver gives.
pub type DriverResult<T = ()> = Result<T, DriverError>;

impl DriverError {
    /// A failure with `code`; `reason` is one sentence without a full stop, and names values.
    #[cold]
    pub fn new(code: ErrorCode, reason: impl Into<Cow<'static, str>>) -> Self {
        DriverError { code, reason: reason.into() }
    }

    /// Shorthand for the most frequent code.
    #[cold]
    pub fn invalid_value(reason: impl Into<Cow<'static, str>>) -> Self {
        DriverError::new(ErrorCode::InvalidValue, reason)
    }

    /// Shorthand for a stale or foreign handle.
    #[cold]
    pub fn invalid_handle(reason: impl Into<Cow<'static, str>>) -> Self {
        DriverError::new(ErrorCode::InvalidHandle, reason)
    }

    /// The code that the caller gets.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// Why, in one sentence.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}
