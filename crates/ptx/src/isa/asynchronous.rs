//! Asynchronous copies (PTX ISA 9.7.9.25) and tensor maps (9.7.9.26, 9.7.9.27).

pub(super) const FORMS: &[&str] = &[
    // 9.7.9.25.3
    "cp.async.ca.(shared|shared::cta).global.$hint?.$prefetch? [] [] # * * ; 7.0 80",
    "cp.async.ca.(shared|shared::cta).global.$hint?.$prefetch? [] [] # *? ; 7.0 80",
    "cp.async.cg.(shared|shared::cta).global.$hint?.$prefetch? [] [] # * * ; 7.0 80",
    "cp.async.cg.(shared|shared::cta).global.$hint?.$prefetch? [] [] # *? ; 7.0 80",
    "cp.async.commit_group ; 7.0 80",
    "cp.async.wait_group # ; 7.0 80",
    "cp.async.wait_all ; 7.0 80",
    "cp.async.mbarrier.arrive.noinc?.(shared|shared::cta@7.8)?.b64 [] ; 7.0 80",
    // 9.7.9.25.4
    "cp.async.bulk.(shared::cluster).global.mbarrier::complete_tx::bytes.multicast::cluster?.$hint? [] [] u32 [] * * ; 8.0 90",
    "cp.async.bulk.(shared::cluster).global.mbarrier::complete_tx::bytes.multicast::cluster?.$hint? [] [] u32 [] *? ; 8.0 90",
    "cp.async.bulk.(shared::cta).global.mbarrier::complete_tx::bytes.$hint? [] [] u32 [] *? ; 8.6 90",
    "cp.async.bulk.(shared::cta).global.mbarrier::complete_tx::bytes.$hint?.ignore_oob@9.2 [] [] u32 u32 u32 [] *? ; 8.6 90",
    "cp.async.bulk.(shared::cluster).(shared::cta).mbarrier::complete_tx::bytes [] [] u32 [] ; 8.0 90",
    "cp.async.bulk.global.(shared::cta).bulk_group.$hint?.cp_mask@8.6/100? [] [] u32 * * ; 8.0 90",
    "cp.async.bulk.global.(shared::cta).bulk_group.$hint?.cp_mask@8.6/100? [] [] u32 *? ; 8.0 90",
    "cp.reduce.async.bulk.(shared::cluster).(shared::cta).mbarrier::complete_tx::bytes.(and|or|xor).b32 [] [] u32 [] ; 8.0 90",
    "cp.reduce.async.bulk.(shared::cluster).(shared::cta).mbarrier::complete_tx::bytes.(add|min|max).(u32|s32) [] [] u32 [] ; 8.0 90",
    "cp.reduce.async.bulk.(shared::cluster).(shared::cta).mbarrier::complete_tx::bytes.(inc|dec).u32 [] [] u32 [] ; 8.0 90",
    "cp.reduce.async.bulk.(shared::cluster).(shared::cta).mbarrier::complete_tx::bytes.add.u64 [] [] u32 [] ; 8.0 90",
    "cp.reduce.async.bulk.global.(shared::cta).bulk_group.$hint?.(and|or|xor).(b32|b64) [] [] u32 b64? ; 8.0 90",
    "cp.reduce.async.bulk.global.(shared::cta).bulk_group.$hint?.add.(u32|s32|u64|f32|f64) [] [] u32 b64? ; 8.0 90",
    "cp.reduce.async.bulk.global.(shared::cta).bulk_group.$hint?.(inc|dec).u32 [] [] u32 b64? ; 8.0 90",
    "cp.reduce.async.bulk.global.(shared::cta).bulk_group.$hint?.(min|max).(u32|s32|u64|s64) [] [] u32 b64? ; 8.0 90",
    "cp.reduce.async.bulk.global.(shared::cta).bulk_group.$hint?.(min|max).(f16|bf16) [] [] u32 b64? ; 8.0 90",
    "cp.reduce.async.bulk.global.(shared::cta).bulk_group.$hint?.add.noftz.(f16|bf16) [] [] u32 b64? ; 8.0 90",
    "cp.async.bulk.prefetch.L2.global [] u32 ; 8.0 90",
    "cp.async.bulk.prefetch.L2.global.$hint [] u32 b64 ; 8.0 90",
    "cp.async.bulk.commit_group ; 8.0 90",
    "cp.async.bulk.wait_group.read? # ; 8.0 90",
    // 9.7.9.25.5
    "cp.async.bulk.tensor.(1d|2d|3d|4d|5d).(shared::cluster|shared::cta@8.6).global.(tile|tile::gather4@8.6/100|im2col|im2col::w@8.6/100a|im2col::w::128@8.6/100a)?.mbarrier::complete_tx::bytes.multicast::cluster?.(cta_group::1@8.6/100a|cta_group::2@8.6/100a)?.$hint? ** ; 8.0 90",
    "cp.async.bulk.tensor.(1d|2d|3d|4d|5d).global.(shared::cta).(tile|tile::scatter4@8.6/100|im2col_no_offs)?.bulk_group.$hint? ** ; 8.0 90",
    "cp.reduce.async.bulk.tensor.(1d|2d|3d|4d|5d).global.(shared::cta).(add|min|max|inc|dec|and|or|xor).(tile|im2col_no_offs)?.bulk_group.$hint? ** ; 8.0 90",
    "cp.async.bulk.prefetch.tensor.(1d|2d|3d|4d|5d).L2.global.(tile|tile::gather4@8.6/100|im2col|im2col::w@8.6/100a|im2col::w::128@8.6/100a)?.$hint? ** ; 8.0 90",
    // 9.7.9.26, 9.7.9.27
    "tensormap.replace.(tile).(global_address|rank|box_dim|global_dim|global_stride|element_stride|elemtype|interleave_layout|swizzle_mode|swizzle_atomicity|fill_mode).(global|shared|shared::cta)?.b1024.(b32|b64) [] ** ; 8.3 90a",
    "tensormap.cp_fenceproxy.global.(shared::cta).tensormap::generic.(release).(cta|cluster|gpu|sys).sync.aligned [] [] # ; 8.3 90",
];
