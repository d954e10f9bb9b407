//! Reads an instruction's name, `op.mod.mod.type`.

use warploom_numerics::Rounding;

/// An instruction of the recording.
pub(crate) struct Name<'a> {
    pub(crate) parts: Vec<&'a str>,
}

impl<'a> Name<'a> {
    /// The name up to its first blank.
    pub(crate) fn of(text: &'a str) -> Self {
        Self { parts: text.split(' ').next().unwrap_or_default().split('.').collect() }
    }

    pub(crate) fn op(&self) -> &'a str {
        self.parts[0]
    }

    pub(crate) fn has(&self, modifier: &str) -> bool {
        self.parts.contains(&modifier)
    }

    /// The last part.
    pub(crate) fn ty(&self) -> &'a str {
        self.parts[self.parts.len() - 1]
    }

    /// The last but one, the destination of conversions.
    pub(crate) fn destination(&self) -> &'a str {
        self.parts[self.parts.len() - 2]
    }

    pub(crate) fn rounding(&self) -> Rounding {
        self.parts
            .iter()
            .find_map(|part| match *part {
                "rn" | "rni" => Some(Rounding::Nearest),
                "rz" | "rzi" => Some(Rounding::Zero),
                "rm" | "rmi" => Some(Rounding::Down),
                "rp" | "rpi" => Some(Rounding::Up),
                "rna" => Some(Rounding::Away),
                _ => None,
            })
            .unwrap_or(Rounding::Nearest)
    }
}
