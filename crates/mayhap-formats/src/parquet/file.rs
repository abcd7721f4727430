//! The filters of a column in a Parquet file.

use super::filter::{MAX_HEADER_BYTES, SplitBlockFilter, read_header};
use super::metadata::{Chunk, RowGroup, row_groups};
use crate::{Error, Fact, ForeignFilter, Format, KeyType, Limits, Reader};
use mayhap::Bitmap;
use std::io::{Read, Seek, SeekFrom};

pub(crate) const MAGIC: &[u8; 4] = b"PAR1";
/// Bytes at the end: the length of the metadata and the magic.
const TAIL_BYTES: u64 = 8;
/// Metadata larger than this is rejected: in memory it grows up to some tens of times. A column in
/// a row group takes about 100 bytes of it.
const MAX_METADATA_BYTES: u64 = 32 << 20;

/// The position of the filter of one row group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    offset: i64,
    /// Not all writers record it.
    len: Option<i64>,
}

/// A column of a Parquet file and its filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnInfo {
    path: String,
    key_types: &'static [KeyType],
    /// One for each row group that has rows.
    places: Vec<Option<Place>>,
}

impl ColumnInfo {
    /// The names from the root to the leaf, joined with dots.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The types of its keys, the usual one first.
    pub fn key_types(&self) -> &'static [KeyType] {
        self.key_types
    }

    /// The number of row groups, and how many of them have a filter for it.
    pub fn num_row_groups(&self) -> (usize, usize) {
        (self.places.len(), self.places.iter().flatten().count())
    }
}

/// A Parquet file, of which only the metadata and the filters are read.
///
/// # Examples
///
/// ```no_run
/// use mayhap_formats::{ForeignFilter, Limits, ParquetFile};
///
/// let file = std::fs::File::open("visits.parquet").map_err(mayhap_formats::Error::from)?;
/// let mut file = ParquetFile::open(file, &Limits::default())?;
/// let users = file.column("user", &Limits::default())?;
/// println!("{}", users.contains(b"alice"));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug)]
pub struct ParquetFile<R> {
    reader: R,
    num_bytes: u64,
    columns: Vec<ColumnInfo>,
}

impl<R: Read + Seek> ParquetFile<R> {
    /// Reads the metadata.
    ///
    /// # Errors
    ///
    /// [`Error::NotThisFormat`], [`Error::Truncated`], [`Error::TooLarge`] for metadata of more
    /// than 256 MiB, [`Error::BadField`] for damaged metadata, [`Error::Unsupported`] for an
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
        if len > tail - 4 {
            return Err(Error::Truncated { field, needed: len, left: tail - 4 });
        }
        let limit = MAX_METADATA_BYTES.min(limits.max_bytes);
        if len > limit {
            return Err(Error::TooLarge { field, limit, found: len });
        }
        let columns = columns(row_groups(&read_at(&mut reader, tail - len, len)?)?)?;
        Ok(Self { reader, num_bytes, columns })
    }

    /// The columns in the order of the schema.
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    /// Reads the filters of a column, of all row groups.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if there is no such column (naming those with filters), two have this
    /// path, or a row group has no filter for it: any key might be there. Those of
    /// [`SplitBlockFilter::decode`]; [`Error::BadField`] for a position outside the file;
    /// [`Error::Io`].
    pub fn column(&mut self, path: &str, limits: &Limits) -> Result<ParquetColumn, Error> {
        let mut columns = self.columns.iter().filter(|column| column.path == path);
        let column = columns.next().ok_or_else(|| no_such_column(path, &self.columns))?.clone();
        let others = columns.count();
        if others > 0 {
            return Err(Error::refused(format_args!(
                "{} columns are named {path}: one has dots in its name",
                others + 1
            )));
        }
        let mut filters = Vec::new();
        // Filters share no bytes, so together they are smaller than the file: a file that refers to
        // one filter many times must not exhaust memory.
        let mut left = self.num_bytes.min(limits.max_bytes);
        for (row_group, place) in column.places.iter().enumerate() {
            let place = place.ok_or_else(|| {
                Error::refused(format_args!(
                    "row group {row_group} has no Bloom filter for column {path}, so every key may \
                     be in it"
                ))
            })?;
            let filter = self.read_filter(place, left, limits)?;
            left -= filter.num_bits() / 8;
            filters.push(filter);
        }
        Ok(ParquetColumn { filters, key_types: column.key_types, path: column.path })
    }

    fn read_filter(
        &mut self,
        place: Place,
        max_bytes: u64,
        limits: &Limits,
    ) -> Result<SplitBlockFilter, Error> {
        let outside =
            || Error::bad("offset of a filter", "a place inside of the file", place.offset);
        let offset = u64::try_from(place.offset).map_err(|_| outside())?;
        let room = (self.num_bytes - TAIL_BYTES).checked_sub(offset).ok_or_else(outside)?;
        let start = read_at(&mut self.reader, offset, room.min(MAX_HEADER_BYTES as u64))?;
        let mut header = Reader::new(&start);
        let bit_set_bytes = read_header(&mut header)?;
        let num_bytes = header.position() as u64 + bit_set_bytes;
        if let Some(len) = place.len.filter(|&len| u64::try_from(len) != Ok(num_bytes)) {
            return Err(Error::bad("length of a filter", "that of its header and bit set", len));
        }
        if num_bytes > room {
            return Err(Error::Truncated { field: "bits", needed: num_bytes, left: room });
        }
        if bit_set_bytes > max_bytes {
            let field = "bytes of all filters of the column";
            return Err(Error::TooLarge { field, limit: max_bytes, found: bit_set_bytes });
        }
        SplitBlockFilter::decode(&read_at(&mut self.reader, offset, num_bytes)?, limits)
    }
}

fn no_such_column(path: &str, columns: &[ColumnInfo]) -> Error {
    let with_filters = columns.iter().filter(|column| column.num_row_groups().1 > 0);
    let names: Vec<&str> = with_filters.map(|column| column.path.as_str()).collect();
    Error::refused(match names.as_slice() {
        [] => format!("there is no column {path}, and no column of this file has Bloom filters"),
        names => format!(
            "there is no column {path}; columns with Bloom filters are {}",
            names.join(", ")
        ),
    })
}

/// The columns, which are the same in all row groups.
fn columns(row_groups: Vec<RowGroup>) -> Result<Vec<ColumnInfo>, Error> {
    let mut columns: Vec<ColumnInfo> = Vec::new();
    let with_rows = row_groups.into_iter().filter(|group| group.num_rows != 0);
    for (i, row_group) in with_rows.enumerate() {
        let chunks = row_group.chunks.into_iter().map(Option::unwrap_or_default);
        if i == 0 {
            columns.extend(chunks.map(ColumnInfo::first));
            continue;
        }
        let mut num_chunks = 0;
        for chunk in chunks {
            let column = columns.get_mut(num_chunks).filter(|column| column.path == chunk.path);
            let column = column.ok_or_else(|| other_columns(&chunk.path))?;
            column.places.push(place(&chunk));
            num_chunks += 1;
        }
        if num_chunks < columns.len() {
            return Err(other_columns("fewer"));
        }
    }
    Ok(columns)
}

fn other_columns(found: &str) -> Error {
    Error::bad("columns of a row group", "those of the first", found)
}

fn place(chunk: &Chunk) -> Option<Place> {
    chunk.filter.map(|(offset, len)| Place { offset, len })
}

impl ColumnInfo {
    fn first(chunk: Chunk) -> Self {
        let places = vec![place(&chunk)];
        Self { path: chunk.path, key_types: key_types(chunk.physical_type), places }
    }
}

/// By the number of a physical type.
fn key_types(physical_type: i64) -> &'static [KeyType] {
    match physical_type {
        1 => &[KeyType::Int, KeyType::Hex],
        2 => &[KeyType::Long, KeyType::Hex],
        4 => &[KeyType::Float, KeyType::Hex],
        5 => &[KeyType::Double, KeyType::Hex],
        6 | 7 => &[KeyType::Bytes, KeyType::Hex],
        // BOOLEAN, INT96.
        _ => &[KeyType::Hex],
    }
}

/// `len` is checked by the caller: it is at most what the file has.
fn read_at(reader: &mut (impl Read + Seek), offset: u64, len: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let out_of_memory = Error::OutOfMemory { bytes: len };
    let capacity = usize::try_from(len).map_err(|_| out_of_memory.clone())?;
    bytes.try_reserve_exact(capacity).map_err(|_| out_of_memory)?;
    reader.seek(SeekFrom::Start(offset))?;
    reader.by_ref().take(len).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        left if left < len => Err(Error::Truncated { field: "file", needed: len, left }),
        _ => Ok(bytes),
    }
}

/// The filters of one column, one for each row group; queried together.
///
/// It cannot be changed: a filter in a Parquet file belongs to the rows beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct ParquetColumn {
    path: String,
    key_types: &'static [KeyType],
    filters: Vec<SplitBlockFilter>,
}

impl ParquetColumn {
    /// The filters in the order of the row groups, without those that have no rows.
    pub fn filters(&self) -> &[SplitBlockFilter] {
        &self.filters
    }

    fn unsupported(operation: &'static str) -> Error {
        let reason = "its filters belong to the rows beside them; write the file again";
        Error::Unsupported { format: Format::Parquet.name(), operation, reason }
    }
}

impl ForeignFilter for ParquetColumn {
    fn format(&self) -> Format {
        Format::Parquet
    }

    /// Those of all row groups together.
    fn num_bits(&self) -> u64 {
        self.filters.iter().map(ForeignFilter::num_bits).sum()
    }

    fn num_hashes(&self) -> u32 {
        8
    }

    fn key_types(&self) -> &'static [KeyType] {
        self.key_types
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.filters.iter().any(|filter| filter.contains(key))
    }

    fn insert(&mut self, _key: &[u8]) -> Result<bool, Error> {
        Err(Self::unsupported("inserting"))
    }

    fn contains_batch(&self, keys: &[&[u8]], found: &mut Bitmap) {
        found.clear_to(keys.len());
        let mut in_row_group = Bitmap::default();
        for filter in &self.filters {
            filter.contains_batch(keys, &mut in_row_group);
            in_row_group.iter_ones().for_each(|i| found.set(i));
        }
    }

    fn union_with(&mut self, _other: &dyn ForeignFilter) -> Result<(), Error> {
        Err(Self::unsupported("a union"))
    }

    fn count_ones(&self) -> u64 {
        self.filters.iter().map(ForeignFilter::count_ones).sum()
    }

    /// The probability that any of the row groups answers "maybe".
    fn estimated_fpp(&self) -> f64 {
        let none = self.filters.iter().map(|filter| 1.0 - filter.estimated_fpp());
        1.0 - none.product::<f64>()
    }

    /// The sum over the row groups: a key that is in two of them counts twice.
    fn estimated_items(&self) -> Option<u64> {
        self.filters.iter().map(ForeignFilter::estimated_items).sum()
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::new("column", &self.path), Fact::new("num_row_groups", self.filters.len())]
    }

    /// The headers and bit sets, one row group after the other: the bytes that are in the file.
    fn encode(&self) -> Vec<u8> {
        self.filters.iter().flat_map(ForeignFilter::encode).collect()
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
