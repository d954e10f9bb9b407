//! Fetches that another executor hands over: what they read lies where results go.

use warploom_exec::grid::Grid;
use warploom_exec::memory::View;
use warploom_ptx::ir::Step;

use super::block::Fetch;
use super::{PlaneSite, Planes};
use crate::frame::Row32;
use crate::isa::Isa;
use crate::ops::texture::Object;
use crate::program::{Function, ValuePlace};

/// A fetch whose operands and results are all handed over.
#[derive(Debug)]
pub(crate) struct Direct {
    /// The numbers of the places of handles, coordinates and the first result, behind which the others follow.
    handle: usize,
    at: [usize; 2],
    results: usize,
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
        // Each result has a register of its own.
        let own = site.slots.iter().map(|slot| ValuePlace::Word(slot.row()));
        if !function.results.iter().copied().eq(own) {
            return None;
        }
        let results = function.parameters.len();
        let handle = place(&function.parameters, ValuePlace::Double(handle))?;
        Some(Direct { handle, at: [x?, y?], results, gradients })
    }

    /// Fetches for the lanes of `mask`, among as many as there are; `site` is any number, best one for each instruction. None if that is for others to do: what is written
    /// then means nothing.
    #[inline]
    pub(crate) fn run(
        &self,
        isa: Isa,
        (view, grid, planes): (&mut View<'_>, &Grid, &mut Planes),
        (lanes, mask, site): (usize, u32, u32),
        words: &mut [u64],
    ) -> Option<()> {
        let (operands, results) = words.split_at_mut_checked(self.results * Step::PLACE_WORDS)?;
        let handles = operands.as_chunks::<{ Step::PLACE_WORDS }>().0.get(self.handle)?.get(..lanes)?;
        let handle = *handles.get(mask.trailing_zeros() as usize)?;
        let plane = planes.get(grid, handle, site)?;
        if self.gradients && plane.anisotropic {
            return None;
        }
        // A place has room for twice a warp's words. What lies where a gang has no lanes is a coordinate like any other.
        let operands: &[[Row32; 2]] = pulp::bytemuck::cast_slice(operands);
        let [x, y] = self.at;
        let ([x, _], [y, _]) = (operands.get(x)?, operands.get(y)?);
        let results: &mut [[Row32; 2]] = pulp::bytemuck::cast_slice_mut(results);
        let [[a, _], [b, _], [c, _], [d, _]] = results.first_chunk_mut()?;
        let fetch = Fetch { handles: Some((handles, mask)), at: [x, y], out: [a, b, c, d], lanes, site };
        (plane.sample)(plane, isa, view, fetch)
    }
}
