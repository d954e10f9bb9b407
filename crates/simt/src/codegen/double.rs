//! Products of doubles (PTX ISA 9.7.14), by functions, in vectors.

use warploom_ptx::ir::{Element, Fragment, FragmentLayout, Inst, Operand, Product, Rounding, ScalarType, Shape};

use super::by_function::{Place, Written, parameters};
use super::exchange::WARP;
use super::function::{Val, Writer};
use super::names::{self, Ty};

/// A double of each lane.
const DOUBLES: Ty = Ty { element: names::Element::F64, lanes: WARP };

impl Writer<'_> {
    pub(super) fn product_of_doubles(&mut self, inst: &Inst, product: &Product) -> Result<Written, String> {
        let Product { d_ty, a_ty, b_ty, c_ty, rnd, d, a, b, c, .. } = product;
        let doubles = [d_ty, a_ty, b_ty, c_ty].into_iter().all(|ty| *ty == ScalarType::F64);
        if !doubles || !matches!(rnd, None | Some(Rounding::Rn)) {
            return Ok(Written::Nothing);
        }
        let other = self.for_all_lanes();
        let operands: Vec<Operand> = a.iter().chain(b.iter()).chain(c.iter()).copied().collect();
        let count = operands.len() as u32;
        self.steps = self.steps.max(count + d.len() as u32);
        let mut arguments: Vec<String> = operands
            .iter()
            .zip(0..)
            .map(|(operand, slot)| self.place_of_operand(*operand, ScalarType::F64, slot))
            .collect();
        let results: Vec<Place> = (0..d.len()).map(|at| self.place_of_result(inst, at, count + at as u32)).collect();
        arguments.extend(results.iter().map(|place| place.pointer.clone()));
        let Shape { m, n, k } = product.shape;
        let name = format!("@product_of_doubles_{m}x{n}x{k}");
        let function = self.multiplies(&name, product.shape, [a.len(), b.len(), c.len()]);
        self.plan.declare(function);
        let arguments: Vec<String> = arguments.iter().map(|place| format!("ptr {place}")).collect();
        self.line(format!("call void {name}({})", arguments.join(", ")));
        // It writes to places.
        self.known.clear();
        self.move_results(inst, &results, 64)?;
        let Some(other) = other else { return Ok(Written::All) };
        let done = self.fresh();
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{other}"));
        Ok(Written::Here(done))
    }

    /// The function that multiplies fragments of so many registers: the sums of each register, a product of each lane more for each `k`.
    fn multiplies(&mut self, name: &str, shape: Shape, [of_a, of_b, of_c]: [usize; 3]) -> String {
        let layout = |fragment, registers| FragmentLayout::warp(fragment, shape, 64, registers);
        let (a, b, c) = (layout(Fragment::A, of_a), layout(Fragment::B, of_b), layout(Fragment::C, of_c));
        let places = of_a + of_b + 2 * of_c;
        let body = self.written_apart(|this| {
            let mut held = |place: usize| this.load(DOUBLES, &format!("%p{place}"));
            let factors: Vec<Val> = (0..of_a + of_b).map(&mut held).collect();
            let mut sums: Vec<Val> = (of_a + of_b..places - of_c).map(held).collect();
            for k in 0..shape.k {
                for (register, sum) in sums.iter_mut().enumerate() {
                    let element = |lane: u32| c.place(lane, register as u32, 0);
                    let (of_row, row) = found(&a, of_a, |lane| (element(lane).row, k));
                    let (of_column, column) = found(&b, of_b, |lane| (k, element(lane).column));
                    let row = this.spread(&factors[of_row], &row);
                    let column = this.spread(&factors[of_a + of_column], &column);
                    *sum = this.intrinsic("fma", &[&row, &column, sum]);
                }
            }
            for (sum, place) in sums.iter().zip(places - of_c..) {
                this.store(sum, &format!("%p{place}"));
            }
            this.line("ret void");
        });
        format!("define internal void {name}({}) #1 {{\n{body}}}", parameters(places))
    }

    /// Lanes of a vector in an order. Where all quads have the same, one is made and handed to all of them.
    fn spread(&mut self, value: &Val, order: &[i64]) -> Val {
        if order.chunks(4).any(|quad| *quad != order[..4]) {
            return self.shuffled(value, order.iter().copied());
        }
        let quad = self.shuffled(value, order[..4].iter().copied());
        self.shuffled(&quad, (0..i64::from(WARP)).map(|lane| lane % 4))
    }
}

/// The register of a fragment, and its lanes, with the elements which `wanted` names by lane: one register has all of them.
fn found(of: &FragmentLayout, registers: usize, wanted: impl Fn(u32) -> (u16, u16)) -> (usize, Vec<i64>) {
    let place = |register: usize, (row, column): (u16, u16)| {
        (0..WARP).find(|lane| of.place(*lane, register as u32, 0) == Element { row, column, matrix: 0 })
    };
    let mut found = (0..registers).filter_map(|register| {
        let lanes: Option<Vec<i64>> = (0..WARP).map(|lane| Some(i64::from(place(register, wanted(lane))?))).collect();
        Some((register, lanes?))
    });
    found.next().expect("fragments have all elements of a matrix")
}
