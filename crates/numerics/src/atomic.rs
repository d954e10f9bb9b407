//! The arithmetic of `atom` and `red` (PTX ISA 9.7.13.5) that no other family has.

/// `inc`: counts up and starts again at zero above `limit`.
#[inline(always)]
pub fn inc(old: u32, limit: u32) -> u32 {
    if old >= limit { 0 } else { old + 1 }
}

/// `dec`: counts down and starts again at `limit` from zero or from above it.
#[inline(always)]
pub fn dec(old: u32, limit: u32) -> u32 {
    if old == 0 || old > limit { limit } else { old - 1 }
}
