//! Each fault of memory is found, with who did it and what was missed, and what is right is not reported.

use crate::support::{Checked, snapshot};
use warploom_check::Check;

/// Each of 32 threads loads a word and stores one, `last` words further in the last thread.
fn copying(last: u32) -> String {
    format!(
        ".file 1 \"copy.cu\"
        .visible .entry copy(.param .u64 from, .param .u64 to) {{
        .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p;
        ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to];
        mov.u32 %r1, %tid.x; setp.eq.u32 %p, %r1, 31;
        @%p add.u32 %r1, %r1, {last};
        mul.wide.u32 %d3, %r1, 4; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;
        .loc 1 7 3
        ld.global.u32 %r2, [%d1];
        .loc 1 8 3
        st.global.u32 [%d2], %r2;
        ret;
        }}"
    )
}

/// A kernel with a parameter `from`, in `%d1`.
fn entry(variables: &str, body: &str) -> String {
    format!(
        "{variables}
        .visible .entry kernel(.param .u64 from) {{
        .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;
        ld.param.u64 %d1, [from]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;
        {body}
        ret;
        }}"
    )
}

const CHECKS: [Check; 1] = [Check::Memory];

#[test]
fn a_word_behind_an_allocation_is_found() {
    let checked = Checked::new(&CHECKS);
    let (from, to) = (checked.device.alloc(132), checked.device.alloc(128));
    assert_eq!(checked.launch(&copying(0), &[("FROM", from), ("TO", to)]), "");
    snapshot(&checked.launch(&copying(1), &[("FROM", from), ("TO", to)]), "word_behind");
    assert_eq!(checked.checker.sink().errors(), 1);
}

#[test]
fn an_access_that_runs_over_the_end_is_found() {
    let checked = Checked::new(&CHECKS);
    let from = checked.device.alloc(12);
    let load = |ty: &str| entry("", &format!("setp.eq.u32 %p1, %r1, 0; @%p1 ld.global.{ty}; "));
    assert_eq!(checked.launch(&load("v2.u32 {%r2, %r3}, [%d1]"), &[("FROM", from)]), "");
    snapshot(&checked.launch(&load("v4.u32 {%r2, %r3, %r4, %r5}, [%d1]"), &[("FROM", from)]), "straddling");
}

#[test]
fn equal_reports_are_counted() {
    let checked = Checked::new(&CHECKS);
    let from = checked.device.alloc(4);
    let ptx = entry("", "add.u64 %d1, %d1, %d2; ld.global.u32 %r2, [%d1];");
    assert!(checked.launch(&ptx, &[("FROM", from)]).contains("thread (1, 0, 0)"));
    assert_eq!(checked.checker.sink().reports().len(), 1);
    assert_eq!(checked.checker.sink().errors(), 31);
    assert_eq!(checked.checker.sink().summary(), "31 errors at 1 place");
}

#[test]
fn freed_memory_is_found() {
    let checked = Checked::new(&CHECKS);
    let from = checked.device.alloc(1 << 22);
    let ptx = entry("", "ld.global.u32 %r2, [%d1+8];");
    assert_eq!(checked.launch(&ptx, &[("FROM", from)]), "");
    checked.device.free(from);
    snapshot(&checked.launch(&ptx, &[("FROM", from)]), "freed");
}

#[test]
fn misalignment_is_found() {
    let checked = Checked::new(&CHECKS);
    let from = checked.device.alloc(256);
    let ptx = |offset: u32| entry("", &format!("ld.global.v2.u32 {{%r2, %r3}}, [%d1+{offset}];"));
    assert_eq!(checked.launch(&ptx(8), &[("FROM", from)]), "");
    snapshot(&checked.launch(&ptx(4), &[("FROM", from)]), "misaligned");
}

#[test]
fn pointers_to_nowhere_and_to_the_host_are_found() {
    let checked = Checked::new(&CHECKS);
    let ptx = entry("", "ld.u32 %r2, [%d1];");
    snapshot(&checked.launch(&ptx, &[("NULL", 0)]), "null");
    let host = Box::new(7u32);
    snapshot(&checked.launch(&ptx, &[("HOST", std::ptr::from_ref(&*host).addr() as u64)]), "host");
}

#[test]
fn writes_to_constants_are_found() {
    let checked = Checked::new(&CHECKS);
    let constants = checked.device.constants(64);
    let ptx = |operation: &str| entry("", operation);
    assert_eq!(checked.launch(&ptx("ld.global.u32 %r2, [%d1+16];"), &[("CONSTANTS", constants)]), "");
    snapshot(&checked.launch(&ptx("st.global.u32 [%d1+16], %r1;"), &[("CONSTANTS", constants)]), "constant");
}

#[test]
fn shared_memory_ends_to_the_byte() {
    let checked = Checked::new(&CHECKS);
    let ptx = |offset: u32| {
        let body = format!("mov.u32 %r3, s; add.u32 %r3, %r3, {offset}; st.shared.u8 [%r3], %r1;");
        entry(".shared .align 4 .b8 s[20];", &body)
    };
    assert_eq!(checked.launch(&ptx(19), &[("X", 0)]), "");
    snapshot(&checked.launch(&ptx(20), &[("X", 0)]), "shared");
}

#[test]
fn shared_memory_of_no_cta_is_found() {
    let checked = Checked::new(&CHECKS);
    let body = "mov.u32 %r3, s; add.u32 %r3, %r3, 0x1000000; st.shared::cluster.u32 [%r3], %r1;";
    snapshot(&checked.launch(&entry(".shared .align 4 .b8 s[20];", body), &[("X", 0)]), "other_cta");
}

#[test]
fn local_memory_ends_with_the_functions_own() {
    let checked = Checked::new(&CHECKS);
    let ptx = |offset: u32| {
        format!(
            ".visible .entry kernel(.param .u64 from) {{
            .reg .b32 %r<9>; .reg .b64 %d<9>; .local .align 16 .b8 l[32];
            mov.u64 %d3, l; cvta.local.u64 %d3, %d3; mov.u32 %r1, 7;
            st.u32 [%d3+{offset}], %r1;
            ret;
            }}"
        )
    };
    assert_eq!(checked.launch(&ptx(28), &[("X", 0)]), "");
    snapshot(&checked.launch(&ptx(32), &[("X", 0)]), "local");
}

#[test]
fn loads_that_are_taken_together_are_held_against_the_end_one_by_one() {
    let body = "add.u64 %d2, %d1, %d2; mov.b32 %r8, 0;
        ld.global.f32 %r2, [%d2]; ld.global.f32 %r3, [%d1]; fma.rn.f32 %r4, %r2, %r3, %r8;
        ld.global.f32 %r5, [%d2+4]; fma.rn.f32 %r6, %r5, %r5, %r4;
        ld.global.f32 %r7, [%d2+8]; fma.rn.f32 %r8, %r7, %r7, %r6;
        st.global.f32 [%d1], %r8;";
    let checked = Checked::new(&CHECKS);
    let from = checked.device.alloc(34 * 4);
    assert_eq!(checked.launch(&entry("", body), &[("FROM", from)]), "");
    let checked = Checked::new(&CHECKS);
    let from = checked.device.alloc(33 * 4);
    let said = checked.launch(&entry("", body), &[("FROM", from)]);
    assert!(said.contains("load of 4 bytes at FROM+0x84, just past the end of an allocation"), "{said}");
    assert!(said.contains("PTX line 11") && said.contains("thread (31, 0, 0)"), "{said}");
    assert_eq!(checked.checker.sink().errors(), 1);
}

/// Calls `malloc` and `free` of a kernel.
fn heap(body: &str) -> String {
    format!(
        ".extern .func (.param .b64 out) malloc(.param .b64 size);
        .extern .func free(.param .b64 address);
        .visible .entry kernel(.param .u64 from) {{
        .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p;
        mov.u32 %r1, %tid.x; setp.ne.u32 %p, %r1, 0; @%p ret;
        ld.param.u64 %d1, [from];
        {{ .param .b64 size; .param .b64 out; st.param.b64 [size], 24; call (out), malloc, (size); ld.param.b64 %d2, [out]; }}
        {body}
        ret;
        }}"
    )
}

fn freeing(register: &str) -> String {
    format!("{{ .param .b64 address; st.param.b64 [address], {register}; call free, (address); }}")
}

#[test]
fn wrong_frees_in_kernels_are_found() {
    let checked = Checked::new(&CHECKS);
    let from = checked.device.alloc(64);
    let params = [("FROM", from)];
    let right = heap(&format!("st.global.u64 [%d2+16], %d1; {}", freeing("%d2")));
    assert_eq!(checked.launch(&right, &params), "");
    let twice = heap(&format!("{}{}", freeing("%d2"), freeing("%d2")));
    let inside = heap(&format!("add.u64 %d3, %d2, 8; {}", freeing("%d3")));
    let kinds = [
        (twice, "memory/double-free"),
        (heap(&freeing("%d1")), "memory/foreign-free"),
        (inside, "memory/foreign-free"),
    ];
    for (ptx, kind) in kinds {
        let checked = Checked::new(&CHECKS);
        let from = checked.device.alloc(64);
        let said = checked.launch(&ptx, &[("FROM", from)]);
        assert!(said.contains(kind) && said.contains("thread (0, 0, 0)"), "{said}");
    }
}

#[test]
fn the_heap_of_kernels_ends_to_the_byte() {
    let checked = Checked::new(&CHECKS);
    let said = checked.launch(&heap("st.global.u64 [%d2+20], %d1;").replace("24;", "20;"), &[("FROM", 0)]);
    assert!(said.contains("memory/misaligned"), "{said}");
    let said = checked.launch(&heap("st.global.u32 [%d2+24], %r1;"), &[("FROM", 0)]);
    assert!(said.contains("just past the end of an allocation") && said.contains("24-byte device heap"), "{said}");
}

#[test]
fn asynchronous_copies_are_looked_at() {
    let checked = Checked::new(&CHECKS);
    let from = checked.device.alloc(500);
    let ptx = |size: u32| {
        let body = format!(
            "mov.u32 %r3, s; shl.b32 %r4, %r1, 4; add.u32 %r3, %r3, %r4; mul.wide.u32 %d2, %r1, 16; add.u64 %d1, %d1, %d2;
            setp.ne.u32 %p1, %r1, 31; mov.u32 %r5, {size}; @%p1 mov.u32 %r5, 16;
            cp.async.ca.shared.global [%r3], [%d1], 16, %r5; cp.async.wait_all;"
        );
        entry(".shared .align 16 .b8 s[512];", &body)
    };
    // The last thread reads as many bytes as there are, and gets zeros for the rest.
    assert_eq!(checked.launch(&ptx(4), &[("FROM", from)]), "");
    let said = checked.launch(&ptx(8), &[("FROM", from)]);
    assert!(said.contains("load of 8 bytes at FROM+0x1f0, of which 4 are beyond the end"), "{said}");
}
