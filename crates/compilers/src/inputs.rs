//! Inputs of a link taken apart: PTX, images of ours, fat binaries, and host objects and libraries with such in them.
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object as _, ObjectSection as _};
use warploom_device_runtime as device_runtime;
use warploom_ptx::image::{ElfKind, EntryKind, Fatbin, HEADER_SIZE, ImageKind, identify, read_container, total_size};

/// What an input is said to be (`nvJitLinkInputType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An ELF file for a GPU.
    Image,
    /// PTX.
    Text,
    /// A fat binary.
    FatBinary,
    /// A host object.
    Object,
    /// An archive of host objects.
    Library,
    /// It tells itself.
    Any,
}

impl Kind {
    /// `None` for what is left to NVIDIA's library: code for link-time optimisation, and mistakes.
    pub fn from_number(number: u32) -> Option<Kind> {
        Some(match number {
            1 => Kind::Image,
            2 => Kind::Text,
            4 => Kind::FatBinary,
            5 => Kind::Object,
            6 => Kind::Library,
            10 => Kind::Any,
            _ => return None,
        })
    }
}

/// What is in an input.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    /// PTX texts with their names.
    Texts(Vec<(String, String)>),
    /// Code for link-time optimisation, or nothing of its kind: for NVIDIA's library, which knows what to say.
    Theirs,
    /// Machine code, and nothing else for this device.
    MachineCode,
}

/// Where fat binaries of relocatable code are in a host object. Those of whole programs, in `.nv_fatbin`, are not linked.
const SECTION: &[u8] = b"__nv_relfatbin";
/// Code for link-time optimisation in a fat binary (`fatbinary --image3=kind=nvvm`, as recorded).
const OPTIMIZABLE: EntryKind = EntryKind::Other(8);
const ARCHIVE: &[u8] = b"!<arch>\n";
/// The head of an archive's member: its size as text, where in the head, and what ends the head.
const MEMBER: (usize, std::ops::Range<usize>, &[u8]) = (60, 48..58, b"`\n");

/// Takes an input for a device of compute capability `sm` (times ten) apart. `optimizes`: the link takes code for link-time optimisation.
pub fn take_apart(kind: Kind, name: &str, bytes: &[u8], sm: u32, optimizes: bool) -> Input {
    // ELF files are read in words.
    let copy;
    let bytes = if bytes.as_ptr().addr().is_multiple_of(align_of::<u64>()) {
        bytes
    } else {
        copy = bytes.to_vec();
        &copy
    };
    if bytes.starts_with(ARCHIVE) && matches!(kind, Kind::Library | Kind::Any) {
        return library(name, bytes, sm, optimizes);
    }
    match (kind, identify(bytes)) {
        (Kind::Text | Kind::Any, Some(ImageKind::Ptx)) => {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            Input::Texts(vec![(name.to_owned(), String::from_utf8_lossy(&bytes[..end]).into_owned())])
        }
        (Kind::Image | Kind::Any, Some(ImageKind::Elf)) if ElfKind::of_file(bytes) != ElfKind::Other => image(bytes),
        (Kind::FatBinary | Kind::Any, Some(ImageKind::Fatbin)) => fat_binary(name, bytes, sm, optimizes),
        (Kind::Object | Kind::Any, Some(ImageKind::Elf)) => host(name, bytes, sm, optimizes),
        _ => Input::Theirs,
    }
}

fn image(bytes: &[u8]) -> Input {
    match ElfKind::of_file(bytes) {
        ElfKind::MachineCode => Input::MachineCode,
        ElfKind::Container(_) => read_container(bytes).map_or(Input::Theirs, |container| Input::Texts(container.texts)),
        ElfKind::Other => Input::Theirs,
    }
}

fn fat_binary(name: &str, bytes: &[u8], sm: u32, optimizes: bool) -> Input {
    let Ok(binary) = Fatbin::parse(bytes) else { return Input::Theirs };
    let optimizable =
        |entry: &warploom_ptx::image::Entry<'_>| entry.kind == OPTIMIZABLE && entry.architecture.runs_on(sm);
    if optimizes && binary.entries.iter().any(optimizable) {
        return Input::Theirs;
    }
    for entry in binary.entries_for(sm).into_iter().filter(|entry| entry.holds_ptx()) {
        match (entry.kind, entry.content()) {
            (EntryKind::Ptx, Ok(text)) => return take_apart(Kind::Text, name, &text, sm, optimizes),
            (_, Ok(file)) => return image(&file),
            (_, Err(_)) => {}
        }
    }
    Input::MachineCode
}

/// A host object: all fat binaries in it.
fn host(name: &str, bytes: &[u8], sm: u32, optimizes: bool) -> Input {
    let Ok(file) = ElfFile64::<LittleEndian>::parse(bytes) else { return Input::Theirs };
    let mut binaries = Vec::new();
    for section in file.sections().filter(|section| section.name_bytes().is_ok_and(|name| name == SECTION)) {
        let Ok(mut rest) = section.data() else { return Input::Theirs };
        // One behind the other, each at a multiple of 8 bytes.
        while let Some(size) = rest.first_chunk::<HEADER_SIZE>().and_then(|header| total_size(header).ok()) {
            let size = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
            binaries.push(fat_binary(name, &rest[..size], sm, optimizes));
            rest = &rest[size.next_multiple_of(8).min(rest.len())..];
        }
    }
    all(binaries)
}

/// An archive: all its objects. NVIDIA's library of the device runtime is built in.
fn library(name: &str, bytes: &[u8], sm: u32, optimizes: bool) -> Input {
    if device_runtime::is_archive(bytes) {
        return Input::Texts(Vec::new());
    }
    let Some(members) = members(bytes) else { return Input::Theirs };
    let objects = members.into_iter().filter(|content| identify(content) == Some(ImageKind::Elf));
    all(objects.map(|object| take_apart(Kind::Any, name, object, sm, optimizes)).collect())
}

/// The members of an archive; `None` if these bytes are none, or damaged.
pub fn members(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut rest, mut members) = (bytes.strip_prefix(ARCHIVE)?, Vec::new());
    let (head_size, size_at, end) = MEMBER;
    while let Some((head, content)) = rest.split_at_checked(head_size) {
        let size = std::str::from_utf8(&head[size_at.clone()]).ok()?.trim_end().parse().ok()?;
        let content = content.get(..size).filter(|_| head.ends_with(end))?;
        members.push(content);
        rest = &rest[(head_size + content.len()).next_multiple_of(2).min(rest.len())..];
    }
    Some(members)
}

/// What several parts of an input are together. One that holds code for link-time optimisation goes as a whole.
fn all(parts: Vec<Input>) -> Input {
    let mut texts = Vec::new();
    for part in parts {
        match part {
            Input::Texts(more) => texts.extend(more),
            other => return other,
        }
    }
    Input::Texts(texts)
}

#[cfg(test)]
mod tests {
    use warploom_ptx::image::{Container, write_container};

    use super::*;

    const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

    fn container() -> Vec<u8> {
        let container = Container { texts: vec![("a".to_owned(), TEXT.to_owned())], most_registers: None, sm: 80 };
        write_container(&container).expect("a small text fits")
    }

    #[test]
    fn inputs_of_their_kind_and_of_any_are_taken_apart() {
        let given = || Input::Texts(vec![("x".to_owned(), TEXT.to_owned())]);
        let with_nul = [TEXT.as_bytes(), b"\0"].concat();
        for kind in [Kind::Text, Kind::Any] {
            assert_eq!(take_apart(kind, "x", TEXT.as_bytes(), 90, false), given());
            assert_eq!(take_apart(kind, "x", &with_nul, 90, false), given());
        }
        for kind in [Kind::Image, Kind::Any] {
            let texts = vec![("a".to_owned(), TEXT.to_owned())];
            assert_eq!(take_apart(kind, "x", &container(), 90, false), Input::Texts(texts));
        }
        let mut machine_code = container();
        machine_code[9..13].fill(0);
        assert_eq!(take_apart(Kind::Image, "x", &machine_code, 90, false), Input::MachineCode);
        for (kind, bytes) in [
            (Kind::Image, TEXT.as_bytes()),
            (Kind::Text, b"hello"),
            (Kind::Any, b"\xedCN\x7f"),
            (Kind::Library, b"!<arch>\nx"),
        ] {
            let damaged = take_apart(kind, "x", bytes, 90, true);
            let expected = if bytes.starts_with(ARCHIVE) { Input::Texts(Vec::new()) } else { Input::Theirs };
            assert_eq!(damaged, expected, "{kind:?}");
        }
    }

    #[test]
    fn archives_give_what_their_members_hold() {
        let member = |content: &[u8]| {
            let mut head = format!("{:<48}{:<10}`\n", "member.o/", content.len()).into_bytes();
            head.extend(content);
            head.resize(head.len().next_multiple_of(2), b'\n');
            head
        };
        let archive = [ARCHIVE, &member(b"odd"), &member(&container()), &member(&container())].concat();
        let Input::Texts(texts) = take_apart(Kind::Library, "x", &archive, 90, false) else { panic!("texts") };
        assert_eq!(texts.len(), 2);
        for end in ARCHIVE.len()..archive.len() {
            take_apart(Kind::Library, "x", &archive[..end], 90, false);
        }
    }
}
