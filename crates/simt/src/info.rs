//! Everything about one kernel.

use std::collections::{BTreeMap, BTreeSet};

use warploom_ptx::ir::{Body, CallTarget, FunctionId, FunctionKind, Module, Op, Semantics, Space};

use crate::access::{Access, AccessKind, Known, Pattern, accesses};
use crate::affine::Affine;
use crate::alignment::Alignments;
use crate::barrier::Barriers;
use crate::divergence::{Divergence, Split};
use crate::gang::Gangs;
use crate::lockstep::{Lockstep, lockstep};
use crate::pressure::Pressure;
use crate::range::Ranges;
use crate::shape::Shape;
use crate::uniformity::{Uniformity, block_of};
use crate::values::{ValueId, Values, paired};
use crate::wait::{Wait, split_exchanges, waits};

/// What [`analyze`] finds.
#[derive(Clone, Debug)]
pub struct KernelInfo<'m> {
    /// The module that it is in.
    pub module: &'m Module,
    /// Which kernel.
    pub kernel: FunctionId,
    /// Whose body it is of: the kernel's, or that of a function that it calls for some lanes of a gang.
    pub function: FunctionId,
    /// For which CTAs and gangs.
    pub gangs: Gangs,
    /// What registers hold.
    pub values: Values,
    /// By value: how lanes differ.
    pub shapes: Vec<Shape>,
    /// By value that differs in no known way: the pattern that lanes would have if they never parted, as they mostly do not where compilers unroll loops (the trips that are left
    /// over come first, and not all lanes need have as many). An instruction that makes an address of such a value finds out whether it holds.
    pub guesses: Vec<Option<Affine>>,
    /// The values whose guesses hold in all of a launch, or nowhere in it, as they are of its parameters: that a number which lanes are multiplied by is 1, or
    /// as many bytes as are accessed, or that a bit is turned that they have in common.
    pub steady: BTreeSet<ValueId>,
    /// The instructions that find that out, with the value that each does of.
    pub guessed: BTreeMap<u32, ValueId>,
    /// By instruction whose result has what is guessed of it wherever its operands have: those of them of which it is guessed.
    pub derived: BTreeMap<u32, Vec<ValueId>>,
    /// Whether some guess is of lanes that are on one side of an edge: behind `min`, `max`, a division or a selection, which each CTA may have.
    pub edges: bool,
    /// Where lanes part and meet.
    pub divergence: Divergence,
    /// By the block whose end branches alike in a gang, and perhaps not in a CTA: what follows from that.
    pub gang_splits: BTreeMap<u32, Split>,
    /// How memory is accessed.
    pub accesses: Vec<Access>,
    /// What runs between barriers.
    pub barriers: Barriers,
    /// How much is alive.
    pub pressure: Pressure,
    /// Loops in which threads wait.
    pub waits: Vec<Wait>,
    /// Operations of whole warps that some lanes may come to without the others.
    pub split_exchanges: Vec<u32>,
    /// Why it is taken to need warps in lockstep, if it is.
    pub lockstep: Option<Lockstep>,
}

impl<'m> KernelInfo<'m> {
    /// The body that was looked at.
    pub fn body(&self) -> Option<&'m Body> {
        self.module.functions[self.function.0 as usize].body.as_ref()
    }

    /// Whether it is of a function that the kernel calls.
    pub fn is_called(&self) -> bool {
        self.function != self.kernel
    }

    /// How lanes differ in a value.
    pub fn shape(&self, value: ValueId) -> &Shape {
        &self.shapes[value.0 as usize]
    }

    /// What is guessed of a value.
    pub fn guess(&self, value: ValueId) -> Option<&Affine> {
        self.guesses.get(value.0 as usize)?.as_ref()
    }

    /// Whether a function has code of its own.
    pub(crate) fn has_code(&self, function: FunctionId) -> bool {
        self.module.functions[function.0 as usize].body.is_some()
    }

    /// The address that an instruction accesses memory at, if a register has it.
    pub fn address_of(&self, body: &Body, inst: u32) -> Option<ValueId> {
        self.values.address(body, inst)
    }

    /// Whether some access goes to a row that is a guess, and that may end within a gang.
    pub(crate) fn has_guessed_edges(&self) -> bool {
        self.edges && self.accesses.iter().any(|access| self.is_guessed(access))
    }

    /// Whether the pattern of an access is a guess.
    pub fn is_guessed(&self, access: &Access) -> bool {
        access.told_by.iter().any(|inst| self.guessed.contains_key(inst))
    }
}

/// Looks at a kernel of a verified module, for CTAs of one shape. None for a function that is no kernel, or has no body. What a device function does that the kernel calls is not looked at:
/// what it gives back is taken to differ.
pub fn analyze(module: &Module, kernel: FunctionId, gangs: Gangs) -> Option<KernelInfo<'_>> {
    look(module, kernel, kernel, gangs, false)
}

/// Looks at the functions that a [`standalone`](crate::standalone) kernel calls, each for whatever lanes of a gang it is called for.
pub(crate) fn analyze_called<'m>(kernel: &KernelInfo<'m>) -> Vec<KernelInfo<'m>> {
    let module = kernel.module;
    let mut called = BTreeSet::new();
    let mut pending = vec![kernel.kernel];
    while let Some(caller) = pending.pop() {
        pending.extend(called_by(module, caller).filter(|id| called.insert(*id)));
    }
    called.into_iter().filter_map(|id| look(module, kernel.kernel, id, kernel.gangs.clone(), false)).collect()
}

/// What a function of a [`standalone`](crate::standalone) kernel's module calls that has a body there, once for each call.
pub fn called_by(module: &Module, caller: FunctionId) -> impl Iterator<Item = FunctionId> {
    let insts = module.functions[caller.0 as usize].body.iter().flat_map(|body| &body.insts);
    let called = insts.filter_map(|inst| match &inst.op {
        Op::Call { target, .. } => match **target {
            CallTarget::Direct(id) => Some(id),
            CallTarget::Indirect { .. } => None,
        },
        _ => None,
    });
    called.filter(|id| module.functions[id.0 as usize].body.is_some())
}

/// [`analyze`] of lanes that go their own ways: none is known to be where another one is.
pub(crate) fn analyze_apart(module: &Module, kernel: FunctionId, gangs: Gangs) -> Option<KernelInfo<'_>> {
    look(module, kernel, kernel, gangs, true)
}

fn look(
    module: &Module,
    kernel: FunctionId,
    function: FunctionId,
    gangs: Gangs,
    apart: bool,
) -> Option<KernelInfo<'_>> {
    let is_kernel = module.functions.get(kernel.0 as usize)?.kind == FunctionKind::Kernel;
    let body = module.functions[function.0 as usize].body.as_ref().filter(|_| is_kernel)?;
    let values = Values::new(body);
    let layout = module.shared_layout(kernel);
    let ranges = Ranges::new(&layout, body, &values, &gangs);
    let alignments = Alignments::new(&layout, body, &values, &ranges);
    // A function may be called for any lanes: the others are to it what has ended is to a kernel.
    let some = function != kernel;
    let uniformity = Uniformity::new(body, &values, &gangs, (&ranges, &alignments), apart, some);
    let known = Known { ranges: &ranges, alignments: &alignments, layout: &layout };
    let accesses = accesses(module, body, &values, &uniformity.shapes, &known);
    let barriers = Barriers::new(body, &values, &uniformity, &block_of(body), gangs.threads());
    let pressure = Pressure::of(body, &values, &uniformity.shapes);
    let waits = waits(body, &values, &uniformity);
    let split_exchanges = split_exchanges(body, &uniformity);
    let lockstep = lockstep(body, &values, &ranges);
    let guessed = guessed(body, &values, &uniformity);
    let Uniformity { shapes, divergence, gang_splits, guesses, steady, derived, edges } = uniformity;
    let mut info = KernelInfo {
        module,
        kernel,
        function,
        gangs,
        values,
        shapes,
        guesses,
        steady,
        guessed,
        derived,
        edges,
        divergence,
        gang_splits,
        accesses,
        barriers,
        pressure,
        waits,
        split_exchanges,
        lockstep,
    };
    info.accesses = info.accesses.iter().map(|access| worthwhile(&info, body, access)).collect();
    Some(info)
}

/// By instruction that finds out whether a guess holds: of which value.
fn guessed(body: &Body, values: &Values, uniformity: &Uniformity) -> BTreeMap<u32, ValueId> {
    let is_guess = |value: &ValueId| uniformity.guesses.get(value.0 as usize).is_some_and(Option::is_some);
    let of = |inst: u32| {
        let written = values.written(body, inst)?;
        match &uniformity.shapes[written.0 as usize] {
            Shape::Affine(affine) if affine.told_by.contains(&inst) => {}
            _ => return None,
        }
        let operands = body.insts[inst as usize].operands();
        let read = paired(&operands, values.of_inst(inst)).filter(|(operand, _)| operand.read().is_some());
        Some((inst, read.filter_map(|(_, value)| value).find(is_guess)?))
    };
    (0..body.insts.len() as u32).filter_map(of).collect()
}

/// An access as it is, but for a guess that tells of no row of single elements: then lanes may go anywhere, for which nothing need be guessed.
fn worthwhile(info: &KernelInfo<'_>, body: &Body, access: &Access) -> Access {
    let mut access = access.clone();
    let plain = matches!(access.space, Space::Global | Space::Const | Space::Shared | Space::Generic);
    // Elements near each other are loaded as a row is.
    let near =
        |step: i64| access.kind == AccessKind::Load && (1..=4).contains(&(step / i64::from(access.bytes.max(1))));
    let row = match access.pattern {
        Pattern::Contiguous => true,
        Pattern::Strided(step) => near(step),
        _ => false,
    };
    let row = row && plain && matches!(access.bytes, 1 | 2 | 4 | 8);
    let single = match &body.insts[access.inst as usize].op {
        Op::Ld { dst, semantics, .. } => dst.len() == 1 && *semantics == Semantics::Weak,
        Op::St { src, semantics, .. } => src.len() == 1 && *semantics == Semantics::Weak,
        _ => false,
    };
    if let Some(address) = info.address_of(body, access.inst)
        && !(row && single)
        && info.is_guessed(&access)
    {
        access.pattern = Pattern::Anywhere(address);
        access.told_by.clear();
    }
    access
}
