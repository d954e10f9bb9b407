//! Texels of a plane for all lanes of a warp at once, as programs read them most: one texture, one mip level, no border; the nearest, or what lies
//! between four. What it computes is `numerics`' as in `sampling`; what is decided once for the instruction is not asked for each lane.

use warploom_exec::fault::FaultKind;
use warploom_exec::memory::{Lanes, Scalar, Spread};
use warploom_exec::texture::{Texels, Texture};
use warploom_numerics::format::{F16, widen};
use warploom_numerics::texture::{
    Axis, Numbers, Outside, UNIT, blend_plain, blend_square, from_srgb, is_plain, square_weights,
};

use crate::frame::{Row32, Row64};
use crate::machine::{Flow, Machine};
use crate::memory::Slot;
use crate::ops::sampling::{Reading, axis, extended, reading};
use crate::ops::texture::{Coordinates, Results, TextureSite};

/// The texels that lanes read between, along one dimension.
struct Line {
    pair: [Row32; 2],
    /// Of the second.
    weight: Row32,
}

/// The words of a texel of each lane: `[word]`.
type Words = [Row32; 4];

/// Where a texel is read, and how.
struct Plane<'a> {
    texels: &'a Texels,
    axes: [Axis; 2],
    readings: [Reading; 4],
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
        let plain = site.layer.is_none() && site.offset.is_empty() && site.gather.is_none() && *first_layer == 0;
        if !plain || site.results != Results::Words || texels.cube || texels.dimensions != 2 {
            return None;
        }
        let axes = [axis(texels, sampler, 0), axis(texels, sampler, 1)];
        if axes.iter().any(|axis| axis.outside() == Outside::Border) {
            return None;
        }
        let plane = Plane { texels, axes, readings: std::array::from_fn(|index| reading(texels, sampler, index)) };
        let at = [self.frame.r32[x as usize], self.frame.r32[y as usize]];
        let done = match plane.readings[0] {
            Reading::Number(_) | Reading::Srgb if sampler.linear => self.interpolated(&plane, &at, site, mask)?,
            _ => self.nearest_in_plane(&plane, &at, site, mask)?,
        };
        Some(match done {
            Ok(()) => Flow::Next,
            Err(kind) => self.fail(mask, kind),
        })
    }

    /// Interpolates between the four texels around each lane's place.
    #[inline(always)]
    fn interpolated(
        &mut self,
        plane: &Plane<'_>,
        at: &[Row32; 2],
        site: &TextureSite,
        mask: u32,
    ) -> Option<Result<(), FaultKind>> {
        let (columns, lines) = (between(&plane.axes[0], &at[0]), between(&plane.axes[1], &at[1]));
        let mut corners = [[[0; 32]; 4]; 4];
        for (index, corner) in corners.iter_mut().enumerate() {
            let (column, row) = (&columns.pair[index & 1], &lines.pair[index >> 1]);
            match self.words(plane.texels, column, row, mask)? {
                Ok(words) => *corner = words,
                Err(kind) => return Some(Err(kind)),
            }
        }
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
            |channel| {
                let (word, shift) = plane.place(channel);
                let corners = [&corners[0][word], &corners[1][word], &corners[2][word], &corners[3][word]];
                mixed(plane.readings[channel], corners, shift, &weights)
            },
        )
    }

    /// Reads the texel that each lane's place lies in.
    #[inline(always)]
    fn nearest_in_plane(
        &mut self,
        plane: &Plane<'_>,
        at: &[Row32; 2],
        site: &TextureSite,
        mask: u32,
    ) -> Option<Result<(), FaultKind>> {
        let (columns, lines) = (nearest(&plane.axes[0], &at[0]), nearest(&plane.axes[1], &at[1]));
        let words = match self.words(plane.texels, &columns, &lines, mask)? {
            Ok(words) => words,
            Err(kind) => return Some(Err(kind)),
        };
        self.put_channels(
            plane,
            site,
            mask,
            #[inline(always)]
            |channel| {
                let (word, shift) = plane.place(channel);
                words[word].map(|word| plane.readings[channel].result(extended(word >> shift, plane.texels.channel)))
            },
        )
    }

    /// Writes the channels that a texel has, and 0 for the others.
    #[inline(always)]
    fn put_channels(
        &mut self,
        plane: &Plane<'_>,
        site: &TextureSite,
        mask: u32,
        result: impl Fn(usize) -> Row32,
    ) -> Option<Result<(), FaultKind>> {
        for (channel, slot) in site.slots.iter().enumerate() {
            let Slot::Word(slot) = *slot else { return None };
            let out = if channel < plane.texels.channels as usize { result(channel) } else { [0; 32] };
            self.put(slot, mask, &out);
        }
        Some(Ok(()))
    }

    /// Loads a texel for each lane.
    #[inline(always)]
    fn words(&mut self, texels: &Texels, columns: &Row32, rows: &Row32, mask: u32) -> Option<Result<Words, FaultKind>> {
        let mut places = [0; 32];
        let bytes = texels.texel_bytes();
        for lane in 0..32 {
            places[lane] = texels.address + u64::from(columns[lane]) * bytes + u64::from(rows[lane]) * texels.pitch;
        }
        let mut words = [[0; 32]; 4];
        let [a, b, c, d] = &mut words;
        let loaded = match bytes {
            1 => self.narrow_texels::<u8>(&places, mask, a),
            2 => self.narrow_texels::<u16>(&places, mask, a),
            4 => self.texels(&places, mask, [a]),
            8 => self.texels(&places, mask, [a, b]),
            16 => self.texels(&places, mask, [a, b, c, d]),
            _ => return None,
        };
        Some(loaded.map(|()| words))
    }

    #[inline(always)]
    fn texels<const N: usize>(&mut self, places: &Row64, mask: u32, out: [&mut Row32; N]) -> Result<(), FaultKind> {
        let gather = self.isa.gather();
        let at = Lanes { bases: places, offset: 0, mask, spread: Spread::Other, site: 0, gather };
        self.view.gather_any(at, out).map_err(|fault| FaultKind::Access(*fault))
    }

    #[inline(always)]
    fn narrow_texels<T: Scalar + Into<u32>>(
        &mut self,
        places: &Row64,
        mask: u32,
        out: &mut Row32,
    ) -> Result<(), FaultKind> {
        let gather = self.isa.gather();
        let at = Lanes { bases: places, offset: 0, mask, spread: Spread::Other, site: 0, gather };
        let mut loaded = [T::default(); 32];
        self.view.gather_any(at, [&mut loaded]).map_err(|fault| FaultKind::Access(*fault))?;
        for (out, value) in out.iter_mut().zip(loaded) {
            *out = value.into();
        }
        Ok(())
    }
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
