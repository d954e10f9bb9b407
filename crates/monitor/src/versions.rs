//! Versions of drivers.

use warploom_abi::nvml::DRIVER_BRANCHES;

/// The branch of drivers that came with a CUDA version, or with the newest before it that is known.
pub(crate) fn branch(cuda: i32) -> u32 {
    let older = DRIVER_BRANCHES.iter().rev().find(|(version, _)| *version <= cuda);
    older.or(DRIVER_BRANCHES.first()).map_or(0, |(_, branch)| *branch)
}

#[cfg(test)]
mod tests {
    use super::branch;

    #[test]
    fn every_version_has_a_branch() {
        assert_eq!([branch(11_000), branch(12_040), branch(12_070), branch(13_000)], [465, 550, 560, 580]);
    }
}
