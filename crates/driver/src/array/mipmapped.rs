//! Mipmapped arrays: a pyramid of arrays, each half the size of the one below it.
use std::sync::Arc;

use warploom_exec::memory::MemoryKind;

use super::mapping::Mapping;
use super::{Array, ArrayDescriptor, Elements, Storage, consecutive};
use crate::context::Context;
use crate::device::attribute;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult};

/// One mipmapped array. Its levels are arrays that belong to it.
pub struct MipmappedArray {
    handle: Handle,
    levels: Vec<Handle>,
    /// Of its memory, if that is its own.
    address: Option<u64>,
    mapping: Option<Arc<Mapping>>,
    context: Arc<Context>,
}

impl MipmappedArray {
    /// Its number in the context that it was created in.
    pub(crate) fn context_id(&self) -> u64 {
        self.context.id()
    }

    /// The context that it was created in.
    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// What the program maps into it, if it does.
    pub(super) fn mapping(&self) -> Option<&Arc<Mapping>> {
        self.mapping.as_ref()
    }
}

impl ArrayDescriptor {
    /// The shape of mip level `level`: halves, cut, and at least 1. Layers and faces are as many on each.
    fn level(&self, level: u32) -> ArrayDescriptor {
        let half = |extent: u64| if extent == 0 { 0 } else { extent.checked_shr(level).unwrap_or(0).max(1) };
        let depth = if self.is_layered() { self.depth } else { half(self.depth) };
        ArrayDescriptor { width: half(self.width), height: half(self.height), depth, ..*self }
    }

    /// How many levels there can be: down to one of a single element.
    fn most_levels(&self) -> u32 {
        let depth = if self.is_layered() { 0 } else { self.depth };
        self.width.max(self.height).max(depth).max(1).ilog2() + 1
    }
}

impl Driver {
    /// Creates a mipmapped array in the calling thread's context. The number of levels is bounded to what there can be, and at least 1.
    ///
    /// # Errors
    /// Those of [`Driver::create_array`]; `InvalidValue` for a base level that is larger than mipmapped textures can be, and for images.
    pub fn create_mipmapped_array(&self, descriptor: ArrayDescriptor, levels: u32) -> DriverResult<Handle> {
        let context = self.current()?;
        self.check_array(&context, &descriptor)?;
        self.check_mipmapped(&context, &descriptor)?;
        let shapes: Vec<ArrayDescriptor> =
            (0..levels.clamp(1, descriptor.most_levels())).map(|level| descriptor.level(level)).collect();
        let mut mapping = None;
        let (address, places): (Option<u64>, Vec<Storage>) = if descriptor.is_mapped() {
            let (own, places) = Mapping::new(&shapes)?;
            mapping = Some(own);
            (None, places.into_iter().map(Storage::Mapped).collect())
        } else {
            let (starts, size) = consecutive(&shapes)?;
            let address = self.alloc_in(&context, size, MemoryKind::Array, 0, "cuMipmappedArrayCreate")?;
            (Some(address), starts.into_iter().map(|start| Storage::At(address + start)).collect())
        };
        let mut levels = Vec::with_capacity(shapes.len());
        for (descriptor, storage) in shapes.into_iter().zip(places) {
            levels.push(self.name_array(Array {
                handle: Handle::NULL,
                descriptor,
                storage,
                mapping: None,
                context: Arc::clone(&context),
                whole: false,
                planes: Vec::new(),
            })?);
        }
        let whole = |handle| MipmappedArray { handle, levels, address, mapping, context };
        Ok(self.mipmapped_arrays.insert(whole)?.handle)
    }

    fn check_mipmapped(&self, context: &Context, descriptor: &ArrayDescriptor) -> DriverResult {
        if matches!(descriptor.format.elements(), Elements::Planes | Elements::Interleaved(_)) {
            return Err(DriverError::invalid_value("an image has no levels"));
        }
        let device = self.device_of(context)?;
        let most = |number| u64::from(device.limit(number));
        let [width, height] = match (descriptor.is_layered(), descriptor.height, descriptor.depth) {
            (_, 0, _) => [most(attribute::MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH), 0],
            (false, _, 0) => [
                most(attribute::MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH),
                most(attribute::MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT),
            ],
            _ => return Ok(()),
        };
        if descriptor.width > width || descriptor.height > height {
            return Err(DriverError::invalid_value(format!(
                "a mipmapped array of {} x {}: the most is {width} x {height}",
                descriptor.width, descriptor.height
            )));
        }
        Ok(())
    }

    /// The mipmapped array of a handle.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; the sticky error.
    pub fn mipmapped_array(&self, array: Handle) -> DriverResult<Arc<MipmappedArray>> {
        let array = self.mipmapped_arrays.lookup(array)?;
        array.context.check()?;
        Ok(array)
    }

    /// One level of a mipmapped array: the same handle each time.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; `InvalidValue` for a level that it does not have; the sticky error.
    pub fn mipmap_level(&self, array: Handle, level: u32) -> DriverResult<Handle> {
        let array = self.mipmapped_array(array)?;
        array
            .levels
            .get(level as usize)
            .copied()
            .ok_or_else(|| DriverError::invalid_value(format!("level {level} of an array with {}", array.levels.len())))
    }

    /// The levels of a mipmapped array, the base first.
    ///
    /// # Errors
    /// As [`Driver::mipmapped_array`].
    pub(crate) fn mipmap_levels(&self, array: Handle) -> DriverResult<Vec<Arc<Array>>> {
        let array = self.mipmapped_array(array)?;
        array.levels.iter().map(|&level| self.array(level)).collect()
    }

    /// Destroys a mipmapped array and its levels, once all work of its context is done.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; the sticky error.
    pub fn destroy_mipmapped_array(&self, array: Handle) -> DriverResult {
        let context = Arc::clone(&self.mipmapped_array(array)?.context);
        self.finish_all_of(&context)?;
        let array = self.mipmapped_arrays.remove(array)?;
        for &level in &array.levels {
            self.arrays.remove(level)?;
        }
        array.address.map_or(Ok(()), |address| self.give_back(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Format, array_flags};

    #[test]
    fn levels_halve() {
        let format = Format::from_number(0x20).unwrap();
        let shape = |width, height, depth, flags| ArrayDescriptor { width, height, depth, format, channels: 1, flags };
        let extents = |shape: ArrayDescriptor, level| {
            let level = shape.level(level);
            [level.width, level.height, level.depth]
        };
        assert_eq!(
            (0..3).map(|level| extents(shape(7, 3, 0, 0), level)).collect::<Vec<_>>(),
            [[7, 3, 0], [3, 1, 0], [1, 1, 0]]
        );
        assert_eq!(extents(shape(8, 8, 3, array_flags::LAYERED), 2), [2, 2, 3]);
        assert_eq!(extents(shape(8, 8, 8, 0), 3), [1, 1, 1]);
        let most = [shape(7, 3, 0, 0), shape(16, 0, 0, 0), shape(8, 8, 12, 5), shape(1, 1, 64, 0)];
        assert_eq!(most.map(|shape| shape.most_levels()), [3, 5, 4, 7]);
    }
}
