//! One library, any driver version from 11.3 on: `WARPLOOM_CUDA_VERSION`.
#[path = "support/driver.rs"]
mod driver;
#[path = "support/library.rs"]
mod library;
#[path = "support/process.rs"]
mod process;

use std::ffi::c_int;

use warploom_abi::CUresult;
use warploom_entrypoint::{DefaultStream, Driver, LookupError, entry};

fn as_version(test: &str, version: &str, body: impl FnOnce(&Driver)) {
    process::with_settings(test, &[("WARPLOOM_CUDA_VERSION", version)], || body(&driver::driver()));
}

/// The symbol that a request gives, or the reason why none.
fn symbol(driver: &Driver, name: &str, version: i32) -> Result<String, LookupError> {
    driver.look_up(name, version, DefaultStream::Legacy).map(|symbol| symbol.name().expect("a symbol has a name"))
}

fn not_found(name: &str) -> Result<String, LookupError> {
    Err(LookupError::SymbolNotFound { name: name.to_owned() })
}

const AFFINITY: &str = "cuDeviceGetExecAffinitySupport";

#[test]
fn an_11_4_driver_says_that_the_request_is_too_old() {
    as_version("an_11_4_driver_says_that_the_request_is_too_old", "11.4", |driver| {
        assert_eq!(driver.version(), 11_040);
        let too_old = LookupError::VersionNotSufficient { name: AFFINITY.to_owned(), version: 11_030 };
        assert_eq!(symbol(driver, AFFINITY, 11_030), Err(too_old));
        assert_eq!(symbol(driver, AFFINITY, 11_040).as_deref(), Ok(AFFINITY));
        let newer = LookupError::NewerThanDriver { name: AFFINITY.to_owned(), version: 11_050, driver: 11_040 };
        assert_eq!(symbol(driver, AFFINITY, 11_050), Err(newer));
    });
}

#[test]
fn an_11_3_driver_does_not_have_what_came_later() {
    as_version("an_11_3_driver_does_not_have_what_came_later", "11.3", |driver| {
        assert_eq!(driver.version(), 11_030);
        for version in [-1, 2_000, 11_030] {
            assert_eq!(symbol(driver, AFFINITY, version), not_found(AFFINITY), "{version}");
        }
        for (name, version) in [(AFFINITY, 11_040), ("cuInit", 11_040), ("cuNope", 13_000)] {
            let refused = LookupError::NewerThanDriver { name: name.to_owned(), version, driver: 11_030 };
            assert_eq!(symbol(driver, name, version), Err(refused));
        }
        // The lookup itself stays callable by its second ABI, and is found as its first.
        assert!(driver.symbol("cuGetProcAddress_v2").is_some());
        assert_eq!(symbol(driver, "cuGetProcAddress", 11_030).as_deref(), Ok("cuGetProcAddress"));
        assert_eq!(symbol(driver, "cuDeviceGetUuid", 11_030).as_deref(), Ok("cuDeviceGetUuid"));
        assert_eq!(symbol(driver, "cuDeviceGetUuid", -1).as_deref(), Ok("cuDeviceGetUuid"));
    });
}

#[test]
fn the_uuid_has_a_second_version_from_11_4() {
    as_version("the_uuid_has_a_second_version_from_11_4", "11.4", |driver| {
        assert_eq!(symbol(driver, "cuDeviceGetUuid", 11_030).as_deref(), Ok("cuDeviceGetUuid"));
        assert_eq!(symbol(driver, "cuDeviceGetUuid", 11_040).as_deref(), Ok("cuDeviceGetUuid_v2"));
    });
}

#[test]
fn a_later_drivers_function_is_reached_through_a_handwritten_typedef() {
    as_version("a_later_drivers_function_is_reached_through_a_handwritten_typedef", "12.5", |driver| {
        // cuCtxCreate got its fourth ABI in 12.5; an older header has no typedef for it, so the caller writes one.
        type CtxCreateV4 = unsafe extern "C" fn(*mut usize, *mut std::ffi::c_void, u32, c_int) -> CUresult;
        let symbol = driver.look_up("cuCtxCreate", 12_050, DefaultStream::Legacy).expect("12.5 has it");
        assert_eq!(symbol.name().as_deref(), Some("cuCtxCreate_v4"));
        // SAFETY: the prototype is that of the manual.
        let create = unsafe { std::mem::transmute::<*const (), CtxCreateV4>(symbol.address()) };
        // SAFETY: NULL is tried on purpose; the driver is not initialised.
        let result = unsafe { create(std::ptr::null_mut(), std::ptr::null_mut(), 0, 0) };
        assert_eq!(result, CUresult::CUDA_ERROR_NOT_INITIALIZED);
    });
}

#[test]
fn the_version_is_told_everywhere() {
    for version in ["11.3", "12.0", "12.9", "13.0"] {
        as_version("the_version_is_told_everywhere", version, |driver| {
            let told = format!("{}.{}", driver.version() / 1000, driver.version() % 1000 / 10);
            assert_eq!(std::env::var("WARPLOOM_CUDA_VERSION").as_ref(), Ok(&told));
            // A request for the newest never gives what is newer than the driver.
            for facts in warploom_abi::facts::ENTRY_POINTS {
                let newest = driver.look_up(facts.name, -1, DefaultStream::Legacy);
                let known = facts.versions.iter().filter(|known| !known.per_thread && known.since <= driver.version());
                let expected = known.max_by_key(|known| known.since).map(|known| known.symbol.to_owned());
                assert_eq!(newest.ok().and_then(|symbol| symbol.name()), expected, "{} of {told}", facts.name);
            }
        });
    }
}

#[test]
fn typed_lookups_give_their_own_version() {
    as_version("typed_lookups_give_their_own_version", "12.4", |driver| {
        let get = driver.get::<entry::cuDriverGetVersion_v2020>().expect("every driver has it");
        let mut version = 0;
        // SAFETY: the output is ours.
        assert_eq!(unsafe { get(&mut version) }, CUresult::CUDA_SUCCESS);
        assert_eq!(version, 12_040);
        let old = driver.get::<entry::cuMemAlloc_v2000>().expect("the first ABI is still there");
        let new = driver.get::<entry::cuMemAlloc_v3020>().expect("so is the second");
        assert_ne!(old as *const (), new as *const ());
        let per_thread = driver.get::<entry::cuLaunchKernel_v7000_ptsz>().expect("12.4 has variants");
        let symbol = driver.symbol("cuLaunchKernel_ptsz").expect("they are exported");
        assert_eq!(per_thread as *const (), symbol.address());
    });
}
