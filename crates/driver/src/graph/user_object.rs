//! User objects: resources of a program that live as long as something counts on them, graphs for example.
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_exec::stream::Stream;

use super::{Driver, DriverError, DriverResult, Handle};

/// A resource of the program with a number of references, and what to do when none is left.
pub struct UserObject {
    handle: Handle,
    state: Mutex<References>,
}

struct References {
    count: u64,
    destroy: Option<Box<dyn FnOnce() + Send>>,
}

impl UserObject {
    fn retain(&self, count: u32) {
        self.state.lock().count += u64::from(count);
    }
}

/// References that a graph holds.
#[derive(Default)]
pub(super) struct Holdings(Vec<(Arc<UserObject>, u64)>);

impl Holdings {
    fn add(&mut self, object: &Arc<UserObject>, count: u32) {
        match self.0.iter_mut().find(|(known, _)| Arc::ptr_eq(known, object)) {
            Some((_, held)) => *held += u64::from(count),
            None => self.0.push((Arc::clone(object), u64::from(count))),
        }
    }

    /// One reference to each object, for a copy or an instance of the graph.
    pub(super) fn shared(&self) -> Holdings {
        let objects = self.0.iter().map(|(object, _)| {
            object.retain(1);
            (Arc::clone(object), 1)
        });
        Holdings(objects.collect())
    }

    /// Gives all references back.
    pub(super) fn release_all(self, driver: &Driver) {
        for (object, count) in self.0 {
            driver.release_references(&object, count);
        }
    }

    /// Gives all references back when everything in `stream` has ended.
    pub(super) fn release_after(self, driver: &Driver, stream: &Stream) {
        let objects = self.0.into_iter().filter_map(|(object, count)| {
            let destroy = object.take(count)?;
            // The last reference is gone: nobody finds the object any more.
            let _ = driver.user_objects.remove(object.handle);
            Some(destroy)
        });
        for destroy in objects {
            stream.callback(Box::new(move |_| destroy()));
        }
    }
}

impl UserObject {
    /// Takes references away; what to do if none is left.
    fn take(&self, count: u64) -> Option<Box<dyn FnOnce() + Send>> {
        let mut state = self.state.lock();
        state.count = state.count.saturating_sub(count);
        if state.count == 0 { state.destroy.take() } else { None }
    }
}

impl Driver {
    /// Makes a user object with `count` references of the program. `destroy` runs on a thread of its own when none is left.
    ///
    /// # Errors
    /// `InvalidValue` for no references or more than fit a signed number.
    pub fn create_user_object(&self, destroy: Box<dyn FnOnce() + Send>, count: u32) -> DriverResult<Handle> {
        check_count(count)?;
        let state = Mutex::new(References { count: u64::from(count), destroy: Some(destroy) });
        Ok(self.user_objects.insert(|handle| UserObject { handle, state })?.handle)
    }

    /// Adds references of the program.
    ///
    /// # Errors
    /// `InvalidValue` for no references, and for NULL, stale and foreign handles.
    pub fn retain_user_object(&self, object: Handle, count: u32) -> DriverResult {
        check_count(count)?;
        self.user_objects.lookup(object)?.retain(count);
        Ok(())
    }

    /// Gives references of the program back.
    ///
    /// # Errors
    /// As [`Driver::retain_user_object`].
    pub fn release_user_object(&self, object: Handle, count: u32) -> DriverResult {
        check_count(count)?;
        let object = self.user_objects.lookup(object)?;
        if object.state.lock().count < u64::from(count) {
            return Err(DriverError::invalid_value(format!("there are fewer than {count} references")));
        }
        self.release_references(&object, u64::from(count));
        Ok(())
    }

    fn release_references(&self, object: &Arc<UserObject>, count: u64) {
        if let Some(destroy) = object.take(count) {
            // The last reference is gone: nobody finds the object any more.
            let _ = self.user_objects.remove(object.handle);
            self.internal_stream().callback(Box::new(move |_| destroy()));
        }
    }

    /// Lets a graph hold references: new ones, or with `moved` those of the program.
    ///
    /// # Errors
    /// As [`Driver::retain_user_object`].
    pub fn hold_user_object(&self, graph: Handle, object: Handle, count: u32, moved: bool) -> DriverResult {
        check_count(count)?;
        let (graph, object) = (self.graphs.lookup(graph)?, self.user_objects.lookup(object)?);
        if !moved {
            object.retain(count);
        }
        graph.state.lock().objects.add(&object, count);
        Ok(())
    }

    /// Takes references from a graph.
    ///
    /// # Errors
    /// `InvalidValue` for more than the graph holds; as [`Driver::retain_user_object`].
    pub fn unhold_user_object(&self, graph: Handle, object: Handle, count: u32) -> DriverResult {
        check_count(count)?;
        let (graph, object) = (self.graphs.lookup(graph)?, self.user_objects.lookup(object)?);
        let mut state = graph.state.lock();
        let held = state.objects.0.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &object));
        match held {
            Some((_, held)) if *held >= u64::from(count) => *held -= u64::from(count),
            _ => return Err(DriverError::invalid_value(format!("the graph holds fewer than {count} references"))),
        }
        state.objects.0.retain(|(_, held)| *held > 0);
        drop(state);
        self.release_references(&object, u64::from(count));
        Ok(())
    }
}

fn check_count(count: u32) -> DriverResult {
    if count == 0 || i32::try_from(count).is_err() {
        return Err(DriverError::invalid_value(format!("{count} is no number of references")));
    }
    Ok(())
}
