//! Textures and surfaces (PTX ISA 9.7.10, 9.7.11).

use super::super::address::Place;
use super::super::body::{BodyLowering, Lower};
use super::super::scope::Symbol;
use super::{Args, ty};
use crate::diagnostic::Code;
use crate::ir::{
    AtomicOp, Base, Geometry, MipLevel, Op, OpaqueRef, Operand, Operands, Query, Regs, ScalarType, SurfaceClamp,
    TextureOp,
};
use crate::isa::{Modifiers, Opcode};
use crate::syntax::Span;
use crate::syntax::ast::{self, OperandKind};

/// How many coordinates an access has, layer and sample included, and how many elements their vector is written with.
const fn coordinates(geometry: Geometry) -> (usize, usize) {
    match geometry {
        Geometry::D1 => (1, 1),
        Geometry::D2 | Geometry::A1 => (2, 2),
        Geometry::D3 | Geometry::A2 | Geometry::Cube | Geometry::D2ms => (3, 4),
        Geometry::ACube | Geometry::A2ms => (4, 4),
    }
}

impl BodyLowering<'_, '_> {
    pub(super) fn texture(&mut self, opcode: Opcode, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Option<Op>> {
        let geometry = m.find(Geometry::from_text).unwrap_or(Geometry::D1);
        let clamp = m.find(SurfaceClamp::from_text).unwrap_or(SurfaceClamp::Trap);
        let op = match opcode {
            Opcode::Tex | Opcode::Tld4 => self.sample(geometry, m, args, span)?,
            Opcode::Txq | Opcode::Suq => {
                let place = *args.place(1);
                let Some(query) = m.find(Query::from_text) else { return Ok(None) };
                let object = self.opaque(&place)?;
                TextureOp::Query { query, dst: args.dst(0), object, level: args.optional(2) }
            }
            Opcode::Suld => {
                let (surface, coords) = self.surface(args.place(1), geometry)?;
                let (to, dst) = self.loaded(ty(m), args.dsts(0));
                TextureOp::Load { geometry, clamp, ty: ty(m), to, dst, surface, coords }
            }
            Opcode::Sust => {
                let (surface, coords) = self.surface(args.place(0), geometry)?;
                let (from, src) = self.stored(ty(m), args.srcs(1));
                TextureOp::Store { formatted: m.has("p"), geometry, clamp, ty: ty(m), from, src, surface, coords }
            }
            Opcode::Sured => {
                let (surface, coords) = self.surface(args.place(0), geometry)?;
                let op = m.find(AtomicOp::from_text).unwrap_or(AtomicOp::Add);
                let (formatted, src) = (m.has("p"), args.src(1));
                TextureOp::Reduce { formatted, op, geometry, clamp, ty: ty(m), src, surface, coords }
            }
            _ => {
                let Some(operand) = args.raw(1).copied() else {
                    return self.refuse(Code::Operand, span, "Arguments mismatch for instruction 'istypep'");
                };
                let a = self.source(&operand, ScalarType::U64, false)?;
                TextureOp::IsType { ty: ty(m), dst: args.dst(0), a }
            }
        };
        Ok(Some(Op::Texture(Box::new(op))))
    }

    /// The texture, surface or sampler in an address: a handle in a register, or a variable or parameter of an opaque type.
    fn opaque(&mut self, place: &Place) -> Lower<OpaqueRef> {
        match place.address.base {
            Base::Reg(reg) if self.body.regs[reg.0 as usize].ty.bits() == 64 => Ok(OpaqueRef::Handle(reg)),
            Base::Global(id) => Ok(OpaqueRef::Global { id, offset: place.address.offset as u32 }),
            Base::ParamFrame => Ok(OpaqueRef::Param(place.address.offset as u32)),
            _ => self.mismatch(place.span, "a texture, surface or sampler expected: a variable or a .u64 register"),
        }
    }

    fn opaque_operand(&mut self, operand: &ast::Operand) -> Lower<OpaqueRef> {
        if let OperandKind::Name(name) = operand.kind {
            match self.symbol(name) {
                Some(Symbol::Reg(reg)) if self.body.regs[reg.0 as usize].ty.bits() == 64 => {
                    return Ok(OpaqueRef::Handle(reg));
                }
                Some(Symbol::Global(id)) => return Ok(OpaqueRef::Global { id: self.use_global(id), offset: 0 }),
                Some(Symbol::Param(index)) => return Ok(OpaqueRef::Param(self.params[index as usize].offset)),
                _ => {}
            }
        }
        self.mismatch(operand.span, "a sampler expected: a variable or a .u64 register")
    }

    fn surface(&mut self, place: &Place, geometry: Geometry) -> Lower<(OpaqueRef, Operands)> {
        let surface = self.opaque(place)?;
        let ast = self.l.ast;
        let [coords] = &ast[place.rest] else {
            return self.mismatch(place.span, "[surface, {coordinates}] expected");
        };
        Ok((surface, self.coords(coords, geometry, ScalarType::S32)?))
    }

    /// `{x, y}`, or a vector register; arrays and multisampled images have an unsigned layer or sample number in front. Of a longer vector the rest is not looked at.
    fn coords(&mut self, operand: &ast::Operand, geometry: Geometry, ty: ScalarType) -> Lower<Operands> {
        let (used, written) = coordinates(geometry);
        let ty_of = |index: usize| if index < geometry.leading() { ScalarType::U32 } else { ty };
        let ast = self.l.ast;
        if let Some(regs) = self.vector_register(operand) {
            self.coordinate_count(regs.len(), written, geometry, operand.span)?;
            let checked = regs.into_iter().take(used).enumerate();
            return checked
                .map(|(index, reg)| {
                    let ty = self.type_beside(reg, ty_of(index));
                    self.check_register(reg, ty, false, operand.span).map(Operand::Reg)
                })
                .collect();
        }
        let elements = match operand.kind {
            OperandKind::Vector(list) => &ast[list],
            _ => std::slice::from_ref(operand),
        };
        self.coordinate_count(elements.len(), written, geometry, operand.span)?;
        let sources = elements[..used].iter().enumerate();
        sources
            .map(|(index, element)| {
                let ty = ty_of(index);
                let ty = self.named_register(element).map_or(ty, |reg| self.type_beside(reg, ty));
                self.source(element, ty, false)
            })
            .collect()
    }

    fn coordinate_count(&mut self, given: usize, written: usize, geometry: Geometry, span: Span) -> Lower<()> {
        if given == 3 {
            return self.refuse(Code::Operand, span, "Illegal vector size: 3");
        }
        if given < written || given > 4 {
            return self.mismatch(span, format_args!("{given} coordinates given, {written} expected for .{geometry}"));
        }
        Ok(())
    }

    /// `tex` and `tld4`.
    fn sample(&mut self, geometry: Geometry, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<TextureOp> {
        let mut raw = (0..args.0.len()).filter_map(|index| args.raw(index).copied());
        let (Some(dst), Some(address)) = (raw.next(), raw.next()) else {
            return self.refuse(
                Code::Operand,
                span,
                "Arguments mismatch: destination and [texture, {coordinates}] expected",
            );
        };
        let rest: Vec<ast::Operand> = raw.collect();
        let dst_ty = ty(m);
        let coord_ty = m.ty(1).unwrap_or(ScalarType::F32);
        let gather =
            m.find(|word| ["r", "g", "b", "a"].iter().position(|c| *c == word)).map(|component| component as u8);
        self.argument = 0;
        let ast = self.l.ast;
        let (dst, resident) = match dst.kind {
            OperandKind::Pair(first, second) => {
                (ast[first], Some(self.destination(&ast[second], ScalarType::Pred, false)?))
            }
            _ => (dst, None),
        };
        let dst: Regs = self.destinations(&dst, dst_ty, m.vector(), false)?;
        self.argument = 1;
        let place = self.place(&address)?;
        let texture = self.opaque(&place)?;
        let (sampler, coords) = match &ast[place.rest] {
            [coords] => (None, coords),
            [sampler, coords] => (Some(self.opaque_operand(sampler)?), coords),
            _ => {
                return self
                    .mismatch(place.span, "[texture, {coordinates}] or [texture, sampler, {coordinates}] expected");
            }
        };
        let coords = self.coords(coords, geometry, coord_ty)?;
        let mut rest = rest.iter();
        let level = if m.has("level") {
            let level = self.next_operand(&mut rest, span)?;
            MipLevel::Level(self.source(level, coord_ty, false)?)
        } else if m.has("grad") {
            let (x, y) = (self.next_operand(&mut rest, span)?, self.next_operand(&mut rest, span)?);
            MipLevel::Gradient {
                x: self.spatial(x, geometry, ScalarType::F32)?,
                y: self.spatial(y, geometry, ScalarType::F32)?,
            }
        } else {
            MipLevel::Base
        };
        let (mut offset, mut depth_compare) = (None, None);
        for operand in rest {
            if self.is_depth(operand) && depth_compare.is_none() {
                if coord_ty != ScalarType::F32 {
                    return self.mismatch(operand.span, "depths are compared at places of floats");
                }
                depth_compare = Some(self.source(operand, ScalarType::F32, false)?);
            } else if offset.is_none() {
                offset = Some(self.spatial(operand, geometry, ScalarType::S32)?);
            } else {
                return self.mismatch(operand.span, "too many operands");
            }
        }
        Ok(TextureOp::Tex {
            geometry,
            gather,
            dst_ty,
            coord_ty,
            dst,
            resident,
            texture,
            sampler,
            coords,
            level,
            offset,
            depth_compare,
        })
    }

    fn next_operand<'o>(
        &mut self,
        rest: &mut std::slice::Iter<'o, ast::Operand>,
        span: Span,
    ) -> Lower<&'o ast::Operand> {
        match rest.next() {
            Some(operand) => Ok(operand),
            None => self.mismatch(span, "an operand for the mip level is missing"),
        }
    }

    /// An offset or a derivative: a value per dimension of the image, without layer; three are written as four.
    fn spatial(&mut self, operand: &ast::Operand, geometry: Geometry, ty: ScalarType) -> Lower<Operands> {
        let dimensions = match geometry {
            Geometry::D1 | Geometry::A1 => 1,
            Geometry::D2 | Geometry::A2 | Geometry::D2ms | Geometry::A2ms => 2,
            Geometry::D3 | Geometry::Cube | Geometry::ACube => 3,
        };
        let ast = self.l.ast;
        let elements = match operand.kind {
            OperandKind::Vector(list) => &ast[list],
            _ => std::slice::from_ref(operand),
        };
        if elements.len() < dimensions {
            let given = elements.len();
            return self
                .mismatch(operand.span, format_args!("{given} elements given, {dimensions} expected for .{geometry}"));
        }
        elements[..dimensions].iter().map(|element| self.source(element, ty, false)).collect()
    }

    /// Whether a trailing scalar is the depth to compare with rather than an offset: depths are floats.
    fn is_depth(&mut self, operand: &ast::Operand) -> bool {
        match operand.kind {
            OperandKind::Name(name) => match self.symbol(name) {
                Some(Symbol::Reg(reg)) => self.body.regs[reg.0 as usize].ty == ScalarType::F32,
                _ => false,
            },
            OperandKind::Literal(ast::Literal::F32(_) | ast::Literal::F64(_)) => true,
            _ => false,
        }
    }
}
