//! Texels of a plane for a warp at once. What it computes is `numerics`' as in `sampling`; what is decided once for the texture is not asked for each warp.

use warploom_exec::memory::{Area, BLOCK, Gather, View};
use warploom_exec::texture::Channel;
use warploom_numerics::matrix::Arrays;
use warploom_numerics::texture::block::{Between, Weights, between, nearest};
use warploom_numerics::texture::{Numbers, SamplingVectors};

use super::{Plane, WORD};
use crate::frame::Row32;
use crate::isa::Isa;
use crate::ops::sampling::{Reading, extended};

/// Blocks of a warp.
const BLOCKS: usize = 2;
/// Of a warp.
pub(super) const LANES: usize = BLOCKS * BLOCK;

/// Four channels, as they are stored at once: what goes over the end of a line takes processors twice as long, and as long again to load.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Channels(pub(crate) [Row32; 4]);

/// What one fetch is about.
pub(super) struct Fetch<'a> {
    /// The coordinates of each lane, x first.
    pub(super) at: [&'a Row32; 2],
    /// Four channels, 0 where a texel has none.
    pub(super) out: [&'a mut Row32; 4],
    /// As many lanes as there are, from the first on. Those among them that do not run count like others: whatever they ask for is in the texture as well.
    pub(super) lanes: usize,
    /// Of the instruction.
    pub(super) site: u32,
}

/// What lanes read. None where not all of the texture may be read; what is written then means nothing.
pub(super) type Sample = fn(&Plane, Isa, &mut View<'_>, Fetch<'_>) -> Option<()>;

/// What samples textures whose texels have so many bytes: one function for each number of words, and for each filter.
pub(super) fn sample_for(texel: u32, linear: bool) -> Sample {
    match (texel, linear) {
        (0..=4, false) => sample::<1, false>,
        (0..=4, true) => sample::<1, true>,
        (5..=8, false) => sample::<2, false>,
        (5..=8, true) => sample::<2, true>,
        (_, false) => sample::<4, false>,
        (_, true) => sample::<4, true>,
    }
}

fn sample<const N: usize, const LINEAR: bool>(
    plane: &Plane,
    isa: Isa,
    view: &mut View<'_>,
    fetch: Fetch<'_>,
) -> Option<()> {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(token) => plane.sample::<_, N, LINEAR>(token, Gather::Avx512(token), view, fetch),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(token) => plane.sample::<_, N, LINEAR>(token, Gather::Avx2(token), view, fetch),
        Isa::Baseline => plane.sample::<_, N, LINEAR>(Arrays, Gather::OneByOne, view, fetch),
    }
}

impl Plane {
    /// [`Sample`] with these vectors.
    #[inline(always)]
    fn sample<V: SamplingVectors, const N: usize, const LINEAR: bool>(
        &self,
        v: V,
        how: Gather,
        view: &mut View<'_>,
        fetch: Fetch<'_>,
    ) -> Option<()> {
        v.run(
            #[inline(always)]
            || {
                let Fetch { at: [x, y], out: [a, b, c, d], lanes, site } = fetch;
                let area = Area { start: self.start, bytes: self.bytes, site };
                let [a, b, c, d] = [blocks_mut(a), blocks_mut(b), blocks_mut(c), blocks_mut(d)];
                let at = blocks(x).iter().zip(blocks(y));
                let out = a.iter_mut().zip(b).zip(c).zip(d);
                for ((x, y), (((a, b), c), d)) in at.zip(out).take(lanes.div_ceil(BLOCK)) {
                    // By the vectors' function, as what was stored as one vector is loaded at once as one only.
                    let at = [v.load(x), v.load(y)];
                    match LINEAR {
                        true => self.interpolated::<V, N>(v, how, view, area, at, [a, b, c, d])?,
                        false => self.nearest::<V, N>(v, how, view, area, at, [a, b, c, d])?,
                    }
                }
                Some(())
            },
        )
    }

    /// Interpolates between the four texels around each lane's place.
    #[inline(always)]
    fn interpolated<V: SamplingVectors, const N: usize>(
        &self,
        v: V,
        how: Gather,
        view: &mut View<'_>,
        area: Area,
        [x, y]: [V::Words; 2],
        out: [&mut [u32; BLOCK]; 4],
    ) -> Option<()> {
        let (columns, lines) = (between(v, &self.axes[0], x), between(v, &self.axes[1], y));
        let [[a, b], [c, d]] = self.load::<V, N, 2, 2>(v, how, view, area, self.corners(v, &columns, &lines))?;
        let weights = Weights::new(v, columns.weight, lines.weight);
        // On their own: what is found of a word would be found of all kinds of numbers before the loop over channels.
        if let Reading::Number(Numbers::Float) = self.readings[0] {
            for (word, out) in out.into_iter().enumerate() {
                let word_of = |corner: &[V::Words; N]| corner[word % N];
                *out = match word < self.channels {
                    true => {
                        let terms = [word_of(&a), word_of(&b), word_of(&c), word_of(&d)];
                        v.store(weights.blend(v, Numbers::Float, false, terms, 0))
                    }
                    false => [0; BLOCK],
                };
            }
            return Some(());
        }
        for (channel, out) in out.into_iter().enumerate() {
            let (word, shift) = self.place(channel);
            let word = word % N;
            let (numbers, srgb) = match self.readings[channel] {
                Reading::Number(numbers) if channel < self.channels && numbers != Numbers::Float => (numbers, false),
                Reading::Srgb if channel < self.channels => (Numbers::Half, true),
                _ => {
                    *out = [0; BLOCK];
                    continue;
                }
            };
            *out = v.store(weights.blend(v, numbers, srgb, [a[word], b[word], c[word], d[word]], shift));
        }
        Some(())
    }

    /// Reads the texel that each lane's place lies in.
    #[inline(always)]
    fn nearest<V: SamplingVectors, const N: usize>(
        &self,
        v: V,
        how: Gather,
        view: &mut View<'_>,
        area: Area,
        [x, y]: [V::Words; 2],
        out: [&mut [u32; BLOCK]; 4],
    ) -> Option<()> {
        let (column, line) = (nearest(v, &self.axes[0], x), nearest(v, &self.axes[1], y));
        let place = v.add(self.across(v, column), self.down(v, line));
        let [[words]] = self.load::<V, N, 1, 1>(v, how, view, area, [[place]])?;
        for (channel, out) in out.into_iter().enumerate() {
            if channel >= self.channels {
                *out = [0; BLOCK];
                continue;
            }
            let (word, shift) = self.place(channel);
            *out = v.store(v.shr_by(words[word % N], shift));
            read(self.readings[channel], self.channel, out);
        }
        Some(())
    }

    /// The places of the four texels around each lane's, by row.
    #[inline(always)]
    fn corners<V: SamplingVectors>(
        &self,
        v: V,
        columns: &Between<V::Words>,
        lines: &Between<V::Words>,
    ) -> [[V::Words; 2]; 2] {
        let [left, right] = [self.across(v, columns.pair[0]), self.across(v, columns.pair[1])];
        let [upper, lower] = [self.down(v, lines.pair[0]), self.down(v, lines.pair[1])];
        [[v.add(left, upper), v.add(right, upper)], [v.add(left, lower), v.add(right, lower)]]
    }

    /// Bytes from the beginning of a row to a texel of it.
    #[inline(always)]
    fn across<V: SamplingVectors>(&self, v: V, column: V::Words) -> V::Words {
        v.shl_by(column, self.texel_bits)
    }

    /// Bytes from the first texel to a row.
    #[inline(always)]
    fn down<V: SamplingVectors>(&self, v: V, line: V::Words) -> V::Words {
        v.mul_words(line, v.splat(self.pitch))
    }

    /// The word that a channel lies in, and how far up.
    #[inline(always)]
    fn place(&self, channel: usize) -> (usize, u32) {
        let bits = 8 * self.channel.bytes() as u32;
        (channel * bits as usize / 32, channel as u32 * bits % 32)
    }

    /// The words of texels at these places. Of a texel of less than a word, it is in the low bits.
    #[inline(always)]
    fn load<V: SamplingVectors, const N: usize, const P: usize, const R: usize>(
        &self,
        v: V,
        how: Gather,
        view: &mut View<'_>,
        area: Area,
        places: [[V::Words; P]; R],
    ) -> Option<[[[V::Words; N]; P]; R]> {
        if self.texel >= WORD {
            return view.gather_in(v, area, &places, how);
        }
        let within = v.splat(WORD - 1);
        let mut whole = places;
        for offsets in whole.as_flattened_mut() {
            *offsets = v.sub(*offsets, v.and(*offsets, within));
        }
        let mut words = view.gather_in::<V, N, P, R>(v, area, &whole, how)?;
        for (words, offsets) in words.as_flattened_mut().iter_mut().zip(places.as_flattened()) {
            words[0] = v.shr_each(words[0], v.shl::<3>(v.and(*offsets, within)));
        }
        Some(words)
    }
}

/// The blocks of a row.
#[inline(always)]
fn blocks(row: &Row32) -> &[[u32; BLOCK]; BLOCKS] {
    pulp::bytemuck::cast_ref(row)
}

/// The same, to write.
#[inline(always)]
fn blocks_mut(row: &mut Row32) -> &mut [[u32; BLOCK]; BLOCKS] {
    pulp::bytemuck::cast_mut(row)
}

/// Makes results of one channel of texels, which lies in the low bits of their words.
#[inline(always)]
fn read(reading: Reading, channel: Channel, words: &mut [u32; BLOCK]) {
    /// One loop for each of these, in which it is known.
    macro_rules! known {
        ($($reading:pat, $channel:pat => $as:expr, $bits:expr;)+) => {
            match (reading, channel) {
                $(($reading, $channel) => for word in words {
                    *word = $as.result(extended(*word, $bits));
                })+
            }
        };
    }
    known!(
        Reading::Number(Numbers::Unsigned8), _ => Reading::Number(Numbers::Unsigned8), Channel::U8;
        Reading::Number(Numbers::Signed8), _ => Reading::Number(Numbers::Signed8), Channel::S8;
        Reading::Number(Numbers::Unsigned16), _ => Reading::Number(Numbers::Unsigned16), Channel::U16;
        Reading::Number(Numbers::Signed16), _ => Reading::Number(Numbers::Signed16), Channel::S16;
        Reading::Number(Numbers::Half), _ => Reading::Number(Numbers::Half), Channel::F16;
        Reading::Number(Numbers::Float), _ => Reading::Whole, Channel::F32;
        Reading::Srgb, _ => Reading::Srgb, Channel::U8;
        Reading::Whole, Channel::U8 => Reading::Whole, Channel::U8;
        Reading::Whole, Channel::S8 => Reading::Whole, Channel::S8;
        Reading::Whole, Channel::U16 => Reading::Whole, Channel::U16;
        Reading::Whole, Channel::S16 => Reading::Whole, Channel::S16;
        Reading::Whole, _ => Reading::Whole, Channel::U32;
    )
}
