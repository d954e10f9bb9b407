//! Registers of a warp: which lanes hold values that nobody has written.

use std::collections::HashMap;

use warploom_exec::fault::Site;
use warploom_exec::observe::{Space, Step};

/// Where a value comes from that nobody has written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// A register that was never written.
    Register,
    /// Memory, read at this instruction.
    Memory { site: Site, space: Space, address: u64 },
}

/// Those of a call of a function.
#[derive(Default)]
struct Frame {
    /// By register, the lanes whose value nobody has written, or was computed with such a one.
    undefined: Vec<u32>,
    /// Why, where that is not that the register was never written.
    origins: HashMap<u32, Origin>,
}

impl Frame {
    fn undefined(&self, register: u32) -> u32 {
        self.undefined.get(register as usize).copied().unwrap_or(u32::MAX)
    }

    fn lanes(&mut self, register: u32) -> &mut u32 {
        let index = register as usize;
        if self.undefined.len() <= index {
            self.undefined.resize(index + 1, u32::MAX);
        }
        &mut self.undefined[index]
    }
}

/// Those of all calls of functions that the warp is in.
#[derive(Default)]
pub(super) struct Registers {
    activations: Vec<Frame>,
}

impl Registers {
    fn frame(&mut self, activation: u32) -> &mut Frame {
        let index = activation as usize;
        if self.activations.len() <= index {
            self.activations.resize_with(index + 1, Frame::default);
        }
        &mut self.activations[index]
    }

    /// A function begins: nothing is in its registers.
    pub(super) fn begin(&mut self, activation: u32) {
        *self.frame(activation) = Frame::default();
    }

    /// An instruction reads only what somebody has written, as nearly all do: so is then what it writes. False if it does not.
    #[inline]
    pub(super) fn passes(&mut self, activation: u32, step: &Step<'_>, mask: u32) -> bool {
        let frame = self.frame(activation);
        let undefined = step.reads.iter().fold(0, |lanes, &(register, _)| lanes | frame.undefined(register));
        if undefined & mask != 0 {
            return false;
        }
        for &register in step.writes {
            *frame.lanes(register) &= !mask;
        }
        true
    }

    /// Lanes of a mask in which a register holds nothing, and why.
    pub(super) fn undefined(&self, activation: u32, register: u32, mask: u32) -> Option<(u32, Origin)> {
        let frame = self.activations.get(activation as usize);
        let lanes = mask & frame.map_or(u32::MAX, |frame| frame.undefined(register));
        let origin = || frame.and_then(|frame| frame.origins.get(&register)).copied().unwrap_or(Origin::Register);
        (lanes != 0).then(|| (lanes, origin()))
    }

    /// Lanes of a mask are written; in `undefined` with a value that nobody has written.
    pub(super) fn write(&mut self, activation: u32, register: u32, mask: u32, undefined: Option<(u32, Origin)>) {
        let frame = self.frame(activation);
        let lanes = frame.lanes(register);
        *lanes &= !mask;
        if let Some((unwritten, origin)) = undefined {
            *lanes |= unwritten;
            frame.origins.insert(register, origin);
        }
    }
}
