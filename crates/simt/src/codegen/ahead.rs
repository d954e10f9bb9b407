//! Lines of the cache that are fetched before they are wanted.
//!
//! The processor itself foresees what goes straight through memory, but not what goes on by a whole grid in each trip of a loop, nor a tile's rows. Where a loop
//! goes on, the next place is as far from this one as this one is from the last; CTAs come one after the other along x. Nothing fails where no memory is.

use std::collections::BTreeSet;
use std::ops::Range;

use warploom_ptx::ir::{IntBinaryOp, Loop, Op, Operand, Role, Space, SpecialReg};

use super::function::{Val, Writer};
use super::memory::Target;
use super::names::Ty;
use super::plan::Plan;
use super::span::Span;
use super::team::{comes_of, goes_through_memory};
use crate::access::{Access, AccessKind, Pattern};
use crate::divergence::successors;
use crate::range::is_integer;
use crate::values::{ValueId, paired};

/// Bytes of a cache line.
pub(super) const LINE: u32 = 64;
/// Rows of fewer bytes are not worth the work.
const FEW: u64 = 256;
/// Of longer ones the processor sees enough by itself.
const MANY: u64 = 4096;
/// Bytes of a loop's later trips that are on their way. Measured on a Zen 4 with sums of rows of 1,024 bytes: with one trip 1.08 times as fast as without, with
/// 2 1.17, with 4 1.4, with 8 1.6; with two such rows, one of which is written again: with 2 or 4 trips 1.2, with 8 1.05. On a Xeon with AVX-512 it is a loss.
const AHEAD: u64 = 8192;
/// The same on others, whose own fetching ends with a page. Of rows that are only loaded it is also where they follow each other, as a CTA's last trip then fetches what the next CTA begins with. Measured on a Xeon of the fifth generation with AVX-512: sums along a grid 1.06
/// to 1.09 times as fast as without, sums of rows of 4,096 bytes 1.2 to 1.35 times; into the first level, or only where trips are further apart than a row, they had lost by it. What stores to rows as well gains by the first level: 1.3 times on a Xeon of the second generation.
const AHEAD_OF_PAGE: u64 = 4096;

/// Longer rows of a CTA's tile are foreseen, of shorter ones the next is in the same line.
const WIDE: u32 = 512;
const NARROW: u32 = LINE / 2;
/// Of larger tiles, by the bytes that are loaded, the next but one is fetched, of others the fourth. Measured on a Zen 4: a stencil that loads 3 rows of 128 bytes
/// for each of 8 gains 1.15 times with the second and 1.25 with the fourth, a transposition of 32 rows of 128 bytes 1.1 times with the second and nothing with
/// the fourth, whose lines take each other's places.
const TILE: u32 = 3072;

/// How far what later gangs load is before this one, of lanes whose elements are so many bytes from each other at most. Measured on a Xeon of the fifth generation with AVX-512, of what is not in the
/// caches: largest of four neighbours 1.5 times as fast, gelu 1.15, a step of a fluid 1.15; with 1,024 and 4,096 bytes the same. Of CTAs that are no rows it was a loss.
const GANGS_AHEAD: u32 = 2048;
const NEAR: u32 = 32;

/// Of a loop with fewer trips the processor has foreseen the few lines by the time that the next gang comes.
const TRIPS: u32 = 8;

/// Where a trip of a loop through planes loads more than so many rows for each that it stores, it pays to fetch those of later planes, which are further apart than [`FAR`]. Measured on a
/// Zen 3, one thread: seven neighbours of cells in planes of 160,000 to 1,000,000 bytes 1.1 to 1.25 times as fast, with 1 or 4 trips less; differences of four cells lost as much as they gained. On a Xeon of the fifth generation some lost.
const ROWS_OF_PLANE: usize = 3;
const PLANES_AHEAD: i64 = 2;
const FAR: u32 = 2048;

/// Where a line is to be.
#[derive(Clone, Copy)]
pub(super) enum Cache {
    First,
    FirstToBeWritten,
    Second,
}

/// What is accessed of a span, from its first byte on: where pieces begin, and how many bytes each has. Accesses with one base may lie far apart, as rows of a matrix do.
fn pieces(plan: &Plan<'_>, span: &Span) -> Vec<Range<u64>> {
    let Some((_, hull)) = plan.hull(span.inst) else { return std::iter::once(0..span.need).collect() };
    let offsets: BTreeSet<i64> = hull.members.iter().map(|member| plan.offset_of(*member)).collect();
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return Vec::new() };
    let row = span.need.saturating_sub((last - first) as u64);
    let mut out: Vec<Range<u64>> = Vec::new();
    for offset in &offsets {
        let from = (offset - first) as u64;
        match out.last_mut() {
            Some(before) if from <= before.end => before.end = from + row,
            _ => out.push(from..from + row),
        }
    }
    out
}

/// How many bytes are accessed of a span.
fn accessed(plan: &Plan<'_>, span: &Span) -> u64 {
    pieces(plan, span).iter().map(|piece| piece.end - piece.start).sum()
}

fn is_global_row(access: &Access, kind: AccessKind) -> bool {
    access.kind == kind && access.space == Space::Global && access.pattern == Pattern::Contiguous
}

/// Whether the processor does not see rows that are loaded soon enough, or stored to.
fn is_row(plan: &Plan<'_>, span: &Span, kind: AccessKind) -> bool {
    let long = |piece: &Range<u64>| piece.end - piece.start >= FEW;
    span.kind == kind && pieces(plan, span).iter().all(long) && accessed(plan, span) <= MANY
}

/// What a loop's end compares with, the same for all threads.
enum Bound {
    Value(ValueId),
    Constant(u64),
}

/// That of a loop, and whether it is signed.
fn bound(plan: &Plan<'_>, inner: &Loop) -> Option<(Bound, bool)> {
    let ends = inner.blocks.clone().filter(|block| {
        successors(plan.body, *block).iter().any(|to| !inner.blocks.contains(to) || *to == inner.blocks.start)
    });
    ends.filter_map(|block| plan.guard_of(block)).find_map(|guard| {
        let &[def] = &plan.info.values.get(guard).defs[..] else { return None };
        let inst = &plan.body.insts[def as usize];
        let Op::Setp { ty, .. } = inst.op else { return None };
        let operands = inst.operands();
        let read = paired(&operands, plan.info.values.of_inst(def)).filter(|(operand, _)| operand.role == Role::Use);
        let mut fixed = read.filter_map(|(operand, value)| match (operand.value, value) {
            (Operand::Imm(number), _) => Some(Bound::Constant(number)),
            (Operand::Reg(_), value) => {
                value.filter(|value| plan.info.shape(*value).is_cta_uniform()).map(Bound::Value)
            }
        });
        match (fixed.next(), fixed.next()) {
            (Some(bound), None) if is_integer(ty) => Some((bound, ty.is_signed())),
            _ => None,
        }
    })
}

/// Whether a loop goes on by rows of a CTA, or of a grid, in elements of so many bytes or in bytes: something in it grows by a multiple of the CTA's size.
fn goes_by_cta(plan: &Plan<'_>, inner: &Loop, bytes: u32) -> bool {
    /// Trips that a compiler has made one.
    const MANY: u64 = 16;
    let threads = u64::from(plan.info.gangs.threads());
    let rows = |step: u64, row: u64| step.is_multiple_of(row) && (1..=MANY).contains(&(step / row));
    let mut insts = inner.blocks.clone().flat_map(|block| plan.body.blocks[block as usize].insts.clone());
    insts.any(|number| {
        let inst = &plan.body.insts[number as usize];
        let Op::IntBinary { op: IntBinaryOp::Add, .. } = inst.op else { return false };
        let operands = inst.operands();
        paired(&operands, plan.info.values.of_inst(number)).any(|(operand, value)| match (operand.value, value) {
            (Operand::Imm(step), _) => rows(step, threads) || rows(step, threads * u64::from(bytes)),
            (Operand::Reg(_), Some(value)) => {
                let fixed = plan.info.shape(value).is_cta_uniform() && operand.read().is_some();
                fixed && comes_of(plan, value, |reg| reg == SpecialReg::NtidX)
            }
            _ => false,
        })
    })
}

impl Writer<'_> {
    /// Has the lines fetched that a team loads some trips later in a loop through memory; `from` is the first byte that it loads in this one. They come into the
    /// cache of the second level: places that are a grid apart would take each other's lines of the first.
    pub(super) fn fetch_later_trip(&mut self, site: u32, span: &Span, from: &Val) {
        let body = self.body();
        let block = self.plan.block_of[self.inst as usize];
        let Some(inner) = body.innermost_loops()[block as usize] else { return };
        let inner = &body.loops[inner as usize];
        if !goes_through_memory(self.plan, inner) || !is_row(self.plan, span, AccessKind::Load) {
            return;
        }
        let insts = inner.blocks.clone().flat_map(|block| body.blocks[block as usize].insts.clone());
        let updates = |inst: u32| matches!(body.insts[inst as usize].op, Op::Atom { space: Space::Shared, .. });
        let stores =
            |inst: u32| self.plan.span(inst).is_some_and(|(_, span)| is_row(self.plan, span, AccessKind::Store));
        let machine = self.plan.machine();
        // Where trips follow each other without a gap, most processors have foreseen the next.
        let (ahead, to, gaps_only) = match machine.fetches_rows {
            true => (AHEAD, Cache::Second, true),
            // A trip that takes long enough gains everywhere.
            false if insts.clone().any(updates) => (0, Cache::First, true),
            false if machine.x86 && insts.clone().any(stores) => (AHEAD_OF_PAGE, Cache::First, true),
            false if machine.x86 => (AHEAD_OF_PAGE, Cache::Second, false),
            false => return,
        };
        let spans = insts.filter_map(|inst| self.plan.span(inst)).map(|(_, span)| span);
        let trip: u64 =
            spans.filter(|span| is_row(self.plan, span, AccessKind::Load)).map(|span| accessed(self.plan, span)).sum();
        let word = Ty::int(64, 0);
        let [_, step] = self.since_last_trip(from);
        let trips = self.constant(word, (ahead / trip).max(1) as i64);
        let way = self.binary("mul", &step, &trips);
        let later = self.binary("add", from, &way);
        // Not beyond what the kernel may load, for which others would have to wait.
        let mut inside = self.is_inside(site, &later, span.bytes);
        if gaps_only {
            let row = self.constant(word, span.need as i64);
            let leaps = self.compare("ugt", &step, &row);
            inside = self.binary("and", &inside, &leaps);
        }
        self.fetch_where(&inside, ", !prof !2", |this| {
            let later = this.at_address(&later).text;
            for piece in pieces(this.plan, span) {
                this.prefetch_lines(&later, piece.start as u32, (piece.end - piece.start) as u32, to);
            }
        });
    }

    /// Has lines fetched where something holds, of which is said how often it does.
    fn fetch_where(&mut self, holds: &Val, how_often: &str, fetch: impl FnOnce(&mut Self)) {
        let (here, on) = (self.fresh(), self.fresh());
        self.line(format!("br i1 {}, label %L{here}, label %L{on}{how_often}", holds.text));
        self.label(&format!("L{here}"));
        fetch(self);
        self.line(format!("br label %L{on}"));
        self.label(&format!("L{on}"));
    }

    /// An instruction's address in the trip of its loop before this one, 0 in the first, and how far the one in this trip is from that.
    pub(super) fn since_last_trip(&mut self, from: &Val) -> [Val; 2] {
        let place = self.begun_place(format!("%q{}", self.inst));
        let last = self.set(from.ty, format!("load i64, ptr {place}"));
        self.store(from, &place);
        let step = self.binary("sub", from, &last);
        [last, step]
    }

    /// A place for an address or a distance, which the function begins with 0 in.
    pub(super) fn begun_place(&mut self, place: String) -> String {
        if !self.begun.contains(&place) {
            self.begun.push(place.clone());
        }
        place
    }

    /// Makes the places for addresses and distances, with 0 in.
    pub(super) fn begin_places(&mut self) {
        for place in std::mem::take(&mut self.begun) {
            self.line(format!("{place} = alloca i64"));
            self.line(format!("store i64 0, ptr {place}"));
        }
    }

    /// Has the lines fetched that a later CTA loads of the row that a gang of this one loads: CTAs that follow each other in a matrix come back to each of a tile's
    /// rows for a few lines.
    pub(super) fn fetch_later_cta(&mut self, target: &Target) {
        let gangs = &self.plan.info.gangs;
        let (Some(first), true) = (target.first.clone(), self.is_tile_row(self.inst)) else { return };
        let block = self.plan.block_of[self.inst as usize];
        let loads = self.body().blocks[block as usize].insts.clone().filter(|inst| self.is_tile_row(*inst));
        let row = gangs.cta[0] * target.bytes;
        let later = if gangs.threads() * target.bytes * loads.count() as u32 <= TILE { 4 } else { 2 };
        let place = self.at_address(&first).text;
        self.prefetch_lines(&place, later * row, self.lanes() * target.bytes, Cache::First);
    }

    /// Has the lines fetched that later gangs load, where gangs of a kernel without loops go through memory one behind the other: each has so much to compute that the processor, which sees
    /// only as many instructions before it, comes too late to what they load.
    pub(super) fn fetch_later_gang(&mut self, target: &Target) {
        let gangs = &self.plan.info.gangs;
        let one_row = self.team == 0 && gangs.cta[0] == gangs.threads();
        let (Some(first), true, true) = (target.first.clone(), one_row, self.body().loops.is_empty()) else { return };
        let Some(step) = self.row_step(self.inst) else { return };
        // What is loaded beside it lies in the same lines.
        let address = |inst: u32| self.plan.info.address_of(self.body(), inst);
        let before = self.body().blocks[self.plan.block_of[self.inst as usize] as usize].insts.start..self.inst;
        let seen = |inst: u32| address(inst) == address(self.inst) && self.row_step(inst).is_some();
        if before.into_iter().any(seen) || !self.begins_hull(self.inst) {
            return;
        }
        let place = self.at_address(&first).text;
        self.prefetch_lines(&place, GANGS_AHEAD, self.lanes() * step, Cache::First);
    }

    /// Bytes from one lane's place to the next one's, where an instruction loads elements of global memory near each other.
    fn row_step(&self, inst: u32) -> Option<u32> {
        let (_, access) = self.plan.access(inst)?;
        let step = match access.pattern {
            Pattern::Contiguous => access.bytes,
            Pattern::Strided(step) => u32::try_from(step).ok().filter(|step| (1..=NEAR).contains(step))?,
            _ => return None,
        };
        (access.kind == AccessKind::Load && access.space == Space::Global).then_some(step)
    }

    /// Has the lines fetched that the next gang loads in this trip of a loop, where gangs go through loops one after the other: what is a CTA's row apart the
    /// processor does not foresee, and a loop's way back to the next gang is long enough. Measured on a Zen 5 and a
    /// Xeon of the fifth generation: rows of 40,000 bytes are counted 1.9 times as fast, on AVX2 2.
    pub(super) fn fetch_next_gang(&mut self, target: &Target) {
        let block = self.plan.block_of[self.inst as usize];
        let inner = self.body().innermost_loops()[block as usize];
        let (Some(inner), Some(first)) = (inner, target.first.clone()) else { return };
        let Some((_, access)) = self.plan.access(self.inst) else { return };
        let row = access.kind == AccessKind::Load && access.pattern == Pattern::Contiguous;
        let gangs = &self.plan.info.gangs;
        let one_by_one = self.team == 0 && gangs.count() > 1 && gangs.cta[0] == gangs.threads();
        if !self.plan.machine().x86 || !one_by_one || !row || target.space != Space::Global {
            return;
        }
        let gang = self.lanes() * target.bytes;
        let inner = &self.body().loops[inner as usize];
        let Some((bound, signed)) = bound(self.plan, inner).filter(|_| goes_by_cta(self.plan, inner, target.bytes))
        else {
            return;
        };
        let offsets = self.plan.hull(self.inst).map_or(vec![0], |(_, hull)| {
            let first = self.plan.offset_of(hull.first);
            hull.members.iter().map(|member| self.plan.offset_of(*member) - first).collect()
        });
        let few = TRIPS * self.plan.info.gangs.threads();
        let many = match bound {
            Bound::Constant(end) => self.constant(Ty::int(1, 0), i64::from(end > u64::from(few))),
            Bound::Value(end) => {
                let end = self.read(end);
                let few = self.constant(end.ty, i64::from(few));
                self.compare(if signed { "sgt" } else { "ugt" }, &end, &few)
            }
        };
        self.fetch_where(&many, "", |this| {
            let place = this.at_address(&first).text;
            let lines = offsets.into_iter().flat_map(|offset: i64| {
                (0..gang.div_ceil(LINE)).map(move |line| offset + i64::from(gang + line * LINE))
            });
            for line in lines.collect::<BTreeSet<_>>() {
                let there = this.set(Ty::int(64, 0), format!("getelementptr i8, ptr {place}, i64 {line}")).text;
                this.prefetch(&there, Cache::First);
            }
        });
    }

    /// Has the lines fetched that a gang loads some trips later in a loop that leaps through memory, plane after plane: processors that foresee rows foresee nothing beyond a page.
    pub(super) fn fetch_later_plane(&mut self, target: &Target) {
        let block = self.plan.block_of[self.inst as usize];
        let inner = self.body().innermost_loops()[block as usize];
        let (Some(inner), Some(first)) = (inner, target.first.clone()) else { return };
        let row = self.plan.access(self.inst).is_some_and(|(_, access)| is_global_row(access, AccessKind::Load));
        let by_gangs = self.plan.machine().fetches_rows && self.team == 0;
        let first_of_row = row && self.begins_hull(self.inst);
        if !by_gangs || !first_of_row || !self.goes_by_plane(&self.body().loops[inner as usize]) {
            return;
        }
        let [_, step] = self.since_last_trip(&first);
        let least = self.constant(step.ty, i64::from(FAR));
        let leaps = self.compare("ugt", &step, &least);
        let trips = self.constant(step.ty, PLANES_AHEAD);
        let way = self.binary("mul", &step, &trips);
        let later = self.binary("add", &first, &way);
        self.fetch_where(&leaps, "", |this| {
            let later = this.at_address(&later).text;
            this.prefetch_lines(&later, 0, this.lanes() * target.bytes, Cache::First);
        });
    }

    /// Whether a loop stores rows as it goes, and loads enough others for each.
    fn goes_by_plane(&self, inner: &Loop) -> bool {
        let rows = |kind| {
            let rows = self.plan.info.accesses.iter().filter(|access| is_global_row(access, kind));
            let inside = rows.filter(|access| inner.blocks.contains(&self.plan.block_of[access.inst as usize]));
            inside.filter(|access| self.begins_hull(access.inst)).count()
        };
        let stores = rows(AccessKind::Store);
        stores > 0 && rows(AccessKind::Load) > ROWS_OF_PLANE * stores
    }

    /// Whether an instruction is the first of those whose accesses are looked at together.
    fn begins_hull(&self, inst: u32) -> bool {
        self.plan.hull(inst).is_none_or(|(_, hull)| hull.first == inst)
    }

    /// Whether an instruction loads a row of a tile, in a kernel without loops.
    fn is_tile_row(&self, inst: u32) -> bool {
        let gangs = &self.plan.info.gangs;
        let Some((_, access)) = self.plan.access(inst) else { return false };
        let many = gangs.cta[1] * gangs.cta[2] > 1 && (NARROW..=WIDE).contains(&(gangs.cta[0] * access.bytes));
        let once = self.body().loops.is_empty();
        many && once && self.begins_hull(inst) && is_global_row(access, AccessKind::Load)
    }

    /// Has so many bytes fetched that begin so far behind a place.
    pub(super) fn prefetch_lines(&mut self, place: &str, behind: u32, bytes: u32, to: Cache) {
        for line in 0..bytes.div_ceil(LINE) {
            let there = self.offset(place, behind + line * LINE);
            self.prefetch(&there, to);
        }
    }

    /// Has a line fetched.
    pub(super) fn prefetch(&mut self, place: &str, to: Cache) {
        let how = match to {
            Cache::First => "i32 0, i32 3",
            Cache::FirstToBeWritten => "i32 1, i32 3",
            Cache::Second => "i32 0, i32 2",
        };
        self.plan.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)".to_owned());
        self.line(format!("call void @llvm.prefetch.p0(ptr {place}, {how}, i32 1)"));
    }
}
