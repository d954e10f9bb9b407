//! Video instructions (PTX ISA 9.7.18).

use warploom_numerics::compare::Relation;
use warploom_numerics::video::{Kind, Mad, Part, Second, Simd, Types};
use warploom_ptx::ir::{ClampMode, Compare, Operand, Selector, VideoKind, VideoOp, VideoSecond};

use super::{Decoded, Decoder, Refused, enter};
use crate::isa::Op;
use crate::ops::video::{Video, video};

impl Decoder<'_> {
    pub(super) fn video(&mut self, op: &VideoOp) -> Decoded {
        let types = Types {
            d_signed: op.dst_ty.is_signed(),
            a_signed: op.a_ty.is_signed(),
            b_signed: op.b_ty.is_signed(),
            sat: op.sat,
        };
        let parts = [part(op.a_select), part(op.b_select)];
        let site = match (op.lanes, op.kind) {
            (1, VideoKind::Mad { shift, po, negate_product, negate_c }) => {
                Video::Mad(Mad { shift: u32::from(shift), plus_one: po, negate_product, negate_c }, types, parts)
            }
            (1, kind) => Video::Scalar(simple(kind)?, types, parts, second(op.second)),
            (lanes, kind) => Video::Simd(Simd {
                lanes: u32::from(lanes),
                kind: simple(kind)?,
                types,
                a_lanes: op.a_lanes,
                b_lanes: op.b_lanes,
                mask: op.mask,
                accumulate: op.accumulate,
            }),
        };
        let index = enter(&mut self.function.videos, site);
        let sources = [self.word(op.a), self.word(op.b), self.word(op.c.unwrap_or(Operand::Imm(0)))];
        let d = self.word_out(op.dst, op.dst_ty.is_signed());
        self.emit(Op::scalar(video), d, sources, index);
        Ok(())
    }
}

fn part(selector: Selector) -> Part {
    match selector {
        Selector::Word => Part::Word,
        Selector::Byte(index) => Part::Byte(index),
        Selector::Half(index) => Part::Half(index),
    }
}

fn second(second: VideoSecond) -> Second {
    match second {
        VideoSecond::None => Second::None,
        VideoSecond::Add => Second::Add,
        VideoSecond::Min => Second::Min,
        VideoSecond::Max => Second::Max,
        VideoSecond::Merge(selector) => Second::Merge(part(selector)),
    }
}

/// Everything but `vmad`.
fn simple(kind: VideoKind) -> Decoded<Kind> {
    Ok(match kind {
        VideoKind::Add => Kind::Add,
        VideoKind::Sub => Kind::Sub,
        VideoKind::AbsDiff => Kind::AbsDiff,
        VideoKind::Min => Kind::Min,
        VideoKind::Max => Kind::Max,
        VideoKind::Average => Kind::Average,
        VideoKind::Shl(mode) => Kind::Shl { wrap: mode == ClampMode::Wrap },
        VideoKind::Shr(mode) => Kind::Shr { wrap: mode == ClampMode::Wrap },
        VideoKind::Set(Compare::Eq) => Kind::Set(Relation::Eq),
        VideoKind::Set(Compare::Ne) => Kind::Set(Relation::Ne),
        VideoKind::Set(Compare::Lt) => Kind::Set(Relation::Lt),
        VideoKind::Set(Compare::Le) => Kind::Set(Relation::Le),
        VideoKind::Set(Compare::Gt) => Kind::Set(Relation::Gt),
        VideoKind::Set(Compare::Ge) => Kind::Set(Relation::Ge),
        VideoKind::Set(_) | VideoKind::Mad { .. } => return Err(Refused::Unsupported),
    })
}
