//! What a call of the driver can answer other than success: a documented code, and a sentence that says why.
use std::borrow::Cow;
use std::fmt;

use crate::ErrorCode;

/// A failed call: its code, and one sentence for the log that names the argument or the object at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct DriverError {
    code: ErrorCode,
    reason: Reason,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    Text(Cow<'static, str>),
    /// An address, and what is said of it.
    About(u64, &'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Text(text) => formatter.write_str(text),
            Reason::About(address, text) => write!(formatter, "{address:#x} {text}"),
        }
    }
}

/// What a function of the driver gives.
pub type DriverResult<T = ()> = Result<T, DriverError>;

impl DriverError {
    /// A failure with `code`; `reason` is one sentence without a full stop, and names values.
    #[cold]
    pub fn new(code: ErrorCode, reason: impl Into<Cow<'static, str>>) -> Self {
        DriverError { code, reason: Reason::Text(reason.into()) }
    }

    /// A failure of a call that programs make to find out what an address is, over and over: the sentence `0x... text` is put together
    /// when somebody reads it.
    #[cold]
    pub fn about(code: ErrorCode, address: u64, text: &'static str) -> Self {
        DriverError { code, reason: Reason::About(address, text) }
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
    pub fn reason(&self) -> Cow<'_, str> {
        match &self.reason {
            Reason::Text(text) => Cow::Borrowed(text),
            about => Cow::Owned(about.to_string()),
        }
    }
}
