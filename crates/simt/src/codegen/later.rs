//! Sums that nobody asks for: which may be kept back until a worker turns from the grid, and how lanes add to what is kept.
//!
//! Memory is updated later than the kernel says. No other CTA can tell, as long as the kernel orders nothing across CTAs: PTX's memory model (8) lets what is
//! weak or relaxed be seen in any order where there is no fence, no release and no acquire, and no loop waits. The worker's own accesses are
//! the executor's business: it adds what is kept before one goes to the same memory.

use std::collections::BTreeSet;

use warploom_ptx::ir::{AtomicOp, BarrierOp, Base, Body, Inst, Op, ScalarType, Scope, Semantics, Space};

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
            Op::Fence(_) | Op::Texture(_) | Op::Call { .. } | Op::Unexecuted(_) => false,
            Op::Async(_) | Op::Mbarrier(_) | Op::Matrix(_) => false,
            Op::Barrier(barrier) => matches!(barrier, BarrierOp::Sync { .. } | BarrierOp::Warp { .. }),
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
    pub(super) fn add_later(&mut self, inst: &Inst, target: &Target, b: &Val) -> Result<(), String> {
        self.pointers_of_all(inst, target)?;
        if b.ty.lanes != 0 {
            self.line(format!("store {} {}, ptr %scratch, align 64", b.ty.text(), b.text));
        }
        let (word, wide) = (Ty::int(32, 0), Ty::int(64, 0));
        let (table, function) = (self.pointer(context::SUMS), self.pointer(context::ADD));
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
        Ok(())
    }
}
