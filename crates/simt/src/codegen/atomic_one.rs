//! Updates of one place by all lanes that run: what is there is read once, lanes update it one after the other in a register, and what comes of that goes back at once. Nobody
//! else can tell it from updates that follow each other with nobody in between.

use warploom_ptx::ir::AtomicOp;

use super::atomic::{Update, named};
use super::function::Writer;
use super::{flushing, mode};

impl Update {
    /// Whether lanes can update one place so. A lane that compares tells others whether it has exchanged by memory, and no register has 128 bits.
    pub(super) fn goes_on_in_a_register(&self) -> bool {
        self.op != AtomicOp::Cas && self.ty.bits() <= 64
    }
}

impl Writer<'_> {
    /// The function that does so: the place is the first address, operands lie behind what was there, in `%values`.
    pub(super) fn one_place_function(&mut self, update: &Update, asked: bool) -> String {
        let (lanes, width, bytes) = (self.lanes(), update.ty.bits(), update.ty.bytes());
        let all = if lanes == 32 { -1 } else { (1i64 << lanes) - 1 };
        let alone = if update.alone { "_alone" } else { "" };
        let name = format!("@{}_one{alone}{}", update.name(), if asked { "_old" } else { "" });
        let mut lane = format!(
            "  %i = add i32 %lane, {lanes}\n  %from = getelementptr i{width}, ptr %values, i32 %i\n  %b = load i{width}, ptr %from\n"
        );
        let flushes = update.flushes_sums() && self.plan.machine().x86;
        let (before, behind) = if flushes { mode::changed(self.plan, 0, flushing::MODE) } else { Default::default() };
        if flushes {
            // To look at each sum would take longer than to add.
            let add = "@llvm.experimental.constrained.fadd.f32";
            self.plan.declare(format!("declare float {add}(float, float, metadata, metadata)"));
            lane += &format!(
                "  %fx = bitcast i32 %old to float\n  %fy = bitcast i32 %b to float\n  \
                 %fs = call float {add}(float %fx, float %fy, metadata !\"round.dynamic\", metadata !\"fpexcept.strict\") #4\n  \
                 %new = bitcast float %fs to i32\n"
            );
        } else {
            lane += &update.compute().unwrap_or_default();
        }
        if asked {
            lane += &format!(
                "  %o = add i32 %lane, 0\n  %to = getelementptr i{width}, ptr %values, i32 %o\n  store i{width} %old, ptr %to\n"
            );
        }
        let mut each = String::new();
        for number in 0..lanes {
            let before = if number == 0 { "%there".to_owned() } else { format!("%new.{}", number - 1) };
            each += &format!("  %old.{number} = add i{width} {before}, 0\n");
            each += &named(&lane, number);
        }
        let (load, back) = if update.alone {
            ("load", format!("  store i{width} %result, ptr %place, align {bytes}\n"))
        } else {
            (
                "load atomic",
                format!(
                    "  %pair = cmpxchg ptr %place, i{width} %there, i{width} %result monotonic monotonic\n  \
                     %found = extractvalue {{ i{width}, i1 }} %pair, 0\n  %done = extractvalue {{ i{width}, i1 }} %pair, 1\n  \
                     br i1 %done, label %end, label %begin\nend:\n"
                ),
            )
        };
        let order = if update.alone { "" } else { " monotonic" };
        let again = if update.alone { "" } else { ", [ %found, %back ]" };
        self.plan.declare(format!(
            "define internal void {name}(ptr %addresses, i32 %lanes, ptr %values) {} {{\n{before}  \
             %first = call i32 @llvm.cttz.i32(i32 %lanes, i1 true)\n  %at = getelementptr i64, ptr %addresses, i32 %first\n  \
             %place = load ptr, ptr %at\n  %seen = {load} i{width}, ptr %place{order}, align {bytes}\n  br label %begin\nbegin:\n  \
             %there = phi i{width} [ %seen, %0 ]{again}\n  %full = icmp eq i32 %lanes, {all}\n  br i1 %full, label %each, label %head\neach:\n\
             {each}  br label %back\nhead:\n  %left = phi i32 [ %lanes, %begin ], [ %others, %head ]\n  \
             %old = phi i{width} [ %there, %begin ], [ %new, %head ]\n  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)\n  \
             %below = sub i32 %left, 1\n  %others = and i32 %left, %below\n{lane}  %go = icmp ne i32 %others, 0\n  \
             br i1 %go, label %head, label %back\nback:\n  %result = phi i{width} [ %new.{}, %each ], [ %new, %head ]\n{back}{behind}  ret void\n}}",
            if flushes { "#3" } else { "#2" },
            lanes - 1
        ));
        self.plan.declare("declare i32 @llvm.cttz.i32(i32, i1)".to_owned());
        name
    }
}
