//! Fetches that another executor hands over: what they read lies where results go.

use warploom_exec::grid::Grid;
use warploom_exec::memory::View;
use warploom_ptx::ir::Step;

use super::block::Fetch;
use super::{PlaneSite, Planes};
use crate::frame::Row32;
use crate::isa::Isa;
use crate::ops::texture::{Object, handle_of_all};
use crate::program::{Function, ValuePlace};

/// A fetch whose operands and results are all handed over.
#[derive(Debug)]
pub(crate) struct Direct {
    /// The numbers of the places of handles, coordinates and results.
    handle: usize,
    at: [usize; 2],
    results: [usize; 4],
    gradients: bool,
}

impl Direct {
    /// Of a function that is one fetch and nothing else.
    pub(crate) fn new(function: &Function) -> Option<Direct> {
        let ([site], 2) = (&function.textures[..], function.code.len()) else { return None };
        let PlaneSite { at, gradients } = PlaneSite::of(site)?;
        let Object::Row(handle) = site.texture else { return None };
        let place = |places: &[ValuePlace], place| places.iter().position(|other| *other == place);
        let [x, y] = at.map(|row| place(&function.parameters, ValuePlace::Word(row)));
        let mut results = [0; 4];
        for (result, slot) in results.iter_mut().zip(&site.slots) {
            let at = place(&function.results, ValuePlace::Word(slot.row()))?;
            *result = function.parameters.len() + at;
        }
        let handle = place(&function.parameters, ValuePlace::Double(handle))?;
        Some(Direct { handle, at: [x?, y?], results, gradients })
    }

    /// Fetches for the lanes of `mask`, among as many as there are; `site` is any number, best one for each instruction. None if that is for others to do: what is written
    /// then means nothing.
    pub(crate) fn run(
        &self,
        isa: Isa,
        (view, grid, planes): (&mut View<'_>, &Grid, &mut Planes),
        (lanes, mask, site): (usize, u32, u32),
        words: &mut [u64],
    ) -> Option<()> {
        let handles = words.as_chunks::<{ Step::PLACE_WORDS }>().0.get(self.handle)?;
        let plane = planes.get(grid, handle_of_all(handles.get(..lanes)?, mask)?, site)?;
        if self.gradients && plane.anisotropic {
            return None;
        }
        // A place has room for twice a warp's words. What lies where a gang has no lanes is a coordinate like any other.
        let rows: &mut [[Row32; 2]] = pulp::bytemuck::cast_slice_mut(words);
        let [x, y] = self.at;
        let [a, b, c, d] = self.results;
        let [[x, _], [y, _], [a, _], [b, _], [c, _], [d, _]] = rows.get_disjoint_mut([x, y, a, b, c, d]).ok()?;
        (plane.sample)(plane, isa, view, Fetch { at: [x, y], out: [a, b, c, d], lanes, site })
    }
}
