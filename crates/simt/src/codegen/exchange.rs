//! What the lanes of a warp tell each other (PTX ISA 9.7.9.6 `shfl`, 9.7.13.8 to 9.7.13.12), where a gang is a warp.
//!
//! All lanes that have not ended are there: kernels in which some of them may wait for others are declined. What the instruction names as its
//! members, where that is the same for all, is then what runs. Where it is not, lanes with the same mask are a set for themselves.

use warploom_numerics::exchange::{Shuffle, shuffle_source};
use warploom_ptx::ir::{BarrierOp, Inst, Op, Operand, Predicate, ReduxOp, ScalarType, ShflMode, VoteMode};

use super::function::{Val, Writer};
use super::names::Ty;

/// Lanes of a warp.
pub(super) const WARP: u32 = 32;

/// Whether an instruction is about the lanes of a warp.
pub(crate) fn is_exchange(op: &Op) -> bool {
    matches!(
        op,
        Op::Shfl { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Redux { .. }
            | Op::Elect { .. }
            | Op::Activemask { .. }
            // Of a constant there is nothing to do.
            | Op::Barrier(BarrierOp::Warp { membermask: Operand::Reg(_) })
    )
}

impl Writer<'_> {
    pub(super) fn exchange(&mut self, inst: &Inst) -> Result<(), String> {
        if self.lanes() != WARP {
            return Err(format!("{} in gangs of {} lanes", self.lacks(inst), self.lanes()));
        }
        let sets = self.sets(inst);
        let sets = sets.as_ref();
        match &inst.op {
            Op::Barrier(_) => Ok(()),
            Op::Shfl { mode, dst_p, a, b, c, .. } => self.shuffle(inst, *mode, dst_p.is_some(), [*a, *b, *c]),
            Op::Vote { mode, src, .. } => self.vote(inst, *mode, *src, sets),
            Op::Activemask { .. } => {
                let bits = self.running();
                self.write(inst, 0, &bits, false)
            }
            Op::Elect { .. } => {
                let bits = sets.cloned().unwrap_or_else(|| self.running());
                let leader = self.intrinsic_flag("cttz", &bits);
                let all = self.splat(&leader);
                let lane = self.lane_numbers();
                let is = self.compare("eq", &all, &lane);
                self.write(inst, 0, &all, false)?;
                self.write(inst, 1, &is, false)
            }
            Op::Redux { op, ty, a, .. } if ty.bits() == 32 && *ty != ScalarType::F32 => {
                let value = self.reduced(*op, *ty, *a, sets);
                self.write(inst, 0, &value, false)
            }
            Op::Match { all, ty, a, dst_p, .. } => self.matched(inst, *all, *ty, *a, dst_p.is_some(), sets),
            _ => Err(self.lacks(inst)),
        }
    }

    /// By lane, the set of lanes that an exchange is among for it: those that run and name the same members. None if these are all lanes that run; a lane that is not in its own ends the grid.
    fn sets(&mut self, inst: &Inst) -> Option<Val> {
        let members = inst.op.membermask().filter(|members| members.reg().is_some())?;
        let masks = self.operand(members, ScalarType::B32);
        // Where lanes go their own ways, those that come to an exchange together are all that it is for.
        if self.plan.turns().is_none() {
            self.stop_strangers(inst, &masks);
        }
        // What a shuffle reads is any lane's.
        if masks.ty.lanes == 0 || matches!(inst.op, Op::Shfl { .. } | Op::Barrier(_)) {
            return None;
        }
        let running = self.running();
        Some(self.with_the_same(32, &masks, &running))
    }

    pub(super) fn lane_numbers(&self) -> Val {
        let ty = Ty::int(32, WARP);
        Val { ty, text: ty.lanes(0..i64::from(WARP)) }
    }

    /// Lanes that do not run count as 0.
    fn there(&mut self, value: &Val) -> Val {
        let value = self.splat(value);
        let zero = self.constant(value.ty, 0);
        let mask = self.mask_value();
        self.select(&mask, &value, &zero)
    }

    fn shuffle(&mut self, inst: &Inst, mode: ShflMode, asked: bool, [a, b, c]: [Operand; 3]) -> Result<(), String> {
        let own = self.operand(a, ScalarType::B32);
        let common = self.written(inst, 0).is_some_and(|value| self.is_scalar(value));
        let (by, clamp) = (self.operand(b, ScalarType::B32), self.operand(c, ScalarType::B32));
        let shuffle = match mode {
            ShflMode::Up => Shuffle::Up,
            ShflMode::Down => Shuffle::Down,
            ShflMode::Bfly => Shuffle::Bfly,
            ShflMode::Idx => Shuffle::Idx,
        };
        if let (Operand::Imm(b), Operand::Imm(c)) = (b, c) {
            let sources: Vec<(u32, bool)> =
                (0..WARP).map(|lane| shuffle_source(shuffle, lane, b as u32, c as u32)).collect();
            let value = if common && own.ty.lanes == 0 {
                own
            } else {
                let from = self.there(&own);
                if common {
                    let at = sources[0].0;
                    self.set(Ty::int(32, 0), format!("extractelement {} {}, i32 {at}", from.ty.text(), from.text))
                } else {
                    self.shuffled(&from, sources.iter().map(|(lane, _)| i64::from(*lane)))
                }
            };
            self.write(inst, 0, &value, false)?;
            if asked {
                let ty = self.mask_type();
                let inside = Val { ty, text: ty.lanes(sources.iter().map(|(_, inside)| i64::from(*inside))) };
                self.write(inst, 1, &inside, false)?;
            }
            return Ok(());
        }
        let (source, inside) = self.sources(shuffle, &by, &clamp);
        let value = if common && own.ty.lanes == 0 {
            own
        } else {
            let from = self.there(&own);
            if common {
                let lane =
                    self.set(Ty::int(32, 0), format!("extractelement {} {}, i32 0", source.ty.text(), source.text));
                self.element(&from, &lane)
            } else {
                self.permuted(&from, &source)
            }
        };
        self.write(inst, 0, &value, false)?;
        if asked { self.write(inst, 1, &inside, false) } else { Ok(()) }
    }

    /// Which lane each reads, and whether that is in range: `warploom_numerics::exchange::shuffle_source`.
    fn sources(&mut self, mode: Shuffle, b: &Val, c: &Val) -> (Val, Val) {
        let ty = Ty::int(32, WARP);
        let low = self.constant(ty, 31);
        let (b, c) = (self.splat(b), self.splat(c));
        let b = self.binary("and", &b, &low);
        let clamp = self.binary("and", &c, &low);
        let eight = self.constant(ty, 8);
        let segment = self.binary("lshr", &c, &eight);
        let segment = self.binary("and", &segment, &low);
        let lane = self.lane_numbers();
        let ones = self.constant(ty, -1);
        let rest = self.binary("xor", &segment, &ones);
        let min = self.binary("and", &lane, &segment);
        let top = self.binary("and", &clamp, &rest);
        let max = self.binary("or", &min, &top);
        let (source, inside) = match mode {
            Shuffle::Up => {
                let source = self.binary("sub", &lane, &b);
                let inside = self.compare("sge", &source, &max);
                (source, inside)
            }
            Shuffle::Down => {
                let source = self.binary("add", &lane, &b);
                let inside = self.compare("ule", &source, &max);
                (source, inside)
            }
            Shuffle::Bfly => {
                let source = self.binary("xor", &lane, &b);
                let inside = self.compare("ule", &source, &max);
                (source, inside)
            }
            Shuffle::Idx => {
                let within = self.binary("and", &b, &rest);
                let source = self.binary("or", &min, &within);
                let inside = self.compare("ule", &source, &max);
                (source, inside)
            }
        };
        let source = self.binary("and", &source, &low);
        (self.select(&inside, &source, &lane), inside)
    }

    /// From the lane that each one names.
    fn permuted(&mut self, from: &Val, source: &Val) -> Val {
        let ty = Ty::int(32, WARP);
        if self.plan.has_wide_vectors() {
            let half = |at: i64| (0..16).map(move |lane| lane + 16 * at);
            let out = [0, 1].map(|at| {
                let index = self.shuffled(source, half(at));
                self.by_number(from, &index)
            });
            return self.joined_in_pairs(out.to_vec());
        }
        self.line(format!("store {} {}, ptr %scratch", from.ty.text(), from.text));
        let mut out = Val { ty, text: "poison".to_owned() };
        for lane in 0..WARP {
            let at = self.set(Ty::int(32, 0), format!("extractelement {} {}, i32 {lane}", ty.text(), source.text));
            let at = self.set(Ty::int(64, 0), format!("getelementptr i32, ptr %scratch, i32 {}", at.text));
            let value = self.load(Ty::int(32, 0), &at.text);
            out = self.set(ty, format!("insertelement {} {}, i32 {}, i32 {lane}", ty.text(), out.text, value.text));
        }
        out
    }

    /// The lanes that run for which a predicate holds, as 32 bits.
    fn ayes(&mut self, predicate: Predicate) -> Val {
        let holds = self.predicate(predicate);
        let holds = self.splat(&holds);
        let mask = self.mask_value();
        let both = self.binary("and", &mask, &holds);
        let bits = self.bits_of(&both.text);
        self.resize(&bits, 32, false)
    }

    fn vote(&mut self, inst: &Inst, mode: VoteMode, src: Predicate, sets: Option<&Val>) -> Result<(), String> {
        let mut ayes = self.ayes(src);
        let mut voters = self.running();
        if let Some(lanes) = sets {
            ayes = self.splat(&ayes);
            ayes = self.binary("and", &ayes, lanes);
            voters = lanes.clone();
        }
        let zero = self.constant(ayes.ty, 0);
        let value = match mode {
            VoteMode::Ballot => ayes,
            VoteMode::Any => self.compare("ne", &ayes, &zero),
            VoteMode::All => self.compare("eq", &ayes, &voters),
            VoteMode::Uni => {
                let all = self.compare("eq", &ayes, &voters);
                let none = self.compare("eq", &ayes, &zero);
                self.binary("or", &all, &none)
            }
        };
        self.write(inst, 0, &value, false)
    }

    fn reduced(&mut self, op: ReduxOp, ty: ScalarType, a: Operand, sets: Option<&Val>) -> Val {
        let signed = ty.is_signed();
        let (name, neutral) = match op {
            ReduxOp::Add => ("add", 0),
            ReduxOp::And => ("and", -1),
            ReduxOp::Or => ("or", 0),
            ReduxOp::Xor => ("xor", 0),
            ReduxOp::Min if signed => ("smin", i64::from(i32::MAX)),
            ReduxOp::Min => ("umin", -1),
            ReduxOp::Max if signed => ("smax", i64::from(i32::MIN)),
            ReduxOp::Max => ("umax", 0),
        };
        let value = self.operand(a, ty);
        let value = self.splat(&value);
        let none = self.constant(value.ty, neutral);
        self.plan.declare(format!("declare i32 @llvm.vector.reduce.{name}.v32i32(<32 x i32>)"));
        if let Some(sets) = sets {
            return self.reduced_by_sets(name, &value, &none, sets);
        }
        let mask = self.mask_value();
        let value = self.select(&mask, &value, &none);
        self.set(Ty::int(32, 0), format!("call i32 @llvm.vector.reduce.{name}.v32i32(<32 x i32> {})", value.text))
    }

    /// The same by sets.
    fn reduced_by_sets(&mut self, name: &str, value: &Val, none: &Val, sets: &Val) -> Val {
        let bits = self.running();
        let (function, vector) = (format!("@redux_{name}"), "<32 x i32>");
        self.plan.declare(format!(
            "define internal {vector} {function}({vector} %values, {vector} %sets, i32 %lanes) #2 {{\n  br label %head\nhead:\n  \
             %left = phi i32 [ %lanes, %0 ], [ %rest, %head ]\n  %out = phi {vector} [ zeroinitializer, %0 ], [ %more, %head ]\n  \
             %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)\n  %set = extractelement {vector} %sets, i32 %lane\n  \
             %in = bitcast i32 %set to <32 x i1>\n  %chosen = select <32 x i1> %in, {vector} %values, {vector} {}\n  \
             %result = call i32 @llvm.vector.reduce.{name}.v32i32({vector} %chosen)\n  \
             %first = insertelement {vector} poison, i32 %result, i64 0\n  \
             %results = shufflevector {vector} %first, {vector} poison, {vector} zeroinitializer\n  \
             %more = select <32 x i1> %in, {vector} %results, {vector} %out\n  %others = xor i32 %set, -1\n  \
             %rest = and i32 %left, %others\n  %go = icmp ne i32 %rest, 0\n  br i1 %go, label %head, label %end\nend:\n  \
             ret {vector} %more\n}}",
            none.text
        ));
        self.plan.declare("declare i32 @llvm.cttz.i32(i32, i1)".to_owned());
        self.set(
            Ty::int(32, WARP),
            format!("call {vector} {function}({vector} {}, {vector} {}, i32 {})", value.text, sets.text, bits.text),
        )
    }

    fn matched(
        &mut self,
        inst: &Inst,
        all: bool,
        ty: ScalarType,
        a: Operand,
        asked: bool,
        sets: Option<&Val>,
    ) -> Result<(), String> {
        let value = self.operand(a, ty);
        let value = self.splat(&value);
        let bits = self.running();
        if let Some(lanes) = sets {
            let alike = self.with_the_same(ty.bits(), &value, &bits);
            let alike = self.binary("and", &alike, lanes);
            if !all {
                return self.write(inst, 0, &alike, false);
            }
            let is = self.compare("eq", &alike, lanes);
            let none = self.constant(lanes.ty, 0);
            let members = self.select(&is, lanes, &none);
            self.write(inst, 0, &members, false)?;
            return if asked { self.write(inst, 1, &is, false) } else { Ok(()) };
        }
        if all {
            let first = self.intrinsic_flag("cttz", &bits);
            let first = self.element(&value, &first);
            let first = self.splat(&first);
            let same = self.compare("eq", &value, &first);
            let mask = self.mask_value();
            let same = self.binary("and", &same, &mask);
            let same = self.bits_of(&same.text);
            let is = self.compare("eq", &same, &bits);
            let zero = self.constant(bits.ty, 0);
            let members = self.select(&is, &bits, &zero);
            self.write(inst, 0, &members, false)?;
            return if asked { self.write(inst, 1, &is, false) } else { Ok(()) };
        }
        let value = self.with_the_same(ty.bits(), &value, &bits);
        self.write(inst, 0, &value, false)
    }

    /// By lane those of `lanes` that have the same value, which is so wide.
    fn with_the_same(&mut self, width: u32, value: &Val, lanes: &Val) -> Val {
        let name = format!("@match_any{width}");
        self.plan.declare(format!(
            "define internal <32 x i32> {name}(<32 x i{width}> %values, i32 %lanes) #2 {{\n  br label %head\nhead:\n  \
             %left = phi i32 [ %lanes, %0 ], [ %rest, %head ]\n  %out = phi <32 x i32> [ zeroinitializer, %0 ], [ %more, %head ]\n  \
             %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)\n  %value = extractelement <32 x i{width}> %values, i32 %lane\n  \
             %one = insertelement <32 x i{width}> poison, i{width} %value, i64 0\n  \
             %all = shufflevector <32 x i{width}> %one, <32 x i{width}> poison, <32 x i32> zeroinitializer\n  \
             %is = icmp eq <32 x i{width}> %values, %all\n  %bits = bitcast <32 x i1> %is to i32\n  %set = and i32 %bits, %lanes\n  \
             %s = insertelement <32 x i32> poison, i32 %set, i64 0\n  \
             %sets = shufflevector <32 x i32> %s, <32 x i32> poison, <32 x i32> zeroinitializer\n  \
             %more = select <32 x i1> %is, <32 x i32> %sets, <32 x i32> %out\n  %others = xor i32 %set, -1\n  \
             %rest = and i32 %left, %others\n  %go = icmp ne i32 %rest, 0\n  br i1 %go, label %head, label %end\nend:\n  \
             ret <32 x i32> %more\n}}"
        ));
        self.plan.declare("declare i32 @llvm.cttz.i32(i32, i1)".to_owned());
        self.set(
            Ty::int(32, WARP),
            format!("call <32 x i32> {name}(<32 x i{width}> {}, i32 {})", value.text, lanes.text),
        )
    }
}
