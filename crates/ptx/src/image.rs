//! What a program hands over as a module: PTX text, a fat binary, or an ELF file. Told apart and taken apart here;
//! bytes only, never pointers. Sizes in untrusted headers are checked against the bytes that are there.

mod architecture;
mod elf;
mod fatbin;
mod payload;

pub use architecture::{Architecture, Variant};
pub use elf::{Container, ELF_HEADER_SIZE, ElfKind, read_container, write_container};
pub use fatbin::{ENTRY_ALIGN, Entry, EntryKind, Fatbin, HEADER_SIZE, WRAPPER_SIZE, Wrapper, total_size};

/// What an image is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// PTX text: behind white space and comments stands `.version`.
    Ptx,
    /// A fat binary.
    Fatbin,
    /// The structure in a host program that points to its fat binary.
    FatbinWrapper,
    /// An ELF file.
    Elf,
}

/// Why an image cannot be taken apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The bytes end within a structure.
    #[error("the image ends within {0}")]
    Truncated(&'static str),
    /// A field has a value that the format does not have.
    #[error("{what} of the image is {value:#x}, which is not valid")]
    Field {
        /// Which field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// Compressed data is damaged.
    #[error("{method} data of the image is damaged: {reason}")]
    Compression {
        /// `LZ4` or `zstd`.
        method: &'static str,
        /// What the decoder says.
        reason: String,
    },
    /// An ELF file that is not well formed.
    #[error("the ELF file is not well formed: {0}")]
    Elf(String),
}

/// Tells what an image is; `None` if it is nothing that a driver loads. At least 4 bytes are needed for binary forms.
pub fn identify(bytes: &[u8]) -> Option<ImageKind> {
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => Some(ImageKind::Elf),
        [a, b, c, d, ..] if [*a, *b, *c, *d] == fatbin::MAGIC.to_le_bytes() => Some(ImageKind::Fatbin),
        [a, b, c, d, ..] if [*a, *b, *c, *d] == fatbin::WRAPPER_MAGIC.to_le_bytes() => Some(ImageKind::FatbinWrapper),
        _ => is_ptx(bytes).then_some(ImageKind::Ptx),
    }
}

/// Whether the text begins with `.version`, as PTX has to (PTX ISA 4.1), behind white space and comments.
fn is_ptx(mut text: &[u8]) -> bool {
    loop {
        text = text.trim_ascii_start();
        if let Some(comment) = text.strip_prefix(b"//") {
            let Some(end) = comment.iter().position(|byte| *byte == b'\n') else { return false };
            text = &comment[end..];
        } else if let Some(comment) = text.strip_prefix(b"/*") {
            let Some(end) = comment.windows(2).position(|pair| pair == b"*/") else { return false };
            text = &comment[end + 2..];
        } else {
            return text.starts_with(b".version");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_told_apart() {
        assert_eq!(identify(b"\n// c\n/* d */ \t.version 8.0"), Some(ImageKind::Ptx));
        assert_eq!(identify(b"\x7fELF"), Some(ImageKind::Elf));
        assert_eq!(identify(&0xba55_ed50u32.to_le_bytes()), Some(ImageKind::Fatbin));
        assert_eq!(identify(&0x4662_43b1u32.to_le_bytes()), Some(ImageKind::FatbinWrapper));
        for other in [&b""[..], b"garbage", b".target sm_52\n.version 7.0", b"// .version", b"/* .version", b"\x7fEL"] {
            assert_eq!(identify(other), None);
        }
    }
}
