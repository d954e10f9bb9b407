//! Reading ELF files, as far as it is needed, a few small reads each: this runs for many objects of every program.
//!
//! Files are read and never mapped: one that shrinks while it is looked at is an error, not a signal.
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use gimli::{BaseAddresses, CieOrFde, EhFrame, EhFrameHdr, EndianSlice, Pointer, UnwindSection as _};
use object::LittleEndian;
use object::elf::{
    DT_SONAME, Dyn64, ELFCLASS64, ELFDATA2LSB, ELFMAG, FileHeader64, PF_X, PT_GNU_EH_FRAME, PT_LOAD, ProgramHeader64,
    SHF_ALLOC, SHN_UNDEF, SHT_DYNAMIC, SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB, STT_FUNC, SectionHeader64, Sym64,
};
use object::pod::{self, Pod};

pub(crate) type Endian = LittleEndian;
const ENDIAN: Endian = LittleEndian;

/// Why a file is no use.
pub(crate) type Reason = String;

/// A 64-bit, little-endian ELF file: its headers.
#[derive(Debug)]
pub(crate) struct ElfFile {
    file: File,
    size: u64,
    header: FileHeader64<Endian>,
    segments: Vec<ProgramHeader64<Endian>>,
    sections: Vec<SectionHeader64<Endian>>,
    section_names: Vec<u8>,
}

/// A function of a symbol table, defined there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a [u8],
    /// As linked, without where the object was loaded.
    pub(crate) address: u64,
    /// In bytes.
    pub(crate) size: u64,
}

/// A function that a file exports, and the entry of the dynamic symbol table that says where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Export {
    pub(crate) name: Vec<u8>,
    /// As linked, without where the object was loaded.
    pub(crate) address: u64,
    /// Where the address stands in the dynamic symbol table, as linked.
    pub(crate) entry: u64,
}

/// A symbol that a file takes from another object: its entry of the dynamic symbol table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// Where the entry is, as linked.
    pub(crate) entry: u64,
}

impl Import {
    /// In bytes.
    pub(crate) fn size(self) -> u64 {
        size_of::<Sym64<Endian>>() as u64
    }

    /// Where its address is to stand.
    pub(crate) fn value(self) -> u64 {
        self.entry + std::mem::offset_of!(Sym64<Endian>, st_value) as u64
    }

    /// Where it stands who sees it.
    pub(crate) fn visibility(self) -> u64 {
        self.entry + std::mem::offset_of!(Sym64<Endian>, st_other) as u64
    }
}

/// The symbol table of a file with its names.
#[derive(Debug)]
pub(crate) struct Symbols {
    symbols: Vec<Sym64<Endian>>,
    names: Vec<u8>,
    /// Where the table is loaded, if it is.
    address: u64,
}

impl Symbols {
    /// Where the symbol of this number is loaded.
    fn entry(&self, number: usize) -> u64 {
        self.address.wrapping_add((number * size_of::<Sym64<Endian>>()) as u64)
    }

    /// All functions that are defined here.
    pub(crate) fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        self.numbered_functions().map(|(_, function)| function)
    }

    /// The same, each with the number of its symbol.
    fn numbered_functions(&self) -> impl Iterator<Item = (usize, Function<'_>)> {
        let function =
            |symbol: &Sym64<Endian>| symbol.st_info & 0xf == STT_FUNC && symbol.st_shndx.get(ENDIAN) != SHN_UNDEF;
        self.symbols.iter().enumerate().filter(move |(_, symbol)| function(symbol)).filter_map(|(number, symbol)| {
            let (address, size) = (symbol.st_value.get(ENDIAN), symbol.st_size.get(ENDIAN));
            Some((number, Function { name: self.name(symbol.st_name.get(ENDIAN))?, address, size }))
        })
    }

    /// Whether there is a symbol of this name, defined here or, as `defined` says, wanted from elsewhere.
    fn has(&self, name: &[u8], defined: bool) -> bool {
        let symbols = self.symbols.iter().filter(|symbol| (symbol.st_shndx.get(ENDIAN) != SHN_UNDEF) == defined);
        symbols.filter_map(|symbol| self.name(symbol.st_name.get(ENDIAN))).any(|other| other == name)
    }

    /// Whether there is a symbol of this name, defined here.
    pub(crate) fn defines(&self, name: &[u8]) -> bool {
        self.has(name, true)
    }

    fn name(&self, offset: u32) -> Option<&[u8]> {
        c_string(&self.names, offset as usize)
    }
}

fn c_string(bytes: &[u8], offset: usize) -> Option<&[u8]> {
    let rest = bytes.get(offset..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    Some(&rest[..end])
}

impl ElfFile {
    /// Reads the headers of the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<ElfFile, Reason> {
        let file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
        let size = file.metadata().map_err(|error| format!("cannot be read: {error}"))?.len();
        ElfFile::read(file, size)
    }

    fn read(file: File, size: u64) -> Result<ElfFile, Reason> {
        let header: FileHeader64<Endian> = table(&file, size, 0, 1)?[0];
        let ident = header.e_ident;
        if ident.magic != ELFMAG || ident.class != ELFCLASS64 || ident.data != ELFDATA2LSB {
            return Err("is no 64-bit little-endian ELF file".to_owned());
        }
        let entry_sizes = (usize::from(header.e_phentsize.get(ENDIAN)), usize::from(header.e_shentsize.get(ENDIAN)));
        let (segment_count, section_count) = (header.e_phnum.get(ENDIAN).into(), header.e_shnum.get(ENDIAN).into());
        if segment_count > 0 && entry_sizes.0 != size_of::<ProgramHeader64<Endian>>() {
            return Err("has program headers of an unknown size".to_owned());
        }
        let segments = table(&file, size, header.e_phoff.get(ENDIAN), segment_count)?;
        // Files whose section headers were taken away are as good as stripped.
        let sections: Vec<SectionHeader64<Endian>> =
            if section_count > 0 && entry_sizes.1 == size_of::<SectionHeader64<Endian>>() {
                table(&file, size, header.e_shoff.get(ENDIAN), section_count)?
            } else {
                Vec::new()
            };
        let section_names = match sections.get(usize::from(header.e_shstrndx.get(ENDIAN))) {
            Some(names) => bytes(&file, size, names.sh_offset.get(ENDIAN), names.sh_size.get(ENDIAN))?,
            None => Vec::new(),
        };
        Ok(ElfFile { file, size, header, segments, sections, section_names })
    }

    /// The ELF header and the program headers, as bytes: what the dynamic linker read.
    pub(crate) fn loaded_headers(&self) -> (&[u8], &[u8]) {
        (pod::bytes_of(&self.header), pod::bytes_of_slice(&self.segments))
    }

    /// Where the program headers are in the file.
    pub(crate) fn segments_offset(&self) -> u64 {
        self.header.e_phoff.get(ENDIAN)
    }

    /// The program headers.
    pub(crate) fn segments(&self) -> &[ProgramHeader64<Endian>] {
        &self.segments
    }

    /// Whether there is a section of this name that is loaded.
    pub(crate) fn has_loaded_section(&self, name: &[u8]) -> bool {
        self.sections.iter().any(|section| {
            section.sh_flags.get(ENDIAN) & u64::from(SHF_ALLOC) != 0
                && c_string(&self.section_names, section.sh_name.get(ENDIAN) as usize) == Some(name)
        })
    }

    /// The symbol table, if it was not stripped.
    pub(crate) fn symbols(&self) -> Result<Option<Symbols>, Reason> {
        self.symbols_of(SHT_SYMTAB)
    }

    fn symbols_of(&self, kind: u32) -> Result<Option<Symbols>, Reason> {
        let Some(section) = self.sections.iter().find(|section| section.sh_type.get(ENDIAN) == kind) else {
            return Ok(None);
        };
        if section.sh_entsize.get(ENDIAN) != size_of::<Sym64<Endian>>() as u64 {
            return Err("has a symbol table with entries of an unknown size".to_owned());
        }
        let count = section.sh_size.get(ENDIAN) / size_of::<Sym64<Endian>>() as u64;
        let symbols = table(&self.file, self.size, section.sh_offset.get(ENDIAN), count)?;
        Ok(Some(Symbols { symbols, names: self.linked(section)?, address: section.sh_addr.get(ENDIAN) }))
    }

    /// The contents of the string table that a section names.
    fn linked(&self, section: &SectionHeader64<Endian>) -> Result<Vec<u8>, Reason> {
        let strings = self.sections.get(section.sh_link.get(ENDIAN) as usize);
        let strings = strings.filter(|strings| strings.sh_type.get(ENDIAN) != SHT_NOBITS);
        let strings = strings.ok_or_else(|| "has a table without its names".to_owned())?;
        bytes(&self.file, self.size, strings.sh_offset.get(ENDIAN), strings.sh_size.get(ENDIAN))
    }

    /// The functions that it exports, and where the dynamic linker reads that.
    pub(crate) fn exports(&self) -> Result<Vec<Export>, Reason> {
        let symbols = self.symbols_of(SHT_DYNSYM)?;
        let value = std::mem::offset_of!(Sym64<Endian>, st_value) as u64;
        let export = |symbols: &Symbols, (number, Function { name, address, .. }): (usize, Function<'_>)| Export {
            name: name.to_vec(),
            address,
            entry: symbols.entry(number).wrapping_add(value),
        };
        let exports =
            |symbols: &Symbols| symbols.numbered_functions().map(|numbered| export(symbols, numbered)).collect();
        Ok(symbols.as_ref().map(exports).unwrap_or_default())
    }

    /// The segment that is loaded and whose bytes in the file cover these addresses.
    pub(crate) fn loaded_segment(&self, address: u64, size: u64) -> Option<&ProgramHeader64<Endian>> {
        self.segments.iter().find(|segment| segment.p_type.get(ENDIAN) == PT_LOAD && covers(segment, address, size))
    }

    /// The names of the functions that it exports.
    pub(crate) fn exported_functions(&self) -> Result<Vec<Vec<u8>>, Reason> {
        let symbols = self.symbols_of(SHT_DYNSYM)?;
        Ok(symbols.iter().flat_map(Symbols::functions).map(|function| function.name.to_vec()).collect())
    }

    /// Whether it takes a symbol of this name from another object.
    pub(crate) fn imports(&self, name: &[u8]) -> Result<bool, Reason> {
        Ok(self.symbols_of(SHT_DYNSYM)?.is_some_and(|symbols| symbols.has(name, false)))
    }

    /// Where the dynamic symbol table says that it takes a symbol of this name from another object.
    pub(crate) fn import(&self, name: &[u8]) -> Result<Option<Import>, Reason> {
        let Some(symbols) = self.symbols_of(SHT_DYNSYM)? else { return Ok(None) };
        let undefined = |symbol: &Sym64<Endian>| {
            symbol.st_shndx.get(ENDIAN) == SHN_UNDEF && symbols.name(symbol.st_name.get(ENDIAN)) == Some(name)
        };
        let number = symbols.symbols.iter().position(undefined);
        Ok(number.map(|number| Import { entry: symbols.entry(number) }))
    }

    /// The name under which it wants to be known.
    pub(crate) fn soname(&self) -> Result<Option<String>, Reason> {
        let Some(section) = self.sections.iter().find(|section| section.sh_type.get(ENDIAN) == SHT_DYNAMIC) else {
            return Ok(None);
        };
        let count = section.sh_size.get(ENDIAN) / size_of::<Dyn64<Endian>>() as u64;
        let entries: Vec<Dyn64<Endian>> = table(&self.file, self.size, section.sh_offset.get(ENDIAN), count)?;
        let soname = entries.iter().find(|entry| entry.d_tag.get(ENDIAN) == u64::from(DT_SONAME));
        let Some(soname) = soname else { return Ok(None) };
        let names = self.linked(section)?;
        let name = usize::try_from(soname.d_val.get(ENDIAN)).ok().and_then(|offset| c_string(&names, offset));
        Ok(name.map(|name| String::from_utf8_lossy(name).into_owned()))
    }

    /// Where functions begin and their bytes, in order: what unwinders look addresses up in, which is loaded and stays where symbols were stripped.
    /// Empty without it.
    pub(crate) fn function_ranges(&self) -> Result<Vec<(u64, u64)>, Reason> {
        let Some(segment) = self.segments.iter().find(|segment| segment.p_type.get(ENDIAN) == PT_GNU_EH_FRAME) else {
            return Ok(Vec::new());
        };
        let (offset, size) = (segment.p_offset.get(ENDIAN), segment.p_filesz.get(ENDIAN));
        let table = bytes(&self.file, self.size, offset, size)?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(segment.p_vaddr.get(ENDIAN));
        let damaged = |error: gimli::Error| format!("is damaged: its table of functions for unwinders: {error}");
        let header = EhFrameHdr::from(EndianSlice::new(&table, gimli::LittleEndian));
        let header = header.parse(&bases, size_of::<u64>() as u8).map_err(damaged)?;
        let (Pointer::Direct(start) | Pointer::Indirect(start)) = header.eh_frame_ptr();
        let frames = self.loaded_from(start)?;
        let (frames, bases) = (EhFrame::new(&frames, gimli::LittleEndian), bases.set_eh_frame(start));
        let (mut ranges, mut entries) = (Vec::new(), frames.entries(&bases));
        while let Some(entry) = entries.next().map_err(damaged)? {
            if let CieOrFde::Fde(entry) = entry {
                let entry = entry.parse(|frames, bases, offset| frames.cie_from_offset(bases, offset));
                let entry = entry.map_err(damaged)?;
                ranges.push((entry.initial_address(), entry.len()));
            }
        }
        ranges.sort_unstable();
        Ok(ranges)
    }

    /// What is loaded at `address`, up to the end of its section, or else of its segment.
    fn loaded_from(&self, address: u64) -> Result<Vec<u8>, Reason> {
        let mut segments = self.segments.iter().filter(|segment| segment.p_type.get(ENDIAN) == PT_LOAD);
        let segment = segments.find(|segment| covers(segment, address, 0));
        let segment = segment.ok_or_else(|| "is damaged: it points to what is not loaded".to_owned())?;
        let before = address - segment.p_vaddr.get(ENDIAN);
        let rest = segment.p_filesz.get(ENDIAN) - before;
        let section = self.sections.iter().find(|section| {
            u64::from(SHF_ALLOC) & section.sh_flags.get(ENDIAN) != 0 && section.sh_addr.get(ENDIAN) == address
        });
        let length = section.map_or(rest, |section| section.sh_size.get(ENDIAN).min(rest));
        bytes(&self.file, self.size, segment.p_offset.get(ENDIAN).wrapping_add(before), length)
    }

    fn code_segments(&self) -> impl Iterator<Item = &ProgramHeader64<Endian>> {
        self.segments
            .iter()
            .filter(|segment| segment.p_type.get(ENDIAN) == PT_LOAD && segment.p_flags.get(ENDIAN) & PF_X != 0)
    }

    /// The segment with code whose bytes in the file cover these addresses.
    pub(crate) fn code_segment(&self, address: u64, size: u64) -> Option<&ProgramHeader64<Endian>> {
        self.code_segments().find(|segment| covers(segment, address, size))
    }

    /// All of its code, as it is in the file, one segment at a time.
    pub(crate) fn all_code(&self) -> impl Iterator<Item = Result<Vec<u8>, Reason>> {
        self.code_segments()
            .map(|segment| bytes(&self.file, self.size, segment.p_offset.get(ENDIAN), segment.p_filesz.get(ENDIAN)))
    }

    /// The code at `address`, as it is in the file.
    pub(crate) fn code(&self, address: u64, size: u64) -> Result<Vec<u8>, Reason> {
        let segment = self.code_segment(address, size).ok_or_else(|| "has functions outside its code".to_owned())?;
        let offset = segment.p_offset.get(ENDIAN).wrapping_add(address - segment.p_vaddr.get(ENDIAN));
        bytes(&self.file, self.size, offset, size)
    }
}

impl AsFd for ElfFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Whether bytes of the file lie at all of these addresses.
fn covers(segment: &ProgramHeader64<Endian>, address: u64, size: u64) -> bool {
    let start = segment.p_vaddr.get(ENDIAN);
    start <= address && address.checked_add(size).is_some_and(|end| end - start <= segment.p_filesz.get(ENDIAN))
}

/// Sizes come from the file, which may be damaged: nothing is allocated that the file could not fill.
fn within(size: u64, offset: u64, length: u64) -> Result<usize, Reason> {
    let fits = offset.checked_add(length).is_some_and(|end| end <= size);
    fits.then(|| usize::try_from(length).ok())
        .flatten()
        .ok_or_else(|| "is damaged: it has headers that point behind its end".to_owned())
}

fn bytes(file: &File, size: u64, offset: u64, length: u64) -> Result<Vec<u8>, Reason> {
    let mut bytes = vec![0; within(size, offset, length)?];
    read_exact(file, &mut bytes, offset)?;
    Ok(bytes)
}

fn table<T: Pod>(file: &File, size: u64, offset: u64, count: u64) -> Result<Vec<T>, Reason> {
    let length = within(size, offset, count.saturating_mul(size_of::<T>() as u64))?;
    // Words, as the entries want to be aligned.
    let mut words = vec![0_u64; length.div_ceil(8)];
    let bytes = &mut pod::bytes_of_slice_mut(&mut words)[..length];
    read_exact(file, bytes, offset)?;
    let (entries, _) = pod::slice_from_bytes(bytes, length / size_of::<T>()).map_err(|()| "is damaged".to_owned())?;
    Ok(entries.to_vec())
}

fn read_exact(file: &File, bytes: &mut [u8], offset: u64) -> Result<(), Reason> {
    file.read_exact_at(bytes, offset).map_err(|error| format!("cannot be read: {error}"))
}
