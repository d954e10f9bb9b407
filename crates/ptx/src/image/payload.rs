//! Data of fat binary entries, plain or compressed.

use std::borrow::Cow;
use std::io::Read;

use super::ImageError;

/// How an entry's data is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Plain,
    /// One LZ4 block without a frame.
    Lz4,
    /// One zstd frame.
    Zstd,
}

/// No LZ4 block grows by more than this factor: a byte of length stands for at most 255 bytes of text.
const LZ4_GROWTH: u64 = 255;

/// Data as it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored<'a> {
    pub(super) method: Method,
    pub(super) data: &'a [u8],
    /// Size when decompressed, as the file claims.
    pub(super) size: u64,
}

impl<'a> Stored<'a> {
    /// The data as it was before it was stored. Memory is taken as data arrives, not as the claimed size says.
    pub(super) fn decompress(self) -> Result<Cow<'a, [u8]>, ImageError> {
        match self.method {
            Method::Plain => Ok(Cow::Borrowed(self.data)),
            Method::Lz4 => lz4(self.data, self.size).map(Cow::Owned),
            Method::Zstd => zstd(self.data, self.size).map(Cow::Owned),
        }
    }

    /// The first bytes of the data as it was, `count` of them unless there are fewer: without the rest where the method can do without it.
    pub(super) fn first(self, count: u64) -> Result<Cow<'a, [u8]>, ImageError> {
        match self.method {
            Method::Zstd if count < self.size => zstd_part(self.data, count).map(Cow::Owned),
            Method::Plain | Method::Lz4 | Method::Zstd => self.decompress(),
        }
    }
}

fn lz4(data: &[u8], size: u64) -> Result<Vec<u8>, ImageError> {
    let damaged = |reason: String| ImageError::Compression { method: "LZ4", reason };
    if size > (data.len() as u64).saturating_mul(LZ4_GROWTH) {
        return Err(damaged(format!("{} bytes cannot become {size}", data.len())));
    }
    let text = lz4_flex::block::decompress(data, size as usize).map_err(|error| damaged(error.to_string()))?;
    exact(text, size).map_err(damaged)
}

/// The largest text that is decompressed: more is no module, but an attempt to exhaust memory.
const MAX_SIZE: u64 = 1 << 32;

fn zstd(data: &[u8], size: u64) -> Result<Vec<u8>, ImageError> {
    let damaged = |reason: String| ImageError::Compression { method: "zstd", reason };
    if size > MAX_SIZE {
        return Err(damaged(format!("{size} bytes are more than a module may have")));
    }
    // One byte more than expected shows that there is too much, and no more than that is ever held.
    exact(zstd_part(data, size.saturating_add(1))?, size).map_err(damaged)
}

/// No more than the first `most` bytes.
fn zstd_part(data: &[u8], most: u64) -> Result<Vec<u8>, ImageError> {
    let damaged = |reason: String| ImageError::Compression { method: "zstd", reason };
    let decoder = ruzstd::decoding::StreamingDecoder::new(data).map_err(|error| damaged(error.to_string()))?;
    let mut text = Vec::new();
    decoder.take(most).read_to_end(&mut text).map_err(|error| damaged(error.to_string()))?;
    Ok(text)
}

fn exact(text: Vec<u8>, size: u64) -> Result<Vec<u8>, String> {
    if text.len() as u64 == size { Ok(text) } else { Err(format!("{} bytes instead of {size}", text.len())) }
}
