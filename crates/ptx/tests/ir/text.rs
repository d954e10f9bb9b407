//! The text of the IR: what is written reads back to an equal module, and what is no IR is refused where it goes wrong.

use crate::texts;
use proptest::prelude::*;
use warploom_ptx::ir::{Module, ReadError};

/// Writes the module, reads that, and holds it against the module.
fn round_trip(module: &Module) {
    let text = module.to_string();
    let read = Module::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(read.to_string(), text);
    assert!(read == *module, "differs in what the text does not show:\n{text}");
}

#[test]
fn every_text_and_every_form() {
    let root = texts::root();
    // Those of the benchmarks are there once they are built; more can be named, such as those of the sweep.
    let named = std::env::var_os("WARPLOOM_TEXTS");
    let folders = ["tests", "demo", "benches/suite", "crates/ptx/tests"].map(|folder| root.join(folder));
    let mut count = 0;
    for folder in folders.into_iter().chain(named.map(Into::into)) {
        let modules = texts::modules(&folder);
        count += modules.len();
        modules.iter().for_each(|module| round_trip(module));
    }
    texts::forms().for_each(|module| round_trip(&module));
    assert!(count > 200, "only {count} texts load");
}

/// A text with everything that stands outside instructions.
const WHOLE: &str = r#"version 8.3 target sm_90a texmode_independent debug address 32
file 1 "a.cu"
file 7 "with \"quotes\" and \u{fe}"
g0: Internal .global a .u32 size 8 align 4 managed line 3 = 01 ff
g1: Visible .const "odd name" .b64 size 16 align 8 = 00 00 +0 size 8 g0+4 +8 size 1 generic f1-12>>16
g2: Weak .global t .texref size 8 align 8 addr_mode_0=wrap "other field"="or value"
p0: (_ .b32 at 0 size 4 align 4) -> ("" .b64 at 8 size 8 align 8) frame 16 noreturn
f0: Visible kernel k (a .u64 at 0 size 8 align 8 ptr .global align 16) buffer 8 line 4 maxntid 8 4 2 maxnreg 32 noreturn pragma "nounroll"
  r0 .b32 %r1, r1 .pred "%p 1", r2 .b64
  local frame: 16 bytes, align 8
  param frame: 24 bytes
  names: g0 g1 f1
  loc0 1:20:3
  loc1 1:5:0 at 1:20:3
b0:
    5  @!r1 IntBinary op: Add, ty: U32, sat: true, dst: r0, a: r0, b: 0xffffffff ; add.sat.u32 loc0
       Ld space: Global, ty: U32, to: U32, semantics: Volatile, scope: Sys, dst: [r0], addr: [g0-8] ; loc1
       AddressOf ty: U64, dst: r2, target: f1, offset: -4
       Call target: *r2 as p0 among [f1], returns: [param+8..16], args: [r0.b32] // a comment
       next b1
b1: loop to b1 irreducible label $L__BB0_1
    6  Barrier(Sync { id: 0x0, count: Some(r0), aligned: true }) ; barrier.sync.aligned
    7  @r1 bra b1 uniform, else b2 ; loc1
b2:
       brx r0 [b3, b3] uniform, else b3
b3:
    0  ret
    9  not executable: tcgen05.mma.kind::f16 unread "kind::f16"
f1: Internal function f (x .b32 in r0 size 4 align 4) -> (y .b64 in r1 size 8 align 8)
  r0 .b32, r1 .b64
b0:
       ret uniform
f2: Extern function vprintf (a .b64 at 8 size 8 align 8, b .b64 at 16 size 8 align 8) -> (c .b32 at 0 size 4 align 4) builtin Vprintf
"#;

fn read(text: &str) -> Result<Module, ReadError> {
    Module::read(text)
}

#[test]
fn everything_outside_instructions() {
    let module = read(WHOLE).unwrap_or_else(|error| panic!("{error}"));
    round_trip(&module);
    let body = module.functions[0].body.as_ref().expect("a body");
    assert_eq!((body.loops[0].depth, body.insts.len(), body.blocks.len()), (1, 5, 4));
    assert_eq!(module.globals[1].relocations[1].addend, -12);
    assert_eq!(module.prototypes[0].returns[0].name, "");
    assert!(module.functions[2].body.is_none());
}

/// A kernel with these lines in its only block, and the end of it.
fn kernel(lines: &str) -> String {
    format!("version 8.0 target sm_90\nf0: Visible kernel k ()\n  r0 .b32, r1 .pred, r2 .b64\nb0:\n{lines}")
}

#[test]
fn malformed_texts_are_refused_with_their_place() {
    let add = "IntBinary op: Add, ty: U32, dst: r0, a: r0, b: 0x1\n";
    let cases = [
        ("", "line 1, column 1: expected `version`, found the end of the line"),
        ("version 8", "line 1, column 10: expected `.`, found the end of the line"),
        ("version 8.0 target sm90\n", "line 1, column 20: `sm90` is no architecture, expected sm_90"),
        ("version 8.0 target sm_90 extra\n", "line 1, column 26: expected the end of the line, found `extra`"),
        (
            "version 8.0 target sm_90\nx0:",
            "line 2, column 1: expected `file`, or the number of a variable, prototype or function, found `x0`",
        ),
        ("version 8.0 target sm_90\ng1: ", "line 2, column 3: `g1` stands where `g0` is next"),
        (
            "version 8.0 target sm_90\ng0: Public",
            "line 2, column 5: `Public` is no linkage, expected Internal, Extern, Visible, Weak, Common",
        ),
        (
            "version 8.0 target sm_90\ng0: Internal .glob",
            "line 2, column 14: expected a state space such as `.global`, found `.glob`",
        ),
        (
            "version 8.0 target sm_90\ng0: Internal .global a .u33",
            "line 2, column 24: expected a type such as `.u32`, found `.u33`",
        ),
        (
            "version 8.0 target sm_90\ng0: Internal .global a .u32 size 99999999999999999999",
            "line 2, column 34: expected a number that fits, found `99999999999999999999`",
        ),
        ("version 8.0 target sm_90\nfile 1 \"a", "line 2, column 9: the string does not end on its line"),
        ("version 8.0 target sm_90\nfile 1 \"\\q\"", "line 2, column 9: unknown escape in a string"),
        ("version 8.0 target sm_90\nfile 1 \"a\"\nfile 1 \"b\"\n", "line 3, column 11: file 1 has a name already"),
        ("version 8.0 target sm_90\nf0: Visible kernel k (a .u32)", "line 2, column 29: expected `at`, found `)`"),
        ("version 8.0 target sm_90\nf0: Visible kernel k () fast", "line 2, column 25: `fast` is no directive"),
        (
            "version 8.0 target sm_90\nf0: Visible function k () builtin Fork\n",
            "line 2, column 35: `Fork` is no system function",
        ),
        (&kernel(""), "line 5, column 1: expected an instruction or the end of the block, found the end of the line"),
        (&kernel(add), "line 6, column 1: expected an instruction or the end of the block, found the end of the line"),
        (&kernel("Foo\n"), "line 5, column 1: `Foo` is no Op"),
        (
            &kernel("IntBinary op: Plus\n"),
            "line 5, column 15: `Plus` is no IntBinaryOp, expected Add, Sub, Div, Rem, Min, Max",
        ),
        (&kernel("IntBinary op: Add, typ: U32\n"), "line 5, column 18: expected `ty:`, found `,`"),
        (&kernel("IntBinary op: Add, ty: U33\n"), "line 5, column 24: `U33` is no ScalarType"),
        (&kernel("IntBinary op: Add, ty: U32, dst: x\n"), "line 5, column 34: expected `r` and a number, found `x`"),
        (
            &kernel("IntBinary op: Add, ty: U32, dst: r0, a: -1\n"),
            "line 5, column 41: expected a register or a constant, found `-`",
        ),
        (&kernel("Barrier(Sync id: 0x0)\n"), "line 5, column 14: expected `id:`, found `id`"),
        (&kernel("Barrier(Sync { id: 0x0)\n"), "line 5, column 23: expected `}`, found `)`"),
        (
            &kernel("Ld space: Global, ty: U32, to: U32, semantics: Weak, scope: Sys, dst: [r0 r1], addr: [r0]\n"),
            "line 5, column 75: expected `,` or `]`, found `r1`",
        ),
        (
            &kernel("CacheHint kind: Discard, space: Global, addr: [x0]\n"),
            "line 5, column 48: expected a register, a variable, `absolute`, `local` or `param`, found `x0`",
        ),
        (
            &kernel("Call target: f0, returns: [], args: [param+8..4]\n"),
            "line 5, column 48: the end of an argument is behind its begin",
        ),
        (&kernel("Brkpt extra\n"), "line 5, column 7: expected the end of the line, found `extra`"),
        (&kernel("bra b0, then b1\n"), "line 5, column 9: expected `else`, found `then`"),
        (&kernel("ret ; ret.uni\n"), "line 5, column 7: expected `loc` and a number, found `ret.uni`"),
        (&kernel("@x bra b0\n"), "line 5, column 2: expected `r` and a number, found `x`"),
        (
            &kernel("Bmsk mode: Clamp, dst: r0, pos: 0x1ffffffffffffffff, len: 0x0\n"),
            "line 5, column 33: expected a number that fits, found `0x1ffffffffffffffff`",
        ),
    ];
    for (text, expected) in cases {
        match read(text) {
            Err(ReadError::Malformed(malformed)) => assert_eq!(malformed.to_string(), expected, "{text}"),
            other => panic!("{other:?}\n{text}"),
        }
    }
}

/// What the checker says of a text that follows the grammar.
fn unsound(text: &str) -> String {
    match read(text) {
        Err(ReadError::Unsound(broken)) => broken,
        other => panic!("{other:?}\n{text}"),
    }
}

/// One text for each rule of the checker that a text can break.
#[test]
fn unsound_texts_are_refused_with_the_rule() {
    let head = "version 8.0 target sm_90\n";
    let cases = [
        (kernel("IntBinary op: Add, ty: U32, dst: r7, a: r0, b: 0x1\nret\n"), "r7 is not declared"),
        (kernel("IntBinary op: Add, ty: U64, dst: r2, a: r0, b: 0x1\nret\n"), "r0 is .b32, but Use of .u64"),
        (kernel("IntBinary op: Add, ty: U32, dst: r1, a: r0, b: 0x1\nret\n"), "r1 is .pred, but Def of .u32"),
        (kernel("@r0 Brkpt\nret\n"), "r0 is .b32, but Guard of .pred"),
        (kernel("CacheHint kind: Discard, space: Global, addr: [r1]\nret\n"), "r1 is .pred, but Address of .u64"),
        (kernel("CacheHint kind: Discard, space: Global, addr: [g0]\nret\n"), "g0 does not exist"),
        (kernel("AddressOf ty: U64, dst: r2, target: f0, offset: 0\nret\n"), "f0 is not in the list of functions"),
        (kernel("AddressOf ty: U64, dst: r2, target: f9, offset: 0\nret\n"), "f9 does not exist"),
        (kernel("Call target: *r2 as p0, returns: [], args: []\nret\n"), "p0 does not exist"),
        (kernel("Brkpt ; loc4\nret\n"), "no such source place"),
        (kernel("ret ; loc4\n"), "no such source place"),
        (kernel("bra b4\n"), "b0 goes to a block that does not exist"),
        (kernel("@r1 bra b1\nb1:\nret\n"), "`next` does not go with `@r1 bra b1`"),
        (kernel("ret, else b1\nb1:\nret\n"), "`next` does not go with `ret, else b1`"),
        (kernel("bra b0\n"), "the edge from b0 back to b0 is of no loop"),
        (kernel("next b1\nb1: loop to b5\nret\n"), "is not where it should be"),
        (kernel("next b1\nb1: loop to b0\nret\n"), "is not where it should be"),
        (format!("{head}f0: Visible kernel k ()\n  r0 .b32\n"), "there is no block"),
        (format!("{head}f0: Visible kernel k ()\n  names: g5\nb0:\nret\n"), "g5 does not exist"),
        (format!("{head}f0: Visible kernel k ()\n  names: f5\nb0:\nret\n"), "f5 does not exist"),
        (
            format!("{head}f0: Internal function f (a .b32 in r0 size 4 align 4)\n  r0 .b64\nb0:\nret\n"),
            "parameter a is .b32 in r0, a .b64",
        ),
        (
            format!("{head}f0: Internal function f (a .b32 at 8 size 4 align 4)\n  param frame: 8 bytes\nb0:\nret\n"),
            "parameter a is not in the frame",
        ),
        (
            format!(
                "{head}f0: Internal function f (a .b64 at 0 size 8 align 8) -> (b .b32 at 4 size 4 align 4)\n  param frame: 8 bytes\nb0:\nret\n"
            ),
            "two parameters are at byte 4 of the frame",
        ),
        (
            format!("{head}g0: Internal .global a .u64 size 8 align 8 = 00 +0 size 8 g3\n"),
            "a refers to g3, which does not exist",
        ),
        (
            format!("{head}g0: Internal .global a .u64 size 8 align 8 = 00 +4 size 8 g0\n"),
            "a has an address at 4..12 of 8 bytes",
        ),
        (format!("{head}g0: Internal .global a .u64 size 8 align 6\n"), "a is aligned to 6"),
        (
            format!(
                "{head}f0: Visible kernel k ()\n  param frame: 8 bytes\n  names: f1\nb0:\nCall target: f1, returns: [], args: []\nret\nf1: Extern function f (a .b32 at 0 size 4 align 4)\n"
            ),
            "0 arguments for 1 parameters",
        ),
        (
            format!(
                "{head}f0: Visible kernel k ()\n  param frame: 8 bytes\n  names: f1\nb0:\nCall target: f1, returns: [], args: [param+8..12]\nret\nf1: Extern function f (a .b32 at 0 size 4 align 4)\n"
            ),
            "argument param+8..12 is not in the frame",
        ),
        (
            format!(
                "{head}f0: Visible kernel k ()\n  names: f1\nb0:\nCall target: f1, returns: [0x5.b32], args: []\nret\nf1: Extern function f () -> (a .b32 at 0 size 4 align 4)\n"
            ),
            "a constant as the place of a result",
        ),
    ];
    for (text, expected) in cases {
        let broken = unsound(&text);
        assert!(broken.contains(expected), "{broken}\nwhere {expected}\n{text}");
    }
}

proptest! {
    /// Whatever is done to a text, it reads or is refused; what reads is written the same again.
    #[test]
    fn damaged_texts(at in any::<prop::sample::Index>(), length in 0usize..12, with in "[ -~\n]{0,6}", from in any::<prop::sample::Index>()) {
        let start = at.index(WHOLE.len());
        let mut text = WHOLE.to_owned();
        let end = (start + length).min(text.len());
        if text.is_char_boundary(start) && text.is_char_boundary(end) {
            let copied = from.index(WHOLE.len() - 8);
            let with = if with.len() % 2 == 0 { with } else { WHOLE[copied..copied + 8].to_owned() };
            text.replace_range(start..end, &with);
        }
        if let Ok(module) = read(&text) {
            round_trip(&module);
        }
    }
}
