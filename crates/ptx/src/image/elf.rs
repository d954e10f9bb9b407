//! ELF files: NVIDIA's hold machine code, which is told apart and not read. Ours, the result of linking, hold the PTX
//! texts that were linked, a section each, so that another process can load them.

use object::elf::{ET_EXEC, SHT_PROGBITS};
use object::read::elf::{ElfFile64, FileHeader};
use object::read::{Object, ObjectSection};
use object::write::elf::{FileHeader as NewHeader, SectionHeader, Writer};
use object::{Endianness, LittleEndian};

use super::ImageError;

/// Machine number of NVIDIA's GPUs.
const EM_CUDA: u16 = 190;
/// What such files of CUDA 13 say in `EI_OSABI` and `EI_ABIVERSION`. Tools such as `fatbinary` go by it, as recorded.
const ABI: (u8, u8) = (0x41, 8);
/// Marks a file of ours, in the padding of `e_ident`, which others leave 0.
const MARK: [u8; 4] = *b"wrpl";
/// Where the padding begins.
const MARK_AT: usize = 9;
/// In the flags, what all files have, and from which bit on the compute capability stands, as recorded.
const FLAGS: (u32, u32) = (0x0600_0000, 8);
/// Name of the sections that hold PTX: its name, a NUL, its text.
const SECTION: &str = ".warploom.ptx";
/// Name of the section that holds [`Container::most_registers`] as a 32-bit number.
const REGISTERS_SECTION: &str = ".warploom.registers";
/// Size of an ELF file's header in bytes.
pub const ELF_HEADER_SIZE: usize = 64;

/// What an ELF file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElfKind {
    /// PTX texts that were linked; the file is so many bytes long.
    Container(u64),
    /// Machine code for a GPU.
    MachineCode,
    /// Something for another machine, or damaged.
    Other,
}

impl ElfKind {
    /// Tells what a file holds; one that ends within its header is [`ElfKind::Other`].
    pub fn of_file(bytes: &[u8]) -> Self {
        bytes.first_chunk().map_or(Self::Other, Self::of)
    }

    /// Tells by the file's header what it holds.
    pub fn of(identification: &[u8; ELF_HEADER_SIZE]) -> Self {
        let Ok(header) = object::elf::FileHeader64::<Endianness>::parse(&identification[..]) else {
            return Self::Other;
        };
        let (Ok(endian), true) = (header.endian(), header.is_class_64()) else {
            return Self::Other;
        };
        if endian != Endianness::Little || header.e_machine(endian) != EM_CUDA {
            return Self::Other;
        }
        if identification[MARK_AT..MARK_AT + MARK.len()] != MARK {
            return Self::MachineCode;
        }
        // Our files end with their section headers.
        let headers = u64::from(header.e_shentsize(endian)) * u64::from(header.e_shnum(endian));
        header.e_shoff(endian).checked_add(headers).map_or(Self::Other, Self::Container)
    }
}

/// What a file of ours holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// PTX texts with their names.
    pub texts: Vec<(String, String)>,
    /// The most registers that a thread of a kernel is to have, where the link was told so.
    pub most_registers: Option<u32>,
    /// The compute capability (times ten) that it was linked for. The texts say themselves which devices run them; this is for tools.
    pub sm: u32,
}

/// Packs named PTX texts into an ELF file.
///
/// # Errors
/// The texts are too large for a file.
pub fn write_container(container: &Container) -> Result<Vec<u8>, ImageError> {
    let failed = |error: object::write::Error| ImageError::Elf(error.to_string());
    let texts =
        container.texts.iter().map(|(name, text)| (SECTION, [name.as_bytes(), b"\0", text.as_bytes()].concat()));
    let registers = container.most_registers.map(|most| (REGISTERS_SECTION, most.to_le_bytes().to_vec()));
    let contents: Vec<(&str, Vec<u8>)> = texts.chain(registers).collect();
    let mut file = Vec::new();
    let mut writer = Writer::new(Endianness::Little, true, &mut file);
    writer.reserve_file_header();
    writer.reserve_null_section_index();
    let names: Vec<_> = contents.iter().map(|(section, _)| writer.add_section_name(section.as_bytes())).collect();
    let mut offsets = Vec::with_capacity(contents.len());
    for (_, content) in &contents {
        writer.reserve_section_index();
        offsets.push(writer.reserve(content.len(), 8));
    }
    writer.reserve_shstrtab_section_index();
    writer.reserve_shstrtab();
    writer.reserve_section_headers();
    writer
        .write_file_header(&NewHeader {
            os_abi: ABI.0,
            abi_version: ABI.1,
            e_type: ET_EXEC,
            e_machine: EM_CUDA,
            e_entry: 0,
            e_flags: FLAGS.0 | container.sm << FLAGS.1,
        })
        .map_err(failed)?;
    for (_, content) in &contents {
        writer.write_align(8);
        writer.write(content);
    }
    writer.write_shstrtab();
    writer.write_null_section_header();
    for (((_, content), offset), name) in contents.iter().zip(offsets).zip(names) {
        writer.write_section_header(&SectionHeader {
            name: Some(name),
            sh_type: SHT_PROGBITS,
            sh_flags: 0,
            sh_addr: 0,
            sh_offset: offset as u64,
            sh_size: content.len() as u64,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: 8,
            sh_entsize: 0,
        });
    }
    writer.write_shstrtab_section_header();
    file[MARK_AT..MARK_AT + MARK.len()].copy_from_slice(&MARK);
    Ok(file)
}

/// What [`write_container`] packed into a file.
///
/// # Errors
/// The file is damaged.
pub fn read_container(file: &[u8]) -> Result<Container, ImageError> {
    let failed = |error: object::read::Error| ImageError::Elf(error.to_string());
    let elf = ElfFile64::<LittleEndian>::parse(file).map_err(failed)?;
    let flags = elf.elf_header().e_flags(LittleEndian);
    let mut container = Container { sm: flags >> FLAGS.1 & 0xff, ..Container::default() };
    for section in elf.sections() {
        let name = section.name_bytes().map_err(failed)?;
        let data = section.data().map_err(failed)?;
        if name == REGISTERS_SECTION.as_bytes() {
            let number = data.first_chunk().ok_or(ImageError::Truncated("the number of registers"))?;
            container.most_registers = Some(u32::from_le_bytes(*number));
        }
        if name != SECTION.as_bytes() {
            continue;
        }
        let data = std::str::from_utf8(data).map_err(|error| ImageError::Elf(error.to_string()))?;
        let (name, text) = data.split_once('\0').ok_or(ImageError::Truncated("a PTX section"))?;
        container.texts.push((name.to_owned(), text.to_owned()));
    }
    Ok(container)
}

#[cfg(test)]
mod tests {
    use object::elf::{ELFCLASS64, ELFDATA2LSB};

    use super::*;

    fn header(file: &[u8]) -> &[u8; ELF_HEADER_SIZE] {
        file.first_chunk().expect("a header")
    }

    #[test]
    fn containers_give_back_what_was_packed() {
        let texts = [("a.ptx", ".version 8.0"), ("", "b")].map(|(name, text)| (name.to_owned(), text.to_owned()));
        for most_registers in [None, Some(38)] {
            let container = Container { texts: texts.to_vec(), most_registers, sm: 120 };
            let file = write_container(&container).expect("small texts fit");
            assert_eq!(ElfKind::of(header(&file)), ElfKind::Container(file.len() as u64));
            assert_eq!(read_container(&file).expect("the file is whole"), container);
        }
        let nothing = Container::default();
        assert_eq!(read_container(&write_container(&nothing).expect("nothing fits")), Ok(nothing));
    }

    #[test]
    fn damaged_files_are_refused_or_read_but_never_more() {
        let container = Container { texts: vec![("a".to_owned(), "text".to_owned())], most_registers: Some(7), sm: 90 };
        let file = write_container(&container).expect("small texts fit");
        for end in 0..file.len() {
            assert!(read_container(&file[..end]).is_err(), "{end}");
        }
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0xff;
            let _ = read_container(&damaged).map_err(|error| error.to_string());
        }
    }

    #[test]
    fn headers_tell_machine_code_from_other_machines() {
        let mut bytes = [0; ELF_HEADER_SIZE];
        assert_eq!(ElfKind::of(&bytes), ElfKind::Other);
        bytes[..4].copy_from_slice(b"\x7fELF");
        assert_eq!(ElfKind::of(&bytes), ElfKind::Other);
        bytes[4] = ELFCLASS64;
        bytes[5] = ELFDATA2LSB;
        bytes[6] = 1;
        bytes[18] = 62;
        assert_eq!(ElfKind::of(&bytes), ElfKind::Other);
        bytes[18] = EM_CUDA as u8;
        assert_eq!(ElfKind::of(&bytes), ElfKind::MachineCode);
    }
}
