//! Which host instruction set an instruction's lane loop is compiled for.
//!
//! Every lane loop exists three times: for the baseline of the target, for AVX2 with FMA, and for AVX-512. The choice is made once,
//! when a kernel is decoded, and costs one indirect call for each warp instruction.

use warploom_exec::memory::Gather;
use warploom_numerics::matrix::{Accumulation, Sizes, real};
use warploom_numerics::vector::Arrays;

use crate::frame::{Row32, Row64};
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
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(_) => self.avx512,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(_) => self.avx2,
            Isa::Baseline => self.baseline,
        }
    }
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
#[derive(Clone, Copy, Debug)]
pub(crate) enum Isa {
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    Baseline,
}

impl Isa {
    /// Asks the host, for no more than `processor` has.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "one kind of loop"))]
    pub(crate) fn detect(processor: Processor) -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(token) = pulp::x86::V4::try_new().filter(|_| processor == Processor::V4) {
                return Self::Avx512(token);
            }
            if let Some(token) = pulp::x86::V3::try_new().filter(|_| processor != Processor::Baseline) {
                return Self::Avx2(token);
            }
        }
        Self::Baseline
    }

    /// How memory without a pattern is loaded.
    #[inline(always)]
    pub(crate) fn gather(self) -> Gather {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => Gather::Avx512(token),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => Gather::OneByOne,
            Self::Baseline => Gather::OneByOne,
        }
    }

    /// [`Word::choose`](crate::frame::Word::choose) of 32-bit rows.
    #[inline(always)]
    pub(crate) fn choose32(self, mask: u32, yes: &Row32, no: &Row32) -> Option<Row32> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => {
                let (yes, no): ([[u32; 16]; 2], [[u32; 16]; 2]) = (bytemuck::must_cast(*yes), bytemuck::must_cast(*no));
                let mut out = [[0u32; 16]; 2];
                for part in 0..2 {
                    let taken = (mask >> (16 * part)) as u16;
                    let (yes, no) = (bytemuck::must_cast(yes[part]), bytemuck::must_cast(no[part]));
                    out[part] = bytemuck::must_cast(token.avx512f._mm512_mask_blend_epi32(taken, no, yes));
                }
                Some(bytemuck::must_cast(out))
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => None,
            Self::Baseline => None,
        }
    }

    /// [`Word::choose`](crate::frame::Word::choose) of 64-bit rows.
    #[inline(always)]
    pub(crate) fn choose64(self, mask: u32, yes: &Row64, no: &Row64) -> Option<Row64> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => {
                let (yes, no): ([[u64; 8]; 4], [[u64; 8]; 4]) = (bytemuck::must_cast(*yes), bytemuck::must_cast(*no));
                let mut out = [[0u64; 8]; 4];
                for part in 0..4 {
                    let taken = (mask >> (8 * part)) as u8;
                    let (yes, no) = (bytemuck::must_cast(yes[part]), bytemuck::must_cast(no[part]));
                    out[part] = bytemuck::must_cast(token.avx512f._mm512_mask_blend_epi64(taken, no, yes));
                }
                Some(bytemuck::must_cast(out))
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => None,
            Self::Baseline => None,
        }
    }

    /// [`real::multiply`] with this host's vectors.
    #[inline(never)]
    pub(crate) fn multiply(
        self,
        how: Accumulation,
        sizes: Sizes,
        factors: [&[f32]; 2],
        absent: Option<&[bool]>,
        d: &mut [f32],
    ) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => real::multiply(token, how, sizes, factors, absent, d),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => real::multiply(token, how, sizes, factors, absent, d),
            Self::Baseline => real::multiply(Arrays, how, sizes, factors, absent, d),
        }
    }

    /// A row of eight parts, of which each is asked for once. Put into memory one by one and read as the vectors that rows are read as, they would be waited for until they are in the cache.
    #[inline(always)]
    pub(crate) fn joined(self, mut part: impl FnMut(usize) -> [u32; 4]) -> Row32 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => {
                let low = x86::four(token, [part(0), part(1), part(2), part(3)]);
                bytemuck::must_cast([low, x86::four(token, [part(4), part(5), part(6), part(7)])])
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => bytemuck::must_cast([
                x86::two(token, [part(0), part(1)]),
                x86::two(token, [part(2), part(3)]),
                x86::two(token, [part(4), part(5)]),
                x86::two(token, [part(6), part(7)]),
            ]),
            Self::Baseline => bytemuck::must_cast(std::array::from_fn::<_, 8, _>(part)),
        }
    }

    /// The lanes whose words have the top bit set. The compiler has no form of its own for the instructions that do this: from a loop
    /// it makes tests of single lanes.
    #[inline(always)]
    pub(crate) fn top_bits(self, row: &Row32) -> u32 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => {
                let [low, high]: [[u32; 16]; 2] = bytemuck::must_cast(*row);
                let half = |half| u32::from(token.avx512dq._mm512_movepi32_mask(bytemuck::must_cast(half)));
                half(low) | half(high) << 16
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => {
                let quarters: [[u32; 8]; 4] = bytemuck::must_cast(*row);
                let quarter = |quarter| token.avx._mm256_movemask_ps(bytemuck::must_cast(quarter)) as u32;
                quarters.into_iter().rev().fold(0, |bits, eight| bits << 8 | quarter(eight))
            }
            // Through memory: in one piece with what makes the row the compiler does all of it lane by lane.
            Self::Baseline => {
                let row = std::hint::black_box(row);
                (0..32).fold(0, |bits, lane| bits | (row[lane] as i32 >> 31) as u32 & 1 << lane)
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::marker::PhantomData;

    use warploom_exec::fault::FaultKind;

    use super::{Isa, LaneOp};

    /// Four parts as one vector.
    #[inline(always)]
    pub(super) fn four(token: pulp::x86::V4, [a, b, c, d]: [[u32; 4]; 4]) -> [u32; 16] {
        let ops = token.avx512f;
        let whole = ops._mm512_castsi128_si512(bytemuck::must_cast(a));
        let whole = ops._mm512_inserti32x4::<1>(whole, bytemuck::must_cast(b));
        let whole = ops._mm512_inserti32x4::<2>(whole, bytemuck::must_cast(c));
        bytemuck::must_cast(ops._mm512_inserti32x4::<3>(whole, bytemuck::must_cast(d)))
    }

    /// Two parts as one vector.
    #[inline(always)]
    pub(super) fn two(token: pulp::x86::V3, [a, b]: [[u32; 4]; 2]) -> [u32; 8] {
        let whole = token.avx._mm256_castsi128_si256(bytemuck::must_cast(a));
        bytemuck::must_cast(token.avx2._mm256_inserti128_si256::<1>(whole, bytemuck::must_cast(b)))
    }
    use crate::machine::{Flow, Machine};
    use crate::program::Inst;

    /// One instruction. A closure would reach the vectors' function through a shim that is not always made part of it: what is too large then
    /// is compiled for the baseline, and calls each vector instruction.
    struct Body<'a, 'm, K, const AVX512: bool> {
        machine: &'a mut Machine<'m>,
        inst: &'a Inst,
        mask: u32,
        op: PhantomData<K>,
    }

    impl<K: LaneOp, const AVX512: bool> pulp::NullaryFnOnce for Body<'_, '_, K, AVX512> {
        type Output = Flow;

        #[inline(always)]
        fn call(self) -> Flow {
            // Looked at once more, so that the compiler knows it where the operation asks.
            let known = match self.machine.isa {
                Isa::Avx512(_) => AVX512,
                Isa::Avx2(_) => !AVX512,
                Isa::Baseline => false,
            };
            if !known {
                return absent(self.machine, self.mask);
            }
            K::run(self.machine, self.inst, self.mask)
        }
    }

    pub(super) fn avx2<K: LaneOp>(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let Isa::Avx2(token) = machine.isa else { return absent(machine, mask) };
        token.vectorize(Body::<K, false> { machine, inst, mask, op: PhantomData })
    }

    pub(super) fn avx512<K: LaneOp>(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let Isa::Avx512(token) = machine.isa else { return absent(machine, mask) };
        token.vectorize(Body::<K, true> { machine, inst, mask, op: PhantomData })
    }

    /// An instance was chosen for an instruction set that the machine's token does not prove: both come from one [`super::Isa`].
    #[cold]
    #[inline(never)]
    fn absent(machine: &mut Machine<'_>, mask: u32) -> Flow {
        machine.fail(mask, FaultKind::Internal("an instruction was decoded for another processor".into()))
    }
}
