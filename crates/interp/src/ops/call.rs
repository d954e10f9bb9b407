//! Calls, returns and the stack (PTX ISA 9.7.12.5, 9.7.12.7, 9.7.17).
//!
//! Lanes that call together run in one activation with registers and local memory of its own; the ones that do not call wait in the
//! caller. Lanes return one by one if they must, and meet again behind the call.

use warploom_exec::fault::FaultKind;

use crate::frame::{Frame, Row32, Word};
use crate::machine::{Flow, Machine, lanes};
use crate::program::{Callee, Inst, ValuePlace};
use crate::stack::CALL_BYTES;
use crate::warp::Wait;

/// `call`: site `imm`.
pub(crate) fn call(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    match function.calls[inst.imm as usize].callee {
        Callee::Builtin(builtin) => super::builtin::run(machine, builtin, inst.imm, mask),
        Callee::Function(callee) => {
            let others = machine.active & !mask;
            if others != 0 {
                machine.warp.park(machine.activation, machine.pc + 1, others, Wait::Ready);
            }
            match machine.enter(callee, inst.imm, mask) {
                Ok(activation) => {
                    machine.switch_to(activation);
                    machine.pc = 0;
                    machine.active = mask;
                    (machine.floor, machine.limit) = (0, u32::MAX);
                    machine.account_for_call(Flow::Jump)
                }
                Err(kind) => machine.fail(mask, kind),
            }
        }
        Callee::Indirect(row) => {
            let addresses = machine.frame.r64[row as usize];
            let others = machine.active & !mask;
            if others != 0 {
                machine.warp.park(machine.activation, machine.pc + 1, others, Wait::Ready);
            }
            let mut left = mask;
            while left != 0 {
                let address = addresses[left.trailing_zeros() as usize];
                let same =
                    lanes(left).filter(|&lane| addresses[lane] == address).fold(0, |same, lane| same | 1 << lane);
                left &= !same;
                let Some(callee) = machine.program.function_at(address) else {
                    return machine.fail(same, FaultKind::InvalidPc { address });
                };
                match machine.enter(callee, inst.imm, same) {
                    Ok(activation) => machine.warp.park(activation, 0, same, Wait::Ready),
                    Err(kind) => return machine.fail(same, kind),
                }
            }
            machine.active = 0;
            machine.account_for_call(Flow::Switch)
        }
    }
}

/// `ret` of a device function.
pub(crate) fn ret(machine: &mut Machine<'_>, _: &Inst, mask: u32) -> Flow {
    // What the call ran, as far as it did not repeat.
    machine.fuel -= machine.pc as i32;
    let index = machine.activation;
    let callee = machine.function;
    let (parent, return_pc, site, base) = {
        let entry = &machine.warp.activations[index as usize];
        (entry.parent, entry.return_pc, entry.site, entry.base)
    };
    let caller = &machine.program.functions[machine.warp.activations[parent as usize].function as usize];
    // The parent has run: it called.
    let mut frame = machine.warp.activations[parent as usize].frame.take().unwrap_or_default();
    let parent_base = machine.warp.activations[parent as usize].base;
    for (&from, &to) in callee.results.iter().zip(&caller.calls[site as usize].results) {
        let value = Transfer { from: &machine.frame, from_base: base, to: &mut frame, to_base: parent_base };
        value.run(&mut machine.warp.local, from, to, mask);
    }
    machine.warp.activations[parent as usize].frame = Some(frame);
    machine.warp.leave(&mut machine.cta.frames, index, mask, false);
    machine.warp.park(parent, return_pc, mask, Wait::Ready);
    machine.active &= !mask;
    if machine.active == 0 { Flow::Switch } else { Flow::Next }
}

/// What a call costs at least, in instructions of a time slice.
const CALL_COST: i32 = 16;

impl Machine<'_> {
    /// A call was made: recursion must not keep other work from running any more than a loop.
    fn account_for_call(&mut self, flow: Flow) -> Flow {
        self.fuel -= CALL_COST;
        if self.fuel <= 0 { Flow::Slice } else { flow }
    }

    /// Makes an activation of `callee` for the lanes of `mask` and hands over the arguments.
    fn enter(&mut self, callee: u32, site: u32, mask: u32) -> Result<u32, FaultKind> {
        let target = &self.program.functions[callee as usize];
        let caller = self.activation;
        let (parent_base, depth, stack) = {
            let entry = &self.warp.activations[caller as usize];
            (entry.base, entry.depth, entry.stack)
        };
        let top = self.warp.activations[caller as usize].top();
        let base = lanes(mask).map(|lane| top[lane]).max().unwrap_or_default().next_multiple_of(16);
        let stack = stack.saturating_add(target.stack_bytes).saturating_add(CALL_BYTES);
        self.reserve_stack(base.saturating_add(target.local_bytes), stack)?;
        let index = self.warp.take_activation();
        let mut entry = std::mem::take(&mut self.warp.activations[index as usize]);
        let variables = &self.grid.launch.variables;
        let mut frame = self.cta.frames.take(self.program, callee, self.warp.index, variables);
        entry.function = callee;
        entry.parent = caller;
        entry.depth = depth + 1;
        entry.live = mask;
        entry.return_pc = self.pc + 1;
        entry.site = site;
        entry.base = base;
        entry.stack = stack;
        entry.end = base + target.local_bytes;
        entry.moved_top = None;
        for (&from, &to) in self.function.calls[site as usize].arguments.iter().zip(&target.parameters) {
            let value = Transfer { from: &self.frame, from_base: parent_base, to: &mut frame, to_base: base };
            value.run(&mut self.warp.local, from, to, mask);
        }
        entry.frame = Some(frame);
        self.warp.activations[index as usize] = entry;
        Ok(index)
    }

    /// Makes sure that local memory reaches to `end`, of which `stack` bytes count against the stack limit. What is known from the code
    /// is there whatever the limit says.
    fn reserve_stack(&mut self, end: u32, stack: u32) -> Result<(), FaultKind> {
        let limit = self.grid.launch.stack_limit.max(self.program.known_stack);
        if u64::from(stack) > limit {
            return Err(FaultKind::StackOverflow { limit });
        }
        self.warp.reserve_local(end)
    }
}

/// A value on its way from one activation to another.
struct Transfer<'f> {
    from: &'f Frame,
    from_base: u32,
    to: &'f mut Frame,
    to_base: u32,
}

impl Transfer<'_> {
    fn run(self, local: &mut [Row32], from: ValuePlace, to: ValuePlace, mask: u32) {
        match (from, to) {
            (ValuePlace::Word(source), ValuePlace::Word(target)) => {
                u32::blend(&mut self.to.r32[target as usize], &self.from.r32[source as usize], mask);
            }
            (ValuePlace::Double(source), ValuePlace::Double(target)) => {
                u64::blend(&mut self.to.r64[target as usize], &self.from.r64[source as usize], mask);
            }
            (ValuePlace::Bytes(source, size), ValuePlace::Bytes(target, _)) => {
                let (source, target) = (self.from_base + source, self.to_base + target);
                if (source | target | size).is_multiple_of(4) {
                    for word in 0..size / 4 {
                        let row = local[(source / 4 + word) as usize];
                        u32::blend(&mut local[(target / 4 + word) as usize], &row, mask);
                    }
                } else {
                    for offset in 0..size {
                        for lane in lanes(mask) {
                            let value = byte(local, source + offset, lane);
                            set_byte(local, target + offset, lane, value);
                        }
                    }
                }
            }
            (ValuePlace::Bytes(source, size), to) => {
                let mut row = [0u64; 32];
                for lane in lanes(mask) {
                    for offset in 0..size.min(8) {
                        row[lane] |= u64::from(byte(local, self.from_base + source + offset, lane)) << (8 * offset);
                    }
                }
                put(self.to, to, &row, mask);
            }
            (from, ValuePlace::Bytes(target, size)) => {
                let row = get(self.from, from);
                for lane in lanes(mask) {
                    for offset in 0..size.min(8) {
                        set_byte(local, self.to_base + target + offset, lane, (row[lane] >> (8 * offset)) as u8);
                    }
                }
            }
            (from, to) => put(self.to, to, &get(self.from, from), mask),
        }
    }
}

fn byte(local: &[Row32], address: u32, lane: usize) -> u8 {
    (local[(address / 4) as usize][lane] >> (8 * (address % 4))) as u8
}

fn set_byte(local: &mut [Row32], address: u32, lane: usize, value: u8) {
    let word = &mut local[(address / 4) as usize][lane];
    let shift = 8 * (address % 4);
    *word = (*word & !(0xff << shift)) | u32::from(value) << shift;
}

fn get(frame: &Frame, place: ValuePlace) -> [u64; 32] {
    match place {
        ValuePlace::Word(slot) => frame.r32[slot as usize].map(u64::from),
        ValuePlace::Double(slot) => frame.r64[slot as usize],
        ValuePlace::Predicate(slot) => std::array::from_fn(|lane| u64::from(frame.p[slot as usize] >> lane & 1)),
        ValuePlace::Constant(value) => [value; 32],
        ValuePlace::Bytes(..) => [0; 32],
    }
}

fn put(frame: &mut Frame, place: ValuePlace, row: &[u64; 32], mask: u32) {
    match place {
        ValuePlace::Word(slot) => u32::blend(&mut frame.r32[slot as usize], &row.map(|value| value as u32), mask),
        ValuePlace::Double(slot) => u64::blend(&mut frame.r64[slot as usize], row, mask),
        ValuePlace::Predicate(slot) => {
            let value = (0..32).fold(0, |all, lane| all | ((row[lane] & 1) as u32) << lane);
            let old = &mut frame.p[slot as usize];
            *old = (*old & !mask) | (value & mask);
        }
        ValuePlace::Bytes(..) | ValuePlace::Constant(_) => {}
    }
}

impl Machine<'_> {
    /// The value of an argument of a call at this activation.
    pub(crate) fn argument(&self, place: ValuePlace, mask: u32) -> [u64; 32] {
        let ValuePlace::Bytes(offset, size) = place else { return get(&self.frame, place) };
        let base = self.warp.activations[self.activation as usize].base + offset;
        let mut row = [0u64; 32];
        for lane in lanes(mask) {
            for index in 0..size.min(8) {
                row[lane] |= u64::from(byte(&self.warp.local, base + index, lane)) << (8 * index);
            }
        }
        row
    }

    /// Sets the result of a call at this activation.
    pub(crate) fn set_result(&mut self, place: ValuePlace, row: &[u64; 32], mask: u32) {
        let ValuePlace::Bytes(offset, size) = place else { return put(&mut self.frame, place, row, mask) };
        let base = self.warp.activations[self.activation as usize].base + offset;
        for lane in lanes(mask) {
            for index in 0..size.min(8) {
                set_byte(&mut self.warp.local, base + index, lane, (row[lane] >> (8 * index)) as u8);
            }
        }
    }
}

/// `stacksave`: the end of each lane's part of the stack. `imm` is the width of the result.
pub(crate) fn stack_save(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let row = machine.warp.activations[machine.activation as usize].top();
    if inst.imm > 32 {
        machine.put(inst.d, mask, &row.map(u64::from));
    } else {
        machine.put(inst.d, mask, &row);
    }
    Flow::Next
}

/// `stackrestore`.
pub(crate) fn stack_restore(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let wide = inst.imm > 32;
    let row: Row32 = if wide {
        machine.frame.r64[inst.a as usize].map(|value| value as u32)
    } else {
        machine.frame.r32[inst.a as usize]
    };
    let entry = &mut machine.warp.activations[machine.activation as usize];
    let floor = entry.base;
    let top = entry.top_mut();
    for lane in lanes(mask) {
        top[lane] = row[lane].max(floor);
    }
    Flow::Next
}

/// `alloca`: size in row `a`, alignment `b`, width `imm`.
pub(crate) fn alloca(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let wide = inst.imm > 32;
    let align = inst.b.max(1);
    let mut out = [0u32; 32];
    for lane in lanes(mask) {
        let size = if wide {
            machine.frame.r64[inst.a as usize][lane]
        } else {
            u64::from(machine.frame.r32[inst.a as usize][lane])
        };
        let entry = &machine.warp.activations[machine.activation as usize];
        let start = entry.top()[lane].next_multiple_of(align);
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let end = start.saturating_add(size);
        let stack = entry.stack.saturating_add(end.saturating_sub(entry.base));
        if let Err(kind) = machine.reserve_stack(end, stack) {
            return machine.fail(1 << lane, kind);
        }
        machine.warp.activations[machine.activation as usize].top_mut()[lane] = end;
        out[lane] = start;
    }
    if wide {
        machine.put(inst.d, mask, &out.map(u64::from));
    } else {
        machine.put(inst.d, mask, &out);
    }
    Flow::Next
}
