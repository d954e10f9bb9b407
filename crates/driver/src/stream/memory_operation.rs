//! Stream memory operations: writing a value to memory, and waiting for one.
use std::sync::Arc;

use warploom_exec::fault::AccessKind;
use warploom_exec::memory::{Atomic, Order};
use warploom_exec::stream::Weight;

use super::StreamName;
use crate::driver::Driver;
use crate::{DriverError, DriverResult};

/// When a wait is over (`CUstreamWaitValue_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCondition {
    /// The signed difference of memory and value is not negative.
    GreaterOrEqual,
    /// Equal.
    Equal,
    /// A common bit.
    And,
    /// A bit that is in neither.
    Nor,
}

/// The flag that asks for remote writes to be flushed: there are none that a CPU does not see.
const FLUSH: u32 = 1 << 30;

impl WaitCondition {
    /// The condition in the flags of a wait.
    ///
    /// # Errors
    /// `InvalidValue` for unknown bits.
    pub fn from_flags(flags: u32) -> DriverResult<WaitCondition> {
        Ok(match flags & !FLUSH {
            0 => WaitCondition::GreaterOrEqual,
            1 => WaitCondition::Equal,
            2 => WaitCondition::And,
            3 => WaitCondition::Nor,
            _ => return Err(DriverError::invalid_value(format!("flags {flags:#x} names no condition"))),
        })
    }
}

/// What 32 and 64 bits have in common.
trait Value: Atomic {
    fn holds(self, condition: WaitCondition, value: Self) -> bool;
}

macro_rules! value {
    ($unsigned:ty, $signed:ty) => {
        impl Value for $unsigned {
            fn holds(self, condition: WaitCondition, value: Self) -> bool {
                match condition {
                    WaitCondition::GreaterOrEqual => self.wrapping_sub(value) as $signed >= 0,
                    WaitCondition::Equal => self == value,
                    WaitCondition::And => self & value != 0,
                    WaitCondition::Nor => !(self | value) != 0,
                }
            }
        }
    };
}
value!(u32, i32);
value!(u64, i64);

impl Driver {
    /// Writes 4 bytes when all that is in the stream has ended.
    ///
    /// # Errors
    /// `InvalidValue` for an address that is misaligned or not device memory; as [`Driver::stream`].
    pub fn write_value_32(&self, stream: StreamName, address: u64, value: u32) -> DriverResult {
        self.write_value(stream, address, value)
    }

    /// As [`Driver::write_value_32`], with 8 bytes.
    ///
    /// # Errors
    /// As [`Driver::write_value_32`].
    pub fn write_value_64(&self, stream: StreamName, address: u64, value: u64) -> DriverResult {
        self.write_value(stream, address, value)
    }

    /// Keeps the stream until 4 bytes in memory meet the condition.
    ///
    /// # Errors
    /// As [`Driver::write_value_32`].
    pub fn wait_value_32(&self, stream: StreamName, address: u64, value: u32, when: WaitCondition) -> DriverResult {
        self.wait_value(stream, address, value, when)
    }

    /// As [`Driver::wait_value_32`], with 8 bytes.
    ///
    /// # Errors
    /// As [`Driver::write_value_32`].
    pub fn wait_value_64(&self, stream: StreamName, address: u64, value: u64, when: WaitCondition) -> DriverResult {
        self.wait_value(stream, address, value, when)
    }

    fn check_value<T: Value>(&self, address: u64, kind: AccessKind) -> DriverResult {
        let size = size_of::<T>() as u64;
        if !address.is_multiple_of(size) {
            return Err(DriverError::invalid_value(format!("address {address:#x} is no multiple of {size}")));
        }
        self.check_device(address, size, kind)
    }

    fn write_value<T: Value>(&self, stream: StreamName, address: u64, value: T) -> DriverResult {
        let stream = self.stream(stream)?;
        self.check_value::<T>(address, AccessKind::Store)?;
        let (memory, sticky) = (Arc::clone(self.memory()), Arc::clone(&self.sticky));
        stream.stream.run(Weight::Light, move || {
            if let Err(fault) = memory.view().store_atomic(address, value, Order::Release) {
                sticky.set_late("a write of a value by a stream", &fault);
            }
        });
        Ok(())
    }

    fn wait_value<T: Value>(&self, stream: StreamName, address: u64, value: T, when: WaitCondition) -> DriverResult {
        let stream = self.stream(stream)?;
        self.check_value::<T>(address, AccessKind::Load)?;
        let (memory, sticky) = (Arc::clone(self.memory()), Arc::clone(&self.sticky));
        stream.stream.wait_until(move || match memory.view().load_atomic::<T>(address, Order::Acquire) {
            Ok(now) => now.holds(when, value),
            Err(fault) => {
                sticky.set_late("a wait of a stream for a value", &fault);
                true
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions() {
        use WaitCondition::{And, Equal, GreaterOrEqual, Nor};
        assert!(5u32.holds(GreaterOrEqual, 5) && 6u32.holds(GreaterOrEqual, 5) && !4u32.holds(GreaterOrEqual, 5));
        // The comparison is cyclic.
        assert!(1u32.holds(GreaterOrEqual, u32::MAX) && !u32::MAX.holds(GreaterOrEqual, 1));
        assert!(5u64.holds(Equal, 5) && !5u64.holds(Equal, 6));
        assert!(6u32.holds(And, 2) && !4u32.holds(And, 2));
        assert!(1u32.holds(Nor, 2) && !u32::MAX.holds(Nor, 0));
    }
}
