//! pynvml, as PyPI has it, on the library: every function of it that asks.
#[allow(dead_code, reason = "toolkits are for others")]
#[path = "../../cudart/tests/support/pypi.rs"]
mod pypi;
mod support;

use std::path::Path;
use std::process::Command;

/// The package, with a version for which the numbers of functions hold.
const PACKAGE: &str = "nvidia-ml-py==13.580.82";

#[test]
fn every_function_answers_or_refuses() {
    let package = match pypi::install("pynvml", &[PACKAGE.to_owned()]) {
        Ok(package) => package,
        Err(why) => return eprintln!("SKIPPED: {PACKAGE} cannot be installed: {why}"),
    };
    let mut python = Command::new("/usr/bin/python3");
    support::take_out(&mut python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/walk.py"))
        .env("PYTHONPATH", package);
    let settings = [("DEVICE_COUNT", "2"), ("MEMORY", "1G"), ("DEVICE", "sm_90"), ("CUDA_VERSION", "12.4")];
    python.envs(settings.map(|(name, value)| (format!("WARPLOOM_{name}"), value)));
    let output = python.env("LD_LIBRARY_PATH", support::named()).output().expect("Python starts");
    let [said, wrong] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{}\n{said}\n{wrong}", output.status);
    println!("{said}");
}
