//! Which grids write more than the processor's caches hold.

use std::fs;
use std::sync::OnceLock;

use warploom_exec::grid::Grid;
use warploom_simt::codegen::SiteKind;

use crate::microarchitecture::{Microarchitecture, microarchitecture};

/// So many times what the workers' own caches hold: from twice on, writing past them gained by itself, and from four times on also where the next kernel
/// reads what was written.
const BEYOND: u64 = 8;
/// Bits of an address within a cache line.
const LINE: u64 = 63;

/// The mask with which compiled code tells what it writes past the caches: whatever begins with a line, or nothing.
pub(crate) fn nontemporal(sites: &[SiteKind], grid: &Grid) -> u64 {
    let bytes: u64 = sites.iter().filter(|site| site.nontemporal).map(|site| u64::from(site.bytes)).sum();
    let threads = [grid.launch.grid, grid.launch.cta].into_iter().flatten().map(u64::from).product::<u64>();
    // Rows of tiles are far from one another.
    let tiles = grid.launch.cta[1] > 1 && microarchitecture() == Microarchitecture::SkylakeServer;
    let gains = !tiles && is_beyond(threads * bytes, grid.sm_count, second_level());
    if gains { LINE } else { u64::MAX }
}

/// Whether so many bytes are far more than caches hold, of which each worker has one.
fn is_beyond(bytes: u64, workers: u32, cache: Option<u64>) -> bool {
    cache.is_some_and(|cache| bytes >= BEYOND * cache * u64::from(workers))
}

/// Bytes of a processor's cache of the second level.
fn second_level() -> Option<u64> {
    static BYTES: OnceLock<Option<u64>> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let read = |index: u32, what: &str| {
            fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}")).ok()
        };
        let index = (0..8).find(|index| read(*index, "level").is_some_and(|level| level.trim() == "2"))?;
        Some(read(index, "size")?.trim().strip_suffix('K')?.parse::<u64>().ok()? << 10)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_far_larger_than_the_caches_goes_past_them() {
        let cache = Some(2 << 20);
        assert!(is_beyond(64 << 20, 2, cache));
        assert!(!is_beyond(64 << 20, 16, cache));
        assert!(!is_beyond(16 << 20, 2, cache));
        assert!(!is_beyond(0, 2, cache));
        assert!(!is_beyond(u64::MAX, 2, None));
    }
}
