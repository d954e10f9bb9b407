//! Occupancy.
use std::ffi::c_void;

use warploom_abi::runtime::cudaLaunchConfig_t;

use super::execution::{driver_config, function, kernel};
use crate::border::{DefaultStream, In, Out, Passed};
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    numBlocks: Out<'_, i32>,
    func: Passed<'_, c_void>,
    blockSize: i32,
    dynamicSMemSize: usize,
) -> ApiResult {
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, 0)
}

pub fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    numBlocks: Out<'_, i32>,
    func: Passed<'_, c_void>,
    blockSize: i32,
    dynamicSMemSize: usize,
    flags: u32,
) -> ApiResult {
    let place = numBlocks.required("numBlocks")?;
    let function = function(kernel(&func)?);
    let mut blocks = 0;
    driver!(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000(
        &mut blocks,
        function,
        blockSize,
        dynamicSMemSize,
        flags
    ))?;
    place.set(blocks);
    Ok(())
}

pub fn cudaOccupancyAvailableDynamicSMemPerBlock(
    dynamicSmemSize: Out<'_, usize>,
    func: Passed<'_, c_void>,
    numBlocks: i32,
    blockSize: i32,
) -> ApiResult {
    let place = dynamicSmemSize.required("dynamicSmemSize")?;
    let function = function(kernel(&func)?);
    let mut bytes = 0;
    driver!(cuOccupancyAvailableDynamicSMemPerBlock_v10020(&mut bytes, function, numBlocks, blockSize))?;
    place.set(bytes);
    Ok(())
}

pub fn cudaOccupancyMaxPotentialClusterSize(
    clusterSize: Out<'_, i32>,
    func: Passed<'_, c_void>,
    launchConfig: In<'_, cudaLaunchConfig_t>,
) -> ApiResult {
    let place = clusterSize.required("clusterSize")?;
    let function = function(kernel(&func)?);
    let config = driver_config(&launchConfig.get("launchConfig")?, DefaultStream::Legacy)?;
    let mut size = 0;
    driver!(cuOccupancyMaxPotentialClusterSize_v11070(&mut size, function, &config))?;
    place.set(size);
    Ok(())
}

pub fn cudaOccupancyMaxActiveClusters(
    numClusters: Out<'_, i32>,
    func: Passed<'_, c_void>,
    launchConfig: In<'_, cudaLaunchConfig_t>,
) -> ApiResult {
    let place = numClusters.required("numClusters")?;
    let function = function(kernel(&func)?);
    let config = driver_config(&launchConfig.get("launchConfig")?, DefaultStream::Legacy)?;
    let mut clusters = 0;
    driver!(cuOccupancyMaxActiveClusters_v11070(&mut clusters, function, &config))?;
    place.set(clusters);
    Ok(())
}
