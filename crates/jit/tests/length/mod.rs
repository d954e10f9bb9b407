//! Kernels of any length.

use std::fmt::Write as _;

/// A kernel of about so many instructions: loads, arithmetic, a branch that lanes take apart, and a store for every forty.
pub(crate) fn text(instructions: usize) -> String {
    let mut out = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
         .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<9>; .reg .pred %p<4>;\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n"
        .to_owned();
    for group in 0..instructions / 40 {
        let _ = write!(
            out,
            "ld.global.f32 %f1, [%rd3+{}]; ld.global.u32 %r2, [%rd3+{}];\nsetp.gt.u32 %p1, %r2, {group}; @%p1 bra skip{group};\n",
            group % 64 * 4,
            group % 32 * 8
        );
        for at in 0..16 {
            let _ = writeln!(out, "fma.rn.f32 %f{}, %f{}, %f1, %f{};", 2 + at, 2 + (at + 1) % 16, 2 + at);
        }
        let _ = writeln!(out, "skip{group}:");
        for at in 0..16 {
            let _ = writeln!(out, "mad.lo.s32 %r{}, %r{}, %r2, %r{};", 3 + at, 3 + (at + 1) % 16, 3 + at);
        }
        let _ = writeln!(
            out,
            "st.global.f32 [%rd3+{}], %f{}; st.global.u32 [%rd3+{}], %r{};",
            group % 64 * 4,
            2 + group % 16,
            group % 32 * 8,
            3 + group % 16
        );
    }
    out + "ret;\n}\n"
}
