//! Fetches that another executor hands over: what they read lies where results go.

use warploom_exec::grid::Grid;
use warploom_exec::memory::Readable;
use warploom_ptx::ir::Step;

use super::block::Channels;
use super::{Plane, PlaneSite};
use crate::frame::Row32;
use crate::isa::Isa;
use crate::ops::texture::{Object, handle_of_all};
use crate::program::{Function, ValuePlace};

/// A fetch whose operands and results are all handed over.
#[derive(Debug)]
pub(crate) struct Direct {
    /// The place of handles.
    handle: usize,
    places: FetchPlaces,
    gradients: bool,
}

/// The numbers of the places where a fetch finds coordinates, and of the first of four results, behind which the others follow.
#[derive(Clone, Copy, Debug)]
pub struct FetchPlaces {
    /// The coordinates, x first.
    pub at: [usize; 2],
    /// The results.
    pub results: usize,
}

/// A fetch from a texture that is known.
#[derive(Clone, Copy, Debug)]
pub struct PreparedFetch {
    plane: Plane,
    places: FetchPlaces,
}

impl Direct {
    /// Of a function that is one fetch and nothing else.
    pub(crate) fn new(function: &Function) -> Option<Direct> {
        let ([site], 2) = (&function.textures[..], function.code.len()) else { return None };
        let PlaneSite { at, gradients } = PlaneSite::of(site)?;
        let Object::Row(handle) = site.texture else { return None };
        let place = |place| function.parameters.iter().position(|other| *other == place);
        let [x, y] = at.map(|row| place(ValuePlace::Word(row)));
        // Each result has a register of its own.
        let own = site.slots.iter().map(|slot| ValuePlace::Word(slot.row()));
        if !function.results.iter().copied().eq(own) {
            return None;
        }
        let places = FetchPlaces { at: [x?, y?], results: function.parameters.len() };
        let handle = place(ValuePlace::Double(handle))?;
        Some(Direct { handle, places, gradients })
    }

    /// The handle that all lanes of `mask` have, if it is one, among as many as there are.
    pub(crate) fn handle(&self, (lanes, mask): (usize, u32), words: &[u64]) -> Option<u64> {
        handle_of_all(words.get(self.handle * Step::PLACE_WORDS..)?.get(..lanes)?, mask)
    }

    /// What it needs of the texture of a handle, if it is one of which it can be had.
    pub(crate) fn prepare(&self, isa: Isa, grid: &Grid, handle: u64) -> Option<PreparedFetch> {
        let plane = Plane::of_handle(grid, handle, isa)?;
        let some = !(self.gradients && plane.anisotropic);
        some.then_some(PreparedFetch { plane, places: self.places })
    }
}

impl AsRef<Plane> for PreparedFetch {
    #[inline(always)]
    fn as_ref(&self) -> &Plane {
        &self.plane
    }
}

impl PreparedFetch {
    /// Where operands and results are to be found.
    #[inline(always)]
    pub fn places(&self) -> FetchPlaces {
        self.places
    }

    /// Fetches for as many lanes as there are, from the first on; what lies where a gang has no lanes is a coordinate like any other. None if that is for others to do: what is written then
    /// means nothing.
    #[inline(always)]
    pub fn run(&self, memory: Readable<'_>, at: [&Row32; 2], results: &mut Channels, lanes: usize) -> Option<()> {
        self.plane.fetch(memory, at, results, lanes)
    }
}
