//! C's `printf` as device code has it (CUDA programming guide, formatted output): format to bytes.

/// Where arguments come from.
pub(crate) trait Arguments {
    /// Why one cannot be had.
    type Error;

    /// The next argument of `size` bytes (4 or 8).
    fn next(&mut self, size: u32) -> Result<u64, Self::Error>;

    /// The C string at an address that is not NULL.
    fn string(&mut self, address: u64) -> Result<Vec<u8>, Self::Error>;
}

#[derive(Clone, Copy, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

/// Prints; the number of arguments used.
pub(crate) fn print<A: Arguments>(format: &[u8], arguments: &mut A, out: &mut Vec<u8>) -> Result<i32, A::Error> {
    let mut used = 0;
    let mut at = 0;
    while let Some(&byte) = format.get(at) {
        at += 1;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let start = at - 1;
        let mut spec = Spec::default();
        while let Some(&flag) = format.get(at) {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            at += 1;
        }
        if let Some(width) = number(format, &mut at, arguments, &mut used)? {
            spec.left |= width < 0;
            spec.width = width.unsigned_abs() as usize;
        }
        if format.get(at) == Some(&b'.') {
            at += 1;
            let precision = number(format, &mut at, arguments, &mut used)?.unwrap_or(0);
            spec.precision = usize::try_from(precision).ok();
        }
        let size_start = at;
        while matches!(format.get(at), Some(b'h' | b'l' | b'j' | b'z' | b't' | b'L')) {
            at += 1;
        }
        let wide = format[size_start..at].iter().any(|byte| matches!(byte, b'l' | b'j' | b'z' | b't'));
        let half = format[size_start..at].iter().filter(|&&byte| byte == b'h').count();
        let Some(&conversion) = format.get(at) else {
            out.extend_from_slice(&format[start..]);
            break;
        };
        at += 1;
        if conversion == b'%' {
            out.push(b'%');
            continue;
        }
        let size = if wide || matches!(conversion, b's' | b'p') { 8 } else { 4 };
        match conversion {
            b'd' | b'i' => {
                let bits = arguments.next(size)?;
                let value = match (wide, half) {
                    (true, _) => bits as i64,
                    (_, 1) => i64::from(bits as i16),
                    (_, 2..) => i64::from(bits as i8),
                    _ => i64::from(bits as i32),
                };
                let digits = integer_digits(value.unsigned_abs().to_string(), &spec);
                signed(out, &spec, value < 0, &digits, spec.precision.is_none());
            }
            b'u' | b'x' | b'X' | b'o' => {
                let bits = arguments.next(size)?;
                let value = match (wide, half) {
                    (true, _) => bits,
                    (_, 1) => u64::from(bits as u16),
                    (_, 2..) => u64::from(bits as u8),
                    _ => u64::from(bits as u32),
                };
                let (digits, prefix) = match conversion {
                    b'x' => (format!("{value:x}"), "0x"),
                    b'X' => (format!("{value:X}"), "0X"),
                    b'o' => (format!("{value:o}"), ""),
                    _ => (value.to_string(), ""),
                };
                let mut digits = integer_digits(digits, &spec);
                if conversion == b'o' && spec.alternate && !digits.starts_with('0') {
                    digits.insert(0, '0');
                }
                let prefix = if spec.alternate && value != 0 { prefix } else { "" };
                field(out, &spec, prefix, digits.as_bytes(), spec.precision.is_none());
            }
            b'c' => {
                let byte = arguments.next(4)? as u8;
                field(out, &spec, "", &[byte], false);
            }
            b's' => {
                let address = arguments.next(8)?;
                let mut text = if address == 0 { b"(null)".to_vec() } else { arguments.string(address)? };
                text.truncate(spec.precision.unwrap_or(usize::MAX));
                field(out, &spec, "", &text, false);
            }
            b'p' => {
                let address = arguments.next(8)?;
                field(
                    out,
                    &spec,
                    "",
                    if address == 0 { "(nil)".to_owned() } else { format!("{address:#x}") }.as_bytes(),
                    false,
                );
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(arguments.next(8)?);
                let upper = conversion.is_ascii_uppercase();
                let magnitude = value.abs();
                let mut digits = if value.is_nan() {
                    "nan".to_owned()
                } else if value.is_infinite() {
                    "inf".to_owned()
                } else {
                    match conversion.to_ascii_lowercase() {
                        b'f' => fixed(magnitude, spec.precision.unwrap_or(6), spec.alternate),
                        b'e' => exponential(magnitude, spec.precision.unwrap_or(6), spec.alternate),
                        b'g' => general(magnitude, spec.precision.unwrap_or(6), spec.alternate),
                        _ => hexadecimal(magnitude, spec.precision, spec.alternate),
                    }
                };
                if upper {
                    digits.make_ascii_uppercase();
                }
                signed(out, &spec, value.is_sign_negative(), &digits, value.is_finite());
            }
            _ => {
                out.extend_from_slice(&format[start..at]);
                continue;
            }
        }
        used += 1;
    }
    Ok(used)
}

/// A width or precision: digits, or `*`.
fn number<A: Arguments>(
    format: &[u8],
    at: &mut usize,
    arguments: &mut A,
    used: &mut i32,
) -> Result<Option<i32>, A::Error> {
    if format.get(*at) == Some(&b'*') {
        *at += 1;
        *used += 1;
        return Ok(Some(arguments.next(4)? as i32));
    }
    let mut value = None;
    while let Some(digit) = format.get(*at).filter(|byte| byte.is_ascii_digit()) {
        value = Some(value.unwrap_or(0i32).saturating_mul(10).saturating_add(i32::from(digit - b'0')).min(1 << 16));
        *at += 1;
    }
    Ok(value)
}

/// Digits padded to the precision; zero with precision 0 is nothing.
fn integer_digits(digits: String, spec: &Spec) -> String {
    match spec.precision {
        Some(0) if digits == "0" => String::new(),
        Some(precision) => format!("{digits:0>precision$}"),
        None => digits,
    }
}

fn signed(out: &mut Vec<u8>, spec: &Spec, negative: bool, digits: &str, zeros: bool) {
    let sign = match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    };
    let (prefix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(rest) => (format!("{sign}{}", &digits[..2]), rest),
        None => (sign.to_owned(), digits),
    };
    field(out, spec, &prefix, digits.as_bytes(), zeros);
}

/// Pads to the width: with zeros behind the prefix where the flag asks for it and `zeros` allows it.
fn field(out: &mut Vec<u8>, spec: &Spec, prefix: &str, text: &[u8], zeros: bool) {
    let padding = spec.width.saturating_sub(prefix.len() + text.len());
    let (before, between, after) = match (spec.left, spec.zero && zeros) {
        (true, _) => (0, 0, padding),
        (false, true) => (0, padding, 0),
        (false, false) => (padding, 0, 0),
    };
    out.extend(std::iter::repeat_n(b' ', before));
    out.extend_from_slice(prefix.as_bytes());
    out.extend(std::iter::repeat_n(b'0', between));
    out.extend_from_slice(text);
    out.extend(std::iter::repeat_n(b' ', after));
}

fn fixed(value: f64, precision: usize, alternate: bool) -> String {
    let mut text = format!("{value:.precision$}");
    if precision == 0 && alternate {
        text.push('.');
    }
    text
}

fn exponential(value: f64, precision: usize, alternate: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    let point = if precision == 0 && alternate { "." } else { "" };
    format!("{mantissa}{point}e{sign}{digits:0>2}")
}

/// `%g`: the shorter of the two, without trailing zeros (C11 7.21.6.1).
fn general(value: f64, precision: usize, alternate: bool) -> String {
    let precision = precision.max(1);
    let probe = format!("{value:.*e}", precision - 1);
    let exponent: i32 = probe.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let in_fixed = exponent >= -4 && exponent < precision as i32;
    let text = if in_fixed {
        fixed(value, (precision as i32 - 1 - exponent).max(0) as usize, alternate)
    } else {
        exponential(value, precision - 1, alternate)
    };
    if alternate {
        return text;
    }
    let (mantissa, rest) = match text.find('e') {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    if !mantissa.contains('.') {
        return text;
    }
    format!("{}{rest}", mantissa.trim_end_matches('0').trim_end_matches('.'))
}

/// `%a`, normalised as glibc does: one digit before the point.
fn hexadecimal(value: f64, precision: Option<usize>, alternate: bool) -> String {
    let bits = value.to_bits();
    let biased = (bits >> 52) as i32;
    let mut fraction = bits & ((1 << 52) - 1);
    let (mut lead, exponent) = match (biased, fraction) {
        (0, 0) => (0u64, 0),
        (0, _) => (0, -1022),
        _ => (1, biased - 1023),
    };
    let digits = match precision {
        Some(precision) if precision < 13 => {
            // Round to nearest, ties to even, on the hexadecimal digits.
            let drop = 4 * (13 - precision as u32);
            let whole = lead << 52 | fraction;
            let half = 1u64 << (drop - 1);
            let rest = whole & ((1 << drop) - 1);
            let mut kept = whole >> drop;
            kept += u64::from(rest > half || (rest == half && kept & 1 == 1));
            let rounded = kept << drop;
            lead = rounded >> 52;
            fraction = rounded & ((1 << 52) - 1);
            format!("{fraction:013x}")[..precision].to_owned()
        }
        Some(precision) => format!("{:0<precision$}", format!("{fraction:013x}")),
        None => format!("{fraction:013x}").trim_end_matches('0').to_owned(),
    };
    let point = if digits.is_empty() && !alternate { "" } else { "." };
    format!("0x{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Values(Vec<u64>, usize);

    impl Arguments for Values {
        type Error = ();

        fn next(&mut self, _: u32) -> Result<u64, ()> {
            self.1 += 1;
            Ok(self.0[self.1 - 1])
        }

        fn string(&mut self, address: u64) -> Result<Vec<u8>, ()> {
            Ok(format!("text{address}").into_bytes())
        }
    }

    fn check(format: &str, values: &[u64], expected: &str) {
        let mut out = Vec::new();
        print(format.as_bytes(), &mut Values(values.to_vec(), 0), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{format}");
    }

    /// Expected texts are those of glibc's `printf`.
    #[test]
    fn formats_as_c_does() {
        check("%d|%5d|%-5d|%05d|%+d|% d", &[u64::MAX, 42, 42, 42, 42, 42], "-1|   42|42   |00042|+42| 42");
        check("%u %x %#X %o %#o", &[u64::MAX, 255, 255, 8, 8], "4294967295 ff 0XFF 10 010");
        check("%lld %llu %ld", &[u64::MAX, u64::MAX, 5], "-1 18446744073709551615 5");
        check("%hd %hhu", &[0xffff, 0x1ff], "-1 255");
        check("%.3d|%.0d|%8.3d", &[5, 0, 5], "005||     005");
        check("%s|%.2s|%8s|%s", &[1, 2, 3, 0], "text1|te|   text3|(null)");
        check("%c%%%5c|", &[65, 66], "A%    B|");
        check("%p %p", &[0x1234, 0], "0x1234 (nil)");
        check("%*d|%-*d|%.*f", &[5, 42, 5, 42, 2, 1.5f64.to_bits()], "   42|42   |1.50");
        let f = |value: f64| value.to_bits();
        check(
            "%f|%.0f|%#.0f|%10.2f|%-10.2f|%010.2f",
            &[f(1.5), f(2.5), f(2.5), f(-1.255), f(1.0), f(-1.0)],
            "1.500000|2|2.|     -1.25|1.00      |-000001.00",
        );
        check("%e|%.0e|%E", &[f(12345.678), f(0.0), f(1e-300)], "1.234568e+04|0e+00|1.000000E-300");
        check(
            "%g|%g|%g|%g|%#g|%.3g",
            &[f(100000.0), f(1e6), f(0.0001), f(1e-5), f(1.0), f(1234.5)],
            "100000|1e+06|0.0001|1e-05|1.00000|1.23e+03",
        );
        check("%a|%a|%.2a|%a", &[f(1.0), f(0.1), f(1.999), f(0.0)], "0x1p+0|0x1.999999999999ap-4|0x2.00p+0|0x0p+0");
        check(
            "%f %F %5f|%05f",
            &[f(f64::INFINITY), f(f64::NAN), f(f64::NEG_INFINITY), f(f64::INFINITY)],
            "inf NAN  -inf|  inf",
        );
        check("%q %", &[], "%q %");
    }
}
