//! Quads: four words that lie behind each other, of each lane, wherever lanes go. One load of 16 bytes for each lane and an exchange between four registers is less work
//! than four gathers, each of which loads every lane's word by itself.
//!
//! They are the parts of a vector, or loads of one block with one base, as compilers make of the trips of a loop.
//!
//! Where lanes go to quads near each other in a known way (a thread's four columns of a tile), all of them are loaded as they lie, once, and exchanged. For each word by itself
//! all that lies between the lanes' words would be loaded again, and taken apart with half as many shuffles more.

use warploom_ptx::ir::{Base, FloatBinaryOp, FloatUnaryOp, Inst, IntBinaryOp, Op, ScalarType, Semantics, Space};

use super::function::{Val, Writer};
use super::how::{How, how};
use super::memory::Target;
use super::names::{Element, Ty};
use crate::values::{ValueId, paired};

/// Words of a quad.
const WORDS: usize = 4;

/// Its bytes.
const QUAD: i64 = 16;

/// The loads of a quad.
pub(super) struct Quad {
    /// From what the instruction that is written loads to the first word, in bytes.
    low: i64,
    /// By word: the instruction that loads it. None of a vector, all of which the instruction loads.
    loads: Option<[u32; WORDS]>,
}

/// What quads of lanes are to hold.
pub(super) struct Stored {
    words: [Val; WORDS],
    /// By lane, from the first lane's address, in bytes.
    from: Vec<i64>,
}

impl Writer<'_> {
    /// The quad that an instruction loads, or begins; none if not all lanes run, as what they do not load need not be memory.
    pub(super) fn quad(&self, target: &Target, ty: ScalarType, parts: usize) -> Option<Quad> {
        if !self.takes_quads(target, ty) {
            return None;
        }
        match parts {
            WORDS => Some(Quad { low: 0, loads: None }),
            1 => self.quad_of_several(target),
            _ => None,
        }
    }

    /// Whether all lanes run, and may have quads of such elements.
    fn takes_quads(&self, target: &Target, ty: ScalarType) -> bool {
        let fits = self.full && self.is_for_all_lanes() && ty.bits() == 32 && self.lanes().is_multiple_of(WORDS as u32);
        fits && target.space != Space::Local && self.plan.machine().x86
    }

    /// By lane, how far the quad that an instruction loads, or begins, is from the first lane's address, in bytes, where all lanes' fill a piece of memory without gaps.
    pub(super) fn near_quad(&self, target: &Target, ty: ScalarType, parts: usize) -> Option<(Quad, Vec<i64>)> {
        let apart = target.apart.as_ref().filter(|apart| is_dense(apart, QUAD))?;
        let quad = self.quad(target, ty, parts)?;
        let from = apart.iter().map(|apart| apart + quad.low).collect();
        Some((quad, from))
    }

    /// The quad of which the instruction that is written is the first load, nothing being written to memory before the last.
    fn quad_of_several(&self, target: &Target) -> Option<Quad> {
        let (plan, body) = (self.plan, self.body());
        let address = plan.address_of(self.inst)?;
        let offset = |inst: u32| match &body.insts[inst as usize].op {
            Op::Ld { semantics: Semantics::Weak, dst, addr, ty, .. } if dst.len() == 1 && ty.bits() == 32 => {
                matches!(addr.base, Base::Reg(_)).then_some(addr.offset)
            }
            _ => None,
        };
        let own = offset(self.inst)?;
        let bytes = i64::from(target.bytes);
        let fellows = self.looked_at_with(target, address, QUAD)?;
        let loads_at = |at: i64| fellows.iter().copied().find(|inst| *inst >= self.inst && offset(*inst) == Some(at));
        (0..WORDS as i64).find_map(|before| {
            let low = own - before * bytes;
            let loads = [0, 1, 2, 3].map(|word| loads_at(low + word * bytes));
            let [Some(a), Some(b), Some(c), Some(d)] = loads else { return None };
            let loads = [a, b, c, d];
            let last = loads.into_iter().max()?;
            (self.inst..last)
                .all(|inst| self.only_reads(inst, address))
                .then_some(Quad { low: low - own, loads: Some(loads) })
        })
    }

    /// Accesses of the block with the address of the instruction that is written, which may be made once that one is: one look has told of all of them, or none need be looked at.
    /// Where none need be, lanes are to be so many bytes apart.
    fn looked_at_with(&self, target: &Target, address: ValueId, apart: i64) -> Option<Vec<u32>> {
        let plan = self.plan;
        if let Some((_, hull)) = plan.hull(self.inst) {
            return Some(hull.members.clone());
        }
        let dense = target.apart.as_ref().is_some_and(|all| is_dense(all, apart));
        if !target.is_proven() || !dense {
            return None;
        }
        let same = |inst: &u32| {
            let space = |inst: u32| match &self.body().insts[inst as usize].op {
                Op::Ld { space, .. } | Op::St { space, .. } => Some(*space),
                _ => None,
            };
            let proven = plan.access(*inst).is_some_and(|(_, access)| access.proven && access.bytes == target.bytes);
            proven
                && space(*inst) == space(self.inst)
                && plan.address_of(*inst) == Some(address)
                && self.body().insts[*inst as usize].guard.is_none()
        };
        let block = plan.block_of[self.inst as usize];
        Some((self.inst..self.body().blocks[block as usize].insts.end).filter(same).collect())
    }

    /// Whether an instruction leaves memory and an address as they are.
    fn only_reads(&self, inst: u32, address: ValueId) -> bool {
        let plan = self.plan;
        let written = &self.body().insts[inst as usize];
        let reads = match &written.op {
            Op::Ld { semantics, .. } => *semantics == Semantics::Weak,
            op => how(op) == How::Vector && plan.access(inst).is_none(),
        };
        let operands = written.operands();
        let mut written =
            paired(&operands, plan.info.values.of_inst(inst)).filter(|(operand, _)| operand.def().is_some());
        reads && written.all(|(_, value)| value != Some(address))
    }

    /// Loads it: into the places of a vector's parts, or one for each instruction, which finds it there.
    pub(super) fn load_quad(
        &mut self,
        inst: &Inst,
        target: &Target,
        quad: &Quad,
        ty: ScalarType,
        places: &[String],
    ) -> Result<(), String> {
        let ty = Ty { element: Element::bits_of(ty), lanes: self.lanes() };
        let pointers = self.gather_pointers(inst, target, 0)?;
        self.line(format!("store <{} x ptr> {}, ptr %addresses, align 64", ty.lanes, pointers.text));
        let (name, result) = self.quad_function(ty);
        let all = self.set(ty, format!("call {result} {name}(ptr %addresses, i64 {})", quad.low)).text;
        let words = [0, 1, 2, 3].map(|at| self.set(ty, format!("extractvalue {result} {all}, {at}")));
        self.hand_over(quad, &words, places);
        Ok(())
    }

    /// Loads one whose lanes are so far from where the first one's address leads.
    pub(super) fn load_near_quad(
        &mut self,
        target: &Target,
        (quad, from): &(Quad, Vec<i64>),
        ty: ScalarType,
        places: &[String],
    ) {
        let (lanes, bytes) = (self.lanes(), ty.bytes());
        let words = Ty { element: Element::bits_of(ty), lanes };
        let first = self.place_of(target);
        let at = |this: &mut Self, bytes: i64| {
            this.set(Ty::int(64, 0), format!("getelementptr i8, ptr {first}, i64 {bytes}")).text
        };
        let low = from.iter().copied().min().unwrap_or_default();
        let all = if self.plan.has_wide_vectors() {
            let vectors = [0, 1, 2, 3].map(|vector| {
                let place = at(self, low + vector * i64::from(lanes * bytes));
                self.load_memory(words, &place, bytes)
            });
            let order: Vec<i64> = from.iter().map(|from| (from - low) / i64::from(bytes)).collect();
            self.exchanged_as_they_lie(&vectors, &order)
        } else {
            let rows: Vec<Val> = from
                .iter()
                .map(|from| {
                    let place = at(self, *from);
                    self.load_memory(Ty { lanes: WORDS as u32, ..words }, &place, bytes)
                })
                .collect();
            self.exchanged_by_registers(&rows)
        };
        self.hand_over(quad, &all, places);
    }

    /// Words of a quad to where they are wanted: the places of what the instruction loads, and one for each other load.
    fn hand_over(&mut self, quad: &Quad, words: &[Val; WORDS], places: &[String]) {
        for (at, value) in words.iter().enumerate() {
            match quad.loads.map(|loads| loads[at]) {
                None => self.store(value, &places[at]),
                Some(load) if load == self.inst => self.store(value, &places[0]),
                Some(load) => {
                    let place = self.new_place(value.ty);
                    self.store(value, &place);
                    self.quads.insert((load, self.member), place);
                }
            }
        }
    }

    /// What the quads of lanes hold that an instruction stores, or begins to store, none of which lies on another.
    pub(super) fn near_quad_stored(
        &mut self,
        inst: &Inst,
        target: &Target,
        ty: ScalarType,
        values: &[Val],
    ) -> Option<Stored> {
        let apart = target.apart.as_ref().filter(|apart| lie_apart(apart))?;
        if !self.takes_quads(target, ty) {
            return None;
        }
        let (low, words) = match values {
            [a, b, c, d] => (0, [a, b, c, d].map(Clone::clone)),
            [_] => {
                let (low, words) = self.stored_at_once(inst, target, WORDS)?;
                (low, <[Val; WORDS]>::try_from(words).ok()?)
            }
            _ => return None,
        };
        let from = apart.iter().map(|apart| apart + low).collect();
        Some(Stored { words: words.map(|word| self.splat(&word)), from })
    }

    /// So many elements that this instruction and those behind it store, each behind the other's, and how far the first of them is from where this one stores.
    pub(super) fn stored_at_once(&mut self, inst: &Inst, target: &Target, count: usize) -> Option<(i64, Vec<Val>)> {
        let (plan, body) = (self.plan, self.body());
        let address = plan.address_of(self.inst)?;
        let Op::St { ty, addr, .. } = &inst.op else { return None };
        let (first, bytes, own) = (self.inst, i64::from(target.bytes), addr.offset);
        let fellows = self.looked_at_with(target, address, count as i64 * bytes)?;
        let until = body.blocks[plan.block_of[first as usize] as usize].insts.end;
        let mut between = Vec::new();
        let mut stores = Vec::new();
        for at in first..until {
            match &body.insts[at as usize].op {
                Op::St { semantics: Semantics::Weak, src, addr, .. } if src.len() == 1 && fellows.contains(&at) => {
                    stores.push((addr.offset, at, src[0]));
                }
                _ if self.goes_before(at) => between.push(at),
                _ => return None,
            }
            if stores.len() == count {
                break;
            }
        }
        stores.sort_by_key(|(offset, ..)| *offset);
        let low = stores.first()?.0;
        let follow = stores.iter().zip(0..).all(|((offset, ..), at)| *offset == low + at * bytes);
        if stores.len() < count || !follow {
            return None;
        }
        // Full code may be left at the first store, and all of them are done once more then: none writes what it reads itself, or what stands before it.
        let reads = |at: u32, value: ValueId| {
            let operands = body.insts[at as usize].operands();
            let mut all = paired(&operands, plan.info.values.of_inst(at));
            all.any(|(operand, other)| operand.read().is_some() && other == Some(value))
        };
        let overwrites = |at: &u32| {
            let operands = body.insts[*at as usize].operands();
            let mut written =
                paired(&operands, plan.info.values.of_inst(*at)).filter(|(operand, _)| operand.def().is_some());
            written.any(|(_, value)| value.is_none_or(|value| (first..=*at).any(|before| reads(before, value))))
        };
        if between.iter().any(overwrites) {
            return None;
        }
        for at in between {
            let inst = self.turn_to(at);
            if let Err(reason) = self.instruction(inst) {
                self.refused.get_or_insert(reason);
            }
            self.written_before.insert(at);
        }
        let mut elements = Vec::new();
        for (_, at, source) in stores {
            self.turn_to(at);
            self.stored_with.insert((at, self.member));
            elements.push(self.operand(source, *ty));
        }
        self.turn_to(first);
        self.stored_with.remove(&(first, self.member));
        Some((low - own, elements))
    }

    /// Whether an instruction between such stores may be written before the first of them: it is for all lanes and only computes, and full code is not left at it.
    fn goes_before(&self, inst: u32) -> bool {
        let written = &self.body().insts[inst as usize];
        let computes = matches!(
            &written.op,
            Op::Mov { .. }
                | Op::Cvt { .. }
                | Op::Logic { .. }
                | Op::Shift { .. }
                | Op::IntUnary { .. }
                | Op::Mul { .. }
                | Op::Mad { .. }
                | Op::Selp { .. }
                | Op::Fma { .. }
                | Op::FloatMinMax { .. }
                | Op::FloatUnary { op: FloatUnaryOp::Neg | FloatUnaryOp::Abs, .. }
                | Op::FloatBinary { op: FloatBinaryOp::Add | FloatBinaryOp::Sub | FloatBinaryOp::Mul, .. }
                | Op::IntBinary { op: IntBinaryOp::Add | IntBinaryOp::Sub | IntBinaryOp::Min | IntBinaryOp::Max, .. }
        );
        computes && written.guard.is_none() && self.team == 0 && !self.plan.is_deferrable(inst)
    }

    /// Stores what the quads of lanes hold.
    pub(super) fn store_near_quad(&mut self, target: &Target, stored: &Stored, ty: ScalarType) {
        let bytes = i64::from(ty.bytes());
        let first = self.place_of(target);
        let [a, b, c, d] = &stored.words;
        let low = stored.from.iter().copied().min().unwrap_or_default();
        let mut pieces = Vec::new();
        if self.plan.has_wide_vectors() && is_dense(&stored.from, QUAD) {
            let mut order = vec![0; stored.from.len()];
            for (from, lane) in stored.from.iter().zip(0..) {
                order[((from - low) / QUAD) as usize] = lane;
            }
            let width = order.len() as i64;
            for (half, lanes) in order.chunks(order.len() / 2).enumerate() {
                let behind = |lane: &i64| [*lane, *lane + width];
                let [ab, cd] = [[a, b], [c, d]].map(|[a, b]| self.of_two(a, b, lanes.iter().flat_map(behind)));
                for quarter in 0..2 {
                    let two = |lane: i64| [2 * lane, 2 * lane + 1, width + 2 * lane, width + 2 * lane + 1];
                    let lanes = quarter * width / 4..(quarter + 1) * width / 4;
                    let piece = self.of_two(&ab, &cd, lanes.flat_map(two));
                    pieces.push((low + (2 * half as i64 + quarter) * width * bytes, piece));
                }
            }
        } else {
            let registers = self.exchanged_in_parts([a, b, c, d]);
            for (from, lane) in stored.from.iter().zip(0..) {
                let part = (lane / WORDS * WORDS) as i64;
                pieces.push((*from, self.shuffled(&registers[lane % WORDS], part..part + WORDS as i64)));
            }
        }
        for (at, piece) in pieces {
            let place = self.set(Ty::int(64, 0), format!("getelementptr i8, ptr {first}, i64 {at}")).text;
            self.store_memory(&piece, &place, ty.bytes());
        }
    }

    /// The function, and what it gives back: by word, what each lane has of it, whose first is so far from where its address leads. In place it would make teams of gangs
    /// longer than they may be.
    fn quad_function(&mut self, ty: Ty) -> (String, String) {
        let (name, vector) = (format!("@quad{}", ty.lanes), ty.text());
        let result = format!("{{ {} }}", [vector.as_str(); WORDS].join(", "));
        let body = self.written_apart(|this| {
            let word = Ty::int(64, 0);
            let rows: Vec<Val> = (0..ty.lanes)
                .map(|lane| {
                    // Out of memory, of which processors load two words in a cycle: to take vectors apart in registers is as much work as a gather.
                    let at = this.offset("%addresses", 8 * lane);
                    let place = this.set(word, format!("load volatile ptr, ptr {at}"));
                    let place = this.set(word, format!("getelementptr i8, ptr {}, i64 %low", place.text));
                    this.load_memory(Ty { lanes: WORDS as u32, ..ty }, &place.text, ty.element.bits() / 8)
                })
                .collect();
            let mut all = "poison".to_owned();
            for (at, value) in this.exchanged_by_registers(&rows).iter().enumerate() {
                all = this.set(ty, format!("insertvalue {result} {all}, {vector} {}, {at}", value.text)).text;
            }
            this.line(format!("ret {result} {all}"));
        });
        self.plan.declare(format!("define internal {result} {name}(ptr %addresses, i64 %low) #1 {{\n{body}}}"));
        (name, result)
    }

    /// By word: what each lane has of it, from what each lane has of all words.
    fn exchanged_by_registers(&mut self, rows: &[Val]) -> [Val; WORDS] {
        let words = (self.words_of_a_gather() as usize).min(rows.len());
        let registers: Vec<[Val; WORDS]> = rows.chunks(words).map(|rows| self.exchanged(rows)).collect();
        [0, 1, 2, 3].map(|at| {
            let parts = registers.iter().map(|words| words[at].clone()).collect();
            self.joined_in_pairs(parts)
        })
    }

    /// The same of four vectors as they lie in memory, by where each lane's quad begins: two words of the lanes that lie in two vectors fill a register. Half of the registers have
    /// theirs in the other order, so that half of what comes of them is a choice of lanes, for which processors have more places than for shuffles.
    fn exchanged_as_they_lie(&mut self, vectors: &[Val; WORDS], order: &[i64]) -> [Val; WORDS] {
        let (lanes, half) = (order.len() as i64, order.len() as i64 / 2);
        let (low, high): (Vec<usize>, Vec<usize>) = (0..order.len()).partition(|lane| order[*lane] < 2 * lanes);
        let mut out = Vec::new();
        for (a, b) in [(0, 1), (2, 3)] {
            let two = |this: &mut Self, pair: usize, held: &[usize], words: [i64; 2]| {
                let from = |word: i64| held.iter().map(move |lane| order[*lane] - 2 * lanes * (pair as i64) + word);
                let order: Vec<i64> = from(words[0]).chain(from(words[1])).collect();
                this.of_two(&vectors[2 * pair], &vectors[2 * pair + 1], order)
            };
            let first = two(self, 0, &low, [a, b]);
            let second = two(self, 1, &high, [b, a]);
            for in_front in [true, false] {
                let at = |lane: usize| match low.iter().position(|other| *other == lane) {
                    Some(place) => place as i64 + if in_front { 0 } else { half },
                    None => {
                        let place = high.iter().position(|other| *other == lane).unwrap_or_default();
                        lanes + place as i64 + if in_front { half } else { 0 }
                    }
                };
                out.push(self.of_two(&first, &second, (0..order.len()).map(at)));
            }
        }
        let [a, b, c, d] = <[Val; WORDS]>::try_from(out).unwrap_or_else(|_| vectors.clone());
        [a, b, c, d]
    }

    /// By word: what each of some lanes has of it, from what each lane has of all words.
    fn exchanged(&mut self, rows: &[Val]) -> [Val; WORDS] {
        // Register n has what is to be lane n of each part of 16 bytes.
        let [a, b, c, d] = [0, 1, 2, 3].map(|first| {
            let parts = rows.iter().skip(first).step_by(WORDS).cloned().collect();
            self.joined_in_pairs(parts)
        });
        self.exchanged_in_parts([&a, &b, &c, &d])
    }

    /// Of four registers: the first words of each part of 16 bytes, the second ones, and so on.
    fn exchanged_in_parts(&mut self, [a, b, c, d]: [&Val; WORDS]) -> [Val; WORDS] {
        let width = i64::from(a.ty.lanes);
        // Which words of each part come from either of two registers.
        let mut mixed = |a: &Val, b: &Val, words: [i64; WORDS]| {
            let word = |part: i64, word: i64| part + if word < 4 { word } else { word - 4 + width };
            let order = (0..width).step_by(WORDS).flat_map(|part| words.map(|at| word(part, at)));
            self.of_two(a, b, order)
        };
        let low = [0, 4, 1, 5];
        let high = [2, 6, 3, 7];
        let (ab, cd) = (mixed(a, b, low), mixed(c, d, low));
        let (ab_high, cd_high) = (mixed(a, b, high), mixed(c, d, high));
        let halves = [[0, 1, 4, 5], [2, 3, 6, 7]];
        let [first, second] = halves.map(|words| mixed(&ab, &cd, words));
        let [third, fourth] = halves.map(|words| mixed(&ab_high, &cd_high, words));
        [first, second, third, fourth]
    }
}

/// Whether no lane's quad lies on that of another.
fn lie_apart(apart: &[i64]) -> bool {
    let mut sorted = apart.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[1] - pair[0] >= QUAD)
}

/// Whether pieces of so many bytes, one for each lane, fill memory without gaps.
fn is_dense(apart: &[i64], bytes: i64) -> bool {
    let mut sorted = apart.to_vec();
    sorted.sort_unstable();
    sorted.iter().zip(0..).all(|(at, lane)| *at == sorted[0] + lane * bytes)
}
