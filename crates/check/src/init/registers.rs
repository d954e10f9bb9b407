//! Registers of a warp: which lanes hold values that somebody has written.

use std::collections::HashMap;

use warploom_exec::fault::Site;
use warploom_exec::observe::Space;

/// Where a value comes from that nobody has written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// A register that was never written.
    Register,
    /// Memory, read at this instruction.
    Memory { site: Site, space: Space, address: u64 },
}

#[derive(Clone, Copy, Default)]
struct Register {
    /// Lanes whose value is one that somebody has written, perhaps by computing with it.
    defined: u32,
    origin: Option<Origin>,
}

/// Those of all calls of functions that the warp is in.
#[derive(Default)]
pub(super) struct Registers {
    activations: HashMap<u32, Vec<Register>>,
}

impl Registers {
    /// A function begins: nothing is in its registers.
    pub(super) fn begin(&mut self, activation: u32) {
        self.activations.entry(activation).or_default().clear();
    }

    /// Lanes of a mask in which a register holds nothing, and why.
    pub(super) fn undefined(&self, activation: u32, register: u32, mask: u32) -> Option<(u32, Origin)> {
        let register = self.activations.get(&activation).and_then(|registers| registers.get(register as usize));
        let register = register.copied().unwrap_or_default();
        let lanes = mask & !register.defined;
        (lanes != 0).then(|| (lanes, register.origin.unwrap_or(Origin::Register)))
    }

    /// Lanes of a mask are written; in `undefined` with a value that nobody has written.
    pub(super) fn write(&mut self, activation: u32, number: u32, mask: u32, undefined: Option<(u32, Origin)>) {
        let registers = self.activations.entry(activation).or_default();
        if registers.len() <= number as usize {
            registers.resize(number as usize + 1, Register::default());
        }
        let register = &mut registers[number as usize];
        register.defined |= mask;
        if let Some((lanes, origin)) = undefined {
            register.defined &= !lanes;
            register.origin = Some(origin);
        }
    }
}
