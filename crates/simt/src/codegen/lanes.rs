//! Accesses lane after lane, and gathers and scatters of processors that have them.

use std::fmt::Write as _;

use warploom_ptx::ir::ScalarType;

use super::asked::Argument;
use super::function::{Val, Writer};
use super::names::{Element, Ty};

/// Whether the elements of a lane are read or written at once. PTX's memory model takes a vector for several accesses in no order (PTX ISA
/// 8.2.2), but hardware makes one of up to 16 bytes, and scans that look back keep a value and its state in one. Hosts can too: whole vectors of
/// 16 bytes at a multiple of 16 are atomic on x86 with AVX (Intel SDM volume 3, 9.1.1; AMD64 manual volume 2, 7.3.2), and LLVM uses them for an
/// atomic `i128`.
fn together(strong: bool, bytes: u32, count: u32) -> bool {
    strong && count > 1 && bytes * count <= 16
}

/// The instruction for an access, and its order.
fn ways(access: &str, strong: bool) -> (String, &'static str) {
    if strong { (format!("{access} atomic volatile"), " monotonic") } else { (access.to_owned(), "") }
}

/// The part of a value with this number stored for a lane, so many parts behind where it goes. It is loaded by itself: LLVM would load vectors, and take them apart.
fn stored_part(ty: ScalarType, lane: u32, number: u32, part: u32) -> String {
    let (width, bytes) = (ty.bits(), ty.bytes());
    format!(
        "  %v{number} = getelementptr i{width}, ptr %values, i32 {number}\n  %x{number} = load volatile i{width}, ptr %v{number}\n  \
         %p{number} = getelementptr i8, ptr %b{lane}, i64 {}\n  store i{width} %x{number}, ptr %p{number}, align {bytes}, !tbaa !7\n",
        part * bytes
    )
}

impl Writer<'_> {
    /// `ctlz` and `cttz`, of a number that is not 0.
    pub(super) fn intrinsic_flag(&mut self, name: &str, a: &Val) -> Val {
        let (ty, suffix) = (a.ty.text(), a.ty.suffix());
        self.plan.declare(format!("declare {ty} @llvm.{name}.{suffix}({ty}, i1)"));
        self.set(a.ty, format!("call {ty} @llvm.{name}.{suffix}({ty} {}, i1 true)", a.text))
    }

    /// From the places in `%addresses`, for the lanes that run, through a function: it is long, and used where nothing is fast.
    pub(super) fn load_lanes(&mut self, ty: ScalarType, places: &[String], strong: bool) {
        let bits = self.running();
        let element = Element::bits_of(ty);
        let (width, bytes, lanes, count) = (ty.bits(), ty.bytes(), self.lanes(), places.len() as u32);
        let name = format!("@load_lanes{width}x{count}{}", if strong { "s" } else { "" });
        let mut parts = String::new();
        if together(strong, bytes, count) {
            let (wide, size) = (width * count, bytes * count);
            parts += &format!("  %whole = load atomic volatile i{wide}, ptr %base monotonic, align {size}\n");
            for at in 0..count {
                parts += &format!(
                    "  %s{at} = lshr i{wide} %whole, {}\n  %x{at} = trunc i{wide} %s{at} to i{width}\n",
                    at * width
                );
            }
        } else {
            let (how, order) = ways("load", strong);
            for at in 0..count {
                parts += &format!(
                    "  %p{at} = getelementptr i8, ptr %base, i64 {}\n  %x{at} = {how} i{width}, ptr %p{at}{order}, align {bytes}\n",
                    at * bytes
                );
            }
        }
        for at in 0..count {
            parts += &format!(
                "  %k{at} = add i32 %lane, {}\n  %v{at} = getelementptr i{width}, ptr %out, i32 %k{at}\n  \
                 store i{width} %x{at}, ptr %v{at}\n",
                at * lanes
            );
        }
        self.each_lane(&name, "ptr %out", &parts);
        let bits = self.whole_register(&Argument::Value(&bits));
        self.line(format!("call void {name}(ptr %addresses{bits}, ptr %scratch)"));
        for (at, place) in places.iter().enumerate() {
            let from = self.offset("%scratch", at as u32 * lanes * bytes);
            let value = self.load(Ty { element, lanes }, &from);
            self.store(&value, place);
        }
    }

    /// To the places in `%addresses`, for the lanes that run: all parts of a lane before the next one's.
    pub(super) fn store_lanes(&mut self, ty: ScalarType, values: &[Val], strong: bool) {
        let (width, bytes, lanes, count) = (ty.bits(), ty.bytes(), self.lanes(), values.len() as u32);
        for (at, value) in values.iter().enumerate() {
            let value = self.splat(value);
            let place = self.offset("%scratch", at as u32 * lanes * bytes);
            self.store_for_lanes(&value, &place);
        }
        if !strong && self.is_for_all_lanes() {
            return self.store_all_lanes(ty, count);
        }
        let bits = self.running();
        let name = format!("@store_lanes{width}x{count}{}", if strong { "s" } else { "" });
        let mut parts = String::new();
        for at in 0..count {
            parts += &format!(
                "  %k{at} = add i32 %lane, {}\n  %v{at} = getelementptr i{width}, ptr %values, i32 %k{at}\n  \
                 %x{at} = load i{width}, ptr %v{at}\n",
                at * lanes
            );
        }
        if together(strong, bytes, count) {
            let (wide, size) = (width * count, bytes * count);
            let mut whole = "0".to_owned();
            for at in 0..count {
                parts += &format!(
                    "  %w{at} = zext i{width} %x{at} to i{wide}\n  %s{at} = shl i{wide} %w{at}, {}\n  \
                     %o{at} = or i{wide} {whole}, %s{at}\n",
                    at * width
                );
                whole = format!("%o{at}");
            }
            parts += &format!("  store atomic volatile i{wide} {whole}, ptr %base monotonic, align {size}\n");
        } else {
            let (how, order) = ways("store", strong);
            for at in 0..count {
                parts += &format!(
                    "  %p{at} = getelementptr i8, ptr %base, i64 {}\n  {how} i{width} %x{at}, ptr %p{at}{order}, align {bytes}\n",
                    at * bytes
                );
            }
        }
        self.each_lane(&name, "ptr %values", &parts);
        let bits = self.whole_register(&Argument::Value(&bits));
        self.line(format!("call void {name}(ptr %addresses{bits}, ptr %scratch)"));
    }

    /// The same of all lanes, whose parts are in `%scratch`: one lane does not wait for which the next one is.
    fn store_all_lanes(&mut self, ty: ScalarType, count: u32) {
        let name = format!("@store_all_lanes{}x{}x{count}", self.lanes(), ty.bits());
        let (mut parts, lanes) = (String::new(), self.lanes());
        for lane in 0..lanes {
            let _ = writeln!(
                parts,
                "  %a{lane} = getelementptr i64, ptr %addresses, i32 {lane}\n  %b{lane} = load volatile ptr, ptr %a{lane}"
            );
            (0..count).for_each(|at| parts += &stored_part(ty, lane, at * lanes + lane, at));
        }
        self.plan
            .declare(format!("define internal void {name}(ptr %addresses, ptr %values) #5 {{\n{parts}  ret void\n}}"));
        self.line(format!("call void {name}(ptr %addresses, ptr %scratch)"));
    }

    /// To the places of all lanes, so many bytes behind one that they have in common.
    pub(super) fn store_all_behind(&mut self, start: &str, index: &Val, ty: ScalarType, value: &Val) {
        self.store_for_lanes(index, "%addresses");
        self.store_for_lanes(value, "%scratch");
        let name = format!("@store_all_behind{}x{}", self.lanes(), ty.bits());
        let mut parts = String::new();
        for lane in 0..self.lanes() {
            let _ = writeln!(
                parts,
                "  %a{lane} = getelementptr i32, ptr %index, i32 {lane}\n  %n{lane} = load volatile i32, ptr %a{lane}\n  \
                 %b{lane} = getelementptr i8, ptr %start, i32 %n{lane}"
            );
            parts += &stored_part(ty, lane, lane, 0);
        }
        self.plan.declare(format!(
            "define internal void {name}(ptr %start, ptr %index, ptr %values) #5 {{\n{parts}  ret void\n}}"
        ));
        self.line(format!("call void {name}(ptr {start}, ptr %addresses, ptr %scratch)"));
    }

    /// A function that does something for each of the lanes in a mask, `%lane`, whose place is `%base`.
    fn each_lane(&mut self, name: &str, parameter: &str, parts: &str) {
        self.plan.declare(format!(
            "define internal void {name}(ptr %addresses, i64 %mask, {parameter}) #5 {{\n  %lanes = trunc i64 %mask to i32\n  br label %head\nhead:\n  \
             %left = phi i32 [ %lanes, %0 ], [ %rest, %head ]\n  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)\n  \
             %below = sub i32 %left, 1\n  %rest = and i32 %left, %below\n  %at = getelementptr i64, ptr %addresses, i32 %lane\n  \
             %base = load ptr, ptr %at\n{parts}  %more = icmp ne i32 %rest, 0\n  br i1 %more, label %head, label %end\nend:\n  ret void\n}}"
        ));
        self.plan.declare("declare i32 @llvm.cttz.i32(i32, i1)".to_owned());
    }

    pub(super) fn scatter(&mut self, pointers: &Val, value: &Val, align: u32) {
        let lanes = self.lanes();
        let name = format!("@llvm.masked.scatter.{}.v{lanes}p0", value.ty.suffix());
        self.plan.declare(format!("declare void {name}({}, <{lanes} x ptr>, i32, <{lanes} x i1>)", value.ty.text()));
        let mask = self.mask.clone();
        self.line(format!(
            "call void {name}({} {}, <{lanes} x ptr> {}, i32 {align}, <{lanes} x i1> {mask}), !tbaa !7",
            value.ty.text(),
            value.text,
            pointers.text
        ));
    }
}
