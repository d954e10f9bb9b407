//! Guesses: what values would be if lanes had never parted, which nearly always holds, found out before addresses are made of them.
//!
//! Compilers unroll loops so that the trips that are left over come first. Lanes may have different numbers of those, so that nothing is known of the index that the unrolled
//! loop begins with; mostly they have not, and load and store one element behind the other as before.

use std::collections::{BTreeMap, BTreeSet};

use warploom_ptx::ir::{Body, Inst, ScalarType, Space};

use super::asked::Argument;
use super::context;
use super::function::{Val, Writer};
use super::memory::Target;
use super::names::{Element, Ty};
use crate::info::KernelInfo;
use crate::values::{ValueId, paired};

/// What was found out.
#[derive(Clone, Debug)]
pub(super) struct Guessed {
    /// Of which value.
    pub(super) value: ValueId,
    /// What its first lane has, or would have if it ran.
    pub(super) first: Val,
    /// Whether all lanes that run have what was guessed.
    pub(super) holds: Val,
}

/// What full code knows of guesses since its block began, as it has left where they do not hold.
#[derive(Default)]
pub(super) struct Sure {
    /// The values that have what was guessed of them.
    values: BTreeSet<ValueId>,
    /// The instructions that have made addresses of such.
    addresses: BTreeSet<u32>,
    /// The last division whose result it has seen to be as guessed.
    division: Option<u32>,
}

/// Where lanes are that go to two rows.
struct TwoRows {
    /// Which of them go to the row of the first lane: a mask.
    in_first: Val,
    /// How far the other row is from that.
    distance: Val,
    /// Whether there are no more than two.
    holds: Val,
}

/// Where that is noted of an address.
fn noted(value: ValueId) -> [String; 3] {
    ["first", "distance", "two"].map(|part| format!("%{part}{}", value.0))
}

/// An access to a row that was guessed.
#[derive(Clone, Copy)]
pub(super) enum Guesses<'a> {
    /// To these places.
    Load(&'a [String]),
    /// Of these values.
    Store(&'a [Val]),
}

/// By address that a loop carries, and that is the first of rows by a guess: the bytes of a lane.
pub(super) fn guessed_rows(
    info: &KernelInfo<'_>,
    body: &Body,
    carried: &BTreeMap<ValueId, u32>,
) -> BTreeMap<ValueId, u32> {
    let guessed = info.accesses.iter().filter(|access| info.is_guessed(access));
    let addresses = guessed.filter_map(|access| Some((info.address_of(body, access.inst)?, access.bytes)));
    addresses.filter(|(value, _)| carried.contains_key(value) && info.values.get(*value).ty.bits() == 64).collect()
}

impl Writer<'_> {
    /// Compares the lanes of the value that the instruction makes an address of with what they were guessed to have.
    pub(super) fn find_out(&mut self) -> Option<Guessed> {
        let plan = self.plan;
        let value = *plan.info.guessed.get(&self.inst)?;
        let lanes = plan.info.guess(value)?.lanes.get();
        // Of AVX-512 two instructions look at all lanes, which is less work than the ends' comparisons.
        if self.full
            && self.team == 0
            && !plan.has_wide_vectors()
            && !self.is_as_guessed(value)
            && let Some(told) = self.told_by_ends(value)
        {
            self.sure.addresses.remove(&self.inst);
            return Some(told);
        }
        let all = self.read(value);
        let apart = Val { ty: all.ty, text: all.ty.lanes(lanes.iter().copied()) };
        let firsts = self.binary("sub", &all, &apart);
        if self.is_as_guessed(value) {
            self.sure.addresses.insert(self.inst);
            let scalar = Ty::scalar(firsts.ty.element);
            let first = self.set(scalar, format!("extractelement {} {}, i64 0", firsts.ty.text(), firsts.text));
            return Some(Guessed { value, first, holds: self.constant(Ty::int(1, 0), 1) });
        }
        self.sure.addresses.remove(&self.inst);
        let first = self.first_running(&firsts);
        // Any number will do if none runs.
        let first = self.set(first.ty, format!("freeze {} {}", first.ty.text(), first.text));
        let common = self.splat(&first);
        let same = self.compare("eq", &firsts, &common);
        let holds = self.all_run(&same);
        Some(Guessed { value, first, holds })
    }

    /// Leaves full code where lanes do not have what is guessed of the quotient or remainder of a division, which is of these numbers beside a common one.
    /// Whether that can be done.
    pub(super) fn divides_as_guessed(&mut self, holds: &Val, apart: &[i64]) -> bool {
        let written = self.plan.info.values.written(self.plan.body, self.inst);
        let guess = written.and_then(|value| self.plan.info.guess(value));
        let known = self.full && self.team == 0 && guess.is_some_and(|guess| *guess.lanes.get() == *apart);
        if known {
            self.or_leave(holds);
            self.sure.division = Some(self.inst);
        }
        known
    }

    /// Whether full code has seen that a value has what was guessed of it.
    pub(super) fn is_as_guessed(&self, value: ValueId) -> bool {
        self.full && self.sure.values.contains(&value)
    }

    /// Notes of the results of an instruction, which full code has just run, whether they have what was guessed of them.
    pub(super) fn note_guesses(&mut self, inst: &Inst) {
        if !self.full || self.team > 0 {
            return;
        }
        let divided = self.sure.division == Some(self.inst);
        let derived = self.plan.info.derived.get(&self.inst);
        let same = derived.is_some_and(|operands| operands.iter().all(|value| self.is_as_guessed(*value)));
        let operands = inst.operands();
        for (_, value) in paired(&operands, self.values).filter(|(operand, _)| operand.def().is_some()) {
            let Some(value) = value else { continue };
            if inst.guard.is_none() && (same || divided) {
                self.sure.values.insert(value);
            } else {
                self.sure.values.remove(&value);
            }
        }
    }

    /// Whether an access goes to a row that is a guess, and that full code does not know of. In a team no lane has left the others.
    fn is_guess(&self, target: &Target) -> bool {
        let guessed = &self.plan.info.guessed;
        self.team == 0
            && target.flag.text != "true"
            && self.plan.access(self.inst).is_some_and(|(_, access)| {
                let sure = |inst: &u32| self.full && self.sure.addresses.contains(inst);
                access.told_by.iter().any(|inst| guessed.contains_key(inst) && !sure(inst))
            })
    }

    /// Of an access to a row that is a guess, writes what is done where that does not hold, and is then where it does: what comes behind both is joined at the label that is
    /// returned.
    pub(super) fn where_guessed(
        &mut self,
        inst: &Inst,
        target: &Target,
        ty: ScalarType,
        guesses: Guesses<'_>,
    ) -> Result<Option<(Target, u32)>, String> {
        if !self.is_guess(target) {
            return Ok(None);
        }
        let [row, elsewhere, done] = [(); 3].map(|()| self.fresh());
        let mut anywhere = target.clone();
        (anywhere.first, anywhere.apart, anywhere.flag) = (None, None, self.constant(Ty::int(1, 0), 1));
        self.line(format!("br i1 {}, label %L{row}, label %L{elsewhere}, !prof !2", target.flag.text));
        self.label(&format!("L{elsewhere}"));
        self.go_to_noted_rows(inst, target, ty, guesses, done)?;
        if self.is_steady() {
            match guesses {
                Guesses::Load(places) => self.load_weak(inst, &anywhere, ty, places, false)?,
                Guesses::Store(values) => self.store_weak(inst, &anywhere, ty, values)?,
            }
            self.line(format!("br label %L{done}"));
            return Ok(Some(self.as_guessed(target, row, done)));
        }
        let fine = self.go_elsewhere(inst, target, ty, guesses)?;
        if self.full {
            self.or_leave(&fine);
        } else {
            let [near, far] = [(); 2].map(|()| self.fresh());
            self.line(format!("br i1 {}, label %L{near}, label %L{far}", fine.text));
            self.label(&format!("L{far}"));
            self.ask(inst, &anywhere)?;
            match guesses {
                Guesses::Load(places) => self.load_lanes(ty, places, false),
                Guesses::Store(values) => self.store_lanes(ty, values, false),
            }
            self.line(format!("br label %L{done}"));
            self.label(&format!("L{near}"));
        }
        if let Guesses::Load(places) = guesses {
            let loaded = self.load(Ty { element: Element::bits_of(ty), lanes: self.lanes() }, "%scratch");
            self.store(&loaded, &places[0]);
        }
        self.line(format!("br label %L{done}"));
        Ok(Some(self.as_guessed(target, row, done)))
    }

    /// Begins what is done where the guess holds.
    fn as_guessed(&mut self, target: &Target, row: u32, done: u32) -> (Target, u32) {
        self.label(&format!("L{row}"));
        let mut there = target.clone();
        there.flag = self.constant(Ty::int(1, 0), 1);
        (there, done)
    }

    /// Whether an access that is a guess goes elsewhere in all of a launch, or nowhere in it: then what it does there is worth being written in its place. One look for several
    /// accesses is for where the guess holds.
    fn is_steady(&self) -> bool {
        let info = self.plan.info;
        let Some((_, access)) = self.plan.access(self.inst) else { return false };
        let mut told = access.told_by.iter().filter_map(|inst| info.guessed.get(inst));
        self.plan.hull(self.inst).is_none() && told.any(|value| info.steady.contains(value))
    }

    /// Has a function load or store for lanes that are not where they were guessed to be, if all that run are known to be allowed, and says whether they were. It is long, and
    /// would be written for each such access otherwise.
    fn go_elsewhere(
        &mut self,
        inst: &Inst,
        target: &Target,
        ty: ScalarType,
        guesses: Guesses<'_>,
    ) -> Result<Val, String> {
        let i64 = Ty::int(64, 0);
        let all = self.all_addresses(inst, target)?;
        self.line(format!("store {} {}, ptr %addresses, align 64", all.ty.text(), all.text));
        if let Guesses::Store(values) = guesses {
            let value = self.splat(&values[0]);
            self.line(format!("store {} {}, ptr %scratch", value.ty.text(), value.text));
        }
        let name = self.elsewhere(ty, matches!(guesses, Guesses::Load(_)));
        let first = target.first.clone().ok_or_else(|| self.lacks(inst))?;
        let [start, count] =
            if target.proven { [0, -1].map(|all| self.constant(i64, all)) } else { self.entry(target.site) };
        let space = match target.space {
            Space::Shared => {
                let start = self.pointer(context::SHARED);
                self.set(i64, format!("ptrtoint ptr {start} to i64"))
            }
            _ => self.constant(i64, 0),
        };
        let running = self.running();
        let words: String = [running, first, start, count, space]
            .iter()
            .map(|word| self.whole_register(&Argument::Value(word)))
            .collect();
        let answer = self.set(Ty::int(32, 0), format!("call i32 {name}(ptr %addresses{words}, ptr %scratch)"));
        let no = self.constant(answer.ty, 0);
        Ok(self.compare("ne", &answer, &no))
    }

    /// The function: lanes go to either of two rows, as they do where some have made another trip through a loop, or anywhere.
    fn elsewhere(&mut self, ty: ScalarType, loads: bool) -> String {
        let name = format!("@{}_elsewhere{}", if loads { "load" } else { "store" }, ty.bits());
        let outside = (
            std::mem::take(&mut self.out),
            std::mem::replace(&mut self.mask, "%runs".to_owned()),
            std::mem::take(&mut self.next),
        );
        self.known.clear();
        let lanes = self.lanes();
        let word = |name: &str| Val { ty: Ty::int(64, 0), text: name.to_owned() };
        self.line(format!("%lanes = trunc i64 %mask to i{lanes}"));
        self.line(format!("%runs = bitcast i{lanes} %lanes to <{lanes} x i1>"));
        let wide = Ty::int(64, lanes);
        let all = self.set(wide, format!("load {}, ptr %addresses, align 64", wide.text()));
        let inside = self.is_among([word("%start"), word("%count")], &all, ty.bytes());
        let inside = self.all_run(&inside);
        self.line(format!("br i1 {}, label %inside, label %refused", inside.text));
        self.label("refused");
        self.line("ret i32 0");
        self.label("inside");
        let value = Ty { element: Element::bits_of(ty), lanes };
        let (first, row) = (word("%first"), self.row(wide, ty.bytes()));
        let common = self.splat(&first);
        let beside = self.binary("sub", &all, &common);
        let beside = self.binary("sub", &beside, &row);
        let TwoRows { in_first, distance, holds } = self.two_rows(&beside);
        self.line(format!("br i1 {}, label %rows, label %anywhere", holds.text));
        self.label("rows");
        let second = self.binary("add", &first, &distance);
        let pointers = [first, second].map(|row| self.pointer_to(&row).text);
        let pointers = pointers.each_ref().map(String::as_str);
        if loads {
            self.access_rows(pointers, &in_first, ty, Guesses::Load(&["%scratch".to_owned()]));
        } else {
            let stored = self.load(value, "%scratch");
            self.access_rows(pointers, &in_first, ty, Guesses::Store(&[stored]));
        }
        self.line("ret i32 1");
        self.label("anywhere");
        self.mask = "%runs".to_owned();
        let pointers = self.pointer_to(&all);
        if loads && self.plan.gathers() {
            let gathered = self.gather_elements(&pointers, ty);
            self.store(&gathered, "%scratch");
        } else if !loads && self.plan.has_wide_vectors() {
            let stored = self.load(value, "%scratch");
            self.scatter(&pointers, &stored, ty.bytes());
        } else {
            self.line(format!("store <{lanes} x ptr> {}, ptr %addresses, align 64", pointers.text));
            if loads {
                self.load_lanes(ty, &["%scratch".to_owned()], false);
            } else {
                let stored = self.load(value, "%scratch");
                self.store_lanes(ty, &[stored], false);
            }
        }
        self.line("ret i32 1");
        let body = self.take_text();
        (self.out, self.mask, self.next) = outside;
        self.plan.declare(format!(
            "define internal i32 {name}(ptr %addresses, i64 %mask, i64 %first, i64 %start, i64 %count, i64 %space, ptr %scratch) #5 {{\n{body}}}"
        ));
        name
    }

    /// Of how far lanes are beside the first one's row: the lanes in that row, how far the first of the others is beside it, and whether all others are in its row. They come
    /// later than those of the first row, as the last one wins where lanes store to one place.
    fn two_rows(&mut self, beside: &Val) -> TwoRows {
        let running = self.mask_value();
        let zero = self.constant(beside.ty, 0);
        let in_first = self.compare("eq", beside, &zero);
        let in_first = self.binary("and", &in_first, &running);
        let others = self.binary("xor", &in_first, &running);
        let [before, after] = [&in_first, &others].map(|mask| self.bits_of(&mask.text));
        let zeros = self.intrinsic_flag("cttz", &after);
        let distance = self.element(beside, &zeros);
        // Any number will do if there is no other.
        let distance = self.set(distance.ty, format!("freeze {} {}", distance.ty.text(), distance.text));
        let common = self.splat(&distance);
        let in_second = self.compare("eq", beside, &common);
        let in_second = self.binary("and", &in_second, &others);
        let in_neither = self.binary("xor", &in_second, &others);
        let in_neither = self.bits_of(&in_neither.text);
        let none = self.constant(in_neither.ty, 0);
        let all = self.compare("eq", &in_neither, &none);
        let negative = self.binary("sub", &none, &after);
        let lowest = self.binary("and", &after, &negative);
        let in_order = self.compare("ult", &before, &lowest);
        let holds = self.binary("and", &all, &in_order);
        TwoRows { in_first, distance, holds }
    }

    /// Loads or stores, for those of the lanes that run that are in a first row, and for the others, in a second one. What is loaded is in the place then.
    fn access_rows(&mut self, pointers: [&str; 2], in_first: &Val, ty: ScalarType, guesses: Guesses<'_>) {
        let running = self.mask_value();
        let ones = self.constant(running.ty, 1);
        let others = self.binary("xor", in_first, &ones);
        let masks = [in_first, &others].map(|lanes| self.binary("and", lanes, &running).text);
        match guesses {
            Guesses::Load(places) => {
                let value = Ty { element: Element::bits_of(ty), lanes: self.lanes() };
                let [one, other] = [0, 1].map(|row: usize| {
                    self.mask = masks[row].clone();
                    self.load_row(pointers[row], ty, places);
                    self.load(value, &places[0])
                });
                let both = self.select(in_first, &one, &other);
                self.store(&both, &places[0]);
            }
            Guesses::Store(values) => {
                let values: Vec<Val> = values.iter().map(|value| self.splat(value)).collect();
                for (pointer, mask) in pointers.into_iter().zip(masks) {
                    self.mask = mask;
                    self.store_row(pointer, ty, &values);
                }
            }
        }
        self.mask = running.text;
    }

    /// Of an address that a loop carries, with how far its lanes are apart: what is known of two rows, as long as the loop runs.
    pub(super) fn note_two_rows(&mut self, value: ValueId, apart: &Val) {
        let Some(bytes) = self.plan.guessed_rows(value).filter(|_| self.team == 0) else { return };
        let row = self.row(apart.ty, bytes);
        let beside = self.binary("sub", apart, &row);
        let TwoRows { in_first, distance, holds } = self.two_rows(&beside);
        for (place, part) in noted(value).into_iter().zip([in_first, distance, holds]) {
            self.extra_place(&place, part.ty);
            self.store(&part, &place);
        }
    }

    /// Goes to two rows if that was noted, and to the label.
    fn go_to_noted_rows(
        &mut self,
        inst: &Inst,
        target: &Target,
        ty: ScalarType,
        guesses: Guesses<'_>,
        done: u32,
    ) -> Result<(), String> {
        let Some(value) = self.plan.address_of(self.inst).filter(|value| self.plan.guessed_rows(*value).is_some())
        else {
            return Ok(());
        };
        let first = target.first.clone().ok_or_else(|| self.lacks(inst))?;
        let [in_first, distance, holds] = noted(value);
        for (place, ty) in [(&in_first, self.mask_type()), (&distance, first.ty), (&holds, Ty::int(1, 0))] {
            self.extra_place(place, ty);
        }
        let mut fine = self.load(Ty::int(1, 0), &holds);
        let distance = self.load(first.ty, &distance);
        let second = self.binary("add", &first, &distance);
        if !target.proven {
            for first in [&first, &second] {
                let inside = self.is_inside(target.site, first, target.bytes);
                fine = self.binary("and", &fine, &inside);
            }
        }
        let [two, on] = [(); 2].map(|()| self.fresh());
        self.line(format!("br i1 {}, label %L{two}, label %L{on}", fine.text));
        self.label(&format!("L{two}"));
        let in_first = self.load(self.mask_type(), &in_first);
        let mut row = target.clone();
        let pointers = [first, second].map(|first| {
            row.first = Some(first);
            self.place_of(&row)
        });
        self.access_rows(pointers.each_ref().map(String::as_str), &in_first, ty, guesses);
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{on}"));
        Ok(())
    }

    /// A place of this function besides those of values.
    fn extra_place(&mut self, place: &str, ty: Ty) {
        if !self.places.iter().any(|(known, _)| known == place) {
            self.places.push((place.to_owned(), ty));
        }
    }

    /// How far the lanes of a row are from its first.
    fn row(&self, ty: Ty, bytes: u32) -> Val {
        Val { ty, text: ty.lanes((0..i64::from(self.lanes())).map(|lane| lane * i64::from(bytes))) }
    }

    /// Pointers to addresses of a space.
    fn pointer_to(&mut self, address: &Val) -> Val {
        let space = Val { ty: Ty::int(64, 0), text: "%space".to_owned() };
        let (space, address) = self.alike(space, address.clone());
        let place = self.binary("add", &space, &address);
        self.at_address(&place)
    }
}
