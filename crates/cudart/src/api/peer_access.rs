//! Peer device memory access.
use crate::border::Out;
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaDeviceCanAccessPeer(canAccessPeer: Out<'_, i32>, device: i32, peerDevice: i32) -> ApiResult {
    let place = canAccessPeer.required("canAccessPeer")?;
    let (device, peer) = (context::device(device)?, context::device(peerDevice)?);
    let mut can = 0;
    driver!(cuDeviceCanAccessPeer_v4000(&mut can, device, peer))?;
    place.set(can);
    Ok(())
}

pub fn cudaDeviceEnablePeerAccess(peerDevice: i32, flags: u32) -> ApiResult {
    context::ensure()?;
    let peer = context::primary(peerDevice)?;
    driver!(cuCtxEnablePeerAccess_v4000(peer, flags))
}

pub fn cudaDeviceDisablePeerAccess(peerDevice: i32) -> ApiResult {
    context::ensure()?;
    let peer = context::primary(peerDevice)?;
    driver!(cuCtxDisablePeerAccess_v4000(peer))
}
