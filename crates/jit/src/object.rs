//! Loads an object file of ours: relocatable code for x86-64, as LLVM makes it of a kernel.
//!
//! Code holds no addresses: what it refers to lies beside it, and what is outside, a few functions of the C library, is reached through a table. So an object
//! runs in any process, and loading one takes a copy and a handful of sums. Anything that a kernel's object has no use for is refused: what is
//! loaded may come from a file.

use std::collections::HashMap;
use std::ptr;

use object::read::elf::ElfFile64;
use object::{
    Architecture, LittleEndian, Object, ObjectKind, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SectionFlags, SectionIndex, SymbolIndex, elf,
};

/// Code in memory, as long as this.
pub(crate) struct Code {
    _memory: Mapping,
    /// The address of `cta`.
    pub(crate) entry: u64,
}

// SAFETY: nobody writes to the memory once it is loaded.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

/// Pages of our own.
struct Mapping {
    start: *mut u8,
    len: usize,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped so, and nobody refers to it any more: kernels hold their code while they run.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

impl Mapping {
    fn new(len: usize) -> Result<Mapping, String> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: fresh pages, wherever there is room.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(format!("no memory for code: {}", std::io::Error::last_os_error()));
        }
        Ok(Mapping { start: start.cast(), len })
    }

    fn address(&self, offset: u64) -> u64 {
        self.start.expose_provenance() as u64 + offset
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), String> {
        let end = usize::try_from(offset).ok().and_then(|at| at.checked_add(bytes.len()));
        if end.is_none_or(|end| end > self.len) {
            return Err("something lies outside of its section".to_owned());
        }
        // SAFETY: inside of the mapping, which is writable until `protect`, and only we know.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(offset as usize), bytes.len()) };
        Ok(())
    }

    fn protect(&self, start: u64, end: u64, protection: i32) -> Result<(), String> {
        if start == end {
            return Ok(());
        }
        // SAFETY: whole pages of the mapping.
        let changed =
            unsafe { libc::mprotect(self.start.add(start as usize).cast(), (end - start) as usize, protection) };
        if changed == 0 {
            return Ok(());
        }
        Err(format!("memory cannot be made executable: {}", std::io::Error::last_os_error()))
    }
}

/// Functions that LLVM has the right to call.
const OUTSIDE: [(&str, unsafe extern "C" fn()); 3] = {
    // SAFETY: only their addresses are used, and code calls them as what they are.
    unsafe {
        use std::mem::transmute;
        type Copy = unsafe extern "C" fn(*mut libc::c_void, *const libc::c_void, usize) -> *mut libc::c_void;
        type Set = unsafe extern "C" fn(*mut libc::c_void, libc::c_int, usize) -> *mut libc::c_void;
        [
            ("memcpy", transmute::<Copy, unsafe extern "C" fn()>(libc::memcpy)),
            ("memmove", transmute::<Copy, unsafe extern "C" fn()>(libc::memmove)),
            ("memset", transmute::<Set, unsafe extern "C" fn()>(libc::memset)),
        ]
    }
};

/// The largest object that is loaded.
const LARGEST: u64 = 1 << 28;
const PAGE: u64 = 4096;
/// `jmp *rel32(%rip)`
const JUMP: [u8; 2] = [0xff, 0x25];
/// Bytes between two jumps.
const STUB: u64 = 8;

/// Where everything goes.
#[derive(Default)]
struct Layout {
    sections: HashMap<SectionIndex, u64>,
    /// Where the jumps to functions outside begin, and the words that hold addresses, by symbol.
    stubs: u64,
    words: u64,
    slots: HashMap<SymbolIndex, u64>,
    code_end: u64,
    len: u64,
}

/// Loads an object file.
///
/// # Errors
/// What in it is not as it should be.
pub(crate) fn load(bytes: &[u8]) -> Result<Code, String> {
    let file: ElfFile64<'_, LittleEndian> = ElfFile64::parse(bytes).map_err(|error| error.to_string())?;
    if file.architecture() != Architecture::X86_64 || file.kind() != ObjectKind::Relocatable {
        return Err("it is no object file for x86-64".to_owned());
    }
    let layout = Layout::new(&file)?;
    let mut memory = Mapping::new(layout.len as usize)?;
    for section in file.sections() {
        let Some(&place) = layout.sections.get(&section.index()) else { continue };
        memory.write(place, section.data().map_err(|error| error.to_string())?)?;
    }
    for (&symbol, &slot) in &layout.slots {
        let target = layout.address(&file, &memory, symbol)?;
        memory.write(layout.words + 8 * slot, &target.to_le_bytes())?;
        let stub = layout.stubs + STUB * slot;
        let distance = (layout.words + 8 * slot).wrapping_sub(stub + 6) as u32;
        memory.write(stub, &JUMP)?;
        memory.write(stub + 2, &distance.to_le_bytes())?;
    }
    relocate(&file, &layout, &mut memory)?;
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok("cta") && symbol.is_definition());
    let symbol = symbol.ok_or("it has no function cta")?;
    let offset = layout.place(&symbol)?.filter(|offset| *offset < layout.stubs).ok_or("cta is no function")?;
    memory.protect(0, layout.code_end, libc::PROT_READ | libc::PROT_EXEC)?;
    memory.protect(layout.code_end, layout.len, libc::PROT_READ)?;
    let entry = memory.address(offset);
    Ok(Code { _memory: memory, entry })
}

type File<'d> = ElfFile64<'d, LittleEndian>;

impl Layout {
    fn new(file: &File<'_>) -> Result<Layout, String> {
        let mut layout = Layout::default();
        for want_code in [true, false] {
            for section in file.sections() {
                let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
                let flag = |flag: u32| sh_flags & u64::from(flag) != 0;
                let is_code = flag(elf::SHF_EXECINSTR);
                // Nothing unwinds through a kernel.
                if !flag(elf::SHF_ALLOC) || section.name() == Ok(".eh_frame") || is_code != want_code {
                    continue;
                }
                if flag(elf::SHF_WRITE)
                    && section.size() != 0
                    && !section.name().is_ok_and(|name| name.starts_with(".data.rel.ro"))
                {
                    return Err("it has variables of its own".to_owned());
                }
                if section.size() > LARGEST || !section.align().max(1).is_power_of_two() || section.align() > PAGE {
                    return Err("a section is too large".to_owned());
                }
                layout.len = layout.len.next_multiple_of(section.align().max(1));
                layout.sections.insert(section.index(), layout.len);
                layout.len += section.size();
            }
            if layout.len > LARGEST {
                return Err("it is too large".to_owned());
            }
            if want_code {
                layout.find_slots(file)?;
                layout.stubs = layout.len.next_multiple_of(STUB);
                layout.code_end = (layout.stubs + STUB * layout.slots.len() as u64).next_multiple_of(PAGE);
                layout.len = layout.code_end;
            }
        }
        layout.words = layout.len.next_multiple_of(8);
        layout.len = (layout.words + 8 * layout.slots.len() as u64).next_multiple_of(PAGE);
        Ok(layout)
    }

    /// What is reached through a word with its address.
    fn find_slots(&mut self, file: &File<'_>) -> Result<(), String> {
        for section in file.sections() {
            for (_, relocation) in section.relocations() {
                let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                let symbol = file.symbol_by_index(index).map_err(|error| error.to_string())?;
                let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
                if symbol.is_undefined() || through_word(r_type) {
                    let next = self.slots.len() as u64;
                    self.slots.entry(index).or_insert(next);
                }
            }
        }
        Ok(())
    }

    /// Where a symbol lies, if it is in a section that is loaded.
    fn place<'d>(&self, symbol: &impl ObjectSymbol<'d>) -> Result<Option<u64>, String> {
        let Some(section) = symbol.section_index() else { return Ok(None) };
        let place = self.sections.get(&section).and_then(|start| start.checked_add(symbol.address()));
        let place = place.filter(|place| *place <= self.len);
        place.map(Some).ok_or_else(|| format!("{} lies outside", symbol.name().unwrap_or("a symbol")))
    }

    fn address(&self, file: &File<'_>, memory: &Mapping, symbol: SymbolIndex) -> Result<u64, String> {
        let symbol = file.symbol_by_index(symbol).map_err(|error| error.to_string())?;
        if let Some(place) = self.place(&symbol)? {
            return Ok(memory.address(place));
        }
        let name = symbol.name().map_err(|error| error.to_string())?;
        let known = OUTSIDE.iter().find(|(known, _)| *known == name);
        let (_, function) = known.ok_or_else(|| format!("it needs {name}, which code is not given"))?;
        Ok((*function as *const ()).expose_provenance() as u64)
    }
}

/// Whether a relocation asks for the word that holds the symbol's address.
fn through_word(r_type: u32) -> bool {
    matches!(r_type, elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX)
}

fn relocate(file: &File<'_>, layout: &Layout, memory: &mut Mapping) -> Result<(), String> {
    for section in file.sections() {
        let Some(&start) = layout.sections.get(&section.index()) else { continue };
        for (offset, relocation) in section.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else {
                return Err("a relocation has no symbol".to_owned());
            };
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                return Err("a relocation has no type".to_owned());
            };
            let symbol = file.symbol_by_index(index).map_err(|error| error.to_string())?;
            let place =
                start.checked_add(offset).filter(|_| offset < section.size()).ok_or("a relocation lies outside")?;
            let slot = || layout.slots.get(&index).copied().ok_or("a symbol has no word");
            let target = match r_type {
                _ if through_word(r_type) => memory.address(layout.words + 8 * slot()?),
                elf::R_X86_64_PLT32 | elf::R_X86_64_PC32 if symbol.is_undefined() => {
                    memory.address(layout.stubs + STUB * slot()?)
                }
                _ => layout.address(file, memory, index)?,
            };
            let target = target.wrapping_add_signed(relocation.addend());
            match r_type {
                elf::R_X86_64_64 => memory.write(place, &target.to_le_bytes())?,
                elf::R_X86_64_PC64 => memory.write(place, &target.wrapping_sub(memory.address(place)).to_le_bytes())?,
                elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => {
                    memory.write(place, &near(target.wrapping_sub(memory.address(place)))?)?;
                }
                _ if through_word(r_type) => {
                    memory.write(place, &near(target.wrapping_sub(memory.address(place)))?)?;
                }
                other => return Err(format!("relocation {other} is not one of ours")),
            }
        }
    }
    Ok(())
}

fn near(distance: u64) -> Result<[u8; 4], String> {
    i32::try_from(distance as i64).map(i32::to_le_bytes).map_err(|_| "a distance is too great".to_owned())
}
