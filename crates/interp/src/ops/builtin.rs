//! Functions that the system provides to kernels: `vprintf`, `malloc`, `free`, `__assertfail`, `cudaGraphSetConditional` (CUDA
//! programming guide, device-side formatted output, dynamic global memory allocation, assertion, conditional graph nodes).

use warploom_exec::fault::FaultKind;
use warploom_ptx::ir::Builtin;

use crate::machine::{Flow, Machine, lanes};
use crate::memory::StateSpace;
use crate::printf::{self, Arguments};

/// Longest string that is read from a kernel's memory.
const LONGEST: usize = 1 << 20;

/// Calls `builtin` from call site `site`.
pub(crate) fn run(machine: &mut Machine<'_>, builtin: Builtin, site: u32, mask: u32) -> Flow {
    let function = machine.function;
    let number = site;
    let site = &function.calls[site as usize];
    let argument = |machine: &Machine<'_>, index: usize| {
        site.arguments.get(index).map_or([0; 32], |&place| machine.argument(place, mask))
    };
    let mut result = [0u64; 32];
    match builtin {
        Builtin::Vprintf => {
            let (formats, buffers) = (argument(machine, 0), argument(machine, 1));
            let mut text = Vec::new();
            for lane in lanes(mask) {
                match print(machine, formats[lane], buffers[lane], lane, &mut text) {
                    Ok(count) => result[lane] = u64::from(count as u32),
                    Err(kind) => return machine.fail(1 << lane, kind),
                }
            }
            if !text.is_empty() {
                machine.grid.launch.environment.output.write(&text);
            }
        }
        Builtin::Malloc => {
            let sizes = argument(machine, 0);
            for lane in lanes(mask) {
                result[lane] = machine.grid.launch.environment.heap.malloc(sizes[lane]).unwrap_or(0);
                machine.tell_call(1 << lane, |observer, at| observer.malloc(at, result[lane], sizes[lane]));
            }
        }
        Builtin::Free => {
            let addresses = argument(machine, 0);
            for lane in lanes(mask).filter(|&lane| addresses[lane] != 0) {
                machine.tell_call(1 << lane, |observer, at| observer.free(at, addresses[lane]));
                if let Err(text) = machine.grid.launch.environment.heap.free(addresses[lane]) {
                    return machine.fail(1 << lane, FaultKind::IllegalInstruction(text));
                }
            }
        }
        Builtin::GraphSetConditional => {
            // The handle is the address of the condition's value.
            let (handles, values) = (argument(machine, 0), argument(machine, 1));
            for lane in lanes(mask) {
                if let Err(kind) = machine.store(StateSpace::Generic, handles[lane], 4, lane, values[lane].into()) {
                    return machine.fail(1 << lane, kind);
                }
            }
        }
        Builtin::Runtime(called) => return super::device_runtime::run(machine, called, number, mask),
        Builtin::AssertFail => return assert_fail(machine, [0, 1, 2, 3].map(|index| argument(machine, index)), mask),
    }
    if let Some(&place) = site.results.first() {
        machine.set_result(place, &result, mask);
    }
    Flow::Next
}

/// One thread's `vprintf`: the number of arguments printed, or -1 for a NULL format.
fn print(
    machine: &mut Machine<'_>,
    format: u64,
    buffer: u64,
    lane: usize,
    out: &mut Vec<u8>,
) -> Result<i32, FaultKind> {
    if format == 0 {
        return Ok(-1);
    }
    let format = string(machine, format, lane)?;
    let mut arguments = Buffer { machine, address: buffer, lane };
    printf::print(&format, &mut arguments, out)
}

/// The argument buffer of `vprintf`: values one after another, each at its natural alignment.
struct Buffer<'b, 'a> {
    machine: &'b mut Machine<'a>,
    address: u64,
    lane: usize,
}

impl Arguments for Buffer<'_, '_> {
    type Error = FaultKind;

    fn next(&mut self, size: u32) -> Result<u64, FaultKind> {
        self.address = self.address.next_multiple_of(u64::from(size));
        let value = self.machine.load(StateSpace::Generic, self.address, size, self.lane)?;
        self.address += u64::from(size);
        Ok(value as u64)
    }

    fn string(&mut self, address: u64) -> Result<Vec<u8>, FaultKind> {
        string(self.machine, address, self.lane)
    }
}

/// The bytes of a C string.
fn string(machine: &mut Machine<'_>, address: u64, lane: usize) -> Result<Vec<u8>, FaultKind> {
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST {
        let byte = machine.load(StateSpace::Generic, address.wrapping_add(bytes.len() as u64), 1, lane)? as u8;
        if byte == 0 {
            break;
        }
        bytes.push(byte);
    }
    Ok(bytes)
}

/// `__assertfail(message, file, line, function, char size)`: every failing thread of the warp has its line.
fn assert_fail(machine: &mut Machine<'_>, [message, file, line, function]: [[u64; 32]; 4], mask: u32) -> Flow {
    let mut text = String::new();
    for lane in lanes(mask) {
        let mut read = |address: u64| match address {
            0 => Ok(String::new()),
            _ => string(machine, address, lane).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        };
        let parts = [message[lane], file[lane], function[lane]].map(&mut read);
        let [Ok(message), Ok(file), Ok(function)] = parts else {
            return machine.fail(mask, FaultKind::Assert("an assertion failed whose text cannot be read".into()));
        };
        let line = line[lane] as u32;
        let [bx, by, bz] = machine.cta.id;
        let [tx, ty, tz] = [0, 1, 2].map(|axis| machine.warp.tid[axis][lane]);
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!(
            "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] Assertion `{message}` failed."
        ));
    }
    machine.fail(mask, FaultKind::Assert(text))
}
