//! The library that cargo built along with the test.
use std::path::PathBuf;

/// The library that cargo built along with this test.
pub(crate) fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its executable");
    let folders = test.ancestors().skip(1).take(2);
    let mut candidates = folders.map(|folder| folder.join("libcuda.so"));
    candidates.find(|candidate| candidate.exists()).expect("cargo builds libcuda.so before its tests")
}
