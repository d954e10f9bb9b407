//! `brx.idx` (PTX ISA 9.7.12.4): branches by a table. Lanes with an index beyond it go on behind.

use warploom_ptx::ir::{BlockId, Operand};

use super::function::{Val, Writer};
use super::names::Ty;

impl Writer<'_> {
    pub(super) fn switch(
        &mut self,
        block: u32,
        guard: Option<Val>,
        index: Operand,
        targets: &[BlockId],
        next: Option<u32>,
    ) -> Result<(), String> {
        let id = self.values.get(usize::from(guard.is_some())).copied().flatten();
        let index = match (index, id) {
            (Operand::Imm(index), _) => self.constant(Ty::int(32, 0), index as i64),
            (Operand::Reg(_), Some(id)) => self.read(id),
            (Operand::Reg(_), None) => self.constant(Ty::int(32, 0), 0),
        };
        let alone = self.plan.group_of(block).is_some();
        if index.ty.lanes == 0 && guard.is_none() && (!alone || self.full) {
            return self.switch_together(block, &index, targets, next);
        }
        // Each way for the lanes that take it; a guard has the others go on.
        let mask = self.mask_value();
        let mut rest = mask.clone();
        let taking = match guard {
            Some(guard) => {
                let guard = self.splat(&guard);
                self.binary("and", &mask, &guard)
            }
            None => mask,
        };
        let index = self.splat(&index);
        let ones = self.constant(self.mask_type(), 1);
        for (number, target) in targets.iter().enumerate() {
            let number = self.constant(index.ty, number as i64);
            let is = self.compare("eq", &index, &number);
            let yes = self.binary("and", &taking, &is);
            let others = self.binary("xor", &yes, &ones);
            rest = self.binary("and", &rest, &others);
            self.send(&yes.text, target.0)?;
        }
        if let Some(next) = next {
            self.send(&rest.text, next)?;
        }
        self.go_behind(block, targets.iter().map(|target| target.0).chain(next))
    }

    /// All lanes take one way.
    fn switch_together(
        &mut self,
        block: u32,
        index: &Val,
        targets: &[BlockId],
        next: Option<u32>,
    ) -> Result<(), String> {
        let Some(beyond) = next.or(targets.last().map(|target| target.0)) else {
            return Err("a table without targets".to_owned());
        };
        let other = self.fresh();
        let ways: Vec<(u32, u32)> = targets.iter().map(|target| (self.fresh(), target.0)).collect();
        let cases = ways.iter().enumerate().map(|(number, (label, _))| format!("i32 {number}, label %L{label}"));
        let cases = cases.collect::<Vec<_>>().join(" ");
        self.line(format!("switch i32 {}, label %L{other} [ {cases} ]", index.text));
        for (label, to) in ways.into_iter().chain([(other, beyond)]) {
            self.label(&format!("L{label}"));
            if self.full {
                self.go_in_full(block, to);
            } else {
                self.enter(block, to)?;
            }
        }
        Ok(())
    }
}
