//! `fma.rn.oob` against what an H100 computed (`tests/goldens/fma_out_of_bounds.py`), bit for bit.

use serde_json::Value;
use warploom_numerics::format::{Bf16, F16, Format};
use warploom_numerics::half::{self, Modifiers};

fn bits(text: &str) -> u32 {
    u32::from_str_radix(text, 16).expect("hexadecimal")
}

fn words(text: &Value) -> Vec<u32> {
    text.as_str().expect("text").split(' ').map(bits).collect()
}

fn check<F: Format>(case: &Value, one: u16) {
    let how = Modifiers { ftz: false, sat: false, relu: case["relu"].as_bool().expect("a flag") };
    let marked = |[a, b, c]: [u16; 3]| half::fma_oob::<F>(a, b, c, how);
    let plain = |[a, b, c]: [u16; 3]| half::fma::<F>(a, b, c, how);
    for (place, operand) in ["a", "b", "c"].into_iter().enumerate() {
        let recorded = case["sweeps"][operand].as_array().expect("a list");
        let recorded: Vec<&str> = recorded.iter().map(|line| line.as_str().expect("text")).collect();
        let differs = (0..=u16::MAX).filter_map(|x| {
            let mut operands = [one, one, 0x4000];
            operands[place] = x;
            let (marked, plain) = (marked(operands), plain(operands));
            (marked != plain).then(|| format!("{x:04x} {marked:04x} {plain:04x}"))
        });
        assert_eq!(differs.collect::<Vec<_>>(), recorded, "operand {operand}");
    }
    let values: Vec<u16> = case["values"].as_array().expect("a list").iter().map(|v| words(v)[0] as u16).collect();
    let triples: Vec<[u16; 3]> = values
        .iter()
        .flat_map(|&a| values.iter().map(move |&b| (a, b)))
        .flat_map(|(a, b)| values.iter().map(move |&c| [a, b, c]))
        .collect();
    let (products, packed) = (words(&case["products"]), words(&case["packed"]));
    assert_eq!((products.len(), packed.len()), (triples.len(), triples.len()));
    for (index, triple) in triples.iter().enumerate() {
        let upper = triples[triples.len() - 1 - index];
        assert_eq!(u32::from(marked(*triple)), products[index], "{triple:04x?}");
        let pair = |at: usize| u32::from(triple[at]) | u32::from(upper[at]) << 16;
        let got = half::pair3(pair(0), pair(1), pair(2), |a, b, c| marked([a, b, c]));
        assert_eq!(got, packed[index], "{upper:04x?} {triple:04x?}");
    }
}

#[test]
fn agrees_with_the_hardware() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/goldens/fma_out_of_bounds.json");
    let golden: Value = serde_json::from_slice(&std::fs::read(path).expect("recording")).expect("JSON");
    let cases = golden["cases"].as_array().expect("a list");
    assert_eq!(cases.len(), 4);
    for case in cases {
        match case["type"].as_str() {
            Some("f16") => check::<F16>(case, 0x3c00),
            Some("bf16") => check::<Bf16>(case, 0x3f80),
            other => panic!("{other:?}"),
        }
    }
}
