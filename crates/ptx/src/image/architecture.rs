//! Targets: `sm_90`, `sm_90a`, `sm_100f`, `compute_52` (PTX ISA 11.1.2), and which of them run on which device.

use std::fmt;
use std::str::FromStr;

/// Which devices a target is for, besides the one it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// `sm_90`: this and every later device
    Portable,
    /// `sm_90a`: this device only
    Specific,
    /// `sm_100f`: devices of this family from this one on
    Family,
}

/// A target architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Architecture {
    /// Compute capability times ten: 90 for 9.0.
    pub sm: u32,
    /// Which other devices it is for.
    pub variant: Variant,
}

impl Architecture {
    /// The target without suffix.
    pub const fn portable(sm: u32) -> Self {
        Self { sm, variant: Variant::Portable }
    }

    /// Whether PTX for this target runs on a device of compute capability `device` (times ten).
    pub fn runs_on(self, device: u32) -> bool {
        match self.variant {
            Variant::Portable => self.sm <= device,
            Variant::Specific => self.sm == device,
            // A family shares the major capability: sm_100f runs on sm_103, not on sm_120.
            Variant::Family => self.sm <= device && self.sm / 10 == device / 10,
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.variant {
            Variant::Portable => "",
            Variant::Specific => "a",
            Variant::Family => "f",
        };
        write!(f, "sm_{}{suffix}", self.sm)
    }
}

/// The text is no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a target architecture")]
pub struct UnknownArchitecture;

impl FromStr for Architecture {
    type Err = UnknownArchitecture;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rest = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")).ok_or(UnknownArchitecture)?;
        let (digits, variant) = match rest.as_bytes().last() {
            Some(b'a') => (&rest[..rest.len() - 1], Variant::Specific),
            Some(b'f') => (&rest[..rest.len() - 1], Variant::Family),
            _ => (rest, Variant::Portable),
        };
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(UnknownArchitecture);
        }
        let sm = digits.parse().map_err(|_| UnknownArchitecture)?;
        Ok(Self { sm, variant })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_run_where_the_manual_says() {
        let runs = |text: &str, device| text.parse::<Architecture>().map(|target| target.runs_on(device));
        assert_eq!(runs("sm_52", 90), Ok(true));
        assert_eq!(runs("compute_52", 90), Ok(true));
        assert_eq!(runs("sm_100", 90), Ok(false));
        assert_eq!(runs("sm_90a", 90), Ok(true));
        assert_eq!(runs("sm_90a", 100), Ok(false));
        assert_eq!(runs("sm_100f", 103), Ok(true));
        assert_eq!(runs("sm_100f", 120), Ok(false));
        for wrong in ["sm_", "sm_x", "90", "sm_90b", "sm_a", "sm_+90"] {
            assert!(wrong.parse::<Architecture>().is_err(), "{wrong}");
        }
        assert_eq!("sm_100f".parse::<Architecture>().map(|target| target.to_string()), Ok("sm_100f".to_owned()));
    }
}
