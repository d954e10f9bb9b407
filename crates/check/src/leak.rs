//! What was made and not ended when its context or the process ends: memory, streams, events, arrays, modules, graphs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warploom_exec::memory::{AllocationInfo, MemoryKind};
use warploom_exec::observe::{Access, At, CtaObserver, GridFacts, GridObserver, HostEvent, Observer};

use crate::origin::Origin;
use crate::registry::Check;
use crate::report::{Note, Report, count};
use crate::sink::Sink;

/// The check of leaks.
pub struct LeakCheck {
    sink: Arc<Sink>,
    live: Mutex<BTreeMap<Name, Live>>,
}

/// What something is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Memory(u64),
    Object(&'static str, u64),
}

struct Live {
    owner: Option<u64>,
    /// Of memory.
    info: Option<AllocationInfo>,
    origin: Origin,
}

impl LeakCheck {
    /// Reports to `sink`.
    pub fn new(sink: &Arc<Sink>) -> LeakCheck {
        LeakCheck { sink: Arc::clone(sink), live: Mutex::default() }
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<Name, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, name: Name, owner: Option<u64>, info: Option<AllocationInfo>) {
        self.live().insert(name, Live { owner, info, origin: Origin::here() });
    }

    /// Reports what is left of those for which `ends` holds, and forgets it.
    fn report(&self, when: &str, ends: impl Fn(Option<u64>) -> bool) {
        let left: Vec<_> = {
            let mut live = self.live();
            let names: Vec<Name> = live.iter().filter(|(_, live)| ends(live.owner)).map(|(name, _)| *name).collect();
            names.into_iter().filter_map(|name| Some((name, live.remove(&name)?))).collect()
        };
        for (name, Live { info, origin, .. }) in left {
            let (kind, message, by) = match (name, info) {
                (Name::Memory(_), Some(AllocationInfo { size, kind, origin, .. })) => {
                    let what = match kind {
                        MemoryKind::Managed => "managed memory",
                        MemoryKind::PinnedHost => "pinned memory of the host",
                        _ => "device memory",
                    };
                    (
                        "memory",
                        format!("{} of {what} not freed {when}", count(size, "byte")),
                        format!("allocated here, by {origin}"),
                    )
                }
                (Name::Memory(address), None) => {
                    ("memory", format!("memory at {address:#x} was not freed {when}"), String::new())
                }
                (Name::Object(what, _), _) => {
                    let article = if what.starts_with(['a', 'e', 'i']) { "an" } else { "a" };
                    ("object", format!("{article} {what} was not destroyed {when}"), "made here".to_owned())
                }
            };
            let frames = origin.frames();
            let notes = vec![Note { frames, ..Note::new(by) }];
            self.sink.report(Report { check: Check::Leak, kind, message, thread: None, notes });
        }
    }
}

impl Observer for LeakCheck {
    fn begin_grid(&self, _: &GridFacts<'_>) -> Box<dyn GridObserver> {
        Box::new(Unwatched)
    }

    fn host(&self, event: &HostEvent) {
        match *event {
            HostEvent::Alloc { info, .. } => {
                let wanted = matches!(info.kind, MemoryKind::Device | MemoryKind::Managed | MemoryKind::PinnedHost);
                if wanted {
                    // Memory of pools belongs to no context.
                    self.enter(Name::Memory(info.base), (info.owner != 0).then_some(info.owner), Some(info));
                }
            }
            HostEvent::Free { info, .. } => drop(self.live().remove(&Name::Memory(info.base))),
            HostEvent::Made { what, handle, owner } => self.enter(Name::Object(what, handle), owner, None),
            HostEvent::Ended { what, handle } => drop(self.live().remove(&Name::Object(what, handle))),
            HostEvent::ContextEnds(context) => {
                self.report("when its context ended", |owner| owner == Some(context));
            }
            HostEvent::ProcessEnds => self.report("at the end of the process", |_| true),
            _ => {}
        }
    }
}

/// A grid that nobody looks at.
struct Unwatched;

impl GridObserver for Unwatched {
    fn begin(&self, _: &[[u32; 3]]) -> Box<dyn CtaObserver> {
        Box::new(Unwatched)
    }
}

impl CtaObserver for Unwatched {
    fn access(&mut self, _: &At, _: &Access<'_>) {}
}
