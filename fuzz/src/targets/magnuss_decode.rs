//! Bytes → a filter of MagnusS: the Java object, or m, k and a bitmap in both orders.
//!
//! Oracle: `foreign::check`. `open_with` refuses bytes that look like a damaged object, so bitmaps
//! are also opened as such.
use mayhap_formats::{ForeignFilter, Format, Limits, MagnusFilter, Shape, open, open_with};
use mayhap_fuzz::foreign;

pub(super) fn run(data: &[u8]) {
    foreign::check(data, |bytes, limits| open(Format::MagnusS, bytes, limits));
    let Some((num_bits, num_hashes, value)) = foreign::split_shape(data) else { return };
    let shape = Shape { num_bits: num_bits.into(), num_hashes };
    foreign::check(value, |bytes, limits| open_with(Format::MagnusRedis, bytes, shape, limits));
    foreign::check(value, |bytes, limits| {
        let filter = MagnusFilter::decode_bitset(bytes, num_bits, num_hashes, limits)?;
        Ok(Box::new(filter) as Box<dyn ForeignFilter>)
    });
    let limits = Limits { max_bytes: 1 << 16, ..Limits::default() };
    if let Ok(filter) = open_with(Format::MagnusS, value, shape, &limits) {
        assert!(filter.encode() == value, "encoded otherwise");
    }
}
