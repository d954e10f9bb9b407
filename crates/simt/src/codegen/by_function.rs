//! Instructions on matrices that are done by functions beside the kernel's, one for all instructions alike. Operands and results stay where they are in memory, and come into
//! registers where the functions are inlined; where an instruction is not for its function, the executor does it.
//!
//! Kernels that multiply matrices have hundreds of these instructions one after another, thousands of doubles, as a product of 8 by 4 by 8 is one: in place they would be
//! more than is optimised.

use warploom_ptx::ir::{Inst, MatrixOp, Op, Operand, ScalarType};

use super::context;
use super::function::{Val, Writer};
use super::names::Ty;
use super::step::PLACE;

/// What has been written of an instruction.
pub(super) enum Written {
    /// Nothing: it is none of these.
    Nothing,
    /// All of it.
    All,
    /// What is done where all goes well, which goes on at this label. What follows is for where it does not.
    Here(u32),
}

/// Where a function finds what an instruction reads, or puts what it writes.
pub(super) struct Place {
    pub(super) pointer: String,
    /// Of a result: it is to be read from there, and written where it belongs.
    moves: bool,
}

impl Writer<'_> {
    /// Writes what an instruction does, as far as a function does it.
    pub(super) fn by_function(&mut self, inst: &Inst) -> Result<Written, String> {
        let Op::Matrix(op) = &inst.op else { return Ok(Written::Nothing) };
        match &**op {
            MatrixOp::WmmaMma(product) | MatrixOp::Mma(product) => self.product_of_doubles(inst, product),
            MatrixOp::WmmaLoad { .. } | MatrixOp::WmmaStore { .. } => self.fragment(inst),
            MatrixOp::LdMatrix { .. } | MatrixOp::StMatrix { .. } => self.tiles(inst, op),
            _ => Ok(Written::Nothing),
        }
    }

    /// Where an operand's lanes are in memory: a place of their own, or one of a step's.
    pub(super) fn place_of_operand(&mut self, operand: Operand, ty: ScalarType, slot: u32) -> String {
        if let Some(place) = self.value_of(operand).and_then(|value| self.lanes_in_place(value)) {
            return place;
        }
        let value = self.operand(operand, ty);
        let value = self.splat(&value);
        let place = self.offset("%steps", PLACE * slot);
        self.store(&value, &place);
        place
    }

    /// Where a result goes.
    pub(super) fn place_of_result(&mut self, inst: &Inst, at: usize, slot: u32) -> Place {
        match self.written(inst, at).and_then(|value| self.place_of_all(value)) {
            Some(pointer) => Place { pointer, moves: false },
            None => Place { pointer: self.offset("%steps", PLACE * slot), moves: true },
        }
    }

    /// Writes what results, of so many bits, are not where they belong.
    pub(super) fn move_results(&mut self, inst: &Inst, places: &[Place], bits: u32) -> Result<(), String> {
        for (at, place) in places.iter().enumerate().filter(|(_, place)| place.moves) {
            let value = self.load(Ty::int(bits, self.lanes()), &place.pointer);
            self.write(inst, at, &value, false)?;
        }
        Ok(())
    }

    /// Where the CTA's shared memory is, and how many bytes it has.
    pub(super) fn shared_memory(&mut self) -> (String, Val) {
        let (shared, size) = (self.pointer(context::SHARED), self.field(context::SHARED_SIZE));
        (shared, self.set(Ty::int(64, 0), format!("load i64, ptr {size}, !invariant.load !0")))
    }

    /// What a function has done is done if it says so, and results of so many bits are moved; what follows is for where it does not, and for who comes to the label that there is already.
    pub(super) fn done_if(
        &mut self,
        fine: &Val,
        other: Option<u32>,
        inst: &Inst,
        (results, bits): (&[Place], u32),
    ) -> Result<Written, String> {
        let (here, done) = (self.fresh(), self.fresh());
        let other = other.unwrap_or_else(|| self.fresh());
        self.line(format!("br i1 {}, label %L{here}, label %L{other}, !prof !2", fine.text));
        self.label(&format!("L{here}"));
        self.move_results(inst, results, bits)?;
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{other}"));
        Ok(Written::Here(done))
    }

    /// Goes on where all lanes run; what comes at the label that is given back, if there is one, is for where they do not.
    pub(super) fn for_all_lanes(&mut self) -> Option<u32> {
        if self.full {
            return None;
        }
        let bits = self.running();
        let every = self.constant(bits.ty, -1);
        let all = self.compare("eq", &bits, &every);
        let (here, other) = (self.fresh(), self.fresh());
        self.line(format!("br i1 {}, label %L{here}, label %L{other}, !prof !2", all.text));
        self.label(&format!("L{here}"));
        Some(other)
    }
}

/// Pointers to so many places.
pub(super) fn parameters(places: usize) -> String {
    (0..places).map(|place| format!("ptr %p{place}")).collect::<Vec<_>>().join(", ")
}
