//! Matrix instructions of doubles (PTX ISA 9.7.14), by functions: products in vectors, and fragments that are loaded from the CTA's shared memory.

use warploom_ptx::ir::{Base, Element, Fragment, FragmentLayout, Inst, Layout, MatrixOp, Operand, Product};
use warploom_ptx::ir::{Rounding, ScalarType, Shape, Space};

use super::by_function::{Place, Written, parameters};
use super::exchange::WARP;
use super::function::{Val, Writer};
use super::names::{self, Ty};
use super::window;

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

    /// Loads a fragment of doubles if all of it lies in shared memory.
    pub(super) fn doubles_from_shared(&mut self, inst: &Inst, op: &MatrixOp) -> Result<Written, String> {
        let MatrixOp::WmmaLoad { fragment, layout, shape, space, dst, addr, stride, .. } = op else {
            return Ok(Written::Nothing);
        };
        let (is_shared, is_generic) = (*space == Space::Shared, *space == Space::Generic);
        let is_covered = match addr.base {
            Base::Reg(_) => is_shared || is_generic,
            Base::Global(_) => is_shared,
            _ => false,
        };
        if !is_covered {
            return Ok(Written::Nothing);
        }
        let other = self.for_all_lanes();
        let of = FragmentLayout::warp(*fragment, *shape, 64, dst.len());
        let (runs, length) = match layout {
            Layout::Row => (of.rows, of.columns),
            Layout::Col => (of.columns, of.rows),
        };
        let i64 = Ty::int(64, 0);
        let (address, alike) = match addr.base {
            Base::Global(id) => (self.variable(id, 0), None),
            Base::Reg(base) => {
                let address = self.operand(Operand::Reg(base), ScalarType::U64);
                self.of_all(&address)
            }
            _ => return Err(self.lacks(inst)),
        };
        let by = self.constant(i64, addr.offset - if is_shared { 0 } else { window::SHARED });
        let offset = self.binary("add", &address, &by);
        let (apart, alike_too) = match stride {
            None => (self.constant(i64, i64::from(length)), None),
            Some(stride) => {
                let stride = self.operand(*stride, ScalarType::U32);
                let (stride, alike) = self.of_all(&stride);
                (self.resize(&stride, 64, false), alike)
            }
        };
        self.steps = self.steps.max(dst.len() as u32);
        let results: Vec<Place> = (0..dst.len()).map(|at| self.place_of_result(inst, at, at as u32)).collect();
        let (shared, size) = self.shared_memory();
        let alike = [alike, alike_too].into_iter().flatten().reduce(|one, other| self.binary("and", &one, &other));
        let alike = alike.unwrap_or_else(|| self.constant(Ty::int(1, 0), 1));
        let letter = match fragment {
            Fragment::A => 'a',
            Fragment::B => 'b',
            Fragment::C => 'c',
        };
        let name = format!("@doubles_of_{letter}_{layout}_{runs}x{length}");
        let function = self.loads(&name, &of, *layout, dst.len(), [runs, length]);
        self.plan.declare(function);
        let places: Vec<String> = results.iter().map(|place| format!("ptr {}", place.pointer)).collect();
        let (offset, apart, places) = (offset.text, apart.text, places.join(", "));
        let fine = self.set(
            Ty::int(1, 0),
            format!(
                "call i1 {name}(i1 {}, ptr {shared}, i64 {}, i64 {offset}, i64 {apart}, {places})",
                alike.text, size.text
            ),
        );
        self.done_if(&fine, other, inst, (&results, 64))
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

    /// The function that loads a fragment which lies so far behind the start of shared memory, if all of it does; `apart` is the distance of runs in elements.
    fn loads(
        &mut self,
        name: &str,
        of: &FragmentLayout,
        layout: Layout,
        registers: usize,
        [runs, length]: [u16; 2],
    ) -> String {
        let (last, bytes) = (u32::from(runs) - 1, 8 * u32::from(length));
        let body = self.written_apart(|this| {
            this.line(format!(
                "%stride = shl i64 %apart, 3\n%far = mul i64 %stride, {last}\n%from = add i64 %offset, %far\n%end = add i64 %from, {bytes}\n\
                 %begins = icmp ult i64 %offset, %size\n%ends = icmp ule i64 %end, %size\n%low = and i64 %offset, 7\n\
                 %aligned = icmp eq i64 %low, 0\n%inside = and i1 %begins, %ends\n%legal = and i1 %inside, %aligned\n\
                 %fine = and i1 %legal, %alike\nbr i1 %fine, label %load, label %leave\nleave:\nret i1 false\nload:\n\
                 %run0 = getelementptr i8, ptr %shared, i64 %offset"
            ));
            for run in 1..runs {
                this.line(format!("%run{run} = getelementptr i8, ptr %run{}, i64 %stride", run - 1));
            }
            let run = Ty { lanes: u32::from(length), ..DOUBLES };
            let runs = (0..runs).map(|number| this.load_memory(run, &format!("%run{number}"), 8)).collect();
            let matrix = this.joined_in_pairs(runs);
            for register in 0..registers {
                let place = |lane: u32| {
                    let Element { row, column, .. } = of.place(lane, register as u32, 0);
                    let (run, along) = match layout {
                        Layout::Row => (row, column),
                        Layout::Col => (column, row),
                    };
                    i64::from(run) * i64::from(length) + i64::from(along)
                };
                let held = this.shuffled(&matrix, (0..WARP).map(place));
                this.store(&held, &format!("%p{register}"));
            }
            this.line("ret i1 true");
        });
        let results = parameters(registers);
        format!(
            "define internal i1 {name}(i1 %alike, ptr %shared, i64 %size, i64 %offset, i64 %apart, {results}) #1 {{\n{body}}}"
        )
    }

    /// What all lanes are to have alike, as 64 or 32 bits, and whether they do where that is not sure.
    fn of_all(&mut self, value: &Val) -> (Val, Option<Val>) {
        if value.ty.lanes == 0 {
            return (value.clone(), None);
        }
        let first = self.first_running(value);
        let all = self.splat(&first);
        let alike = self.compare("eq", value, &all);
        (first, Some(self.all_run(&alike)))
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
