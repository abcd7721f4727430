//! Columns of Parquet files, by type.
