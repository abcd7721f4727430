//! The hash beside the bits.

use crate::Error;
use crate::java::{double_to_plain_string, double_to_string, optimal_num_bits, optimal_num_hashes};

/// Two Redis strings hold at most this many bits, less 2.
const MAX_SIZE: i64 = 2 * (i32::MAX as i64);
/// A Java int.
const MAX_HASHES: u32 = i32::MAX.unsigned_abs();

/// The spelling of `falseProbability`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RedissonSpelling {
    /// `0.00010`, before 3.30.0.
    Plain,
    /// `1.0E-4`, since 3.30.0.
    #[default]
    Exponent,
}

/// The fields of the config hash.
#[derive(Debug, Clone, PartialEq)]
pub struct RedissonConfig {
    size: i64,
    num_hashes: u32,
    expected_insertions: i64,
    /// Its spelling, so that it is written back unchanged.
    false_probability: String,
}

impl RedissonConfig {
    /// The config that `tryInit(n, p)` would write.
    ///
    /// `size = (long)(−n ln p / (ln 2)^2)`, `k = max(1, round(size / n ln 2))`; p = 0 counts as the
    /// smallest double. A negative n gives a negative size, as in Redisson.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with Redisson's message.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{RedissonConfig, RedissonSpelling};
    ///
    /// let config = RedissonConfig::new(300, 0.0001, RedissonSpelling::Exponent)?;
    /// assert_eq!((config.size(), config.num_hashes()), (5751, 13));
    /// assert_eq!(config.fields()[3], ("falseProbability", "1.0E-4".to_owned()));
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn new(
        expected_insertions: i64,
        false_probability: f64,
        spelling: RedissonSpelling,
    ) -> Result<Self, Error> {
        let (is_greater, is_negative) = (false_probability > 1.0, false_probability < 0.0);
        Error::require(!is_greater, "Bloom filter false probability can't be greater than 1")?;
        Error::require(!is_negative, "Bloom filter false probability can't be negative")?;
        let not_zero = if false_probability == 0.0 { f64::from_bits(1) } else { false_probability };
        let size = optimal_num_bits(expected_insertions, not_zero);
        let found = format!("calculated size is {size}");
        Error::require(size != 0, format_args!("Bloom filter {found}"))?;
        let rule = "Bloom filter size can't be greater than";
        Error::require(size <= MAX_SIZE, format_args!("{rule} {MAX_SIZE}. But {found}"))?;
        let num_hashes = optimal_num_hashes(expected_insertions, size);
        let false_probability = match spelling {
            RedissonSpelling::Plain => double_to_plain_string(false_probability),
            RedissonSpelling::Exponent => double_to_string(false_probability),
        };
        let num_hashes = u32::try_from(num_hashes).unwrap_or(u32::MAX);
        Ok(Self { size, num_hashes, expected_insertions, false_probability })
    }

    /// Reads the fields of the hash and ignores unknown ones.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] for one that is missing or not a number in its range.
    pub fn parse<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Error> {
        let mut found: [Option<&str>; 4] = [None; 4];
        for (name, value) in fields {
            if let Some(at) = Self::NAMES.iter().position(|&known| known == name) {
                found[at] = Some(value);
            }
        }
        let text = |at: usize| {
            found[at].ok_or_else(|| Error::bad(Self::NAMES[at], "a field of the hash", "missing"))
        };
        // As Java writes it: Redisson compares the texts.
        let number = |at: usize| -> Result<i64, Error> {
            let text = text(at)?;
            let number = text.parse().ok().filter(|number: &i64| number.to_string() == text);
            number.ok_or_else(|| Error::bad(Self::NAMES[at], "a decimal number", text))
        };
        let size = number(0)?;
        let fits = size != 0 && (-MAX_SIZE..=MAX_SIZE).contains(&size);
        Error::check(fits, "size", "1 to 4294967294", size)?;
        let num_hashes = number(1)?;
        let Ok(num_hashes @ 1..=MAX_HASHES) = u32::try_from(num_hashes) else {
            return Err(Error::bad("hashIterations", "1 to 2147483647", num_hashes));
        };
        let false_probability = text(3)?;
        let is_share = false_probability.parse().is_ok_and(|p: f64| (0.0..=1.0).contains(&p));
        Error::check(is_share, "falseProbability", "0 to 1", false_probability)?;
        Ok(Self {
            size,
            num_hashes,
            expected_insertions: number(2)?,
            false_probability: false_probability.to_owned(),
        })
    }

    /// The names of the fields, in the order of [`RedissonConfig::fields`].
    pub const NAMES: [&'static str; 4] =
        ["size", "hashIterations", "expectedInsertions", "falseProbability"];

    /// The fields as stored in the hash.
    pub fn fields(&self) -> [(&'static str, String); 4] {
        let [size, hashes, insertions, probability] = Self::NAMES;
        [
            (size, self.size.to_string()),
            (hashes, self.num_hashes.to_string()),
            (insertions, self.expected_insertions.to_string()),
            (probability, self.false_probability.clone()),
        ]
    }

    /// m, negative for a negative n.
    pub fn size(&self) -> i64 {
        self.size
    }

    /// k.
    pub fn num_hashes(&self) -> u32 {
        self.num_hashes
    }

    /// n.
    pub fn expected_insertions(&self) -> i64 {
        self.expected_insertions
    }

    /// p.
    pub fn false_probability(&self) -> f64 {
        self.false_probability.parse().unwrap_or(f64::NAN)
    }

    /// The key of the hash for a filter of this name, after any name mapper: in the slot of the
    /// bits. Before 3.6.0 it was `{name}__config`.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(mayhap_formats::RedissonConfig::key("users"), "{users}:config");
    /// assert_eq!(mayhap_formats::RedissonConfig::key("{tag}users"), "{tag}users:config");
    /// ```
    pub fn key(name: &str) -> String {
        if name.contains('{') { format!("{name}:config") } else { format!("{{{name}}}:config") }
    }
}
