//! Which elements a tensor copy takes (PTX ISA 5.5.3 to 5.5.5), as rows.

use std::ops::Range;

use warploom_exec::tensor_map::{MOST_DIMENSIONS, MOST_SPATIAL, Part, TensorMap};

/// A run of elements of the first dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Its elements.
    pub(crate) len: usize,
    /// Those of them that lie in the tensor, and the address of the first of these.
    pub(crate) inside: Option<(u64, Range<usize>)>,
}

/// The rows of a part that begins at `start`, in the order in which they lie in shared memory; `offsets` are those of columns of images.
pub(crate) fn rows(map: &TensorMap, start: [i64; MOST_DIMENSIONS], offsets: [i64; MOST_DIMENSIONS]) -> Vec<Row> {
    match map.part {
        Part::Box(extents) => of_box(map, start, extents),
        Part::Columns { lower, upper, channels, pixels } => {
            columns(map, start, offsets, (lower, upper), channels.into(), pixels.into())
        }
    }
}

fn of_box(map: &TensorMap, start: [i64; MOST_DIMENSIONS], extents: [u16; MOST_DIMENSIONS]) -> Vec<Row> {
    let rank = usize::from(map.rank);
    // Of slices with a stride each is a row of its own; else the stride of the first dimension is ignored.
    let apart = map.interleave != 0 && map.steps[0] > 1;
    let counts = std::array::from_fn::<_, MOST_DIMENSIONS, _>(|axis| {
        let count = extents[axis].div_ceil(u16::from(map.steps[axis].max(1)));
        match axis {
            _ if axis >= rank => 1,
            0 if !apart => 1,
            // Of interleaved images one slice of channels, the last dimension but one, is copied whatever the size there (recorded).
            _ if map.interleave != 0 && axis == rank - 2 => 1,
            _ => i64::from(count),
        }
    });
    let len = if apart { 1 } else { usize::from(extents[0]) };
    let mut out = Vec::with_capacity(counts.iter().product::<i64>() as usize);
    let mut at = [0; MOST_DIMENSIONS];
    loop {
        let place = std::array::from_fn(|axis| start[axis] + at[axis] * i64::from(map.steps[axis]));
        out.push(row(map, place, len));
        let mut axis = 0;
        loop {
            if axis >= rank {
                return out;
            }
            at[axis] += 1;
            if at[axis] < counts[axis] {
                break;
            }
            at[axis] = 0;
            axis += 1;
        }
    }
}

/// The same for a copy to a tensor: what begins in it is stored in whole pieces of 16 bytes, also beyond its end in the first dimension (recorded).
pub(crate) fn in_pieces(map: &TensorMap, mut rows: Vec<Row>) -> Vec<Row> {
    let elements = (16 / map.unit()).max(1) as usize;
    for Row { len, inside } in &mut rows {
        if let Some((_, range)) = inside {
            range.end = range.end.next_multiple_of(elements).min(*len);
        }
    }
    rows
}

/// Pixels one behind the other, from one corner of a frame to the other, image after image; what is read is `offsets` from them. Of interleaved images it is one slice of each, whatever
/// the number of channels (recorded): their first dimensions are the spatial ones, and slices are counted by the last but one.
fn columns(
    map: &TensorMap,
    start: [i64; MOST_DIMENSIONS],
    offsets: [i64; MOST_DIMENSIONS],
    (lower, upper): ([i16; MOST_SPATIAL], [i16; MOST_SPATIAL]),
    channels: usize,
    pixels: usize,
) -> Vec<Row> {
    let rank = usize::from(map.rank);
    let (spatial, len) = (map.spatial(), if map.interleave == 0 { channels } else { 1 });
    let mut pixel = start;
    let mut out = Vec::with_capacity(pixels);
    for _ in 0..pixels {
        let mut place = pixel;
        for (at, offset) in place[spatial.clone()].iter_mut().zip(offsets) {
            *at += offset;
        }
        out.push(row(map, place, len));
        let mut ended = true;
        for (axis, corner) in spatial.clone().zip(0..) {
            pixel[axis] += i64::from(map.steps[axis]);
            ended = pixel[axis] > i64::from(map.last[axis]) + i64::from(upper[corner]);
            if !ended {
                break;
            }
            pixel[axis] = i64::from(lower[corner]);
        }
        if ended {
            pixel[rank - 1] += i64::from(map.steps[rank - 1]);
        }
    }
    out
}

/// `len` elements from `place` on.
fn row(map: &TensorMap, place: [i64; MOST_DIMENSIONS], len: usize) -> Row {
    let rank = usize::from(map.rank);
    let outside = |axis: usize| place[axis] < 0 || place[axis] > i64::from(map.last[axis]);
    if (1..rank).any(outside) {
        return Row { len, inside: None };
    }
    let first = (-place[0]).clamp(0, len as i64);
    let end = (i64::from(map.last[0]) + 1 - place[0]).clamp(first, len as i64);
    if first >= end {
        return Row { len, inside: None };
    }
    let mut address = map.address.wrapping_add(((place[0] + first) as u64).wrapping_mul(u64::from(map.unit())));
    for (at, stride) in place[1..rank].iter().zip(&map.strides) {
        address = address.wrapping_add((*at as u64).wrapping_mul(*stride));
    }
    Row { len, inside: Some((address, first as usize..end as usize)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_exec::tensor_map::ElementType;

    const IMAGE: TensorMap = TensorMap {
        ty: ElementType::U16,
        rank: 2,
        address: 0x1000,
        last: [19, 8, 0, 0, 0],
        strides: [48, 0, 0, 0],
        steps: [1; 5],
        part: Part::Box([8, 2, 1, 1, 1]),
        interleave: 0,
        swizzle: 0,
        nan: false,
    };

    #[test]
    fn boxes_are_cut_at_the_ends_of_the_tensor() {
        let inside = |start: [i64; 2]| -> Vec<Option<(u64, Range<usize>)>> {
            rows(&IMAGE, [start[0], start[1], 0, 0, 0], [0; 5]).into_iter().map(|row| row.inside).collect()
        };
        assert_eq!(inside([8, 3]), [Some((0x1000 + 3 * 48 + 16, 0..8)), Some((0x1000 + 4 * 48 + 16, 0..8))]);
        assert_eq!(inside([16, 8]), [Some((0x1000 + 8 * 48 + 32, 0..4)), None]);
        assert_eq!(inside([-8, -1]), [None, None]);
        assert_eq!(inside([-4, -1]), [None, Some((0x1000, 4..8))]);
    }

    #[test]
    fn of_interleaved_channels_there_is_one_slice() {
        let part = Part::Box([4, 12, 2, 1, 1]);
        let map = TensorMap { interleave: 1, rank: 3, last: [6, 2, 1, 0, 0], strides: [112, 336, 0, 0], part, ..IMAGE };
        let places = |map: &TensorMap| -> Vec<(u64, usize)> {
            let found = rows(map, [1, 0, 0, 0, 0], [0; 5]).into_iter();
            found.map(|row| row.inside.map(|(address, inside)| (address - 0x1000, inside.len())).unwrap()).collect()
        };
        assert_eq!(places(&map), [(16, 4), (352, 4)]);
        let part = Part::Box([4, 8, 1, 1, 1]);
        assert_eq!(places(&TensorMap { steps: [2, 1, 1, 1, 1], part, ..map }), [(16, 1), (48, 1)]);
    }

    #[test]
    fn rows_are_stored_in_whole_pieces() {
        let stored = |first: i64, len: u16| {
            let map = TensorMap { part: Part::Box([len, 1, 1, 1, 1]), ..IMAGE };
            in_pieces(&map, rows(&map, [first, 0, 0, 0, 0], [0; 5])).remove(0).inside.map(|(_, inside)| inside)
        };
        // A tensor of 20 elements of 2 bytes: 4 lie in its last piece.
        assert_eq!(stored(0, 16), Some(0..16));
        assert_eq!(stored(8, 16), Some(0..16));
        assert_eq!(stored(16, 16), Some(0..8));
        assert_eq!(stored(24, 16), None);
    }

    #[test]
    fn columns_go_around_a_frame() {
        let part = Part::Columns { lower: [-1, 0, 0], upper: [-1, 0, 0], channels: 8, pixels: 5 };
        let map = TensorMap { rank: 3, last: [7, 2, 1, 0, 0], strides: [16, 48, 0, 0], part, ..IMAGE };
        let places: Vec<Option<u64>> = rows(&map, [0, 0, 0, 0, 0], [1, 0, 0, 0, 0])
            .into_iter()
            .map(|row| row.inside.map(|(address, _)| address - 0x1000))
            .collect();
        // Pixels 0 and 1 of the first image, then -1, 0 and 1 of the next, each one further by the offset.
        assert_eq!(places, [Some(16), Some(32), Some(48), Some(64), Some(80)]);
    }

    #[test]
    fn columns_of_interleaved_images_are_of_one_slice() {
        let part = Part::Columns { lower: [-1, 0, 0], upper: [-1, 0, 0], channels: 24, pixels: 4 };
        let map = TensorMap { interleave: 1, rank: 3, last: [2, 4, 1, 0, 0], strides: [48, 240, 0, 0], part, ..IMAGE };
        let found = rows(&map, [1, 3, 0, 0, 0], [0; 5]);
        let places: Vec<Option<u64>> =
            found.iter().map(|row| row.inside.as_ref().map(|(address, _)| address - 0x1000)).collect();
        // Pixel 1 of the first image's slice 3, and -1, 0 and 1 of the next one's.
        assert_eq!(places, [Some(3 * 48 + 16), None, Some(240 + 3 * 48), Some(240 + 3 * 48 + 16)]);
        assert!(found.iter().all(|row| row.len == 1));
    }
}
