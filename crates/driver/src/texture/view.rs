//! Views of resources (`CUDA_RESOURCE_VIEW_DESC`): an array as a texture of another format, and some of its mip levels and layers.
use warploom_exec::texture::{BLOCK_SIDE, Blocks, Channel, Compression, Texture};

use super::Resource;
use crate::array::Format;
use crate::driver::Driver;
use crate::{DriverError, DriverResult};

/// A view, by the numbers that a program gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceView {
    /// `CUresourceViewFormat`.
    pub format: u32,
    /// Texels of a row, rows, and slices.
    pub size: [u64; 3],
    /// First and last mip level.
    pub levels: [u32; 2],
    /// First and last layer.
    pub layers: [u32; 2],
}

/// The channels of a `CUresourceViewFormat` and how many there are: for each type one, two and four channels, from number 1 on.
fn channels(format: u32) -> Option<(Channel, u32)> {
    use Channel::{F16, F32, S8, S16, S32, U8, U16, U32};
    let index = format.checked_sub(1)?;
    let channel = [U8, S8, U16, S16, U32, S32, F16, F32].get(index as usize / 3)?;
    Some((*channel, 1 << (index % 3)))
}

/// The blocks of a `CUresourceViewFormat`.
fn blocks(format: u32) -> Option<Compression> {
    use Compression::{Bc1, Bc2, Bc3, Bc4, Bc5, Bc6h, Bc7};
    let [plain, signed] = [false, true];
    let all = [
        Bc1,
        Bc2,
        Bc3,
        Bc4 { signed: plain },
        Bc4 { signed },
        Bc5 { signed: plain },
        Bc5 { signed },
        Bc6h { signed: plain },
        Bc6h { signed },
        Bc7,
    ];
    all.get(format.checked_sub(FIRST_BLOCKS)? as usize).copied()
}

/// The first number in `CUresourceViewFormat` of blocks of compressed texels.
const FIRST_BLOCKS: u32 = 0x19;

/// Arrays of these are seen as blocks.
const UNSIGNED_INT32: u32 = 0x03;

impl Driver {
    /// Makes a texture of all of a resource the one that a view shows: levels and layers past the last are cut where there are several.
    ///
    /// # Errors
    /// As recorded, `InvalidValue` for a view without a format, of levels and layers that a resource does not have, of another size than the array's, of texels of another size, and of no level;
    /// for blocks, of others than words of as many bytes; and for any view of an array of blocks.
    pub(super) fn apply_view(&self, resource: &Resource, view: &ResourceView, texture: &mut Texture) -> DriverResult {
        // Of plain memory a view says nothing.
        let Some(array) = self.base_array(resource)? else { return Ok(()) };
        if texture.base().blocks.is_some() {
            return Err(DriverError::invalid_value("a view of blocks, which are seen as what they are"));
        }
        let known = *array.descriptor();
        match (channels(view.format), blocks(view.format)) {
            (Some((channel, count)), _) => {
                check_size(view, [known.width, known.height, known.depth])?;
                let bytes = texture.base().element_bytes();
                if channel.bytes() * u64::from(count) != bytes {
                    let reason =
                        format!("a view with {count} channels of {} bytes of texels of {bytes}", channel.bytes());
                    return Err(DriverError::invalid_value(reason));
                }
                for level in &mut texture.levels {
                    (level.channel, level.channels, level.fractions) = (channel, count, false);
                }
            }
            (None, Some(compression)) => {
                let side = u64::from(BLOCK_SIDE);
                check_size(view, [side * known.width, side * known.height, known.depth])?;
                see_blocks(known.format, compression, texture)?;
            }
            (None, None) => {
                return Err(DriverError::invalid_value(format!("{} is no format of views", view.format)));
            }
        }
        let [first, last] = view.levels;
        let levels = texture.levels.len();
        let is_plain = !matches!(resource, Resource::Mipmapped(_));
        if first > last || first as usize >= levels || is_plain && last != 0 {
            return Err(DriverError::invalid_value(format!("levels {first} to {last} of {levels}")));
        }
        texture.levels.truncate(last as usize + 1);
        texture.levels.drain(..first as usize);
        let [first, last] = view.layers;
        let [_, count] = texture.layers;
        if last != 0 && !(texture.base().layered || texture.base().cube) {
            return Err(DriverError::invalid_value(format!("layers {first} to {last} of what has none")));
        }
        // Of what has no layers, and of cubes, programs leave these 0.
        if last != 0 {
            if first > last || first >= count {
                return Err(DriverError::invalid_value(format!("layers {first} to {last} of {count}")));
            }
            texture.layers = [first, last.min(count - 1) - first + 1];
        }
        Ok(())
    }
}

/// Whether a view has the one size that it can have.
fn check_size(view: &ResourceView, size: [u64; 3]) -> DriverResult {
    if view.size != size {
        let reason = format!("a view of {:?} texels where there are {size:?}", view.size);
        return Err(DriverError::invalid_value(reason));
    }
    Ok(())
}

/// Makes each texel a block. A level of a view has half the texels of the one below it, as if the array were one of blocks.
fn see_blocks(format: Format, compression: Compression, texture: &mut Texture) -> DriverResult {
    let bytes = texture.base().element_bytes();
    if format.number() != UNSIGNED_INT32 || bytes != compression.bytes() {
        let reason = format!("a view of blocks of {} bytes of format {:#x}", compression.bytes(), format.number());
        return Err(DriverError::invalid_value(reason));
    }
    let base = texture.base().size;
    for (level, texels) in texture.levels.iter_mut().enumerate() {
        let blocks = Blocks { compression, opaque: false };
        (texels.channel, texels.channels) = (Channel::of_blocks(compression), compression.channels());
        texels.blocks = Some(blocks);
        let along = usize::from(texels.dimensions).min(2);
        for (size, base) in texels.size.iter_mut().zip(base).take(along) {
            *size = ((base * BLOCK_SIDE) >> level).max(1);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_views() {
        let known = [0, 1, 6, 0x0d, 0x14, 0x18, 0x19].map(channels);
        let expected = [
            None,
            Some((Channel::U8, 1)),
            Some((Channel::S8, 4)),
            Some((Channel::U32, 1)),
            Some((Channel::F16, 2)),
            Some((Channel::F32, 4)),
            None,
        ];
        assert_eq!(known, expected);
        let known = [0x18, 0x19, 0x1d, 0x21, 0x22, 0x23].map(blocks);
        let signed = true;
        let expected = [
            None,
            Some(Compression::Bc1),
            Some(Compression::Bc4 { signed }),
            Some(Compression::Bc6h { signed }),
            Some(Compression::Bc7),
            None,
        ];
        assert_eq!(known, expected);
    }
}
