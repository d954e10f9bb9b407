//! The part of the machine that a device is: the processors on which its kernels run, the threads that run them, and its memory.
//!
//! The devices of a machine are equal, neighbouring parts of it, also where a process sees only some of them. A machine with fewer processors than devices
//! has devices that share one: each has a thread of its own all the same.

use std::fs;
use std::ops::Range;
use std::path::Path;

/// Where the host tells about its processors.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// See the head of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// Threads that run its kernels: its multiprocessors.
    pub(crate) threads: u32,
    /// Processors for them; none where a device is the whole machine.
    pub(crate) processors: Vec<u32>,
}

impl Partition {
    /// The device with this number among `count`, on a machine with so many threads and these processors, neighbours next to each other.
    pub(crate) fn new(number: u32, count: u32, threads: u32, processors: &[u32]) -> Partition {
        if count <= 1 {
            return Partition { threads: threads.max(1), processors: Vec::new() };
        }
        let threads = part(number, count, threads as usize).len() as u32;
        let processors = processors.get(part(number, count, processors.len())).unwrap_or_default().to_vec();
        Partition { threads: threads.max(1), processors }
    }
}

/// Bytes of the memory of a machine that one of `count` devices has, in whole MiB.
pub(crate) fn memory_of_one(count: u32, all: u64) -> u64 {
    if count <= 1 { all } else { (all / u64::from(count)) >> 20 << 20 }
}

/// Which of `all` things are those of the device with this number among `count`; one that others have as well, where there are too few.
fn part(number: u32, count: u32, all: usize) -> Range<usize> {
    let start = |number: u32| number as usize * all / count as usize;
    let (first, end) = (start(number), start(number + 1));
    first..end.max((first + 1).min(all))
}

/// The processors that this process may use, those of a core, a package and a memory node next to each other; none where the host does not say.
pub(crate) fn processors() -> Vec<u32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let mut processors = allowed.map(listed).unwrap_or_default();
    processors.sort_by_cached_key(|processor| place_of(*processor, Path::new(PROCESSORS)));
    processors
}

/// The numbers in a list such as `0-3,8`.
fn listed(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Memory node, package, core and number of a processor, as far as the host says.
fn place_of(processor: u32, processors: &Path) -> (u32, u32, u32, u32) {
    let folder = processors.join(format!("cpu{processor}"));
    let number = |file: &str| {
        let text = fs::read_to_string(folder.join("topology").join(file)).ok()?;
        text.trim().parse::<u32>().ok()
    };
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let node = entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse::<u32>().ok()).next();
    (node.unwrap_or(0), number("physical_package_id").unwrap_or(0), number("core_id").unwrap_or(0), processor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_neighbouring_parts_that_cover_the_machine() {
        for (count, threads, processors) in [(1, 8, 8), (2, 8, 8), (3, 8, 16), (4, 16, 6), (8, 8, 8)] {
            let all: Vec<u32> = (100..100 + processors).collect();
            let parts: Vec<Partition> = (0..count).map(|number| Partition::new(number, count, threads, &all)).collect();
            assert_eq!(parts.iter().map(|part| part.threads).sum::<u32>(), threads);
            let covered: Vec<u32> = parts.iter().flat_map(|part| part.processors.clone()).collect();
            assert_eq!(covered, if count == 1 { Vec::new() } else { all });
        }
    }

    #[test]
    fn with_too_few_processors_devices_share_them() {
        let parts: Vec<Partition> = (0..5).map(|number| Partition::new(number, 5, 2, &[6, 7])).collect();
        assert!(parts.iter().all(|part| part.threads == 1 && part.processors.len() == 1));
        assert_eq!((&parts[0].processors[..], &parts[4].processors[..]), (&[6][..], &[7][..]));
        let unknown = Partition::new(1, 2, 4, &[]);
        assert_eq!(unknown, Partition { threads: 2, processors: Vec::new() });
    }

    #[test]
    fn memory_is_divided() {
        assert_eq!(memory_of_one(1, 12_345), 12_345);
        assert_eq!(memory_of_one(3, 10 << 30), 3413 << 20);
    }

    #[test]
    fn lists_and_places_are_read() {
        assert_eq!(listed("\t0-2,5,7-8\n"), [0, 1, 2, 5, 7, 8]);
        assert!(listed("none").is_empty());
        let root = std::env::temp_dir().join(format!("warploom-processors-{}", std::process::id()));
        fs::create_dir_all(root.join("cpu3/topology")).unwrap();
        fs::create_dir_all(root.join("cpu3/node1")).unwrap();
        fs::write(root.join("cpu3/topology/core_id"), "4\n").unwrap();
        assert_eq!((place_of(3, &root), place_of(9, &root)), ((1, 0, 4, 3), (0, 0, 0, 9)));
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(processors().len(), std::thread::available_parallelism().unwrap().get());
    }
}
