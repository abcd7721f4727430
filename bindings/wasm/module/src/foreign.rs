//! Filters of other systems: the four whose files are common on the web.
//!
//! Each is tried in turn; a file records enough of its length and numbers that it opens in no other
//! format. Compressed files are unpacked before, by the browser. The rest is refused: their parsers
//! (Java objects, JSON, gzip) are larger than this whole module.

use crate::contents::Contents;
use crate::keys::{Answers, Keys};
use crate::{Fault, Info};
use mayhap_formats::{
    DcsoFilter, ForeignFilter, GuavaFilter, Limits, Reader, RedisBloomFilter, SplitBlockFilter,
};

/// A module has at most 4 GiB in all, for the file and the filter.
const LIMITS: Limits = Limits { max_bytes: 1 << 30, max_hashes: 1_100 };

/// Opens a file by its first bytes and its length.
pub(crate) fn open(bytes: &[u8]) -> Result<Box<dyn Contents>, Fault> {
    if let Ok(filter) = RedisBloomFilter::decode(bytes, &LIMITS) {
        return Ok(Box::new(Foreign(filter)));
    }
    if let Ok(filter) = SplitBlockFilter::decode(bytes, &LIMITS)
        && filter.has_header()
    {
        return Ok(Box::new(Foreign(filter)));
    }
    let mut reader = Reader::new(bytes);
    if let Ok(filter) = GuavaFilter::read_from(&mut reader, &LIMITS)
        && reader.finish().is_ok()
    {
        return Ok(Box::new(Foreign(filter)));
    }
    match DcsoFilter::decode_plain(bytes, &LIMITS) {
        Ok(filter) => Ok(Box::new(Foreign(filter))),
        Err(_) => Err(Fault::new("NotAFilter", "")),
    }
}

struct Foreign<F>(F);

/// One `Contents` each, so that no method is linked that is not called, as a trait object's are.
macro_rules! contents {
    ($($filter:ty, $name:literal, $items:expr;)*) => {$(
        impl Contents for Foreign<$filter> {
            fn answer(&self, keys: &Keys<'_>, answers: &mut Answers) {
                let answers = &mut answers.bytes;
                keys.for_each(|i, key| answers[i] = ForeignFilter::contains(&self.0, key).into());
            }

            fn info(&self) -> Info {
                let (m, ones) = (self.0.num_bits(), self.0.count_ones());
                let items: fn(&$filter) -> (f64, f64, f64) = $items;
                let (expected_items, target_fpp, inserted_items) = items(&self.0);
                Info {
                    format: $name,
                    kind: $name,
                    num_bytes: m.div_ceil(8) as f64,
                    num_bits: m as f64,
                    num_hashes: f64::from(self.0.num_hashes()),
                    fill_ratio: ones as f64 / m as f64,
                    estimated_fpp: self.0.estimated_fpp(),
                    estimated_items: self.0.estimated_items().map_or(f64::NAN, |n| n as f64),
                    expected_items,
                    target_fpp,
                    inserted_items,
                    ..Info::unknown()
                }
            }
        }
    )*};
}

const UNKNOWN: (f64, f64, f64) = (f64::NAN, f64::NAN, f64::NAN);

contents! {
    SplitBlockFilter, "parquet", |_| UNKNOWN;
    GuavaFilter, "guava", |_| UNKNOWN;
    RedisBloomFilter, "redisbloom", |filter| {
        (filter.capacity() as f64, filter.target_fpp(), filter.num_items() as f64)
    };
    DcsoFilter, "dcso", |filter| {
        (filter.capacity() as f64, filter.target_fpp(), filter.num_items() as f64)
    };
}
