//! Operations that tell of their accesses themselves, one lane at a time.

use warploom_exec::fault::{AccessKind, Site};
use warploom_exec::observe::{At, CtaObserver, MbarrierOp, Proxy, Scope, Semantics, SyncEvent};

use super::stored::{Values, element_bytes};
use super::{AccessSite, plain};
use crate::machine::Machine;
use crate::memory::StateSpace;

impl Machine<'_> {
    /// Tells of an access of one lane by the asynchronous copy that runs, which [`Event::Here`] stands before.
    /// It is weak, or relaxed of a scope.
    pub(crate) fn tell_async(
        &mut self,
        kind: AccessKind,
        scope: Option<Scope>,
        (space, address): (StateSpace, u64),
        bytes: usize,
        lane: usize,
    ) {
        self.tell_here(asynchronous(kind, scope, space, bytes), address, lane, None);
    }

    /// The same of a store of these bytes.
    pub(crate) fn tell_async_store(
        &mut self,
        scope: Option<Scope>,
        (space, address): (StateSpace, u64),
        bytes: &[u8],
        lane: usize,
    ) {
        let site = asynchronous(AccessKind::Store, scope, space, bytes.len());
        let values = |_: &mut Machine<'_>, _: u32, from: u32, out: &mut [u8]| element_bytes(bytes, from, out);
        self.tell_here(site, address, lane, Some(&values));
    }

    /// Tells of a store of zeros of one lane by the instruction that runs, which [`Event::Here`] stands before.
    pub(crate) fn tell_clear(&mut self, space: StateSpace, address: u64, bytes: usize, lane: usize) {
        let zeros = |_: &mut Machine<'_>, _: u32, _: u32, out: &mut [u8]| {
            out.fill(0);
            true
        };
        self.tell_here(plain(AccessKind::Store, space, bytes as u32, 1), address, lane, Some(&zeros));
    }

    /// Tells of the bytes of a surface that a lane accesses, with so many of the registers of the instruction.
    pub(crate) fn tell_surface(&mut self, kind: AccessKind, address: u64, bytes: u32, registers: usize, lane: usize) {
        let Some(told) = self.cta.told.as_ref().filter(|_| self.cta.observer.is_some()) else { return };
        let registers = told.registers.iter().copied().take(registers).collect();
        // Reductions are atomic (PTX ISA 9.7.11.3).
        let semantics = if kind == AccessKind::Atomic { Semantics::Relaxed } else { Semantics::Weak };
        let site = plain(kind, StateSpace::Global, bytes, 1);
        self.tell_here(
            AccessSite { proxy: Proxy::Texture, semantics, scope: Scope::Gpu, registers, ..site },
            address,
            lane,
            None,
        );
    }

    /// Tells of a texel that the lane that samples reads, if what it gets hangs on it.
    pub(crate) fn tell_texel(&mut self, address: u64, bytes: u32) {
        if self.cta.observer.is_some()
            && let Some(told) = &self.cta.told
        {
            let (lane, registers) = (told.lane, told.registers.len());
            self.tell_surface(AccessKind::Load, address, bytes, registers, lane);
        }
    }

    /// The lane that samples from here on, for [`Machine::tell_texel`].
    pub(crate) fn sample_for(&mut self, lane: usize) {
        if let Some(told) = &mut self.cta.told {
            told.lane = lane;
        }
    }

    fn tell_here(&mut self, site: AccessSite, address: u64, lane: usize, values: Option<Values<'_>>) {
        let Some(mut observer) = self.cta.observer.take() else { return };
        if let Some(told) = &self.cta.told {
            let at = self.at(told.site, 1 << lane);
            self.tell_lanes(&at, &site, &[address; 32], values, &mut |at, access| observer.access(at, access));
        }
        self.cta.observer = Some(observer);
    }

    /// Tells of bytes that have come for an mbarrier, by the copy of one lane.
    pub(crate) fn tell_bytes(&mut self, space: StateSpace, address: u64, bytes: u32, lane: usize) {
        let Some(mut observer) = self.cta.observer.take() else { return };
        if let Some(told) = &self.cta.told {
            let at = self.at(told.site, 1 << lane);
            let addresses = &self.in_shared(space, [address; 32]);
            let op = MbarrierOp::CompleteTx { bytes: &[bytes; 32] };
            let (semantics, scope) = (Semantics::Relaxed, Scope::Cluster);
            observer.sync(&at, &SyncEvent::Mbarrier { addresses, op, semantics, scope });
        }
        self.cta.observer = Some(observer);
    }

    /// Tells of a store of one lane by a function of the device's runtime library, at the running call site.
    pub(crate) fn tell_store(&mut self, address: u64, bytes: u32, lane: usize) {
        let Some(mut observer) = self.cta.observer.take() else { return };
        let site = plain(AccessKind::Store, StateSpace::Generic, bytes, bytes);
        let at = self.at(self.call_site(), 1 << lane);
        self.tell_lanes(&at, &site, &[address; 32], None, &mut |at, access| observer.access(at, access));
        self.cta.observer = Some(observer);
    }

    fn call_site(&self) -> Site {
        Site(u64::from(self.function_index()) << 32 | u64::from(self.pc))
    }

    /// Tells of what is done at the running call site.
    pub(crate) fn tell_call(&mut self, mask: u32, tell: impl FnOnce(&mut dyn CtaObserver, &At)) {
        if let Some(mut observer) = self.cta.observer.take() {
            tell(&mut *observer, &self.at(self.call_site(), mask));
            self.cta.observer = Some(observer);
        }
    }
}

fn asynchronous(kind: AccessKind, scope: Option<Scope>, space: StateSpace, bytes: usize) -> AccessSite {
    let site = AccessSite { proxy: Proxy::Async, ..plain(kind, space, bytes as u32, 1) };
    match scope {
        Some(scope) => AccessSite { semantics: Semantics::Relaxed, scope, ..site },
        None => site,
    }
}
