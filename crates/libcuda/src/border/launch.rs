//! Attributes of a launch: a list behind a structure, of unions.
use warploom_abi::{CUevent, CUlaunchAttributeID, CUlaunchConfig};
use warploom_driver::stream::AttributeValue;
use warploom_driver::{DriverError, DriverResult};

/// One attribute, as bytes: which member of the union is valid says its number.
pub(crate) struct LaunchAttribute {
    pub(crate) id: CUlaunchAttributeID,
    value: [u8; VALUE_BYTES],
}

/// Bytes of the union of values, its distance from the start of an attribute, and of attributes from each other.
const VALUE_BYTES: usize = 64;
const VALUE_OFFSET: usize = 8;
const STRIDE: usize = 72;

impl LaunchAttribute {
    /// The 32-bit number at `index` of the value.
    pub(crate) fn word(&self, index: usize) -> u32 {
        let bytes = self.value.get(4 * index..4 * index + 4).unwrap_or(&[]);
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
    }

    /// All of the value.
    pub(crate) fn value(&self) -> AttributeValue {
        self.value
    }

    /// The handle of an event, which is the first member where there is one.
    pub(crate) fn event(&self) -> CUevent {
        CUevent(self.word(0) as usize | (self.word(1) as usize) << 32)
    }
}

/// Writes the value of an attribute that the driver answers (`deviceUpdatableKernelNode`) to where the launch has it.
pub(crate) fn answer_launch_attribute(config: &CUlaunchConfig, id: CUlaunchAttributeID, value: AttributeValue) {
    let attributes = launch_attributes(config).unwrap_or_default();
    for (index, _) in attributes.iter().enumerate().filter(|(_, attribute)| attribute.id == id) {
        // SAFETY: the list was read, so that the attribute is there, and the C caller lets this value be written.
        unsafe {
            let place = config.attrs.cast::<u8>().add(index * STRIDE + VALUE_OFFSET);
            std::ptr::copy_nonoverlapping(value.as_ptr(), place, value.len());
        }
    }
}

/// The attributes of a launch.
///
/// # Errors
/// `InvalidValue` for a list that is NULL.
pub(crate) fn launch_attributes(config: &CUlaunchConfig) -> DriverResult<Vec<LaunchAttribute>> {
    const { assert!(size_of::<warploom_abi::CUlaunchAttribute>() == STRIDE) };
    let count = config.numAttrs as usize;
    if count > 0 && config.attrs.is_null() {
        return Err(DriverError::invalid_value("attrs is NULL"));
    }
    let list = config.attrs.cast::<u8>();
    let read = |index: usize| {
        let mut id = [0; 4];
        let mut value = [0; VALUE_BYTES];
        // SAFETY: not NULL, and the C caller promised `numAttrs` attributes, which are read as bytes.
        unsafe {
            let attribute = list.add(index * STRIDE);
            std::ptr::copy_nonoverlapping(attribute, id.as_mut_ptr(), id.len());
            std::ptr::copy_nonoverlapping(attribute.add(VALUE_OFFSET), value.as_mut_ptr(), value.len());
        }
        LaunchAttribute { id: CUlaunchAttributeID(u32::from_ne_bytes(id)), value }
    };
    Ok((0..count).map(read).collect())
}
