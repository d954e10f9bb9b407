//! Views of resources (`CUDA_RESOURCE_VIEW_DESC`): an array as a texture of another format, and some of its mip levels and layers.
use warploom_exec::texture::{Channel, Texture};

use super::{Resource, not_supported};
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

/// The first number in `CUresourceViewFormat` of blocks of compressed texels.
const FIRST_COMPRESSED: u32 = 0x19;
/// The last one.
const LAST_COMPRESSED: u32 = 0x22;

/// The channels of a `CUresourceViewFormat` and how many there are: for each type one, two and four channels, from number 1 on.
fn channels(format: u32) -> Option<(Channel, u32)> {
    use Channel::{F16, F32, S8, S16, S32, U8, U16, U32};
    let index = format.checked_sub(1)?;
    let channel = [U8, S8, U16, S16, U32, S32, F16, F32].get(index as usize / 3)?;
    Some((*channel, 1 << (index % 3)))
}

impl Driver {
    /// Makes a texture of all of a resource the one that a view shows: levels and layers past the last are cut.
    ///
    /// # Errors
    /// As recorded, `InvalidValue` for a view without a format, of another resource than an array, of another size than the array's, of texels of
    /// another size, and of no level; `NotSupported` for compressed blocks.
    pub(super) fn apply_view(&self, resource: &Resource, view: &ResourceView, texture: &mut Texture) -> DriverResult {
        let base = match *resource {
            Resource::Array(array) => array,
            Resource::Mipmapped(array) => self.mipmap_level(array, 0)?,
            _ => return Err(DriverError::invalid_value("a view needs an array")),
        };
        if (FIRST_COMPRESSED..=LAST_COMPRESSED).contains(&view.format) {
            return Err(not_supported("a view of compressed blocks"));
        }
        let Some((channel, count)) = channels(view.format) else {
            return Err(DriverError::invalid_value(format!("{} is no format of views", view.format)));
        };
        let known = *self.array(base)?.descriptor();
        let size = [known.width, known.height, known.depth];
        if view.size != size {
            let reason = format!("a view of {:?} texels of an array of {size:?}", view.size);
            return Err(DriverError::invalid_value(reason));
        }
        let bytes = texture.base().texel_bytes();
        if channel.bytes() * u64::from(count) != bytes {
            let reason = format!("a view with {count} channels of {} bytes of texels of {bytes}", channel.bytes());
            return Err(DriverError::invalid_value(reason));
        }
        for level in &mut texture.levels {
            (level.channel, level.channels, level.fractions) = (channel, count, false);
        }
        let [first, last] = view.levels;
        let levels = texture.levels.len();
        if first > last || first as usize >= levels {
            return Err(DriverError::invalid_value(format!("levels {first} to {last} of {levels}")));
        }
        texture.levels.truncate(last as usize + 1);
        texture.levels.drain(..first as usize);
        let [first, last] = view.layers;
        let [_, count] = texture.layers;
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
    }
}
