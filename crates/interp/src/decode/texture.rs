//! Texture and surface instructions (PTX ISA 9.7.10, 9.7.11), without samples of one texel, gradients, offsets and comparison of depths.
//! Textures have one mip level, so that whichever a kernel names is the base.

use warploom_ptx::ir::{
    FunctionKind, Geometry, MipLevel, OpaqueRef, Operand, Query, Reg, ScalarType, SurfaceClamp, TextureOp,
};

use super::{Decoded, Decoder, Refused, Variable, enter};
use crate::isa::Op;
use crate::memory::Slot;
use crate::ops::texture::{self, Coordinates, Extent, Object, Results, SurfaceSite, TextureSite};

/// Where the coordinates of an access are.
struct Rows {
    /// The number of the layer, unsigned.
    layer: Option<u32>,
    /// x, y and z, as many as there are.
    rows: Vec<u32>,
}

impl Decoder<'_> {
    pub(super) fn texture(&mut self, op: &TextureOp) -> Decoded {
        match op {
            TextureOp::Tex {
                geometry,
                gather,
                dst_ty,
                coord_ty,
                dst,
                resident: None,
                texture,
                sampler: None,
                coords,
                level: MipLevel::Base | MipLevel::Level(_),
                offset: None,
                depth_compare: None,
            } => {
                let results = match dst_ty {
                    ScalarType::F32 | ScalarType::U32 | ScalarType::S32 => Results::Words,
                    ScalarType::F16 => Results::Halves,
                    ScalarType::F16x2 => Results::Pairs,
                    _ => return Err(Refused::Unsupported),
                };
                let Rows { layer, rows } = self.coordinates(*geometry, coords)?;
                let coordinates = match (coord_ty, geometry) {
                    (ScalarType::F32, Geometry::Cube | Geometry::ACube) => {
                        Coordinates::Direction(rows.try_into().map_err(|_| Refused::Unsupported)?)
                    }
                    (ScalarType::F32, _) => Coordinates::Float(rows),
                    (ScalarType::S32, Geometry::D1 | Geometry::D2 | Geometry::D3 | Geometry::A1 | Geometry::A2) => {
                        Coordinates::Integer(rows)
                    }
                    _ => return Err(Refused::Unsupported),
                };
                let site = TextureSite {
                    texture: self.object(*texture)?,
                    layer,
                    coordinates,
                    gather: *gather,
                    results,
                    slots: self.slots(dst)?,
                };
                let index = enter(&mut self.function.textures, site);
                self.emit(Op::scalar(texture::sample), 0, [0; 3], index);
            }
            TextureOp::Query { query, dst, object, level: None } => {
                let extent = match query {
                    Query::Width => Extent::Width,
                    Query::Height => Extent::Height,
                    Query::Depth => Extent::Depth,
                    _ => return Err(Refused::Unsupported),
                };
                let object = self.object(*object)?;
                let index = enter(&mut self.function.queries, (extent, object));
                let d = self.word_out(*dst, false);
                self.emit(Op::scalar(texture::query), d, [0; 3], index);
            }
            TextureOp::Load { geometry, clamp, ty, dst, surface, coords, .. } => {
                let slots = self.slots(dst)?;
                let index = self.surface_site(*surface, *geometry, coords, *clamp, ty.bytes(), slots)?;
                self.emit(Op::scalar(texture::load), 0, [0; 3], index);
            }
            TextureOp::Store { formatted: false, geometry, clamp, ty, src, surface, coords, .. } => {
                let slots = src.iter().map(|&value| self.value(*ty, value)).collect::<Decoded<Vec<_>>>()?;
                let index = self.surface_site(*surface, *geometry, coords, *clamp, ty.bytes(), slots)?;
                self.emit(Op::scalar(texture::store), 0, [0; 3], index);
            }
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    fn surface_site(
        &mut self,
        surface: OpaqueRef,
        geometry: Geometry,
        coords: &[Operand],
        clamp: SurfaceClamp,
        size: u32,
        slots: Vec<Slot>,
    ) -> Decoded<u32> {
        let Rows { layer, rows } = self.coordinates(geometry, coords)?;
        let site = SurfaceSite { surface: self.object(surface)?, layer, coordinates: rows, clamp, size, slots };
        if site.bytes() > 16 {
            return Err(Refused::Unsupported);
        }
        Ok(enter(&mut self.function.surfaces, site))
    }

    /// Where the handle of a texture or surface is found.
    fn object(&mut self, object: OpaqueRef) -> Decoded<Object> {
        Ok(match object {
            OpaqueRef::Handle(reg) => Object::Row(self.double(Operand::Reg(reg))),
            OpaqueRef::Global { id, offset } => match self.variable(id)? {
                Variable::Placed(number) => Object::Variable(number, u64::from(offset)),
                Variable::Shared(_) => return Err(Refused::Unsupported),
            },
            OpaqueRef::Param(offset) if self.source.kind == FunctionKind::Kernel => Object::Param(offset),
            OpaqueRef::Param(_) => return Err(Refused::Unsupported),
        })
    }

    /// The rows of the coordinates.
    fn coordinates(&mut self, geometry: Geometry, coords: &[Operand]) -> Decoded<Rows> {
        if matches!(geometry, Geometry::D2ms | Geometry::A2ms) {
            return Err(Refused::Unsupported);
        }
        let mut rows: Vec<u32> = coords.iter().map(|&coord| self.word(coord)).collect();
        let layer = (geometry.leading() == 1).then(|| rows.remove(0));
        Ok(Rows { layer, rows })
    }

    fn slots(&self, regs: &[Reg]) -> Decoded<Vec<Slot>> {
        regs.iter().map(|&reg| self.slot(reg)).collect()
    }
}
