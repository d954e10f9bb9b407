//! Matrix instructions (PTX ISA 9.7.14): shapes, and how many registers their fragments take. Those of warpgroups are in `warpgroup`.

use super::super::body::{BodyLowering, Lower};
use super::Args;
use crate::diagnostic::Code;
use crate::ir::{
    BitOp, BlockScale, BlockScales, Fragment, Layout, MatrixKind, MatrixOp, Op, Operand, Operands, Product, Regs,
    Rounding, ScalarType, Shape, Space,
};
use crate::isa::{Modifiers, Opcode};
use crate::syntax::Span;
use crate::syntax::ast;

/// Reads `m16n8k16`.
pub(super) fn shape(word: &str) -> Option<Shape> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some(Shape { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
}

/// Reads `m8n8`.
fn tile(word: &str) -> Option<(u16, u16)> {
    let (m, n) = word.strip_prefix('m')?.split_once('n')?;
    Some((m.parse().ok()?, n.parse().ok()?))
}

/// Reads `kind::mxf4`.
fn kind(word: &str) -> Option<MatrixKind> {
    word.strip_prefix("kind::").and_then(MatrixKind::from_text)
}

/// How many registers of a lane hold its part of `elements` elements spread over a warp.
pub(super) fn registers(elements: u32, ty: ScalarType) -> usize {
    let held = ty.fragment_register();
    let per_register = held.bits() / ty.bits().min(held.bits());
    (elements / 32 / per_register).max(1) as usize
}

/// How many registers a fragment of `wmma` takes. The 16-bit inputs of the 16x16x16 shapes are held twice over the warp.
fn wmma_registers(fragment: Fragment, shape: Shape, ty: ScalarType) -> usize {
    let (m, n, k) = (u32::from(shape.m), u32::from(shape.n), u32::from(shape.k));
    let elements = match fragment {
        Fragment::A => m * k,
        Fragment::B => k * n,
        Fragment::C => m * n,
    };
    match (fragment, ty) {
        // PTX ISA 9.7.14.3: eight .f16x2 registers for A and B, whatever the shape.
        (Fragment::A | Fragment::B, ScalarType::F16) => 8,
        (Fragment::A | Fragment::B, _) => registers(elements, ty),
        (Fragment::C, _) => registers(elements, ty),
    }
}

impl BodyLowering<'_, '_> {
    pub(super) fn matrix(&mut self, opcode: Opcode, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Option<Op>> {
        let op = match opcode {
            Opcode::Wmma if m.has("load") => self.wmma_load(m, args, span)?,
            Opcode::Wmma if m.has("store") => self.wmma_store(m, args, span)?,
            Opcode::Wmma => MatrixOp::WmmaMma(self.wmma_product(m, args, span)?),
            Opcode::Mma => MatrixOp::Mma(self.mma_product(m, args, span)?),
            Opcode::Ldmatrix | Opcode::Stmatrix => self.tile_transfer(opcode, m, args, span)?,
            Opcode::Wgmma => self.warpgroup(m, args, span)?,
            _ => MatrixOp::MovMatrix { dst: args.dst(0), a: args.src(1) },
        };
        Ok(Some(Op::Matrix(Box::new(op))))
    }

    pub(super) fn fragment(
        &mut self,
        operand: Option<&ast::Operand>,
        ty: ScalarType,
        count: usize,
        span: Span,
    ) -> Lower<Operands> {
        match operand.copied() {
            Some(operand) => self.sources(&operand, ty.fragment_register(), count, false),
            None => self.mismatch(span, "a fragment in braces is missing"),
        }
    }

    pub(super) fn fragment_out(
        &mut self,
        operand: Option<&ast::Operand>,
        ty: ScalarType,
        count: usize,
        span: Span,
    ) -> Lower<Regs> {
        match operand.copied() {
            Some(operand) => self.destinations(&operand, ty.fragment_register(), count, false),
            None => self.mismatch(span, "a fragment in braces is missing"),
        }
    }

    pub(super) fn product_shape(&mut self, m: &Modifiers, span: Span) -> Lower<Shape> {
        match m.find(shape) {
            Some(shape) => Ok(shape),
            None => self.refuse(Code::Modifier, span, "Shape required for matrix instruction"),
        }
    }

    /// The shapes that a multiplicand type of `wmma` has (PTX ISA 9.7.14.1).
    fn check_wmma(&mut self, shape: Shape, fragment: Fragment, ty: ScalarType, span: Span) -> Lower<()> {
        use ScalarType::{B1, Bf16, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
        let wide = matches!((shape.m, shape.n, shape.k), (16, 16, 16) | (32, 8, 16) | (8, 32, 16));
        let fits = match (ty, (shape.m, shape.n, shape.k)) {
            (F16 | Bf16 | U8 | S8, _) => wide,
            (Tf32, shape) => shape == (16, 16, 8),
            (F64, shape) => shape == (8, 8, 4),
            (U4 | S4, shape) => shape == (8, 8, 32),
            (B1, shape) => shape == (8, 8, 128),
            (F32, shape) => wide || shape == (16, 16, 8),
            (S32, shape) => wide || matches!(shape, (8, 8, 32 | 128)),
            _ => false,
        };
        let role = match fragment {
            Fragment::C => matches!(ty, F16 | F32 | F64 | S32),
            Fragment::A | Fragment::B => !matches!(ty, F32 | S32),
        };
        if fits && role {
            return Ok(());
        }
        let message = format!("Type .{ty} does not go with shape .m{}n{}k{} here", shape.m, shape.n, shape.k);
        self.refuse(Code::Modifier, span, message)
    }

    fn matrix_space(&mut self, m: &Modifiers, place: &super::Place) -> Lower<Space> {
        self.access(super::space(m), place)
    }

    fn wmma_load(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<MatrixOp> {
        let shape = self.product_shape(m, span)?;
        let ty = super::ty(m);
        let fragment = m.find(Fragment::from_text).unwrap_or(Fragment::A);
        self.check_wmma(shape, fragment, ty, span)?;
        self.argument = 0;
        let dst = self.fragment_out(args.raw(0), ty, wmma_registers(fragment, shape, ty), span)?;
        let place = *args.place(1);
        let space = self.matrix_space(m, &place)?;
        let layout = m.find(Layout::from_text).unwrap_or(Layout::Row);
        Ok(MatrixOp::WmmaLoad {
            fragment,
            layout,
            shape,
            space,
            ty,
            dst,
            addr: place.address,
            stride: args.optional(2),
        })
    }

    fn wmma_store(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<MatrixOp> {
        let shape = self.product_shape(m, span)?;
        let ty = super::ty(m);
        self.check_wmma(shape, Fragment::C, ty, span)?;
        let place = *args.place(0);
        let space = self.matrix_space(m, &place)?;
        self.argument = 1;
        let src = self.fragment(args.raw(1), ty, wmma_registers(Fragment::C, shape, ty), span)?;
        let layout = m.find(Layout::from_text).unwrap_or(Layout::Row);
        Ok(MatrixOp::WmmaStore { layout, shape, space, ty, src, addr: place.address, stride: args.optional(2) })
    }

    fn wmma_product(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Product> {
        let shape = self.product_shape(m, span)?;
        // Two types are those of D and C, with .f16 multiplicands; four are D, A, B, C.
        let types: Vec<ScalarType> = (0..4).filter_map(|index| m.ty(index)).collect();
        let [d_ty, a_ty, b_ty, c_ty] = match *types.as_slice() {
            [d, c] => [d, ScalarType::F16, ScalarType::F16, c],
            [d, a, b, c] => [d, a, b, c],
            _ => return self.refuse(Code::Modifier, span, "Types required for instruction 'wmma.mma'"),
        };
        // PTX ISA 9.7.14.4.5: deprecated in 6.4, gone in 6.5.
        let float = matches!(d_ty, ScalarType::F16 | ScalarType::F32);
        if float && m.has("satfinite") && self.l.module.version >= (6, 5) {
            let message = "Instruction 'wmma.mma' with floating point type with '.satfinite' is not supported starting from \
                PTX ISA version 6.5";
            return self.refuse(Code::Requirement, span, message);
        }
        if a_ty != b_ty {
            return self.refuse(Code::Modifier, span, "Both multiplicands of 'wmma.mma' must have the same type");
        }
        let counts = [
            wmma_registers(Fragment::C, shape, d_ty),
            wmma_registers(Fragment::A, shape, a_ty),
            wmma_registers(Fragment::B, shape, b_ty),
            wmma_registers(Fragment::C, shape, c_ty),
        ];
        self.product(m, args, span, shape, [d_ty, a_ty, b_ty, c_ty], counts)
    }

    fn mma_product(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Product> {
        let shape = self.product_shape(m, span)?;
        let types: Vec<ScalarType> = (0..4).filter_map(|index| m.ty(index)).collect();
        let [d_ty, a_ty, b_ty, c_ty] = *types.as_slice() else {
            return self.refuse(Code::Modifier, span, "Types required for instruction 'mma'");
        };
        let (sm, sn, sk) = (u32::from(shape.m), u32::from(shape.n), u32::from(shape.k));
        let kind = m.find(kind);
        if kind.is_some() && d_ty != c_ty {
            return self.refuse(Code::Modifier, span, "Unexpected instruction types specified for 'mma'");
        }
        let stored =
            |ty| kind.map_or(ty, |kind| if kind.element_bits() == 8 { ScalarType::B8 } else { ScalarType::U4 });
        let sparse = m.any(|word| word.starts_with("sp"));
        let a_elements = if sparse { sm * sk / 2 } else { sm * sk };
        let mut counts = [
            registers(sm * sn, d_ty),
            registers(a_elements, stored(a_ty)),
            registers(sk * sn, stored(b_ty)),
            registers(sm * sn, c_ty),
        ];
        if (shape.m, shape.n, shape.k) == (8, 8, 4) && a_ty == ScalarType::F16 {
            // PTX ISA 9.7.14.5.1: four products at once, one per quad pair.
            let accumulator = |ty| if ty == ScalarType::F16 { 4 } else { 8 };
            counts = [accumulator(d_ty), 2, 2, accumulator(c_ty)];
        }
        self.product(m, args, span, shape, [d_ty, a_ty, b_ty, c_ty], counts)
    }

    fn product(
        &mut self,
        m: &Modifiers,
        args: Args<'_>,
        span: Span,
        shape: Shape,
        types: [ScalarType; 4],
        counts: [usize; 4],
    ) -> Lower<Product> {
        let [d_ty, a_ty, b_ty, c_ty] = types;
        self.argument = 0;
        let d = self.fragment_out(args.raw(0), d_ty, counts[0], span)?;
        self.argument = 1;
        let a = self.fragment(args.raw(1), a_ty, counts[1], span)?;
        self.argument = 2;
        let b = self.fragment(args.raw(2), b_ty, counts[2], span)?;
        self.argument = 3;
        let c = self.fragment(args.raw(3), c_ty, counts[3], span)?;
        let mut layouts = m.all(Layout::from_text);
        let bit_op = m.has("popc").then(|| if m.has("and") { BitOp::AndPopc } else { BitOp::XorPopc });
        let ordered = m.has("sp::ordered_metadata");
        let kind = m.find(kind);
        let sparse: Option<(Operand, u32, bool)> = if ordered || m.has("sp") {
            let selector = args.constant(5);
            // With a kind, all threads of a quad have metadata (PTX ISA 9.7.14.6.1).
            if selector > if kind.is_some() { 0 } else { 3 } {
                return self.refuse(Code::Operand, span, format!("Sparsity selector {selector} is out of range"));
            }
            Some((args.src(4), selector as u32, ordered))
        } else {
            None
        };
        let scales = match kind {
            Some(kind) if m.has("block_scale") => {
                Some(self.block_scales(kind, m, args, if sparse.is_some() { 6 } else { 4 }, span)?)
            }
            _ => None,
        };
        Ok(Product {
            shape,
            a_layout: layouts.next().unwrap_or(Layout::Row),
            b_layout: layouts.next().unwrap_or(Layout::Col),
            d_ty,
            a_ty,
            b_ty,
            c_ty,
            satfinite: m.has("satfinite"),
            bit_op,
            rnd: m.find(Rounding::from_text),
            d,
            a,
            b,
            c,
            sparse,
            kind,
            scales,
        })
    }

    /// The scales of a product, of which the first operand is `first` (PTX ISA 9.7.14.3).
    fn block_scales(
        &mut self,
        kind: MatrixKind,
        m: &Modifiers,
        args: Args<'_>,
        first: usize,
        span: Span,
    ) -> Lower<BlockScales> {
        let blocks = m.find(|word| match word {
            "scale_vec::1X" => Some(1),
            "scale_vec::2X" => Some(2),
            "scale_vec::4X" => Some(4),
            _ => None,
        });
        let blocks = blocks.unwrap_or(if kind == MatrixKind::Mxf8f6f4 { 1 } else { 2 });
        let a = self.block_scale(args, first, blocks, 1, span)?;
        let b = self.block_scale(args, first + 2, blocks, 3, span)?;
        Ok(BlockScales { ty: m.ty(4).unwrap_or(ScalarType::Ue8m0), blocks, a, b })
    }

    /// The scales of one factor: a register, and `{byte, thread}`, of which the latter is at most `last_thread`.
    fn block_scale(
        &mut self,
        args: Args<'_>,
        first: usize,
        blocks: u8,
        last_thread: u64,
        span: Span,
    ) -> Lower<BlockScale> {
        let data = args.src(first);
        if data.reg().is_none() {
            return self.mismatch(span, "scales are no constants");
        }
        let Some(selectors) = args.raw(first + 1).copied() else {
            return self.mismatch(span, "the selectors of scales are missing");
        };
        self.argument = first + 1;
        let selectors = self.sources(&selectors, ScalarType::U16, 2, false)?;
        let [byte, thread] = [selectors[0], selectors[1]];
        if let Operand::Imm(byte) = byte {
            // So many bytes at a place that is a multiple of their number (PTX ISA 9.7.14.3, table of valid values).
            self.check_constant(first + 1, byte, 0..=u64::from(4 - blocks), span)?;
            if byte % u64::from(blocks) != 0 {
                let message = format!(
                    "Argument {} of instruction 'mma': value '{byte}' is not a multiple of {blocks}",
                    first + 1
                );
                return self.refuse(Code::Operand, span, message);
            }
        }
        if let Operand::Imm(thread) = thread {
            self.check_constant(first + 1, thread, 0..=last_thread, span)?;
        }
        Ok(BlockScale { data, byte, thread })
    }

    /// `ldmatrix` and `stmatrix`: `.x1`, `.x2`, `.x4` tiles, a register each (two for the 16x16 byte tiles).
    fn tile_transfer(&mut self, opcode: Opcode, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<MatrixOp> {
        let shape = m.find(tile).unwrap_or((8, 8));
        let count = match () {
            () if m.has("x4") => 4,
            () if m.has("x2") => 2,
            () => 1,
        };
        let trans = m.has("trans");
        let bits = match () {
            () if m.has("b6x16_p32") => 6,
            () if m.has("b4x16_p64") => 4,
            () => super::ty(m).bits(),
        };
        let registers = usize::from(count) * if shape == (16, 16) { 2 } else { 1 };
        if opcode == Opcode::Ldmatrix {
            self.argument = 0;
            let dst = self.fragment_out(args.raw(0), ScalarType::B32, registers, span)?;
            let place = *args.place(1);
            let space = self.matrix_space(m, &place)?;
            return Ok(MatrixOp::LdMatrix { shape, count, trans, space, bits, dst, addr: place.address });
        }
        let place = *args.place(0);
        let space = self.matrix_space(m, &place)?;
        self.argument = 1;
        let src = self.fragment(args.raw(1), ScalarType::B32, registers, span)?;
        Ok(MatrixOp::StMatrix { shape, count, trans, space, bits, src, addr: place.address })
    }
}
