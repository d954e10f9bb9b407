//! An instance of each form whose operands its line leaves to the lowering (`*`, `**`), as `instances` makes them of all others.
//!
//! `{f32 4}` is a vector of so many registers. What stands in front of the last instruction of a text, or behind it, is what that one names.

use std::sync::LazyLock;

use super::Form;
use super::Mnemonic;

/// In the order of the manual.
const EXAMPLES: &[&str] = &[
    // 9.7.9
    "mov.b32 %b32x0, %b32x1;",
    "st.bulk.weak.shared::cta [%b64x1], 1024, 0;",
    "multimem.ld_reduce.relaxed.sys.global.add.u32 %b32x0, [%b64x0];",
    "multimem.st.relaxed.sys.global.u32 [%b64x0], %b32x0;",
    "multimem.red.relaxed.sys.global.add.u32 [%b64x0], %b32x0;",
    "multimem.cp.async.bulk.weak.global.shared::cta.bulk_group.cp_mask [%b64x0], [%b32x0], 16, %b16x0;",
    "multimem.cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 [%b64x0], [%b32x0], 16;",
    "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %b64x0, [%b64x1], 4096, 8192;",
    "isspacep.shared %pred0, %b64x0;",
    // 9.7.9.25
    "cp.async.ca.shared.global.L2::cache_hint.L2::128B [%b32x0], [%b64x0], 16, 8, %b64x1;",
    "cp.async.ca.shared.global [%b32x0], [%b64x0], 4;",
    "cp.async.ca.shared::cta.global [%b32x0], [%b64x0], 16, %pred0;",
    "cp.async.cg.shared.global.L2::cache_hint [%b32x0], [%b64x0], 16, 8, %b64x1;",
    "cp.async.cg.shared.global.L2::256B [%b32x0], [%b64x0], 16;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%b32x0], [%b64x0], 16, [%b32x1], %b16x0, %b64x1;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%b32x0], [%b64x0], 16, [%b32x1];",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%b32x0], [%b64x0], 16, [%b32x1];",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint.ignore_oob [%b32x0], [%b64x0], 16, 4, %b32x2, [%b32x1], %b64x1;",
    "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [%b64x0], [%b32x0], 16, %b64x1, %b16x0;",
    "cp.async.bulk.global.shared::cta.bulk_group [%b64x0], [%b32x0], 16;",
    "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%b64x0], [%b32x0], 16, %b16x0;",
    "cp.async.bulk.relaxed.gpu.shared::cluster.global.mbarrier::complete_tx::bytes.b128 [%b32x0], [%b64x0], 16, [%b32x1];",
    "cp.async.bulk.relaxed.sys.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint.b128 [%b32x0], [%b64x0], 16, [%b32x1], %b16x0, %b64x1;",
    "cp.async.bulk.relaxed.cta.shared::cta.global.mbarrier::complete_tx::bytes.b128 [%b32x0], [%b64x0], 16, [%b32x1];",
    "cp.async.bulk.relaxed.cta.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob.b128 [%b32x0], [%b64x0], 16, 4, %b32x2, [%b32x1];",
    "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.L2::cache_hint.cp_mask.b128 [%b64x0], [%b32x0], 16, %b64x1, %b16x0;",
    "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 [%b64x0], [%b32x0], 16;",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%b32x0], [%b64x0, {b32 2}], [%b32x1];",
    "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%b32x0], [%b64x0, {b32 4}], [%b32x1], {b16 2};",
    "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%b32x0], [%b64x0, {b32 5}], [%b32x1];",
    "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes [%b32x0], [%b64x0, {b32 4}], [%b32x1], {b16 2};",
    "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w::128.mbarrier::complete_tx::bytes [%b32x0], [%b64x0, {b32 4}], [%b32x1], {b16 2};",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%b32x0], [%b64x0, {b32 2}], [%b32x1];",
    "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%b64x0, {b32 1}], [%b32x0];",
    "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%b64x0, {b32 3}], [%b32x0];",
    "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%b64x0, {b32 5}], [%b32x0];",
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%b64x0, {b32 2}], [%b32x0];",
    "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%b64x0, {b32 2}];",
    "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%b64x0, {b32 5}];",
    "tensormap.replace.tile.global_address.global.b1024.b64 [%b64x0], %b64x1;",
    "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%b64x0], 1, %b32x1;",
    // 9.7.10
    "tex.2d.v4.f32.f32 {f32 4}, [%b64x0, {f32 2}];",
    "tex.1d.v2.f16x2.s32 {b32 2}, [%b64x0, {b32 1}];",
    "tex.base.2d.v4.f32.f32 {f32 4}, [%b64x0, {f32 2}];",
    "tex.base.2d.v2.f16x2.f32 {b32 2}, [%b64x0, {f32 2}];",
    "tex.level.2d.v4.f32.f32 {f32 4}, [%b64x0, {f32 2}], %f32x5;",
    "tex.level.2d.v2.f16x2.f32 {b32 2}, [%b64x0, {f32 2}], %f32x5;",
    "tex.grad.2d.v4.f32.f32 {f32 4}, [%b64x0, {f32 2}], {f32 2}, {f32 2};",
    "tex.grad.2d.v2.f16x2.f32 {b32 2}, [%b64x0, {f32 2}], {f32 2}, {f32 2};",
    "tld4.r.2d.v4.f32.f32 {f32 4}, [%b64x0, {f32 2}];",
    "istypep.texref %pred0, %b64x0;",
    // 9.7.12
    "bra next; next:",
    "targets: .branchtargets first, second; first: second: brx.idx %b32x0, targets;",
    "prototype: .callprototype _ (); call %b64x0, prototype;",
    // 9.7.13
    "mbarrier.test_wait.phase_type::primary.shared::cta.b64 %pred0|%pred1, %b8x0, [%b32x0], %b64x1;",
    "mbarrier.test_wait.parity.phase_type::primary.shared::cta.b64 %pred0|%pred1, [%b32x0], %b32x1;",
    "mbarrier.try_wait.phase_type::primary.shared::cta.b64 %pred0, [%b32x0], %b64x1, %b32x1;",
    "mbarrier.try_wait.parity.phase_type::primary.shared::cta.b64 %pred0|%pred1, [%b32x0], %b32x1;",
    // 9.7.14
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {b32 8}, [%b64x0], 16;",
    "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%b64x0], {f32 8}, 16;",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {f32 8}, {b32 8}, {b32 8}, {f32 8};",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 {f32 8}, {b32 4}, {b32 4}, {f32 8};",
    "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 {f32 8}, {b32 4}, {b32 4}, {f32 8};",
    "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64 {f64 2}, {f64 1}, {f64 1}, {f64 2};",
    "wmma.mma.sync.aligned.row.col.m16n16k16.s32.u8.u8.s32 {b32 8}, {b32 2}, {b32 2}, {b32 8};",
    "wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32 {b32 2}, {b32 1}, {b32 1}, {b32 2};",
    "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {b32 2}, {b32 1}, {b32 1}, {b32 2};",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {f32 8}, {b32 2}, {b32 2}, {f32 8};",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f32 4}, {b32 4}, {b32 2}, {f32 4};",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {f32 4}, {b32 4}, {b32 2}, {f32 4};",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {f32 4}, {b32 4}, {b32 2}, {f32 4};",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {f32 4}, {b32 4}, {b32 2}, {f32 4};",
    "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32 {f32 4}, {b32 4}, {b32 2}, {f32 4};",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {f32 4}, {b32 4}, {b32 2}, {f32 4}, %b32x8, {0, 0}, %b32x9, {0, 0};",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {f32 4}, {b32 4}, {b32 2}, {f32 4}, %b32x8, {0, 0}, %b32x9, {0, 0};",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {f32 4}, {b32 4}, {b32 2}, {f32 4}, %b32x8, {0, 0}, %b32x9, {0, 0};",
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m3.f32.ue8m0 {f32 4}, {b32 4}, {b32 2}, {f32 4}, %b32x8, {0, 0}, %b32x9, {0, 0};",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {f64 2}, {f64 1}, {f64 1}, {f64 2};",
    "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {b32 4}, {b32 4}, {b32 2}, {b32 4};",
    "mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32 {b32 4}, {b32 4}, {b32 2}, {b32 4};",
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {b32 4}, {b32 4}, {b32 2}, {b32 4};",
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {f32 4}, {b32 4}, {b32 4}, {f32 4}, %b32x8, 0;",
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {f32 4}, {b32 4}, {b32 4}, {f32 4}, %b32x8, 0;",
    "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {f32 4}, {b32 4}, {b32 4}, {f32 4}, %b32x8, 0;",
    "mma.sp.sync.aligned.m16n8k64.row.col.s32.u8.s8.s32 {b32 4}, {b32 4}, {b32 4}, {b32 4}, %b32x8, 0;",
    "mma.sp.sync.aligned.m16n8k128.row.col.s32.u4.s4.s32 {b32 4}, {b32 4}, {b32 4}, {b32 4}, %b32x8, 0;",
    "mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32 {f32 4}, {b32 4}, {b32 4}, {f32 4}, %b32x8, 0;",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32 {f32 4}, {b32 4}, {b32 4}, {f32 4}, %b32x8, 0;",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {f32 4}, {b32 4}, {b32 4}, {f32 4}, %b32x8, 0, %b32x9, {0, 0}, %b32x10, {0, 0};",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {f32 4}, {b32 4}, {b32 4}, {f32 4}, %b32x8, 0, %b32x9, {0, 0}, %b32x10, {0, 0};",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {f32 4}, {b32 4}, {b32 4}, {f32 4}, %b32x8, 0, %b32x9, {0, 0}, %b32x10, {0, 0};",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m3.f32.ue8m0 {f32 4}, {b32 4}, {b32 4}, {f32 4}, %b32x8, 0, %b32x9, {0, 0}, %b32x10, {0, 0};",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {b32 4}, [%b32x8];",
    "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b4x16_p64 {b32 2}, [%b32x8];",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {b32 2}, [%b32x8];",
    "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b6x16_p32 {b32 4}, [%b32x8];",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%b32x8], {b32 2};",
    "stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%b32x8], {b32 2};",
    // 9.7.15
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f32 4}, %b64x0, %b64x1, %pred0, 1, 1, 0, 0;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f32 4}, %b64x0, %b64x1, %pred0, 1, 1, 0, 0;",
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {f32 4}, %b64x0, %b64x1, %pred0, 1, 1;",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {f32 4}, %b64x0, %b64x1, %pred0, 1, 1;",
    "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 {b32 4}, %b64x0, %b64x1, %pred0;",
    "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {b32 4}, %b64x0, %b64x1, %pred0;",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {f32 4}, %b64x0, %b64x1, %b32x8, 0, %pred0, 1, 1, 0, 0;",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 {f32 4}, %b64x0, %b64x1, %b32x8, 0, %pred0, 1, 1, 0, 0;",
    "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.u8 {b32 4}, %b64x0, %b64x1, %b32x8, 0, %pred0;",
    // 9.7.16
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {b32 2}, [%b32x8];",
    "tcgen05.st.sync.aligned.32x32b.x2.b32 [%b32x8], {b32 2};",
    "tcgen05.mma.cta_group::1.kind::f16 [%b32x8], %b64x0, %b64x1, %b32x9, %pred0;",
    // 9.7.17
    "alloca.u64 %b64x0, 16;",
    // 9.7.18
    "vadd.s32.u32.s32.sat %b32x0, %b32x1.b0, %b32x2.h1;",
    "vsub.s32.u32.s32.sat %b32x0, %b32x1.b0, %b32x2.h1;",
    "vabsdiff.s32.u32.s32 %b32x0, %b32x1.b0, %b32x2.h1;",
    "vmin.s32.u32.s32 %b32x0, %b32x1.b0, %b32x2.h1;",
    "vmax.s32.u32.s32 %b32x0, %b32x1.b0, %b32x2.h1;",
    "vshl.s32.u32.u32.clamp %b32x0, %b32x1.b0, %b32x2.h1;",
    "vshr.s32.u32.u32.wrap %b32x0, %b32x1.b0, %b32x2.h1;",
    "vmad.s32.s32.u32.sat %b32x0, %b32x1.b0, %b32x2.h1, %b32x3;",
    "vset.u32.u32.eq %b32x0, %b32x1.b0, %b32x2.h1;",
    "vadd2.s32.s32.s32.sat %b32x0, %b32x1, %b32x2, %b32x3;",
    "vsub2.s32.s32.s32.sat %b32x0, %b32x1, %b32x2, %b32x3;",
    "vavrg2.s32.s32.s32 %b32x0, %b32x1, %b32x2, %b32x3;",
    "vabsdiff2.u32.s32.s32 %b32x0, %b32x1, %b32x2, %b32x3;",
    "vmin2.s32.s32.s32 %b32x0, %b32x1, %b32x2, %b32x3;",
    "vmax2.s32.s32.s32 %b32x0, %b32x1, %b32x2, %b32x3;",
    "vset2.u32.s32.lt %b32x0, %b32x1, %b32x2, %b32x3;",
    "vadd4.s32.s32.s32.sat %b32x0, %b32x1, %b32x2, %b32x3;",
    "vsub4.s32.s32.s32.sat %b32x0, %b32x1, %b32x2, %b32x3;",
    "vavrg4.s32.s32.s32 %b32x0, %b32x1, %b32x2, %b32x3;",
    "vabsdiff4.u32.s32.s32 %b32x0, %b32x1, %b32x2, %b32x3;",
    "vmin4.s32.s32.s32 %b32x0, %b32x1, %b32x2, %b32x3;",
    "vmax4.s32.s32.s32 %b32x0, %b32x1, %b32x2, %b32x3;",
    "vset4.u32.s32.lt %b32x0, %b32x1, %b32x2, %b32x3;",
];

/// Each with the line of its form.
static BY_FORM: LazyLock<Vec<(&'static str, String)>> =
    LazyLock::new(|| EXAMPLES.iter().filter_map(|text| Some((form(text)?, expanded(text)))).collect());

/// The instances of a form.
pub(super) fn of(form: &Form) -> Vec<String> {
    BY_FORM.iter().filter(|(line, _)| *line == form.text).map(|(_, text)| text.clone()).collect()
}

/// The first instruction of a text that has a mnemonic, and its operands.
fn instruction(text: &str) -> Option<(&str, &str)> {
    let statements = text.split(';').map(|statement| statement.rsplit(": ").next().unwrap_or(statement).trim());
    statements.filter(|statement| !statement.starts_with('.')).find_map(|statement| statement.split_once(' '))
}

/// How many operands there are outside of brackets and braces.
fn count(operands: &str) -> usize {
    let mut depth = 0;
    let mut commas = 0;
    for character in operands.chars() {
        match character {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth == 0 => commas += 1,
            _ => {}
        }
    }
    commas + 1
}

/// The line of the form that an example is of.
fn form(text: &str) -> Option<&'static str> {
    let (mnemonic, operands) = instruction(text)?;
    let words: Vec<&str> = words(mnemonic);
    let (opcode, modifiers) = words.split_first()?;
    let mnemonic = Mnemonic::read(opcode, modifiers).ok()?;
    let chosen = mnemonic.choose(count(operands), |_| true)?;
    Some(mnemonic.candidates[chosen].form.text)
}

/// The words of a mnemonic; those with `::` are one.
fn words(mnemonic: &str) -> Vec<&str> {
    mnemonic.split('.').collect()
}

/// With vectors written out.
fn expanded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out += before;
        let (inside, behind) = after.split_once('}').unwrap_or((after, ""));
        let vector = inside.split_once(' ').and_then(|(ty, count)| Some((ty, count.parse::<usize>().ok()?)));
        match vector.filter(|(ty, _)| !ty.ends_with(',')) {
            Some((ty, count)) => {
                let registers: Vec<String> = (0..count).map(|at| format!("%{ty}x{at}")).collect();
                out += &format!("{{{}}}", registers.join(", "));
            }
            None => out += &format!("{{{inside}}}"),
        }
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each example is of a form, and of one whose operands the line leaves open.
    #[test]
    fn examples_have_forms() {
        for text in EXAMPLES {
            assert!(form(text).is_some(), "no form: {text}");
        }
    }
}
