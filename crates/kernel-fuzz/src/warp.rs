//! What threads of a warp tell each other, where all of them come.

use crate::generate::{Generator, Together};

/// Another barrier, or an operation of whole warps, or a counted one of the CTA.
pub(crate) fn exchange(g: &mut Generator, together: Together, ended: bool) -> String {
    let (x, y) = (g.word(), g.word());
    if together == Together::Cta && g.rng.u32(..5) == 0 {
        return match g.rng.u32(..if ended { 1 } else { 3 }) {
            0 => "bar.sync 0;".to_owned(),
            1 => format!("bar.red.popc.u32 {x}, 0, {};", g.predicate()),
            _ => format!("bar.red.{}.pred {}, 0, {};", g.pick(&["and", "or"]), g.predicate(), g.predicate()),
        };
    }
    if together < Together::Warp || ended {
        return format!("add.s32 {x}, {y}, %s6;");
    }
    let from = if g.rng.bool() { g.word() } else { g.rng.u32(..32).to_string() };
    match g.rng.u32(..10) {
        // Lanes that are not there have nothing to tell.
        0..=3 if g.full_warps => format!(
            "shfl.sync.{}.b32 {x}{}, {y}, {from}, {}, -1;",
            g.pick(&["bfly", "up", "down", "idx"]),
            g.pick(&["", "|%p1"]),
            g.pick(&["31", "0", "0x1807", "0x1f"])
        ),
        4 => format!("vote.sync.ballot.b32 {x}, {}, -1;", g.predicate()),
        5 => format!("vote.sync.{}.pred {}, {}, -1;", g.pick(&["any", "all", "uni"]), g.predicate(), g.predicate()),
        6 => format!("redux.sync.{} {x}, {y}, -1;", g.pick(&["add.s32", "max.u32", "min.s32", "xor.b32", "and.b32"])),
        7 => format!("match.any.sync.b32 {x}, {y}, -1;"),
        8 => format!("match.all.sync.b32 {x}|%p2, {y}, -1;"),
        _ => format!("activemask.b32 {x};\nbar.warp.sync -1;"),
    }
}
