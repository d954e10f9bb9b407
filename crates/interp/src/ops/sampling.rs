//! What one thread reads from a texture: which texels, and what becomes of them.

use warploom_exec::fault::{AccessKind, FaultKind};
use warploom_exec::texture::{AddressMode, Channel, Place as Memory, Sampler, Texels, Texture};
use warploom_numerics::Rounding;
use warploom_numerics::format::{F16, narrow, widen};
use warploom_numerics::texture::{
    Axis, CUBE_FACES, Footprint, LevelRange, Levels, Numbers, Outside, UNIT, across_edge, blend, border_channel,
    cube_face, cube_gradient, from_srgb, level_of_gradients, offset, share_corner, signed_fraction, split_slices,
    square_weights, srgb_term, stretched, to_srgb, unsigned_fraction,
};

use crate::machine::Machine;
use crate::memory::StateSpace;
use crate::ops::texture::{Coordinates, Level, TextureSite};

/// The most texels that one result comes from: eight of each of two mip levels.
const MOST: usize = 16;

/// Texels and their weights. Four belong to a slice, x first.
struct Taps {
    texels: [[u32; MOST]; 4],
    weights: [u32; MOST],
    count: usize,
    /// The place of a texel that does not exist: the corner of a cube.
    missing: Option<usize>,
}

impl Taps {
    fn new() -> Taps {
        Taps { texels: [[0; MOST]; 4], weights: [0; MOST], count: 0, missing: None }
    }

    fn push(&mut self, channels: [u32; 4], weight: u32) {
        for (texels, channel) in self.texels.iter_mut().zip(channels) {
            texels[self.count] = channel;
        }
        self.weights[self.count] = weight;
        self.count += 1;
    }

    /// Leaves places of no weight up to the next slice.
    fn end_slice(&mut self) {
        self.count = self.count.next_multiple_of(4);
    }
}

/// Where a thread reads, but for the mip level.
struct Place {
    /// Coordinates, as many as there are dimensions.
    at: [f32; 3],
    dimensions: usize,
    /// The slice of layers and faces; 0 for three dimensions.
    slice: u32,
    /// Added to texels.
    offset: [i32; 3],
}

/// The dimension `index` of a mip level.
pub(super) fn axis(texels: &Texels, sampler: &Sampler, index: usize) -> Axis {
    Axis {
        size: texels.size[index],
        outside: match sampler.address[index] {
            AddressMode::Wrap => Outside::Wrap,
            AddressMode::Clamp => Outside::Clamp,
            AddressMode::Mirror => Outside::Mirror,
            AddressMode::Border => Outside::Border,
        },
        normalized: sampler.normalized || texels.cube,
    }
}

/// How a channel's bits become a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Number(Numbers),
    /// A part of so many bits of a packed word; or one of the border, which is not rounded to them.
    Packed(u32),
}

/// In a channel of a packed word of the border: it has [`BORDER_BITS`].
const BORDER: u32 = 1 << 31;
const BORDER_BITS: u32 = 16;

/// How channel `index` of a texture is read.
pub(super) fn reading(texels: &Texels, sampler: &Sampler, index: usize) -> Reading {
    match texels.channel {
        Channel::F16 => Reading::Number(Numbers::Half),
        Channel::F32 => Reading::Number(Numbers::Float),
        Channel::U32 => whole(32, false),
        Channel::S32 => whole(32, true),
        Channel::Packed => Reading::Packed(packed_bits(index)),
        Channel::U8 if sampler.integers => whole(8, false),
        Channel::S8 if sampler.integers => whole(8, true),
        Channel::U16 if sampler.integers => whole(16, false),
        Channel::S16 if sampler.integers => whole(16, true),
        // The last of two channels and of four is not a colour.
        Channel::U8 if sampler.srgb && index < (if texels.channels == 2 { 1 } else { 3 }) => {
            Reading::Number(Numbers::Srgb)
        }
        Channel::U8 => Reading::Number(Numbers::Unsigned8),
        Channel::U16 => Reading::Number(Numbers::Unsigned16),
        Channel::S8 => Reading::Number(Numbers::Signed8),
        Channel::S16 => Reading::Number(Numbers::Signed16),
    }
}

/// Of whole numbers that are read as they are.
fn whole(bits: u32, signed: bool) -> Reading {
    Reading::Number(Numbers::Whole { bits, signed })
}

impl Reading {
    /// A texel's channel, with its sign, as sums take it.
    #[inline(always)]
    pub(super) fn term(self, raw: u32) -> u32 {
        match self {
            Reading::Number(Numbers::Half) => widen::<F16>(raw).to_bits(),
            Reading::Number(Numbers::Srgb) => srgb_term(raw as u8),
            Reading::Packed(_) if raw & BORDER != 0 => raw & !BORDER,
            Reading::Packed(bits) => stretched(raw, bits),
            _ => raw,
        }
    }

    /// What sums are made of.
    #[inline(always)]
    pub(super) fn numbers(self) -> Numbers {
        match self {
            Reading::Number(numbers) => numbers,
            Reading::Packed(_) => Numbers::Unsigned16,
        }
    }

    /// A texel's channel, with its sign, as a result.
    #[inline(always)]
    pub(super) fn result(self, raw: u32) -> u32 {
        let fraction = match self {
            Reading::Number(Numbers::Unsigned8) => unsigned_fraction(raw, 8),
            Reading::Number(Numbers::Unsigned16) => unsigned_fraction(raw, 16),
            Reading::Number(Numbers::Signed8) => signed_fraction(raw as i32, 8),
            Reading::Number(Numbers::Signed16) => signed_fraction(raw as i32, 16),
            Reading::Number(Numbers::Srgb) => from_srgb(raw as u8),
            Reading::Packed(bits) if raw & BORDER != 0 => border_fraction(raw & !BORDER, bits),
            Reading::Packed(bits) => unsigned_fraction(raw, bits),
            _ => return self.term(raw),
        };
        fraction.to_bits()
    }

    /// A texel's channel, with its sign, as the result of a sum in which it has all the weight: subnormal numbers are none there, and channels of 8 bits with a sign
    /// are stretched to 16 (recorded on an H200).
    fn alone(self, raw: u32) -> u32 {
        blend(self.numbers(), &[self.term(raw), 0, 0, 0], &[UNIT, 0, 0, 0])
    }

    /// A channel of the border colour, as a texel would have it.
    fn border(self, texels: &Texels, color: f32) -> u32 {
        let bits = 8 * texels.channel.bytes() as u32;
        match self {
            Reading::Number(Numbers::Whole { .. }) => extended(color.to_bits(), texels.channel),
            Reading::Number(Numbers::Float) => color.to_bits(),
            // Cut, as recorded; what no half is as large as becomes the largest.
            Reading::Number(Numbers::Half) => narrow::<F16>(f64::from(color), Rounding::Zero, false),
            Reading::Number(Numbers::Srgb) => to_srgb(color),
            Reading::Number(numbers) => {
                border_channel(color, bits, matches!(numbers, Numbers::Signed8 | Numbers::Signed16))
            }
            Reading::Packed(_) => BORDER | border_channel(color, BORDER_BITS, false),
        }
    }
}

/// What a channel of a packed word of the border is alone: a colour has the bits of a texel's then, what is none keeps its own, as recorded.
fn border_fraction(value: u32, bits: u32) -> f32 {
    if bits == 2 {
        return unsigned_fraction(value, BORDER_BITS);
    }
    let (most, range) = ((1 << bits) - 1, (1 << BORDER_BITS) - 1);
    unsigned_fraction((value * most + range / 2) / range, bits)
}

/// A channel's bits, with its sign.
#[inline(always)]
pub(super) fn extended(bits: u32, channel: Channel) -> u32 {
    match channel {
        Channel::U8 => bits & 0xff,
        Channel::U16 | Channel::F16 => bits & 0xffff,
        Channel::S8 => bits as i8 as u32,
        Channel::S16 => bits as i16 as u32,
        Channel::U32 | Channel::S32 | Channel::F32 | Channel::Packed => bits,
    }
}

/// Bits of a channel of a packed word.
fn packed_bits(index: usize) -> u32 {
    if index < 3 { 10 } else { 2 }
}

/// Channel `index` of a texel, with its sign.
fn channel_of(texel: u128, channel: Channel, index: usize) -> u32 {
    if channel == Channel::Packed {
        return (texel >> (10 * index)) as u32 & ((1 << packed_bits(index)) - 1);
    }
    extended((texel >> (8 * channel.bytes() as usize * index)) as u32, channel)
}

/// The footprint for gradients by so many texels, of textures and fetches that are sampled along it: rows and planes whose texels are interpolated, but for whole numbers.
fn footprint_of(texture: &Texture, site: &TextureSite, gradients: [[f32; 3]; 2], by: [u32; 3]) -> Option<Footprint> {
    let Texture { sampler, .. } = texture;
    let base = texture.base();
    let Coordinates::Float(rows) = &site.coordinates else { return None };
    let whole = matches!(reading(base, sampler, 0), Reading::Number(Numbers::Whole { .. }));
    if rows.len() > 2 || !sampler.linear || whole {
        return None;
    }
    let [x, y] = gradients.map(|[x, y, _]| [x, y]);
    Footprint::new(x, y, [by[0], by[1]], sampler.anisotropy)
}

impl Machine<'_> {
    /// What one lane reads from a texture.
    pub(super) fn sampled(
        &mut self,
        texture: &Texture,
        site: &TextureSite,
        lane: usize,
    ) -> Result<[u32; 4], FaultKind> {
        let word = |rows: &[u32], index: usize| rows.get(index).map_or(0, |&row| self.frame.r32[row as usize][lane]);
        let float = |rows: &[u32], index: usize| f32::from_bits(word(rows, index));
        let offset: [i32; 3] = match site.offset.as_slice() {
            // A single one's bits go on above the four of x: below 0 it leads out of the row that one dimension is (recorded on an H200).
            &[row] => [0, 4, 8].map(|bit| offset(self.frame.r32[row as usize][lane] >> bit)),
            rows => std::array::from_fn(|index| offset(word(rows, index))),
        };
        let [first, count] = texture.layers;
        let asked = site.layer.map_or(0, |row| self.frame.r32[row as usize][lane]);
        // Past the last layer is the last (CUDA programming guide, "Layered Textures"), but not for whole numbers.
        let layer = first + asked.min(count.saturating_sub(1));
        let (at, dimensions, slice) = match &site.coordinates {
            Coordinates::Integer(rows) => {
                let at = std::array::from_fn(|index| word(rows, index) as i32);
                let level = match site.level {
                    Level::Given(row) => Some(self.frame.r32[row as usize][lane] as usize),
                    _ => None,
                };
                let layer = (asked < count).then_some(layer);
                return self.named(texture, level, at, rows.len(), offset, layer);
            }
            Coordinates::Float(rows) => (std::array::from_fn(|index| float(rows, index)), rows.len(), layer),
            Coordinates::Direction(rows) => {
                let (face, [x, y]) = cube_face(std::array::from_fn(|index| float(rows, index)));
                ([x, y, 0.0], 2, layer * CUBE_FACES + face)
            }
        };
        let range = LevelRange {
            clamp: texture.sampler.level_clamp,
            bias: texture.sampler.level_bias,
            linear: texture.sampler.linear_levels,
            last: texture.levels.len() as u32 - 1,
        };
        let mut footprint = None;
        let levels = match &site.level {
            Level::Base => range.base(),
            Level::Given(row) => range.at(f32::from_bits(self.frame.r32[*row as usize][lane])),
            Level::Gradients(steps) => {
                let base = texture.base();
                let [x, y] = [&steps[0], &steps[1]].map(|rows| -> [f32; 3] {
                    let step: [f32; 3] = std::array::from_fn(|index| float(rows, index));
                    match &site.coordinates {
                        Coordinates::Direction(rows) => {
                            let [x, y] = cube_gradient(std::array::from_fn(|index| float(rows, index)), step);
                            [x, y, 0.0]
                        }
                        // Found as the difference of two places, as of directions (recorded on an H200).
                        _ if dimensions == 3 => std::array::from_fn(|index| (at[index] + step[index]) - at[index]),
                        _ => step,
                    }
                });
                let texels = if texture.sampler.normalized || base.cube { base.size } else { [1; 3] };
                footprint = footprint_of(texture, site, [x, y], texels);
                range.at(footprint.map_or_else(|| level_of_gradients(x, y, texels), |footprint| footprint.level))
            }
        };
        let place = Place { at, dimensions, slice, offset };
        match (site.gather, footprint) {
            (Some(channel), _) => self.gathered(texture, levels, &place, channel),
            (None, Some(footprint)) => self.along(texture, levels, &place, &footprint),
            (None, None) => self.filtered(texture, levels, &place),
        }
    }

    /// The texel that whole numbers name, without the sampler: outside of a texture there is nothing. With a mip level, which the sampler does not
    /// bound either, it is the nearest texel, as recorded.
    fn named(
        &mut self,
        texture: &Texture,
        level: Option<usize>,
        at: [i32; 3],
        dimensions: usize,
        offset: [i32; 3],
        slice: Option<u32>,
    ) -> Result<[u32; 4], FaultKind> {
        let nothing = || std::array::from_fn(|index| lacked(texture.base(), index));
        let Some(texels) = texture.levels.get(level.unwrap_or(0)) else { return Ok(nothing()) };
        let Some(slice) = slice else { return Ok(nothing()) };
        let mut texel = [Some(0), Some(0), Some(slice)];
        for index in 0..dimensions {
            let named = i64::from(at[index]) + i64::from(offset[index]);
            let axis = Axis { size: texels.size[index], outside: Outside::Clamp, normalized: false };
            if level.is_none() && !(0..i64::from(axis.size)).contains(&named) {
                return Ok(nothing());
            }
            texel[index] = axis.texel(named);
        }
        let raw = self.texel(texels, &texture.sampler, texel)?;
        Ok(results(texels, &texture.sampler, raw))
    }

    /// One channel of the four texels around a place, counter-clockwise from the lower left (PTX ISA 9.7.10.4).
    fn gathered(
        &mut self,
        texture: &Texture,
        levels: Levels,
        place: &Place,
        channel: u8,
    ) -> Result<[u32; 4], FaultKind> {
        let texels = &texture.levels[levels.first as usize];
        let mut taps = Taps::new();
        self.square(&mut taps, texels, &texture.sampler, place, Some(place.slice), UNIT)?;
        let channel = usize::from(channel & 3);
        if channel >= texels.channels as usize {
            return Ok([lacked(texels, channel); 4]);
        }
        let reading = reading(texels, &texture.sampler, channel);
        let raw = &taps.texels[channel];
        // What is gathered goes through sums all the same, of which each has one texel.
        let mut results: [u32; 4] = std::array::from_fn(|corner| reading.alone(raw[corner]));
        // A corner of a cube that does not exist is made of the others.
        if let Some(missing) = taps.missing {
            let mut weights: [u32; 4] = std::array::from_fn(|corner| if corner == missing { UNIT } else { 0 });
            share_corner(&mut weights, missing);
            results[missing] =
                blend(reading.numbers(), &[0, 1, 2, 3].map(|corner| reading.term(raw[corner])), &weights);
        }
        Ok([2, 3, 1, 0].map(|corner| results[corner]))
    }

    /// What is read along a footprint around a place: the mean of its samples.
    fn along(
        &mut self,
        texture: &Texture,
        levels: Levels,
        place: &Place,
        footprint: &Footprint,
    ) -> Result<[u32; 4], FaultKind> {
        let base = texture.base();
        let mut sums = [0.0; 4];
        for (steps, weight) in footprint.samples() {
            let mut place = Place { ..*place };
            for (index, step) in footprint.step.into_iter().enumerate() {
                let texels = if texture.sampler.normalized { base.size[index] as f32 } else { 1.0 };
                place.at[index] += steps * step / texels;
            }
            let sample = self.filtered(texture, levels, &place)?;
            for (sum, sample) in sums.iter_mut().zip(sample) {
                *sum += f64::from(weight) * f64::from(f32::from_bits(sample));
            }
        }
        Ok(std::array::from_fn(|index| match index < base.channels as usize {
            true => (sums[index] as f32).to_bits(),
            false => lacked(base, index),
        }))
    }

    /// What is read at a place, as the sampler says.
    fn filtered(&mut self, texture: &Texture, levels: Levels, place: &Place) -> Result<[u32; 4], FaultKind> {
        let Texture { sampler, .. } = texture;
        let base = &texture.levels[levels.first as usize];
        if !sampler.linear && !sampler.linear_levels {
            let raw = self.nearest(base, sampler, place)?;
            return Ok(results(base, sampler, raw));
        }
        let mut taps = Taps::new();
        let [near, far] = [UNIT - levels.weight, levels.weight];
        for (texels, weight) in texture.levels[levels.first as usize..].iter().zip([near, far]) {
            if weight > 0 {
                self.tap(&mut taps, texels, sampler, place, weight)?;
            }
        }
        let mut result = std::array::from_fn(|index| lacked(base, index));
        for (index, out) in result.iter_mut().enumerate().take(base.channels as usize) {
            let reading = reading(base, sampler, index);
            let terms = taps.texels[index].map(|raw| reading.term(raw));
            *out = blend(reading.numbers(), &terms[..taps.count], &taps.weights[..taps.count]);
        }
        Ok(result)
    }

    /// The texels of one mip level that a result of `weight` comes from.
    fn tap(
        &mut self,
        taps: &mut Taps,
        texels: &Texels,
        sampler: &Sampler,
        place: &Place,
        weight: u32,
    ) -> Result<(), FaultKind> {
        if !sampler.linear {
            let raw = self.nearest(texels, sampler, place)?;
            taps.push(raw, weight);
            taps.end_slice();
            return Ok(());
        }
        if place.dimensions < 3 {
            return self.square(taps, texels, sampler, place, Some(place.slice), weight);
        }
        let (slices, at) = axis(texels, sampler, 2).between(place.at[2], place.offset[2]);
        for (slice, weight) in slices.into_iter().zip(split_slices(weight, at)) {
            self.square(taps, texels, sampler, place, slice, weight)?;
        }
        Ok(())
    }

    /// The four texels around a place in one slice; two of them without weight in one dimension.
    fn square(
        &mut self,
        taps: &mut Taps,
        texels: &Texels,
        sampler: &Sampler,
        place: &Place,
        slice: Option<u32>,
        weight: u32,
    ) -> Result<(), FaultKind> {
        if texels.cube && sampler.seamless {
            return self.square_of_cube(taps, texels, sampler, place, weight);
        }
        let (columns, x) = axis(texels, sampler, 0).between(place.at[0], place.offset[0]);
        let (rows, y) = match place.dimensions {
            // One dimension is sampled as one row of two, at its edge: with a border in y, half of what comes out is border.
            1 if sampler.address[1] == AddressMode::Border && !texels.layered => {
                axis(texels, sampler, 1).between(0.0, place.offset[1])
            }
            1 => ([Some(0); 2], 0),
            _ => axis(texels, sampler, 1).between(place.at[1], place.offset[1]),
        };
        for (corner, weight) in square_weights(weight, x, y).into_iter().enumerate() {
            let at = [columns[corner & 1], rows[corner >> 1], slice];
            let raw = self.weighted(texels, sampler, at, weight)?;
            taps.push(raw, weight);
        }
        Ok(())
    }

    /// The four texels around a place of a cube, across its edges. A corner of a cube has three.
    fn square_of_cube(
        &mut self,
        taps: &mut Taps,
        texels: &Texels,
        sampler: &Sampler,
        place: &Place,
        weight: u32,
    ) -> Result<(), FaultKind> {
        let inside = |index: usize| Axis { outside: Outside::Clamp, ..axis(texels, sampler, index) };
        let fixed = [0, 1].map(|index| inside(index).fixed(place.at[index]));
        let [x, y] = fixed.map(|fixed| (fixed & i64::from(UNIT - 1)) as u32);
        let [column, row] = fixed.map(|fixed| fixed >> UNIT.ilog2());
        let (cube, face) = (place.slice / CUBE_FACES * CUBE_FACES, place.slice % CUBE_FACES);
        let mut weights = square_weights(weight, x, y);
        for corner in 0..4 {
            let at = [column + (corner & 1) as i64, row + (corner >> 1) as i64];
            let raw = match across_edge(face, at, texels.size[0]) {
                Some((face, [x, y])) => {
                    self.weighted(texels, sampler, [Some(x), Some(y), Some(cube + face)], weights[corner])?
                }
                None => {
                    share_corner(&mut weights, corner);
                    taps.missing = Some(taps.count);
                    [0; 4]
                }
            };
            taps.push(raw, 0);
        }
        let start = taps.count - 4;
        taps.weights[start..start + 4].copy_from_slice(&weights);
        Ok(())
    }

    /// The texel that a place lies in.
    fn nearest(&mut self, texels: &Texels, sampler: &Sampler, place: &Place) -> Result<[u32; 4], FaultKind> {
        let mut texel = [Some(0), Some(0), Some(place.slice)];
        for (index, texel) in texel.iter_mut().enumerate().take(place.dimensions) {
            let mut axis = axis(texels, sampler, index);
            if texels.cube && sampler.seamless {
                axis.outside = Outside::Clamp;
            }
            *texel = axis.nearest(place.at[index], place.offset[index]);
        }
        if place.dimensions == 1 && !texels.layered {
            texel[1] = axis(texels, sampler, 1).nearest(0.0, place.offset[1]);
        }
        self.texel(texels, sampler, texel)
    }

    /// A texel that counts.
    fn texel(&mut self, texels: &Texels, sampler: &Sampler, at: [Option<u32>; 3]) -> Result<[u32; 4], FaultKind> {
        self.weighted(texels, sampler, at, UNIT)
    }

    /// The channels of one texel with their signs, or of the border where a coordinate has none. Without weight nothing hangs on it.
    fn weighted(
        &mut self,
        texels: &Texels,
        sampler: &Sampler,
        at: [Option<u32>; 3],
        weight: u32,
    ) -> Result<[u32; 4], FaultKind> {
        let channels = texels.channels as usize;
        let [Some(x), Some(y), Some(z)] = at else {
            return Ok(std::array::from_fn(|index| match index < channels {
                true => reading(texels, sampler, index).border(texels, sampler.border[index]),
                false => 0,
            }));
        };
        let bytes = texels.element_bytes() as u32;
        let value = match texels.element([x, y, z]) {
            Memory::At(address) => {
                if weight != 0 {
                    self.tell_texel(address, bytes);
                }
                self.load(StateSpace::Global, address, bytes, 0)?
            }
            Memory::Nowhere => 0,
            Memory::Missing => return Err(FaultKind::UnmappedArray { kind: AccessKind::Load }),
        };
        if let Some(blocks) = texels.blocks {
            return Ok(blocks.compression.texel(value, x, y));
        }
        Ok(std::array::from_fn(|index| match index < channels {
            true => channel_of(value, texels.channel, index),
            false => 0,
        }))
    }
}

/// The results of one texel.
fn results(texels: &Texels, sampler: &Sampler, raw: [u32; 4]) -> [u32; 4] {
    std::array::from_fn(|index| match index < texels.channels as usize {
        true => reading(texels, sampler, index).result(raw[index]),
        false => lacked(texels, index),
    })
}

/// What a channel is that texels lack: 0, but for the fourth of blocks that are opaque.
fn lacked(texels: &Texels, index: usize) -> u32 {
    let opaque = texels.blocks.is_some_and(|blocks| blocks.opaque);
    if opaque && index == 3 && texels.channels < 4 { 1.0f32.to_bits() } else { 0 }
}
