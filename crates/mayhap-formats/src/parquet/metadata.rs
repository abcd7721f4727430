//! The footer of a Parquet file: its columns, and the positions of their filters.
//!
//! Thrift's compact protocol, of which only these fields are kept (apache/parquet-format,
//! `parquet.thrift`); all others are skipped:
//!
//! | structure | field | type | |
//! |---|---|---|---|
//! | `FileMetaData` | 4 | list of `RowGroup` | |
//! | `RowGroup` | 1 | list of `ColumnChunk` | |
//! | | 3 | i64 | rows |
//! | `ColumnChunk` | 1 | binary | another file that holds it: rejected |
//! | | 3 | `ColumnMetaData` | missing if encrypted: then there is no filter to read |
//! | `ColumnMetaData` | 1 | i32 | physical type |
//! | | 3 | list of binary | path |
//! | | 14 | i64 | offset of the filter |
//! | | 15 | i32 | bytes of its header and bits |
//!
//! This is a reader of our own because general ones allocate whatever a footer of some hundred
//! bytes claims.

use crate::{Error, Reader};

/// The limit on nested structures and lists; a footer has six.
const MAX_DEPTH: u32 = 32;

const BOOL_TRUE: u8 = 1;
const BOOL_FALSE: u8 = 2;
const I8: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// A column in a row group.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) path: String,
    pub(super) physical_type: i64,
    /// Offset, and length if the writer records it.
    pub(super) filter: Option<(i64, Option<i64>)>,
}

/// The columns of a row group; `None` in place of an encrypted one.
#[derive(Debug, Default)]
pub(super) struct RowGroup {
    pub(super) num_rows: i64,
    pub(super) chunks: Vec<Option<Chunk>>,
}

/// The row groups of a footer.
pub(super) fn row_groups(bytes: &[u8]) -> Result<Vec<RowGroup>, Error> {
    let mut footer = Compact { reader: Reader::new(bytes) };
    let mut row_groups = Vec::new();
    footer.fields(|footer, field| match field {
        (4, LIST) => footer.structures(|footer| {
            row_groups.push(row_group(footer)?);
            Ok(())
        }),
        (_, kind) => footer.skip(kind, MAX_DEPTH),
    })?;
    Ok(row_groups)
}

fn row_group(footer: &mut Compact<'_>) -> Result<RowGroup, Error> {
    let mut row_group = RowGroup::default();
    footer.fields(|footer, field| match field {
        (1, LIST) => footer.structures(|footer| {
            row_group.chunks.push(column_chunk(footer)?);
            Ok(())
        }),
        (3, I64) => {
            row_group.num_rows = footer.int()?;
            Ok(())
        }
        (_, kind) => footer.skip(kind, MAX_DEPTH),
    })?;
    Ok(row_group)
}

fn column_chunk(footer: &mut Compact<'_>) -> Result<Option<Chunk>, Error> {
    let mut chunk = None;
    footer.fields(|footer, field| match field {
        (1, BINARY) => {
            let other = String::from_utf8_lossy(footer.binary()?).into_owned();
            Err(Error::bad("file of a column", "this one", other))
        }
        (3, STRUCT) => {
            chunk = Some(column(footer)?);
            Ok(())
        }
        (_, kind) => footer.skip(kind, MAX_DEPTH),
    })?;
    Ok(chunk)
}

fn column(footer: &mut Compact<'_>) -> Result<Chunk, Error> {
    let mut chunk = Chunk::default();
    let (mut offset, mut len) = (None, None);
    footer.fields(|footer, field| {
        match field {
            (1, I32) => chunk.physical_type = footer.int()?,
            (3, LIST) => chunk.path = footer.path()?,
            (14, I64) => offset = Some(footer.int()?),
            (15, I32) => len = Some(footer.int()?),
            (_, kind) => footer.skip(kind, MAX_DEPTH)?,
        }
        Ok(())
    })?;
    chunk.filter = offset.map(|offset| (offset, len));
    Ok(chunk)
}

/// Thrift's compact protocol. Every element takes at least a byte, so counts need not be trusted.
struct Compact<'a> {
    reader: Reader<'a>,
}

impl<'a> Compact<'a> {
    fn varint(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.reader.u8("metadata")?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Error::bad("number in the metadata", "at most ten bytes", "a longer one"))
    }

    /// Zigzag.
    fn int(&mut self) -> Result<i64, Error> {
        let number = self.varint()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn binary(&mut self) -> Result<&'a [u8], Error> {
        let len = self.varint()?;
        self.reader.take("text in the metadata", len)
    }

    /// The fields of a structure: `each` gets number and type, and reads the value.
    fn fields(
        &mut self,
        mut each: impl FnMut(&mut Self, (i64, u8)) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut id = 0i64;
        loop {
            let byte = self.reader.u8("metadata")?;
            if byte == 0 {
                return Ok(());
            }
            id = match byte >> 4 {
                0 => self.int()?,
                delta => id.saturating_add(i64::from(delta)),
            };
            each(self, (id, byte & 0xF))?;
        }
    }

    /// The number of elements and their type.
    fn list(&mut self) -> Result<(u64, u8), Error> {
        let byte = self.reader.u8("metadata")?;
        let len = match byte >> 4 {
            15 => self.varint()?,
            len => u64::from(len),
        };
        Ok((len, byte & 0xF))
    }

    fn elements(&mut self, wanted: u8) -> Result<u64, Error> {
        match self.list()? {
            (len, kind) if kind == wanted || len == 0 => Ok(len),
            (_, kind) => Err(Error::bad("type of a list", "that of the field", kind)),
        }
    }

    fn structures(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        (0..self.elements(STRUCT)?).try_for_each(|_| each(self))
    }

    /// The names, joined with dots.
    fn path(&mut self) -> Result<String, Error> {
        let mut path = String::new();
        for i in 0..self.elements(BINARY)? {
            let name = std::str::from_utf8(self.binary()?);
            let name = name.map_err(|_| Error::bad("name of a column", "UTF-8", "other bytes"))?;
            if i > 0 {
                path.push('.');
            }
            path.push_str(name);
        }
        Ok(path)
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Result<(), Error> {
        let deeper = depth.checked_sub(1).ok_or_else(|| {
            Error::bad("depth of the metadata", "at most 32", "a deeper structure")
        })?;
        match kind {
            // The value of a field is in its type.
            BOOL_TRUE | BOOL_FALSE => Ok(()),
            I8 => self.reader.u8("metadata").map(|_| ()),
            I16 | I32 | I64 => self.varint().map(|_| ()),
            DOUBLE => self.reader.take("metadata", 8).map(|_| ()),
            BINARY => self.binary().map(|_| ()),
            LIST | SET => {
                let (len, kind) = self.list()?;
                (0..len).try_for_each(|_| self.skip_element(kind, deeper))
            }
            MAP => {
                let len = self.varint()?;
                let kinds = if len == 0 { 0 } else { self.reader.u8("metadata")? };
                (0..len).try_for_each(|_| {
                    self.skip_element(kinds >> 4, deeper)?;
                    self.skip_element(kinds & 0xF, deeper)
                })
            }
            STRUCT => self.fields(|footer, (_, kind)| footer.skip(kind, deeper)),
            other => Err(Error::bad("type in the metadata", "1 to 12", other)),
        }
    }

    /// Within lists and maps a Boolean is a byte.
    fn skip_element(&mut self, kind: u8, depth: u32) -> Result<(), Error> {
        match kind {
            BOOL_TRUE | BOOL_FALSE => self.reader.u8("metadata").map(|_| ()),
            kind => self.skip(kind, depth),
        }
    }
}
