//! How much memory the device has, a share of what the process may use; and how much of it the machine has left.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where control groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// Three quarters of what the process may use, in whole MiB.
pub(super) fn usable() -> u64 {
    (host() / 4 * 3) >> 20 << 20
}

/// What the process may use: the host's memory or the control group's limit, whichever is less.
pub(super) fn host() -> u64 {
    let total = physical().unwrap_or(4 << 30);
    groups_of_process().iter().filter_map(|group| group.limit()).fold(total, u64::min)
}

/// How long what the machine said is believed: it takes 50 microseconds to ask, and some programs ask before each allocation.
const BELIEVED: Duration = Duration::from_millis(5);

/// What the machine leaves to this process for device memory, in all. What the process itself touches and gives back changes nothing of it.
#[derive(Default)]
pub(super) struct Room {
    known: Mutex<Option<(Instant, Option<u64>)>>,
}

impl Room {
    /// In bytes, where `used` bytes are allocated; None where the host does not say.
    pub(super) fn get(&self, used: u64) -> Option<u64> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some((then, room)) = *known
            && now.duration_since(then) < BELIEVED
        {
            return room;
        }
        let room = available().map(|available| available.saturating_add(resident().min(used)));
        *known = Some((now, room));
        room
    }
}

/// What could be used in addition, on the whole machine and in the control groups of the process; None where the host does not say.
fn available() -> Option<u64> {
    let machine = field_of(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?.checked_mul(1024)?;
    Some(groups_of_process().iter().filter_map(Group::available).fold(machine, u64::min))
}

/// Memory of the process that has pages, in bytes.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok());
    // SAFETY: no pointers are passed.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    pages.unwrap_or(0).saturating_mul(page)
}

/// The number behind a name, in the form of `/proc/meminfo` and `memory.stat`.
fn field_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn physical() -> Option<u64> {
    // SAFETY: no pointers are passed.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    Some(u64::try_from(pages).ok()? * u64::try_from(page).ok()?)
}

fn parse_bytes(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|bytes| *bytes > 0)
}

/// A control group that counts memory.
struct Group {
    folder: PathBuf,
    /// Names of the files with its limit, its use, and what of that could be given up at once.
    files: (&'static str, &'static str, &'static str),
}

impl Group {
    /// Its limit in bytes. Unlimited is "max" in version 2, a number near 2^63 in version 1.
    fn limit(&self) -> Option<u64> {
        self.read(self.files.0).as_deref().and_then(parse_bytes)
    }

    fn available(&self) -> Option<u64> {
        let limit = self.limit()?;
        let used = self.read(self.files.1).as_deref().and_then(parse_bytes)?;
        let cache = self.read("memory.stat").and_then(|text| field_of(&text, self.files.2)).unwrap_or(0);
        Some(limit.saturating_sub(used.saturating_sub(cache)))
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(file)).ok()
    }
}

fn groups_of_process() -> Vec<Group> {
    groups(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default(), Path::new(GROUPS))
}

/// The groups whose limits hold for the process: its own and all above, version 1 and 2.
fn groups(groups: &str, root: &Path) -> Vec<Group> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let (mount, files) = if controllers.is_empty() {
            (root.to_path_buf(), ("memory.max", "memory.current", "inactive_file "))
        } else if controllers.split(',').any(|name| name == "memory") {
            let files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ");
            (root.join("memory"), files)
        } else {
            continue;
        };
        let inside = Path::new(path.trim_start_matches('/'));
        found.extend(inside.ancestors().map(|group| Group { folder: mount.join(group), files }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_says_what_is_left() {
        assert_eq!(field_of("MemTotal:       100 kB\nMemAvailable:    50 kB\n", "MemAvailable:"), Some(50));
        let (available, host) = (available().unwrap(), host());
        assert!(available > 0 && available <= host.max(physical().unwrap()), "{available} of {host}");
        assert!(resident() > 1 << 20);
    }

    #[test]
    fn limits_of_groups_above_count() {
        let root = std::env::temp_dir().join(format!("warploom-groups-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("memory/v1")).unwrap();
        fs::write(root.join("a/memory.max"), "1000000\n").unwrap();
        fs::write(root.join("a/b/memory.max"), "max\n").unwrap();
        fs::write(root.join("memory/v1/memory.limit_in_bytes"), "2000000\n").unwrap();
        fs::write(root.join("a/memory.current"), "700000\n").unwrap();
        fs::write(root.join("a/memory.stat"), "anon 500000\ninactive_file 100000\nactive_file 100000\n").unwrap();
        let limits = |text| groups(text, &root).iter().filter_map(Group::limit).collect::<Vec<_>>();
        let available = |text| groups(text, &root).iter().filter_map(Group::available).collect::<Vec<_>>();
        assert_eq!((limits("0::/a/b\n"), available("0::/a/b\n")), (vec![1_000_000], vec![400_000]));
        assert_eq!(limits("3:cpu,memory:/v1\n2:pids:/x\n"), [2_000_000]);
        assert!(limits("broken").is_empty() && available("3:cpu,memory:/v1\n").is_empty());
        fs::remove_dir_all(&root).unwrap();
    }
}
