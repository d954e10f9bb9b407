//! Images of code: a pointer without a length, whose own first bytes say how far it goes.
use std::ffi::CStr;

use warploom_driver::module::{ELF_MAGIC, FAT_BINARY_MAGIC, FAT_BINARY_WRAPPER_MAGIC, Image};
use warploom_driver::{DriverError, DriverResult, ErrorCode};

use super::HostPtr;
use super::host_memory::callers_memory;

/// Bytes of the headers of an ELF file of 64 bits and of each of its sections, and of the header of a fat binary.
const ELF_HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
const FAT_BINARY_HEADER: usize = 16;

/// Copies the image at `pointer`, which must not be NULL.
///
/// # Errors
/// `InvalidValue` for NULL, `InvalidImage` for a wrapper around nothing and for headers that lead out of memory.
pub(crate) fn read_image(pointer: HostPtr) -> DriverResult<Image> {
    let address = pointer.required("image")?;
    if starts_with(address, &ELF_MAGIC) {
        return Ok(Image::Elf(read(address, elf_size(address)?)?.into()));
    }
    if starts_with(address, &FAT_BINARY_MAGIC) {
        return Ok(Image::FatBinary(read_fat_binary(address)?.into()));
    }
    if starts_with(address, &FAT_BINARY_WRAPPER_MAGIC) {
        // Magic number, version, and the address of the fat binary at byte 8.
        let inner = word64(&read(address, 16)?, 8) as usize;
        if inner == 0 || read(inner, FAT_BINARY_HEADER)?[..FAT_BINARY_MAGIC.len()] != FAT_BINARY_MAGIC {
            return Err(DriverError::new(ErrorCode::InvalidImage, "a wrapper without a fat binary"));
        }
        return Ok(Image::WrappedFatBinary(read_fat_binary(inner)?.into()));
    }
    // SAFETY: by its documentation the function takes text that ends in NUL where the image is none of the binary forms.
    let text = unsafe { CStr::from_ptr(std::ptr::with_exposed_provenance(address)) };
    Ok(Image::Text(text.to_bytes().into()))
}

/// A copy of the `size` bytes of an input of a link.
///
/// # Errors
/// `InvalidValue` for NULL, for no bytes, and for more than are there.
pub(crate) fn read_input(pointer: HostPtr, size: usize) -> DriverResult<Vec<u8>> {
    let address = pointer.required("data")?;
    if size == 0 {
        return Err(DriverError::invalid_value("size is 0"));
    }
    callers_memory().range(address as u64, size as u64).read_if_there().ok_or_else(|| {
        let reason = format!("size says {size} bytes at {address:#x}, where they are not");
        DriverError::new(ErrorCode::InvalidValue, reason)
    })
}

/// Whether the bytes at `address` are these. Looks no further than the first that differs: a text may be shorter.
fn starts_with(address: usize, bytes: &[u8]) -> bool {
    // SAFETY: an image has a first byte, and a next one as long as those before are not those of a text's end.
    bytes
        .iter()
        .enumerate()
        .all(|(index, byte)| unsafe { std::ptr::with_exposed_provenance::<u8>(address + index).read() == *byte })
}

/// A copy of what headers say is there. What they say may be wrong: then the image is, and the process goes on.
fn read(address: usize, len: usize) -> DriverResult<Vec<u8>> {
    callers_memory().range(address as u64, len as u64).read_if_there().ok_or_else(|| {
        let reason = format!("the image's headers speak of {len} bytes at {address:#x}, where they are not");
        DriverError::new(ErrorCode::InvalidImage, reason)
    })
}

fn word64(bytes: &[u8], offset: usize) -> u64 {
    bytes
        .get(offset..offset + 8)
        .map_or(0, |word| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn word16(bytes: &[u8], offset: usize) -> usize {
    bytes.get(offset..offset + 2).map_or(0, |word| usize::from(word[0]) | usize::from(word[1]) << 8)
}

fn read_fat_binary(address: usize) -> DriverResult<Vec<u8>> {
    let header = read(address, FAT_BINARY_HEADER)?;
    // Size of the header at byte 6, of what follows it at byte 8.
    let header_size = word16(&header, 6).max(FAT_BINARY_HEADER);
    let payload = usize::try_from(word64(&header, 8)).unwrap_or(usize::MAX);
    read(address, header_size.saturating_add(payload))
}

/// The end of what the headers of an ELF file of 64 bits name; of another one only its header.
fn elf_size(address: usize) -> DriverResult<usize> {
    let header = read(address, 16)?;
    if header[4] != 2 || header[5] != 1 {
        return Ok(header.len());
    }
    let header = read(address, ELF_HEADER)?;
    // Where a table starts, and its size.
    let table = |offset, entry_size, count| {
        let start = usize::try_from(word64(&header, offset)).unwrap_or(usize::MAX);
        (start, word16(&header, entry_size) * word16(&header, count))
    };
    let (sections, sections_size) = table(40, 58, 60);
    let (segments, segments_size) = table(32, 54, 56);
    let ends = [sections.saturating_add(sections_size), segments.saturating_add(segments_size)];
    let mut end = ends.into_iter().fold(ELF_HEADER, usize::max);
    if word16(&header, 58) == SECTION_HEADER {
        let table = read(address.saturating_add(sections), sections_size)?;
        for section in table.chunks_exact(SECTION_HEADER) {
            // Sections without bytes in the file (SHT_NOBITS) only have a size in memory.
            let has_bytes = section[4] != 8;
            if has_bytes {
                end = end.max(word64(section, 24).saturating_add(word64(section, 32)) as usize);
            }
        }
    }
    Ok(end)
}

/// Writes as much of a log as fits `size` bytes with a NUL, which is at least 1; how many characters that were.
pub(crate) fn write_log(buffer: HostPtr, size: usize, text: &str) -> usize {
    let len = text.len().min(size - 1);
    let start = std::ptr::with_exposed_provenance_mut::<u8>(buffer.addr());
    // SAFETY: the program gave a buffer of `size` bytes; len + 1 <= size.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), start, len);
        start.add(len).write(0);
    }
    len
}
