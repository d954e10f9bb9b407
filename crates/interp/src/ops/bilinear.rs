//! Interpolation between the texels of a plane for all lanes of a warp at once, as programs do it most: one texture, one mip level, coordinates that
//! clamp or wrap around. What it computes is `numerics`' as in `sampling`; what is decided once for the instruction is not asked for each lane.

use warploom_exec::fault::FaultKind;
use warploom_exec::memory::{Lanes, Scalar, Spread};
use warploom_exec::texture::{AddressMode, Texels, Texture};
use warploom_numerics::texture::{Axis, Numbers, UNIT, blend, square_weights};

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

/// The words of the texels at the four corners: `[corner][word]`.
type Corners = [[Row32; 4]; 4];

impl Machine<'_> {
    /// Runs `tex` for the lanes of `mask`, which all name `texture`. None where that is not one of the cases of this file.
    #[inline(always)]
    pub(super) fn bilinear(&mut self, texture: &Texture, site: &TextureSite, mask: u32) -> Option<Flow> {
        let Texture { sampler, levels, .. } = texture;
        let ([texels], Coordinates::Float(rows)) = (levels.as_slice(), &site.coordinates) else { return None };
        let &[x, y] = rows.as_slice() else { return None };
        let plain = site.layer.is_none() && site.offset.is_empty() && site.gather.is_none();
        if !plain || site.results != Results::Words || !sampler.linear || texels.cube || texels.dimensions != 2 {
            return None;
        }
        let axes = [axis(texels, sampler, 0), axis(texels, sampler, 1)];
        let wraps = [0, 1].map(|index| sampler.normalized && sampler.address[index] == AddressMode::Wrap);
        let clamps = |index: usize| match sampler.address[index] {
            AddressMode::Clamp => true,
            AddressMode::Wrap | AddressMode::Mirror => !sampler.normalized,
            AddressMode::Border => false,
        };
        if !(wraps[0] || clamps(0)) || !(wraps[1] || clamps(1)) {
            return None;
        }
        let readings: [Reading; 4] = std::array::from_fn(|index| reading(texels, sampler, index));
        readings[0].numbers()?;
        let columns = line(&axes[0], wraps[0], &self.frame.r32[x as usize]);
        let lines = line(&axes[1], wraps[1], &self.frame.r32[y as usize]);
        let corners = match self.corners(texels, &columns, &lines, mask)? {
            Ok(corners) => corners,
            Err(kind) => return Some(self.fail(mask, kind)),
        };
        let mut weights = [[0; 32]; 4];
        for (lane, (&x, &y)) in columns.weight.iter().zip(&lines.weight).enumerate() {
            for (weights, part) in weights.iter_mut().zip(square_weights(UNIT, x, y)) {
                weights[lane] = part;
            }
        }
        for (index, slot) in site.slots.iter().enumerate() {
            let Slot::Word(slot) = *slot else { return None };
            let mut out = [0; 32];
            if index < texels.channels as usize {
                let bits = 8 * texels.channel.bytes() as u32;
                let (word, shift) = (index as u32 * bits / 32, index as u32 * bits % 32);
                let mut terms = [[0; 32]; 4];
                for (terms, corner) in terms.iter_mut().zip(&corners) {
                    for (term, &word) in terms.iter_mut().zip(&corner[word as usize]) {
                        *term = readings[index].term(extended(word >> shift, texels.channel));
                    }
                }
                out = blended(readings[index].numbers()?, &terms, &weights);
            }
            self.put(slot, mask, &out);
        }
        Some(Flow::Next)
    }

    /// Loads the four texels of each lane.
    #[inline(always)]
    fn corners(
        &mut self,
        texels: &Texels,
        columns: &Line,
        lines: &Line,
        mask: u32,
    ) -> Option<Result<Corners, FaultKind>> {
        let mut corners = [[[0; 32]; 4]; 4];
        for (index, corner) in corners.iter_mut().enumerate() {
            let (column, row) = (&columns.pair[index & 1], &lines.pair[index >> 1]);
            let mut places = [0; 32];
            let bytes = texels.texel_bytes();
            for lane in 0..32 {
                places[lane] = texels.address + u64::from(column[lane]) * bytes + u64::from(row[lane]) * texels.pitch;
            }
            let [a, b, c, d] = corner;
            let loaded = match bytes {
                1 => self.narrow_texels::<u8>(&places, mask, a),
                2 => self.narrow_texels::<u16>(&places, mask, a),
                4 => self.texels(&places, mask, [a]),
                8 => self.texels(&places, mask, [a, b]),
                16 => self.texels(&places, mask, [a, b, c, d]),
                _ => return None,
            };
            if let Err(kind) = loaded {
                return Some(Err(kind));
            }
        }
        Some(Ok(corners))
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

/// Where the coordinates of a row lie along a dimension.
#[inline(always)]
fn line(axis: &Axis, wraps: bool, coordinates: &Row32) -> Line {
    let mut line = Line { pair: [[0; 32]; 2], weight: [0; 32] };
    // One loop for each case, in which nothing is left to ask.
    match (axis.normalized, wraps) {
        (false, _) => places(&Axis { normalized: false, ..*axis }, false, coordinates, &mut line),
        (true, false) => places(&Axis { normalized: true, ..*axis }, false, coordinates, &mut line),
        (true, true) => places(&Axis { normalized: true, ..*axis }, true, coordinates, &mut line),
    }
    line
}

#[inline(always)]
fn places(axis: &Axis, wraps: bool, coordinates: &Row32, line: &mut Line) {
    for (lane, &coordinate) in coordinates.iter().enumerate() {
        let (pair, weight) = axis.between_quickly(f32::from_bits(coordinate), wraps);
        line.pair[0][lane] = pair[0];
        line.pair[1][lane] = pair[1];
        line.weight[lane] = weight;
    }
}

/// The sums of one channel.
#[inline(always)]
fn blended(numbers: Numbers, terms: &[Row32; 4], weights: &[Row32; 4]) -> Row32 {
    let sums = |numbers: Numbers| -> Row32 {
        let mut out = [0; 32];
        for lane in 0..32 {
            let [a, b, c, d] = terms;
            let [e, f, g, h] = weights;
            out[lane] = blend(numbers, &[a[lane], b[lane], c[lane], d[lane]], &[e[lane], f[lane], g[lane], h[lane]]);
        }
        out
    };
    // As above.
    match numbers {
        Numbers::Unsigned8 => sums(Numbers::Unsigned8),
        Numbers::Unsigned16 => sums(Numbers::Unsigned16),
        Numbers::Signed8 => sums(Numbers::Signed8),
        Numbers::Signed16 => sums(Numbers::Signed16),
        Numbers::Half => sums(Numbers::Half),
        Numbers::Float => sums(Numbers::Float),
    }
}
