//! Accesses lane after lane, and gathers and scatters of processors that have them.

use warploom_ptx::ir::ScalarType;

use super::function::{Val, Writer};
use super::names::{Element, Ty};

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
        let (width, bytes, lanes) = (ty.bits(), ty.bytes(), self.lanes());
        let name = format!("@load_lanes{width}{}", if strong { "s" } else { "" });
        let how = if strong { "load atomic volatile" } else { "load" };
        let order = if strong { " monotonic" } else { "" };
        self.plan.declare(format!(
            "define internal void {name}(ptr %addresses, i32 %lanes, ptr %out, i64 %offset) #2 {{\n  br label %head\nhead:\n  \
             %left = phi i32 [ %lanes, %0 ], [ %rest, %head ]\n  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)\n  \
             %below = sub i32 %left, 1\n  %rest = and i32 %left, %below\n  %at = getelementptr i64, ptr %addresses, i32 %lane\n  \
             %base = load ptr, ptr %at\n  %from = getelementptr i8, ptr %base, i64 %offset\n  \
             %value = {how} i{width}, ptr %from{order}, align {bytes}\n  %to = getelementptr i{width}, ptr %out, i32 %lane\n  \
             store i{width} %value, ptr %to\n  %more = icmp ne i32 %rest, 0\n  br i1 %more, label %head, label %end\nend:\n  ret void\n}}"
        ));
        self.plan.declare("declare i32 @llvm.cttz.i32(i32, i1)".to_owned());
        for (at, place) in places.iter().enumerate() {
            self.line(format!(
                "call void {name}(ptr %addresses, i32 {}, ptr %scratch, i64 {})",
                bits.text,
                at as u32 * bytes
            ));
            let value = self.load(Ty { element, lanes }, "%scratch");
            self.store(&value, place);
        }
    }

    /// To the places in `%addresses`, for the lanes that run: all parts of a lane before the next one's.
    pub(super) fn store_lanes(&mut self, ty: ScalarType, values: &[Val], strong: bool) {
        let bits = self.running();
        let (width, bytes, lanes, count) = (ty.bits(), ty.bytes(), self.lanes(), values.len() as u32);
        for (at, value) in values.iter().enumerate() {
            let value = self.splat(value);
            let place = self.offset("%scratch", at as u32 * lanes * bytes);
            self.line(format!("store {} {}, ptr {place}", value.ty.text(), value.text));
        }
        let name = format!("@store_lanes{width}x{count}{}", if strong { "s" } else { "" });
        let how = if strong { "store atomic volatile" } else { "store" };
        let order = if strong { " monotonic" } else { "" };
        let mut parts = String::new();
        for at in 0..count {
            parts += &format!(
                "  %k{at} = add i32 %lane, {}\n  %v{at} = getelementptr i{width}, ptr %values, i32 %k{at}\n  \
                 %x{at} = load i{width}, ptr %v{at}\n  %p{at} = getelementptr i8, ptr %base, i64 {}\n  \
                 {how} i{width} %x{at}, ptr %p{at}{order}, align {bytes}\n",
                at * lanes,
                at * bytes
            );
        }
        self.plan.declare(format!(
            "define internal void {name}(ptr %addresses, i32 %lanes, ptr %values) #2 {{\n  br label %head\nhead:\n  \
             %left = phi i32 [ %lanes, %0 ], [ %rest, %head ]\n  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)\n  \
             %below = sub i32 %left, 1\n  %rest = and i32 %left, %below\n  %at = getelementptr i64, ptr %addresses, i32 %lane\n  \
             %base = load ptr, ptr %at\n{parts}  %more = icmp ne i32 %rest, 0\n  br i1 %more, label %head, label %end\nend:\n  ret void\n}}"
        ));
        self.plan.declare("declare i32 @llvm.cttz.i32(i32, i1)".to_owned());
        self.line(format!("call void {name}(ptr %addresses, i32 {}, ptr %scratch)", bits.text));
    }

    pub(super) fn gather(&mut self, pointers: &Val, element: Element, align: u32) -> Val {
        let ty = Ty { element, lanes: self.lanes() };
        let lanes = ty.lanes;
        let name = format!("@llvm.masked.gather.{}.v{lanes}p0", ty.suffix());
        self.plan.declare(format!("declare {0} {name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {0})", ty.text()));
        let mask = self.mask.clone();
        self.set(
            ty,
            format!(
                "call {0} {name}(<{lanes} x ptr> {1}, i32 {align}, <{lanes} x i1> {mask}, {0} zeroinitializer), !tbaa !7",
                ty.text(),
                pointers.text
            ),
        )
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
