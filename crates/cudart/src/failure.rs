//! Why a call failed.
use std::borrow::Cow;

use warploom_abi::CUresult;
use warploom_abi::runtime::cudaError;

/// What every handler gives: nothing, or why not. Results leave through the argument objects.
pub type ApiResult<T = ()> = Result<T, Failure>;

/// Why a call failed: the code, and a sentence if this library says no. The driver logs its own reasons.
#[derive(Clone, Debug)]
pub struct Failure {
    pub(crate) code: cudaError,
    pub(crate) reason: Option<Cow<'static, str>>,
    /// Whether it becomes the thread's last error; telling that does not make it that again.
    pub(crate) remembered: bool,
}

impl Failure {
    pub(crate) fn new(code: cudaError, reason: impl Into<Cow<'static, str>>) -> Failure {
        Failure { code, reason: Some(reason.into()), remembered: true }
    }

    pub(crate) fn invalid_value(reason: impl Into<Cow<'static, str>>) -> Failure {
        Failure::new(cudaError::cudaErrorInvalidValue, reason)
    }

    /// What the driver's answer is called here. Both APIs use the same numbers; what only the driver knows is an unknown error.
    /// That something is not done yet is an answer, and no error to remember.
    pub(crate) fn of_driver(result: CUresult) -> Failure {
        let code = cudaError(result.0);
        let known = code.name_and_text(13).is_some();
        Failure {
            code: if known { code } else { cudaError::cudaErrorUnknown },
            reason: None,
            remembered: code != cudaError::cudaErrorNotReady,
        }
    }
}
