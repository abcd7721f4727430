//! The parameters of a new filter.

use redis::Cmd;

/// The arguments of `BF.RESERVE`.
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
    /// p. `RedisBloom` 8 silently treats values above 0.25 as 0.25; the layers of valkey-bloom add
    /// up to 2 p.
    pub target_fpp: f64,
    /// The behaviour after n keys.
    pub growth: BfGrowth,
}

/// The behaviour of a full filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BfGrowth {
    /// The server's configuration: by default a layer of twice the size.
    #[default]
    OfServer,
    /// A layer of this many times the size of the previous one.
    By(u32),
    /// Insertions of new keys fail with [`crate::Error::Full`].
    None,
}

impl BfOptions {
    /// A filter that grows by the server's configuration.
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
