//! Peer access: which contexts of other devices the calling thread's context may reach. All devices share one memory, so it
//! is only kept for what calls answer.
use std::sync::Arc;

use super::Context;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult, ErrorCode};

impl Driver {
    fn peer(&self, peer: Handle) -> DriverResult<(Arc<Context>, Arc<Context>)> {
        Ok((self.current()?, self.contexts.lookup(peer)?))
    }

    /// Lets the calling thread's context reach the memory of a context of another device.
    ///
    /// # Errors
    /// `InvalidContext` for stale and foreign handles; `PeerAccessUnsupported` for a context of the same device, as recorded;
    /// `PeerAccessAlreadyEnabled`; those of [`Driver::current`].
    pub fn enable_peer_access(&self, peer: Handle) -> DriverResult {
        let (context, peer) = self.peer(peer)?;
        if peer.ordinal() == context.ordinal() {
            let reason = format!("both contexts are of device {}, which is no peer of itself", peer.ordinal());
            return Err(DriverError::new(ErrorCode::PeerAccessUnsupported, reason));
        }
        let mut peers = context.peers.lock();
        if peers.contains(&peer.id()) {
            let reason = format!("access to the context {:?} is enabled already", peer.handle());
            return Err(DriverError::new(ErrorCode::PeerAccessAlreadyEnabled, reason));
        }
        peers.push(peer.id());
        Ok(())
    }

    /// Takes back what [`Driver::enable_peer_access`] allowed.
    ///
    /// # Errors
    /// `InvalidContext` for stale and foreign handles, `PeerAccessNotEnabled`; those of [`Driver::current`].
    pub fn disable_peer_access(&self, peer: Handle) -> DriverResult {
        let (context, peer) = self.peer(peer)?;
        let mut peers = context.peers.lock();
        let Some(index) = peers.iter().position(|known| *known == peer.id()) else {
            let reason = format!("access to the context {:?} was not enabled", peer.handle());
            return Err(DriverError::new(ErrorCode::PeerAccessNotEnabled, reason));
        };
        peers.swap_remove(index);
        Ok(())
    }
}
