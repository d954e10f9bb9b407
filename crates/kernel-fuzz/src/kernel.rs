//! A generated kernel: statements, of which any may be left out, and the text that they make.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Words of the output that a thread has.
pub(crate) const WORDS: u32 = 16;

/// Words of the first input, of which rows of loops are loaded, and numbers of the second.
pub(crate) const INPUTS: [u32; 2] = [8192, 64];

/// A statement, with its number in the kernel.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) number: u32,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// Instructions that stand or fall together.
    Lines(String),
    /// Sets `%q{number}` and branches over the first body where it holds, to the second if there is one.
    If { condition: String, yes: Vec<Statement>, no: Option<Vec<Statement>> },
    /// Goes around while the count, which the text sets as `%k{number}`, has not run out. The body may leave by `%q{number}` where it says so.
    Loop { count: String, body: Vec<Statement>, leave: Option<String> },
    /// A branch by a table, with as many ways as bodies.
    Switch { index: String, ways: Vec<Vec<Statement>> },
    /// A function that is called with a number and gives one back.
    Call { argument: String, result: String, body: Vec<Statement> },
}

impl Kind {
    /// Whether hardware gives the same as the interpreter: not where PTX leaves it open, nor where its assembler does not do what the manual says (docs/numerics.md).
    fn is_exact(&self) -> bool {
        let Kind::Lines(lines) = self else { return true };
        lines.lines().all(|line| {
            let open = [".approx", "div.full", "activemask", ".b8 rows"].iter().any(|name| line.contains(name));
            let guard_is_lost = line.starts_with('@') && ["testp", "vadd4"].iter().any(|name| line.contains(name));
            !open && !guard_is_lost && !line.contains("bfe.s32")
        })
    }

    /// The statements of its bodies.
    fn inner(&self) -> Vec<&Statement> {
        match self {
            Kind::Lines(_) => Vec::new(),
            Kind::If { yes, no, .. } => yes.iter().chain(no.iter().flatten()).collect(),
            Kind::Loop { body, .. } | Kind::Call { body, .. } => body.iter().collect(),
            Kind::Switch { ways, .. } => ways.iter().flatten().collect(),
        }
    }
}

/// A kernel with what it is launched for.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) seed: u64,
    pub(crate) cta: [u32; 3],
    pub(crate) grid: [u32; 2],
    pub(crate) statements: Vec<Statement>,
    /// How many statements there are, in all bodies.
    pub(crate) count: u32,
    /// Bytes that loops store rows to, in all CTAs.
    pub(crate) rows: u32,
    /// Nothing computes with subnormal numbers.
    pub(crate) flushes: bool,
}

impl Kernel {
    pub(crate) fn threads(&self) -> u32 {
        self.cta.iter().product()
    }

    /// Words of the output: those of the threads, behind them the counters that all CTAs have in common, and then rows.
    pub(crate) fn outputs(&self) -> u32 {
        self.own() + COUNTERS + self.rows / 4
    }

    /// Those of the threads.
    fn own(&self) -> u32 {
        WORDS * self.threads() * self.grid.iter().product::<u32>()
    }

    /// The statements with which hardware may give something else.
    pub(crate) fn inexact(&self) -> BTreeSet<u32> {
        let mut pending: Vec<&Statement> = self.statements.iter().collect();
        let mut inexact = BTreeSet::new();
        while let Some(Statement { number, kind }) = pending.pop() {
            pending.extend(kind.inner());
            if !kind.is_exact() {
                inexact.insert(*number);
            }
        }
        inexact
    }

    /// The text without some of the statements.
    pub(crate) fn text(&self, without: &BTreeSet<u32>) -> String {
        let mut body = Text { without, code: String::new(), functions: String::new() };
        body.statements(&self.statements);
        let Text { code, functions, .. } = body;
        let (threads, count) = (self.threads(), self.count + 1);
        let rows = threads * WORDS * 4;
        let mut text = String::from(".version 8.6\n.target sm_90\n.address_size 64\n");
        text += &functions;
        let _ = write!(
            text,
            ".visible .entry test(.param .u64 a, .param .u64 b, .param .u64 d)\n{{\n\
             .reg .b32 %r<16>, %u<8>, %s<28>, %k<{count}>;\n.reg .b64 %d<8>, %t<24>;\n.reg .b16 %h<8>, %n<8>;\n\
             .reg .f32 %f<10>;\n.reg .f64 %g<8>;\n.reg .pred %p<8>, %z<4>, %q<{count}>;\n\
             .shared .align 16 .b32 tile[{tile}];\n.shared .align 16 .b32 own[{own}];\n.shared .align 4 .b32 counter[8];\n.shared .align 8 .b32 locked[2];\n\
             .local .align 16 .b32 mine[8];\n.local .align 16 .b32 floats[8];\n\
             ld.param.u64 %t1, [a];\nld.param.u64 %t2, [b];\nld.param.u64 %t3, [d];\n\
             mov.u32 %s1, %tid.x;\nmov.u32 %s2, %tid.y;\nmov.u32 %s3, %tid.z;\nmov.u32 %s4, %ntid.x;\nmov.u32 %s5, %ntid.y;\n\
             mad.lo.u32 %s3, %s3, %s5, %s2;\nmad.lo.u32 %s6, %s3, %s4, %s1;\n\
             mov.u32 %s7, %ctaid.x;\nmov.u32 %s8, %ctaid.y;\nmov.u32 %s9, %nctaid.x;\nmad.lo.u32 %s9, %s8, %s9, %s7;\n\
             mad.wide.u32 %t4, %s9, {rows}, %t3;\nmad.wide.u32 %t4, %s6, {slot}, %t4;\nadd.u64 %t5, %t3, {all};\n\
             mul.wide.u32 %t6, %s6, 4;\nadd.u64 %t6, %t6, %t1;\n\
             mov.u32 %s10, tile;\nmad.lo.u32 %s11, %s6, 4, %s10;\nmov.u32 %s12, own;\nmad.lo.u32 %s12, %s6, 16, %s12;\n",
            tile = threads.next_power_of_two(),
            own = 4 * threads,
            slot = 4 * WORDS,
            all = 4 * self.own(),
        );
        text += &match self.flushes {
            true => PROLOGUE.replace(DOUBLES, "mov.f64 %g1, 0d3ff4000000000000;\nmov.f64 %g2, 0d4014000000000000;\n"),
            false => PROLOGUE.to_owned(),
        };
        text += &code;
        text += EPILOGUE;
        text
    }
}

/// Words that all CTAs add to.
pub(crate) const COUNTERS: u32 = 8;

/// What of that computes with doubles.
const DOUBLES: &str = "cvt.f64.f32 %g1, %f1;\ncvt.rn.f64.s32 %g2, %r8;\n";
/// What registers hold before the first statement.
const PROLOGUE: &str = "\
ld.global.u32 %r1, [%t6];\nadd.u32 %r2, %s6, 7;\nmul.lo.s32 %r3, %s6, -3;\nmov.u32 %r4, %s7;\nld.global.u32 %r5, [%t6+16];\n\
mov.u32 %r6, 9;\nnot.b32 %r7, %s6;\nmul.lo.u32 %r8, %s6, 0x9e3779b1;\n\
mov.u32 %u1, %s9;\nmov.u32 %u2, 3;\nld.global.u32 %u3, [%t1+40];\nmov.u32 %u4, -1;\n\
cvt.s64.s32 %d1, %r3;\nmul.wide.u32 %d2, %r8, %r8;\nmov.u64 %d3, %t6;\nsub.u64 %d3, %d3, %t1;\nmov.u64 %d4, 0x123456789abcdef;\n\
cvt.u16.u32 %h1, %r8;\ncvt.u16.u32 %h2, %s6;\nmov.b16 %h3, 0x3c01;\nmov.b16 %h4, 0x7bff;\n\
and.b32 %s13, %s6, 63;\nmul.wide.u32 %t7, %s13, 4;\nadd.u64 %t7, %t7, %t2;\nld.global.f32 %f1, [%t7];\nld.global.f32 %f2, [%t2+28];\n\
cvt.rn.f32.s32 %f3, %r3;\nmov.f32 %f4, 0f3fc00000;\ncvt.f64.f32 %g1, %f1;\ncvt.rn.f64.s32 %g2, %r8;\nmov.f64 %g3, 0d3ff8000000000000;\n\
cvt.rn.f16.s32 %n1, %r2;\ncvt.rn.f16.f32 %n2, %f1;\nmov.b16 %n3, 0x3800;\n\
mov.b32 %s20, {%n1, %n2};\nmov.b32 %s21, {%n3, %n1};\ncvt.rn.bf16x2.f32 %s22, %f1, %f3;\ncvt.rn.bf16x2.f32 %s23, %f4, %f3;\n\
setp.lt.s32 %p1, %s6, 9;\nsetp.eq.u32 %p2, %s1, %s2;\nsetp.gt.s32 %p3, %r8, 0;\nsetp.ne.u32 %p4, %s7, 0;\n\
mov.u32 %s14, 0;\nst.local.v4.u32 [mine], {%r1, %r2, %r3, %r4};\nst.local.v4.u32 [mine+16], {%s14, %r5, %r6, %r7};\n\
st.local.v4.f32 [floats], {%f1, %f2, %f3, %f4};\nst.local.v4.f32 [floats+16], {%f4, %f4, %f1, %f1};\n\
st.shared.v4.u32 [%s12], {%r1, %r2, %r8, %s6};\nbar.sync 0;\n";

/// What registers hold behind the last one, with any NaN as the one of hardware.
const EPILOGUE: &str = "\
bar.sync 0;\nsetp.lt.u32 %z1, %s6, 8;\n@!%z1 bra counted;\nshl.b32 %s13, %s6, 2;\nmov.u32 %s15, counter;\nadd.u32 %s13, %s13, %s15;\nld.shared.u32 %s13, [%s13];\n\
xor.b32 %r1, %r1, %s13;\nld.shared.u32 %s13, [locked+4];\nxor.b32 %r2, %r2, %s13;\ncounted:\n\
mad.lo.u32 %r1, %u1, 31, %r1;\nmad.lo.u32 %r2, %u2, 31, %r2;\nmad.lo.u32 %r3, %u3, 31, %r3;\nmad.lo.u32 %r4, %u4, 31, %r4;\n\
st.global.v4.u32 [%t4], {%r1, %r2, %r3, %r4};\nst.global.v4.u32 [%t4+16], {%r5, %r6, %r7, %r8};\n\
xor.b64 %d1, %d1, %d4;\nxor.b64 %d2, %d2, %d3;\nst.global.v2.u64 [%t4+32], {%d1, %d2};\n\
testp.notanumber.f32 %z1, %f1;\nselp.f32 %f1, 0f7fffffff, %f1, %z1;\ntestp.notanumber.f32 %z1, %f2;\nselp.f32 %f2, 0f7fffffff, %f2, %z1;\n\
testp.notanumber.f32 %z1, %f3;\nselp.f32 %f3, 0f7fffffff, %f3, %z1;\ntestp.notanumber.f32 %z1, %f4;\nselp.f32 %f4, 0f7fffffff, %f4, %z1;\n\
mov.b32 %s13, %f3;\nmov.b32 %s15, %f4;\nmad.lo.u32 %s13, %s15, 31, %s13;\nmov.b32 %s15, %f2;\nmad.lo.u32 %s13, %s13, 31, %s15;\n\
testp.notanumber.f64 %z1, %g1;\nselp.f64 %g1, 0d7fffffffffffffff, %g1, %z1;\ntestp.notanumber.f64 %z1, %g2;\nselp.f64 %g2, 0d7fffffffffffffff, %g2, %z1;\n\
mov.b64 %t8, %g1;\nmov.b64 %t9, %g2;\nxor.b64 %t8, %t8, %t9;\ncvt.u32.u64 %s15, %t8;\nshr.u64 %t8, %t8, 32;\ncvt.u32.u64 %s16, %t8;\nxor.b32 %s15, %s15, %s16;\n\
cvt.f32.f16 %f5, %n1;\ncvt.f32.f16 %f6, %n2;\ntestp.notanumber.f32 %z1, %f5;\nselp.f32 %f5, 0f7fffffff, %f5, %z1;\ntestp.notanumber.f32 %z1, %f6;\nselp.f32 %f6, 0f7fffffff, %f6, %z1;\n\
mov.b32 {%n3, %n4}, %s20;\ncvt.f32.f16 %f7, %n3;\ncvt.f32.f16 %f8, %n4;\ntestp.notanumber.f32 %z1, %f7;\nselp.f32 %f7, 0f7fffffff, %f7, %z1;\ntestp.notanumber.f32 %z1, %f8;\nselp.f32 %f8, 0f7fffffff, %f8, %z1;\n\
mov.b32 %s16, %f5;\nmov.b32 %s17, %f6;\nmad.lo.u32 %s16, %s16, 31, %s17;\nmov.b32 %s17, %f7;\nmad.lo.u32 %s16, %s16, 31, %s17;\nmov.b32 %s17, %f8;\nmad.lo.u32 %s16, %s16, 31, %s17;\n\
mov.b32 {%n3, %n4}, %s22;\ncvt.f32.bf16 %f7, %n3;\ncvt.f32.bf16 %f8, %n4;\ntestp.notanumber.f32 %z1, %f7;\nselp.f32 %f7, 0f7fffffff, %f7, %z1;\ntestp.notanumber.f32 %z1, %f8;\nselp.f32 %f8, 0f7fffffff, %f8, %z1;\n\
mov.b32 %s17, %f7;\nmov.b32 %s18, %f8;\nmad.lo.u32 %s17, %s17, 31, %s18;\nxor.b32 %s16, %s16, %s17;\n\
cvt.u32.u16 %s17, %h1;\ncvt.u32.u16 %s18, %h2;\nmad.lo.u32 %s17, %s17, 77, %s18;\nadd.u32 %s16, %s16, %s17;\n\
selp.u32 %s17, 1, 0, %p1;\nselp.u32 %s18, 2, 0, %p2;\nadd.u32 %s17, %s17, %s18;\nselp.u32 %s18, 4, 0, %p3;\nadd.u32 %s17, %s17, %s18;\nselp.u32 %s18, 8, 0, %p4;\nadd.u32 %s17, %s17, %s18;\nxor.b32 %s15, %s15, %s17;\n\
mov.b32 %s18, %f1;\nst.global.v4.u32 [%t4+48], {%s18, %s13, %s15, %s16};\nret;\n}\n";

struct Text<'k> {
    without: &'k BTreeSet<u32>,
    code: String,
    functions: String,
}

impl Text<'_> {
    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements.iter().filter(|statement| !self.without.contains(&statement.number)) {
            self.statement(statement);
        }
    }

    fn statement(&mut self, Statement { number: n, kind }: &Statement) {
        match kind {
            Kind::Lines(lines) => self.line(lines),
            Kind::If { condition, yes, no } => {
                self.line(&format!("{condition}\n@%q{n} bra E{n};"));
                self.statements(yes);
                if let Some(no) = no {
                    self.line(&format!("bra X{n};\nE{n}:"));
                    self.statements(no);
                    self.line(&format!("X{n}:"));
                } else {
                    self.line(&format!("E{n}:"));
                }
            }
            Kind::Loop { count, body, leave } => {
                self.line(&format!("{count}\nL{n}:"));
                let middle = if leave.is_some() { body.len() / 2 } else { body.len() };
                self.statements(&body[..middle]);
                if let Some(leave) = leave {
                    self.line(&format!("{leave}\n@%q{n} bra O{n};"));
                }
                self.statements(&body[middle..]);
                self.line(&format!("sub.s32 %k{n}, %k{n}, 1;\nsetp.gt.s32 %q{n}, %k{n}, 0;\n@%q{n} bra L{n};\nO{n}:"));
            }
            Kind::Switch { index, ways } => {
                let labels: Vec<String> = (0..ways.len()).map(|way| format!("W{n}_{way}")).collect();
                self.line(&format!(
                    "{index}\ntable{n}: .branchtargets {};\nbrx.idx %k{n}, table{n};",
                    labels.join(", ")
                ));
                for (way, label) in ways.iter().zip(labels) {
                    self.line(&format!("{label}:"));
                    self.statements(way);
                    self.line(&format!("bra X{n};"));
                }
                self.line(&format!("X{n}:"));
            }
            Kind::Call { argument, result, body } => {
                self.line(&format!(
                    "{{\n.param .b32 in;\n.param .b32 out;\nst.param.b32 [in], {argument};\ncall.uni (out), f{n}, (in);\nld.param.b32 {result}, [out];\n}}"
                ));
                let mut inner = Text { without: self.without, code: String::new(), functions: String::new() };
                inner.statements(body);
                self.functions += &inner.functions;
                let _ = write!(
                    self.functions,
                    ".func (.param .b32 out) f{n} (.param .b32 in)\n{{\n.reg .b32 %r<16>, %u<8>, %s<16>, %k<{0}>;\n.reg .pred %p<8>, %q<{0}>;\n\
                     ld.param.b32 %r1, [in];\nadd.u32 %r2, %r1, 5;\nnot.b32 %r3, %r1;\nmov.u32 %r4, %tid.x;\nmov.u32 %r5, 3;\nmov.u32 %r6, 1;\nmov.u32 %r7, 2;\n\
                     mul.lo.u32 %r8, %r1, 77;\nmov.u32 %u1, 4;\nmov.u32 %u2, 3;\nmov.u32 %u3, 2;\nmov.u32 %u4, %ctaid.x;\nmov.u32 %s6, %tid.x;\nmov.u32 %s7, %ctaid.x;\nmov.u32 %s1, %tid.x;\n\
                     setp.lt.s32 %p1, %r1, 9;\nsetp.eq.u32 %p2, %r1, 1;\nsetp.gt.s32 %p3, %r8, 0;\nsetp.ne.u32 %p4, %r1, 0;\n{1}\
                     mad.lo.u32 %r1, %r1, 31, %r2;\nmad.lo.u32 %r1, %r1, 31, %r3;\nadd.u32 %r1, %r1, %r8;\nst.param.b32 [out], %r1;\nret;\n}}\n",
                    body.iter().map(last).max().unwrap_or(*n) + 1,
                    inner.code,
                );
            }
        }
    }

    fn line(&mut self, text: &str) {
        self.code.push_str(text);
        self.code.push('\n');
    }
}

/// The greatest number in a statement.
fn last(statement: &Statement) -> u32 {
    statement.kind.inner().into_iter().map(last).max().unwrap_or(0).max(statement.number)
}
