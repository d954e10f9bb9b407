//! Sums of products whose factors come from memory, several instructions in one (see `decode::sums`).

use warploom_exec::address::split_shared;
use warploom_exec::fault::{AccessKind, FaultKind, Site};
use warploom_exec::memory::{Run, Spread, View, spread};
use warploom_exec::observe::{Access, At, CtaObserver, Proxy, Scope, Semantics, Space, Step, Use};
use warploom_numerics::float;

use crate::frame::{FULL, Frame, Row32, Row64, Word};
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine};
use crate::memory::Base;
use crate::program::Inst;

/// Lanes of half a warp: addresses are looked at in halves, because CTAs are often 16 threads wide.
const HALF: usize = 16;
/// Most addresses, but for constant offsets, that the sums of one instruction may use.
pub(crate) const MOST_WINDOWS: usize = 16;
/// Bytes of a factor.
const SIZE: i64 = 4;

/// Sums that one instruction computes.
pub(crate) struct SumsOfProducts {
    pub(crate) windows: Vec<Memory>,
    /// What an observer is asked, if there is one, before they are computed.
    pub(crate) together: Vec<Together>,
    /// Registers, for an observer that follows each instruction.
    pub(crate) registers: Option<Registers>,
    pub(crate) sums: Vec<Sum>,
    /// The instruction behind the plain form of the sums.
    pub(crate) after: u32,
}

/// The memory that factors at one address and constant offsets from it come from.
pub(crate) struct Memory {
    pub(crate) shared: bool,
    pub(crate) base: Base,
    /// The lowest and the highest offset.
    pub(crate) first: i64,
    pub(crate) last: i64,
}

impl Memory {
    /// Whether its offsets are near each other, and whole factors apart.
    pub(crate) fn is_reasonable(&self) -> bool {
        let near = |offset: i64| i32::try_from(offset).is_ok() && offset % SIZE == 0;
        near(self.first) && near(self.last) && self.last - self.first < 1 << 20
    }
}

/// Factors of a window that lie one behind the other: what a lane reads of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Together {
    pub(crate) window: u32,
    /// Bytes behind the lowest offset of the window.
    pub(crate) place: u32,
    pub(crate) bytes: u32,
}

/// By their numbers in the function.
#[derive(Default)]
pub(crate) struct Registers {
    /// Read before they are written: addresses, factors and what sums begin with.
    pub(crate) reads: Vec<(u32, Use)>,
    /// What sums end in.
    pub(crate) writes: Vec<u32>,
}

/// `d = c + sum of factors[i][0] * factors[i][1]`, one rounding for each product.
pub(crate) struct Sum {
    pub(crate) c: u32,
    pub(crate) d: u32,
    pub(crate) factors: Vec<[Factor; 2]>,
}

/// Where a factor comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// A 32-bit row.
    Row(u32),
    /// Memory, so many bytes behind the lowest offset of its window.
    Memory { window: u32, place: u32 },
}

/// Memory that has been checked, for each half of the warp.
#[derive(Clone, Copy)]
struct Window<'m> {
    /// Where the first lanes of the halves read, at the lowest offset.
    starts: [u64; 2],
    /// All lanes of a half read the same place; otherwise consecutive ones.
    same: bool,
    halves: [Run<'m>; 2],
}

/// The sums of site `imm`. Goes on with the plain instructions where these must do it.
pub(crate) struct Sums;

impl LaneOp for Sums {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let function = machine.function;
        let site = &function.sums[inst.imm as usize];
        if mask != FULL {
            return Flow::Next;
        }
        let shared = (Run::of(&machine.cta.shared), u64::from(machine.cta.base));
        let mut windows = [Window { starts: [0; 2], same: true, halves: [Run::of(&[]); 2] }; MOST_WINDOWS];
        for ((index, memory), window) in site.windows.iter().enumerate().zip(&mut windows) {
            match open(memory, &machine.frame, &mut machine.view, shared, inst.imm.wrapping_add(index as u32)) {
                Some(found) => *window = found,
                None => return Flow::Next,
            }
        }
        if let Some(observer) = &mut machine.cta.observer {
            let at = At {
                cta: machine.cta.id,
                rank: split_shared(machine.cta.base).0,
                warp: machine.warp.index,
                mask,
                site: Site(u64::from(inst.a) << 32 | u64::from(inst.d)),
                activation: machine.activation,
            };
            let limit = u64::from(machine.program.static_shared) + u64::from(machine.grid.launch.dynamic_shared);
            if !site.told(&mut **observer, &at, &windows, limit) {
                return Flow::Next;
            }
        }
        let mut inside = true;
        for sum in &site.sums {
            let mut row = [0.0; 32];
            for (value, &bits) in row.iter_mut().zip(&machine.frame.r32[sum.c as usize]) {
                *value = f32::from_bits(bits);
            }
            for &factors in &sum.factors {
                inside &= add_product(&machine.frame, &windows, factors, &mut row).is_some();
            }
            for (bits, value) in machine.frame.r32[sum.d as usize].iter_mut().zip(row) {
                *bits = float::end_of_sum(value).to_bits();
            }
        }
        if !inside {
            return machine.fail(mask, FaultKind::Internal("a factor outside its window".into()));
        }
        machine.pc = site.after;
        Flow::Jump
    }
}

impl SumsOfProducts {
    /// Tells an observer of all registers and loads; false if it wants them one by one.
    #[inline(never)]
    fn told(&self, observer: &mut dyn CtaObserver, at: &At, windows: &[Window<'_>], limit: u64) -> bool {
        if let Some(Registers { reads, writes }) = &self.registers
            && !observer.steps(at, &Step { reads, writes, pieces: None, idle: &[], memory: false, call: false })
        {
            return false;
        }
        self.together.iter().all(|&Together { window, place, bytes }| {
            let (memory, window) = (&self.windows[window as usize], &windows[window as usize]);
            let starts = window.starts.map(|start| start.wrapping_add(place.into()));
            let (apart, spread) = if window.same { (0, Spread::Same) } else { (SIZE as u64, Spread::Consecutive) };
            let addresses: Row64 =
                std::array::from_fn(|lane| starts[lane / HALF].wrapping_add((lane % HALF) as u64 * apart));
            let last = (HALF as u64 - 1) * apart;
            let access = Access {
                kind: AccessKind::Load,
                space: if memory.shared { Space::Shared } else { Space::Global },
                bytes,
                align: SIZE as u32,
                addresses: &addresses,
                spread,
                apart: SIZE as u32,
                reach: [starts[0].min(starts[1]), starts[0].max(starts[1]).wrapping_add(last)],
                aligned: true,
                limit: if memory.shared { limit } else { 0 },
                semantics: Semantics::Weak,
                scope: Scope::Cta,
                proxy: Proxy::Generic,
                registers: &[],
                stored: None,
            };
            observer.reads(at, &access)
        })
    }
}

/// Checks the memory at the addresses in a row. None if they have no pattern, or not all of it may be read.
#[inline(always)]
fn open<'m, 'v: 'm>(
    memory: &Memory,
    frame: &Frame,
    view: &mut View<'v>,
    (shared, own): (Run<'m>, u64),
    site: u32,
) -> Option<Window<'m>> {
    let (pattern, starts) = match memory.base {
        Base::Word(row) => look::<u32>(frame, row, memory.first),
        Base::Double(row) => look::<u64>(frame, row, memory.first),
        Base::None | Base::Shared | Base::Frame | Base::Variable(_) => return None,
    };
    let same = match pattern {
        Spread::Same => true,
        Spread::Consecutive => false,
        Spread::Other => return None,
    };
    let elements = if same { 1 } else { HALF as i64 };
    let len = (memory.last - memory.first + SIZE * elements) as u64;
    let halves = if memory.shared {
        [shared.part(starts[0].wrapping_sub(own), len)?, shared.part(starts[1].wrapping_sub(own), len)?]
    } else {
        view.runs(site, starts, len)?
    };
    let aligned = (starts[0] | starts[1]) % SIZE as u64 == 0;
    aligned.then_some(Window { starts, same, halves })
}

/// How the addresses in row `row` lie, and the first ones of the halves, `offset` added.
#[inline(always)]
fn look<B: Word + Into<u64>>(frame: &Frame, row: u32, offset: i64) -> (Spread, [u64; 2]) {
    let bases = B::row(frame, row);
    (spread(bases, SIZE as u64), [bases[0], bases[HALF]].map(|base| base.address(offset as i32 as u32)))
}

/// `sum += factors[0] * factors[1]`.
#[inline(always)]
fn add_product(
    frame: &Frame,
    windows: &[Window<'_>; MOST_WINDOWS],
    factors: [Factor; 2],
    sum: &mut [f32; 32],
) -> Option<()> {
    let [a, b] = factors;
    match (a, b) {
        (Factor::Row(a), Factor::Row(b)) => multiply(&frame.r32[a as usize], &frame.r32[b as usize], sum),
        (Factor::Row(row), Factor::Memory { window, place }) | (Factor::Memory { window, place }, Factor::Row(row)) => {
            let row = &frame.r32[row as usize];
            let window = &windows[window as usize % MOST_WINDOWS];
            if window.same {
                multiply(row, &window.splat(place)?, sum)
            } else {
                multiply(row, &window.consecutive(place)?, sum)
            }
        }
        (Factor::Memory { window: a, place: at_a }, Factor::Memory { window: b, place: at_b }) => {
            let (a, b) = (&windows[a as usize % MOST_WINDOWS], &windows[b as usize % MOST_WINDOWS]);
            match (a.same, b.same) {
                (true, true) => multiply(&a.splat(at_a)?, &b.splat(at_b)?, sum),
                (true, false) => multiply(&a.splat(at_a)?, &b.consecutive(at_b)?, sum),
                (false, true) => multiply(&a.consecutive(at_a)?, &b.splat(at_b)?, sum),
                (false, false) => multiply(&a.consecutive(at_a)?, &b.consecutive(at_b)?, sum),
            }
        }
    }
    Some(())
}

#[inline(always)]
fn multiply(a: &Row32, b: &Row32, sum: &mut [f32; 32]) {
    for lane in 0..32 {
        sum[lane] = float::add_product(f32::from_bits(a[lane]), f32::from_bits(b[lane]), sum[lane]);
    }
}

impl Window<'_> {
    /// The value that all lanes of each half read.
    #[inline(always)]
    fn splat(&self, place: u32) -> Option<Row32> {
        let [low, high] = [self.halves[0].read::<u32>(place)?, self.halves[1].read::<u32>(place)?];
        Some(std::array::from_fn(|lane| if lane < HALF { low } else { high }))
    }

    /// The values that the lanes read.
    #[inline(always)]
    fn consecutive(&self, place: u32) -> Option<Row32> {
        let mut row = [0; 32];
        let (low, high) = row.split_at_mut(HALF);
        let read = self.halves[0].read_all::<u32>(place, low) && self.halves[1].read_all::<u32>(place, high);
        read.then_some(row)
    }
}
