//! Gives the compiler a name of its own: code that another one has made is not taken from the cache.
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Whose sources decide what code is made of a kernel: the IR, what operations compute, how they are written, and what is done with that.
const CRATES: [&str; 4] = ["ptx", "numerics", "simt", "jit"];

fn main() -> io::Result<()> {
    let package = env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
    let crates = Path::new(&package).join("..");
    let mut files = Vec::new();
    for name in CRATES {
        let sources = crates.join(name).join("src");
        println!("cargo:rerun-if-changed={}", sources.display());
        collect(&sources, &mut files)?;
    }
    files.sort();
    let mut digest = DefaultHasher::new();
    for file in files {
        digest.write(&fs::read(file)?);
        digest.write_u8(0);
    }
    println!("cargo:rustc-env=COMPILER_SOURCES={:016x}", digest.finish());
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for found in fs::read_dir(folder)? {
        let path = found?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
