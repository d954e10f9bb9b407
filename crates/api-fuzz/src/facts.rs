//! What the generated table of functions is made of.

use warploom_abi::CUresult;

/// A function that the driver exports.
pub(crate) struct Function {
    pub(crate) symbol: &'static str,
    pub(crate) params: &'static [Param],
    /// Calls it at an address, with one slot for each parameter.
    pub(crate) call: Call,
}

/// Calls the function at an address.
pub(crate) type Call = unsafe fn(*const (), &[Slot]) -> CUresult;

/// The bytes of one argument. The largest that is passed by value is an interprocess handle.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Slot(pub(crate) [u8; Slot::SIZE]);

/// One parameter.
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) direction: Direction,
    /// Whether it points to several values; how many says another parameter.
    pub(crate) array: bool,
    pub(crate) shape: Shape,
}

/// Which way a parameter's data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Value,
    In,
    Out,
    InOut,
}

/// A C type, as far as making values of it needs to know.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Behind a pointer: anything.
    Void,
    /// A `char`; behind a pointer, a string.
    Text,
    /// Bytes, and the name of the type: what the number stands for.
    Integer(usize, &'static str),
    Float(usize),
    /// The documented values.
    Enum(&'static [i64]),
    /// The name of the type.
    Handle(&'static str),
    Callback,
    Pointer(&'static Shape),
    Array(&'static Shape, usize),
    Struct(&'static Aggregate),
}

/// A struct or union.
#[derive(Debug)]
pub(crate) struct Aggregate {
    /// Empty for those that stand inside another.
    pub(crate) name: &'static str,
    /// In bytes.
    pub(crate) size: usize,
    pub(crate) is_union: bool,
    pub(crate) fields: &'static [Field],
}

/// A member of a struct or union.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// In bytes.
    pub(crate) offset: usize,
    pub(crate) shape: Shape,
}

impl Function {
    pub(crate) const fn new(symbol: &'static str, params: &'static [Param], call: Call) -> Self {
        Function { symbol, params, call }
    }
}

impl Param {
    pub(crate) const fn new(name: &'static str, direction: Direction, array: bool, shape: Shape) -> Self {
        Param { name, direction, array, shape }
    }
}

impl Aggregate {
    pub(crate) const fn new(name: &'static str, size: usize, is_union: bool, fields: &'static [Field]) -> Self {
        Aggregate { name, size, is_union, fields }
    }
}

impl Field {
    pub(crate) const fn new(name: &'static str, offset: usize, shape: Shape) -> Self {
        Field { name, offset, shape }
    }
}

impl Slot {
    const SIZE: usize = 64;

    /// A slot that starts with `bytes`.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut slot = Slot([0; Slot::SIZE]);
        slot.0[..bytes.len()].copy_from_slice(bytes);
        slot
    }

    /// The argument, as the type that the function wants.
    ///
    /// # Safety
    /// The slot was made for a parameter of this type.
    pub(crate) unsafe fn read<T: Copy>(&self) -> T {
        const { assert!(size_of::<T>() <= Slot::SIZE && align_of::<T>() <= align_of::<Slot>()) };
        // SAFETY: large and aligned enough; the caller vouches for the bytes.
        unsafe { self.0.as_ptr().cast::<T>().read() }
    }
}

impl Shape {
    /// In bytes; what stands behind a pointer to anything counts as bytes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Shape::Void | Shape::Text => 1,
            Shape::Integer(bytes, _) | Shape::Float(bytes) => *bytes,
            Shape::Enum(_) => 4,
            Shape::Handle(_) | Shape::Callback | Shape::Pointer(_) => 8,
            Shape::Array(of, length) => of.size() * length,
            Shape::Struct(aggregate) => aggregate.size,
        }
    }
}

/// The call of a function of type `$function` with the slots `$index`.
macro_rules! call {
    ($function:ty, $($index:literal),*) => {
        |address, slots| {
            assert_eq!(slots.len(), <[usize]>::len(&[$($index),*]), "one slot for each parameter");
            // SAFETY: whoever calls this says that a function of this type is at the address, and has made each slot for
            // the parameter in its place.
            unsafe {
                let function = std::mem::transmute::<*const (), $function>(address);
                function($(slots[$index].read()),*)
            }
        }
    };
}
pub(crate) use call;
