//! What compiled code gets: its context, and the table of what its accesses are allowed.

use warploom_exec::address::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use warploom_exec::fault::{Cause, Site, Trap};
use warploom_exec::grid::Grid;
use warploom_exec::kernel::Worker;
use warploom_simt::codegen::sums::Entry;
use warploom_simt::codegen::{SiteKind, context, window};

use crate::apart::Enter;
use crate::kernel::{CompiledKernel, State};
use crate::sums::Row;

/// What compiled code gets. The first fields are those of [`context`].
#[repr(C)]
pub(crate) struct Context {
    pub(crate) params: *const u8,
    pub(crate) variables: *const u64,
    pub(crate) check: unsafe extern "C" fn(*mut Context, *mut u64, u32, u32, u32) -> u32,
    pub(crate) extents: *mut Allowed,
    pub(crate) shared: *mut u8,
    pub(crate) shared_size: u64,
    pub(crate) ctaid: [u32; 3],
    pub(crate) nctaid: [u32; 3],
    pub(crate) frames: *mut u8,
    pub(crate) attention: *const u32,
    pub(crate) poll: unsafe extern "C" fn(*mut Context) -> u32,
    pub(crate) find: unsafe extern "C" fn(*mut Context, u64, u32) -> u32,
    pub(crate) local: *mut u8,
    pub(crate) step: unsafe extern "C" fn(*mut Context, *mut u64, u32, u32, u32, u32, u32) -> u32,
    pub(crate) stop: unsafe extern "C" fn(*mut Context, *const u64, u32, u32, u32) -> u32,
    pub(crate) sums: *mut Entry,
    pub(crate) add: unsafe extern "C" fn(*mut Context, u64, u32, u32),
    pub(crate) nontemporal: u64,
    pub(crate) row: Row,
    pub(crate) apart: Enter,
    pub(crate) answer: u64,
    pub(crate) fetch: unsafe extern "C" fn(*mut Context, *mut u64, u32, u32, u64) -> u32,
    pub(crate) kernel: *const CompiledKernel,
    pub(crate) grid: *const Grid,
    pub(crate) worker: *const Worker,
    pub(crate) epochs: *mut u64,
    /// What CTAs leave to each other, and the fields above partly point into.
    pub(crate) state: *mut State,
    /// By thread: the end of its stack.
    pub(crate) tops: *mut u32,
    pub(crate) fault: Option<Box<Trap>>,
}

const _: () = {
    assert!(window::SHARED as u64 == SHARED_WINDOW && window::LOCAL as u64 == LOCAL_WINDOW);
    assert!(window::PARAM as u64 == PARAM_WINDOW);
    assert!(std::mem::offset_of!(Context, params) == context::PARAMS as usize);
    assert!(std::mem::offset_of!(Context, variables) == context::VARIABLES as usize);
    assert!(std::mem::offset_of!(Context, check) == context::CHECK as usize);
    assert!(std::mem::offset_of!(Context, extents) == context::EXTENTS as usize);
    assert!(std::mem::offset_of!(Context, shared) == context::SHARED as usize);
    assert!(std::mem::offset_of!(Context, shared_size) == context::SHARED_SIZE as usize);
    assert!(std::mem::offset_of!(Context, ctaid) == context::CTAID as usize);
    assert!(std::mem::offset_of!(Context, nctaid) == context::NCTAID as usize);
    assert!(std::mem::offset_of!(Context, frames) == context::FRAMES as usize);
    assert!(std::mem::offset_of!(Context, attention) == context::ATTENTION as usize);
    assert!(std::mem::offset_of!(Context, poll) == context::POLL as usize);
    assert!(std::mem::offset_of!(Context, find) == context::FIND as usize);
    assert!(std::mem::offset_of!(Context, local) == context::LOCAL as usize);
    assert!(std::mem::offset_of!(Context, step) == context::STEP as usize);
    assert!(std::mem::offset_of!(Context, stop) == context::STOP as usize);
    assert!(std::mem::offset_of!(Context, sums) == context::SUMS as usize);
    assert!(std::mem::offset_of!(Context, add) == context::ADD as usize);
    assert!(std::mem::offset_of!(Context, nontemporal) == context::NONTEMPORAL as usize);
    assert!(std::mem::offset_of!(Context, row) + std::mem::offset_of!(Row, start) == context::ROW_START as usize);
    assert!(std::mem::offset_of!(Context, row) + std::mem::offset_of!(Row, count) == context::ROW_COUNT as usize);
    assert!(std::mem::offset_of!(Context, row) + std::mem::offset_of!(Row, sums) == context::ROW as usize);
    assert!(std::mem::offset_of!(Context, apart) == context::APART as usize);
    assert!(std::mem::offset_of!(Context, answer) == context::ANSWER as usize);
    assert!(std::mem::offset_of!(Context, fetch) == context::FETCH as usize);
    assert!(std::mem::offset_of!(Context, kernel) == context::SIZE as usize);
};

impl Context {
    /// The CTA is at an end because of a thread.
    #[cold]
    pub(crate) fn fail(&mut self, kernel: &CompiledKernel, cause: Cause, site: Option<Site>, thread: u32) {
        let [x, y, _] = kernel.cta;
        let thread = Some([thread % x, thread / x % y, thread / (x * y)]);
        self.fault = Some(Box::new(Trap { cause, site, cta: Some(self.ctaid), thread }));
    }
}

/// An entry of the table of sites.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Allowed {
    /// The first address.
    pub(crate) start: u64,
    /// How many addresses are allowed from there on, in steps of the bytes of a lane.
    pub(crate) count: u64,
    /// What compiled code has worked out of that and a parameter.
    pub(crate) room: u64,
}

impl Allowed {
    /// What a range leaves of addresses for a site; entries whose steps do not begin at a multiple of the bytes of a lane could not tell what is aligned.
    pub(crate) fn new(site: &SiteKind, start: u64, span: u64) -> Allowed {
        let step = u64::from(site.bytes);
        let first = start.next_multiple_of(step);
        let count = (start + span).checked_sub(first).and_then(|left| left.checked_sub(site.need));
        Allowed { start: first, count: count.map_or(0, |left| left / step + 1), room: 0 }
    }

    /// Whether all bytes from an address on are allowed that a site needs.
    pub(crate) fn holds(&self, site: &SiteKind, address: u64) -> bool {
        address >= self.start && (address - self.start) / u64::from(site.bytes) < self.count
    }
}
