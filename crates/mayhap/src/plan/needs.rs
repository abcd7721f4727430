//! The input: the known numbers, and the operations that the filter must support.

use super::Costs;

/// The known numbers and the needs; unset fields are unknown or not needed.
///
/// Two of `items`, `target_fpp` and `max_bytes` are needed: the third is solved from them. If all
/// are given, kinds that keep the rate only above the budget are rejected.
///
/// # Examples
///
/// ```
/// use mayhap::plan::{Needs, plan};
///
/// // How many keys fit in 2 GiB at 0.1 %?
/// let needs =
///     Needs { target_fpp: Some(1e-3), max_bytes: Some(2 << 30), ..Needs::default() };
/// assert_eq!(plan(&needs)?.best.unwrap().items / 10_000_000, 109);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no needs, not states")]
pub struct Needs {
    /// n: the number of distinct keys per set; a first guess if `unknown_items`.
    pub items: Option<u64>,
    /// Whether `items` is only a guess, so that the filter has to grow.
    pub unknown_items: bool,
    /// p: the false-positive probability to keep.
    pub target_fpp: Option<f64>,
    /// The memory for all sets together, before growth if `unknown_items`.
    pub max_bytes: Option<u64>,
    /// Whether single keys have to be removed.
    pub delete: bool,
    /// Whether old keys have to be forgotten; `items` is then the number remembered.
    pub forget: bool,
    /// Whether keys older than a span of time are forgotten, with at most `items` keys in any span;
    /// otherwise all but the last `items`. Only with `forget`.
    pub by_time: bool,
    /// Whether all keys are known before the first query and never change.
    pub frozen: bool,
    /// The number of sets in which each key is looked up.
    pub sets: u64,
    /// The mean bytes of a key, for the comparison with a set that holds the keys.
    pub key_bytes: Option<f64>,
    /// The costs of answers with and without the filter.
    pub costs: Option<Costs>,
    /// Queries per second.
    pub queries_per_second: Option<f64>,
    /// The sizes of the machine's memories.
    pub memory: MemorySizes,
}

impl Default for Needs {
    fn default() -> Self {
        Self {
            items: None,
            unknown_items: false,
            target_fpp: None,
            max_bytes: None,
            delete: false,
            forget: false,
            by_time: false,
            frozen: false,
            sets: 1,
            key_bytes: None,
            costs: None,
            queries_per_second: None,
            memory: MemorySizes::default(),
        }
    }
}

impl Needs {
    /// Needs with only the number of keys set.
    pub fn for_items(items: u64) -> Self {
        Self { items: Some(items), ..Self::default() }
    }
}

/// Bytes of the caches that one core reaches, and of the machine's memory.
///
/// The default is a common server: 1 MiB, 32 MiB, 16 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySizes {
    /// Second-level cache of a core.
    pub l2_bytes: u64,
    /// Third-level cache.
    pub l3_bytes: u64,
    /// Main memory that the filter may take.
    pub ram_bytes: u64,
}

impl Default for MemorySizes {
    fn default() -> Self {
        Self { l2_bytes: 1 << 20, l3_bytes: 32 << 20, ram_bytes: 16 << 30 }
    }
}
