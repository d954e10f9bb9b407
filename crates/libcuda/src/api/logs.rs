//! Error log management.
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use warploom_abi::{CUlogIterator, CUlogsCallback, CUlogsCallbackHandle};
use warploom_driver::{DriverError, DriverResult};

use crate::border::{ApiResult, HostAddress, InOut, InStr, Out, OutStr, log, no_flags};

pub(crate) fn cuLogsRegisterCallback(
    callbackFunc: CUlogsCallback,
    userData: HostAddress,
    callback_out: Out<'_, CUlogsCallbackHandle>,
) -> ApiResult {
    if callbackFunc.0 == 0 {
        return Err(DriverError::invalid_value("callbackFunc is NULL"));
    }
    let id = log::listen(callbackFunc, userData);
    if let Some(place) = callback_out.optional() {
        place.set(CUlogsCallbackHandle(id));
    }
    Ok(())
}

pub(crate) fn cuLogsUnregisterCallback(callback: CUlogsCallbackHandle) -> ApiResult {
    if log::unlisten(callback.0) {
        Ok(())
    } else {
        Err(DriverError::invalid_value(format!("{callback:?} is no registered callback")))
    }
}

/// Flags are not looked at, as recorded.
pub(crate) fn cuLogsCurrent(iterator_out: Out<'_, CUlogIterator>, _flags: u32) -> ApiResult {
    let place = iterator_out.required("iterator_out")?;
    place.set(log::end());
    Ok(())
}

/// Where an iterator stands; NULL is the beginning.
fn start(iterator: &InOut<'_, CUlogIterator>) -> DriverResult<Option<u32>> {
    if iterator.is_null() { Ok(None) } else { iterator.get("iterator").map(Some) }
}

pub(crate) fn cuLogsDumpToFile(iterator: InOut<'_, CUlogIterator>, pathToFile: InStr<'_>, flags: u32) -> ApiResult {
    let path = pathToFile.get("pathToFile")?;
    no_flags(u64::from(flags))?;
    let end = log::end();
    let text = log::text_since(start(&iterator)?).concat();
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(OsStr::from_bytes(path.to_bytes()))
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| DriverError::invalid_value(format!("{path:?} cannot be written: {error}")))?;
    iterator.set(end);
    Ok(())
}

/// The newest lines that fit, oldest first. `size` is the room on entry and the bytes written, without the NUL, on return.
pub(crate) fn cuLogsDumpToMemory(
    iterator: InOut<'_, CUlogIterator>,
    buffer: OutStr<'_>,
    size: InOut<'_, usize>,
    flags: u32,
) -> ApiResult {
    let room = size.get("size")?;
    no_flags(u64::from(flags))?;
    let end = log::end();
    let lines = log::text_since(start(&iterator)?);
    let mut first = lines.len();
    let mut left = room.saturating_sub(1);
    while let Some(line) = lines[..first].last().filter(|line| line.len() <= left) {
        left -= line.len();
        first -= 1;
    }
    let text = lines[first..].concat();
    buffer.write("buffer", room, text.as_bytes())?;
    size.set(text.len());
    iterator.set(end);
    Ok(())
}
