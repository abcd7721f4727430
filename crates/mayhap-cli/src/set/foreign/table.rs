//! Columns of tables, whose filters stand among the rows.

use crate::error::Error;
use mayhap_formats::{ColumnInfo, ForeignFilter, Format, Limits, ParquetFile};
use std::fs::File;
use std::path::Path;

/// What the store calls a file of this format.
pub(super) const LOOKS_LIKE: &str = "a Parquet file";
/// The format.
pub(super) const FORMAT: Format = Format::Parquet;

/// Reads the filters of a column, and nothing else of the table.
pub(super) fn open(
    name: &str,
    path: &Path,
    column: Option<&str>,
    limits: &Limits,
) -> Result<Box<dyn ForeignFilter>, Error> {
    let foreign = |source| Error::Foreign { name: name.to_owned(), source };
    let file = File::open(path).map_err(Error::io("open", name))?;
    let mut table = ParquetFile::open(file, limits).map_err(foreign)?;
    if let Some(column) = column {
        return Ok(Box::new(table.column(column, limits).map_err(foreign)?));
    }
    let with_filters = table.columns().iter().filter(|column| {
        let (row_groups, filters) = column.num_row_groups();
        filters > 0 && filters == row_groups
    });
    let paths: Vec<&str> = with_filters.map(ColumnInfo::path).collect();
    Err(match paths.first() {
        None => Error::usage(
            format!("{name} is a Parquet file, but no column has a filter in all row groups"),
            "write it again with Bloom filters, or build a filter of the keys: mayhap build",
        ),
        Some(first) => Error::usage(
            format!("{name} is a Parquet file, whose columns have filters: {}", paths.join(", ")),
            format!("name one after #, as in {name}#{first}"),
        ),
    })
}
