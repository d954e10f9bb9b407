//! Every kind of report has a case that makes one of it, and one that differs from it in what is wrong, and makes none.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use warploom_check::report::Severity;
use warploom_check::{Check, Checker, Settings};
use warploom_exec::memory::{AllocationInfo, MemoryKind};
use warploom_exec::observe::{HostEvent, Observer, Source};
use warploom_exec::pool::PoolOptions;
use warploom_interp_testing::{Device, Shape};

/// Kinds that need a driver or a program: their cases are in `tests/checks.rs` of the driver's library.
const ELSEWHERE: &[(Check, &str)] = &[
    (Check::Memory, "write-to-read-only"),
    (Check::Race, "copy-race"),
    (Check::Init, "uninitialised-output"),
    (Check::Host, "result-dropped"),
];

/// A body for 64 threads: with the fault, and without.
struct Body(Check, &'static str, &'static str, &'static str);

const BODIES: &[Body] = &[
    Body(Check::Memory, "out-of-bounds", "st.global.u32 [%d0+256], %r0;", "@%p1 st.global.u32 [%d0+252], %r0;"),
    Body(
        Check::Memory,
        "use-after-free",
        "@!%p1 bra done; MALLOC st.u32 [%d2], %r0; FREE ld.u32 %r4, [%d2];",
        "@!%p1 bra done; MALLOC st.u32 [%d2], %r0; ld.u32 %r4, [%d2]; FREE",
    ),
    Body(Check::Memory, "misaligned", "ld.global.u32 %r4, [%d0+2];", "ld.global.u32 %r4, [%d0+4];"),
    Body(
        Check::Memory,
        "other-cta",
        "add.u32 %r3, %r2, 0x1000000; st.shared::cluster.u32 [%r3], %r0;",
        "st.shared::cluster.u32 [%r2], %r0;",
    ),
    Body(Check::Memory, "host-pointer", "mov.u64 %d3, HOST; ld.u32 %r4, [%d3];", "ld.u32 %r4, [%d0];"),
    Body(Check::Memory, "null-pointer", "mov.u64 %d3, 0; ld.u32 %r4, [%d3+4];", "ld.u32 %r4, [%d0+4];"),
    Body(Check::Memory, "wild-pointer", "mov.u64 %d3, 0xdead000000000000; ld.u32 %r4, [%d3];", "ld.u32 %r4, [%d0];"),
    Body(Check::Memory, "write-to-constant", "st.global.u32 [%d4], %r0;", "ld.global.u32 %r4, [%d4];"),
    Body(Check::Memory, "double-free", "@!%p1 bra done; MALLOC FREE FREE", "@!%p1 bra done; MALLOC FREE MALLOC FREE"),
    Body(
        Check::Memory,
        "foreign-free",
        "@!%p1 bra done; MALLOC add.u64 %d2, %d2, 8; FREE",
        "@!%p1 bra done; MALLOC add.u64 %d2, %d2, 8; sub.u64 %d2, %d2, 8; FREE",
    ),
    Body(Check::Race, "shared-race", "st.shared.u32 [%r2], %r0;", "@%p1 st.shared.u32 [%r2], %r0;"),
    Body(Check::Race, "global-race", "st.global.u32 [%d0], %r0;", "st.global.u32 [%d1], %r0;"),
    Body(Check::Race, "shared-same-value", "st.shared.u32 [%r2], 7;", "@%p1 st.shared.u32 [%r2], 7;"),
    Body(Check::Race, "global-same-value", "st.global.u32 [%d0], 7;", "@%p1 st.global.u32 [%d0], 7;"),
    Body(
        Check::Init,
        "uninitialised-condition",
        "ld.shared.u32 %r4, [%r2]; setp.eq.u32 %p2, %r4, 0; @%p2 bra done;",
        "st.shared.u32 [%r2], 7; ld.shared.u32 %r4, [%r2]; setp.eq.u32 %p2, %r4, 0; @%p2 bra done;",
    ),
    Body(
        Check::Init,
        "uninitialised-address",
        "ld.shared.u32 %r4, [%r2]; and.b32 %r4, %r4, 12; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];",
        "st.shared.u32 [%r2], 4; ld.shared.u32 %r4, [%r2]; and.b32 %r4, %r4, 12; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];",
    ),
    Body(Check::Sync, "divergent-barrier", "@%p0 bar.sync 0; bar.sync 1;", "bar.sync 0; bar.sync 1;"),
    Body(Check::Sync, "barrier-count", "bar.sync 1, 96;", "bar.sync 1, 64;"),
    Body(
        Check::Sync,
        "member-mask",
        "shfl.sync.idx.b32 %r4, %r0, 0, 31, 0xffff;",
        "shfl.sync.idx.b32 %r4, %r0, 0, 31, 0xffffffff;",
    ),
    Body(
        Check::Sync,
        "mbarrier",
        "@!%p1 bra done; mbarrier.arrive.shared.b64 %d2, [%r2];",
        "@!%p1 bra done; mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.shared.b64 %d2, [%r2];",
    ),
    Body(
        Check::Sync,
        "mbarrier-overwritten",
        "@!%p1 bra done; mbarrier.init.shared.b64 [%r2], 1; st.shared.u32 [%r2+4], %r0;",
        "@!%p1 bra done; mbarrier.init.shared.b64 [%r2], 1; st.shared.u32 [%r2+8], %r0;",
    ),
    Body(
        Check::Sync,
        "mbarrier-arrivals",
        "@!%p1 bra done; mbarrier.init.shared.b64 [%r2], 2; mbarrier.arrive.shared.b64 %d2, [%r2], 3;",
        "@!%p1 bra done; mbarrier.init.shared.b64 [%r2], 2; mbarrier.arrive.shared.b64 %d2, [%r2], 2;",
    ),
    Body(
        Check::Sync,
        "mbarrier-bytes",
        "@!%p1 bra done; mbarrier.init.shared.b64 [%r2], 2; mbarrier.complete_tx.shared::cluster.b64 [%r2], 16;",
        "@!%p1 bra done; mbarrier.init.shared.b64 [%r2], 2; mbarrier.complete_tx.shared::cluster.b64 [%r2], 16;
        mbarrier.expect_tx.shared.b64 [%r2], 16;",
    ),
    Body(
        Check::Sync,
        "mbarrier-wait",
        "@!%p1 bra done; mbarrier.init.shared.b64 [%r2], 2; mbarrier.arrive.shared.b64 %d2, [%r2];
        again: mbarrier.try_wait.shared.b64 %p2, [%r2], %d2; @!%p2 bra again;",
        "@!%p1 bra done; mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.shared.b64 %d2, [%r2];
        again: mbarrier.try_wait.shared.b64 %p2, [%r2], %d2; @!%p2 bra again;",
    ),
    Body(
        Check::Sync,
        "cluster-barrier",
        "barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;",
        "barrier.cluster.arrive; barrier.cluster.wait; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
];

const MALLOC: &str = "{ .param .b64 size; .param .b64 out; st.param.b64 [size], 24; call (out), malloc, (size); ld.param.b64 %d2, [out]; }";
const FREE: &str = "{ .param .b64 address; st.param.b64 [address], %d2; call free, (address); }";

/// What is found of each kind.
fn found(check: Check, act: impl FnOnce(&Arc<Checker>)) -> Vec<&'static str> {
    let settings = Settings { checks: vec![check], level: Severity::Info, ..Settings::default() };
    let checker = Checker::new(settings, Arc::new(|_: &str| {})).expect("no suppressions");
    act(&checker);
    checker.finish();
    checker.sink().reports().iter().map(|counted| counted.report.kind).collect()
}

fn launched(check: Check, body: &str) -> Vec<&'static str> {
    let host = Box::new(7_u32);
    let address = std::ptr::from_ref(&*host).addr().to_string();
    let body = body.replace("MALLOC", MALLOC).replace("FREE", FREE).replace("HOST", &address);
    let ptx = format!(
        ".extern .func (.param .b64 out) malloc(.param .b64 size);
        .extern .func free(.param .b64 address);
        .visible .entry kernel(.param .u64 from, .param .u64 constants) {{
        .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>; .shared .align 16 .b32 s[64];
        ld.param.u64 %d0, [from]; ld.param.u64 %d4, [constants]; mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid; mov.u32 %r2, s;
        mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0; setp.lt.u32 %p0, %r1, 16; setp.eq.u32 %p1, %r0, 0;
        {body}
        done: ret;
        }}"
    );
    found(check, |checker| {
        let device = Device::with_pool(PoolOptions {
            threads: 1,
            launch_timeout: Some(Duration::from_millis(300)),
            observer: Some(checker.clone()),
            ..PoolOptions::default()
        });
        let kernel = device.kernel(&ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        // What the check reports may end the kernel, too.
        let _ = device.launch(&kernel, Shape::new(1, 64), &[device.alloc(256), device.constants(64)]);
    })
}

fn memory() -> AllocationInfo {
    let (device, owner, tag) = (0, 1, 0);
    AllocationInfo { base: 4096, size: 64, kind: MemoryKind::Device, device, owner, tag, origin: "cuMemAlloc", id: 1 }
}

/// What the host does.
fn told(check: Check, kind: &str, faulty: bool) -> Option<Vec<&'static str>> {
    let copy = |source: Source| {
        vec![HostEvent::CopyWaits { copy: 1, source: 64..128 }, HostEvent::CopyReads { copy: 1, source }]
    };
    let mut events = match (check, kind) {
        (Check::Leak, "memory") => {
            vec![HostEvent::Alloc { info: memory(), place: None }, HostEvent::Free { info: memory(), place: None }]
        }
        (Check::Leak, "object") => vec![
            HostEvent::Made { what: "stream", handle: 16, owner: None },
            HostEvent::Ended { what: "stream", handle: 16 },
        ],
        (Check::Host, "source-changed") if faulty => copy(Source::Changed(64..128)),
        (Check::Host, "source-freed") if faulty => copy(Source::Gone),
        (Check::Host, "source-changed" | "source-freed") => copy(Source::Same),
        _ => return None,
    };
    if check == Check::Leak && faulty {
        events.pop();
    }
    Some(found(check, |checker| events.iter().for_each(|event| checker.host(event))))
}

#[test]
fn every_kind_has_a_case_and_a_clean_twin() {
    let wrong = Mutex::new(Vec::new());
    let case = |check: Check, kind: &'static str| {
        let [faulty, clean] = if let Some(faulty) = told(check, kind, true) {
            [Some(faulty), told(check, kind, false)].map(Option::unwrap_or_default)
        } else if let Some(Body(.., faulty, clean)) = BODIES.iter().find(|body| body.0 == check && body.1 == kind) {
            [faulty, clean].map(|body| launched(check, body))
        } else {
            if !ELSEWHERE.contains(&(check, kind)) {
                wrong.lock().unwrap().push(format!("{}/{kind} has no case", check.name()));
            }
            return;
        };
        if faulty.iter().any(|found| *found != kind) || faulty.is_empty() || !clean.is_empty() {
            wrong.lock().unwrap().push(format!("{}/{kind}: {faulty:?}, and without the fault {clean:?}", check.name()));
        }
    };
    Check::ALL.into_iter().for_each(|check| check.kinds().iter().for_each(|kind| case(check, kind)));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_list_for_people_has_every_kind() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checkers.md"));
    let text = text.expect("the document is there");
    let kinds = Check::ALL.into_iter().flat_map(Check::kinds);
    let missing: Vec<_> = kinds.filter(|kind| !text.contains(&format!("`{kind}`"))).collect();
    assert!(missing.is_empty(), "not in docs/checkers.md: {missing:?}");
}
