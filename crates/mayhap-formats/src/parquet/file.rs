//! A Parquet file: its columns, and the filters of one.

use super::column::ParquetColumn;
use super::column_type::ColumnType;
use super::filter::{MAX_HEADER_BYTES, SplitBlockFilter, read_header};
use super::footer::Footer;
use super::places::{Place, bad_length, places};
use crate::limits::try_room;
use crate::{Error, Format, KeyType, Limits, Reader};
use std::io::{Read, Seek, SeekFrom};

pub(crate) const MAGIC: &[u8; 4] = b"PAR1";
/// Bytes at the end: the length of the metadata and the magic.
const TAIL_BYTES: u64 = 8;
/// Metadata larger than this is rejected. A column in a row group takes about 100 bytes of it.
const MAX_METADATA_BYTES: u64 = 32 << 20;

/// A column of a Parquet file that has filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnInfo {
    path: Box<str>,
    key_types: &'static [KeyType],
    num_row_groups: (u32, u32),
}

impl ColumnInfo {
    /// The names from the root to the leaf, joined with dots.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The types of its keys, the usual one first; none if its type is not supported.
    pub fn key_types(&self) -> &'static [KeyType] {
        self.key_types
    }

    /// The number of row groups that have rows, and how many of them have a filter for it.
    pub fn num_row_groups(&self) -> (usize, usize) {
        (self.num_row_groups.0 as usize, self.num_row_groups.1 as usize)
    }
}

/// A Parquet file; only the metadata and the filters are read.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{ForeignFilter, Limits, ParquetFile};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/parquet/pyarrow.parquet");
/// let file = std::fs::File::open(path)?;
/// let mut file = ParquetFile::open(file, &Limits::default())?;
/// let users = file.column("s", &Limits::default())?;
/// assert!(users.contains(b"user:1") && !users.contains(b"nobody"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ParquetFile<R> {
    reader: R,
    /// Where the footer starts.
    end: u64,
    footer: Footer,
}

impl<R: Read + Seek> ParquetFile<R> {
    /// Reads the metadata.
    ///
    /// # Errors
    ///
    /// [`Error::NotThisFormat`], [`Error::Truncated`], [`Error::TooLarge`] for metadata of more
    /// than 32 MiB, [`Error::BadField`] for damaged metadata, [`Error::Unsupported`] for an
    /// encrypted footer, [`Error::Io`].
    pub fn open(mut reader: R, limits: &Limits) -> Result<Self, Error> {
        let num_bytes = reader.seek(SeekFrom::End(0))?;
        let tail = num_bytes.checked_sub(TAIL_BYTES).filter(|&tail| tail >= 4);
        let format = Format::Parquet.name();
        let not_parquet = Error::NotThisFormat { format, reason: "it does not end with PAR1" };
        let tail = tail.ok_or_else(|| not_parquet.clone())?;
        let bytes = read_at(&mut reader, tail, TAIL_BYTES)?;
        let mut fields = Reader::new(&bytes);
        let len = u64::from(fields.u32_le("length of the metadata")?);
        match fields.left() {
            left if left == MAGIC => {}
            b"PARE" => {
                let (operation, reason) = ("reading", "its footer is encrypted");
                return Err(Error::Unsupported { format, operation, reason });
            }
            _ => return Err(not_parquet),
        }
        let field = "length of the metadata";
        Error::check_left(field, len, tail - 4)?;
        Error::check_limit(field, MAX_METADATA_BYTES.min(limits.max_bytes), len)?;
        let is_parquet = read_at(&mut reader, 0, 4)? == MAGIC;
        Error::check_format(is_parquet, format, "it does not start with PAR1")?;
        let footer = Footer::parse(read_at(&mut reader, tail - len, len)?)?;
        Ok(Self { reader, end: tail - len, footer })
    }

    /// The columns that have filters, in the order of the schema.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] for a name that is not UTF-8.
    pub fn columns(&self) -> Result<Vec<ColumnInfo>, Error> {
        let mut counts: Vec<u32> = Vec::new();
        for group in self.footer.row_groups() {
            for (i, chunk) in group?.1.enumerate() {
                let has_filter = chunk?.metadata.is_some_and(|metadata| metadata.filter.is_some());
                if has_filter {
                    counts.resize(counts.len().max(i + 1), 0);
                    counts[i] += 1;
                }
            }
        }
        let row_groups = self.footer.num_row_groups() as u32;
        // Counted first, so that only the memory of the columns is allocated.
        let mut columns = Vec::with_capacity(counts.iter().filter(|&&count| count > 0).count());
        let (mut leaves, mut counts) = (self.footer.leaves()?, counts.into_iter());
        while let (Some(leaf), Some(filters)) = (leaves.next()?, counts.next()) {
            if filters == 0 {
                continue;
            }
            let path = leaves.path().join(&b'.');
            let path = String::from_utf8(path);
            let path = path.map_err(|_| Error::bad("name of a column", "UTF-8", "other bytes"))?;
            let key_types = ColumnType::of(&leaf).map_or(&[][..], ColumnType::key_types);
            let num_row_groups = (row_groups, filters);
            columns.push(ColumnInfo { path: path.into(), key_types, num_row_groups });
        }
        Ok(columns)
    }

    /// Reads the filters of a column, of all row groups. Where some have none, any key may be in
    /// the column.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if there is no such column (naming those with filters), two have this
    /// path, no row group has a filter for it, one of them has rows but no bits, or two refer to
    /// one filter. The errors of [`SplitBlockFilter::decode`]; [`Error::BadField`] for a position
    /// outside the file; [`Error::Unsupported`] for a column of an unknown type; [`Error::Io`].
    pub fn column(&mut self, path: &str, limits: &Limits) -> Result<ParquetColumn, Error> {
        let column = self.column_if_any(path, limits)?;
        if column.filters().is_empty() && column.num_without_filter() > 0 {
            return Err(Error::refused(format_args!(
                "no row group has a Bloom filter for column {path}, so every key may be in it{}",
                self.with_filters()?
            )));
        }
        Ok(column)
    }

    /// Like [`ParquetFile::column`], but also for a column without filters, for queries of many
    /// files: any key may be in it.
    ///
    /// # Errors
    ///
    /// Same as [`ParquetFile::column`].
    pub fn column_if_any(&mut self, path: &str, limits: &Limits) -> Result<ParquetColumn, Error> {
        let (index, column_type) = self.find(path)?;
        let mut column = ParquetColumn::new(path, column_type);
        // Filters share no bytes, so together they are smaller than the file: a file that refers to
        // one filter many times must not exhaust memory.
        let mut left = self.end.min(limits.max_bytes);
        for place in places(&self.footer, index, self.end, &mut column)? {
            let filter = read_filter(&mut self.reader, place, left, limits)?;
            if !filter.has_bits() && !place.is_null {
                return Err(Error::refused(format_args!(
                    "row group {} has values in column {path}, but its filter has no bit set: its \
                     writer left it empty, so every key may be in it",
                    place.row_group
                )));
            }
            left -= filter.num_bytes();
            column.push(filter);
        }
        Ok(column)
    }

    /// The number and the type of the column of this path.
    fn find(&self, path: &str) -> Result<(usize, ColumnType), Error> {
        let mut leaves = self.footer.leaves()?;
        let (mut index, mut found, mut others) = (0, None, 0);
        while let Some(leaf) = leaves.next()? {
            if is_path(leaves.path(), path.as_bytes()) {
                others += usize::from(found.is_some());
                found = Some((index, leaf));
            }
            index += 1;
        }
        if others > 0 {
            return Err(Error::refused(format_args!(
                "{} columns are named {path}: one has dots in its name",
                others + 1
            )));
        }
        let Some((index, leaf)) = found else {
            let with_filters = self.with_filters()?;
            return Err(Error::refused(format_args!("there is no column {path}{with_filters}")));
        };
        Ok((index, ColumnType::of(&leaf)?))
    }

    /// A clause on the columns that have filters.
    fn with_filters(&self) -> Result<String, Error> {
        let columns = self.columns()?;
        let names: Vec<&str> = columns.iter().map(ColumnInfo::path).collect();
        Ok(match names.as_slice() {
            [] => ", and no column of this file has Bloom filters".to_owned(),
            names => format!("; columns with Bloom filters are {}", names.join(", ")),
        })
    }
}

fn read_filter(
    reader: &mut (impl Read + Seek),
    place: Place,
    max_bytes: u64,
    limits: &Limits,
) -> Result<SplitBlockFilter, Error> {
    let Place { start, room, .. } = place;
    let bytes = read_at(reader, start, room.min(MAX_HEADER_BYTES as u64))?;
    let mut header = Reader::new(&bytes);
    let bit_set_bytes = read_header(&mut header)?;
    let num_bytes = header.position() as u64 + bit_set_bytes;
    if let Some(len) = place.len.filter(|&len| u64::from(len) != num_bytes) {
        return Err(bad_length(len));
    }
    Error::check_left("bits", num_bytes, room)?;
    // Without a length, one flipped bit of the header would make it smaller.
    let (fills, allowed) = (num_bytes == room, "all bytes before the next part of the file");
    Error::check(place.len.is_some() || fills, "length of a filter", allowed, num_bytes)?;
    Error::check_limit("bytes of all filters of the column", max_bytes, bit_set_bytes)?;
    SplitBlockFilter::decode(&read_at(reader, start, num_bytes)?, limits)
}

/// Whether names form a path.
fn is_path(names: &[&[u8]], path: &[u8]) -> bool {
    let len: usize = names.iter().map(|name| name.len()).sum();
    len + names.len().saturating_sub(1) == path.len() && names.join(&b'.') == path
}

/// `len` is checked by the caller: it is at most the length of the file.
fn read_at(reader: &mut (impl Read + Seek), offset: u64, len: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = try_room(len)?;
    reader.seek(SeekFrom::Start(offset))?;
    reader.by_ref().take(len).read_to_end(&mut bytes)?;
    Error::check_left("file", len, bytes.len() as u64)?;
    Ok(bytes)
}
