//! Sets: rows of elements that all get the same value.
use std::sync::Arc;

use warploom_exec::copy::FillWidth;
use warploom_exec::fault::AccessKind;
use warploom_exec::memory::Memory;
use warploom_exec::stream::{Stream, Weight};

use super::told::Teller;
use super::transfer::{Box3, extent, weight};
use crate::driver::Driver;
use crate::fault::Sticky;
use crate::graph::Work;
use crate::stream::StreamName;
use crate::{DriverError, DriverResult};

/// A set of `height` rows of `width` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill2d {
    /// First address.
    pub address: u64,
    /// Distance of rows in bytes; of no account for one row.
    pub pitch: u64,
    /// Bytes of an element.
    pub element: FillWidth,
    /// The element.
    pub value: u32,
    /// Elements of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

impl Fill2d {
    /// Puts a set that was checked, of `extent` bytes, into a stream; a fault of it stays with the stream's device.
    pub(crate) fn put(self, extent: u64, memory: &Arc<Memory>, sticky: &Arc<Sticky>, stream: &Stream) {
        self.put_as(weight(extent), memory, sticky, stream);
    }

    fn put_as(self, weight: Weight, memory: &Arc<Memory>, sticky: &Arc<Sticky>, stream: &Stream) {
        let (memory, sticky, told) = (Arc::clone(memory), Arc::clone(sticky), Teller::of(stream));
        stream.run_at(weight, move |place| {
            for y in 0..self.height {
                let start = self.address + y * self.pitch;
                told.sets(place, start..start + self.width * self.element as u64, "a fill");
            }
            self.run(&memory, &sticky);
        });
    }

    fn run(&self, memory: &Memory, sticky: &Sticky) {
        for y in 0..self.height {
            if let Err(fault) = memory.fill(self.address + y * self.pitch, self.element, self.value, self.width) {
                sticky.set_late("a set", &fault);
                return;
            }
        }
    }
}

impl Driver {
    /// Sets elements of device memory, and comes back when it is done or has been put into the stream.
    ///
    /// # Errors
    /// `InvalidValue` for rows that do not lie in one allocation, an address or pitch that is not a multiple of the
    /// element; those of [`Driver::current`].
    pub fn fill(&self, fill: &Fill2d, stream: StreamName, wait: bool) -> DriverResult {
        let stream = self.stream(stream)?;
        let capture = self.capture_of(&stream)?;
        let Some(extent) = self.check_fill(fill)? else { return Ok(()) };
        if wait {
            self.refuse_capture(&stream)?;
            if !stream.stream.is_idle() {
                self.finish(&stream)?;
            }
            let (memory, sticky) = (self.memory(), stream.context.device().sticky());
            if self.is_observed() {
                // It has a place in the stream then.
                fill.put_as(Weight::Light, memory, sticky, &stream.stream);
                return self.finish(&stream);
            }
            fill.run(memory, sticky);
            return stream.context.check();
        }
        match capture {
            Some(capture) => self.capture(&capture, &stream, Work::Fill(*fill)).map(|_| ()),
            None => {
                fill.put(extent, self.memory(), stream.context.device().sticky(), &stream.stream);
                Ok(())
            }
        }
    }

    /// Bytes from the first to the last that a set writes; None if it writes none, which may be anywhere, as recorded.
    ///
    /// # Errors
    /// As [`Driver::fill`].
    pub(crate) fn check_fill(&self, fill: &Fill2d) -> DriverResult<Option<u64>> {
        let element = fill.element as u64;
        if fill.width == 0 || fill.height == 0 {
            return Ok(None);
        }
        if !fill.address.is_multiple_of(element) || (fill.height > 1 && !fill.pitch.is_multiple_of(element)) {
            let reason = format!("address {:#x} or pitch {} is no multiple of {element}", fill.address, fill.pitch);
            return Err(DriverError::invalid_value(reason));
        }
        let size = fill
            .width
            .checked_mul(element)
            .map(|width| Box3 { width, height: fill.height, depth: 1 })
            .ok_or_else(|| DriverError::invalid_value(format!("{} elements do not fit memory", fill.width)))?;
        if fill.height > 1 && fill.pitch < size.width {
            return Err(DriverError::invalid_value(format!(
                "rows of {} bytes with a pitch of {}",
                size.width, fill.pitch
            )));
        }
        let extent = extent(&size, fill.pitch, 0)?;
        self.check_device(fill.address, extent, AccessKind::Store)?;
        Ok(Some(extent))
    }
}
