//! Texture instructions (PTX ISA 9.7.10), lane by lane: each lane may name a texture of its own.
//!
//! What coordinates, weights and channels mean is in `numerics::texture`; which texture a handle names is asked of the context's objects.
//! What is read once the texture is known stands in `sampling`.

use std::sync::Arc;

use warploom_exec::fault::FaultKind;
use warploom_exec::texture::{Texels, Texture};
use warploom_numerics::Rounding;
use warploom_numerics::format::{F16, narrow};

use crate::isa::LaneOp;
use crate::machine::{Flow, Machine, lanes};
use crate::memory::{Slot, StateSpace};
use crate::program::Inst;

/// Where the handle of a texture or surface is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// In a 64-bit row.
    Row(u32),
    /// In the variable of a module's reference, at this address.
    Variable(u32, u64),
    /// At this offset of the kernel's parameters.
    Param(u32),
}

/// The rows of the coordinates, x first.
#[derive(Clone, Debug)]
pub(crate) enum Coordinates {
    /// As the sampler says, normalised or not.
    Float(Vec<u32>),
    /// Texels.
    Integer(Vec<u32>),
    /// From the middle of a cube to its surface.
    Direction([u32; 3]),
}

/// Which mip level is read.
#[derive(Clone, Debug)]
pub(crate) enum Level {
    /// The first one, as far as the sampler lets it.
    Base,
    /// That in this row: a number like the coordinates.
    Given(u32),
    /// What follows from how coordinates change along x and y of a screen: rows, as many as there are dimensions.
    Gradients([Vec<u32>; 2]),
}

/// How the four results fill registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Results {
    /// `.f32`, `.u32` and `.s32`: as they are.
    Words,
    /// `.f16`
    Halves,
    /// `.f16x2`: two to a register.
    Pairs,
}

/// A `tex` or `tld4` instruction.
#[derive(Clone, Debug)]
pub(crate) struct TextureSite {
    pub(crate) texture: Object,
    /// The row of the layer's number; of cubes, which of them.
    pub(crate) layer: Option<u32>,
    pub(crate) coordinates: Coordinates,
    pub(crate) level: Level,
    /// The rows of offsets in texels, x first, or none.
    pub(crate) offset: Vec<u32>,
    /// The channel that `tld4` gathers.
    pub(crate) gather: Option<u8>,
    pub(crate) results: Results,
    pub(crate) slots: Vec<Slot>,
}

/// What a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Width,
    Height,
    Depth,
}

/// A `txq` or `suq` instruction.
#[derive(Clone, Debug)]
pub(crate) struct QuerySite {
    pub(crate) extent: Extent,
    pub(crate) object: Object,
    /// The row of the mip level's number.
    pub(crate) level: Option<u32>,
}

/// `tex` or `tld4`, of site `imm`.
pub(crate) struct Sample;

impl LaneOp for Sample {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let function = machine.function;
        let site = &function.textures[inst.imm as usize];
        if machine.cta.observer.is_none()
            && let Some(flow) = machine.plane(site, mask)
        {
            return flow;
        }
        sample_each(machine, site, mask)
    }
}

/// Runs `tex` or `tld4` lane by lane.
#[inline(never)]
fn sample_each(machine: &mut Machine<'_>, site: &TextureSite, mask: u32) -> Flow {
    let mut known: Option<(u64, Arc<Texture>)> = None;
    for lane in lanes(mask) {
        machine.sample_for(lane);
        let sampled = machine.handle(site.texture, lane).and_then(|handle| {
            let texture = match known.take() {
                Some((same, texture)) if same == handle => texture,
                _ => machine.texture(handle)?,
            };
            let sampled = machine.sampled(&texture, site, lane);
            known = Some((handle, texture));
            sampled
        });
        let words = match sampled {
            Ok(words) => words,
            Err(kind) => return machine.fail(1 << lane, kind),
        };
        let halves = || words.map(|word| narrow::<F16>(f64::from(f32::from_bits(word)), Rounding::Nearest, false));
        let words = match site.results {
            Results::Words => words,
            Results::Halves => halves(),
            Results::Pairs => {
                let [a, b, c, d] = halves();
                [a | b << 16, c | d << 16, 0, 0]
            }
        };
        for (slot, word) in site.slots.iter().zip(words) {
            machine.set_lane(*slot, lane, u128::from(word));
        }
    }
    Flow::Next
}

/// Runs the `txq` or `suq` of query `imm`: row `d`. Both take handles of both kinds, which tell different things.
pub(crate) fn query(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.queries[inst.imm as usize];
    for lane in lanes(mask) {
        let level = site.level.map_or(0, |row| machine.frame.r32[row as usize][lane] as usize);
        let extents = machine.handle(site.object, lane).and_then(|handle| {
            let objects = &machine.grid.launch.objects;
            if let Some(texture) = objects.texture(handle) {
                return Ok(texture.levels.get(level).map_or([0; 3], texture_extents));
            }
            let surface = objects.surface(handle).ok_or_else(|| no_object("texture or surface", handle))?;
            Ok(surface_extents(&surface))
        });
        match extents {
            Ok([width, height, depth]) => {
                machine.frame.r32[inst.d as usize][lane] = match site.extent {
                    Extent::Width => width,
                    Extent::Height => height,
                    Extent::Depth => depth,
                }
            }
            Err(kind) => return machine.fail(1 << lane, kind),
        }
    }
    Flow::Next
}

/// Runs the `istypep` of kind `imm`: predicate `d` where row `a` is an address in a variable of that kind.
pub(crate) fn is_type(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let variables = &function.kinds[inst.imm as usize];
    let mut bits = 0;
    for lane in lanes(mask) {
        let address = machine.frame.r64[inst.a as usize][lane];
        let inside = |&(number, bytes): &(u32, u64)| address.wrapping_sub(machine.variable(number)) < bytes;
        bits |= u32::from(variables.iter().any(inside)) << lane;
    }
    machine.put_predicate(inst.d, mask, bits);
    Flow::Next
}

/// Width, height and depth as `txq` tells them, recorded: layers are the dimension behind the last one, and the faces of a cube none.
/// Plain memory of one dimension has no height, an array of one dimension has 1.
fn texture_extents(texels: &Texels) -> [u32; 3] {
    let [width, height, depth] = texels.size;
    if texels.linear {
        return [width, 0, 0];
    }
    match (texels.dimensions, texels.layered, texels.cube) {
        (1, true, _) => [width, depth, 0],
        (_, true, true) => [width, height, texels.layers()],
        (_, false, true) | (1 | 2, false, false) => [width, height, 0],
        _ => [width, height, depth],
    }
}

/// Width, height and depth as `suq` tells them, recorded: one dimension has no height.
fn surface_extents(texels: &Texels) -> [u32; 3] {
    let [width, height, depth] = texels.size;
    match (texels.dimensions, texels.layered || texels.cube) {
        (1, true) => [width, depth, 0],
        (1, false) => [width, 0, 0],
        (2, false) => [width, height, 0],
        _ => [width, height, depth],
    }
}

pub(crate) fn no_object(kind: &'static str, handle: u64) -> FaultKind {
    FaultKind::NoObject { kind, handle }
}

impl Machine<'_> {
    pub(crate) fn handle(&mut self, object: Object, lane: usize) -> Result<u64, FaultKind> {
        match object {
            Object::Row(row) => Ok(self.frame.r64[row as usize][lane]),
            Object::Variable(number, offset) => {
                let address = self.variable(number).wrapping_add(offset);
                self.load(StateSpace::Global, address, 8, lane).map(|handle| handle as u64)
            }
            Object::Param(offset) => {
                self.load(StateSpace::Param, u64::from(offset), 8, lane).map(|handle| handle as u64)
            }
        }
    }

    fn texture(&self, handle: u64) -> Result<Arc<Texture>, FaultKind> {
        self.grid.launch.objects.texture(handle).ok_or_else(|| no_object("texture", handle))
    }
}

/// The handle that all lanes of `mask` have, if it is one; there are handles of as many lanes as there are.
#[inline(always)]
pub(super) fn handle_of_all(handles: &[u64], mask: u32) -> Option<u64> {
    let handle = *handles.get(mask.trailing_zeros() as usize)?;
    // Mostly lanes that do not run have it as well.
    let others = handles.iter().fold(0, |others, other| others | (other ^ handle));
    if others != 0 && lanes(mask).any(|lane| handles[lane] != handle) {
        return None;
    }
    Some(handle)
}
