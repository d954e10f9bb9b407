//! Finding NVIDIA's runtime library in an object without a symbol table.
//!
//! Its code is one section of one object of `libcudart_static.a`, which linkers place as a whole. So the functions of a version lie equally far from each
//! other wherever it is linked in, and how far is written down (`registry/runtime/layouts.txt`). Where functions begin and end is told by the tables
//! of unwinders (`.eh_frame`), which programs keep when they are stripped.
//!
//! NVIDIA links its own libraries with builds that lie between those it gives out, in which some functions that nobody names have other sizes, or a
//! few new ones are not there yet. All that follow are moved by that, and none otherwise: a layout is found in few stretches.
use crate::elf_file::{ElfFile, Reason};
use crate::embedded::{RuntimeFunction, Version};

/// By version, what `cargo xtask registry layouts` has found.
const LAYOUTS: &str = include_str!("../../../registry/runtime/layouts.txt");

/// The functions of one build of the runtime library.
struct Layout {
    version: Version,
    /// By address, counted from the first one's.
    functions: Vec<RuntimeFunction>,
}

/// Functions of a stretch, at least: their sizes and what lies between them tell that it is one.
const STRETCH: usize = 5;
/// Stretches of a layout, at most.
const STRETCHES: usize = 8;
/// How far one stretch is moved against the one before it, at most.
const REACH: u64 = 1 << 16;
/// Functions side by side that a build may not have yet.
const ABSENT: usize = 8;

/// Where a layout is in a file.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// Of each function, as linked; none if it is not there.
    addresses: Vec<Option<u64>>,
    stretches: usize,
}

/// The runtime library whose functions are where functions of `file` are.
pub(crate) fn find(file: &ElfFile) -> Result<Option<(Version, Vec<RuntimeFunction>)>, Reason> {
    let ranges = file.function_ranges()?;
    let mut best: Option<(Layout, Place)> = None;
    for layout in layouts(LAYOUTS) {
        let Some(place) = layout.place(&ranges) else { continue };
        if best.as_ref().is_none_or(|(_, known)| place.stretches < known.stretches) {
            best = Some((layout, place));
        }
    }
    Ok(best.map(|(Layout { version, functions }, place)| {
        let placed = |(function, address): (RuntimeFunction, Option<u64>)| {
            Some(RuntimeFunction { address: address?, ..function })
        };
        (version, functions.into_iter().zip(place.addresses).filter_map(placed).collect())
    }))
}

/// The versions that are known, each once.
pub(crate) fn versions() -> String {
    let mut versions: Vec<String> = layouts(LAYOUTS).iter().map(|layout| layout.version.to_string()).collect();
    versions.dedup();
    versions.join(", ")
}

fn layouts(text: &str) -> Vec<Layout> {
    let mut layouts: Vec<Layout> = Vec::new();
    for line in text.lines() {
        if let Some(version) = line.strip_prefix("version ").and_then(|version| version.parse().ok()) {
            layouts.push(Layout { version: Version(version), functions: Vec::new() });
        } else if let (Some(layout), Some(function)) = (layouts.last_mut(), function(line)) {
            layout.functions.push(function);
        }
    }
    layouts
}

/// `50 2b __cudaRegisterFatBinary`
fn function(line: &str) -> Option<RuntimeFunction> {
    let mut words = line.split(' ');
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let (address, size) = (number()?, number()?);
    Some(RuntimeFunction { name: words.next()?.as_bytes().to_vec(), address, size })
}

impl Layout {
    /// Where it is among functions that begin and have as many bytes as `ranges` says, in their order. None if it is nowhere, or cannot be told.
    fn place(&self, ranges: &[(u64, u64)]) -> Option<Place> {
        let size = self.functions.first()?.size;
        let firsts = ranges.iter().filter(|range| range.1 == size);
        let mut places: Vec<Place> = firsts.filter_map(|(first, _)| self.place_from(*first, ranges)).collect();
        places.sort_by_key(|place| place.stretches);
        let another = places.get(1).is_some_and(|place| place.stretches == places[0].stretches);
        places.into_iter().next().filter(|_| !another)
    }

    /// The same, with its first function there.
    fn place_from(&self, first: u64, ranges: &[(u64, u64)]) -> Option<Place> {
        // How far functions are moved against the layout, modulo 2^64.
        let (mut moved, mut next, mut stretches) = (first, 0, 0);
        let mut addresses = vec![None; self.functions.len()];
        while next < self.functions.len() {
            stretches += 1;
            if stretches > STRETCHES || !self.goes_on(next, moved, ranges) {
                return None;
            }
            while self.functions.get(next).is_some_and(|function| is_there(function, moved, ranges)) {
                addresses[next] = Some(self.functions[next].address.wrapping_add(moved));
                next += 1;
            }
            if next < self.functions.len() {
                (next, moved) = self.next_stretch(next, moved, ranges)?;
            }
        }
        Some(Place { addresses, stretches })
    }

    /// Whether a stretch begins with this function.
    fn goes_on(&self, next: usize, moved: u64, ranges: &[(u64, u64)]) -> bool {
        let functions = self.functions.get(next..next + STRETCH);
        functions.is_some_and(|functions| functions.iter().all(|function| is_there(function, moved, ranges)))
    }

    /// The stretch behind one that ends before this function: which function it begins with, and how far it is moved.
    fn next_stretch(&self, next: usize, moved: u64, ranges: &[(u64, u64)]) -> Option<(usize, u64)> {
        let address = self.functions[next].address;
        let before = &self.functions[next - 1];
        let end = before.address.wrapping_add(before.size).wrapping_add(moved);
        let here = address.wrapping_add(moved);
        let from = ranges.partition_point(|range| range.0 < end.max(here.saturating_sub(REACH)));
        let near = ranges[from..].iter().take_while(|range| range.0 <= here.saturating_add(REACH));
        let moves = near.map(|range| range.0.wrapping_sub(address));
        let mut moves = moves.filter(|moved| self.goes_on(next, *moved, ranges));
        match (moves.next(), moves.next()) {
            (Some(moved), None) => Some((next, moved)),
            (Some(_), Some(_)) => None,
            // What follows takes the place of those that are not there.
            (None, _) => (next + 1..=next + ABSENT).find_map(|following| {
                let moved = here.wrapping_sub(self.functions.get(following)?.address);
                self.goes_on(following, moved, ranges).then_some((following, moved))
            }),
        }
    }
}

fn is_there(function: &RuntimeFunction, moved: u64, ranges: &[(u64, u64)]) -> bool {
    ranges.binary_search(&(function.address.wrapping_add(moved), function.size)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_written_down_is_read() {
        let all = layouts(LAYOUTS);
        let lines = LAYOUTS.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', 'v']));
        assert_eq!(lines.count(), all.iter().map(|layout| layout.functions.len()).sum::<usize>());
        for layout in all {
            assert!(layout.functions.len() > 300, "{}", layout.version);
            assert_eq!(layout.functions[0].address, 0);
            assert!(layout.functions.is_sorted_by(|a, b| a.address + a.size <= b.address), "{}", layout.version);
            assert!(layout.functions.iter().any(|function| function.name == b"cudaLaunchKernel"));
        }
    }

    /// Ten functions of different sizes, 16 bytes apart where one ends.
    fn ten() -> Layout {
        let mut address = 0;
        let function = |size: u64| {
            let function = RuntimeFunction { name: format!("cuda{size}").into_bytes(), address, size };
            address += size + 16;
            function
        };
        Layout { version: Version(13000), functions: (3..13).map(|size| 16 * size).map(function).collect() }
    }

    /// Where they are in a file, moved by this each, among others.
    fn moved(layout: &Layout, moves: [u64; 10]) -> Vec<(u64, u64)> {
        let others = [(0x10, 48), (0x40, 64), (0x80, 33)];
        let placed =
            layout.functions.iter().zip(moves).map(|(function, moved)| (function.address + moved, function.size));
        let mut ranges: Vec<(u64, u64)> =
            others.into_iter().chain(placed).chain([(0x9000, 48), (0x9040, 64)]).collect();
        ranges.sort_unstable();
        ranges
    }

    /// Stretches, and how far each function is moved.
    fn found(layout: &Layout, ranges: &[(u64, u64)]) -> Option<(usize, Vec<Option<u64>>)> {
        let place = layout.place(ranges)?;
        let moves = layout.functions.iter().zip(place.addresses).map(|(function, at)| Some(at? - function.address));
        Some((place.stretches, moves.collect()))
    }

    #[test]
    fn a_layout_is_found_among_other_functions() {
        let layout = ten();
        let all = [0x1000; 10];
        assert_eq!(found(&layout, &moved(&layout, all)), Some((1, all.map(Some).to_vec())));
        assert_eq!(layout.place(&[]), None);
        // One of another size, one elsewhere.
        let mut ranges = moved(&layout, all);
        ranges[7].1 += 1;
        assert_eq!(layout.place(&ranges), None);
        let mut elsewhere = all;
        elsewhere[4] += 16;
        assert_eq!(layout.place(&moved(&layout, elsewhere)), None);
        // It cannot be told which of two it is.
        let mut twice = moved(&layout, all);
        twice.extend(moved(&layout, [0x20000; 10]));
        twice.sort_unstable();
        assert_eq!(layout.place(&twice), None);
    }

    #[test]
    fn a_layout_may_have_moved_in_stretches() {
        let layout = ten();
        for by in [0x110, -0x10_i64] {
            let moves: [u64; 10] =
                std::array::from_fn(|index| if index < 5 { 0x1000 } else { 0x1000_u64.wrapping_add_signed(by) });
            assert_eq!(found(&layout, &moved(&layout, moves)), Some((2, moves.map(Some).to_vec())));
        }
        // Too few to tell, too far away, and before what they follow.
        for (first, by) in [(6, 0x110), (4, 0x110), (5, 0x20000), (5, -0x400)] {
            let moves =
                std::array::from_fn(|index| if index < first { 0x1000 } else { 0x1000_u64.wrapping_add_signed(by) });
            assert_eq!(layout.place(&moved(&layout, moves)), None, "{first} {by}");
        }
        // Two places for the second half.
        let moves = std::array::from_fn(|index| if index < 5 { 0x1000 } else { 0x1110 });
        let mut ranges = moved(&layout, moves);
        ranges.extend(layout.functions[5..].iter().map(|function| (function.address + 0x2000, function.size)));
        ranges.sort_unstable();
        assert_eq!(layout.place(&ranges), None);
    }

    #[test]
    fn functions_that_are_not_there_yet_leave_no_hole() {
        let mut layout = ten();
        let (at, size) = (layout.functions[5].address, 0x70);
        for function in &mut layout.functions[5..] {
            function.address += size + 16;
        }
        layout.functions.insert(5, RuntimeFunction { name: b"cudaNew".to_vec(), address: at, size });
        let mut expected = vec![Some(0x1000); 5];
        expected.push(None);
        expected.resize(11, Some(0x1000 - size - 16));
        let older = ten();
        assert_eq!(found(&layout, &moved(&older, [0x1000; 10])), Some((2, expected)));
        let hole = std::array::from_fn(|index| if index < 5 { 0x1000 } else { 0x1000 + size + 16 });
        assert_eq!(layout.place(&moved(&older, hole)), None);
    }
}
