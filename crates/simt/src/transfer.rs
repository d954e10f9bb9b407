//! What one instruction makes of the shapes of its operands, lanes being together.

use warploom_ptx::ir::{
    BarrierOp, Base, Body, Compare, Inst, IntBinaryOp, IntUnaryOp, LogicOp, MulMode, Op, Operand, Predicate,
    ScalarType, Semantics, ShflMode, ShiftDirection, Space, SpecialReg,
};

use crate::affine::Affine;
use crate::alignment::Alignments;
use crate::gang::Gangs;
use crate::range::{Interval, Ranges, constant, is_integer, signed};
use crate::reason::Reason;
use crate::shape::{Extent, Shape};
use crate::values::{ValueId, Values, paired};

/// Lanes of a warp.
const WARP: u32 = 32;

/// What is known while the shapes are computed.
pub(crate) struct Transfer<'k> {
    pub(crate) body: &'k Body,
    pub(crate) values: &'k Values,
    pub(crate) gangs: &'k Gangs,
    pub(crate) ranges: &'k Ranges,
    pub(crate) alignments: &'k Alignments,
    pub(crate) shapes: &'k [Shape],
    /// By value: what lanes would have if they never parted.
    pub(crate) guesses: &'k [Option<Affine>],
    /// Lanes go their own ways: only what gives the same at any time is the same in all of them.
    pub(crate) apart: bool,
    /// What is asked for is a guess: lanes are taken to be on one side of an [edge](is_edge).
    pub(crate) guessing: bool,
}

/// An instruction with the values of its operands.
struct At<'k> {
    number: u32,
    inst: &'k Inst,
    values: &'k [Option<ValueId>],
}

impl Transfer<'_> {
    /// The shape of what an instruction writes; the same for all its results but predicates beside a result.
    pub(crate) fn result(&self, number: u32) -> Shape {
        let inst = &self.body.insts[number as usize];
        let at = At { number, inst, values: self.values.of_inst(number) };
        if self.apart && !is_timeless(&inst.op) {
            return Shape::Varying(Reason::Apart { inst: number });
        }
        let shape = self.special_forms(&at).unwrap_or_else(|| self.alike(&at));
        // Of two that all lanes choose alike, the one that has a pattern is likelier than either.
        let chosen = matches!(inst.op, Op::Selp { .. }) && !matches!(shape, Shape::Uniform(_));
        match shape {
            Shape::Varying(_) if self.guessing => self.on_one_side(&at).unwrap_or(shape),
            Shape::Affine(_) if self.guessing && chosen => self.on_one_side(&at).unwrap_or(shape),
            shape => shape,
        }
    }

    /// What lanes would have if none of them were on the other side of an edge than the first.
    fn on_one_side(&self, at: &At<'_>) -> Option<Shape> {
        let pattern = |operand: Operand| match self.shape(at, operand) {
            Shape::Affine(pattern) if pattern.is_constant() => Some(pattern),
            _ => None,
        };
        let in_common = |operand: Operand| self.shape(at, operand).is_uniform();
        // Of two, the one that has a pattern; the other is the same for all.
        let alone = |a: Operand, b: Operand| match (pattern(a), pattern(b)) {
            (Some(one), None) if in_common(b) => Some(Affine { alignment: 0, ..one }),
            (None, Some(one)) if in_common(a) => Some(Affine { alignment: 0, ..one }),
            _ => None,
        };
        // That, or what both have.
        let either = |a: Operand, b: Operand| match (pattern(a), pattern(b)) {
            (Some(one), Some(other)) => (one.lanes == other.lanes).then_some(Affine { alignment: 0, ..one }),
            _ => alone(a, b),
        };
        // Lanes lie in fewer numbers than a row has.
        let within = |pattern: &Affine, row: i64| {
            let (low, high) = pattern.lanes.bounds();
            high - low < row
        };
        match &at.inst.op {
            Op::IntBinary { op: IntBinaryOp::Min | IntBinaryOp::Max, a, b, .. } => either(*a, *b).map(Shape::of),
            // Of two numbers that all have, as many take the same as are on one side of what is compared.
            Op::Selp { ty, a, b, c, .. } if is_integer(*ty) && in_common(*a) && in_common(*b) => {
                self.is_told_by_patterns(at, *c).then_some(Shape::Uniform(Extent::Gang))
            }
            Op::Selp { ty, a, b, .. } if is_integer(*ty) => either(*a, *b).map(Shape::of),
            Op::IntBinary { op: IntBinaryOp::Div, a, b, .. } | Op::Mul { mode: MulMode::Hi, a, b, .. } => {
                let fits = (pattern(*a).is_some() && in_common(*b)) || (pattern(*b).is_some() && in_common(*a));
                fits.then_some(Shape::Uniform(Extent::Gang))
            }
            Op::IntBinary { op: IntBinaryOp::Rem, a, b, .. } if in_common(*b) => {
                Some(Shape::of(Affine { alignment: 0, ..pattern(*a)? }))
            }
            Op::Shift { direction: ShiftDirection::Right, a, amount, .. } => {
                let by = self.constant(at, *amount, ScalarType::U32).filter(|by| (0..64).contains(by))?;
                // Multiples of a number that nobody knows, shifted to the left to lose their high bits, and back.
                if let Shape::Affine(pattern) = self.shape(at, *a)
                    && !pattern.is_constant()
                    && pattern.lanes.is_zero()
                {
                    return Some(Shape::of(Affine { alignment: 0, ..pattern }));
                }
                // Of the sign alone no lanes are too many.
                let row = 1i64.checked_shl(by as u32).filter(|row| *row > 0).unwrap_or(i64::MAX);
                within(&pattern(*a)?, row).then_some(Shape::Uniform(Extent::Gang))
            }
            Op::Logic { op: LogicOp::And, ty, a, b, .. } if is_integer(*ty) => {
                let (pattern, mask) = match pattern(*a) {
                    Some(pattern) => (pattern, self.constant(at, *b, *ty)?),
                    None => (pattern(*b)?, self.constant(at, *a, *ty)?),
                };
                let row = mask.checked_add(1).filter(|row| row.count_ones() == 1)?;
                within(&pattern, row).then(|| Shape::of(Affine { alignment: 0, ..pattern }))
            }
            // The partner of a sort or a transform: mostly a bit is turned that lanes have in common.
            Op::Logic { op: LogicOp::Xor, ty, a, b, .. } if is_integer(*ty) => alone(*a, *b).map(Shape::of),
            _ => None,
        }
    }

    fn width(&self) -> usize {
        self.gangs.width as usize
    }

    fn value(&self, at: &At<'_>, operand: Operand) -> Option<ValueId> {
        let reg = operand.reg()?;
        let operands = at.inst.operands();
        paired(&operands, at.values).find(|(operand, _)| operand.read() == Some(reg)).and_then(|(_, value)| value)
    }

    fn shape(&self, at: &At<'_>, operand: Operand) -> Shape {
        match self.value(at, operand) {
            Some(value) => self.shapes[value.0 as usize].clone(),
            None => Shape::Uniform(Extent::Cta),
        }
    }

    /// The shape of an operand that a pattern is made of: if addresses are made of it too, the pattern that it would have if lanes never parted, where that has to be found out,
    /// rather than none.
    fn guessed(&self, at: &At<'_>, operand: Operand) -> Shape {
        let shape = self.shape(at, operand);
        let guess = self.value(at, operand).and_then(|value| self.guesses.get(value.0 as usize)?.as_ref());
        match (&shape, guess) {
            (Shape::Varying(_), Some(guess)) if makes_addresses(&at.inst.op) => {
                let mut guess = guess.clone();
                guess.also_told_by(&[at.number]);
                Shape::Affine(guess)
            }
            _ => shape,
        }
    }

    /// Whether a predicate is a comparison of numbers in which lanes differ by patterns only, or by which of two patterns such a predicate chooses.
    fn is_told_by_patterns(&self, at: &At<'_>, predicate: Predicate) -> bool {
        let by_pattern = |at: &At<'_>, operand: Operand| !matches!(self.shape(at, operand), Shape::Varying(_));
        let compared = |at: &At<'_>, predicate: Predicate, told: &dyn Fn(&At<'_>, Operand) -> bool| {
            let Some(at) = self.written(at, Operand::Reg(predicate.reg)) else { return false };
            matches!(at.inst.op, Op::Setp { ty, a, b, combine: None, .. } if is_integer(ty) && told(&at, a) && told(&at, b))
        };
        compared(at, predicate, &|at, operand| {
            let chosen = |at: At<'_>| matches!(at.inst.op, Op::Selp { a, b, c, .. } if by_pattern(&at, a) && by_pattern(&at, b) && compared(&at, c, &by_pattern));
            by_pattern(at, operand) || self.written(at, operand).is_some_and(chosen)
        })
    }

    /// The instruction that writes an operand, if there is one only.
    fn written(&self, at: &At<'_>, operand: Operand) -> Option<At<'_>> {
        let &[number] = &self.values.get(self.value(at, operand)?).defs[..] else { return None };
        Some(At { number, inst: &self.body.insts[number as usize], values: self.values.of_inst(number) })
    }

    fn predicate(&self, at: &At<'_>, predicate: Predicate) -> Shape {
        self.shape(at, Operand::Reg(predicate.reg))
    }

    /// The constant that an operand is, read as a type.
    fn constant(&self, at: &At<'_>, operand: Operand, ty: ScalarType) -> Option<i64> {
        let number = match operand {
            Operand::Imm(bits) => constant(bits, ty),
            Operand::Reg(_) => self.ranges.of(self.value(at, operand)?)?.constant()?,
        };
        i64::try_from(number).ok()
    }

    /// Of an instruction whose result depends on its operands only: uniform if they are.
    fn alike(&self, at: &At<'_>) -> Shape {
        let operands = at.inst.operands();
        let mut extent = Extent::Cta;
        // A value that is computed from itself and another has its reason in the other.
        let own = paired(&operands, at.values).find_map(|(operand, value)| value.filter(|_| operand.def().is_some()));
        let mut differs = None;
        for (operand, value) in paired(&operands, at.values) {
            let Some(value) = value.filter(|_| operand.read().is_some()) else { continue };
            // The guard decides whether there is a result, not what it is.
            if operand.role == warploom_ptx::ir::Role::Guard {
                continue;
            }
            match &self.shapes[value.0 as usize] {
                Shape::Unwritten => {}
                Shape::Uniform(other) => extent = extent.max(*other),
                Shape::Affine(_) | Shape::Varying(_) if differs.is_none() || differs == own => differs = Some(value),
                Shape::Affine(_) | Shape::Varying(_) => {}
            }
        }
        differs.map_or(Shape::Uniform(extent), |value| Shape::Varying(Reason::Operand { inst: at.number, value }))
    }

    /// Instructions that keep a pattern, or whose result does not come from their operands alone.
    fn special_forms(&self, at: &At<'_>) -> Option<Shape> {
        let inst = at.number;
        match &at.inst.op {
            Op::Mov { ty, src, .. } if is_integer(*ty) => Some(self.shape(at, *src)),
            Op::Cvta { a, .. } => Some(self.shape(at, *a)),
            Op::IntBinary { op: op @ (IntBinaryOp::Add | IntBinaryOp::Sub), ty, sat: false, a, b, .. }
                if is_integer(*ty) =>
            {
                let subtract = *op == IntBinaryOp::Sub;
                match (self.shape(at, *a), self.shape(at, *b)) {
                    (Shape::Varying(_), Shape::Varying(_)) => None,
                    _ => {
                        let [a, b] = [*a, *b].map(|operand| (self.guessed(at, operand), self.alignment(at, operand)));
                        self.sum(a, b, ty.bits(), subtract)
                    }
                }
            }
            Op::IntUnary { op: op @ (IntUnaryOp::Neg | IntUnaryOp::Not), ty, a, .. } if is_integer(*ty) => {
                let mut negated = self.affine(&self.shape(at, *a))?.scaled(-1, ty.bits());
                if *op == IntUnaryOp::Not {
                    negated.alignment = 0;
                }
                Some(Shape::of(negated))
            }
            Op::Mul { mode: mode @ (MulMode::Lo | MulMode::Wide), ty, a, b, .. } => {
                self.product(at, *mode, *ty, *a, *b)
            }
            Op::Mad { mode: mode @ (MulMode::Lo | MulMode::Wide), ty, sat: false, a, b, c, .. } => {
                let product = self.product(at, *mode, *ty, *a, *b)?;
                let bits = if *mode == MulMode::Wide { 2 * ty.bits() } else { ty.bits() };
                let zeros = self.alignment(at, *a) + self.alignment(at, *b);
                self.sum((product, zeros), (self.shape(at, *c), self.alignment(at, *c)), bits, false)
            }
            Op::Shift { direction, ty, a, amount, .. } => self.shifted(at, *direction, *ty, *a, *amount),
            Op::Logic { op: LogicOp::And, ty, a, b, .. } if is_integer(*ty) => self.masked(at, *ty, *a, *b),
            Op::Logic { op: LogicOp::Or, ty, a, b, .. } if is_integer(*ty) => self.put_together(at, *ty, [*a, *b]),
            Op::Setp { cmp, ty, combine: None, a, b, .. } if is_integer(*ty) => self.compared(at, *cmp, *ty, [*a, *b]),
            Op::Cvt { to, from, dst_ty, src_ty, sat: false, a, b: None, .. }
                if is_integer(*dst_ty) && is_integer(*src_ty) =>
            {
                self.converted(at, [*from, *src_ty, *dst_ty, *to], *a)
            }
            Op::Selp { a, b, c, .. } if self.predicate(at, *c).is_uniform() => {
                let both = self.shape(at, *a).join(&self.shape(at, *b), self.width());
                match both {
                    Shape::Affine(_) => Some(both),
                    _ => None,
                }
            }
            // Of local variables too: each thread has its own memory there, at the same addresses.
            Op::AddressOf { .. } => Some(Shape::Uniform(Extent::Cta)),
            Op::ReadSpecial { reg, .. } => Some(self.special(inst, *reg)),
            Op::Ld { space, semantics, nc, addr, .. } => Some(self.load(at, *space, *semantics, *nc, addr.base)),
            Op::Atom { .. } => Some(Shape::Varying(Reason::Atomic { inst })),
            Op::Call { .. } => Some(Shape::Varying(Reason::Call { inst })),
            // Each set of members has results of its own.
            Op::Vote { membermask, .. } | Op::Redux { membermask, .. } if !self.shape(at, *membermask).is_uniform() => {
                Some(Shape::Varying(Reason::Exchange { inst }))
            }
            Op::Shfl { mode, a, b, c, .. } => Some(self.shuffled(at, *mode, [*a, *b, *c])),
            // The warp's lanes give one result to all of them.
            Op::Vote { .. } | Op::Redux { .. } | Op::Activemask { .. } if self.gangs.width <= WARP => {
                Some(Shape::Uniform(Extent::Gang))
            }
            Op::Vote { .. } | Op::Redux { .. } | Op::Activemask { .. } => {
                Some(Shape::Varying(Reason::Exchange { inst }))
            }
            Op::Match { .. } | Op::Elect { .. } => Some(Shape::Varying(Reason::Exchange { inst })),
            Op::Barrier(BarrierOp::Reduce { .. }) => Some(Shape::Uniform(Extent::Cta)),
            Op::Texture(_) | Op::Async(_) | Op::Mbarrier(_) | Op::Matrix(_) | Op::Unexecuted(_) | Op::Multicast(_) => {
                Some(Shape::Varying(Reason::Opaque { inst }))
            }
            // Each thread has a stack of its own, and all of them may stand at different heights.
            Op::StackSave { .. } | Op::Alloca { .. } => Some(Shape::Varying(Reason::Local { inst })),
            _ => None,
        }
    }

    fn affine(&self, shape: &Shape) -> Option<Affine> {
        match shape {
            Shape::Affine(affine) => Some(affine.clone()),
            _ => None,
        }
    }

    /// How many low bits of an operand are 0 in all lanes.
    fn alignment(&self, at: &At<'_>, operand: Operand) -> u32 {
        self.alignments.operand(self.values, at.number, at.inst, operand)
    }

    /// Only of shapes one of which is a pattern; each with the low bits that are 0 if it is in common.
    fn sum(&self, a: (Shape, u32), b: (Shape, u32), bits: u32, subtract: bool) -> Option<Shape> {
        if ![&a, &b].iter().any(|(shape, _)| matches!(shape, Shape::Affine(_))) {
            return None;
        }
        let pattern = |(shape, zeros): (Shape, u32)| {
            let pattern = shape.as_affine(self.width())?;
            Some(if shape.is_uniform() { Affine { alignment: zeros, ..pattern } } else { pattern })
        };
        Some(Shape::of(pattern(a)?.combine(&pattern(b)?, bits, subtract)?))
    }

    fn product(&self, at: &At<'_>, mode: MulMode, ty: ScalarType, a: Operand, b: Operand) -> Option<Shape> {
        if !is_integer(ty) {
            return None;
        }
        let (pattern, factor) = match (self.guessed(at, a), self.guessed(at, b)) {
            (Shape::Affine(pattern), other) if other.is_uniform() => ((pattern, a), b),
            (other, Shape::Affine(pattern)) if other.is_uniform() => ((pattern, b), a),
            (Shape::Uniform(a), Shape::Uniform(b)) => return Some(Shape::Uniform(a.max(b))),
            _ => return None,
        };
        let (pattern, source) = pattern;
        let (pattern, bits) = match mode {
            MulMode::Wide => (self.widened(at, pattern, source, ty), 2 * ty.bits()),
            MulMode::Lo | MulMode::Hi => (pattern, ty.bits()),
        };
        Some(Shape::of(match self.constant(at, factor, ty) {
            Some(constant) => pattern.scaled(constant, bits),
            None => pattern.scaled_by_unknown()?,
        }))
    }

    /// The pattern of a value that is extended to more bits: the same, unless it wraps around in some lane.
    fn widened(&self, at: &At<'_>, mut pattern: Affine, source: Operand, ty: ScalarType) -> Affine {
        let range = self.value(at, source).and_then(|value| self.ranges.of(value));
        let proven = range.is_some_and(|range| {
            // Lanes that differ by less than half of all numbers differ by what the pattern says, not by that and a turn.
            let narrow = range.high - range.low < 1 << (ty.bits() - 1);
            pattern.is_constant() && narrow && (ty.is_signed() || range.low >= 0)
        });
        if !proven {
            pattern.also_told_by(&[at.number]);
        }
        pattern
    }

    fn shifted(
        &self,
        at: &At<'_>,
        direction: ShiftDirection,
        ty: ScalarType,
        a: Operand,
        amount: Operand,
    ) -> Option<Shape> {
        let pattern = self.affine(&self.guessed(at, a))?;
        if !self.shape(at, amount).is_uniform() {
            return None;
        }
        let by = self.constant(at, amount, ScalarType::U32);
        match (direction, by) {
            (ShiftDirection::Left, Some(by)) if by < i64::from(ty.bits()) => {
                Some(Shape::of(pattern.scaled(1i64.wrapping_shl(by as u32), ty.bits())))
            }
            (ShiftDirection::Left, None) => Some(Shape::of(pattern.scaled_by_unknown()?)),
            (ShiftDirection::Right, Some(by)) if (0..63).contains(&by) => {
                self.low_bits(&pattern, ty, |bits| bits >> by, pattern.alignment.saturating_sub(by as u32))
            }
            _ => None,
        }
    }

    fn masked(&self, at: &At<'_>, ty: ScalarType, a: Operand, b: Operand) -> Option<Shape> {
        let (pattern, mask) = match (self.shape(at, a), self.shape(at, b)) {
            (Shape::Affine(pattern), _) => (pattern, self.constant(at, b, ty)?),
            (_, Shape::Affine(pattern)) => (pattern, self.constant(at, a, ty)?),
            _ => return None,
        };
        let alignment = pattern.alignment;
        self.low_bits(&pattern, ty, |bits| bits & mask, alignment)
    }

    /// `or` of bits of which one of both is 0, which is their sum.
    fn put_together(&self, at: &At<'_>, ty: ScalarType, both: [Operand; 2]) -> Option<Shape> {
        let zeros = both.map(|operand| match self.shape(at, operand) {
            Shape::Affine(pattern) if pattern.is_constant() => {
                let apart = pattern.lanes.get().iter().fold(0, |all, lane| all | lane);
                pattern.alignment.min(apart.trailing_zeros())
            }
            _ => self.alignment(at, operand),
        });
        let fits = |operand: Operand, bits: u32| {
            let range = match operand {
                Operand::Imm(number) => Some(Interval::single(constant(number, ty))),
                Operand::Reg(_) => self.value(at, operand).and_then(|value| self.ranges.of(value)),
            };
            range.is_some_and(|range| range.within(Interval::new(0, (1 << bits.min(64)) - 1)))
        };
        if !fits(both[1], zeros[0]) && !fits(both[0], zeros[1]) {
            return None;
        }
        let [a, b] = both.map(|operand| (self.shape(at, operand), self.alignment(at, operand)));
        self.sum(a, b, ty.bits(), false)
    }

    /// A comparison with a constant up to which lanes count in whole blocks, as `tid < 32` of a warp: all are on one side of it.
    fn compared(&self, at: &At<'_>, cmp: Compare, ty: ScalarType, [a, b]: [Operand; 2]) -> Option<Shape> {
        let (pattern, number, below) = match (self.shape(at, a), self.shape(at, b)) {
            (Shape::Affine(pattern), _) => {
                (pattern, self.constant(at, b, ty)?, matches!(cmp, Compare::Lt | Compare::Ge))
            }
            (_, Shape::Affine(pattern)) => {
                (pattern, self.constant(at, a, ty)?, matches!(cmp, Compare::Gt | Compare::Le))
            }
            _ => return None,
        };
        if !matches!(cmp, Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge) || !pattern.told_by.is_empty() {
            return None;
        }
        // The least number on the upper side.
        let border = i128::from(number) + i128::from(!below);
        let block = 1i128 << differing_bits(&pattern)?;
        (border.rem_euclid(block) == 0).then_some(Shape::Uniform(Extent::Gang))
    }

    /// An operation on single bits, where lanes differ only in bits that are 0 in what they have in common: it works on both parts apart.
    fn low_bits(&self, pattern: &Affine, ty: ScalarType, op: impl Fn(i64) -> i64, alignment: u32) -> Option<Shape> {
        differing_bits(pattern)?;
        let mut out = pattern.clone();
        out.lanes = pattern.lanes.map(ty.bits(), op);
        out.alignment = alignment;
        Some(Shape::of(out))
    }

    /// Of the register, the low bits as the source's type are extended or cut to the result's, and that to the register that is written.
    fn converted(&self, at: &At<'_>, types: [ScalarType; 4], a: Operand) -> Option<Shape> {
        let mut pattern = self.affine(&self.guessed(at, a))?;
        let value = self.value(at, a).and_then(|value| self.ranges.of(value));
        let mut bits = types[0].bits();
        // How many bits hold all that there is.
        for pair in types.windows(2) {
            let [ty, next] = [pair[0], pair[1]];
            if bits < next.bits() {
                if bits < types[0].bits() && !value.is_some_and(|range| range.low >= 0 && range.within(signed(ty))) {
                    // Cut and extended again: a pattern of its own that is not worth following.
                    return None;
                }
                pattern = self.widened(at, pattern, a, ty);
            }
            bits = next.bits();
        }
        pattern.lanes = pattern.lanes.wrapped(bits);
        Some(Shape::of(pattern))
    }

    fn special(&self, inst: u32, reg: SpecialReg) -> Shape {
        use SpecialReg::*;
        let gangs = self.gangs;
        let tid = |axis: usize| match gangs.tid_lanes(axis) {
            _ if gangs.cta[axis] == 1 => Shape::Uniform(Extent::Cta),
            Some(lanes) => Shape::of(Affine::new(lanes, gangs.tid_alignment(axis))),
            None => Shape::Varying(Reason::Special { inst, reg }),
        };
        match reg {
            TidX => tid(0),
            TidY => tid(1),
            TidZ => tid(2),
            Laneid => {
                let lanes = crate::lanes::Lanes::relative((0..gangs.width).map(|lane| i64::from(lane % WARP)));
                Shape::of(Affine::new(lanes, gangs.width.min(WARP).trailing_zeros()))
            }
            Warpid if gangs.width > WARP => Shape::Varying(Reason::Special { inst, reg }),
            Warpid | Clock | ClockHi | Clock64 | Globaltimer | GlobaltimerLo | GlobaltimerHi => {
                Shape::Uniform(Extent::Gang)
            }
            LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt if gangs.width > 1 => {
                Shape::Varying(Reason::Special { inst, reg })
            }
            LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt => Shape::Uniform(Extent::Gang),
            _ => Shape::Uniform(Extent::Cta),
        }
    }

    fn load(&self, at: &At<'_>, space: Space, semantics: Semantics, nc: bool, base: Base) -> Shape {
        let inst = at.number;
        let address = match base {
            Base::Reg(reg) => self.value(at, Operand::Reg(reg)),
            Base::LocalFrame => return Shape::Varying(Reason::Local { inst }),
            Base::Absolute | Base::Global(_) | Base::ParamFrame => None,
        };
        if space == Space::Local {
            return Shape::Varying(Reason::Local { inst });
        }
        let extent = match address.map(|value| (value, &self.shapes[value.0 as usize])) {
            None => Extent::Cta,
            Some((_, Shape::Unwritten)) => Extent::Cta,
            Some((_, Shape::Uniform(extent))) => *extent,
            Some((value, Shape::Affine(_) | Shape::Varying(_))) => {
                return Shape::Varying(Reason::Address { inst, value });
            }
        };
        let constant = nc || matches!(space, Space::Const | Space::Param);
        match semantics {
            _ if constant => Shape::Uniform(extent),
            // A generic address may mean local memory, of which each thread has its own.
            Semantics::Weak if space == Space::Generic => Shape::Varying(Reason::Local { inst }),
            // Between gangs others may write there, between lanes nobody need see that.
            Semantics::Weak => Shape::Uniform(Extent::Gang),
            _ => Shape::Varying(Reason::Ordered { inst }),
        }
    }

    fn shuffled(&self, at: &At<'_>, mode: ShflMode, [a, b, c]: [Operand; 3]) -> Shape {
        /// A segment of all 32 lanes, and no clamping below its end (PTX ISA 9.7.9.6).
        const WHOLE_WARP: i64 = 0x1f;
        let inst = at.number;
        let one = mode == ShflMode::Idx
            && self.gangs.width <= WARP
            && self.shape(at, b).is_uniform()
            && self.constant(at, c, ScalarType::B32) == Some(WHOLE_WARP);
        // What all lanes of this gang have, those of others of the warp need not.
        let whole = self.shape(at, a).is_cta_uniform() || (self.gangs.width == WARP && self.shape(at, a).is_uniform());
        if one || whole { Shape::Uniform(Extent::Gang) } else { Shape::Varying(Reason::Exchange { inst }) }
    }
}

/// How many low bits lanes differ in, if these are 0 in what they have in common.
fn differing_bits(pattern: &Affine) -> Option<u32> {
    let (low, high) = pattern.lanes.bounds();
    let bits = i64::BITS - high.leading_zeros();
    (pattern.is_constant() && low >= 0 && bits <= pattern.alignment.min(62)).then_some(bits)
}

/// Whether lanes with a pattern may have none behind an instruction because some of them are beyond an edge: of an image whose ends are held or joined, or of a row.
pub(crate) fn is_edge(op: &Op) -> bool {
    matches!(
        op,
        Op::IntBinary { op: IntBinaryOp::Min | IntBinaryOp::Max | IntBinaryOp::Div | IntBinaryOp::Rem, .. }
            | Op::Selp { .. }
            | Op::Mul { mode: MulMode::Hi, .. }
            | Op::Shift { direction: ShiftDirection::Right, .. }
            | Op::Logic { op: LogicOp::And | LogicOp::Xor, .. }
    )
}

/// Whether an instruction gives what addresses are made of: 64 bits, of an index that may have fewer. What it makes a pattern of may be a guess, which it finds out about.
fn makes_addresses(op: &Op) -> bool {
    match op {
        Op::IntBinary { ty, .. } => ty.bits() >= 64,
        Op::Mul { mode, .. } | Op::Mad { mode, .. } => *mode == MulMode::Wide,
        Op::Shift { direction, ty, .. } => *direction == ShiftDirection::Left && ty.bits() == 64,
        Op::Cvt { to, from, .. } => from.bits() < to.bits(),
        _ => false,
    }
}

/// Whether a special register says which thread this is, of which CTA, cluster and grid: it does not change while the CTA runs.
pub(crate) fn is_of_the_thread(reg: SpecialReg) -> bool {
    use SpecialReg::*;
    matches!(
        reg,
        TidX | TidY
            | TidZ
            | NtidX
            | NtidY
            | NtidZ
            | CtaidX
            | CtaidY
            | CtaidZ
            | NctaidX
            | NctaidY
            | NctaidZ
            | ClusteridX
            | ClusteridY
            | ClusteridZ
            | NclusteridX
            | NclusteridY
            | NclusteridZ
            | ClusterCtaidX
            | ClusterCtaidY
            | ClusterCtaidZ
            | ClusterNctaidX
            | ClusterNctaidY
            | ClusterNctaidZ
            | ClusterCtarank
            | ClusterNctarank
            | Laneid
            | Warpid
            | LanemaskEq
            | LanemaskLe
            | LanemaskLt
            | LanemaskGe
            | LanemaskGt
    )
}

/// Whether what an instruction gives depends on its operands only, or on what does not change while the CTA runs.
pub(crate) fn is_timeless(op: &Op) -> bool {
    match op {
        Op::Ld { space, semantics: Semantics::Weak, .. } => matches!(space, Space::Param | Space::Const),
        Op::ReadSpecial { reg, .. } => is_of_the_thread(*reg),
        _ => matches!(
            op,
            Op::IntBinary { .. }
                | Op::IntUnary { .. }
                | Op::Mul { .. }
                | Op::Mad { .. }
                | Op::Clmad { .. }
                | Op::Mul24 { .. }
                | Op::Mad24 { .. }
                | Op::Sad { .. }
                | Op::Fns { .. }
                | Op::Bfe { .. }
                | Op::Bfi { .. }
                | Op::Bmsk { .. }
                | Op::Szext { .. }
                | Op::Dp4a { .. }
                | Op::Dp2a { .. }
                | Op::AddCarry { .. }
                | Op::MadCarry { .. }
                | Op::FloatUnary { .. }
                | Op::FloatBinary { .. }
                | Op::Fma { .. }
                | Op::FloatMinMax { .. }
                | Op::Testp { .. }
                | Op::Copysign { .. }
                | Op::Set { .. }
                | Op::Setp { .. }
                | Op::Selp { .. }
                | Op::Slct { .. }
                | Op::Logic { .. }
                | Op::Lop3 { .. }
                | Op::Shift { .. }
                | Op::Shf { .. }
                | Op::Mov { .. }
                | Op::Pack { .. }
                | Op::Unpack { .. }
                | Op::AddressOf { .. }
                | Op::Prmt { .. }
                | Op::Cvta { .. }
                | Op::Mapa { .. }
                | Op::GetCtaRank { .. }
                | Op::Isspacep { .. }
                | Op::Cvt { .. }
                | Op::CvtPack { .. }
                | Op::Video(_)
        ),
    }
}
