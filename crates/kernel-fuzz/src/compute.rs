//! Instructions that compute.

use crate::generate::Generator;

/// One or a few instructions. Device functions have integers only.
pub(crate) fn instruction(g: &mut Generator, function: bool) -> String {
    loop {
        let text = any(g, function);
        let text = if g.flushes { flushing(&text) } else { Some(text) };
        if let Some(text) = text {
            return text;
        }
    }
}

/// The same with `.ftz`, where nothing in it computes with subnormal numbers then.
fn flushing(text: &str) -> Option<String> {
    const OTHERS: &[&str] = &[
        ".f64",
        ".bf16x2 ",
        "tanh",
        "normal",
        "f32.f32",
        "rmi.",
        "rpi.",
        "e4m3",
        "e5m2",
        "tf32",
        "rz.f16",
        "rz.bf16",
        "rz.relu",
        "rn.bf16.s",
    ];
    const FLUSHED: &[&str] = &[
        "add", "sub", "mul", "fma", "div", "min", "max", "sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "setp",
        "abs", "neg",
    ];
    if OTHERS.iter().any(|other| text.contains(other)) {
        return None;
    }
    let computes = |before: &str| FLUSHED.iter().any(|name| before.split('.').next() == Some(name));
    let line = |line: &str| match line.split_once(".f32") {
        Some((before, behind)) if computes(before) && !before.contains(".ftz") && !before.contains(' ') => {
            let (name, modifiers) = before.split_at(before.find(".sat").unwrap_or(before.len()));
            format!("{name}.ftz{modifiers}.f32{behind}")
        }
        _ => line.to_owned(),
    };
    Some(text.lines().map(line).collect::<Vec<_>>().join("\n"))
}

fn any(g: &mut Generator, function: bool) -> String {
    match g.rng.u32(..if function { 9 } else { 20 }) {
        0..=3 => binary(g),
        4 => shift(g),
        5..=6 => bits(g),
        7 => compare(g),
        8 => predicate(g),
        9..=10 => wide(g),
        11 => narrow(g),
        12..=14 => single(g),
        15 => double(g),
        16 => convert(g),
        17..=18 => half(g),
        _ => video(g),
    }
}

fn binary(g: &mut Generator) -> String {
    const OPS: &[&str] = &[
        "add.s32",
        "sub.s32",
        "mul.lo.s32",
        "and.b32",
        "or.b32",
        "xor.b32",
        "min.s32",
        "max.u32",
        "div.u32",
        "rem.s32",
        "div.s32",
        "rem.u32",
        "mul.hi.u32",
        "mul.hi.s32",
        "min.u32",
        "max.s32",
        "add.sat.s32",
        "sub.sat.s32",
        "mul24.lo.u32",
        "mul24.hi.s32",
    ];
    let op = g.pick(OPS);
    let (d, a, b) = (g.word(), g.operand(), g.operand());
    format!("{op} {d}, {a}, {b};")
}

fn shift(g: &mut Generator) -> String {
    let op = g.pick(&["shl.b32", "shr.u32", "shr.s32"]);
    let (d, a) = (g.word(), g.word());
    format!("{op} {d}, {a}, {};", amount(g))
}

/// How many bits, or which.
fn amount(g: &mut Generator) -> String {
    if g.rng.bool() { g.word() } else { g.pick(&["0", "3", "9", "31", "32", "40", "255"]).to_owned() }
}

fn bits(g: &mut Generator) -> String {
    let (d, a, b, c) = (g.word(), g.operand(), g.operand(), g.operand());
    match g.rng.u32(..20) {
        0 => format!("bfe.{} {d}, {a}, {}, {};", g.pick(&["s32", "u32"]), amount(g), amount(g)),
        1 => format!("bfi.b32 {d}, {a}, {b}, {}, {};", amount(g), amount(g)),
        2..=3 => format!("lop3.b32 {d}, {a}, {b}, {c}, {};", g.rng.u8(..)),
        4 => format!("prmt.b32 {d}, {a}, {b}, {:#x};", g.rng.u16(..)),
        5 => format!("prmt.b32{} {d}, {a}, {b}, {c};", g.pick(&["", ".f4e", ".rc8", ".ecl"])),
        6 => format!("shf.{}.b32 {d}, {a}, {b}, {c};", g.pick(&["l.wrap", "r.clamp", "l.clamp", "r.wrap"])),
        7 => format!("mad.{} {d}, {a}, {b}, {c};", g.pick(&["lo.s32", "hi.u32", "hi.s32", "hi.sat.s32"])),
        8 => format!("sad.{} {d}, {a}, {b}, {c};", g.pick(&["s32", "u32"])),
        9 => format!("dp4a.{} {d}, {a}, {b}, {c};", g.pick(&["s32.s32", "u32.s32", "u32.u32"])),
        10 => format!("dp2a.{} {d}, {a}, {b}, {c};", g.pick(&["lo.s32.s32", "hi.u32.s32"])),
        11 => format!(
            "{} {d}, {a};",
            g.pick(&["popc.b32", "clz.b32", "brev.b32", "not.b32", "cnot.b32", "neg.s32", "abs.s32"])
        ),
        12 => format!("bfind{} {d}, {a};", g.pick(&[".s32", ".u32", ".shiftamt.u32"])),
        13 => format!("mad24.{} {d}, {a}, {b}, {c};", g.pick(&["lo.u32", "hi.s32"])),
        14 => format!("bmsk.{}.b32 {d}, {a}, {b};", g.pick(&["clamp", "wrap"])),
        15 => format!("szext.{} {d}, {a}, {b};", g.pick(&["clamp.s32", "wrap.u32"])),
        16 => format!("fns.b32 {d}, {a}, {}, {};", g.rng.u32(..32), g.rng.i32(-3..4)),
        17 => {
            format!("add.cc.u32 {d}, {a}, {b};\naddc.cc.u32 {}, {c}, {a};\naddc.u32 {}, {b}, {b};", g.word(), g.word())
        }
        18 => {
            let second = g.pick(&["subc.u32", "addc.u32"]);
            format!("{}.cc.u32 {d}, {a}, {b};\n{second} {}, {c}, {a};", g.pick(&["sub", "add"]), g.word())
        }
        _ => format!("mad.lo.cc.u32 {d}, {a}, {b}, {c};\nmadc.hi.u32 {}, {a}, {b}, {c};", g.word()),
    }
}

fn compare(g: &mut Generator) -> String {
    let (a, b) = (g.word(), g.operand());
    let cmp = g.pick(&["lt.s32", "eq.s32", "ge.s32", "hi.u32", "lo.u32", "ne.u32", "ls.u32"]);
    match g.rng.u32(..4) {
        0..=1 => format!("setp.{cmp} {}, {a}, {b};", g.predicate()),
        2 => {
            let (op, ty) = cmp.split_once('.').unwrap_or(("eq", "s32"));
            let combine = g.pick(&["and", "or", "xor"]);
            format!("setp.{op}.{combine}.{ty} %p1|%p2, {a}, {b}, {};", g.pick(&["%p3", "!%p4"]))
        }
        _ => format!("set.{}.u32.s32 {}, {a}, {b};", g.pick(&["lt", "eq", "ge"]), g.word()),
    }
}

fn predicate(g: &mut Generator) -> String {
    let (d, a, b) = (g.predicate(), g.predicate(), g.predicate());
    let (w, x, y) = (g.word(), g.operand(), g.operand());
    match g.rng.u32(..4) {
        0 => format!("{}.pred {d}, {a}, {b};", g.pick(&["and", "or", "xor"])),
        1 => format!("not.pred {d}, {a};"),
        2 => format!("slct.s32.s32 {w}, {x}, {y}, {};", g.word()),
        _ => format!("selp.b32 {w}, {x}, {y}, {a};"),
    }
}

fn d(g: &mut Generator) -> String {
    format!("%d{}", g.rng.u32(1..=4))
}

fn wide(g: &mut Generator) -> String {
    let (x, a, b, c) = (d(g), d(g), d(g), d(g));
    let (w, v) = (g.word(), g.word());
    match g.rng.u32(..16) {
        0..=2 => format!(
            "{} {x}, {a}, {b};",
            g.pick(&["add.s64", "sub.u64", "mul.lo.u64", "and.b64", "or.b64", "xor.b64", "min.s64", "max.u64"])
        ),
        3 => format!(
            "{} {x}, {a}, {b};",
            g.pick(&["div.u64", "rem.s64", "div.s64", "rem.u64", "mul.hi.u64", "mul.hi.s64"])
        ),
        4 => format!("{} {x}, {a}, {};", g.pick(&["shl.b64", "shr.u64", "shr.s64"]), g.operand()),
        5 => format!("mul.wide.{} {x}, {w}, {};", g.pick(&["s32", "u32"]), g.operand()),
        6 => format!("mad.wide.{} {x}, {w}, {v}, {a};", g.pick(&["s32", "u32"])),
        7 => format!("mad.lo.s64 {x}, {a}, {b}, {c};"),
        8 => format!("cvt.{} {x}, {w};", g.pick(&["s64.s32", "u64.u32", "s64.s16", "u64.u8"])),
        9 => format!("cvt.{} {w}, {a};", g.pick(&["u32.u64", "s32.s64", "sat.s32.s64", "sat.u32.s64"])),
        10 => format!("mov.b64 {x}, {{{w}, {v}}};"),
        11 => format!("mov.b64 {{{w}, {}}}, {a};", if w == "%r1" { "%r2" } else { "%r1" }),
        12 => format!("{} {w}, {a};", g.pick(&["popc.b64", "clz.b64", "bfind.u64", "bfind.s64"])),
        13 => format!("bfe.{} {x}, {a}, {w}, {};", g.pick(&["s64", "u64"]), amount(g)),
        14 => format!("setp.{} {}, {a}, {b};", g.pick(&["lt.s64", "hi.u64", "eq.s64"]), g.predicate()),
        _ => format!("selp.b64 {x}, {a}, {b}, {};", g.predicate()),
    }
}

fn narrow(g: &mut Generator) -> String {
    let mut h = || format!("%h{}", g.rng.u32(1..=4));
    let (x, a, b) = (h(), h(), h());
    let w = g.word();
    match g.rng.u32(..7) {
        0..=1 => format!(
            "{} {x}, {a}, {b};",
            g.pick(&["add.s16", "sub.u16", "mul.lo.s16", "min.s16", "max.u16", "and.b16", "xor.b16", "mul.hi.u16"])
        ),
        2 => format!("cvt.{} {x}, {w};", g.pick(&["u16.u32", "s16.s32", "sat.s16.s32", "sat.u16.s32", "u16.u8"])),
        3 => format!("cvt.{} {w}, {a};", g.pick(&["u32.u16", "s32.s16", "s32.s8"])),
        4 => format!("mul.wide.{} {w}, {a}, {b};", g.pick(&["s16", "u16"])),
        5 => format!("{} {x}, {a}, {w};", g.pick(&["shl.b16", "shr.s16", "shr.u16"])),
        _ => format!("{} {x}, {a}, {b};", g.pick(&["div.s16", "rem.u16", "div.u16"])),
    }
}

fn f(g: &mut Generator) -> String {
    format!("%f{}", g.rng.u32(1..=4))
}

fn single(g: &mut Generator) -> String {
    let (x, a, b, c) = (f(g), f(g), f(g), f(g));
    let rnd = g.pick(&["rn", "rn", "rn", "rz", "rm", "rp"]);
    let ftz = g.pick(&["", "", ".ftz"]);
    let sat = g.pick(&["", "", "", ".sat"]);
    match g.rng.u32(..14) {
        0..=2 => format!("{}.{rnd}{ftz}{sat}.f32 {x}, {a}, {b};", g.pick(&["add", "sub", "mul"])),
        3..=4 => format!("fma.{rnd}{ftz}{sat}.f32 {x}, {a}, {b}, {c};"),
        5 => {
            let (which, nan) = (g.pick(&["min", "max"]), g.pick(&["", ".NaN"]));
            if g.rng.u32(..3) > 0 {
                return format!("{which}{ftz}{nan}.f32 {x}, {a}, {b};");
            }
            // The sign of the result is that of operands, and open for one that is no number.
            let other = g.pick(&["0fC0000000", "0f3F000000"]);
            format!("min.f32 {x}, {a}, 0f7F7FFFFF;\n{which}{ftz}{nan}.xorsign.abs.f32 {x}, {x}, {other};")
        }
        6 => format!("div.{}{ftz}.f32 {x}, {a}, {b};", g.pick(&["rn", "rz", "approx", "full", "rp"])),
        7 => format!(
            "{}{ftz}.f32 {x}, {a};",
            g.pick(&["sqrt.rn", "sqrt.rz", "rcp.rn", "rcp.rm", "sqrt.approx", "rcp.approx", "rsqrt.approx"])
        ),
        8 => format!("{}{ftz}.f32 {x}, {a};", g.pick(&["ex2.approx", "lg2.approx", "sin.approx", "cos.approx"])),
        9 => format!("{}{ftz}.f32 {x}, {a};", g.pick(&["abs", "neg"])),
        10 => format!("tanh.approx.f32 {x}, {a};"),
        11 => format!(
            "setp.{}{ftz}.f32 {}, {a}, {b};",
            g.pick(&["lt", "equ", "geu", "nan", "num", "ne", "gtu"]),
            g.predicate()
        ),
        12 => format!(
            "testp.{}.f32 {}, {a};",
            g.pick(&["finite", "infinite", "number", "normal", "subnormal"]),
            g.predicate()
        ),
        _ => format!(
            "{} {x}, {a}, {b}, {};",
            g.pick(&["slct.f32.s32", "slct.ftz.f32.s32"]).replace(".ftz", ""),
            g.word()
        ),
    }
}

fn double(g: &mut Generator) -> String {
    let mut r = || format!("%g{}", g.rng.u32(1..=3));
    let (x, a, b, c) = (r(), r(), r(), r());
    let rnd = g.pick(&["rn", "rn", "rz", "rm", "rp"]);
    match g.rng.u32(..10) {
        9 => format!("testp.{}.f64 {}, {a};", g.pick(&["finite", "number", "normal", "subnormal"]), g.predicate()),
        0..=1 => format!("{}.{rnd}.f64 {x}, {a}, {b};", g.pick(&["add", "sub", "mul"])),
        2 => format!("fma.{rnd}.f64 {x}, {a}, {b}, {c};"),
        3 => format!("{}.f64 {x}, {a}, {b};", g.pick(&["min", "max"])),
        4 => format!("div.{rnd}.f64 {x}, {a}, {b};"),
        5 => {
            format!(
                "{} {x}, {a};",
                g.pick(&[
                    "sqrt.rn.f64",
                    "rcp.rn.f64",
                    "neg.f64",
                    "abs.f64",
                    "rcp.approx.ftz.f64",
                    "rsqrt.approx.ftz.f64",
                    "rsqrt.approx.f64",
                    "sqrt.rp.f64",
                    "rcp.rm.f64",
                ])
            )
        }
        6 => format!("setp.{}.f64 {}, {a}, {b};", g.pick(&["lt", "geu", "nan"]), g.predicate()),
        7 => format!("cvt.f64.f32 {x}, {};", f(g)),
        _ => format!("cvt.{}.f32.f64 {}, {a};", g.pick(&["rn", "rz", "rp", "rn.ftz", "rm.ftz"]), f(g)),
    }
}

fn convert(g: &mut Generator) -> String {
    let (w, x) = (g.word(), f(g));
    match g.rng.u32(..10) {
        0..=1 => {
            format!("cvt.{} {x}, {w};", g.pick(&["rn.f32.s32", "rn.f32.u32", "rz.f32.s32", "rp.f32.u32", "rn.f32.s8"]))
        }
        2..=3 => {
            let mode = g.pick(&["rzi", "rni", "rmi", "rpi"]);
            let kind = g.pick(&["s32.f32", "u32.f32", "ftz.s32.f32", "s16.f32", "u8.f32"]);
            match kind.split_once('.') {
                Some(("s16" | "u8", _)) => format!("cvt.{mode}.{kind} {w}, {x};"),
                _ => format!("cvt.{mode}.{kind} {w}, {x};"),
            }
        }
        4 => format!("cvt.{}.f32.f32 {x}, {};", g.pick(&["rni", "rzi", "rmi", "rpi.ftz", "rzi.sat"]), f(g)),
        5 => format!("cvt.{} {x}, {};", g.pick(&["rn.f32.s64", "rn.f32.u64", "rz.f32.s64", "rp.f32.u64"]), d(g)),
        6 => format!("cvt.{} {}, {x};", g.pick(&["rzi.s64.f32", "rzi.u64.f32"]), d(g)),
        7 => format!("cvt.{} {}, %g1;", g.pick(&["rzi.s64.f64", "rni.u64.f64"]), d(g)),
        8 => format!("cvt.{} {w}, %g2;", g.pick(&["rzi.s32.f64", "rmi.u32.f64"])),
        _ => format!("cvt.{} %g{}, {};", g.pick(&["rn.f64.s64", "rn.f64.u64"]), g.rng.u32(1..=3), d(g)),
    }
}

fn half(g: &mut Generator) -> String {
    let mut n = || format!("%n{}", g.rng.u32(1..=3));
    let (x, a, b, c) = (n(), n(), n(), n());
    let mut v = || format!("%s{}", g.rng.u32(20..=21));
    let (vx, va, vb, vc) = (v(), v(), v(), v());
    let mut w = || format!("%s{}", g.rng.u32(22..=23));
    let (wx, wa, wb, wc) = (w(), w(), w(), w());
    let ftz = g.pick(&["", "", ".ftz"]);
    match g.rng.u32(..21) {
        16 => {
            let rnd = g.pick(&["rn", "rz", "rn.relu", "rz.relu", "rn.satfinite"]);
            format!("cvt.{rnd}.{}.f32 {x}, {};", g.pick(&["f16", "bf16"]), f(g))
        }
        17 => {
            let kind = g.pick(&["e4m3x2", "e5m2x2"]);
            let relu = g.pick(&["", ".relu"]);
            match g.rng.u32(..3) {
                0 => format!("cvt.rn.satfinite{relu}.{kind}.f32 {x}, {}, {};", f(g), f(g)),
                1 => format!("cvt.rn.satfinite{relu}.{kind}.f16x2 {x}, {va};"),
                _ => format!("cvt.rn{relu}.f16x2.{kind} {vx}, {a};"),
            }
        }
        18 => format!("set.{}{ftz}.{}.f16x2 {vx}, {va}, {vb};", g.pick(&["lt", "geu"]), g.pick(&["f16x2", "u32"])),
        19 => format!("setp.{}{ftz}.f16x2 %p1|%p2, {va}, {vb};", g.pick(&["lt", "neu", "num"])),
        20 => format!("cvt.{}.tf32.f32 {vx}, {};", g.pick(&["rn", "rz", "rn.relu"]), f(g)),
        0 => format!("{}{}{ftz}.f16 {x}, {a}, {b};", g.pick(&["add", "sub", "mul"]), g.pick(&["", ".rn"])),
        1 => format!("fma.rn{ftz}{}.f16 {x}, {a}, {b}, {c};", g.pick(&["", ".sat", ".relu"])),
        2 => format!("{}{ftz}{}.f16 {x}, {a}, {b};", g.pick(&["min", "max"]), g.pick(&["", ".NaN"])),
        3 => format!("{}{ftz}.f16x2 {vx}, {va}, {vb};", g.pick(&["add", "sub", "mul", "add.rn", "mul.rn"])),
        4 => format!("fma.rn{ftz}{}.f16x2 {vx}, {va}, {vb}, {vc};", g.pick(&["", ".sat", ".relu"])),
        5 => format!("{}{ftz}.f16x2 {vx}, {va}, {vb};", g.pick(&["min", "max", "min", "max"])),
        6 => format!("fma.rn{}.bf16x2 {wx}, {wa}, {wb}, {wc};", g.pick(&["", ".relu"])),
        7 => format!("{}.bf16x2 {wx}, {wa}, {wb};", g.pick(&["add", "sub", "mul", "min", "max"])),
        8 => format!("setp.{}.f16 {}, {a}, {b};", g.pick(&["lt", "equ", "nan"]), g.predicate()),
        9 => format!("cvt.f32.f16 {}, {a};", f(g)),
        10 => format!("cvt.{}.f16.f32 {x}, {};", g.pick(&["rn", "rz", "rn.ftz", "rn.sat"]), f(g)),
        11 => format!("cvt.{}.f16.s32 {x}, {};", g.pick(&["rn", "rz"]), g.word()),
        12 => format!("cvt.{}.{}.f16 {}, {a};", g.pick(&["rzi", "rni"]), g.pick(&["s32", "u32"]), g.word()),
        13 => format!("cvt.{}.bf16x2.f32 {wx}, {}, {};", g.pick(&["rn", "rz", "rn.relu"]), f(g), f(g)),
        14 => format!("cvt.{}.f16x2.f32 {vx}, {}, {};", g.pick(&["rn", "rz", "rn.relu"]), f(g), f(g)),
        _ => match g.rng.u32(..3) {
            0 => format!("mov.b32 {{{x}, %n4}}, {va};"),
            1 => format!("mov.b32 {vx}, {{{a}, {b}}};"),
            _ => format!("{}.f16 {x}, {a};", g.pick(&["ex2.approx", "tanh.approx", "abs", "neg"])),
        },
    }
}

fn video(g: &mut Generator) -> String {
    let (x, a, b, c) = (g.word(), g.word(), g.word(), g.word());
    match g.rng.u32(..5) {
        0 => format!("vadd.s32.u32.s32{} {x}, {a}.b1, {b}.h0;", g.pick(&["", ".sat"])),
        1 => format!("vabsdiff.u32.u32.u32.add {x}, {a}, {b}, {c};"),
        2 => format!("vmad.s32.s32.s32 {x}, {a}.h0, {b}.h1, {c};"),
        3 => format!("vadd4.u32.u32.u32.add {x}, {a}, {b}, {c};"),
        _ => format!("vmax2.s32.s32.s32 {x}, {a}, {b}, {c};"),
    }
}
