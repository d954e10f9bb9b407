//! The scales of a product (PTX ISA 9.7.14.3).

use warploom_numerics::matrix::{Accumulation, Scale, Scales, Sizes, scales};

use super::product::{Panels, ProductSite, of};
use crate::frame::Row32;
use crate::machine::Machine;

/// How scaled factors are summed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scaling {
    /// One scale for the whole `k`.
    Whole(Accumulation),
    /// In groups of so many elements of `k`.
    Groups(usize),
}

/// Where the scales of both factors are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScaleSite {
    pub(crate) format: Scale,
    /// For each row or column, how many.
    pub(crate) blocks: usize,
    pub(crate) a: Selected,
    pub(crate) b: Selected,
}

/// The rows of registers with bytes, and of what says which.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected {
    pub(crate) data: u32,
    pub(crate) byte: u32,
    pub(crate) thread: u32,
}

/// Scales of a factor, at most.
const MOST: usize = 64;

impl Selected {
    /// The scales of so many rows or columns, each of which is in a lane that the selected thread of a quad gives. Selectors in registers are the same in all threads, as
    /// the qualifiers of an instruction are.
    fn read(
        self,
        registers: &[Row32],
        lines: usize,
        blocks: usize,
        lane: impl Fn(usize, usize) -> usize,
    ) -> [u8; MOST] {
        let selector = |row: u32| registers[row as usize][0] as usize;
        let (first, thread) = (selector(self.byte), selector(self.thread));
        let data = &registers[self.data as usize];
        let mut scales = [0; MOST];
        for (block, scales) in scales.chunks_exact_mut(lines).enumerate().take(blocks) {
            for (line, scale) in scales.iter_mut().enumerate() {
                *scale = data[lane(line, thread) % 32].to_le_bytes()[(first + block) % 4];
            }
        }
        scales
    }
}

impl Machine<'_> {
    /// A product of factors that are in `panels`.
    #[inline(never)]
    pub(super) fn product_of_scaled(
        &mut self,
        site: &ProductSite,
        scaling: Scaling,
        place: ScaleSite,
        panels: &mut Panels,
    ) {
        let (isa, registers) = (self.isa, &self.frame.r32);
        let Panels { a, b, d, absent, .. } = panels;
        let [a_len, b_len, d_len] = site.lengths();
        let (a, b, d) = (of(a, a_len), of(b, b_len), of(d, d_len));
        let absent = site.sparse.is_some().then(|| &absent[..a_len]);
        site.c.read_summands(site.c_ty, registers, d);
        let Sizes { m, n, .. } = site.sizes;
        // A pair of threads has two rows of `a`, one of them eight on; a thread has one column of `b`.
        let of_a = place.a.read(registers, m, place.blocks, |row, pair| 4 * (row % 8) + 2 * (pair % 2) + row / 8);
        let of_b = place.b.read(registers, n, place.blocks, |column, thread| 4 * column + thread % 4);
        let scales = Scales { format: place.format, a: &of_a[..m * place.blocks], b: &of_b[..n * place.blocks] };
        match scaling {
            Scaling::Groups(length) => scales::multiply_groups(site.sizes, length, [a, b], scales, d),
            Scaling::Whole(how) if scales::scale(site.sizes, [a, b], scales) => {
                isa.multiply(how, site.sizes, [a, b], absent, d);
            }
            Scaling::Whole(how) => scales::multiply(how, site.sizes, [a, b], absent, scales, d),
        }
        let registers = &mut self.frame.r32;
        site.d.write_numbers(site.d_ty, registers, d);
    }
}
