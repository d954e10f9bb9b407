//! Texture and surface instructions (PTX ISA 9.7.10, 9.7.11), without samples of one texel, and samplers that are variables.

use warploom_ptx::ir::{
    FunctionKind, Geometry, GlobalId, MipLevel, Op as Ir, OpaqueRef, Operand, Query, Reg, ScalarType, SurfaceClamp,
    TextureOp,
};

use super::{Decoded, Decoder, Refused, Variable, enter};
use crate::isa::Op;
use crate::memory::Slot;
use crate::ops::surface::{self, SurfaceSite};
use crate::ops::texture::{self, Coordinates, Extent, Level, Object, QuerySite, Results, TextureSite};

/// Where the coordinates of an access are.
struct Rows {
    /// The number of the layer, unsigned.
    layer: Option<u32>,
    /// x, y and z, as many as there are.
    rows: Vec<u32>,
}

/// What the first coordinate of a surface access counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// `.b`
    Bytes,
    /// `.p`
    Texels,
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
                resident,
                texture,
                // An H200 took the filter, border and texels of the texture, whatever handle stood in place of a sampler.
                sampler: None | Some(OpaqueRef::Handle(_)),
                coords,
                level,
                offset,
                // It compared nothing either: what is fetched is what is fetched without a depth.
                depth_compare: _,
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
                let level = match level {
                    MipLevel::Base => Level::Base,
                    MipLevel::Level(level) => Level::Given(self.word(*level)),
                    MipLevel::Gradient { x, y } => Level::Gradients([self.words(x), self.words(y)]),
                };
                let site = TextureSite {
                    texture: self.object(*texture)?,
                    layer,
                    coordinates,
                    level,
                    offset: offset.as_ref().map(|offset| self.words(offset)).unwrap_or_default(),
                    gather: *gather,
                    results,
                    slots: self.slots(dst)?,
                };
                let index = enter(&mut self.function.textures, site);
                self.emit(Op::lanes::<texture::Sample>(), 0, [0; 3], index);
                // All memory is where it should be.
                if let &Some(dst) = resident {
                    self.moves(&Ir::Mov { ty: ScalarType::Pred, dst, src: Operand::Imm(1) })?;
                }
            }
            TextureOp::Query { query, dst, object, level } => {
                let extent = match query {
                    Query::Width => Extent::Width,
                    Query::Height => Extent::Height,
                    Query::Depth => Extent::Depth,
                };
                let object = self.object(*object)?;
                let level = level.map(|level| self.word(level));
                let index = enter(&mut self.function.queries, QuerySite { extent, object, level });
                let d = self.word_out(*dst, false);
                self.emit(Op::scalar(texture::query), d, [0; 3], index);
            }
            TextureOp::Load { geometry, clamp, ty, dst, surface, coords, .. } => {
                let slots = self.slots(dst)?;
                let index = self.surface_site(*surface, *geometry, coords, *clamp, *ty, slots, Format::Bytes)?;
                self.emit(Op::scalar(surface::load), 0, [0; 3], index);
            }
            TextureOp::Store { formatted, geometry, clamp, ty, src, surface, coords, .. } => {
                let slots = src.iter().map(|&value| self.value(*ty, value)).collect::<Decoded<Vec<_>>>()?;
                let format = if *formatted { Format::Texels } else { Format::Bytes };
                let index = self.surface_site(*surface, *geometry, coords, *clamp, *ty, slots, format)?;
                self.emit(Op::scalar(surface::store), 0, [0; 3], index);
            }
            TextureOp::Reduce { formatted, op, geometry, clamp, ty, src, surface, coords } => {
                let slots = vec![self.value(*ty, *src)?];
                let format = if *formatted { Format::Texels } else { Format::Bytes };
                let index = self.surface_site(*surface, *geometry, coords, *clamp, *ty, slots, format)?;
                self.function.surfaces[index as usize].reduction = Some((*op, *ty));
                self.emit(Op::scalar(surface::reduce), 0, [0; 3], index);
            }
            &TextureOp::IsType { ty, dst, a } => {
                let module = self.context.module;
                let mut variables = Vec::new();
                for (index, global) in module.globals.iter().enumerate().filter(|(_, global)| global.ty == ty) {
                    // One that this kernel does not use may have no place, and then no address is its.
                    match self.variable(GlobalId(index as u32)) {
                        Ok(Variable::Placed(number)) => variables.push((number, global.size)),
                        Ok(Variable::Shared(_)) | Err(Refused::Unresolved(_)) => {}
                        Err(refused) => return Err(refused),
                    }
                }
                let index = enter(&mut self.function.kinds, variables);
                let (a, d) = (self.double(a), self.predicate_out(dst));
                self.emit(Op::scalar(texture::is_type), d, [a, 0, 0], index);
            }
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one for each part of the instruction")]
    fn surface_site(
        &mut self,
        surface: OpaqueRef,
        geometry: Geometry,
        coords: &[Operand],
        clamp: SurfaceClamp,
        ty: ScalarType,
        slots: Vec<Slot>,
        format: Format,
    ) -> Decoded<u32> {
        let Rows { layer, rows } = self.coordinates(geometry, coords)?;
        let site = SurfaceSite {
            surface: self.object(surface)?,
            layer,
            coordinates: rows,
            clamp,
            formatted: format == Format::Texels,
            size: ty.bytes(),
            slots,
            reduction: None,
        };
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
        let mut rows = self.words(coords);
        let layer = (geometry.leading() == 1).then(|| rows.remove(0));
        Ok(Rows { layer, rows })
    }

    fn words(&mut self, operands: &[Operand]) -> Vec<u32> {
        operands.iter().map(|&operand| self.word(operand)).collect()
    }

    fn slots(&self, regs: &[Reg]) -> Decoded<Vec<Slot>> {
        regs.iter().map(|&reg| self.slot(reg)).collect()
    }
}
