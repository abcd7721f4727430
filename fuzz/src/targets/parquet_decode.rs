//! Bytes → a split-block filter, and a Parquet file with all its columns.
//!
//! Oracles: a filter that decodes is encoded to the same bytes; no large allocation; both answer
//! without a panic.
use mayhap_formats::{ForeignFilter, ParquetFile, SplitBlockFilter};
use mayhap_fuzz::{LIMITS, go_on, limited_to, open_foreign};
use std::io::Cursor;

pub(super) fn run(data: &[u8]) {
    if let Some(mut filter) = open_foreign(data, SplitBlockFilter::decode) {
        assert!(filter.encode() == data, "encoded otherwise");
        go_on(&mut filter);
    }
    let open = |data: &[u8], limits: &_| ParquetFile::open(Cursor::new(data.to_vec()), limits);
    let Some(mut file) = open_foreign(data, open) else { return };
    for info in file.columns().unwrap_or_default() {
        let column = limited_to(data.len() + (16 << 20), || file.column(info.path(), &LIMITS));
        let Ok(column) = column else { continue };
        let bits: u64 = column.num_bits();
        assert!(bits / 8 <= data.len() as u64, "more filters than file");
        column.contains(b"mayhap");
        column.estimated_fpp();
    }
}
