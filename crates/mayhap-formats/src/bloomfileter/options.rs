//! The arguments of the constructor.

use super::scheme::BloomFileterRate;
use crate::Error;

/// The arguments of the constructor.
#[derive(Debug, Clone, PartialEq)]
pub struct BloomFileterOptions {
    /// The preset.
    pub rate: BloomFileterRate,
    /// The intended number of keys.
    pub data_count: i32,
    /// The use rate at which an insertion clears the filter first; `None` for never.
    pub auto_clear_rate: Option<f64>,
    /// The class that will read the file: a JVM insists on its own.
    pub class_name: String,
}

impl BloomFileterOptions {
    /// The preset `MIDDLE`, no automatic clearing.
    pub fn new(data_count: i32, class_name: &str) -> Self {
        Self {
            rate: BloomFileterRate::default(),
            data_count,
            auto_clear_rate: None,
            class_name: class_name.to_owned(),
        }
    }

    /// `k data_count`, a 32-bit product that may wrap.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] for a negative product, as in the class, and for 0, since the class would
    /// divide by it.
    pub fn size(&self) -> Result<i32, Error> {
        let hashes = self.rate.num_hashes();
        let size = hashes.cast_signed().wrapping_mul(self.data_count);
        let count = self.data_count;
        let rule = format_args!("{hashes} bits for each of {count} is {size} bits");
        Error::require(size > 0, rule)?;
        Ok(size)
    }
}
