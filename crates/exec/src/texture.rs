//! What textures and surfaces are to a kernel: where texels lie, how they are encoded, and how they are sampled (PTX ISA 5.3,
//! 9.7.10; CUDA programming guide, "Texture Fetching"). Data only: executors fetch, the driver keeps the objects.

mod tiles;

pub use tiles::{MappedTexels, Place, TILE_BYTES, Tiles};

use std::sync::Arc;

pub use warploom_numerics::texture::{BLOCK_SIDE, Compression};

/// The type of one channel of a texel: in memory, or as it comes out of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Channel {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
    F32,
    /// Fractions of 10, 10, 10 and 2 bits in one word, from the lowest bit on: four channels.
    Packed,
}

impl Channel {
    /// Bytes of one channel; of a packed word, a quarter of it.
    pub fn bytes(self) -> u64 {
        match self {
            Channel::U8 | Channel::S8 | Channel::Packed => 1,
            Channel::U16 | Channel::S16 | Channel::F16 => 2,
            Channel::U32 | Channel::S32 | Channel::F32 => 4,
        }
    }

    /// What comes out of blocks: fractions, and halves.
    pub fn of_blocks(compression: Compression) -> Channel {
        match compression {
            Compression::Bc1 | Compression::Bc2 | Compression::Bc3 | Compression::Bc7 => Channel::U8,
            Compression::Bc4 { signed: false } | Compression::Bc5 { signed: false } => Channel::U16,
            Compression::Bc4 { signed: true } | Compression::Bc5 { signed: true } => Channel::S16,
            Compression::Bc6h { .. } => Channel::F16,
        }
    }
}

/// Blocks of compressed texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// How they are compressed.
    pub compression: Compression,
    /// Whether the fourth channel of texels that lack it is 1, as the format of an array has it, or 0, as in a view.
    pub opaque: bool,
}

/// Texels of one mip level in device memory: element (x, y, z), a texel or a block of them, starts at `address + x * element_bytes() + y * pitch + z * slice`, or where
/// `mapped` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texels {
    /// First byte.
    pub address: u64,
    /// Of arrays whose memory the program maps.
    pub mapped: Option<Arc<MappedTexels>>,
    /// Texels of a row; rows and slices, at least 1 each. Layers and faces of a cube count as slices.
    pub size: [u32; 3],
    /// Dimensions that the program gave: 1 to 3; layers and faces are none.
    pub dimensions: u8,
    /// Bytes from row to row of elements.
    pub pitch: u64,
    /// Bytes from slice to slice.
    pub slice: u64,
    /// Type of a channel.
    pub channel: Channel,
    /// Channels of a texel: 1, 2 or 4; in blocks also 3.
    pub channels: u32,
    /// Whether slices are layers.
    pub layered: bool,
    /// Whether slices are faces of cubes.
    pub cube: bool,
    /// Whether they are one row of plain memory (`CU_RESOURCE_TYPE_LINEAR`).
    pub linear: bool,
    /// Whether integer channels are fractions of their range by their format, which is what stores make of floats.
    pub fractions: bool,
    /// Of compressed texels.
    pub blocks: Option<Blocks>,
}

impl Texels {
    /// Layers that a kernel can name: of cubes, how many there are; 1 where nothing is layered.
    pub fn layers(&self) -> u32 {
        match (self.layered, self.cube) {
            (true, true) => (self.size[2] / 6).max(1),
            (true, false) => self.size[2],
            (false, _) => 1,
        }
    }

    /// Where byte `x` of row `y` of elements of slice `z` lies.
    #[inline]
    pub fn place(&self, [x, y, z]: [u64; 3]) -> Place {
        match &self.mapped {
            None => Place::At(self.address + x + y * self.pitch + z * self.slice),
            Some(mapped) => mapped.place([x, y, z], self.element_bytes()).0,
        }
    }

    /// Where the element with texel (x, y, z) lies.
    #[inline]
    pub fn element(&self, [x, y, z]: [u32; 3]) -> Place {
        let bytes = self.element_bytes();
        if self.blocks.is_none() {
            return self.place([u64::from(x) * bytes, y.into(), z.into()]);
        }
        let (x, y) = (u64::from(x / BLOCK_SIDE) * bytes, u64::from(y / BLOCK_SIDE));
        // A level of a view has half the texels of the one below, and so perhaps some that the array has no blocks for.
        if x >= self.pitch || y * self.pitch >= self.slice {
            return Place::Nowhere;
        }
        self.place([x, y, z.into()])
    }

    /// The first byte, where all others lie behind it row by row.
    pub fn start(&self) -> Option<u64> {
        match &self.mapped {
            None => Some(self.address),
            Some(mapped) => mapped.whole(),
        }
    }

    /// Bytes of one texel, or of a block of them.
    pub fn element_bytes(&self) -> u64 {
        match self.blocks {
            None => self.channel.bytes() * u64::from(self.channels),
            Some(blocks) => blocks.compression.bytes(),
        }
    }
}

/// What happens to coordinates outside the texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// They start again at 0; for normalised coordinates only.
    #[default]
    Wrap,
    /// The nearest texel inside.
    Clamp,
    /// They run back and forth; for normalised coordinates only.
    Mirror,
    /// The border colour.
    Border,
}

/// How a texture is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampler {
    /// For x, y and z.
    pub address: [AddressMode; 3],
    /// Between texels, interpolate; otherwise take the nearest.
    pub linear: bool,
    /// Coordinates run from 0 to 1.
    pub normalized: bool,
    /// Integer channels of 8 and 16 bits are read as they are, not as fractions of their range.
    pub integers: bool,
    /// Channels of 8 bits are converted from sRGB.
    pub srgb: bool,
    /// What [`AddressMode::Border`] gives.
    pub border: [f32; 4],
    /// Across the edges of a cube is its next face, whatever the address mode.
    pub seamless: bool,
    /// Between mip levels, interpolate; otherwise take the nearest.
    pub linear_levels: bool,
    /// Added to the level that a kernel asks for.
    pub level_bias: f32,
    /// The most times that the longer axis of a footprint, which follows from gradients, may be as long as the shorter one before it is the level that
    /// rises. 0 is as 1.
    pub anisotropy: u32,
    /// Least and greatest mip level, from the first one that the texture has.
    pub level_clamp: [f32; 2],
}

/// A texture: texels and how they are sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// The texels of each mip level, at least one, the base first.
    pub levels: Vec<Texels>,
    /// The layers, or cubes, that can be named: the first and their number. All that there are, but for views.
    pub layers: [u32; 2],
    /// How they are sampled.
    pub sampler: Sampler,
}

impl Texture {
    /// A texture of all layers of its levels, of which there is at least one.
    pub fn new(levels: Vec<Texels>, sampler: Sampler) -> Texture {
        let layers = levels.first().map_or(1, Texels::layers);
        Texture { levels, layers: [0, layers], sampler }
    }

    /// The texels of the base level.
    pub fn base(&self) -> &Texels {
        &self.levels[0]
    }
}

/// Finds the textures and surfaces that kernels name by handles. Looked up at each access of a warp: an implementation answers
/// without waiting.
pub trait Objects: Send + Sync {
    /// The texture of a handle (`CUtexObject`, or a texture reference of a module).
    fn texture(&self, handle: u64) -> Option<Arc<Texture>>;

    /// The surface of a handle (`CUsurfObject`, or a surface reference of a module).
    fn surface(&self, handle: u64) -> Option<Arc<Texels>>;
}

/// No textures and no surfaces.
pub struct NoObjects;

impl Objects for NoObjects {
    fn texture(&self, _handle: u64) -> Option<Arc<Texture>> {
        None
    }

    fn surface(&self, _handle: u64) -> Option<Arc<Texels>> {
        None
    }
}
