//! `wgmma` (PTX ISA 9.7.15): products of the four warps of a warpgroup.
//!
//! Each warp computes its 16 rows when it comes to the instruction, which may be any time before the hardware would be done with it. What no warp
//! may see is another one that is behind: memory that a product reads may be written as soon as one warp has waited for it. So `wgmma.wait_group` waits until all four have
//! computed what the warp waits for.

use warploom_exec::fault::FaultKind;
use warploom_numerics::format::{self, Bf16, E4m3, E5m2, F16};
use warploom_numerics::matrix::integer::{self, Bits};
use warploom_numerics::matrix::{Scheme, Sizes};
use warploom_ptx::ir::ScalarType;

use super::descriptor::{Descriptor, UNIT};
use super::panel::Panel;
use super::product::{Panels, Sparse, of};
use crate::cta::CtaShared;
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine};
use crate::memory::StateSpace;
use crate::program::Inst;
use crate::warp::Wait;

/// Warps of a warpgroup.
pub(super) const WARPS: usize = 4;
/// Rows of a warp.
pub(crate) const ROWS: usize = 16;

/// Where a factor of a product is.
#[derive(Clone, Debug)]
pub(crate) enum Factor {
    /// In shared memory: the 64-bit row of the descriptor, and whether the matrix is transposed.
    Shared { descriptor: u32, transposed: bool },
    /// In registers.
    Registers(Panel),
}

/// A product of a warpgroup.
#[derive(Clone, Debug)]
pub(crate) struct WarpgroupSite {
    /// How sums of floating-point numbers are made; those of integers are exact.
    pub(crate) scheme: Option<Scheme>,
    /// Of a warp's part. Of products of bits, `k` counts words.
    pub(crate) sizes: Sizes,
    pub(crate) satfinite: bool,
    pub(crate) a_ty: ScalarType,
    pub(crate) b_ty: ScalarType,
    pub(crate) d_ty: ScalarType,
    pub(crate) a: Factor,
    pub(crate) b: Factor,
    /// The summands, and the results.
    pub(crate) c: Panel,
    pub(crate) d: Panel,
    /// Predicate operand: whether `d` is added.
    pub(crate) adds: u32,
    /// Whether the products have the opposite sign.
    pub(crate) negative: bool,
    pub(crate) sparse: Option<Sparse>,
}

/// How far the warps of a CTA are with their products.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Of each warp: products that it has computed.
    computed: Vec<u64>,
    /// Of each warp: how many those were at each `wgmma.commit_group`.
    committed: Vec<Vec<u64>>,
}

impl Progress {
    /// For a new CTA.
    pub(crate) fn clear(&mut self) {
        self.computed.clear();
        self.committed.clear();
    }

    fn of(&mut self, warp: u32) -> (&mut u64, &mut Vec<u64>) {
        let index = warp as usize;
        if self.computed.len() <= index {
            let whole = (index / WARPS + 1) * WARPS;
            self.computed.resize(whole, 0);
            self.committed.resize(whole, Vec::new());
        }
        (&mut self.computed[index], &mut self.committed[index])
    }

    /// A warp has computed its part of a product.
    pub(super) fn computes(&mut self, warp: u32) {
        *self.of(warp).0 += 1;
    }

    /// Whether all warps of the warpgroup that `warp` belongs to have computed `products`.
    pub(crate) fn reached(&self, warp: u32, products: u64) -> bool {
        let first = warp as usize / WARPS * WARPS;
        self.computed.get(first..first + WARPS).is_some_and(|group| group.iter().all(|computed| *computed >= products))
    }
}

/// `wgmma.fence`: what is ordered with what changes nothing where products are computed at once.
pub(crate) fn fence(machine: &mut Machine<'_>, _: &Inst, mask: u32) -> Flow {
    match machine.aligned(mask) {
        Ok(()) => Flow::Next,
        Err(flow) => flow,
    }
}

/// `wgmma.commit_group`
pub(crate) fn commit(machine: &mut Machine<'_>, _: &Inst, mask: u32) -> Flow {
    if let Err(flow) = machine.aligned(mask) {
        return flow;
    }
    let (computed, committed) = machine.cta.warpgroups.of(machine.warp.index);
    committed.push(*computed);
    Flow::Next
}

/// `wgmma.wait_group` with `imm` groups pending.
pub(crate) fn wait(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    if let Err(flow) = machine.aligned(mask) {
        return flow;
    }
    let warp = machine.warp.index;
    let (_, committed) = machine.cta.warpgroups.of(warp);
    let complete = committed.len().saturating_sub(inst.imm as usize);
    let Some(products) = complete.checked_sub(1).map(|last| committed[last]) else { return Flow::Next };
    // Those before are not asked for again.
    committed.drain(..complete - 1);
    if machine.cta.warpgroups.reached(warp, products) {
        return Flow::Next;
    }
    machine.warp.park(machine.activation, machine.pc + 1, mask, Wait::Warpgroup { products });
    Flow::Switch
}

/// `wgmma.mma_async`: site `imm`.
pub(crate) struct Product;

impl LaneOp for Product {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        if let Err(flow) = machine.aligned(mask) {
            return flow;
        }
        let function = machine.function;
        let site = &function.warpgroup_products[inst.imm as usize];
        if let Err(kind) = machine.is_in_warpgroup() {
            return machine.fail(mask, kind);
        }
        let mut panels = machine.cta.panels.take().unwrap_or_default();
        let by_blocks = if site.is_of_blocks() { machine.warpgroup_blocks(site, &mut panels) } else { Ok(false) };
        let done = match (by_blocks, site.a_ty) {
            (Ok(false), ScalarType::B1) => machine.warpgroup_bits(site, &mut panels),
            (Ok(false), _) => machine.warpgroup_factors(site, &mut panels).map(|()| match site.scheme {
                Some(scheme) => machine.warpgroup_real(site, scheme, &mut panels),
                None => machine.warpgroup_integer(site, &mut panels),
            }),
            (done, _) => done.map(|_| ()),
        };
        machine.cta.panels = Some(panels);
        if let Err(kind) = done {
            return machine.fail(mask, kind);
        }
        machine.cta.warpgroups.computes(machine.warp.index);
        Flow::Next
    }
}

impl CtaShared {
    /// Whether the CTA has all warps of a warp's warpgroup.
    pub(super) fn has_warpgroup_of(&self, warp: u32) -> bool {
        warp as usize / WARPS * WARPS + WARPS <= self.barriers.warps()
    }
}

impl Machine<'_> {
    /// Lets the groups go on that wait for products which are there.
    pub(crate) fn complete_warpgroups(&mut self) {
        let (index, progress) = (self.warp.index, &self.cta.warpgroups);
        for group in &mut self.warp.groups {
            if matches!(group.wait, Wait::Warpgroup { products } if progress.reached(index, products)) {
                group.wait = Wait::Ready;
            }
        }
    }

    #[inline(always)]
    fn is_in_warpgroup(&self) -> Result<(), FaultKind> {
        if self.cta.has_warpgroup_of(self.warp.index) {
            return Ok(());
        }
        let why = format!(
            "wgmma needs the four warps of a warpgroup, and warp {} is in one of {}",
            self.warp.index,
            self.cta.barriers.warps() % WARPS
        );
        Err(FaultKind::IllegalInstruction(why))
    }

    pub(super) fn matrix_descriptor(&self, row: u32) -> Result<Descriptor, FaultKind> {
        let row = &self.frame.r64[row as usize];
        if *row == [row[0]; 32] {
            return Ok(Descriptor::new(row[0]));
        }
        Err(FaultKind::IllegalInstruction(
            "wgmma with a matrix descriptor that is not the same in all threads".to_owned(),
        ))
    }

    /// The units of a matrix in shared memory, `across` rows or columns from `first` on by `k` columns or rows of `bits`: their places in `k` and across, and their
    /// bytes.
    #[inline(always)]
    fn factor_units(
        &mut self,
        (descriptor, transposed): (u32, bool),
        (first, across): (usize, usize),
        k: usize,
        bits: usize,
        mut each: impl FnMut(usize, usize, u128),
    ) -> Result<(), FaultKind> {
        let descriptor = self.matrix_descriptor(descriptor)?;
        // Addresses of descriptors have no room for the rank of a CTA.
        let own = u64::from(self.cta.base);
        let elements = UNIT as usize * 8 / bits;
        if transposed {
            for column in 0..k {
                for unit in (0..across).step_by(elements) {
                    let address = descriptor.across(((first + unit) / elements) as u64, column as u64);
                    each(column, unit, self.load(StateSpace::Shared, own + address, UNIT as u32, 0)?);
                }
            }
        } else {
            for row in 0..across {
                for unit in (0..k).step_by(elements) {
                    let address = descriptor.along((first + row) as u64, (unit / elements) as u64);
                    each(unit, row, self.load(StateSpace::Shared, own + address, UNIT as u32, 0)?);
                }
            }
        }
        Ok(())
    }

    /// A factor as a panel of numbers of `across` rows or columns from `first` on.
    #[inline(always)]
    fn factor(
        &mut self,
        factor: &Factor,
        ty: ScalarType,
        (first, across): (usize, usize),
        k: usize,
        panel: &mut [f32],
    ) -> Result<(), FaultKind> {
        match factor {
            Factor::Registers(registers) => {
                registers.read_numbers(ty, &self.frame.r32, panel);
                Ok(())
            }
            &Factor::Shared { descriptor, transposed } => {
                let elements = UNIT as usize * 8 / ty.bits() as usize;
                let place = |k: usize, other: usize, at: usize| match transposed {
                    true => k * across + other + at,
                    false => (k + at) * across + other,
                };
                self.factor_units(
                    (descriptor, transposed),
                    (first, across),
                    k,
                    ty.bits() as usize,
                    |k, other, bytes| {
                        for (at, number) in numbers(ty, bytes).into_iter().enumerate().take(elements) {
                            panel[place(k, other, at)] = number;
                        }
                    },
                )
            }
        }
    }

    /// Panels `a` and `b`; of a sparse product which elements of `a` there are not.
    #[inline(always)]
    fn warpgroup_factors(&mut self, site: &WarpgroupSite, panels: &mut Panels) -> Result<(), FaultKind> {
        let Sizes { m, n, k } = site.sizes;
        let first = self.warp.index as usize % WARPS * ROWS;
        let Panels { a, b, sums, absent, .. } = panels;
        let kept = if site.sparse.is_some() { k / 2 } else { k };
        let stored = if site.sparse.is_some() { &mut *sums } else { &mut *a };
        // In a loop, so that there is one copy of what reads a factor.
        for (factor, ty, across, k, numbers) in [
            (&site.a, site.a_ty, (first, m), kept, of(stored, kept * m)),
            (&site.b, site.b_ty, (0, n), k, of(b, k * n)),
        ] {
            self.factor(factor, ty, across, k, numbers)?;
        }
        let a = of(a, k * m);
        if let Some(sparse) = &site.sparse {
            sparse.spread(&self.frame.r32, of(sums, kept * m), a, of(absent, k * m));
        }
        if site.negative {
            a.iter_mut().for_each(|a| *a = -*a);
        }
        Ok(())
    }

    #[inline(always)]
    fn warpgroup_real(&mut self, site: &WarpgroupSite, scheme: Scheme, panels: &mut Panels) {
        let Sizes { m, n, k } = site.sizes;
        let isa = self.isa;
        let adds = self.predicate(site.adds) & 1 != 0;
        let Panels { a, b, d, absent, .. } = panels;
        let d = of(d, m * n);
        if adds {
            site.c.read_summands(site.d_ty, &self.frame.r32, d);
        } else {
            d.fill(0.0);
        }
        let absent = site.sparse.is_some().then(|| &absent[..k * m]);
        let factors = [&a[..k * m], &b[..k * n]];
        isa.multiply(scheme.accumulation, site.sizes, factors, absent, d);
        site.d.write_numbers(site.d_ty, &mut self.frame.r32, d);
    }

    #[inline(always)]
    fn warpgroup_integer(&mut self, site: &WarpgroupSite, panels: &mut Panels) {
        let Sizes { m, n, k } = site.sizes;
        let Panels { a, b, counts, .. } = panels;
        let d = self.summands(site, of(counts, m * n));
        integer::multiply(site.sizes, site.satfinite, [&a[..k * m], &b[..k * n]], d);
        site.d.write(&mut self.frame.r32, d, |value| value);
    }

    /// The patterns of `d`, or zeros where it is not added.
    #[inline(always)]
    fn summands<'p>(&self, site: &WarpgroupSite, d: &'p mut [u32]) -> &'p mut [u32] {
        if self.predicate(site.adds) & 1 != 0 {
            site.c.read_words(&self.frame.r32, d);
        } else {
            d.fill(0);
        }
        d
    }

    #[inline(never)]
    fn warpgroup_bits(&mut self, site: &WarpgroupSite, panels: &mut Panels) -> Result<(), FaultKind> {
        let Sizes { m, n, k } = site.sizes;
        let first = self.warp.index as usize % WARPS * ROWS;
        let Panels { words: [a, b], counts, .. } = panels;
        let (a, b) = (of(a, k * m), of(b, k * n));
        self.factor_words(&site.a, (first, m), k, a)?;
        self.factor_words(&site.b, (0, n), k, b)?;
        let d = self.summands(site, of(counts, m * n));
        integer::multiply_bits(site.sizes, Bits::And, [a, b], d);
        site.d.write(&mut self.frame.r32, d, |value| value);
        Ok(())
    }

    /// A factor as a panel of words.
    fn factor_words(
        &mut self,
        factor: &Factor,
        (first, across): (usize, usize),
        k: usize,
        panel: &mut [u32],
    ) -> Result<(), FaultKind> {
        match factor {
            Factor::Registers(registers) => {
                registers.read_words(&self.frame.r32, panel);
                Ok(())
            }
            &Factor::Shared { descriptor, transposed } => {
                self.factor_units((descriptor, transposed), (first, across), k, 32, |k, other, bytes| {
                    for at in 0..4 {
                        panel[(k + at) * across + other] = (bytes >> (32 * at)) as u32;
                    }
                })
            }
        }
    }
}

/// The numbers in a unit, as many as there are.
#[inline(always)]
fn numbers(ty: ScalarType, unit: u128) -> [f32; UNIT as usize] {
    #[inline(always)]
    fn each(unit: u128, bits: usize, number: impl Fn(u32) -> f32) -> [f32; UNIT as usize] {
        let bytes = unit.to_le_bytes();
        let mut out = [0.0; UNIT as usize];
        for (out, bytes) in out.iter_mut().zip(bytes.chunks_exact(bits / 8)) {
            let mut word = [0; 4];
            word[..bits / 8].copy_from_slice(bytes);
            *out = number(u32::from_le_bytes(word));
        }
        out
    }
    match ty {
        ScalarType::F16 => each(unit, 16, format::widen::<F16>),
        ScalarType::Bf16 => each(unit, 16, format::widen::<Bf16>),
        ScalarType::E4m3 => each(unit, 8, format::widen::<E4m3>),
        ScalarType::E5m2 => each(unit, 8, format::widen::<E5m2>),
        ScalarType::U8 => each(unit, 8, |byte| byte as i32 as f32),
        ScalarType::S8 => each(unit, 8, |byte| f32::from(byte as u8 as i8)),
        // The bits that .tf32 lacks have no say.
        _ => each(unit, 32, |word| f32::from_bits(word & 0xffff_e000)),
    }
}
