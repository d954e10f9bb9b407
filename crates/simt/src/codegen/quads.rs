//! Quads: four words that lie behind each other, of each lane, wherever lanes go. One load of 16 bytes for each lane and an exchange between four registers is less work
//! than four gathers, each of which loads every lane's word by itself.
//!
//! They are the parts of a vector, or loads of one block with one base, as compilers make of the trips of a loop.

use warploom_ptx::ir::{Base, Inst, Op, ScalarType, Semantics, Space};

use super::function::{Val, Writer};
use super::how::{How, how};
use super::memory::Target;
use super::names::{Element, Ty};

/// Words of a quad.
const WORDS: usize = 4;

/// The loads of a quad.
pub(super) struct Quad {
    /// From what the instruction that is written loads to the first word, in bytes.
    low: i64,
    /// By word: the instruction that loads it. None of a vector, all of which the instruction loads.
    loads: Option<[u32; WORDS]>,
}

impl Writer<'_> {
    /// The quad that an instruction loads, or begins; none if not all lanes run, as what they do not load need not be memory.
    pub(super) fn quad(&self, target: &Target, ty: ScalarType, parts: usize) -> Option<Quad> {
        let all = self.constant(self.mask_type(), 1).text;
        let fits = self.full && self.mask == all && ty.bits() == 32 && self.lanes().is_multiple_of(WORDS as u32);
        if !fits || target.space == Space::Local || !self.plan.machine().x86 {
            return None;
        }
        match parts {
            WORDS => Some(Quad { low: 0, loads: None }),
            1 => self.quad_of_several(),
            _ => None,
        }
    }

    /// The quad of which the instruction that is written is the first load, nothing being written to memory before the last.
    fn quad_of_several(&self) -> Option<Quad> {
        let (plan, body) = (self.plan, self.body());
        let (_, hull) = plan.hull(self.inst)?;
        let offset = |inst: u32| match &body.insts[inst as usize].op {
            Op::Ld { semantics: Semantics::Weak, dst, addr, ty, .. } if dst.len() == 1 && ty.bits() == 32 => {
                matches!(addr.base, Base::Reg(_)).then_some(addr.offset)
            }
            _ => None,
        };
        let own = offset(self.inst)?;
        let bytes = i64::from(hull.bytes);
        let loads_at =
            |at: i64| hull.members.iter().copied().find(|inst| *inst >= self.inst && offset(*inst) == Some(at));
        (0..WORDS as i64).find_map(|before| {
            let low = own - before * bytes;
            let loads = [0, 1, 2, 3].map(|word| loads_at(low + word * bytes));
            let [Some(a), Some(b), Some(c), Some(d)] = loads else { return None };
            let loads = [a, b, c, d];
            let last = loads.into_iter().max()?;
            let only_loads = |inst: u32| match &body.insts[inst as usize].op {
                Op::Ld { semantics, .. } => *semantics == Semantics::Weak,
                op => how(op) == How::Vector && plan.access(inst).is_none(),
            };
            (self.inst..last).all(only_loads).then_some(Quad { low: low - own, loads: Some(loads) })
        })
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
        for at in 0..WORDS {
            let value = self.set(ty, format!("extractvalue {result} {all}, {at}"));
            match quad.loads.map(|loads| loads[at]) {
                None => self.store(&value, &places[at]),
                Some(load) if load == self.inst => self.store(&value, &places[0]),
                Some(load) => {
                    let place = self.new_place(value.ty);
                    self.store(&value, &place);
                    self.quads.insert((load, self.member), place);
                }
            }
        }
        Ok(())
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
            let words = this.words_of_a_gather().min(ty.lanes) as usize;
            let registers: Vec<[Val; WORDS]> = rows.chunks(words).map(|rows| this.exchanged(rows)).collect();
            let mut all = "poison".to_owned();
            for at in 0..WORDS {
                let parts = registers.iter().map(|words| words[at].clone()).collect();
                let value = this.joined_in_pairs(parts);
                all = this.set(ty, format!("insertvalue {result} {all}, {vector} {}, {at}", value.text)).text;
            }
            this.line(format!("ret {result} {all}"));
        });
        self.plan.declare(format!("define internal {result} {name}(ptr %addresses, i64 %low) #1 {{\n{body}}}"));
        (name, result)
    }

    /// By word: what each of some lanes has of it, from what each lane has of all words.
    fn exchanged(&mut self, rows: &[Val]) -> [Val; WORDS] {
        // Register n has what is to be lane n of each part of 16 bytes.
        let [a, b, c, d] = [0, 1, 2, 3].map(|first| {
            let parts = rows.iter().skip(first).step_by(WORDS).cloned().collect();
            self.joined_in_pairs(parts)
        });
        let width = i64::from(a.ty.lanes);
        // Which words of each part come from either of two registers.
        let mut mixed = |a: &Val, b: &Val, words: [i64; WORDS]| {
            let word = |part: i64, word: i64| part + if word < 4 { word } else { word - 4 + width };
            let order = (0..width).step_by(WORDS).flat_map(|part| words.map(|at| word(part, at)));
            self.of_two(a, b, order)
        };
        let low = [0, 4, 1, 5];
        let high = [2, 6, 3, 7];
        let (ab, cd) = (mixed(&a, &b, low), mixed(&c, &d, low));
        let (ab_high, cd_high) = (mixed(&a, &b, high), mixed(&c, &d, high));
        let halves = [[0, 1, 4, 5], [2, 3, 6, 7]];
        let [first, second] = halves.map(|words| mixed(&ab, &cd, words));
        let [third, fourth] = halves.map(|words| mixed(&ab_high, &cd_high, words));
        [first, second, third, fourth]
    }
}
