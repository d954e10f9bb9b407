//! Branches and returns, and the order of basic blocks.

use super::body::{BodyLowering, Lower, Reported};
use super::operand::{Value, Values};
use super::scope::Symbol;
use crate::diagnostic::Code;
use crate::ir::{Arrangement, Block, BlockId, Body, Inst, Terminator, TerminatorKind, arrange};
use crate::isa::{Modifiers, Opcode};
use crate::syntax::ast::OperandKind;
use crate::syntax::{Name, Span};

/// A basic block while its function is being lowered. Its terminator names labels where the finished one names blocks.
#[derive(Debug, Default)]
pub(super) struct ProtoBlock {
    label: Option<Box<str>>,
    pub(super) insts: Vec<Inst>,
    /// Targets are labels; `next` is set when the block is closed. `None` falls through.
    end: Option<Terminator>,
}

impl BodyLowering<'_, '_> {
    /// Begins the block of a label.
    pub(super) fn place_label(&mut self, label: u32, text: &str) {
        let last = self.blocks.len() - 1;
        let unused =
            self.blocks[last].insts.is_empty() && self.blocks[last].label.is_none() && self.blocks[last].end.is_none();
        if !unused {
            self.blocks.push(ProtoBlock::default());
        }
        let index = self.blocks.len() - 1;
        self.blocks[index].label = Some(text.into());
        self.labels[label as usize] = index as u32;
    }

    fn label(&mut self, name: Name, span: Span) -> Lower<BlockId> {
        match self.symbol(name) {
            Some(Symbol::Label(label)) => Ok(BlockId(label)),
            Some(_) => {
                let text = self.l.text(name);
                self.refuse(Code::ControlFlow, span, format!("Branch target '{text}' is not a label"))
            }
            None => {
                let text = self.l.text(name);
                self.refuse(Code::Undeclared, span, format!("Unknown symbol '{text}'"))
            }
        }
    }

    /// Ends the current block.
    pub(super) fn terminator(&mut self, opcode: Opcode, modifiers: &Modifiers, values: &Values) -> Lower<()> {
        let uniform = modifiers.has("uni");
        let kind = match (opcode, values.as_slice()) {
            (Opcode::Bra, [Value::Raw(operand)]) => {
                let OperandKind::Name(name) = operand.kind else {
                    return self.refuse(Code::ControlFlow, operand.span, "Label expected in instruction 'bra'");
                };
                TerminatorKind::Bra { target: self.label(name, operand.span)?, uniform }
            }
            (Opcode::Brx, [Value::Src(index), Value::Raw(operand)]) => {
                let list = match operand.kind {
                    OperandKind::Name(name) => self.symbol(name),
                    _ => None,
                };
                let Some(Symbol::BranchTargets(list)) = list else {
                    let message = "Label of a .branchtargets directive expected in instruction 'brx.idx'";
                    return self.refuse(Code::ControlFlow, operand.span, message);
                };
                let mut targets = Vec::new();
                for name in self.branch_targets[list as usize].clone() {
                    targets.push(self.label(name, operand.span)?);
                }
                TerminatorKind::BrxIdx { index: *index, targets, uniform }
            }
            (Opcode::Ret, _) => TerminatorKind::Ret { uniform },
            (Opcode::Exit, _) => TerminatorKind::Exit,
            (Opcode::Trap, _) => TerminatorKind::Trap,
            _ => return Err(Reported),
        };
        let end = Terminator { guard: self.guard, kind, next: None, line: self.line, loc: self.loc };
        if let Some(block) = self.blocks.last_mut() {
            block.end = Some(end);
        }
        self.blocks.push(ProtoBlock::default());
        Ok(())
    }

    /// Resolves labels and puts the blocks that the entry reaches into their order. Who would come to a block that only leads to another one goes there: compilers
    /// write `@!%p bra A; bra.uni B; B:`.
    pub(super) fn seal(&mut self) {
        let protos = std::mem::take(&mut self.blocks);
        let count = protos.len();
        let mut ends: Vec<Terminator> = Vec::with_capacity(count);
        for (index, proto) in protos.iter().enumerate() {
            // Running off the end of a function returns from it.
            let falls = (index + 1 < count).then_some(BlockId(index as u32 + 1));
            let mut end = proto.end.clone().unwrap_or(Terminator {
                guard: None,
                kind: if falls.is_some() { TerminatorKind::Next } else { TerminatorKind::Ret { uniform: false } },
                next: None,
                line: 0,
                loc: None,
            });
            let goes_on =
                end.guard.is_some() || matches!(end.kind, TerminatorKind::Next | TerminatorKind::BrxIdx { .. });
            end.next = if goes_on { falls } else { None };
            listed_mut(&mut end.kind).iter_mut().for_each(|label| label.0 = self.labels[label.0 as usize]);
            ends.push(end);
        }
        let leads: Vec<Option<u32>> = protos.iter().zip(&ends).map(|(proto, end)| leads_to(proto, end)).collect();
        // Where a function only ends all meet once more.
        let ends_only =
            |block: u32| protos[block as usize].insts.is_empty() && targets(&ends[block as usize]).next().is_none();
        let leads: Vec<Option<u32>> = leads.into_iter().map(|to| to.filter(|to| !ends_only(*to))).collect();
        let final_of = ends_of_chains(&leads);
        let follow = |block: &mut BlockId| {
            if let Some(to) = final_of.get(block.0 as usize) {
                block.0 = *to;
            }
        };
        for end in &mut ends {
            listed_mut(&mut end.kind).iter_mut().chain(&mut end.next).for_each(follow);
        }
        let successors: Vec<Vec<u32>> = ends.iter().map(|end| targets(end).collect()).collect();
        let Arrangement { order, loops } = arrange(&successors);
        let mut place = vec![BlockId(u32::MAX); count];
        for (new, old) in order.iter().enumerate() {
            place[*old as usize] = BlockId(new as u32);
        }
        let mut protos: Vec<Option<ProtoBlock>> = protos.into_iter().map(Some).collect();
        let body: &mut Body = &mut self.body;
        body.loops = loops;
        for old in order {
            let Some(proto) = protos[old as usize].take() else { continue };
            let start = body.insts.len() as u32;
            body.insts.extend(proto.insts);
            let mut terminator = ends[old as usize].clone();
            let all = listed_mut(&mut terminator.kind).iter_mut().chain(&mut terminator.next);
            all.for_each(|block| *block = place[block.0 as usize]);
            body.blocks.push(Block { label: proto.label, insts: start..body.insts.len() as u32, terminator });
        }
    }
}

/// The targets that the end of a block names.
fn listed_mut(kind: &mut TerminatorKind) -> &mut [BlockId] {
    match kind {
        TerminatorKind::Bra { target, .. } => std::slice::from_mut(target),
        TerminatorKind::BrxIdx { targets, .. } => targets,
        _ => &mut [],
    }
}

/// The block that one without instructions goes on to.
fn leads_to(proto: &ProtoBlock, end: &Terminator) -> Option<u32> {
    match end.kind {
        _ if !proto.insts.is_empty() || end.guard.is_some() => None,
        TerminatorKind::Bra { target, .. } => Some(target.0),
        TerminatorKind::Next => end.next.map(|next| next.0),
        _ => None,
    }
}

/// By block, the first one behind it that leads nowhere else, or any of those that lead round in an empty loop.
fn ends_of_chains(leads: &[Option<u32>]) -> Vec<u32> {
    let mut known: Vec<Option<u32>> = vec![None; leads.len()];
    for first in 0..leads.len() as u32 {
        let (mut at, mut chain) = (first, Vec::new());
        while known[at as usize].is_none()
            && let Some(to) = leads[at as usize]
        {
            // Found again, it is where an empty loop is entered.
            known[at as usize] = Some(at);
            chain.push(at);
            at = to;
        }
        let end = known[at as usize].unwrap_or(at);
        chain.into_iter().for_each(|block| known[block as usize] = Some(end));
    }
    known.into_iter().zip(0..).map(|(end, own)| end.unwrap_or(own)).collect()
}

/// Where control goes from the end of a block; the fall-through is last, because the block is to be followed by that.
fn targets(end: &Terminator) -> impl Iterator<Item = u32> + '_ {
    let listed: &[BlockId] = match &end.kind {
        TerminatorKind::Bra { target, .. } => std::slice::from_ref(target),
        TerminatorKind::BrxIdx { targets, .. } => targets,
        _ => &[],
    };
    listed.iter().chain(&end.next).map(|block| block.0).filter(|block| *block != u32::MAX)
}
