//! The text of a value → the bytes that a writer hashes: its plain encoding.

use super::column_type::{ColumnType, Store, Zone};
use super::decimal::{self, TooLong, widened};
use super::moment::{self, NoMoment, date_text, per_second, time_text};
use super::schema::Unit;
use crate::{Error, KeyType};

impl ColumnType {
    /// Appends the bytes of the value of a text.
    ///
    /// # Errors
    ///
    /// [`Error::BadKey`] for a text that cannot be a value of the column.
    pub(super) fn encode(self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let bad = |reason| Error::BadKey { key_type: self.name(), reason };
        if let Self::Bytes(len) = self {
            if len.is_some_and(|len| len != text.len()) {
                return Err(bad("values of the column have another number of bytes"));
            }
            out.extend(text);
            return Ok(());
        }
        let text = std::str::from_utf8(text).map_err(|_| bad("the text is not valid UTF-8"))?;
        match self {
            Self::Bytes(_) => {}
            Self::Integer { bits, is_signed } => {
                let number = integer(text, bits, is_signed);
                let number = number.ok_or_else(|| bad("not a whole number of its range"))?;
                out.extend(&number.to_le_bytes()[..if bits == 64 { 8 } else { 4 }]);
            }
            Self::Float16 => {
                let number = half(text).ok_or_else(|| bad("not a number of its range"))?;
                out.extend(number.to_le_bytes());
            }
            Self::Float => {
                out.extend(KeyType::Float.encode(text.as_bytes(), &mut Vec::new())?);
            }
            Self::Double => {
                out.extend(KeyType::Double.encode(text.as_bytes(), &mut Vec::new())?);
            }
            Self::Decimal { store, precision, scale } => {
                let number = decimal::parse(text, precision, scale);
                let number = number.ok_or_else(|| bad("not a decimal number"))?;
                let number = number.map_err(|why| match why {
                    TooLong::Scale => bad("more digits behind the point than the column has"),
                    TooLong::Precision => bad("more digits than the column has"),
                })?;
                out.extend(stored(&number, store));
            }
            Self::Date | Self::Time { .. } | Self::Timestamp { .. } => {
                return self.encode_moment(text, out).map_err(bad);
            }
            Self::Uuid => {
                let uuid = uuid(text).ok_or_else(|| bad("not 32 hexadecimal digits in groups"))?;
                out.extend(uuid.to_be_bytes());
            }
            Self::NoText(_) => {
                return Err(bad("its values have no text; give their bytes as type hex"));
            }
        }
        Ok(())
    }

    /// Like [`ColumnType::encode`], for dates and times; returns the reason if a text is none.
    fn encode_moment(self, text: &str, out: &mut Vec<u8>) -> Result<(), &'static str> {
        match self {
            Self::Time { unit, zone, .. } => {
                let (time, offset) = moment::time(text, unit).map_err(NoMoment::reason)?;
                let time = match (zone, offset) {
                    (Zone::Local, Some(_)) => return Err(HAS_ZONE),
                    (_, None | Some(0)) => time,
                    (_, Some(offset)) => {
                        let second = per_second(unit);
                        (time - offset * second).rem_euclid(86_400 * second)
                    }
                };
                out.extend(&time.to_le_bytes()[..if unit == Unit::Millis { 4 } else { 8 }]);
            }
            Self::Timestamp { unit, zone, .. } => {
                let (time, offset) = moment::timestamp(text, unit).map_err(NoMoment::reason)?;
                match (zone, offset) {
                    (Zone::Local, Some(_)) => return Err(HAS_ZONE),
                    (Zone::Utc, None) => return Err(NO_ZONE),
                    _ => out.extend(time.to_le_bytes()),
                }
            }
            _ => out.extend(moment::date(text).map_err(NoMoment::reason)?.to_le_bytes()),
        }
        Ok(())
    }

    /// A text of a value by a random number; `None` where the text of any value will do.
    pub(super) fn random(self, number: u64) -> Option<String> {
        // Through the years that every unit has.
        let day = (number / 86_400 % 90_000).cast_signed();
        let time =
            |unit| time_text(number.cast_signed().rem_euclid(86_400 * per_second(unit)), unit);
        Some(match self {
            Self::Bytes(Some(len)) => format!("{number:016x}").chars().cycle().take(len).collect(),
            Self::Integer { bits: 64, is_signed: true } => number.cast_signed().to_string(),
            Self::Integer { bits, is_signed } => {
                let number = i128::from(number >> (64 - u32::from(bits)));
                let low = if is_signed { 1 << (bits - 1) } else { 0 };
                (number - low).to_string()
            }
            Self::Float16 => format!("{}e{}", number % 2_048, number / 2_048 % 3),
            Self::Float => ((number as u32) as f32 / 1_000.0).to_string(),
            Self::Double => (number as f64 / 1_000_000.0).to_string(),
            Self::Decimal { precision, scale, .. } => {
                let digits = format!("{number:020}");
                let digits = &digits[20usize.saturating_sub(precision as usize)..];
                format!("{digits}e-{scale}")
            }
            Self::Date => date_text(number.cast_signed() & 0x1F_FFFF),
            Self::Time { unit, .. } => time(unit),
            Self::Timestamp { unit, zone, .. } => {
                let mark = if zone == Zone::Utc { "Z" } else { "" };
                format!("{} {}{mark}", date_text(day), time(unit))
            }
            Self::Uuid => format!("{:032x}", u128::from(number) * 0x9E37_79B9_7F4A_7C15),
            Self::Bytes(None) | Self::NoText(_) => return None,
        })
    }
}

const HAS_ZONE: &str = "the column's times have no zone, so omit it";
const NO_ZONE: &str = "the column's times are moments, so say the zone, as in 10:20:30Z or +02:00";

impl NoMoment {
    fn reason(self) -> &'static str {
        match self {
            Self::Form => "not a date or time, as in 2024-05-17, 10:20:30 or 2024-05-17 10:20:30",
            Self::TooFine => "finer than the times of the column",
            Self::Range => "outside of the range of the column",
        }
    }
}

/// The number in its lowest bits.
fn integer(text: &str, bits: u8, is_signed: bool) -> Option<i64> {
    let number: i128 = text.parse().ok()?;
    let (low, high) = match (bits, is_signed) {
        (bits, true) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (bits, false) => (0, (1i128 << bits) - 1),
    };
    (low..=high).contains(&number).then_some(number as i64)
}

/// The bits of the nearest number of 16 bits; of two, the even one.
fn half(text: &str) -> Option<u16> {
    let number: f64 = text.parse().ok()?;
    let sign = if number.is_sign_negative() { 0x8000 } else { 0 };
    let size = number.abs();
    if number.is_nan() {
        return Some(sign | 0x7E00);
    }
    if size.is_infinite() {
        return is_infinity(text).then_some(sign | 0x7C00);
    }
    // Ten bits behind the point of a normal number, and fixed steps below the smallest.
    let exponent = if size < 2f64.powi(-14) { -14 } else { (size.to_bits() >> 52) as i32 - 1_023 };
    let steps = (size * 2f64.powi(10 - exponent)).round_ties_even() as u64;
    // A number that is rounded up to the next power of two carries into the exponent.
    let bits = steps + ((exponent + 14) as u64) * 1_024;
    (bits < 0x7C00).then_some(sign | bits as u16)
}

/// Whether a text is infinity itself, and not a number that is too large.
fn is_infinity(text: &str) -> bool {
    !text.bytes().any(|byte| byte.is_ascii_digit())
}

fn stored(number: &[u8], store: Store) -> Vec<u8> {
    let fits = |len| widened(number, len).unwrap_or_default();
    match store {
        Store::Bytes => number.to_vec(),
        Store::Fixed(len) => fits(len),
        Store::Int32 => fits(4).into_iter().rev().collect(),
        Store::Int64 => fits(8).into_iter().rev().collect(),
    }
}

/// `123e4567-e89b-12d3-a456-426614174000`, with or without its dashes, or in braces.
fn uuid(text: &str) -> Option<u128> {
    let inner = text.strip_prefix('{').map_or(Some(text), |text| text.strip_suffix('}'))?;
    let is_grouped = inner.len() == 36;
    let is_dash = |i: usize| is_grouped && matches!(i, 8 | 13 | 18 | 23);
    if !is_grouped && inner.len() != 32 {
        return None;
    }
    let mut uuid = 0;
    for (i, byte) in inner.bytes().enumerate() {
        match (is_dash(i), byte) {
            (true, b'-') => {}
            (true, _) => return None,
            (false, byte) => uuid = uuid << 4 | u128::from((byte as char).to_digit(16)?),
        }
    }
    Some(uuid)
}
