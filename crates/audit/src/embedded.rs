//! Recognising NVIDIA's runtime library where it is linked into an object, from the object's symbol table, or else from where its functions begin.
use std::fmt;

use crate::elf_file::{ElfFile, Function, Reason, Symbols};
use crate::layouts;

/// Present in all that nvcc makes: the constructors of compiled host code call it.
const REGISTRATION: &[u8] = b"__cudaRegisterFatBinary";
/// What our own `libcudart_static.a` defines, and nobody else.
const OURS: &[u8] = b"warploom_runtime";
/// The section in which it does, which stays where symbols were stripped.
const SECTION_OF_OURS: &[u8] = b".warploom_runtime";
/// The section in which nvcc leaves the addresses of fat binaries, and the one with what they hold, which a library without kernels can have
/// by itself.
const FAT_BINARIES: [&[u8]; 2] = [b".nvFatBinSegment", b".nv_fatbin"];
/// What the runtime library's one section of code takes from the C library, in all builds that were seen, and hardly anybody else all of: so that a library
/// without device code (`libcudnn_graph.so`) is known to have it, and no other is looked through.
const TAKEN_BY_RUNTIMES: [&[u8]; 3] = [b"mkfifo", b"nftw", b"shmget"];
/// In version 12 there are two layouts of `cudaDeviceProp`, the newer under this name; 13 has one again.
const ONLY_IN_12: &[u8] = b"cudaGetDeviceProperties_v2";

/// What an object has of the runtime library.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Embedded {
    /// None, or it uses a shared one.
    Nothing,
    /// Our own, linked statically.
    Ours,
    /// Kernels, or what runtimes take from the C library, and no symbol table that would tell where the runtime's functions are, nor functions where a
    /// known version has them.
    Stripped,
    /// Functions of a runtime library whose version cannot be told.
    UnknownVersion,
    /// NVIDIA's.
    Runtime { version: Version, functions: Vec<RuntimeFunction> },
}

/// A function of the runtime and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuntimeFunction {
    pub(crate) name: Vec<u8>,
    /// As linked, without where the object was loaded.
    pub(crate) address: u64,
    /// In bytes.
    pub(crate) size: u64,
}

impl From<Function<'_>> for RuntimeFunction {
    fn from(function: Function<'_>) -> RuntimeFunction {
        RuntimeFunction { name: function.name.to_vec(), address: function.address, size: function.size }
    }
}

/// As `cudaRuntimeGetVersion` has it: 1000 times the major version and 10 times the minor one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(pub(crate) u32);

impl Version {
    pub(crate) fn major(self) -> u32 {
        self.0 / 1000
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major(), self.0 % 1000 / 10)
    }
}

/// Looks for the runtime library in `file`.
pub(crate) fn find(file: &ElfFile) -> Result<Embedded, Reason> {
    if file.has_loaded_section(SECTION_OF_OURS) {
        return Ok(Embedded::Ours);
    }
    let Some(symbols) = file.symbols()? else {
        let has_device_code = FAT_BINARIES.iter().any(|section| file.has_loaded_section(section));
        if file.imports(REGISTRATION)? || !has_device_code && !takes_what_runtimes_take(file)? {
            return Ok(Embedded::Nothing);
        }
        let found = layouts::find(file)?;
        return Ok(found.map_or(Embedded::Stripped, |(version, functions)| Embedded::Runtime { version, functions }));
    };
    let of_runtime =
        |function: &Function<'_>| function.name.starts_with(b"cuda") || function.name.starts_with(b"__cuda");
    let functions: Vec<Function<'_>> = symbols.functions().filter(of_runtime).collect();
    if !functions.iter().any(|function| function.name == REGISTRATION) {
        return Ok(Embedded::Nothing);
    }
    if symbols.defines(OURS) {
        return Ok(Embedded::Ours);
    }
    Ok(match version(file, &symbols, &functions)? {
        Some(version) => Embedded::Runtime { version, functions: functions.into_iter().map(Into::into).collect() },
        None => Embedded::UnknownVersion,
    })
}

fn takes_what_runtimes_take(file: &ElfFile) -> Result<bool, Reason> {
    for name in TAKEN_BY_RUNTIMES {
        if !file.imports(name)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The version that `cudaRuntimeGetVersion` answers, read from its code: it, or a function that it calls, stores a constant where its
/// argument points (`movl $13050, (%rdi)`). So it is in the runtimes of CUDA 12.8 to 13.5. The names must not speak
/// against it.
fn version(file: &ElfFile, symbols: &Symbols, functions: &[Function<'_>]) -> Result<Option<Version>, Reason> {
    let Some(answering) = functions.iter().find(|function| function.name == b"cudaRuntimeGetVersion") else {
        return Ok(None);
    };
    let code = file.code(answering.address, answering.size)?;
    let mut versions = constants_answered(&code);
    let called = calls(&code, answering.address);
    for function in symbols.functions().filter(|function| called.contains(&function.address)) {
        versions.extend(constants_answered(&file.code(function.address, function.size)?));
    }
    versions.dedup();
    let [version] = versions[..] else { return Ok(None) };
    let named_as_12 = functions.iter().any(|function| function.name == ONLY_IN_12);
    Ok(Some(version).filter(|version| !named_as_12 || version.major() == 12))
}

/// The same for a file without a symbol table, told from all of its code: the store is the last thing that the function does before it
/// answers `cudaSuccess` (`xor %eax, %eax; ret`), and all such stores are of one version.
pub(crate) fn version_in_code(file: &ElfFile) -> Result<Option<Version>, Reason> {
    const STORE: usize = 6;
    const SUCCESS: &[u8] = &[0x31, 0xc0, 0xc3];
    let mut versions = Vec::new();
    for code in file.all_code() {
        let code = code?;
        let ends = code.windows(STORE + SUCCESS.len()).filter(|bytes| bytes.ends_with(SUCCESS));
        versions.extend(ends.flat_map(|bytes| constants_answered(&bytes[..STORE])));
    }
    versions.dedup();
    let [version] = versions[..] else { return Ok(None) };
    Ok(Some(version))
}

/// `movl $version, (%rdi)` in `code`.
fn constants_answered(code: &[u8]) -> Vec<Version> {
    let constants = code.windows(6).filter_map(|bytes| match bytes {
        [0xc7, 0x07, constant @ ..] => Some(u32::from_le_bytes(constant.try_into().ok()?)),
        _ => None,
    });
    constants.filter(|version| (10_000..100_000).contains(version) && version % 10 == 0).map(Version).collect()
}

/// Where the direct calls in `code`, which starts at `address`, may lead. Operands that look like a call are among them; they lead to no
/// function.
fn calls(code: &[u8], address: u64) -> Vec<u64> {
    let calls = code.windows(5).zip(address..).filter_map(|(bytes, address)| match bytes {
        [0xe8, distance @ ..] => {
            let distance = i32::from_le_bytes(distance.try_into().ok()?);
            Some(address.wrapping_add(5).wrapping_add_signed(distance.into()))
        }
        _ => None,
    });
    calls.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_code() {
        let code = [0x48, 0x85, 0xff, 0x74, 0x0b, 0xc7, 0x07, 0xfa, 0x32, 0, 0, 0x31, 0xc0, 0xc3];
        let versions = constants_answered(&code);
        assert_eq!(versions, [Version(13050)]);
        assert_eq!((versions[0].major(), versions[0].to_string().as_str()), (13, "13.5"));
        // Zero, and a number that is none of a version.
        assert_eq!(constants_answered(&[0xc7, 0x07, 0, 0, 0, 0]), []);
        assert_eq!(constants_answered(&[0xc7, 0x07, 0x01, 0x2f, 0, 0]), []);
    }

    #[test]
    fn calls_lead_forwards_and_backwards() {
        assert_eq!(calls(&[0x90, 0xe8, 0x10, 0, 0, 0, 0xe8, 0xf5, 0xff, 0xff, 0xff], 0x1000), [0x1016, 0x1000]);
    }
}
