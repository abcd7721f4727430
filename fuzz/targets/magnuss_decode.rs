//! Bytes → a filter of MagnusS: the Java object, or m, k and a bitmap in both orders.
//!
//! Oracle: `foreign::check`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_formats::{Format, Shape, open, open_with};
use mayhap_fuzz::foreign;

fuzz_target!(|data: &[u8]| {
    foreign::check(data, |bytes, limits| open(Format::MagnusS, bytes, limits));
    let Some((num_bits, num_hashes, value)) = foreign::split_shape(data) else { return };
    let shape = Shape { num_bits: num_bits.into(), num_hashes };
    for format in [Format::MagnusS, Format::MagnusRedis] {
        foreign::check(value, |bytes, limits| open_with(format, bytes, shape, limits));
    }
});
