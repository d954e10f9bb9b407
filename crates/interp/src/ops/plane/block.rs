//! Texels of a plane for a warp at once. What it computes is `numerics`' as in `sampling`; what is decided once for the texture is not asked for each warp.

use std::array::from_mut;

use bytemuck::{cast_slice, cast_slice_mut};
use warploom_exec::memory::{Blocks, Gathers, Readable, Room, Rows, near_in_rows};
use warploom_exec::texture::Channel;
use warploom_numerics::texture::block::{Between, Terms, Weights, blend, terms_of};
use warploom_numerics::texture::{Numbers, SamplingVectors};
use warploom_numerics::vector::{Arrays, WordVectors};

use super::{Plane, WORD};
use crate::frame::Row32;
use crate::isa::Isa;
use crate::ops::sampling::{Reading, extended};

/// Of a warp.
pub(super) const LANES: usize = 32;

/// Four channels, in the first halves of places such as steps have for results.
pub(super) type Channels = [[Row32; 2]; 4];

/// What one fetch is about.
pub(super) struct Fetch<'a> {
    pub(super) plane: &'a Plane,
    pub(super) memory: Readable<'a>,
    /// The coordinates of each lane, x first.
    pub(super) at: [&'a Row32; 2],
    /// 0 where a texel has none.
    pub(super) out: &'a mut Channels,
    /// As many as there are, from the first on.
    pub(super) lanes: usize,
}

/// [`Plane::fetch`], for one kind of textures and processors. One pointer is handed over, as what runs with a processor's instructions is a function of its own.
pub(super) type Sample = fn(&mut Fetch<'_>) -> Option<()>;

/// How texels become results, as far as functions are made for it: what is asked for each warp costs more than what is then computed.
trait Filter {
    /// The one for processors without vectors, of which there are few: functions for each kind of numbers would be most of what is compiled here.
    type Baseline: Filter;
    /// Between the texels around a place, or the nearest.
    const LINEAR: bool;
    /// What sums are of, where all channels are read alike.
    const NUMBERS: Option<Numbers>;
}

/// The filters that functions are made for.
macro_rules! filters {
    ($($name:ident: $baseline:ident, $linear:expr, $numbers:expr;)+) => {
        $(struct $name;

        impl Filter for $name {
            type Baseline = $baseline;
            const LINEAR: bool = $linear;
            const NUMBERS: Option<Numbers> = $numbers;
        })+
    };
}

filters!(
    Nearest: Nearest, false, None;
    Mixed: Mixed, true, None;
    Unsigned8: Mixed, true, Some(Numbers::Unsigned8);
    Unsigned16: Mixed, true, Some(Numbers::Unsigned16);
    Signed8: Mixed, true, Some(Numbers::Signed8);
    Signed16: Mixed, true, Some(Numbers::Signed16);
    Half: Mixed, true, Some(Numbers::Half);
    Float: Mixed, true, Some(Numbers::Float);
);

/// What samples textures whose texels have so many bytes, and channels that are read like this.
pub(super) fn sample_for(isa: Isa, texel: u32, linear: bool, readings: &[Reading]) -> Sample {
    if !linear {
        return sized::<Nearest>(isa, texel);
    }
    let alike = readings.windows(2).all(|pair| pair[0] == pair[1]);
    match readings.first().filter(|_| alike) {
        Some(Reading::Number(Numbers::Unsigned8)) => small::<Unsigned8>(isa, texel),
        Some(Reading::Number(Numbers::Signed8)) => small::<Signed8>(isa, texel),
        Some(Reading::Number(Numbers::Unsigned16)) => middle::<Unsigned16>(isa, texel),
        Some(Reading::Number(Numbers::Signed16)) => middle::<Signed16>(isa, texel),
        Some(Reading::Number(Numbers::Half)) => middle::<Half>(isa, texel),
        Some(Reading::Number(Numbers::Float)) => large::<Float>(isa, texel),
        _ => sized::<Mixed>(isa, texel),
    }
}

/// The function for texels of so many bytes.
fn sized<F: Filter>(isa: Isa, texel: u32) -> Sample {
    if texel < WORD { small::<F>(isa, texel) } else { large::<F>(isa, texel) }
}

/// The same for texels of one word at most.
fn small<F: Filter>(isa: Isa, texel: u32) -> Sample {
    match texel {
        1 => sample::<F, 1, 1>(isa),
        2 => sample::<F, 2, 1>(isa),
        _ => sample::<F, 4, 1>(isa),
    }
}

/// The same for texels of 2 to 8 bytes.
fn middle<F: Filter>(isa: Isa, texel: u32) -> Sample {
    match texel {
        2 => sample::<F, 2, 1>(isa),
        4 => sample::<F, 4, 1>(isa),
        _ => sample::<F, 4, 2>(isa),
    }
}

/// The same for texels of whole words.
fn large<F: Filter>(isa: Isa, texel: u32) -> Sample {
    match texel {
        4 => sample::<F, 4, 1>(isa),
        8 => sample::<F, 4, 2>(isa),
        _ => sample::<F, 4, 4>(isa),
    }
}

/// The same for texels of `N` words, or of one of which `WIDTH` bytes are there.
fn sample<F: Filter, const WIDTH: usize, const N: usize>(isa: Isa) -> Sample {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(_) => avx512::sample::<F, WIDTH, N>,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) => avx2::sample::<F, WIDTH, N>,
        Isa::Baseline => baseline::<F::Baseline, WIDTH, N>,
    }
}

/// [`Sample`] without vectors.
fn baseline<F: Filter, const WIDTH: usize, const N: usize>(fetch: &mut Fetch<'_>) -> Option<()> {
    fetch.run::<_, F, WIDTH, N>(Arrays)
}

/// [`Sample`] for kinds of processors, each in a module of its own: these functions are much of what the crate compiles to, and all of a module is compiled as one.
macro_rules! processors {
    ($($module:ident: $isa:ident, $vectors:expr;)+) => {
        $(#[cfg(target_arch = "x86_64")]
        mod $module {
            use super::{Fetch, Filter, Isa};

            pub(super) fn sample<F: Filter, const WIDTH: usize, const N: usize>(fetch: &mut Fetch<'_>) -> Option<()> {
                let Isa::$isa(token) = fetch.plane.isa else { return None };
                fetch.run::<_, F, WIDTH, N>($vectors(token))
            }
        })+
    };
}

processors!(
    avx512: Avx512, std::convert::identity;
    avx2: Avx2, warploom_numerics::vector::Eight;
);

/// Two blocks of lanes, as they lie in a row.
type Pair<V> = [<V as WordVectors>::Lanes; 2];

/// Whether two blocks are done at once. Where they have no room in the registers, they have to be of little work for that.
const fn are_paired<V: Gathers, F: Filter, const N: usize>() -> bool {
    let little = N == 1 && !matches!(F::NUMBERS, Some(Numbers::Half));
    V::WINDOW.is_some() && (block_of::<V>() == LANES / 2 || little)
}

/// The lanes of a block.
const fn block_of<V: WordVectors>() -> usize {
    size_of::<V::Lanes>() / size_of::<u32>()
}

/// What planes are sampled with.
trait Sampling: SamplingVectors + Gathers {}

impl<V: SamplingVectors + Gathers> Sampling for V {}

/// Where all lanes that are looked at lie along the second dimension: threads that follow each other mostly read along rows.
struct Line<'m, V: Sampling, const WIDTH: usize, const N: usize> {
    /// The word of the coordinate, of all lanes.
    at: V::Words,
    /// Both rows, where windows lie in them.
    rows: Option<Rows<'m, V, WIDTH, N, 2>>,
    /// Of the second row.
    weight: V::Words,
}

impl<V: Sampling, const WIDTH: usize, const N: usize> Clone for Line<'_, V, WIDTH, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: Sampling, const WIDTH: usize, const N: usize> Copy for Line<'_, V, WIDTH, N> {}

impl Fetch<'_> {
    /// [`Sample`] with these vectors.
    #[inline(always)]
    fn run<V: Sampling, F: Filter, const WIDTH: usize, const N: usize>(&mut self, v: V) -> Option<()> {
        v.run(
            #[inline(always)]
            || {
                let &mut Fetch { plane, memory, at: [x, y], ref mut out, lanes } = self;
                let [[a, _], [b, _], [c, _], [d, _]] = out;
                let (x, y): (&[Pair<V>], &[Pair<V>]) = (cast_slice(x), cast_slice(y));
                let [a, b, c, d]: [&mut [Pair<V>]; 4] =
                    [cast_slice_mut(a), cast_slice_mut(b), cast_slice_mut(c), cast_slice_mut(d)];
                let mut line = F::LINEAR.then(|| plane.line(v, memory, v.load(&y[0][0])));
                let out = a.iter_mut().zip(b).zip(c).zip(d);
                for (pair, ((x, y), (((a, b), c), d))) in x.iter().zip(y).zip(out).enumerate() {
                    let blocks = lanes.div_ceil(block_of::<V>()).saturating_sub(2 * pair);
                    // By the vectors' function, as what was stored as one vector is loaded at once as one only.
                    let at = [[v.load(&x[0]), v.load(&x[1])], [v.load(&y[0]), v.load(&y[1])]];
                    if let Some(line) = &mut line
                        && blocks > 1
                        && are_paired::<V, F, N>()
                    {
                        if pair != 0 && v.any(v.xor(at[1][0], line.at)) {
                            *line = plane.line(v, memory, at[1][0]);
                        }
                        if plane.along_lines::<V, F, WIDTH, N>(v, memory, line, at, [a, b, c, d]) {
                            continue;
                        }
                    }
                    for block in 0..blocks.min(2) {
                        let at = [v.load(&x[block]), v.load(&y[block])];
                        let out = [
                            from_mut(&mut a[block]),
                            from_mut(&mut b[block]),
                            from_mut(&mut c[block]),
                            from_mut(&mut d[block]),
                        ];
                        match &mut line {
                            Some(line) => plane.interpolated::<V, F, WIDTH, N>(v, memory, line, at, out)?,
                            None => plane.nearest::<V, WIDTH, N>(v, memory, at, out)?,
                        }
                    }
                }
                Some(())
            },
        )
    }
}

impl Plane {
    /// Of all lanes with the first one's coordinate.
    #[inline(always)]
    fn line<'m, V: Sampling, const WIDTH: usize, const N: usize>(
        &self,
        v: V,
        memory: Readable<'m>,
        y: V::Words,
    ) -> Line<'m, V, WIDTH, N> {
        let at = v.splat(v.first(y));
        let Between { pair: [upper, lower], weight } = self.rulers[1].between(v, at);
        let rows = memory.rows([v.first(upper) * self.pitch, v.first(lower) * self.pitch]);
        Line { at, rows, weight }
    }

    /// Interpolates for two blocks at once, where the lanes of each lie along a line and near to each other: what is found for one block does not wait for the other. `line` is that
    /// of the first lane, and then of the second block. False where they do not; what is written then means nothing.
    #[inline(always)]
    fn along_lines<'m, V: Sampling, F: Filter, const WIDTH: usize, const N: usize>(
        &self,
        v: V,
        memory: Readable<'m>,
        line: &mut Line<'m, V, WIDTH, N>,
        [[x, next_x], [y, next_y]]: [[V::Words; 2]; 2],
        out: [&mut Pair<V>; 4],
    ) -> bool {
        let columns = [self.rulers[0].between(v, x), self.rulers[0].between(v, next_x)];
        let next = if v.any(v.xor(next_y, line.at)) { self.line(v, memory, next_y) } else { *line };
        if v.any(v.or(v.xor(y, line.at), v.xor(next_y, next.at))) {
            return false;
        }
        let [own, next_own] = &columns;
        let pairs = [own.pair, next_own.pair];
        let [Some(rows), Some(next_rows)] = [line.rows, next.rows] else { return false };
        let mut room = Room::default();
        let Some(corners) = near_in_rows(v, [rows, next_rows], &pairs, &mut room) else { return false };
        let weights = [Weights::new(v, own.weight, line.weight), Weights::new(v, next_own.weight, next.weight)];
        self.blended::<V, F, WIDTH, N, 2>(v, &weights, corners, out);
        *line = next;
        true
    }

    /// Interpolates between the four texels around each lane's place. `line` is that of some lanes before, and then of these.
    #[inline(always)]
    fn interpolated<'m, V: Sampling, F: Filter, const WIDTH: usize, const N: usize>(
        &self,
        v: V,
        memory: Readable<'m>,
        line: &mut Line<'m, V, WIDTH, N>,
        [x, y]: [V::Words; 2],
        out: [&mut [V::Lanes; 1]; 4],
    ) -> Option<()> {
        let columns = self.rulers[0].between(v, x);
        if v.any(v.xor(y, line.at)) {
            *line = self.line(v, memory, y);
        }
        let mut room = Room::default();
        let near = match line.rows {
            Some(rows) if !v.any(v.xor(y, line.at)) => near_in_rows(v, [rows], &[columns.pair], &mut room),
            _ => None,
        };
        let mut anywhere;
        let (corners, weight) = match near {
            Some(corners) => (corners, line.weight),
            None => {
                let lines = self.rulers[1].between(v, y);
                anywhere = [[[[V::Lanes::default(); N]; 2]; 2]];
                self.anywhere::<V, WIDTH, N>(v, memory, [&columns.pair, &lines.pair], &mut anywhere)?;
                (&anywhere, lines.weight)
            }
        };
        self.blended::<V, F, WIDTH, N, 1>(v, &[Weights::new(v, columns.weight, weight)], corners, out);
        Some(())
    }

    /// Makes results of the texels around each lane's place: of each block, by row. Floats are read alike in all channels.
    #[inline(always)]
    fn blended<V: Sampling, F: Filter, const WIDTH: usize, const N: usize, const B: usize>(
        &self,
        v: V,
        weights: &[Weights<V>; B],
        corners: &Blocks<V::Lanes, N, 2, 2, B>,
        out: [&mut [V::Lanes; B]; 4],
    ) {
        let mut words = [[[v.splat(0); 4]; N]; B];
        for (words, [[a, b], [c, d]]) in words.iter_mut().zip(corners) {
            for (word, four) in words.iter_mut().enumerate() {
                *four = [v.load(&a[word]), v.load(&b[word]), v.load(&c[word]), v.load(&d[word])];
            }
        }
        let Some(numbers) = F::NUMBERS else {
            for (channel, out) in out.into_iter().enumerate() {
                if channel >= self.channels {
                    *out = [V::Lanes::default(); B];
                    continue;
                }
                let numbers = self.readings[channel].numbers();
                for ((out, weights), words) in out.iter_mut().zip(weights).zip(&words) {
                    let (word, shift) = within(channel, numbers.bits());
                    *out = mean_of_any(v, numbers, weights, &words[word % N], shift);
                }
            }
            return;
        };
        let known = terms_of(v, numbers, &words);
        // The size of a texel says how many there are. Written out: in a loop texels would lie in memory.
        macro_rules! channels {
            ($($channel:literal $out:ident)+) => {
                $(if $channel < 8 * WIDTH * N / numbers.bits() as usize {
                    mean::<V, WIDTH, N, B>(v, numbers, known, weights, &words, $channel, $out);
                } else {
                    *$out = [V::Lanes::default(); B];
                })+
            };
        }
        let [a, b, c, d] = out;
        channels!(0 a 1 b 2 c 3 d);
    }

    /// Reads the texel that each lane's place lies in.
    #[inline(always)]
    fn nearest<V: Sampling, const WIDTH: usize, const N: usize>(
        &self,
        v: V,
        memory: Readable<'_>,
        [x, y]: [V::Words; 2],
        out: [&mut [V::Lanes; 1]; 4],
    ) -> Option<()> {
        let (column, line) = (self.rulers[0].nearest(v, x), self.rulers[1].nearest(v, y));
        let place = v.add(self.across(v, column), self.down(v, line));
        let [[words]] = self.load::<V, WIDTH, N, 1, 1>(v, memory, [[place]])?;
        for (channel, [out]) in out.into_iter().enumerate() {
            if channel >= self.channels {
                *out = V::Lanes::default();
                continue;
            }
            let (word, shift) = within(channel, 8 * self.channel.bytes() as u32);
            *out = v.store(v.shr_by(words[word % N], shift));
            read(self.readings[channel], self.channel, out.as_mut());
        }
        Some(())
    }

    /// Reads the four texels around each lane's place, by row, wherever they lie. A call, as it is the same for all kinds of numbers.
    #[inline(never)]
    fn anywhere<V: Sampling, const WIDTH: usize, const N: usize>(
        &self,
        v: V,
        memory: Readable<'_>,
        [columns, lines]: [&[V::Words; 2]; 2],
        [corners]: &mut Blocks<V::Lanes, N, 2, 2, 1>,
    ) -> Option<()> {
        v.run(
            #[inline(always)]
            || {
                let [left, right] = [self.across(v, columns[0]), self.across(v, columns[1])];
                let [upper, lower] = [self.down(v, lines[0]), self.down(v, lines[1])];
                let places = [[v.add(left, upper), v.add(right, upper)], [v.add(left, lower), v.add(right, lower)]];
                let loaded = self.load::<V, WIDTH, N, 2, 2>(v, memory, places)?;
                let to = corners.as_flattened_mut().as_flattened_mut();
                for (corner, loaded) in to.iter_mut().zip(loaded.as_flattened().as_flattened()) {
                    *corner = v.store(*loaded);
                }
                Some(())
            },
        )
    }

    /// Bytes from the beginning of a row to a texel of it.
    #[inline(always)]
    fn across<V: Sampling>(&self, v: V, column: V::Words) -> V::Words {
        v.shl_by(column, self.texel_bits)
    }

    /// Bytes from the first texel to a row.
    #[inline(always)]
    fn down<V: Sampling>(&self, v: V, line: V::Words) -> V::Words {
        v.mul_words(line, v.splat(self.pitch))
    }

    /// The words of texels at these places. Of a texel of less than a word, it is in the low bits, below zeros.
    #[inline(always)]
    fn load<V: Sampling, const WIDTH: usize, const N: usize, const P: usize, const R: usize>(
        &self,
        v: V,
        memory: Readable<'_>,
        places: [[V::Words; P]; R],
    ) -> Option<[[[V::Words; N]; P]; R]> {
        if WIDTH == WORD as usize {
            return memory.gather(v, &places);
        }
        let within = v.splat(WORD - 1);
        let mut whole = places;
        for offsets in whole.as_flattened_mut() {
            *offsets = v.sub(*offsets, v.and(*offsets, within));
        }
        let mut words = memory.gather::<V, N, P, R>(v, &whole)?;
        for (words, offsets) in words.as_flattened_mut().iter_mut().zip(places.as_flattened()) {
            words[0] = v.shr_each(words[0], v.shl::<3>(v.and(*offsets, within)));
            words[0] = v.and(words[0], v.splat((1 << (8 * WIDTH)) - 1));
        }
        Some(words)
    }
}

/// Makes results of a channel of texels, of which these are the words, four of each.
#[inline(always)]
fn mean<V: SamplingVectors, const WIDTH: usize, const N: usize, const B: usize>(
    v: V,
    numbers: Numbers,
    known: Terms,
    weights: &[Weights<V>; B],
    words: &[[[V::Words; 4]; N]; B],
    channel: usize,
    out: &mut [V::Lanes; B],
) {
    let (word, shift) = within(channel, numbers.bits());
    let mut four = [[v.splat(0); 4]; B];
    for (four, words) in four.iter_mut().zip(words) {
        *four = words[word % N];
    }
    for (out, results) in out.iter_mut().zip(blend::<V, WIDTH, B>(v, numbers, known, weights, &four, shift)) {
        *out = v.store(results);
    }
}

/// The same of one block and of numbers that no function is made for. A call: all kinds of numbers are much code, and every size of texels would have it.
#[inline(never)]
fn mean_of_any<V: SamplingVectors>(
    v: V,
    numbers: Numbers,
    weights: &Weights<V>,
    words: &[V::Words; 4],
    shift: u32,
) -> V::Lanes {
    v.run(
        #[inline(always)]
        || {
            let known = terms_of(v, numbers, &[[*words]]);
            let [mean] = blend::<V, 4, 1>(v, numbers, known, &[*weights], &[*words], shift);
            v.store(mean)
        },
    )
}

/// The word that a channel of so many bits lies in, and how far up.
#[inline(always)]
fn within(channel: usize, bits: u32) -> (usize, u32) {
    (channel * bits as usize / 32, channel as u32 * bits % 32)
}

/// Makes results of one channel of texels, which lies in the low bits of their words.
#[inline(always)]
fn read(reading: Reading, channel: Channel, words: &mut [u32]) {
    const AS_IT_IS: Reading = Reading::Number(Numbers::Whole { bits: 32, signed: false });
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
        Reading::Number(Numbers::Float), _ => AS_IT_IS, Channel::F32;
        Reading::Number(Numbers::Srgb), _ => Reading::Number(Numbers::Srgb), Channel::U8;
        Reading::Number(Numbers::Whole { .. }), Channel::U8 => AS_IT_IS, Channel::U8;
        Reading::Number(Numbers::Whole { .. }), Channel::S8 => AS_IT_IS, Channel::S8;
        Reading::Number(Numbers::Whole { .. }), Channel::U16 => AS_IT_IS, Channel::U16;
        Reading::Number(Numbers::Whole { .. }), Channel::S16 => AS_IT_IS, Channel::S16;
        // No plane is of packed words.
        Reading::Number(Numbers::Whole { .. }) | Reading::Packed(_), _ => AS_IT_IS, Channel::U32;
    )
}
