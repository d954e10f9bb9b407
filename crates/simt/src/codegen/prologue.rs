//! The beginning of a function: its places, and what the gang's frame has kept.

use super::context;
use super::function::{Val, Writer};
use super::names::Ty;
use super::plan::Keep;
use crate::values::ValueId;

impl Writer<'_> {
    /// Places of a value that nothing keeps, with zero in them.
    pub(super) fn places_on_stack(&mut self, value: ValueId) {
        for (place, ty, _) in self.plan.places(value, 0) {
            let held = self.stack_type(value, &place, ty);
            self.line(format!("{place} = alloca {}", held.text()));
            // Nobody reads what was never written, but for kernels that do.
            let zero = self.constant(ty, 0);
            self.store(&zero, &place);
        }
    }

    /// Room for addresses of lanes, for what goes from lane to lane, and for registers of single steps.
    pub(super) fn rooms(&mut self) {
        let lanes = self.lanes();
        self.line(format!("%addresses = alloca [{lanes} x i64], align 64"));
        self.line(format!("%scratch = alloca [{} x i64], align 64", 6 * lanes));
        if self.steps > 0 {
            self.line(format!("%steps = alloca [{} x i64], align 64", 32 * self.steps));
        }
    }

    /// Places of values and masks, and what they hold at the beginning: what was kept, if it is not the kernel's entry.
    pub(super) fn prologue(&mut self, name: &str, kept: Option<&[(ValueId, Keep)]>, parameters: &str) -> String {
        let lanes = self.lanes();
        self.take_text();
        let plan = self.plan;
        let called = plan.info.is_called();
        self.used.extend(kept.iter().flat_map(|kept| kept.iter()).map(|(value, _)| *value));
        for value in self.used.clone() {
            self.places_on_stack(value);
        }
        for (place, ty) in std::mem::take(&mut self.places) {
            self.line(format!("{place} = alloca {}", ty.text()));
            if self.resumed || kept.is_some() {
                // What full code, or an instruction before this function began, would have written there.
                let zero = self.constant(ty, 0);
                self.store(&zero, &place);
            }
        }
        self.begin_places();
        self.rooms();
        for block in plan.members() {
            self.line(format!("%m{block} = alloca <{lanes} x i1>"));
            self.line(format!("store <{lanes} x i1> zeroinitializer, ptr %m{block}"));
        }
        self.line(format!("%alive = alloca <{lanes} x i1>"));
        let frames = self.pointer(context::FRAMES);
        self.line("%gang64 = zext i32 %gang to i64");
        self.line(format!("%behind = mul i64 %gang64, {}", plan.frame_size()));
        self.line(format!("%at = add i64 %behind, {}", plan.cta_frame()));
        self.line(format!("%frame = getelementptr i8, ptr {frames}, i64 %at"));
        self.line(format!("%thread = mul i32 %gang, {lanes}"));
        match kept {
            None if called => {
                let lanes = Val { ty: self.mask_type(), text: "%lanes".to_owned() };
                self.store(&lanes, "%alive");
            }
            None => {
                let gangs = &plan.info.gangs;
                if gangs.are_full() {
                    let all = self.constant(self.mask_type(), 1);
                    self.store(&all, "%alive");
                } else {
                    let first = Val { ty: Ty::int(32, 0), text: "%thread".to_owned() };
                    let first = self.splat(&first);
                    let lane = Val { ty: first.ty, text: first.ty.lanes(0..i64::from(lanes)) };
                    let thread = self.binary("add", &first, &lane);
                    let count = self.constant(first.ty, i64::from(gangs.threads()));
                    let there = self.compare("ult", &thread, &count);
                    self.store(&there, "%alive");
                }
            }
            Some(kept) => {
                let mut shared = (0..).map(|number| format!("%c{number}"));
                for &(value, keep) in kept {
                    let Keep::Gang(offset) = keep else {
                        let (place, ty, _) = plan.places(value, 0).swap_remove(0);
                        let text = shared.next().unwrap_or_default();
                        self.store(&Val { ty, text }, &place);
                        continue;
                    };
                    for (place, ty, offset) in plan.places(value, offset) {
                        let at = self.set(Ty::int(64, 0), format!("getelementptr i8, ptr %frame, i64 {offset}"));
                        let held = self.set(ty, format!("load {}, ptr {}, !tbaa !9", ty.text(), at.text));
                        self.store(&held, &place);
                    }
                }
                let alive = if plan.all_go_on() {
                    self.constant(self.mask_type(), 1)
                } else {
                    self.set(self.mask_type(), format!("load <{lanes} x i1>, ptr %frame, align 64, !tbaa !9"))
                };
                self.store(&alive, "%alive");
            }
        }
        let text = self.take_text();
        let shared = plan.shared_parameters(kept.unwrap_or_default());
        // Regions are parts of one function, and others are called in several places.
        let (given, attributes) =
            if called { (format!(", {} %lanes", self.mask_type().text()), 2) } else { (String::new(), 1) };
        let head = format!(
            "define internal i32 @{name}(ptr noalias %context, i32 %gang{parameters}{shared}{given}) #{attributes} {{\n"
        );
        head + &text + "  br label %code\ncode:\n"
    }
}
