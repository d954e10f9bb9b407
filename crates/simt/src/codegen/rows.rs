//! Accesses to one place behind the other: one vector of memory, shuffled where a lane has several elements.

use warploom_ptx::ir::{Inst, ScalarType, Space};

use super::context;
use super::function::{Val, Writer};
use super::memory::Target;
use super::names::{Element, Ty};

impl Writer<'_> {
    /// The mask, so many times for each lane.
    fn repeated_mask(&mut self, count: u32) -> Val {
        let mask = self.mask_value();
        if count == 1 {
            return mask;
        }
        let order = (0..self.lanes() * count).map(|at| i64::from(at / count));
        self.shuffled(&mask, order)
    }

    pub(super) fn shuffled(&mut self, value: &Val, order: impl IntoIterator<Item = i64>) -> Val {
        let order: Vec<i64> = order.into_iter().collect();
        let ty = Ty { lanes: order.len() as u32, ..value.ty };
        let index = Ty::int(32, ty.lanes).lanes(order);
        let text =
            format!("shufflevector {0} {1}, {0} poison, <{2} x i32> {index}", value.ty.text(), value.text, ty.lanes);
        self.set(ty, text)
    }

    /// Elements of two vectors, those of the second behind those of the first.
    pub(super) fn of_two(&mut self, first: &Val, second: &Val, order: impl IntoIterator<Item = i64>) -> Val {
        let order: Vec<i64> = order.into_iter().collect();
        let ty = Ty { lanes: order.len() as u32, ..first.ty };
        let index = Ty::int(32, ty.lanes).lanes(order);
        let (text, lanes) = (first.ty.text(), ty.lanes);
        self.set(ty, format!("shufflevector {text} {}, {text} {}, <{lanes} x i32> {index}", first.text, second.text))
    }

    /// Elements of one register of 64 bytes or of two, by their numbers, of which there are as many as one register has elements.
    pub(super) fn by_number(&mut self, value: &Val, numbers: &Val) -> Val {
        let bits = value.ty.element.bits();
        let one = Ty { lanes: 512 / bits, ..value.ty };
        let vector = one.text();
        let (name, arguments) = if value.ty.lanes == one.lanes {
            let name = if bits == 64 { "@llvm.x86.avx512.permvar.di.512" } else { "@llvm.x86.avx512.permvar.si.512" };
            (name, vec![value.clone(), numbers.clone()])
        } else {
            let name =
                if bits == 64 { "@llvm.x86.avx512.vpermi2var.q.512" } else { "@llvm.x86.avx512.vpermi2var.d.512" };
            let count = i64::from(one.lanes);
            let [low, high] = [0, count].map(|first| self.shuffled(value, first..first + count));
            (name, vec![low, numbers.clone(), high])
        };
        let types = vec![vector.clone(); arguments.len()].join(", ");
        self.plan.declare(format!("declare {vector} {name}({types})"));
        let arguments: Vec<String> = arguments.iter().map(|argument| format!("{vector} {}", argument.text)).collect();
        self.set(one, format!("call {vector} {name}({})", arguments.join(", ")))
    }

    /// The element of a lane that is known only when it runs. LLVM stores the vector for it and loads the element, and processors that are asked for the upper half of 64
    /// bytes just stored wait until all are in the cache (a Xeon of the fifth generation 5 ns, in place of 0.6): there it is brought to the register's beginning.
    pub(super) fn element(&mut self, value: &Val, lane: &Val) -> Val {
        let scalar = Ty::scalar(value.ty.element);
        if let Element::Int(bits @ (32 | 64)) = value.ty.element {
            let register = 512 / bits;
            if self.plan.has_wide_vectors() && [register, 2 * register].contains(&value.ty.lanes) {
                let lane = self.resize(lane, bits, false);
                let ty = Ty::int(bits, register);
                let first = format!("insertelement {} poison, i{bits} {}, i64 0", ty.text(), lane.text);
                let numbers = self.set(ty, first);
                let there = self.by_number(value, &numbers);
                return self.set(scalar, format!("extractelement {} {}, i64 0", ty.text(), there.text));
            }
        }
        let text = format!("extractelement {} {}, {} {}", value.ty.text(), value.text, lane.ty.text(), lane.text);
        self.set(scalar, text)
    }

    /// Stores a vector that is to be loaded again lane by lane, in parts that loads are handed at once: see [`Writer::element`].
    pub(super) fn store_for_lanes(&mut self, value: &Val, place: &str) {
        /// Bytes of a part.
        const PART: u32 = 32;
        let bytes = value.ty.element.bits() / 8;
        let lanes = PART / bytes;
        if !self.plan.has_wide_vectors() || value.ty.lanes <= lanes {
            return self.store(value, place);
        }
        for first in (0..value.ty.lanes).step_by(lanes as usize) {
            let part = self.shuffled(value, (first..first + lanes).map(i64::from));
            let place = self.offset(place, first * bytes);
            // LLVM would join them again.
            self.line(format!("store volatile {} {}, ptr {place}, align {PART}", part.ty.text(), part.text));
        }
    }

    /// A vector of memory, and what it holds where the mask is off, from which nothing is loaded.
    pub(super) fn masked_load(&mut self, pointer: &str, ty: Ty, align: u32, [mask, off]: [&str; 2]) -> Val {
        let (text, lanes) = (ty.text(), ty.lanes);
        let name = format!("@llvm.masked.load.{}.p0", ty.suffix());
        self.plan.declare(format!("declare {text} {name}(ptr, i32, <{lanes} x i1>, {text})"));
        let arguments = format!("ptr {pointer}, i32 {align}, <{lanes} x i1> {mask}, {text} {off}");
        self.set(ty, format!("call {text} {name}({arguments}), !tbaa !7"))
    }

    pub(super) fn load_row(&mut self, pointer: &str, ty: ScalarType, places: &[String]) {
        let count = places.len() as u32;
        let all = Ty { element: Element::bits_of(ty), lanes: self.lanes() * count };
        let pointer = &self.where_lanes_run(pointer);
        // In an arm the row is allowed as a whole.
        let mask =
            if self.is_in_asked_arm() { self.constant(Ty::int(1, all.lanes), 1) } else { self.repeated_mask(count) };
        let value = self.masked_load(pointer, all, ty.bytes(), [&mask.text, "zeroinitializer"]);
        for (at, place) in places.iter().enumerate() {
            let part = if count == 1 {
                value.clone()
            } else {
                self.shuffled(&value, (0..self.lanes()).map(|lane| i64::from(lane * count + at as u32)))
            };
            self.store(&part, place);
        }
    }

    /// Where a row is, or where no lane of a gang runs an arm any memory: processors are slow to find out that they need not load from a page that there is not.
    fn where_lanes_run(&mut self, pointer: &str) -> String {
        if !self.is_in_asked_arm() {
            return pointer.to_owned();
        }
        let mask = self.mask.clone();
        let runs = self.any(&mask);
        let (place, ty) = (self.fresh(), runs.ty.text());
        self.line(format!("%r{place} = select {ty} {}, ptr {pointer}, ptr %scratch", runs.text));
        format!("%r{place}")
    }

    /// What lanes have of several elements, in the order of memory.
    pub(super) fn row_of(&mut self, values: &[Val]) -> Val {
        let lanes = self.lanes();
        let count = values.len() as u32;
        let mut all = values[0].clone();
        for value in &values[1..] {
            // Behind each other first, then in the order of memory.
            let first = all.ty.lanes;
            let wide = self.shuffled(value, (0..i64::from(first)).map(|at| at.min(i64::from(lanes) - 1)));
            all = self.of_two(&all, &wide, 0..i64::from(first + lanes));
        }
        if count > 1 {
            all = self.shuffled(&all, (0..lanes * count).map(|at| i64::from(at % count * lanes + at / count)));
        }
        all
    }

    pub(super) fn store_row(&mut self, pointer: &str, ty: ScalarType, values: &[Val]) {
        let all = self.row_of(values);
        let pointer = &self.where_lanes_run(pointer);
        let mask = self.repeated_mask(values.len() as u32);
        let name = format!("@llvm.masked.store.{}.p0", all.ty.suffix());
        self.plan.declare(format!("declare void {name}({}, ptr, i32, <{} x i1>)", all.ty.text(), all.ty.lanes));
        self.line(format!(
            "call void {name}({} {}, ptr {pointer}, i32 {}, <{} x i1> {}), !tbaa !7",
            all.ty.text(),
            all.text,
            ty.bytes(),
            all.ty.lanes,
            mask.text
        ));
    }

    /// Stores a row of shared memory for those lanes that run, and for the others what is there already: a CTA has that memory for itself, and its gangs take turns.
    /// A Zen 3 takes 16 cycles for 32 bytes that are stored by a mask, and 3 for this. Whether that is written.
    pub(super) fn store_row_blended(&mut self, target: &Target, ty: ScalarType, values: &[Val]) -> bool {
        let Some(first) = target.first.clone().filter(|_| target.space == Space::Shared) else { return false };
        if self.plan.has_wide_vectors() || self.is_for_all_lanes() {
            return false;
        }
        let pointer = self.place_of(target);
        let all = self.row_of(values);
        let mask = self.repeated_mask(values.len() as u32);
        // Those lanes that do not run may lie outside.
        let size = self.field(context::SHARED_SIZE);
        let size = self.set(first.ty, format!("load i64, ptr {size}, !invariant.load !0"));
        let behind = self.constant(first.ty, i64::from(all.ty.lanes * ty.bytes()) - 1);
        let room = self.intrinsic("usub.sat", &[&size, &behind]);
        let inside = self.compare("ult", &first, &room);
        let [blended, masked, done] = [(); 3].map(|()| self.fresh());
        self.line(format!("br i1 {}, label %L{blended}, label %L{masked}, !prof !2", inside.text));
        self.label(&format!("L{blended}"));
        let (text, align) = (all.ty.text(), ty.bytes());
        let there = self.set(all.ty, format!("load {text}, ptr {pointer}, align {align}, !tbaa !7"));
        let row = self.select(&mask, &all, &there);
        self.line(format!("store {text} {}, ptr {pointer}, align {align}, !tbaa !7", row.text));
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{masked}"));
        self.store_row(&pointer, ty, values);
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{done}"));
        true
    }

    /// Where a pattern may fail to hold because of lanes that do not run (`tile[thread - 4]`, of the first threads): those that run may go to one row all the same.
    /// Writes that way, and is then where the pattern is looked at as usual; what comes behind both is joined at the label that is returned.
    pub(super) fn row_of_those_that_run(
        &mut self,
        inst: &Inst,
        target: &Target,
        way: impl FnOnce(&mut Self, &Target),
    ) -> Result<Option<u32>, String> {
        let Some(apart) = target.apart.clone() else { return Ok(None) };
        let elsewhere = target.space == Space::Generic || self.plan.hull(self.inst).is_some();
        if self.full || target.flag.text == "true" || elsewhere {
            return Ok(None);
        }
        let [usual, look, row, done] = [(); 4].map(|()| self.fresh());
        self.line(format!("br i1 {}, label %L{usual}, label %L{look}, !prof !2", target.flag.text));
        self.label(&format!("L{look}"));
        let all = self.all_addresses(inst, target)?;
        let steps = Val { ty: all.ty, text: all.ty.lanes(apart) };
        let firsts = self.binary("sub", &all, &steps);
        let first = self.first_running(&firsts);
        // Any number will do if none runs.
        let first = self.set(first.ty, format!("freeze i64 {}", first.text));
        let common = self.splat(&first);
        let mut fine = self.compare("eq", &firsts, &common);
        if !target.proven {
            let inside = self.is_inside(target.site, &all, target.bytes);
            fine = self.binary("and", &fine, &inside);
        }
        let fine = self.all_run(&fine);
        self.line(format!("br i1 {}, label %L{row}, label %L{usual}", fine.text));
        self.label(&format!("L{row}"));
        let mut near = target.clone();
        (near.first, near.flag) = (Some(first), self.constant(Ty::int(1, 0), 1));
        way(self, &near);
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{usual}"));
        Ok(Some(done))
    }

    /// Both ways of [`Writer::row_of_those_that_run`] come together.
    pub(super) fn join(&mut self, done: Option<u32>) {
        if let Some(done) = done {
            self.line(format!("br label %L{done}"));
            self.label(&format!("L{done}"));
        }
    }
}
