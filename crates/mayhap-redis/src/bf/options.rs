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
/// assert_eq!((options.expected_items, options.target_fpp), (1_000_000, 0.001));
/// assert_eq!(options.growth, BfGrowth::OfServer);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BfOptions {
    /// n of the first layer: at most 2^30 (`RedisBloom` 8), or as many as fit 128 MiB
    /// (valkey-bloom).
    pub expected_items: u64,
    /// p. `RedisBloom` 8 silently treats values above 0.25 as 0.25; the layers of valkey-bloom add
    /// up to 2 p.
    pub target_fpp: f64,
    /// The behaviour after n keys.
    pub growth: BfGrowth,
    /// The kind; only `mayhap serve` has others than the default.
    pub kind: BfKind,
    /// On `mayhap serve`: without the server's secret key, so that clients may send digests.
    pub public: bool,
}

/// The kind of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BfKind {
    /// A Bloom filter, or a chain of them.
    #[default]
    Bloom,
    /// Keys can be removed from it: fingerprints.
    Compact,
    /// Keys can be removed from it: counters; it does not grow.
    Counting,
    /// It remembers this number of keys, the last ones.
    WindowItems(u64),
    /// It remembers the keys of the last milliseconds, this number of them.
    WindowMillis(u64),
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
        let (growth, kind) = (BfGrowth::OfServer, BfKind::Bloom);
        Self { expected_items, target_fpp, growth, kind, public: false }
    }

    /// Whether only `mayhap serve` has filters like this one.
    pub(super) fn is_of_serve(&self) -> bool {
        self.kind != BfKind::Bloom || self.public
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
        match self.kind {
            BfKind::Bloom => {}
            BfKind::Compact => {
                cmd.arg("LAYOUT").arg("compact");
            }
            BfKind::Counting => {
                cmd.arg("COUNTING");
            }
            BfKind::WindowItems(items) => {
                cmd.arg("WINDOW").arg(items);
            }
            BfKind::WindowMillis(millis) => {
                cmd.arg("WINDOW").arg(format!("{millis}ms"));
            }
        }
        if self.public {
            cmd.arg("KEYED").arg("no");
        }
    }
}
