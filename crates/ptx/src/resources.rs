//! What a kernel needs of a device, counted from its PTX alone: occupancy, the size of cooperative grids and the attributes of functions are
//! the same whoever executes it. `notes` says it in the assembler's lines.

mod notes;

pub use notes::{Shape, notes};

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use crate::ir::{Builtin, CallGraph, Function, FunctionId, Liveness, Module, Space};

/// Registers that a compiler keeps for itself: of the stack, and of what an instruction needs in between.
const OWN_REGISTERS: u32 = 2;
/// A kernel has this many registers at least, and at most.
const REGISTERS: (u32, u32) = (8, 255);
/// Registers of a multiprocessor, which is the same for every compute capability (CUDA programming guide, technical specifications).
const REGISTER_FILE: u32 = 64 << 10;
/// Registers are given out to warps in units of this many, so for a thread in units of 8.
const THREAD_UNIT: u32 = 8;
/// Threads of a warp.
const WARP: u32 = 32;

/// What one kernel needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelResources {
    /// Registers of a thread, of 32 bits: as many as are alive at once, and no more than the source, or the program at
    /// loading, allows.
    pub registers: u32,
    /// Bytes of local memory of a thread: the declared variables of the kernel and of the deepest chain of calls. A function that calls
    /// itself, directly or through others, counts once: how deep that goes is not known.
    pub local: u64,
    /// Bytes of the module's constant variables.
    pub constant: u64,
    /// Bytes of shared memory of a CTA that the source declares.
    pub shared: u32,
    /// Whether it can call the device's runtime library.
    pub device_runtime: bool,
    /// Whether it can call what of that library has to be linked: all but the launch of graphs.
    pub linked_runtime: bool,
}

/// What is found once for all kernels of a module, when it is first asked for: which functions they can reach, and how many registers are alive at once in each.
#[derive(Debug)]
pub struct ModuleFacts {
    calls: CallGraph,
    /// By function.
    pressures: Box<[OnceLock<u32>]>,
}

impl ModuleFacts {
    /// Of this module.
    pub fn new(module: &Module) -> ModuleFacts {
        let pressures = module.functions.iter().map(|_| OnceLock::new()).collect();
        ModuleFacts { calls: CallGraph::new(module), pressures }
    }

    /// Bytes of shared memory of a CTA that the source declares for a kernel.
    pub fn static_shared(&self, module: &Module, kernel: FunctionId) -> u32 {
        module.shared_layout_of(&self.calls.reachable(module, kernel)).size
    }

    /// The registers alive at once in a function that has a body; else 0.
    fn pressure(&self, module: &Module, id: FunctionId) -> u32 {
        let count = || {
            let function = &module.functions[id.0 as usize];
            let body = function.body.as_ref().filter(|_| function.builtin.is_none());
            body.map_or(0, |body| Liveness::new(function, body).pressure(function, body).registers)
        };
        self.pressures.get(id.0 as usize).map_or(0, |known| *known.get_or_init(count))
    }
}

impl KernelResources {
    /// Counts them. `facts` are those of the module, `most_registers` is `CU_JIT_MAX_REGISTERS`, or the assembler's `-maxrregcount`.
    pub fn of(
        module: &Module,
        kernel: FunctionId,
        facts: &ModuleFacts,
        most_registers: Option<u32>,
    ) -> KernelResources {
        let reachable = facts.calls.reachable(module, kernel);
        let builtins = || reachable.iter().filter_map(|id| module.functions.get(id.0 as usize)?.builtin);
        let pressure = reachable.iter().map(|id| facts.pressure(module, *id));
        let wanted = pressure.max().unwrap_or(0).saturating_add(OWN_REGISTERS);
        let cap = module.functions.get(kernel.0 as usize).and_then(most_of).into_iter().chain(most_registers).min();
        let constants = module.globals.iter().filter(|global| global.space == Space::Const);
        KernelResources {
            registers: wanted.min(cap.unwrap_or(REGISTERS.1)).clamp(REGISTERS.0, REGISTERS.1),
            local: deepest_chain(module, kernel),
            constant: constants.map(|global| global.size).sum(),
            shared: module.shared_layout_of(&reachable).size,
            device_runtime: builtins().any(|builtin| matches!(builtin, Builtin::Runtime(_))),
            linked_runtime: builtins().any(Builtin::is_linked),
        }
    }
}

/// Bytes of variables of a kernel and of the functions in the deepest chain of calls that starts in it.
fn deepest_chain(module: &Module, kernel: FunctionId) -> u64 {
    let body = |id: FunctionId| module.functions.get(id.0 as usize).and_then(|function| function.body.as_ref());
    let callees = |id: FunctionId| {
        let named = body(id).into_iter().flat_map(|body| body.callees.iter().copied());
        named.filter(|callee| module.is_called(*callee))
    };
    let mut chains: HashMap<FunctionId, u64> = HashMap::new();
    let mut entered = HashSet::new();
    // Functions to visit; the second time all that they call has been.
    let mut pending = vec![kernel];
    while let Some(&function) = pending.last() {
        if entered.insert(function) {
            pending.extend(callees(function).filter(|callee| !entered.contains(callee)));
            continue;
        }
        pending.pop();
        // What has no chain yet is on the way down to here: a recursion.
        let below = callees(function).filter_map(|callee| chains.get(&callee)).max().copied().unwrap_or(0);
        let own = body(function).map_or(0, |body| u64::from(body.local_size));
        chains.entry(function).or_insert(own + below);
    }
    chains.get(&kernel).copied().unwrap_or(0)
}

/// The most registers that the directives of a kernel leave it (PTX ISA 11.4): `.maxnreg`, or what lets as many CTAs of the largest
/// stated size be resident as `.minnctapersm` says, 1 without.
fn most_of(kernel: &Function) -> Option<u32> {
    let directives = &kernel.directives;
    let volume =
        |shape: [u32; 3]| shape.iter().fold(1, |product: u32, extent| product.saturating_mul((*extent).max(1)));
    let resident = directives.reqntid.or(directives.maxntid).map(|shape| {
        let warps = volume(shape).div_ceil(WARP).saturating_mul(directives.minnctapersm.unwrap_or(1).max(1));
        (REGISTER_FILE / WARP / warps.max(1)) / THREAD_UNIT * THREAD_UNIT
    });
    directives.maxnreg.into_iter().chain(resident).min()
}
