//! Room behind a parameter: of an address that is a parameter of the launch plus an index of 32 bits, how many indices from 0 on are allowed. That is worked out once in
//! a launch and kept in the site's entry of the table, and one comparison of the index tells then. The address itself would have to be computed, moved, turned and
//! compared, in each trip of a thread's loop.

use warploom_ptx::ir::{Base, Body, Op};

use super::asked::Argument;
use super::check::ENTRY;
use super::context;
use super::function::{Val, Writer};
use super::indexed::Indexed;
use super::memory::Target;
use super::names::Ty;
use super::plan::Plan;
use crate::info::KernelInfo;
use crate::values::ValueId;

/// From an entry's beginning to the room.
const ROOM: u32 = 16;

/// Whether a value is a parameter of the launch, or a generic address for it.
fn is_parameter(info: &KernelInfo<'_>, body: &Body, value: ValueId) -> bool {
    let known = info.values.get(value);
    let (&[def], false) = (&known.defs[..], known.undefined) else { return false };
    let inst = &body.insts[def as usize];
    let source = match &inst.op {
        Op::Ld { addr, dst, .. } => return addr.base == Base::ParamFrame && dst.len() == 1 && inst.guard.is_none(),
        Op::Mov { src, .. } => *src,
        Op::Cvta { a, .. } => *a,
        _ => return false,
    };
    let source = info.values.read(body, def, source).filter(|_| inst.guard.is_none());
    source.is_some_and(|source| is_parameter(info, body, source))
}

impl Writer<'_> {
    /// The parts of a thread's address, if there is room to be known behind its base, and that address.
    fn parts_with_room(&self, target: &Target) -> Option<(Indexed, Val)> {
        let info = self.plan.info;
        if info.gangs.width != 1 || self.plan.hull(self.inst).is_some() {
            return None;
        }
        let parts = self.parts_of(target)?;
        let first = target.first.clone()?;
        is_parameter(info, self.plan.body, parts.base).then_some((parts, first))
    }

    /// Whether an access is allowed of which only an index need be looked at; none if there is no such index.
    pub(super) fn fits_in_room(&mut self, target: &Target) -> Option<Val> {
        let (parts, first) = self.parts_with_room(target)?;
        let (word, flag) = (Ty::int(32, 0), Ty::int(1, 0));
        let place = self.new_place(flag);
        let index = self.read(parts.index);
        let index = self.resize(&index, 32, false);
        let table = self.pointer(context::EXTENTS);
        let at = self.offset(&table, ENTRY * target.site + ROOM);
        let room = self.set(word, format!("load i32, ptr {at}, align 8, !tbaa !8"));
        let near = self.compare("ult", &index, &room);
        self.store(&near, &place);
        let (far, done) = (self.fresh(), self.fresh());
        self.line(format!("br i1 {}, label %L{done}, label %L{far}, !prof !2", near.text));
        self.label(&format!("L{far}"));
        let base = self.read(parts.base);
        let offset = self.constant(base.ty, target.offset());
        let base = self.binary("add", &base, &offset);
        measure(self.plan, target.bytes);
        let arguments = [Argument::Number(ENTRY * target.site), Argument::Value(&base)];
        let arguments: Vec<String> = arguments.iter().map(|argument| self.whole_register(argument)).collect();
        self.line(format!("call void @room{}(ptr %context{})", target.bytes, arguments.concat()));
        // What lies before the base has no room there.
        let inside = self.is_inside(target.site, &first, target.bytes);
        self.store(&inside, &place);
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{done}"));
        Some(self.load(flag, &place))
    }
}

/// Declares what measures the room behind a base.
fn measure(plan: &Plan<'_>, bytes: u32) {
    for name in ["smax", "smin"] {
        plan.declare(format!("declare i64 @llvm.{name}.i64(i64, i64)"));
    }
    let (low, by, table) = (bytes - 1, bytes.trailing_zeros(), context::EXTENTS);
    plan.declare(format!(
        "define internal void @room{bytes}(ptr %context, i64 %entry, i64 %base) #5 {{\n  \
         %field = getelementptr i8, ptr %context, i64 {table}\n  %table = load ptr, ptr %field, !invariant.load !0\n  \
         %start.at = getelementptr i8, ptr %table, i64 %entry\n  %start = load i64, ptr %start.at, align 8, !tbaa !8\n  \
         %count.at = getelementptr i8, ptr %start.at, i64 8\n  %count = load i64, ptr %count.at, align 8, !tbaa !8\n  \
         %distance = sub i64 %base, %start\n  %behind = icmp sge i64 %distance, 0\n  \
         %low = and i64 %distance, {low}\n  %aligned = icmp eq i64 %low, 0\n  %fine = and i1 %behind, %aligned\n  \
         %before = lshr i64 %distance, {by}\n  %left = sub i64 %count, %before\n  \
         %some = call i64 @llvm.smax.i64(i64 %left, i64 0)\n  %most = call i64 @llvm.smin.i64(i64 %some, i64 2147483648)\n  \
         %known = select i1 %fine, i64 %most, i64 0\n  %room = trunc i64 %known to i32\n  \
         %room.at = getelementptr i8, ptr %start.at, i64 {ROOM}\n  store i32 %room, ptr %room.at, align 8, !tbaa !8\n  ret void\n}}"
    ));
}
