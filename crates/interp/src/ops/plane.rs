//! Texels of a plane for all lanes of a warp at once, as programs read them most: one texture, one mip level, no border; the nearest, or what lies
//! between four. What it computes is `numerics`' as in `sampling`; what is decided once for the instruction is not asked for each lane.

use warploom_exec::memory::{Area, Gather, View};
use warploom_exec::texture::{Texels, Texture};
use warploom_numerics::format::{F16, widen};
use warploom_numerics::texture::{
    Axis, Numbers, Outside, UNIT, blend_plain, blend_square, from_srgb, is_plain, square_weights,
};

use crate::frame::Row32;
use crate::machine::{Flow, Machine};
use crate::memory::Slot;
use crate::ops::sampling::{Reading, axis, extended, reading};
use crate::ops::texture::{Coordinates, Level, Results, TextureSite};

/// The texels that lanes read between, along one dimension.
struct Line {
    pair: [Row32; 2],
    /// Of the second.
    weight: Row32,
}

/// The words of texels of each lane: `[corner][word]`; what a texel has no words for is of no meaning. Kept by the CTA, as zeros are long in the making.
pub(crate) type Corners = [[Row32; 4]; 4];

/// Where a texel is read, and how.
struct Plane<'a> {
    texels: &'a Texels,
    area: Area,
    /// Of a texel.
    bytes: u32,
    /// From row to row.
    pitch: u32,
    axes: [Axis; 2],
    readings: [Reading; 4],
}

/// Texels of less than a word are read with the whole word that they lie in.
const WORD: u32 = 4;

/// All texels of a mip level of two dimensions, in whole words. None where offsets in it do not fit.
fn area(texels: &Texels, site: u32) -> Option<Area> {
    let [width, height, _] = texels.size.map(u64::from);
    let bytes = (height - 1) * texels.pitch + width * texels.texel_bytes();
    Some(Area { start: texels.address, bytes: u32::try_from(bytes.next_multiple_of(u64::from(WORD))).ok()?, site })
}

impl Plane<'_> {
    /// The word that a channel lies in, and how far up.
    #[inline(always)]
    fn place(&self, channel: usize) -> (usize, u32) {
        let bits = 8 * self.texels.channel.bytes() as u32;
        (channel * bits as usize / 32, channel as u32 * bits % 32)
    }
}

impl Machine<'_> {
    /// Runs `tex` for the lanes of `mask`, which all name `texture`. None where that is not one of the cases of this file.
    #[inline(always)]
    pub(super) fn plane(&mut self, texture: &Texture, site: &TextureSite, mask: u32) -> Option<Flow> {
        let Texture { sampler, levels, layers: [first_layer, _] } = texture;
        let ([texels], Coordinates::Float(rows)) = (levels.as_slice(), &site.coordinates) else { return None };
        let &[x, y] = rows.as_slice() else { return None };
        // Gradients ask for several samples along a footprint.
        let along = sampler.anisotropy > 1 && matches!(site.level, Level::Gradients(_));
        let plain =
            site.layer.is_none() && site.offset.is_empty() && site.gather.is_none() && *first_layer == 0 && !along;
        if !plain || site.results != Results::Words || texels.cube || texels.dimensions != 2 {
            return None;
        }
        let axes = [axis(texels, sampler, 0), axis(texels, sampler, 1)];
        if axes.iter().any(|axis| axis.outside() == Outside::Border) {
            return None;
        }
        let readings = std::array::from_fn(|index| reading(texels, sampler, index));
        let bytes = texels.texel_bytes() as u32;
        let plane = Plane { texels, area: area(texels, self.pc)?, bytes, pitch: texels.pitch as u32, axes, readings };
        let at = [self.frame.r32[x as usize], self.frame.r32[y as usize]];
        match plane.readings[0] {
            Reading::Number(_) | Reading::Srgb if sampler.linear => self.interpolated(&plane, &at, site, mask)?,
            _ => self.nearest_in_plane(&plane, &at, site, mask)?,
        }
        Some(Flow::Next)
    }

    /// Interpolates between the four texels around each lane's place.
    #[inline(always)]
    fn interpolated(&mut self, plane: &Plane<'_>, at: &[Row32; 2], site: &TextureSite, mask: u32) -> Option<()> {
        let (columns, lines) = (between(&plane.axes[0], &at[0]), between(&plane.axes[1], &at[1]));
        let mut places = [[0; 32]; 4];
        for lane in 0..32 {
            let columns = columns.pair.each_ref().map(|column| column[lane].wrapping_mul(plane.bytes));
            let lines = lines.pair.each_ref().map(|line| line[lane].wrapping_mul(plane.pitch));
            for (index, place) in places.iter_mut().enumerate() {
                place[lane] = columns[index & 1].wrapping_add(lines[index >> 1]);
            }
        }
        let corners = self.cta.corners.get_or_insert_default();
        words(&mut self.view, self.isa.gather(), plane, &places, corners)?;
        let mut weights = [[0; 32]; 4];
        for (lane, (&x, &y)) in columns.weight.iter().zip(&lines.weight).enumerate() {
            for (weights, part) in weights.iter_mut().zip(square_weights(UNIT, x, y)) {
                weights[lane] = part;
            }
        }
        self.put_channels(
            plane,
            site,
            mask,
            #[inline(always)]
            |corners, channel| {
                let (word, shift) = plane.place(channel);
                let corners = [&corners[0][word], &corners[1][word], &corners[2][word], &corners[3][word]];
                mixed(plane.readings[channel], corners, shift, &weights)
            },
        )
    }

    /// Reads the texel that each lane's place lies in.
    #[inline(always)]
    fn nearest_in_plane(&mut self, plane: &Plane<'_>, at: &[Row32; 2], site: &TextureSite, mask: u32) -> Option<()> {
        let (columns, lines) = (nearest(&plane.axes[0], &at[0]), nearest(&plane.axes[1], &at[1]));
        let mut places = [[0; 32]];
        for (lane, place) in places[0].iter_mut().enumerate() {
            *place = columns[lane].wrapping_mul(plane.bytes).wrapping_add(lines[lane].wrapping_mul(plane.pitch));
        }
        let corners = self.cta.corners.get_or_insert_default();
        words(&mut self.view, self.isa.gather(), plane, &places, corners.first_chunk_mut()?)?;
        self.put_channels(
            plane,
            site,
            mask,
            #[inline(always)]
            |corners, channel| {
                let (word, shift) = plane.place(channel);
                corners[0][word]
                    .map(|word| plane.readings[channel].result(extended(word >> shift, plane.texels.channel)))
            },
        )
    }

    /// Writes the channels that a texel has, found in corners, and 0 for the others.
    #[inline(always)]
    fn put_channels(
        &mut self,
        plane: &Plane<'_>,
        site: &TextureSite,
        mask: u32,
        result: impl Fn(&Corners, usize) -> Row32,
    ) -> Option<()> {
        for (channel, slot) in site.slots.iter().enumerate() {
            let Slot::Word(slot) = *slot else { return None };
            let out = match self.cta.corners.as_deref() {
                Some(corners) if channel < plane.texels.channels as usize => result(corners, channel),
                _ => [0; 32],
            };
            self.put(slot, mask, &out);
        }
        Some(())
    }
}

/// Loads texels for each lane, for those too that do not run: what they ask for is in the texture as well. None, with nothing told, where not all of the
/// texture may be read.
#[inline(always)]
fn words<const P: usize>(
    view: &mut View<'_>,
    gather: Gather,
    plane: &Plane<'_>,
    places: &[Row32; P],
    corners: &mut [[Row32; 4]; P],
) -> Option<()> {
    let area = plane.area;
    let loaded = match plane.bytes {
        1 | 2 => {
            let whole = places.map(|offsets| offsets.map(|offset| offset & !(WORD - 1)));
            let loaded = view.gather_in(area, &whole, gather, corners.each_mut().map(|[a, ..]| [a]));
            for (corner, offsets) in corners.iter_mut().zip(places) {
                for (word, offset) in corner[0].iter_mut().zip(offsets) {
                    *word >>= offset % WORD * 8;
                }
            }
            loaded
        }
        4 => view.gather_in(area, places, gather, corners.each_mut().map(|[a, ..]| [a])),
        8 => view.gather_in(area, places, gather, corners.each_mut().map(|[a, b, ..]| [a, b])),
        16 => view.gather_in(area, places, gather, corners.each_mut().map(|[a, b, c, d]| [a, b, c, d])),
        _ => return None,
    };
    loaded.then_some(())
}

/// Which texels the coordinates of a row lie between, along a dimension.
#[inline(always)]
fn between(axis: &Axis, coordinates: &Row32) -> Line {
    let mut line = Line { pair: [[0; 32]; 2], weight: [0; 32] };
    each(
        axis,
        coordinates,
        #[inline(always)]
        |axis, outside, lane, coordinate| {
            let (pair, weight) = axis.between_quickly(coordinate, outside);
            line.pair[0][lane] = pair[0];
            line.pair[1][lane] = pair[1];
            line.weight[lane] = weight;
        },
    );
    line
}

/// The texels that the coordinates of a row lie in, along a dimension.
#[inline(always)]
fn nearest(axis: &Axis, coordinates: &Row32) -> Row32 {
    let mut texels = [0; 32];
    each(
        axis,
        coordinates,
        #[inline(always)]
        |axis, outside, lane, coordinate| {
            texels[lane] = axis.nearest_quickly(coordinate, outside);
        },
    );
    texels
}

/// One loop over lanes for each kind of axis, in which nothing is left to ask.
#[inline(always)]
fn each(axis: &Axis, coordinates: &Row32, lane: impl FnMut(&Axis, Outside, usize, f32)) {
    match (axis.normalized, axis.outside()) {
        (false, _) => each_of(axis, false, Outside::Clamp, coordinates, lane),
        (true, Outside::Wrap) => each_of(axis, true, Outside::Wrap, coordinates, lane),
        (true, Outside::Mirror) => each_of(axis, true, Outside::Mirror, coordinates, lane),
        (true, _) => each_of(axis, true, Outside::Clamp, coordinates, lane),
    }
}

/// The loop over lanes for an axis of which this is known where it is written.
#[inline(always)]
fn each_of(
    axis: &Axis,
    normalized: bool,
    outside: Outside,
    coordinates: &Row32,
    mut lane: impl FnMut(&Axis, Outside, usize, f32),
) {
    let axis = Axis { normalized, ..*axis };
    for (index, &coordinate) in coordinates.iter().enumerate() {
        lane(&axis, outside, index, f32::from_bits(coordinate));
    }
}

/// The weighted sums of one channel, which lies `shift` bits up in the words of each corner. One loop over lanes for each type, from words to sums: loops that
/// only take words apart would be written out lane by lane, and what comes behind them with them.
#[inline(always)]
fn mixed(reading: Reading, corners: [&Row32; 4], shift: u32, weights: &[Row32; 4]) -> Row32 {
    match reading {
        Reading::Number(Numbers::Unsigned8) => sums(
            corners,
            weights,
            Numbers::Unsigned8,
            #[inline(always)]
            |word| word >> shift & 0xff,
        ),
        Reading::Number(Numbers::Unsigned16) => sums(
            corners,
            weights,
            Numbers::Unsigned16,
            #[inline(always)]
            |word| word >> shift & 0xffff,
        ),
        Reading::Number(Numbers::Signed8) => sums(
            corners,
            weights,
            Numbers::Signed8,
            #[inline(always)]
            |word| (word >> shift) as i8 as u32,
        ),
        Reading::Number(Numbers::Signed16) => sums(
            corners,
            weights,
            Numbers::Signed16,
            #[inline(always)]
            |word| (word >> shift) as i16 as u32,
        ),
        Reading::Number(Numbers::Half) => sums_of_floats(
            corners,
            weights,
            Numbers::Half,
            #[inline(always)]
            |word| widen::<F16>(word >> shift & 0xffff).to_bits(),
        ),
        Reading::Number(Numbers::Float) => sums_of_floats(
            corners,
            weights,
            Numbers::Float,
            #[inline(always)]
            |word| word,
        ),
        Reading::Srgb => sums_of_floats(
            corners,
            weights,
            Numbers::Half,
            #[inline(always)]
            |word| from_srgb((word >> shift) as u8).to_bits(),
        ),
        // They have no sums, and are not asked for any.
        Reading::Whole => [0; 32],
    }
}

/// The terms of one lane.
#[inline(always)]
fn terms(corners: [&Row32; 4], lane: usize, term: impl Fn(u32) -> u32) -> [u32; 4] {
    let [a, b, c, d] = corners;
    [term(a[lane]), term(b[lane]), term(c[lane]), term(d[lane])]
}

/// The weights of one lane.
#[inline(always)]
fn parts(weights: &[Row32; 4], lane: usize) -> [u32; 4] {
    let [a, b, c, d] = weights;
    [a[lane], b[lane], c[lane], d[lane]]
}

/// The sums of terms that `term` finds in words, of numbers that are known where the loop is written.
#[inline(always)]
fn sums(corners: [&Row32; 4], weights: &[Row32; 4], numbers: Numbers, term: impl Fn(u32) -> u32) -> Row32 {
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        *out = blend_square(numbers, &terms(corners, lane, &term), &parts(weights, lane));
    }
    out
}

/// [`sums`] of floats: as they are in pictures, none is much larger than its neighbours, and then there is less to do.
#[inline(always)]
fn sums_of_floats(corners: [&Row32; 4], weights: &[Row32; 4], numbers: Numbers, term: impl Fn(u32) -> u32) -> Row32 {
    let mut plain = true;
    for lane in 0..32 {
        plain &= is_plain(&terms(corners, lane, &term));
    }
    if !plain {
        return sums(corners, weights, numbers, term);
    }
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        *out = blend_plain(numbers, &terms(corners, lane, &term), &parts(weights, lane));
    }
    out
}
