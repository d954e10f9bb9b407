//! CUDA versions on the command line: `12.4`.
use std::fmt;
use std::str::FromStr;

/// A CUDA version, as `1000 * major + 10 * minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CudaVersion(pub(crate) i32);

impl FromStr for CudaVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<CudaVersion, String> {
        let number = |part: &str, most: i32| part.parse::<i32>().ok().filter(|number| (0..=most).contains(number));
        text.split_once('.')
            .and_then(|(major, minor)| Some(number(major, 999)? * 1000 + number(minor, 99)? * 10))
            .map(CudaVersion)
            .ok_or_else(|| "a CUDA version is a major and a minor number, for instance 12.4".to_owned())
    }
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{}.{}", self.0 / 1000, self.0 % 1000 / 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_and_print() {
        for (text, version) in [("12.4", 12_040), ("11.3", 11_030), ("2.0", 2_000), ("13.15", 13_150)] {
            assert_eq!(text.parse(), Ok(CudaVersion(version)));
            assert_eq!(CudaVersion(version).to_string(), text);
        }
        for wrong in ["12", "12.", ".4", "12.4.1", "-1.0", "twelve", "12.100", ""] {
            assert!(wrong.parse::<CudaVersion>().is_err(), "{wrong}");
        }
    }
}
