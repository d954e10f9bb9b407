//! What a texture or surface is made from, and how it is sampled, as a program says it.
use std::sync::Arc;

use warploom_exec::texture::{AddressMode, Blocks, Channel, MappedTexels, Sampler, Texels, Tiles};

use crate::array::{Array, Elements, Format, Storage, array_flags};
use crate::device::attribute;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult};

/// Texels to read (`CUDA_RESOURCE_DESC`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// An array.
    Array(Handle),
    /// A mipmapped array. Its coordinates are always normalised, as recorded.
    Mipmapped(Handle),
    /// Device memory in one dimension.
    Linear {
        /// First byte, a multiple of the device's texture alignment.
        address: u64,
        /// Type of a channel.
        format: Format,
        /// Channels of a texel.
        channels: u32,
        /// Bytes.
        bytes: u64,
    },
    /// Device memory in two dimensions.
    Pitch2d {
        /// First byte, a multiple of the device's texture alignment.
        address: u64,
        /// Type of a channel.
        format: Format,
        /// Channels of a texel.
        channels: u32,
        /// Texels of a row.
        width: u64,
        /// Rows.
        height: u64,
        /// Bytes from row to row, a multiple of the device's pitch alignment.
        pitch: u64,
    },
}

/// The flags of `CUDA_TEXTURE_DESC` (`CU_TRSF_*`).
#[expect(non_snake_case, missing_docs, reason = "the names of the C constants say it")]
pub mod SamplerFlags {
    pub const READ_AS_INTEGER: u32 = 0x01;
    pub const NORMALIZED_COORDINATES: u32 = 0x02;
    pub const SRGB: u32 = 0x10;
    pub const SEAMLESS_CUBEMAP: u32 = 0x40;
    /// One of them has no name, and is taken as recorded.
    pub const KNOWN: u32 = 0x01 | 0x02 | 0x04 | 0x10 | 0x20 | 0x40;
}

/// How a texture is sampled (`CUDA_TEXTURE_DESC`), by the numbers that a program gave.
#[derive(Clone, Debug, PartialEq)]
pub struct TextureSettings {
    /// `CUaddress_mode` along x, y and z.
    pub address_modes: [u32; 3],
    /// `CUfilter_mode`.
    pub filter_mode: u32,
    /// [`SamplerFlags`].
    pub flags: u32,
    /// The most samples along the longer axis of what gradients ask for.
    pub max_anisotropy: u32,
    /// `CUfilter_mode` between mip levels.
    pub mipmap_filter_mode: u32,
    /// Added to mip levels that kernels ask for.
    pub mipmap_level_bias: f32,
    /// Least and greatest mip level.
    pub mipmap_level_clamp: [f32; 2],
    /// What the address mode "border" gives.
    pub border_color: [f32; 4],
}

impl Default for TextureSettings {
    /// Unnormalised coordinates, clamped, nearest texel: what a new texture reference has.
    fn default() -> Self {
        TextureSettings {
            address_modes: [CLAMP; 3],
            filter_mode: POINT,
            flags: 0,
            max_anisotropy: 0,
            mipmap_filter_mode: POINT,
            mipmap_level_bias: 0.0,
            mipmap_level_clamp: [0.0; 2],
            border_color: [0.0; 4],
        }
    }
}

/// `CU_TR_ADDRESS_MODE_CLAMP`.
const CLAMP: u32 = 1;
/// `CU_TR_FILTER_MODE_POINT`.
const POINT: u32 = 0;

impl TextureSettings {
    /// The sampler that they mean.
    ///
    /// # Errors
    /// `InvalidValue` for numbers that mean nothing.
    pub fn sampler(&self) -> DriverResult<Sampler> {
        let mode = |number| {
            Ok(match number {
                0 => AddressMode::Wrap,
                CLAMP => AddressMode::Clamp,
                2 => AddressMode::Mirror,
                3 => AddressMode::Border,
                _ => return Err(DriverError::invalid_value(format!("{number} is no address mode"))),
            })
        };
        for mode in [self.filter_mode, self.mipmap_filter_mode] {
            if mode > 1 {
                return Err(DriverError::invalid_value(format!("{mode} is no filter mode")));
            }
        }
        if self.flags & !SamplerFlags::KNOWN != 0 {
            return Err(DriverError::invalid_value(format!("flags {:#x} has unknown bits", self.flags)));
        }
        let [x, y, z] = self.address_modes;
        Ok(Sampler {
            address: [mode(x)?, mode(y)?, mode(z)?],
            linear: self.filter_mode != POINT,
            normalized: self.flags & SamplerFlags::NORMALIZED_COORDINATES != 0,
            integers: self.flags & SamplerFlags::READ_AS_INTEGER != 0,
            srgb: self.flags & SamplerFlags::SRGB != 0,
            border: self.border_color,
            seamless: self.flags & SamplerFlags::SEAMLESS_CUBEMAP != 0,
            linear_levels: self.mipmap_filter_mode != POINT,
            level_bias: self.mipmap_level_bias,
            anisotropy: self.max_anisotropy,
            level_clamp: self.mipmap_level_clamp,
        })
    }
}

fn channel(format: Format) -> Channel {
    match format.number() {
        0x01 => Channel::U8,
        0x02 => Channel::U16,
        0x03 => Channel::U32,
        0x08 => Channel::S8,
        0x09 => Channel::S16,
        0x0a => Channel::S32,
        0x10 => Channel::F16,
        0x50 => Channel::Packed,
        0xc0..=0xc2 => Channel::U8,
        0xc3..=0xc5 => Channel::U16,
        0xc6..=0xc8 => Channel::S8,
        0xc9..=0xcb => Channel::S16,
        // Of images whose brightness and colours lie among each other: what has their bytes.
        0xa5 | 0xa8 => Channel::U8,
        0xa6 | 0xa7 | 0xb1 => Channel::U16,
        0xa9 => Channel::U32,
        _ => Channel::F32,
    }
}

impl Resource {
    /// Fails for no array at all: as recorded, that is another error than for one that is no more.
    fn check_given(&self) -> DriverResult {
        match *self {
            Resource::Array(array) | Resource::Mipmapped(array) if array.is_null() => {
                Err(DriverError::invalid_value("the array is NULL"))
            }
            _ => Ok(()),
        }
    }
}

impl Driver {
    /// The texels of a resource: its mip levels, at least one.
    pub(super) fn levels_of(&self, resource: &Resource) -> DriverResult<Vec<Texels>> {
        resource.check_given()?;
        match *resource {
            Resource::Mipmapped(array) => {
                self.mipmap_levels(array)?.iter().map(|level| texels_of_array(level)).collect()
            }
            _ => Ok(vec![self.texels_of(resource)?]),
        }
    }

    /// The array of a resource; of a mipmapped one, its base level.
    pub(super) fn base_array(&self, resource: &Resource) -> DriverResult<Option<Arc<Array>>> {
        match *resource {
            Resource::Array(array) => self.array(array).map(Some),
            Resource::Mipmapped(array) => self.array(self.mipmap_level(array, 0)?).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether a resource is an image whose brightness and colours lie among each other.
    pub(super) fn is_interleaved(&self, resource: &Resource) -> DriverResult<bool> {
        let array = self.base_array(resource)?;
        Ok(array.is_some_and(|array| array.descriptor().format.is_interleaved()))
    }

    /// The texels of an array that kernels write: of no blocks.
    pub(super) fn surface_texels(&self, resource: &Resource) -> DriverResult<Texels> {
        resource.check_given()?;
        let mut texels = self.texels_of(resource)?;
        if texels.blocks.is_some() {
            return Err(DriverError::invalid_value("blocks are no surface"));
        }
        if self.is_interleaved(resource)? {
            hide(&mut texels);
        }
        Ok(texels)
    }

    /// The texels of a resource; of a mipmapped array, those of its base level.
    pub(super) fn texels_of(&self, resource: &Resource) -> DriverResult<Texels> {
        match *resource {
            Resource::Array(array) => texels_of_array(&*self.array(array)?),
            Resource::Mipmapped(array) => texels_of_array(&*self.array(self.mipmap_level(array, 0)?)?),
            Resource::Linear { address, format, channels, bytes } => {
                let texel = self.check_texels(address, format, channels)?;
                let width = bytes / texel;
                let most = MOST_LINEAR.min(MOST_LINEAR_BYTES / texel);
                if width > most {
                    return Err(DriverError::invalid_value(format!("{width} texels; up to {most} are possible")));
                }
                // Where there is none, the first one is read all the same, as recorded.
                Ok(Texels { linear: true, ..plane(address, [width.max(1), 1], 1, bytes, format, channels) })
            }
            Resource::Pitch2d { address, format, channels, width, height, pitch } => {
                self.check_texels(address, format, channels)?;
                let most = [
                    self.texture_limit(attribute::MAXIMUM_TEXTURE2D_LINEAR_WIDTH)?,
                    self.texture_limit(attribute::MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)?,
                ];
                if width > most[0] || height > most[1] {
                    let reason = format!("{width} by {height} texels; up to {most:?} are possible");
                    return Err(DriverError::invalid_value(reason));
                }
                let aligned = pitch.is_multiple_of(self.texture_limit(attribute::TEXTURE_PITCH_ALIGNMENT)?.max(1));
                let most_pitch = self.texture_limit(attribute::MAXIMUM_TEXTURE2D_LINEAR_PITCH)?;
                if !aligned || pitch > most_pitch {
                    let reason = format!("a pitch of {pitch}; up to {most_pitch} are possible");
                    return Err(DriverError::invalid_value(reason));
                }
                // Rows of no texels are as wide as they can be, and where there is no row, the first one is read, as recorded.
                let width = if width == 0 { most[0] } else { width };
                Ok(plane(address, [width, height.max(1)], 2, pitch, format, channels))
            }
        }
    }

    fn texture_limit(&self, number: i32) -> DriverResult<u64> {
        Ok(u64::from(self.device_of(&*self.current()?)?.limit(number)))
    }

    /// Bytes of a texel in plain memory, if it can be one.
    fn check_texels(&self, address: u64, format: Format, channels: u32) -> DriverResult<u64> {
        if !format.has(channels) {
            let reason = format!("format {:#x} of {channels} channels", format.number());
            return Err(DriverError::invalid_value(reason));
        }
        // Whether there is memory is seen where a kernel fetches, as recorded.
        let alignment = self.texture_limit(attribute::TEXTURE_ALIGNMENT)?;
        if address == 0 || !address.is_multiple_of(alignment.max(1)) {
            return Err(DriverError::invalid_value(format!(
                "address {address:#x} is NULL or no multiple of {alignment}"
            )));
        }
        Ok(format.bytes() * u64::from(channels))
    }
}

/// Makes texels read as 0, and take no writes. As recorded, references and surfaces show nothing of an image whose brightness and colours lie among each other: a view would have to
/// say what it is.
pub(super) fn hide(texels: &mut Texels) {
    let tiles = Arc::new(Tiles::new(0, true));
    texels.mapped = Some(Arc::new(MappedTexels { tiles, size: [1; 3], count: [1; 2], start: 0, stride: 0 }));
}

/// The texels of an array.
fn texels_of_array(array: &Array) -> DriverResult<Texels> {
    if !array.has_elements() {
        return Err(DriverError::invalid_value("an image is read plane by plane"));
    }
    let known = array.descriptor();
    let (layered, cube) = (known.flags & array_flags::LAYERED != 0, known.flags & array_flags::CUBEMAP != 0);
    let narrow = |extent: u64| u32::try_from(extent).unwrap_or(u32::MAX);
    let [_, rows, _] = known.elements();
    let pitch = known.pitch();
    let blocks = known.format.compression().map(|compression| Blocks { compression, opaque: true });
    let (address, mapped) = match array.storage() {
        Storage::At(address) => (*address, None),
        Storage::Mapped(mapped) => (0, Some(Arc::clone(mapped))),
    };
    Ok(Texels {
        address,
        mapped,
        size: [narrow(known.width), narrow(known.height.max(1)), narrow(known.depth.max(1))],
        dimensions: 1 + u8::from(known.height > 0) + u8::from(known.depth > 0 && !layered && !cube),
        pitch,
        slice: pitch * rows,
        channel: blocks.map_or_else(|| channel(known.format), |blocks| Channel::of_blocks(blocks.compression)),
        channels: known.channels,
        layered,
        cube,
        linear: false,
        fractions: matches!(known.format.elements(), Elements::Fractions(_)),
        blocks,
    })
}

/// The most texels and the most bytes of a texture of one dimension in plain memory, as recorded: more texels than the device's attribute says.
const MOST_LINEAR: u64 = 1 << 30;
const MOST_LINEAR_BYTES: u64 = 1 << 32;

/// Texels in plain memory.
fn plane(address: u64, size: [u64; 2], dimensions: u8, pitch: u64, format: Format, channels: u32) -> Texels {
    let [width, height] = size.map(|extent| u32::try_from(extent).unwrap_or(u32::MAX));
    Texels {
        address,
        mapped: None,
        size: [width, height, 1],
        dimensions,
        pitch,
        slice: pitch * u64::from(height),
        channel: channel(format),
        channels,
        layered: false,
        cube: false,
        linear: false,
        fractions: false,
        blocks: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_samplers() {
        let settings = TextureSettings { address_modes: [0, 2, 3], filter_mode: 1, flags: 0x13, ..Default::default() };
        let sampler = settings.sampler().unwrap();
        assert_eq!(sampler.address, [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Border]);
        assert!(sampler.linear && sampler.normalized && sampler.integers && sampler.srgb);
        assert!(TextureSettings { address_modes: [4, 0, 0], ..Default::default() }.sampler().is_err());
        assert!(TextureSettings { filter_mode: 2, ..Default::default() }.sampler().is_err());
        assert!(TextureSettings { mipmap_filter_mode: 2, ..Default::default() }.sampler().is_err());
        assert!(TextureSettings { flags: 0x100, ..Default::default() }.sampler().is_err());
    }
}
