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

/// How texels become results, as far as functions are made for it: what is asked for each warp costs more than what is then computed.
trait Filter {
    /// Between the texels around a place, or the nearest.
    const LINEAR: bool;
    /// What sums are of, where all channels are read alike.
    const NUMBERS: Option<Numbers>;
}

/// The filters that functions are made for.
macro_rules! filters {
    ($($name:ident: $linear:expr, $numbers:expr;)+) => {
        $(struct $name;

        impl Filter for $name {
            const LINEAR: bool = $linear;
            const NUMBERS: Option<Numbers> = $numbers;
        })+
    };
}

filters!(
    Nearest: false, None;
    Mixed: true, None;
    Unsigned8: true, Some(Numbers::Unsigned8);
    Unsigned16: true, Some(Numbers::Unsigned16);
    Signed8: true, Some(Numbers::Signed8);
    Signed16: true, Some(Numbers::Signed16);
    Half: true, Some(Numbers::Half);
    Float: true, Some(Numbers::Float);
);

/// What samples textures whose texels have so many bytes, and channels that are read like this.
pub(super) fn sample_for(texel: u32, linear: bool, readings: &[Reading]) -> Sample {
    if !linear {
        return sized::<Nearest>(texel);
    }
    let alike = readings.windows(2).all(|pair| pair[0] == pair[1]);
    match readings.first().filter(|_| alike) {
        Some(Reading::Number(Numbers::Unsigned8)) => sample::<Unsigned8, 1>,
        Some(Reading::Number(Numbers::Signed8)) => sample::<Signed8, 1>,
        Some(Reading::Number(Numbers::Unsigned16)) => small::<Unsigned16>(texel),
        Some(Reading::Number(Numbers::Signed16)) => small::<Signed16>(texel),
        Some(Reading::Number(Numbers::Half)) => small::<Half>(texel),
        Some(Reading::Number(Numbers::Float)) => sized::<Float>(texel),
        _ => sample::<Mixed, 1>,
    }
}

/// The function for texels of so many bytes.
fn sized<F: Filter>(texel: u32) -> Sample {
    if texel > 2 * WORD { sample::<F, 4> } else { small::<F>(texel) }
}

/// The same for texels of two words at most.
fn small<F: Filter>(texel: u32) -> Sample {
    if texel > WORD { sample::<F, 2> } else { sample::<F, 1> }
}

fn sample<F: Filter, const N: usize>(plane: &Plane, isa: Isa, view: &mut View<'_>, mut fetch: Fetch<'_>) -> Option<()> {
    let fetch = &mut fetch;
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(token) => plane.sample::<_, F, N>(token, Gather::Avx512(token), view, fetch),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(token) => plane.sample::<_, F, N>(token, Gather::Avx2(token), view, fetch),
        Isa::Baseline => plane.sample::<_, F, N>(Arrays, Gather::OneByOne, view, fetch),
    }
}

/// Where all lanes that are looked at lie along the second dimension: threads that follow each other mostly read along rows.
#[derive(Clone, Copy)]
struct Line<W> {
    /// The word of the coordinate, of all lanes.
    at: W,
    /// Bytes from the first texel to each row.
    rows: [u32; 2],
    /// Of the second row.
    weight: W,
}

impl Plane {
    /// [`Sample`] with these vectors.
    #[inline(always)]
    fn sample<V: SamplingVectors, F: Filter, const N: usize>(
        &self,
        v: V,
        how: Gather,
        view: &mut View<'_>,
        fetch: &mut Fetch<'_>,
    ) -> Option<()> {
        v.run(
            #[inline(always)]
            || {
                let Fetch { at: [x, y], out: [a, b, c, d], lanes, site } = fetch;
                let area = Area { start: self.start, bytes: self.bytes, site: *site };
                let [a, b, c, d] = [blocks_mut(a), blocks_mut(b), blocks_mut(c), blocks_mut(d)];
                let at = blocks(x).iter().zip(blocks(y));
                let out = a.iter_mut().zip(b).zip(c).zip(d);
                let line = F::LINEAR.then(|| self.line(v, y[0]));
                for ((x, y), (((a, b), c), d)) in at.zip(out).take(lanes.div_ceil(BLOCK)) {
                    // By the vectors' function, as what was stored as one vector is loaded at once as one only.
                    let at = [v.load(x), v.load(y)];
                    match line {
                        Some(line) => self.interpolated::<V, F, N>(v, how, (view, area), line, at, [a, b, c, d])?,
                        None => self.nearest::<V, N>(v, how, view, area, at, [a, b, c, d])?,
                    }
                }
                Some(())
            },
        )
    }

    /// Of all lanes with this coordinate.
    #[inline(always)]
    fn line<V: SamplingVectors>(&self, v: V, y: u32) -> Line<V::Words> {
        let at = v.splat(y);
        let Between { pair: [upper, lower], weight } = between(v, &self.axes[1], at);
        let [[upper, ..], [lower, ..]] = [v.store(upper), v.store(lower)];
        Line { at, rows: [upper * self.pitch, lower * self.pitch], weight }
    }

    /// Interpolates between the four texels around each lane's place.
    #[inline(always)]
    fn interpolated<V: SamplingVectors, F: Filter, const N: usize>(
        &self,
        v: V,
        how: Gather,
        (view, area): (&mut View<'_>, Area),
        line: Line<V::Words>,
        [x, y]: [V::Words; 2],
        out: [&mut [u32; BLOCK]; 4],
    ) -> Option<()> {
        let columns = between(v, &self.axes[0], x);
        let in_line = !v.any(v.xor(y, line.at));
        if in_line && let Some(corners) = self.load_line::<V, N>(v, how, view, area, &columns, line.rows) {
            self.blended::<V, F, N>(v, [columns.weight, line.weight], &corners, out);
            return Some(());
        }
        let lines = between(v, &self.axes[1], y);
        let corners = self.load::<V, N, 2, 2>(v, how, view, area, self.corners(v, &columns, &lines))?;
        self.blended::<V, F, N>(v, [columns.weight, lines.weight], &corners, out);
        Some(())
    }

    /// Makes results of the texels around each lane's place, by row.
    #[inline(always)]
    fn blended<V: SamplingVectors, F: Filter, const N: usize>(
        &self,
        v: V,
        [x, y]: [V::Words; 2],
        [[a, b], [c, d]]: &[[[V::Words; N]; 2]; 2],
        out: [&mut [u32; BLOCK]; 4],
    ) {
        let weights = Weights::new(v, x, y);
        for (channel, out) in out.into_iter().enumerate() {
            if channel >= self.channels {
                *out = [0; BLOCK];
                continue;
            }
            let bits = match F::NUMBERS {
                Some(numbers) => numbers.bits(),
                None => 8 * self.channel.bytes() as u32,
            };
            let (word, shift) = within(channel, bits);
            let word = word % N;
            let (numbers, srgb) = match (F::NUMBERS, self.readings[channel]) {
                (Some(numbers), _) | (None, Reading::Number(numbers)) => (numbers, false),
                _ => (Numbers::Half, true),
            };
            *out = v.store(weights.blend(v, numbers, srgb, [a[word], b[word], c[word], d[word]], shift));
        }
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
            let (word, shift) = within(channel, 8 * self.channel.bytes() as u32);
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

    /// The texels of these columns in two rows, where they lie near to each other.
    #[inline(always)]
    fn load_line<V: SamplingVectors, const N: usize>(
        &self,
        v: V,
        how: Gather,
        view: &mut View<'_>,
        area: Area,
        columns: &Between<V::Words>,
        rows: [u32; 2],
    ) -> Option<[[[V::Words; N]; 2]; 2]> {
        let columns = [self.across(v, columns.pair[0]), self.across(v, columns.pair[1])];
        if self.texel >= WORD {
            return view.near_in_rows(v, area, (rows, &columns), how);
        }
        // Rows that begin within a word are refused.
        let within = columns.map(
            #[inline(always)]
            |column| v.and(column, v.splat(WORD - 1)),
        );
        let whole = [v.sub(columns[0], within[0]), v.sub(columns[1], within[1])];
        let mut words = view.near_in_rows::<V, N, 2, 2>(v, area, (rows, &whole), how)?;
        for row in &mut words {
            for (words, within) in row.iter_mut().zip(within) {
                words[0] = v.shr_each(words[0], v.shl::<3>(within));
            }
        }
        Some(words)
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

/// The word that a channel of so many bits lies in, and how far up.
#[inline(always)]
fn within(channel: usize, bits: u32) -> (usize, u32) {
    (channel * bits as usize / 32, channel as u32 * bits % 32)
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
        // No plane is of packed words.
        Reading::Whole | Reading::Packed(_), _ => Reading::Whole, Channel::U32;
    )
}
