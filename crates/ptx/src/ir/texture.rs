//! Texture and surface instructions (PTX ISA 9.7.10, 9.7.11).

use super::text::text;
use super::types::keywords;
use super::{AtomicOp, Operand, Operands, Reg, Regs, ScalarType};

keywords! {
    /// Shape of a texture or surface access.
    Geometry {
        D1 = "1d", D2 = "2d", D3 = "3d", A1 = "a1d", A2 = "a2d", Cube = "cube", ACube = "acube", D2ms = "2dms", A2ms = "a2dms",
    }
}

impl Geometry {
    /// How many of the coordinates in front are unsigned whole numbers: the layer of an array, the sample of a multisampled image.
    pub const fn leading(self) -> usize {
        match self {
            Geometry::A1 | Geometry::A2 | Geometry::ACube | Geometry::D2ms => 1,
            Geometry::A2ms => 2,
            Geometry::D1 | Geometry::D2 | Geometry::D3 | Geometry::Cube => 0,
        }
    }
}

keywords! {
    /// What a surface access outside the bounds does.
    SurfaceClamp { Trap = "trap", Clamp = "clamp", Zero = "zero", }
}

text! {
    /// The texture, surface or sampler that an instruction names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OpaqueRef {
        /// A 64-bit handle (`.u64` register), as from `cuTexObjectCreate`.
        Handle(Reg),
        /// A module variable of an opaque type, or the element of an array of them at this byte.
        Global {
            /// The variable.
            id: super::GlobalId,
            /// Of the element, in bytes.
            offset: u32,
        },
        /// A kernel parameter of an opaque type, by its offset.
        Param(u32),
    }
}

text! {
    /// How `tex` chooses the mip level.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(missing_docs)]
    pub enum MipLevel {
        /// The plain form.
        Base,
        Level(Operand),
        Gradient {
            x: Operands,
            y: Operands,
        },
    }
}

text! {
    /// A texture or surface instruction.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(missing_docs)]
    pub enum TextureOp {
        /// `tex` and, with `gather` (component 0 to 3), `tld4`.
        Tex {
            geometry: Geometry,
            gather: Option<u8>,
            dst_ty: ScalarType,
            coord_ty: ScalarType,
            /// Four elements; two for `.v2.f16x2`.
            dst: Regs,
            /// Set where the texel is resident.
            resident: Option<Reg>,
            texture: OpaqueRef,
            sampler: Option<OpaqueRef>,
            coords: Operands,
            level: MipLevel,
            offset: Option<Operands>,
            depth_compare: Option<Operand>,
        },
        /// `txq` and `suq`
        Query { query: Query, dst: Reg, object: OpaqueRef, level: Option<Operand> },
        /// `suld.b`; elements of type `ty` in registers of type `to`.
        Load {
            geometry: Geometry,
            clamp: SurfaceClamp,
            ty: ScalarType,
            to: ScalarType,
            dst: Regs,
            surface: OpaqueRef,
            coords: Operands,
        },
        /// `sust.b` and (with `formatted`) `sust.p`; elements of type `ty` from the low bits of values of type `from`.
        Store {
            formatted: bool,
            geometry: Geometry,
            clamp: SurfaceClamp,
            ty: ScalarType,
            from: ScalarType,
            src: Operands,
            surface: OpaqueRef,
            coords: Operands,
        },
        /// `sured.b` and (with `formatted`) `sured.p`
        Reduce {
            formatted: bool,
            op: AtomicOp,
            geometry: Geometry,
            clamp: SurfaceClamp,
            ty: ScalarType,
            src: Operand,
            surface: OpaqueRef,
            coords: Operands,
        },
        /// `istypep`: which kind of opaque object an address is.
        IsType { ty: ScalarType, dst: Reg, a: Operand },
    }
}

keywords! {
    /// What `txq` and `suq` ask for: of extents. Their other questions have no operation.
    Query { Width = "width", Height = "height", Depth = "depth", }
}
