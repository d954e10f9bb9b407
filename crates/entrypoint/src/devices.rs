//! The few questions about devices that a tool asks of any driver, as safe calls.
use std::ffi::{CStr, c_char, c_int};

use warploom_abi::{CUdevice_attribute, CUresult, CUuuid};

use crate::driver::Driver;
use crate::entry;
use crate::lookup::LookupError;

/// Why a driver did not tell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The driver lacks the function.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The function failed.
    #[error("{function} answers {} ({code})", name.as_deref().unwrap_or("an unknown code"))]
    Failed {
        /// The base name of the function.
        function: &'static str,
        /// The result code.
        code: u32,
        /// Its name, as the driver gives it.
        name: Option<String>,
    },
}

/// What a driver says of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// The ordinal.
    pub ordinal: u32,
    /// The device's name.
    pub name: String,
    /// Major and minor compute capability.
    pub compute_capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: i32,
    /// Device memory in bytes.
    pub memory: u64,
    /// The UUID, in the usual notation.
    pub uuid: String,
}

impl Driver {
    /// Calls `cuInit`.
    pub fn init(&self) -> Result<(), CallError> {
        let init = self.get::<entry::cuInit_v2000>()?;
        // SAFETY: cuInit takes a number.
        self.check("cuInit", unsafe { init(0) })
    }

    /// How many devices there are, after [`Driver::init`].
    pub fn device_count(&self) -> Result<u32, CallError> {
        let get_count = self.get::<entry::cuDeviceGetCount_v2000>()?;
        let mut count = 0;
        // SAFETY: the output is ours.
        self.check("cuDeviceGetCount", unsafe { get_count(&mut count) })?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// What the device `ordinal` is, after [`Driver::init`].
    pub fn device(&self, ordinal: u32) -> Result<DeviceFacts, CallError> {
        let get = self.get::<entry::cuDeviceGet_v2000>()?;
        let get_name = self.get::<entry::cuDeviceGetName_v2000>()?;
        let total_mem = self.get::<entry::cuDeviceTotalMem_v3020>()?;
        let get_uuid = self.get::<entry::cuDeviceGetUuid_v9020>()?;
        let mut device = 0;
        let mut name: [c_char; 256] = [0; 256];
        let mut memory = 0;
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: the outputs are ours, and the name's buffer is as long as said.
        unsafe {
            self.check("cuDeviceGet", get(&mut device, c_int::try_from(ordinal).unwrap_or(c_int::MAX)))?;
            self.check("cuDeviceGetName", get_name(name.as_mut_ptr(), name.len() as c_int, device))?;
            self.check("cuDeviceTotalMem", total_mem(&mut memory, device))?;
            self.check("cuDeviceGetUuid", get_uuid(&mut uuid, device))?;
        }
        let bytes = name.map(|byte| byte as u8);
        let name = CStr::from_bytes_until_nul(&bytes).unwrap_or_default().to_string_lossy().into_owned();
        let attribute = |attribute| self.attribute(device, attribute);
        Ok(DeviceFacts {
            ordinal,
            name,
            compute_capability: (
                attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            memory: memory as u64,
            uuid: hyphenated(uuid.bytes.map(|byte| byte as u8)),
        })
    }

    fn attribute(&self, device: c_int, attribute: CUdevice_attribute) -> Result<i32, CallError> {
        let get_attribute = self.get::<entry::cuDeviceGetAttribute_v2000>()?;
        let mut value = 0;
        // SAFETY: the output is ours.
        self.check("cuDeviceGetAttribute", unsafe { get_attribute(&mut value, attribute, device) })?;
        Ok(value)
    }

    /// The driver's name of a result code.
    pub fn error_name(&self, code: u32) -> Option<String> {
        let get_name = self.get::<entry::cuGetErrorName_v6000>().ok()?;
        let mut name: *const c_char = std::ptr::null();
        // SAFETY: the output is ours.
        let result = unsafe { get_name(CUresult(code), &mut name) };
        if result != CUresult::CUDA_SUCCESS || name.is_null() {
            return None;
        }
        // SAFETY: the driver's names end in NUL and live for ever.
        Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    fn check(&self, function: &'static str, result: CUresult) -> Result<(), CallError> {
        if result == CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        Err(CallError::Failed { function, code: result.0, name: self.error_name(result.0) })
    }
}

/// `00112233-4455-6677-8899-aabbccddeeff`.
fn hyphenated(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn uuids_are_hyphenated() {
        let bytes = std::array::from_fn(|index| 0x11 * index as u8);
        assert_eq!(super::hyphenated(bytes), "00112233-4455-6677-8899-aabbccddeeff");
    }
}
