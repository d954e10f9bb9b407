//! Files whose last lines (`//| `) say what comes of the rest: `WARPLOOM_BLESS=1` writes those lines.
use std::path::PathBuf;

/// A file and what it says.
pub struct Blessed {
    path: PathBuf,
    text: String,
}

impl Blessed {
    /// Reads a file, which a test expects to be there.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn read(path: PathBuf) -> Blessed {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Blessed { path, text }
    }

    /// The file without the lines that are expected.
    pub fn source(&self) -> String {
        self.text.lines().filter(|line| !line.starts_with("//|")).flat_map(|line| [line, "\n"]).collect()
    }

    /// Compares what came of the source with the file, or writes it there; spaces at the end of lines do not count.
    ///
    /// # Errors
    /// The first lines that differ.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn compare(&self, got: &str) -> Result<(), String> {
        let got: Vec<String> = got.lines().map(|line| format!("//| {line}").trim_end().to_owned()).collect();
        if std::env::var_os("WARPLOOM_BLESS").is_some() {
            std::fs::write(&self.path, format!("{}{}\n", self.source(), got.join("\n")))
                .expect("a file can be written");
            return Ok(());
        }
        let expected: Vec<&str> = self.text.lines().filter(|line| line.starts_with("//|")).collect();
        if expected == got {
            return Ok(());
        }
        let first = (0..).find(|at| expected.get(*at).copied() != got.get(*at).map(String::as_str)).unwrap_or(0);
        let (path, expected, got) = (self.path.display(), expected.get(first), got.get(first));
        Err(format!("{path}:\n  expected {expected:?}\n  got      {got:?}"))
    }
}
