//! The number at the front of a line.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

/// The number at the front of a line.
pub(super) enum Number {
    /// A number, and the bytes up to the next line.
    Is(i64, usize),
    /// It may still become a number.
    Unfinished,
    /// It cannot become a number.
    None,
}

/// Parses a decimal number that ends with CR LF: no sign but `-`, no leading zero, at most 20
/// digits.
#[inline(always)]
pub(super) fn number(line: &[u8]) -> Number {
    // Most numbers have one digit or two.
    match line {
        [one @ b'0'..=b'9', b'\r', b'\n', ..] => Number::Is(i64::from(one & 15), 3),
        [ten @ b'1'..=b'9', one @ b'0'..=b'9', b'\r', b'\n', ..] => {
            let value = i64::from(ten & 15).wrapping_mul(10).wrapping_add(i64::from(one & 15));
            Number::Is(value, 4)
        }
        _ => any_number(line),
    }
}

#[inline(never)]
fn any_number(line: &[u8]) -> Number {
    let (negative, digits) = match line.split_first() {
        None => return Number::Unfinished,
        Some((b'-', rest)) => (true, rest),
        Some(_) => (false, line),
    };
    let mut value = 0_i64;
    for (place, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            let next = value.checked_mul(10).and_then(|tens| tens.checked_add(i64::from(digit)));
            // No leading zero, and no `-0`.
            let zero_first = value == 0 && (place > 0 || (negative && digit == 0));
            match next {
                Some(next) if !zero_first => value = next,
                _ => return Number::None,
            }
        } else if byte == b'\r' && place > 0 {
            let value = if negative { value.saturating_neg() } else { value };
            let bytes = place.saturating_add(usize::from(negative)).saturating_add(2);
            return match digits.get(place.saturating_add(1)) {
                Some(b'\n') => Number::Is(value, bytes),
                Some(_) => Number::None,
                None => Number::Unfinished,
            };
        } else {
            return Number::None;
        }
    }
    Number::Unfinished
}
