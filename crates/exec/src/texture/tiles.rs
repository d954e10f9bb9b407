//! Arrays whose memory a program maps, tile by tile (CUDA driver API, `cuMemMapArrayAsync`): what lies where.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a tile's memory.
pub const TILE_BYTES: u64 = 64 << 10;

/// The memory of the tiles of an array, all its mip levels and layers together.
#[derive(Debug)]
pub struct Tiles {
    /// Where the memory of each lies; 0 where it has none. What is changed in a stream is seen by what comes behind it there.
    addresses: Box<[AtomicU64]>,
    /// What is without memory reads as 0 and takes no writes. Otherwise it is an illegal address.
    sparse: bool,
}

impl Tiles {
    /// `count` tiles without memory.
    pub fn new(count: usize, sparse: bool) -> Tiles {
        Tiles { addresses: (0..count).map(|_| AtomicU64::new(0)).collect(), sparse }
    }

    /// Gives a tile memory, or takes it away.
    pub fn set(&self, tile: usize, address: Option<u64>) {
        if let Some(place) = self.addresses.get(tile) {
            place.store(address.unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// Where a byte of all tiles lies, one after another.
    #[inline]
    fn place(&self, byte: u64) -> Place {
        let tile = self.addresses.get((byte / TILE_BYTES) as usize).map_or(0, |tile| tile.load(Ordering::Relaxed));
        match (tile, self.sparse) {
            (0, true) => Place::Nowhere,
            (0, false) => Place::Missing,
            _ => Place::At(tile + byte % TILE_BYTES),
        }
    }
}

/// Where a texel lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At this address.
    At(u64),
    /// In a tile of a sparse array that has no memory, or past the last block: it is 0, and stays it.
    Nowhere,
    /// In an array that has no memory yet.
    Missing,
}

/// Where the elements of one mip level, texels or blocks of them, lie in the memory of tiles: in boxes, one after another, x first, and in a box row by row.
#[derive(Clone, Debug)]
pub struct MappedTexels {
    /// The tiles, of all levels.
    pub tiles: Arc<Tiles>,
    /// Elements of a box along x, y and z; layers count as z.
    pub size: [u64; 3],
    /// Boxes along x and y.
    pub count: [u64; 2],
    /// Bytes from the start of all tiles to the first box, and from box to box.
    pub start: u64,
    /// See [`MappedTexels::start`].
    pub stride: u64,
}

impl MappedTexels {
    /// Where byte `x` of a row lies, of elements of `element` bytes; and how many bytes from there on lie one after another in that row.
    #[inline]
    pub fn place(&self, [x, y, z]: [u64; 3], element: u64) -> (Place, u64) {
        let [width, height, depth] = [self.size[0] * element, self.size[1], self.size[2]];
        let index = (z / depth * self.count[1] + y / height) * self.count[0] + x / width;
        let inside = (z % depth * height + y % height) * width + x % width;
        let byte = self.start + index * self.stride + inside;
        (self.tiles.place(byte), (width - x % width).min(TILE_BYTES - byte % TILE_BYTES))
    }

    /// The address of the first element, where all others lie behind it row by row: memory that was mapped as a whole.
    pub fn whole(&self) -> Option<u64> {
        match self.tiles.place(self.start) {
            Place::At(address) if !self.tiles.sparse => Some(address),
            _ => None,
        }
    }
}

impl PartialEq for MappedTexels {
    fn eq(&self, other: &MappedTexels) -> bool {
        let MappedTexels { tiles, size, count, start, stride } = self;
        Arc::ptr_eq(tiles, &other.tiles)
            && (size, count, start, stride) == (&other.size, &other.count, &other.start, &other.stride)
    }
}

impl Eq for MappedTexels {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texels_lie_in_tiles() {
        // Words in tiles of 128 x 128, two side by side, two rows, two layers; before them another tile.
        let tiles = Arc::new(Tiles::new(9, true));
        let texels = MappedTexels {
            tiles: Arc::clone(&tiles),
            size: [128, 128, 1],
            count: [2, 2],
            start: TILE_BYTES,
            stride: TILE_BYTES,
        };
        assert_eq!(texels.place([0, 0, 0], 4), (Place::Nowhere, 512));
        // The second of the second row of the second layer.
        tiles.set(8, Some(0x10_0000));
        assert_eq!(texels.place([4 * 130, 129, 1], 4), (Place::At(0x10_0000 + 512 + 8), 504));
        assert_eq!(texels.place([4 * 130, 127, 1], 4).0, Place::Nowhere);
        tiles.set(8, None);
        assert_eq!(texels.place([4 * 130, 129, 1], 4).0, Place::Nowhere);
        assert_eq!(texels.whole(), None);
    }

    #[test]
    fn memory_mapped_as_a_whole_is_rows() {
        let tiles = Arc::new(Tiles::new(2, false));
        let texels =
            MappedTexels { tiles: Arc::clone(&tiles), size: [300, 300, 1], count: [1, 1], start: 256, stride: 0 };
        assert_eq!((texels.place([3, 0, 0], 1).0, texels.whole()), (Place::Missing, None));
        tiles.set(0, Some(0x50000));
        tiles.set(1, Some(0x60000));
        assert_eq!(texels.whole(), Some(0x50100));
        assert_eq!(texels.place([3, 100, 0], 1), (Place::At(0x50100 + 30003), 297));
        // A row that goes over the end of a tile.
        assert_eq!(texels.place([0, 217, 0], 1).1, 65536 - 65356);
    }
}
