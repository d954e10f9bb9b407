//! Texture and surface instructions (PTX ISA 9.7.10, 9.7.11), lane by lane: each lane may name a texture of its own.
//!
//! What coordinates and channels mean is in `numerics::texture`; which texture a handle names is asked of the context's objects.

use std::sync::Arc;

use warploom_exec::fault::{AccessKind, FaultKind};
use warploom_exec::texture::{AddressMode, Channel, Sampler, Texels, Texture};
use warploom_numerics::Rounding;
use warploom_numerics::format::{F16, narrow, widen};
use warploom_numerics::texture::{
    Axis, CUBE_FACES, Outside, blend, blend_square, cube_face, from_srgb, signed_fraction, unsigned_fraction,
};
use warploom_ptx::ir::SurfaceClamp;

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

/// A `suld` or `sust` instruction. The first coordinate counts bytes.
#[derive(Clone, Debug)]
pub(crate) struct SurfaceSite {
    pub(crate) surface: Object,
    /// The row of the layer's number; faces of cubes are layers.
    pub(crate) layer: Option<u32>,
    pub(crate) coordinates: Vec<u32>,
    pub(crate) clamp: SurfaceClamp,
    /// Bytes of one element.
    pub(crate) size: u32,
    pub(crate) slots: Vec<Slot>,
}

impl SurfaceSite {
    /// Bytes of the whole access of one thread.
    pub(crate) fn bytes(&self) -> u32 {
        self.size * self.slots.len() as u32
    }
}

/// Runs the `tex` or `tld4` of site `imm`.
pub(crate) fn sample(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.textures[inst.imm as usize];
    let mut known: Option<(u64, Arc<Texture>)> = None;
    for lane in lanes(mask) {
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

/// Runs the `txq` or `suq` of query `imm`: row `d`.
pub(crate) fn query(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let (extent, object) = machine.function.queries[inst.imm as usize];
    for lane in lanes(mask) {
        let size = machine.handle(object, lane).and_then(|handle| {
            // Both instructions take handles of both kinds.
            let objects = &machine.grid.launch.objects;
            let surface = || objects.surface(handle).map(|texels| *texels);
            let texels = objects.texture(handle).map(|texture| texture.texels).or_else(surface);
            texels.map(extents).ok_or_else(|| no_object("texture or surface", handle))
        });
        match (size, extent) {
            (Ok([width, ..]), Extent::Width) => machine.frame.r32[inst.d as usize][lane] = width,
            (Ok([_, height, _]), Extent::Height) => machine.frame.r32[inst.d as usize][lane] = height,
            (Ok([.., depth]), Extent::Depth) => machine.frame.r32[inst.d as usize][lane] = depth,
            (Err(kind), _) => return machine.fail(1 << lane, kind),
        }
    }
    Flow::Next
}

/// Runs the `suld.b` of site `imm`.
pub(crate) fn load(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.surfaces[inst.imm as usize];
    for lane in lanes(mask) {
        let loaded = machine.surface_place(site, lane, AccessKind::Load).and_then(|place| match place {
            Some(address) => machine.load(StateSpace::Global, address, site.bytes(), lane),
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

/// Runs the `sust.b` of site `imm`.
pub(crate) fn store(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    machine.stores += 1;
    let function = machine.function;
    let site = &function.surfaces[inst.imm as usize];
    for lane in lanes(mask) {
        let mut value = 0;
        for (index, slot) in site.slots.iter().enumerate() {
            value |= (machine.lane(*slot, lane) & low(site.size)) << (8 * site.size * index as u32);
        }
        let stored = machine.surface_place(site, lane, AccessKind::Store).and_then(|place| match place {
            Some(address) => machine.store(StateSpace::Global, address, site.bytes(), lane, value),
            None => Ok(()),
        });
        if let Err(kind) = stored {
            return machine.fail(1 << lane, kind);
        }
    }
    Flow::Next
}

/// Width, height and depth as queries tell them: what is flat has no depth.
fn extents(texels: Texels) -> [u32; 3] {
    let [width, height, depth] = texels.size;
    [width, height, if texels.dimensions < 3 { 0 } else { depth }]
}

/// The bits of the low `bytes`.
fn low(bytes: u32) -> u128 {
    u128::MAX >> (128 - 8 * bytes)
}

fn no_object(kind: &'static str, handle: u64) -> FaultKind {
    FaultKind::NoObject { kind, handle }
}

impl Machine<'_> {
    fn handle(&mut self, object: Object, lane: usize) -> Result<u64, FaultKind> {
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

    /// What one lane reads from a texture.
    fn sampled(&mut self, texture: &Texture, site: &TextureSite, lane: usize) -> Result<[u32; 4], FaultKind> {
        let layer = site.layer.map(|row| self.frame.r32[row as usize][lane]);
        let layers = if texture.texels.layered { texture.texels.size[2] } else { 1 };
        // Past the last layer is the last (CUDA programming guide, "Layered Textures").
        let mut texel = [Some(0), Some(0), Some(layer.map_or(0, |layer| layer.min(layers - 1)))];
        match &site.coordinates {
            Coordinates::Direction(rows) => {
                let direction = rows.map(|row| f32::from_bits(self.frame.r32[row as usize][lane]));
                let (face, at) = cube_face(direction);
                let cube = layer.map_or(0, |layer| layer.min((layers / CUBE_FACES).saturating_sub(1)));
                let slice = Some((cube * CUBE_FACES + face).min(texture.texels.size[2] - 1));
                return self.sampled_at(texture, site.gather, &at, slice);
            }
            // Texels are named without the sampler: outside there is nothing, whatever the address mode.
            Coordinates::Integer(rows) => {
                for (index, &row) in rows.iter().enumerate() {
                    let coordinate = self.frame.r32[row as usize][lane];
                    if coordinate >= texture.texels.size[index] {
                        return Ok([0; 4]);
                    }
                    texel[index] = Some(coordinate);
                }
            }
            Coordinates::Float(rows) => {
                let mut at = [0.0; 3];
                for (at, &row) in at.iter_mut().zip(rows) {
                    *at = f32::from_bits(self.frame.r32[row as usize][lane]);
                }
                return self.sampled_at(texture, site.gather, &at[..rows.len()], texel[2]);
            }
        }
        self.texel(texture, texel)
    }

    /// What is read at coordinates of one to three dimensions, as the sampler says; of fewer than three, in a slice.
    fn sampled_at(
        &mut self,
        texture: &Texture,
        gather: Option<u8>,
        at: &[f32],
        slice: Option<u32>,
    ) -> Result<[u32; 4], FaultKind> {
        let axis = |index: usize| Axis {
            size: texture.texels.size[index],
            outside: match texture.sampler.address[index] {
                AddressMode::Wrap => Outside::Wrap,
                AddressMode::Clamp => Outside::Clamp,
                AddressMode::Mirror => Outside::Mirror,
                AddressMode::Border => Outside::Border,
            },
            normalized: texture.sampler.normalized,
        };
        if let Some(channel) = gather {
            let (x, _) = axis(0).between(at[0]);
            let (y, _) = at.get(1).map_or(([Some(0); 2], 0), |&y| axis(1).between(y));
            // Counter-clockwise from the lower left (PTX ISA 9.7.10.4).
            let mut gathered = [0; 4];
            let corners = [[x[0], y[1]], [x[1], y[1]], [x[1], y[0]], [x[0], y[0]]];
            for (out, [x, y]) in gathered.iter_mut().zip(corners) {
                *out = self.texel(texture, [x, y, slice])?[usize::from(channel & 3)];
            }
            return Ok(gathered);
        }
        if texture.sampler.linear && interpolates(texture) {
            let mut pairs = [([Some(0); 2], 0), ([Some(0); 2], 0), ([slice; 2], 0)];
            for (index, &coordinate) in at.iter().enumerate() {
                pairs[index] = axis(index).between(coordinate);
            }
            // One dimension is sampled as one row of two, at its edge: with a border in y, half of what comes out is border.
            let row = at.len() == 1 && texture.sampler.address[1] == AddressMode::Border;
            if row {
                pairs[1] = axis(1).between(0.0);
            }
            return self.interpolated(texture, &pairs, at.len() + usize::from(row));
        }
        let mut texel = [Some(0), Some(0), slice];
        for (index, &coordinate) in at.iter().enumerate() {
            texel[index] = axis(index).nearest(coordinate);
        }
        self.texel(texture, texel)
    }

    /// Blends the 2, 4 or 8 texels around a point: x, then y, then z.
    fn interpolated(
        &mut self,
        texture: &Texture,
        pairs: &[([Option<u32>; 2], u32); 3],
        dimensions: usize,
    ) -> Result<[u32; 4], FaultKind> {
        let mut corners = [[0.0f64; 4]; 8];
        let count = 1 << dimensions;
        for (corner, color) in corners[..count].iter_mut().enumerate() {
            let at = std::array::from_fn(|index| pairs[index].0[corner >> index & 1]);
            *color = self.texel(texture, at)?.map(|bits| f64::from(f32::from_bits(bits)));
        }
        let [(_, x), (_, y), (_, z)] = *pairs;
        let mut blended = [0; 4];
        for (channel, out) in blended.iter_mut().enumerate().take(texture.texels.channels as usize) {
            let at = |corner: usize| corners[corner][channel];
            let value = match dimensions {
                1 => blend(at(0), at(1), x),
                2 => blend_square([at(0), at(1), at(2), at(3)], x, y),
                _ => {
                    let edge = |first: usize| blend(at(first), at(first + 1), x);
                    let side = |first: usize| blend(edge(first), edge(first + 2), y);
                    blend(side(0), side(4), z)
                }
            };
            *out = (value as f32).to_bits();
        }
        Ok(blended)
    }

    /// The channels of one texel as bits of numbers or as integers, or the border where a coordinate has none.
    fn texel(&mut self, texture: &Texture, at: [Option<u32>; 3]) -> Result<[u32; 4], FaultKind> {
        let Texture { texels, sampler } = texture;
        let [Some(x), Some(y), Some(z)] = at else {
            let channel =
                |index: usize| if index < texels.channels as usize { sampler.border[index].to_bits() } else { 0 };
            return Ok(std::array::from_fn(channel));
        };
        let [x, y, z] = [x, y, z].map(u64::from);
        let bytes = texels.texel_bytes();
        let address = texels.address + x * bytes + y * texels.pitch + z * texels.slice;
        let value = self.load(StateSpace::Global, address, bytes as u32, 0)?;
        Ok(channels(value, texels, sampler))
    }

    /// The address that one lane of `suld` or `sust` accesses; `None` where nothing is accessed.
    fn surface_place(&mut self, site: &SurfaceSite, lane: usize, kind: AccessKind) -> Result<Option<u64>, FaultKind> {
        let handle = self.handle(site.surface, lane)?;
        let surface = self.grid.launch.objects.surface(handle);
        let surface = surface.ok_or_else(|| no_object("surface", handle))?;
        let bytes = i64::from(site.bytes());
        let limits = [
            i64::from(surface.size[0]) * surface.texel_bytes() as i64 - bytes,
            i64::from(surface.size[1]) - 1,
            i64::from(surface.size[2]) - 1,
        ];
        let mut at = [0; 3];
        let dimensions = site.coordinates.iter().enumerate();
        for (index, &row) in dimensions.chain(site.layer.as_ref().map(|row| (2, row))) {
            let coordinate = i64::from(self.frame.r32[row as usize][lane] as i32);
            at[index] = match site.clamp {
                _ if (0..=limits[index]).contains(&coordinate) => coordinate,
                SurfaceClamp::Clamp if limits[index] >= 0 => coordinate.clamp(0, limits[index]),
                SurfaceClamp::Zero => return Ok(None),
                _ => {
                    return Err(FaultKind::OutsideSurface {
                        dimension: if index == 2 && site.layer.is_some() { "layer" } else { ["x", "y", "z"][index] },
                        coordinate,
                        size: bytes as u64,
                        kind,
                    });
                }
            };
        }
        let [x, y, z] = at.map(|coordinate| coordinate as u64);
        Ok(Some(surface.address + x + y * surface.pitch + z * surface.slice))
    }
}

/// Whether channels are numbers that can be interpolated.
fn interpolates(texture: &Texture) -> bool {
    match texture.texels.channel {
        Channel::F16 | Channel::F32 => true,
        Channel::U8 | Channel::U16 | Channel::S8 | Channel::S16 => !texture.sampler.integers,
        Channel::U32 | Channel::S32 => false,
    }
}

/// The channels of a texel's bytes, as bits of `.f32` numbers or as integers; what it lacks is 0.
fn channels(value: u128, texels: &Texels, sampler: &Sampler) -> [u32; 4] {
    let bits = 8 * texels.channel.bytes() as u32;
    let raw: [u32; 4] = std::array::from_fn(|index| match index < texels.channels as usize {
        true => (value >> (bits * index as u32)) as u32 & (u32::MAX >> (32 - bits)),
        false => 0,
    });
    let signed = |channel: u32| (channel << (32 - bits)) as i32 >> (32 - bits);
    match texels.channel {
        Channel::F32 | Channel::U32 | Channel::S32 => raw,
        Channel::F16 => raw.map(|channel| widen::<F16>(channel).to_bits()),
        Channel::U8 | Channel::U16 if sampler.integers => raw,
        Channel::S8 | Channel::S16 if sampler.integers => raw.map(|channel| signed(channel) as u32),
        Channel::U8 if sampler.srgb => {
            let [r, g, b] = [raw[0], raw[1], raw[2]].map(|channel| from_srgb(channel as u8).to_bits());
            [r, g, b, unsigned_fraction(raw[3], bits).to_bits()]
        }
        Channel::U8 | Channel::U16 => raw.map(|channel| unsigned_fraction(channel, bits).to_bits()),
        Channel::S8 | Channel::S16 => raw.map(|channel| signed_fraction(signed(channel), bits).to_bits()),
    }
}
