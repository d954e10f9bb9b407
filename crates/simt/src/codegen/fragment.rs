//! Fragments of `wmma` between memory and registers (PTX ISA 9.7.14.4.11, 9.7.14.4.12), by functions.
//!
//! A matrix lies in memory by rows or by columns: *runs*, one after another at a distance. What a register holds is parts of some runs, all at the same place and
//! of the same length, which are joined and put in the order of the lanes, or the other way round.

use warploom_ptx::ir::{
    Address, Base, Body, Element, Fragment, FragmentLayout, Inst, Layout, MatrixOp, Op, Operand, Operands, ScalarType,
    Shape, Space,
};

use super::asked::{Argument, Asked};
use super::by_function::{Place, Written, parameters};
use super::exchange::WARP;
use super::function::{Val, Writer};
use super::names::Ty;
use super::window;
use crate::access::AccessKind;

/// A matrix that is loaded, or stored.
pub(super) struct Transfer<'i> {
    fragment: Fragment,
    layout: Layout,
    shape: Shape,
    space: Space,
    ty: ScalarType,
    /// How many registers hold it.
    registers: usize,
    address: &'i Address,
    stride: Option<Operand>,
    /// What is stored.
    stored: Option<&'i Operands>,
}

/// Parts of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tile {
    runs: Vec<u16>,
    /// Where they begin.
    first: u16,
    length: u16,
}

/// Which part of which run: its number, and how far along it is.
type Along = [u16; 2];

/// Registers of one tile, and where in them its elements are, by runs.
struct Held {
    tile: Tile,
    registers: Vec<usize>,
    order: Vec<i64>,
}

impl<'i> Transfer<'i> {
    pub(super) fn of(inst: &'i Inst) -> Option<Self> {
        let Op::Matrix(op) = &inst.op else { return None };
        Some(match &**op {
            MatrixOp::WmmaLoad { fragment, layout, shape, space, ty, dst, addr, stride } => Self {
                fragment: *fragment,
                layout: *layout,
                shape: *shape,
                space: *space,
                ty: *ty,
                registers: dst.len(),
                address: addr,
                stride: *stride,
                stored: None,
            },
            MatrixOp::WmmaStore { layout, shape, space, ty, src, addr, stride } => Self {
                fragment: Fragment::C,
                layout: *layout,
                shape: *shape,
                space: *space,
                ty: *ty,
                registers: src.len(),
                address: addr,
                stride: *stride,
                stored: Some(src),
            },
            _ => return None,
        })
    }

    pub(super) fn kind(&self) -> AccessKind {
        if self.stored.is_some() { AccessKind::Store } else { AccessKind::Load }
    }

    /// Whether it may lie in global memory.
    fn is_global(&self) -> bool {
        matches!((self.address.base, self.space), (Base::Reg(_), Space::Global | Space::Generic))
    }

    fn is_covered(&self) -> bool {
        match self.address.base {
            Base::Reg(_) => matches!(self.space, Space::Shared | Space::Global | Space::Generic),
            Base::Global(_) => self.space == Space::Shared,
            _ => false,
        }
    }

    /// Bits of what is moved as one: an element, or a register of those that have less than a byte.
    fn bits(&self) -> u32 {
        if self.ty.bits() < 8 { 32 } else { self.ty.bits() }
    }

    /// Bytes of the same, of which addresses are multiples.
    pub(super) fn unit(&self) -> u32 {
        self.bits() / 8
    }

    fn spread(&self) -> FragmentLayout {
        FragmentLayout::warp(self.fragment, self.shape, self.ty.bits(), self.registers)
    }

    /// How many runs there are, and the elements of each.
    fn runs(&self) -> [u16; 2] {
        let FragmentLayout { rows, columns, .. } = self.spread();
        match self.layout {
            Layout::Row => [rows, columns],
            Layout::Col => [columns, rows],
        }
    }

    /// What a register holds, by lane and from its low bits on.
    fn along(&self, of: &FragmentLayout, register: u32) -> Vec<Along> {
        let (count, together) = match self.ty.bits() {
            bits if bits < 8 => (1, (32 / bits) as u16),
            _ => (of.per_register(), 1),
        };
        let all = (0..WARP).flat_map(|lane| (0..count).map(move |element| (lane, element)));
        let along = |(lane, element)| {
            let Element { row, column, .. } = of.place(lane, register, element);
            match self.layout {
                Layout::Row => [row, column / together],
                Layout::Col => [column, row / together],
            }
        };
        all.map(along).collect()
    }

    /// The registers by tiles, if each tile is held whole.
    fn held(&self) -> Option<Vec<Held>> {
        let of = self.spread();
        let each: Vec<Vec<Along>> = (0..self.registers as u32).map(|register| self.along(&of, register)).collect();
        let mut all: Vec<Held> = Vec::new();
        for (register, along) in each.iter().enumerate() {
            let tile = Tile::of(along)?;
            match all.iter_mut().find(|held| held.tile == tile) {
                Some(held) => held.registers.push(register),
                None => all.push(Held { tile, registers: vec![register], order: Vec::new() }),
            }
        }
        for Held { tile, registers, order } in &mut all {
            let held: Vec<Along> = registers.iter().flat_map(|register| each[*register].iter().copied()).collect();
            let place = |wanted| held.iter().position(|along| *along == wanted).map(|place| place as i64);
            *order = tile.elements().map(place).collect::<Option<_>>().filter(|_| registers.len().is_power_of_two())?;
        }
        Some(all)
    }

    /// The name of the function that moves it.
    fn name(&self) -> String {
        let does = if self.stored.is_some() { "store" } else { "load" };
        let (Shape { m, n, k }, bits, registers) = (self.shape, self.ty.bits(), self.registers);
        format!("@{does}_{}_{}_{m}x{n}x{k}_{bits}_{registers}", self.fragment, self.layout)
    }
}

/// The instructions that move fragments which may lie in global memory.
pub(super) fn fragments(body: &Body) -> Vec<u32> {
    let global = |inst: &Inst| Transfer::of(inst).is_some_and(|transfer| transfer.is_global());
    (0..).zip(&body.insts).filter(|(_, inst)| global(inst)).map(|(number, _)| number).collect()
}

impl Tile {
    /// Around what a register holds: parts of a power of two that begin at a multiple of their length, so that registers that hold elements in turns have one tile.
    fn of(along: &[Along]) -> Option<Self> {
        let mut runs: Vec<u16> = along.iter().map(|[run, _]| *run).collect();
        runs.sort_unstable();
        runs.dedup();
        let least = along.iter().map(|[_, at]| *at).min()?;
        let most = along.iter().map(|[_, at]| *at).max()?;
        let length = (0..u16::BITS).map(|bits| 1 << bits).find(|length| least / length == most / length)?;
        runs.len().is_power_of_two().then_some(Self { runs, first: least / length * length, length })
    }

    /// All that is in it.
    fn elements(&self) -> impl Iterator<Item = Along> {
        self.runs.iter().flat_map(|run| (self.first..self.first + self.length).map(|at| [*run, at]))
    }

    /// The numbers of elements in it.
    fn numbers(&self, along: &[Along]) -> Vec<i64> {
        let number = |[run, at]: &Along| {
            let before = self.runs.partition_point(|other| other < run) as i64;
            before * i64::from(self.length) + i64::from(at - self.first)
        };
        along.iter().map(number).collect()
    }
}

impl Writer<'_> {
    /// Loads or stores a fragment, if all of it lies in the CTA's shared memory, or in what is known to be allowed of global memory.
    pub(super) fn fragment(&mut self, inst: &Inst) -> Result<Written, String> {
        let Some(transfer) = Transfer::of(inst).filter(Transfer::is_covered) else { return Ok(Written::Nothing) };
        let Some(function) = self.moves(&transfer) else { return Ok(Written::Nothing) };
        self.plan.declare(function);
        let other = self.for_all_lanes();
        let (apart, alike_too) = self.apart(&transfer);
        let (address, alike) = match transfer.address.base {
            Base::Global(id) => (self.variable(id, 0), None),
            Base::Reg(base) => {
                let address = self.operand(Operand::Reg(base), ScalarType::U64);
                self.of_all(&address)
            }
            _ => return Err(self.lacks(inst)),
        };
        let by = self.constant(address.ty, transfer.address.offset);
        let address = self.binary("add", &address, &by);
        let alike = [alike, alike_too].into_iter().flatten().reduce(|one, other| self.binary("and", &one, &other));
        let alike = alike.unwrap_or_else(|| self.constant(Ty::int(1, 0), 1));
        let registers = transfer.registers;
        self.steps = self.steps.max(registers as u32);
        let (results, places): (Vec<Place>, Vec<String>) = match transfer.stored {
            Some(stored) => {
                let ty = if transfer.ty.bits() < 32 { ScalarType::B32 } else { transfer.ty };
                let place = |(operand, slot): (&Operand, u32)| self.place_of_operand(*operand, ty, slot);
                (Vec::new(), stored.iter().zip(0..).map(place).collect())
            }
            None => {
                let place = |at: usize| self.place_of_result(inst, at, at as u32);
                let results: Vec<Place> = (0..registers).map(place).collect();
                let places = results.iter().map(|place| place.pointer.clone()).collect();
                (results, places)
            }
        };
        let [memory, size, offset] = self.memory_of(&transfer, &address);
        let places: Vec<String> = places.iter().map(|place| format!("ptr {place}")).collect();
        let call = format!(
            "call i1 {}(i1 {}, ptr {}, i64 {}, i64 {}, i64 {}, {})",
            transfer.name(),
            alike.text,
            memory.text,
            size.text,
            offset.text,
            apart.text,
            places.join(", ")
        );
        let fine = self.set(Ty::int(1, 0), call);
        self.done_if(&fine, other, inst, (&results, transfer.ty.bits().max(32)))
    }

    /// How far one run is behind the other, in bytes, and whether it is as far for all lanes, if that is not sure. Without a stride they follow each other.
    fn apart(&mut self, transfer: &Transfer<'_>) -> (Val, Option<Val>) {
        let (i64, bits) = (Ty::int(64, 0), i64::from(transfer.ty.bits()));
        let Some(stride) = transfer.stride else {
            return (self.constant(i64, i64::from(transfer.runs()[1]) * bits / 8), None);
        };
        let stride = self.operand(stride, ScalarType::U32);
        let (stride, alike) = self.of_all(&stride);
        let stride = self.resize(&stride, 64, false);
        let (bits, byte) = (self.constant(i64, bits), self.constant(i64, 3));
        let bits = self.binary("mul", &stride, &bits);
        (self.binary("lshr", &bits, &byte), alike)
    }

    /// The start of the memory where a matrix lies, how many bytes there are, and how far behind the start it begins.
    fn memory_of(&mut self, transfer: &Transfer<'_>, address: &Val) -> [Val; 3] {
        let (shared, size) = self.shared_memory();
        let i64 = Ty::int(64, 0);
        let shared = Val { ty: i64, text: shared };
        if transfer.space == Space::Shared {
            return [shared, size, address.clone()];
        }
        let window = self.constant(i64, window::SHARED);
        let behind = self.binary("sub", address, &window);
        let is_shared = match transfer.space {
            Space::Generic => self.compare("ult", &behind, &size),
            _ => self.constant(Ty::int(1, 0), 0),
        };
        let site = self.plan.site_of_fragment(self.inst);
        let inside = self.is_inside(site, address, transfer.unit());
        let known = self.binary("or", &inside, &is_shared);
        let (find, on) = (self.fresh(), self.fresh());
        self.line(format!("br i1 {}, label %L{on}, label %L{find}, !prof !2", known.text));
        self.label(&format!("L{find}"));
        self.ask_executor(Asked::Find, &[Argument::Value(address), Argument::Number(site)]);
        self.line(format!("br label %L{on}"));
        self.label(&format!("L{on}"));
        let [start, count] = self.entry(site);
        let by = self.constant(i64, i64::from(transfer.unit().trailing_zeros()));
        let (bytes, far) = (self.binary("shl", &count, &by), self.binary("sub", address, &start));
        let start = self.at_address(&start);
        if transfer.space == Space::Global {
            return [start, bytes, far];
        }
        let choice = format!("select i1 {}, ptr {}, ptr {}", is_shared.text, shared.text, start.text);
        let memory = self.set(i64, choice);
        [memory, self.select(&is_shared, &size, &bytes), self.select(&is_shared, &behind, &far)]
    }

    /// The function that moves a fragment which lies so far behind the start of some memory, if all of it lies in that.
    fn moves(&mut self, transfer: &Transfer<'_>) -> Option<String> {
        let held = transfer.held()?;
        let [runs, length] = transfer.runs();
        let (last, bytes) = (runs - 1, u32::from(length) * transfer.ty.bits() / 8);
        let body = self.written_apart(|this| {
            this.line(format!(
                "%far = mul i64 %apart, {last}\n%from = add i64 %offset, %far\n%end = add i64 %from, {bytes}\n\
                 %begins = icmp ult i64 %offset, %size\n%ends = icmp ule i64 %end, %size\n%both = or i64 %offset, %apart\n\
                 %low = and i64 %both, {}\n%aligned = icmp eq i64 %low, 0\n%inside = and i1 %begins, %ends\n\
                 %legal = and i1 %inside, %aligned\n%fine = and i1 %legal, %alike\n\
                 br i1 %fine, label %go, label %leave, !prof !2\nleave:\nret i1 false\ngo:\n\
                 %run0 = getelementptr i8, ptr %memory, i64 %offset",
                transfer.unit() - 1
            ));
            for run in 1..runs {
                this.line(format!("%run{run} = getelementptr i8, ptr %run{}, i64 %apart", run - 1));
            }
            match transfer.stored {
                Some(_) => this.stores_fragment(transfer, &held),
                None => this.loads_fragment(transfer),
            }
            this.line("ret i1 true");
        });
        // What is a register or two, as those of doubles are, takes no more in place than a call does.
        let attributes = if transfer.registers > 2 { "#2" } else { "#1" };
        Some(format!(
            "define internal i1 {}(i1 %alike, ptr %memory, i64 %size, i64 %offset, i64 %apart, {}) {attributes} {{\n{body}}}",
            transfer.name(),
            parameters(transfer.registers)
        ))
    }

    fn loads_fragment(&mut self, transfer: &Transfer<'_>) {
        let (of, bits) = (transfer.spread(), transfer.bits());
        let mut load = |register: u32| {
            let along = transfer.along(&of, register);
            let tile = Tile::of(&along).expect("the tiles have been found");
            let part = Ty::int(bits, u32::from(tile.length));
            let parts = tile.runs.iter().map(|run| {
                let from = self.part_of_run(*run, &tile, transfer.unit());
                self.load_memory(part, &from, transfer.unit())
            });
            let parts = parts.collect();
            let all = self.joined_in_pairs(parts);
            self.shuffled(&all, tile.numbers(&along))
        };
        let held: Vec<Val> = (0..transfer.registers as u32).map(&mut load).collect();
        for (register, held) in held.iter().enumerate() {
            let words = self.regrouped(held, Ty::int(bits.max(32), WARP));
            self.store(&words, &format!("%p{register}"));
        }
    }

    fn stores_fragment(&mut self, transfer: &Transfer<'_>, held: &[Held]) {
        let bits = transfer.bits();
        let elements = Ty::int(bits, WARP * bits.max(32) / bits);
        for Held { tile, registers, order } in held {
            let registers = registers.iter().map(|register| {
                let words = self.load(Ty::int(bits.max(32), WARP), &format!("%p{register}"));
                self.regrouped(&words, elements)
            });
            let registers = registers.collect();
            let all = self.joined_in_pairs(registers);
            let all = self.shuffled(&all, order.iter().copied());
            let length = i64::from(tile.length);
            for (run, first) in tile.runs.iter().zip((0..).step_by(usize::from(tile.length))) {
                let part = self.shuffled(&all, first..first + length);
                let to = self.part_of_run(*run, tile, transfer.unit());
                self.store_memory(&part, &to, transfer.unit());
            }
        }
    }

    /// Where a tile's part of a run begins.
    fn part_of_run(&mut self, run: u16, tile: &Tile, unit: u32) -> String {
        self.offset(&format!("%run{run}"), u32::from(tile.first) * unit)
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
