//! Sums of products of values in memory: `ld; ld; fma` over and over, as compilers unroll the inner loop of a matrix product, a convolution
//! or a stencil. All of it becomes one instruction, which keeps its sums in the host's registers and reads memory as it goes. The plain
//! instructions stay behind it: it only runs with all lanes, at addresses that lie in a pattern and may all be read, and leaves
//! everything else to them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use warploom_exec::observe::Use;
use warploom_ptx::ir::{
    self, Base as IrBase, Body, Inst, Module, Op as Ir, OperandRef, Reg, Role, Rounding, ScalarType, Semantics, Space,
};

use super::hoist::is_pure;
use super::simplify::Counts;
use super::{Decoder, Home};
use crate::isa::Op;
use crate::memory::Base;
use crate::ops::sums::{Factor, MOST_WINDOWS, Memory, Registers, Sum, Sums, SumsOfProducts, Together};

/// Fewest products that are worth an instruction of their own.
const FEWEST: usize = 3;
/// Bytes of a factor.
const SIZE: u32 = 4;
/// Most instructions that are looked at together.
const LONGEST: usize = 512;

/// Moves what stands between the loads and products of such sums ahead of them, as far as that changes nothing, and says where they are:
/// ranges of instructions that are nothing but these loads and products. What they load is read nowhere else.
pub(super) fn arrange(module: &Module, source: &ir::Function, body: &mut Body) -> Vec<Range<usize>> {
    let counts = Counts::of(source, body);
    let mut found = Vec::new();
    for number in 0..body.blocks.len() {
        let range = &body.blocks[number].insts;
        let (mut start, end) = (range.start as usize, range.end as usize);
        // Looking again from every load that led to nothing must not take longer than the block is worth.
        let mut patience = 16 * (end - start);
        while start < end {
            if load(&body.insts[start]).is_none() {
                start += 1;
                continue;
            }
            let seen = &body.insts[start..end.min(start + LONGEST)];
            let mut growing = Growing::new(module, source, &counts);
            growing.grow(seen);
            patience = patience.saturating_sub(growing.looked_at);
            if growing.best.products >= FEWEST {
                let length = growing.best.length;
                let insts = &mut body.insts[start..start + length];
                let (moved, kept): (Vec<_>, Vec<_>) =
                    insts.iter().cloned().enumerate().partition(|(index, _)| growing.moved.contains(index));
                let first = start + moved.len();
                for (place, (_, inst)) in insts.iter_mut().zip(moved.into_iter().chain(kept)) {
                    *place = inst;
                }
                found.push(first..start + length);
                start += length;
            } else if patience == 0 {
                break;
            } else {
                start += 1;
            }
        }
    }
    found
}

/// The result and the address of a load that can be part of a sum.
fn load(inst: &Inst) -> Option<(Reg, Reg, Space, i64)> {
    match &inst.op {
        Ir::Ld {
            space: space @ (Space::Shared | Space::Global),
            ty,
            to,
            semantics: Semantics::Weak,
            dst,
            addr,
            ..
        } if inst.guard.is_none()
            && matches!(ty, ScalarType::F32 | ScalarType::B32)
            && to.bits() == 32
            && dst.len() == 1 =>
        {
            let IrBase::Reg(base) = addr.base else { return None };
            Some((dst[0], base, *space, addr.offset))
        }
        _ => None,
    }
}

/// A fused multiply-add that can be part of a sum: its result, factors and summand.
fn product(inst: &Inst) -> Option<(Reg, [ir::Operand; 2], ir::Operand)> {
    match inst.op {
        Ir::Fma {
            ty: ScalarType::F32,
            a_ty: ScalarType::F32,
            rnd: Rounding::Rn,
            ftz: false,
            sat: false,
            relu: false,
            oob: false,
            dst,
            a,
            b,
            c,
        } if inst.guard.is_none() => Some((dst, [a, b], c)),
        _ => None,
    }
}

#[derive(Clone, Copy, Default)]
struct Best {
    length: usize,
    products: usize,
}

/// The search for a sum from one load on.
struct Growing<'a> {
    module: &'a Module,
    source: &'a ir::Function,
    counts: &'a Counts,
    /// Loaded registers with their reads that have not been seen.
    loaded: HashMap<Reg, u32>,
    unread: usize,
    /// Results of products, with the register that their sum began with.
    sums: HashMap<Reg, Option<Reg>>,
    /// What loads and products have read.
    reads: Vec<Reg>,
    /// Instructions, from the first load, that go ahead.
    moved: Vec<usize>,
    products: usize,
    looked_at: usize,
    best: Best,
}

impl<'a> Growing<'a> {
    fn new(module: &'a Module, source: &'a ir::Function, counts: &'a Counts) -> Self {
        Self {
            module,
            source,
            counts,
            loaded: HashMap::new(),
            unread: 0,
            sums: HashMap::new(),
            reads: Vec::new(),
            moved: Vec::new(),
            products: 0,
            looked_at: 0,
            best: Best::default(),
        }
    }

    fn grow(&mut self, insts: &[Inst]) {
        for (index, inst) in insts.iter().enumerate() {
            self.looked_at += 1;
            if !self.take(index, inst) {
                break;
            }
            if self.unread == 0 && product(inst).is_some() {
                self.best = Best { length: index + 1, products: self.products };
            }
        }
        self.moved.retain(|&index| index < self.best.length);
    }

    /// Makes `inst` part of the sums, or moves it ahead; false if neither can be.
    fn take(&mut self, index: usize, inst: &Inst) -> bool {
        if let Some((dst, base, ..)) = load(inst) {
            let fits = self.once(dst)
                && self.counts.reads[dst.0 as usize] != 0
                && !self.is_inner(dst)
                && !self.reads.contains(&dst)
                && !self.is_inner(base);
            if fits {
                self.loaded.insert(dst, self.counts.reads[dst.0 as usize]);
                self.unread += 1;
                self.reads.push(base);
            }
            return fits;
        }
        if let Some((dst, factors, summand)) = product(inst) {
            return self.take_product(dst, factors, summand);
        }
        let operands = inst.operands();
        let mut defs = operands.iter().filter_map(OperandRef::def);
        let mut reads = operands.iter().filter_map(OperandRef::read);
        let moves = is_pure(self.module, self.source, inst)
            && reads.all(|reg| !self.is_inner(reg))
            && defs.all(|reg| self.once(reg) && !self.reads.contains(&reg) && !self.is_inner(reg));
        if moves {
            self.moved.push(index);
        }
        moves
    }

    fn take_product(&mut self, dst: Reg, factors: [ir::Operand; 2], summand: ir::Operand) -> bool {
        // The sum so far is the only thing that a product may take from another one, and nobody else may want it.
        let so_far = summand.reg().filter(|reg| self.sums.contains_key(reg));
        let origin = match so_far {
            Some(reg) if self.once(reg) && self.counts.reads[reg.0 as usize] == 1 => self.sums[&reg],
            Some(_) => return false,
            None => summand.reg(),
        };
        // A sum may end in the register that it began with, which nothing else here may have read.
        let began = usize::from(so_far.is_some() && origin == Some(dst));
        let fits = !self.is_inner(dst)
            && self.reads.iter().filter(|&&reg| reg == dst).count() == began
            && factors.iter().filter_map(|factor| factor.reg()).all(|reg| !self.sums.contains_key(&reg) && reg != dst)
            && summand.reg().is_none_or(|reg| !self.loaded.contains_key(&reg));
        if !fits {
            return false;
        }
        for reg in factors.iter().filter_map(|factor| factor.reg()) {
            match self.loaded.get_mut(&reg) {
                Some(left) => {
                    *left = left.saturating_sub(1);
                    self.unread -= usize::from(*left == 0);
                }
                None => self.reads.push(reg),
            }
        }
        if so_far.is_none() {
            self.reads.extend(origin);
        }
        self.sums.insert(dst, origin);
        self.products += 1;
        true
    }

    fn once(&self, reg: Reg) -> bool {
        self.counts.writes[reg.0 as usize] == 1
    }

    fn is_inner(&self, reg: Reg) -> bool {
        self.loaded.contains_key(&reg) || self.sums.contains_key(&reg)
    }
}

impl Decoder<'_> {
    /// Emits the sums of a range that [`arrange`] found, if their rows allow it, and returns the index of the site: where the plain
    /// instructions end is not known yet.
    pub(super) fn sums(&mut self, range: Range<usize>) -> Option<usize> {
        let insts = &self.body.insts[range];
        let mut windows: Vec<Memory> = Vec::new();
        let mut places: HashMap<Reg, (usize, i64)> = HashMap::new();
        let mut sums: Vec<Sum> = Vec::new();
        let mut open: HashMap<Reg, usize> = HashMap::new();
        for inst in insts {
            if let Some((dst, base, space, offset)) = load(inst) {
                let base = match self.home(base) {
                    Home::Word(row) => Base::Word(row),
                    Home::Double(row) => Base::Double(row),
                    _ => return None,
                };
                let shared = space == Space::Shared;
                let known = windows.iter().position(|window| window.base == base && window.shared == shared);
                let index = known.unwrap_or_else(|| {
                    windows.push(Memory { shared, base, first: offset, last: offset });
                    windows.len() - 1
                });
                let window = &mut windows[index];
                (window.first, window.last) = (window.first.min(offset), window.last.max(offset));
                places.insert(dst, (index, offset));
            } else if let Some((dst, factors, summand)) = product(inst) {
                let factors = factors.map(|factor| match factor.reg().and_then(|reg| places.get(&reg)) {
                    Some(&(window, place)) => Factor::Memory { window: window as u32, place: place as u32 },
                    None => Factor::Row(self.word(factor)),
                });
                let sum = match summand.reg().and_then(|reg| open.remove(&reg)) {
                    Some(sum) => sum,
                    None => {
                        let c = self.word(summand);
                        sums.push(Sum { c, d: 0, factors: Vec::new() });
                        sums.len() - 1
                    }
                };
                sums[sum].factors.push(factors);
                let Home::Word(d) = self.home(dst) else { return None };
                sums[sum].d = d;
                open.insert(dst, sum);
            }
        }
        let usable =
            windows.len() <= MOST_WINDOWS && windows.iter().all(Memory::is_reasonable) && are_independent(&sums);
        if !usable {
            return None;
        }
        for factor in sums.iter_mut().flat_map(|sum| &mut sum.factors).flatten() {
            if let Factor::Memory { window, place } = factor {
                *place = place.wrapping_sub(windows[*window as usize].first as u32);
            }
        }
        let together = if self.context.observed.is_some_and(|wants| wants.accesses) {
            let places = places.values().map(|&(window, offset)| (window, offset.wrapping_sub(windows[window].first)));
            together(places.collect())
        } else {
            Vec::new()
        };
        let registers = self.context.observed.is_some_and(|wants| wants.steps).then(|| registers(insts));
        let site = self.function.sums.len();
        self.function.sums.push(SumsOfProducts { windows, together, registers, sums, after: 0 });
        let number = self.function.code.len() as u32;
        self.emit(Op::lanes_control::<Sums>(), number, [self.number, 0, 0], site as u32);
        Some(site)
    }
}

impl Decoder<'_> {
    /// The plain form of sums ends here.
    pub(super) fn end_of_sums(&mut self, site: usize) {
        self.function.sums[site].after = self.function.code.len() as u32;
        // Whoever has come by the short way has not seen how addresses lie.
        self.spreads.forget_all();
    }
}

/// What loads and products read of registers that others have written, and what is left of what they write: nobody but them reads the rest.
fn registers(insts: &[Inst]) -> Registers {
    let mut found = Registers::default();
    let mut inner: HashSet<Reg> = HashSet::new();
    for inst in insts {
        let operands = inst.operands();
        for operand in &operands {
            if let Some(reg) = operand.read().filter(|reg| !inner.contains(reg)) {
                let how = if operand.role == Role::Address { Use::Address } else { Use::Value };
                found.reads.push((reg.0, how));
            }
        }
        inner.extend(operands.iter().filter_map(OperandRef::def));
        if let Some((dst, _, summand)) = product(inst) {
            found.writes.retain(|&written| summand.reg().is_none_or(|reg| reg.0 != written));
            found.writes.push(dst.0);
        }
    }
    found.reads.sort_unstable_by_key(|&(register, how)| (register, how == Use::Value));
    found.reads.dedup();
    found
}

/// The factors at these places of windows, in pieces without gaps.
fn together(mut places: Vec<(usize, i64)>) -> Vec<Together> {
    places.sort_unstable();
    let mut pieces: Vec<Together> = Vec::new();
    for (window, place) in places {
        let (window, place) = (window as u32, place as u32);
        match pieces.last_mut() {
            Some(last) if last.window == window && place <= last.place + last.bytes => {
                last.bytes = place - last.place + SIZE;
            }
            _ => pieces.push(Together { window, place, bytes: SIZE }),
        }
    }
    pieces
}

/// Whether the sums can be computed one after the other: none writes a row that a later one reads or writes. Registers share rows, so that
/// this is more than that their registers differ.
fn are_independent(sums: &[Sum]) -> bool {
    sums.iter().enumerate().all(|(index, sum)| {
        sums[index + 1..].iter().all(|later| {
            later.d != sum.d
                && later.c != sum.d
                && later.factors.iter().flatten().all(|factor| *factor != Factor::Row(sum.d))
        })
    })
}
