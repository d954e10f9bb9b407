//! `wmma.load` and `wmma.store` in compiled code give what the interpreter gives: all shapes and types, by rows and by columns, of all spaces, and where a
//! matrix goes beyond its memory.

mod device;

use std::fmt::Write as _;
use std::sync::Arc;

use device::{Device, Nobody};
use warploom_exec::kernel::LoadedKernel;
use warploom_interp::Processor;
use warploom_jit::{Made, Mode, Options as Jit, Origin, Style, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, VerifiedModule, load};

/// Words of the memory that a matrix lies in, and how far behind its start, in bytes.
const WORDS: usize = 2048;
const OFFSET: u32 = 64;
/// Words of a lane's registers, at most, and of all lanes'.
const REGISTERS: usize = 8;
const OF_ALL: usize = 32 * REGISTERS;
/// Accesses of a kernel, at most.
const WAYS: usize = 6;

/// A fragment as PTX names it, with its registers.
struct Fragment {
    name: &'static str,
    shape: &'static str,
    ty: &'static str,
    registers: usize,
    /// Elements of a row, and of a column.
    size: [u32; 2],
    layouts: &'static [&'static str],
    /// Its stride is a multiple of this.
    unit: u32,
}

const BOTH: &[&str] = &["row", "col"];

/// All that `wmma` has (PTX ISA 9.7.14.4), but for numbers without a sign, which lie as those with one do.
fn all() -> Vec<Fragment> {
    let mut all = Vec::new();
    let mut add = |name, shape, ty, registers, size, layouts, unit| {
        all.push(Fragment { name, shape, ty, registers, size, layouts, unit });
    };
    for (shape, m, n, bytes) in
        [("m16n16k16", 16, 16, [2, 2]), ("m32n8k16", 32, 8, [4, 1]), ("m8n32k16", 8, 32, [1, 4])]
    {
        for ty in ["f16", "bf16", "s8"] {
            let [a, b] = match ty {
                "f16" => [8, 8],
                "bf16" => bytes.map(|of_bytes| 2 * of_bytes),
                _ => bytes,
            };
            add("a", shape, ty, a, [16, m], BOTH, 1);
            add("b", shape, ty, b, [n, 16], BOTH, 1);
        }
        for (ty, registers) in [("f16", 4), ("f32", 8), ("s32", 8)] {
            add("c", shape, ty, registers, [n, m], BOTH, 1);
        }
    }
    add("a", "m16n16k8", "tf32", 4, [8, 16], BOTH, 1);
    add("b", "m16n16k8", "tf32", 4, [16, 8], BOTH, 1);
    add("c", "m16n16k8", "f32", 8, [16, 16], BOTH, 1);
    add("a", "m8n8k4", "f64", 1, [4, 8], BOTH, 1);
    add("b", "m8n8k4", "f64", 1, [8, 4], BOTH, 1);
    add("c", "m8n8k4", "f64", 2, [8, 8], BOTH, 1);
    for (shape, ty, k) in [("m8n8k32", "s4", 32), ("m8n8k128", "b1", 128)] {
        add("a", shape, ty, 1, [k, 8], &["row"], k);
        add("b", shape, ty, 1, [8, k], &["col"], k);
        add("c", shape, "s32", 2, [8, 8], BOTH, 1);
    }
    all
}

/// The type of a fragment's registers.
fn register(ty: &'static str) -> &'static str {
    match ty {
        "f64" | "f32" => ty,
        _ => "b32",
    }
}

/// How a matrix is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    Shared,
    Global,
    GenericShared,
    GenericGlobal,
}

const ALL: [Reached; 4] = [Reached::Shared, Reached::Global, Reached::GenericShared, Reached::GenericGlobal];

/// How a fragment is loaded and stored: by rows or by columns, in which space, and whether at a distance that is given.
type Access = (&'static str, Reached, bool);

/// A kernel that loads a fragment from a place that is given, in one way after another; stores its registers by lane; and, where there is a store for it, stores it close by, by columns if it
/// was by rows. Shared memory holds at first what global memory does, and is left behind the registers.
fn text(of: &Fragment, accesses: &[Access]) -> String {
    let Fragment { name, shape, ty, registers, .. } = of;
    let kind = register(ty);
    let (bits, bytes) = if kind == "f64" { ("b64", 8) } else { ("b32", 4) };
    let names = (0..*registers).map(|at| format!("%x{at}")).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 at, .param .u32 stride)\n{{\n\
         .reg .b64 %in, %out, %m, %d, %s, %g, %from; .reg .b32 %tid, %n, %w, %stride, %at; .reg .pred %p; .reg .{kind} %x<{registers}>;\n\
         .shared .align 16 .b32 tile[{WORDS}];\n\
         ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; ld.param.u32 %at, [at]; cvt.u64.u32 %from, %at; ld.param.u32 %stride, [stride];\n\
         mov.u32 %tid, %tid.x; mov.u32 %n, %tid; mul.wide.u32 %d, %tid, {}; add.u64 %out, %out, %d;\n\
         IN: mul.wide.u32 %d, %n, 4; add.u64 %g, %in, %d; ld.global.u32 %w, [%g]; mov.u64 %s, tile; add.u64 %s, %s, %d; st.shared.u32 [%s], %w;\n\
         add.u32 %n, %n, 32; setp.lt.u32 %p, %n, {WORDS}; @%p bra IN;\n",
        4 * REGISTERS,
    );
    for (layout, reached, with_stride) in accesses {
        let (space, memory) = match reached {
            Reached::Shared => (".shared", "mov.u64 %m, tile;"),
            Reached::Global => (".global", "mov.u64 %m, %in;"),
            Reached::GenericShared => ("", "mov.u64 %m, tile; cvta.shared.u64 %m, %m;"),
            Reached::GenericGlobal => ("", "mov.u64 %m, %in;"),
        };
        let stride = if *with_stride { ", %stride" } else { "" };
        let _ = writeln!(
            text,
            "bar.sync 0; {memory} add.u64 %m, %m, %from;\n\
             wmma.load.{name}.sync.aligned.{layout}.{shape}{space}.{ty} {{{names}}}, [%m+{OFFSET}]{stride};"
        );
        for at in 0..*registers {
            let _ = writeln!(text, "st.global.{bits} [%out+{}], %x{at};", bytes * at);
        }
        let _ = writeln!(text, "add.u64 %out, %out, {};", 4 * OF_ALL);
        if *name == "c" {
            let (other, to) = (if *layout == "row" { "col" } else { "row" }, OFFSET + 16);
            let _ = writeln!(
                text,
                "bar.sync 0; wmma.store.d.sync.aligned.{other}.{shape}{space}.{ty} [%m+{to}], {{{names}}}{stride};"
            );
        }
    }
    let _ = write!(
        text,
        "bar.sync 0; mul.wide.u32 %d, %tid, {}; sub.u64 %out, %out, %d; mov.u32 %n, %tid;\n\
         OUT: mul.wide.u32 %d, %n, 4; add.u64 %g, %out, %d; mov.u64 %s, tile; add.u64 %s, %s, %d; ld.shared.u32 %w, [%s]; st.global.u32 [%g], %w;\n\
         add.u32 %n, %n, 32; setp.lt.u32 %p, %n, {WORDS}; @%p bra OUT; ret;\n}}\n",
        4 * REGISTERS
    );
    text
}

/// What is left in memory, and whether the kernel failed.
fn run(module: &VerifiedModule, kernel: &Arc<dyn LoadedKernel>, [at, stride]: [u32; 2]) -> (Vec<u32>, bool) {
    let device = Device::new();
    let words: Vec<u32> = (0..WORDS as u32).map(|word| word.wrapping_mul(0x9e37_79b9)).collect();
    let left = WAYS * OF_ALL + WORDS;
    let (out, memory) = (device.buffer(&vec![0; left]), device.buffer(&words));
    let [out_param, memory_param] = [out, memory].map(u64::to_le_bytes);
    let [at, stride] = [at, stride].map(u32::to_le_bytes);
    device.run(module, kernel.clone(), [1; 3], [32, 1, 1], &[&out_param, &memory_param, &at, &stride]);
    if device.engine.fault().is_some() {
        return (Vec::new(), true);
    }
    let mut found = device.words(out, left);
    found.extend(device.words(memory, WORDS));
    (found, false)
}

/// Runs a kernel interpreted and compiled, with matrices at these places; whether it failed at the last one.
fn same(text: &str, target: Target, places: &[[u32; 2]]) -> bool {
    let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect(text));
    let interpreted = warploom_interp::load(&module, FunctionId(0), &|_| true, Processor::V4).expect("covered");
    let report = Arc::new(|made: &Made<'_>| assert_eq!(made.code, Ok(Origin::Compiler), "{}", made.kernel));
    let jit = Jit { mode: Mode::Always, target, cache: None, dump: None, style: Style::Chosen, report };
    let kernel = tiered(jit, &module, FunctionId(0), Arc::new(Nobody));
    let mut failed = false;
    for place in places {
        let (expected, given) = (run(&module, &interpreted, *place), run(&module, &kernel, *place));
        let apart = given.0.iter().zip(&expected.0).position(|(given, expected)| given != expected);
        assert_eq!((apart, given.1), (None, expected.1), "word, failed: {target:?} {place:?}\n{text}");
        failed = given.1;
    }
    failed
}

/// How far runs are from one another, by rows or by columns, so that none lies over another.
fn stride(of: &Fragment) -> u32 {
    of.size[0].max(of.size[1])
}

#[test]
fn fragments_of_all_spaces() {
    for (of, target) in all().iter().zip([Target::Host, Target::V3].iter().cycle()) {
        let [one, other] = [of.layouts[0], of.layouts[of.layouts.len() - 1]];
        let ways: [Access; WAYS] = [
            (one, Reached::Shared, false),
            (one, Reached::Global, true),
            (one, Reached::GenericShared, true),
            (other, Reached::Shared, true),
            (other, Reached::Global, false),
            (other, Reached::GenericGlobal, true),
        ];
        let further = stride(of) + of.unit.max(8);
        let text = text(of, &ways);
        assert!(!same(&text, *target, &[[0, stride(of)], [32, further]]), "{text}");
    }
}

#[test]
fn fragments_that_do_not_lie_in_memory() {
    let of_these = |of: &&Fragment| {
        matches!((of.name, of.shape, of.ty), ("c", "m16n16k16", "f32") | ("a", "m32n8k16", "f16") | ("a", _, "s4"))
    };
    for of in all().iter().filter(of_these) {
        for reached in ALL {
            let (text, stride) = (text(of, &[(of.layouts[0], reached, true)]), stride(of));
            let end = 4 * WORDS as u32 - OFFSET;
            // The last byte beyond it, all of it, an address that is no multiple, and a stride that brings the last run beyond.
            for beyond in [[end - 16, stride], [end, stride], [1, stride], [0, 1 << 20]] {
                assert!(same(&text, Target::Host, &[[0, stride], beyond]), "{reached:?} {beyond:?}\n{text}");
            }
        }
    }
}
