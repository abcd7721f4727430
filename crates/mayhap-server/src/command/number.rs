//! Numbers as Redis reads them: strict, so that a typo is an error and not a value.

/// A whole number: an optional minus, digits without a leading zero, nothing else.
pub(super) fn integer(word: &[u8]) -> Option<i64> {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    match digits {
        [b'0'] if digits.len() == word.len() => return Some(0),
        [b'1'..=b'9', ..] => {}
        _ => return None,
    }
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// A whole number that is not negative.
pub(super) fn count(word: &[u8]) -> Option<u64> {
    integer(word).and_then(|number| u64::try_from(number).ok())
}

/// A decimal number; `inf` is one, `nan` and hexadecimal numbers are not.
pub(super) fn real(word: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (!number.is_nan()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_as_redis_reads_them() {
        for (word, wanted) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("-7", Some(-7)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("", None),
            ("-", None),
            ("-0", None),
            ("+1", None),
            ("01", None),
            (" 1", None),
            ("1 ", None),
            ("1e2", None),
            ("0x10", None),
        ] {
            assert_eq!(integer(word.as_bytes()), wanted, "{word:?}");
        }
        assert_eq!(count(b"-1"), None);
        assert_eq!(integer(b"\xff"), None);
    }

    #[test]
    fn a_rate_is_a_decimal_number() {
        for (word, wanted) in [
            ("0.01", Some(0.01)),
            ("1e-3", Some(0.001)),
            ("inf", Some(f64::INFINITY)),
            ("nan", None),
            ("0x1p-4", None),
            ("", None),
            (" 1", None),
            ("0.01x", None),
        ] {
            assert_eq!(real(word.as_bytes()), wanted, "{word:?}");
        }
    }
}
