//! Special registers (PTX ISA 10).

use warploom_ptx::ir::{Inst, SpecialReg};

use super::context;
use super::function::{Val, Writer};
use super::names::Ty;

impl Writer<'_> {
    fn word(&mut self, offset: u32) -> Val {
        let at = self.field(offset);
        self.set(Ty::int(32, 0), format!("load i32, ptr {at}, !invariant.load !0"))
    }

    pub(super) fn special(&mut self, inst: &Inst, reg: SpecialReg) -> Result<Val, String> {
        use SpecialReg::*;
        let cta = self.plan.info.gangs.cta;
        let i32 = Ty::int(32, 0);
        Ok(match reg {
            TidX => self.tid(0),
            TidY => self.tid(1),
            TidZ => self.tid(2),
            NtidX | NtidY | NtidZ => self.constant(i32, i64::from(cta[reg as usize - NtidX as usize])),
            CtaidX => self.word(context::CTAID),
            CtaidY => self.word(context::CTAID + 4),
            CtaidZ => self.word(context::CTAID + 8),
            NctaidX => self.word(context::NCTAID),
            NctaidY => self.word(context::NCTAID + 4),
            NctaidZ => self.word(context::NCTAID + 8),
            // A cluster is one CTA.
            ClusteridX => self.special(inst, CtaidX)?,
            ClusteridY => self.special(inst, CtaidY)?,
            ClusteridZ => self.special(inst, CtaidZ)?,
            NclusteridX => self.special(inst, NctaidX)?,
            NclusteridY => self.special(inst, NctaidY)?,
            NclusteridZ => self.special(inst, NctaidZ)?,
            ClusterCtaidX | ClusterCtaidY | ClusterCtaidZ | ClusterCtarank => self.constant(i32, 0),
            ClusterNctaidX | ClusterNctaidY | ClusterNctaidZ | ClusterNctarank => self.constant(i32, 1),
            Laneid => {
                let thread = Val { ty: i32, text: self.thread() };
                let low = self.constant(i32, 31);
                let first = self.binary("and", &thread, &low);
                if self.first_lane {
                    return Ok(first);
                }
                let first = self.splat(&first);
                let lane = Val { ty: first.ty, text: first.ty.lanes(0..i64::from(self.lanes())) };
                self.binary("add", &first, &lane)
            }
            Warpid => {
                let thread = Val { ty: i32, text: self.thread() };
                let by = self.constant(i32, 5);
                self.binary("lshr", &thread, &by)
            }
            LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt => {
                let lane = self.special(inst, Laneid)?;
                let (one, ones) = (self.constant(lane.ty, 1), self.constant(lane.ty, -1));
                let own = self.binary("shl", &one, &lane);
                let below = self.binary("sub", &own, &one);
                let to = self.binary("or", &own, &below);
                match reg {
                    LanemaskEq => own,
                    LanemaskLt => below,
                    LanemaskLe => to,
                    LanemaskGe => self.binary("xor", &below, &ones),
                    _ => self.binary("xor", &to, &ones),
                }
            }
            TotalSmemSize | AggrSmemSize => self.word(context::SHARED_SIZE),
            _ => return Err(self.lacks(inst)),
        })
    }

    /// `%tid` along an axis.
    fn tid(&mut self, axis: usize) -> Val {
        let written = self.plan.info.values.written(self.plan.body, self.inst);
        let lanes = match written {
            Some(value) if !self.first_lane && !self.is_scalar(value) => self.lanes(),
            _ => 0,
        };
        let ty = Ty::int(32, lanes);
        let thread = Val { ty: Ty::int(32, 0), text: self.thread() };
        match Digits::of(self.plan.info.gangs.cta, axis) {
            Some(digits) => self.digits(&thread, ty, digits),
            None => {
                self.plan.needs_tid(axis);
                let at = format!("getelementptr i32, ptr @tid{axis}, i32 {}", thread.text);
                let at = self.set(Ty::int(64, 0), at);
                self.set(ty, format!("load {}, ptr {}, align 4", ty.text(), at.text))
            }
        }
    }

    /// Some binary digits of the numbers of threads.
    fn digits(&mut self, first: &Val, ty: Ty, Digits { from, count }: Digits) -> Val {
        let mut number = first.clone();
        if ty.lanes != 0 {
            let lane = Val { ty, text: ty.lanes(0..i64::from(ty.lanes)) };
            let first = self.splat(first);
            number = self.binary("add", &first, &lane);
        }
        if from > 0 {
            let by = self.constant(ty, i64::from(from));
            number = self.binary("lshr", &number, &by);
        }
        if let Some(count) = count {
            let ones = self.constant(ty, (1 << count) - 1);
            number = self.binary("and", &number, &ones);
        }
        number
    }
}

/// Which binary digits of a thread's number in its CTA are its place along an axis.
#[derive(Clone, Copy)]
struct Digits {
    from: u32,
    /// All that are left if there is none.
    count: Option<u32>,
}

impl Digits {
    /// None where extents that count are no powers of two: then there is a table, as no shape of CTA is special. LLVM sees through digits, though: that a row begins
    /// with each gang, for example, and which lanes are at its ends.
    fn of(cta: [u32; 3], axis: usize) -> Option<Digits> {
        let power = |extent: u32| extent.is_power_of_two().then(|| extent.trailing_zeros());
        let from = cta[..axis].iter().map(|extent| power(*extent)).sum::<Option<u32>>()?;
        let last = cta[axis + 1..].iter().all(|extent| *extent == 1);
        let count = if last && cta[axis] > 1 { None } else { Some(power(cta[axis])?) };
        Some(Digits { from, count })
    }
}
