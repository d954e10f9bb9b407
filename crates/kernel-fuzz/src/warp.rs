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
    if g.has_locks && g.rng.u32(..12) == 0 {
        return locked(g);
    }
    if together < Together::Warp || ended {
        return format!("add.s32 {x}, {y}, %s6;");
    }
    let from = if g.rng.bool() { g.word() } else { g.rng.u32(..32).to_string() };
    match g.rng.u32(..17) {
        15.. => in_sets(g),
        13 if g.full_warps => product(g, together),
        14 if g.full_warps => products_of_halves(g, together),
        10.. => parted(g),
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
        // Who else is there is left open: in loops with atomics groups of lanes may give way to each other.
        _ => format!("activemask.b32 {x};\nmov.u32 %s18, %lanemask_eq;\nand.b32 {x}, {x}, %s18;\nbar.warp.sync -1;"),
    }
}

/// A product of matrices of doubles. Mostly it adds to what was read just before, as sums of products do; then threads may wait.
fn product(g: &mut Generator, together: Together) -> String {
    let kind = g.pick(&[
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
        "wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64",
    ]);
    let (first, further) = (g.rng.u32(..3), g.rng.u32(1..3));
    let sums = format!("%g{}, %g{}", first + 1, (first + further) % 3 + 1);
    let [a, b, c, d] = [(); 4].map(|()| format!("%g{}", g.rng.u32(1..=3)));
    let added = if g.rng.u32(..4) == 0 { format!("{c}, {d}") } else { sums.clone() };
    let waits = if together == Together::Cta && g.rng.bool() { "\nbar.sync 0;" } else { "" };
    // Sums that grow in loops would soon be infinite.
    format!(
        "mul.f64 {a}, {a}, 0d3FC0000000000000;\nfma.rn.f64 %g5, {c}, {d}, {b};\n{kind} {{{sums}}}, {{{a}}}, {{{b}}}, {{{added}}};{waits}"
    )
}

/// Products of matrices of halves, which have factors in common, unless something writes to them in between. Any words are factors: infinities and NaNs too, or numbers near 1.
fn products_of_halves(g: &mut Generator, together: Together) -> String {
    let mut words: Vec<u32> = (1..=8).collect();
    g.rng.shuffle(&mut words);
    let [a, b, c] = [&words[..4], &words[4..6], &words[6..]].map(|part| {
        let names: Vec<String> = part.iter().map(|word| format!("%r{word}")).collect();
        names
    });
    let mut text = String::new();
    if g.rng.bool() {
        for word in a.iter().chain(&b) {
            text += &format!("and.b32 {word}, {word}, 0x87ff87ff;\nor.b32 {word}, {word}, 0x38003800;\n");
        }
    }
    let (a, b) = (a.join(", "), b.join(", "));
    let c = c.join(", ");
    for _ in 0..g.rng.u32(2..=4) {
        text += &match g.rng.u32(..3) {
            0 => format!("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {{{c}}}, {{{a}}}, {{{b}}}, {{{c}}};\n"),
            1 => format!(
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{%f1, %f2, %f3, %f4}}, {{{a}}}, {{{b}}}, {{%f4, %f1, %f2, %f3}};\n"
            ),
            _ => format!(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f1, %f2, %f3, %f4}}, {{{a}}}, {{{b}}}, {{%f1, %f2, %f3, %f4}};\n"
            ),
        };
        text += &match g.rng.u32(..4) {
            0 => format!("xor.b32 {0}, {0}, 0x80000001;\n", g.word()),
            1 => format!("@{0} add.u32 {1}, {1}, 7;\n", g.predicate(), g.word()),
            2 if together == Together::Cta => "bar.sync 0;\n".to_owned(),
            _ => String::new(),
        };
    }
    text.trim_end().to_owned()
}

/// A lock that every thread takes, wherever it stands, to add to a word.
fn locked(g: &mut Generator) -> String {
    let (n, x) = (g.number(), g.word());
    format!(
        "K{n}: atom.shared.cas.b32 %s19, [locked], 0, 1;\nsetp.ne.u32 %z2, %s19, 0;\n@%z2 bra K{n};\n\
         ld.volatile.shared.u32 %s19, [locked+4];\nadd.u32 %s19, %s19, {x};\nst.volatile.shared.u32 [locked+4], %s19;\nmembar.cta;\n\
         atom.shared.exch.b32 %s19, [locked], 0;"
    )
}

/// Lanes part, and those of each side tell each other something.
fn parted(g: &mut Generator) -> String {
    let (n, p) = (g.number(), g.predicate());
    let (yes, no) = (among(g), among(g));
    format!(
        "vote.sync.ballot.b32 %s19, {p}, -1;\n@{p} bra P{n};\nnot.b32 %s19, %s19;\n{no}\nbra X{n};\nP{n}:\n{yes}\nX{n}:"
    )
}

/// Lanes stay together, and those of each set tell each other something: of tiles of a warp, or of those with the same value.
fn in_sets(g: &mut Generator) -> String {
    let exchange = among(g);
    if g.rng.bool() {
        return format!("and.b32 %s18, {}, 3;\nmatch.any.sync.b32 %s19, %s18, -1;\n{exchange}", g.word());
    }
    let size = 1 << g.rng.u32(1..=4);
    let (first, tile) = (32 - size, (1u32 << size) - 1);
    format!(
        "mov.u32 %s18, %laneid;\nand.b32 %s18, %s18, {first};\nmov.u32 %s19, {tile};\nshl.b32 %s19, %s19, %s18;\n{exchange}"
    )
}

/// What the lanes of `%s19` tell each other.
fn among(g: &mut Generator) -> String {
    let (x, y) = (g.word(), g.word());
    match g.rng.u32(..6) {
        0 => format!("brev.b32 %s18, %s19;\nclz.b32 %s18, %s18;\nshfl.sync.idx.b32 {x}, {y}, %s18, 31, %s19;"),
        1 => format!("vote.sync.{}.pred %p1, {}, %s19;", g.pick(&["any", "all", "uni"]), g.predicate()),
        2 => format!("redux.sync.{} {x}, {y}, %s19;", g.pick(&["add.s32", "max.u32", "min.s32", "or.b32"])),
        3 => format!("match.any.sync.b32 {x}, {y}, %s19;"),
        4 => format!("elect.sync {x}|%p2, %s19;"),
        _ => format!("vote.sync.ballot.b32 {x}, {}, %s19;\nbar.warp.sync %s19;", g.predicate()),
    }
}
