//! The systematic part: every number that a filter gives, against what was done to it. Each test
//! takes a sample; with `BORDERS=1`, as `make borders` sets, all of it.

mod numbers;

/// Whether all cases are tried, and not a sample.
fn is_whole() -> bool {
    std::env::var_os("BORDERS").is_some_and(|value| value != "0")
}
