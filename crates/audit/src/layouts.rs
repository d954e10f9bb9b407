//! Finding NVIDIA's runtime library in an object without a symbol table.
//!
//! Its code is one section of one object of `libcudart_static.a`, which linkers place as a whole. So the functions of a version lie equally far from each
//! other wherever it is linked in, and how far is written down (`registry/runtime/layouts.txt`). Where functions begin is told by the table that unwinders
//! look addresses up in (`.eh_frame_hdr`), which programs keep when they are stripped.
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

/// The runtime library of which all functions that are known begin where functions of `file` do.
pub(crate) fn find(file: &ElfFile) -> Result<Option<(Version, Vec<RuntimeFunction>)>, Reason> {
    let starts = file.function_starts()?;
    Ok(layouts(LAYOUTS).into_iter().find_map(|layout| {
        let first = layout.place(&starts)?;
        let placed = |function: RuntimeFunction| RuntimeFunction { address: first + function.address, ..function };
        Some((layout.version, layout.functions.into_iter().map(placed).collect()))
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
    /// Where the first function is, if functions begin at these addresses, in their order.
    fn place(&self, starts: &[u64]) -> Option<u64> {
        // Of two functions side by side the second is mostly next: few places are looked at more closely.
        let (near, gap) = self.nearest()?;
        let place = |pair: &[u64]| (pair[1] - pair[0] == gap).then(|| pair[0].checked_sub(near)).flatten();
        let all = |first: &u64| {
            self.functions.iter().all(|function| starts.binary_search(&(first + function.address)).is_ok())
        };
        starts.windows(2).filter_map(place).find(all)
    }

    /// Where the two functions are that lie nearest to each other, and how near.
    fn nearest(&self) -> Option<(u64, u64)> {
        let gaps = self.functions.windows(2).map(|pair| (pair[0].address, pair[1].address - pair[0].address));
        gaps.min_by_key(|(_, gap)| *gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# comment\nversion 13040\n0 4a cudaGetExportTable\n50 2b __cudaRegisterFatBinary\n80 22 cudaMalloc\n";

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

    #[test]
    fn a_layout_is_found_among_other_functions() {
        let [layout] = &layouts(TEXT)[..] else { panic!("one layout") };
        assert_eq!(layout.nearest(), Some((0x50, 0x30)));
        // The first pair is as near, but other functions are not where they should be.
        assert_eq!(layout.place(&[0x100, 0x130, 0x1000, 0x1020, 0x1050, 0x1080, 0x2000]), Some(0x1000));
        assert_eq!(layout.place(&[0x100, 0x130, 0x1000, 0x1050, 0x1090]), None);
        assert_eq!(layout.place(&[0x30, 0x60]), None);
        assert_eq!(layout.place(&[]), None);
    }
}
