//! Bytes → a filter of Spark: the stream or the Java object.
//!
//! Oracle: `foreign::check`.
use mayhap_formats::{Format, open};
use mayhap_fuzz::foreign;

pub(super) fn run(data: &[u8]) {
    foreign::check(data, |bytes, limits| open(Format::Spark, bytes, limits));
}
