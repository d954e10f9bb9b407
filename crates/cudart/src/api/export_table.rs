//! Private tables.
use std::ffi::c_void;
use std::sync::Once;

use warploom_abi::CUuuid;
use warploom_abi::runtime::cudaError;
use warploom_border::{calling_object, say};

use crate::border::Passed;
use crate::failure::{ApiResult, Failure};

/// They are private to NVIDIA's libraries, some of which do without. Said once: what such a library answers then tells nobody why.
///
/// It does not become the thread's last error: with NVIDIA's runtime the library would get its table, and nothing would have gone wrong. XLA looks for an
/// error before it loads a kernel and never takes it away, so that one product of matrices would make all that comes later fail. (Of a table that it
/// does not have, NVIDIA's says `cudaErrorInvalidValue`, and remembers it: an H200 with CUDA 13.5.)
pub fn cudaGetExportTable(_ppExportTable: Passed<'_, *const c_void>, _pExportTableId: Passed<'_, CUuuid>) -> ApiResult {
    static HINT: Once = Once::new();
    HINT.call_once(|| {
        say(&format!(
            "{} asks the CUDA runtime for a private table of NVIDIA's, which warploom's does not have: what it wants that for fails \
             there, as matrix products of cuBLAS do; see \"NVIDIA's own libraries\" in the user guide",
            calling_object()
        ));
    });
    let failure = Failure::new(cudaError::cudaErrorNotSupported, "private tables are not answered");
    Err(Failure { remembered: false, ..failure })
}
