//! Plain whole numbers: seeds, ports, numbers of hash functions.

use std::fmt;

/// A text that is no whole number of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeError {
    /// The largest number of the range, which begins with 0.
    pub max: u64,
}

impl fmt::Display for WholeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a whole number from 0 to {}", self.max)
    }
}

impl std::error::Error for WholeError {}

/// Reads a whole number in decimal digits, without separators and units.
///
/// # Errors
///
/// A [`WholeError`] unless the text has only digits and the type can hold the number.
///
/// # Examples
///
/// ```
/// use mayhap_units::number::parse_whole;
/// assert_eq!(parse_whole::<u64>("7"), Ok(7));
/// let error = parse_whole::<u16>("70000").unwrap_err();
/// assert_eq!(error.to_string(), "not a whole number from 0 to 65535");
/// ```
pub fn parse_whole<T: TryFrom<u64>>(text: &str) -> Result<T, WholeError> {
    let bits = 8 * size_of::<T>().clamp(1, 8);
    let error = WholeError { max: u64::MAX >> (64 - bits) };
    // The standard parser takes a sign, too.
    let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok());
    number.flatten().and_then(|number| T::try_from(number).ok()).ok_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_their_type_does() {
        assert_eq!(parse_whole::<u64>("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse_whole::<u16>("65535"), Ok(65_535));
        for text in ["", "x", "3,5", "-1", "+1", "1e3", "18446744073709551616", " 1", "٣"] {
            assert_eq!(parse_whole::<u64>(text), Err(WholeError { max: u64::MAX }), "{text}");
        }
        assert_eq!(parse_whole::<u32>("4294967296"), Err(WholeError { max: 4_294_967_295 }));
    }
}
