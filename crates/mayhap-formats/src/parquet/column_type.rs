//! The type of the values of a column, by its logical type.

use super::decimal::{bytes_of, shortest, widened};
use super::schema::{Leaf, Logical, Unit};
use crate::{Error, Format, KeyType};

/// Digits of the largest decimals.
const MAX_PRECISION: i64 = 1_000;
/// Bytes of a decimal number for which writers in use have a fixed length of their own.
const WIDE_BYTES: usize = 16;

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnType {
    /// Bytes, including text; of this length if it is fixed.
    Bytes(Option<usize>),
    Integer {
        bits: u8,
        is_signed: bool,
    },
    Float16,
    Float,
    Double,
    Decimal {
        store: Store,
        precision: u32,
        scale: u32,
    },
    Date,
    Time {
        unit: Unit,
        zone: Zone,
        is_sure: bool,
    },
    Timestamp {
        unit: Unit,
        zone: Zone,
        is_sure: bool,
    },
    Uuid,
    /// Values of this type have no text.
    NoText(&'static str),
}

/// The physical type of a decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    Int32,
    Int64,
    /// In this number of bytes.
    Fixed(usize),
    /// In as few bytes as possible, by the specification.
    Bytes,
}

/// Whether times are moments in UTC, or of an unknown zone; older files do not record it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    Utc,
    Local,
    Either,
}

/// The range of the numbers of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    /// Between these; empty if the first is larger.
    Of(i64, i64),
    /// It is not known.
    Any,
}

impl Range {
    pub(super) fn contains(self, number: i64) -> bool {
        match self {
            Self::Of(min, max) => (min..=max).contains(&number),
            Self::Any => true,
        }
    }
}

impl ColumnType {
    /// The type of a leaf.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for a type that is unknown or unsound: then its keys cannot be
    /// queried.
    pub(super) fn of(leaf: &Leaf) -> Result<Self, Error> {
        let unknown = || Error::Unsupported {
            format: Format::Parquet.name(),
            operation: "querying this column",
            reason: "its type is unknown, or recorded in two ways that differ",
        };
        let converted = leaf.converted.map(|number| converted(leaf, number));
        let is_sure = leaf.logical.is_some() && leaf.converted.is_some();
        let zone = match leaf.logical {
            None => Zone::Either,
            Some(Logical::Time { is_utc, .. } | Logical::Timestamp { is_utc, .. }) if !is_utc => {
                Zone::Local
            }
            Some(_) => Zone::Utc,
        };
        if leaf.converted == Some(21) && leaf.logical.is_none() {
            return Ok(Self::NoText("INTERVAL"));
        }
        let logical = match (leaf.logical, converted) {
            (Some(logical), Some(converted)) if !agree(logical, converted) => return Err(unknown()),
            (Some(logical), _) | (None, Some(logical)) => Some(logical),
            (None, None) => None,
        };
        if leaf.has_unknown {
            return Err(unknown());
        }
        match logical {
            None => Self::physical(leaf),
            Some(logical) => Self::logical(leaf, logical, (zone, is_sure)),
        }
        .ok_or_else(unknown)
    }

    fn physical(leaf: &Leaf) -> Option<Self> {
        Some(match leaf.physical? {
            0 => Self::NoText("BOOLEAN"),
            1 => Self::Integer { bits: 32, is_signed: true },
            2 => Self::Integer { bits: 64, is_signed: true },
            3 => Self::NoText("INT96"),
            4 => Self::Float,
            5 => Self::Double,
            6 => Self::Bytes(None),
            7 => Self::Bytes(Some(fixed_len(leaf)?)),
            _ => return None,
        })
    }

    fn logical(leaf: &Leaf, logical: Logical, (zone, is_sure): (Zone, bool)) -> Option<Self> {
        use Unit::{Micros, Millis, Nanos};
        Some(match (logical, leaf.physical?) {
            (Logical::Text(_), 6 | 7) => return Self::physical(leaf),
            (Logical::Decimal { scale, precision }, _) => return decimal(leaf, scale, precision),
            (Logical::Date, 1) => Self::Date,
            (Logical::Time { unit: unit @ Millis, .. }, 1)
            | (Logical::Time { unit: unit @ (Micros | Nanos), .. }, 2) => {
                // Four bytes have only one possible unit.
                let is_sure = is_sure || unit == Millis;
                Self::Time { unit, zone, is_sure }
            }
            (Logical::Timestamp { unit, .. }, 2) => Self::Timestamp { unit, zone, is_sure },
            (Logical::Integer { bits: bits @ (8 | 16 | 32), is_signed }, 1)
            | (Logical::Integer { bits: bits @ 64, is_signed }, 2) => {
                Self::Integer { bits, is_signed }
            }
            (Logical::Uuid, 7) if leaf.len == Some(16) => Self::Uuid,
            (Logical::Float16, 7) if leaf.len == Some(2) => Self::Float16,
            _ => return None,
        })
    }

    /// The name, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bytes(_) => "bytes",
            Self::Integer { bits: 8, is_signed: true } => "int8",
            Self::Integer { bits: 16, is_signed: true } => "int16",
            Self::Integer { bits: 32, is_signed: true } => "int32",
            Self::Integer { is_signed: true, .. } => "int64",
            Self::Integer { bits: 8, .. } => "uint8",
            Self::Integer { bits: 16, .. } => "uint16",
            Self::Integer { bits: 32, .. } => "uint32",
            Self::Integer { .. } => "uint64",
            Self::Float16 => "float16",
            Self::Float => "float",
            Self::Double => "double",
            Self::Decimal { .. } => "decimal",
            Self::Date => "date",
            Self::Time { .. } => "time",
            Self::Timestamp { .. } => "timestamp",
            Self::Uuid => "uuid",
            Self::NoText(name) => name,
        }
    }

    /// The types that its keys may be given as, the usual one first.
    pub(super) fn key_types(self) -> &'static [KeyType] {
        match self {
            Self::Integer { bits: 32, is_signed: true } => &[KeyType::Int, KeyType::Hex],
            Self::Integer { bits: 64, is_signed: true } => &[KeyType::Long, KeyType::Hex],
            Self::Float => &[KeyType::Float, KeyType::Hex],
            Self::Double => &[KeyType::Double, KeyType::Hex],
            Self::Bytes(None) => &[KeyType::Bytes, KeyType::Hex],
            _ => &[KeyType::Column, KeyType::Hex],
        }
    }

    /// Whether values of this type have no text.
    pub(super) fn has_no_text(self) -> bool {
        matches!(self, Self::NoText(_))
    }

    /// Whether other bytes than a value's own may be equal to it: then
    /// [`ColumnType::any_equal`] has to be queried.
    pub(super) fn has_equals(self) -> bool {
        match self {
            Self::Float16
            | Self::Float
            | Self::Double
            | Self::Decimal { store: Store::Bytes, .. } => true,
            Self::Time { is_sure, .. } | Self::Timestamp { is_sure, .. } => !is_sure,
            Self::Decimal { store: Store::Fixed(len), precision, .. } => {
                !is_usual_len(len, precision)
            }
            _ => false,
        }
    }

    /// Whether `contains` is true for any other bytes that encode an equal value or may have been
    /// written for it.
    ///
    /// Zeros of both signs are equal. There are too many NaNs to try them all. The number of a time
    /// depends on its unit, which one flipped bit would change where only the logical type has it;
    /// `range` covers all values of the column, if it is known.
    pub(super) fn any_equal(
        self,
        key: &[u8],
        range: Range,
        mut contains: impl FnMut(&[u8]) -> bool,
    ) -> bool {
        if !self.has_equals() {
            return false;
        }
        match self {
            Self::Float16 | Self::Float | Self::Double => {
                let Some((&last, rest)) = key.split_last() else { return false };
                if matches!(last, 0 | 0x80) && rest.iter().all(|&byte| byte == 0) {
                    let other = [rest, &[last ^ 0x80]].concat();
                    return contains(&other);
                }
                is_nan(key)
            }
            Self::Time { unit, .. } | Self::Timestamp { unit, .. } => {
                let Ok(key) = key.try_into().map(i64::from_le_bytes) else { return false };
                other_units(key, unit)
                    .filter(|&number| range.contains(number))
                    .any(|number| contains(&number.to_le_bytes()))
            }
            Self::Decimal { store: Store::Bytes, precision, .. } => {
                let longest = bytes_of(precision).max(WIDE_BYTES);
                let lens = shortest(key).len()..=longest;
                lens.filter_map(|len| widened(key, len)).any(|number| contains(&number))
            }
            Self::Decimal { store: Store::Fixed(_), precision, .. } => {
                let lens = usual_lens(precision);
                lens.into_iter().filter_map(|len| widened(key, len)).any(|it| contains(&it))
            }
            _ => false,
        }
    }
}

/// The lengths that writers choose for decimals of a fixed length.
fn usual_lens(precision: u32) -> [usize; 3] {
    [bytes_of(precision), WIDE_BYTES, 2 * WIDE_BYTES]
}

fn is_usual_len(len: usize, precision: u32) -> bool {
    usual_lens(precision).contains(&len)
}

fn is_nan(key: &[u8]) -> bool {
    match *key {
        [low, high] => {
            let bits = u16::from_le_bytes([low, high]);
            bits & 0x7C00 == 0x7C00 && bits & 0x3FF != 0
        }
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).is_nan(),
        _ => key.try_into().is_ok_and(|bytes| f64::from_le_bytes(bytes).is_nan()),
    }
}

/// The number of the same time in the other units that can have it.
fn other_units(number: i64, unit: Unit) -> impl Iterator<Item = i64> {
    let from = super::moment::per_second(unit);
    let units = [Unit::Millis, Unit::Micros, Unit::Nanos].into_iter();
    units.filter(move |&other| other != unit).filter_map(move |other| {
        let to = super::moment::per_second(other);
        let (more, fewer) = (to / from, from / to);
        match fewer {
            0 | 1 => number.checked_mul(more),
            fewer => (number % fewer == 0).then_some(number / fewer),
        }
    })
}

fn fixed_len(leaf: &Leaf) -> Option<usize> {
    usize::try_from(leaf.len?).ok().filter(|&len| len > 0)
}

fn decimal(leaf: &Leaf, scale: i64, precision: i64) -> Option<ColumnType> {
    if !(1..=MAX_PRECISION).contains(&precision) || !(0..=precision).contains(&scale) {
        return None;
    }
    let (precision, scale) = (precision as u32, scale as u32);
    let store = match leaf.physical? {
        1 if precision <= 9 => Store::Int32,
        2 if precision <= 18 => Store::Int64,
        6 => Store::Bytes,
        7 => Store::Fixed(fixed_len(leaf).filter(|&len| len >= bytes_of(precision))?),
        _ => return None,
    };
    Some(ColumnType::Decimal { store, precision, scale })
}

/// The logical type that an older file has as a number; times are in UTC.
fn converted(leaf: &Leaf, number: i64) -> Logical {
    use Unit::{Micros, Millis};
    let is_utc = true;
    match number {
        0 => Logical::Text(1),
        4 => Logical::Text(4),
        5 => {
            let scale = leaf.scale.unwrap_or(0);
            Logical::Decimal { scale, precision: leaf.precision.unwrap_or(0) }
        }
        6 => Logical::Date,
        7 => Logical::Time { unit: Millis, is_utc },
        8 => Logical::Time { unit: Micros, is_utc },
        9 => Logical::Timestamp { unit: Millis, is_utc },
        10 => Logical::Timestamp { unit: Micros, is_utc },
        // Of 8, 16, 32 and 64 bits; the first four are unsigned.
        11..=18 => Logical::Integer { bits: 8 << ((number - 11) % 4), is_signed: number > 14 },
        19 => Logical::Text(12),
        20 => Logical::Text(13),
        _ => Logical::Other,
    }
}

/// Whether both are the same type; the older form has all times in UTC.
fn agree(logical: Logical, converted: Logical) -> bool {
    match (logical, converted) {
        (Logical::Text(_), Logical::Text(_)) => true,
        (Logical::Time { unit, .. }, Logical::Time { unit: other, .. })
        | (Logical::Timestamp { unit, .. }, Logical::Timestamp { unit: other, .. }) => {
            unit == other
        }
        (logical, converted) => logical == converted,
    }
}
