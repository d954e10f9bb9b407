//! A kernel in the form that runs: dense instructions whose operands are register slots.

use std::collections::HashMap;

use warploom_ptx::ir::FunctionId;

use crate::frame::FrameLayout;
use crate::isa::OpFn;

/// One decoded instruction. What does not fit into four slots lies in a table of the function, and `imm` is its index.
#[derive(Clone, Copy)]
pub(crate) struct Inst {
    pub(crate) run: OpFn,
    /// Destination slot.
    pub(crate) d: u32,
    /// First source slot.
    pub(crate) a: u32,
    /// Second source slot.
    pub(crate) b: u32,
    /// Third source slot.
    pub(crate) c: u32,
    /// A constant, a branch target or a table index.
    pub(crate) imm: u32,
    /// Guard predicate operand, or `NO_GUARD`.
    pub(crate) guard: u32,
}

/// Where an instruction came from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    /// Line in the PTX text, from 1.
    pub(crate) ptx: u32,
    /// Index into the program's files and line by `.loc`; line 0 is unknown.
    pub(crate) file: u32,
    pub(crate) line: u32,
}

/// A function in executable form.
#[derive(Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) layout: FrameLayout,
    pub(crate) code: Vec<Inst>,
    /// Run with all lanes before a frame's first CTA of a launch: what stays in its rows until the next launch.
    pub(crate) before_launch: Vec<Inst>,
    /// Run with all lanes before a frame's first warp of a CTA.
    pub(crate) before_cta: Vec<Inst>,
    /// Warps do not take over each other's frames.
    pub(crate) frame_for_each_warp: bool,
    /// Of each instruction, the end of its stretch.
    pub(crate) ends: Vec<crate::dispatch::End>,
    pub(crate) lines: Vec<Line>,
    /// Bytes of local memory of one activation: variables and call parameters.
    pub(crate) local_bytes: u32,
    /// End of what the code has in it: of the variables, where no call parameters follow.
    pub(crate) local_end: u32,
    /// Bytes that an activation takes of a GPU thread's stack: its variables.
    pub(crate) stack_bytes: u32,
    /// Where the function finds its parameters and leaves its results.
    pub(crate) parameters: Vec<ValuePlace>,
    pub(crate) results: Vec<ValuePlace>,
    pub(crate) accesses: Vec<crate::memory::Access>,
    pub(crate) calls: Vec<CallSite>,
    pub(crate) sums: Vec<crate::ops::sums::SumsOfProducts>,
    pub(crate) branches: Vec<Vec<u32>>,
    pub(crate) finishes: Vec<crate::ops::compare::Finish>,
    pub(crate) videos: Vec<crate::ops::video::Video>,
    pub(crate) barriers: Vec<crate::ops::barrier::BarrierSite>,
    pub(crate) told_votes: Vec<crate::ops::observe::ToldVote>,
    pub(crate) tiles: Vec<crate::ops::matrix::tile::TileSite>,
    pub(crate) products: Vec<crate::ops::matrix::product::ProductSite>,
    pub(crate) warpgroup_products: Vec<crate::ops::matrix::warpgroup::WarpgroupSite>,
    pub(crate) fragments: Vec<crate::ops::matrix::load_store::FragmentSite>,
    pub(crate) exchanges: Vec<crate::ops::warp::Exchange>,
    pub(crate) told_exchanges: Vec<crate::ops::observe::ToldExchange>,
    pub(crate) permutations: Vec<crate::ops::warp::Permutation>,
    pub(crate) atomics: Vec<crate::ops::atomic::AtomicSite>,
    pub(crate) mbarriers: Vec<crate::ops::mbarrier::MbarrierSite>,
    pub(crate) copies: Vec<crate::ops::copies::CopySite>,
    pub(crate) bulk_copies: Vec<crate::ops::bulk::BulkSite>,
    pub(crate) remotes: Vec<crate::ops::bulk::RemoteSite>,
    pub(crate) cleared: Vec<crate::ops::bulk::At>,
    /// Requests to cancel the launch of a cluster.
    pub(crate) cancels: Vec<crate::ops::bulk::CancelSite>,
    pub(crate) tensors: Vec<crate::ops::tensor::TensorSite>,
    pub(crate) map_changes: Vec<crate::ops::tensor::MapChange>,
    pub(crate) textures: Vec<crate::ops::texture::TextureSite>,
    pub(crate) queries: Vec<crate::ops::texture::QuerySite>,
    /// The variables of an opaque type: the number of each, and its bytes.
    pub(crate) kinds: Vec<Vec<(u32, u64)>>,
    pub(crate) surfaces: Vec<crate::ops::surface::SurfaceSite>,
    /// What an observer is told.
    pub(crate) observed: Vec<crate::ops::observe::Event>,
    pub(crate) crossings: crate::ops::observe::Crossings,
}

/// Where a value that crosses a call lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValuePlace {
    /// A 32-bit row.
    Word(u32),
    /// A 64-bit row.
    Double(u32),
    /// A predicate slot.
    Predicate(u32),
    /// An argument that is a constant.
    Constant(u64),
    /// Bytes of the activation's local memory: offset and size.
    Bytes(u32, u32),
}

/// A call instruction.
pub(crate) struct CallSite {
    pub(crate) callee: Callee,
    pub(crate) arguments: Vec<ValuePlace>,
    pub(crate) results: Vec<ValuePlace>,
}

/// What a call instruction calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callee {
    /// A function of the program.
    Function(u32),
    /// A function of the device runtime (`vprintf`, `malloc`, ...).
    Builtin(warploom_ptx::ir::Builtin),
    /// The function whose address is in this 64-bit row.
    Indirect(u32),
}

/// A kernel with all functions that it can reach.
pub(crate) struct Program {
    pub(crate) functions: Vec<Function>,
    /// Index of the kernel itself.
    pub(crate) kernel: u32,
    /// Bytes of shared memory that the code declares.
    pub(crate) static_shared: u32,
    /// Bytes of stack that its calls take as far as the code tells.
    pub(crate) known_stack: u64,
    /// Files of `.file` directives, by their number.
    pub(crate) files: HashMap<u32, String>,
    /// Numbers and sizes of the module's constants, which `isspacep` tells from other device memory.
    pub(crate) constants: Vec<(u32, u64)>,
    /// Index of each function of the module, for indirect calls.
    pub(crate) by_id: HashMap<FunctionId, u32>,
}

/// Where function addresses start: a range that holds no memory, so that data and code are told apart in reports.
const FUNCTIONS: u64 = 0x2003_0000_0000;

/// What the address of a device function reads as in kernels: function pointers in initial values must hold it.
pub fn function_address(id: FunctionId) -> u64 {
    FUNCTIONS + u64::from(id.0) * 16
}

impl Program {
    /// The function at an address, for indirect calls.
    pub(crate) fn function_at(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(FUNCTIONS).filter(|offset| offset.is_multiple_of(16))?;
        self.by_id.get(&FunctionId(u32::try_from(offset / 16).ok()?)).copied()
    }
}
