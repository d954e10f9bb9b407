//! The call graph: which functions a kernel can reach, and which call themselves, directly or through others.

use std::collections::{BTreeSet, HashSet};
use std::sync::OnceLock;

use super::{
    AddressTarget, CallTarget, Function, FunctionId, FunctionKind, Module, Op, Param, Prototype, PrototypeId,
    RelocationTarget,
};

impl Module {
    /// The functions that running `root` can reach, see [`CallGraph::reachable`]; who asks for many kernels keeps a [`CallGraph`].
    pub fn reachable(&self, root: FunctionId) -> Vec<FunctionId> {
        CallGraph::new(self).reachable(self, root)
    }

    /// The functions that can be called other than by name: their address is an initial value, or code takes it.
    pub fn addressed_functions(&self) -> BTreeSet<FunctionId> {
        let relocations = self.globals.iter().flat_map(|global| &global.relocations);
        let mut found: BTreeSet<FunctionId> = relocations
            .filter_map(|relocation| match relocation.target {
                RelocationTarget::Function(id) => Some(id),
                RelocationTarget::Global(_) => None,
            })
            .collect();
        for inst in self.functions.iter().filter_map(|function| function.body.as_ref()).flat_map(|body| &body.insts) {
            match &inst.op {
                Op::AddressOf { target: AddressTarget::Function(id), .. } => _ = found.insert(*id),
                Op::Call { target, .. } => {
                    if let CallTarget::Indirect { candidates, .. } = &**target {
                        found.extend(candidates);
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// The functions in groups that call each other, callees before their callers (Tarjan's strongly connected components). A
    /// function alone in its group can be taken into its callers unless [`Module::is_recursive`] says that it calls itself.
    ///
    /// A function whose address is taken counts as called from where it is taken ([`super::Body::callees`] has both).
    pub fn call_groups(&self) -> Vec<Vec<FunctionId>> {
        let count = self.functions.len();
        let mut number = vec![u32::MAX; count];
        let mut lowest = vec![0; count];
        let mut pending = vec![false; count];
        let mut met = Vec::new();
        let mut groups = Vec::new();
        let mut next = 0;
        for root in 0..count {
            if number[root] != u32::MAX {
                continue;
            }
            // Functions on the way down, each with the next of its callees.
            let mut way = vec![(root, 0)];
            while let Some((function, at)) = way.last_mut() {
                let (function, callee) = (*function, self.callees(*function).get(*at).copied());
                if *at == 0 {
                    number[function] = next;
                    lowest[function] = next;
                    next += 1;
                    met.push(function);
                    pending[function] = true;
                }
                *at += 1;
                match callee.map(|id| id.0 as usize) {
                    Some(callee) if !self.is_called(FunctionId(callee as u32)) => {}
                    Some(callee) if number[callee] == u32::MAX => way.push((callee, 0)),
                    Some(callee) if pending[callee] => lowest[function] = lowest[function].min(number[callee]),
                    Some(_) => {}
                    None => {
                        way.pop();
                        if let Some((caller, _)) = way.last() {
                            lowest[*caller] = lowest[*caller].min(lowest[function]);
                        }
                        if lowest[function] == number[function] {
                            let first = met.iter().rposition(|member| *member == function).unwrap_or(0);
                            let group = met.split_off(first);
                            group.iter().for_each(|member| pending[*member] = false);
                            groups.push(group.into_iter().map(|member| FunctionId(member as u32)).collect());
                        }
                    }
                }
            }
        }
        groups
    }

    /// Whether a function of a group calls into the group.
    pub fn is_recursive(&self, group: &[FunctionId]) -> bool {
        match group {
            [alone] => self.is_called(*alone) && self.callees(alone.0 as usize).contains(alone),
            _ => true,
        }
    }

    /// Whether a function that others refer to is called by them: the address of a kernel is taken to launch it, which is no call.
    pub fn is_called(&self, id: FunctionId) -> bool {
        self.functions.get(id.0 as usize).is_some_and(|function| function.kind == FunctionKind::Device)
    }

    fn callees(&self, function: usize) -> &[FunctionId] {
        self.functions[function].body.as_ref().map_or(&[], |body| &body.callees)
    }
}

/// What of the calls of a module takes a look at all its instructions, each found when it is first asked for: kernels of a library that call through tables all reach
/// what stands in them, thousands of functions.
#[derive(Debug)]
pub struct CallGraph {
    /// By function: the shapes of its indirect calls, without those that have a list of candidates, in their order.
    shapes: Box<[OnceLock<Box<[PrototypeId]>>]>,
    /// By shape: what calls of it can mean.
    targets: Box<[OnceLock<Box<[FunctionId]>>]>,
    addressed: OnceLock<BTreeSet<FunctionId>>,
}

impl CallGraph {
    /// Of this module.
    pub fn new(module: &Module) -> CallGraph {
        CallGraph {
            shapes: module.functions.iter().map(|_| OnceLock::new()).collect(),
            targets: module.prototypes.iter().map(|_| OnceLock::new()).collect(),
            addressed: OnceLock::new(),
        }
    }

    /// The functions that running `root` can reach, `root` first: through calls, through addresses taken, and through addresses that anything
    /// in the module has put into memory, such as another kernel or the host, if they have the shape that an indirect call asks for.
    pub fn reachable(&self, module: &Module, root: FunctionId) -> Vec<FunctionId> {
        let mut seen = vec![false; module.functions.len()];
        let mut order = vec![root];
        seen[root.0 as usize] = true;
        let mut next = 0;
        let mut met = HashSet::new();
        while next < order.len() {
            let id = order[next];
            next += 1;
            let Some(body) = &module.functions[id.0 as usize].body else { continue };
            let relocated = body.globals.iter().flat_map(|g| &module.globals[g.0 as usize].relocations);
            let addressed = relocated.filter_map(|r| match r.target {
                RelocationTarget::Function(f) => Some(f),
                RelocationTarget::Global(_) => None,
            });
            let shapes = self.shapes(module, id).iter().filter(|shape| met.insert(**shape));
            let unknown = shapes.flat_map(|shape| self.targets(module, *shape)).copied();
            let called =
                body.callees.iter().copied().chain(addressed).chain(unknown).filter(|id| module.is_called(*id));
            for callee in called {
                if !std::mem::replace(&mut seen[callee.0 as usize], true) {
                    order.push(callee);
                }
            }
        }
        order
    }

    fn shapes(&self, module: &Module, id: FunctionId) -> &[PrototypeId] {
        // Only a module with prototypes has such calls.
        if module.prototypes.is_empty() {
            return &[];
        }
        self.shapes[id.0 as usize].get_or_init(|| {
            let insts = module.functions[id.0 as usize].body.iter().flat_map(|body| &body.insts);
            let mut found = Vec::new();
            for inst in insts {
                let Op::Call { target, .. } = &inst.op else { continue };
                let CallTarget::Indirect { prototype, candidates, .. } = &**target else { continue };
                if candidates.is_empty() && !found.contains(prototype) {
                    found.push(*prototype);
                }
            }
            found.into()
        })
    }

    fn targets(&self, module: &Module, prototype: PrototypeId) -> &[FunctionId] {
        self.targets[prototype.0 as usize].get_or_init(|| {
            let shape = &module.prototypes[prototype.0 as usize];
            let addressed = self.addressed.get_or_init(|| module.addressed_functions());
            let alike = |id: &FunctionId| module.is_called(*id) && fits(&module.functions[id.0 as usize], shape);
            addressed.iter().copied().filter(alike).collect()
        })
    }
}

/// Whether a function has as many parameters and return values as a shape, each of the same size.
fn fits(function: &Function, shape: &Prototype) -> bool {
    let alike = |given: &[Param], asked: &[Param]| {
        given.iter().map(|param| param.size).eq(asked.iter().map(|param| param.size))
    };
    alike(&function.params, &shape.params) && alike(&function.returns, &shape.returns)
}
