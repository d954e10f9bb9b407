//! The client side of Driver Entry Point Access, for any CUDA driver: warploom's or NVIDIA's.
//!
//! A lookup names one typedef of the CUDA headers, for instance [`entry::cuMemAlloc_v3020`]; name, CUDA version, stream variant and
//! signature come from that one type, so they cannot disagree:
//!
//! ```no_run
//! use warploom_entrypoint::{Driver, entry};
//!
//! let driver = Driver::load()?;
//! println!("{}", driver.identity());
//! let init = driver.get::<entry::cuInit_v2000>()?;
//! // SAFETY: cuInit takes a number.
//! let result = unsafe { init(0) };
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod devices;
mod driver;
mod identity;
mod lookup;

pub use devices::{CallError, DeviceFacts};
pub use driver::{Driver, OpenError};
pub use identity::{Identity, Vendor, WARPLOOM_IDENTITY_TABLE};
pub use lookup::{DefaultStream, LookupError, Symbol};
pub use warploom_abi::{EntryPoint, entry};
