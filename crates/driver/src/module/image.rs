//! Images: what a program hands in as code. Text is PTX; ELF files and fat binaries are told apart by their first bytes.

/// The first bytes of an ELF file.
pub const ELF_MAGIC: [u8; 4] = *b"\x7fELF";
/// The first bytes of a fat binary.
pub const FAT_BINARY_MAGIC: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
/// The first bytes of the structure that compilers put around the address of a fat binary.
pub const FAT_BINARY_WRAPPER_MAGIC: [u8; 4] = 0x4662_43B1_u32.to_le_bytes();

/// An image, read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// PTX, or at least text.
    Text(Box<[u8]>),
    /// An ELF file.
    Elf(Box<[u8]>),
    /// A fat binary.
    FatBinary(Box<[u8]>),
    /// A fat binary behind the structure that compilers put around its address.
    WrappedFatBinary(Box<[u8]>),
}

impl Image {
    /// Tells what bytes of a file are.
    pub fn from_bytes(bytes: Vec<u8>) -> Image {
        let bytes = bytes.into_boxed_slice();
        if bytes.starts_with(&ELF_MAGIC) {
            Image::Elf(bytes)
        } else if bytes.starts_with(&FAT_BINARY_MAGIC) {
            Image::FatBinary(bytes)
        } else {
            Image::Text(bytes)
        }
    }
}
