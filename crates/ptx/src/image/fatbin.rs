//! Fat binaries: a header and a row of entries, each a PTX text or an ELF file for one target, maybe compressed.
//!
//! The layout is not documented by NVIDIA. Facts: public readers of the format, and files that the toolkit's
//! `fatbinary` wrote with every compression mode.
//!
//! | bytes of an entry's head | what |
//! |---|---|
//! | 0..2 | kind: 1 PTX, 2 ELF |
//! | 4..8 | size of the head, from which on the data stands |
//! | 8..16 | size of the data with padding |
//! | 16..20 | size of the compressed data; 0 if it is not compressed |
//! | 24..26, 26..28 | minor and major version (of PTX, or of the ELF format) |
//! | 28..32 | compute capability times ten |
//! | 32..36, 36..40 | where in the entry the file name stands, and its length |
//! | 40..48 | flags: 0x1 64 bit, 0x2 debug, 0x2000 LZ4, 0x8000 zstd, 0x10_0000 `a` target, 0x20_0000 `f` target |
//! | 56..64 | size of the data when decompressed |
//!
//! Kind 0x100 is a group (`fatbinary --concat`): its data is that of several entries one after another, compressed
//! together. Their heads stand at byte 72 of the group's; in bytes 64..72 are how many, and their size and these
//! bytes' together. In such a head bytes 4..8 say where in the group's data the entry's begins.

use std::borrow::Cow;
use std::ops::Range;

use super::payload::{Method, Stored};
use super::{Architecture, ELF_HEADER_SIZE, ElfKind, ImageError, Variant};

/// Begins a fat binary.
pub(super) const MAGIC: u32 = 0xba55_ed50;
/// Begins the structure that points to one.
pub(super) const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// Size of a fat binary's header in bytes.
pub const HEADER_SIZE: usize = 16;
/// Size of the wrapper structure in bytes.
pub const WRAPPER_SIZE: usize = 24;
/// Entries begin at multiples of this many bytes.
pub const ENTRY_ALIGN: usize = 8;
/// The smallest head of an entry that has all the fields read here.
const ENTRY_SIZE: usize = 64;
/// Kind of a group of entries.
const GROUP: u16 = 0x100;
/// Where in a group's head those of its entries begin.
const GROUP_HEADS: usize = 72;

/// The structure in a host program that points to its fat binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// 1: one fat binary; 2: the second address leads to a list of prelinked ones.
    pub version: u32,
    /// Address of the fat binary in the process.
    pub data: u64,
    /// Address of a file name (version 1) or of prelinked fat binaries (version 2).
    pub more: u64,
}

impl Wrapper {
    /// Reads the structure.
    ///
    /// # Errors
    /// Wrong magic or version.
    pub fn parse(bytes: &[u8; WRAPPER_SIZE]) -> Result<Self, ImageError> {
        let magic = u32_at(bytes, 0, "the wrapper")?;
        let version = u32_at(bytes, 4, "the wrapper")?;
        if magic != WRAPPER_MAGIC {
            return Err(ImageError::Field { what: "the wrapper's magic number", value: magic.into() });
        }
        if !matches!(version, 1 | 2) {
            return Err(ImageError::Field { what: "the wrapper's version", value: version.into() });
        }
        Ok(Self { version, data: u64_at(bytes, 8, "the wrapper")?, more: u64_at(bytes, 16, "the wrapper")? })
    }
}

/// The size in bytes of the whole fat binary that a header begins.
///
/// # Errors
/// Wrong magic, version or header size.
pub fn total_size(header: &[u8; HEADER_SIZE]) -> Result<u64, ImageError> {
    let magic = u32_at(header, 0, "the header")?;
    if magic != MAGIC {
        return Err(ImageError::Field { what: "the magic number", value: magic.into() });
    }
    let version = u16_at(header, 4, "the header")?;
    if version != 1 {
        return Err(ImageError::Field { what: "the version", value: version.into() });
    }
    let header_size = u16_at(header, 6, "the header")?;
    if usize::from(header_size) < HEADER_SIZE {
        return Err(ImageError::Field { what: "the header's size", value: header_size.into() });
    }
    let size = u64_at(header, 8, "the header")?;
    size.checked_add(header_size.into()).ok_or(ImageError::Field { what: "the size", value: size })
}

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// PTX text.
    Ptx,
    /// An ELF file: machine code, or texts that were packed by `write_container`.
    Elf,
    /// Anything else, such as intermediate code for link-time optimisation.
    Other(u16),
}

/// A part of a fat binary.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// What it holds.
    pub kind: EntryKind,
    /// What it is for.
    pub architecture: Architecture,
    /// PTX version, or version of the ELF format.
    pub version: (u16, u16),
    /// Name of the source file, if it was kept. Bytes that are not UTF-8 are replaced.
    pub name: Option<Cow<'a, str>>,
    /// Whether it was compiled for debugging.
    pub debug: bool,
    data: Stored<'a>,
    /// Which bytes of the stored data are the entry's; all where absent.
    part: Option<Range<usize>>,
}

impl<'a> Entry<'a> {
    /// Whether it is PTX, or a file that PTX was packed into. Damaged data is not.
    pub fn holds_ptx(&self) -> bool {
        self.kind == EntryKind::Ptx || self.holds_container()
    }

    /// Whether it is a file that PTX was packed into, by its header: what machine code behind that is compressed stays so.
    pub fn holds_container(&self) -> bool {
        let start = self.part.as_ref().map_or(0, |part| part.start);
        let end = start.saturating_add(ELF_HEADER_SIZE);
        let header = || self.data.first(end as u64).ok()?.get(start..end)?.try_into().ok();
        self.kind == EntryKind::Elf
            && header().is_some_and(|header| matches!(ElfKind::of(&header), ElfKind::Container(_)))
    }

    /// The PTX text or ELF file.
    ///
    /// # Errors
    /// The compressed data is damaged.
    pub fn content(&self) -> Result<Cow<'a, [u8]>, ImageError> {
        let content = self.data.decompress()?;
        let Some(part) = self.part.clone() else { return Ok(content) };
        let cut = match content {
            Cow::Borrowed(content) => content.get(part).map(Cow::Borrowed),
            Cow::Owned(content) => content.get(part).map(|part| Cow::Owned(part.to_vec())),
        };
        cut.ok_or(ImageError::Truncated("a group of entries"))
    }
}

/// A fat binary taken apart.
#[derive(Clone, Debug, Default)]
pub struct Fatbin<'a> {
    /// Its entries in order.
    pub entries: Vec<Entry<'a>>,
}

impl<'a> Fatbin<'a> {
    /// Takes a fat binary apart; nothing is decompressed yet. Bytes behind its end are not looked at.
    ///
    /// # Errors
    /// A header or an entry is damaged or ends behind `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ImageError> {
        let header = bytes.first_chunk::<HEADER_SIZE>().ok_or(ImageError::Truncated("the header"))?;
        let total = total_size(header)?;
        let total = usize::try_from(total).map_err(|_| ImageError::Truncated("the fat binary"))?;
        let bytes = bytes.get(..total).ok_or(ImageError::Truncated("the fat binary"))?;
        let mut rest = &bytes[usize::from(u16_at(header, 6, "the header")?)..];
        let mut entries = Vec::new();
        while !rest.is_empty() {
            let size = read_entries(rest, &mut entries)?;
            rest = &rest[size.next_multiple_of(ENTRY_ALIGN).min(rest.len())..];
        }
        Ok(Self { entries })
    }

    /// The entries for a device of compute capability `device` (times ten), the best first: the newest target, and of several equally new
    /// ones that for the fewest devices; PTX before ELF files, most of which hold machine code.
    pub fn entries_for(&self, device: u32) -> Vec<&Entry<'a>> {
        let loadable = |kind| matches!(kind, EntryKind::Ptx | EntryKind::Elf);
        let fits = |entry: &&Entry<'_>| loadable(entry.kind) && entry.architecture.runs_on(device);
        let mut entries: Vec<_> = self.entries.iter().filter(fits).collect();
        let specific = |entry: &Entry<'_>| match entry.architecture.variant {
            Variant::Portable => 0,
            Variant::Family => 1,
            Variant::Specific => 2,
        };
        // The sort keeps the order of entries that are equally good.
        entries.sort_by_key(|entry| {
            std::cmp::Reverse((entry.architecture.sm, specific(entry), entry.kind == EntryKind::Ptx))
        });
        entries
    }
}

/// Adds the entry or the group of entries that `bytes` begin with; its size.
fn read_entries<'a>(bytes: &'a [u8], entries: &mut Vec<Entry<'a>>) -> Result<usize, ImageError> {
    const WHAT: &str = "an entry";
    let head_size = u32_at(bytes, 4, WHAT)? as usize;
    if head_size < ENTRY_SIZE {
        return Err(ImageError::Field { what: "the size of an entry's head", value: head_size as u64 });
    }
    let head = bytes.get(..head_size).ok_or(ImageError::Truncated(WHAT))?;
    let data_size = u64_at(head, 8, WHAT)?;
    let end = usize::try_from(data_size).ok().and_then(|size| size.checked_add(head_size));
    let end = end.ok_or(ImageError::Field { what: "an entry's size", value: data_size })?;
    let data = bytes.get(head_size..end).ok_or(ImageError::Truncated(WHAT))?;
    let data = stored(head, data)?;
    if u16_at(head, 0, WHAT)? != GROUP {
        entries.push(entry(head, data, None)?);
        return Ok(end);
    }

    let count = u32_at(head, 64, WHAT)? as usize;
    let size = u32_at(head, 68, WHAT)? as usize;
    let heads = size.checked_sub(8).and_then(|size| head.get(GROUP_HEADS..)?.get(..size));
    let heads = heads.ok_or(ImageError::Field { what: "the size of a group's heads", value: size as u64 })?;
    let each = heads.len().checked_div(count).unwrap_or(0);
    if each < ENTRY_SIZE || each * count != heads.len() {
        return Err(ImageError::Field { what: "the number of a group's entries", value: count as u64 });
    }
    for head in heads.chunks_exact(each) {
        let start = u32_at(head, 4, WHAT)? as usize;
        let size = u64_at(head, 8, WHAT)?;
        let part = usize::try_from(size).ok().and_then(|size| Some(start..start.checked_add(size)?));
        let part = part.ok_or(ImageError::Field { what: "the size of a group's entry", value: size })?;
        entries.push(entry(head, data, Some(part))?);
    }
    Ok(end)
}

/// How the data behind an entry's head is stored.
fn stored<'a>(head: &[u8], data: &'a [u8]) -> Result<Stored<'a>, ImageError> {
    const WHAT: &str = "an entry";
    let flags = u64_at(head, 40, WHAT)?;
    let method = match (flags & 0x2000 != 0, flags & 0x8000 != 0) {
        (false, false) => return Ok(Stored { method: Method::Plain, data, size: data.len() as u64 }),
        (true, false) => Method::Lz4,
        (false, true) => Method::Zstd,
        (true, true) => return Err(ImageError::Field { what: "an entry's compression flags", value: flags }),
    };
    let compressed_size = u32_at(head, 16, WHAT)? as usize;
    let data = data.get(..compressed_size).ok_or(ImageError::Truncated("an entry's compressed data"))?;
    Ok(Stored { method, data, size: u64_at(head, 56, WHAT)? })
}

/// The entry that a head describes.
fn entry<'a>(head: &'a [u8], data: Stored<'a>, part: Option<Range<usize>>) -> Result<Entry<'a>, ImageError> {
    const WHAT: &str = "an entry";
    let kind = match u16_at(head, 0, WHAT)? {
        1 => EntryKind::Ptx,
        2 => EntryKind::Elf,
        other => EntryKind::Other(other),
    };
    let flags = u64_at(head, 40, WHAT)?;
    let variant = match (flags & 0x10_0000 != 0, flags & 0x20_0000 != 0) {
        (true, _) => Variant::Specific,
        (false, true) => Variant::Family,
        (false, false) => Variant::Portable,
    };
    Ok(Entry {
        kind,
        architecture: Architecture { sm: u32_at(head, 28, WHAT)?, variant },
        version: (u16_at(head, 26, WHAT)?, u16_at(head, 24, WHAT)?),
        name: name(head)?,
        debug: flags & 2 != 0,
        data,
        part,
    })
}

fn name(head: &[u8]) -> Result<Option<Cow<'_, str>>, ImageError> {
    const WHAT: &str = "an entry's name";
    let (offset, length) = (u32_at(head, 32, WHAT)? as usize, u32_at(head, 36, WHAT)? as usize);
    if length == 0 {
        return Ok(None);
    }
    let name = head.get(offset..).and_then(|rest| rest.get(..length)).ok_or(ImageError::Truncated(WHAT))?;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(length);
    Ok(Some(String::from_utf8_lossy(&name[..end])))
}

fn array_at<const N: usize>(bytes: &[u8], at: usize, what: &'static str) -> Result<[u8; N], ImageError> {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or(ImageError::Truncated(what))
}

fn u16_at(bytes: &[u8], at: usize, what: &'static str) -> Result<u16, ImageError> {
    array_at(bytes, at, what).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize, what: &'static str) -> Result<u32, ImageError> {
    array_at(bytes, at, what).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize, what: &'static str) -> Result<u64, ImageError> {
    array_at(bytes, at, what).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests;
