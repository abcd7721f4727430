//! The systematic tests of borders: every form of input cut at every byte, every header with one
//! bit flipped, every kind of file damaged. Each test takes a sample; with `BORDERS=1`, as `make
//! borders` sets, all of it.

mod damage;
mod files;
mod foreign;
mod lists;
mod numbers;
mod parquet;
mod streams;

/// Whether all cases are tried, rather than a sample.
pub(crate) fn is_whole() -> bool {
    std::env::var_os("BORDERS").is_some_and(|value| value != "0")
}
