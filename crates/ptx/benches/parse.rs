//! How fast PTX text is parsed, and loaded: a module of 2 MB with many kernels, as compilers write them.
#![allow(missing_docs, reason = "criterion_group! makes a public function")]

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warploom_ptx::syntax::parse;
use warploom_ptx::{Options, load};

/// Kernels with loads, arithmetic, a loop and a call, until the text has `size` bytes.
fn module(size: usize) -> String {
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n\n");
    for kernel in 0.. {
        if text.len() >= size {
            break;
        }
        let _ = write!(
            text,
            ".visible .entry _Z6kernel{kernel}PKfS0_Pfi(\n\t.param .u64 _Z6kernel{kernel}PKfS0_Pfi_param_0,\n\
             \t.param .u64 _Z6kernel{kernel}PKfS0_Pfi_param_1,\n\t.param .u32 _Z6kernel{kernel}PKfS0_Pfi_param_2\n)\n{{\n\
             \t.reg .pred \t%p<3>;\n\t.reg .f32 \t%f<40>;\n\t.reg .b32 \t%r<12>;\n\t.reg .b64 \t%rd<10>;\n\n\
             \tld.param.u64 \t%rd1, [_Z6kernel{kernel}PKfS0_Pfi_param_0];\n\
             \tld.param.u32 \t%r2, [_Z6kernel{kernel}PKfS0_Pfi_param_2];\n\
             \tcvta.to.global.u64 \t%rd3, %rd1;\n\tmov.u32 \t%r3, %ctaid.x;\n\tmov.u32 \t%r4, %ntid.x;\n\
             \tmov.u32 \t%r5, %tid.x;\n\tmad.lo.s32 \t%r1, %r3, %r4, %r5;\n\tsetp.ge.s32 \t%p1, %r1, %r2;\n\
             \t@%p1 bra \t$L__BB{kernel}_2;\n\n\tmul.wide.s32 \t%rd4, %r1, 4;\n\tadd.s64 \t%rd5, %rd3, %rd4;\n"
        );
        for step in 0..24 {
            let _ = write!(
                text,
                "\tld.global.nc.f32 \t%f{step}, [%rd5+{}];\n\tfma.rn.f32 \t%f{}, %f{step}, 0f3F800000, %f{step};\n\
                 \tst.global.v2.f32 \t[%rd5+-{}], {{%f{step}, %f1}};\n",
                4 * step,
                step + 1,
                8 * step
            );
        }
        let _ = write!(text, "\n$L__BB{kernel}_2:\n\tret;\n\n}}\n");
    }
    text
}

fn bench(c: &mut Criterion) {
    let text = module(2_000_000);
    let parsed = parse(text.as_bytes());
    assert!(parsed.diagnostics.is_empty(), "the benchmark's module is valid PTX");
    let mut group = c.benchmark_group("parse");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("2 MB", |b| b.iter(|| parse(black_box(text.as_bytes()))));
    group.finish();

    let options = Options { driver_version: 13000, sm: 90 };
    assert!(load(text.as_bytes(), &options).is_ok(), "the benchmark's module loads");
    let mut group = c.benchmark_group("parse, lower and verify");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.sample_size(30);
    group.bench_function("2 MB", |b| b.iter(|| load(black_box(text.as_bytes()), &options)));
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
