//! Products of floats of 8 bits give what panels of numbers give, whatever the bits are.

use warploom_interp::Processor;
use warploom_interp_testing::{Device, Shape as Grid};
use warploom_numerics::format::{E4m3, E5m2, F16, widen};
use warploom_numerics::matrix::{FactorFormat, Scheme, Sizes, real};
use warploom_numerics::vector::Arrays;
use warploom_ptx::ir::{Element, Fragment, FragmentLayout, Shape};

const ROWS: usize = 16;
const COLUMNS: usize = 8;

/// A generator of Weyl's kind, mixed.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 32) as u32
    }
}

/// Where the parts of registers of all lanes begin: `a`, `b`, `c`, by register, 32 words each.
fn text(k: usize, [a_ty, b_ty]: [FactorFormat; 2], half: bool) -> String {
    let name = |ty| if ty == FactorFormat::E4m3 { "e4m3" } else { "e5m2" };
    let d_ty = if half { "f16" } else { "f32" };
    let (of_a, of_b, of_c) = (k / 8, k / 16, if half { 2 } else { 4 });
    let list = |first: usize, count: usize| {
        let all: Vec<String> = (first..first + count).map(|at| format!("%r{at}")).collect();
        all.join(", ")
    };
    let (a, b, c) = (list(0, of_a), list(of_a, of_b), list(of_a + of_b, of_c));
    let count = of_a + of_b + of_c;
    let loads: String = (0..count).map(|at| format!("ld.global.u32 %r{at}, [%in+{}];\n", 128 * at)).collect();
    let stores: String =
        (0..of_c).map(|at| format!("st.global.u32 [%out+{}], %r{};\n", 128 * at, of_a + of_b + at)).collect();
    let results: Vec<String> = (0..of_c).map(|at| format!("%f{at}")).collect();
    let (before, product, after) = if half {
        (String::new(), format!("{{{c}}}, {{{a}}}, {{{b}}}, {{{c}}}"), String::new())
    } else {
        let f = results.join(", ");
        let before: String = (0..of_c).map(|at| format!("mov.b32 %f{at}, %r{};\n", of_a + of_b + at)).collect();
        let after: String = (0..of_c).map(|at| format!("mov.b32 %r{}, %f{at};\n", of_a + of_b + at)).collect();
        (before, format!("{{{f}}}, {{{a}}}, {{{b}}}, {{{f}}}"), after)
    };
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 in, .param .u64 out) {{\n\
         .reg .b32 %r<{count}>, %t; .reg .f32 %f<4>; .reg .b64 %in, %out;\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %in, %t, 4, %in; mad.wide.u32 %out, %t, 4, %out;\n\
         {loads}{before}mma.sync.aligned.m16n8k{k}.row.col.{d_ty}.{}.{}.{d_ty} {product};\n{after}{stores}ret; }}",
        name(a_ty),
        name(b_ty)
    )
}

/// The number in a byte.
fn number(ty: FactorFormat, bits: u32) -> f32 {
    if ty == FactorFormat::E4m3 { widen::<E4m3>(bits) } else { widen::<E5m2>(bits) }
}

/// All elements of a fragment, with where they lie.
fn elements(layout: &FragmentLayout, words: &[u32], mut each: impl FnMut(Element, u32)) {
    let bits = layout.bits;
    for (register, words) in (0..).zip(words.chunks_exact(32)) {
        for (lane, word) in (0..).zip(words) {
            for element in 0..layout.per_register() {
                let value = word >> (bits * element) & (u32::MAX >> (32 - bits));
                each(layout.place(lane, register, element), value);
            }
        }
    }
}

/// What the results are, element by element, computed in panels.
fn expected(k: usize, types: [FactorFormat; 2], half: bool, words: &[u32]) -> Vec<f32> {
    let shape = Shape { m: ROWS as u16, n: COLUMNS as u16, k: k as u16 };
    let (a_words, rest) = words.split_at(32 * (k / 8));
    let (b_words, c_words) = rest.split_at(32 * (k / 16));
    let scheme = Scheme::warp(types, k, false, half);
    let (mut a, mut b, mut c) = (vec![0.0; ROWS * k], vec![0.0; COLUMNS * k], vec![0.0; ROWS * COLUMNS]);
    let layout = |fragment, bits, registers| FragmentLayout::warp(fragment, shape, bits, registers);
    elements(&layout(Fragment::A, 8, k / 8), a_words, |Element { row, column, .. }, bits| {
        a[scheme.place(usize::from(column)) * ROWS + usize::from(row)] = number(types[0], bits);
    });
    elements(&layout(Fragment::B, 8, k / 16), b_words, |Element { row, column, .. }, bits| {
        b[scheme.place(usize::from(row)) * COLUMNS + usize::from(column)] = number(types[1], bits);
    });
    elements(&layout(Fragment::C, if half { 16 } else { 32 }, 4), c_words, |Element { row, column, .. }, bits| {
        c[usize::from(column) * ROWS + usize::from(row)] = if half { widen::<F16>(bits) } else { f32::from_bits(bits) };
    });
    let mut sums = vec![0.0; ROWS * COLUMNS];
    let sizes = Sizes { m: ROWS, n: COLUMNS, k };
    real::multiply(Arrays, scheme.accumulation, sizes, [&a, &b], None, &mut sums);
    c.iter().zip(&sums).map(|(summand, sum)| real::add(*sum, *summand, half)).collect()
}

#[test]
fn products_of_any_bits() {
    let device = Device::with_threads(1);
    let mut random = Random(1);
    let (e4m3, e5m2) = (FactorFormat::E4m3, FactorFormat::E5m2);
    for (k, types, half) in [
        (32, [e4m3, e4m3], false),
        (32, [e5m2, e4m3], false),
        (32, [e4m3, e5m2], true),
        (16, [e5m2, e5m2], false),
        (16, [e4m3, e4m3], true),
    ] {
        let text = text(k, types, half);
        let kernels =
            [Processor::Baseline, Processor::V3, Processor::V4].map(|of| device.kernel_for(&text, of).unwrap());
        let (of_factors, of_c) = (32 * (k / 8 + k / 16), if half { 64 } else { 128 });
        for round in 0..120 {
            // Any bits; exponents in the middle; small numbers and zeros, to the summands of which sums are small.
            let mask = [0xffff_ffff, 0xbfbf_bfbf, 0x8787_8787][round % 5 % 3];
            let mut words: Vec<u32> = (0..of_factors).map(|_| random.word() & mask).collect();
            for _ in 0..of_c {
                let word = random.word();
                words.push(match (half, round % 4) {
                    (_, 0) => 0,
                    (true, 1) => word,
                    (true, _) => word & 0xbfff_bfff,
                    (false, 1) => word,
                    (false, _) => (f32::from_bits(word & 0x807f_ffff | 0x3f80_0000) * 64.0).to_bits(),
                });
            }
            let (input, out) = (device.buffer(&words), device.alloc(4 * of_c as u64));
            device.launch(&kernels[round % kernels.len()], Grid::new(1, 32), &[input, out]).unwrap();
            let found = device.words(out, of_c);
            let wanted = expected(k, types, half, &words);
            let shape = Shape { m: ROWS as u16, n: COLUMNS as u16, k: k as u16 };
            let layout = FragmentLayout::warp(Fragment::C, shape, if half { 16 } else { 32 }, 4);
            elements(&layout, &found, |Element { row, column, .. }, bits| {
                let found = if half { widen::<F16>(bits) } else { f32::from_bits(bits) };
                let wanted = wanted[usize::from(column) * ROWS + usize::from(row)];
                let same = found.to_bits() == wanted.to_bits() || (found.is_nan() && wanted.is_nan());
                assert!(
                    same,
                    "{found} for {wanted} in row {row}, column {column}: k {k}, {types:?}, {half}, round {round}"
                );
            });
        }
    }
}
