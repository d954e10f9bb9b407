//! Linking. The first ABI of these functions means the same as the second.
use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::Mutex;
use warploom_abi::{CUjit_option, CUjitInputType, CUlinkState};
use warploom_driver::linker::LinkInput;
use warploom_driver::{DriverResult, Handle};

use super::jit::{self, Jit};
use super::module::read_file;
use crate::border::{ApiResult, HostAddress, HostPtr, InArray, InStr, Out, read_input};
use crate::process::driver;

/// Where each link reports to: the program keeps the option values and log buffers of `cuLinkCreate` alive as long as the link.
static REPORTS: LazyLock<Mutex<HashMap<Handle, Jit>>> = LazyLock::new(Mutex::default);

/// Writes what a link has to say so far.
fn report(link: Handle) -> ApiResult {
    let logs = driver()?.link_logs(link)?;
    if let Some(jit) = REPORTS.lock().get(&link) {
        jit.report(&logs);
    }
    Ok(())
}

pub(crate) fn cuLinkCreate(
    numOptions: u32,
    options: InArray<'_, CUjit_option>,
    optionValues: InArray<'_, HostPtr>,
    stateOut: Out<'_, CUlinkState>,
) -> ApiResult {
    cuLinkCreate_v2(numOptions, options, optionValues, stateOut)
}

pub(crate) fn cuLinkCreate_v2(
    numOptions: u32,
    options: InArray<'_, CUjit_option>,
    optionValues: InArray<'_, HostPtr>,
    stateOut: Out<'_, CUlinkState>,
) -> ApiResult {
    let place = stateOut.required("stateOut")?;
    let jit = jit::read(numOptions, &options, &optionValues)?;
    let link = driver()?.create_linker(jit.options.clone())?;
    REPORTS.lock().insert(link, jit);
    place.set(CUlinkState(link.raw()));
    Ok(())
}

fn add(state: CUlinkState, kind: CUjitInputType, name: &str, bytes: Vec<u8>) -> ApiResult {
    let link = Handle::from_raw(state.0);
    let result = LinkInput::from_number(kind.0).and_then(|kind| driver()?.add_link_input(link, kind, name, bytes));
    report(link)?;
    result
}

/// The name of an input in messages.
fn input_name(name: &InStr<'_>) -> String {
    name.optional().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

pub(crate) fn cuLinkAddData(
    state: CUlinkState,
    r#type: CUjitInputType,
    data: HostPtr,
    size: usize,
    name: InStr<'_>,
    numOptions: u32,
    options: InArray<'_, CUjit_option>,
    optionValues: InArray<'_, HostPtr>,
) -> ApiResult {
    cuLinkAddData_v2(state, r#type, data, size, name, numOptions, options, optionValues)
}

pub(crate) fn cuLinkAddData_v2(
    state: CUlinkState,
    r#type: CUjitInputType,
    data: HostPtr,
    size: usize,
    name: InStr<'_>,
    numOptions: u32,
    options: InArray<'_, CUjit_option>,
    optionValues: InArray<'_, HostPtr>,
) -> ApiResult {
    driver()?.link_logs(Handle::from_raw(state.0))?;
    let bytes = read_input(data, size)?;
    jit::read_of_input(numOptions, &options, &optionValues)?;
    add(state, r#type, &input_name(&name), bytes)
}

pub(crate) fn cuLinkAddFile(
    state: CUlinkState,
    r#type: CUjitInputType,
    path: InStr<'_>,
    numOptions: u32,
    options: InArray<'_, CUjit_option>,
    optionValues: InArray<'_, HostPtr>,
) -> ApiResult {
    cuLinkAddFile_v2(state, r#type, path, numOptions, options, optionValues)
}

pub(crate) fn cuLinkAddFile_v2(
    state: CUlinkState,
    r#type: CUjitInputType,
    path: InStr<'_>,
    numOptions: u32,
    options: InArray<'_, CUjit_option>,
    optionValues: InArray<'_, HostPtr>,
) -> ApiResult {
    driver()?.link_logs(Handle::from_raw(state.0))?;
    let file = path.get("path")?;
    jit::read_of_input(numOptions, &options, &optionValues)?;
    add(state, r#type, &file.to_string_lossy(), read_file(file)?)
}

pub(crate) fn cuLinkComplete(state: CUlinkState, cubinOut: Out<'_, HostAddress>, sizeOut: Out<'_, usize>) -> ApiResult {
    let link = Handle::from_raw(state.0);
    let driver = driver()?;
    driver.link_logs(link)?;
    let cubinOut = cubinOut.required("cubinOut")?;
    let result: DriverResult<_> = driver.complete_link(link);
    report(link)?;
    let image = result?;
    cubinOut.set(HostAddress(image.as_ptr().expose_provenance()));
    if let Some(place) = sizeOut.optional() {
        place.set(image.len());
    }
    Ok(())
}

pub(crate) fn cuLinkDestroy(state: CUlinkState) -> ApiResult {
    let link = Handle::from_raw(state.0);
    driver()?.destroy_linker(link)?;
    REPORTS.lock().remove(&link);
    Ok(())
}
