//! Gathers: where lanes go that follow no row, and what loads from there.

use warploom_ptx::ir::Inst;

use super::function::{Val, Writer};
use super::memory::Target;
use super::names::{Element, Ty};

/// The places of all lanes.
pub(super) enum Places {
    /// At known distances from one.
    Apart(String, Vec<i64>),
    /// Behind one, by so many times a number of 32 bits with a sign.
    Behind(String, Val, u32),
    /// Anywhere: pointers.
    Anywhere(Val),
}

impl Writer<'_> {
    /// Where lanes go, so many bytes behind the address that they have.
    pub(super) fn places_of_all(&mut self, inst: &Inst, target: &Target, bytes: u32) -> Result<Places, String> {
        if let Some(apart) = &target.apart {
            let apart = apart.iter().map(|apart| apart + i64::from(bytes)).collect();
            return Ok(Places::Apart(self.place_of(target), apart));
        }
        if let Some(start) = self.start_of(target) {
            // What is allowed has less than 31 bits.
            let all = self.short_addresses(inst, target)?;
            let by = self.constant(all.ty, i64::from(bytes));
            return Ok(Places::Behind(start, self.binary("add", &all, &by), 1));
        }
        if let Some(parts) = self.parts(target) {
            let base = self.read(parts.base);
            let by = self.constant(base.ty, target.offset() + i64::from(bytes));
            let base = self.binary("add", &base, &by);
            let base = self.at_address(&base);
            // What is allowed has less than 31 bits, whatever its sign is for.
            return Ok(Places::Behind(base.text, self.read(parts.index), parts.scale));
        }
        let all = self.all_addresses(inst, target)?;
        let by = self.constant(all.ty, i64::from(bytes));
        let all = self.binary("add", &all, &by);
        Ok(Places::Anywhere(self.at_address(&all)))
    }

    /// Pointers to places.
    pub(super) fn pointers_to(&mut self, places: &Places) -> Val {
        let (base, index, scale) = match places {
            Places::Anywhere(pointers) => return pointers.clone(),
            Places::Apart(base, apart) => {
                let ty = Ty::int(64, self.lanes());
                (base, Val { ty, text: ty.lanes(apart.iter().copied()) }, 1)
            }
            Places::Behind(base, index, scale) => (base, self.resize(index, 64, true), *scale),
        };
        let (ty, element) = (index.ty, if scale == 1 { "i8".to_owned() } else { format!("[{scale} x i8]") });
        self.set(ty, format!("getelementptr {element}, ptr {base}, <{} x i64> {}", ty.lanes, index.text))
    }

    pub(super) fn gather_pointers(&mut self, inst: &Inst, target: &Target, bytes: u32) -> Result<Val, String> {
        let places = self.places_of_all(inst, target, bytes)?;
        Ok(self.pointers_to(&places))
    }

    /// Lanes of one register that the processor gathers at known distances from one place.
    pub(super) fn words_of_a_gather(&self) -> u32 {
        if self.plan.has_wide_vectors() { 16 } else { 8 }
    }

    /// Whether gangs fill whole registers with such lanes.
    pub(super) fn gathers_words(&self, bits: u32) -> bool {
        self.plan.gathers() && bits == 32 && self.lanes().is_multiple_of(self.words_of_a_gather())
    }

    /// Words at known distances from one place, as 32 bits: of a vector of pointers LLVM makes distances of 64 bits where it moves what is common out of a loop,
    /// and gathers half as many lanes at a time.
    pub(super) fn gather_words(&mut self, base: &str, apart: &[i64]) -> Val {
        if self.loads_gathers() {
            return self.loads_of_lanes(&Places::Apart(base.to_owned(), apart.to_vec()), Element::Int(32), 4);
        }
        let words = self.words_of_a_gather();
        let ty = Ty::int(32, words);
        let vector = ty.text();
        let mask = self.mask_value();
        let mut parts = Vec::new();
        for (number, apart) in apart.chunks(words as usize).enumerate() {
            let first = number as i64 * i64::from(words);
            let own = self.shuffled(&mask, first..first + i64::from(words));
            let distances = ty.lanes(apart.iter().copied());
            let call = if self.plan.has_wide_vectors() {
                let name = "@llvm.x86.avx512.mask.gather.dpi.512";
                self.plan.declare(format!("declare {vector} {name}({vector}, ptr, {vector}, <{words} x i1>, i32)"));
                format!(
                    "{name}({vector} zeroinitializer, ptr {base}, {vector} {distances}, <{words} x i1> {}, i32 1)",
                    own.text
                )
            } else {
                let own = self.resize(&own, 32, true);
                let name = "@llvm.x86.avx2.gather.d.d.256";
                self.plan.declare(format!("declare {vector} {name}({vector}, ptr, {vector}, {vector}, i8)"));
                format!(
                    "{name}({vector} zeroinitializer, ptr {base}, {vector} {distances}, {vector} {}, i8 1)",
                    own.text
                )
            };
            parts.push(self.set(ty, format!("call {vector} {call}, !tbaa !7")));
        }
        self.joined_in_pairs(parts)
    }

    pub(super) fn gather(&mut self, places: &Places, element: Element, align: u32) -> Val {
        if self.loads_gathers() {
            return self.loads_of_lanes(places, element, align);
        }
        let pointers = self.pointers_to(places);
        let ty = Ty { element, lanes: self.lanes() };
        let lanes = ty.lanes;
        let name = format!("@llvm.masked.gather.{}.v{lanes}p0", ty.suffix());
        self.plan.declare(format!("declare {0} {name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {0})", ty.text()));
        let mask = self.mask.clone();
        self.set(
            ty,
            format!(
                "call {0} {name}(<{lanes} x ptr> {1}, i32 {align}, <{lanes} x i1> {mask}, {0} zeroinitializer), !tbaa !7",
                ty.text(),
                pointers.text
            ),
        )
    }

    /// Whether lanes are loaded one by one: all of them run, and the processor gathers slowly.
    fn loads_gathers(&self) -> bool {
        self.plan.machine().loads_gathers && self.is_for_all_lanes()
    }

    /// A vector of what lies at each lane's place.
    fn loads_of_lanes(&mut self, places: &Places, element: Element, align: u32) -> Val {
        let ty = Ty { element, lanes: self.lanes() };
        let pointers = self.pointers_by_lane(places);
        let vector = ty.text();
        let mut all = Val { ty, text: "poison".to_owned() };
        for (lane, pointer) in pointers.into_iter().enumerate() {
            let one = self.load_memory(Ty::scalar(element), &pointer, align);
            let element = one.ty.text();
            all = self.set(ty, format!("insertelement {vector} {}, {element} {}, i64 {lane}", all.text, one.text));
        }
        all
    }

    /// A pointer to each lane's place. Indices leave their register by two at a time, which is half as many instructions.
    fn pointers_by_lane(&mut self, places: &Places) -> Vec<String> {
        let (word, lanes) = (Ty::int(64, 0), self.lanes());
        let taken =
            |this: &mut Self, vector: &str, lane: u32| this.set(word, format!("extractelement {vector}, i64 {lane}"));
        match places {
            Places::Apart(base, apart) => {
                let at = |apart: &i64| self.set(word, format!("getelementptr i8, ptr {base}, i64 {apart}")).text;
                apart.iter().map(at).collect()
            }
            Places::Anywhere(pointers) => {
                let pointers = format!("<{lanes} x ptr> {}", pointers.text);
                (0..lanes).map(|lane| taken(self, &pointers, lane).text).collect()
            }
            Places::Behind(base, index, scale) if lanes == 1 => {
                let only = self.constant(Ty::int(32, 0), 0);
                let index = self.element(index, &only);
                let index = self.resize(&index, 64, true).text;
                vec![self.set(word, format!("getelementptr [{scale} x i8], ptr {base}, i64 {index}")).text]
            }
            Places::Behind(base, index, scale) => {
                let pairs = Ty::int(64, lanes / 2);
                let text = format!("bitcast {} {} to {}", index.ty.text(), index.text, pairs.text());
                let pairs = format!("{} {}", pairs.text(), self.set(pairs, text).text);
                let mut out = Vec::new();
                for pair in 0..lanes / 2 {
                    let both = taken(self, &pairs, pair);
                    let half = self.constant(word, 32);
                    let low = self.binary("shl", &both, &half);
                    for index in [low, both] {
                        let index = self.binary("ashr", &index, &half).text;
                        out.push(self.set(word, format!("getelementptr [{scale} x i8], ptr {base}, i64 {index}")).text);
                    }
                }
                out
            }
        }
    }
}
