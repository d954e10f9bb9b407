//! Accesses of memory whose outcome does not depend on who runs first.

use crate::edges;
use crate::generate::{Generator, Together};

pub(crate) fn access(g: &mut Generator, together: Together) -> String {
    match g.rng.u32(..19) {
        16..=18 => edges::load(g),
        0..=1 => row(g),
        2 => gather(g),
        3 => narrow(g),
        4 => vector(g),
        5 => own(g),
        6..=7 => local(g),
        8 => generic(g),
        9 => numbers(g),
        10..=12 => counter(g),
        13 => alone(g),
        _ if together == Together::Cta => exchange(g),
        _ => read_shared(g),
    }
}

/// The inputs, behind each other.
fn row(g: &mut Generator) -> String {
    let x = g.word();
    match g.rng.u32(..4) {
        0 => format!("ld.global.u32 {x}, [%t6+{}];", 4 * g.rng.u32(..4)),
        1 => format!(
            "add.s32 %s13, %s6, {};\nand.b32 %s13, %s13, 127;\nmul.wide.u32 %t7, %s13, 4;\nadd.s64 %t7, %t1, %t7;\nld.global.nc.u32 {x}, [%t7];",
            g.rng.i32(-2..3)
        ),
        2 => format!(
            "mul.lo.u32 %s13, %s1, {};\nand.b32 %s13, %s13, 255;\nmad.wide.u32 %t7, %s13, 4, %t1;\nld.global.u32 {x}, [%t7];",
            g.rng.u32(0..5)
        ),
        _ => format!("and.b32 %s13, {}, 63;\nmad.wide.u32 %t7, %s13, 4, %t1;\nld.global.u32 {x}, [%t7];", g.uniform()),
    }
}

fn gather(g: &mut Generator) -> String {
    let (x, at) = (g.word(), g.word());
    let wide = g.pick(&[
        "cvt.u64.u32 %t7, %s13;\nshl.b64 %t7, %t7, 2;\nadd.s64 %t7, %t7, %t1;",
        "mad.wide.u32 %t7, %s13, 4, %t1;",
    ]);
    format!("and.b32 %s13, {at}, 255;\n{wide}\nld.global.u32 {x}, [%t7];")
}

fn narrow(g: &mut Generator) -> String {
    let (x, at) = (g.word(), g.pick(&["%s6", "%r2", "%r8", "%u1"]));
    let (ty, mask) = [("u8", 1023), ("s8", 1023), ("u16", 1022), ("s16", 1022)][g.rng.usize(..4)];
    format!("and.b32 %s13, {at}, {mask};\ncvt.u64.u32 %t7, %s13;\nadd.s64 %t7, %t7, %t1;\nld.global.{ty} {x}, [%t7];")
}

fn vector(g: &mut Generator) -> String {
    match g.rng.u32(..3) {
        0 => "and.b32 %s13, %s6, 31;\nmad.wide.u32 %t7, %s13, 16, %t1;\nld.global.v4.u32 {%r1, %r3, %r5, %r7}, [%t7];"
            .to_owned(),
        1 => format!(
            "and.b32 %s13, {}, 31;\nmad.wide.u32 %t7, %s13, 8, %t1;\nld.global.v2.u32 {{%r2, %r4}}, [%t7];",
            g.word()
        ),
        _ => "and.b32 %s13, %s6, 31;\nmad.wide.u32 %t7, %s13, 16, %t1;\nld.global.v2.u64 {%d1, %d2}, [%t7];".to_owned(),
    }
}

/// The thread's own places of the output, which end with what the kernel has computed.
fn own(g: &mut Generator) -> String {
    let (x, y, z) = (g.word(), g.word(), g.operand());
    let at = 4 * g.rng.u32(..16);
    match g.rng.u32(..6) {
        0..=1 => format!("st.global.u32 [%t4+{at}], {x};\nld.global.u32 {y}, [%t4+{}];", 4 * g.rng.u32(..16)),
        2 => format!("st.global.u16 [%t4+{at}], {x};\nst.global.u8 [%t4+{}], {y};", at + 3),
        3 => format!("st.global.v4.u32 [%t4+{}], {{{x}, {y}, {z}, {x}}};", 16 * g.rng.u32(..4)),
        4 => format!(
            "st.global.u64 [%t4+{}], %d1;\nld.global.u64 %d3, [%t4+{}];",
            8 * g.rng.u32(..8),
            8 * g.rng.u32(..8)
        ),
        _ => format!(
            "and.b32 %s13, {x}, 15;\nmad.wide.u32 %t7, %s13, 4, %t4;\nst.global.u32 [%t7], {z};\nld.global.u32 {y}, [%t4+{at}];"
        ),
    }
}

fn local(g: &mut Generator) -> String {
    let (x, y) = (g.word(), g.word());
    let (at, from) = (4 * g.rng.u32(..8), 4 * g.rng.u32(..8));
    match g.rng.u32(..9) {
        0 => format!("st.local.u32 [mine+{at}], {x};\nld.local.u32 {y}, [mine+{from}];"),
        1 => format!(
            "mov.u32 %s13, mine;\nand.b32 %s15, {x}, 7;\nmad.lo.u32 %s13, %s15, 4, %s13;\nld.local.u32 {y}, [%s13];"
        ),
        2 => format!(
            "mov.u32 %s13, mine;\nand.b32 %s15, {x}, 7;\nmad.lo.u32 %s13, %s15, 4, %s13;\nst.local.u32 [%s13], {y};"
        ),
        3 => format!("st.local.v2.u32 [mine+{}], {{{x}, {y}}};\nld.local.u8 {y}, [mine+{from}];", at & !7),
        4 => format!("ld.local.v4.u32 {{%r1, %r2, %r3, %r4}}, [mine+{}];\nst.local.u16 [mine+{at}], {x};", at & 16),
        5 => format!(
            "cvt.u64.u32 %t7, {x};\nst.local.u64 [mine+{}], %t7;\nld.local.u64 %t7, [mine+{}];\nshr.u64 %t7, %t7, 16;\ncvt.u32.u64 {y}, %t7;",
            at & !7,
            from & !7
        ),
        6 => format!(
            "mov.u32 %s13, mine;\nand.b32 %s15, {x}, 3;\nmad.lo.u32 %s13, %s15, 8, %s13;\nld.local.u64 %t7, [%s13];\nadd.u64 %t7, %t7, %t4;\n\
             sub.u64 %t7, %t7, %t4;\nst.local.u64 [%s13], %t7;\ncvt.u32.u64 {y}, %t7;"
        ),
        7 => format!(
            "mov.u32 %s13, mine;\nand.b32 %s15, {x}, 15;\nmad.lo.u32 %s13, %s15, 2, %s13;\nld.local.s16 {y}, [%s13];\nst.local.u8 [%s13], {x};"
        ),
        _ => {
            format!("ld.local.v2.u16 {{%r5, %r6}}, [mine+{at}];\nst.local.v4.u8 [mine+{from}], {{{x}, {y}, %r5, %r6}};")
        }
    }
}

/// Places of several spaces by generic addresses.
fn generic(g: &mut Generator) -> String {
    let (x, y) = (g.word(), g.word());
    match g.rng.u32(..4) {
        0 => format!(
            "mov.u64 %t7, mine;\ncvta.local.u64 %t7, %t7;\nld.u32 {y}, [%t7+{}];\nst.u32 [%t7+{}], {x};",
            4 * g.rng.u32(..8),
            4 * g.rng.u32(..8)
        ),
        1 => format!(
            "cvt.u64.u32 %t7, %s12;\ncvta.shared.u64 %t7, %t7;\nld.u32 {y}, [%t7+{}];\nst.u32 [%t7+{}], {x};",
            4 * g.rng.u32(..4),
            4 * g.rng.u32(..4)
        ),
        2 => format!("st.u32 [%t4+{}], {x};\nld.u32 {y}, [%t4];", 4 * g.rng.u32(..16)),
        // Lanes by spaces.
        _ => format!(
            "mov.u64 %t7, mine;\ncvta.local.u64 %t7, %t7;\ncvt.u64.u32 %t8, %s12;\ncvta.shared.u64 %t8, %t8;\nselp.b64 %t7, %t7, %t8, {};\n\
             selp.b64 %t7, %t7, %t4, {};\nld.u32 {y}, [%t7+{}];\nst.u32 [%t7+{}], {x};",
            g.predicate(),
            g.predicate(),
            4 * g.rng.u32(..4),
            4 * g.rng.u32(..4)
        ),
    }
}

/// Floating-point numbers, apart from the integers.
fn numbers(g: &mut Generator) -> String {
    let (x, y) = (g.rng.u32(1..=4), g.rng.u32(1..=4));
    match g.rng.u32(..3) {
        0 => format!(
            "and.b32 %s13, {}, 63;\nmad.wide.u32 %t7, %s13, 4, %t2;\nld.global.f32 %f{x}, [%t7];",
            g.pick(&["%s6", "%r8", "%u2", "%s1"])
        ),
        1 => format!(
            "st.local.f32 [floats+{}], %f{x};\nld.local.f32 %f{y}, [floats+{}];",
            4 * g.rng.u32(..8),
            4 * g.rng.u32(..8)
        ),
        _ => "ld.local.v2.f32 {%f1, %f3}, [floats+8];".to_owned(),
    }
}

/// Updates that meet. Each counter has an operation of its own.
fn counter(g: &mut Generator) -> String {
    const OPS: [&str; 8] = ["add.u32", "max.u32", "min.s32", "xor.b32", "and.b32", "or.b32", "max.s32", "add.s32"];
    let at = g.rng.usize(..8);
    let (op, b) = (OPS[at], g.operand());
    let at = 4 * at;
    match g.rng.u32(..5) {
        0..=1 => format!("atom.shared.{op} %s14, [counter+{at}], {b};"),
        2 => format!("red.shared.{op} [counter+{at}], {b};"),
        3 => format!("red.global.{op} [%t5+{at}], {b};"),
        _ => format!("atom.global.{op} %s14, [%t5+{at}], {b};"),
    }
}

/// Updates of places that the thread has alone, whose results are seen.
fn alone(g: &mut Generator) -> String {
    let (x, b, c) = (g.word(), g.operand(), g.operand());
    let (space, place) = [("global", "%t4"), ("shared", "%s12"), ("", "%t4")][g.rng.usize(..3)];
    let dot = if space.is_empty() { "" } else { "." };
    let at = 4 * g.rng.u32(..4);
    match g.rng.u32(..6) {
        0..=2 => {
            let op = g.pick(&["add.u32", "exch.b32", "inc.u32", "dec.u32", "min.s32", "max.u32", "xor.b32"]);
            format!("atom{dot}{space}.{op} {x}, [{place}+{at}], {b};")
        }
        3 => format!("atom{dot}{space}.cas.b32 {x}, [{place}+{at}], {b}, {c};"),
        4 => format!("atom{dot}{space}.add.u64 %d1, [{place}+{}], %d2;", at & 8),
        _ => format!("atom{dot}{space}.add.noftz.f16x2 %s20, [{place}+{at}], 0;").replace(", 0;", ", %s21;"),
    }
}

/// What another thread has written, between barriers.
fn exchange(g: &mut Generator) -> String {
    let (x, y) = (g.word(), g.word());
    let mask = g.threads().next_power_of_two() - 1;
    let from = match g.rng.u32(..4) {
        0 => format!("add.u32 %s13, %s6, {};\nand.b32 %s13, %s13, {mask};", g.rng.u32(1..9)),
        1 => format!("xor.b32 %s13, %s6, {};\nand.b32 %s13, %s13, {mask};", g.rng.u32(1..33)),
        2 => format!("and.b32 %s13, {}, {mask};", g.word()),
        _ => format!("and.b32 %s13, {}, {mask};", g.uniform()),
    };
    format!(
        "bar.sync 0;\nst.shared.u32 [%s11], {x};\nbar.sync 0;\n{from}\nmad.lo.u32 %s13, %s13, 4, %s10;\nld.shared.u32 {y}, [%s13];"
    )
}

fn read_shared(g: &mut Generator) -> String {
    let mask = g.threads().next_power_of_two() - 1;
    let y = g.word();
    match g.rng.u32(..3) {
        0 => {
            format!("and.b32 %s13, {}, {mask};\nmad.lo.u32 %s13, %s13, 4, %s10;\nld.shared.u32 {y}, [%s13];", g.word())
        }
        1 => format!("ld.shared.u32 {y}, [tile+{}];", 4 * g.rng.u32(..=mask)),
        _ => format!("st.shared.v2.u32 [%s12+8], {{{y}, %s6}};\nld.shared.v4.u32 {{%r5, %r6, %r7, %r8}}, [%s12];"),
    }
}
