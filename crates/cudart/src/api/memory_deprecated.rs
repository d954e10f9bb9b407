//! Memory management, deprecated: copies of bytes that go on from row to row of an array.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::{CUDA_ARRAY3D_DESCRIPTOR, CUarray, CUstream};

use super::array_copy::{
    cudaMemcpy2DArrayToArray, cudaMemcpy2DFromArray, cudaMemcpy2DFromArrayAsync, cudaMemcpy2DToArray,
    cudaMemcpy2DToArrayAsync,
};
use super::memory_copy_3d::element;
use crate::border::{DefaultStream, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

/// A part of such a copy: where it is in the array, bytes and rows, and how many bytes come before it.
struct Part {
    at: (usize, usize),
    size: (usize, usize),
    before: usize,
}

/// The rest of the first row, the rows that are whole, and the start of the last.
fn parts(array: CUarray, (x, y): (usize, usize), count: usize) -> ApiResult<(usize, Vec<Part>)> {
    context::ensure()?;
    let mut descriptor = CUDA_ARRAY3D_DESCRIPTOR::default();
    driver!(cuArray3DGetDescriptor_v3020(&mut descriptor, array))?;
    let element = element(&descriptor)?;
    let row = descriptor.Width.div_ceil(element.side) * element.bytes;
    Ok((row, split(row, (x, y), count)))
}

fn split(row: usize, (x, y): (usize, usize), count: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut y, mut before) = (y, 0);
    if x == row && row > 0 {
        // Behind a row's end is the next one, as recorded.
        y += 1;
    } else if x > 0 {
        let bytes = count.min(row.saturating_sub(x)).max(1).min(count);
        parts.push(Part { at: (x, y), size: (bytes, 1), before });
        (y, before) = (y + 1, bytes);
    }
    let whole = (count - before).checked_div(row).unwrap_or(0);
    if whole > 0 {
        parts.push(Part { at: (0, y), size: (row, whole), before });
        (y, before) = (y + whole, before + whole * row);
    }
    if before < count {
        parts.push(Part { at: (0, y), size: (count - before, 1), before });
    }
    parts
}

pub fn cudaMemcpyToArray(
    default: DefaultStream,
    dst: CUarray,
    wOffset: usize,
    hOffset: usize,
    src: Passed<'_, c_void>,
    count: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    let (row, parts) = parts(dst, (wOffset, hOffset), count)?;
    for Part { at, size, before } in parts {
        cudaMemcpy2DToArray(default, dst, at.0, at.1, src.behind(before), row, size.0, size.1, kind)?;
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpyToArrayAsync(
    default: DefaultStream,
    dst: CUarray,
    wOffset: usize,
    hOffset: usize,
    src: Passed<'_, c_void>,
    count: usize,
    kind: cudaMemcpyKind,
    stream: CUstream,
) -> ApiResult {
    let (row, parts) = parts(dst, (wOffset, hOffset), count)?;
    for Part { at, size, before } in parts {
        cudaMemcpy2DToArrayAsync(default, dst, at.0, at.1, src.behind(before), row, size.0, size.1, kind, stream)?;
    }
    Ok(())
}

pub fn cudaMemcpyFromArray(
    default: DefaultStream,
    dst: Passed<'_, c_void>,
    src: CUarray,
    wOffset: usize,
    hOffset: usize,
    count: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    let (row, parts) = parts(src, (wOffset, hOffset), count)?;
    for Part { at, size, before } in parts {
        cudaMemcpy2DFromArray(default, dst.behind(before), row, src, at.0, at.1, size.0, size.1, kind)?;
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpyFromArrayAsync(
    default: DefaultStream,
    dst: Passed<'_, c_void>,
    src: CUarray,
    wOffset: usize,
    hOffset: usize,
    count: usize,
    kind: cudaMemcpyKind,
    stream: CUstream,
) -> ApiResult {
    let (row, parts) = parts(src, (wOffset, hOffset), count)?;
    for Part { at, size, before } in parts {
        cudaMemcpy2DFromArrayAsync(default, dst.behind(before), row, src, at.0, at.1, size.0, size.1, kind, stream)?;
    }
    Ok(())
}

/// Arrays may have rows of different lengths: the copy goes part by part of both.
#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpyArrayToArray(
    default: DefaultStream,
    dst: CUarray,
    wOffsetDst: usize,
    hOffsetDst: usize,
    src: CUarray,
    wOffsetSrc: usize,
    hOffsetSrc: usize,
    count: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    let (target_row, _) = parts(dst, (0, 0), 0)?;
    let (source_row, _) = parts(src, (0, 0), 0)?;
    let (mut to, mut from, mut left) = ((wOffsetDst, hOffsetDst), (wOffsetSrc, hOffsetSrc), count);
    while left > 0 {
        let room = |row: usize, x: usize| row.saturating_sub(x).max(1);
        let bytes = left.min(room(target_row, to.0)).min(room(source_row, from.0));
        cudaMemcpy2DArrayToArray(default, dst, to.0, to.1, src, from.0, from.1, bytes, 1, kind)?;
        let on = |(x, y): (usize, usize), row| if x + bytes >= row { (0, y + 1) } else { (x + bytes, y) };
        (to, from, left) = (on(to, target_row), on(from, source_row), left - bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes and rows of each part.
    fn sizes(row: usize, at: (usize, usize), count: usize) -> Vec<(usize, usize)> {
        let parts = split(row, at, count);
        let ends = parts.iter().map(|part| part.before + part.size.0 * part.size.1);
        // Each part begins behind the one before it.
        assert!(ends.zip(parts.iter().skip(1)).all(|(end, next)| end == next.before));
        parts.into_iter().map(|part| part.size).collect()
    }

    #[test]
    fn bytes_go_on_from_row_to_row() {
        assert_eq!(sizes(8, (0, 0), 8), [(8, 1)]);
        assert_eq!(sizes(8, (4, 1), 4), [(4, 1)]);
        assert_eq!(sizes(8, (4, 1), 2), [(2, 1)]);
        assert_eq!(sizes(8, (4, 1), 24), [(4, 1), (8, 2), (4, 1)]);
        assert_eq!(sizes(8, (0, 0), 0), []);
    }
}
