//! The beginning of a function: its places, and what the gang's frame has kept.

use super::context;
use super::function::{Val, Writer};
use super::names::Ty;
use crate::barrier::RegionStart;

impl Writer<'_> {
    /// Places of values and masks, and what they hold at the beginning.
    pub(super) fn prologue(&mut self, number: usize, start: RegionStart) -> String {
        let lanes = self.lanes();
        self.out.clear();
        let plan = self.plan;
        if let RegionStart::Barrier(_) = start {
            self.used.extend(plan.kept(number).iter().map(|(value, _)| *value));
        }
        for value in self.used.clone() {
            for (place, ty, _) in plan.places(value, 0) {
                self.line(format!("{place} = alloca {}", ty.text()));
                // Nobody reads what was never written, but for kernels that do.
                let zero = self.constant(ty, 0);
                self.store(&zero, &place);
            }
        }
        for (place, ty) in std::mem::take(&mut self.places) {
            self.line(format!("{place} = alloca {}", ty.text()));
        }
        self.line(format!("%addresses = alloca [{lanes} x i64], align 64"));
        for block in plan.members() {
            self.line(format!("%m{block} = alloca <{lanes} x i1>"));
            self.line(format!("store <{lanes} x i1> zeroinitializer, ptr %m{block}"));
        }
        self.line(format!("%alive = alloca <{lanes} x i1>"));
        let frames = self.pointer(context::FRAMES);
        self.line("%gang64 = zext i32 %gang to i64");
        self.line(format!("%at = mul i64 %gang64, {}", plan.frame_size()));
        self.line(format!("%frame = getelementptr i8, ptr {frames}, i64 %at"));
        self.line(format!("%thread = mul i32 %gang, {lanes}"));
        match start {
            RegionStart::Entry => {
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
            RegionStart::Barrier(_) => {
                for &(value, offset) in plan.kept(number) {
                    for (place, ty, offset) in plan.places(value, offset) {
                        let at = self.set(Ty::int(64, 0), format!("getelementptr i8, ptr %frame, i64 {offset}"));
                        let held = self.load(ty, &at.text);
                        self.store(&held, &place);
                    }
                }
                let alive = self.set(self.mask_type(), format!("load <{lanes} x i1>, ptr %frame, align 64"));
                self.store(&alive, "%alive");
            }
        }
        for site in self.sites.clone() {
            self.extent_prologue(site);
        }
        let text = std::mem::take(&mut self.out);
        let body_start = "  br label %code\ncode:\n";
        format!("define internal i32 @region{number}(ptr noalias %context, i32 %gang) #0 {{\n{text}{body_start}")
    }

    /// The places of the first address and the size of what a site may access.
    pub(super) fn extent(&mut self, site: u32) -> (String, String) {
        self.sites.insert(site);
        (format!("%es{site}"), format!("%el{site}"))
    }

    fn extent_prologue(&mut self, site: u32) {
        self.line(format!("%es{site} = alloca i64"));
        self.line(format!("%el{site} = alloca i64"));
        self.reload_extent(site);
    }

    /// Takes over what is known of a site: where accesses are allowed.
    pub(super) fn reload_extent(&mut self, site: u32) {
        let i64 = Ty::int(64, 0);
        let extents = self.pointer(context::EXTENTS);
        let at = self.set(i64, format!("getelementptr i8, ptr {extents}, i64 {}", 32 * site));
        let start = self.load(i64, &at.text);
        self.store(&start, &format!("%es{site}"));
        let at = self.set(i64, format!("getelementptr i8, ptr {}, i64 8", at.text));
        let span = self.load(i64, &at.text);
        self.store(&span, &format!("%el{site}"));
    }
}
