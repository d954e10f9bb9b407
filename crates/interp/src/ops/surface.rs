//! Surface instructions (PTX ISA 9.7.11), lane by lane: each lane may name a surface of its own.

use std::sync::Arc;

use warploom_exec::fault::{AccessKind, FaultKind};
use warploom_exec::memory::{AtomicOp as HostOp, Order};
use warploom_exec::texture::{Channel, Place, Texels};
use warploom_numerics::Rounding;
use warploom_numerics::format::{F16, narrow};
use warploom_numerics::texture::{signed_channel, unsigned_channel};
use warploom_ptx::ir::{AtomicOp, ScalarType, SurfaceClamp};

use crate::machine::{Flow, Machine, lanes};
use crate::memory::{Slot, StateSpace};
use crate::ops::texture::{Object, no_object};
use crate::program::Inst;

/// A `suld`, `sust` or `sured` instruction.
#[derive(Clone, Debug)]
pub(crate) struct SurfaceSite {
    pub(crate) surface: Object,
    /// The row of the layer's number; faces of cubes are layers.
    pub(crate) layer: Option<u32>,
    pub(crate) coordinates: Vec<u32>,
    pub(crate) clamp: SurfaceClamp,
    /// Whether the first coordinate counts what is accessed, and the texels' format decides what becomes of elements; or it counts bytes.
    pub(crate) formatted: bool,
    /// Bytes of one element.
    pub(crate) size: u32,
    pub(crate) slots: Vec<Slot>,
    /// What `sured` does with the texel and the element.
    pub(crate) reduction: Option<(AtomicOp, ScalarType)>,
}

impl SurfaceSite {
    /// Bytes of the whole access of one thread to elements that are bytes.
    pub(crate) fn bytes(&self) -> u32 {
        self.size * self.slots.len() as u32
    }

    /// Bytes that one thread accesses of a surface whose texels have so many. Reductions are of words, as an H200 has it, whatever texels are.
    fn accessed(&self, texel: u64) -> u64 {
        if self.formatted && self.reduction.is_none() { texel } else { u64::from(self.bytes()) }
    }
}

/// Runs the `suld.b` of site `imm`.
pub(crate) fn load(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.surfaces[inst.imm as usize];
    for lane in lanes(mask) {
        let loaded = machine.surface_place(site, lane, AccessKind::Load).and_then(|place| match place {
            Some((address, _)) => {
                machine.tell_surface(AccessKind::Load, address, site.bytes(), site.slots.len(), lane);
                machine.load(StateSpace::Global, address, site.bytes(), lane)
            }
            None => Ok(0),
        });
        let mut value = match loaded {
            Ok(value) => value,
            Err(kind) => return machine.fail(1 << lane, kind),
        };
        for slot in &site.slots {
            machine.set_lane(*slot, lane, value & low(site.size));
            value = value.checked_shr(8 * site.size).unwrap_or(0);
        }
    }
    Flow::Next
}

/// Runs the `sust.b` or `sust.p` of site `imm`.
pub(crate) fn store(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    machine.stores += 1;
    let function = machine.function;
    let site = &function.surfaces[inst.imm as usize];
    for lane in lanes(mask) {
        let place = match machine.surface_place(site, lane, AccessKind::Store) {
            Ok(Some(place)) => place,
            Ok(None) => continue,
            Err(kind) => return machine.fail(1 << lane, kind),
        };
        let (address, surface) = place;
        let (value, bytes) = if site.formatted {
            let mut channels = [0; 4];
            for (channel, slot) in channels.iter_mut().zip(&site.slots) {
                *channel = machine.lane(*slot, lane) as u32;
            }
            (formatted(&surface, channels), surface.element_bytes() as u32)
        } else {
            let elements = site.slots.iter().enumerate();
            let value = elements.fold(0, |value, (index, slot)| {
                value | (machine.lane(*slot, lane) & low(site.size)) << (8 * site.size * index as u32)
            });
            (value, site.bytes())
        };
        let elements = if site.formatted { surface.channels as usize } else { site.slots.len() };
        machine.tell_surface(AccessKind::Store, address, bytes, elements, lane);
        if let Err(kind) = machine.store(StateSpace::Global, address, bytes, lane, value) {
            return machine.fail(1 << lane, kind);
        }
    }
    Flow::Next
}

/// Runs the `sured` of site `imm`.
pub(crate) fn reduce(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    machine.stores += 1;
    let function = machine.function;
    let site = &function.surfaces[inst.imm as usize];
    let (Some((op, ty)), [slot]) = (site.reduction, site.slots.as_slice()) else { return Flow::Next };
    for lane in lanes(mask) {
        let operand = machine.lane(*slot, lane) as u64;
        let reduced = machine.surface_place(site, lane, AccessKind::Atomic).and_then(|place| {
            let Some((address, surface)) = place else { return Ok(()) };
            // Texels say themselves whether they have a sign.
            let signed = if site.formatted {
                matches!(surface.channel, Channel::S8 | Channel::S16 | Channel::S32)
            } else {
                ty.is_signed()
            };
            let Some(op) = host(op, signed) else { return Ok(()) };
            machine.tell_surface(AccessKind::Atomic, address, site.size, 0, lane);
            let view = &mut machine.view;
            let old = match site.size {
                8 => view.atomic_u64(inst.imm, address, op, operand, Order::Relaxed).map(|_| ()),
                _ => view.atomic_u32(inst.imm, address, op, operand as u32, Order::Relaxed).map(|_| ()),
            };
            old.map_err(|fault| FaultKind::Access(*fault))
        });
        if let Err(kind) = reduced {
            return machine.fail(1 << lane, kind);
        }
    }
    Flow::Next
}

/// The reductions of surfaces (PTX ISA 9.7.11.3).
fn host(op: AtomicOp, signed: bool) -> Option<HostOp> {
    Some(match (op, signed) {
        (AtomicOp::Add, _) => HostOp::Add,
        (AtomicOp::Min, false) => HostOp::MinU,
        (AtomicOp::Min, true) => HostOp::MinS,
        (AtomicOp::Max, false) => HostOp::MaxU,
        (AtomicOp::Max, true) => HostOp::MaxS,
        (AtomicOp::And, _) => HostOp::And,
        (AtomicOp::Or, _) => HostOp::Or,
        _ => return None,
    })
}

/// The bytes of a texel for the words that `sust.p` has for its channels (PTX ISA 9.7.11.2): whole numbers and floats that do not fit become the
/// nearest that do. Of floats, formats of fractions make channels, and halves lose bits.
fn formatted(surface: &Texels, channels: [u32; 4]) -> u128 {
    if surface.channel == Channel::Packed {
        let [x, y, z, w] = channels.map(f32::from_bits);
        let [x, y, z] = [x, y, z].map(|value| unsigned_channel(value, 10));
        return u128::from(x | y << 10 | z << 20 | unsigned_channel(w, 2) << 30);
    }
    let bits = 8 * surface.channel.bytes() as u32;
    let signed = |word: u32| (word as i32).clamp(-1 << (bits - 1), (1 << (bits - 1)) - 1) as u32;
    let channel = |word: u32| match surface.channel {
        Channel::U8 | Channel::U16 if surface.fractions => unsigned_channel(f32::from_bits(word), bits),
        Channel::S8 | Channel::S16 if surface.fractions => signed_channel(f32::from_bits(word), bits) as u32,
        Channel::U8 | Channel::U16 => word.min((1 << bits) - 1),
        Channel::S8 | Channel::S16 => signed(word),
        // A NaN stays one.
        Channel::F16 if f32::from_bits(word).is_nan() => word >> 16 & 0x8000 | 0x7c00 | (word >> 13 & 0x3ff).max(1),
        Channel::F16 => narrow::<F16>(f64::from(f32::from_bits(word)), Rounding::Zero, false),
        Channel::U32 | Channel::S32 | Channel::F32 | Channel::Packed => word,
    };
    let used = channels.iter().take(surface.channels as usize).enumerate();
    used.fold(0, |value, (index, &word)| {
        value | u128::from(channel(word) & (u32::MAX >> (32 - bits))) << (bits * index as u32)
    })
}

/// The bits of the low `bytes`.
fn low(bytes: u32) -> u128 {
    u128::MAX >> (128 - 8 * bytes)
}

impl Machine<'_> {
    /// The address that one lane accesses, and the surface; None where nothing is accessed.
    fn surface_place(
        &mut self,
        site: &SurfaceSite,
        lane: usize,
        kind: AccessKind,
    ) -> Result<Option<(u64, Arc<Texels>)>, FaultKind> {
        let handle = self.handle(site.surface, lane)?;
        let surface = self.grid.launch.objects.surface(handle);
        let surface = surface.ok_or_else(|| no_object("surface", handle))?;
        let texel = surface.element_bytes();
        let bytes = site.accessed(texel) as i64;
        // What a row has no whole access for is not accessed.
        let limits = [
            i64::from(surface.size[0]) * texel as i64 / bytes - 1,
            i64::from(surface.size[1]) - 1,
            i64::from(surface.size[2]) - 1,
        ];
        let mut at = [0; 3];
        let dimensions = site.coordinates.iter().enumerate();
        for (index, &row) in dimensions.chain(site.layer.as_ref().map(|row| (2, row))) {
            let word = self.frame.r32[row as usize][lane];
            // The number of a layer has 16 bits and no sign.
            let is_layer = index == 2 && site.layer.is_some();
            let given = if is_layer { i64::from(word & 0xffff) } else { i64::from(word as i32) };
            let coordinate = match index {
                0 if site.formatted => given,
                // Inside or not.
                0 if given % bytes != 0 => {
                    return Err(FaultKind::MisalignedInSurface { coordinate: given, size: bytes as u64, kind });
                }
                0 => given / bytes,
                _ => given,
            };
            at[index] = match site.clamp {
                _ if (0..=limits[index]).contains(&coordinate) => coordinate,
                SurfaceClamp::Clamp if limits[index] >= 0 => coordinate.clamp(0, limits[index]),
                SurfaceClamp::Clamp | SurfaceClamp::Zero => return Ok(None),
                SurfaceClamp::Trap => {
                    let dimension = if is_layer { "layer" } else { ["x", "y", "z"][index] };
                    return Err(FaultKind::OutsideSurface { dimension, coordinate: given, size: bytes as u64, kind });
                }
            };
        }
        let [x, y, z] = at.map(|coordinate| coordinate as u64);
        match surface.place([x * bytes as u64, y, z]) {
            Place::At(address) => Ok(Some((address, surface))),
            Place::Nowhere => Ok(None),
            Place::Missing => Err(FaultKind::UnmappedArray { kind }),
        }
    }
}
