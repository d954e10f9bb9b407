//! Arrays: memory for textures and surfaces, with a shape and a format.
mod format;
mod layout;
mod mapping;
mod mipmapped;

pub(crate) use format::Elements;
pub use format::Format;
pub use layout::SparseProperties;
pub use mapping::{AnyArray, ArrayMap, ArrayPart};
pub use mipmapped::MipmappedArray;
pub use warploom_exec::texture::TILE_BYTES;

use std::sync::Arc;

use warploom_exec::memory::MemoryKind;
use warploom_exec::texture::MappedTexels;

use crate::context::Context;
use crate::device::attribute;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::memory::Box3;
use crate::{DriverError, DriverResult, ErrorCode};
use mapping::Mapping;

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
    pub const VIDEO_ENCODE_DECODE: u32 = 0x100;
    pub const KNOWN: u32 = 0x1ff;
}

/// Levels and planes start at multiples of this many bytes.
const PART_ALIGNMENT: u64 = 256;

/// Rows start at multiples of this many: the widest access of surfaces is whole in each row where it is in one (PTX ISA 9.7.11).
const ROW_ALIGNMENT: u64 = 16;

/// The shape and format of an array, as `cuArray3DCreate` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayDescriptor {
    /// Texels of a row.
    pub width: u64,
    /// Rows of texels; 0 for one dimension.
    pub height: u64,
    /// Slices; 0 for one or two dimensions. Layers and cube faces count here.
    pub depth: u64,
    /// Format of a channel.
    pub format: Format,
    /// Channels of a texel, as many as the format can have.
    pub channels: u32,
    /// [`array_flags`].
    pub flags: u32,
}

impl ArrayDescriptor {
    /// Whether slices are layers or faces of cubes.
    pub(crate) fn is_layered(&self) -> bool {
        self.flags & (array_flags::LAYERED | array_flags::CUBEMAP) != 0
    }

    /// Whether it has three dimensions.
    fn is_box(&self) -> bool {
        self.depth > 0 && !self.is_layered()
    }

    /// Whether the program gives it memory.
    fn is_mapped(&self) -> bool {
        self.flags & (array_flags::SPARSE | array_flags::DEFERRED_MAPPING) != 0
    }

    /// The shape of one of its layers, or of all where there are none.
    fn one_layer(&self) -> ArrayDescriptor {
        if self.is_layered() { ArrayDescriptor { depth: 1, ..*self } } else { *self }
    }

    /// Bytes of an element: a texel, or a block of them.
    fn element_bytes(&self) -> u64 {
        match self.format.compression() {
            None => self.format.bytes() * u64::from(self.channels),
            Some(compression) => compression.bytes(),
        }
    }

    /// Elements of a row, rows of them, and slices, each at least 1.
    pub(crate) fn elements(&self) -> [u64; 3] {
        let side = self.format.element_side();
        [self.width.div_ceil(side), self.height.max(1).div_ceil(side), self.depth.max(1)]
    }

    /// The same with what lies between rows: as many elements as from the first of a row to that of the next.
    fn room(&self) -> [u64; 3] {
        let [columns, rows, slices] = self.elements();
        [columns.next_multiple_of((ROW_ALIGNMENT / self.element_bytes()).max(1)), rows, slices]
    }

    /// Bytes from row to row.
    pub(crate) fn pitch(&self) -> u64 {
        self.room()[0] * self.element_bytes()
    }

    /// The shape of a plane of an image.
    fn plane(&self, plane: &format::Plane) -> ArrayDescriptor {
        let [width, height] = [self.width / plane.by[0], self.height / plane.by[1]];
        ArrayDescriptor { width, height, format: plane.format, channels: plane.channels, ..*self }
    }

    /// Bytes of all elements, and between them.
    fn bytes(&self) -> DriverResult<u64> {
        self.room()
            .into_iter()
            .try_fold(self.element_bytes(), u64::checked_mul)
            .ok_or_else(|| DriverError::new(ErrorCode::OutOfMemory, "the array does not fit memory"))
    }
}

/// Where the elements of an array lie.
#[derive(Clone)]
pub(crate) enum Storage {
    /// From an address on, row after row ([`ArrayDescriptor::pitch`]) and slice after slice.
    At(u64),
    /// In memory that the program maps.
    Mapped(Arc<MappedTexels>),
}

/// One array.
pub struct Array {
    handle: Handle,
    descriptor: ArrayDescriptor,
    storage: Storage,
    /// What the program maps into it; not of a level.
    mapping: Option<Arc<Mapping>>,
    context: Arc<Context>,
    /// Whether its memory is its own; a level of a mipmapped array and a plane of an image have part of that array's.
    whole: bool,
    /// The planes of an image, which are arrays that belong to it.
    planes: Vec<Handle>,
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

    /// Where its elements lie.
    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// What the program maps into it, if it does and this is no level.
    pub(crate) fn mapping(&self) -> Option<&Arc<Mapping>> {
        self.mapping.as_ref()
    }

    /// Bytes of an element: a texel, or a block of them.
    pub fn element_bytes(&self) -> u64 {
        self.descriptor.element_bytes()
    }

    /// Whether its elements are blocks, which are copied whole.
    pub(crate) fn has_blocks(&self) -> bool {
        self.descriptor.format.compression().is_some()
    }

    /// Whether it has elements: an image of several planes has only those.
    pub(crate) fn has_elements(&self) -> bool {
        self.planes.is_empty()
    }

    /// Whether it is no level of a mipmapped array, and no plane.
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

    /// Bytes of a row of elements, rows, slices: each at least 1.
    pub(crate) fn storage_box(&self) -> Box3 {
        let [width, height, depth] = self.descriptor.elements();
        Box3 { width: width * self.element_bytes(), height, depth }
    }
}

impl Driver {
    /// Creates an array in the calling thread's context.
    ///
    /// # Errors
    /// `InvalidValue` for shapes and formats that do not exist; `NotSupported` for blocks that a surface would write, and images of several planes without memory of their own;
    /// `OutOfMemory`; those of [`Driver::current`].
    pub fn create_array(&self, descriptor: ArrayDescriptor) -> DriverResult<Handle> {
        let context = self.current()?;
        self.check_array(&context, &descriptor)?;
        let array = |descriptor, storage| Array {
            handle: Handle::NULL,
            descriptor,
            storage,
            mapping: None,
            context: Arc::clone(&context),
            whole: true,
            planes: Vec::new(),
        };
        if descriptor.is_mapped() {
            let (mapping, places) = Mapping::new(&[descriptor])?;
            let storage = Storage::Mapped(places[0].clone());
            return self.name_array(Array { mapping: Some(mapping), ..array(descriptor, storage) });
        }
        let parts: Vec<ArrayDescriptor> =
            descriptor.format.planes().iter().map(|plane| descriptor.plane(plane)).collect();
        if parts.is_empty() {
            let address = self.alloc_in(&context, descriptor.bytes()?, MemoryKind::Array, 0, "cuArrayCreate")?;
            return self.name_array(array(descriptor, Storage::At(address)));
        }
        let (starts, size) = consecutive(&parts)?;
        let address = self.alloc_in(&context, size, MemoryKind::Array, 0, "cuArrayCreate")?;
        let planes = parts.into_iter().zip(starts);
        let planes = planes
            .map(|(part, start)| self.name_array(Array { whole: false, ..array(part, Storage::At(address + start)) }));
        let planes = planes.collect::<DriverResult<Vec<Handle>>>()?;
        self.name_array(Array { planes, ..array(descriptor, Storage::At(address)) })
    }

    fn name_array(&self, array: Array) -> DriverResult<Handle> {
        Ok(self.arrays.insert(|handle| Array { handle, ..array })?.handle)
    }

    /// A plane of an image: the same handle each time.
    ///
    /// # Errors
    /// `InvalidValue` for a plane that it does not have; those of [`Driver::array`].
    pub fn array_plane(&self, array: Handle, plane: u32) -> DriverResult<Handle> {
        let array = self.array(array)?;
        array
            .planes
            .get(plane as usize)
            .copied()
            .ok_or_else(|| DriverError::invalid_value(format!("plane {plane} of an array with {}", array.planes.len())))
    }

    fn check_array(&self, context: &Context, descriptor: &ArrayDescriptor) -> DriverResult {
        let ArrayDescriptor { width, height, depth, channels, flags, .. } = *descriptor;
        let refuse =
            |why: String| Err(DriverError::invalid_value(format!("an array of {width} x {height} x {depth}: {why}")));
        if !descriptor.format.has(channels) {
            return refuse(format!("format {:#x} of {channels} channels", descriptor.format.number()));
        }
        if flags & !array_flags::KNOWN != 0 {
            return refuse(format!("flags {flags:#x} has unknown bits"));
        }
        let (layered, cube) = (flags & array_flags::LAYERED != 0, flags & array_flags::CUBEMAP != 0);
        if flags & array_flags::DEPTH_TEXTURE != 0 {
            return refuse("depths are for graphics alone".to_owned());
        }
        self.check_elements(descriptor)?;
        if flags & array_flags::COLOR_ATTACHMENT != 0 {
            return refuse("drawn to, which is for graphics alone".to_owned());
        }
        if flags & array_flags::SPARSE != 0 {
            if flags & array_flags::DEFERRED_MAPPING != 0 {
                return refuse("sparse, and mapped as a whole".to_owned());
            }
            if flags & array_flags::SURFACE_LDST != 0 || cube || height == 0 {
                return refuse(
                    "sparse arrays have two or three dimensions, or layers of two, and no surfaces".to_owned(),
                );
            }
        }
        let gathered = flags & array_flags::TEXTURE_GATHER != 0;
        if gathered && (height == 0 || depth != 0) {
            return refuse("gathering is for two dimensions without layers and faces".to_owned());
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
            _ if gathered => {
                [most(attribute::MAXIMUM_TEXTURE2D_GATHER_WIDTH), most(attribute::MAXIMUM_TEXTURE2D_GATHER_HEIGHT), 0]
            }
            (false, 0, 0) => [most(attribute::MAXIMUM_TEXTURE1D_WIDTH), 0, 0],
            (false, _, 0) => [most(attribute::MAXIMUM_TEXTURE2D_WIDTH), most(attribute::MAXIMUM_TEXTURE2D_HEIGHT), 0],
            // A box may be deeper that is less wide and high.
            (false, _, _) if depth > most(attribute::MAXIMUM_TEXTURE3D_DEPTH) => [
                most(attribute::MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE),
                most(attribute::MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE),
                most(attribute::MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE),
            ],
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
        let exceeds = |limits: [u64; 3]| width > limits[0] || height > limits[1] || depth > limits[2];
        if exceeds(limits) {
            return refuse(format!("the most is {} x {} x {}", limits[0], limits[1], limits[2]));
        }
        let as_surface = match (layered || cube, height, depth) {
            (false, 0, 0) => [most(attribute::MAXIMUM_SURFACE1D_WIDTH), 0, 0],
            (false, _, 0) => [most(attribute::MAXIMUM_SURFACE2D_WIDTH), most(attribute::MAXIMUM_SURFACE2D_HEIGHT), 0],
            (false, _, _) => [
                most(attribute::MAXIMUM_SURFACE3D_WIDTH),
                most(attribute::MAXIMUM_SURFACE3D_HEIGHT),
                most(attribute::MAXIMUM_SURFACE3D_DEPTH),
            ],
            // Layers and faces are as many and as large as those of textures.
            (true, ..) => limits,
        };
        if flags & array_flags::SURFACE_LDST != 0 && exceeds(as_surface) {
            return refuse(format!("the most of a surface is {as_surface:?}"));
        }
        Ok(())
    }

    /// Whether an array can have elements of its format in this shape.
    fn check_elements(&self, descriptor: &ArrayDescriptor) -> DriverResult {
        let ArrayDescriptor { width, height, depth, format, flags, .. } = *descriptor;
        let refuse = |why: &str| {
            let reason = format!("an array of {width} x {height} x {depth} of format {:#x}: {why}", format.number());
            Err(DriverError::invalid_value(reason))
        };
        let lacks = |what: &str| Err(DriverError::new(ErrorCode::NotSupported, format!("arrays of {what}")));
        let elements = format.elements();
        match elements {
            Elements::Plain | Elements::Fractions(_) | Elements::Packed => Ok(()),
            Elements::Planes | Elements::Interleaved(_) => {
                if flags & array_flags::VIDEO_ENCODE_DECODE == 0 {
                    return refuse("images are made with CUDA_ARRAY3D_VIDEO_ENCODE_DECODE");
                }
                let flat = height > 0 && (depth == 0 || flags & array_flags::LAYERED != 0);
                if !flat || flags & array_flags::CUBEMAP != 0 || width % 2 != 0 || height % 2 != 0 {
                    return refuse("images have two dimensions, each of an even size");
                }
                if elements == Elements::Planes && descriptor.is_mapped() {
                    return lacks("several planes without memory of their own");
                }
                Ok(())
            }
            // As recorded, whatever their shape.
            Elements::Compressed(_) if flags & array_flags::SURFACE_LDST != 0 => lacks("blocks that are surfaces"),
            Elements::Compressed(_) if height == 0 => refuse("blocks have two dimensions"),
            Elements::Compressed(_) => Ok(()),
        }
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
        for &plane in &array.planes {
            self.arrays.remove(plane)?;
        }
        match array.storage {
            Storage::At(address) => self.give_back(address),
            // It goes with the last of whom it is.
            Storage::Mapped(_) => Ok(()),
        }
    }

    /// How a sparse array is divided.
    ///
    /// # Errors
    /// `InvalidValue` for other arrays, and for what is none, as recorded; the sticky error.
    pub fn sparse_properties(&self, array: AnyArray) -> DriverResult<SparseProperties> {
        self.mapping_of(array)?.properties()
    }

    /// The bytes of memory that an array is mapped to as a whole.
    ///
    /// # Errors
    /// As [`Driver::sparse_properties`].
    pub fn memory_requirement(&self, array: AnyArray) -> DriverResult<u64> {
        self.mapping_of(array)?.requirement()
    }

    /// What a program maps into an array.
    ///
    /// # Errors
    /// As [`Driver::sparse_properties`].
    fn mapping_of(&self, array: AnyArray) -> DriverResult<Arc<Mapping>> {
        let (context, mapping) = match array {
            AnyArray::Array(array) => {
                let array = self.arrays.get(array);
                array.map(|array| (Arc::clone(&array.context), array.mapping().cloned())).unzip()
            }
            AnyArray::Mipmapped(array) => {
                let array = self.mipmapped_arrays.get(array);
                array.map(|array| (Arc::clone(array.context()), array.mapping().cloned())).unzip()
            }
        };
        context.ok_or_else(|| DriverError::invalid_value(format!("{array:?} is no array")))?.check()?;
        let reason = "the array has memory of its own, or is a level of another";
        mapping.flatten().ok_or_else(|| DriverError::invalid_value(reason))
    }
}

/// Where parts that lie one after another start, and the bytes of all.
fn consecutive(parts: &[ArrayDescriptor]) -> DriverResult<(Vec<u64>, u64)> {
    let mut starts = Vec::with_capacity(parts.len());
    let mut size = 0u64;
    for part in parts {
        starts.push(size);
        size = size.saturating_add(part.bytes()?).next_multiple_of(PART_ALIGNMENT);
    }
    Ok((starts, size))
}
