//! The files of `tests/filetests/analyze`: kernels, and in the last lines (`//| `) what [`warploom_simt::analyze`] says of them.
//! `// cta X Y Z` and `// gang N` in the first lines say for which CTAs (default 128 threads) and gangs (default 8). `WARPLOOM_BLESS=1` writes those lines.

use std::path::Path;

use warploom_filetests::Blessed;
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, load};
use warploom_simt::{Gangs, analyze};

fn numbers(text: &str, key: &str) -> Vec<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.map_or(Vec::new(), |line| line.split_whitespace().map(|word| word.parse().expect("number")).collect())
}

fn outcome(text: &str) -> String {
    let mut cta = numbers(text, "// cta ");
    if cta.is_empty() {
        cta.push(128);
    }
    cta.resize(3, 1);
    let width = numbers(text, "// gang ").first().copied().unwrap_or(8);
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let all = (0..module.functions.len() as u32).filter_map(|kernel| {
        let gangs = Gangs::new([cta[0], cta[1], cta[2]], width).expect("gangs");
        Some(analyze(&module, FunctionId(kernel), gangs)?.to_string())
    });
    all.collect()
}

#[test]
fn files_give_what_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/analyze");
    let mut paths: Vec<_> =
        std::fs::read_dir(root).expect("folder").map(|entry| entry.expect("entry").path()).collect();
    paths.sort();
    assert!(paths.len() >= 10, "only {} files", paths.len());
    let compare = |path| {
        let file = Blessed::read(path);
        file.compare(&outcome(&file.source())).err()
    };
    let wrong: Vec<String> = paths.into_iter().filter_map(compare).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All other PTX files: whatever is in them, analysis ends, and says something of each kernel.
#[test]
fn every_kernel_can_be_looked_at() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests");
    let (mut folders, mut kernels) = (vec![root.join("run"), root.join("ptx/accept")], 0);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read(&path).expect("file");
            let Ok(module) = load(&text, &Options { driver_version: 13000, sm: 90 }) else { continue };
            for (cta, width) in [([32, 1, 1], 1), ([96, 2, 1], 8), ([7, 5, 3], 16), ([256, 1, 1], 32)] {
                for kernel in 0..module.functions.len() as u32 {
                    let info = analyze(&module, FunctionId(kernel), Gangs::new(cta, width).expect("gangs"));
                    kernels += usize::from(info.is_some_and(|info| !info.to_string().is_empty()));
                }
            }
        }
    }
    assert!(kernels > 900, "only {kernels} kernels");
}
