//! Which host instruction set an instruction's lane loop is compiled for.
//!
//! Every lane loop exists three times: for the baseline of the target, for AVX2 with FMA, and for AVX-512. The choice is made once,
//! when a kernel is decoded, and costs one indirect call for each warp instruction.

use crate::machine::{Flow, Machine};
use crate::program::Inst;

/// What runs one decoded instruction for the lanes in the mask.
pub(crate) type OpFn = for<'a> fn(&mut Machine<'a>, &Inst, u32) -> Flow;

/// The meaning of one decoded instruction. `run` is written so that it inlines into each instance of the instruction set.
pub(crate) trait LaneOp {
    /// Executes the instruction for the lanes in `mask`, which is never empty.
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow;
}

/// The instances of one operation.
#[derive(Clone, Copy)]
pub(crate) struct Op {
    /// It goes on with the next instruction or fails: it neither reads nor writes the pc, the active lanes or the groups of the warp.
    pub(crate) straight: bool,
    baseline: OpFn,
    #[cfg(target_arch = "x86_64")]
    avx2: OpFn,
    #[cfg(target_arch = "x86_64")]
    avx512: OpFn,
}

impl Op {
    /// An operation whose lane loop gains from wide vectors.
    pub(crate) const fn lanes<K: LaneOp>() -> Self {
        Self {
            straight: true,
            baseline: K::run,
            #[cfg(target_arch = "x86_64")]
            avx2: x86::avx2::<K>,
            #[cfg(target_arch = "x86_64")]
            avx512: x86::avx512::<K>,
        }
    }

    /// [`Op::lanes`] for an operation that may go on elsewhere than with the next instruction.
    pub(crate) const fn lanes_control<K: LaneOp>() -> Self {
        Self { straight: false, ..Self::lanes::<K>() }
    }

    /// An operation with one instance that goes lane by lane, and goes on with the next instruction or fails.
    pub(crate) const fn scalar(run: OpFn) -> Self {
        Self { straight: true, ..Self::control(run) }
    }

    /// An operation that may send lanes elsewhere, make them wait, or end them.
    pub(crate) const fn control(run: OpFn) -> Self {
        Self {
            straight: false,
            baseline: run,
            #[cfg(target_arch = "x86_64")]
            avx2: run,
            #[cfg(target_arch = "x86_64")]
            avx512: run,
        }
    }

    /// The instance for this host.
    pub(crate) fn select(self, isa: Isa) -> OpFn {
        match isa.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => self.avx512,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => self.avx2,
            Level::Baseline => self.baseline,
        }
    }
}

enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Baseline,
}

/// The processor that lane loops are chosen for, by the names of the x86-64 psABI. One that the host is not is the best that it is; on
/// other hosts there is one kind of loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processor {
    /// `x86-64`: what every host has.
    Baseline,
    /// `x86-64-v3`: AVX2 and fused multiply-add.
    V3,
    /// `x86-64-v4`: AVX-512.
    #[default]
    V4,
}

/// Proof of what the host has: the tokens can only be had where the instructions exist.
#[derive(Clone, Copy)]
pub(crate) struct Isa {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<pulp::x86::V3>,
    #[cfg(target_arch = "x86_64")]
    avx512: Option<pulp::x86::V4>,
}

impl Isa {
    /// Asks the host, for no more than `processor` has.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "one kind of loop"))]
    pub(crate) fn detect(processor: Processor) -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            avx2: pulp::x86::V3::try_new().filter(|_| processor != Processor::Baseline),
            #[cfg(target_arch = "x86_64")]
            avx512: pulp::x86::V4::try_new().filter(|_| processor == Processor::V4),
        }
    }

    fn level(self) -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            if self.avx512.is_some() {
                return Level::Avx512;
            }
            if self.avx2.is_some() {
                return Level::Avx2;
            }
        }
        Level::Baseline
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use warploom_exec::fault::FaultKind;

    use super::LaneOp;
    use crate::machine::{Flow, Machine};
    use crate::program::Inst;

    struct Body<F>(F);

    impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Body<F> {
        type Output = R;

        #[inline(always)]
        fn call(self) -> R {
            (self.0)()
        }
    }

    pub(super) fn avx2<K: LaneOp>(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let Some(token) = machine.isa.avx2 else { return absent(machine, mask) };
        token.vectorize(Body(
            #[inline(always)]
            move || K::run(machine, inst, mask),
        ))
    }

    pub(super) fn avx512<K: LaneOp>(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let Some(token) = machine.isa.avx512 else { return absent(machine, mask) };
        token.vectorize(Body(
            #[inline(always)]
            move || K::run(machine, inst, mask),
        ))
    }

    /// An instance was chosen for an instruction set that the machine's token does not prove: both come from one [`super::Isa`].
    #[cold]
    #[inline(never)]
    fn absent(machine: &mut Machine<'_>, mask: u32) -> Flow {
        machine.fail(mask, FaultKind::Internal("an instruction was decoded for another processor".into()))
    }
}
