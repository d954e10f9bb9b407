//! Arrays whose memory the program maps (`cuMemMapArrayAsync`): as a whole (`CUDA_ARRAY3D_DEFERRED_MAPPING`), or tile by tile (`CUDA_ARRAY3D_SPARSE`).
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_exec::stream::Weight;
use warploom_exec::texture::{MappedTexels, TILE_BYTES, Tiles};

use super::layout::{self, SparseProperties};
use super::{ArrayDescriptor, array_flags, consecutive};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::memory::TilePool;
use crate::stream::StreamName;
use crate::{DriverError, DriverResult};

/// An array, or a mipmapped one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyArray {
    /// An array.
    Array(Handle),
    /// A mipmapped array.
    Mipmapped(Handle),
}

/// A part of a sparse array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayPart {
    /// Whole tiles of a mip level.
    Tiles {
        /// The level; 0 of arrays without.
        level: u32,
        /// The layer; 0 of arrays without.
        layer: u32,
        /// First texel along x, y and z: multiples of the tile's.
        offset: [u64; 3],
        /// Texels along x, y and z: multiples of the tile's, or up to the end of the level.
        extent: [u64; 3],
    },
    /// Of the tail.
    Tail {
        /// The layer; 0 of arrays without, and of one tail for all.
        layer: u32,
        /// First byte, a multiple of a tile's.
        offset: u64,
        /// Bytes, a multiple of a tile's.
        size: u64,
    },
}

/// What `cuMemMapArrayAsync` does to one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayMap {
    /// The array.
    pub array: AnyArray,
    /// Which part; None if the program named one that does not exist. Of an array that is mapped as a whole it is ignored.
    pub part: Option<ArrayPart>,
    /// The memory and where in it; None takes away what there is.
    pub memory: Option<(Handle, u64)>,
    /// A bit for each device that maps it.
    pub devices: u32,
}

/// The tiles of an array, and the memory behind them.
pub(crate) struct Mapping {
    tiles: Arc<Tiles>,
    /// What keeps the memory of each tile.
    kept: Mutex<Vec<Option<Arc<TilePool>>>>,
    kind: Kind,
}

enum Kind {
    Whole,
    Sparse { properties: SparseProperties, levels: Vec<ArrayDescriptor>, starts: Vec<usize>, tail: Tail },
}

/// The tiles of the tail: the first of all, how many a layer has, and of how many layers.
#[derive(Clone, Copy)]
struct Tail {
    first: usize,
    count: usize,
    layers: usize,
}

/// Tiles along x, y and z of a level.
fn counts(level: &ArrayDescriptor, tile: [u64; 3]) -> [u64; 3] {
    let depth = if level.is_layered() { 1 } else { level.depth.max(1) };
    [level.width.div_ceil(tile[0]), level.height.div_ceil(tile[1]), depth.div_ceil(tile[2])]
}

fn layers(level: &ArrayDescriptor) -> u64 {
    if level.is_layered() { level.depth } else { 1 }
}

/// Tiles from a number of bytes; an array of more than there are addresses was refused before.
fn tiles(bytes: u64) -> usize {
    (bytes / TILE_BYTES) as usize
}

impl Mapping {
    /// The mapping of an array of these mip levels, of which there is at least one, and where each lies in it.
    pub(super) fn new(levels: &[ArrayDescriptor]) -> DriverResult<(Arc<Mapping>, Vec<Arc<MappedTexels>>)> {
        if levels[0].flags & array_flags::SPARSE != 0 { Mapping::sparse(levels) } else { Mapping::whole(levels) }
    }

    fn made(kind: Kind, tiles: Arc<Tiles>, count: usize) -> Arc<Mapping> {
        Arc::new(Mapping { tiles, kept: Mutex::new(vec![None; count]), kind })
    }

    fn whole(levels: &[ArrayDescriptor]) -> DriverResult<(Arc<Mapping>, Vec<Arc<MappedTexels>>)> {
        let count = tiles(layout::requirement(levels));
        let tiles = Arc::new(Tiles::new(count, false));
        let (starts, _) = consecutive(levels)?;
        let places = levels.iter().zip(starts).map(|(level, start)| whole_box(&tiles, level, start, 0)).collect();
        Ok((Mapping::made(Kind::Whole, tiles, count), places))
    }

    fn sparse(levels: &[ArrayDescriptor]) -> DriverResult<(Arc<Mapping>, Vec<Arc<MappedTexels>>)> {
        let properties = layout::sparse(levels);
        let SparseProperties { tile, first_of_tail, tail, single } = properties;
        let (own, in_tail) = levels.split_at(first_of_tail as usize);
        let (mut starts, mut count) = (Vec::with_capacity(own.len()), 0);
        for level in own {
            starts.push(count);
            count += (counts(level, tile).iter().product::<u64>() * layers(level)) as usize;
        }
        let layers = if single { 1 } else { layers(&levels[0]) as usize };
        let tail = Tail { first: count, count: tiles(tail), layers };
        count += tail.count * tail.layers;
        let tiles = Arc::new(Tiles::new(count, true));
        let own = own.iter().zip(&starts).map(|(level, &start)| {
            let [x, y, _] = counts(level, tile);
            let side = level.format.element_side();
            Arc::new(MappedTexels {
                tiles: Arc::clone(&tiles),
                size: [tile[0] / side, tile[1] / side, tile[2]],
                count: [x, y],
                start: start as u64 * TILE_BYTES,
                stride: TILE_BYTES,
            })
        });
        let mut places: Vec<_> = own.collect();
        let one_layer: Vec<_> = in_tail.iter().map(ArrayDescriptor::one_layer).collect();
        let (in_layer, layer) = consecutive(&one_layer)?;
        let stride = if single { layer } else { tail.count as u64 * TILE_BYTES };
        let first = tail.first as u64 * TILE_BYTES;
        places.extend(
            one_layer.iter().zip(in_layer).map(|(level, start)| whole_box(&tiles, level, first + start, stride)),
        );
        let kind = Kind::Sparse { properties, levels: levels.to_vec(), starts, tail };
        Ok((Mapping::made(kind, tiles, count), places))
    }

    /// How a sparse array is divided.
    ///
    /// # Errors
    /// `InvalidValue` for other arrays.
    pub(super) fn properties(&self) -> DriverResult<SparseProperties> {
        match &self.kind {
            Kind::Sparse { properties, .. } => Ok(*properties),
            Kind::Whole => Err(DriverError::invalid_value("the array was not created as CUDA_ARRAY3D_SPARSE")),
        }
    }

    /// The memory that an array is mapped to as a whole, in bytes.
    ///
    /// # Errors
    /// `InvalidValue` for other arrays.
    pub(super) fn requirement(&self) -> DriverResult<u64> {
        match self.kind {
            Kind::Whole => Ok(self.kept.lock().len() as u64 * TILE_BYTES),
            Kind::Sparse { .. } => {
                Err(DriverError::invalid_value("the array was not created as CUDA_ARRAY3D_DEFERRED_MAPPING"))
            }
        }
    }

    /// The tiles of a part, in the order in which memory is given to them.
    fn tiles_of(&self, part: Option<ArrayPart>) -> DriverResult<Vec<usize>> {
        let Kind::Sparse { properties, levels, starts, tail } = &self.kind else {
            return Ok((0..self.kept.lock().len()).collect());
        };
        let none = || DriverError::invalid_value(format!("{part:?} is no part of a sparse array with {properties:?}"));
        match part.ok_or_else(none)? {
            ArrayPart::Tiles { level, layer, offset, extent } => {
                let (shape, &start) = levels.iter().zip(starts).nth(level as usize).ok_or_else(none)?;
                if u64::from(layer) >= layers(shape) {
                    return Err(none());
                }
                let depth = if shape.is_layered() { 1 } else { shape.depth.max(1) };
                let size = [shape.width, shape.height, depth];
                let mut along = [0..0, 0..0, 0..0];
                for axis in 0..3 {
                    let (tile, end) = (properties.tile[axis], offset[axis].saturating_add(extent[axis]));
                    let whole = end % tile == 0 && end <= size[axis] || end == size[axis];
                    if offset[axis] % tile != 0 || extent[axis] == 0 || !whole {
                        return Err(none());
                    }
                    along[axis] = offset[axis] / tile..end.div_ceil(tile);
                }
                let [x, y, z] = along;
                let [wide, high, deep] = counts(shape, properties.tile);
                let layer = u64::from(layer) * deep;
                let at = |x, y, z| start + (((layer + z) * high + y) * wide + x) as usize;
                let rows = z.flat_map(|z| y.clone().map(move |y| (y, z)));
                Ok(rows.flat_map(|(y, z)| x.clone().map(move |x| at(x, y, z))).collect())
            }
            ArrayPart::Tail { layer, offset, size } => {
                let (first, count) = (tiles(offset), tiles(size));
                let aligned = offset.is_multiple_of(TILE_BYTES) && size.is_multiple_of(TILE_BYTES);
                let inside = first.checked_add(count).is_some_and(|end| count > 0 && end <= tail.count);
                if !aligned || !inside || layer as usize >= tail.layers {
                    return Err(none());
                }
                let first = tail.first + layer as usize * tail.count + first;
                Ok((first..first + count).collect())
            }
        }
    }

    /// Gives tiles memory one after another from an offset of a pool on, or takes it away.
    fn set(&self, tiles: &[usize], memory: Option<&(Arc<TilePool>, u64)>) {
        let mut kept = self.kept.lock();
        for (tile, index) in tiles.iter().zip(0u64..) {
            let address = memory.map(|(pool, offset)| pool.address() + offset + index * TILE_BYTES);
            self.tiles.set(*tile, address);
            kept[*tile] = memory.map(|(pool, _)| Arc::clone(pool));
        }
    }
}

/// A level, or a layer of it, that lies in rows one after another.
fn whole_box(tiles: &Arc<Tiles>, level: &ArrayDescriptor, start: u64, stride: u64) -> Arc<MappedTexels> {
    Arc::new(MappedTexels { tiles: Arc::clone(tiles), size: level.room(), count: [1, 1], start, stride })
}

impl Driver {
    /// Maps memory into arrays or takes it away, in a stream: all of `maps` or, if one cannot be, none.
    ///
    /// # Errors
    /// As recorded, `InvalidValue` for an array that has memory of its own or is a level of another, parts that are not whole tiles, memory that was not created for tiles or
    /// is too small, and other devices than the stream's; `StreamCaptureUnsupported`; those of [`Driver::current`].
    pub fn map_arrays(&self, maps: &[ArrayMap], stream: StreamName) -> DriverResult {
        let stream = self.stream(stream)?;
        self.refuse_capture(&stream)?;
        let mut changes = Vec::with_capacity(maps.len());
        for map in maps {
            let mapping = self.mapping_of(map.array)?;
            if map.devices.checked_ilog2() != Some(stream.context.ordinal()) || !map.devices.is_power_of_two() {
                return Err(DriverError::invalid_value(format!("devices {:#x} are not the stream's", map.devices)));
            }
            let tiles = mapping.tiles_of(map.part)?;
            let memory = match map.memory {
                None => None,
                Some((memory, offset)) => {
                    let pool = self.physical_memory(memory)?.tile_pool(stream.context.ordinal())?;
                    let end = (tiles.len() as u64 * TILE_BYTES).checked_add(offset);
                    if !offset.is_multiple_of(TILE_BYTES) || end.is_none_or(|end| end > pool.size()) {
                        let reason = format!("{} tiles at {offset:#x} of {} bytes", tiles.len(), pool.size());
                        return Err(DriverError::invalid_value(reason));
                    }
                    Some((pool, offset))
                }
            };
            changes.push((mapping, tiles, memory));
        }
        stream.stream.run(Weight::Light, move || {
            for (mapping, tiles, memory) in &changes {
                mapping.set(tiles, memory.as_ref());
            }
        });
        Ok(())
    }
}
