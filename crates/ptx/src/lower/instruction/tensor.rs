//! Tensor copies and tensor maps (PTX ISA 9.7.9.25.5 to 9.7.9.27).

use super::super::address::Place;
use super::super::body::{BodyLowering, Lower};
use super::Args;
use super::asynchronous::space_word;
use crate::diagnostic::Code;
use crate::ir::{AsyncOp, AtomicOp, Op, Operands, ScalarType, Space, TensorOp, TensorTransfer, TensormapField};
use crate::isa::Modifiers;
use crate::syntax::Span;
use crate::syntax::ast;

/// Modes of tensor maps that `cuTensorMapEncodeIm2colWide` makes, which have no variant in the IR.
fn is_wide(word: &str) -> bool {
    matches!(word, "im2col::w" | "im2col::w::128")
}

/// Rows that `.tile::gather4` and `.tile::scatter4` take, each with a coordinate of its own.
const GATHERED: usize = 4;

impl BodyLowering<'_, '_> {
    /// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` and `cp.async.bulk.prefetch.tensor`.
    pub(super) fn tensor(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Option<Op>> {
        if m.any(is_wide) {
            return Ok(None);
        }
        let Some(rank) = m.find(|word| word.strip_suffix('d')?.parse::<usize>().ok()) else {
            return self.refuse(Code::Modifier, span, "Dimensionality required for instruction 'cp.async.bulk.tensor'");
        };
        let im2col = m.any(|word| matches!(word, "im2col" | "im2col_no_offs"));
        let rows_apart = m.any(|word| matches!(word, "tile::gather4" | "tile::scatter4"));
        if rows_apart && rank != 2 {
            let message = format!("Four rows are gathered and scattered in 2 dimensions, and not in {rank}");
            return self.refuse(Code::Modifier, span, message);
        }
        let mode = (im2col, rows_apart);
        if im2col && rank < 3 {
            let message = format!("Modifier '.im2col' requires at least 3 dimensions, and not {rank}");
            return self.refuse(Code::Modifier, span, message);
        }
        let mut written: Vec<ast::Operand> = (0..args.0.len()).filter_map(|index| args.raw(index).copied()).collect();
        written.reverse();
        let mut next = |what: &str| written.pop().ok_or_else(|| format!("{what} is missing"));
        let mut spaces = m.all(space_word);
        let (first, second) = (spaces.next(), spaces.next());
        let op = if m.has("prefetch") {
            let map = next("the tensor map");
            self.tensor_part(map, TensorTransfer::Prefetch, mode, rank, span)?
        } else if first == Some(Space::Global) {
            let (map, src) = (next("the tensor map"), next("the source"));
            let src = self.bracketed(src, Space::Shared, span)?;
            let reduce = if m.has("reduce") { m.find(AtomicOp::from_text) } else { None };
            self.tensor_part(map, TensorTransfer::Store { reduce, src: src.address }, mode, rank, span)?
        } else {
            debug_assert_eq!(second, Some(Space::Global));
            let space = first.unwrap_or(Space::SharedCluster);
            let (dst, map, mbarrier) = (next("the destination"), next("the tensor map"), next("the mbarrier"));
            let dst = self.bracketed(dst, space, span)?.address;
            let mbarrier = self.bracketed(mbarrier, Space::Shared, span)?.address;
            let transfer = TensorTransfer::Load { space, dst, mbarrier, multicast: None };
            self.tensor_part(map, transfer, mode, rank, span)?
        };
        let mut op = op;
        let with_offsets = im2col && !matches!(op.transfer, TensorTransfer::Store { .. });
        if with_offsets {
            op.offsets = self.vector(next("the offsets"), ScalarType::U16, rank - 2, span)?;
        }
        if m.has("multicast::cluster")
            && let TensorTransfer::Load { multicast, .. } = &mut op.transfer
        {
            let mask = self.found(next("the mask of CTAs"), span)?;
            *multicast = Some(self.source(&mask, ScalarType::B16, false)?);
        }
        if m.has("L2::cache_hint") {
            let policy = self.found(next("the cache policy"), span)?;
            self.source(&policy, ScalarType::B64, false)?;
        }
        if let Ok(more) = next("") {
            return self.mismatch(more.span, "there are more operands than modifiers ask for");
        }
        Ok(Some(Op::Async(Box::new(AsyncOp::Tensor(Box::new(op))))))
    }

    fn found(&mut self, operand: Result<ast::Operand, String>, span: Span) -> Lower<ast::Operand> {
        match operand {
            Ok(operand) => Ok(operand),
            Err(message) => self.mismatch(span, message),
        }
    }

    fn bracketed(&mut self, operand: Result<ast::Operand, String>, space: Space, span: Span) -> Lower<Place> {
        let operand = self.found(operand, span)?;
        let place = self.place(&operand)?;
        self.access(space, &place)?;
        Ok(place)
    }

    fn vector(
        &mut self,
        operand: Result<ast::Operand, String>,
        ty: ScalarType,
        count: usize,
        span: Span,
    ) -> Lower<Operands> {
        let operand = self.found(operand, span)?;
        self.sources(&operand, ty, count, false)
    }

    /// `[map, {coordinates}]`
    fn tensor_part(
        &mut self,
        operand: Result<ast::Operand, String>,
        transfer: TensorTransfer,
        (im2col, rows_apart): (bool, bool),
        rank: usize,
        span: Span,
    ) -> Lower<TensorOp> {
        let operand = self.found(operand, span)?;
        let place = self.place(&operand)?;
        let space = self.access(Space::Generic, &place)?;
        if !matches!(space, Space::Generic | Space::Global | Space::Const | Space::Param) {
            return self.refuse(Code::Operand, place.span, "State space incorrect for a tensor map");
        }
        let ast = self.l.ast;
        let coordinates = match ast[place.rest] {
            [coordinates] => {
                let count = if rows_apart { 1 + GATHERED } else { rank };
                self.sources(&coordinates, ScalarType::S32, count, false)?
            }
            _ => return self.mismatch(place.span, "coordinates in braces must stand behind the tensor map"),
        };
        Ok(TensorOp { transfer, im2col, rows_apart, map: place.address, coordinates, offsets: Operands::new() })
    }

    /// `tensormap.replace` and `tensormap.cp_fenceproxy`.
    pub(super) fn tensormap(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Option<Op>> {
        let place = *args.place(0);
        if m.has("cp_fenceproxy") {
            let src = *args.place(1);
            self.access(Space::Global, &place)?;
            self.access(Space::Shared, &src)?;
            let size = self.check_constant(2, args.constant(2), 128..=128, span)? as u32;
            let op = AsyncOp::CopyMap { dst: place.address, src: src.address, size };
            return Ok(Some(Op::Async(Box::new(op))));
        }
        let space = self.access(super::space(m), &place)?;
        let Some(field) = m.find(TensormapField::from_text) else {
            return self.refuse(Code::Modifier, span, "Field required for instruction 'tensormap.replace'");
        };
        use TensormapField::{BoxDim, ElementStride, GlobalAddress, GlobalDim, GlobalStride};
        let written: Vec<ast::Operand> = (1..args.0.len()).filter_map(|index| args.raw(index).copied()).collect();
        let many = matches!(field, BoxDim | GlobalDim | GlobalStride | ElementStride);
        let (ordinal, value) = match (many, &written[..]) {
            (true, [ordinal, value]) => (self.integer(ordinal)?, *value),
            (false, [value]) => (0, *value),
            _ => return self.mismatch(span, format_args!("wrong number of operands for field '.{field}'")),
        };
        let ordinal = self.check_constant(1, ordinal, 0..=4, span)? as u32;
        let wide = matches!(field, GlobalAddress | GlobalStride);
        if m.has("b64") != wide {
            let message = format!("Field '.{field}' requires type '.{}'", if wide { "b64" } else { "b32" });
            return self.refuse(Code::Modifier, span, message);
        }
        let ty = if wide { ScalarType::B64 } else { ScalarType::B32 };
        let value = self.source(&value, ty, false)?;
        let op = AsyncOp::ReplaceInMap { field, ordinal, space, map: place.address, ty, value };
        Ok(Some(Op::Async(Box::new(op))))
    }
}
