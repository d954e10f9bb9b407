//! `cargo xtask registry layouts FILE...`: adds to `registry/runtime/layouts.txt` where NVIDIA's runtime library has its functions.
//!
//! FILE is a `libcudart_static.a`, or a program or library that has one linked in and kept its symbol table. The archive has one object with one
//! section of code, which linkers place as a whole: wherever a version is linked in, its functions lie equally far from each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind, SymbolKind};

use crate::registry::Registry;

/// In the workspace.
const FILE: &str = "registry/runtime/layouts.txt";
const HEAD: &str = "# Where NVIDIA's static runtime library has its functions, by version (as `cudaRuntimeGetVersion` answers): bytes from the first
# one listed, its own bytes, its name; hexadecimal. Written by `cargo xtask registry layouts`.
";

/// The functions of one build of the runtime library: where each is, its size and its name.
type Layout = Vec<(u64, u64, String)>;

/// Adds the layouts of some files to those that are known.
pub(crate) fn run(root: &Path, files: &[PathBuf]) -> Result<()> {
    let path = root.join(FILE);
    let mut layouts = parse(&std::fs::read_to_string(&path).unwrap_or_default())?;
    let registry = Registry::load(root)?;
    let functions = registry.runtime.groups.iter().flat_map(|group| &group.functions);
    let known: BTreeSet<&str> = functions.map(|function| function.name.as_str()).collect();
    for file in files {
        let data = std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
        let object = match ArchiveFile::parse(&*data) {
            Ok(archive) => {
                let member = archive.members().next().context("the archive is empty")??;
                // Copied, as headers want to be aligned.
                member.data(&*data)?.to_vec()
            }
            Err(_) => data,
        };
        let (version, layout) = layout(&object, &known).with_context(|| format!("{} is of no use", file.display()))?;
        let new = layouts.insert((version, layout));
        println!("{}: {version}, {}", file.display(), if new { "added" } else { "known" });
    }
    std::fs::write(&path, text(&layouts)).with_context(|| format!("{} cannot be written", path.display()))
}

/// The version of the runtime library in an object, and where its functions are. `known` are functions of which the runtime has some.
fn layout(data: &[u8], known: &BTreeSet<&str>) -> Result<(u32, Layout)> {
    let object = object::File::parse(data)?;
    let mut functions = BTreeMap::new();
    for symbol in object.symbols() {
        let name = symbol.name()?;
        if symbol.kind() == SymbolKind::Text && symbol.is_definition() && is_of_runtime(name) {
            functions.insert(symbol.address(), (symbol.size(), name.to_owned()));
        }
    }
    // Programs have functions of their own with such names.
    let of_library = |(_, (_, name)): &(&u64, &(u64, String))| known.contains(name.as_str());
    let first = functions.iter().find(of_library).context("it has no function of the runtime")?.0;
    let last = functions.iter().rev().find(of_library).context("it has no function of the runtime")?.0;
    let range = functions.range(first..=last);
    let layout: Layout = range.map(|(at, (size, name))| (at - first, *size, name.clone())).collect();
    ensure!(layout.len() > 100, "it has {} functions of the runtime", layout.len());
    Ok((version(&object)?, layout))
}

/// `cudaMalloc`, `__cudaRegisterFatBinary`.
fn is_of_runtime(name: &str) -> bool {
    let rest = name.strip_prefix("__cuda").or_else(|| name.strip_prefix("cuda"));
    rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// What `cudaRuntimeGetVersion` answers: `movl $version, (%rdi); xor %eax, %eax; ret` in the code.
fn version(object: &object::File<'_>) -> Result<u32> {
    let mut versions = BTreeSet::new();
    for section in object.sections().filter(|section| section.kind() == SectionKind::Text) {
        versions.extend(section.data()?.windows(9).filter_map(|bytes| match bytes {
            [0xc7, 0x07, version @ .., 0x31, 0xc0, 0xc3] => Some(u32::from_le_bytes(version.try_into().ok()?)),
            _ => None,
        }));
    }
    versions.retain(|version| (10_000..100_000).contains(version) && version % 10 == 0);
    ensure!(versions.len() == 1, "its version cannot be told: {versions:?}");
    Ok(versions.into_iter().next().unwrap_or_default())
}

fn text(layouts: &BTreeSet<(u32, Layout)>) -> String {
    let mut text = HEAD.to_owned();
    for (version, layout) in layouts {
        let _ = writeln!(text, "\nversion {version}");
        for (at, size, name) in layout {
            let _ = writeln!(text, "{at:x} {size:x} {name}");
        }
    }
    text
}

fn parse(text: &str) -> Result<BTreeSet<(u32, Layout)>> {
    let mut layouts = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(version) = line.strip_prefix("version ") {
            layouts.push((version.parse()?, Layout::new()));
            continue;
        }
        let mut words = line.split(' ');
        let (at, size, name) = (words.next(), words.next(), words.next());
        let (_, layout) = layouts.last_mut().context("functions stand below their version")?;
        let [at, size] = [at, size].map(|word| u64::from_str_radix(word.unwrap_or_default(), 16));
        layout.push((at?, size?, name.with_context(|| format!("no name in {line}"))?.to_owned()));
    }
    Ok(layouts.into_iter().collect())
}
