//! Bytes → a config hash of Redisson, and m, k and a bitmap.
//!
//! Oracle: a config that parses is written back as it was read; `foreign::check` for bitmaps.
use mayhap_formats::{Format, RedissonConfig, Shape, open_with};
use mayhap_fuzz::foreign;

pub(super) fn run(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        config(text);
    }
    let Some((num_bits, num_hashes, value)) = foreign::split_shape(data) else { return };
    let shape = Shape { num_bits: num_bits.into(), num_hashes };
    foreign::check(value, |bytes, limits| open_with(Format::Redisson, bytes, shape, limits));
}

/// Lines of `name value`.
fn config(text: &str) {
    let fields = || text.lines().filter_map(|line| line.split_once(' '));
    let Ok(config) = RedissonConfig::parse(fields()) else { return };
    assert!(config.size() != 0 && config.num_hashes() != 0);
    assert!((0.0..=1.0).contains(&config.false_probability()));
    let written = config.fields();
    let again = RedissonConfig::parse(written.iter().map(|(name, value)| (*name, &**value)));
    assert_eq!(again, Ok(config));
    let last = fields().filter(|field| field.0 == "falseProbability").last();
    assert_eq!(last.map(|field| field.1), Some(&*written[3].1));
}
