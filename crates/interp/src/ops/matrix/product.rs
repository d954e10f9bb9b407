//! `mma`, `mma.sp` and `wmma.mma` (PTX ISA 9.7.14.4.14, 9.7.14.5.14, 9.7.14.6.3).

use warploom_numerics::Rounding;
use warploom_numerics::matrix::integer::Bits;
use warploom_numerics::matrix::{Scheme, Sizes, double, integer, real};
use warploom_numerics::vector::Arrays;
use warploom_ptx::ir::ScalarType;

use super::fragments;
use super::panel::Panel;
use super::scales::{ScaleSite, Scaling};
use crate::frame::Row32;
use crate::isa::{Isa, LaneOp};
use crate::machine::{Flow, Machine};
use crate::program::Inst;

/// What the products of a site are summed to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sums {
    /// As [`real::multiply`] does.
    Real(Scheme),
    /// As [`real::multiply_in_order`] does.
    RealInOrder,
    /// With block scaling.
    Scaled(Scaling, ScaleSite),
    /// Of `.f64`.
    Double(Rounding),
    Integer,
    Bits(Bits),
}

/// A product of fragments, or several of the same sizes.
#[derive(Clone, Debug)]
pub(crate) struct ProductSite {
    pub(crate) sums: Sums,
    /// Of one product.
    pub(crate) sizes: Sizes,
    pub(crate) products: usize,
    pub(crate) satfinite: bool,
    pub(crate) a_ty: ScalarType,
    pub(crate) b_ty: ScalarType,
    pub(crate) c_ty: ScalarType,
    pub(crate) d_ty: ScalarType,
    pub(crate) a: Panel,
    pub(crate) b: Panel,
    pub(crate) c: Panel,
    pub(crate) d: Panel,
    pub(crate) sparse: Option<Sparse>,
}

/// Which elements of `a` a sparse product has.
#[derive(Clone, Debug)]
pub(crate) struct Sparse {
    /// The 32-bit row of the metadata.
    pub(crate) metadata: u32,
    /// For each element of `a` as it lies in registers, in the order of [`Panel`]'s places in a panel of its own: where its metadata are.
    pub(crate) selections: Vec<Selection>,
}

/// Where the metadata of an element lie, and where they may place it.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// The lane that has them.
    pub(crate) lane: u8,
    /// Their lowest bit.
    pub(crate) shift: u8,
    /// Which bits they are: three or fifteen.
    pub(crate) field: u8,
    /// Where the element goes in the panel of all elements, for each value of them.
    pub(crate) places: [u32; 16],
}

/// Panels that products are computed in.
#[derive(Debug, Default)]
pub(crate) struct Panels {
    pub(super) a: Vec<f32>,
    pub(super) b: Vec<f32>,
    pub(super) d: Vec<f32>,
    /// Sums to which the summand is added last; before, the elements that a sparse product has.
    pub(super) sums: Vec<f32>,
    pub(super) absent: Vec<bool>,
    pub(super) wide: [Vec<f64>; 3],
    pub(super) words: [Vec<u32>; 2],
    pub(super) counts: Vec<u32>,
    /// The factors of a product that needs no panels.
    pub(super) ready: fragments::Ready,
    /// The right one's tiles.
    pub(super) tiles: Vec<Row32>,
}

/// The first `len` elements of a panel, which have what was there before.
pub(super) fn of<T: Copy + Default>(panel: &mut Vec<T>, len: usize) -> &mut [T] {
    if panel.len() < len {
        panel.resize(len, T::default());
    }
    &mut panel[..len]
}

/// A product: site `imm`.
pub(crate) struct Product;

impl LaneOp for Product {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        if let Err(flow) = machine.aligned(mask) {
            return flow;
        }
        let function = machine.function;
        let site = &function.products[inst.imm as usize];
        let mut panels = machine.cta.panels.take().unwrap_or_default();
        if machine.product_of_fragments(site, &mut panels) {
            machine.cta.panels = Some(panels);
            return Flow::Next;
        }
        match site.sums {
            Sums::Double(rounding) => machine.product_of_doubles(site, rounding, &mut panels),
            Sums::Bits(op) => machine.product_of_bits(site, op, &mut panels),
            Sums::Scaled(scaling, scales) => {
                machine.product_factors(site, &mut panels);
                machine.product_of_scaled(site, scaling, scales, &mut panels);
            }
            Sums::Integer | Sums::Real(_) | Sums::RealInOrder => {
                machine.product_factors(site, &mut panels);
                match site.sums {
                    Sums::Integer => machine.product_of_integers(site, &mut panels),
                    _ => machine.product_of_reals(site, &mut panels),
                }
            }
        }
        machine.cta.panels = Some(panels);
        Flow::Next
    }
}

impl Sparse {
    /// Puts the elements that there are to their places in `a`, zeros to all others, and says which those are.
    #[inline(never)]
    pub(crate) fn spread(&self, registers: &[Row32], kept: &[f32], a: &mut [f32], absent: &mut [bool]) {
        a.fill(0.0);
        absent.fill(true);
        let metadata = &registers[self.metadata as usize];
        for (value, selection) in kept.iter().zip(&self.selections) {
            let bits = metadata[usize::from(selection.lane) % 32] >> (selection.shift & 31);
            let place = selection.places[(bits & u32::from(selection.field)) as usize % 16] as usize;
            a[place] = *value;
            absent[place] = false;
        }
    }
}

impl ProductSite {
    /// Elements of the panels `a`, `b` and `d`, of all products together.
    pub(super) fn lengths(&self) -> [usize; 3] {
        let Sizes { m, n, k } = self.sizes;
        [m * k, k * n, m * n].map(|elements| elements * self.products)
    }
}

impl Machine<'_> {
    /// Computes a product of fragments, if it can. A call: each instance of the instruction would hold the code for all processors.
    #[inline(never)]
    fn product_of_fragments(&mut self, site: &ProductSite, panels: &mut Panels) -> bool {
        let (registers, ready) = (&mut self.frame.r32, &mut panels.ready);
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(token) => fragments::multiply(token, site, registers, ready),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(token) => fragments::multiply(token, site, registers, ready),
            Isa::Baseline => fragments::multiply(Arrays, site, registers, ready),
        }
    }

    /// Panels `a` and `b` as numbers; of a sparse product all elements of `a`, and which of them there are not.
    #[inline(always)]
    fn product_factors(&self, site: &ProductSite, panels: &mut Panels) {
        let Panels { a, b, sums, absent, .. } = panels;
        let registers = &self.frame.r32;
        let [a_len, b_len, _] = site.lengths();
        let kept = site.sparse.as_ref().map_or(a_len, |sparse| sparse.selections.len());
        let stored = if site.sparse.is_some() { &mut *sums } else { &mut *a };
        // In a loop, so that there is one copy of what reads a fragment.
        for (panel, ty, numbers) in [(&site.a, site.a_ty, of(stored, kept)), (&site.b, site.b_ty, of(b, b_len))] {
            panel.read_numbers(ty, registers, numbers);
        }
        if let Some(sparse) = &site.sparse {
            sparse.spread(registers, of(sums, kept), of(a, a_len), of(absent, a_len));
        }
    }

    #[inline(always)]
    fn product_of_reals(&mut self, site: &ProductSite, panels: &mut Panels) {
        let isa = self.isa;
        let Panels { a, b, d, sums, absent, .. } = panels;
        let [a_len, b_len, d_len] = site.lengths();
        let absent = site.sparse.is_some().then(|| &absent[..a_len]);
        let d = of(d, d_len);
        site.c.read_summands(site.c_ty, &self.frame.r32, d);
        let half = site.c_ty == ScalarType::F16 && site.d_ty == ScalarType::F16;
        for product in 0..site.products {
            let part = |len: usize| product * (len / site.products)..(product + 1) * (len / site.products);
            let factors = [&a[part(a_len)], &b[part(b_len)]];
            let d = &mut d[part(d_len)];
            let Sums::Real(scheme) = site.sums else {
                real::multiply_in_order(site.sizes, factors, d);
                continue;
            };
            let sums = of(sums, d.len());
            sums.fill(0.0);
            let target = if scheme.summand_last { &mut *sums } else { &mut *d };
            isa.multiply(scheme.accumulation, site.sizes, factors, absent, target);
            if scheme.summand_last {
                for (d, sum) in d.iter_mut().zip(sums) {
                    *d = real::add(*sum, *d, half);
                }
            }
        }
        if site.satfinite {
            d.iter_mut().for_each(|d| *d = real::finite(*d, site.d_ty == ScalarType::F16));
        }
        let registers = &mut self.frame.r32;
        site.d.write_numbers(site.d_ty, registers, d);
    }

    #[inline(always)]
    fn product_of_integers(&mut self, site: &ProductSite, panels: &mut Panels) {
        let Panels { a, b, counts, .. } = panels;
        let [a_len, b_len, d_len] = site.lengths();
        let (factors, d) = ([&a[..a_len], &b[..b_len]], of(counts, d_len));
        site.c.read_words(&self.frame.r32, d);
        integer::multiply(site.sizes, site.satfinite, factors, d);
        site.d.write(&mut self.frame.r32, d, |value| value);
    }

    #[inline(never)]
    fn product_of_bits(&mut self, site: &ProductSite, op: Bits, panels: &mut Panels) {
        let Panels { words: [a, b], counts, .. } = panels;
        let [a_len, b_len, d_len] = site.lengths();
        let (a, b, d) = (of(a, a_len), of(b, b_len), of(counts, d_len));
        site.a.read_words(&self.frame.r32, a);
        site.b.read_words(&self.frame.r32, b);
        site.c.read_words(&self.frame.r32, d);
        integer::multiply_bits(site.sizes, op, [a, b], d);
        site.d.write(&mut self.frame.r32, d, |value| value);
    }

    #[inline(always)]
    fn product_of_doubles(&mut self, site: &ProductSite, rounding: Rounding, panels: &mut Panels) {
        let [a_len, b_len, d_len] = site.lengths();
        let [a, b, d] = &mut panels.wide;
        let (a, b, d) = (of(a, a_len), of(b, b_len), of(d, d_len));
        let registers = &self.frame.r64;
        for (panel, values) in [(&site.a, &mut *a), (&site.b, &mut *b), (&site.c, &mut *d)] {
            panel.read_doubles(registers, values);
        }
        double::multiply(site.sizes, rounding, [a, b], d);
        site.d.write_doubles(&mut self.frame.r64, d);
    }
}
