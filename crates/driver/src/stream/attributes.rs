//! Attributes of streams: preferences that are kept and come back, without effect on a CPU.
use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::StreamName;
use crate::driver::Driver;
use crate::{DriverError, DriverResult};

/// The bytes of an attribute's value.
pub type AttributeValue = [u8; 64];

/// The attributes that were set on one stream, by their number.
pub(super) type Attributes = Mutex<BTreeMap<u32, AttributeValue>>;

/// The attributes that streams have, by their numbers in `CUlaunchAttributeID`: access policy window, synchronisation policy,
/// priority, map of synchronisation domains, synchronisation domain.
const KNOWN: [u32; 5] = [1, SYNCHRONIZATION_POLICY, PRIORITY, 9, 10];
const SYNCHRONIZATION_POLICY: u32 = 3;
const PRIORITY: u32 = 8;

fn check(attribute: u32) -> DriverResult {
    if !KNOWN.contains(&attribute) {
        return Err(DriverError::invalid_value(format!("{attribute} is no attribute of streams")));
    }
    Ok(())
}

impl Driver {
    /// Runs `look` on the attributes of a stream.
    fn with_attributes<T>(
        &self,
        name: StreamName,
        look: impl FnOnce(&mut BTreeMap<u32, AttributeValue>) -> T,
    ) -> DriverResult<T> {
        match name {
            StreamName::Created(handle) => {
                let stream = self.streams.lookup(handle)?;
                Ok(look(&mut stream.attributes.lock()))
            }
            // The default streams of a context have theirs in common.
            StreamName::Legacy | StreamName::PerThread => {
                let context = self.current()?;
                Ok(look(&mut context.streams().attributes.lock()))
            }
        }
    }

    /// The value of an attribute.
    ///
    /// # Errors
    /// `InvalidValue` for attributes that streams do not have; as [`Driver::stream`].
    pub fn stream_attribute(&self, name: StreamName, attribute: u32) -> DriverResult<AttributeValue> {
        check(attribute)?;
        let priority = self.stream_facts(name)?.priority;
        let set = self.with_attributes(name, |attributes| attributes.get(&attribute).copied())?;
        Ok(set.unwrap_or_else(|| {
            let mut value = [0; 64];
            let first = match attribute {
                // `CU_SYNC_POLICY_AUTO`.
                SYNCHRONIZATION_POLICY => 1,
                PRIORITY => priority,
                _ => 0,
            };
            value[..4].copy_from_slice(&first.to_ne_bytes());
            value
        }))
    }

    /// Changes an attribute.
    ///
    /// # Errors
    /// As [`Driver::stream_attribute`].
    pub fn set_stream_attribute(&self, name: StreamName, attribute: u32, value: AttributeValue) -> DriverResult {
        check(attribute)?;
        self.check()?;
        self.with_attributes(name, |attributes| {
            attributes.insert(attribute, value);
        })
    }

    /// Gives one stream the attributes of another, its priority among them, as recorded.
    ///
    /// # Errors
    /// As [`Driver::stream`].
    pub fn copy_stream_attributes(&self, to: StreamName, from: StreamName) -> DriverResult {
        self.check()?;
        let priority = self.stream_attribute(from, PRIORITY)?;
        let mut copied = self.with_attributes(from, |attributes| attributes.clone())?;
        copied.insert(PRIORITY, priority);
        self.with_attributes(to, |attributes| *attributes = copied)
    }
}
