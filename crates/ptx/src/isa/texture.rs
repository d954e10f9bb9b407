//! Textures (PTX ISA 9.7.10) and surfaces (9.7.11).

pub(super) const FORMS: &[&str] = &[
    "tex.$geom.(v4).(u32|s32|f32|f16@4.2/53).(s32|f32) ** ",
    "tex.$geom.(v2).(f16x2).(s32|f32) ** ; 4.2 53",
    "tex.base.$geom.(v4).(u32|s32|f32|f16).(s32|f32) ** ",
    "tex.base.$geom.(v2).(f16x2).(s32|f32) ** ; 4.2 53",
    "tex.level.$geom.(v4).(u32|s32|f32|f16).(s32|f32) ** ",
    "tex.level.$geom.(v2).(f16x2).(s32|f32) ** ; 4.2 53",
    "tex.grad.$geom.(v4).(u32|s32|f32|f16).(s32|f32) ** ",
    "tex.grad.$geom.(v2).(f16x2).(s32|f32) ** ; 4.2 53",
    "tld4.(r|g|b|a).(2d|a2d|cube|acube).(v4).(u32|s32|f32).f32 ** ; 3.1 20",
    "txq.(width|height|depth|channel_data_type|channel_order|normalized_coords|array_size|num_mipmap_levels|num_samples).b32 =b32 [] ; 1.5",
    "txq.level.(width|height|depth).b32 =b32 [] u32 ; 4.3 30",
    "txq.(filter_mode|addr_mode_0|addr_mode_1|addr_mode_2|force_unnormalized_coords).b32 =b32 [] ; 1.5",
    "istypep.(texref|samplerref|surfref) =pred * ; 4.0 30",
    "suld.b.(1d|2d|3d|a1d|a2d).(ca|cg|cs|cv)?.(v2|v4)?.(b8|b16|b32|b64).$clamp ~=0*v [] ; 1.5 20",
    "sust.b.(1d|2d|3d|a1d|a2d).(wb|cg|cs|wt)?.(v2|v4)?.(b8|b16|b32|b64).$clamp [] ~0*v ; 1.5 20",
    "sust.p.(1d|2d|3d|a1d|a2d).(v2|v4)?.b32.$clamp [] 0*v ; 1.5 20",
    "sured.b.(add|min|max|and|or).(1d|2d|3d|a1d|a2d).(u32|u64|s32|b32|s64).$clamp [] 0 ; 3.0 20",
    "sured.p.(add|min|max|and|or).(1d|2d|3d|a1d|a2d).(b32|b64).$clamp [] 0 ; 3.0 20",
    "suq.(width|height|depth|channel_data_type|channel_order|array_size|memory_layout).b32 =b32 [] ; 1.5",
];
