//! Named choices of modifiers that many forms share.

/// The words of the set that forms call `$name`.
pub(super) fn word_set(name: &str) -> Option<&'static str> {
    Some(match name {
        // 9.3.1, 9.7.6
        "cmp" => "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan",
        "bool" => "and|or|xor",
        // 9.7.3
        "rnd" => "rn|rz|rm|rp",
        // Integer types of general arithmetic
        "int" => "u16|u32|u64|s16|s32|s64",
        "bits" => "b16|b32|b64",
        // Types of selection and comparison
        "scalar" => "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64",
        // 9.7.9.8: ld and st
        "unflushed" => "b16|b32|b64|u16|u32|u64|s16|s32|s64|f64",
        "memory" => "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        "space" => {
            "global|shared|shared::cta@7.8/30|shared::cluster@7.8/90|local|const|param|param::entry@8.3|param::func@8.3"
        }
        "order" => "relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70",
        "store_space" => "global|shared|shared::cta@7.8/30|shared::cluster@7.8/90|local|param|param::func@8.3",
        "scope" => "cta|cluster@7.8/90|gpu@6.0|sys",
        "load_cache" => "ca@2.0/20|cg@2.0/20|cs@2.0/20|lu@2.0/20|cv@2.0/20",
        "store_cache" => "wb@2.0/20|cg@2.0/20|cs@2.0/20|wt@2.0/20",
        "evict1" => {
            "L1::evict_normal@7.4/70|L1::evict_unchanged@7.4/70|L1::evict_first@7.4/70|L1::evict_last@7.4/70|L1::no_allocate@7.4/70"
        }
        "evict2" => "L2::evict_normal@7.4/70|L2::evict_first@7.4/70|L2::evict_last@7.4/70",
        "hint" => "L2::cache_hint@7.4/80",
        "prefetch" => "L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80",
        // 9.7.13
        "atomspace" => "global|shared|shared::cta@7.8/30|shared::cluster@7.8/90",
        // 9.7.10
        "geom" => "1d|2d|3d|a1d|a2d|cube|acube|2dms|a2dms",
        "clamp" => "trap|clamp|zero",
        _ => return None,
    })
}
