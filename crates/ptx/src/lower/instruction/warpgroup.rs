//! Matrix instructions of warpgroups (PTX ISA 9.7.15).

use super::super::body::{BodyLowering, Lower};
use super::Args;
use super::matrix::registers;
use crate::diagnostic::Code;
use crate::ir::{MatrixOp, Operand, Predicate, ScalarType, Shape, WarpgroupFactor, WarpgroupProduct};
use crate::isa::Modifiers;
use crate::syntax::Span;
use crate::syntax::ast::{self, OperandKind};

/// Rows that each of the four warps has.
const ROWS: u32 = 16;

impl BodyLowering<'_, '_> {
    pub(super) fn warpgroup(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<MatrixOp> {
        Ok(match () {
            () if m.has("fence") => MatrixOp::WarpgroupFence,
            () if m.has("commit_group") => MatrixOp::WarpgroupCommit,
            () if m.has("wait_group") => {
                let pending = self.check_constant(0, args.constant(0), 0..=u64::from(u32::MAX), span)? as u32;
                MatrixOp::WarpgroupWait { pending }
            }
            () => MatrixOp::WarpgroupMma(self.warpgroup_product(m, args, span)?),
        })
    }

    /// The sizes and types that `wgmma.mma_async` has (PTX ISA 9.7.15.2, 9.7.15.3).
    fn check_warpgroup(&mut self, shape: Shape, [d, a, b]: [ScalarType; 3], sparse: bool, span: Span) -> Lower<()> {
        use ScalarType::{B1, Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};
        let factors = match (a, b) {
            (F16, F16) => Some((16, matches!(d, F16 | F32))),
            (Bf16, Bf16) => Some((16, d == F32)),
            (Tf32, Tf32) => Some((8, d == F32)),
            (E4m3 | E5m2, E4m3 | E5m2) => Some((32, matches!(d, F16 | F32))),
            (U8 | S8, U8 | S8) => Some((32, d == S32)),
            (B1, B1) if !sparse => Some((256, d == S32)),
            _ => None,
        };
        let Some((k, true)) = factors else {
            return self.refuse(
                Code::Modifier,
                span,
                format!("Types .{d}.{a}.{b} do not go together in 'wgmma.mma_async'"),
            );
        };
        // Of integers, some widths between are missing: multiples of 16 from 32 on, and 8 and 24.
        let n = shape.n;
        let by_integers = n.is_multiple_of(16) || matches!(n, 8 | 24);
        let wide = (8..=256).contains(&n) && n.is_multiple_of(8) && (a.is_float() || by_integers);
        if shape.m == 64 && wide && shape.k == if sparse { 2 * k } else { k } {
            return Ok(());
        }
        let message = format!("Shape .m{}n{}k{} does not go with types .{d}.{a}.{b}", shape.m, shape.n, shape.k);
        self.refuse(Code::Modifier, span, message)
    }

    fn warpgroup_product(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<WarpgroupProduct> {
        let shape = self.product_shape(m, span)?;
        let types: Vec<ScalarType> = (0..3).filter_map(|index| m.ty(index)).collect();
        let [d_ty, a_ty, b_ty] = *types.as_slice() else {
            return self.refuse(Code::Modifier, span, "Types required for instruction 'wgmma.mma_async'");
        };
        let sparse = m.has("sp");
        self.check_warpgroup(shape, [d_ty, a_ty, b_ty], sparse, span)?;
        self.argument = 0;
        let d = self.fragment_out(args.raw(0), d_ty, registers(ROWS * u32::from(shape.n), d_ty), span)?;
        let c = d.iter().map(|&reg| Operand::Reg(reg)).collect();
        let mut rest = Rest { args, next: 1 };
        let a = self.warpgroup_factor(&mut rest, shape, a_ty, sparse, span)?;
        let b = self.next_source(&mut rest, ScalarType::B64, span)?;
        let sparse = if sparse {
            let metadata = self.next_source(&mut rest, ScalarType::B32, span)?;
            let selector = self.next_constant(&mut rest, span)?;
            // The selector counts the pairs of threads that have metadata; elements of 8 bits have those of all (PTX ISA 9.7.15.6.1).
            let last = if a_ty.bits() == 8 { 0 } else { 1 };
            Some((metadata, self.check_constant(rest.next - 1, selector, 0..=last, span)? as u32))
        } else {
            None
        };
        let scale_d = self.next_predicate(&mut rest, span)?;
        let scaled = a_ty.is_float();
        let negate_a = scaled && self.next_sign(&mut rest, span)?;
        let negate_b = scaled && self.next_sign(&mut rest, span)?;
        // Only matrices of 16-bit elements in shared memory can be transposed.
        let halves = matches!(a_ty, ScalarType::F16 | ScalarType::Bf16);
        let in_shared = matches!(a, WarpgroupFactor::Shared(_));
        let transpose_a = halves && in_shared && self.next_flag(&mut rest, span)?;
        let transpose_b = halves && self.next_flag(&mut rest, span)?;
        if rest.args.raw(rest.next).is_some() {
            return self.mismatch(span, "there are too many arguments");
        }
        let satfinite = m.has("satfinite");
        Ok(WarpgroupProduct {
            shape,
            d_ty,
            a_ty,
            b_ty,
            satfinite,
            d,
            c,
            a,
            b,
            scale_d,
            negate_a,
            negate_b,
            transpose_a,
            transpose_b,
            sparse,
        })
    }

    fn warpgroup_factor(
        &mut self,
        rest: &mut Rest<'_>,
        shape: Shape,
        ty: ScalarType,
        sparse: bool,
        span: Span,
    ) -> Lower<WarpgroupFactor> {
        let operand = self.next_raw(rest, span)?;
        if !matches!(operand.kind, OperandKind::Vector(_)) {
            return self.source(&operand, ScalarType::B64, false).map(WarpgroupFactor::Shared);
        }
        let k = u32::from(shape.k) / if sparse { 2 } else { 1 };
        let count = registers(ROWS * k, ty);
        self.sources(&operand, ScalarType::B32, count, false).map(WarpgroupFactor::Registers)
    }

    fn next_raw(&mut self, rest: &mut Rest<'_>, span: Span) -> Lower<ast::Operand> {
        self.argument = rest.next;
        rest.next += 1;
        match rest.args.raw(rest.next - 1) {
            Some(operand) => Ok(*operand),
            None => self.mismatch(span, format_args!("argument {} is missing", rest.next - 1)),
        }
    }

    fn next_source(&mut self, rest: &mut Rest<'_>, ty: ScalarType, span: Span) -> Lower<Operand> {
        let operand = self.next_raw(rest, span)?;
        self.source(&operand, ty, false)
    }

    fn next_predicate(&mut self, rest: &mut Rest<'_>, span: Span) -> Lower<Predicate> {
        let operand = self.next_raw(rest, span)?;
        self.predicate(&operand)
    }

    fn next_constant(&mut self, rest: &mut Rest<'_>, span: Span) -> Lower<u64> {
        let operand = self.next_raw(rest, span)?;
        self.integer(&operand)
    }

    /// An `imm-scale` operand: whether it is -1.
    fn next_sign(&mut self, rest: &mut Rest<'_>, span: Span) -> Lower<bool> {
        match self.next_constant(rest, span)? as i64 {
            1 => Ok(false),
            -1 => Ok(true),
            other => self.mismatch(span, format_args!("argument {} is {other}, expected 1 or -1", rest.next - 1)),
        }
    }

    /// An `imm-trans` operand.
    fn next_flag(&mut self, rest: &mut Rest<'_>, span: Span) -> Lower<bool> {
        let value = self.next_constant(rest, span)?;
        Ok(self.check_constant(rest.next - 1, value, 0..=1, span)? == 1)
    }
}

/// The operands that have not been read yet.
struct Rest<'v> {
    args: Args<'v>,
    next: usize,
}
