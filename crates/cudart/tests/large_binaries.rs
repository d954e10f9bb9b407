//! A process with 200 MB of fat binaries that launches three kernels does not read the others.
#[path = "support/library.rs"]
mod library;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Fat binaries, of which each `COMPRESSED_EACH`th is compressed; kernels in each, and bytes of text of a kernel. A compressed one has
/// as many kernels more as it takes to be of a like size.
const BINARIES: usize = 420;
const COMPRESSED_EACH: usize = 6;
const KERNELS: usize = 100;
const COMPRESSED_KERNELS: usize = 400;
const KERNEL_TEXT: usize = 5_000;

fn is_compressed(binary: usize) -> bool {
    binary % COMPRESSED_EACH == 1
}

fn kernels(binary: usize) -> usize {
    if is_compressed(binary) { COMPRESSED_KERNELS } else { KERNELS }
}

fn stored(binary: usize, kernel: usize) -> usize {
    1_000_000 + binary * 1_000 + kernel
}

/// The text of a fat binary's kernels: each stores a number of its own.
fn ptx(binary: usize) -> String {
    let mut text = String::from(".version 7.0\n.target sm_50\n.address_size 64\n");
    for kernel in 0..kernels(binary) {
        let begin = text.len();
        let value = stored(binary, kernel);
        writeln!(
            text,
            ".visible .entry kernel_{binary}_{kernel}(.param .u64 place) {{\n.reg .b64 p; .reg .b32 r;\nld.param.u64 p, [place];\nmov.u32 r, 0;"
        )
        .expect("written");
        // Values that follow one another by no simple rule, so that compression has work.
        let mut noise = (binary * 7919 + kernel * 104_729 + 1) as u32;
        while text.len() - begin < KERNEL_TEXT - 100 {
            noise ^= noise << 13;
            noise ^= noise >> 17;
            noise ^= noise << 5;
            writeln!(text, "xor.b32 r, r, {noise};").expect("written");
        }
        writeln!(text, "mov.u32 r, {value};\nst.global.u32 [p], r;\nret;\n}}").expect("written");
    }
    text
}

/// A fat binary with one entry.
fn fat_binary(binary: usize) -> Vec<u8> {
    const ENTRY: usize = 64;
    let mut text = ptx(binary).into_bytes();
    text.push(0);
    let size = text.len();
    let compressed = is_compressed(binary);
    let mut data = if compressed { lz4_flex::block::compress(&text) } else { text };
    let stored = data.len();
    data.resize(stored.next_multiple_of(8), 0);
    let mut entry = [0u8; ENTRY];
    let mut put = |at: usize, bytes: &[u8]| entry[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &1u16.to_le_bytes());
    put(2, &0x101u16.to_le_bytes());
    put(4, &(ENTRY as u32).to_le_bytes());
    put(8, &(data.len() as u64).to_le_bytes());
    put(24, &0u16.to_le_bytes());
    put(26, &7u16.to_le_bytes());
    put(28, &50u32.to_le_bytes());
    let flags = if compressed { 0x2001u64 } else { 1 };
    put(40, &flags.to_le_bytes());
    if compressed {
        put(16, &(stored as u32).to_le_bytes());
        put(56, &(size as u64).to_le_bytes());
    }
    let mut whole = Vec::new();
    whole.extend(0xba55_ed50u32.to_le_bytes());
    whole.extend(1u16.to_le_bytes());
    whole.extend(16u16.to_le_bytes());
    whole.extend(((ENTRY + data.len()) as u64).to_le_bytes());
    whole.extend(entry);
    whole.extend(data);
    whole
}

fn compile(arguments: &[&str], sources: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-O1", "-Wall", "-Werror"]).arg("-I").arg(root.join("include"));
    command.args(sources.iter().map(|source| root.join("tests/c/runtime").join(source))).args(arguments);
    let output = command.output().expect("the compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The shared object with all fat binaries, and their size in bytes.
fn large_library(folder: &Path) -> (PathBuf, usize) {
    let (blob, list, object) = (folder.join("blob"), folder.join("list.h"), folder.join("liblarge.so"));
    let mut file = std::io::BufWriter::new(std::fs::File::create(&blob).expect("the folder takes files"));
    let (mut offset, mut table) = (0, String::new());
    for binary in 0..BINARIES {
        let bytes = fat_binary(binary);
        writeln!(table, "{{{offset}, {}}},", kernels(binary)).expect("written");
        offset += bytes.len();
        file.write_all(&bytes).expect("written");
    }
    file.flush().expect("written");
    std::fs::write(&list, table).expect("written");
    let defines = [format!("-DBLOB={}", blob.display()), format!("-DLIST={}", list.display())];
    let output = object.display().to_string();
    compile(&["-shared", "-fPIC", &defines[0], &defines[1], "-o", &output], &["large_library.c"]);
    std::fs::remove_file(blob).expect("it was written");
    (object, offset)
}

#[test]
fn fat_binaries_that_are_not_used_are_not_read() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("large_binaries");
    std::fs::create_dir_all(&folder).expect("the scratch folder takes folders");
    let (object, size) = large_library(&folder);
    assert!(size > 200 << 20, "{size}");
    let (libraries, program) = (library::folder(), folder.join("program"));
    let runtime = libraries.join("libcudart.so.13").display().to_string();
    compile(&["-o", &program.display().to_string(), &object.display().to_string(), &runtime], &["large_program.c"]);
    // Two plain ones and a compressed one.
    let wanted = [(3, 99), (BINARIES - 1, 0), (301, 300)];
    assert!(wanted.iter().filter(|(binary, _)| is_compressed(*binary)).count() == 1);
    let mut command = Command::new(&program);
    command.env("LD_LIBRARY_PATH", format!("{}:{}", libraries.display(), folder.display()));
    command.args(wanted.iter().flat_map(|(binary, kernel)| [binary.to_string(), kernel.to_string()]));
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).expect("text");
    let numbers: Vec<usize> = printed.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let expected = wanted.map(|(binary, kernel)| stored(binary, kernel));
    assert_eq!(numbers[..3], expected);
    let used: usize = wanted.iter().map(|(binary, _)| fat_binary(*binary).len()).sum();
    // The system maps as much around a byte that is touched as lies together in its cache: up to 2 MiB before and behind each.
    let around = wanted.len() * 2 * (2 << 20);
    println!("{} of {size} bytes in memory, {used} used; first result after {} microseconds", numbers[3], numbers[4]);
    assert!(numbers[3] <= used + around, "{} bytes in memory of {used} that are used", numbers[3]);
    std::fs::remove_dir_all(folder).expect("the scratch folder is ours");
}
