//! Comparison and selection (PTX ISA 9.7.6, 9.7.7), logic and shift (9.7.8).

pub(super) const FORMS: &[&str] = &[
    // 9.7.6.1, 9.7.7.1
    "set.$cmp.ftz?.(u32|s32|f32).$scalar =0 1 1",
    "set.$cmp.$bool.ftz?.(u32|s32|f32).$scalar =0 1 1 !pred",
    "set.$cmp.ftz?.f16.(f16|bf16@7.8/90|$scalar) =0 1 1 ; 4.2 53",
    "set.$cmp.$bool.ftz?.f16.(f16|bf16@7.8/90|$scalar) =0 1 1 !pred ; 4.2 53",
    "set.$cmp.ftz?.(u16|s16|u32|s32).f16 =0 1 1 ; 4.2 53",
    "set.$cmp.$bool.ftz?.(u16|s16|u32|s32).f16 =0 1 1 !pred ; 4.2 53",
    "set.$cmp.ftz?.(f16x2|u32|s32).f16x2 =0 1 1 ; 4.2 53",
    "set.$cmp.$bool.ftz?.(f16x2|u32|s32).f16x2 =0 1 1 !pred ; 4.2 53",
    "set.$cmp.ftz?.bf16.(bf16|f16|$scalar) =0 1 1 ; 7.8 90",
    "set.$cmp.$bool.ftz?.bf16.(bf16|f16|$scalar) =0 1 1 !pred ; 7.8 90",
    "set.$cmp.(u16|s16|u32|s32).bf16 =0 1 1 ; 7.8 90",
    "set.$cmp.$bool.(u16|s16|u32|s32).bf16 =0 1 1 !pred ; 7.8 90",
    "set.$cmp.(bf16x2|u32|s32).bf16x2 =0 1 1 ; 7.8 90",
    "set.$cmp.$bool.(bf16x2|u32|s32).bf16x2 =0 1 1 !pred ; 7.8 90",
    // 9.7.6.2, 9.7.7.2
    "setp.$cmp.ftz?.$scalar =pred|pred? 0 0",
    "setp.$cmp.$bool.ftz?.$scalar =pred|pred? 0 0 !pred",
    "setp.$cmp.ftz?.(f16|f16x2) =pred|pred? 0 0 ; 4.2 53",
    "setp.$cmp.$bool.ftz?.(f16|f16x2) =pred|pred? 0 0 !pred ; 4.2 53",
    "setp.$cmp.(bf16|bf16x2) =pred|pred? 0 0 ; 7.8 90",
    "setp.$cmp.$bool.(bf16|bf16x2) =pred|pred? 0 0 !pred ; 7.8 90",
    // 9.7.6.3, 9.7.6.4
    "selp.$scalar =0 0 0 !pred",
    "slct.ftz?.$scalar.(s32|f32) =0 0 0 1",
    // 9.7.8
    "and.(pred|b16|b32|b64) =0 0 0",
    "or.(pred|b16|b32|b64) =0 0 0",
    "xor.(pred|b16|b32|b64) =0 0 0",
    "not.(pred|b16|b32|b64) =0 0",
    "cnot.$bits =0 0",
    "lop3.b32 =0 0 0 0 # ; 4.3 50",
    "lop3.(or|and).b32 =0|pred 0 0 0 # !pred ; 8.2 70",
    "shf.(l|r).(clamp|wrap).b32 =0 0 0 u32 ; 3.1 32",
    "shl.$bits =0 0 u32",
    "shr.(b16|b32|b64|u16|u32|u64|s16|s32|s64) =0 0 u32",
];
