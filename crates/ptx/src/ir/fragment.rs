//! Where the elements of matrices lie in the registers of a warp (PTX ISA 9.7.14.4, 9.7.14.5, 9.7.15.5).
//!
//! Every such layout is a sum of weights: each bit of the lane's number, of the element's place in its register, and of the register's number moves an element by so
//! many rows, columns and matrices. So a layout is these weights, and what makes it is the rule that the manual's figures follow: a quad of
//! lanes along a row of `a` and `c` or a column of `b`, eight quads across, elements and registers in blocks of 8 beyond.

use super::{Fragment, Layout, Shape};

/// Which element of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its row.
    pub row: u16,
    /// Its column.
    pub column: u16,
    /// Of several matrices that a warp multiplies at once, which one.
    pub matrix: u16,
}

impl Element {
    const fn rows(row: u16) -> Self {
        Self { row, column: 0, matrix: 0 }
    }

    const fn columns(column: u16) -> Self {
        Self { row: 0, column, matrix: 0 }
    }

    const fn matrices(matrix: u16) -> Self {
        Self { row: 0, column: 0, matrix }
    }

    /// Rows and columns exchanged.
    const fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    fn plus(self, other: Self) -> Self {
        Self { row: self.row + other.row, column: self.column + other.column, matrix: self.matrix + other.matrix }
    }
}

/// How the elements of a matrix, or of several, are spread over the registers of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FragmentLayout {
    /// Bits of an element.
    pub bits: u32,
    /// Rows of a matrix.
    pub rows: u16,
    /// Columns of a matrix.
    pub columns: u16,
    lanes: [Element; 5],
    elements: Vec<Element>,
    registers: Vec<Element>,
}

/// What the bits of `index` weigh.
fn weight(weights: &[Element], index: u32) -> Element {
    let set = weights.iter().enumerate().filter(|(bit, _)| index >> bit & 1 != 0);
    set.fold(Element::default(), |sum, (_, weight)| sum.plus(*weight))
}

/// Weights of bits that count from `first` up to `end`, doubling.
fn doubling(first: u16, end: u16, weight: fn(u16) -> Element) -> impl Iterator<Item = Element> {
    std::iter::successors(Some(first), |value| value.checked_mul(2)).take_while(move |value| *value < end).map(weight)
}

impl FragmentLayout {
    /// Of `registers` that hold a fragment, those before the first one that holds copies.
    pub fn distinct(&self, registers: usize) -> usize {
        let weights = self.registers.iter().take_while(|weight| **weight != Element::default()).count();
        registers.min(1 << weights)
    }

    /// Elements in a register of 32 bits, or one in a wider one.
    pub fn per_register(&self) -> u32 {
        (32 / self.bits).max(1)
    }

    /// The element that lane `lane` has in place `element`, counted from the low bits, of register `register`.
    pub fn place(&self, lane: u32, register: u32, element: u32) -> Element {
        let within = weight(&self.lanes, lane).plus(weight(&self.elements, element));
        within.plus(weight(&self.registers, register))
    }

    /// Matrix `a` of `m` rows and `k` columns, of elements of `bits`.
    ///
    /// A lane's elements of a register follow each other in its row, quads of lanes behind each other. The registers are in the order: eight rows on, as many columns on as a
    /// quad has, 16 rows on. Registers beyond hold copies.
    fn a(m: u16, k: u16, bits: u32, registers: usize) -> Self {
        let per_register = (32 / bits).max(1) as u16;
        let quad = 4 * per_register;
        let mut weights: Vec<Element> = Vec::new();
        weights.extend((m > 8).then(|| Element::rows(8)));
        weights.extend(doubling(quad, k, Element::columns));
        weights.extend(doubling(16, m, Element::rows));
        weights.resize(registers.max(1).ilog2() as usize, Element::default());
        Self {
            bits,
            rows: m,
            columns: k,
            lanes: [
                Element::columns(per_register),
                Element::columns(2 * per_register),
                Element::rows(1),
                Element::rows(2),
                Element::rows(4),
            ],
            elements: doubling(1, per_register, Element::columns).collect(),
            registers: weights,
        }
    }

    /// Matrix `b` of `k` rows and `n` columns: as `a` with rows and columns exchanged, but that registers go on in `k` first.
    fn b(k: u16, n: u16, bits: u32, registers: usize) -> Self {
        let mut layout = Self::a(8, k, bits, 1);
        layout.registers = doubling(4 * (32 / bits).max(1) as u16, k, Element::columns).collect();
        layout.registers.extend(doubling(8, n, Element::rows));
        layout.registers.resize(registers.max(1).ilog2() as usize, Element::default());
        layout.rows = n;
        layout.transposed()
    }

    /// Matrix `c` or `d`: two columns in each lane of a quad, then eight rows on, then blocks of 8 columns, then 16 rows on.
    fn c(m: u16, n: u16, bits: u32) -> Self {
        let mut beyond = vec![Element::columns(1)];
        beyond.extend((m > 8).then(|| Element::rows(8)));
        beyond.extend(doubling(8, n, Element::columns));
        beyond.extend(doubling(16, m, Element::rows));
        let packed = (32 / bits).max(1).ilog2() as usize;
        let registers = beyond.split_off(packed);
        let lanes = [Element::columns(2), Element::columns(4), Element::rows(1), Element::rows(2), Element::rows(4)];
        Self { bits, rows: m, columns: n, lanes, elements: beyond, registers }
    }

    fn transposed(mut self) -> Self {
        (self.rows, self.columns) = (self.columns, self.rows);
        let weights = self.lanes.iter_mut().chain(&mut self.elements).chain(&mut self.registers);
        weights.for_each(|weight| *weight = weight.transposed());
        self
    }

    /// A fragment of `mma` (PTX ISA 9.7.14.5) or of `wmma`, whose layout the manual leaves open (9.7.14.4) and which has the same here. `bits` are those of an element,
    /// `registers` how many hold the fragment.
    pub fn warp(fragment: Fragment, shape: Shape, bits: u32, registers: usize) -> Self {
        match fragment {
            Fragment::A => Self::a(shape.m, shape.k, bits, registers),
            Fragment::B => Self::b(shape.k, shape.n, bits, registers),
            Fragment::C => Self::c(shape.m, shape.n, bits),
        }
    }

    /// A fragment of `mma.m8n8k4` with `.f16` factors (PTX ISA 9.7.14.5.1): four products at once, one for each pair of quads. `layout` is that of `a` or `b`; of `c`, `bits` are 16 or
    /// 32.
    pub fn quad_pairs(fragment: Fragment, layout: Layout, bits: u32) -> Self {
        let matrices = [Element::matrices(1), Element::matrices(2)];
        let rows = |first: [Element; 2], last: Element| [first[0], first[1], matrices[0], matrices[1], last];
        let along = [Element::columns(1), Element::columns(2)];
        let across = [Element::rows(1), Element::rows(2)];
        match (fragment, layout) {
            (Fragment::A, Layout::Row) => Self {
                bits,
                rows: 8,
                columns: 4,
                lanes: rows(across, Element::rows(4)),
                elements: vec![along[0]],
                registers: vec![along[1]],
            },
            (Fragment::A, Layout::Col) => Self {
                bits,
                rows: 8,
                columns: 4,
                lanes: rows(along, Element::rows(4)),
                elements: vec![across[0]],
                registers: vec![across[1]],
            },
            (Fragment::B, Layout::Col) => Self::quad_pairs(Fragment::A, Layout::Row, bits).transposed(),
            (Fragment::B, Layout::Row) => Self::quad_pairs(Fragment::A, Layout::Col, bits).transposed(),
            (Fragment::C, _) if bits == 16 => Self {
                bits,
                rows: 8,
                columns: 8,
                lanes: rows(across, Element::rows(4)),
                elements: vec![along[0]],
                registers: vec![along[1], Element::columns(4)],
            },
            (Fragment::C, _) => Self {
                bits,
                rows: 8,
                columns: 8,
                lanes: rows([across[0], along[1]], Element::rows(4)),
                elements: Vec::new(),
                registers: vec![along[0], across[1], Element::columns(4)],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many registers and places in them hold each element of each matrix.
    fn holders(layout: &FragmentLayout, registers: u32, matrices: u16) -> Vec<u32> {
        let (rows, columns) = (usize::from(layout.rows), usize::from(layout.columns));
        let mut count = vec![0; rows * columns * usize::from(matrices)];
        for lane in 0..32 {
            for register in 0..registers {
                for element in 0..layout.per_register() {
                    let Element { row, column, matrix } = layout.place(lane, register, element);
                    count[(usize::from(matrix) * rows + usize::from(row)) * columns + usize::from(column)] += 1;
                }
            }
        }
        count
    }

    #[test]
    fn every_element_is_held_as_often_as_the_others() {
        let shape = |m, n, k| Shape { m, n, k };
        // Shape, bits of `a` and `b` and of `c`, registers of the three.
        let fragments = [
            (shape(16, 8, 16), 16, 32, [4, 2, 4]),
            (shape(16, 8, 8), 16, 16, [2, 1, 2]),
            (shape(16, 8, 32), 8, 32, [4, 2, 4]),
            (shape(16, 8, 64), 4, 32, [4, 2, 4]),
            (shape(8, 8, 16), 8, 32, [1, 1, 2]),
            (shape(16, 8, 16), 64, 64, [8, 4, 4]),
            (shape(16, 16, 8), 32, 32, [4, 4, 8]),
            (shape(16, 16, 16), 16, 16, [8, 8, 4]),
            (shape(32, 8, 16), 16, 32, [8, 8, 8]),
            (shape(8, 32, 16), 8, 32, [1, 4, 8]),
            (shape(16, 24, 16), 16, 32, [4, 4, 12]),
        ];
        for (shape, bits, c_bits, registers) in fragments {
            for (fragment, bits, registers) in [
                (Fragment::A, bits, registers[0]),
                (Fragment::B, bits, registers[1]),
                (Fragment::C, c_bits, registers[2]),
            ] {
                // A width that is no power of two is one of accumulators only.
                if fragment == Fragment::B && !shape.n.is_power_of_two() {
                    continue;
                }
                let layout = FragmentLayout::warp(fragment, shape, bits, registers);
                let holders = holders(&layout, registers as u32, 1);
                let copies = registers / layout.distinct(registers);
                assert_eq!(holders, vec![copies as u32; holders.len()], "{fragment} of {shape:?}");
            }
        }
    }

    #[test]
    fn pairs_of_quads_have_a_matrix_each() {
        for layout in [Layout::Row, Layout::Col] {
            for (fragment, bits, registers) in
                [(Fragment::A, 16, 2), (Fragment::B, 16, 2), (Fragment::C, 16, 4), (Fragment::C, 32, 8)]
            {
                let spread = FragmentLayout::quad_pairs(fragment, layout, bits);
                let holders = holders(&spread, registers, 4);
                assert_eq!(holders, vec![1; holders.len()], "{fragment} by {layout}");
            }
        }
    }
}
