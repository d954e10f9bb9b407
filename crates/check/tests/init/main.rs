//! Values that nobody has written are reported where they decide something, with where they came from, and not where they are moved.

mod barriers;
mod lanes;

use std::sync::{Arc, Mutex, OnceLock};

use warploom_check::{Check, Checker, Settings};
use warploom_exec::memory::{AllocationInfo, MemoryKind};
use warploom_exec::observe::{Bytes, HostEvent, Observer, StreamPlace};
use warploom_exec::texture::{AddressMode, Channel, Objects, Sampler, Texels, Texture};
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

/// One texture, which is also a surface.
#[derive(Default)]
struct One(OnceLock<Texture>);

impl Objects for One {
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.0.get().filter(|_| handle == HANDLE).cloned().map(Arc::new)
    }

    fn surface(&self, handle: u64) -> Option<Arc<Texels>> {
        self.texture(handle).map(|texture| Arc::new(texture.base().clone()))
    }
}

/// What [`One`] is called.
const HANDLE: u64 = 0x70;

impl Checked {
    fn new() -> Checked {
        Checked::with_objects(Arc::new(One::default()))
    }

    fn with_objects(objects: Arc<One>) -> Checked {
        let said = Arc::new(Mutex::new(String::new()));
        let out = Arc::clone(&said);
        let say = Arc::new(move |text: &str| out.lock().unwrap().push_str(text));
        let settings = Settings { checks: vec![Check::Init], ..Settings::default() };
        let checker = Checker::new(settings, say).expect("no suppressions");
        let device = Device::observed_with_objects(checker.clone(), objects);
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
        self.run_threads(32, declarations, body)
    }

    fn run_threads(&self, threads: u32, declarations: &str, body: &str) -> String {
        let text = format!(".visible .entry kernel(.param .u64 out) {{{declarations}{PROLOGUE}{body}\nret;\n}}");
        let kernel = self.device.kernel(&text).unwrap_or_else(|error| panic!("{error}\n{body}"));
        let _ = self.device.launch(&kernel, Shape::new(1, threads), &[self.out]);
        std::mem::take(&mut *self.said.lock().unwrap())
    }

    /// The program is given memory.
    fn info(base: u64, size: u64, kind: MemoryKind) -> AllocationInfo {
        AllocationInfo { base, size, kind, device: 0, owner: 1, tag: 0, origin: "cuArrayCreate", id: 2 }
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

const DECIDE: &str = "setp.eq.u32 %p2, %r2, 7;\n@%p2 bra done;\ndone:";

/// Of a word of which somebody has written the lower half, or of two words of which somebody has written one.
#[test]
fn instructions_that_move_bytes_move_what_is_known_of_them() {
    // The upper half of %r1 is of memory that nobody has written, %r9 and %r10 hold nothing at all.
    let half = "cvt.u16.u32 %h1, %r0;\nst.global.u16 [%d1], %h1;\nld.global.u32 %r1, [%d1];";
    let [lower, upper]: [&[&str]; 2] = [
        &[
            "and.b32 %r2, %r1, 0xffff;",
            "shl.b32 %r2, %r1, 16;",
            "bfe.u32 %r2, %r1, 4, 8;",
            "prmt.b32 %r2, %r1, 0, 0x4410;",
            "mov.b32 {%h2, %h3}, %r1; cvt.u32.u16 %r2, %h2;",
            "cvt.u32.u16 %r2, %r1;",
            "cvt.u64.u32 %d2, %r1; mov.b64 {%r3, %r2}, %d2;",
            "mov.b64 %d2, {%r0, %r9}; cvt.u32.u64 %r2, %d2;",
            "mov.b64 %d2, {%r9, %r0}; mov.b64 {%r10, %r2}, %d2;",
            "lop3.b32 %r2, %r1, 0xff, %r0, 0x6a;",
            "st.shared.u32 [s], %r1; ld.shared.u16 %r2, [s];",
            "st.local.u32 [l], %r1; ld.local.u16 %r2, [l];",
            "st.global.u32 [%d1+128], %r1; ld.global.u16 %r2, [%d1+128];",
        ],
        &[
            "and.b32 %r2, %r1, 0xffff0;",
            "shl.b32 %r2, %r1, 15;",
            "shr.u32 %r2, %r1, 16;",
            "bfe.u32 %r2, %r1, 4, 13;",
            "prmt.b32 %r2, %r1, 0, 0x4424;",
            "mov.b32 {%h2, %h3}, %r1; cvt.u32.u16 %r2, %h3;",
            "add.u32 %r2, %r1, 0;",
            "mov.b64 %d2, {%r0, %r9}; mov.b64 {%r10, %r2}, %d2;",
            "lop3.b32 %r2, %r1, 0xffffff, %r0, 0x6a;",
            "st.shared.u32 [s], %r1; ld.shared.u16 %r2, [s+2];",
            "st.local.u32 [l], %r1; ld.local.u16 %r2, [l+2];",
            "st.global.u32 [%d1+128], %r1; ld.global.u16 %r2, [%d1+130];",
        ],
    ];
    let declarations = ".shared .align 16 .b32 s[64]; .local .align 16 .b8 l[64];";
    for part in lower {
        clean(declarations, &format!("{half}\n{part}\n{DECIDE}"));
    }
    for part in upper {
        finds(declarations, &format!("{half}\n{part}\n{DECIDE}"), &["uninitialised-condition"]);
    }
}

#[test]
fn what_is_not_chosen_counts_for_nothing() {
    // %r9 and %p7 hold nothing.
    clean("", &format!("selp.u32 %r2, %r9, %r0, %p1;\n@%p1 mov.u32 %r2, 1;\n{DECIDE}"));
    finds("", &format!("selp.u32 %r2, %r0, %r9, %p1;\n{DECIDE}"), &["uninitialised-condition", "thread (1, 0, 0)"]);
    finds("", &format!("selp.u32 %r2, %r0, 5, %p7;\n{DECIDE}"), &["uninitialised-condition", "thread (0, 0, 0)"]);
    let branch = "@%p3 bra done;\ndone:";
    let never = "setp.ne.u32 %p4, %r0, %r0;";
    clean("", &format!("{never}\nand.pred %p3, %p4, %p7;\n{branch}"));
    clean("", &format!("{never}\nnot.pred %p4, %p4;\nor.pred %p3, %p7, %p4;\n{branch}"));
    clean("", &format!("{never}\nsetp.eq.and.u32 %p3, %r9, 1, %p4;\n{branch}"));
    finds("", &format!("{never}\nor.pred %p3, %p4, %p7;\n{branch}"), &["uninitialised-condition"]);
    finds("", &format!("and.pred %p3, %p6, %p7;\n{branch}"), &["uninitialised-condition"]);
    finds("", &format!("{never}\nsetp.eq.or.u32 %p3, %r9, 1, %p4;\n{branch}"), &["uninitialised-condition"]);
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

/// Sums of products that are computed in one: what they read of memory and of registers counts as if they were computed one by one.
#[test]
fn sums_that_are_computed_in_one() {
    let sums = |before: &str, start: &str| {
        let product =
            |at: u32| format!("ld.global.f32 %f1{at}, [%d1+{}];\nfma.rn.f32 %f2, %f1{at}, %f1, %f2;\n", 128 * at);
        let products: String = (0..4).map(product).collect();
        format!(
            "{before} mov.f32 %f2, {start}; {products} setp.gt.f32 %p2, %f2, 0f00000000;\n@%p2 st.global.u32 [%d1], %r0;"
        )
    };
    let declarations = ".reg .f32 %f<20>;";
    let stores: String = (0..4).map(|at| format!("st.global.f32 [%d1+{}], 0f3f800000; ", 128 * at)).collect();
    clean(declarations, &sums(&format!("mov.f32 %f1, 0f40000000; {stores}"), "0f00000000"));
    let condition = "error[init/uninitialised-condition]";
    let unwritten = stores.replace("st.global.f32 [%d1+256], 0f3f800000;", "");
    let read = "it was read here from global memory";
    finds(declarations, &sums(&format!("mov.f32 %f1, 0f40000000; {unwritten}"), "0f00000000"), &[condition, read]);
    let register = "it comes from a register that was never written";
    finds(declarations, &sums(&stores, "0f00000000"), &[condition, register]);
    finds(declarations, &sums(&format!("mov.f32 %f1, 0f40000000; {stores}"), "%f9"), &[condition, register]);
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
    // What a structure leaves out between a byte and a word.
    assert_eq!(
        checked.run("", "cvt.u16.u32 %h1, %r0;\n@%p1 st.global.u8 [%d1+128], %h1;\n@%p1 st.global.u32 [%d1+132], %r0;"),
        ""
    );
    assert_eq!(to_host(136), "");
    // A fill, and a copy on the device of what is written in part.
    assert_eq!(checked.touches(None, bytes(out + 128..out + 512, false)), "");
    assert_eq!(checked.touches(bytes(out + 500..out + 524, false), bytes(out + 512..out + 536, false)), "");
    let said = to_host(600);
    assert!(said.contains("76 bytes that nobody has written"), "{said}");
    assert_eq!(checked.touches(bytes(0..1024, true), bytes(out..out + 1024, false)), "");
    assert_eq!(to_host(1024), "");
}

#[test]
fn bytes_between_the_rows_of_pitched_memory() {
    // Four rows of 32 bytes, 64 apart, are copied into an array, which the host is given, from column `column` on.
    let copied = |column: u64| {
        let checked = Checked::new();
        let (pitched, array) = (checked.device.alloc(256), checked.device.alloc(128));
        for (base, size, kind) in [(pitched, 256, MemoryKind::Device), (array, 128, MemoryKind::Array)] {
            checked.checker.host(&HostEvent::Alloc { info: Checked::info(base, size, kind), place: None });
        }
        for row in 0..4 {
            checked.touches(None, bytes(pitched + 64 * row..pitched + 64 * row + 32, false));
        }
        let rows = (0..4).map(|row| {
            let (from, to) = (pitched + 64 * row + column, array + 32 * row);
            checked.touches(bytes(from..from + 32, false), bytes(to..to + 32, false))
        });
        assert_eq!(rows.collect::<String>(), "");
        checked.touches(bytes(array..array + 128, false), bytes(0..128, true))
    };
    assert_eq!(copied(0), "");
    let said = copied(8);
    for part in ["error[init/uninitialised-output]", "32 bytes", "at offset 24 of 128 bytes of an array"] {
        assert!(said.contains(part), "{said}");
    }
}

/// A kernel that branches on a word at an address.
fn branch_on(address: u64) -> String {
    format!("mov.u64 %d3, {address:#x}; ld.global.u32 %r1, [%d3];\nsetp.eq.u32 %p2, %r1, 7;\n@%p2 bra done;\ndone:")
}

#[test]
fn physical_memory_that_was_mapped_for_the_first_time() {
    let checked = Checked::new();
    let base = checked.device.alloc(4096);
    let info = Checked::info(base, 4096, MemoryKind::Device);
    let body = branch_on(base + 128);
    checked.checker.host(&HostEvent::Mapped { info, fresh: true, silent: false });
    assert!(checked.run("", &body).contains("error[init/uninitialised-condition]"));
    // Mapped again it holds what it held, and so does what others may have.
    checked.checker.host(&HostEvent::Unmapped(info));
    assert_eq!(checked.run("", &body), "");
    checked.checker.host(&HostEvent::Mapped { info, fresh: true, silent: false });
    checked.checker.host(&HostEvent::Mapped { info, fresh: false, silent: false });
    assert_eq!(checked.run("", &body), "");
    checked.checker.host(&HostEvent::Mapped { info, fresh: true, silent: false });
    checked.touches(None, bytes(base..base + 4096, false));
    assert_eq!(checked.run("", &body), "");
    // On the host, which has touched it.
    checked.checker.host(&HostEvent::Unmapped(info));
    checked.checker.host(&HostEvent::Mapped { info, fresh: true, silent: true });
    assert_eq!(checked.run("", &body), "");
}

#[test]
fn managed_and_pinned_memory_of_which_nobody_has_touched_a_page() {
    for (kind, name) in [(MemoryKind::Managed, "managed memory"), (MemoryKind::PinnedHost, "pinned memory")] {
        let checked = Checked::new();
        let size = 1 << 16;
        let untouched = checked.device.constants(size);
        checked.checker.host(&HostEvent::Alloc { info: Checked::info(untouched, size, kind), place: None });
        let said = checked.run("", &branch_on(untouched + size / 2));
        assert!(said.contains("error[init/uninitialised-condition]") && said.contains(name), "{said}");
        // The host writes without telling.
        let touched = checked.device.alloc(size);
        checked.checker.host(&HostEvent::Alloc { info: Checked::info(touched, size, kind), place: None });
        assert_eq!(checked.run("", &branch_on(touched + size / 2)), "");
    }
}

/// An array of 8 by 4 words that the program was given, and what is said of a kernel.
fn with_array(linear: bool, body: &str, act: impl FnOnce(&Checked, u64)) -> String {
    let objects = Arc::new(One::default());
    let checked = Checked::with_objects(objects.clone());
    let address = checked.device.alloc(128);
    let texels = Texels {
        address,
        size: [8, 4, 1],
        dimensions: 2,
        pitch: 32,
        slice: 128,
        channel: Channel::F32,
        channels: 1,
        layered: false,
        cube: false,
        linear: false,
        fractions: false,
        blocks: None,
        mapped: None,
    };
    let sampler = Sampler { address: [AddressMode::Clamp; 3], linear, ..Sampler::default() };
    objects.0.set(Texture::new(vec![texels], sampler)).unwrap();
    let info = Checked::info(address, 128, MemoryKind::Array);
    checked.checker.host(&HostEvent::Alloc { info, place: None });
    act(&checked, address);
    checked.run(".reg .f32 %f<9>;", body)
}

const BRANCH: &str = "setp.eq.f32 %p2, %f1, 0f00000000; @%p2 bra done;\ndone:";

/// Reads the texel of column 3, row 1, or what lies between it and that of column 4.
fn fetch(x: f32) -> String {
    let x = x.to_bits();
    format!(
        "mov.u64 %d3, {HANDLE}; tex.2d.v4.f32.f32 {{%f1, %f2, %f3, %f4}}, [%d3, {{0f{x:08x}, 0f3FC00000}}];\n{BRANCH}"
    )
}

#[test]
fn texels_of_arrays_that_nobody_has_written() {
    let said = with_array(false, &fetch(3.5), |_, _| {});
    for part in ["error[init/uninitialised-condition]", "128 bytes of an array, by cuArrayCreate", "at offset 44"] {
        assert!(said.contains(part), "{said}");
    }
    let row = |checked: &Checked, address: u64| {
        checked.touches(None, bytes(address + 32..address + 48, false));
    };
    assert_eq!(with_array(false, &fetch(3.5), row), "");
    // Between two texels both count, at one of them the other does not.
    assert!(with_array(true, &fetch(4.0), row).contains("at offset 48"));
    assert_eq!(with_array(true, &fetch(3.5), row), "");
    assert_eq!(
        with_array(true, &fetch(4.0), |checked, at| drop(checked.touches(None, bytes(at..at + 128, false)))),
        ""
    );
}

#[test]
fn elements_of_surfaces_that_nobody_has_written() {
    let load = |x: u32| format!("suld.b.2d.b32.trap {{%f1}}, [%d3, {{{x}, 1}}];\n{BRANCH}");
    let store = "mov.u64 %d3, 0x70; mov.f32 %f2, 0f3F800000; sust.b.2d.b32.trap [%d3, {12, 1}], {%f2};";
    assert_eq!(with_array(false, &format!("{store}\n{}", load(12)), |_, _| {}), "");
    assert!(with_array(false, &format!("{store}\n{}", load(16)), |_, _| {}).contains("uninitialised-condition"));
    // What is stored is what it was, written or not.
    let spoil = "mov.u64 %d3, 0x70; ld.global.f32 %f2, [%d1]; sust.b.2d.b32.trap [%d3, {12, 1}], {%f2};";
    assert!(with_array(false, &format!("{spoil}\n{}", load(12)), |_, _| {}).contains("uninitialised-condition"));
}
