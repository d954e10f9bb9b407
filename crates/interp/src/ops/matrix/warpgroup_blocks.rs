//! Products of a warpgroup whose factors come from shared memory by whole tiles, as registers have them, and need no panels between: those of `.f16`, `.bf16`, `.tf32`, floats of 8 bits and bytes.

use bytemuck::{cast_slice_mut, pod_read_unaligned};
use warploom_exec::fault::FaultKind;
use warploom_numerics::matrix::block::{self, COLUMNS, Sums as Block};
use warploom_numerics::matrix::{Accumulation, Sizes, Vectors, real};
use warploom_numerics::vector::Arrays;
use warploom_ptx::ir::{ScalarType, Step};

use super::descriptor::{Descriptor, UNIT};
use super::direct::hand_over;
use super::fragments::{
    Ready, block_of_bytes, can_be_subnormal, make_left, make_right, of_block, per_register, read, write,
};
use super::product::{Panels, of};
use super::short::{self, is_short};
use super::tile::transposed;
use super::warpgroup::{Factor, ROWS, WARPS, WarpgroupSite};
use crate::cta::CtaShared;
use crate::frame::Row32;
use crate::isa::Isa;
use crate::machine::{INVERT, Machine};
use crate::ops::shared::range;
use crate::program::{Function, ValuePlace};

/// Rows or columns of a tile, and its units.
const EIGHT: usize = 8;

impl WarpgroupSite {
    /// Whether the product is one for this.
    pub(super) fn is_of_blocks(&self) -> bool {
        let wide = matches!(self.a_ty, ScalarType::F16 | ScalarType::Bf16 | ScalarType::Tf32);
        let bytes = [self.a_ty, self.b_ty].iter().all(|ty| matches!(ty, ScalarType::S8 | ScalarType::U8));
        let real = self.scheme.is_some() && (is_short(self.a_ty) || (wide && self.a_ty == self.b_ty));
        self.sparse.is_none() && (real || (bytes && !self.satfinite && !self.negative))
    }

    /// What turns the sign of a word's elements, if products have the opposite one.
    fn signs(&self) -> u32 {
        match (self.negative, self.a_ty) {
            (false, _) => 0,
            (true, ScalarType::Tf32) => 1 << 31,
            (true, ty) if is_short(ty) => 0x8080_8080,
            (true, _) => 0x8000_8000,
        }
    }
}

/// What a warp computes its part of a product with, beside registers.
struct Given<'a> {
    isa: Isa,
    /// The CTA's.
    shared: &'a [u8],
    /// The descriptor of the left factor if it lies in shared memory, and that of the right one.
    left: Option<Descriptor>,
    right: Descriptor,
    /// The warp's number.
    warp: u32,
    /// Whether there are summands.
    adds: bool,
}

impl Machine<'_> {
    /// Computes a warp's part of a product; `false` if not all of its factors are in the CTA's shared memory: then nothing has changed.
    #[inline(never)]
    pub(super) fn warpgroup_blocks(&mut self, site: &WarpgroupSite, panels: &mut Panels) -> Result<bool, FaultKind> {
        let descriptor_of = |factor: &Factor| match factor {
            Factor::Registers(_) => Ok(None),
            Factor::Shared { descriptor, .. } => self.matrix_descriptor(*descriptor).map(Some),
        };
        let (left, Some(right)) = (descriptor_of(&site.a)?, descriptor_of(&site.b)?) else { return Ok(false) };
        let (isa, warp, adds) = (self.isa, self.warp.index, self.predicate(site.adds) & 1 != 0);
        let given = Given { isa, shared: &self.cta.shared, left, right, warp, adds };
        Ok(by_blocks(site, &given, &mut self.frame.r32, panels))
    }
}

/// Computes a warp's part of a product, whose rows are those of `registers`; `false` if not all of its factors are in shared memory: then nothing has changed.
fn by_blocks(site: &WarpgroupSite, given: &Given<'_>, registers: &mut [Row32], panels: &mut Panels) -> bool {
    let &Factor::Shared { transposed, .. } = &site.b else { return false };
    let mut left = [[0; 32]; 4];
    match (&site.a, &given.left) {
        (&Factor::Shared { transposed, .. }, Some(descriptor)) => {
            let first = given.warp as usize % WARPS * (ROWS / EIGHT);
            for (number, tile) in left.iter_mut().enumerate() {
                if !load_tile(given.shared, descriptor, transposed, (first + number % 2, number / 2), tile) {
                    return false;
                }
            }
        }
        (Factor::Registers(panel), _) => {
            for (tile, row) in left.iter_mut().zip(&panel.rows) {
                *tile = registers[*row as usize];
            }
        }
        _ => return false,
    }
    let signs = site.signs();
    left.as_flattened_mut().iter_mut().for_each(|word| *word ^= signs);
    let Panels { ready, tiles, .. } = panels;
    let tiles = of(tiles, 2 * site.sizes.n / EIGHT);
    for (number, tile) in tiles.iter_mut().enumerate() {
        if !load_tile(given.shared, &given.right, transposed, (number / 2, number % 2), tile) {
            return false;
        }
    }
    let blocks = Blocks {
        how: site.scheme.map(|scheme| scheme.accumulation),
        ty: [site.a_ty, site.b_ty],
        sums: site.d_ty,
        left: &left,
        right: tiles,
        c: given.adds.then_some(&site.c.rows),
        d: &site.d.rows,
    };
    match given.isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(token) => multiply_blocks(token, &blocks, registers, ready),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(token) => multiply_blocks(token, &blocks, registers, ready),
        Isa::Baseline => multiply_blocks(Arrays, &blocks, registers, ready),
    }
    true
}

/// A product of any number of blocks side by side: the tiles of its factors follow each other, and registers of summands, if there are any, and results lie where they do.
struct Blocks<'a> {
    /// None of integers.
    how: Option<Accumulation>,
    /// Of factors.
    ty: [ScalarType; 2],
    /// Of summands and results.
    sums: ScalarType,
    left: &'a [Row32; 4],
    /// Two of each block.
    right: &'a [Row32],
    c: Option<&'a [u32]>,
    d: &'a [u32],
}

impl Blocks<'_> {
    /// The summands of a block, or zeros.
    #[inline(always)]
    fn summands<V: Vectors>(&self, v: V, number: usize, registers: &[Row32]) -> Block<V> {
        match self.c {
            Some(rows) => read(v, self.sums, of_block(self.sums, rows, number), registers),
            None => [v.splat(0); COLUMNS],
        }
    }

    /// The results of a block.
    #[inline(always)]
    fn write<V: Vectors>(&self, v: V, number: usize, registers: &mut [Row32], results: &Block<V>) {
        write(v, self.sums, of_block(self.sums, self.d, number), registers, results);
    }
}

/// Computes it, whatever the operands are.
#[inline(always)]
fn multiply_blocks<V: Vectors>(v: V, of: &Blocks<'_>, registers: &mut [Row32], ready: &mut Ready) {
    let Blocks { how: Some(how), ty: [ty, _], .. } = *of else {
        return multiply_blocks_of_bytes(v, of, registers);
    };
    if is_short(ty) {
        return multiply_blocks_of_floats(v, how, of, registers);
    }
    let ([left, _], [right, _]) = (&mut ready.left, &mut ready.right);
    let quads = 2 * per_register(ty);
    let is_plain = of.sums == ScalarType::F32 && how.rounded == block::PLAIN;
    v.run(
        #[inline(always)]
        || {
            make_left(v, (ty, how), &[0, 1, 2, 3], of.left, left);
            for (number, tiles) in of.right.chunks_exact(2).enumerate() {
                make_right(v, (ty, how), &[0, 1], tiles, right);
                let summands = of.summands(v, number, registers);
                let mut done = None;
                if is_plain {
                    done = block::multiply_plain(v, how, quads, left, right, &summands);
                }
                if done.is_none() {
                    done = block::multiply(v, how, can_be_subnormal(ty), quads, left, right, &summands);
                }
                let results = match done {
                    Some(results) => results,
                    None => any(v, how, quads, left, right, &summands),
                };
                of.write(v, number, registers, &results);
            }
        },
    );
}

#[inline(always)]
fn multiply_blocks_of_bytes<V: Vectors>(v: V, of: &Blocks<'_>, registers: &mut [Row32]) {
    let signed = of.ty.map(|ty| ty == ScalarType::S8);
    v.run(
        #[inline(always)]
        || {
            for (number, tiles) in of.right.chunks_exact(2).enumerate() {
                let summands = of.summands(v, number, registers);
                let results = block_of_bytes(v, signed, &[0, 1, 2, 3], of.left, &[0, 1], tiles, &summands);
                of.write(v, number, registers, &results);
            }
        },
    );
}

/// The same of floats of 8 bits.
#[inline(always)]
fn multiply_blocks_of_floats<V: Vectors>(v: V, how: Accumulation, of: &Blocks<'_>, registers: &mut [Row32]) {
    let (mut left, mut right) = (block::Left::<SHORT_QUADS>::default(), block::Right::<SHORT_QUADS>::default());
    v.run(
        #[inline(always)]
        || {
            let pairs = of.left.chunks_exact(2).map(|tiles| [&tiles[0], &tiles[1]]);
            short::rows(v, of.ty[0], pairs, std::slice::from_mut(&mut left));
            left.ready(v, false, SHORT_QUADS, how.least[0]);
            for (number, tiles) in of.right.chunks_exact(2).enumerate() {
                short::columns(v, of.ty[1], tiles.iter(), std::slice::from_mut(&mut right));
                right.ready(v, false, SHORT_QUADS, how.least[1]);
                let summands = of.summands(v, number, registers);
                let results = match block::multiply(v, how, false, SHORT_QUADS, &left, &right, &summands) {
                    Some(results) => results,
                    None => any(v, how, SHORT_QUADS, &left, &right, &summands),
                };
                of.write(v, number, registers, &results);
            }
        },
    );
}

/// Elements of `k` in fours, of floats of 8 bits.
const SHORT_QUADS: usize = 8;

/// A block of any operands.
#[cold]
#[inline(never)]
fn any<V: Vectors, const N: usize>(
    v: V,
    how: Accumulation,
    quads: usize,
    left: &block::Left<N>,
    right: &block::Right<N>,
    summands: &Block<V>,
) -> Block<V> {
    let sizes = Sizes { m: ROWS, n: COLUMNS, k: 4 * quads };
    let (mut a, mut b) = ([0.0; 4 * SHORT_QUADS * ROWS], [0.0; 4 * SHORT_QUADS * COLUMNS]);
    let mut d = [0.0; ROWS * COLUMNS];
    for k in 0..sizes.k {
        for row in 0..ROWS {
            a[k * ROWS + row] = f32::from_bits(left.elements[k / 4][k % 4][row]);
        }
        for column in 0..COLUMNS {
            b[k * COLUMNS + column] = f32::from_bits(right.elements[k / 4][4 * column + k % 4]);
        }
    }
    for (d, summands) in d.as_chunks_mut::<ROWS>().0.iter_mut().zip(summands) {
        *d = v.store(*summands).map(f32::from_bits);
    }
    real::multiply(v, how, sizes, [&a[..sizes.k * ROWS], &b[..sizes.k * COLUMNS]], None, &mut d);
    let mut results = *summands;
    for (result, d) in results.iter_mut().zip(d.as_chunks::<ROWS>().0) {
        *result = v.load(&d.map(f32::to_bits));
    }
    results
}

/// Loads a tile of a matrix: the `eight`th eight rows or columns, in half of `k`; `false` if a part of it is not in shared memory. In its place: what is copied as soon as it has been put
/// together of parts is waited for.
#[inline(always)]
fn load_tile(
    shared: &[u8],
    descriptor: &Descriptor,
    is_transposed: bool,
    (eight, half): (usize, usize),
    tile: &mut Row32,
) -> bool {
    let mut inside = true;
    for (row, words) in tile.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let place = match is_transposed {
            true => descriptor.across(eight as u64, (EIGHT * half + row) as u64),
            false => descriptor.along((EIGHT * eight + row) as u64, half as u64),
        };
        match range(shared, place, UNIT as usize, UNIT as usize) {
            Some(bytes) => *words = pod_read_unaligned(bytes),
            None => inside = false,
        }
    }
    if is_transposed {
        *tile = transposed(tile);
    }
    inside
}

/// A product whose operands another executor hands over: it is computed where they lie.
#[derive(Debug)]
pub(crate) struct Direct {
    /// Its rows are those of the places.
    site: WarpgroupSite,
    /// The places of descriptors.
    left: Option<usize>,
    right: usize,
    adds: Adds,
}

/// Whether there are summands: always or never, or as a place says, with its bits turned.
#[derive(Clone, Copy, Debug)]
enum Adds {
    Known(bool),
    Said { place: usize, turned: u32 },
}

impl Direct {
    /// Of a function that is one product of this kind and nothing else.
    pub(crate) fn new(function: &Function) -> Option<Direct> {
        let ([site], 2) = (&function.warpgroup_products[..], function.code.len()) else { return None };
        if !site.is_of_blocks() {
            return None;
        }
        let mut site = site.clone();
        let parameter = |wanted| function.parameters.iter().position(|place| *place == wanted);
        hand_over(&mut site.c.rows, &function.parameters, 0)?;
        hand_over(&mut site.d.rows, &function.results, function.parameters.len())?;
        let left = match &mut site.a {
            Factor::Shared { descriptor, .. } => Some(parameter(ValuePlace::Double(*descriptor))?),
            Factor::Registers(panel) => {
                hand_over(&mut panel.rows, &function.parameters, 0)?;
                None
            }
        };
        let Factor::Shared { descriptor, .. } = site.b else { return None };
        let right = parameter(ValuePlace::Double(descriptor))?;
        let (slot, turned) = (site.adds & !INVERT, if site.adds & INVERT != 0 { u32::MAX } else { 0 });
        let known = function.layout.constant_predicates.iter().find(|(known, _)| *known == slot);
        let adds = match (known, parameter(ValuePlace::Predicate(slot))) {
            (Some((_, value)), _) => Adds::Known((value ^ turned) & 1 != 0),
            (None, Some(place)) => Adds::Said { place, turned },
            (None, None) => return None,
        };
        Some(Direct { site, left, right, adds })
    }

    /// Computes a warp's part from what is handed over; `false` if it is not for this: then nothing has changed.
    pub(crate) fn run(&self, isa: Isa, warp: u32, words: &mut [u64], cta: &mut CtaShared) -> bool {
        let descriptor = |place: usize| {
            let lanes = words.get(Step::PLACE_WORDS * place..)?.first_chunk::<{ Step::PLACE_WORDS }>()?;
            (*lanes == [lanes[0]; Step::PLACE_WORDS]).then(|| Descriptor::new(lanes[0]))
        };
        let left = self.left.map(descriptor);
        let (false, Some(right)) = (left == Some(None), descriptor(self.right)) else { return false };
        let adds = match self.adds {
            Adds::Known(adds) => adds,
            Adds::Said { place, turned } => (words[Step::PLACE_WORDS * place] as u32 ^ turned) & 1 != 0,
        };
        if !cta.has_warpgroup_of(warp) {
            return false;
        }
        let mut panels = cta.panels.take().unwrap_or_default();
        let given = Given { isa, shared: &cta.shared, left: left.flatten(), right, warp, adds };
        let done = by_blocks(&self.site, &given, cast_slice_mut(words), &mut panels);
        cta.panels = Some(panels);
        if done {
            cta.warpgroups.computes(warp);
        }
        done
    }
}
