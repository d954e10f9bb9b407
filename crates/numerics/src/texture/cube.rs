//! Cubes: six square faces, named by a direction from the middle (CUDA programming guide, "Cubemap Textures").

use super::axis::normal;

/// Faces of a cube.
pub const CUBE_FACES: u32 = 6;

/// Steps of a coordinate along half a face, as of a normalised one.
const STEPS: f64 = (1u32 << 20) as f64;

/// The face that a direction points to. Of axes that are equally long, z comes before y and y before x; NaN is shorter than any.
fn face_of(direction: [f32; 3]) -> u32 {
    let [x, y, z] = direction.map(|axis| if axis.is_nan() { -1.0 } else { axis.abs() });
    let axis = if z >= x && z >= y { 2 } else { u32::from(y >= x) };
    2 * axis + u32::from(direction[axis as usize] < 0.0)
}

/// The axes of a direction as they run on a face.
fn along_face(face: u32, [x, y, z]: [f32; 3]) -> [f32; 2] {
    match face {
        0 => [-z, -y],
        1 => [z, -y],
        2 => [x, z],
        3 => [x, -z],
        4 => [x, -y],
        _ => [-x, -y],
    }
}

/// A direction as NVIDIA's driver has it made before hardware sees it: times the reciprocal of its longest axis, NaN left out; that of an axis above 2^126 is subnormal, and so 0.
fn projected(direction: [f32; 3]) -> [f32; 3] {
    let reciprocal = normal(1.0 / direction.map(f32::abs).into_iter().fold(0.0, f32::max));
    direction.map(|axis| normal(axis * reciprocal))
}

/// Where a direction from the middle of a cube meets its surface: the number of the face, and normalised coordinates there. Of axes that are
/// equally long, z comes before y and y before x; no direction at all meets the middle of face 4. The axes are multiplied by the reciprocal of
/// the longest, each rounded to `f32`, and the result is cut to steps: so 311,266 places recorded on an H100, but for 1.2 % of them, where its reciprocal is
/// not the nearest number; and so 8,000 directions with NaN, infinities, huge and tiny axes, recorded on an H200.
pub fn cube_face(direction: [f32; 3]) -> (u32, [f32; 2]) {
    let direction = projected(direction);
    let face = face_of(direction);
    // Cut before 1 is added, in which the smallest would be lost. NaN, as of 0 times infinity, counts as 0.
    let at = |along: f32| match along {
        _ if along.is_nan() => 0.5,
        _ => ((STEPS + (f64::from(along.clamp(-1.0, 1.0)) * STEPS).floor()) / (2.0 * STEPS)) as f32,
    };
    (face, along_face(face, direction).map(at))
}

/// How far the place on the face is from that of the direction `step` further on, in normalised coordinates. Over an edge, the face beyond it counts as if it lay flat beside this one.
///
/// So are the levels of 90,000 gradients that were recorded on an H200, but for those over edges, which are up to half a level less there.
pub fn cube_gradient(direction: [f32; 3], step: [f32; 3]) -> [f32; 2] {
    let here = projected(direction);
    let mut there = projected(std::array::from_fn(|index| direction[index] + step[index]));
    let (face, beyond) = (face_of(here), face_of(there));
    let [axis, edge] = [face, beyond].map(|face| (face / 2) as usize);
    if axis != edge {
        there[edge] = (2.0 - there[axis].copysign(there[axis] * here[axis])).copysign(there[edge]);
    }
    let [here, there] = [here, there].map(|direction| along_face(face, direction));
    std::array::from_fn(|index| (there[index] - here[index]) / 2.0)
}

/// The direction of a place on a face, whose coordinates run from -1 to 1 inside it.
fn direction(face: u32, s: f32, t: f32) -> [f32; 3] {
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// The texel at `at` of a face with `size` by `size` texels: its face, row and column. Beyond one edge it is the neighbour's texel along that edge;
/// beyond a corner there is none.
pub fn across_edge(face: u32, at: [i64; 2], size: u32) -> Option<(u32, [u32; 2])> {
    let inside = |index: i64| (0..i64::from(size)).contains(&index);
    match at.map(inside) {
        [true, true] => return Some((face, at.map(|index| index as u32))),
        [false, false] => return None,
        _ => {}
    }
    let place = |index: i64| (index as f32 + 0.5) / size as f32 * 2.0 - 1.0;
    let beyond = direction(face, place(at[0]), place(at[1]));
    let next = face_of(beyond);
    let [s, t] = along_face(next, beyond);
    // What was the longest axis of the old face is the edge of the new one; the other one runs along it.
    let index = |part: f32| match part {
        1.0 => size - 1,
        -1.0 => 0,
        part => (((part + 1.0) / 2.0 * size as f32) as u32).min(size - 1),
    };
    Some((next, [index(s), index(t)]))
}

/// Gives the weight of a corner that does not exist to the other three: a third, rounded, to each neighbour, and the rest to the one opposite.
pub fn share_corner(weights: &mut [u32; 4], missing: usize) {
    let weight = std::mem::take(&mut weights[missing]);
    let third = (weight + 1) / 3;
    weights[missing ^ 1] += third;
    weights[missing ^ 2] += third;
    weights[missing ^ 3] += weight - 2 * third;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_meet_the_faces_of_a_cube() {
        assert_eq!(cube_face([2.0, 1.0, 0.5]), (0, [0.375, 0.25]));
        assert_eq!(cube_face([-2.0, 1.0, 0.5]), (1, [0.625, 0.25]));
        assert_eq!(cube_face([0.5, 4.0, 1.0]), (2, [0.5625, 0.625]));
        assert_eq!(cube_face([0.5, -4.0, 1.0]), (3, [0.5625, 0.375]));
        assert_eq!(cube_face([1.0, 1.0, 4.0]), (4, [0.625, 0.375]));
        assert_eq!(cube_face([1.0, 1.0, -4.0]), (5, [0.375, 0.375]));
        assert_eq!([[1.0; 3], [1.0, 1.0, 0.0]].map(|direction| cube_face(direction).0), [4, 2]);
        assert_eq!(cube_face([0.0; 3]), (4, [0.5, 0.5]));
        let (small, huge) = (f32::from_bits(1), f32::MAX);
        assert_eq!(cube_face([small, -small, small]), (4, [1.0, 1.0]));
        assert_eq!([cube_face([f32::NAN, 0.0, -small]), cube_face([0.0, 0.0, -0.0])], [(5, [0.5; 2]), (4, [0.5; 2])]);
        for (direction, face) in [
            ([0.0, 0.0, -huge], 4),
            ([f32::INFINITY, 1.0, 0.0], 4),
            ([0.0, 1.0, f32::INFINITY], 2),
            ([1.0, f32::NEG_INFINITY, f32::NAN], 0),
        ] {
            assert_eq!(cube_face(direction), (face, [0.5; 2]), "{direction:?}");
        }
        // The smallest number below the middle.
        assert_eq!(cube_face([0.0, f32::MIN_POSITIVE, 0.5]).1, [0.5, 0.5 - 1.0 / (1 << 21) as f32]);
    }

    #[test]
    fn places_on_a_face_are_rounded_as_recorded() {
        // Directions to face 4 and how many steps along it they meet.
        for (x, z, steps) in [
            (0x3f800000, 0x3f9f1000, 1892381),
            (0x3f4756e2, 0x3f84e497, 1835008),
            (0x3fbf7f92, 0x3fff54c3, 1835008),
            (0x3f800000, 0x3fa00800, 1887273),
            (0x3e394549, 0x3fa281e0, 1198008),
        ] {
            let (face, [along, across]) = cube_face([f32::from_bits(x), 0.0, f32::from_bits(z)]);
            assert_eq!((face, f64::from(along) * 2.0 * STEPS, across), (4, f64::from(steps), 0.5), "{x:#x}");
        }
    }

    #[test]
    fn places_and_directions_are_each_others_inverse() {
        for face in 0..CUBE_FACES {
            let (same, at) = cube_face(direction(face, 0.25, -0.5));
            assert_eq!((same, at), (face, [0.625, 0.25]));
        }
    }

    #[test]
    fn a_step_over_an_edge_goes_on_beyond_it() {
        assert_eq!(cube_gradient([1.0, 0.0, 0.0], [0.0, 0.25, 0.0]), [0.0, -0.125]);
        // From a quarter before the edge of face 4 to a half behind it, on face 0.
        assert_eq!(cube_gradient([0.75, 0.0, 1.0], [1.25, 0.0, 0.0]), [0.375, 0.0]);
        assert_eq!(cube_gradient([0.0, 0.0, 1.0], [f32::NAN, 0.0, 0.0])[1], 0.0);
    }

    #[test]
    fn neighbours_share_an_edge() {
        for face in 0..CUBE_FACES {
            for (at, back) in [([-1, 1], [0, 1]), ([4, 2], [3, 2]), ([0, -1], [0, 0]), ([3, 4], [3, 3])] {
                let (next, texel) = across_edge(face, at, 4).unwrap();
                assert_ne!(next, face);
                // One step back over the same edge is where it came from.
                let steps = [[-1, 0], [1, 0], [0, -1], [0, 1]];
                let from = steps.iter().filter_map(|step| {
                    across_edge(next, [i64::from(texel[0]) + step[0], i64::from(texel[1]) + step[1]], 4)
                });
                assert_eq!(
                    from.filter(|&found| found == (face, back.map(|index: u32| index))).count(),
                    1,
                    "{face} {at:?}"
                );
            }
        }
        assert_eq!(across_edge(0, [-1, 4], 4), None);
        assert_eq!(across_edge(3, [2, 0], 4), Some((3, [2, 0])));
    }

    #[test]
    fn a_missing_corner_is_shared() {
        // Recorded.
        let mut weights = [107, 13, 121, 15];
        share_corner(&mut weights, 1);
        assert_eq!(weights, [111, 0, 126, 19]);
        let mut weights = [28, 49, 64, 115];
        share_corner(&mut weights, 0);
        assert_eq!(weights, [0, 58, 73, 125]);
    }
}
