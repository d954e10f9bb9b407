//! Indices whose rows end: clamped, joined at their ends, divided, and put together of bits; and what loops that lanes leave in different trips make of them.

use crate::generate::Generator;

/// Loads of an input, at an index that lies in it whatever the thread.
pub(crate) fn load(g: &mut Generator) -> String {
    let n = g.number();
    let x = g.word();
    let index = index(g);
    // Of words at 1 to 4 times the index, and of narrower ones beside each other.
    let (scale, ty) = [(4, "u32"), (4, "u32"), (8, "u32"), (12, "s32"), (16, "u32"), (2, "u16"), (4, "u8"), (1, "s8")]
        [g.rng.usize(..8)];
    let offset = scale * g.rng.u32(..3);
    let address = match g.rng.u32(..4) {
        0 => format!("mul.wide.u32 %t8, %s13, {scale};\nadd.s64 %t7, %t1, %t8;"),
        1 => format!("cvt.u64.u32 %t8, %s13;\nmad.lo.s64 %t7, %t8, {scale}, %t1;"),
        _ => format!("mad.wide.u32 %t7, %s13, {scale}, %t1;"),
    };
    let load = match g.rng.u32(..4) {
        0 => four_words(g),
        _ => format!("ld.global.{ty} {x}, [%t7+{offset}];"),
    };
    match g.rng.u32(..4) {
        // All trips make the same address, which is used behind the loop.
        0 => format!(
            "{index}\nand.b32 %s15, {}, 7;\nY{n}:\n{address}\nsub.s32 %s15, %s15, 1;\nsetp.gt.s32 %z3, %s15, 0;\n@%z3 bra Y{n};\n{load}",
            g.operand()
        ),
        _ => format!("{index}\n{address}\n{load}"),
    }
}

/// Loads of words behind each other, in any order, and mostly four of them: in one instruction only where they are aligned, which the first input is.
fn four_words(g: &mut Generator) -> String {
    if g.rng.u32(..4) == 0 {
        let words = [(); 4].map(|()| g.word());
        let apart = (1..4).all(|at| !words[..at].contains(&words[at]));
        if apart {
            return format!("and.b64 %t7, %t7, -16;\nld.global.v4.u32 {{{}}}, [%t7];", words.join(", "));
        }
    }
    let mut order = [0, 4, 8, 12, 16];
    g.rng.shuffle(&mut order);
    let loads = order.map(|offset| format!("ld.global.u32 {}, [%t7+{offset}];", g.word()));
    format!("and.b64 %t7, %t7, -4;\n{}", loads.join("\n"))
}

/// `%s13`: at most 511.
fn index(g: &mut Generator) -> String {
    let from = g.pick(&["%s6", "%s1", "%r2", "%s6"]);
    let limit = g.rng.u32(5..200);
    match g.rng.u32(..8) {
        0 => {
            format!("add.s32 %s13, {from}, {};\nmax.s32 %s13, %s13, 0;\nmin.s32 %s13, %s13, {limit};", g.rng.i32(-9..9))
        }
        1 => format!(
            "and.b32 %s13, {from}, 255;\nsub.s32 %s15, %s13, {limit};\nsetp.lt.u32 %z3, %s13, {limit};\nselp.b32 %s13, %s13, %s15, %z3;"
        ),
        2 => format!(
            "or.b32 %s15, {}, {};\nrem.u32 %s13, {from}, %s15;\nand.b32 %s13, %s13, 511;",
            g.uniform(),
            g.rng.u32(1..64)
        ),
        3 => format!("rem.u32 %s13, {from}, {limit};"),
        4 => format!(
            "and.b32 %s15, {}, 63;\nadd.u32 %s15, %s15, 3;\nand.b32 %s16, {from}, 255;\ndiv.u32 %s13, %s16, %s15;\nmul.lo.u32 %s17, %s13, %s15;\n\
             sub.u32 %s17, %s16, %s17;\nmad.lo.u32 %s13, %s13, 2, %s17;",
            g.uniform()
        ),
        5 => {
            let by = g.rng.u32(1..5);
            format!(
                "and.b32 %s13, {from}, 511;\nshr.u32 %s15, %s13, {by};\nand.b32 %s13, %s13, {};\nadd.u32 %s13, %s13, %s15;",
                (1 << by) - 1
            )
        }
        // As many apart as nobody knows.
        6 => format!(
            "rem.u32 %s13, {from}, {};\nand.b32 %s15, {}, 3;\nmul.lo.s32 %s13, %s13, %s15;",
            g.rng.u32(5..150),
            g.uniform()
        ),
        _ => format!(
            "shl.b32 %s13, {from}, 1;\nand.b32 %s13, %s13, 508;\nand.b32 %s15, {from}, {};\nor.b32 %s13, %s13, %s15;",
            [1, 3][g.rng.usize(..2)]
        ),
    }
}
