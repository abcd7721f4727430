//! What a filter is made with.

use redis::Cmd;

/// What `BF.RESERVE` is given.
///
/// # Examples
///
/// ```
/// use mayhap_redis::{BfGrowth, BfOptions};
///
/// let options = BfOptions::new(1_000_000, 0.001);
/// assert_eq!(options.growth, BfGrowth::OfServer);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BfOptions {
    /// n of the first layer: at most 2^30 (`RedisBloom` 8), or what fits 128 MiB (valkey-bloom).
    pub expected_items: u64,
    /// p. `RedisBloom` 8 takes what is above 0.25 for 0.25, unsaid; the layers of valkey-bloom add
    /// up to 2 p.
    pub target_fpp: f64,
    /// What happens after n keys.
    pub growth: BfGrowth,
}

/// What happens to a filter that is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BfGrowth {
    /// What the server is configured for: a layer of twice the size, by default.
    #[default]
    OfServer,
    /// A layer of so many times the size of the one before.
    By(u32),
    /// Insertions of new keys fail with [`crate::Error::Full`].
    None,
}

impl BfOptions {
    /// A filter that grows as the server has it.
    pub fn new(expected_items: u64, target_fpp: f64) -> Self {
        Self { expected_items, target_fpp, growth: BfGrowth::OfServer }
    }

    pub(super) fn push(&self, cmd: &mut Cmd) {
        cmd.arg(self.target_fpp.to_string()).arg(self.expected_items);
        match self.growth {
            BfGrowth::OfServer => {}
            BfGrowth::By(times) => {
                cmd.arg("EXPANSION").arg(times);
            }
            BfGrowth::None => {
                cmd.arg("NONSCALING");
            }
        }
    }
}
