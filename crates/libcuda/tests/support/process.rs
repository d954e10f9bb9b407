//! Tests in processes of their own: a driver reads its settings once, and some tests end a process or leave it faulted.
#[path = "../../../../tests/settings.rs"]
mod settings;

use std::process::Command;

/// Runs `body` in a process of its own with `settings` in its environment: a driver reads them once. `test` is the name of the
/// calling test, which the new process runs alone.
pub(crate) fn with_settings(test: &str, settings: &[(&str, &str)], body: impl FnOnce()) {
    const MARK: &str = "WARPLOOM_TEST_CHILD";
    if std::env::var_os(MARK).is_some_and(|name| name == *test) {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().expect("a test knows its executable"));
    settings::take_out(&mut command).args([test, "--exact", "--nocapture", "--test-threads=1"]).env(MARK, test);
    let output = command.envs(settings.iter().copied()).output().expect("the test starts again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{test} with {settings:?}:\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{test} did not run:\n{text}");
}
