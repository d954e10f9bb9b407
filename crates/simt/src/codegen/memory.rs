//! Loads and stores: which bytes, whether they may be accessed, and how vectors come from them.
//!
//! An access is held against the extent that its site has found before; only where that does not hold it, a function of the executor looks at each
//! lane. So what is refused, and how it is reported, is decided in one place, outside of this text.

use warploom_ptx::ir::{Address, Base, GlobalId, Inst, Op, Operand, ScalarType, Semantics, Space};

use super::function::{Val, Writer};
use super::names::{Element, Ty};
use super::{context, outcome};
use crate::access::{Access, Pattern};
use crate::shape::Shape;

/// Where lanes go.
struct Target {
    /// To one address.
    one: Option<Val>,
    /// From the first lane's address on, one behind the other, if the flag holds.
    row: Option<(Val, Val)>,
    /// All of them, where they may differ.
    all: Option<Val>,
    shared: bool,
    site: u32,
    /// Bytes of a lane.
    bytes: u32,
}

impl Writer<'_> {
    /// The address of a variable: what a register holds for it.
    pub(super) fn variable(&mut self, id: GlobalId, offset: i64) -> Val {
        let i64 = Ty::int(64, 0);
        if self.plan.info.module.globals[id.0 as usize].space == Space::Shared {
            return self.constant(i64, self.plan.shared_offset(id) + offset);
        }
        let table = self.pointer(context::VARIABLES);
        let at = self.set(i64, format!("getelementptr i8, ptr {table}, i64 {}", 8 * id.0));
        let address = self.set(i64, format!("load i64, ptr {}, !invariant.load !0", at.text));
        let offset = self.constant(i64, offset);
        self.binary("add", &address, &offset)
    }

    fn parameter(&mut self, offset: i64, bits: u32) -> Val {
        let params = self.pointer(context::PARAMS);
        let at = self.set(Ty::int(64, 0), format!("getelementptr i8, ptr {params}, i64 {offset}"));
        self.set(Ty::int(bits, 0), format!("load i{bits}, ptr {}, align 1, !invariant.load !0", at.text))
    }

    pub(super) fn ld(&mut self, inst: &Inst) -> Result<(), String> {
        let Op::Ld { space, ty, semantics, dst, addr, .. } = &inst.op else { return Err(self.lacks(inst)) };
        if *semantics != Semantics::Weak || ty.bits() < 8 || ty.bits() > 64 {
            return Err(self.lacks(inst));
        }
        let signed = ty.is_signed();
        if addr.base == Base::ParamFrame {
            for at in 0..dst.len() {
                let value = self.parameter(addr.offset + i64::from(ty.bytes()) * at as i64, ty.bits());
                self.write(inst, at, &value, signed)?;
            }
            return Ok(());
        }
        let target = self.target(inst, *space, *addr)?;
        let lanes = self.lanes();
        let element = Element::bits_of(*ty);
        let count = dst.len();
        let places: Vec<String> = (0..count)
            .map(|_| {
                let lanes = if target.one.is_some() { 0 } else { lanes };
                self.new_place(Ty { element, lanes })
            })
            .collect();
        let done = self.fresh();
        if let Some(address) = &target.one {
            self.check_one(&target, address);
            let pointer = self.address_pointer(&target, address);
            for (at, place) in places.iter().enumerate() {
                let pointer = self.offset(&pointer, at as u32 * ty.bytes());
                let value = self.set(Ty::scalar(element), format!("load {}, ptr {pointer}", element.text()));
                self.store(&value, place);
            }
            self.line(format!("br label %L{done}"));
        } else {
            let all = target.all.clone().ok_or_else(|| self.lacks(inst))?;
            let apart = self.fresh();
            if let Some((base, flag)) = &target.row {
                let row = self.fresh();
                self.line(format!("br i1 {}, label %L{row}, label %L{apart}", flag.text));
                self.label(&format!("L{row}"));
                self.check_row(&target, base, &all);
                let pointer = self.address_pointer(&target, base);
                self.load_row(&pointer, *ty, &places);
                self.line(format!("br label %L{done}"));
            } else {
                self.line(format!("br label %L{apart}"));
            }
            self.label(&format!("L{apart}"));
            self.check_all(&target, &all);
            for (at, place) in places.iter().enumerate() {
                let pointers = self.pointers(&target, &all, at as u32 * ty.bytes());
                let value = self.gather(&pointers, element, ty.bytes());
                self.store(&value, place);
            }
            self.line(format!("br label %L{done}"));
        }
        self.label(&format!("L{done}"));
        for (at, place) in places.iter().enumerate() {
            let lanes = if target.one.is_some() { 0 } else { lanes };
            let value = self.load(Ty { element, lanes }, place);
            self.write(inst, at, &value, signed)?;
        }
        Ok(())
    }

    pub(super) fn st(&mut self, inst: &Inst) -> Result<(), String> {
        let Op::St { space, ty, semantics, src, addr, .. } = &inst.op else { return Err(self.lacks(inst)) };
        if *semantics != Semantics::Weak || ty.bits() < 8 || ty.bits() > 64 {
            return Err(self.lacks(inst));
        }
        let mut target = self.target(inst, *space, *addr)?;
        let values: Vec<Val> = src.iter().map(|operand| self.operand(*operand, *ty)).collect();
        let done = self.fresh();
        match target.one.clone() {
            Some(address) if values.iter().all(|value| value.ty.lanes == 0) => {
                self.check_one(&target, &address);
                let pointer = self.address_pointer(&target, &address);
                for (at, value) in values.iter().enumerate() {
                    let pointer = self.offset(&pointer, at as u32 * ty.bytes());
                    self.store(value, &pointer);
                }
                self.line(format!("br label %L{done}"));
            }
            one => {
                // The last of the lanes that store to one place wins.
                let all = match (one, target.all.take()) {
                    (Some(address), _) => self.splat(&address),
                    (None, Some(all)) => all,
                    (None, None) => return Err(self.lacks(inst)),
                };
                let values: Vec<Val> = values.iter().map(|value| self.splat(value)).collect();
                let apart = self.fresh();
                if let Some((base, flag)) = target.row.clone() {
                    let row = self.fresh();
                    self.line(format!("br i1 {}, label %L{row}, label %L{apart}", flag.text));
                    self.label(&format!("L{row}"));
                    self.check_row(&target, &base, &all);
                    let pointer = self.address_pointer(&target, &base);
                    self.store_row(&pointer, *ty, &values);
                    self.line(format!("br label %L{done}"));
                } else {
                    self.line(format!("br label %L{apart}"));
                }
                self.label(&format!("L{apart}"));
                self.check_all(&target, &all);
                // Lane by lane means all parts of one before the next: where lanes overlap that would matter.
                if values.len() > 1 {
                    self.store_lanes(&target, &all, *ty, &values);
                } else {
                    let pointers = self.pointers(&target, &all, 0);
                    self.scatter(&pointers, &values[0], ty.bytes());
                }
                self.line(format!("br label %L{done}"));
            }
        }
        self.label(&format!("L{done}"));
        Ok(())
    }

    fn target(&mut self, inst: &Inst, space: Space, address: Address) -> Result<Target, String> {
        let plan = self.plan;
        let Some((site, access)) = plan.access(self.inst) else { return Err(self.lacks(inst)) };
        let Access { bytes, pattern, unless_wraps, .. } = access;
        let shared = match space {
            Space::Global | Space::Const => false,
            Space::Shared => true,
            _ => return Err(format!("line {}: {space} memory", inst.line)),
        };
        if !bytes.is_power_of_two() || *bytes > 16 {
            return Err(self.lacks(inst));
        }
        let mut target = Target { one: None, row: None, all: None, shared, site, bytes: *bytes };
        match address.base {
            Base::Absolute => target.one = Some(self.constant(Ty::int(64, 0), address.offset)),
            Base::Global(id) => target.one = Some(self.variable(id, address.offset)),
            Base::Reg(reg) => {
                let value = self.value_of(Operand::Reg(reg)).ok_or_else(|| self.lacks(inst))?;
                let held = self.read(value);
                if self.is_scalar(value) {
                    target.one = Some(self.moved(&held, address.offset));
                } else {
                    target.all = Some(self.moved(&held, address.offset));
                    let in_row = *pattern == Pattern::Contiguous && !unless_wraps.contains(&self.inst);
                    if in_row && let Some(base) = self.read_base(value) {
                        let flag = self.read_flag(value);
                        target.row = Some((self.moved(&base, address.offset), flag));
                    }
                }
                debug_assert_eq!(
                    target.one.is_some(),
                    !matches!(self.shape(value), Shape::Affine(_) | Shape::Varying(_))
                );
            }
            Base::LocalFrame | Base::ParamFrame => return Err(format!("line {}: {space} memory", inst.line)),
        }
        Ok(target)
    }

    /// An address with its offset, in the width that it has, as 64 bits.
    fn moved(&mut self, address: &Val, offset: i64) -> Val {
        let by = self.constant(address.ty, offset);
        let sum = if offset == 0 { address.clone() } else { self.binary("add", address, &by) };
        self.resize(&sum, 64, false)
    }

    fn offset(&mut self, pointer: &str, bytes: u32) -> String {
        if bytes == 0 {
            return pointer.to_owned();
        }
        self.set(Ty::int(64, 0), format!("getelementptr i8, ptr {pointer}, i64 {bytes}")).text
    }

    fn address_pointer(&mut self, target: &Target, address: &Val) -> String {
        if target.shared {
            let shared = self.pointer(context::SHARED);
            return self.set(address.ty, format!("getelementptr i8, ptr {shared}, i64 {}", address.text)).text;
        }
        self.set(address.ty, format!("inttoptr i64 {} to ptr", address.text)).text
    }

    fn pointers(&mut self, target: &Target, addresses: &Val, bytes: u32) -> Val {
        let by = self.constant(addresses.ty, i64::from(bytes));
        let moved = if bytes == 0 { addresses.clone() } else { self.binary("add", addresses, &by) };
        let (lanes, ty) = (self.lanes(), moved.ty);
        if target.shared {
            let shared = self.pointer(context::SHARED);
            return self.set(ty, format!("getelementptr i8, ptr {shared}, <{lanes} x i64> {}", moved.text));
        }
        self.set(ty, format!("inttoptr <{lanes} x i64> {} to <{lanes} x ptr>", moved.text))
    }

    // ---- checks ----

    /// First address and size of what the site may access.
    fn allowed(&mut self, target: &Target) -> (Val, Val) {
        let i64 = Ty::int(64, 0);
        if target.shared {
            let at = self.field(context::SHARED_SIZE);
            let size = self.set(i64, format!("load i64, ptr {at}, !invariant.load !0"));
            return (self.constant(i64, 0), size);
        }
        let (start, span) = self.extent(target.site);
        (self.load(i64, &start), self.load(i64, &span))
    }

    /// Whether so many bytes from an address on are allowed and aligned.
    fn fits(&mut self, target: &Target, address: &Val, bytes: u64) -> Val {
        let (start, span) = self.allowed(target);
        let (start, span) = if address.ty.lanes == 0 { (start, span) } else { (self.splat(&start), self.splat(&span)) };
        let offset = self.binary("sub", address, &start);
        let inside = self.compare("ult", &offset, &span);
        let rest = self.binary("sub", &span, &offset);
        let need = self.constant(address.ty, bytes as i64);
        let enough = self.compare("uge", &rest, &need);
        let low = self.constant(address.ty, i64::from(target.bytes) - 1);
        let low = self.binary("and", address, &low);
        let zero = self.constant(address.ty, 0);
        let aligned = self.compare("eq", &low, &zero);
        let all = self.binary("and", &inside, &enough);
        self.binary("and", &all, &aligned)
    }

    fn check_one(&mut self, target: &Target, address: &Val) {
        let fits = self.fits(target, address, u64::from(target.bytes));
        let all = self.splat(address);
        self.check(target, &fits, &all);
    }

    fn check_row(&mut self, target: &Target, base: &Val, all: &Val) {
        let bytes = u64::from(target.bytes) * u64::from(self.lanes());
        let fits = self.fits(target, base, bytes);
        self.check(target, &fits, all);
    }

    fn check_all(&mut self, target: &Target, all: &Val) {
        let fits = self.fits(target, all, u64::from(target.bytes));
        let mask = self.mask_value();
        let ones = self.constant(mask.ty, 1);
        let off = self.binary("xor", &mask, &ones);
        let fine = self.binary("or", &fits, &off);
        let lanes = self.lanes();
        let bits = self.set(Ty::int(lanes, 0), format!("bitcast <{lanes} x i1> {} to i{lanes}", fine.text));
        let every = self.constant(bits.ty, -1);
        let fits = self.compare("eq", &bits, &every);
        self.check(target, &fits, all);
    }

    /// Unless the access fits, asks for each lane.
    fn check(&mut self, target: &Target, fits: &Val, all: &Val) {
        let (ask, refused, allowed, on) = (self.fresh(), self.fresh(), self.fresh(), self.fresh());
        self.line(format!("br i1 {}, label %L{on}, label %L{ask}, !prof !2", fits.text));
        self.label(&format!("L{ask}"));
        let lanes = self.lanes();
        self.line(format!("store {} {}, ptr %addresses, align 64", all.ty.text(), all.text));
        let mask = self.mask.clone();
        let bits = self.set(Ty::int(lanes, 0), format!("bitcast <{lanes} x i1> {mask} to i{lanes}"));
        let bits = self.resize(&bits, 32, false);
        let function = self.pointer(context::CHECK);
        let answer = self.set(
            Ty::int(32, 0),
            format!(
                "call i32 {function}(ptr %context, ptr %addresses, i32 {}, i32 {}, i32 %thread)",
                bits.text, target.site
            ),
        );
        let zero = self.constant(answer.ty, 0);
        let fine = self.compare("ne", &answer, &zero);
        self.line(format!("br i1 {}, label %L{allowed}, label %L{refused}", fine.text));
        self.label(&format!("L{refused}"));
        self.line(format!("ret i32 {}", outcome::FAULT));
        self.label(&format!("L{allowed}"));
        if !target.shared {
            self.reload_extent(target.site);
        }
        self.line(format!("br label %L{on}"));
        self.label(&format!("L{on}"));
    }

    // ---- accesses ----

    /// The mask, so many times for each lane.
    fn repeated_mask(&mut self, count: u32) -> Val {
        let mask = self.mask_value();
        if count == 1 {
            return mask;
        }
        let order = (0..self.lanes() * count).map(|at| i64::from(at / count));
        self.shuffled(&mask, order)
    }

    fn shuffled(&mut self, value: &Val, order: impl IntoIterator<Item = i64>) -> Val {
        let order: Vec<i64> = order.into_iter().collect();
        let ty = Ty { lanes: order.len() as u32, ..value.ty };
        let index = Ty::int(32, ty.lanes).lanes(order);
        let text =
            format!("shufflevector {0} {1}, {0} poison, <{2} x i32> {index}", value.ty.text(), value.text, ty.lanes);
        self.set(ty, text)
    }

    fn load_row(&mut self, pointer: &str, ty: ScalarType, places: &[String]) {
        let count = places.len() as u32;
        let all = Ty { element: Element::bits_of(ty), lanes: self.lanes() * count };
        let mask = self.repeated_mask(count);
        let name = format!("@llvm.masked.load.{}.p0", all.suffix());
        self.plan.declare(format!("declare {0} {name}(ptr, i32, <{1} x i1>, {0})", all.text(), all.lanes));
        let value = self.set(
            all,
            format!(
                "call {0} {name}(ptr {pointer}, i32 {1}, <{2} x i1> {3}, {0} zeroinitializer)",
                all.text(),
                ty.bytes(),
                all.lanes,
                mask.text
            ),
        );
        for (at, place) in places.iter().enumerate() {
            let part = if count == 1 {
                value.clone()
            } else {
                self.shuffled(&value, (0..self.lanes()).map(|lane| i64::from(lane * count + at as u32)))
            };
            self.store(&part, place);
        }
    }

    fn store_row(&mut self, pointer: &str, ty: ScalarType, values: &[Val]) {
        let lanes = self.lanes();
        let count = values.len() as u32;
        let mut all = values[0].clone();
        for value in &values[1..] {
            // Behind each other first, then in the order of memory.
            let first = all.ty.lanes;
            let wide = self.shuffled(value, (0..i64::from(first)).map(|at| at.min(i64::from(lanes) - 1)));
            let order: Vec<i64> = (0..i64::from(first + lanes)).collect();
            let ty = Ty { lanes: first + lanes, ..all.ty };
            let index = Ty::int(32, ty.lanes).lanes(order);
            let text = format!(
                "shufflevector {0} {1}, {0} {2}, <{3} x i32> {index}",
                all.ty.text(),
                all.text,
                wide.text,
                ty.lanes
            );
            all = self.set(ty, text);
        }
        if count > 1 {
            all = self.shuffled(&all, (0..lanes * count).map(|at| i64::from(at % count * lanes + at / count)));
        }
        let mask = self.repeated_mask(count);
        let name = format!("@llvm.masked.store.{}.p0", all.ty.suffix());
        self.plan.declare(format!("declare void {name}({}, ptr, i32, <{} x i1>)", all.ty.text(), all.ty.lanes));
        self.line(format!(
            "call void {name}({} {}, ptr {pointer}, i32 {}, <{} x i1> {})",
            all.ty.text(),
            all.text,
            ty.bytes(),
            all.ty.lanes,
            mask.text
        ));
    }

    fn gather(&mut self, pointers: &Val, element: Element, align: u32) -> Val {
        let ty = Ty { element, lanes: self.lanes() };
        let lanes = ty.lanes;
        let name = format!("@llvm.masked.gather.{}.v{lanes}p0", ty.suffix());
        self.plan.declare(format!("declare {0} {name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {0})", ty.text()));
        let mask = self.mask.clone();
        self.set(
            ty,
            format!(
                "call {0} {name}(<{lanes} x ptr> {1}, i32 {align}, <{lanes} x i1> {mask}, {0} zeroinitializer)",
                ty.text(),
                pointers.text
            ),
        )
    }

    fn scatter(&mut self, pointers: &Val, value: &Val, align: u32) {
        let lanes = self.lanes();
        let name = format!("@llvm.masked.scatter.{}.v{lanes}p0", value.ty.suffix());
        self.plan.declare(format!("declare void {name}({}, <{lanes} x ptr>, i32, <{lanes} x i1>)", value.ty.text()));
        let mask = self.mask.clone();
        self.line(format!(
            "call void {name}({} {}, <{lanes} x ptr> {}, i32 {align}, <{lanes} x i1> {mask})",
            value.ty.text(),
            value.text,
            pointers.text
        ));
    }

    /// Several parts of each lane, lane after lane.
    fn store_lanes(&mut self, target: &Target, all: &Val, ty: ScalarType, values: &[Val]) {
        for lane in 0..self.lanes() {
            let (there, behind) = (self.fresh(), self.fresh());
            let mask = self.mask_value();
            let on = self.set(Ty::int(1, 0), format!("extractelement {} {}, i64 {lane}", mask.ty.text(), mask.text));
            self.line(format!("br i1 {}, label %L{there}, label %L{behind}", on.text));
            self.label(&format!("L{there}"));
            let address =
                self.set(Ty::int(64, 0), format!("extractelement {} {}, i64 {lane}", all.ty.text(), all.text));
            let pointer = self.address_pointer(target, &address);
            for (at, value) in values.iter().enumerate() {
                let part = self.set(
                    Ty::scalar(value.ty.element),
                    format!("extractelement {} {}, i64 {lane}", value.ty.text(), value.text),
                );
                let pointer = self.offset(&pointer, at as u32 * ty.bytes());
                self.store(&part, &pointer);
            }
            self.line(format!("br label %L{behind}"));
            self.label(&format!("L{behind}"));
        }
    }
}
