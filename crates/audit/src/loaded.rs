//! Objects as the dynamic linker has them in memory (`struct link_map` of link.h).
use std::ffi::{CStr, OsStr, c_char, c_long};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use object::LittleEndian;
use object::elf::{
    DT_GNU_HASH, DT_NULL, DT_STRSZ, DT_STRTAB, DT_SYMTAB, ELFMAG, FileHeader64, PT_DYNAMIC, PT_LOAD, ProgramHeader64,
    Sym64,
};

use crate::elf_file::ElfFile;

/// The part of `struct link_map` that is public. References to it come from the dynamic linker's callbacks, during which it does not change.
#[repr(C)]
pub(crate) struct LinkMap {
    l_addr: usize,
    l_name: *const c_char,
    l_ld: *const DynamicEntry,
    l_next: *const LinkMap,
    l_prev: *const LinkMap,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DynamicEntry {
    tag: i64,
    value: usize,
}

/// Whether a string table has these bytes. Tables may have megabytes.
fn contains(strings: &[u8], name: &[u8]) -> bool {
    // SAFETY: both are slices.
    unsafe { !libc::memmem(strings.as_ptr().cast(), strings.len(), name.as_ptr().cast(), name.len()).is_null() }
}

impl LinkMap {
    /// Whether the object may have code of a runtime library in it: it has a file, and a symbol of this name, which such code imports, among
    /// its dynamic ones. The C library, which defines it, is left out. Takes neither memory nor a system call, as nearly all objects of all
    /// programs are none.
    pub(crate) fn may_contain_runtime(&self, imported: &CStr) -> bool {
        let name = self.name().to_bytes();
        // The kernel's own object has a name without a path.
        let has_file = name.is_empty() || name.len() > self.file_name().len();
        has_file && !self.is_c_library() && self.has_symbol(imported)
    }

    /// Whether the object is a C library, by its name.
    pub(crate) fn is_c_library(&self) -> bool {
        self.file_name().starts_with(b"libc.so.")
    }

    fn file_name(&self) -> &[u8] {
        let name = self.name().to_bytes();
        name.rsplit(|byte| *byte == b'/').next().unwrap_or(name)
    }

    /// Whether there is a dynamic symbol of this name, or one that ends like it.
    pub(crate) fn has_symbol(&self, name: &CStr) -> bool {
        contains(self.dynamic_names(), name.to_bytes_with_nul())
    }

    /// Whether there is a dynamic symbol with `part` in its name.
    pub(crate) fn has_symbol_with(&self, part: &[u8]) -> bool {
        contains(self.dynamic_names(), part)
    }

    /// What the object is known by as long as it is loaded.
    pub(crate) fn key(&self) -> usize {
        (&raw const *self).addr()
    }

    /// The path that it was loaded from; empty for the program itself.
    pub(crate) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.name().to_bytes()))
    }

    fn name(&self) -> &CStr {
        // SAFETY: a name is NULL or a string that lives as long as the map.
        if self.l_name.is_null() { c"" } else { unsafe { CStr::from_ptr(self.l_name) } }
    }

    /// The string table of the dynamic symbols.
    fn dynamic_names(&self) -> &[u8] {
        let [strings, size] = self.dynamic([DT_STRTAB, DT_STRSZ]);
        if strings == 0 {
            return &[];
        }
        let strings = self.in_memory(strings);
        // SAFETY: the dynamic linker itself reads the names there.
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(strings), size) }
    }

    /// What the dynamic section has under these tags; 0 where it has none.
    fn dynamic<const COUNT: usize>(&self, tags: [u32; COUNT]) -> [usize; COUNT] {
        let (mut entry, mut values) = (self.l_ld, [0; COUNT]);
        if entry.is_null() {
            return values;
        }
        loop {
            // SAFETY: the dynamic section of a mapped object ends in DT_NULL, or the dynamic linker would not have come this far.
            let DynamicEntry { tag, value } = unsafe { *entry };
            match u32::try_from(tag) {
                Ok(DT_NULL) => return values,
                Ok(tag) => {
                    if let Some(index) = tags.iter().position(|wanted| *wanted == tag) {
                        values[index] = value;
                    }
                }
                Err(_) => {}
            }
            // SAFETY: as above.
            entry = unsafe { entry.add(1) };
        }
    }

    /// The dynamic linker adds the offset in place, but where the section cannot be written to.
    fn in_memory(&self, address: usize) -> usize {
        if address < self.l_addr { address + self.l_addr } else { address }
    }

    /// The symbols of this name that the object has for others, as the dynamic linker finds them: without a system call, in the table of hashes (`DT_GNU_HASH`).
    /// Where the address of each stands, and the address.
    pub(crate) fn exported(&self, name: &CStr) -> Vec<(usize, usize)> {
        let [hashes, symbols, strings] = self.dynamic([DT_GNU_HASH, DT_SYMTAB, DT_STRTAB]).map(|at| self.in_memory(at));
        let mut found = Vec::new();
        if [hashes, symbols, strings].contains(&self.l_addr) {
            return found;
        }
        let hash =
            name.to_bytes().iter().fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add((*byte).into()));
        let words = std::ptr::with_exposed_provenance::<u32>(hashes);
        // SAFETY: the table that the dynamic linker itself goes through: four words, filters of twice a word each, buckets, and the chains behind them, which end with a
        // hash whose last bit is set.
        unsafe {
            let [buckets, first, filters, _] = *words.cast::<[u32; 4]>();
            if buckets == 0 {
                return found;
            }
            let bucket = words.add(4 + 2 * filters as usize);
            let chain = bucket.add(buckets as usize);
            let mut number = *bucket.add((hash % buckets) as usize);
            while number >= first {
                let other = *chain.add((number - first) as usize);
                let symbol = &*std::ptr::with_exposed_provenance::<Sym64<LittleEndian>>(symbols).add(number as usize);
                let named = strings + symbol.st_name.get(LittleEndian) as usize;
                if (other ^ hash) & !1 == 0 && CStr::from_ptr(std::ptr::with_exposed_provenance(named)) == name {
                    let value = &raw const symbol.st_value;
                    found.push((value.addr(), self.l_addr.wrapping_add(symbol.st_value.get(LittleEndian) as usize)));
                }
                if other & 1 != 0 {
                    break;
                }
                number += 1;
            }
        }
        found
    }

    /// The program header of the segment that these addresses are in, of an object whose first segment begins with the header of its file, as those of shared libraries do.
    pub(crate) fn segment_of(&self, addresses: Range<usize>) -> Option<&ProgramHeader64<LittleEndian>> {
        let header = std::ptr::with_exposed_provenance::<FileHeader64<LittleEndian>>(self.l_addr);
        // SAFETY: a shared library is mapped from its first byte on.
        let header = unsafe { &*header };
        if header.e_ident.magic != ELFMAG {
            return None;
        }
        let first = self.l_addr + header.e_phoff.get(LittleEndian) as usize;
        // SAFETY: the dynamic linker has read them.
        let segments: &[ProgramHeader64<LittleEndian>] = unsafe {
            std::slice::from_raw_parts(
                std::ptr::with_exposed_provenance(first),
                header.e_phnum.get(LittleEndian).into(),
            )
        };
        segments.iter().find(|segment| {
            let start = self.l_addr.wrapping_add(segment.p_vaddr.get(LittleEndian) as usize);
            let size = segment.p_filesz.get(LittleEndian) as usize;
            segment.p_type.get(LittleEndian) == PT_LOAD && start <= addresses.start && addresses.end <= start + size
        })
    }
}

/// What is mapped in this process, as the kernel says: `/proc/self/maps`.
pub(crate) fn read_mappings() -> Option<Vec<u8>> {
    std::fs::read("/proc/self/maps").ok()
}

/// The addresses of each mapping, in ascending order, and its line.
pub(crate) fn mappings(maps: &[u8]) -> impl Iterator<Item = (Range<usize>, &[u8])> {
    maps.split(|byte| *byte == b'\n').filter_map(|line| {
        let range = std::str::from_utf8(line.split(|byte| *byte == b' ').next()?).ok()?;
        let (start, end) = range.split_once('-')?;
        Some((usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?, line))
    })
}

/// An object that the dynamic linker has mapped, and of which nothing runs yet.
#[derive(Clone, Debug)]
pub(crate) struct NewObject {
    /// What was added to the addresses in its file.
    offset: usize,
    /// Where its dynamic section is in memory.
    dynamic: usize,
    name: PathBuf,
    /// The namespace that it is in.
    pub(crate) namespace: c_long,
}

impl NewObject {
    /// # Safety
    /// While the value is used for more than its name, the object is mapped and none of its code runs.
    pub(crate) unsafe fn new(map: &LinkMap, namespace: c_long) -> NewObject {
        NewObject {
            offset: map.l_addr,
            dynamic: map.l_ld.addr(),
            name: PathBuf::from(OsStr::from_bytes(map.name().to_bytes())),
            namespace,
        }
    }

    /// Whether this is the program itself.
    pub(crate) fn is_program(&self) -> bool {
        self.name.as_os_str().is_empty()
    }

    /// As the dynamic linker says; empty for the program itself.
    pub(crate) fn path(&self) -> &Path {
        &self.name
    }

    /// Where something is that its file has at `address`.
    pub(crate) fn address(&self, address: u64) -> usize {
        (address as usize).wrapping_add(self.offset)
    }

    /// What to call it.
    pub(crate) fn display_name(&self) -> String {
        let program = || std::env::current_exe().unwrap_or_else(|_| PathBuf::from("the program"));
        if self.is_program() { program() } else { self.name.clone() }.to_string_lossy().into_owned()
    }

    /// Its file, if that is what was loaded: the path may name another one by now, or, where the dynamic linker was called with the
    /// program as its argument, the dynamic linker.
    pub(crate) fn file(&self) -> Result<ElfFile, String> {
        let path = if self.is_program() { PathBuf::from("/proc/self/exe") } else { self.name.clone() };
        let mut file = ElfFile::open(&path)?;
        if !self.is_from(&file) {
            let path = self.mapped_path().ok_or_else(|| "its file is not the one that was loaded".to_owned())?;
            file = ElfFile::open(&path)?;
            if !self.is_from(&file) {
                return Err("its file is not the one that was loaded".to_owned());
            }
        }
        Ok(file)
    }

    /// The file that the dynamic section is mapped from, as the kernel says.
    fn mapped_path(&self) -> Option<PathBuf> {
        mappings(&read_mappings()?).find_map(|(range, line)| {
            let path = &line[line.iter().position(|byte| *byte == b'/')?..];
            range.contains(&self.dynamic).then(|| PathBuf::from(OsStr::from_bytes(path)))
        })
    }

    /// Whether its headers are those of `file`.
    fn is_from(&self, file: &ElfFile) -> bool {
        let mut dynamic = file.segments().iter().filter(|segment| segment.p_type.get(LittleEndian) == PT_DYNAMIC);
        let dynamic = dynamic.next().map(|segment| self.address(segment.p_vaddr.get(LittleEndian)));
        if dynamic != Some(self.dynamic) {
            return false;
        }
        let (header, segments) = file.loaded_headers();
        let end = file.segments_offset() as usize + segments.len();
        let first = file.segments().iter().find(|segment| {
            segment.p_type.get(LittleEndian) == PT_LOAD
                && segment.p_offset.get(LittleEndian) == 0
                && segment.p_filesz.get(LittleEndian) as usize >= end.max(header.len())
        });
        let Some(first) = first else { return false };
        let start = self.address(first.p_vaddr.get(LittleEndian));
        // SAFETY: the dynamic section is where this file has it, so its segments are mapped; the first holds both headers, as checked.
        let mapped = unsafe {
            std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(start), end.max(header.len()))
        };
        mapped.starts_with(header) && mapped[..end].ends_with(segments)
    }
}
