//! Makes a kernel that causes trouble small, by leaving out statements as long as it still does.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::Style;
use crate::generate;
use crate::supervisor::trouble;

/// The statements that a kernel does without and still causes trouble.
pub(crate) fn shrunk(seed: u64, style: Style) -> Result<BTreeSet<u32>> {
    let count = generate::kernel(seed).count;
    let mut without = BTreeSet::new();
    let mut size = count.div_ceil(2).max(1);
    loop {
        let left: Vec<u32> = (1..=count).filter(|number| !without.contains(number)).collect();
        let mut less = false;
        for part in left.chunks(size as usize) {
            let mut more = without.clone();
            more.extend(part);
            if trouble(seed, style, &more)?.is_some() {
                without = more;
                less = true;
            }
        }
        match (less, size) {
            (false, 1) => return Ok(without),
            (false, _) => size = size.div_ceil(2),
            (true, _) => {}
        }
    }
}
