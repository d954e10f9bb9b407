//! Batches: several copies or prefetches in one call. Within a batch nothing is ordered, so each goes into the stream by itself.
use warploom_abi::{
    CUDA_MEMCPY3D_BATCH_OP, CUdeviceptr, CUmemLocation, CUmemcpyAttributes, CUmemcpyFlags, CUmemcpySrcAccessOrder,
    CUstream,
};
use warploom_driver::memory::{Box3, CopyPlace, CopySide, SourceOrder, Transfer};
use warploom_driver::stream::StreamName;
use warploom_driver::{DriverError, DriverResult};

use super::super::stream::named;
use crate::border::members::{self, CopyOperand};
use crate::border::{ApiResult, DefaultStream, In, InArray, Out, callers_memory, no_flags};
use crate::process::driver;

/// The stream of a batch, which may not be the legacy default stream.
fn batch_stream(stream: CUstream, default: DefaultStream) -> DriverResult<StreamName> {
    match named(stream, default) {
        StreamName::Legacy => Err(DriverError::invalid_value("batches cannot go into the legacy default stream")),
        name => Ok(name),
    }
}

/// How a copy of a batch is to be done.
fn source_order(order: CUmemcpySrcAccessOrder, flags: u32) -> DriverResult<SourceOrder> {
    if flags & !CUmemcpyFlags::CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE.0 != 0 {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} of a copy has unknown bits")));
    }
    match order {
        CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
        | CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_ANY => Ok(SourceOrder::Stream),
        CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL => Ok(SourceOrder::DuringCall),
        order => Err(DriverError::invalid_value(format!("srcAccessOrder {order:?} says not when a source is read"))),
    }
}

/// The value for each of `count` operations, of which `values[k]` holds from `starts[k]` on.
fn spread<T: Copy>(count: usize, values: &[T], starts: &[usize]) -> DriverResult<Vec<T>> {
    let ascend = starts.windows(2).all(|pair| pair[0] < pair[1]);
    if starts.first() != Some(&0) || !ascend || starts.last().is_some_and(|last| *last >= count) {
        return Err(DriverError::invalid_value(format!("indices {starts:?} do not ascend from 0 to below {count}")));
    }
    let ends = starts.iter().skip(1).copied().chain([count]);
    Ok(values.iter().zip(starts.iter().zip(ends)).flat_map(|(value, (start, end))| vec![*value; end - start]).collect())
}

fn some(count: usize, of_what: &'static str) -> DriverResult {
    if count == 0 { Err(DriverError::invalid_value(format!("{of_what} is 0"))) } else { Ok(()) }
}

/// Does one operation after the other; where one fails, `failed` gets its number.
fn each<T>(operations: &[T], failed: Option<Out<'_, usize>>, run: impl Fn(&T) -> ApiResult) -> ApiResult {
    for (index, operation) in operations.iter().enumerate() {
        if let Err(error) = run(operation) {
            if let Some(place) = failed.and_then(Out::optional) {
                place.set(index);
            }
            return Err(error);
        }
    }
    Ok(())
}

/// A failure that is not that of one operation, as documented.
fn blame_none(failed: Option<Out<'_, usize>>, error: DriverError) -> DriverError {
    if let Some(place) = failed.and_then(Out::optional) {
        place.set(usize::MAX);
    }
    error
}

/// One copy of a batch.
pub(in crate::api) struct Line {
    dst: CUdeviceptr,
    src: CUdeviceptr,
    size: usize,
    attributes: CUmemcpyAttributes,
}

impl Line {
    fn order(&self) -> DriverResult<SourceOrder> {
        source_order(self.attributes.srcAccessOrder, self.attributes.flags)
    }

    fn transfer(&self) -> Transfer {
        Transfer {
            dst: CopySide::line(CopyPlace::Unified(self.dst)),
            src: CopySide::line(CopyPlace::Unified(self.src)),
            size: Box3::line(self.size as u64),
        }
    }

    /// For a node: there is no call during which the source could be read.
    pub(in crate::api) fn transfer_of_node(&self) -> DriverResult<Transfer> {
        match self.order()? {
            SourceOrder::Stream => Ok(self.transfer()),
            SourceOrder::DuringCall => {
                Err(DriverError::invalid_value("a node reads its sources when the graph runs, not during the call"))
            }
        }
    }
}

fn copy_line(line: &Line, stream: StreamName) -> ApiResult {
    driver()?.copy_async(&line.transfer(), stream, line.order()?, callers_memory())
}

pub(in crate::api) fn read_lines(
    pointers: [&InArray<'_, CUdeviceptr>; 2],
    sizes: &InArray<'_, usize>,
    count: usize,
    attributes: &InArray<'_, CUmemcpyAttributes>,
    starts: &InArray<'_, usize>,
    attribute_count: usize,
) -> DriverResult<Vec<Line>> {
    some(count, "count")?;
    some(attribute_count, "numAttrs")?;
    if attribute_count > count {
        return Err(DriverError::invalid_value(format!("numAttrs is {attribute_count}, for {count} copies")));
    }
    let (dsts, srcs) = (pointers[0].get(count, "dsts")?, pointers[1].get(count, "srcs")?);
    let sizes = sizes.get(count, "sizes")?;
    let attributes = attributes.get(attribute_count, "attrs")?;
    let attributes = spread(count, &attributes, &starts.get(attribute_count, "attrsIdxs")?)?;
    let lines = dsts.into_iter().zip(srcs).zip(sizes).zip(attributes);
    Ok(lines.map(|(((dst, src), size), attributes)| Line { dst, src, size, attributes }).collect())
}

pub(crate) fn cuMemcpyBatchAsync(
    default: DefaultStream,
    dsts: InArray<'_, CUdeviceptr>,
    srcs: InArray<'_, CUdeviceptr>,
    sizes: InArray<'_, usize>,
    count: usize,
    attrs: InArray<'_, CUmemcpyAttributes>,
    attrsIdxs: InArray<'_, usize>,
    numAttrs: usize,
    failIdx: Out<'_, usize>,
    hStream: CUstream,
) -> ApiResult {
    let prepared = batch_stream(hStream, default)
        .and_then(|stream| Ok((stream, read_lines([&dsts, &srcs], &sizes, count, &attrs, &attrsIdxs, numAttrs)?)));
    match prepared {
        Ok((stream, lines)) => each(&lines, Some(failIdx), |line| copy_line(line, stream)),
        Err(error) => Err(blame_none(Some(failIdx), error)),
    }
}

pub(crate) fn cuMemcpyBatchAsync_v2(
    default: DefaultStream,
    dsts: InArray<'_, CUdeviceptr>,
    srcs: InArray<'_, CUdeviceptr>,
    sizes: InArray<'_, usize>,
    count: usize,
    attrs: InArray<'_, CUmemcpyAttributes>,
    attrsIdxs: InArray<'_, usize>,
    numAttrs: usize,
    hStream: CUstream,
) -> ApiResult {
    let stream = batch_stream(hStream, default)?;
    let lines = read_lines([&dsts, &srcs], &sizes, count, &attrs, &attrsIdxs, numAttrs)?;
    each(&lines, None, |line| copy_line(line, stream))
}

pub(crate) fn cuMemcpyWithAttributesAsync(
    default: DefaultStream,
    dst: CUdeviceptr,
    src: CUdeviceptr,
    size: usize,
    attr: In<'_, CUmemcpyAttributes>,
    hStream: CUstream,
) -> ApiResult {
    let attributes = attr.get("attr")?;
    copy_line(&Line { dst, src, size, attributes }, named(hStream, default))
}

/// A side of a copy of elements of `element` bytes.
fn side(operand: &CopyOperand, element: u64, width: u64, height: u64) -> DriverResult<CopySide> {
    match *operand {
        CopyOperand::Pointer { address, row_length, layer_height } => {
            if (row_length != 0 && row_length < width) || (layer_height != 0 && layer_height < height) {
                return Err(DriverError::invalid_value(format!(
                    "rows of {row_length} and layers of {layer_height} do not hold {width} by {height} elements"
                )));
            }
            let row = if row_length == 0 { width } else { row_length };
            let pitch = row.checked_mul(element).ok_or_else(|| DriverError::invalid_value("rowLength is too large"))?;
            Ok(CopySide { place: CopyPlace::Unified(address), origin: [0; 3], pitch, height: layer_height })
        }
        CopyOperand::Array { array, offset: [x, y, z] } => {
            let x = x.checked_mul(element).ok_or_else(|| DriverError::invalid_value("an offset is too large"))?;
            Ok(CopySide { place: CopyPlace::Array(driver()?.array(array)?), origin: [x, y, z], pitch: 0, height: 0 })
        }
    }
}

fn element_of(operand: &CopyOperand) -> DriverResult<Option<u64>> {
    match *operand {
        CopyOperand::Array { array, .. } => Ok(Some(driver()?.array(array)?.element_bytes())),
        CopyOperand::Pointer { .. } => Ok(None),
    }
}

fn copy_cuboid(operation: &CUDA_MEMCPY3D_BATCH_OP, stream: StreamName) -> ApiResult {
    let order = source_order(operation.srcAccessOrder, operation.flags)?;
    let (dst, src) = (members::copy_operand(&operation.dst)?, members::copy_operand(&operation.src)?);
    let element = match (element_of(&dst)?, element_of(&src)?) {
        (Some(dst), Some(src)) if dst != src => {
            return Err(DriverError::invalid_value(format!("elements of {src} and of {dst} bytes")));
        }
        (Some(bytes), _) | (None, Some(bytes)) => bytes,
        (None, None) => 1,
    };
    let extent = &operation.extent;
    let (width, height, depth) = (extent.width as u64, extent.height as u64, extent.depth as u64);
    if width == 0 || height == 0 || depth == 0 {
        return Err(DriverError::invalid_value(format!("an extent of {width} by {height} by {depth} is empty")));
    }
    let bytes = width.checked_mul(element).ok_or_else(|| DriverError::invalid_value("an extent is too large"))?;
    let transfer = Transfer {
        dst: side(&dst, element, width, height)?,
        src: side(&src, element, width, height)?,
        size: Box3 { width: bytes, height, depth },
    };
    driver()?.copy_async(&transfer, stream, order, callers_memory())
}

pub(crate) fn cuMemcpy3DBatchAsync(
    default: DefaultStream,
    numOps: usize,
    opList: InArray<'_, CUDA_MEMCPY3D_BATCH_OP>,
    failIdx: Out<'_, usize>,
    flags: u64,
    hStream: CUstream,
) -> ApiResult {
    let prepared =
        batch_stream(hStream, default).and_then(|stream| Ok((stream, read_cuboids(&opList, numOps, flags)?)));
    match prepared {
        Ok((stream, operations)) => each(&operations, Some(failIdx), |operation| copy_cuboid(operation, stream)),
        Err(error) => Err(blame_none(Some(failIdx), error)),
    }
}

fn read_cuboids(
    list: &InArray<'_, CUDA_MEMCPY3D_BATCH_OP>,
    count: usize,
    flags: u64,
) -> DriverResult<Vec<CUDA_MEMCPY3D_BATCH_OP>> {
    no_flags(flags)?;
    some(count, "numOps")?;
    list.get(count, "opList")
}

pub(crate) fn cuMemcpy3DBatchAsync_v2(
    default: DefaultStream,
    numOps: usize,
    opList: InArray<'_, CUDA_MEMCPY3D_BATCH_OP>,
    flags: u64,
    hStream: CUstream,
) -> ApiResult {
    let stream = batch_stream(hStream, default)?;
    each(&read_cuboids(&opList, numOps, flags)?, None, |operation| copy_cuboid(operation, stream))
}

pub(crate) fn cuMemcpy3DWithAttributesAsync(
    default: DefaultStream,
    op: In<'_, CUDA_MEMCPY3D_BATCH_OP>,
    flags: u64,
    hStream: CUstream,
) -> ApiResult {
    no_flags(flags)?;
    copy_cuboid(&op.get("op")?, named(hStream, default))
}

struct Range {
    address: CUdeviceptr,
    size: usize,
}

fn read_ranges(
    pointers: &InArray<'_, CUdeviceptr>,
    sizes: &InArray<'_, usize>,
    count: usize,
    flags: u64,
) -> DriverResult<Vec<Range>> {
    no_flags(flags)?;
    some(count, "count")?;
    let ranges = pointers.get(count, "dptrs")?.into_iter().zip(sizes.get(count, "sizes")?);
    Ok(ranges.map(|(address, size)| Range { address, size }).collect())
}

fn prefetch(ranges: Vec<Range>, locations: &[CUmemLocation], starts: &[usize], stream: StreamName) -> ApiResult {
    driver()?.stream(stream)?;
    let locations = spread(ranges.len(), locations, starts)?;
    for (range, location) in ranges.into_iter().zip(locations) {
        driver()?.prefetch(range.address, range.size as u64, members::location(location), stream)?;
    }
    Ok(())
}

pub(crate) fn cuMemPrefetchBatchAsync(
    default: DefaultStream,
    dptrs: InArray<'_, CUdeviceptr>,
    sizes: InArray<'_, usize>,
    count: usize,
    prefetchLocs: InArray<'_, CUmemLocation>,
    prefetchLocIdxs: InArray<'_, usize>,
    numPrefetchLocs: usize,
    flags: u64,
    hStream: CUstream,
) -> ApiResult {
    let ranges = read_ranges(&dptrs, &sizes, count, flags)?;
    let locations = prefetchLocs.get(numPrefetchLocs, "prefetchLocs")?;
    let starts = prefetchLocIdxs.get(numPrefetchLocs, "prefetchLocIdxs")?;
    prefetch(ranges, &locations, &starts, batch_stream(hStream, default)?)
}

/// What is discarded reads as any value, also as the one that it had.
pub(crate) fn cuMemDiscardBatchAsync(
    default: DefaultStream,
    dptrs: InArray<'_, CUdeviceptr>,
    sizes: InArray<'_, usize>,
    count: usize,
    flags: u64,
    hStream: CUstream,
) -> ApiResult {
    let ranges = read_ranges(&dptrs, &sizes, count, flags)?;
    driver()?.stream(batch_stream(hStream, default)?)?;
    for range in ranges {
        // Only managed memory has hints.
        driver()?.hints(range.address, range.size as u64)?;
    }
    Ok(())
}

pub(crate) fn cuMemDiscardAndPrefetchBatchAsync(
    default: DefaultStream,
    dptrs: InArray<'_, CUdeviceptr>,
    sizes: InArray<'_, usize>,
    count: usize,
    prefetchLocs: InArray<'_, CUmemLocation>,
    prefetchLocIdxs: InArray<'_, usize>,
    numPrefetchLocs: usize,
    flags: u64,
    hStream: CUstream,
) -> ApiResult {
    cuMemPrefetchBatchAsync(
        default,
        dptrs,
        sizes,
        count,
        prefetchLocs,
        prefetchLocIdxs,
        numPrefetchLocs,
        flags,
        hStream,
    )
}
