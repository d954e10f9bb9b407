//! Attributes of streams: preferences that are kept and come back, without effect on a CPU.
use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::{PRIORITIES, StreamName};
use crate::driver::Driver;
use crate::{DriverError, DriverResult};

/// The bytes of an attribute's value.
pub type AttributeValue = [u8; 64];

/// The 32-bit word of a value at `index`, counted in words.
pub(crate) fn word_of(value: &AttributeValue, index: usize) -> u32 {
    value[4 * index..][..4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// The two words from `index` on as one number.
pub(crate) fn wide_of(value: &AttributeValue, index: usize) -> u64 {
    u64::from(word_of(value, index)) | u64::from(word_of(value, index + 1)) << 32
}

/// The attributes that were set on one stream, by their number.
pub(super) type Attributes = Mutex<BTreeMap<u32, AttributeValue>>;

/// The attributes that streams have, by their numbers in `CUlaunchAttributeID`: access policy window, synchronisation policy,
/// priority, map of synchronisation domains, synchronisation domain.
const KNOWN: [u32; 5] = [ACCESS_POLICY_WINDOW, SYNCHRONIZATION_POLICY, PRIORITY, DOMAIN_MAP, DOMAIN];
const ACCESS_POLICY_WINDOW: u32 = 1;
const SYNCHRONIZATION_POLICY: u32 = 3;
pub(super) const PRIORITY: u32 = 8;
pub(crate) const CLUSTER_DIMENSION: u32 = 4;
pub(crate) const DOMAIN_MAP: u32 = 9;
/// That kernels may change a node: a number that is 0 or 1, and behind it the node's.
pub(crate) const DEVICE_UPDATABLE: u32 = 13;
const DOMAIN: u32 = 10;
const CARVEOUT: u32 = 14;
const LINKS_FIRST: u32 = 16;

/// The default domain is 0, the remote one 1.
pub(crate) const DEFAULT_DOMAINS: AttributeValue = {
    let mut value = [0; 64];
    value[1] = 1;
    value
};

/// Synchronisation domains that a device has, as recorded (`CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT`).
const DOMAINS: u8 = 4;

/// The widest access policy window, in bytes, as recorded.
const MOST_WINDOW: u64 = 134_217_728;

fn check(attribute: u32) -> DriverResult {
    if !KNOWN.contains(&attribute) {
        return Err(DriverError::invalid_value(format!("{attribute} is no attribute of streams")));
    }
    Ok(())
}

/// What the driver refuses of a value, of streams, launches and nodes alike, as recorded.
///
/// # Errors
/// `InvalidValue` for a domain, a launch's domain, a carveout or a use of links that there is not, and as [`check_window`].
pub(crate) fn check_value(attribute: u32, value: &AttributeValue) -> DriverResult {
    let word = word_of(value, 0);
    let exists = match attribute {
        ACCESS_POLICY_WINDOW => return check_window(value),
        DOMAIN_MAP => value[0] < DOMAINS && value[1] < DOMAINS,
        DOMAIN | LINKS_FIRST => word < 2,
        CARVEOUT => word <= 100,
        _ => true,
    };
    if exists { Ok(()) } else { Err(not_a_value(attribute, word)) }
}

/// The same of what launches alone have.
///
/// # Errors
/// `InvalidValue` as of streams, and for a policy of clusters that there is not.
pub fn check_launch_attribute(attribute: u32, value: &AttributeValue) -> DriverResult {
    const CLUSTER_POLICY: u32 = 5;
    let word = word_of(value, 0);
    match attribute {
        CLUSTER_POLICY if word > 2 => Err(not_a_value(attribute, word)),
        _ => check_value(attribute, value),
    }
}

#[cold]
fn not_a_value(attribute: u32, word: u32) -> DriverError {
    DriverError::invalid_value(format!("{word:#x} is no value of attribute {attribute}"))
}

/// What the driver refuses of a `CUaccessPolicyWindow`.
///
/// # Errors
/// `InvalidValue` for a window that is wider than windows can be, a ratio that is none, and misses that would persist.
fn check_window(value: &AttributeValue) -> DriverResult {
    const PERSISTING: u32 = 2;
    let bytes = wide_of(value, 2);
    let (ratio, miss) = (f32::from_bits(word_of(value, 4)), word_of(value, 6));
    if bytes > MOST_WINDOW {
        return Err(DriverError::invalid_value(format!("a window of {bytes} bytes is wider than {MOST_WINDOW}")));
    }
    if !(0.0..=1.0).contains(&ratio) {
        return Err(DriverError::invalid_value(format!("hitRatio is {ratio}, not between 0 and 1")));
    }
    if miss == PERSISTING {
        return Err(DriverError::invalid_value("what misses the window cannot persist"));
    }
    Ok(())
}

/// What streams and nodes keep of a value, as recorded: the bytes that say something, and priorities are brought into their range.
pub(crate) fn kept(attribute: u32, mut value: AttributeValue) -> AttributeValue {
    if attribute == PRIORITY {
        let priority = word_of(&value, 0) as i32;
        value[..4].copy_from_slice(&priority.clamp(PRIORITIES.1, PRIORITIES.0).to_ne_bytes());
    }
    let bytes = match attribute {
        ACCESS_POLICY_WINDOW => 28,
        DOMAIN_MAP => 2,
        CLUSTER_DIMENSION => 12,
        DEVICE_UPDATABLE => 16,
        _ => 4,
    };
    value[bytes..].fill(0);
    value
}

impl Driver {
    /// What of a stream its kernels have in graphs too, as recorded: access policy and priority.
    pub(crate) fn stream_preferences(&self, name: StreamName) -> DriverResult<BTreeMap<u32, AttributeValue>> {
        let value = |attribute| Ok((attribute, self.kept_attribute(name, attribute)?));
        [ACCESS_POLICY_WINDOW, PRIORITY].into_iter().map(value).collect()
    }

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
            StreamName::Legacy => Ok(look(&mut self.current_place()?.streams().attributes.lock())),
            StreamName::PerThread => {
                let stream = self.place_with_threads()?.streams().of_this_thread(self)?;
                Ok(look(&mut stream.attributes.lock()))
            }
        }
    }

    /// The value of an attribute.
    ///
    /// # Errors
    /// `InvalidValue` for attributes that streams do not have; as [`Driver::refuse_failed_capture`].
    pub fn stream_attribute(&self, name: StreamName, attribute: u32) -> DriverResult<AttributeValue> {
        self.refuse_failed_capture(name)?;
        self.kept_attribute(name, attribute)
    }

    /// The same of a stream whose capture may have failed.
    fn kept_attribute(&self, name: StreamName, attribute: u32) -> DriverResult<AttributeValue> {
        check(attribute)?;
        let priority = self.stream_facts(name)?.priority;
        let set = self.with_attributes(name, |attributes| attributes.get(&attribute).copied())?;
        Ok(set.unwrap_or_else(|| {
            let mut value = [0; 64];
            match attribute {
                // As recorded, no policy.
                SYNCHRONIZATION_POLICY => value[..4].fill(0xff),
                PRIORITY => value[..4].copy_from_slice(&priority.to_ne_bytes()),
                DOMAIN_MAP => value = DEFAULT_DOMAINS,
                _ => {}
            }
            value
        }))
    }

    /// Changes an attribute.
    ///
    /// # Errors
    /// As [`Driver::stream_attribute`]; `InvalidValue` for a value that is none.
    pub fn set_stream_attribute(&self, name: StreamName, attribute: u32, value: AttributeValue) -> DriverResult {
        self.refuse_failed_capture(name)?;
        check(attribute)?;
        check_value(attribute, &value)?;
        let word = word_of(&value, 0);
        if attribute == SYNCHRONIZATION_POLICY && !(1..=4).contains(&word) {
            return Err(not_a_value(attribute, word));
        }
        let value = kept(attribute, value);
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
        self.refuse_failed_capture(to)?;
        let priority = self.stream_attribute(from, PRIORITY)?;
        let mut copied = self.with_attributes(from, |attributes| attributes.clone())?;
        copied.insert(PRIORITY, priority);
        self.with_attributes(to, |attributes| *attributes = copied)
    }
}
