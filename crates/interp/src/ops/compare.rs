//! Comparison and selection (PTX ISA 9.7.6, 9.7.7): `set`, `setp`.

use std::marker::PhantomData;

use warploom_numerics::compare;
use warploom_ptx::ir::BoolOp;

use crate::isa::LaneOp;
use crate::lane::Lane;
use crate::machine::{Flow, Machine};
use crate::program::Inst;

/// How values are compared, as a type. All other relations are one of these of the operands in the other order, or the complement of one.
pub(crate) trait Relation {
    const RELATION: compare::Relation;
}

macro_rules! relations {
    ($($name:ident),*) => {$(
        pub(crate) struct $name;
        impl Relation for $name {
            const RELATION: compare::Relation = compare::Relation::$name;
        }
    )*};
}

relations!(Eq, Ne, Lt, Le, Num);

/// What happens to the result of a comparison beyond one predicate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finish {
    pub(crate) combine: Option<(BoolOp, u32)>,
    pub(crate) to: Destination,
}

/// Where a comparison's result goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Destination {
    /// Predicates: the result and its complement.
    Predicates(u32, Option<u32>),
    /// A 32-bit row that becomes the constant where the comparison holds, else 0.
    Word(u32, u32),
}

/// `imm` of a comparison whose result goes to predicate `d` and nowhere else.
pub(crate) const PLAIN: u32 = u32::MAX;

/// `setp` and `set` on values of type `T`. `c` is the mask of all lanes for the complement of the relation, else 0.
pub(crate) struct Comparison<T, R>(PhantomData<(T, R)>);

impl<T: Lane + PartialOrd, R: Relation> LaneOp for Comparison<T, R> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let holds = machine.test2::<T::Row>(
            inst,
            #[inline(always)]
            |a, b| compare::holds(R::RELATION, T::of(a), T::of(b)),
        ) ^ inst.c;
        if inst.imm == PLAIN {
            machine.put_predicate(inst.d, mask, holds);
            return Flow::Next;
        }
        finish(machine, inst.imm, mask, holds)
    }
}

fn finish(machine: &mut Machine<'_>, index: u32, mask: u32, holds: u32) -> Flow {
    let function = machine.function;
    let Finish { combine, to } = function.finishes[index as usize];
    let combined = |machine: &Machine<'_>, value: u32| match combine {
        None => value,
        Some((BoolOp::And, p)) => value & machine.predicate(p),
        Some((BoolOp::Or, p)) => value | machine.predicate(p),
        Some((BoolOp::Xor, p)) => value ^ machine.predicate(p),
    };
    match to {
        Destination::Predicates(p, q) => {
            let (value, complement) = (combined(machine, holds), combined(machine, !holds));
            machine.put_predicate(p, mask, value);
            if let Some(q) = q {
                machine.put_predicate(q, mask, complement);
            }
        }
        Destination::Word(d, value) => {
            let set = combined(machine, holds);
            let row: [u32; 32] = std::array::from_fn(|lane| if set >> lane & 1 != 0 { value } else { 0 });
            machine.put(d, mask, &row);
        }
    }
    Flow::Next
}
