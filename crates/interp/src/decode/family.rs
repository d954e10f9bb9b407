//! The families of operations, as the files of this folder decode them, and as what may be known of an operation follows from them.
use warploom_ptx::ir;

/// The family of an operation.
pub(super) enum Family<'i> {
    Integer,
    Extended,
    Float,
    Comparison,
    Logic,
    Moves,
    Conversion,
    Memory,
    Control,
    Sync,
    Video(&'i ir::VideoOp),
    Texture(&'i ir::TextureOp),
    Asynchronous(&'i ir::AsyncOp),
    Matrix(&'i ir::MatrixOp),
    Unsupported,
}

impl<'i> Family<'i> {
    pub(super) fn of(op: &'i ir::Op) -> Family<'i> {
        use ir::Op;
        match op {
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
            | Op::Dp2a { .. } => Family::Integer,
            Op::AddCarry { .. } | Op::MadCarry { .. } => Family::Extended,
            Op::FloatUnary { .. }
            | Op::FloatBinary { .. }
            | Op::Fma { .. }
            | Op::FloatMinMax { .. }
            | Op::Testp { .. }
            | Op::Copysign { .. } => Family::Float,
            Op::Set { .. } | Op::Setp { .. } | Op::Selp { .. } | Op::Slct { .. } => Family::Comparison,
            Op::Logic { .. } | Op::Lop3 { .. } | Op::Shift { .. } | Op::Shf { .. } | Op::Prmt { .. } => Family::Logic,
            Op::Mov { .. }
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::AddressOf { .. }
            | Op::ReadSpecial { .. }
            | Op::Isspacep { .. }
            | Op::Cvta { .. }
            | Op::Mapa { .. }
            | Op::GetCtaRank { .. }
            | Op::CreatePolicy { .. }
            | Op::StackSave { .. }
            | Op::StackRestore { .. }
            | Op::Alloca { .. } => Family::Moves,
            Op::Cvt { .. } | Op::CvtPack { .. } | Op::CvtRandom { .. } | Op::CvtScaled { .. } => Family::Conversion,
            Op::Ld { .. } | Op::St { .. } | Op::CacheHint { .. } | Op::Atom { .. } => Family::Memory,
            Op::Call { .. } | Op::Brkpt | Op::Nanosleep { .. } | Op::Hint(_) | Op::Multicast(_) => Family::Control,
            Op::Barrier(_)
            | Op::Fence(_)
            | Op::Shfl { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Redux { .. }
            | Op::Activemask { .. }
            | Op::Elect { .. }
            | Op::Mbarrier(_) => Family::Sync,
            Op::Video(op) => Family::Video(op),
            Op::Texture(op) => Family::Texture(op),
            Op::Async(op) => Family::Asynchronous(op),
            Op::Matrix(op) => Family::Matrix(op),
            Op::Unexecuted(_) => Family::Unsupported,
        }
    }
}
