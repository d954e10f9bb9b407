//! Views of resources (`CUDA_RESOURCE_VIEW_DESC`): an array as a texture of another format or size. Views that show an array as it is
//! are possible.
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

/// The number in `CUresourceViewFormat` of an array's format (`CUarray_format`) and number of channels.
fn view_format(format: u32, channels: u32) -> Option<u32> {
    // `CU_RES_VIEW_FORMAT_*_1X*`; that of two and of four channels come next.
    let one = match format {
        0x01 => 1,
        0x08 => 4,
        0x02 => 7,
        0x09 => 10,
        0x03 => 13,
        0x0a => 16,
        0x10 => 19,
        0x20 => 22,
        _ => return None,
    };
    Some(one + channels.ilog2())
}

impl Driver {
    /// Checks that a view shows its resource as it is.
    ///
    /// # Errors
    /// `InvalidValue` for a view without a format, as recorded, of another resource than an array, or of a size that the array does not
    /// have; `NotSupported` for other formats than the array's.
    pub(super) fn check_view(&self, resource: &Resource, view: &ResourceView) -> DriverResult {
        let Resource::Array(array) = resource else {
            return Err(DriverError::invalid_value("a view needs an array"));
        };
        if view.format == 0 {
            return Err(DriverError::invalid_value("a view without a format"));
        }
        let known = *self.array(*array)?.descriptor();
        let size = [known.width, known.height, known.depth];
        if view.size != size {
            let reason = format!("a view of {:?} texels of an array of {size:?}", view.size);
            return Err(DriverError::invalid_value(reason));
        }
        if view_format(known.format.number(), known.channels) != Some(view.format) || view.levels != [0; 2] {
            return Err(not_supported("a view of an array in another format"));
        }
        Ok(())
    }
}
