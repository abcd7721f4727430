//! Columns of tables, whose filters stand among the rows.

use super::error::Error;
use mayhap_formats::{ForeignFilter, Format, Limits, ParquetFile};
use std::fs::File;
use std::path::Path;

/// The store's name for a file of this format.
pub(super) const LOOKS_LIKE: &str = "a Parquet file";
/// The format.
pub(super) const FORMAT: Format = Format::Parquet;

/// Reads the filters of a column, if it has any, and nothing else of the table.
pub(super) fn open(
    name: &str,
    path: &Path,
    column: Option<&str>,
    limits: &Limits,
) -> Result<Box<dyn ForeignFilter>, Error> {
    let foreign = |source| Error::Format { name: name.to_owned(), source };
    let file = File::open(path).map_err(Error::io("open", name))?;
    let mut table = ParquetFile::open(file, limits).map_err(foreign)?;
    if let Some(column) = column {
        return Ok(Box::new(table.column_if_any(column, limits).map_err(foreign)?));
    }
    let columns = table.columns().map_err(foreign)?;
    let columns = columns.iter().map(|column| column.path().to_owned()).collect();
    Err(Error::NoColumnNamed { name: name.to_owned(), columns })
}
