//! The schema of a Parquet footer: its leaves are the columns.
//!
//! | structure | field | type | |
//! |---|---|---|---|
//! | `SchemaElement` | 1 | i32 | physical type; only leaves have one |
//! | | 2 | i32 | bytes of a `FIXED_LEN_BYTE_ARRAY` |
//! | | 3 | i32 | repetition |
//! | | 4 | binary | name |
//! | | 5 | i32 | children |
//! | | 6 | i32 | converted type |
//! | | 7, 8 | i32 | scale, precision |
//! | | 9 | i32 | id |
//! | | 10 | `LogicalType` | a union of structures |

use super::compact::{BINARY, BOOL_FALSE, BOOL_TRUE, Compact, I8, I32, List, STRUCT};
use crate::Error;

/// Deeper schemas are refused.
const MAX_LEVELS: usize = 1_000;

/// The unit of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Millis,
    Micros,
    Nanos,
}

/// A logical type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logical {
    /// Text, as bytes: STRING, ENUM, JSON or BSON, by the number in the union.
    Text(i64),
    Decimal {
        scale: i64,
        precision: i64,
    },
    Date,
    Time {
        unit: Unit,
        is_utc: bool,
    },
    Timestamp {
        unit: Unit,
        is_utc: bool,
    },
    Integer {
        bits: u8,
        is_signed: bool,
    },
    Uuid,
    Float16,
    /// Another type, or a damaged one.
    Other,
}

/// A node of the schema.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Element<'a> {
    name: &'a [u8],
    children: Option<i64>,
    leaf: Leaf,
}

/// The type of a column, as it is recorded; a group has none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leaf {
    pub(super) physical: Option<i64>,
    pub(super) len: Option<i64>,
    pub(super) converted: Option<i64>,
    pub(super) scale: Option<i64>,
    pub(super) precision: Option<i64>,
    pub(super) logical: Option<Logical>,
    /// It has a field that may change the meaning of values in a way that is not known here.
    pub(super) has_unknown: bool,
}

pub(super) fn element<'a>(source: &mut Compact<'a>) -> Result<Element<'a>, Error> {
    let mut element = Element::default();
    source.fields(|source, field| {
        let place = match field {
            (1, I32) => &mut element.leaf.physical,
            (2, I32) => &mut element.leaf.len,
            (5, I32) => &mut element.children,
            (6, I32) => &mut element.leaf.converted,
            (7, I32) => &mut element.leaf.scale,
            (8, I32) => &mut element.leaf.precision,
            (4, BINARY) => {
                element.name = source.binary()?;
                return Ok(());
            }
            (10, STRUCT) => {
                element.leaf.logical = Some(logical(source)?);
                return Ok(());
            }
            (id, kind) => {
                element.leaf.has_unknown |= !matches!((id, kind), (3 | 9, I32));
                return source.skip(kind);
            }
        };
        *place = Some(source.int()?);
        Ok(())
    })?;
    Ok(element)
}

/// The number of the branch of a union, if there is exactly one, which `read` reads.
fn branch<T>(
    source: &mut Compact<'_>,
    mut read: impl FnMut(&mut Compact<'_>, i64) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let (mut found, mut branches) = (None, 0);
    source.fields(|source, (id, kind)| {
        branches += 1;
        if kind == STRUCT {
            found = Some(read(source, id)?);
            return Ok(());
        }
        source.skip(kind)
    })?;
    Ok(found.filter(|_| branches == 1))
}

fn logical(source: &mut Compact<'_>) -> Result<Logical, Error> {
    let found = branch(source, |source, id| {
        let parameters = Parameters::read(source)?;
        Ok(parameters.of(id).unwrap_or(Logical::Other))
    })?;
    Ok(found.unwrap_or(Logical::Other))
}

/// The fields of any logical type: they differ only in their kinds.
#[derive(Default)]
struct Parameters {
    ints: [Option<i64>; 2],
    bools: [Option<bool>; 2],
    byte: Option<u8>,
    unit: Option<Unit>,
}

impl Parameters {
    fn read(source: &mut Compact<'_>) -> Result<Self, Error> {
        let mut found = Self::default();
        source.fields(|source, (id, kind)| {
            match (id, kind) {
                (1 | 2, I32) => found.ints[id as usize - 1] = Some(source.int()?),
                (1 | 2, BOOL_TRUE | BOOL_FALSE) => {
                    found.bools[id as usize - 1] = Some(kind == BOOL_TRUE);
                }
                (1, I8) => found.byte = Some(source.byte()?),
                (2, STRUCT) => {
                    found.unit = branch(source, |source, id| {
                        source.skip(STRUCT)?;
                        Ok(match id {
                            1 => Some(Unit::Millis),
                            2 => Some(Unit::Micros),
                            3 => Some(Unit::Nanos),
                            _ => None,
                        })
                    })?
                    .flatten();
                }
                _ => source.skip(kind)?,
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The logical type of this number in the union, if all of its fields are present.
    fn of(&self, id: i64) -> Option<Logical> {
        Some(match id {
            1 | 4 | 12 | 13 => Logical::Text(id),
            5 => Logical::Decimal { scale: self.ints[0]?, precision: self.ints[1]? },
            6 => Logical::Date,
            7 => Logical::Time { unit: self.unit?, is_utc: self.bools[0]? },
            8 => Logical::Timestamp { unit: self.unit?, is_utc: self.bools[0]? },
            10 => Logical::Integer { bits: self.byte?, is_signed: self.bools[1]? },
            14 => Logical::Uuid,
            15 => Logical::Float16,
            _ => return None,
        })
    }
}

/// The leaves of a schema in their order, each with the names that lead to it.
#[derive(Debug)]
pub(super) struct Leaves<'a> {
    elements: List<'a, Element<'a>>,
    /// The names below the root, and the number of children still to be read at each level.
    names: Vec<&'a [u8]>,
    to_come: Vec<i64>,
}

impl<'a> Leaves<'a> {
    /// The leaves of a list of elements; the first element is the root.
    pub(super) fn of(mut elements: List<'a, Element<'a>>) -> Result<Self, Error> {
        let root = elements.next().ok_or_else(|| bad("a root", "nothing"))??;
        let to_come = vec![root.children.unwrap_or(0).max(0)];
        Ok(Self { elements, names: Vec::new(), to_come })
    }

    /// The names that lead to the leaf returned last, its own included.
    pub(super) fn path(&self) -> &[&'a [u8]] {
        &self.names
    }

    /// The next leaf; after the last one the tree must be complete.
    pub(super) fn next(&mut self) -> Result<Option<Leaf>, Error> {
        // The leaf returned last.
        self.names.truncate(self.to_come.len() - 1);
        loop {
            while self.to_come.last() == Some(&0) {
                self.to_come.pop();
                self.names.pop();
            }
            let Some(to_come) = self.to_come.last_mut() else {
                self.to_come.push(0);
                return match self.elements.next() {
                    None => Ok(None),
                    Some(_) => Err(bad("as many elements as children", "more")),
                };
            };
            *to_come -= 1;
            let element = self.elements.next();
            let element = element.ok_or_else(|| bad("as many elements as children", "fewer"))??;
            self.names.push(element.name);
            match (element.leaf.physical, element.children) {
                (Some(_), None | Some(0)) => return Ok(Some(element.leaf)),
                (None, Some(children @ 1..)) if self.to_come.len() < MAX_LEVELS => {
                    self.to_come.push(children);
                }
                // A group without columns.
                (None, None | Some(0)) => drop(self.names.pop()),
                _ => return Err(bad("leaves with a type, and groups without", "another node")),
            }
        }
    }
}

fn bad(allowed: &'static str, found: &str) -> Error {
    Error::bad("schema", allowed, found)
}
