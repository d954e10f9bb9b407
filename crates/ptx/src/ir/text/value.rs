//! The text of the parts that instructions are made of: registers, constants, addresses, lists.

use super::{Read, Reader, Text, Writer};
use crate::ir::{
    Address, AddressTarget, AtomicOp, Base, BitOp, BlockId, BoolOp, CacheOp, CallArg, CallTarget, ClampMode, Compare,
    Fragment, FunctionId, Geometry, GlobalId, Layout, LocId, MatrixKind, MulMode, Operand, Predicate, PrmtMode,
    PrototypeId, Proxy, Query, ReduxOp, Reg, Rounding, ScalarType, Scope, Semantics, ShflMode, Space, SpecialReg,
    SurfaceClamp, TensormapField, TestpOp, VoteMode,
};
use smallvec::{Array, SmallVec};
use std::fmt::{self, Debug, Formatter, Write};

macro_rules! ids {
    ($($ty:ident $prefix:literal),*) => {
        $(
            impl Debug for $ty {
                fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                    write!(f, concat!($prefix, "{}"), self.0)
                }
            }

            impl Text for $ty {
                fn write(&self, out: &mut Writer<'_>) -> fmt::Result {
                    out.display(self)
                }

                fn read(input: &mut Reader<'_>) -> Read<Self> {
                    input.id($prefix).map($ty)
                }
            }
        )*
    };
}
ids!(Reg "r", BlockId "b", GlobalId "g", FunctionId "f", PrototypeId "p");

impl Debug for LocId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "loc{}", self.index())
    }
}

impl Debug for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Reg(reg) => reg.fmt(f),
            Operand::Imm(bits) => write!(f, "{bits:#x}"),
        }
    }
}

impl Debug for Predicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", if self.negated { "!" } else { "" }, self.reg)
    }
}

impl Debug for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.base {
            Base::Absolute => f.write_str("[absolute")?,
            Base::Reg(reg) => write!(f, "[{reg:?}")?,
            Base::Global(id) => write!(f, "[{id:?}")?,
            Base::LocalFrame => f.write_str("[local")?,
            Base::ParamFrame => f.write_str("[param")?,
        }
        match self.offset {
            0 => f.write_char(']'),
            offset => write!(f, "{offset:+}]"),
        }
    }
}

impl Debug for AddressTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AddressTarget::Global(id) => id.fmt(f),
            AddressTarget::Function(id) => id.fmt(f),
            AddressTarget::LocalFrame => f.write_str("local"),
            AddressTarget::ParamFrame => f.write_str("param"),
        }
    }
}

impl Debug for CallArg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            CallArg::Value { ty, value } => write!(f, "{value:?}.{ty}"),
            CallArg::Param { offset, size } => write!(f, "param+{offset}..{}", u64::from(*offset) + u64::from(*size)),
        }
    }
}

impl Debug for CallTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            CallTarget::Direct(id) => id.fmt(f),
            CallTarget::Indirect { address, prototype, candidates } => {
                write!(f, "*{address:?} as {prototype:?}")?;
                if candidates.is_empty() { Ok(()) } else { write!(f, " among {candidates:?}") }
            }
        }
    }
}

/// Types that are written as `Debug` writes them.
macro_rules! read_as {
    ($($ty:ty => $read:expr;)*) => {
        $(impl Text for $ty {
            fn write(&self, out: &mut Writer<'_>) -> fmt::Result {
                out.display(self)
            }

            fn read(input: &mut Reader<'_>) -> Read<Self> {
                let read: fn(&mut Reader<'_>) -> Read<$ty> = $read;
                read(input)
            }
        })*
    };
}

read_as! {
    u8 => |input| input.number();
    u16 => |input| input.number();
    u32 => |input| input.number();
    i64 => |input| input.number();
    Operand => |input| match input.try_id("r") {
        Some(reg) => Ok(Operand::Reg(Reg(reg))),
        None if input.at_number() => input.number().map(Operand::Imm),
        None => Err(input.expected("a register or a constant")),
    };
    Predicate => |input| {
        let negated = input.eat("!");
        Ok(Predicate { reg: Reg::read(input)?, negated })
    };
    Address => |input| {
        input.expect("[")?;
        let base = if input.keyword("absolute") {
            Base::Absolute
        } else if input.keyword("local") {
            Base::LocalFrame
        } else if input.keyword("param") {
            Base::ParamFrame
        } else if let Some(reg) = input.try_id("r") {
            Base::Reg(Reg(reg))
        } else if let Some(global) = input.try_id("g") {
            Base::Global(GlobalId(global))
        } else {
            return Err(input.expected("a register, a variable, `absolute`, `local` or `param`"));
        };
        let offset = if input.eat("]") { return Ok(Address { base, offset: 0 }) } else { input.number()? };
        input.expect("]")?;
        Ok(Address { base, offset })
    };
    AddressTarget => |input| {
        if input.keyword("local") {
            Ok(AddressTarget::LocalFrame)
        } else if input.keyword("param") {
            Ok(AddressTarget::ParamFrame)
        } else if let Some(global) = input.try_id("g") {
            Ok(AddressTarget::Global(GlobalId(global)))
        } else if let Some(function) = input.try_id("f") {
            Ok(AddressTarget::Function(FunctionId(function)))
        } else {
            Err(input.expected("a variable, a function, `local` or `param`"))
        }
    };
    CallArg => |input| {
        if input.keyword("param") {
            let offset: u32 = input.number()?;
            input.expect("..")?;
            let end: u64 = input.number()?;
            let size = end.checked_sub(u64::from(offset)).and_then(|size| u32::try_from(size).ok());
            let Some(size) = size else { return Err(input.error("the end of an argument is behind its begin")) };
            return Ok(CallArg::Param { offset, size });
        }
        let value = Operand::read(input)?;
        let ty = input.dotted("a type", ScalarType::from_text)?;
        Ok(CallArg::Value { ty, value })
    };
    CallTarget => |input| {
        if !input.eat("*") {
            return FunctionId::read(input).map(CallTarget::Direct);
        }
        let address = Reg::read(input)?;
        input.expect_keyword("as")?;
        let prototype = PrototypeId::read(input)?;
        let mut candidates = Vec::new();
        if input.keyword("among") {
            candidates = Vec::read(input)?;
        }
        Ok(CallTarget::Indirect { address, prototype, candidates })
    };
}

impl Text for bool {
    fn absent() -> Option<bool> {
        Some(false)
    }

    fn is_absent(&self) -> bool {
        !self
    }

    fn write(&self, out: &mut Writer<'_>) -> fmt::Result {
        out.display(self)
    }

    fn read(input: &mut Reader<'_>) -> Read<bool> {
        let word = input.word("`true` or `false`")?;
        match word.text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(word.unknown("flag", &["true", "false"])),
        }
    }
}

impl<T: Text> Text for Option<T> {
    fn absent() -> Option<Self> {
        Some(None)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn write(&self, out: &mut Writer<'_>) -> fmt::Result {
        match self {
            None => out.text("None"),
            Some(value) => {
                out.text("Some(")?;
                out.inside(value)?;
                out.text(")")
            }
        }
    }

    fn read(input: &mut Reader<'_>) -> Read<Self> {
        if input.keyword("None") {
            return Ok(None);
        }
        match input.keyword("Some") {
            true => input.parenthesised().map(Some),
            false => Err(input.expected("`Some` or `None`")),
        }
    }
}

impl<T: Text> Text for Box<T> {
    fn write(&self, out: &mut Writer<'_>) -> fmt::Result {
        T::write(self, out)
    }

    fn read(input: &mut Reader<'_>) -> Read<Self> {
        T::read(input).map(Box::new)
    }
}

fn write_list<T: Text>(values: &[T], out: &mut Writer<'_>) -> fmt::Result {
    out.text("[")?;
    for (index, value) in values.iter().enumerate() {
        out.text(if index == 0 { "" } else { ", " })?;
        out.inside(value)?;
    }
    out.text("]")
}

impl<T: Text> Text for Vec<T> {
    fn write(&self, out: &mut Writer<'_>) -> fmt::Result {
        write_list(self, out)
    }

    fn read(input: &mut Reader<'_>) -> Read<Self> {
        input.expect("[")?;
        input.list("]", T::read)
    }
}

impl<A: Array<Item: Text>> Text for SmallVec<A> {
    fn write(&self, out: &mut Writer<'_>) -> fmt::Result {
        write_list(self, out)
    }

    fn read(input: &mut Reader<'_>) -> Read<Self> {
        Vec::read(input).map(SmallVec::from_vec)
    }
}

impl Text for [u8; 4] {
    fn write(&self, out: &mut Writer<'_>) -> fmt::Result {
        write_list(self, out)
    }

    fn read(input: &mut Reader<'_>) -> Read<Self> {
        let list: Vec<u8> = Vec::read(input)?;
        list.try_into().map_err(|_| input.error("a list of four numbers stands here"))
    }
}

macro_rules! tuples {
    ($(($($part:ident $name:ident),*))*) => {
        $(impl<$($part: Text),*> Text for ($($part,)*) {
            fn write(&self, out: &mut Writer<'_>) -> fmt::Result {
                let ($($name,)*) = self;
                let mut separator = "(";
                $(
                    out.text(separator)?;
                    out.inside($name)?;
                    separator = ", ";
                )*
                out.text(if separator == "(" { "()" } else { ")" })
            }

            fn read(input: &mut Reader<'_>) -> Read<Self> {
                let mut separator = "(";
                let value = ($({
                    input.expect(std::mem::replace(&mut separator, ","))?;
                    input.inside($part::read)?
                },)*);
                input.expect(")")?;
                Ok(value)
            }
        })*
    };
}
tuples!((A a, B b) (A a, B b, C c));

/// What is left of a word that a value is compared with as it is spelt.
struct Spelling<'w>(&'w str);

impl Write for Spelling<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(part).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// The value whose variant has that name.
pub(super) fn variant<T: Debug + Copy>(all: &[T], word: &str) -> Option<T> {
    let is_spelt = |value: &T| {
        let mut rest = Spelling(word);
        write!(rest, "{value:?}").is_ok() && rest.0.is_empty()
    };
    all.iter().copied().find(is_spelt)
}

/// The closed sets that modifiers choose from, by the names of their variants.
macro_rules! sets {
    ($($ty:ident),* $(,)?) => {
        $(impl Text for $ty {
            fn write(&self, out: &mut Writer<'_>) -> fmt::Result {
                out.display(self)
            }

            fn read(input: &mut Reader<'_>) -> Read<Self> {
                let word = input.word(concat!("a value of ", stringify!($ty)))?;
                variant($ty::ALL, word.text).ok_or_else(|| word.unknown(stringify!($ty), &[]))
            }
        })*
    };
}
sets! {
    AtomicOp, BitOp, BoolOp, CacheOp, ClampMode, Compare, Fragment, Geometry, Layout, MatrixKind, MulMode, PrmtMode, Proxy, Query, ReduxOp, Rounding,
    ScalarType, Scope, Semantics, ShflMode, Space, SpecialReg, SurfaceClamp, TensormapField, TestpOp, VoteMode,
}
