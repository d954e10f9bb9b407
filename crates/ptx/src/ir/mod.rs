//! Typed IR: what executors read.
//!
//! Registers are virtual and typed, control flow is basic blocks in a weak topological order with the loops kept ([`Loop`]), names are resolved, modifiers are enums,
//! constants are bit patterns of the operand's type. The IR owns all it needs; it does not refer to the source text.
//! A module has a text that reads back ([`Module::read`]).
//! What an instruction reads and writes is in one typed list ([`Inst::operands`]), where registers are
//! alive and how many a thread needs in [`Liveness`]. Facts that only one executor asks for (uniformity, strides, decoded code) live there, not here.

mod builtin;
mod calls;
mod cfg;
mod check;
mod fragment;
mod liveness;
mod loops;
mod matrix;
mod mnemonic;
mod module;
mod op;
mod operand;
mod operands;
mod step;
mod sync;
mod tensor;
mod text;
mod texture;
mod types;
mod video;

pub use builtin::{Builtin, RuntimeCall, RuntimeFunction};
pub use calls::CallGraph;
pub use cfg::Cfg;
pub use check::{assert_sound, check, check_module};
pub use fragment::{Element, FragmentLayout};
pub use liveness::{Liveness, Pressure};
pub use loops::{Arrangement, Loop, arrange};
pub use matrix::{
    BitOp, BlockScale, BlockScales, Fragment, Layout, MatrixKind, MatrixOp, Product, Shape, WarpgroupFactor,
    WarpgroupProduct,
};
pub use mnemonic::MnemonicId;
pub use module::{
    Block, Body, Directives, Formal, Function, FunctionKind, Global, Inst, Linkage, LocId, Module, Param, Prototype,
    PrototypeId, RegDecl, Relocation, RelocationTarget, SharedLayout, SourceLoc, Storage, Target, Terminator,
    TerminatorKind, UnsupportedUse,
};
pub use op::{
    CacheHint, FloatBinaryOp, FloatUnaryOp, HintOp, IntBinaryOp, IntUnaryOp, LogicOp, Op, PolicySource, ShiftDirection,
    Unexecuted,
};
pub use operand::{
    Address, AddressTarget, Base, BlockId, CallArg, CallTarget, FunctionId, GlobalId, Operand, Operands, Predicate,
    Reg, Regs,
};
pub use operands::{OperandMut, OperandRef, OperandRefs, PlaceMut, Role, Symbol, SymbolMut};
pub use step::Step;
pub use sync::{AsyncOp, BarrierOp, BarrierReduction, FenceOp, MbarrierKind, MbarrierOp, Proxy, ProxyFence};
pub use tensor::{TensorOp, TensorTransfer, TensormapField};
pub use text::{Malformed, ReadError};
pub use texture::{Geometry, MipLevel, OpaqueRef, Query, SurfaceClamp, TextureOp};
pub(crate) use types::keywords;
pub use types::{
    AtomicOp, BoolOp, CacheOp, ClampMode, Compare, MulMode, PrmtMode, ReduxOp, Rounding, ScalarType, Scope, Semantics,
    ShflMode, Space, SpecialReg, TestpOp, TypeClass, VoteMode,
};
pub use video::{Selector, VideoKind, VideoOp, VideoSecond};
