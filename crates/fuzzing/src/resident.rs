//! What of the process has pages of its own, device memory left out, and where it has grown. Pages of files are not its own: a library that is opened
//! late, as the compiler is, has tens of megabytes of them.

use anyhow::{Context, Result};

/// Mappings that a report of growth names at most.
const SHOWN: usize = 6;

/// The mappings of this process at one moment, without those of the device's memory.
pub struct Resident(Vec<Mapping>);

struct Mapping {
    start: u64,
    end: u64,
    /// The file or the kernel's name for it; empty for anonymous memory.
    name: String,
    /// Bytes that have pages which are no file's.
    bytes: u64,
}

impl Resident {
    /// All mappings without the one around `address` and those that touch it without a gap: the device's memory is one reservation.
    ///
    /// # Errors
    /// Those of reading /proc/self/smaps; no mapping is around `address`.
    pub fn outside(address: u64) -> Result<Resident> {
        Resident::of(mappings(&std::fs::read_to_string("/proc/self/smaps")?)?, address)
    }

    fn of(mappings: Vec<Mapping>, address: u64) -> Result<Resident> {
        let inside = mappings.iter().position(|mapping| (mapping.start..mapping.end).contains(&address));
        let inside = inside.context("device memory is in no mapping")?;
        let touch = |pair: &[Mapping]| pair[0].end == pair[1].start;
        let first = inside - mappings[..=inside].windows(2).rev().take_while(|pair| touch(pair)).count();
        let last = inside + mappings[inside..].windows(2).take_while(|pair| touch(pair)).count();
        let others = mappings.into_iter().enumerate().filter(|(index, _)| !(first..=last).contains(index));
        Ok(Resident(others.map(|(_, mapping)| mapping).collect()))
    }

    /// Bytes that have pages which are no file's.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|mapping| mapping.bytes).sum()
    }

    /// The mappings that have gained most pages since, the largest gain first.
    pub fn growth_since(&self, before: &Resident) -> String {
        let mut grown: Vec<(u64, &Mapping)> = self.0.iter().map(|mapping| (before.gain(mapping), mapping)).collect();
        grown.sort_by_key(|(gain, _)| std::cmp::Reverse(*gain));
        let shown = grown.iter().take(SHOWN).filter(|(gain, _)| *gain > 0).map(|(gain, mapping)| {
            let name = if mapping.name.is_empty() { "anonymous" } else { &mapping.name };
            format!("{gain} in {:#x}-{:#x} {name}", mapping.start, mapping.end)
        });
        shown.collect::<Vec<String>>().join(", ")
    }

    /// Bytes that a mapping of later has and those in its place had not.
    fn gain(&self, later: &Mapping) -> u64 {
        let overlap = |earlier: &&Mapping| earlier.start < later.end && later.start < earlier.end;
        later.bytes.saturating_sub(self.0.iter().filter(overlap).map(|earlier| earlier.bytes).sum())
    }
}

/// Reads /proc/PID/smaps, whose mappings are in the order of their addresses.
fn mappings(smaps: &str) -> Result<Vec<Mapping>> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let range = first
            .split_once('-')
            .and_then(|(start, end)| Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?)));
        match (range, mappings.last_mut()) {
            // Permissions, offset, device and inode stand before the name.
            (Some((start, end)), _) => {
                let name = words.skip(3).collect::<Vec<&str>>().join(" ");
                mappings.push(Mapping { start, end, name, bytes: 0 });
            }
            (None, Some(last)) if first == "Anonymous:" => last.bytes = 1024 * second.parse::<u64>()?,
            _ => {}
        }
    }
    Ok(mappings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_names_the_mapping() {
        let read = |heap: u64| {
            let text = format!(
                "1000-2000 rw-p 00000000 00:00 0 \nRss: 90 kB\nAnonymous: 4 kB\n5000-9000 rw-p 00000000 00:00 0    [heap]\nAnonymous: {heap} kB\n"
            );
            Resident(mappings(&text).unwrap())
        };
        let (before, after) = (read(4), read(12));
        assert_eq!(after.bytes() - before.bytes(), 8 << 10);
        assert_eq!(after.growth_since(&before), "8192 in 0x5000-0x9000 [heap]");
    }

    #[test]
    fn what_touches_the_mapping_is_left_out_with_it() {
        let text: String = [(0x1000, 0x2000), (0x3000, 0x4000), (0x4000, 0x5000), (0x5000, 0x6000), (0x7000, 0x8000)]
            .iter()
            .map(|(start, end)| format!("{start:x}-{end:x} rw-p 00000000 00:00 0 \nAnonymous: {} kB\n", start >> 12))
            .collect();
        let bytes =
            |address: u64| Resident::of(mappings(&text).unwrap(), address).map(|resident| resident.bytes() >> 10);
        assert_eq!(bytes(0x4800).unwrap(), 1 + 7);
        assert_eq!(bytes(0x1000).unwrap(), 3 + 4 + 5 + 7);
        assert!(bytes(0x2000).is_err());
    }

    #[test]
    fn a_mapping_of_this_process_is_left_out() {
        /// In a mapping of the program's file: a stack may touch the memory asked for here.
        static ELSEWHERE: u8 = 0;
        let bytes = vec![1_u8; 64 << 20];
        let address = bytes.as_ptr().expose_provenance() as u64 + (32 << 20);
        let with = Resident::outside((&raw const ELSEWHERE).expose_provenance() as u64).unwrap().bytes();
        let without = Resident::outside(address).unwrap().bytes();
        assert!(without + (60 << 20) < with, "{without} without, {with} with");
    }
}
