//! Arrays: memory for textures and surfaces, with a shape and a format.
mod mipmapped;

pub use mipmapped::MipmappedArray;

use std::sync::Arc;

use warploom_exec::memory::MemoryKind;

use crate::context::Context;
use crate::device::attribute;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::memory::Box3;
use crate::{DriverError, DriverResult, ErrorCode};

/// The flags of `cuArray3DCreate`.
#[expect(missing_docs, reason = "the names of the C constants say it")]
pub mod array_flags {
    pub const LAYERED: u32 = 0x01;
    pub const SURFACE_LDST: u32 = 0x02;
    pub const CUBEMAP: u32 = 0x04;
    pub const TEXTURE_GATHER: u32 = 0x08;
    pub const DEPTH_TEXTURE: u32 = 0x10;
    pub const COLOR_ATTACHMENT: u32 = 0x20;
    pub const SPARSE: u32 = 0x40;
    pub const DEFERRED_MAPPING: u32 = 0x80;
}

/// The formats of elements that arrays can have, by their number in `CUarray_format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format(u32);

impl Format {
    /// The format with this number.
    ///
    /// # Errors
    /// `InvalidValue` for other than 8, 16 and 32 bit integers, halves and floats.
    pub fn from_number(number: u32) -> DriverResult<Format> {
        match number {
            0x01 | 0x02 | 0x03 | 0x08 | 0x09 | 0x0a | 0x10 | 0x20 => Ok(Format(number)),
            _ => Err(DriverError::invalid_value(format!("{number:#x} is no format of arrays"))),
        }
    }

    /// Its number in `CUarray_format`.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Bytes of one channel.
    pub fn bytes(self) -> u64 {
        match self.0 {
            0x01 | 0x08 => 1,
            0x02 | 0x09 | 0x10 => 2,
            _ => 4,
        }
    }
}

/// The shape and format of an array, as `cuArray3DCreate` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayDescriptor {
    /// Elements of a row.
    pub width: u64,
    /// Rows; 0 for one dimension.
    pub height: u64,
    /// Slices; 0 for one or two dimensions. Layers and cube faces count here.
    pub depth: u64,
    /// Format of a channel.
    pub format: Format,
    /// Channels of an element: 1, 2 or 4.
    pub channels: u32,
    /// [`array_flags`].
    pub flags: u32,
}

impl ArrayDescriptor {
    /// Whether slices are layers or faces of cubes.
    pub(crate) fn is_layered(&self) -> bool {
        self.flags & (array_flags::LAYERED | array_flags::CUBEMAP) != 0
    }

    /// Bytes of all elements.
    fn bytes(&self) -> DriverResult<u64> {
        let element = self.format.bytes() * u64::from(self.channels);
        [self.width, self.height.max(1), self.depth.max(1)]
            .into_iter()
            .try_fold(element, u64::checked_mul)
            .ok_or_else(|| DriverError::new(ErrorCode::OutOfMemory, "the array does not fit memory"))
    }
}

/// One array. Rows and slices lie one after another without a gap.
pub struct Array {
    handle: Handle,
    descriptor: ArrayDescriptor,
    address: u64,
    context: Arc<Context>,
    /// Whether its memory is its own; a level of a mipmapped array has part of that array's.
    whole: bool,
}

impl Array {
    /// Its handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Shape and format.
    pub fn descriptor(&self) -> &ArrayDescriptor {
        &self.descriptor
    }

    /// Where its first element lies.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes of an element.
    pub fn element_bytes(&self) -> u64 {
        self.descriptor.format.bytes() * u64::from(self.descriptor.channels)
    }

    /// Whether it is no level of a mipmapped array.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// The context that it was created in.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Its number.
    pub(crate) fn context_id(&self) -> u64 {
        self.context.id()
    }

    /// Bytes of a row, rows, slices: each at least 1.
    pub(crate) fn storage_box(&self) -> Box3 {
        Box3 {
            width: self.descriptor.width * self.element_bytes(),
            height: self.descriptor.height.max(1),
            depth: self.descriptor.depth.max(1),
        }
    }
}

impl Driver {
    /// Creates an array in the calling thread's context.
    ///
    /// # Errors
    /// `InvalidValue` for shapes and formats that do not exist; `NotSupported` for memory that comes later; `OutOfMemory`; those of
    /// [`Driver::current`].
    pub fn create_array(&self, descriptor: ArrayDescriptor) -> DriverResult<Handle> {
        let context = self.current()?;
        self.check_array(&context, &descriptor)?;
        let address = self.alloc_in(&context, descriptor.bytes()?, MemoryKind::Array, 0, "cuArrayCreate")?;
        let array = self.arrays.insert(|handle| Array { handle, descriptor, address, context, whole: true })?;
        Ok(array.handle)
    }

    fn check_array(&self, context: &Context, descriptor: &ArrayDescriptor) -> DriverResult {
        let ArrayDescriptor { width, height, depth, channels, flags, .. } = *descriptor;
        let refuse =
            |why: String| Err(DriverError::invalid_value(format!("an array of {width} x {height} x {depth}: {why}")));
        if !matches!(channels, 1 | 2 | 4) {
            return refuse(format!("{channels} channels; 1, 2 and 4 are possible"));
        }
        let (layered, cube) = (flags & array_flags::LAYERED != 0, flags & array_flags::CUBEMAP != 0);
        if flags & array_flags::DEPTH_TEXTURE != 0 {
            return refuse("depths are for graphics alone".to_owned());
        }
        let without_memory = flags & (array_flags::SPARSE | array_flags::DEFERRED_MAPPING);
        if without_memory == array_flags::SPARSE | array_flags::DEFERRED_MAPPING {
            return refuse("sparse, and mapped as a whole".to_owned());
        }
        if without_memory != 0 {
            let reason = "arrays get their memory at once: the device has neither sparse arrays nor deferred mapping";
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
        if flags & array_flags::TEXTURE_GATHER != 0 && (height == 0 || depth != 0 && !cube) {
            return refuse("gathering is for two dimensions without layers, and for cubes".to_owned());
        }
        if width == 0 {
            return refuse("the width is 0".to_owned());
        }
        if (layered || cube) && depth == 0 {
            return refuse("no layers".to_owned());
        }
        if cube && (width != height || if layered { depth % 6 != 0 } else { depth != 6 }) {
            return refuse("a cube map has 6 square faces".to_owned());
        }
        if !layered && !cube && depth > 0 && height == 0 {
            return refuse("slices without rows".to_owned());
        }
        let device = self.device_of(context)?;
        let most = |number| u64::from(device.limit(number));
        let limits = match (layered || cube, height, depth) {
            (false, 0, 0) => [most(attribute::MAXIMUM_TEXTURE1D_WIDTH), 0, 0],
            (false, _, 0) => [most(attribute::MAXIMUM_TEXTURE2D_WIDTH), most(attribute::MAXIMUM_TEXTURE2D_HEIGHT), 0],
            (false, _, _) => [
                most(attribute::MAXIMUM_TEXTURE3D_WIDTH),
                most(attribute::MAXIMUM_TEXTURE3D_HEIGHT),
                most(attribute::MAXIMUM_TEXTURE3D_DEPTH),
            ],
            (true, 0, _) => {
                [most(attribute::MAXIMUM_TEXTURE1D_LAYERED_WIDTH), 0, most(attribute::MAXIMUM_TEXTURE1D_LAYERED_LAYERS)]
            }
            (true, _, _) => [
                most(attribute::MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
                most(attribute::MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
                most(attribute::MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
            ],
        };
        if width > limits[0] || height > limits[1] || depth > limits[2] {
            return refuse(format!("the most is {} x {} x {}", limits[0], limits[1], limits[2]));
        }
        Ok(())
    }

    /// The array of a handle.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; the sticky error.
    pub fn array(&self, array: Handle) -> DriverResult<Arc<Array>> {
        let array = self.arrays.lookup(array)?;
        array.context.check()?;
        Ok(array)
    }

    /// Destroys an array, once all work of its context is done. A level of a mipmapped array stays, as recorded: it goes with the whole.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles; the sticky error.
    pub fn destroy_array(&self, array: Handle) -> DriverResult {
        let known = self.array(array)?;
        self.finish_all_of(&known.context)?;
        if !known.whole {
            return Ok(());
        }
        let array = self.arrays.remove(array)?;
        self.give_back(array.address)
    }
}
