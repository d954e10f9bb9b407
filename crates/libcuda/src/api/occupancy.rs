//! Occupancy.
use std::sync::Arc;

use warploom_abi::{CUfunction, CUlaunchConfig, CUoccupancyB2DSize};
use warploom_driver::device::attribute;
use warploom_driver::launch::{LaunchShape, volume};
use warploom_driver::module::Function;
use warploom_driver::{Driver, DriverError, DriverResult, ErrorCode, Handle};

use super::execution::shape_of;
use crate::border::{ApiResult, In, Out, callback};
use crate::process::driver;

/// The flags of occupancy queries: `CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE` is of no account.
fn check_flags(flags: u32) -> ApiResult {
    if flags > 1 {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
    }
    Ok(())
}

fn function(func: CUfunction) -> DriverResult<Arc<Function>> {
    driver()?.launchable(Handle::from_raw(func.0))
}

fn threads(block_size: i32) -> DriverResult<u32> {
    positive(block_size, "threads of a CTA")
}

fn positive(number: i32, what: &str) -> DriverResult<u32> {
    match u32::try_from(number) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(DriverError::invalid_value(format!("{number} {what}"))),
    }
}

pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    numBlocks: Out<'_, i32>,
    func: CUfunction,
    blockSize: i32,
    dynamicSMemSize: usize,
) -> ApiResult {
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, 0)
}

pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    numBlocks: Out<'_, i32>,
    func: CUfunction,
    blockSize: i32,
    dynamicSMemSize: usize,
    flags: u32,
) -> ApiResult {
    let place = numBlocks.required("numBlocks")?;
    check_flags(flags)?;
    let function = function(func)?;
    let ctas = driver()?.resident_ctas(&function, u64::from(threads(blockSize)?), dynamicSMemSize as u64)?;
    place.set(i32::try_from(ctas).unwrap_or(i32::MAX));
    Ok(())
}

pub(crate) fn cuOccupancyMaxPotentialBlockSize(
    minGridSize: Out<'_, i32>,
    blockSize: Out<'_, i32>,
    func: CUfunction,
    blockSizeToDynamicSMemSize: CUoccupancyB2DSize,
    dynamicSMemSize: usize,
    blockSizeLimit: i32,
) -> ApiResult {
    cuOccupancyMaxPotentialBlockSizeWithFlags(
        minGridSize,
        blockSize,
        func,
        blockSizeToDynamicSMemSize,
        dynamicSMemSize,
        blockSizeLimit,
        0,
    )
}

pub(crate) fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    minGridSize: Out<'_, i32>,
    blockSize: Out<'_, i32>,
    func: CUfunction,
    blockSizeToDynamicSMemSize: CUoccupancyB2DSize,
    dynamicSMemSize: usize,
    blockSizeLimit: i32,
    flags: u32,
) -> ApiResult {
    let (grid_place, block_place) = (minGridSize.required("minGridSize")?, blockSize.required("blockSize")?);
    let function = function(func)?;
    check_flags(flags)?;
    let limit = u32::try_from(blockSizeLimit)
        .map_err(|_| DriverError::invalid_value(format!("a limit of {blockSizeLimit} threads")))?;
    let shared = |threads: u32| {
        if blockSizeToDynamicSMemSize == CUoccupancyB2DSize::default() {
            dynamicSMemSize as u64
        } else {
            callback::shared_memory_of(blockSizeToDynamicSMemSize, threads as i32) as u64
        }
    };
    let (threads, ctas) = driver()?.best_cta(&function, limit, shared)?;
    grid_place.set(i32::try_from(ctas).unwrap_or(i32::MAX));
    block_place.set(i32::try_from(threads).unwrap_or(i32::MAX));
    Ok(())
}

pub(crate) fn cuOccupancyAvailableDynamicSMemPerBlock(
    dynamicSmemSize: Out<'_, usize>,
    func: CUfunction,
    numBlocks: i32,
    blockSize: i32,
) -> ApiResult {
    let place = dynamicSmemSize.required("dynamicSmemSize")?;
    let ctas = positive(numBlocks, "CTAs")?;
    let function = function(func)?;
    place.set(driver()?.available_shared(&function, ctas, threads(blockSize)?)? as usize);
    Ok(())
}

/// The sizes of a launch in clusters, of which none is 0. As recorded, clusters that are named must be possible.
fn cluster_shape(driver: &Driver, function: &Function, config: &CUlaunchConfig) -> DriverResult<LaunchShape> {
    let shape = shape_of(config)?;
    if volume(shape.grid) == 0 || volume(shape.cta) == 0 {
        let reason = format!("a grid of {:?} with CTAs of {:?}", shape.grid, shape.cta);
        return Err(DriverError::invalid_value(reason));
    }
    if shape.cluster.is_some_and(|cluster| volume(cluster) == 0) {
        return Err(DriverError::new(ErrorCode::InvalidClusterSize, "a cluster without CTAs"));
    }
    if shape.cluster.is_some() {
        driver.check_cluster(function, &shape)?;
    }
    Ok(shape)
}

/// The largest cluster that the function may be launched with, 0 if not even one CTA fits: clusters run on one core each, so size costs
/// nothing.
pub(crate) fn cuOccupancyMaxPotentialClusterSize(
    clusterSize: Out<'_, i32>,
    func: CUfunction,
    config: In<'_, CUlaunchConfig>,
) -> ApiResult {
    let place = clusterSize.required("clusterSize")?;
    let config = config.get("config")?;
    let function = function(func)?;
    let driver = driver()?;
    let shape = cluster_shape(driver, &function, &config)?;
    let resident = driver.resident_ctas(&function, volume(shape.cta), u64::from(shape.dynamic_shared))?;
    let largest = if resident == 0 { 0 } else { driver.largest_cluster(&function)? };
    place.set(i32::try_from(largest).unwrap_or(i32::MAX));
    Ok(())
}

/// CTAs of clusters that a multiprocessor holds at most, as recorded on an H100: fewer than of other launches.
const MOST_CTAS_OF_CLUSTERS: u64 = 8;

/// As many clusters as the device's multiprocessors can hold CTAs for; 0 for a launch without clusters, as recorded. On hardware the CTAs of a cluster share a
/// group of multiprocessors, of which each chip has others: there are fewer clusters of more than 2 CTAs then. Here all multiprocessors are one group.
pub(crate) fn cuOccupancyMaxActiveClusters(
    numClusters: Out<'_, i32>,
    func: CUfunction,
    config: In<'_, CUlaunchConfig>,
) -> ApiResult {
    let place = numClusters.required("numClusters")?;
    let config = config.get("config")?;
    let function = function(func)?;
    let driver = driver()?;
    let shape = cluster_shape(driver, &function, &config)?;
    let Some(cluster) = shape.cluster.or_else(|| function.required_cluster()).map(volume) else {
        place.set(0);
        return Ok(());
    };
    let threads = volume(shape.cta);
    let resident = u64::from(driver.resident_ctas(&function, threads, u64::from(shape.dynamic_shared))?);
    let device = driver.device(i32::try_from(function.module().context().ordinal()).unwrap_or(-1))?;
    let multiprocessors = device.attribute(attribute::MULTIPROCESSOR_COUNT).unwrap_or(1).unsigned_abs();
    let ctas = resident.min(MOST_CTAS_OF_CLUSTERS) * u64::from(multiprocessors);
    let clusters = ctas.checked_div(cluster).unwrap_or(0);
    place.set(i32::try_from(clusters).unwrap_or(i32::MAX));
    Ok(())
}
