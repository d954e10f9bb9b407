//! Samples along gradients, compared as numbers: hardware finds lengths with fewer operations, so that they are near, and not the same.

use std::ops::Range;

/// A line of `anisotropy.golden`: what was sampled, how far its mean is off, the mean square around it, the level, and the weights of texels in a row.
struct Line<'t> {
    what: &'t str,
    numbers: Vec<f64>,
}

const MIDDLE: usize = 0;
const LEVEL: usize = 2;
const WEIGHTS: Range<usize> = 3..16;

fn lines(text: &str) -> Vec<Line<'_>> {
    let split = |line| -> Line<'_> {
        let (what, numbers): (&str, &str) = str::split_once(line, ':').expect("a line says what it is of");
        let numbers = numbers.split([' ', ';']).filter(|number| !number.is_empty());
        Line { what, numbers: numbers.map(|number| number.parse().expect("a number")).collect() }
    };
    text.lines().map(split).collect()
}

#[test]
fn footprints_are_sampled_as_recorded() {
    let golden = super::root().join("tests/c/answers/anisotropy.golden");
    let golden = std::fs::read_to_string(golden).expect("the recording is part of the repository");
    let ours = super::run("anisotropy", "", |_| {});
    let (recorded, ours) = (lines(&golden), lines(&ours));
    assert_eq!(recorded.len(), ours.len());
    let mut several = 0;
    for (recorded, ours) in recorded.iter().zip(&ours) {
        assert_eq!(recorded.what, ours.what);
        if recorded.what.starts_with("most") {
            assert_eq!(recorded.numbers, ours.numbers, "{}", recorded.what);
            continue;
        }
        assert_eq!((recorded.numbers.len(), ours.numbers.len()), (WEIGHTS.end, WEIGHTS.end), "{}", recorded.what);
        // Gradients that lie along an axis of the texture, and those that lie askew.
        let along = recorded.what.starts_with(['0', '1']);
        let (level, weight) = if along { (2.0 / 256.0, 1.0 / 256.0) } else { (0.16, 0.09) };
        let off = |at: usize| (recorded.numbers[at] - ours.numbers[at]).abs();
        assert!(off(MIDDLE) <= 0.13, "middle, {}: {}", recorded.what, off(MIDDLE));
        assert!(off(LEVEL) <= level, "level, {}: {}", recorded.what, off(LEVEL));
        for texel in WEIGHTS {
            assert!(off(texel) <= weight, "texel {texel}, {}: {}", recorded.what, off(texel));
        }
        several += u32::from(ours.numbers[WEIGHTS].iter().filter(|weight| **weight > 0.0).count() > 3);
    }
    assert!(several > 50, "{several} footprints of more than two samples");
}
