//! What an auditing library cannot do anything about: the kernel or the dynamic linker of a program takes no notice of `LD_AUDIT`.
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use object::LittleEndian;
use object::elf::{EM_X86_64, FileHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

/// The dynamic linker that audits.
const DYNAMIC_LINKER: &str = "ld-linux-x86-64.so.2";

/// Why the auditing library will not be loaded into `program`; `None` where it will, or where the program cannot be started anyway.
pub(crate) fn unaudited(program: &OsStr) -> Option<String> {
    let path = find(program)?;
    let mut file = File::open(&path).ok()?;
    if changes_rights(&file.metadata().ok()?) {
        return Some(
            "it runs with the rights of its owner (set-uid or set-gid), so that LD_AUDIT is ignored".to_owned(),
        );
    }
    // The program headers follow the file header.
    let mut start = Vec::new();
    file.by_ref().take(4096).read_to_end(&mut start).ok()?;
    if !start.starts_with(b"\x7fELF") {
        return None;
    }
    let Ok(header) = FileHeader64::<LittleEndian>::parse(start.as_slice()) else {
        return Some("it is no 64-bit program".to_owned());
    };
    if header.e_machine(LittleEndian) != EM_X86_64 {
        return Some("it is a program for another processor".to_owned());
    }
    let segments = header.program_headers(LittleEndian, start.as_slice()).ok()?;
    let interpreter =
        segments.iter().find_map(|segment| segment.interpreter(LittleEndian, start.as_slice()).ok().flatten());
    let Some(interpreter) = interpreter else {
        return Some("it is linked statically, so that there is no dynamic linker".to_owned());
    };
    let interpreter = String::from_utf8_lossy(interpreter);
    (Path::new(&*interpreter).file_name() != Some(OsStr::new(DYNAMIC_LINKER)))
        .then(|| format!("its dynamic linker, {interpreter}, may not know LD_AUDIT"))
}

/// Whether a program runs as somebody else than the one who starts it.
fn changes_rights(program: &Metadata) -> bool {
    // Who this process is: the owner of its own folder.
    let Ok(own) = std::fs::metadata("/proc/self") else { return false };
    let mode = program.permissions().mode();
    mode & 0o4000 != 0 && program.uid() != own.uid() || mode & 0o2000 != 0 && program.gid() != own.gid()
}

/// The file that a program of this name is started from.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(program));
    }
    let executable =
        |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(executable)
}
