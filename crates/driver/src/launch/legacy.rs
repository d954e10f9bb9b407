//! The launch interface before `cuLaunchKernel`: a function remembers the size of its CTAs and its parameters.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::LaunchShape;
use crate::driver::Driver;
use crate::module::Function;
use crate::stream::StreamName;
use crate::{DriverError, DriverResult};

/// What a function remembers for its next launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacyLaunch {
    cta: [u32; 3],
    dynamic_shared: u32,
    parameters: Vec<u8>,
    size: usize,
}

impl Default for LegacyLaunch {
    fn default() -> Self {
        LegacyLaunch { cta: [1; 3], dynamic_shared: 0, parameters: Vec::new(), size: 0 }
    }
}

/// Most bytes of parameters that a kernel could have when this interface was current, and what it still takes.
const MOST_PARAMETERS: usize = 4096;

impl Function {
    /// Remembers the size of CTAs (`cuFuncSetBlockShape`).
    ///
    /// # Errors
    /// `InvalidValue` for an extent below 1 or more threads than the function allows.
    pub fn set_cta(&self, size: [i32; 3]) -> DriverResult {
        let extents = size.map(|extent| u32::try_from(extent).unwrap_or(0));
        let threads = super::volume(extents);
        if threads == 0 || threads > u64::from(self.max_threads()) {
            return Err(DriverError::invalid_value(format!(
                "CTAs of {size:?}; the kernel allows {} threads",
                self.max_threads()
            )));
        }
        self.legacy.lock().cta = extents;
        Ok(())
    }

    /// Remembers the size of dynamic shared memory (`cuFuncSetSharedSize`).
    ///
    /// # Errors
    /// `InvalidValue` for more than the function allows.
    pub fn set_dynamic_shared(&self, bytes: u32) -> DriverResult {
        if bytes > self.max_dynamic_shared() {
            return Err(DriverError::invalid_value(format!(
                "{bytes} bytes; the function allows {}",
                self.max_dynamic_shared()
            )));
        }
        self.legacy.lock().dynamic_shared = bytes;
        Ok(())
    }

    /// Whether parameters up to byte `end` are possible.
    ///
    /// # Errors
    /// `InvalidValue` if not.
    pub fn check_parameter_end(&self, end: usize) -> DriverResult {
        if end > MOST_PARAMETERS {
            let reason = format!("parameters up to byte {end}; {MOST_PARAMETERS} are possible");
            return Err(DriverError::invalid_value(reason));
        }
        Ok(())
    }

    /// Remembers the size of the parameters (`cuParamSetSize`).
    ///
    /// # Errors
    /// `InvalidValue` for more than kernels can have.
    pub fn set_parameter_bytes(&self, bytes: usize) -> DriverResult {
        self.check_parameter_end(bytes)?;
        self.legacy.lock().size = bytes;
        Ok(())
    }

    /// Remembers bytes of the parameters (`cuParamSeti`, `cuParamSetf`, `cuParamSetv`).
    ///
    /// # Errors
    /// `InvalidValue` for an offset beyond what kernels can have.
    pub fn set_parameter(&self, offset: usize, bytes: &[u8]) -> DriverResult {
        let end = offset.saturating_add(bytes.len());
        self.check_parameter_end(end)?;
        let mut legacy = self.legacy.lock();
        if legacy.parameters.len() < end {
            legacy.parameters.resize(end, 0);
        }
        if let Some(place) = legacy.parameters.get_mut(offset..end) {
            place.copy_from_slice(bytes);
        }
        Ok(())
    }
}

impl Driver {
    /// Launches with what the function remembers (`cuLaunch`, `cuLaunchGrid`).
    ///
    /// # Errors
    /// As [`Driver::launch`].
    pub fn launch_legacy(&self, function: &Arc<Function>, grid: [i32; 2], stream: StreamName) -> DriverResult {
        let remembered = function.legacy.lock().clone();
        let [width, height] = grid.map(|extent| u32::try_from(extent).unwrap_or(0));
        let shape = LaunchShape {
            grid: [width, height, 1],
            cta: remembered.cta,
            cluster: None,
            dynamic_shared: remembered.dynamic_shared,
            cooperative: false,
        };
        let mut parameters = remembered.parameters;
        // Bytes beyond the stated size are not passed on, nor those beyond what the kernel has.
        parameters.resize(remembered.size.min(function.parameter_bytes() as usize), 0);
        self.launch(function, &shape, stream, parameters.into_boxed_slice(), &BTreeMap::new()).map(drop)
    }
}
