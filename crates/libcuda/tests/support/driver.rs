//! The driver under test, in this process.
use warploom_entrypoint::Driver;

use crate::library::library;

/// The driver under test, in this process.
pub(crate) fn driver() -> Driver {
    Driver::open(library()).expect("our own library loads")
}
