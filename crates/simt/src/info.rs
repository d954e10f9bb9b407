//! Everything about one kernel.

use warploom_ptx::ir::{FunctionId, FunctionKind, Module};

use crate::access::{Access, Known, accesses};
use crate::alignment::Alignments;
use crate::barrier::Barriers;
use crate::divergence::Divergence;
use crate::gang::Gangs;
use crate::pressure::Pressure;
use crate::range::Ranges;
use crate::shape::Shape;
use crate::uniformity::{Uniformity, block_of};
use crate::values::{ValueId, Values};
use crate::wait::{Wait, needs_lockstep, split_exchanges, waits};

/// What [`analyze`] finds.
#[derive(Clone, Debug)]
pub struct KernelInfo<'m> {
    /// The module that it is in.
    pub module: &'m Module,
    /// Which function.
    pub kernel: FunctionId,
    /// For which CTAs and gangs.
    pub gangs: Gangs,
    /// What registers hold.
    pub values: Values,
    /// By value: how lanes differ.
    pub shapes: Vec<Shape>,
    /// Where lanes part and meet.
    pub divergence: Divergence,
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
    /// It takes for granted that warps run in lockstep.
    pub lockstep: bool,
}

impl KernelInfo<'_> {
    /// How lanes differ in a value.
    pub fn shape(&self, value: ValueId) -> &Shape {
        &self.shapes[value.0 as usize]
    }
}

/// Looks at a kernel of a verified module, for CTAs of one shape. None for a function that is no kernel, or has no body. What a device function does that the kernel calls is not looked at:
/// what it gives back is taken to differ.
pub fn analyze(module: &Module, kernel: FunctionId, gangs: Gangs) -> Option<KernelInfo<'_>> {
    look(module, kernel, gangs, false)
}

/// [`analyze`] of lanes that go their own ways: none is known to be where another one is.
pub(crate) fn analyze_apart(module: &Module, kernel: FunctionId, gangs: Gangs) -> Option<KernelInfo<'_>> {
    look(module, kernel, gangs, true)
}

fn look(module: &Module, kernel: FunctionId, gangs: Gangs, apart: bool) -> Option<KernelInfo<'_>> {
    let function = module.functions.get(kernel.0 as usize)?;
    let body = function.body.as_ref().filter(|_| function.kind == FunctionKind::Kernel)?;
    let values = Values::new(body);
    let layout = module.shared_layout(kernel);
    let ranges = Ranges::new(&layout, body, &values, &gangs);
    let alignments = Alignments::new(&layout, body, &values);
    let uniformity = Uniformity::new(body, &values, &gangs, &ranges, apart);
    let known = Known { ranges: &ranges, alignments: &alignments, layout: &layout };
    let accesses = accesses(module, body, &values, &uniformity.shapes, &known);
    let barriers = Barriers::new(body, &values, &uniformity, &block_of(body), gangs.threads());
    let pressure = Pressure::of(body, &values, &uniformity.shapes);
    let waits = waits(body, &values, &uniformity);
    let split_exchanges = split_exchanges(body, &uniformity);
    let lockstep = needs_lockstep(body);
    let Uniformity { shapes, divergence, .. } = uniformity;
    Some(KernelInfo {
        module,
        kernel,
        gangs,
        values,
        shapes,
        divergence,
        accesses,
        barriers,
        pressure,
        waits,
        split_exchanges,
        lockstep,
    })
}
