//! Split-block filters of Apache Parquet ("SBBF").
//!
//! Header and bit set, as in a Parquet file:
//!
//! | offset | bytes | type | field | allowed |
//! |---|---|---|---|---|
//! | 0 | 1 | 15 | Thrift compact: field 1 is an i32 | 15 |
//! | 1 | 1 to 5 | zigzag varint | bytes of the bit set | 32 to 128 MiB, a multiple of 32 |
//! | then | 4 | 1c 1c 00 00 | algorithm: split block | |
//! | then | 4 | 1c 1c 00 00 | hash: XXH64 | |
//! | then | 4 | 1c 1c 00 00 | compression: none | |
//! | then | 1 | 00 | end | |
//! | then | 32 z | z × 8 u32 LE | bit b of word j of block i | any |
//!
//! A bare bit set (as libraries keep it in memory) has no header. The field `bloom_filter_offset`
//! of a column's metadata is the position of its filter.
//!
//! Source: apache/parquet-format, `BloomFilter.md`. Read from and checked against parquet-mr 1.13.1
//! and 1.17.0, pyarrow 26.0.1 and the Rust crate `parquet` 60.1.
//!
//! | file | contents |
//! |---|---|
//! | `column.rs` | the filters of one column |
//! | `column_type.rs` | the type of the values of a column, by its logical type |
//! | `compact.rs` | Thrift's compact protocol, as far as a Parquet footer needs it |
//! | `decimal.rs` | decimals: their text, and their number as bytes |
//! | `file.rs` | a Parquet file: its columns, and the filters of one |
//! | `filter.rs` | one filter: a header and a bit set, or the bit set alone |
//! | `footer.rs` | the footer of a Parquet file |
//! | `moment.rs` | dates and times: their text, and their number |
//! | `places.rs` | where the filters of a column are in the file |
//! | `schema.rs` | the schema of a Parquet footer: its leaves are the columns |
//! | `sizing.rs` | the number of bytes of a filter |
//! | `value.rs` | the text of a value → the bytes that a writer hashes: its plain encoding |

mod column;
mod column_type;
mod compact;
mod decimal;
mod file;
mod filter;
mod footer;
mod moment;
mod places;
mod schema;
mod sizing;
mod value;

pub use column::ParquetColumn;
pub use file::{ColumnInfo, ParquetFile};
pub(crate) use filter::header_and_bits;
pub use filter::{SplitBlockFilter, SplitBlockScheme};
pub use sizing::{SplitBlockSize, parquet_mr_num_bits, parquet_mr_num_bytes};
