//! Where code is kept, and how much of it.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Usage, usage};

/// Where code is kept, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// The folder.
    pub folder: PathBuf,
    /// Bytes that it may hold.
    pub limit: u64,
}

/// As NVIDIA's driver has it.
const LIMIT: u64 = 1 << 30;

impl CacheSettings {
    /// Reads the environment through `variable`: `WARPLOOM_CACHE_DIR`, `CUDA_CACHE_PATH`, `CUDA_CACHE_DISABLE`, `CUDA_CACHE_MAXSIZE`, `XDG_CACHE_HOME`, `HOME`. `None` where
    /// nothing is to be kept, or there is no place for it. Second, what could not be used.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> (Option<CacheSettings>, Vec<String>) {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut complaints = Vec::new();
        let limit = set("CUDA_CACHE_MAXSIZE").map_or(LIMIT, |value| {
            let text = value.to_string_lossy();
            text.trim().parse().unwrap_or_else(|_| {
                complaints.push(format!("CUDA_CACHE_MAXSIZE={text} is ignored: a number of bytes is expected"));
                LIMIT
            })
        });
        let disabled = set("CUDA_CACHE_DISABLE").is_some_and(|value| match &*value.to_string_lossy() {
            "0" => false,
            "1" => true,
            other => {
                complaints.push(format!("CUDA_CACHE_DISABLE={other} is ignored: 0 or 1 is expected"));
                false
            }
        });
        let inside = |name: &str, folder: &str| set(name).map(PathBuf::from).map(|parent| parent.join(folder));
        let folder = set("WARPLOOM_CACHE_DIR")
            .map(PathBuf::from)
            .or_else(|| inside("CUDA_CACHE_PATH", "warploom"))
            .or_else(|| inside("XDG_CACHE_HOME", "warploom").filter(|folder| folder.is_absolute()))
            .or_else(|| inside("HOME", ".cache/warploom"));
        let settings = folder.filter(|_| !disabled && limit != 0).map(|folder| CacheSettings { folder, limit });
        (settings, complaints)
    }

    /// What the folder holds now.
    pub fn usage(&self) -> Usage {
        usage(&self.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (Option<CacheSettings>, Vec<String>) {
        CacheSettings::read(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    fn folder(variables: &[(&str, &str)]) -> Option<String> {
        let (settings, complaints) = read(variables);
        assert_eq!(complaints, Vec::<String>::new());
        settings.map(|settings| settings.folder.display().to_string())
    }

    #[test]
    fn the_nearest_variable_says_where() {
        let all = [
            ("WARPLOOM_CACHE_DIR", "/own"),
            ("CUDA_CACHE_PATH", "/cuda"),
            ("XDG_CACHE_HOME", "/xdg"),
            ("HOME", "/home/me"),
        ];
        let folders = ["/own", "/cuda/warploom", "/xdg/warploom", "/home/me/.cache/warploom"];
        for (from, expected) in folders.iter().enumerate() {
            assert_eq!(folder(&all[from..]).as_deref(), Some(*expected));
        }
        assert_eq!(folder(&[]), None);
        assert_eq!(
            folder(&[("WARPLOOM_CACHE_DIR", ""), ("XDG_CACHE_HOME", "relative"), ("HOME", "/h")]).as_deref(),
            Some("/h/.cache/warploom")
        );
    }

    #[test]
    fn limits_and_switches_are_as_with_nvidias_driver() {
        let with = |name, value| read(&[("HOME", "/h"), (name, value)]);
        assert_eq!(with("CUDA_CACHE_MAXSIZE", "4096").0.map(|settings| settings.limit), Some(4096));
        assert_eq!(with("CUDA_CACHE_MAXSIZE", "0").0, None);
        assert_eq!(with("CUDA_CACHE_DISABLE", "1").0, None);
        assert!(with("CUDA_CACHE_DISABLE", "0").0.is_some());
        for (name, value) in [("CUDA_CACHE_MAXSIZE", "much"), ("CUDA_CACHE_DISABLE", "perhaps")] {
            let (settings, complaints) = with(name, value);
            assert_eq!(settings.map(|settings| settings.limit), Some(LIMIT));
            assert_eq!(complaints.len(), 1);
            assert!(complaints[0].starts_with(&format!("{name}={value} is ignored: ")), "{complaints:?}");
        }
    }
}
