//! The command under test.
#[path = "../../../../tests/settings.rs"]
mod settings;

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The command, with our libraries beside it.
pub(crate) fn warploom() -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let command = BUILT.get_or_init(|| {
        let command = PathBuf::from(env!("CARGO_BIN_EXE_warploom"));
        // `make unit` has built them, with the features of the whole workspace; building a part of it means other features.
        if std::env::var_os("LIBRARIES_ARE_BUILT").is_some() {
            return command;
        }
        let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
        let target = command.ancestors().nth(2).expect("the command is in a target folder");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "warploom-libcuda", "--package", "warploom-audit"])
            .args([
                "--package",
                "warploom-compilers",
                "--package",
                "warploom-cudart11",
                "--package",
                "warploom-cudart12",
                "--package",
                "warploom-cudart13",
            ])
            .args(["--profile", profile, "--target-dir"])
            .arg(target)
            .status();
        assert!(built.expect("cargo runs").success(), "the libraries build");
        command
    });
    let mut command = Command::new(command);
    settings::take_out(&mut command);
    command
}
