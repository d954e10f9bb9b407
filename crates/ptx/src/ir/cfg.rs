//! Successors, predecessors and liveness of a body.

use super::{BlockId, Body, TerminatorKind};

/// Edges between the blocks of a [`Body`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    /// By block: where control can go next, without repetition.
    pub successors: Vec<Vec<BlockId>>,
    /// By block: where control can come from.
    pub predecessors: Vec<Vec<BlockId>>,
}

impl Cfg {
    /// Collects the edges.
    pub fn new(body: &Body) -> Cfg {
        let mut cfg =
            Cfg { successors: vec![Vec::new(); body.blocks.len()], predecessors: vec![Vec::new(); body.blocks.len()] };
        for (index, block) in body.blocks.iter().enumerate() {
            let mut targets: Vec<BlockId> = match &block.terminator.kind {
                TerminatorKind::Bra { target, .. } => vec![*target],
                TerminatorKind::BrxIdx { targets, .. } => targets.clone(),
                TerminatorKind::Next | TerminatorKind::Ret { .. } | TerminatorKind::Exit | TerminatorKind::Trap => {
                    Vec::new()
                }
            };
            targets.extend(block.terminator.next);
            targets.sort();
            targets.dedup();
            for target in &targets {
                cfg.predecessors[target.0 as usize].push(BlockId(index as u32));
            }
            cfg.successors[index] = targets;
        }
        cfg
    }
}
