//! The invariant of every foreign format: bytes are refused, or opened and written back the same.

use crate::limited_to;
use mayhap::Bitmap;
use mayhap_formats::{Error, ForeignFilter, Limits};

/// Opens `data` with small limits. A filter that opens is encoded to the same bytes, and keeps
/// working: an inserted key is found, one by one and in a batch, also after another round trip.
pub fn check(data: &[u8], open: impl Fn(&[u8], &Limits) -> Result<Box<dyn ForeignFilter>, Error>) {
    let limits = Limits { max_bytes: 1 << 16, ..Limits::default() };
    // The limited size, the input some times over, and 16 MiB for everything else.
    let allocation = (1 << 16) + data.len() + (16 << 20);
    let Ok(mut filter) = limited_to(allocation, || open(data, &limits)) else { return };
    assert!(filter.encode() == data, "encoded otherwise");
    assert!(filter.count_ones() <= filter.num_bits());
    assert!(filter.num_bits() <= limits.max_bytes * 8);
    filter.estimated_fpp();
    filter.estimated_items();
    filter.facts();

    const KEY: &[u8] = b"a key";
    filter.contains(b"");
    if filter.insert(KEY).is_err() {
        return;
    }
    let mut found = Bitmap::new();
    filter.contains_batch(&[KEY], &mut found);
    assert!(filter.contains(KEY) && found.get(0), "a false negative");
    let again = open(&filter.encode(), &limits).expect("a written file opens");
    assert!(again.contains(KEY), "a false negative after a round trip");
    assert!(again.encode() == filter.encode(), "encoded otherwise after an insertion");
}

/// The format of an input, and m and k for a bare bitmap: its first six bytes.
pub fn split_shape(data: &[u8]) -> Option<(i32, u32, &[u8])> {
    let (&num_bits, rest) = data.split_first_chunk::<4>()?;
    let (&num_hashes, rest) = rest.split_first_chunk::<2>()?;
    // Only small sizes open.
    let num_bits = i32::from_be_bytes(num_bits) >> 8;
    Some((num_bits, u32::from(u16::from_be_bytes(num_hashes)), rest))
}
