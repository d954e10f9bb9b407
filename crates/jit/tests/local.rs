//! Local memory in compiled code gives what the interpreter gives, whatever size its elements have: words that lie by lane, with places that all lanes have in common
//! and with others; and each thread's bytes behind each other, where an address becomes a generic one.

mod device;

use std::fmt::Write as _;
use std::sync::Arc;

use device::{Device, Nobody};
use warploom_exec::kernel::LoadedKernel;
use warploom_interp::Processor;
use warploom_jit::{Made, Mode, Options as Jit, Origin, Style, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, VerifiedModule, load};

/// Threads of a CTA: the last warp is not whole.
const THREADS: u32 = 80;

/// A kernel whose threads fill an array of 16 elements of so many bits, change one of their own choice in a loop that some leave earlier, look up what an element says in a table, and
/// add all up. `more` stands before the sums.
fn text(bits: u32, more: &str) -> String {
    let bytes = bits / 8;
    let (mut filled, mut sums) = (String::new(), String::new());
    for at in 0..16 {
        let _ = writeln!(filled, "mad.lo.u64 %v, %v, 25, {at}; st.local.u{bits} [mine+{}], %v;", at * bytes);
        let _ = writeln!(sums, "ld.local.u{bits} %w, [mine+{}]; mad.lo.u64 %s, %s, 3, %w;", at * bytes);
    }
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 table)\n{{\n\
         .local .align 16 .b8 mine[{size}];\n\
         .reg .b64 %v, %w, %s, %d, %at, %first, %table; .reg .b32 %tid, %trip, %n, %r; .reg .pred %p;\n\
         ld.param.u64 %d, [out]; ld.param.u64 %table, [table]; mov.u32 %tid, %tid.x; cvt.u64.u32 %v, %tid; mov.u64 %s, 0; mov.u64 %first, mine;\n{filled}\
         mov.u32 %trip, 0;\n\
         L: mad.lo.u32 %n, %tid, 7, %trip; and.b32 %r, %n, 15; mad.wide.u32 %at, %r, {bytes}, %first;\n\
         ld.local.u{bits} %w, [%at]; add.u64 %w, %w, %v; st.local.u{bits} [%at], %w;\n\
         and.b32 %r, %trip, 15; mad.wide.u32 %at, %r, {bytes}, %first; ld.local.u{bits} %w, [%at]; xor.b64 %v, %v, %w;\n\
         cvt.u32.u64 %r, %w; and.b32 %r, %r, 15; mad.wide.u32 %at, %r, 4, %table; ld.global.u32 %n, [%at]; cvt.u64.u32 %w, %n; add.u64 %s, %s, %w;\n\
         add.u32 %trip, %trip, 1; and.b32 %r, %tid, 31; setp.lt.u32 %p, %trip, %r; @%p bra L;\n\
         {more}{sums}\
         mad.wide.u32 %d, %tid, 8, %d; st.global.u64 [%d], %s; ret;\n}}\n",
        size = 16 * bytes,
    )
}

fn run(module: &VerifiedModule, kernel: Arc<dyn LoadedKernel>) -> Vec<u32> {
    let device = Device::new();
    let out = device.buffer(&[0; 2 * THREADS as usize]);
    let table = device.buffer(&(1..17).map(|number: u32| number.wrapping_mul(0x9e37_79b9)).collect::<Vec<_>>());
    device.run(module, kernel, [3, 1, 1], [THREADS, 1, 1], &[&out.to_le_bytes(), &table.to_le_bytes()]);
    assert!(device.engine.fault().is_none(), "{:?}", device.engine.fault().map(|fault| fault.to_string()));
    device.words(out, 2 * THREADS as usize)
}

fn same(text: &str) {
    let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
    let interpreted = warploom_interp::load(&module, FunctionId(0), &|_| true, Processor::V4).expect("covered");
    let expected = run(&module, interpreted);
    let ways = [Style::Chosen, Style::Gangs, Style::Apart, Style::Threads].map(|style| (Target::Host, style));
    for (target, style) in ways.into_iter().chain([(Target::V3, Style::Chosen), (Target::V3, Style::Threads)]) {
        let report = Arc::new(|made: &Made<'_>| assert_eq!(made.code, Ok(Origin::Compiler), "{}", made.kernel));
        let jit = Jit { mode: Mode::Always, target, cache: None, dump: None, style, report };
        let given = run(&module, tiered(jit, &module, FunctionId(0), Arc::new(Nobody)));
        assert_eq!(given, expected, "{target:?} {style:?}\n{text}");
    }
}

#[test]
fn elements_of_one_size() {
    for bits in [8, 16, 32, 64] {
        same(&text(bits, ""));
    }
}

/// Words of four bytes then: parts of one, and several.
#[test]
fn elements_of_several_sizes() {
    for bits in [8, 16, 32, 64] {
        same(&text(
            bits,
            "st.local.u16 [mine+2], %v; ld.local.u8 %w, [mine+5]; st.local.v2.u32 [mine+8], {%n, %r}; add.u64 %s, %s, %w;\n",
        ));
        same(&text(
            bits,
            "st.local.v2.u8 [mine+6], {%n, %r}; ld.local.v2.u16 {%n, %r}, [mine+12]; cvt.u64.u32 %w, %n; add.u64 %s, %s, %w;\n",
        ));
    }
}

#[test]
fn by_generic_addresses() {
    for bits in [8, 32] {
        same(&text(
            bits,
            "cvta.local.u64 %first, %first; ld.u8 %w, [%first+3]; st.u16 [%first+6], %w; add.u64 %s, %s, %w;\n",
        ));
    }
}
