//! What is known of the filter that is drawn.

use mayhap::{Digest, Error, Layout, sizing};

/// The most keys: axes go up to 64 bits for each of them.
const MAX_ITEMS: u64 = sizing::MAX_NUM_BITS / 64;

/// What is known of n, p, m and k; what is not is left to the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Given {
    /// How digests become bits.
    pub layout: Layout,
    /// n, for rates against m and k.
    pub items: Option<u64>,
    /// m, for rates against n and k.
    pub num_bits: Option<u64>,
    /// k, for rates against n and m.
    pub num_hashes: Option<u32>,
    /// p: a line at this rate.
    pub target_fpp: Option<f64>,
}

impl Default for Given {
    /// Nothing of a `standard` filter.
    fn default() -> Self {
        let layout = Layout::Standard;
        Self { layout, items: None, num_bits: None, num_hashes: None, target_fpp: None }
    }
}

impl Given {
    /// Whether such a filter can be drawn.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.items == Some(0) {
            return Err(Error::ZeroItems);
        }
        if let Some(found) = self.items.filter(|items| *items > MAX_ITEMS) {
            return Err(Error::OutOfRange { parameter: "items", min: 1, max: MAX_ITEMS, found });
        }
        if let Some(found) = self.target_fpp
            && !(found > 0.0 && found < 1.0)
        {
            return Err(Error::FppOutOfRange { found });
        }
        let block = self.layout.block_bits();
        let num_bits = self.num_bits.unwrap_or(block);
        let usual = if self.layout == Layout::Standard { 1 } else { 8 };
        let num_hashes = self.num_hashes.unwrap_or(usual);
        // Any digest will do: what is checked is the shape, in whole blocks.
        let whole = if num_bits < block { num_bits } else { num_bits - num_bits % block };
        mayhap::positions(self.layout, whole, num_hashes, Digest::new(0)).map(drop)
    }
}
