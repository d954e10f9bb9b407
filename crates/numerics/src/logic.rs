//! Logic and shifts (PTX ISA 9.7.8) and `prmt` (9.7.9.7), as far as they are more than the host's bitwise operators.

use crate::integer::Integer;

/// `lop3`: bit `4a + 2b + c` of the table, for each bit.
#[inline(always)]
pub fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    let pick = |index: u32| if table >> index & 1 != 0 { u32::MAX } else { 0 };
    let by_c = |base: u32| (!c & pick(base)) | (c & pick(base + 1));
    let by_b = |base: u32| (!b & by_c(base)) | (b & by_c(base + 2));
    (!a & by_b(0)) | (a & by_b(4))
}

/// `shl`: an amount of the width or more leaves zero.
#[inline(always)]
pub fn shl<T: Integer>(a: T, amount: u32) -> T {
    let shifted = a.shl(amount & (T::BITS - 1));
    if amount < T::BITS { shifted } else { T::ZERO }
}

/// `shr`: an amount of the width or more leaves zero, or the sign of a signed type.
#[inline(always)]
pub fn shr<T: Integer>(a: T, amount: u32) -> T {
    let shifted = a.shr(amount & (T::BITS - 1));
    if amount < T::BITS { shifted } else { a.fill() }
}

/// Two registers as one 64-bit value.
#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// `shf.l` and `shf.r`: the upper word of `high:low` shifted left, or the lower word of it shifted right. Above 31 the amount is 32, or
/// wraps.
#[inline(always)]
pub fn shf(low: u32, high: u32, amount: u32, left: bool, wrap: bool) -> u32 {
    let amount = if wrap { amount & 31 } else { amount.min(32) };
    let both = pair(low, high);
    (if left { both << amount >> 32 } else { both >> amount }) as u32
}

/// The modes of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permute {
    /// Each nibble of the selector chooses a byte; its top bit replicates the byte's sign.
    Index,
    /// Four bytes upward.
    Forward4,
    /// Four bytes downward.
    Backward4,
    /// One byte four times.
    Replicate8,
    /// Bytes 0 to 3, not below the chosen one.
    EdgeClampLeft,
    /// Bytes 0 to 3, not above the chosen one.
    EdgeClampRight,
    /// One half twice.
    Replicate16,
}

/// `prmt`: bytes of `b:a`, chosen by the selector `c`.
#[inline(always)]
pub fn prmt(a: u32, b: u32, c: u32, mode: Permute) -> u32 {
    let source = pair(a, b);
    let byte = |index: u32| (source >> (8 * (index & 7))) as u8;
    let first = c & 3;
    let choose = |place: u32| match mode {
        Permute::Index => {
            let selector = c >> (4 * place);
            let byte = byte(selector);
            if selector & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte }
        }
        Permute::Forward4 => byte(first + place),
        Permute::Backward4 => byte(first.wrapping_sub(place)),
        Permute::Replicate8 => byte(first),
        Permute::EdgeClampLeft => byte(place.max(first)),
        Permute::EdgeClampRight => byte(place.min(first)),
        Permute::Replicate16 => byte(2 * (c & 1) + (place & 1)),
    };
    u32::from_le_bytes([choose(0), choose(1), choose(2), choose(3)])
}
