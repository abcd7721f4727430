//! Decimals: their text, and their number as bytes.

/// A decimal without its point, as a number of the column's scale.
///
/// `None` for text that is no decimal number; `Some(Err)` for a number that this column cannot
/// have.
pub(super) fn parse(text: &str, precision: u32, scale: u32) -> Option<Result<Vec<u8>, TooLong>> {
    let (is_negative, number) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    // Python writes small ones as 1E-8.
    let (number, exponent) = match number.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Zeros to append.
    let zeros = i64::from(scale) + i64::from(exponent) - i64::try_from(fraction.len()).ok()?;
    let Ok(zeros) = u64::try_from(zeros) else { return Some(Err(TooLong::Scale)) };
    let digits = digits.trim_start_matches('0');
    let zeros = if digits.is_empty() { 0 } else { zeros };
    if digits.len() as u64 + zeros > u64::from(precision) {
        return Some(Err(TooLong::Precision));
    }
    let digits = digits.bytes().map(|byte| byte - b'0');
    Some(Ok(number_of(digits.chain((0..zeros).map(|_| 0)), is_negative)))
}

/// The reason why a decimal cannot be in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TooLong {
    /// It has more digits behind the point.
    Scale,
    /// It has more digits.
    Precision,
}

/// Digits as the shortest number in two's complement, most significant byte first.
fn number_of(digits: impl Iterator<Item = u8>, is_negative: bool) -> Vec<u8> {
    // Least significant first, below 2^(8 n - 1) in the end.
    let mut bytes: Vec<u8> = vec![0];
    for digit in digits {
        let mut carry = u32::from(digit);
        for byte in &mut bytes {
            carry += u32::from(*byte) * 10;
            *byte = carry as u8;
            carry >>= 8;
        }
        if carry > 0 {
            bytes.push(carry as u8);
        }
    }
    bytes.push(0);
    if is_negative {
        let mut carry = true;
        for byte in &mut bytes {
            (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
        }
    }
    bytes.reverse();
    shortest(&bytes).to_vec()
}

/// A number without the bytes that only repeat its sign.
pub(super) fn shortest(mut bytes: &[u8]) -> &[u8] {
    while let [0, 0..=0x7F, ..] | [0xFF, 0x80..=0xFF, ..] = bytes {
        bytes = &bytes[1..];
    }
    bytes
}

/// A number in this many bytes; `None` if it needs more.
pub(super) fn widened(number: &[u8], len: usize) -> Option<Vec<u8>> {
    let number = shortest(number);
    let sign = if number.first().is_some_and(|&byte| byte >= 0x80) { 0xFF } else { 0 };
    let more = len.checked_sub(number.len())?;
    Some(std::iter::repeat_n(sign, more).chain(number.iter().copied()).collect())
}

/// The number of bytes that any number of this many digits fits in.
pub(super) fn bytes_of(precision: u32) -> usize {
    number_of((0..precision).map(|_| 9), false).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Result<i64, TooLong>> {
        let of =
            |bytes: Vec<u8>| i64::from_be_bytes(widened(&bytes, 8).unwrap().try_into().unwrap());
        parse(text, 9, 2).map(|number| number.map(of))
    }

    #[test]
    fn texts_are_numbers_of_the_scale() {
        for (text, number) in [
            ("2", 200),
            ("2.0", 200),
            ("2.00", 200),
            ("-2.01", -201),
            ("+.5", 50),
            ("5.", 500),
            ("0E-2", 0),
            ("-0.00", 0),
            ("1E-2", 1),
            ("1.5e3", 150_000),
            ("9999999.99", 999_999_999),
            ("-00001.28", -128),
            ("1.28", 128),
            ("2.55", 255),
            ("-2.56", -256),
        ] {
            assert_eq!(parsed(text), Some(Ok(number)), "{text}");
        }
        for text in ["2.000", "1E-3", "0E-3"] {
            assert_eq!(parsed(text), Some(Err(TooLong::Scale)), "{text}");
        }
        for text in ["10000000.00", "1E7", "1E2147483647"] {
            assert_eq!(parsed(text), Some(Err(TooLong::Precision)), "{text}");
        }
        for text in ["", "-", ".", "x", "1.2.3", "1 ", "1e", "--1", "1_0", "NaN", "1E+"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        for number in -70_000i64..70_000 {
            let text = number.to_string();
            let bytes = parse(&text, 9, 0).unwrap().unwrap();
            assert_eq!(widened(&bytes, 8).unwrap(), number.to_be_bytes());
            let fits = |len: u32| number >= -(1 << (8 * len - 1)) && number < 1 << (8 * len - 1);
            let len = bytes.len() as u32;
            assert!(fits(len) && (len == 1 || !fits(len - 1)), "{number} in {len}");
        }
        let most = [(1, 1), (2, 1), (3, 2), (4, 2), (9, 4), (18, 8), (38, 16), (39, 17), (76, 32)];
        for (precision, len) in most {
            assert_eq!(bytes_of(precision), len, "{precision}");
        }
        assert_eq!(widened(&[0xFF, 0x00], 1), None);
    }
}
