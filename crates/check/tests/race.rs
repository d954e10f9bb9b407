//! Kernels with and without races (`races/README.md`): those with one are reported, with both places, and the others are not.

use std::sync::{Arc, Mutex};

use warploom_check::report::Severity;
use warploom_check::{Check, Checker, Settings};
use warploom_interp_testing::{Device, Shape};

/// Bytes of global memory that a kernel gets.
const BYTES: u64 = 1 << 16;

const VERSION: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";
const ENTRY: &str = ".visible .entry kernel(.param .u64 out)";

const PROLOGUE: &str = "{
    .reg .b32 %r<40>; .reg .b64 %d<20>; .reg .pred %p<10>; .shared .align 16 .b32 s[2048];
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %laneid; shr.u32 %r3, %r0, 5;
    mov.u32 %r4, s; shl.b32 %r5, %r0, 2; add.u32 %r6, %r4, %r5; mov.u32 %r7, %ntid.x; mad.lo.u32 %r7, %r1, %r7, %r0;
    mul.wide.u32 %d1, %r7, 4; add.u64 %d1, %d1, %d0; add.u64 %d1, %d1, 32768;
    setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r1, 0;
";

/// What is reported of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Clean,
    /// Writes of the same value, and nothing else.
    Same,
    Race,
}

struct Case {
    name: String,
    shape: Shape,
    verdict: Verdict,
    ptx: String,
}

fn cases(text: &str) -> Vec<Case> {
    let parts = text.split("## ").filter(|part| !part.trim().is_empty());
    parts
        .map(|part| {
            let (heading, body) = part.split_once('\n').expect("a heading and a body");
            let (name, what) = heading.rsplit_once(": ").expect("a name");
            let (shape, verdict) = what.split_once(", ").expect("a shape and a verdict");
            let (shape, cluster) = shape.split_once(" in clusters of ").unwrap_or((shape, ""));
            let (ctas, threads) = shape.split_once(" x ").expect("two numbers");
            let verdict = match verdict {
                "race" => Verdict::Race,
                "same" => Verdict::Same,
                "clean" => Verdict::Clean,
                other => panic!("{name}: {other}"),
            };
            let shape = Shape::new(ctas.parse().unwrap(), threads.parse().unwrap());
            let shape = match cluster {
                "" => Shape { cooperative: true, ..shape },
                size => Shape { cluster: [size.parse().unwrap(), 1, 1], ..shape },
            };
            Case { name: name.to_owned(), shape, verdict, ptx: format!("{VERSION}{ENTRY} {PROLOGUE}{body}ret;\n}}") }
        })
        .collect()
}

fn reports(case: &Case) -> String {
    let said = Arc::new(Mutex::new(String::new()));
    let out = Arc::clone(&said);
    let say = Arc::new(move |text: &str| out.lock().unwrap().push_str(text));
    let settings = Settings { checks: vec![Check::Race], level: Severity::Info, ..Settings::default() };
    let checker = Checker::new(settings, say).expect("no suppressions");
    let device = Device::observed(checker.clone());
    let kernel = device.kernel(&case.ptx).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let base = device.alloc(BYTES);
    device.launch(&kernel, case.shape, &[base]).unwrap_or_else(|fault| panic!("{}: {fault}", case.name));
    std::mem::take(&mut *said.lock().unwrap())
}

fn check(text: &str) {
    let mut wrong = Vec::new();
    for case in cases(text) {
        let said = reports(&case);
        let other = said.contains("note: the other is");
        let right = match case.verdict {
            Verdict::Race => said.contains("error[race/") && other,
            Verdict::Same => said.contains("-same-value]: race: ") && !said.contains("error[") && other,
            Verdict::Clean => said.is_empty(),
        };
        if !right {
            wrong.push(format!("{} ({:?}):\n{said}", case.name, case.verdict));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

macro_rules! files {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(include_str!(concat!("races/", stringify!($name), ".txt")));
        }
    )*};
}

files! { barriers warps bytes atomics flags locks grids copies bulk crowds rows gathers updates clusters values }

#[test]
fn there_are_enough_kernels_of_both_kinds() {
    let all = [
        include_str!("races/barriers.txt"),
        include_str!("races/warps.txt"),
        include_str!("races/bytes.txt"),
        include_str!("races/atomics.txt"),
        include_str!("races/flags.txt"),
        include_str!("races/locks.txt"),
        include_str!("races/grids.txt"),
        include_str!("races/copies.txt"),
        include_str!("races/bulk.txt"),
        include_str!("races/crowds.txt"),
        include_str!("races/rows.txt"),
        include_str!("races/gathers.txt"),
        include_str!("races/updates.txt"),
        include_str!("races/clusters.txt"),
        include_str!("races/values.txt"),
    ];
    let cases: Vec<Case> = all.into_iter().flat_map(cases).collect();
    let racy = cases.iter().filter(|case| case.verdict == Verdict::Race).count();
    assert!(racy >= 50 && cases.len() - racy >= 50, "{racy} of {}", cases.len());
}

#[test]
fn of_two_atomics_that_cross_one_comes_behind_the_other() {
    // Only the CTA whose atomic comes second may read what the other one has written: one of the two is in a race, whichever it is.
    let case = Case {
        name: "crossing".to_owned(),
        shape: Shape { cooperative: true, ..Shape::new(2, 32) },
        verdict: Verdict::Race,
        ptx: format!(
            "{VERSION}{ENTRY} {PROLOGUE}
            @!%p0 bra done;
            xor.b32 %r10, %r1, 1;
            mul.wide.u32 %d2, %r1, 256; add.u64 %d2, %d2, %d0;
            mul.wide.u32 %d3, %r10, 256; add.u64 %d3, %d3, %d0;
            st.global.u32 [%d2], 1;
            atom.acq_rel.gpu.global.exch.b32 %r11, [%d0+1024], 1;
            ld.global.u32 %r12, [%d3];
            done: ret;\n}}"
        ),
    };
    for _ in 0..100 {
        assert!(reports(&case).contains("error[race/global-race]"));
    }
}

#[test]
fn writes_of_the_same_value_are_told_on_request_and_are_no_errors() {
    let ptx = format!("{VERSION}{ENTRY} {PROLOGUE}mov.u32 %r10, 7;\nst.global.u32 [%d0], %r10;\nret;\n}}");
    for (level, expected) in [(Severity::Error, 0), (Severity::Info, 1)] {
        let settings = Settings { checks: vec![Check::Race], level, error_exit: Some(9), ..Settings::default() };
        let checker = Checker::new(settings, Arc::new(|_: &str| {})).expect("no suppressions");
        let device = Device::observed(checker.clone());
        let kernel = device.kernel(&ptx).expect("a kernel");
        device.launch(&kernel, Shape::new(4, 64), &[device.alloc(BYTES)]).expect("it runs");
        let reports = checker.sink().reports();
        assert_eq!(reports.len(), expected);
        assert!(reports.iter().all(|counted| counted.severity == Severity::Info && counted.count >= 7));
        let summary = checker.sink().summary();
        assert!(
            summary.starts_with("0 errors") && summary.contains(" notes at 1 place") == (expected == 1),
            "{summary}"
        );
        assert_eq!((checker.sink().errors(), checker.finish()), (0, None));
    }
}

#[test]
fn a_report_names_both_threads_and_their_lines() {
    let said = reports(&Case {
        name: "lines".to_owned(),
        shape: Shape::new(1, 64),
        verdict: Verdict::Race,
        ptx: format!(
            "{VERSION}.file 1 \"sum.cu\"
            {ENTRY} {PROLOGUE}.loc 1 11 3
            st.shared.u32 [%r6], %r0;
            .loc 1 12 3
            xor.b32 %r10, %r6, 128;
            ld.shared.u32 %r11, [%r10];
            ret;
            }}"
        ),
    });
    let expected = [
        "error[race/shared-race]: race: a weak read at 0x0 of shared memory, and nothing orders it after what another thread did there",
        "--> sum.cu:12",
        "kernel kernel, PTX line 12, CTA (0, 0, 0), thread (32, 0, 0)",
        "note: the other is a weak write",
        "--> sum.cu:11",
        "thread (0, 0, 0)",
    ];
    for line in expected {
        assert!(said.contains(line), "no {line:?} in:\n{said}");
    }
}

#[test]
fn a_report_says_whose_asynchronous_copy_it_is() {
    let said = |name: &str, body: &str| {
        let ptx = format!("{VERSION}{ENTRY} {PROLOGUE}{body}\nret;\n}}");
        reports(&Case { name: name.to_owned(), shape: Shape::new(1, 32), verdict: Verdict::Race, ptx })
    };
    let copy = "cp.async.ca.shared.global [%r6], [%d1], 4;";
    for (name, body, expected) in [
        (
            "own copy",
            format!("{copy} ld.shared.u32 %r10, [%r6];"),
            "what the thread itself has copied there asynchronously",
        ),
        (
            "own store",
            format!("{copy} st.shared.u32 [%r6], 7;"),
            "what the thread itself has copied there asynchronously",
        ),
        (
            "another's",
            format!("{copy} cp.async.wait_all; xor.b32 %r10, %r6, 4; ld.shared.u32 %r11, [%r10];"),
            "what another thread has copied there asynchronously",
        ),
    ] {
        let said = said(name, &body);
        assert!(said.contains(expected), "{name}: no {expected:?} in:\n{said}");
    }
}
