//! Links the unwinder of Rust's standard library statically. The dynamic linker loads an auditing library into a namespace of its own with
//! all that it needs, for every program; `libgcc_s.so.1` would more than double what that takes.
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CC");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let Ok(found) = Command::new(&compiler).arg("-print-file-name=libgcc_eh.a").output() else {
        println!("cargo:warning=no C compiler to ask for libgcc_eh.a: the auditing library will need libgcc_s.so.1");
        return;
    };
    let path = String::from_utf8_lossy(&found.stdout);
    // A compiler that has none answers with the bare name.
    match Path::new(path.trim()).parent().filter(|folder| folder.is_absolute()) {
        Some(folder) => {
            println!("cargo:rustc-link-search=native={}", folder.display());
            println!("cargo:rustc-link-lib=static:+whole-archive,-bundle=gcc_eh");
        }
        None => println!("cargo:warning=no libgcc_eh.a: the auditing library will need libgcc_s.so.1"),
    }
}
