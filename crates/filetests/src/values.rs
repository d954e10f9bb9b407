//! Typed elements of buffers and parameters: how the files write them, and when two are equal.
use std::fmt;

use crate::format::FormatError;

/// The type of a buffer's elements or of a value parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// Unsigned or untyped bits of 1, 2, 4 or 8 bytes (`u8` ... `u64`, `b8` ... `b64`); `b` types print in hexadecimal.
    Unsigned {
        /// Width.
        bytes: usize,
        /// Printed in hexadecimal.
        hex: bool,
    },
    /// Two's complement of 1, 2, 4 or 8 bytes.
    Signed {
        /// Width.
        bytes: usize,
    },
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

/// One element: its bits, or any NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// These bits, in the low bytes.
    Bits(u64),
    /// Any NaN: PTX leaves the payload open.
    AnyNan,
    /// A number that differs from that of these bits by no more than `error` (bits of an `f64`): the result of an approximate
    /// function, whose documented error differs from device to device.
    Near {
        /// The exact value, in the type of the element.
        bits: u64,
        /// The largest distance from it.
        error: u64,
    },
}

impl ElementType {
    /// The type that files call `name`.
    pub fn named(name: &str) -> Option<ElementType> {
        let (kind, width) = name.split_at_checked(1)?;
        let bytes = match width {
            "8" => 1,
            "16" => 2,
            "32" => 4,
            "64" => 8,
            _ => return None,
        };
        match (kind, bytes) {
            ("u", _) => Some(ElementType::Unsigned { bytes, hex: false }),
            ("b", _) => Some(ElementType::Unsigned { bytes, hex: true }),
            ("s", _) => Some(ElementType::Signed { bytes }),
            ("f", 4) => Some(ElementType::F32),
            ("f", 8) => Some(ElementType::F64),
            _ => None,
        }
    }

    /// Size in bytes.
    pub fn size(self) -> usize {
        match self {
            ElementType::Unsigned { bytes, .. } | ElementType::Signed { bytes } => bytes,
            ElementType::F32 => 4,
            ElementType::F64 => 8,
        }
    }

    /// The element that `text` writes: a number, `0f`/`0d` bits, `inf`, `-inf`, `nan` (any NaN), a float and its error
    /// (`1.5~1e-7`).
    pub fn element(self, text: &str) -> Result<Element, FormatError> {
        let bad = || FormatError(format!("'{text}' is not an element of this type"));
        if let Some((exact, error)) = text.split_once('~') {
            let error: f64 = error.parse().map_err(|_| bad())?;
            return match (self, self.element(exact)?) {
                (ElementType::F32 | ElementType::F64, Element::Bits(bits)) => {
                    Ok(Element::Near { bits, error: error.to_bits() })
                }
                _ => Err(bad()),
            };
        }
        let bits = match self {
            ElementType::F32 if text == "nan" => return Ok(Element::AnyNan),
            ElementType::F64 if text == "nan" => return Ok(Element::AnyNan),
            ElementType::F32 => match text.strip_prefix("0f") {
                Some(hex) => u64::from(u32::from_str_radix(hex, 16).map_err(|_| bad())?),
                None => u64::from(text.parse::<f32>().map_err(|_| bad())?.to_bits()),
            },
            ElementType::F64 => match text.strip_prefix("0d") {
                Some(hex) => u64::from_str_radix(hex, 16).map_err(|_| bad())?,
                None => text.parse::<f64>().map_err(|_| bad())?.to_bits(),
            },
            ElementType::Unsigned { bytes, .. } | ElementType::Signed { bytes } => {
                let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
                let magnitude = match digits.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16),
                    None => digits.parse(),
                }
                .map_err(|_| bad())?;
                let bits = if negative { magnitude.wrapping_neg() } else { magnitude };
                let kept = bits & mask(bytes);
                let fits = if negative { magnitude <= (mask(bytes) >> 1) + 1 } else { kept == bits };
                if !fits {
                    return Err(bad());
                }
                kept
            }
        };
        Ok(Element::Bits(bits))
    }

    /// Whether `got` (bits as they stand in memory) is what `want` asks for.
    pub fn agrees(self, want: Element, got: u64) -> bool {
        match want {
            Element::Bits(bits) => bits == got,
            Element::AnyNan => match self {
                ElementType::F32 => f32::from_bits(got as u32).is_nan(),
                ElementType::F64 => f64::from_bits(got).is_nan(),
                _ => false,
            },
            Element::Near { bits, error } => {
                let distance = match self {
                    ElementType::F32 => f64::from(f32::from_bits(got as u32)) - f64::from(f32::from_bits(bits as u32)),
                    ElementType::F64 => f64::from_bits(got) - f64::from_bits(bits),
                    _ => return false,
                };
                distance.abs() <= f64::from_bits(error)
            }
        }
    }

    /// The way the files write an element.
    pub fn print_element(self, element: Element) -> String {
        match element {
            Element::Bits(bits) => self.print(bits),
            Element::AnyNan => "nan".to_owned(),
            Element::Near { bits, error } => format!("{}~{:e}", self.print(bits), f64::from_bits(error)),
        }
    }

    /// The way the files write the element with these bits.
    pub fn print(self, bits: u64) -> String {
        match self {
            ElementType::Unsigned { bytes, hex: true } => format!("{bits:#0width$x}", width = 2 + 2 * bytes),
            ElementType::Unsigned { .. } => bits.to_string(),
            ElementType::Signed { bytes } => {
                let shift = 64 - 8 * bytes;
                (((bits << shift) as i64) >> shift).to_string()
            }
            ElementType::F32 => float(f32::from_bits(bits as u32), || format!("0f{bits:08x}")),
            ElementType::F64 => float(f64::from_bits(bits), || format!("0d{bits:016x}")),
        }
    }

    /// Little-endian bytes of `element`; an unnamed NaN becomes the canonical one.
    pub fn bytes(self, element: Element) -> Vec<u8> {
        let bits = match (element, self) {
            (Element::Bits(bits) | Element::Near { bits, .. }, _) => bits,
            (Element::AnyNan, ElementType::F64) => f64::NAN.to_bits(),
            (Element::AnyNan, _) => u64::from(f32::NAN.to_bits()),
        };
        bits.to_le_bytes()[..self.size()].to_vec()
    }

    /// The bits of the elements in `bytes`.
    pub fn read(self, bytes: &[u8]) -> Vec<u64> {
        bytes
            .chunks_exact(self.size())
            .map(|chunk| chunk.iter().rev().fold(0, |bits, &byte| (bits << 8) | u64::from(byte)))
            .collect()
    }
}

fn mask(bytes: usize) -> u64 {
    u64::MAX >> (64 - 8 * bytes)
}

/// Short decimal where it reads back as the same number, else the bits.
fn float<F: fmt::Display + fmt::Debug + Copy + Into<f64>>(value: F, bits: impl Fn() -> String) -> String {
    let wide: f64 = value.into();
    let text = format!("{value:?}");
    if wide.is_nan() {
        "nan".to_owned()
    } else if text.len() <= 12 || wide.is_infinite() {
        text
    } else {
        bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_read_and_print() {
        for (name, text) in [("u32", "4294967295"), ("s16", "-32768"), ("b8", "0xff"), ("f32", "-1.5"), ("f64", "inf")]
        {
            let ty = ElementType::named(name).unwrap();
            let Element::Bits(bits) = ty.element(text).unwrap() else { panic!("{text} is a NaN") };
            assert_eq!(ty.print(bits), text);
        }
    }

    #[test]
    fn elements_out_of_range_are_refused() {
        for (name, text) in [("u8", "256"), ("s8", "-129"), ("u16", "x"), ("f32", "0fzz")] {
            assert!(ElementType::named(name).unwrap().element(text).is_err(), "{name} {text}");
        }
    }

    #[test]
    fn approximate_values_agree_within_their_error() {
        let near = ElementType::F32.element("-1.0~2.4e-7").unwrap();
        for (got, agrees) in
            [(-1.0, true), (-0.999_999_9_f32, true), (-0.999_999, false), (1.0, false), (f32::NAN, false)]
        {
            assert_eq!(ElementType::F32.agrees(near, got.to_bits().into()), agrees, "{got}");
        }
        assert_eq!(ElementType::F32.print_element(near), "-1.0~2.4e-7");
        assert!(ElementType::named("u32").unwrap().element("1~1").is_err());
    }

    #[test]
    fn any_nan_agrees_with_every_payload() {
        assert!(ElementType::F32.agrees(Element::AnyNan, 0x7f80_0001));
        assert!(!ElementType::F32.agrees(Element::AnyNan, 0x7f80_0000));
    }
}
