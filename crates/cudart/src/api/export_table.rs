//! Private tables.
use std::ffi::c_void;
use std::sync::Once;

use warploom_abi::CUuuid;
use warploom_abi::runtime::cudaError;
use warploom_border::{calling_object, say};

use crate::border::Passed;
use crate::failure::{ApiResult, Failure};

/// They are private to NVIDIA's libraries, some of which do without. Said once: what such a library answers then tells nobody why.
pub fn cudaGetExportTable(_ppExportTable: Passed<'_, *const c_void>, _pExportTableId: Passed<'_, CUuuid>) -> ApiResult {
    static HINT: Once = Once::new();
    HINT.call_once(|| {
        say(&format!(
            "{} asks the CUDA runtime for a private table of NVIDIA's, which warploom's does not have: what it wants that for fails \
             there, as matrix products of cuBLAS do; see \"NVIDIA's own libraries\" in the user guide",
            calling_object()
        ));
    });
    Err(Failure::new(cudaError::cudaErrorNotSupported, "private tables are not answered"))
}
