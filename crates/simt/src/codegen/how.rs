//! How each operation is compiled, by its types and modifiers: the one list of it. The code generator goes by it, and `docs/generated/ptx-coverage.md` is made of it.
//!
//! What else decides (where threads part, which threads come to a barrier, how an access's addresses lie) is not of the operation, and not here.

use warploom_ptx::ir::{
    AsyncOp, AtomicOp, BarrierOp, Base, FenceOp, IntBinaryOp, IntUnaryOp, MatrixOp, MulMode, Op, Operand, Proxy,
    ReduxOp, Rounding, ScalarType, Space, SpecialReg,
};

use super::atomic_half::halves;
use crate::range::is_integer;
use crate::standalone::copies_whole_words;
use crate::transfer::is_of_the_thread;

/// What an operation becomes, what takes least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    /// Nothing: it only advises, or orders what is in order here.
    Nothing,
    /// What it calls, in its place; where that would be too long, a call of it.
    Inlined,
    /// The end of one region, and the beginning of the next.
    Region,
    /// Instructions for all lanes of a gang at once.
    Vector,
    /// Instructions for one lane after the other.
    Lanes,
    /// A call of the interpreter, which runs this one instruction for the gang's lanes.
    Step,
    /// By the executor, while lanes take turns: kernels with it are such whose lanes go their own ways.
    Turns,
    /// No code: kernels with it are left to the interpreter.
    Declined,
}

impl How {
    /// In a table for people.
    pub const fn text(self) -> &'static str {
        match self {
            How::Vector => "vectors",
            How::Lanes => "lane by lane",
            How::Nothing => "nothing to do",
            How::Inlined => "inlined",
            How::Region => "ends a region",
            How::Step => "stepped",
            How::Turns => "in turns",
            How::Declined => "declined",
        }
    }
}

/// `Vector` if it holds, and else what the interpreter does.
const fn vector_if(holds: bool) -> How {
    if holds { How::Vector } else { How::Step }
}

/// How an operation is compiled for x86-64.
pub fn how(op: &Op) -> How {
    match op {
        // 9.7.1, 9.7.2
        // Processors have no such instructions on vectors, and double precision no place for 64 bits.
        Op::IntBinary { op: IntBinaryOp::Div | IntBinaryOp::Rem, ty, .. } if ty.bits() == 64 => How::Lanes,
        Op::Mul { mode: MulMode::Hi, ty, .. }
        | Op::Mad { mode: MulMode::Hi, ty, .. }
        | Op::MadCarry { mode: MulMode::Hi, ty, .. }
            if ty.bits() == 64 =>
        {
            How::Lanes
        }
        Op::IntBinary { .. }
        | Op::Mul { .. }
        | Op::Mad { .. }
        | Op::Clmad { .. }
        | Op::Mul24 { .. }
        | Op::Mad24 { .. }
        | Op::Sad { .. }
        | Op::Bfe { .. }
        | Op::Bfi { .. }
        | Op::Bmsk { .. }
        | Op::Szext { .. }
        | Op::Dp4a { .. }
        | Op::Dp2a { .. }
        | Op::AddCarry { .. }
        | Op::MadCarry { .. } => How::Vector,
        Op::IntUnary { op: IntUnaryOp::Not, .. } => How::Vector,
        Op::IntUnary { ty, .. } => vector_if(is_integer(*ty)),
        Op::Fns { .. } => How::Step,

        // 9.7.3 to 9.7.5
        Op::FloatUnary { .. }
        | Op::FloatBinary { .. }
        | Op::Fma { .. }
        | Op::FloatMinMax { .. }
        | Op::Testp { .. }
        | Op::Copysign { .. } => How::Vector,

        // 9.7.6 to 9.7.8
        Op::Set { .. }
        | Op::Setp { .. }
        | Op::Selp { .. }
        | Op::Slct { .. }
        | Op::Logic { .. }
        | Op::Lop3 { .. }
        | Op::Shift { .. }
        | Op::Shf { .. } => How::Vector,

        // 9.7.9
        Op::Mov { .. } | Op::Pack { .. } | Op::Unpack { .. } | Op::AddressOf { .. } | Op::Prmt { .. } => How::Vector,
        // Parameters of a call at addresses that are computed.
        Op::St { space: Space::Param, addr, .. } if matches!(addr.base, Base::Reg(_)) => How::Declined,
        Op::Ld { .. } | Op::St { .. } => How::Vector,
        Op::ReadSpecial { reg, .. } => vector_if(is_in_registers(*reg)),
        Op::CacheHint { .. } => How::Nothing,
        Op::Cvta { .. } => How::Vector,
        Op::Cvt { dst_ty, src_ty, rnd, .. } => conversion(*dst_ty, *src_ty, *rnd),
        Op::CvtPack { .. } => How::Vector,
        Op::CvtRandom { .. } | Op::CvtScaled { .. } => How::Step,
        Op::Isspacep { .. } | Op::CreatePolicy { .. } => How::Step,
        Op::Mapa { .. } | Op::GetCtaRank { .. } => How::Vector,
        Op::Async(op) => match **op {
            // Copies are done when they are issued.
            AsyncOp::CommitGroup
            | AsyncOp::WaitGroup(_)
            | AsyncOp::BulkCommitGroup
            | AsyncOp::BulkWaitGroup { .. }
            | AsyncOp::BulkPrefetch { .. } => How::Nothing,
            AsyncOp::TryCancel { .. } => How::Declined,
            // By the loads and stores that stand in their place.
            AsyncOp::Copy { size, src_size, .. } if copies_whole_words(size, src_size) => How::Vector,
            _ => How::Step,
        },

        // 9.7.10, 9.7.11
        Op::Texture(_) => How::Step,

        // 9.7.12. What the system provides has no code to stand in its place: such a call is a step where it is left.
        Op::Call { .. } => How::Inlined,

        // 9.7.13
        Op::Barrier(BarrierOp::Warp { membermask: Operand::Imm(_) }) => How::Nothing,
        Op::Barrier(BarrierOp::Warp { membermask: Operand::Reg(_) }) => How::Vector,
        // Of a number that is known.
        Op::Barrier(BarrierOp::Sync { id: Operand::Imm(_), .. } | BarrierOp::Reduce { id: Operand::Imm(_), .. }) => {
            How::Region
        }
        Op::Barrier(BarrierOp::Sync { .. } | BarrierOp::Reduce { .. } | BarrierOp::Arrive { .. }) => How::Turns,
        // Of one CTA: who waits waits for all others to have come as far.
        Op::Barrier(BarrierOp::ClusterArrive { .. }) => How::Nothing,
        Op::Barrier(BarrierOp::ClusterWait { .. } | BarrierOp::Yield) => How::Region,
        Op::Mbarrier(_) => How::Step,
        Op::Fence(FenceOp::MbarrierInit) => How::Nothing,
        Op::Fence(FenceOp::Thread { .. }) => How::Vector,
        Op::Fence(FenceOp::Proxy(fence)) => match fence.proxy {
            _ if fence.tensormap.is_some() => How::Declined,
            // One way of it orders what a fence of the threads does.
            Proxy::Alias if fence.semantics.is_some() => How::Vector,
            _ => How::Nothing,
        },
        Op::Atom { op, ty, .. } => update(*op, *ty),
        // Processors have no such instruction, and lanes that are in step have no other way to bring what they have into an order.
        Op::Redux { op: ReduxOp::Min | ReduxOp::Max, ty: ScalarType::F32, .. } => How::Turns,
        Op::Shfl { .. } | Op::Vote { .. } | Op::Redux { .. } | Op::Activemask { .. } | Op::Elect { .. } => How::Vector,
        Op::Match { .. } => How::Lanes,

        // 9.7.14 on
        Op::Matrix(op) => match &**op {
            // Products are done when they are issued.
            MatrixOp::WarpgroupFence | MatrixOp::WarpgroupCommit => How::Nothing,
            // What they have read may be written when all warps of the warpgroup have done theirs.
            MatrixOp::WarpgroupWait { .. } => How::Region,
            _ => How::Step,
        },
        Op::StackSave { .. } | Op::StackRestore { .. } | Op::Alloca { .. } => How::Step,
        Op::Video(_) => How::Step,
        Op::Brkpt | Op::Multicast(_) => How::Vector,
        Op::Nanosleep { .. } | Op::Hint(_) => How::Nothing,
        Op::Unexecuted(_) => How::Declined,
    }
}

/// Whether compiled code knows a special register itself.
fn is_in_registers(reg: SpecialReg) -> bool {
    is_of_the_thread(reg) || matches!(reg, SpecialReg::TotalSmemSize | SpecialReg::AggrSmemSize)
}

/// `cvt`
fn conversion(to: ScalarType, from: ScalarType, rnd: Option<Rounding>) -> How {
    use ScalarType::{Bf16, Bf16x2, E2m1x2, E2m3x2, E3m2x2, E4m3x2, E5m2x2, F16, F16x2, F32, F64, Tf32, Ue8m0x2};
    let single = |ty: ScalarType| is_integer(ty) || matches!(ty, F16 | Bf16 | F32 | F64);
    match (to, from) {
        (F64, _) if is_integer(from) && from.bits() == 64 => vector_if(matches!(rnd, None | Some(Rounding::Rn))),
        _ if single(to) && single(from) => How::Vector,
        (Tf32 | F16x2 | Bf16x2 | E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | E2m1x2, F32) => How::Vector,
        (E4m3x2 | E5m2x2, F16x2) | (F16x2, E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | E2m1x2) => How::Vector,
        // Scales, which have an exponent only, and what few kernels convert.
        (Ue8m0x2, F32 | Bf16x2) | (Bf16x2, Ue8m0x2 | E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | E2m1x2) => How::Step,
        (E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | E2m1x2, F16x2 | Bf16x2) => How::Step,
        _ => How::Declined,
    }
}

/// `atom` and `red`
fn update(op: AtomicOp, ty: ScalarType) -> How {
    let half = halves(ty).is_some();
    let number = matches!(ty, ScalarType::F32 | ScalarType::F64 | ScalarType::B128) || half;
    let whole = ty.bits() >= 32 || op == AtomicOp::Cas || half;
    let extremum = matches!(op, AtomicOp::Min | AtomicOp::Max) && matches!(ty, ScalarType::F32 | ScalarType::F64);
    if whole && (number || is_integer(ty)) && !extremum { How::Lanes } else { How::Declined }
}
