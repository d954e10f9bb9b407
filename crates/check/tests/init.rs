//! Values that nobody has written are reported where they decide something, with where they came from, and not where they are moved.

use std::sync::{Arc, Mutex};

use warploom_check::{Check, Checker, Settings};
use warploom_exec::memory::{AllocationInfo, MemoryKind};
use warploom_exec::observe::{Bytes, HostEvent, Observer, StreamPlace};
use warploom_interp_testing::{Device, Shape};

const PROLOGUE: &str = "
    .reg .b32 %r<20>; .reg .b64 %d<9>; .reg .pred %p<9>; .reg .b16 %h<9>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0;
    setp.eq.u32 %p1, %r0, 0;
";

struct Checked {
    device: Device,
    checker: Arc<Checker>,
    said: Arc<Mutex<String>>,
    out: u64,
}

impl Checked {
    fn new() -> Checked {
        let said = Arc::new(Mutex::new(String::new()));
        let out = Arc::clone(&said);
        let say = Arc::new(move |text: &str| out.lock().unwrap().push_str(text));
        let settings = Settings { checks: vec![Check::Init], ..Settings::default() };
        let checker = Checker::new(settings, say).expect("no suppressions");
        let device = Device::observed(checker.clone());
        let base = device.alloc(1024);
        let info = AllocationInfo {
            base,
            size: 1024,
            kind: MemoryKind::Device,
            device: 0,
            owner: 1,
            tag: 0,
            origin: "cuMemAlloc",
            id: 1,
        };
        checker.host(&HostEvent::Alloc { info, place: None });
        Checked { device, checker, said, out: base }
    }

    fn run(&self, declarations: &str, body: &str) -> String {
        let text = format!(".visible .entry kernel(.param .u64 out) {{{declarations}{PROLOGUE}{body}\nret;\n}}");
        let kernel = self.device.kernel(&text).unwrap_or_else(|error| panic!("{error}\n{body}"));
        let _ = self.device.launch(&kernel, Shape::new(1, 32), &[self.out]);
        std::mem::take(&mut *self.said.lock().unwrap())
    }

    fn touches(&self, read: Option<Bytes>, written: Option<Bytes>) -> String {
        let place = StreamPlace { stream: 1, number: 1 };
        self.checker.host(&HostEvent::Touches { place, read, written, what: "a copy" });
        std::mem::take(&mut *self.said.lock().unwrap())
    }
}

fn bytes(range: std::ops::Range<u64>, host: bool) -> Option<Bytes> {
    Some(Bytes { range, host })
}

#[track_caller]
fn finds(declarations: &str, body: &str, expected: &[&str]) {
    let text = Checked::new().run(declarations, body);
    for part in expected {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

#[track_caller]
fn clean(declarations: &str, body: &str) {
    assert_eq!(Checked::new().run(declarations, body), "", "{body}");
}

#[test]
fn a_branch_on_device_memory_that_nobody_has_written() {
    finds(
        "",
        "ld.global.u32 %r1, [%d1];\nadd.u32 %r2, %r1, 1;\nsetp.eq.u32 %p2, %r2, 7;\n@%p2 st.global.u32 [%d1], %r2;",
        &[
            "error[init/uninitialised-condition]",
            "PTX line 11, CTA (0, 0, 0), thread (0, 0, 0)",
            "from global memory",
            "PTX line 8",
        ],
    );
    clean(
        "",
        "st.global.u32 [%d1], %r0;\nld.global.u32 %r1, [%d1];\nsetp.eq.u32 %p2, %r1, 7;\n@%p2 st.global.u32 [%d1], %r1;",
    );
    // Moved and computed with, but nothing hangs on it.
    clean("", "ld.global.u32 %r1, [%d1];\nadd.u32 %r2, %r1, 1;\nst.global.u32 [%d1+128], %r2;");
    // Through memory it stays what it is.
    finds(
        "",
        "ld.global.u32 %r1, [%d1];\nst.global.u32 [%d1+128], %r1;\nld.global.u32 %r2, [%d1+128];\nsetp.eq.u32 %p2, %r2, 7;\n@%p2 bra done;\ndone:",
        &["uninitialised-condition"],
    );
}

#[test]
fn one_byte_of_a_word_is_enough() {
    finds(
        "",
        "cvt.u16.u32 %h1, %r0;\nst.global.u16 [%d1], %h1;\nld.global.u32 %r1, [%d1];\nsetp.eq.u32 %p2, %r1, 7;\n@%p2 bra done;\ndone:",
        &["uninitialised-condition"],
    );
    clean(
        "",
        "cvt.u16.u32 %h1, %r0;\nst.global.u16 [%d1], %h1;\nld.global.u16 %h2, [%d1];\nsetp.eq.u16 %p2, %h2, 7;\n@%p2 bra done;\ndone:",
    );
}

#[test]
fn shared_memory_that_nobody_has_written() {
    let shared = ".shared .align 16 .b32 s[64];";
    finds(
        shared,
        "ld.shared.u32 %r1, [s+4];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra done;\ndone:",
        &["uninitialised-condition", "from shared memory, at 0x4"],
    );
    clean(
        shared,
        "@%p1 st.shared.u32 [s+4], %r0;\nbar.sync 0;\nld.shared.u32 %r1, [s+4];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra done;\ndone:",
    );
}

#[test]
fn local_memory_that_a_thread_has_not_written() {
    let local = ".local .align 16 .b8 l[64];";
    finds(
        local,
        "@%p1 st.local.u32 [l+4], %r0;\nld.local.u32 %r1, [l+4];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra done;\ndone:",
        &["uninitialised-condition", "thread (1, 0, 0)", "from local memory"],
    );
    clean(local, "st.local.u32 [l+4], %r0;\nld.local.u32 %r1, [l+4];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra done;\ndone:");
}

#[test]
fn registers_that_were_never_written() {
    finds(
        "",
        "@%p1 mov.u32 %r5, 1;\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra done;\ndone:",
        &["uninitialised-condition", "thread (1, 0, 0)", "it comes from a register that was never written"],
    );
    clean("", "@%p1 mov.u32 %r5, 1;\n@!%p1 mov.u32 %r5, 2;\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra done;\ndone:");
}

#[test]
fn addresses_made_of_what_nobody_has_written() {
    finds(
        "",
        "ld.global.u32 %r1, [%d1];\nand.b32 %r1, %r1, 12;\ncvt.u64.u32 %d2, %r1;\nadd.u64 %d2, %d2, %d0;\nst.global.u32 [%d2], %r0;",
        &["error[init/uninitialised-address]", "PTX line 12", "PTX line 8"],
    );
}

#[test]
fn values_stay_what_they_are_through_calls() {
    let function = "call (%r2), id, (%r1);\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra done;\ndone:";
    let text = |load: &str| {
        format!(
            ".func (.reg .b32 %o) id(.reg .b32 %i) {{ add.u32 %o, %i, 1; ret; }}
            .visible .entry kernel(.param .u64 out) {{{PROLOGUE}{load}\n{function}\nret;\n}}"
        )
    };
    for (load, expected) in [("ld.global.u32 %r1, [%d1];", true), ("mov.u32 %r1, %tid.x;", false)] {
        let checked = Checked::new();
        let kernel = checked.device.kernel(&text(load)).expect("it loads");
        checked.device.launch(&kernel, Shape::new(1, 32), &[checked.out]).expect("it runs");
        let said = std::mem::take(&mut *checked.said.lock().unwrap());
        assert_eq!(said.contains("uninitialised-condition"), expected, "{load}\n{said}");
    }
}

#[test]
fn what_the_host_is_given() {
    let checked = Checked::new();
    let out = checked.out;
    assert_eq!(checked.run("", "st.global.u32 [%d1], %r0;"), "");
    let to_host = |len| checked.touches(bytes(out..out + len, false), bytes(0..len, true));
    assert_eq!(to_host(128), "");
    let said = to_host(132);
    assert!(said.contains("error[init/uninitialised-output]: a copy gives the host 4 bytes that nobody has"), "{said}");
    assert!(said.contains("the first lies at offset 128 of 1024 bytes of device memory, by cuMemAlloc"), "{said}");
    // A fill, and a copy on the device of what is written in part.
    assert_eq!(checked.touches(None, bytes(out + 128..out + 512, false)), "");
    assert_eq!(checked.touches(bytes(out + 500..out + 524, false), bytes(out + 512..out + 536, false)), "");
    let said = to_host(600);
    assert!(said.contains("76 bytes that nobody has written"), "{said}");
    assert_eq!(checked.touches(bytes(0..1024, true), bytes(out..out + 1024, false)), "");
    assert_eq!(to_host(1024), "");
}
