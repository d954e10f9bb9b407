//! Semaphores that come from outside: signals, and waits that a thread of the host does, so that no worker is held up.
use std::any::Any;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use warploom_exec::interprocess::ExternalSemaphore;
use warploom_exec::stream::{Stream, Weight};

use super::StreamName;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult, ErrorCode};

pub use warploom_exec::interprocess::SemaphoreKind;

/// A semaphore that a program has imported.
pub(crate) struct ImportedSemaphore {
    handle: Handle,
    semaphore: Arc<ExternalSemaphore>,
}

/// What is done with semaphores, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SemaphoreAction {
    /// They are signalled.
    Signal,
    /// They are waited for.
    Wait,
}

/// A semaphore with a value, which only timelines look at.
pub struct ValuedSemaphore {
    semaphore: Arc<ExternalSemaphore>,
    value: u64,
}

/// The work of signalling semaphores, or waiting for them.
pub struct SemaphoreWork {
    /// What is done.
    pub action: SemaphoreAction,
    /// With which, in order.
    pub semaphores: Vec<ValuedSemaphore>,
    /// How the program described them, for when it asks.
    pub given: Box<dyn Any + Send + Sync>,
}

impl SemaphoreWork {
    /// Whether it does the same with the same semaphores.
    pub(crate) fn is_same(&self, other: &SemaphoreWork) -> bool {
        let mut pairs = self.semaphores.iter().zip(&other.semaphores);
        self.action == other.action
            && self.len() == other.len()
            && pairs.all(|(a, b)| Arc::ptr_eq(&a.semaphore, &b.semaphore) && a.value == b.value)
    }

    /// How many semaphores.
    pub(crate) fn len(&self) -> usize {
        self.semaphores.len()
    }
}

impl Driver {
    /// Imports a semaphore.
    ///
    /// # Errors
    /// `Unknown`, as recorded, for what is none; those of [`Driver::current`].
    pub fn import_semaphore(&self, descriptor: OwnedFd, kind: SemaphoreKind) -> DriverResult<Handle> {
        self.current()?;
        let semaphore =
            ExternalSemaphore::open(descriptor, kind).map_err(|reason| DriverError::new(ErrorCode::Unknown, reason))?;
        let semaphore = Arc::new(semaphore);
        Ok(self.semaphores.insert(|handle| ImportedSemaphore { handle, semaphore })?.handle)
    }

    /// Ends an imported semaphore. What a stream has been given of it stays.
    ///
    /// # Errors
    /// `InvalidHandle` for stale and foreign handles; `InvalidValue` for NULL, as recorded.
    pub fn destroy_semaphore(&self, handle: Handle) -> DriverResult {
        if handle.is_null() {
            return Err(DriverError::invalid_value("the external semaphore is NULL"));
        }
        self.semaphores.remove(handle).map(|_| ())
    }

    /// A semaphore with the value that it is signalled with, or waited for to have.
    ///
    /// # Errors
    /// `InvalidHandle` for stale and foreign handles.
    pub fn valued_semaphore(&self, handle: Handle, value: u64) -> DriverResult<ValuedSemaphore> {
        Ok(ValuedSemaphore { semaphore: Arc::clone(&self.semaphores.lookup(handle)?.semaphore), value })
    }

    /// Puts it into a stream; of a captured one it becomes a node.
    ///
    /// # Errors
    /// As [`Driver::stream`].
    pub fn use_semaphores(&self, stream: StreamName, work: SemaphoreWork) -> DriverResult {
        let stream = self.stream(stream)?;
        if let Some(capture) = self.capture_of(&stream)? {
            return self.capture(&capture, &stream, crate::graph::Work::Semaphores(Arc::new(work))).map(|_| ());
        }
        self.put_semaphores(&work, &stream.stream);
        Ok(())
    }

    /// Puts it into a stream.
    pub(crate) fn put_semaphores(&self, work: &SemaphoreWork, stream: &Stream) {
        for ValuedSemaphore { semaphore, value } in &work.semaphores {
            let (semaphore, value, sticky) =
                (Arc::clone(semaphore), *value, Arc::clone(self.state_of(stream).sticky()));
            match work.action {
                SemaphoreAction::Signal => stream.run(Weight::Light, move || semaphore.signal(value)),
                // After a fault nobody waits.
                SemaphoreAction::Wait => stream.wait_outside(Box::new(move |give_up| {
                    semaphore.wait(value, || give_up() || sticky.check().is_err())
                })),
            }
        }
    }
}
