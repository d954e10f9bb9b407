//! Integer arithmetic (PTX ISA 9.7.1) and extended precision (9.7.2).

pub(super) const FORMS: &[&str] = &[
    // 9.7.1.1, 9.7.1.2
    "add.(u16|u32|u64|s16|s64) =0 0 0",
    "add.sat?.s32 =0 0 0",
    "add.(u16x2|s16x2) =0 0 0 ; 8.0 90",
    "add.sat.(u32|u16x2|s16x2) =0 0 0 ; 9.2 120f",
    "add.sat?.(u8x4|s8x4) =0 0 0 ; 9.2 120f",
    "sub.(u16|u32|u64|s16|s64) =0 0 0",
    "sub.sat?.s32 =0 0 0",
    "sub.sat?.(u8x4|s8x4) =0 0 0 ; 9.2 120f",
    // 9.7.1.3, 9.7.1.4
    "mul.(lo|hi).$int =0 0 0",
    "mul.wide.(u16|u32|s16|s32) =w0 0 0",
    "mad.(lo|hi).$int =0 0 0 0",
    "mad.hi.sat.s32 =0 0 0 0",
    "mad.wide.(u16|u32|s16|s32) =w0 0 0 w0",
    // 9.7.1.5 of PTX ISA 9.3, which moves the sections behind it by one
    "clmad.(lo|hi).u64 =0 0 0 0 ; 9.3 80",
    // 9.7.1.5, 9.7.1.6
    "mul24.(lo|hi).(u32|s32) =0 0 0",
    "mad24.(lo|hi).(u32|s32) =0 0 0 0",
    "mad24.hi.sat.s32 =0 0 0 0",
    // 9.7.1.7 to 9.7.1.13
    "sad.$int =0 0 0 0",
    "div.$int =0 0 0",
    "rem.$int =0 0 0",
    "abs.(s16|s32|s64) =0 0",
    "neg.(s16|s32|s64) =0 0",
    "neg.s8x4 =0 0 ; 9.2 120f",
    "min.(u16|u32|u64|s16|s32|s64) =0 0 0",
    "min.u16x2 =0 0 0 ; 8.0 90",
    "min.relu?.s16x2 =0 0 0 ; 8.0 90",
    "min.relu.s32 =0 0 0 ; 8.0 90",
    "min.u8x4 =0 0 0 ; 9.2 120f",
    "min.relu?.s8x4 =0 0 0 ; 9.2 120f",
    "max.(u16|u32|u64|s16|s32|s64) =0 0 0",
    "max.u16x2 =0 0 0 ; 8.0 90",
    "max.relu?.s16x2 =0 0 0 ; 8.0 90",
    "max.relu.s32 =0 0 0 ; 8.0 90",
    "max.u8x4 =0 0 0 ; 9.2 120f",
    "max.relu?.s8x4 =0 0 0 ; 9.2 120f",
    // 9.7.1.14 to 9.7.1.22
    "popc.(b32|b64) =u32 0 ; 2.0 20",
    "clz.(b32|b64) =u32 0 ; 2.0 20",
    "bfind.shiftamt?.(u32|u64|s32|s64) =u32 0 ; 2.0 20",
    "fns.b32 =b32 b32 b32 s32 ; 6.0 30",
    "brev.(b32|b64) =0 0 ; 2.0 20",
    "bfe.(u32|u64|s32|s64) =0 0 u32 u32 ; 2.0 20",
    "bfi.(b32|b64) =0 0 0 u32 u32 ; 2.0 20",
    "szext.(clamp|wrap).(u32|s32) =0 0 u32 ; 7.6 70",
    "bmsk.(clamp|wrap).b32 =b32 u32 u32 ; 7.6 70",
    // 9.7.1.23, 9.7.1.24
    "dp4a.(u32|s32).(u32|s32) =u32 0 1 u32 ; 5.0 61",
    "dp2a.(lo|hi).(u32|s32).(u32|s32) =u32 0 1 u32 ; 5.0 61",
    // 9.7.2
    "add.cc.(u32|s32|u64@4.3|s64@4.3) =0 0 0",
    "addc.cc?.(u32|s32|u64@4.3|s64@4.3) =0 0 0",
    "sub.cc.(u32|s32|u64@4.3|s64@4.3) =0 0 0",
    "subc.cc?.(u32|s32|u64@4.3|s64@4.3) =0 0 0",
    "mad.(lo|hi).cc.(u32|s32|u64@4.3|s64@4.3) =0 0 0 0 ; 3.0 20",
    "madc.(lo|hi).cc?.(u32|s32|u64@4.3|s64@4.3) =0 0 0 0 ; 3.0 20",
];
