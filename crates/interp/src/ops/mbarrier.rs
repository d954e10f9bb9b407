//! Operations on mbarrier objects (PTX ISA 9.7.13.15).
//!
//! The objects lie in shared memory, which only the host thread that runs the cluster reaches: they are plain words, and what orders memory
//! for threads of one host thread is nothing. Scopes and semantics are left to checkers.

use warploom_exec::fault::{AccessKind, FaultKind};

use crate::machine::{Flow, Machine, lanes};
use crate::mbarrier::Object;
use crate::memory::{Base, StateSpace};
use crate::program::Inst;
use crate::waiting::{Look, POLLS};

/// An operation on an mbarrier object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MbarrierSite {
    pub(crate) kind: Kind,
    pub(crate) space: StateSpace,
    pub(crate) base: Base,
    pub(crate) offset: i64,
}

/// Which operation; operands are rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Init {
        count: u32,
        v1: bool,
    },
    Inval,
    ExpectTx {
        bytes: u32,
    },
    CompleteTx {
        bytes: u32,
    },
    Arrive {
        drops: bool,
        expects: Option<u32>,
        count: Option<u32>,
        token: Option<u32>,
    },
    /// `cp.async.mbarrier.arrive`; `counted`: `.noinc`, the arrival is one of those that the object counts on.
    ArriveOfCopies {
        counted: bool,
    },
    CheckLayout {
        v1: bool,
        d: u32,
    },
    /// `waits`: `try_wait`.
    Test {
        waits: bool,
        phase: Phase,
        d: u32,
    },
}

/// Which phase is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// That of the token in a 64-bit row.
    Token(u32),
    /// The one with the parity in a 32-bit row.
    Parity(u32),
}

/// `mbarrier.*` but for `pending_count`, and `cp.async.mbarrier.arrive`: site `imm`.
pub(crate) fn mbarrier(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.mbarriers[inst.imm as usize];
    let addresses = machine.addresses(site.base, site.offset);
    match site.kind {
        Kind::Test { waits, phase, d } => return test(machine, inst.imm, mask, (waits, phase, d)),
        Kind::CheckLayout { v1, d } => return check_layout(machine, site, mask, (v1, d)),
        _ => {}
    }
    for lane in lanes(mask) {
        let word = |row: u32| machine.frame.r32[row as usize][lane];
        let (bytes, count) = match site.kind {
            Kind::Init { count, .. } => (0, word(count)),
            Kind::ExpectTx { bytes } | Kind::CompleteTx { bytes } => (word(bytes), 0),
            Kind::Arrive { expects, count, .. } => (expects.map_or(0, word), count.map_or(1, word)),
            Kind::ArriveOfCopies { .. } => (0, 1),
            Kind::Inval | Kind::CheckLayout { .. } | Kind::Test { .. } => (0, 0),
        };
        let mut object = match machine.mbarrier(site.space, addresses[lane]) {
            Ok(object) => object,
            // As recorded: nobody could see it.
            Err(FaultKind::CtaHasExited { .. }) => continue,
            Err(kind) => return machine.fail(1 << lane, kind),
        };
        let before = object;
        if count > object.pending() && matches!(site.kind, Kind::Arrive { .. }) {
            let text = format!("{count} arrivals where {} are left in the phase", object.pending());
            return machine.fail(1 << lane, FaultKind::Mbarrier(text));
        }
        let mut sound = true;
        match site.kind {
            Kind::Init { v1, .. } => object = Object::new(count, v1),
            Kind::Inval | Kind::CheckLayout { .. } | Kind::Test { .. } => object = Object(0),
            Kind::ExpectTx { .. } => sound = object.expect_bytes(bytes),
            Kind::CompleteTx { .. } => object.complete_bytes(bytes),
            Kind::Arrive { drops, .. } => {
                sound = object.expect_bytes(bytes);
                object.arrive(count, drops);
            }
            Kind::ArriveOfCopies { counted } => {
                if !counted {
                    object.expect_arrival();
                }
                object.arrive(1, false);
            }
        }
        if !sound {
            let text = format!("{bytes} bytes more are expected than it can count");
            return machine.fail(1 << lane, FaultKind::Mbarrier(text));
        }
        if let Err(kind) = machine.set_mbarrier(site.space, addresses[lane], object) {
            return machine.fail(1 << lane, kind);
        }
        if let Kind::Arrive { token: Some(row), .. } = site.kind {
            machine.frame.r64[row as usize][lane] = before.0;
        }
    }
    machine.stores += 1;
    Flow::Next
}

/// `check_layout`
fn check_layout(machine: &mut Machine<'_>, site: &MbarrierSite, mask: u32, (v1, d): (bool, u32)) -> Flow {
    let addresses = machine.addresses(site.base, site.offset);
    let mut of_it = 0;
    for lane in lanes(mask) {
        match machine.mbarrier(site.space, addresses[lane]) {
            Ok(object) => of_it |= u32::from(object.is_v1() == v1) << lane,
            Err(kind) => return machine.fail(1 << lane, kind),
        }
    }
    machine.put_predicate(d, mask, of_it);
    Flow::Next
}

/// `test_wait`, `try_wait`: neither waits, but a warp that tries again and finds the same gives way to others at once.
fn test(machine: &mut Machine<'_>, index: u32, mask: u32, (waits, phase, d): (bool, Phase, u32)) -> Flow {
    let function = machine.function;
    let site = &function.mbarriers[index as usize];
    let addresses = machine.addresses(site.base, site.offset);
    let mut found = [0; 32];
    let mut over = 0;
    for lane in lanes(mask) {
        let object = match machine.mbarrier(site.space, addresses[lane]) {
            Ok(object) => object,
            Err(kind) => return machine.fail(1 << lane, kind),
        };
        let asked = match phase {
            Phase::Token(row) => Object(machine.frame.r64[row as usize][lane]).phase(),
            Phase::Parity(row) => machine.frame.r32[row as usize][lane] & 1 != 0,
        };
        over |= u32::from(object.phase() != asked) << lane;
        found[lane] = object.0;
    }
    machine.put_predicate(d, mask, over);
    if over & mask != mask {
        machine.note_look(Look::Mbarrier(index), mask, &addresses, &found);
        if waits && machine.polls > 0 {
            machine.polls = POLLS;
        }
    }
    Flow::Next
}

/// `mbarrier.pending_count`: `a` is the 64-bit row of tokens, `d` the 32-bit row of counts.
pub(crate) fn pending_count(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let counts = machine.frame.r64[inst.a as usize].map(|token| Object(token).pending());
    machine.put(inst.d, mask, &counts);
    Flow::Next
}

impl Machine<'_> {
    /// The object at an address.
    pub(crate) fn mbarrier(&mut self, space: StateSpace, address: u64) -> Result<Object, FaultKind> {
        let bytes = self.shared_bytes(space, address, 8, 8, AccessKind::Atomic)?;
        Ok(Object(u64::from_le_bytes(std::array::from_fn(|index| bytes[index]))))
    }

    /// Changes the object at an address.
    pub(crate) fn set_mbarrier(&mut self, space: StateSpace, address: u64, object: Object) -> Result<(), FaultKind> {
        let bytes = self.shared_bytes(space, address, 8, 8, AccessKind::Atomic)?;
        bytes.copy_from_slice(&object.0.to_le_bytes());
        Ok(())
    }
}
