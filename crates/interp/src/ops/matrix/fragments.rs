//! Products of fragments whose rows come in sixteens, from registers to registers without panels between: what most programs' products are.
//!
//! Registers come in pairs, of rows 0 to 7 and 8 to 15, and their words in fours, of a quad of lanes. Exchanging words between the four vectors of a pair and the four
//! lanes of quads (which the same exchange undoes) gives columns, with rows in an order that does not matter, as summands and results have the same. The order of `k` does not matter either.

use warploom_numerics::matrix::block::{self, COLUMNS, ROWS, Sums as Block};
use warploom_numerics::matrix::bytes;
use warploom_numerics::matrix::{Accumulation, Vectors};
use warploom_ptx::ir::ScalarType;

use super::product::{ProductSite, Sums};
use super::short;
use crate::frame::Row32;

/// Blocks of a product, at most: of 16 by 16, or 32 by 8 elements.
pub(super) const BLOCKS: usize = 2;
/// Elements of `k` in fours, at most.
const QUADS: usize = 4;

/// Rows of `a` in a block, made ready.
pub(super) type Left = block::Left<QUADS>;
/// Columns of `b` in a block.
pub(super) type Right = block::Right<QUADS>;

/// The factors of a product.
#[derive(Debug, Default)]
pub(super) struct Ready {
    pub(super) left: [Left; BLOCKS],
    pub(super) right: [Right; BLOCKS],
}

/// How the sums of a site are made, if this is for it.
pub(super) fn accumulation(site: &ProductSite) -> Option<Accumulation> {
    let Sums::Real(scheme) = site.sums else { return None };
    let wide = matches!(site.a_ty, ScalarType::F16 | ScalarType::Bf16 | ScalarType::Tf32);
    let whole = scheme.accumulation.group == site.sizes.k && !scheme.summand_last;
    let short = site.sizes.k <= 4 * QUADS;
    (wide && whole && short && is_in_blocks(site)).then_some(scheme.accumulation)
}

/// Whether a site is a product of bytes, in blocks.
pub(super) fn is_of_bytes(site: &ProductSite) -> bool {
    let bytes = [site.a_ty, site.b_ty].iter().all(|ty| matches!(ty, ScalarType::S8 | ScalarType::U8));
    let short = site.sizes.k.is_multiple_of(BYTES) && site.sizes.k <= 4 * bytes::WORDS;
    matches!(site.sums, Sums::Integer) && bytes && short && is_in_blocks(site)
}

/// Whether a site is one product of blocks, which has nothing special to it.
pub(super) fn is_in_blocks(site: &ProductSite) -> bool {
    let blocks = site.sizes.m.is_multiple_of(ROWS) && site.sizes.m / ROWS * (site.sizes.n / COLUMNS) <= BLOCKS;
    blocks && site.products == 1 && site.sparse.is_none() && !site.satfinite
}

/// Elements of `k` that a register of bytes has of a row.
const BYTES: usize = 16;

/// How many blocks a product has from top to bottom, and from left to right.
pub(super) fn blocks(site: &ProductSite) -> [usize; 2] {
    [site.sizes.m / ROWS, site.sizes.n / COLUMNS]
}

/// How many elements a register has.
#[inline(always)]
pub(super) fn per_register(ty: ScalarType) -> usize {
    if ty == ScalarType::Tf32 { 1 } else { 2 }
}

/// The registers with a block's rows of `a`.
pub(super) fn of_left(site: &ProductSite, block: usize) -> &[u32] {
    let count = 2 * (site.sizes.k / 4 / per_register(site.a_ty));
    &site.a.rows[count * block..][..count]
}

/// The registers with a block's columns of `b`.
pub(super) fn of_right(site: &ProductSite, block: usize) -> &[u32] {
    let count = site.sizes.k / 4 / per_register(site.a_ty);
    &site.b.rows[count * block..][..count]
}

/// Computes the product of a site; `false` if it is none for this, or its operands are not: then nothing has changed.
#[inline(always)]
pub(super) fn multiply<V: Vectors>(v: V, site: &ProductSite, registers: &mut [Row32], ready: &mut Ready) -> bool {
    if is_of_bytes(site) {
        multiply_bytes(v, site, registers);
        return true;
    }
    if let Some(how) = short::accumulation(site) {
        return short::multiply(v, how, site, registers);
    }
    let Some(how) = accumulation(site) else { return false };
    let [high, across] = blocks(site);
    v.run(
        #[inline(always)]
        || {
            for (row, left) in ready.left.iter_mut().enumerate().take(high) {
                make_left(v, (site.a_ty, how), of_left(site, row), registers, left);
            }
            for (column, right) in ready.right.iter_mut().enumerate().take(across) {
                make_right(v, (site.a_ty, how), of_right(site, column), registers, right);
            }
            multiply_ready(v, how, site, registers, ready.left.each_ref(), ready.right.each_ref())
        },
    )
}

/// Brings rows of `a` from registers, and makes them ready for sums of which their format is the left one.
#[inline(always)]
pub(super) fn make_left<V: Vectors>(
    v: V,
    (ty, how): (ScalarType, Accumulation),
    rows: &[u32],
    registers: &[Row32],
    left: &mut Left,
) {
    for (pair, place) in rows.chunks_exact(2).zip(left.elements.chunks_exact_mut(per_register(ty))) {
        let columns = exchanged(v, [&registers[pair[0] as usize], &registers[pair[1] as usize]]);
        for k in 0..4 {
            let elements = numbers(v, ty, columns[k]);
            for (quad, elements) in place.iter_mut().zip(elements) {
                quad[k] = v.store(elements);
            }
        }
    }
    left.ready(v, can_be_subnormal(ty), rows.len() / 2 * per_register(ty), how.least[0]);
}

/// Columns of `b`.
#[inline(always)]
pub(super) fn make_right<V: Vectors>(
    v: V,
    (ty, how): (ScalarType, Accumulation),
    rows: &[u32],
    registers: &[Row32],
    right: &mut Right,
) {
    for (register, place) in rows.iter().zip(right.elements.chunks_exact_mut(per_register(ty))) {
        let [lower, upper] = halves(&registers[*register as usize]);
        let (lower, upper) = (numbers(v, ty, v.load(lower)), numbers(v, ty, v.load(upper)));
        for (at, quad) in place.iter_mut().enumerate() {
            *quad = bytemuck::must_cast([v.store(lower[at]), v.store(upper[at])]);
        }
    }
    right.ready(v, can_be_subnormal(ty), rows.len() * per_register(ty), how.least[1]);
}

/// Whether factors can be subnormal as `.f32`.
#[inline(always)]
pub(super) fn can_be_subnormal(ty: ScalarType) -> bool {
    ty != ScalarType::F16
}

/// Computes the product of factors that are ready; `false` if it cannot: then nothing has changed.
#[inline(always)]
pub(super) fn multiply_ready<V: Vectors>(
    v: V,
    how: Accumulation,
    site: &ProductSite,
    registers: &mut [Row32],
    left: [&Left; BLOCKS],
    right: [&Right; BLOCKS],
) -> bool {
    let [high, across] = blocks(site);
    let mut results = [[v.splat(0); COLUMNS]; BLOCKS];
    for (number, results) in results.iter_mut().enumerate().take(high * across) {
        let summands = read(v, site.c_ty, of_block(site.c_ty, &site.c.rows, number), registers);
        let (left, right) = (left[number / across], right[number % across]);
        match block::multiply(v, how, can_be_subnormal(site.a_ty), site.sizes.k / 4, left, right, &summands) {
            Some(sums) => *results = sums,
            None => return false,
        }
    }
    write_blocks(v, site, &results, registers);
    true
}

/// Results of all blocks. They may lie where summands of other blocks do.
#[inline(always)]
fn write_blocks<V: Vectors>(v: V, site: &ProductSite, results: &[Block<V>; BLOCKS], registers: &mut [Row32]) {
    let [high, across] = blocks(site);
    for (number, sums) in results.iter().enumerate().take(high * across) {
        write(v, site.d_ty, of_block(site.d_ty, &site.d.rows, number), registers, sums);
    }
}

/// Whether a product is what [`multiply_plain`] is for: a block with summands and results of `.f32`.
pub(super) fn is_plain(site: &ProductSite, how: Accumulation) -> bool {
    let whole = [site.c_ty, site.d_ty] == [ScalarType::F32; 2] && how.rounded == block::PLAIN;
    whole && blocks(site) == [1, 1]
}

/// [`multiply_ready`] for most products, without anything that others need; `false` where operands are not for this: then nothing has changed.
#[inline(always)]
pub(super) fn multiply_plain<V: Vectors>(
    v: V,
    how: Accumulation,
    site: &ProductSite,
    registers: &mut [Row32],
    left: &Left,
    right: &Right,
) -> bool {
    let summands = read(v, ScalarType::F32, &site.c.rows, registers);
    match block::multiply_plain(v, how, site.sizes.k / 4, left, right, &summands) {
        Some(sums) => {
            write(v, ScalarType::F32, &site.d.rows, registers, &sums);
            true
        }
        None => false,
    }
}

/// Computes a product of bytes.
#[inline(always)]
pub(super) fn multiply_bytes<V: Vectors>(v: V, site: &ProductSite, registers: &mut [Row32]) {
    let [high, across] = blocks(site);
    let count = site.sizes.k / BYTES;
    let signed = [site.a_ty, site.b_ty].map(|ty| ty == ScalarType::S8);
    v.run(
        #[inline(always)]
        || {
            let mut results = [[v.splat(0); COLUMNS]; BLOCKS];
            for (number, results) in results.iter_mut().enumerate().take(high * across) {
                let left = &site.a.rows[2 * count * (number / across)..][..2 * count];
                let right = &site.b.rows[count * (number % across)..][..count];
                let summands = read(v, site.c_ty, of_block(site.c_ty, &site.c.rows, number), registers);
                *results = block_of_bytes(v, signed, left, registers, right, registers, &summands);
            }
            write_blocks(v, site, &results, registers);
        },
    );
}

/// A block of a product of bytes, whose factors are some of the registers on either side.
#[inline(always)]
pub(super) fn block_of_bytes<V: Vectors>(
    v: V,
    signed: [bool; 2],
    left: &[u32],
    of_left: &[Row32],
    right: &[u32],
    of_right: &[Row32],
    summands: &Block<V>,
) -> Block<V> {
    let mut a = [v.splat(0); bytes::WORDS];
    for (pair, place) in left.chunks_exact(2).zip(a.chunks_exact_mut(4)) {
        place.copy_from_slice(&exchanged(v, [&of_left[pair[0] as usize], &of_left[pair[1] as usize]]));
    }
    let mut b = [[0; 32]; bytes::WORDS / 4];
    for (place, row) in b.iter_mut().zip(right) {
        *place = of_right[*row as usize];
    }
    bytes::multiply(v, signed, &a[..2 * left.len()], &b[..right.len()], summands)
}

/// The registers that hold a block of summands or results.
#[inline(always)]
pub(super) fn of_block(ty: ScalarType, rows: &[u32], number: usize) -> &[u32] {
    let count = if ty == ScalarType::F16 { 2 } else { 4 };
    &rows[count * number..][..count]
}

#[inline(always)]
pub(super) fn halves(row: &Row32) -> [&[u32; 16]; 2] {
    let (lower, upper) = row.split_at(16);
    // Of a row half is half.
    [lower.first_chunk().unwrap_or(&[0; 16]), upper.first_chunk().unwrap_or(&[0; 16])]
}

/// The four columns, or pairs of columns, of a pair of registers.
#[inline(always)]
pub(super) fn exchanged<V: Vectors>(v: V, pair: [&Row32; 2]) -> [V::Words; 4] {
    let ([a, b], [c, d]) = (halves(pair[0]), halves(pair[1]));
    v.transpose([v.load(a), v.load(b), v.load(c), v.load(d)])
}

/// The elements of words of factors, the low ones first; of one to a word, twice the same.
#[inline(always)]
fn numbers<V: Vectors>(v: V, ty: ScalarType, words: V::Words) -> [V::Words; 2] {
    match ty {
        ScalarType::F16 => v.widen(words),
        ScalarType::Bf16 => [v.shl::<16>(words), v.and(words, v.splat(0xffff_0000))],
        // The bits that .tf32 lacks have no say.
        _ => [v.and(words, v.splat(0xffff_e000)); 2],
    }
}

/// Summands.
#[inline(always)]
pub(super) fn read<V: Vectors>(v: V, ty: ScalarType, rows: &[u32], registers: &[Row32]) -> Block<V> {
    if ty == ScalarType::F16 {
        let [p, q, r, s] = exchanged(v, [&registers[rows[0] as usize], &registers[rows[1] as usize]]);
        let ([a, b], [c, d], [e, f], [g, h]) = (v.widen(p), v.widen(q), v.widen(r), v.widen(s));
        return [a, b, c, d, e, f, g, h];
    }
    let [a, c, e, g] = exchanged(v, [&registers[rows[0] as usize], &registers[rows[2] as usize]]);
    let [b, d, f, h] = exchanged(v, [&registers[rows[1] as usize], &registers[rows[3] as usize]]);
    [a, b, c, d, e, f, g, h]
}

/// Results.
#[inline(always)]
pub(super) fn write<V: Vectors>(v: V, ty: ScalarType, rows: &[u32], registers: &mut [Row32], sums: &Block<V>) {
    let &[a, b, c, d, e, f, g, h] = sums;
    if ty == ScalarType::F16 {
        write_pair(v, registers, [rows[0], rows[1]], [v.narrow(a, b), v.narrow(c, d), v.narrow(e, f), v.narrow(g, h)]);
    } else {
        write_pair(v, registers, [rows[0], rows[2]], [a, c, e, g]);
        write_pair(v, registers, [rows[1], rows[3]], [b, d, f, h]);
    }
}

/// A pair of registers, of four columns or pairs of columns.
#[inline(always)]
fn write_pair<V: Vectors>(v: V, registers: &mut [Row32], pair: [u32; 2], columns: [V::Words; 4]) {
    let [a, b, c, d] = v.transpose(columns);
    registers[pair[0] as usize] = bytemuck::must_cast([v.store(a), v.store(b)]);
    registers[pair[1] as usize] = bytemuck::must_cast([v.store(c), v.store(d)]);
}
