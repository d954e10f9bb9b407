//! Modules, functions, variables.

use super::{
    AddressTarget, BarrierOp, BlockId, Builtin, FunctionId, GlobalId, HintOp, Loop, MnemonicId, Op, Predicate, Reg,
    ScalarType, Semantics, Space,
};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A linked PTX module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// `.version`: major, minor.
    pub version: (u32, u32),
    /// `.target`
    pub target: Target,
    /// `.address_size` in bits: 32 or 64.
    pub address_size: u32,
    /// Names of `.file` directives, by their number.
    pub files: HashMap<u32, String>,
    /// Variables of module scope, and the static ones of functions (`.global`, `.const`, `.shared` declared inside).
    pub globals: Vec<Global>,
    /// Kernels and device functions, definitions and unresolved declarations.
    pub functions: Vec<Function>,
    /// Shapes of indirect calls.
    pub prototypes: Vec<Prototype>,
    /// Opcodes with modifiers, as the source writes them; [`Module::mnemonic`] looks one up.
    pub mnemonics: Vec<Box<str>>,
}

/// `.target`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// `90` for `sm_90a`.
    pub sm: u32,
    /// `a` or `f`.
    pub suffix: Option<char>,
    /// `texmode_independent`
    pub texmode_independent: bool,
    /// `debug`
    pub debug: bool,
}

/// Who sees a symbol (PTX ISA 11.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Linkage {
    /// No directive: this module only.
    Internal,
    Extern,
    Visible,
    Weak,
    Common,
}

/// A variable with static storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Global {
    /// As declared; a variable of a function carries the function's name and a `$` in front.
    pub name: String,
    /// `Global`, `Const` or `Shared`.
    pub space: Space,
    /// Element type.
    pub ty: ScalarType,
    /// Bytes; 0 for an `.extern` array without bound (dynamic shared memory).
    pub size: u64,
    /// Bytes, a power of two.
    pub align: u32,
    /// First bytes of the initial value; the rest is zero. Empty for none.
    pub init: Vec<u8>,
    /// Addresses to add into `init`.
    pub relocations: Vec<Relocation>,
    /// Visibility.
    pub linkage: Linkage,
    /// `.attribute(.managed)`
    pub managed: bool,
    /// Initial fields of `.texref`, `.samplerref` and `.surfref` variables, as written.
    pub opaque_fields: Vec<(String, String)>,
    /// Line of the declaration, from 1.
    pub line: u32,
}

/// An address inside an initial value (PTX ISA 5.4.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Byte in the initial value.
    pub offset: u64,
    /// Whose address.
    pub target: RelocationTarget,
    /// Added to the address.
    pub addend: i64,
    /// `generic(x)`: the generic address, not the one in the variable's space. (The same for `.global` here.)
    pub generic: bool,
    /// Size of the field: 1 to 8 bytes. `shift` is set for the byte-mask form `0xFF00(x)`: the address is shifted right by it first.
    pub size: u32,
    /// See `size`.
    pub shift: u32,
}

/// Whose address a relocation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RelocationTarget {
    Global(GlobalId),
    Function(FunctionId),
}

/// `.entry` or `.func`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FunctionKind {
    Kernel,
    Device,
}

/// Where a parameter lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A `.param` variable: at this offset of the parameter frame.
    Memory {
        /// Bytes from the start of the frame; for a kernel what `cuFuncGetParamInfo` reports.
        offset: u32,
    },
    /// A `.reg` parameter of a device function.
    Register(Reg),
}

/// A parameter or return value.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Empty in prototypes without names.
    pub name: String,
    /// Element type.
    pub ty: ScalarType,
    /// Bytes.
    pub size: u32,
    /// Bytes, a power of two.
    pub align: u32,
    /// Place.
    pub storage: Storage,
    /// `.ptr` attribute: the space pointed to and the alignment of what is pointed to.
    pub pointer: Option<(Space, u32)>,
}

/// Shape of a parameter, for comparing a call with its callee.
pub type Formal = (ScalarType, u32, u32);

/// Shape of a callee that is known at run time only.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// Return values.
    pub returns: Vec<Param>,
    /// Parameters.
    pub params: Vec<Param>,
    /// `.noreturn`
    pub noreturn: bool,
    /// Bytes of the callee's part of the parameter frame that the returns and parameters take, laid out as in a function.
    pub param_size: u32,
}

/// Index into [`Module::prototypes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PrototypeId(pub u32);

/// Performance and launch directives of a kernel (PTX ISA 11.4), 0 where absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Directives {
    pub maxntid: Option<[u32; 3]>,
    pub reqntid: Option<[u32; 3]>,
    pub maxnreg: Option<u32>,
    pub minnctapersm: Option<u32>,
    pub maxnctapersm: Option<u32>,
    pub reqnctapercluster: Option<[u32; 3]>,
    pub explicitcluster: bool,
    pub maxclusterrank: Option<u32>,
    pub blocksareclusters: bool,
    pub noreturn: bool,
    pub pragmas: Vec<String>,
}

/// A kernel or a device function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// As in the source.
    pub name: String,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// Visibility.
    pub linkage: Linkage,
    /// In order. For a kernel in memory at the launch layout.
    pub params: Vec<Param>,
    /// In order.
    pub returns: Vec<Param>,
    /// Bytes of a kernel's parameter buffer.
    pub param_buffer_size: u32,
    /// Directives.
    pub directives: Directives,
    /// Line of the definition, from 1.
    pub line: u32,
    /// Set for an external function that the system provides.
    pub builtin: Option<Builtin>,
    /// The code; absent for declarations.
    pub body: Option<Body>,
}

/// A register of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegDecl {
    /// As in the source, with `%`; empty for registers that lowering made.
    pub name: Box<str>,
    /// Declared type.
    pub ty: ScalarType,
}

/// The code of a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// Registers.
    pub regs: Vec<RegDecl>,
    /// Instructions of all blocks, block after block.
    pub insts: Vec<Inst>,
    /// Basic blocks, entry first, in the order that [`super::arrange`] gives; blocks that nothing reaches are left out.
    pub blocks: Vec<Block>,
    /// The loops of that order: by header, outer loops first.
    pub loops: Vec<Loop>,
    /// Bytes of `.local` variables of one activation.
    pub local_size: u32,
    /// Alignment of that frame.
    pub local_align: u32,
    /// Bytes of the parameter frame: parameters, return values, `.param` variables.
    pub param_size: u32,
    /// Source places that instructions refer to.
    pub locs: Vec<SourceLoc>,
    /// Functions that the code calls or takes the address of.
    pub callees: Vec<FunctionId>,
    /// Module variables that the code refers to.
    pub globals: Vec<GlobalId>,
    /// Instructions that the executors lack.
    pub unsupported: Vec<UnsupportedUse>,
}

impl Body {
    /// By block: the innermost loop around it, as an index into [`Body::loops`].
    pub fn innermost_loops(&self) -> Vec<Option<u32>> {
        let mut innermost = vec![None; self.blocks.len()];
        let mut open: Vec<u32> = Vec::new();
        let mut next = 0;
        for (block, place) in innermost.iter_mut().enumerate() {
            while open.last().is_some_and(|index| self.loops[*index as usize].blocks.end <= block as u32) {
                open.pop();
            }
            while self.loops.get(next).is_some_and(|inner| inner.blocks.start == block as u32) {
                open.push(next as u32);
                next += 1;
            }
            *place = open.last().copied();
        }
        innermost
    }

    /// Puts instructions in front of others, or at the end of blocks: by block and instruction, which at the end is the one behind its last.
    pub fn insert(&mut self, new: &BTreeMap<(u32, u32), Vec<Inst>>) {
        let mut insts = Vec::with_capacity(self.insts.len() + new.len());
        for (number, block) in (0u32..).zip(&mut self.blocks) {
            let old = block.insts.clone();
            block.insts.start = insts.len() as u32;
            for at in old.start..=old.end {
                insts.extend(new.get(&(number, at)).into_iter().flatten().cloned());
                insts.extend(self.insts.get(at as usize).filter(|_| at < old.end).cloned());
            }
            block.insts.end = insts.len() as u32;
        }
        self.insts = insts;
    }

    /// Whether each instruction runs once at most, and none waits for anybody but threads of the CTA: there are no loops, and nothing is called.
    pub fn runs_through(&self) -> bool {
        self.loops.is_empty() && !self.insts.iter().any(|inst| may_wait(&inst.op))
    }

    /// Whether CTAs may be started in any order: nothing is called, and no loop looks again at what threads of other CTAs change meanwhile, as those do that wait for CTAs before theirs.
    pub fn has_independent_ctas(&self) -> bool {
        let looks = |op: &Op| match op {
            Op::Ld { space, semantics, .. } => *semantics != Semantics::Weak && *space != Space::Shared,
            Op::Atom { space, dst, .. } => dst.is_some() && *space != Space::Shared,
            Op::Fence(_) => true,
            _ => false,
        };
        let looping =
            self.loops.iter().flat_map(|inner| &self.blocks[inner.blocks.start as usize..inner.blocks.end as usize]);
        let looks_again =
            looping.flat_map(|block| block.insts.clone()).any(|inst| looks(&self.insts[inst as usize].op));
        !looks_again && !self.insts.iter().any(|inst| may_wait(&inst.op))
    }
}

/// Whether an instruction may wait for threads of other CTAs, or another grid.
fn may_wait(op: &Op) -> bool {
    match op {
        Op::Call { .. } | Op::Nanosleep { .. } | Op::Async(_) | Op::Mbarrier(_) => true,
        Op::Hint(hint) => *hint == HintOp::WaitDependencies,
        Op::Barrier(barrier) => matches!(barrier, BarrierOp::ClusterArrive { .. } | BarrierOp::ClusterWait { .. }),
        _ => false,
    }
}

/// An instruction that no executor runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedUse {
    /// Opcode with modifiers.
    pub mnemonic: MnemonicId,
    /// PTX line, from 1.
    pub line: u32,
    /// The modifiers that the IR does not express, with dots between, if that is why.
    pub unread: Option<String>,
}

/// Index into [`Body::locs`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LocId(pub std::num::NonZeroU32);

impl LocId {
    /// The index.
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The id of an index.
    pub fn new(index: usize) -> LocId {
        LocId(std::num::NonZeroU32::MIN.saturating_add(u32::try_from(index).unwrap_or(u32::MAX)))
    }
}

/// A `.loc` directive (PTX ISA 11.5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SourceLoc {
    /// Number in [`Module::files`].
    pub file: u32,
    pub line: u32,
    pub column: u32,
    /// Where the function that holds the line was inlined: file, line, column.
    pub inlined_at: Option<(u32, u32, u32)>,
}

/// A guarded instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// Lanes for which it is false skip the instruction.
    pub guard: Option<Predicate>,
    /// What it does.
    pub op: Op,
    /// How the source writes it.
    pub mnemonic: MnemonicId,
    /// PTX line, from 1.
    pub line: u32,
    /// Source place.
    pub loc: Option<LocId>,
}

/// A basic block: instructions that always run in sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The label in the source, if there was one.
    pub label: Option<Box<str>>,
    /// Its instructions in [`Body::insts`].
    pub insts: Range<u32>,
    /// How it ends.
    pub terminator: Terminator,
}

/// The end of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminator {
    /// Lanes for which it is false go to `next`.
    pub guard: Option<Predicate>,
    /// What the others do.
    pub kind: TerminatorKind,
    /// Where execution goes on: set if and only if there is a guard or `kind` is `Next`, or the index of a `brx.idx` can be out of range.
    pub next: Option<BlockId>,
    /// PTX line, from 1; 0 if no instruction stands behind it.
    pub line: u32,
    /// Source place.
    pub loc: Option<LocId>,
}

/// Ways to end a block.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TerminatorKind {
    /// Falls through to `next`.
    Next,
    Bra {
        target: BlockId,
        /// `.uni`: no divergence.
        uniform: bool,
    },
    /// `brx.idx`; an index beyond the targets is undefined.
    BrxIdx {
        index: super::Operand,
        targets: Vec<BlockId>,
        uniform: bool,
    },
    /// Return from a device function; the end of the thread in a kernel.
    Ret {
        uniform: bool,
    },
    /// The end of the thread.
    Exit,
    Trap,
}

/// Where dynamic shared memory begins is a multiple of this, or of a larger alignment of its variables.
const DYNAMIC_SHARED_ALIGN: u32 = 16;

/// Where the shared variables of one kernel are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedLayout {
    /// Offset in the CTA's shared memory by variable, for those that the kernel or what it calls refers to. Those without a size
    /// (dynamic shared memory) are all at `size`.
    pub offsets: HashMap<GlobalId, u32>,
    /// Bytes of static shared memory, rounded up to where dynamic shared memory begins if the code has such variables.
    pub size: u32,
    /// The largest alignment.
    pub align: u32,
}

impl Module {
    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<FunctionId> {
        self.functions.iter().position(|f| f.name == name).map(|i| FunctionId(i as u32))
    }

    /// The variable of that name.
    pub fn global(&self, name: &str) -> Option<GlobalId> {
        self.globals.iter().position(|g| g.name == name).map(|i| GlobalId(i as u32))
    }

    /// Places the shared variables that `kernel` can touch: in the order of their declaration, each at its alignment, and those of dynamic shared
    /// memory behind them at one address, as NVIDIA's assembler (13.5) does.
    pub fn shared_layout(&self, kernel: FunctionId) -> SharedLayout {
        self.shared_layout_of(&self.reachable(kernel))
    }

    /// The same for a kernel that can reach these functions.
    pub fn shared_layout_of(&self, reachable: &[FunctionId]) -> SharedLayout {
        let mut used: Vec<GlobalId> = reachable
            .iter()
            .filter_map(|f| self.functions[f.0 as usize].body.as_ref())
            .flat_map(|b| b.globals.iter().copied())
            .filter(|g| self.globals[g.0 as usize].space == Space::Shared)
            .collect();
        used.sort();
        used.dedup();
        let mut layout = SharedLayout { align: 1, ..SharedLayout::default() };
        let (sized, dynamic): (Vec<GlobalId>, Vec<GlobalId>) =
            used.into_iter().partition(|g| self.globals[g.0 as usize].size > 0);
        for id in sized {
            let global = &self.globals[id.0 as usize];
            let offset = layout.size.next_multiple_of(global.align.max(1));
            layout.offsets.insert(id, offset);
            layout.size = offset.saturating_add(u32::try_from(global.size).unwrap_or(u32::MAX));
            layout.align = layout.align.max(global.align);
        }
        if let Some(align) = dynamic.iter().map(|id| self.globals[id.0 as usize].align).max() {
            let align = align.max(DYNAMIC_SHARED_ALIGN);
            layout.size = layout.size.checked_next_multiple_of(align).unwrap_or(u32::MAX);
            layout.align = layout.align.max(align);
            layout.offsets.extend(dynamic.into_iter().map(|id| (id, layout.size)));
        }
        layout
    }
}

impl From<GlobalId> for AddressTarget {
    fn from(id: GlobalId) -> Self {
        AddressTarget::Global(id)
    }
}
