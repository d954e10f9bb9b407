//! The driver calls of a filetest, through the typed lookups of `warploom-entrypoint`.
use std::ffi::{CString, c_void};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use warploom_abi::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUfunction, CUjit_option, CUmodule, CUresult, CUstream,
};
use warploom_entrypoint::{Driver, entry};

/// A driver with a current context of its own on device 0.
pub(crate) struct Device {
    driver: Driver,
}

/// Code and, for loading, the log.
pub(crate) struct CallFailure {
    pub(crate) code: String,
    pub(crate) log: String,
}

impl Device {
    pub(crate) fn open(library: &Path) -> Result<Device> {
        let device = Device { driver: Driver::open(library).with_context(|| library.display().to_string())? };
        device.driver.init()?;
        let create = device.driver.get::<entry::cuCtxCreate_v3020>()?;
        let mut context = CUcontext::default();
        // SAFETY: the output is ours.
        device.success("cuCtxCreate", unsafe { create(&mut context, 0, CUdevice::default()) })?;
        Ok(device)
    }

    /// 90 for sm_90.
    pub(crate) fn architecture(&self) -> Result<u32> {
        let attribute = self.driver.get::<entry::cuDeviceGetAttribute_v2000>()?;
        let mut numbers = [0; 2];
        let asked = [
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        ];
        for (number, asked) in numbers.iter_mut().zip(asked) {
            // SAFETY: the output is ours.
            self.success("cuDeviceGetAttribute", unsafe { attribute(number, asked, CUdevice::default()) })?;
        }
        Ok(10 * numbers[0] as u32 + numbers[1] as u32)
    }

    pub(crate) fn load(&self, image: &[u8]) -> Result<Result<CUmodule, CallFailure>> {
        let load = self.driver.get::<entry::cuModuleLoadDataEx_v2010>()?;
        // A text ends in NUL; what is behind other images is not read.
        let image: Vec<u8> = image.iter().copied().chain([0]).collect();
        let mut log = vec![0_u8; 8192];
        let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
        let mut module = CUmodule::default();
        // SAFETY: the image ends in NUL, the log buffer is as long as the option says, and all outlive the call.
        let result = unsafe { load(&mut module, image.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr()) };
        if result == CUresult::CUDA_SUCCESS {
            return Ok(Ok(module));
        }
        let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
        Ok(Err(CallFailure { code: name(result), log: String::from_utf8_lossy(&log[..end]).into_owned() }))
    }

    pub(crate) fn function(&self, module: CUmodule, kernel: &str) -> Result<CUfunction> {
        let get = self.driver.get::<entry::cuModuleGetFunction_v2000>()?;
        let mut function = CUfunction::default();
        let c_name = CString::new(kernel)?;
        // SAFETY: the output is ours, the name ends in NUL.
        self.success(&format!("cuModuleGetFunction({kernel})"), unsafe {
            get(&mut function, module, c_name.as_ptr())
        })?;
        Ok(function)
    }

    /// New device memory that holds `bytes`.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<CUdeviceptr> {
        let alloc = self.driver.get::<entry::cuMemAlloc_v3020>()?;
        let copy = self.driver.get::<entry::cuMemcpyHtoD_v3020>()?;
        let mut address = CUdeviceptr::default();
        // SAFETY: the output is ours; the copy reads as many bytes as the slice has.
        unsafe {
            self.success("cuMemAlloc", alloc(&mut address, bytes.len()))?;
            self.success("cuMemcpyHtoD", copy(address, bytes.as_ptr().cast(), bytes.len()))?;
        }
        Ok(address)
    }

    pub(crate) fn download(&self, address: CUdeviceptr, length: usize) -> Result<Vec<u8>> {
        let copy = self.driver.get::<entry::cuMemcpyDtoH_v3020>()?;
        let mut bytes = vec![0; length];
        // SAFETY: the copy writes as many bytes as the vector has.
        self.success("cuMemcpyDtoH", unsafe { copy(bytes.as_mut_ptr().cast(), address, length) })?;
        Ok(bytes)
    }

    /// Launches and waits. `parameters` are the little-endian bytes of each kernel parameter.
    pub(crate) fn launch(
        &self,
        function: CUfunction,
        grid: [u32; 3],
        cta: [u32; 3],
        shared: u32,
        parameters: &mut [Vec<u8>],
    ) -> Result<Result<(), CallFailure>> {
        let launch = self.driver.get::<entry::cuLaunchKernel_v4000>()?;
        let synchronize = self.driver.get::<entry::cuCtxSynchronize_v2000>()?;
        let mut pointers: Vec<*mut c_void> = parameters.iter_mut().map(|bytes| bytes.as_mut_ptr().cast()).collect();
        // SAFETY: one pointer for each parameter, each to as many bytes as the parameter has; they outlive the call.
        let result = unsafe {
            match launch(
                function,
                grid[0],
                grid[1],
                grid[2],
                cta[0],
                cta[1],
                cta[2],
                shared,
                CUstream::default(),
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            ) {
                CUresult::CUDA_SUCCESS => synchronize(),
                failed => failed,
            }
        };
        Ok(if result == CUresult::CUDA_SUCCESS {
            Ok(())
        } else {
            Err(CallFailure { code: name(result), log: String::new() })
        })
    }

    fn success(&self, call: &str, result: CUresult) -> Result<()> {
        if result != CUresult::CUDA_SUCCESS {
            bail!("{call} answers {}", name(result));
        }
        Ok(())
    }
}

fn name(result: CUresult) -> String {
    result.name().map_or_else(|| format!("code {}", result.0), |name| name.to_string_lossy().into_owned())
}
