//! Comparison and selection (PTX ISA 9.7.6, 9.7.7): `set`, `setp`.

use std::marker::PhantomData;

use warploom_ptx::ir::BoolOp;

use crate::isa::LaneOp;
use crate::lane::Lane;
use crate::machine::{Flow, Machine};
use crate::program::Inst;

/// How values are compared; the unordered forms hold for NaN (PTX ISA 9.3.1).
pub(crate) trait Relation {
    fn holds<T: PartialOrd>(a: T, b: T) -> bool;
}

macro_rules! relations {
    ($($name:ident |$a:ident, $b:ident| $body:expr;)*) => {$(
        pub(crate) struct $name;
        impl Relation for $name {
            #[inline(always)]
            #[allow(
                clippy::eq_op,
                clippy::neg_cmp_op_on_partial_ord,
                clippy::nonminimal_bool,
                clippy::double_comparisons,
                reason = "NaN is what these tell apart, and these forms become one vector comparison"
            )]
            fn holds<T: PartialOrd>($a: T, $b: T) -> bool {
                $body
            }
        }
    )*};
}

relations! {
    Eq |a, b| a == b;
    // Ordered: false for NaN, unlike `!=`.
    Ne |a, b| a < b || a > b;
    Lt |a, b| a < b;
    Le |a, b| a <= b;
    Gt |a, b| a > b;
    Ge |a, b| a >= b;
    Equ |a, b| !(a < b || a > b);
    Neu |a, b| a != b;
    Ltu |a, b| !(a >= b);
    Leu |a, b| !(a > b);
    Gtu |a, b| !(a <= b);
    Geu |a, b| !(a < b);
    Num |a, b| a == a && b == b;
    Nan |a, b| a != a || b != b;
}

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

/// `setp` and `set` on values of type `T`.
pub(crate) struct Comparison<T, R>(PhantomData<(T, R)>);

impl<T: Lane + PartialOrd, R: Relation> LaneOp for Comparison<T, R> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let holds = machine.test2::<T::Row>(
            inst,
            #[inline(always)]
            |a, b| R::holds(T::of(a), T::of(b)),
        );
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
