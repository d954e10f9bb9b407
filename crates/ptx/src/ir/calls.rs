//! The call graph: which functions call themselves, directly or through others.

use super::{FunctionId, Module};

impl Module {
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
            [alone] => self.callees(alone.0 as usize).contains(alone),
            _ => true,
        }
    }

    fn callees(&self, function: usize) -> &[FunctionId] {
        self.functions[function].body.as_ref().map_or(&[], |body| &body.callees)
    }
}
