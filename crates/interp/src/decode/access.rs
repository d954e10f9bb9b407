//! Loads and stores: which operation serves an access, by its shape.

use warploom_ptx::ir::{ScalarType, Semantics};

use super::{Decoder, enter};
use crate::isa::Op;
use crate::memory::{Access, Base, Extend, Slot, StateSpace};
use crate::ops::global::{LoadGlobal, LoadGlobalVector, LoadParam, LoadVariable, StoreGlobal, StoreGlobalVector};
use crate::ops::load_store;
use crate::ops::narrow::{ByteIn16, LoadNarrow, LoadSharedNarrow, StoreNarrow, StoreSharedNarrow};
use crate::ops::shared::{LoadShared, StoreShared};

/// A resolved address.
pub(super) struct Location {
    pub(super) space: StateSpace,
    pub(super) base: Base,
    pub(super) offset: i64,
}

/// The shapes of accesses that there are operations for. Elements have the registers' width unless something else is said.
#[derive(Clone, Copy)]
enum Shape {
    /// One element of the kernel's parameters, at this byte.
    Param { byte: u32 },
    /// One element of a variable, or at an address that the code tells.
    Variable,
    /// Anything else at an address that is the same in all lanes.
    Uniform,
    /// Whole words of local memory, at an address that is the same in all lanes.
    LocalRows,
    /// One, two or four elements of global or generic memory, at a 64-bit row and an offset.
    Global { row: u32, offset: i32, count: usize },
    /// One element of 8 or 16 bits there, in a 32-bit row.
    NarrowGlobal { row: u32, offset: i32 },
    /// One, two or four elements of shared memory, at a row and an offset.
    Shared { row: u32, offset: i32, count: usize },
    /// One element of 8 or 16 bits there, in a 32-bit row.
    NarrowShared { row: u32, offset: i32 },
    /// None of these: lane by lane.
    Other,
}

impl Shape {
    fn of(location: &Location, ty: ScalarType, slots: &[Slot]) -> Shape {
        use StateSpace::{Generic, Global, Local, Param, Shared};
        let width = slots.first().map_or(0, |slot| width(*slot));
        let alike = slots.iter().all(|slot| self::width(*slot) == width);
        let fits = alike && width == ty.bytes() && matches!(width, 4 | 8);
        let whole = ty.bytes() >= 4 && alike && width == ty.bytes();
        let narrow = slots.len() == 1 && width == 4 && ty.bytes() < 4;
        let (count, few) = (slots.len(), matches!(slots.len(), 1 | 2 | 4));
        match (location.space, location.base, i32::try_from(location.offset)) {
            (Param, Base::None, Ok(offset)) if fits && count == 1 => Shape::Param { byte: offset as u32 },
            (Global, Base::None | Base::Variable(_), _) if fits && count == 1 => Shape::Variable,
            (Param | Global, Base::None | Base::Variable(_), _) => Shape::Uniform,
            (Local, Base::None | Base::Frame, _) if whole => Shape::LocalRows,
            (Global | Generic, Base::Double(row), Ok(offset)) if fits && few => Shape::Global { row, offset, count },
            (Global | Generic, Base::Double(row), Ok(offset)) if narrow => Shape::NarrowGlobal { row, offset },
            (Shared, Base::Word(row) | Base::Double(row), Ok(offset)) if fits && few => {
                Shape::Shared { row, offset, count }
            }
            (Shared, Base::Word(row) | Base::Double(row), Ok(offset)) if narrow => Shape::NarrowShared { row, offset },
            _ => Shape::Other,
        }
    }
}

/// For elements of 32 or 64 bits, one or several, the version of an operation.
macro_rules! by_count {
    ($words:expr, $count:expr, $one:ident, $several:ident, $generic:literal) => {
        match ($words, $count) {
            (true, 1) => Op::lanes::<$one<u32, $generic>>(),
            (true, 2) => Op::lanes::<$several<u32, 2, $generic>>(),
            (true, _) => Op::lanes::<$several<u32, 4, $generic>>(),
            (false, 1) => Op::lanes::<$one<u64, $generic>>(),
            (false, 2) => Op::lanes::<$several<u64, 2, $generic>>(),
            (false, _) => Op::lanes::<$several<u64, 4, $generic>>(),
        }
    };
}

/// The same in shared memory, at a row of `$base`.
macro_rules! by_count_shared {
    ($words:expr, $count:expr, $op:ident, $base:ty) => {
        match ($words, $count) {
            (true, 1) => Op::lanes::<$op<$base, u32, 1>>(),
            (true, 2) => Op::lanes::<$op<$base, u32, 2>>(),
            (true, _) => Op::lanes::<$op<$base, u32, 4>>(),
            (false, 1) => Op::lanes::<$op<$base, u64, 1>>(),
            (false, 2) => Op::lanes::<$op<$base, u64, 2>>(),
            (false, _) => Op::lanes::<$op<$base, u64, 4>>(),
        }
    };
}

/// For an element of 8 or 16 bits the version of an operation.
macro_rules! by_element {
    ($bytes:expr, $extend:expr, |$element:ident| $op:expr) => {{
        macro_rules! of {
            ($type:ty) => {{
                type $element = $type;
                $op
            }};
        }
        match ($bytes, $extend) {
            (1, Extend::Zero) => of!(u8),
            (1, Extend::Sign) => of!(i8),
            (1, Extend::Sign16) => of!(ByteIn16),
            (_, Extend::Sign) => of!(i16),
            (_, Extend::Zero | Extend::Sign16) => of!(u16),
        }
    }};
}

impl Decoder<'_> {
    fn access(
        &mut self,
        location: &Location,
        ty: ScalarType,
        semantics: Semantics,
        slots: Vec<Slot>,
        extend: Extend,
    ) -> u32 {
        let Location { space, base, offset } = *location;
        let strong = semantics != Semantics::Weak;
        let access = Access { space, base, offset, size: ty.bytes(), slots, extend, strong };
        enter(&mut self.function.accesses, access)
    }

    /// Emits an access of `bytes` at `offset` from row `a`, of which is remembered how its addresses lie.
    fn emit_remembered(&mut self, op: Op, d: u32, (base, a): (Base, u32), access: u32, bytes: u32, offset: i32) {
        let spread = self.remembered(base, bytes);
        self.emit(op, d, [a, access, spread], offset as u32);
    }

    pub(super) fn load(
        &mut self,
        location: Location,
        ty: ScalarType,
        semantics: Semantics,
        slots: Vec<Slot>,
        extend: Extend,
    ) {
        let shape = Shape::of(&location, ty, &slots);
        let Location { space, base, .. } = location;
        let (generic, count) = (space == StateSpace::Generic, slots.len() as u32);
        let first = slots.first().map_or(0, |slot| slot.row());
        let words = slots.iter().all(|slot| matches!(slot, Slot::Word(_)));
        let overwrites = slots.iter().any(|slot| match (*slot, base) {
            (Slot::Word(slot), Base::Word(row)) | (Slot::Double(slot), Base::Double(row)) => slot == row,
            (Slot::Quad(slot), Base::Double(row)) => slot == row || slot + 1 == row,
            _ => false,
        });
        let bytes = ty.bytes() * count;
        let access = self.access(&location, ty, semantics, slots, extend);
        let strong = semantics != Semantics::Weak;
        if strong && (overwrites || !matches!(shape, Shape::Shared { .. } | Shape::NarrowShared { .. })) {
            self.emit(Op::scalar(load_store::load_strong), 0, [0; 3], access);
            return;
        }
        match shape {
            Shape::Param { byte } => {
                let op = if words { Op::lanes::<LoadParam<u32>>() } else { Op::lanes::<LoadParam<u64>>() };
                self.emit(op, first, [byte, 0, 0], access);
            }
            Shape::Variable => {
                let op = if words { Op::lanes::<LoadVariable<u32>>() } else { Op::lanes::<LoadVariable<u64>>() };
                self.emit(op, first, [0; 3], access);
            }
            Shape::Uniform => self.emit(Op::scalar(load_store::load_uniform), 0, [0; 3], access),
            Shape::LocalRows => self.emit(Op::scalar(load_store::load_local_rows), 0, [0; 3], access),
            Shape::Global { row, offset, count } => {
                let op = match generic {
                    true => by_count!(words, count, LoadGlobal, LoadGlobalVector, true),
                    false => by_count!(words, count, LoadGlobal, LoadGlobalVector, false),
                };
                self.emit_remembered(op, first, (base, row), access, bytes, offset);
            }
            Shape::NarrowGlobal { row, offset } => {
                let op = by_element!(ty.bytes(), extend, |T| match generic {
                    true => Op::lanes::<LoadNarrow<T, true>>(),
                    false => Op::lanes::<LoadNarrow<T, false>>(),
                });
                self.emit_remembered(op, first, (base, row), access, bytes, offset);
            }
            Shape::Shared { row, offset, count } => {
                let op = match base {
                    Base::Word(_) => by_count_shared!(words, count, LoadShared, u32),
                    _ => by_count_shared!(words, count, LoadShared, u64),
                };
                self.emit_remembered(op, first, (base, row), access, bytes, offset);
            }
            Shape::NarrowShared { row, offset } => {
                let op = by_element!(ty.bytes(), extend, |T| match base {
                    Base::Word(_) => Op::lanes::<LoadSharedNarrow<u32, T>>(),
                    _ => Op::lanes::<LoadSharedNarrow<u64, T>>(),
                });
                self.emit_remembered(op, first, (base, row), access, bytes, offset);
            }
            Shape::Other => self.emit(Op::scalar(load_store::load_any), 0, [0; 3], access),
        }
        if strong {
            self.emit(Op::scalar(load_store::loaded_strong), 0, [0; 3], access);
        }
    }

    pub(super) fn store(&mut self, location: Location, ty: ScalarType, semantics: Semantics, slots: Vec<Slot>) {
        let shape = Shape::of(&location, ty, &slots);
        let Location { space, base, .. } = location;
        let generic = space == StateSpace::Generic;
        let first = slots.first().map_or(0, |slot| slot.row());
        let words = slots.iter().all(|slot| matches!(slot, Slot::Word(_)));
        let bytes = ty.bytes() * slots.len() as u32;
        let access = self.access(&location, ty, semantics, slots, Extend::Zero);
        // The host thread that runs the CTA is the only one that reaches shared memory.
        if semantics != Semantics::Weak && !matches!(shape, Shape::Shared { .. } | Shape::NarrowShared { .. }) {
            self.emit(Op::scalar(load_store::store_strong), 0, [0; 3], access);
            return;
        }
        match shape {
            Shape::LocalRows => self.emit(Op::scalar(load_store::store_local_rows), 0, [0; 3], access),
            Shape::Global { row, offset, count } => {
                let op = match generic {
                    true => by_count!(words, count, StoreGlobal, StoreGlobalVector, true),
                    false => by_count!(words, count, StoreGlobal, StoreGlobalVector, false),
                };
                self.emit_remembered(op, first, (base, row), access, bytes, offset);
            }
            Shape::NarrowGlobal { row, offset } => {
                let op = by_element!(ty.bytes(), Extend::Zero, |T| match generic {
                    true => Op::lanes::<StoreNarrow<T, true>>(),
                    false => Op::lanes::<StoreNarrow<T, false>>(),
                });
                self.emit_remembered(op, first, (base, row), access, bytes, offset);
            }
            Shape::Shared { row, offset, count } => {
                let op = match base {
                    Base::Word(_) => by_count_shared!(words, count, StoreShared, u32),
                    _ => by_count_shared!(words, count, StoreShared, u64),
                };
                self.emit_remembered(op, first, (base, row), access, bytes, offset);
            }
            Shape::NarrowShared { row, offset } => {
                let op = by_element!(ty.bytes(), Extend::Zero, |T| match base {
                    Base::Word(_) => Op::lanes::<StoreSharedNarrow<u32, T>>(),
                    _ => Op::lanes::<StoreSharedNarrow<u64, T>>(),
                });
                self.emit_remembered(op, first, (base, row), access, bytes, offset);
            }
            Shape::Param { .. } | Shape::Variable | Shape::Uniform | Shape::Other => {
                self.emit(Op::scalar(load_store::store_any), 0, [0; 3], access);
            }
        }
    }
}

/// Bytes of a register.
fn width(slot: Slot) -> u32 {
    match slot {
        Slot::Word(_) => 4,
        Slot::Double(_) => 8,
        Slot::Quad(_) => 16,
    }
}
