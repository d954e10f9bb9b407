//! How much stack a kernel takes that can be known from its code.

use crate::program::{Callee, Function};

/// What a call takes of a GPU thread's stack beyond its variables: the return address and a saved register or two.
pub(crate) const CALL_BYTES: u32 = 16;

/// Bytes of stack that the deepest chain of direct calls takes that starts in `kernel`, each call with `call_bytes` beyond the callee's
/// variables; `kernel`'s own variables do not count. A function that calls itself, directly or through others, counts once: how deep a
/// recursion goes is not known, nor is where an indirect call leads.
pub(crate) fn deepest_chain(functions: &[Function], kernel: u32, call_bytes: u32) -> u64 {
    let mut chains: Vec<Option<u64>> = vec![None; functions.len()];
    let mut entered = vec![false; functions.len()];
    // Functions to visit; the second time all that they call has been.
    let mut pending = vec![kernel];
    while let Some(&function) = pending.last() {
        let callees = || {
            functions[function as usize].calls.iter().filter_map(|site| match site.callee {
                Callee::Function(callee) => Some(callee),
                Callee::Builtin(_) | Callee::Indirect(_) => None,
            })
        };
        if !std::mem::replace(&mut entered[function as usize], true) {
            pending.extend(callees().filter(|&callee| !entered[callee as usize]));
            continue;
        }
        pending.pop();
        if chains[function as usize].is_none() {
            let below = callees().filter_map(|callee| {
                let own = u64::from(functions[callee as usize].stack_bytes) + u64::from(call_bytes);
                // None yet: it is on the way down to here, so this is recursion.
                Some(chains[callee as usize]? + own)
            });
            chains[function as usize] = Some(below.max().unwrap_or(0));
        }
    }
    chains[kernel as usize].unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::deepest_chain;
    use crate::program::{CallSite, Callee, Function};

    fn function(stack_bytes: u32, callees: &[u32]) -> Function {
        let site = |&callee: &u32| CallSite { callee: Callee::Function(callee), arguments: vec![], results: vec![] };
        Function { stack_bytes, calls: callees.iter().map(site).collect(), ..Function::default() }
    }

    #[test]
    fn the_deepest_chain_counts_and_recursion_counts_once() {
        let chain = [function(100, &[1, 2]), function(40, &[3]), function(90, &[]), function(60, &[])];
        assert_eq!(deepest_chain(&chain, 0, 0), 100);
        assert_eq!(deepest_chain(&chain, 0, 16), 132);
        let shared = [function(0, &[1, 2]), function(8, &[3]), function(16, &[3]), function(100, &[])];
        assert_eq!(deepest_chain(&shared, 0, 0), 116);
        let recursive = [function(0, &[1]), function(32, &[1, 2]), function(8, &[1])];
        assert_eq!(deepest_chain(&recursive, 0, 0), 40);
    }

    #[test]
    fn a_long_chain_needs_no_stack_of_the_host() {
        let mut functions: Vec<Function> = (0..200_000).map(|index| function(1, &[index + 1])).collect();
        functions.push(function(1, &[]));
        assert_eq!(deepest_chain(&functions, 0, 1), 400_000);
    }
}
