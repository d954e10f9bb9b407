//! What fresh device memory holds: zeros, as the host gives pages, or what was asked for, so that kernels that rely on zeros are found.
use std::sync::Arc;

use warploom_exec::copy::FillWidth;
use warploom_exec::memory::{AllocationInfo, Memory, MemoryKind};
use warploom_exec::stream::{Stream, Weight};

use crate::driver::Driver;

impl Driver {
    /// Fills memory that was just allocated, if that is asked for.
    pub(crate) fn fill_fresh(&self, info: &AllocationInfo) {
        if let Some(byte) = self.fresh_byte(info) {
            fill(self.memory(), info, byte);
        }
    }

    /// As [`Driver::fill_fresh`], of memory that is the stream's when it gets there.
    pub(crate) fn fill_fresh_in(&self, info: AllocationInfo, stream: &Stream) {
        if let Some(byte) = self.fresh_byte(&info) {
            let memory = Arc::clone(self.memory());
            stream.run(Weight::Heavy, move || fill(&memory, &info, byte));
        }
    }

    fn fresh_byte(&self, info: &AllocationInfo) -> Option<u8> {
        let of_program = matches!(info.kind, MemoryKind::Device | MemoryKind::Managed | MemoryKind::Array);
        self.options().fresh_memory.filter(|_| of_program)
    }
}

fn fill(memory: &Memory, info: &AllocationInfo, byte: u8) {
    // Who has freed it meanwhile does not read it.
    let _ = memory.fill(info.base, FillWidth::One, byte.into(), info.size);
}
