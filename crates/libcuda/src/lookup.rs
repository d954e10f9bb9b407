//! Which symbol `cuGetProcAddress` gives for a base name, a CUDA version and flags.
//!
//! The facts are the generated table of entry points; the rules are those that a recorded driver follows
//! (`tests/goldens/entry_points.json`). Nothing here allocates or locks.

mod index;
mod table;

pub(crate) use index::LONGEST_NAME;
pub(crate) use table::{EntryPoint, Version};

use crate::generated::entry_points::ENTRY_POINTS;
use index::Index;

static INDEX: Index = Index::of(&ENTRY_POINTS);

/// What a lookup that is valid gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Found {
    /// This symbol.
    Symbol(&'static Version),
    /// The driver has no entry point of this name.
    Unknown,
    /// The driver has it, but not at the version that was asked for.
    VersionNotSufficient,
}

/// Why a lookup is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Flags outside 0 to 3.
    Flags,
    /// A version above the driver's.
    Version,
}

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`. Drivers take 3 the same way.
const PER_THREAD: u64 = 2;
/// The highest flags that drivers take.
const ALL_FLAGS: u64 = 3;

/// Looks `name` up as a driver of version `driver` does, for a caller that knows CUDA `version`; negative asks for the newest.
#[inline]
pub(crate) fn find(name: &[u8], version: i32, flags: u64, driver: i32) -> Result<Found, Refused> {
    if flags > ALL_FLAGS {
        return Err(Refused::Flags);
    }
    if version > driver {
        return Err(Refused::Version);
    }
    let Some(entry_point) = INDEX.get(&ENTRY_POINTS, name) else { return Ok(Found::Unknown) };
    let known = |versions: &'static [Version]| versions.iter().find(move |candidate| candidate.since <= driver);
    let (versions, newest) = match known(entry_point.per_thread) {
        Some(newest) if flags & PER_THREAD != 0 => (entry_point.per_thread, newest),
        // An entry point without per-thread variants gives its only form, whatever the flags.
        _ => match known(entry_point.legacy) {
            Some(newest) => (entry_point.legacy, newest),
            None => return Ok(Found::Unknown),
        },
    };
    if version < 0 || newest.since <= version {
        return Ok(Found::Symbol(newest));
    }
    let older = versions.iter().find(|candidate| candidate.since <= version);
    Ok(older.map_or(Found::VersionNotSufficient, Found::Symbol))
}
