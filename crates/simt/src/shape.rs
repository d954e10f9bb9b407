//! How a value differs between the lanes of a gang.

use crate::affine::Affine;
use crate::reason::Reason;

/// Threads for which a value is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// All of a CTA: a barrier may stand under a branch on it.
    Cta,
    /// All of a gang: a branch on it is taken by all lanes together.
    Gang,
}

/// How a value differs between lanes, wherever it is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Nothing is known yet, or the value is never written.
    Unwritten,
    /// All lanes have the same.
    Uniform(Extent),
    /// Lanes differ by a known pattern.
    Affine(Affine),
    /// Lanes differ.
    Varying(Reason),
}

impl Shape {
    /// Whether all lanes of a gang have the same.
    pub fn is_uniform(&self) -> bool {
        matches!(self, Shape::Uniform(_) | Shape::Unwritten)
    }

    /// Whether all threads of a CTA have the same.
    pub fn is_cta_uniform(&self) -> bool {
        matches!(self, Shape::Uniform(Extent::Cta) | Shape::Unwritten)
    }

    /// The shape of a pattern that may be none. One that may fail to hold is a pattern in any case, as long as lanes may differ.
    pub(crate) fn of(affine: Affine) -> Shape {
        if affine.is_uniform() && affine.told_by.is_empty() {
            Shape::Uniform(Extent::Gang)
        } else {
            Shape::Affine(affine)
        }
    }

    /// What holds for a value that is written in two places, one of which all lanes take.
    pub(crate) fn join(&self, other: &Shape, width: usize) -> Shape {
        match (self, other) {
            (Shape::Unwritten, other) | (other, Shape::Unwritten) => other.clone(),
            (Shape::Varying(reason), _) | (_, Shape::Varying(reason)) => Shape::Varying(*reason),
            (Shape::Uniform(a), Shape::Uniform(b)) => Shape::Uniform(*a.max(b)),
            (a, b) => {
                let joined = a.as_affine(width).zip(b.as_affine(width)).and_then(|(a, b)| a.join(&b));
                joined.map_or(Shape::Varying(Reason::Writes), Shape::Affine)
            }
        }
    }

    /// As a pattern, if it is one; of something uniform the pattern is 0.
    pub(crate) fn as_affine(&self, width: usize) -> Option<Affine> {
        match self {
            Shape::Uniform(_) | Shape::Unwritten => Some(Affine::new(crate::lanes::Lanes::zero(width), 0)),
            Shape::Affine(affine) => Some(affine.clone()),
            Shape::Varying(_) => None,
        }
    }
}
