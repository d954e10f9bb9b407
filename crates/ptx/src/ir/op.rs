//! One variant per instruction, modifiers as enums; families in the order of the PTX manual (9.7).
//!
//! Rules that hold for every variant: `ty` decides the width of the operation, and every register has the width of the type that
//! [`Inst::operands`](super::Inst::operands) gives for it. Where PTX lets a register be wider than the instruction's type (PTX ISA 9.4.1) the register's
//! type stands beside it: `to`, to which a result is zero- or sign-extended by the class of the instruction's type, and `from`, of which the low bits
//! count. No state is hidden: CC.CF is a predicate register. A destination that PTX writes as `_` is a fresh register that nothing reads.

use super::text::text;
use super::{
    Address, AddressTarget, AsyncOp, AtomicOp, BarrierOp, BoolOp, CacheOp, CallArg, CallTarget, ClampMode, Compare,
    FenceOp, MatrixOp, MbarrierOp, MulMode, Operand, Operands, Predicate, PrmtMode, ReduxOp, Reg, Regs, Rounding,
    ScalarType, Scope, Semantics, ShflMode, Space, SpecialReg, TestpOp, TextureOp, VideoOp, VoteMode,
};

text! {
    /// Integer operations of two operands that need no further modifier.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[allow(missing_docs)]
    pub enum IntBinaryOp {
        Add,
        Sub,
        Div,
        Rem,
        Min,
        Max,
    }
}

text! {
    /// Integer operations of one operand. The results of `popc`, `clz` and `bfind` are `.u32` whatever `ty` is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[allow(missing_docs)]
    pub enum IntUnaryOp {
        Abs,
        Neg,
        Popc,
        Clz,
        Bfind,
        /// `bfind.shiftamt`
        BfindShift,
        Brev,
        Not,
        Cnot,
    }
}

text! {
    /// Bitwise operations of two operands, predicates included.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[allow(missing_docs)]
    pub enum LogicOp {
        And,
        Or,
        Xor,
    }
}

text! {
    /// Floating-point operations of two operands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[allow(missing_docs)]
    pub enum FloatBinaryOp {
        Add,
        Sub,
        Mul,
        /// Correctly rounded.
        Div,
        /// `div.approx.f32`
        DivApprox,
        /// `div.full.f32`
        DivFull,
    }
}

text! {
    /// Floating-point operations of one operand.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[allow(missing_docs)]
    pub enum FloatUnaryOp {
        Abs,
        Neg,
        /// Correctly rounded.
        Rcp,
        RcpApprox,
        /// Correctly rounded.
        Sqrt,
        SqrtApprox,
        RsqrtApprox,
        Sin,
        /// Of an angle in turns.
        Sin2pi,
        Cos,
        /// Of an angle in turns.
        Cos2pi,
        Lg2,
        Ex2,
        Tanh,
    }
}

text! {
    /// Direction of `shl`, `shr` and the funnel shifts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[allow(missing_docs)]
    pub enum ShiftDirection {
        Left,
        Right,
    }
}

text! {
    /// What an instruction does.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(missing_docs)]
    pub enum Op {
        // 9.7.1 Integer arithmetic
        /// `add`, `sub`, `div`, `rem`, `min`, `max`; packed `u16x2`/`s16x2` too. `sat` for `add` of 32 bits or packed and `sub.s32`; `relu` for `min`, `max`.
        IntBinary { op: IntBinaryOp, ty: ScalarType, sat: bool, relu: bool, dst: Reg, a: Operand, b: Operand },
        IntUnary { op: IntUnaryOp, ty: ScalarType, dst: Reg, a: Operand },
        /// `mul`; with `Wide` the destination has twice the width of `ty`.
        Mul { mode: MulMode, ty: ScalarType, dst: Reg, a: Operand, b: Operand },
        /// `mad`; `sat` for `mad.hi.sat.s32`; with `Wide`, `dst` and `c` have twice the width of `ty`.
        Mad { mode: MulMode, ty: ScalarType, sat: bool, dst: Reg, a: Operand, b: Operand, c: Operand },
        /// `clmad`: a half of the product of polynomials over two elements, and the exclusive or of `c` with it.
        Clmad { hi: bool, dst: Reg, a: Operand, b: Operand, c: Operand },
        /// `mul24`; never `Wide`.
        Mul24 { mode: MulMode, ty: ScalarType, dst: Reg, a: Operand, b: Operand },
        Mad24 { mode: MulMode, ty: ScalarType, sat: bool, dst: Reg, a: Operand, b: Operand, c: Operand },
        Sad { ty: ScalarType, dst: Reg, a: Operand, b: Operand, c: Operand },
        /// `fns.b32 dst, mask, base, offset`
        Fns { dst: Reg, mask: Operand, base: Operand, offset: Operand },
        Bfe { ty: ScalarType, dst: Reg, a: Operand, pos: Operand, len: Operand },
        Bfi { ty: ScalarType, dst: Reg, a: Operand, b: Operand, pos: Operand, len: Operand },
        Bmsk { mode: ClampMode, dst: Reg, pos: Operand, len: Operand },
        Szext { mode: ClampMode, ty: ScalarType, dst: Reg, a: Operand, len: Operand },
        Dp4a { a_ty: ScalarType, b_ty: ScalarType, dst: Reg, a: Operand, b: Operand, c: Operand },
        /// `hi` selects the upper two bytes of `b`.
        Dp2a { hi: bool, a_ty: ScalarType, b_ty: ScalarType, dst: Reg, a: Operand, b: Operand, c: Operand },

        // 9.7.2 Extended precision: CC.CF is a register of type `.pred`
        /// `add.cc` (carry_out), `addc` (carry_in), `addc.cc` (both); `sub` likewise with borrow.
        AddCarry { sub: bool, carry_in: Option<Reg>, carry_out: Option<Reg>, ty: ScalarType, dst: Reg, a: Operand, b: Operand },
        /// `mad.cc`, `madc`, `madc.cc`; `mode` is `Lo` or `Hi`.
        MadCarry {
            mode: MulMode, carry_in: Option<Reg>, carry_out: Option<Reg>, ty: ScalarType, dst: Reg, a: Operand, b: Operand,
            c: Operand,
        },

        // 9.7.3, 9.7.4 Floating point, half and bfloat16; 9.7.5 mixed precision
        FloatUnary { op: FloatUnaryOp, ty: ScalarType, rnd: Rounding, ftz: bool, dst: Reg, a: Operand },
        /// `a_ty` is `ty` except in mixed precision, where `a` is a narrower type than `ty`.
        FloatBinary {
            op: FloatBinaryOp, ty: ScalarType, a_ty: ScalarType, rnd: Rounding, ftz: bool, sat: bool, dst: Reg, a: Operand,
            b: Operand,
        },
        /// `fma` and floating-point `mad`: fused. `a_ty` (also of `b`) is `ty` except in mixed precision. `oob`: `.oob` of PTX 8.1.
        Fma {
            ty: ScalarType, a_ty: ScalarType, rnd: Rounding, ftz: bool, sat: bool, relu: bool, oob: bool, dst: Reg, a: Operand,
            b: Operand, c: Operand,
        },
        /// `min`, `max` of two operands or three (`c`). `abs`: of their magnitudes; `xorsign`, only with it: signed by the exclusive or of
        /// the signs.
        FloatMinMax {
            max: bool, ty: ScalarType, ftz: bool, nan: bool, abs: bool, xorsign: bool, dst: Reg, a: Operand, b: Operand,
            c: Option<Operand>,
        },
        Testp { op: TestpOp, ty: ScalarType, dst: Reg, a: Operand },
        /// Sign of `a`, magnitude of `b`.
        Copysign { ty: ScalarType, dst: Reg, a: Operand, b: Operand },

        // 9.7.6, 9.7.7 Comparison and selection
        /// `combine` is the boolean operation and the predicate operand `c`. `dst_ty` is `u32`, `s32`, `f32`, or a half type.
        Set {
            cmp: Compare, ftz: bool, dst_ty: ScalarType, ty: ScalarType, combine: Option<(BoolOp, Predicate)>, dst: Reg,
            a: Operand, b: Operand,
        },
        /// `dst_p|dst_q`: for packed types the results of the low and the high half, else the result and its complement
        /// (combined separately with `combine`).
        Setp {
            cmp: Compare, ftz: bool, ty: ScalarType, combine: Option<(BoolOp, Predicate)>, dst_p: Reg, dst_q: Option<Reg>,
            a: Operand, b: Operand,
        },
        Selp { ty: ScalarType, dst: Reg, a: Operand, b: Operand, c: Predicate },
        /// Selects `a` where `c >= 0`; `c` has type `c_ty` (`s32` or `f32`).
        Slct { ty: ScalarType, c_ty: ScalarType, ftz: bool, dst: Reg, a: Operand, b: Operand, c: Operand },

        // 9.7.8 Logic and shift
        Logic { op: LogicOp, ty: ScalarType, dst: Reg, a: Operand, b: Operand },
        /// With `combine`, `dst_p` (if any) becomes (result != 0) op q.
        Lop3 {
            lut: u8, dst: Option<Reg>, dst_p: Option<Reg>, combine: Option<(BoolOp, Predicate)>, a: Operand, b: Operand,
            c: Operand,
        },
        /// `shl`, `shr` with a 32-bit amount that clamps at the width; `shr` of a signed type is arithmetic.
        Shift { direction: ShiftDirection, ty: ScalarType, dst: Reg, a: Operand, amount: Operand },
        /// Funnel shift of `hi:lo`; `Right` gives the low word, `Left` the high word.
        Shf { direction: ShiftDirection, mode: ClampMode, dst: Reg, lo: Operand, hi: Operand, amount: Operand },

        // 9.7.9 Data movement and conversion
        Mov { ty: ScalarType, dst: Reg, src: Operand },
        /// `mov.bN dst, {..}`: elements from the least significant on, each `bits(ty) / elements` wide.
        Pack { ty: ScalarType, dst: Reg, elements: Operands },
        /// `mov.bN {..}, src`.
        Unpack { ty: ScalarType, dst: Regs, src: Operand },
        /// Puts the address of a variable (in its own space) or of a function into `dst` of width `ty`.
        AddressOf { ty: ScalarType, dst: Reg, target: AddressTarget, offset: i64 },
        ReadSpecial { ty: ScalarType, dst: Reg, reg: SpecialReg },
        Prmt { mode: PrmtMode, dst: Reg, a: Operand, b: Operand, selector: Operand },
        /// `ld`, `ld.global.nc`, `ldu`: `dst` has one register of type `to` per element of type `ty`.
        Ld {
            space: Space, ty: ScalarType, to: ScalarType, semantics: Semantics, scope: Scope, nc: bool, cache: Option<CacheOp>,
            unified: bool, dst: Regs, addr: Address,
        },
        /// `st`: the low bits of each value of type `from` are an element of type `ty`.
        St {
            space: Space, ty: ScalarType, from: ScalarType, semantics: Semantics, scope: Scope, cache: Option<CacheOp>,
            src: Operands, addr: Address,
        },
        /// `prefetch`, `prefetchu`, `applypriority`, `discard`; only `discard` has a meaning for results (the bytes become undefined).
        CacheHint { kind: CacheHint, space: Space, addr: Address },
        /// `createpolicy`: an opaque 64-bit value.
        CreatePolicy { source: Box<PolicySource>, dst: Reg },
        /// `ty` is `u32` or `u64`, as the register that holds the address.
        Isspacep { space: Space, ty: ScalarType, dst: Reg, a: Operand },
        /// `to_generic`: from an address of `space` to a generic one, else back. `ty` is `u32` or `u64`.
        Cvta { to_generic: bool, space: Space, ty: ScalarType, dst: Reg, a: Operand },
        /// Every `cvt` of one or two sources but those that follow; `b` is the lower half of a packed destination. `rnd` is `None` where the
        /// conversion is exact or PTX has no rounding for it. `from` is the type of `a`.
        Cvt {
            dst_ty: ScalarType, src_ty: ScalarType, to: ScalarType, from: ScalarType, rnd: Option<Rounding>, ftz: bool, sat: bool,
            satfinite: bool, relu: bool, dst: Reg, a: Operand, b: Option<Operand>,
        },
        /// `cvt.rs`: two or four `.f32` numbers, the first uppermost, rounded by `random` bits.
        CvtRandom { dst_ty: ScalarType, satfinite: bool, relu: bool, dst: Reg, src: Operands, random: Operand },
        /// `cvt` with `.scaled::n2::ue8m0`, and to and from `.s2f6x2`: `scale` has a factor for each half.
        CvtScaled {
            dst_ty: ScalarType, src_ty: ScalarType, satfinite: bool, relu: bool, dst: Reg, a: Operand, b: Option<Operand>, scale: Operand,
        },
        /// `cvt.pack.sat.dst_ty.s32[.b32]`: `c` absent for the 16-bit destinations.
        CvtPack { dst_ty: ScalarType, src_ty: ScalarType, dst: Reg, a: Operand, b: Operand, c: Option<Operand> },
        /// `mapa`: address in the shared window of CTA `rank`. `space` is `Generic` or `SharedCluster`.
        Mapa { space: Space, ty: ScalarType, dst: Reg, a: Operand, rank: Operand },
        GetCtaRank { space: Space, ty: ScalarType, dst: Reg, a: Operand },
        /// `shfl.sync`; `sync: false` is the form before PTX 6.0, whose mask is the active lanes.
        Shfl {
            mode: ShflMode, sync: bool, dst: Reg, dst_p: Option<Reg>, a: Operand, b: Operand, c: Operand, membermask: Operand,
        },
        /// Asynchronous copies (9.7.9.25).
        Async(Box<AsyncOp>),

        // 9.7.10, 9.7.11 Texture and surface
        Texture(Box<TextureOp>),

        // 9.7.12 Control flow that does not end a block
        Call { target: Box<CallTarget>, uniform: bool, returns: Vec<CallArg>, args: Vec<CallArg> },

        // 9.7.13 Synchronisation and communication
        Barrier(BarrierOp),
        Fence(FenceOp),
        /// `atom` (with `dst`) and `red` (without). Vector forms have several elements. `c` is the new value of `cas`.
        Atom {
            op: AtomicOp, space: Space, ty: ScalarType, semantics: Semantics, scope: Scope, noftz: bool, dst: Option<Regs>,
            addr: Address, b: Operands, c: Option<Operand>,
        },
        /// `sync: false` is the form before PTX 6.0.
        Vote { mode: VoteMode, sync: bool, dst: Reg, src: Predicate, membermask: Operand },
        /// `match.any.sync` (no `dst_p`) and `match.all.sync`; `ty` is `b32` or `b64`.
        Match { all: bool, ty: ScalarType, dst: Reg, dst_p: Option<Reg>, a: Operand, membermask: Operand },
        /// `abs` and `nan` for `.f32`.
        Redux { op: ReduxOp, ty: ScalarType, abs: bool, nan: bool, dst: Reg, a: Operand, membermask: Operand },
        Activemask { dst: Reg },
        /// `elect.sync dst|dst_p, membermask`
        Elect { dst: Reg, dst_p: Reg, membermask: Operand },
        Mbarrier(Box<MbarrierOp>),

        // 9.7.14, 9.7.15 Matrix
        Matrix(Box<MatrixOp>),

        // 9.7.17 Stack
        StackSave { ty: ScalarType, dst: Reg },
        StackRestore { ty: ScalarType, src: Operand },
        /// Gives the `.local` address of `size` fresh bytes, aligned to `align`.
        Alloca { ty: ScalarType, dst: Reg, size: Operand, align: u32 },

        // 9.7.18 Video
        Video(Box<VideoOp>),

        // 9.7.19 Miscellaneous
        Brkpt,
        Nanosleep { duration: Operand },
        /// `pmevent`, `setmaxnreg`, `griddepcontrol`: no effect on results here.
        Hint(HintOp),

        /// A valid instruction without an own variant. Reaching it at a launch is CUDA_ERROR_NOT_SUPPORTED; see [`super::Body::unsupported`].
        Unexecuted(Box<Unexecuted>),
        /// `multimem` (PTX ISA 9.7.9.13) and `fabric` (9.7.10.5 of PTX ISA 9.3): an access to memory of a multicast object or of a logical endpoint. There are
        /// none, so that it faults at whatever address.
        Multicast(Box<Unexecuted>),
    }
}

impl Op {
    /// The operand that says which lanes of the warp take part, of what waits for them.
    pub const fn membermask(&self) -> Option<Operand> {
        match self {
            Op::Shfl { sync: true, membermask, .. }
            | Op::Vote { sync: true, membermask, .. }
            | Op::Match { membermask, .. }
            | Op::Redux { membermask, .. }
            | Op::Elect { membermask, .. }
            | Op::Barrier(BarrierOp::Warp { membermask }) => Some(*membermask),
            _ => None,
        }
    }

    /// The conversion between two integer types of which one is the other with more bits or fewer.
    pub(crate) const fn resize(
        dst_ty: ScalarType,
        src_ty: ScalarType,
        to: ScalarType,
        from: ScalarType,
        dst: Reg,
        a: Operand,
    ) -> Op {
        let (ftz, sat, satfinite, relu) = (false, false, false, false);
        Op::Cvt { dst_ty, src_ty, to, from, rnd: None, ftz, sat, satfinite, relu, dst, a, b: None }
    }
}

text! {
    /// What an instruction without an own variant reads and writes, as the types of the registers.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Unexecuted {
        /// Written.
        pub defs: Vec<(ScalarType, Reg)>,
        /// Read.
        pub uses: Vec<(ScalarType, Operand)>,
        /// Addresses; what is in their brackets behind the first comma is among `uses`.
        pub addresses: Vec<Address>,
    }
}

text! {
    /// How `createpolicy` makes a policy (PTX ISA 9.7.9.18).
    #[derive(Clone, Debug, PartialEq)]
    #[allow(missing_docs)]
    pub enum PolicySource {
        /// `range [addr], primary_size, total_size`
        Range { addr: Address, primary: Operand, total: Operand },
        /// `fractional`; without `fraction` it is 1.
        Fractional { fraction: Option<Operand> },
        /// `cvt` of an access property of CUDA.
        Convert { property: Operand },
    }
}

text! {
    /// Instructions that only advise.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[allow(missing_docs)]
    pub enum HintOp {
        Pmevent {
            mask: u16,
        },
        SetMaxNReg,
        /// `griddepcontrol.launch_dependents`
        LaunchDependents,
        /// `griddepcontrol.wait`
        WaitDependencies,
    }
}

text! {
    /// Instructions about caches.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[allow(missing_docs)]
    pub enum CacheHint {
        Prefetch,
        PrefetchUniform,
        ApplyPriority,
        Discard,
    }
}
