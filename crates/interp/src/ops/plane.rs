//! Texels of a plane, as programs read them most: one texture for all lanes, one mip level, no border; the nearest, or what lies between four. What a texture
//! asks for is worked out once, when a grid first names it at an instruction.

mod block;
pub(crate) mod direct;

use warploom_exec::grid::Grid;
use warploom_exec::memory::{Area, Readable};
use warploom_exec::texture::{Channel, Texels, Texture};
use warploom_numerics::texture::Outside;
use warploom_numerics::texture::block::Ruler;

use self::block::{Channels, Fetch, LANES, Sample, sample_for};
use crate::frame::Row32;
use crate::isa::Isa;
use crate::machine::{Flow, Machine};
use crate::memory::Slot;
use crate::ops::sampling::{Reading, axis, reading};
use crate::ops::texture::{Coordinates, Level, Object, Results, TextureSite, handle_of_all};

/// A texture of this kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    /// From the first texel to behind the last one, in whole words.
    area: Area,
    /// Of a texel: which power of 2.
    texel_bits: u32,
    /// From row to row.
    pitch: u32,
    rulers: [Ruler; 2],
    isa: Isa,
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
    /// The texture of a handle. None where it is another kind, offsets in it do not fit, or not all of it may be read.
    fn of_handle(grid: &Grid, handle: u64, isa: Isa) -> Option<Plane> {
        Plane::new(grid, &*grid.launch.objects.texture(handle)?, isa)
    }

    fn new(grid: &Grid, texture: &Texture, isa: Isa) -> Option<Plane> {
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
            area: grid.memory().area(start, u32::try_from(bytes.next_multiple_of(u64::from(WORD))).ok()?)?,
            texel_bits: texel.ilog2(),
            pitch: texels.pitch as u32,
            rulers: [Ruler::new(&axes[0]), Ruler::new(&axes[1])],
            channel,
            channels: channels as usize,
            readings,
            isa,
            sample: sample_for(isa, texel, sampler.linear, &readings[..channels as usize]),
            anisotropic: sampler.anisotropy > 1,
        })
    }

    /// What lanes read, as many as there are from the first on. Lanes that do not run count like others: whatever they ask for is in the texture as well. None where it is not; what is written
    /// then means nothing.
    #[inline(always)]
    fn fetch(&self, memory: Readable<'_>, at: [&Row32; 2], out: &mut Channels, lanes: usize) -> Option<()> {
        (self.sample)(&mut Fetch { plane: self, memory, at, out, lanes })
    }
}

impl AsRef<Plane> for Plane {
    #[inline(always)]
    fn as_ref(&self) -> &Plane {
        self
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
        let words = site.results == Results::Words && site.slots.iter().all(|slot| matches!(slot, Slot::Word(_)));
        let plain = site.layer.is_none() && site.offset.is_empty() && site.gather.is_none();
        let gradients = matches!(site.level, Level::Gradients(_));
        (plain && words).then_some(PlaneSite { at: [x, y], gradients })
    }
}

/// Instructions of which it is kept what they have found behind handles.
const SITES: usize = 16;

/// What instructions have found behind handles.
#[derive(Debug, Default)]
pub(crate) struct Planes {
    found: [Option<Found<Plane>>; SITES],
    read: Read,
}

/// What was read last, as it is stored at once: what goes over the end of a line takes processors twice as long, and as long again to load.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Read(Channels);

/// What an instruction has found behind a handle: a texture, or what it has made of one.
#[derive(Debug)]
pub(crate) struct Found<T> {
    grid: u64,
    handle: u64,
    /// None where it is not one of this kind.
    what: Option<T>,
}

/// What is behind a handle, for an instruction that has this place for it: made again for each grid, for each handle that is not the last one, and where memory has changed. With it
/// the texture, to be read from.
#[inline(always)]
pub(crate) fn found<'f, 'g, T: AsRef<Plane>>(
    place: &'f mut Option<Found<T>>,
    grid: &'g Grid,
    handle: u64,
    make: impl FnOnce() -> Option<T>,
) -> Option<(&'f T, Readable<'g>)> {
    if let Some(found) = place
        && (found.grid, found.handle) == (grid.id, handle)
        && let Some(readable) = found.what.as_ref()?.as_ref().area.readable(grid.memory())
    {
        // Looked at once more, as what is lent stays lent.
        return Some((place.as_ref()?.what.as_ref()?, readable));
    }
    found_anew(place, grid, handle, make)
}

#[cold]
#[inline(never)]
fn found_anew<'f, 'g, T: AsRef<Plane>>(
    place: &'f mut Option<Found<T>>,
    grid: &'g Grid,
    handle: u64,
    make: impl FnOnce() -> Option<T>,
) -> Option<(&'f T, Readable<'g>)> {
    let what = place.insert(Found { grid: grid.id, handle, what: make() }).what.as_ref()?;
    Some((what, what.as_ref().area.readable(grid.memory())?))
}

impl Machine<'_> {
    /// Runs `tex` for the lanes of `mask`. None where that is not one of the cases of this file.
    #[inline(always)]
    pub(super) fn plane(&mut self, site: &TextureSite, mask: u32) -> Option<Flow> {
        let asked = PlaneSite::of(site)?;
        let mut planes = self.cta.planes.take().unwrap_or_default();
        let read = self.read(&mut planes, site, &asked, mask);
        if read.is_some() {
            for (slot, [row, _]) in site.slots.iter().zip(&planes.read.0) {
                self.put(slot.row(), mask, row);
            }
        }
        self.cta.planes = Some(planes);
        read.map(|()| Flow::Next)
    }

    /// Reads the channels for that.
    #[inline(always)]
    fn read(&mut self, planes: &mut Planes, site: &TextureSite, asked: &PlaneSite, mask: u32) -> Option<()> {
        let handle = match site.texture {
            Object::Row(row) => handle_of_all(&self.frame.r64[row as usize], mask)?,
            object => self.handle(object, mask.trailing_zeros() as usize).ok()?,
        };
        let (grid, isa) = (self.grid, self.isa);
        let place = &mut planes.found[self.pc as usize % SITES];
        let (plane, memory) = found(place, grid, handle, || Plane::of_handle(grid, handle, isa))?;
        if asked.gradients && plane.anisotropic {
            return None;
        }
        let [x, y] = asked.at.map(|row| &self.frame.r32[row as usize]);
        plane.fetch(memory, [x, y], &mut planes.read.0, LANES)
    }
}
