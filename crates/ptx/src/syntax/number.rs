//! Reads numbers (PTX ISA 4.5.1, 4.5.2).

use super::ast::Literal;

/// The value of a number token, or what is wrong with it.
pub(super) fn read(text: &str) -> Result<Literal, &'static str> {
    let bytes = text.as_bytes();
    match bytes {
        [b'0', b'f' | b'F', digits @ ..] => return bits(digits, 8).map(|value| Literal::F32(value as u32)),
        [b'0', b'd' | b'D', digits @ ..] => return bits(digits, 16).map(Literal::F64),
        _ => {}
    }
    let hexadecimal = matches!(bytes, [b'0', b'x' | b'X', ..]);
    if !hexadecimal && bytes.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        // Rust reads no "5." without digits behind it in all positions, and no other letters: both agree with PTX here.
        let digit = bytes.iter().any(u8::is_ascii_digit);
        let plain = bytes.iter().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(byte));
        return match text.parse::<f64>() {
            Ok(value) if digit && plain => Ok(Literal::F64(value.to_bits())),
            _ => Err("malformed floating-point constant"),
        };
    }
    let (digits, unsigned) = match bytes {
        [digits @ .., b'u' | b'U'] => (digits, true),
        digits => (digits, false),
    };
    let (digits, radix) = match digits {
        [b'0', b'x' | b'X', rest @ ..] => (rest, 16),
        [b'0', b'b' | b'B', rest @ ..] => (rest, 2),
        [b'0', rest @ ..] if !rest.is_empty() => (rest, 8),
        rest => (rest, 10),
    };
    let value = integer(digits, radix)?;
    Ok(match i64::try_from(value) {
        Ok(value) if !unsigned => Literal::Int(value),
        _ => Literal::Uint(value),
    })
}

fn integer(digits: &[u8], radix: u64) -> Result<u64, &'static str> {
    if digits.is_empty() {
        return Err("malformed integer constant");
    }
    digits.iter().try_fold(0u64, |value, byte| {
        let digit = char::from(*byte).to_digit(radix as u32).ok_or("malformed integer constant")?;
        let shifted = value.checked_mul(radix).and_then(|value| value.checked_add(u64::from(digit)));
        shifted.ok_or("integer constant does not fit 64 bits")
    })
}

fn bits(digits: &[u8], count: usize) -> Result<u64, &'static str> {
    if digits.len() != count {
        return Err("a floating-point constant in hexadecimal has 8 digits behind 0f, 16 behind 0d");
    }
    integer(digits, 16)
}

/// The value with its sign changed; integers wrap.
pub(super) fn negate(literal: Literal) -> Literal {
    match literal {
        Literal::Int(value) => Literal::Int(value.wrapping_neg()),
        // -9223372036854775808 is the only signed number whose digits alone do not fit `.s64`.
        Literal::Uint(value) if value == 1 << 63 => Literal::Int(i64::MIN),
        Literal::Uint(value) => Literal::Uint(value.wrapping_neg()),
        Literal::F32(bits) => Literal::F32(bits ^ 1 << 31),
        Literal::F64(bits) => Literal::F64(bits ^ 1 << 63),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_manuals_values() {
        for (text, value) in [
            ("0", Literal::Int(0)),
            ("017", Literal::Int(15)),
            ("0x1F", Literal::Int(31)),
            ("0b101", Literal::Int(5)),
            ("7U", Literal::Uint(7)),
            ("0xffffffffffffffff", Literal::Uint(u64::MAX)),
            ("9223372036854775807", Literal::Int(i64::MAX)),
            ("0f3F800000", Literal::F32(0x3f80_0000)),
            ("0dBFF0000000000000", Literal::F64((-1f64).to_bits())),
            ("5.", Literal::F64(5f64.to_bits())),
            (".5", Literal::F64(0.5f64.to_bits())),
            ("1e5", Literal::F64(1e5f64.to_bits())),
            ("1.25E-2", Literal::F64(0.0125f64.to_bits())),
        ] {
            assert_eq!(read(text), Ok(value), "{text}");
        }
        for text in ["0x", "08", "0f3F80", "0d1", "18446744073709551616", "1.5x", "1e", ".", "12ab", "0b2", "U"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(negate(Literal::Uint(1 << 63)), Literal::Int(i64::MIN));
    }
}
