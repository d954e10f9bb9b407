//! The IR as text: what dumps show, what tests of passes are written in. `docs/ir-text.md` has the grammar.
//!
//! What is written reads back to an equal module ([`Module::read`](super::Module::read)). Parts of instructions take their form from their
//! definition: [`text!`] and [`keywords!`](super::keywords) write and read a type by the names of its variants and fields, where flags that are off and
//! parts that are absent are left out. So an instruction has its text as soon as it is defined.

mod parse;
mod print;
mod reader;
mod value;

pub use parse::ReadError;
pub use reader::Malformed;
pub(super) use reader::{Read, Reader};

use std::fmt;

/// A part of an instruction that has a text.
pub(in crate::ir) trait Text: Sized {
    /// What a field that is not written stands for, if it can be left out.
    fn absent() -> Option<Self> {
        None
    }

    /// Whether the value is what [`Text::absent`] gives.
    fn is_absent(&self) -> bool {
        false
    }

    fn write(&self, out: &mut Writer<'_>) -> fmt::Result;

    fn read(input: &mut Reader<'_>) -> Read<Self>;
}

/// Writes values; those inside others have braces around their fields.
pub(in crate::ir) struct Writer<'w> {
    out: &'w mut dyn fmt::Write,
    depth: u32,
}

impl<'w> Writer<'w> {
    fn new(out: &'w mut dyn fmt::Write) -> Writer<'w> {
        Writer { out, depth: 0 }
    }

    pub(super) fn text(&mut self, text: &str) -> fmt::Result {
        self.out.write_str(text)
    }

    pub(super) fn display(&mut self, value: impl fmt::Debug) -> fmt::Result {
        write!(self.out, "{value:?}")
    }

    pub(super) fn inside<T: Text>(&mut self, value: &T) -> fmt::Result {
        self.depth += 1;
        let written = value.write(self);
        self.depth -= 1;
        written
    }

    /// Writes a field unless it can be left out; `first` says whether none is written yet.
    pub(super) fn field<T: Text>(&mut self, first: &mut bool, name: &str, value: &T) -> fmt::Result {
        if value.is_absent() {
            return Ok(());
        }
        self.text(match (std::mem::replace(first, false), self.depth) {
            (true, 0) => " ",
            (true, _) => " { ",
            (false, _) => ", ",
        })?;
        self.text(name)?;
        self.text(": ")?;
        self.inside(value)
    }

    pub(super) fn close(&mut self, first: bool) -> fmt::Result {
        if first || self.depth == 0 { Ok(()) } else { self.text(" }") }
    }
}

/// Defines types together with their text.
macro_rules! text {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $variant:ident $({ $($(#[$field_doc:meta])* $field:ident: $ty:ty),+ $(,)? })? $(($inner:ty))?),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$doc])* $variant $({ $($(#[$field_doc])* $field: $ty),+ })? $(($inner))?),+
        }

        impl $crate::ir::text::Text for $name {
            fn write(&self, out: &mut $crate::ir::text::Writer<'_>) -> std::fmt::Result {
                match self {
                    $($name::$variant $({ $($field),+ })? $(($crate::ir::text::text!(@first inner, $inner)))? => {
                        out.text(stringify!($variant))?;
                        $(
                            let mut first = true;
                            $(out.field(&mut first, stringify!($field), $field)?;)+
                            out.close(first)?;
                        )?
                        $(
                            out.text("(")?;
                            out.inside::<$inner>(inner)?;
                            out.text(")")?;
                        )?
                        Ok(())
                    })+
                }
            }

            fn read(input: &mut $crate::ir::text::Reader<'_>) -> $crate::ir::text::Read<Self> {
                let word = input.word(concat!("a value of ", stringify!($name)))?;
                $(if word.text == stringify!($variant) {
                    let fields = input.open();
                    let value = $name::$variant
                        $({ $($field: fields.field(input, stringify!($field))?),+ })?
                        $((input.parenthesised::<$inner>()?))?;
                    fields.close(input)?;
                    return Ok(value);
                })+
                Err(word.unknown(stringify!($name), &[$(stringify!($variant)),+]))
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($(#[$field_doc:meta])* pub $field:ident: $ty:ty),+ $(,)? }
    ) => {
        $(#[$meta])*
        pub struct $name { $($(#[$field_doc])* pub $field: $ty),+ }

        impl $crate::ir::text::Text for $name {
            fn write(&self, out: &mut $crate::ir::text::Writer<'_>) -> std::fmt::Result {
                out.text(stringify!($name))?;
                let mut first = true;
                $(out.field(&mut first, stringify!($field), &self.$field)?;)+
                out.close(first)
            }

            fn read(input: &mut $crate::ir::text::Reader<'_>) -> $crate::ir::text::Read<Self> {
                let word = input.word(stringify!($name))?;
                if word.text != stringify!($name) {
                    return Err(word.unknown(stringify!($name), &[stringify!($name)]));
                }
                let fields = input.open();
                let value = $name { $($field: fields.field(input, stringify!($field))?),+ };
                fields.close(input)?;
                Ok(value)
            }
        }
    };
    (@first $first:ident, $rest:ty) => { $first };
}
pub(in crate::ir) use text;
