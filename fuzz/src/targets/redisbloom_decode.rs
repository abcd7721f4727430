//! Bytes → chunks of `BF.SCANDUMP`.
//!
//! Oracles: a decoded filter is encoded to bytes that decode to the same; no large allocation; it
//! keeps working without a panic.
use mayhap_formats::{ForeignFilter, RedisBloomFilter};
use mayhap_fuzz::{LIMITS, go_on, open_foreign};

pub(super) fn run(data: &[u8]) {
    let Some(mut filter) = open_foreign(data, RedisBloomFilter::decode) else { return };
    // Chunks may be cut anywhere; they are written whole.
    assert_eq!(RedisBloomFilter::decode(&filter.encode(), &LIMITS).as_ref(), Ok(&filter));
    go_on(&mut filter);
}
