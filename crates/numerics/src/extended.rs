//! Extended-precision integer arithmetic (PTX ISA 9.7.2): `add.cc`, `addc`, `sub.cc`, `subc`, and the additions of `mad.cc`, `madc`.

/// An integer whose additions carry.
pub trait Carrying: Sized {
    /// `a + b + carry` and the carry out.
    fn add(self, other: Self, carry: bool) -> (Self, bool);
    /// The complement.
    fn complement(self) -> Self;
}

macro_rules! carrying {
    ($($ty:ty),*) => {$(
        impl Carrying for $ty {
            #[inline(always)]
            fn add(self, other: Self, carry: bool) -> (Self, bool) {
                let (sum, one) = self.overflowing_add(other);
                let (sum, two) = sum.overflowing_add(<$ty>::from(carry));
                (sum, one | two)
            }

            #[inline(always)]
            fn complement(self) -> Self {
                !self
            }
        }
    )*};
}

carrying!(u32, u64);

/// The sum and what `CC.CF` becomes. Without a carry in, `carry` is false.
#[inline(always)]
pub fn add<T: Carrying>(a: T, b: T, carry: bool) -> (T, bool) {
    a.add(b, carry)
}

/// The difference and what `CC.CF` becomes: the complement of the borrow, as recorded on hardware. Without a borrow in, `carry` is true.
#[inline(always)]
pub fn sub<T: Carrying>(a: T, b: T, carry: bool) -> (T, bool) {
    a.add(b.complement(), carry)
}
