//! The driver under test: its functions by name.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use anyhow::{Context, Result};
use libloading::Library;
use warploom_abi::CUresult;

use crate::facts::{Function, Slot};
use crate::generated::FUNCTIONS;

/// A loaded driver.
pub(crate) struct Driver {
    /// By index into [`FUNCTIONS`].
    addresses: Vec<usize>,
    by_name: HashMap<&'static str, usize>,
    /// Calls made by name so far, and the index of the one that is being made, plus one.
    named: (AtomicU64, AtomicU32),
    /// Keeps the functions where they are.
    _library: Library,
}

impl Driver {
    /// Loads a driver that has every function of the registry.
    pub(crate) fn load(path: &Path) -> Result<Driver> {
        // SAFETY: loading the driver is what this program is for.
        let library = unsafe { Library::new(path) }.with_context(|| path.display().to_string())?;
        let address = |function: &Function| -> Result<usize> {
            // SAFETY: only the address is taken here; its type says the table.
            let symbol = unsafe { library.get::<*const ()>(function.symbol.as_bytes()) };
            Ok(symbol.with_context(|| function.symbol.to_owned())?.addr())
        };
        let addresses: Result<Vec<usize>> = FUNCTIONS.iter().map(address).collect();
        let by_name = FUNCTIONS.iter().enumerate().map(|(index, function)| (function.symbol, index)).collect();
        Ok(Driver { addresses: addresses?, by_name, named: (AtomicU64::new(0), AtomicU32::new(0)), _library: library })
    }

    /// The index of a function.
    pub(crate) fn index(&self, symbol: &str) -> usize {
        self.by_name[symbol]
    }

    /// Calls the function at an index.
    pub(crate) fn call_at(&self, index: usize, slots: &[Slot]) -> CUresult {
        // SAFETY: the function of this index is at the address; whoever made the slots made them for its parameters.
        unsafe { (FUNCTIONS[index].call)(std::ptr::with_exposed_provenance(self.addresses[index]), slots) }
    }

    /// Calls a function whose arguments are at most eight bytes each; those that are missing are zero, and superfluous ones do
    /// not matter.
    pub(crate) fn call(&self, symbol: &str, arguments: &[u64]) -> CUresult {
        let index = self.index(symbol);
        let all = arguments.iter().copied().chain(std::iter::repeat(0)).take(FUNCTIONS[index].params.len());
        let slots: Vec<Slot> = all.map(|word| Slot::new(&word.to_le_bytes())).collect();
        self.named.0.fetch_add(1, Ordering::Relaxed);
        self.named.1.store(index as u32 + 1, Ordering::Relaxed);
        let result = self.call_at(index, &slots);
        self.named.1.store(0, Ordering::Relaxed);
        result
    }

    /// How many calls were made by name, and the index of the one that is being made, plus one.
    pub(crate) fn named_calls(&self) -> (u64, u32) {
        (self.named.0.load(Ordering::Relaxed), self.named.1.load(Ordering::Relaxed))
    }

    /// Calls a function with the address of an output among its arguments; the output, if the call succeeds.
    pub(crate) fn ask(&self, symbol: &str, arguments: impl FnOnce(u64) -> Vec<u64>) -> Option<u64> {
        let mut output = 0_u64;
        let result = self.call(symbol, &arguments((&raw mut output).expose_provenance() as u64));
        (result == CUresult::CUDA_SUCCESS).then_some(output)
    }
}
