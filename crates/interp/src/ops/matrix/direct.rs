//! Products of fragments that another executor hands over: where they lie is where they are computed, and factors that were made ready once are kept for the products that
//! have the same, as tiles of a warp have each of theirs in a row or a column of products.

use std::collections::HashMap;

use warploom_numerics::matrix::{Accumulation, Vectors};
use warploom_numerics::vector::Arrays;
use warploom_ptx::ir::{Reg, ScalarType, Step};

use super::fragments::{self, BLOCKS, Left, Right, halves};
use super::product::ProductSite;
use super::short;
use crate::frame::Row32;
use crate::isa::Isa;
use crate::program::{Function, ValuePlace};

/// Rows that a place of [`Step::PLACE_WORDS`] is.
const ROWS_OF_A_PLACE: usize = Step::PLACE_WORDS * 8 / size_of::<Row32>();

/// Registers of a factor, at most.
const REGISTERS: usize = 4;

/// A product whose registers are all handed over.
#[derive(Debug)]
pub(crate) struct Direct {
    /// Its rows are those of the places.
    site: ProductSite,
    kind: Kind,
    /// Which sides' factors are what they were when they were last met, and not handed over.
    met: [bool; 2],
    /// Where the factors are kept.
    left: [usize; BLOCKS],
    right: [usize; BLOCKS],
}

/// Which way it is computed.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Factors are made ready, and kept.
    Kept {
        how: Accumulation,
        /// It is for [`fragments::multiply_plain`].
        plain: bool,
    },
    /// Of floats of 8 bits.
    Short(Accumulation),
    /// Of bytes.
    Bytes,
}

impl Kind {
    fn of(site: &ProductSite) -> Option<Kind> {
        if let Some(how) = fragments::accumulation(site) {
            return Some(Kind::Kept { how, plain: fragments::is_plain(site, how) });
        }
        let short = short::accumulation(site).map(Kind::Short);
        short.or_else(|| fragments::is_of_bytes(site).then_some(Kind::Bytes))
    }
}

/// Numbers of the factors that a kernel's products have: the same registers, read alike, are the same factor.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    left: HashMap<(Vec<Reg>, ScalarType), usize>,
    right: HashMap<(Vec<Reg>, ScalarType), usize>,
}

/// Factors that are kept, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Factors {
    left: Vec<Kept<Left>>,
    right: Vec<Kept<Right>>,
}

/// A factor with what its registers held.
#[derive(Debug, Default)]
struct Kept<F> {
    words: [Row32; REGISTERS],
    filled: bool,
    factor: F,
}

impl<F> Kept<F> {
    /// Whether it is of what registers hold; from now on it is.
    #[inline(always)]
    fn meets<V: Vectors>(&mut self, v: V, rows: &[u32], registers: &[Row32]) -> bool {
        let mut differs = v.splat(0);
        for (row, words) in rows.iter().zip(&self.words) {
            let (new, old) = (halves(&registers[*row as usize]), halves(words));
            for (new, old) in new.into_iter().zip(old) {
                differs = v.or(differs, v.xor(v.load(new), v.load(old)));
            }
        }
        if self.filled && !v.any(differs) {
            return true;
        }
        for (row, words) in rows.iter().zip(&mut self.words) {
            *words = registers[*row as usize];
        }
        self.filled = true;
        false
    }
}

impl Direct {
    /// Of a function that is one product and nothing else.
    pub(crate) fn new(function: &Function, step: &Step, numbers: &mut Numbers) -> Option<Direct> {
        let ([site], 2) = (&function.products[..], function.code.len()) else { return None };
        let kind = Kind::of(site)?;
        let mut site = site.clone();
        for panel in [&mut site.a, &mut site.b, &mut site.c] {
            hand_over(&mut panel.rows, &function.parameters, 0)?;
        }
        hand_over(&mut site.d.rows, &function.results, function.parameters.len())?;
        let number = |rows: &[u32], known: &mut HashMap<(Vec<Reg>, ScalarType), usize>| {
            let registers = rows.iter().map(|row| step.reads[*row as usize / ROWS_OF_A_PLACE]).collect();
            let next = known.len();
            *known.entry((registers, site.a_ty)).or_insert(next)
        };
        let [high, across] = if matches!(kind, Kind::Kept { .. }) { fragments::blocks(&site) } else { [0; 2] };
        let (mut left, mut right) = ([0; BLOCKS], [0; BLOCKS]);
        for (block, place) in left.iter_mut().enumerate().take(high) {
            *place = number(fragments::of_left(&site, block), &mut numbers.left);
        }
        for (block, place) in right.iter_mut().enumerate().take(across) {
            *place = number(fragments::of_right(&site, block), &mut numbers.right);
        }
        Some(Direct { kind, met: step.kept, left, right, site })
    }

    /// Computes it from what is handed over; `false` if operands are not for this: then nothing has changed.
    pub(crate) fn run(&self, isa: Isa, words: &mut [u64], factors: &mut Factors) -> bool {
        let rows: &mut [Row32] = bytemuck::cast_slice_mut(words);
        let done = match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(token) => self.multiply(token, rows, factors),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(token) => self.multiply(token, rows, factors),
            Isa::Baseline => self.multiply(Arrays, rows, factors),
        };
        if !done {
            self.complete(rows, factors);
        }
        done
    }

    /// Whether factors are not handed over.
    pub(crate) fn lacks_factors(&self) -> bool {
        self.met != [false; 2]
    }

    /// Puts what is not handed over where it would be, for somebody else.
    #[cold]
    fn complete(&self, registers: &mut [Row32], factors: &Factors) {
        let Direct { site, met, left, right, .. } = self;
        let [high, across] = fragments::blocks(site);
        let left = left.iter().map(|number| &factors.left[*number].words);
        let left = left.enumerate().map(|(block, words)| (fragments::of_left(site, block), words));
        let right = right.iter().map(|number| &factors.right[*number].words);
        let right = right.enumerate().map(|(block, words)| (fragments::of_right(site, block), words));
        let left = left.take(if met[0] { high } else { 0 });
        let right = right.take(if met[1] { across } else { 0 });
        for (row, words) in left.chain(right).flat_map(|(rows, words)| rows.iter().zip(words)) {
            registers[*row as usize] = *words;
        }
    }

    #[inline(always)]
    fn multiply<V: Vectors>(&self, v: V, registers: &mut [Row32], factors: &mut Factors) -> bool {
        let Direct { site, kind, met, left, right } = self;
        let (how, plain) = match kind {
            Kind::Kept { how, plain } => (how, plain),
            Kind::Short(how) => return short::multiply(v, *how, site, registers),
            Kind::Bytes => {
                fragments::multiply_bytes(v, site, registers);
                return true;
            }
        };
        reach(&mut factors.left, left);
        reach(&mut factors.right, right);
        v.run(
            #[inline(always)]
            || {
                let [high, across] = fragments::blocks(site);
                for (block, number) in left.iter().enumerate().take(if met[0] { 0 } else { high }) {
                    let (rows, kept) = (fragments::of_left(site, block), &mut factors.left[*number]);
                    if !kept.meets(v, rows, registers) {
                        fragments::make_left(v, (site.a_ty, *how), rows, registers, &mut kept.factor);
                    }
                }
                for (block, number) in right.iter().enumerate().take(if met[1] { 0 } else { across }) {
                    let (rows, kept) = (fragments::of_right(site, block), &mut factors.right[*number]);
                    if !kept.meets(v, rows, registers) {
                        fragments::make_right(v, (site.a_ty, *how), rows, registers, &mut kept.factor);
                    }
                }
                let left = left.map(|number| &factors.left[number].factor);
                let right = right.map(|number| &factors.right[number].factor);
                (*plain && fragments::multiply_plain(v, *how, site, registers, left[0], right[0]))
                    || fragments::multiply_ready(v, *how, site, registers, left, right)
            },
        )
    }
}

/// Makes of rows of a frame those of the places in which they are handed over: some of `places`, the first of which has this number. None if one is not among them.
pub(super) fn hand_over(rows: &mut [u32], places: &[ValuePlace], first: usize) -> Option<()> {
    for row in rows {
        let place = places.iter().position(|place| *place == ValuePlace::Word(*row))?;
        *row = (ROWS_OF_A_PLACE * (first + place)) as u32;
    }
    Some(())
}

/// As many as it takes to have some numbers.
#[inline(always)]
fn reach<F: Default>(kept: &mut Vec<Kept<F>>, numbers: &[usize; BLOCKS]) {
    let count = numbers.iter().max().map_or(0, |last| last + 1);
    if kept.len() < count {
        kept.resize_with(count, Kept::default);
    }
}
