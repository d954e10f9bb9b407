//! mbarrier objects (PTX ISA 9.7.13.15): made once, used while they are valid.

use std::collections::BTreeMap;

use warploom_exec::address::SHARED_PER_CTA;
use warploom_exec::observe::{At, MbarrierOp};

use super::Finding;

/// Bytes of an object.
const SIZE: u32 = 8;
/// The largest count (PTX ISA 9.7.13.15.2).
const MOST: u32 = (1 << 20) - 1;

#[derive(Clone, Copy)]
struct Object {
    valid: bool,
    /// Where it was made, or made invalid.
    at: At,
}

/// Those of a CTA, by `.shared` address.
#[derive(Default)]
pub(super) struct Objects {
    objects: BTreeMap<u32, Object>,
}

impl Objects {
    pub(super) fn any(&self) -> bool {
        !self.objects.is_empty()
    }

    /// The valid object that a range of bytes reaches into, and where it was made.
    pub(super) fn at(&self, address: u64, bytes: u64) -> Option<(u32, At)> {
        let end = u32::try_from(address + bytes).ok()?;
        let (&start, object) = self.objects.range(..end).next_back()?;
        (object.valid && u64::from(start + SIZE) > address).then_some((start, object.at))
    }

    /// An operation of one lane on the object at an address.
    pub(super) fn operate(&mut self, at: &At, address: u32, op: &MbarrierOp<'_>, lane: usize) -> Option<Finding> {
        let known = self.objects.get(&address).copied();
        let name = u64::from(address) % SHARED_PER_CTA;
        match *op {
            MbarrierOp::Init { count } => {
                self.objects.insert(address, Object { valid: true, at: *at });
                let count = count[lane];
                if count == 0 || count > MOST {
                    let text = format!("mbarrier object at {name:#x} for {count} arrivals: 1 to {MOST} can be counted");
                    return Some(Finding::new("mbarrier", at, text));
                }
                let before = known.filter(|object| object.valid)?;
                let text = format!("mbarrier.init of the object at {name:#x} of shared memory, which is in use");
                Some(Finding::new("mbarrier", at, text).with(before.at, "it was made here"))
            }
            MbarrierOp::Inval => {
                self.objects.insert(address, Object { valid: false, at: *at });
                Self::unusable(at, name, known)
            }
            _ => Self::unusable(at, name, known),
        }
    }

    fn unusable(at: &At, name: u64, known: Option<Object>) -> Option<Finding> {
        match known {
            Some(Object { valid: true, .. }) => None,
            Some(object) => {
                let text = format!("use of the mbarrier object at {name:#x} of shared memory, which is no more");
                Some(Finding::new("mbarrier", at, text).with(object.at, "it was made invalid here"))
            }
            None => {
                let text = format!("use of an mbarrier object at {name:#x} of shared memory, where none was made");
                Some(Finding::new("mbarrier", at, text))
            }
        }
    }
}
