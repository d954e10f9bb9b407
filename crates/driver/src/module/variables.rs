//! The variables of a loaded module: where they lie, and their initial values.
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_exec::fault::{Fault, FaultKind, Nearest};
use warploom_exec::memory::{AllocSpec, MemoryKind};
use warploom_ptx::ir::{self, GlobalId, Linkage, RelocationTarget, Space};

use super::Code;
use crate::context::Context;
use crate::driver::Driver;
use crate::{DriverError, DriverResult, ErrorCode};

/// The names of the variables of all modules, by their addresses: for reports.
#[derive(Default)]
pub(crate) struct VariableNames(Mutex<HashMap<u64, Arc<str>>>);

impl VariableNames {
    /// Forgets a variable.
    pub(crate) fn forget(&self, address: u64) {
        self.0.lock().remove(&address);
    }

    /// What the report of a fault adds if the kernel missed a variable.
    pub(crate) fn note(&self, fault: &Fault) -> String {
        let FaultKind::Access(access) = &fault.kind else { return String::new() };
        let living = access.nearest.as_ref().filter(|nearest| !matches!(nearest, Nearest::Freed(..)));
        let missed = living.and_then(Nearest::allocation);
        let name = missed.and_then(|info| self.0.lock().get(&info.base).cloned());
        name.map_or_else(String::new, |name| format!("\n  = note: the variable is `{name}`"))
    }
}

/// The address of each variable of a module, by its id; 0 for those in other state spaces and unresolved ones.
pub(crate) struct Variables(Arc<[u64]>);

impl Variables {
    /// The address of a variable.
    pub(crate) fn address(&self, id: GlobalId) -> Option<u64> {
        self.0.get(id.0 as usize).copied().filter(|address| *address != 0)
    }

    /// All addresses.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().copied().filter(|address| *address != 0)
    }

    /// As launches take them.
    pub(crate) fn table(&self) -> &Arc<[u64]> {
        &self.0
    }
}

/// Whether the variables of a loaded module have an address: a size of 0 is a declaration that only says that the array is somewhere
/// else.
pub(crate) fn is_placed(global: &ir::Global) -> bool {
    global.linkage != Linkage::Extern && global.size != 0 && matches!(global.space, Space::Global | Space::Const)
}

impl Driver {
    /// Allocates and initialises the variables of `code` for `context`.
    pub(super) fn place_variables(&self, context: &Context, code: &Code) -> DriverResult<Variables> {
        let globals = &code.module().globals;
        let mut placed = Vec::with_capacity(globals.len());
        for global in globals {
            let kind = match global.space {
                _ if !is_placed(global) => None,
                Space::Const => Some(MemoryKind::ModuleConst),
                _ if global.managed => Some(MemoryKind::Managed),
                _ => Some(MemoryKind::ModuleGlobal),
            };
            let address = kind.map(|kind| {
                let tag = if global.managed { MANAGED_GLOBALLY } else { 0 };
                let spec = AllocSpec {
                    size: global.size,
                    kind,
                    device: context.ordinal(),
                    owner: context.id(),
                    tag,
                    origin: "a module's variable",
                };
                self.memory().alloc(spec)
            });
            match address.transpose() {
                Ok(info) => {
                    if let Some(info) = info {
                        self.variable_names.0.lock().insert(info.base, global.name.as_str().into());
                    }
                    placed.push(info.map_or(0, |info| info.base));
                }
                Err(error) => {
                    let reason = format!("variable {} of {} bytes: {error}", global.name, global.size);
                    self.forget_variables(&Variables(placed.into()))?;
                    return Err(DriverError::new(ErrorCode::OutOfMemory, reason));
                }
            }
        }
        let variables = Variables(placed.into());
        self.initialize(code, &variables).inspect_err(|_| {
            // The first error is the one that is told.
            let _ = self.forget_variables(&variables);
        })?;
        Ok(variables)
    }

    /// Frees the variables of a module.
    pub(super) fn forget_variables(&self, variables: &Variables) -> DriverResult {
        variables.addresses().try_for_each(|address| {
            self.variable_names.forget(address);
            self.give_back(address)
        })
    }

    /// Writes the initial values (PTX ISA 5.4.4).
    fn initialize(&self, code: &Code, variables: &Variables) -> DriverResult {
        for (global, &address) in code.module().globals.iter().zip(&*variables.0) {
            if address == 0 {
                continue;
            }
            let mut bytes = global.init.clone();
            bytes.resize(usize::try_from(global.size).unwrap_or(usize::MAX), 0);
            for relocation in &global.relocations {
                let target = match relocation.target {
                    RelocationTarget::Global(id) => variables.address(id),
                    RelocationTarget::Function(id) => Some(self.executor().function_address(id)),
                };
                let Some(target) = target else {
                    let reason = format!("the initial value of {} refers to an undefined symbol", global.name);
                    return Err(DriverError::new(ErrorCode::InvalidPtx, reason));
                };
                let value = target.wrapping_add_signed(relocation.addend) >> relocation.shift;
                let start = usize::try_from(relocation.offset).unwrap_or(usize::MAX);
                let place = bytes.get_mut(start..).and_then(|rest| rest.get_mut(..relocation.size as usize));
                if let Some(place) = place {
                    place.copy_from_slice(&value.to_le_bytes()[..place.len().min(8)]);
                }
            }
            if self.memory().view().write_bytes(address, &bytes).is_err() {
                return Err(DriverError::new(ErrorCode::Unknown, format!("variable {} lost its memory", global.name)));
            }
        }
        Ok(())
    }
}

/// `CU_MEM_ATTACH_GLOBAL`, as for `cuMemAllocManaged`.
const MANAGED_GLOBALLY: u64 = 1;
