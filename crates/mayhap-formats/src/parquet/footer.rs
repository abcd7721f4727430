//! The footer of a Parquet file: its columns, and the positions of their filters.
//!
//! Thrift's compact protocol; only these fields are kept (apache/parquet-format, `parquet.thrift`),
//! all others are skipped:
//!
//! | structure | field | type | |
//! |---|---|---|---|
//! | `FileMetaData` | 2 | list of `SchemaElement` | |
//! | | 3 | i64 | rows |
//! | | 4 | list of `RowGroup` | |
//! | | 8 | structure | encryption: a signature of 28 bytes follows |
//! | `RowGroup` | 1 | list of `ColumnChunk` | |
//! | | 3 | i64 | rows |
//! | `ColumnChunk` | 1 | binary | another file that holds it: rejected |
//! | | 3 | `ColumnMetaData` | missing if encrypted: then there is no filter to read |
//! | | 4, 6 | i64 | offsets of its indexes |
//! | `ColumnMetaData` | 1 | i32 | physical type |
//! | | 3 | list of binary | path |
//! | | 5 | i64 | values |
//! | | 9, 10, 11 | i64 | offsets of its pages |
//! | | 12 | `Statistics` | |
//! | | 14 | i64 | offset of the filter |
//! | | 15 | i32 | bytes of its header and bits |
//! | `Statistics` | 1, 2, 5, 6 | binary | max, min, in the old and the new order |
//! | | 3 | i64 | nulls |
//!
//! This is a reader of our own because general ones allocate whatever a footer of some hundred
//! bytes claims. It keeps the footer as it is and scans it again for each query, so that it takes
//! no more memory than the footer's own bytes.
//!
//! Parquet has no checksum of a footer. Redundant parts must agree, so that a damaged footer is an
//! error and not a wrong answer: rows in all and by row group, columns and their types in the
//! schema and in each row group.

use super::compact::{BINARY, Compact, I32, I64, LIST, List, STRUCT};
use super::schema::{Leaves, element};
use crate::Error;

/// Nonce and tag of GCM.
const SIGNATURE_BYTES: usize = 28;

/// A footer whose parts agree.
#[derive(Debug)]
pub(super) struct Footer {
    bytes: Vec<u8>,
    /// Where the list of the schema starts.
    schema: usize,
    row_groups: Vec<RowGroup>,
}

/// A row group.
#[derive(Debug, Clone, Copy)]
struct RowGroup {
    /// Where the list of its columns starts.
    chunks: u32,
    has_rows: bool,
}

/// A column in a row group.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunk<'a> {
    /// `None` if it is encrypted.
    pub(super) metadata: Option<Metadata<'a>>,
    indexes: [Option<i64>; 2],
}

/// The metadata of a chunk.
#[derive(Debug, Clone)]
pub(super) struct Metadata<'a> {
    physical: i64,
    path: Compact<'a>,
    num_values: Option<i64>,
    pages: [Option<i64>; 3],
    statistics: Statistics<'a>,
    /// Offset, and length if the writer records it.
    pub(super) filter: Option<(i64, Option<i64>)>,
}

#[derive(Debug, Clone, Default)]
struct Statistics<'a> {
    num_nulls: Option<i64>,
    bounds: [Option<&'a [u8]>; 2],
}

impl Chunk<'_> {
    /// The offsets in the file of all its parts: indexes, pages and filter.
    pub(super) fn offsets(&self) -> impl Iterator<Item = i64> {
        let pages = self.metadata.as_ref().map(|metadata| metadata.pages);
        let filter = self.metadata.as_ref().and_then(|metadata| metadata.filter);
        let all = self.indexes.into_iter().chain(pages.unwrap_or_default());
        all.flatten().chain(filter.map(|(offset, _)| offset))
    }
}

impl Metadata<'_> {
    /// Whether it has only nulls by its statistics.
    pub(super) fn is_null(&self) -> bool {
        let all = self.num_values == Some(0) || self.num_values == self.statistics.num_nulls;
        self.num_values.is_some() && all && self.statistics.bounds == [None, None]
    }

    /// The smallest and the largest value of a column of INT64, if they are recorded.
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        let number = |bytes: Option<&[u8]>| Some(i64::from_le_bytes(bytes?.try_into().ok()?));
        let [min, max] = self.statistics.bounds;
        Some((number(min)?, number(max)?))
    }
}

impl Footer {
    /// Checks that the parts of a footer agree.
    pub(super) fn parse(bytes: Vec<u8>) -> Result<Self, Error> {
        let (mut schema, mut row_groups, mut num_rows) = (None, None, None);
        let mut is_signed = false;
        let mut source = Compact::new(&bytes);
        source.fields(|source, field| {
            let at = bytes.len() - source.left().len();
            match field {
                (2, LIST) => schema = Some(at),
                (3, I64) => {
                    num_rows = Some(source.int()?);
                    return Ok(());
                }
                (4, LIST) => row_groups = Some(at),
                (8, STRUCT) => is_signed = true,
                _ => {}
            }
            source.skip(field.1)
        })?;
        match source.left().len() {
            0 => {}
            SIGNATURE_BYTES if is_signed => {}
            found => return Err(Error::TrailingBytes { found: found as u64 }),
        }
        let (Some(schema), Some(row_groups), Some(num_rows)) = (schema, row_groups, num_rows)
        else {
            return Err(Error::bad("metadata", "rows, schema and row groups", "fewer of these"));
        };
        let row_groups = self::row_groups(&bytes, row_groups, num_rows)?;
        let footer = Self { bytes, schema, row_groups };
        footer.check()?;
        Ok(footer)
    }

    /// The columns of the schema.
    pub(super) fn leaves(&self) -> Result<Leaves<'_>, Error> {
        Leaves::of(Compact::new(&self.bytes[self.schema..]).structures(element)?)
    }

    /// The columns of each row group that has rows, with its number.
    pub(super) fn row_groups(
        &self,
    ) -> impl Iterator<Item = Result<(usize, List<'_, Chunk<'_>>), Error>> {
        let groups = self.row_groups.iter().enumerate().filter(|(_, group)| group.has_rows);
        groups.map(|(i, group)| Ok((i, self.chunks(*group)?)))
    }

    fn chunks(&self, group: RowGroup) -> Result<List<'_, Chunk<'_>>, Error> {
        Compact::new(&self.bytes[group.chunks as usize..]).structures(chunk)
    }

    /// The number of row groups that have rows.
    pub(super) fn num_row_groups(&self) -> usize {
        self.row_groups.iter().filter(|group| group.has_rows).count()
    }

    fn check(&self) -> Result<(), Error> {
        let Some((&first, others)) = self.row_groups.split_first() else {
            let mut leaves = self.leaves()?;
            while leaves.next()?.is_some() {}
            return Ok(());
        };
        self.check_first(self.chunks(first)?)?;
        others.iter().try_for_each(|&other| check_alike(self.chunks(first)?, self.chunks(other)?))
    }

    /// Checks the columns of the first row group against the schema.
    fn check_first(&self, mut chunks: List<'_, Chunk<'_>>) -> Result<(), Error> {
        let mut leaves = self.leaves()?;
        while let Some(leaf) = leaves.next()? {
            let chunk = chunks.next().ok_or_else(fewer)??;
            let Some(metadata) = chunk.metadata else { continue };
            let mut names = metadata.path.texts()?;
            let mut same = true;
            for name in leaves.path() {
                same &= names.next().transpose()? == Some(*name);
            }
            if !same || names.next().is_some() {
                return Err(other_columns("one of another name"));
            }
            if leaf.physical != Some(metadata.physical) {
                return Err(other_columns("one of another type"));
            }
        }
        match chunks.next() {
            None => Ok(()),
            Some(_) => Err(other_columns("more")),
        }
    }
}

/// Checks the columns of every row group against the first.
fn check_alike<'a>(
    mut first: List<'a, Chunk<'a>>,
    mut others: List<'a, Chunk<'a>>,
) -> Result<(), Error> {
    loop {
        let (first, other) = match (first.next().transpose()?, others.next().transpose()?) {
            (None, None) => return Ok(()),
            (Some(first), Some(other)) => (first.metadata, other.metadata),
            _ => return Err(fewer()),
        };
        let (Some(first), Some(other)) = (first, other) else { continue };
        if first.physical != other.physical || !first.path.texts()?.eq(other.path.texts()?) {
            return Err(other_columns("another one"));
        }
    }
}

pub(super) fn fewer() -> Error {
    other_columns("fewer")
}

fn other_columns(found: &str) -> Error {
    Error::bad("columns of a row group", "those of the schema", found)
}

/// The row groups of a list, which must have `num_rows` rows in total.
fn row_groups(bytes: &[u8], list: usize, num_rows: i64) -> Result<Vec<RowGroup>, Error> {
    let (mut groups, mut rows) = (Vec::new(), 0i64);
    for group in Compact::new(&bytes[list..]).structures(row_group)? {
        let (left, found) = group?;
        let found = u64::try_from(found).ok().and_then(|_| rows.checked_add(found));
        let found =
            found.ok_or_else(|| Error::bad("rows of a row group", "0 or more", "others"))?;
        let (chunks, has_rows) = ((bytes.len() - left) as u32, found > rows);
        rows = found;
        groups.push(RowGroup { chunks, has_rows });
    }
    groups.shrink_to_fit();
    Error::check(rows == num_rows, "rows", "the sum of those of the row groups", num_rows)?;
    Ok(groups)
}

/// The number of bytes left where the list of columns starts, and the number of rows.
fn row_group(source: &mut Compact<'_>) -> Result<(usize, i64), Error> {
    let (mut num_rows, mut chunks) = (None, None);
    source.fields(|source, field| {
        match field {
            (3, I64) => {
                num_rows = Some(source.int()?);
                return Ok(());
            }
            (1, LIST) => chunks = Some(source.left().len()),
            _ => {}
        }
        source.skip(field.1)
    })?;
    chunks
        .zip(num_rows)
        .ok_or_else(|| Error::bad("row group", "rows and columns", "fewer of these"))
}

fn chunk<'a>(source: &mut Compact<'a>) -> Result<Chunk<'a>, Error> {
    let mut chunk = Chunk::default();
    source.fields(|source, field| {
        match field {
            (1, BINARY) => {
                let other = String::from_utf8_lossy(source.binary()?).into_owned();
                return Err(Error::bad("file of a column", "this one", other));
            }
            (3, STRUCT) => chunk.metadata = Some(metadata(source)?),
            (4, I64) => chunk.indexes[0] = Some(source.int()?),
            (6, I64) => chunk.indexes[1] = Some(source.int()?),
            (_, kind) => source.skip(kind)?,
        }
        Ok(())
    })?;
    Ok(chunk)
}

fn metadata<'a>(source: &mut Compact<'a>) -> Result<Metadata<'a>, Error> {
    let (mut physical, mut path, mut num_values) = (None, None, None);
    let (mut pages, mut statistics) = ([None; 3], Statistics::default());
    let (mut offset, mut len) = (None, None);
    source.fields(|source, field| {
        match field {
            (1, I32) => physical = Some(source.int()?),
            (3, LIST) => {
                path = Some(source.clone());
                source.skip(LIST)?;
            }
            (5, I64) => num_values = Some(source.int()?),
            (id @ 9..=11, I64) => pages[id as usize - 9] = Some(source.int()?),
            (12, STRUCT) => statistics = self::statistics(source)?,
            (14, I64) => offset = Some(source.int()?),
            (15, I32) => len = Some(source.int()?),
            (_, kind) => source.skip(kind)?,
        }
        Ok(())
    })?;
    let filter = offset.map(|offset| (offset, len));
    match (physical, path) {
        (Some(physical), Some(path)) => {
            Ok(Metadata { physical, path, num_values, pages, statistics, filter })
        }
        _ => Err(Error::bad("column of a row group", "a type and a path", "fewer of these")),
    }
}

fn statistics<'a>(source: &mut Compact<'a>) -> Result<Statistics<'a>, Error> {
    let mut statistics = Statistics::default();
    source.fields(|source, field| {
        match field {
            (1 | 5, BINARY) => statistics.bounds[1] = Some(source.binary()?),
            (2 | 6, BINARY) => statistics.bounds[0] = Some(source.binary()?),
            (3, I64) => statistics.num_nulls = Some(source.int()?),
            (_, kind) => source.skip(kind)?,
        }
        Ok(())
    })?;
    Ok(statistics)
}
