//! Bytes → a filter of Spark: the stream or the Java object.
//!
//! Oracle: `foreign::check`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_formats::{Format, open};
use mayhap_fuzz::foreign;

fuzz_target!(|data: &[u8]| {
    foreign::check(data, |bytes, limits| open(Format::Spark, bytes, limits));
});
