//! Gathers of what is narrower than the words that processors gather: of the words that it lies in, and out of those in registers. An element begins at a multiple of
//! its size, so that it lies in one word, and where it may be accessed all of that word is memory.

use warploom_ptx::ir::{Inst, ScalarType};

use super::function::{Val, Writer};
use super::gather::Places;
use super::memory::Target;
use super::names::{Element, Ty};

const WORD: u32 = 4;

impl Writer<'_> {
    /// Elements of 8 or 16 bits of all lanes that run, each lane's behind each other.
    pub(super) fn gather_within_words(
        &mut self,
        inst: &Inst,
        target: &Target,
        ty: ScalarType,
        places: &[String],
    ) -> Result<(), String> {
        let in_word = (WORD / ty.bytes()) as usize;
        for (number, places) in places.chunks(in_word).enumerate() {
            let words = if places.len() == in_word {
                let places = self.places_of_all(inst, target, number as u32 * WORD)?;
                self.gather(&places, Element::Int(32), WORD)
            } else if let Some(start) = self.start_of(target).filter(|_| target.apart.is_none()) {
                let places = self.short_addresses(inst, target)?;
                self.words_around_places(&start, &places)
            } else {
                let pointers = self.gather_pointers(inst, target, 0)?;
                self.words_around(&pointers)
            };
            for (at, place) in places.iter().enumerate() {
                let by = self.constant(words.ty, i64::from(at as u32 * ty.bits()));
                let moved = self.binary("lshr", &words, &by);
                let part = self.cast("trunc", &moved, Element::bits_of(ty));
                self.store(&part, place);
            }
        }
        Ok(())
    }

    /// An element of all lanes that run, whatever its size.
    pub(super) fn gather_elements(&mut self, pointers: &Val, ty: ScalarType) -> Val {
        let element = Element::bits_of(ty);
        if ty.bits() >= 32 {
            return self.gather(&Places::Anywhere(pointers.clone()), element, ty.bytes());
        }
        let words = self.words_around(pointers);
        self.cast("trunc", &words, element)
    }

    /// Of the word that each pointer points into, what lies there and behind, in the lowest bits.
    fn words_around(&mut self, pointers: &Val) -> Val {
        let wide = Ty::int(64, pointers.ty.lanes);
        let lanes = wide.lanes;
        let all = self.set(wide, format!("ptrtoint <{lanes} x ptr> {} to <{lanes} x i64>", pointers.text));
        let words = self.rounded_down(&all);
        let words = Places::Anywhere(self.at_address(&words));
        self.behind_beginnings(&words, &all)
    }

    /// The same of places in a space that begins with a word, which are indices of 32 bits to a gather.
    fn words_around_places(&mut self, start: &str, places: &Val) -> Val {
        let words = Places::Behind(start.to_owned(), self.rounded_down(places), 1);
        self.behind_beginnings(&words, places)
    }

    fn rounded_down(&mut self, places: &Val) -> Val {
        let mask = self.constant(places.ty, -i64::from(WORD));
        self.binary("and", places, &mask)
    }

    /// Words without the bytes that lie before a lane's place.
    fn behind_beginnings(&mut self, words: &Places, places: &Val) -> Val {
        let words = self.gather(words, Element::Int(32), WORD);
        let places = self.resize(places, 32, false);
        let low = self.constant(places.ty, i64::from(WORD - 1));
        let bytes = self.binary("and", &places, &low);
        let three = self.constant(places.ty, 3);
        let bits = self.binary("shl", &bytes, &three);
        self.binary("lshr", &words, &bits)
    }
}
