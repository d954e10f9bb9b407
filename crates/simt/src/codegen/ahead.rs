//! Lines of the cache that are fetched before they are wanted.
//!
//! The processor itself foresees what goes straight through memory, but not what goes on by a whole grid in each trip of a loop. Of such a row the next place
//! is as far from this one as this one is from the last. Nothing fails where no memory is.

use super::function::{Val, Writer};
use super::names::Ty;
use super::span::Span;
use super::team::goes_through_memory;
use crate::access::AccessKind;

/// Bytes of a cache line.
pub(super) const LINE: u32 = 64;
/// Rows of fewer bytes are not worth the work.
const FEW: u64 = 256;
/// Of longer ones the processor sees enough by itself.
const MANY: u64 = 4096;
/// Bytes of a loop's later trips that are on their way. Measured on a Zen 4 with sums of rows of 1,024 bytes: with one trip 1.08 times as fast as without, with 2
/// 1.17, with 4 1.4, with 8 1.6; with two such rows, one of which is written again: with 2 or 4 trips 1.2, with 8 1.05.
const AHEAD: u64 = 8192;

/// Where a line is to be.
#[derive(Clone, Copy)]
pub(super) enum Cache {
    FirstToBeWritten,
    Second,
}

/// Whether the processor does not see what is loaded soon enough.
fn is_row(span: &Span) -> bool {
    span.kind == AccessKind::Load && (FEW..=MANY).contains(&span.need)
}

impl Writer<'_> {
    /// Has the lines fetched that a team loads some trips later in a loop through memory; `from` is the first byte that it loads in this one. They come into the
    /// cache of the second level: places that are a grid apart would take each other's lines of the first.
    pub(super) fn fetch_later_trip(&mut self, site: u32, span: &Span, from: &Val) {
        let body = self.body();
        let block = self.plan.block_of[self.inst as usize];
        let Some(inner) = body.innermost_loops()[block as usize] else { return };
        let inner = &body.loops[inner as usize];
        if !goes_through_memory(self.plan, inner) || !is_row(span) {
            return;
        }
        let blocks = inner.blocks.clone().flat_map(|block| body.blocks[block as usize].insts.clone());
        let spans = blocks.filter_map(|inst| self.plan.span(inst)).map(|(_, span)| span);
        let trip: u64 = spans.filter(|span| is_row(span)).map(|span| span.need).sum();
        let place = format!("%q{}", self.inst);
        let word = Ty::int(64, 0);
        self.begun.push(place.clone());
        let last = self.set(word, format!("load i64, ptr {place}"));
        self.store(from, &place);
        let step = self.binary("sub", from, &last);
        let trips = self.constant(word, (AHEAD / trip).max(1) as i64);
        let way = self.binary("mul", &step, &trips);
        let later = self.binary("add", from, &way);
        // Not what the processor foresees, nor beyond what the kernel may load, for which others would have to wait.
        let inside = self.is_inside(site, &later, span.bytes);
        let row = self.constant(word, span.need as i64);
        let leaps = self.compare("ugt", &step, &row);
        let inside = self.binary("and", &inside, &leaps);
        let (fetch, on) = (self.fresh(), self.fresh());
        self.line(format!("br i1 {}, label %L{fetch}, label %L{on}, !prof !2", inside.text));
        self.label(&format!("L{fetch}"));
        let later = self.set(word, format!("inttoptr i64 {} to ptr", later.text)).text;
        for line in 0..(span.need as u32).div_ceil(LINE) {
            let there = self.offset(&later, line * LINE);
            self.prefetch(&there, Cache::Second);
        }
        self.line(format!("br label %L{on}"));
        self.label(&format!("L{on}"));
    }

    /// Has a line fetched.
    pub(super) fn prefetch(&mut self, place: &str, to: Cache) {
        let how = match to {
            Cache::FirstToBeWritten => "i32 1, i32 3",
            Cache::Second => "i32 0, i32 2",
        };
        self.plan.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)".to_owned());
        self.line(format!("call void @llvm.prefetch.p0(ptr {place}, {how}, i32 1)"));
    }
}
