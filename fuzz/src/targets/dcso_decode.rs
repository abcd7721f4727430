//! Bytes → DCSO's files, plain and compressed.
//!
//! Oracles: a decoded filter is encoded to the same bytes (compressed: to bytes that decode to the
//! same); no large allocation; it keeps working without a panic.
use mayhap_formats::{DcsoFilter, ForeignFilter};
use mayhap_fuzz::{LIMITS, go_on, open_foreign};

pub(super) fn run(data: &[u8]) {
    let Some(mut filter) = open_foreign(data, DcsoFilter::decode) else { return };
    let bytes = filter.encode();
    if filter.is_compressed() {
        assert_eq!(DcsoFilter::decode(&bytes, &LIMITS).as_ref(), Ok(&filter));
    } else {
        assert!(bytes == data, "encoded otherwise");
    }
    go_on(&mut filter);
}
