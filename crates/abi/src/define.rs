//! Macros that the generated modules are written in.

/// A pointer to a function of the application.
pub trait Callback {
    /// The type of the function.
    type Fn: Copy;
}

/// An enum of C: a newtype over its integer with a constant for each enumerator. `Debug` prints the name of the first enumerator
/// with the value, or the number.
macro_rules! c_enum {
    ($(#[$meta:meta])* $name:ident: $repr:ty { $($constant:ident = $value:literal,)* }) => {
        $(#[$meta])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl $name {
            $(#[doc = concat!("`", stringify!($value), "`")] pub const $constant: Self = Self($value);)*
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                const NAMES: &[($repr, &str)] = &[$(($value, stringify!($constant)),)*];
                match NAMES.iter().find(|(value, _)| *value == self.0) {
                    Some((_, name)) => f.write_str(name),
                    None => write!(f, "{}({:#x})", stringify!($name), self.0),
                }
            }
        }
    };
}

/// A handle: an address that means nothing outside the driver.
macro_rules! handle {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);

        impl $name {
            /// The handle that stands for no object.
            pub const NULL: Self = Self(0);
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

/// A pointer to a function of the application, kept as its address.
macro_rules! callback {
    ($(#[$meta:meta])* $name:ident: $function:ty) => {
        $(#[$meta])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);

        impl crate::Callback for $name {
            type Fn = $function;
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

/// `Debug` for a type that contains a union: nothing says which member is valid.
macro_rules! opaque_debug {
    ($name:ident) => {
        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

/// Types that stand for one ABI version of an entry point each.
macro_rules! entry_points {
    ($($marker:ident {
        name: $name:literal, version: $version:literal, per_thread: $per_thread:literal, symbol: $symbol:literal,
        typedef: $typedef:literal, header: $header:literal, function: $function:ty
    })*) => {
        $(
            #[doc = concat!("`", $symbol, "`, a `", $typedef, "` of `", $header, "`.")]
            #[derive(Clone, Copy, Debug)]
            pub struct $marker;

            impl crate::EntryPoint for $marker {
                const NAME: &'static core::ffi::CStr =
                    match core::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name has no NUL within"),
                    };
                const VERSION: i32 = $version;
                const PER_THREAD: bool = $per_thread;
                const SYMBOL: &'static str = $symbol;
                const TYPEDEF: &'static str = $typedef;
                const HEADER: &'static str = $header;
                type Fn = $function;
            }
        )*
    };
}

pub(crate) use {c_enum, callback, entry_points, handle, opaque_debug};
