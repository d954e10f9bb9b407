//! Sums that nobody asks for: which may be kept back until a worker turns from the grid, and how lanes add to what is kept.
//!
//! Memory is updated later than the kernel says. No other CTA can tell, as long as the kernel orders nothing across CTAs: PTX's memory model (8) lets what is
//! weak or relaxed be seen in any order where there is no fence, no release and no acquire, and no loop waits. The worker's own accesses are
//! the executor's business: it adds what is kept before one goes to the same memory.

use std::collections::BTreeSet;

use warploom_ptx::ir::{AtomicOp, BarrierOp, Base, Body, Inst, Op, ScalarType, Scope, Semantics, Space};

use super::atomic::Update;
use super::context;
use super::function::{Val, Writer};
use super::memory::Target;
use super::names::Ty;
use super::sums::ENTRIES;
use crate::info::KernelInfo;
use crate::values::ValueId;

/// The updates of a kernel that may be kept back.
pub(super) fn kept_back(info: &KernelInfo<'_>, body: &Body, read: &[bool]) -> BTreeSet<u32> {
    let used = |inst: u32, op: &Op| {
        let written = info.values.written(body, inst);
        matches!(op, Op::Atom { dst: Some(_), .. }) && written.is_some_and(|value: ValueId| read[value.0 as usize])
    };
    let mut sums = BTreeSet::new();
    for (inst, number) in body.insts.iter().zip(0u32..) {
        let global = |space: Space| matches!(space, Space::Global | Space::Const | Space::Generic);
        let quiet = match &inst.op {
            Op::Fence(_) | Op::Texture(_) | Op::Call { .. } | Op::Unexecuted(_) | Op::Multicast(_) => false,
            Op::Async(_) | Op::Mbarrier(_) | Op::Matrix(_) => false,
            Op::Barrier(barrier) => {
                matches!(barrier, BarrierOp::Sync { .. } | BarrierOp::Warp { .. } | BarrierOp::Yield)
            }
            // Accesses that are known to be in a variable have no entry in the table of sites.
            Op::Ld { space, semantics, addr, .. } | Op::St { space, semantics, addr, .. } => {
                *semantics == Semantics::Weak && !(global(*space) && matches!(addr.base, Base::Global(_)))
            }
            op @ Op::Atom { op: AtomicOp::Add, space: Space::Global, ty, semantics, scope, addr, .. }
                if !used(number, op) =>
            {
                let words = matches!(ty, ScalarType::U32 | ScalarType::S32);
                let weak = *semantics == Semantics::Relaxed && *scope != Scope::Sys;
                if words && weak && matches!(addr.base, Base::Reg(_)) {
                    sums.insert(number);
                }
                weak && !matches!(addr.base, Base::Global(_))
            }
            Op::Atom { space, .. } => *space == Space::Shared,
            _ => true,
        };
        if !quiet {
            return BTreeSet::new();
        }
    }
    sums
}

impl Writer<'_> {
    /// All lanes of a gang add to what is kept of their places.
    pub(super) fn add_later(&mut self, inst: &Inst, update: &Update, target: &Target, b: &Val) -> Result<(), String> {
        if b.ty.lanes != 0 {
            self.store_for_lanes(b, "%scratch");
        }
        let (near, far, done) = (self.fresh(), self.fresh(), self.fresh());
        let (inside, places) = self.places_in_row(inst, target)?;
        let inside = self.all_run(&inside);
        self.line(format!("br i1 {}, label %L{near}, label %L{far}, !prof !2", inside.text));
        self.label(&format!("L{near}"));
        self.store_for_lanes(&places, "%addresses");
        let row = self.field(context::ROW);
        let row = self.set(Ty::int(64, 0), format!("load ptr, ptr {row}, align 8")).text;
        let name = self.near_function(update, b.ty.lanes != 0);
        let operand = if b.ty.lanes == 0 { format!("i32 {}", b.text) } else { "ptr %scratch".to_owned() };
        self.line(format!("call void {name}(ptr {row}, ptr %addresses, {operand})"));
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{far}"));
        self.pointers_of_all(inst, target)?;
        let (kept, direct) = (self.fresh(), self.fresh());
        let table = self.pointer(context::SUMS);
        let none = self.set(Ty::int(1, 0), format!("icmp eq ptr {table}, null")).text;
        self.line(format!("br i1 {none}, label %L{direct}, label %L{kept}"));
        self.label(&format!("L{direct}"));
        let all = self.splat(b);
        let place = self.offset("%scratch", self.lanes() * update.ty.bytes());
        self.store_for_lanes(&all, &place);
        let name = self.lanes_function(update, false);
        let bits = self.running();
        self.line(format!("call void {name}(ptr %addresses, i32 {}, ptr %scratch)", bits.text));
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{kept}"));
        self.add_by_table(target, b, &table);
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{done}"));
        Ok(())
    }

    /// Which lanes go to memory that has a row of sums, and how many bytes from its start.
    fn places_in_row(&mut self, inst: &Inst, target: &Target) -> Result<(Val, Val), String> {
        let wide = Ty::int(64, 0);
        let [start, count] = [context::ROW_START, context::ROW_COUNT].map(|field| {
            let at = self.field(field);
            self.set(wide, format!("load i64, ptr {at}, align 8"))
        });
        if let Some(parts) = self.parts(target) {
            let (inside, first) = self.indices_inside(target, parts, [start, count]);
            let first = self.resize(&first, 32, false);
            let first = self.splat(&first);
            let index = self.read(parts.index);
            let place = self.binary("add", &index, &first);
            let by = self.constant(place.ty, i64::from(target.bytes.trailing_zeros()));
            return Ok((inside, self.binary("shl", &place, &by)));
        }
        let all = self.all_addresses(inst, target)?;
        let inside = self.is_among([start.clone(), count], &all, target.bytes);
        let start = self.splat(&start);
        let place = self.binary("sub", &all, &start);
        Ok((inside, self.resize(&place, 32, false)))
    }

    /// Adds lane by lane, to what is kept by address.
    fn add_by_table(&mut self, target: &Target, b: &Val, table: &str) {
        let (word, wide) = (Ty::int(32, 0), Ty::int(64, 0));
        let function = self.pointer(context::ADD);
        for lane in 0..self.lanes() {
            // Volatile, or what was stored would be taken from the register lane by lane, which costs more.
            let at = self.offset("%addresses", 8 * lane);
            let address = self.set(wide, format!("load volatile i64, ptr {at}, align 8"));
            let own = if b.ty.lanes == 0 {
                b.clone()
            } else {
                let from = self.offset("%scratch", 4 * lane);
                self.set(word, format!("load volatile i32, ptr {from}, align 4"))
            };
            let by = self.constant(wide, 2);
            let slot = self.binary("lshr", &address, &by);
            let entries = self.constant(wide, ENTRIES as i64 - 1);
            let slot = self.binary("and", &slot, &entries);
            let entry = self.set(wide, format!("getelementptr {{ i64, i64 }}, ptr {table}, i64 {}", slot.text)).text;
            let known = self.set(wide, format!("load i64, ptr {entry}, align 8"));
            let there = self.compare("eq", &known, &address);
            let (hit, miss, on) = (self.fresh(), self.fresh(), self.fresh());
            self.line(format!("br i1 {}, label %L{hit}, label %L{miss}, !prof !2", there.text));
            self.label(&format!("L{miss}"));
            self.line(format!(
                "call void {function}(ptr %context, i64 {}, i32 {}, i32 {})",
                address.text, own.text, target.site
            ));
            self.line(format!("br label %L{on}"));
            self.label(&format!("L{hit}"));
            let place = self.offset(&entry, 8);
            let old = self.set(word, format!("load i32, ptr {place}, align 8"));
            let new = self.binary("add", &old, &own);
            self.line(format!("store i32 {}, ptr {place}, align 8", new.text));
            self.line(format!("br label %L{on}"));
            self.label(&format!("L{on}"));
        }
    }
}
