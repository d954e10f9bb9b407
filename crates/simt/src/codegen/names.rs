//! Types and constants in LLVM's text.

use warploom_ptx::ir::ScalarType;

/// A type of lanes, or of what they have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ty {
    pub(super) element: Element,
    /// 0 for a scalar.
    pub(super) lanes: u32,
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Int(u32),
    /// Only for the instructions of processors that compute in it.
    F16,
    F32,
    F64,
}

impl Element {
    /// As a register of a type holds it: bits.
    pub(super) fn bits_of(ty: ScalarType) -> Element {
        Element::Int(ty.bits())
    }

    /// As a floating-point instruction reads it.
    pub(super) fn float(ty: ScalarType) -> Option<Element> {
        match ty {
            ScalarType::F32 => Some(Element::F32),
            ScalarType::F64 => Some(Element::F64),
            _ => None,
        }
    }

    pub(super) fn bits(self) -> u32 {
        match self {
            Element::Int(bits) => bits,
            Element::F16 => 16,
            Element::F32 => 32,
            Element::F64 => 64,
        }
    }

    pub(super) fn text(self) -> String {
        match self {
            Element::Int(bits) => format!("i{bits}"),
            Element::F16 => "half".to_owned(),
            Element::F32 => "float".to_owned(),
            Element::F64 => "double".to_owned(),
        }
    }

    /// In names of intrinsics.
    fn suffix(self) -> String {
        match self {
            Element::Int(bits) => format!("i{bits}"),
            Element::F16 => "f16".to_owned(),
            Element::F32 => "f32".to_owned(),
            Element::F64 => "f64".to_owned(),
        }
    }
}

impl Ty {
    pub(super) fn scalar(element: Element) -> Ty {
        Ty { element, lanes: 0 }
    }

    pub(super) fn int(bits: u32, lanes: u32) -> Ty {
        Ty { element: Element::Int(bits), lanes }
    }

    pub(super) fn with(self, element: Element) -> Ty {
        Ty { element, ..self }
    }

    pub(super) fn text(self) -> String {
        match self.lanes {
            0 => self.element.text(),
            lanes => format!("<{lanes} x {}>", self.element.text()),
        }
    }

    pub(super) fn suffix(self) -> String {
        match self.lanes {
            0 => self.element.suffix(),
            lanes => format!("v{lanes}{}", self.element.suffix()),
        }
    }

    /// A constant, the same in all lanes.
    pub(super) fn constant(self, number: i64) -> String {
        let one = match self.element {
            Element::Int(1) => (if number & 1 != 0 { "true" } else { "false" }).to_owned(),
            Element::Int(64..) => number.to_string(),
            Element::Int(bits) => (number << (64 - bits) >> (64 - bits)).to_string(),
            Element::F16 => format!("0xH{:04X}", number as u16),
            Element::F32 => format!("0x{:016X}", f64::from(f32::from_bits(number as u32)).to_bits()),
            Element::F64 => format!("0x{:016X}", number),
        };
        match self.lanes {
            0 => one,
            _ => format!("splat ({} {one})", self.element.text()),
        }
    }

    /// A constant for each lane.
    pub(super) fn lanes(self, numbers: impl IntoIterator<Item = i64>) -> String {
        let scalar = Ty::scalar(self.element);
        let lanes = numbers.into_iter().map(|number| format!("{} {}", scalar.text(), scalar.constant(number)));
        format!("<{}>", lanes.collect::<Vec<_>>().join(", "))
    }
}
