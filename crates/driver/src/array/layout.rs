//! How much memory arrays need whose memory the program maps, and how it is divided.
//!
//! The sizes are those of the recorded hardware, which lays texels out in blocks of 512 bytes: 64 of a row, and 8 rows (`tests/c/answers/backing.c`, in 927 sizes). Here texels
//! lie in rows, which need less.
use warploom_exec::texture::TILE_BYTES;

use super::ArrayDescriptor;

/// Bytes of a row of a small block, and rows of it.
const SMALL: [u64; 2] = [64, 8];
/// The most small blocks, one above the other and one behind the other, of two dimensions and of three.
const PLANE: [u64; 2] = [16, 1];
const BOX: [u64; 2] = [1, 16];

/// Bytes of a mip level, or of one layer of it, and of one of its blocks, which are at most so many small ones.
fn level_bytes(shape: &ArrayDescriptor, most: [u64; 2]) -> (u64, u64) {
    let [width, height, depth] = shape.elements();
    let depth = if shape.is_layered() { 1 } else { depth };
    let [mut high, mut deep] = most;
    while high > 1 && height <= high / 2 * SMALL[1] {
        high /= 2;
    }
    while deep > 1 && depth <= deep / 2 {
        deep /= 2;
    }
    let row = (width * shape.element_bytes()).next_multiple_of(SMALL[0]);
    let bytes = row * height.next_multiple_of(high * SMALL[1]) * depth.next_multiple_of(deep);
    (bytes, SMALL[0] * SMALL[1] * high * deep)
}

/// Bytes of mip levels one after another, of all layers: each layer is whole blocks of its first level.
fn all_bytes(levels: &[ArrayDescriptor], most: [u64; 2]) -> u64 {
    let Some(first) = levels.first() else { return 0 };
    let layer: u64 = levels.iter().map(|level| level_bytes(level, most).0).sum();
    let bytes =
        if first.is_layered() { layer.next_multiple_of(level_bytes(first, most).1) * first.depth } else { layer };
    bytes.next_multiple_of(TILE_BYTES)
}

fn blocks(shape: &ArrayDescriptor) -> [u64; 2] {
    if shape.is_box() { BOX } else { PLANE }
}

/// Bytes of memory that an array of these mip levels is mapped to as a whole.
pub(super) fn requirement(levels: &[ArrayDescriptor]) -> u64 {
    levels.first().map_or(0, |base| all_bytes(levels, blocks(base)))
}

/// How a sparse array is divided (`CUDA_ARRAY_SPARSE_PROPERTIES`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseProperties {
    /// Texels of a tile along x, y and z.
    pub tile: [u64; 3],
    /// The first mip level of the tail: those that do not fill a tile. As many as there are levels where there is no tail.
    pub first_of_tail: u32,
    /// Bytes of the tail: of one layer, or of all where [`SparseProperties::single`].
    pub tail: u64,
    /// The tail has the base level and all layers in it (`CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL`).
    pub single: bool,
}

/// Elements of a tile for elements of so many bytes.
fn tile(shape: &ArrayDescriptor) -> [u64; 3] {
    match (shape.is_box(), shape.element_bytes()) {
        (false, 1) => [256, 256, 1],
        (false, 2) => [256, 128, 1],
        (false, 4) => [128, 128, 1],
        (false, 8) => [128, 64, 1],
        (false, _) => [64, 64, 1],
        (true, 1) => [64, 32, 32],
        (true, 2) => [32, 32, 32],
        (true, 4) => [32, 32, 16],
        (true, 8) => [32, 16, 16],
        (true, _) => [16, 16, 16],
    }
}

/// How a sparse array of these mip levels, of which there is at least one, is divided.
pub(super) fn sparse(levels: &[ArrayDescriptor]) -> SparseProperties {
    let base = &levels[0];
    let elements = tile(base);
    let side = base.format.element_side();
    let tile = [elements[0] * side, elements[1] * side, elements[2]];
    let fills = |level: &ArrayDescriptor| {
        level.width >= tile[0] && level.height >= tile[1] && (!base.is_box() || level.depth >= tile[2])
    };
    let first = levels.iter().position(|level| !fills(level)).unwrap_or(levels.len());
    // What has no level of tiles is laid out as other arrays are.
    let most = if first == 0 { blocks(base) } else { [elements[1] / SMALL[1], elements[2]] };
    let tail = &levels[first..];
    let bytes = if first == 0 || tail.is_empty() {
        all_bytes(tail, most)
    } else {
        tail.iter().map(|level| level_bytes(level, most).0).sum::<u64>().next_multiple_of(TILE_BYTES)
    };
    SparseProperties { tile, first_of_tail: first as u32, tail: bytes, single: first == 0 }
}
