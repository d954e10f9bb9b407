//! Driver entry point access: `cuGetProcAddress`, and export tables.
use std::sync::OnceLock;

use warploom_abi::{CUdriverProcAddressQueryResult, CUuuid};
use warploom_driver::{DriverError, ErrorCode};

use crate::border::{
    ApiResult, HostAddress, IDENTITY_TABLE, In, InStr, Out, RESULTS_TABLE, identity_table, results_table,
};
use crate::lookup::{self, Found, LONGEST_NAME, Refused};
use warploom_border::{calling_object, say};

use crate::settings::Settings;

/// What both versions share. Where a recorded driver crashes (a NULL symbol), this answers `CUDA_ERROR_INVALID_VALUE`.
#[inline]
fn look_up(symbol: &InStr<'_>, version: i32, flags: u64) -> Result<Found, DriverError> {
    if symbol.is_null() {
        return Err(DriverError::invalid_value("symbol is NULL"));
    }
    let driver = Settings::get().machine.cuda_version;
    let name = symbol.up_to(LONGEST_NAME).unwrap_or_default();
    lookup::find(name, version, flags, driver).map_err(|refused| match refused {
        Refused::Flags => DriverError::invalid_value(format!("flags {flags} are outside 0 to 3")),
        Refused::Version => {
            DriverError::invalid_value(format!("version {version} is above that of the driver, {driver}"))
        }
    })
}

/// The first ABI has no query result: what is not there is an error, and leaves `pfn` alone.
pub(crate) fn cuGetProcAddress(
    symbol: InStr<'_>,
    pfn: Out<'_, HostAddress>,
    cudaVersion: i32,
    flags: u64,
) -> ApiResult {
    let pfn = pfn.required("pfn")?;
    match look_up(&symbol, cudaVersion, flags)? {
        Found::Symbol(version) => pfn.set(HostAddress(version.address.addr())),
        Found::Unknown => {
            return Err(DriverError::new(ErrorCode::NotFound, "the driver has no entry point of this name"));
        }
        Found::VersionNotSufficient => {
            return Err(DriverError::new(ErrorCode::NotFound, "the entry point is newer than the version asked for"));
        }
    }
    Ok(())
}

/// The second ABI answers success with NULL and a query result for what is not there.
pub(crate) fn cuGetProcAddress_v2(
    symbol: InStr<'_>,
    pfn: Out<'_, HostAddress>,
    cudaVersion: i32,
    flags: u64,
    symbolStatus: Out<'_, CUdriverProcAddressQueryResult>,
) -> ApiResult {
    let pfn = pfn.required("pfn")?;
    let (address, status) = match look_up(&symbol, cudaVersion, flags)? {
        Found::Symbol(version) => (version.address.addr(), CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS),
        Found::Unknown => (0, CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
        Found::VersionNotSufficient => (0, CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT),
    };
    pfn.set(HostAddress(address));
    if let Some(place) = symbolStatus.optional() {
        place.set(status);
    }
    Ok(())
}

/// Other drivers' tables are private to their makers' programs, which check for the error and do without.
pub(crate) fn cuGetExportTable(ppExportTable: Out<'_, HostAddress>, pExportTableId: In<'_, CUuuid>) -> ApiResult {
    let place = ppExportTable.required("ppExportTable")?;
    let id = pExportTableId.get("pExportTableId")?;
    match id.bytes.map(|byte| byte as u8) {
        IDENTITY_TABLE => {
            place.set(identity_table());
            Ok(())
        }
        RESULTS_TABLE => {
            let nobody = || DriverError::invalid_value("calls of the runtime API are not checked");
            place.set(results_table().ok_or_else(nobody)?);
            Ok(())
        }
        id if RUNTIME_TABLES.contains(&id) => {
            static HINT: OnceLock<String> = OnceLock::new();
            let hint = HINT.get_or_init(|| {
                let hint = runtime_hint();
                say(&hint);
                hint
            });
            Err(DriverError::invalid_value(hint.clone()))
        }
        _ => Err(DriverError::invalid_value("this driver has no such export table")),
    }
}

/// Tables for one of which NVIDIA's runtime library asks first: whether the driver is NVIDIA's, versions up to 11; what its own
/// interface is built on, versions 12 and 13.
const RUNTIME_TABLES: [[u8; 16]; 3] = [
    [0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2],
    [0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9],
    [0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d, 0xd9],
];

/// What to do about a program that has brought NVIDIA's runtime along. Said once: what is refused first is what the program fails with.
fn runtime_hint() -> String {
    let object = calling_object();
    let audited =
        std::env::var_os("LD_AUDIT").is_some_and(|list| list.to_string_lossy().contains("libwarploom_audit.so"));
    let way_out = if audited {
        "`warploom run` could not lead it to warploom's (its option --explain says why); link it with -cudart shared, or with warploom's libcudart_static.a"
    } else {
        "start the program with `warploom run`, which leads it to warploom's, or link it with -cudart shared or warploom's libcudart_static.a"
    };
    format!(
        "{object} contains NVIDIA's CUDA runtime library (nvcc links it in statically unless told otherwise), which runs on NVIDIA's \
         driver only: it asks for a private table and gives up without it; {way_out}. Programs that use the driver API directly run; see \
         \"Run a program\" in the user guide"
    )
}
