//! Texels of a plane, as programs read them most: one texture for all lanes, one mip level, no border; the nearest, or what lies between four. What a texture
//! asks for is worked out once, when a grid first names it at an instruction.

mod block;
pub(crate) mod direct;

use warploom_exec::grid::Grid;
use warploom_exec::texture::{Channel, Texels, Texture};
use warploom_numerics::texture::Outside;
use warploom_numerics::texture::block::Ruler;

use self::block::{Channels, Fetch, LANES, Sample, sample_for};
use crate::machine::{Flow, Machine};
use crate::memory::Slot;
use crate::ops::sampling::{Reading, axis, reading};
use crate::ops::texture::{Coordinates, Level, Object, Results, TextureSite, handle_of_all};

/// A texture of this kind.
#[derive(Clone, Copy, Debug)]
struct Plane {
    /// The first texel, and the bytes to behind the last one, in whole words.
    start: u64,
    bytes: u32,
    /// Of a texel: which power of 2.
    texel_bits: u32,
    /// From row to row.
    pitch: u32,
    rulers: [Ruler; 2],
    sample: Sample,
    channel: Channel,
    /// As many as a texel has.
    channels: usize,
    readings: [Reading; 4],
    /// Gradients ask for several samples.
    anisotropic: bool,
}

/// Texels of less than a word are read with the whole word that they lie in.
const WORD: u32 = 4;

impl Plane {
    /// None where a texture is another kind, or offsets in it do not fit.
    fn new(texture: &Texture) -> Option<Plane> {
        let Texture { sampler, levels, layers: [first_layer, _] } = texture;
        let [texels] = levels.as_slice() else { return None };
        let &Texels { size: [width, height, _], channel, channels, .. } = texels;
        let start = texels.start()?;
        if *first_layer != 0
            || texels.cube
            || texels.dimensions != 2
            || channel == Channel::Packed
            || texels.blocks.is_some()
        {
            return None;
        }
        let axes = [axis(texels, sampler, 0), axis(texels, sampler, 1)];
        if axes.iter().any(|axis| axis.outside() == Outside::Border) {
            return None;
        }
        let bytes = (u64::from(height) - 1) * texels.pitch + u64::from(width) * texels.element_bytes();
        let texel = texels.element_bytes() as u32;
        if !texel.is_power_of_two() {
            return None;
        }
        let readings = std::array::from_fn(|index| reading(texels, sampler, index));
        Some(Plane {
            start,
            bytes: u32::try_from(bytes.next_multiple_of(u64::from(WORD))).ok()?,
            texel_bits: texel.ilog2(),
            pitch: texels.pitch as u32,
            rulers: [Ruler::new(&axes[0]), Ruler::new(&axes[1])],
            channel,
            channels: channels as usize,
            readings,
            sample: sample_for(texel, sampler.linear, &readings[..channels as usize]),
            anisotropic: sampler.anisotropy > 1,
        })
    }
}

/// Where an instruction has what it needs of a plane.
#[derive(Clone, Copy, Debug)]
struct PlaneSite {
    /// The rows of the coordinates.
    at: [u32; 2],
    gradients: bool,
}

impl PlaneSite {
    /// None where it asks for more than a plane has.
    #[inline(always)]
    fn of(site: &TextureSite) -> Option<PlaneSite> {
        let Coordinates::Float(rows) = &site.coordinates else { return None };
        let &[x, y] = rows.as_slice() else { return None };
        let plain = site.layer.is_none() && site.offset.is_empty() && site.gather.is_none();
        let gradients = matches!(site.level, Level::Gradients(_));
        (plain && site.results == Results::Words).then_some(PlaneSite { at: [x, y], gradients })
    }
}

/// Instructions of which it is kept what they have found behind handles.
const SITES: usize = 8;

/// What instructions have found behind handles: looked up again for each grid, and for each handle that is not the last one.
#[derive(Debug, Default)]
pub(crate) struct Planes([Option<Found>; SITES]);

#[derive(Debug)]
struct Found {
    grid: u64,
    handle: u64,
    plane: Option<Plane>,
}

impl Planes {
    /// The texture of a handle, if it is one of this kind, for an instruction.
    #[inline(always)]
    fn get(&mut self, grid: &Grid, handle: u64, site: u32) -> Option<&Plane> {
        let place = &mut self.0[site as usize % SITES];
        if place.as_ref().is_none_or(|found| (found.grid, found.handle) != (grid.id, handle)) {
            look_up(place, grid, handle);
        }
        place.as_ref()?.plane.as_ref()
    }
}

#[cold]
#[inline(never)]
fn look_up(place: &mut Option<Found>, grid: &Grid, handle: u64) {
    let plane = grid.launch.objects.texture(handle).and_then(|texture| Plane::new(&texture));
    *place = Some(Found { grid: grid.id, handle, plane });
}

impl Machine<'_> {
    /// Runs `tex` for the lanes of `mask`. None where that is not one of the cases of this file.
    #[inline(always)]
    pub(super) fn plane(&mut self, site: &TextureSite, mask: u32) -> Option<Flow> {
        let PlaneSite { at: [x, y], gradients } = PlaneSite::of(site)?;
        let handle = match site.texture {
            Object::Row(row) => handle_of_all(&self.frame.r64[row as usize], mask)?,
            object => self.handle(object, mask.trailing_zeros() as usize).ok()?,
        };
        let (isa, pc) = (self.isa, self.pc);
        let plane = self.cta.planes.get_or_insert_default().get(self.grid, handle, pc)?;
        if gradients && plane.anisotropic {
            return None;
        }
        let at = [&self.frame.r32[x as usize], &self.frame.r32[y as usize]];
        let mut out = Channels::default();
        let fetch = Fetch { handles: None, at, out: out.0.each_mut(), lanes: LANES, site: pc };
        (plane.sample)(plane, isa, &mut self.view, fetch)?;
        for (slot, row) in site.slots.iter().zip(&out.0) {
            let Slot::Word(slot) = *slot else { return None };
            self.put(slot, mask, row);
        }
        Some(Flow::Next)
    }
}
