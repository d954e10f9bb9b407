//! How much memory the device has: a share of what the process may use.

use std::fs;
use std::path::{Path, PathBuf};

/// `WARPLOOM_MEMORY` (bytes, or with a suffix K, M, G, T), else three quarters of the host's memory or of the control
/// group's limit, whichever is less, in whole MiB.
pub(super) fn usable() -> u64 {
    if let Some(bytes) = std::env::var("WARPLOOM_MEMORY").ok().as_deref().and_then(parse_size) {
        return bytes;
    }
    let total = physical().unwrap_or(4 << 30);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = group_limits(&groups, Path::new("/sys/fs/cgroup")).into_iter().fold(total, u64::min);
    (limit / 4 * 3) >> 20 << 20
}

fn physical() -> Option<u64> {
    // SAFETY: no pointers are passed.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    Some(u64::try_from(pages).ok()? * u64::try_from(page).ok()?)
}

fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        (at, 't' | 'T') => (&text[..at], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

/// The limits that hold for the process: of its own group and of all groups above, version 1 and 2.
fn group_limits(groups: &str, root: &Path) -> Vec<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let (mount, file): (PathBuf, &str) = if controllers.is_empty() {
            (root.to_path_buf(), "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            continue;
        };
        let inside = Path::new(path.trim_start_matches('/'));
        for group in inside.ancestors() {
            // Unlimited is "max" in version 2, a number near 2^63 in version 1.
            if let Some(limit) = fs::read_to_string(mount.join(group).join(file)).ok().and_then(|t| parse_size(&t)) {
                limits.push(limit);
            }
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_suffixes() {
        assert_eq!(parse_size("4096\n"), Some(4096));
        assert_eq!(parse_size("8G"), Some(8 << 30));
        assert_eq!(parse_size("1t"), Some(1 << 40));
        assert_eq!(parse_size("max"), None);
        assert_eq!(parse_size("0"), None);
        assert_eq!(parse_size("99999999999T"), None);
    }

    #[test]
    fn limits_of_groups_above_count() {
        let root = std::env::temp_dir().join(format!("warploom-groups-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("memory/v1")).unwrap();
        fs::write(root.join("a/memory.max"), "1000000\n").unwrap();
        fs::write(root.join("a/b/memory.max"), "max\n").unwrap();
        fs::write(root.join("memory/v1/memory.limit_in_bytes"), "2000000\n").unwrap();
        assert_eq!(group_limits("0::/a/b\n", &root), [1_000_000]);
        assert_eq!(group_limits("3:cpu,memory:/v1\n2:pids:/x\n", &root), [2_000_000]);
        assert!(group_limits("broken", &root).is_empty());
        fs::remove_dir_all(&root).unwrap();
    }
}
