use proptest::prelude::*;

use super::*;
use crate::image::{Container, read_container, write_container};

const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";

/// An entry as the toolkit lays it out.
fn entry_bytes(kind: u16, sm: u32, flags: u64, name: &str, data: &[u8], size: u64) -> Vec<u8> {
    let mut head = vec![0; 64];
    head[..2].copy_from_slice(&kind.to_le_bytes());
    head[2..4].copy_from_slice(&0x101u16.to_le_bytes());
    let name_size = name.len().next_multiple_of(8);
    head[4..8].copy_from_slice(&(64 + name_size as u32).to_le_bytes());
    head[8..16].copy_from_slice(&(data.len().next_multiple_of(8) as u64).to_le_bytes());
    if flags & 0xa000 != 0 {
        head[16..20].copy_from_slice(&(data.len() as u32).to_le_bytes());
        head[56..64].copy_from_slice(&size.to_le_bytes());
    }
    head[24..28].copy_from_slice(&[2, 0, 9, 0]);
    head[28..32].copy_from_slice(&sm.to_le_bytes());
    head[32..36].copy_from_slice(&64u32.to_le_bytes());
    head[36..40].copy_from_slice(&(name.len() as u32).to_le_bytes());
    head[40..48].copy_from_slice(&(flags | 1).to_le_bytes());
    head.extend(name.as_bytes());
    head.resize(64 + name_size, 0);
    head.extend(data);
    head.resize(head.len().next_multiple_of(8), 0);
    head
}

fn fatbin_bytes(entries: &[Vec<u8>]) -> Vec<u8> {
    let body = entries.concat();
    let mut bytes = 0xba55_ed50u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(body);
    bytes
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

/// One entry of every kind and compression.
fn sample() -> Vec<u8> {
    let size = TEXT.len() as u64;
    fatbin_bytes(&[
        entry_bytes(2, 90, 0, "", b"\x7fELF", 0),
        entry_bytes(1, 52, 0, "plain.cu", TEXT.as_bytes(), size),
        entry_bytes(1, 80, 0x2000, "a.cu", &lz4_flex::block::compress(TEXT.as_bytes()), size),
        entry_bytes(1, 90, 0x10_8000, "", &zstd(TEXT.as_bytes()), size),
        entry_bytes(1, 90, 0x8000, "", &zstd(TEXT.as_bytes()), size),
        entry_bytes(1, 100, 0x20_0000, "", TEXT.as_bytes(), size),
        entry_bytes(0x10, 90, 0, "", b"other", 0),
        group_bytes(0x8000, &[(30, TEXT)]),
    ])
}

/// A group as `fatbinary --concat` lays it out: the heads of its entries inside its own, their data compressed together.
fn group_bytes(flags: u64, texts: &[(u32, &str)]) -> Vec<u8> {
    let all: String = texts.iter().map(|(_, text)| *text).collect();
    let data = if flags & 0x2000 != 0 { lz4_flex::block::compress(all.as_bytes()) } else { zstd(all.as_bytes()) };
    let mut bytes = entry_bytes(0x100, 0, flags, "", &data, all.len() as u64);
    let data = bytes.split_off(64);
    let mut heads = Vec::new();
    let mut start = 0u32;
    for (sm, text) in texts {
        let mut head = entry_bytes(1, *sm, 0, "group.cu", b"", 0);
        head[4..8].copy_from_slice(&start.to_le_bytes());
        head[8..16].copy_from_slice(&(text.len() as u64).to_le_bytes());
        start += text.len() as u32;
        heads.extend(head);
    }
    bytes[4..8].copy_from_slice(&(72 + heads.len() as u32).to_le_bytes());
    bytes.extend((texts.len() as u32).to_le_bytes());
    bytes.extend((8 + heads.len() as u32).to_le_bytes());
    bytes.extend(heads);
    bytes.extend(data);
    bytes
}

#[test]
fn groups_give_each_of_their_entries() {
    for flags in [0x2000, 0x8000] {
        let bytes = fatbin_bytes(&[group_bytes(flags, &[(80, TEXT), (90, ".version 9.0")])]);
        let fatbin = Fatbin::parse(&bytes).expect("a valid fat binary");
        let texts = fatbin.entries_for(90).into_iter().map(|entry| entry.content().expect("whole data"));
        assert_eq!(texts.collect::<Vec<_>>(), [b".version 9.0", TEXT.as_bytes()]);
        assert_eq!(fatbin.entries[1].name.as_deref(), Some("group.cu"));
        let mut wrong = bytes.clone();
        wrong[16 + 64] = 3;
        assert!(Fatbin::parse(&wrong).is_err());
        wrong[16 + 64] = 2;
        wrong[16 + 72 + 4] = 200;
        let fatbin = Fatbin::parse(&wrong).expect("the layout is whole");
        assert!(fatbin.entries[0].content().is_err());
    }
}

#[test]
fn entries_are_found_and_decompressed() {
    let bytes = sample();
    let fatbin = Fatbin::parse(&bytes).expect("a valid fat binary");
    let kinds: Vec<_> = fatbin.entries.iter().map(|entry| entry.kind).collect();
    use EntryKind::{Elf, Other, Ptx};
    assert_eq!(kinds, [Elf, Ptx, Ptx, Ptx, Ptx, Ptx, Other(0x10), Ptx]);
    assert_eq!(fatbin.entries[1].name.as_deref(), Some("plain.cu"));
    assert_eq!(fatbin.entries[3].name, None);
    assert_eq!(fatbin.entries[1].version, (9, 2));
    for entry in fatbin.entries.iter().filter(|entry| entry.kind == Ptx) {
        let content = entry.content().expect("whole data");
        assert!(content.starts_with(TEXT.as_bytes()), "{}", entry.architecture);
    }
}

#[test]
fn the_best_text_for_a_device_comes_first() {
    let bytes = sample();
    let fatbin = Fatbin::parse(&bytes).expect("a valid fat binary");
    let targets =
        |device| fatbin.entries_for(device).iter().map(|entry| entry.architecture.to_string()).collect::<Vec<_>>();
    assert_eq!(targets(90), ["sm_90a", "sm_90", "sm_90", "sm_80", "sm_52", "sm_30"]);
    assert_eq!(targets(103), ["sm_100f", "sm_90", "sm_90", "sm_80", "sm_52", "sm_30"]);
    assert_eq!(targets(75), ["sm_52", "sm_30"]);
    assert!(targets(29).is_empty());
}

#[test]
fn damage_is_an_error() {
    let bytes = sample();
    for end in 0..bytes.len() {
        assert!(Fatbin::parse(&bytes[..end]).is_err(), "{end}");
    }
    let empty = fatbin_bytes(&[]);
    assert!(Fatbin::parse(&empty).expect("a valid fat binary").entries.is_empty());
    let mut wrong = empty;
    wrong[4] = 0x99;
    assert_eq!(Fatbin::parse(&wrong).err(), Some(ImageError::Field { what: "the version", value: 0x99 }));
}

#[test]
fn compressed_data_that_lies_about_its_size_is_an_error() {
    let lz4 = lz4_flex::block::compress(TEXT.as_bytes());
    for (flags, data) in [(0x2000, lz4), (0x8000, zstd(TEXT.as_bytes()))] {
        for size in [0, TEXT.len() as u64 - 1, TEXT.len() as u64 + 1, 1 << 40, u64::MAX] {
            let bytes = fatbin_bytes(&[entry_bytes(1, 90, flags, "", &data, size)]);
            let fatbin = Fatbin::parse(&bytes).expect("the layout is whole");
            assert!(fatbin.entries[0].content().is_err(), "{flags:#x} {size}");
        }
    }
}

#[test]
fn wrappers_lead_to_fat_binaries() {
    let mut bytes = [0; WRAPPER_SIZE];
    bytes[..4].copy_from_slice(&0x4662_43b1u32.to_le_bytes());
    assert!(Wrapper::parse(&bytes).is_err());
    bytes[4] = 1;
    bytes[8] = 0x10;
    assert_eq!(Wrapper::parse(&bytes), Ok(Wrapper { version: 1, data: 0x10, more: 0 }));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_bytes_never_panic(changes in prop::collection::vec((0usize..2000, any::<u8>()), 1..8)) {
        let mut bytes = sample();
        let length = bytes.len();
        for (at, byte) in changes {
            bytes[at % length] = byte;
        }
        if let Ok(fatbin) = Fatbin::parse(&bytes) {
            for entry in &fatbin.entries {
                let _ = entry.content().map_err(|error| error.to_string());
            }
        }
    }
}

#[test]
fn files_of_ours_hold_ptx_and_come_behind_texts_as_new() {
    let container = Container { texts: vec![("a".to_owned(), TEXT.to_owned())], most_registers: None, sm: 90 };
    let ours = write_container(&container).expect("small texts fit");
    let bytes = fatbin_bytes(&[
        entry_bytes(2, 90, 0, "", b"\x7fELF", 0),
        entry_bytes(2, 90, 0, "", &ours, 0),
        entry_bytes(1, 80, 0, "", TEXT.as_bytes(), 0),
    ]);
    let fatbin = Fatbin::parse(&bytes).expect("a valid fat binary");
    let held: Vec<_> = fatbin
        .entries_for(90)
        .into_iter()
        .map(|entry| (entry.kind, entry.architecture.sm, entry.holds_ptx()))
        .collect();
    assert_eq!(held, [(EntryKind::Elf, 90, false), (EntryKind::Elf, 90, true), (EntryKind::Ptx, 80, true)]);
    let content = fatbin.entries[1].content().expect("whole data");
    assert_eq!(read_container(&content).expect("the file is whole"), container);
}
