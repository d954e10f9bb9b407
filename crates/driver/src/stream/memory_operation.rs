//! Stream memory operations: writing a value to memory, and waiting for one.
use std::any::Any;
use std::sync::Arc;

use warploom_exec::fault::AccessKind;
use warploom_exec::memory::{Atomic, Order};
use warploom_exec::stream::{Stream, Weight};

use super::StreamName;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::memory::{PointerKind, Teller};
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

/// What an operation does at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueAction {
    /// Writes 4 bytes.
    Write32(u32),
    /// Writes 8 bytes.
    Write64(u64),
    /// Waits until 4 bytes meet the condition.
    Wait32(u32, WaitCondition),
    /// Waits until 8 bytes meet the condition.
    Wait64(u64, WaitCondition),
    /// Nothing: work of a stream is in order, and a CPU sees all writes.
    Fence,
}

/// One stream memory operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueOperation {
    /// Where.
    pub address: u64,
    /// What.
    pub action: ValueAction,
}

impl Driver {
    /// Puts operations into a stream, one after the other. All are checked before the first is put there; those of a captured
    /// stream become one node. `given` is how the program described them, for work of the context with this handle.
    ///
    /// # Errors
    /// `InvalidValue` for an address that is misaligned or not device memory; as [`Driver::stream`].
    pub fn operate_on_values(
        &self,
        stream: StreamName,
        operations: Vec<ValueOperation>,
        given: impl FnOnce(Handle) -> Box<dyn Any + Send + Sync>,
    ) -> DriverResult {
        let stream = self.stream(stream)?;
        if let Some(capture) = self.capture_of(&stream)? {
            let work = self.batch_work(operations, given(stream.context.handle()))?;
            return self.capture(&capture, &stream, work).map(|_| ());
        }
        for operation in &operations {
            self.check_operation(operation)?;
        }
        for operation in &operations {
            self.put_operation(operation, &stream.stream);
        }
        Ok(())
    }

    /// Fails if the address is not one for the operation.
    pub(crate) fn check_operation(&self, operation: &ValueOperation) -> DriverResult {
        let (size, kind) = match operation.action {
            ValueAction::Write32(_) => (4, AccessKind::Store),
            ValueAction::Write64(_) => (8, AccessKind::Store),
            ValueAction::Wait32(..) => (4, AccessKind::Load),
            ValueAction::Wait64(..) => (8, AccessKind::Load),
            ValueAction::Fence => return Ok(()),
        };
        let address = operation.address;
        if !address.is_multiple_of(size) {
            return Err(DriverError::invalid_value(format!("address {address:#x} is no multiple of {size}")));
        }
        // Says the manual of `cuStreamWaitValue32`, and answers the hardware.
        if self.pointer(address).is_some_and(|pointer| pointer.kind == PointerKind::Managed) {
            return Err(DriverError::invalid_value(format!("address {address:#x} is managed memory")));
        }
        self.check_device(address, size, kind)
    }

    /// Puts an operation that was checked into a stream.
    pub(crate) fn put_operation(&self, operation: &ValueOperation, stream: &Stream) {
        match operation.action {
            ValueAction::Write32(value) => self.put_write(stream, operation.address, value),
            ValueAction::Write64(value) => self.put_write(stream, operation.address, value),
            ValueAction::Wait32(value, when) => self.put_wait(stream, operation.address, value, when),
            ValueAction::Wait64(value, when) => self.put_wait(stream, operation.address, value, when),
            ValueAction::Fence => {}
        }
    }

    fn put_write<T: Value>(&self, stream: &Stream, address: u64, value: T) {
        let (memory, sticky) = (Arc::clone(self.memory()), Arc::clone(self.state_of(stream).sticky()));
        let told = Teller::of(stream);
        stream.run_at(Weight::Light, move |place| {
            told.releases(place, address);
            told.sets(place, address..address + size_of::<T>() as u64, "a write of a value by a stream");
            if let Err(fault) = memory.view().store_atomic(address, value, Order::Release) {
                sticky.set_late("a write of a value by a stream", &fault);
            }
        });
    }

    fn put_wait<T: Value>(&self, stream: &Stream, address: u64, value: T, when: WaitCondition) {
        let (memory, sticky) = (Arc::clone(self.memory()), Arc::clone(self.state_of(stream).sticky()));
        stream.wait_until(address, move || match memory.view().load_atomic::<T>(address, Order::Acquire) {
            Ok(now) => now.holds(when, value),
            Err(fault) => {
                sticky.set_late("a wait of a stream for a value", &fault);
                true
            }
        });
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
