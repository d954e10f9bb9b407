//! What the border asks of the arguments of a call that fails: NVIDIA's driver refuses calls in an order of its own, which the
//! registry has from recordings. Nothing of it is looked at while calls succeed.
use warploom_abi::types::CUstream;
use warploom_driver::{DriverError, ErrorCode};

/// What is known of the arguments of one call.
#[derive(Default)]
pub(crate) struct Given {
    first: Option<(&'static str, ErrorCode)>,
    then: Option<(&'static str, ErrorCode)>,
    names_stream: bool,
}

impl Given {
    /// An argument that is refused before anything else if it is zero.
    pub(crate) fn first(&mut self, name: &'static str, is_zero: bool, code: ErrorCode) {
        if is_zero && self.first.is_none() {
            self.first = Some((name, code));
        }
    }

    /// An argument that is refused if it is zero, once the driver is initialised.
    pub(crate) fn then(&mut self, name: &'static str, is_zero: bool, code: ErrorCode) {
        if is_zero && self.then.is_none() {
            self.then = Some((name, code));
        }
    }

    /// The stream of the call.
    pub(crate) fn stream(&mut self, stream: CUstream) {
        // 1 and 2 stand for the default streams.
        self.names_stream = stream.0 > 2;
    }

    /// Whether the call names a stream, other than the default ones.
    pub(super) fn names_stream(&self) -> bool {
        self.names_stream
    }

    /// The refusal before anything else, if there is one.
    pub(super) fn refused_first(&self) -> Option<DriverError> {
        self.first.map(refused)
    }

    /// The refusal once the driver is initialised, if there is one.
    pub(super) fn refused_then(&self) -> Option<DriverError> {
        self.then.map(refused)
    }
}

fn refused((name, code): (&'static str, ErrorCode)) -> DriverError {
    DriverError::new(code, format!("{name} is zero or NULL"))
}
