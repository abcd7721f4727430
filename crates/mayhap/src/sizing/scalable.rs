//! The sizes of a chain of layers for an unknown number of keys: growth, shares of the rate, and
//! how each layer is divided into parts.
//!
//! A query looks into every layer, so the rate of the chain is at most the sum of the layers'
//! rates. Layer `i` holds n₀ · 2^i keys (after a small first guess, no layer but the first holds
//! fewer than 2,048: their steps are skipped) and gets a sixth of the part of p that the layers
//! before it left: shares p/6, p/6 · 5/6, p/6 · (5/6)², … sum to p for any number of layers. Both
//! numbers are the result of a search (`bench/results/scalable-cost.md`, made by `cargo run -p
//! mayhap --example scalable_cost`).
//!
//! A layer of rate q is divided into t parts of rate q^(1/t) each: separate blocked filters that
//! all hold every key of the layer. The answer of the layer is "maybe" if that of all parts is. The
//! first part stops an absent key with probability 1 − q^(1/t), so it costs hardly more than one
//! cache line for any number of parts; an insertion costs t. At low rates parts need far fewer bits
//! than a single blocked filter, 20.2 instead of 22.9 per key at 1e-4: the uneven spread of keys
//! over blocks, which costs blocked filters bits, matters less at higher rates.

use super::distinct::Intake;
use super::{
    FilterParams, MAX_NUM_BITS, blocked, check_fpp, check_target, digest_collisions,
    with_digest_collisions,
};
use crate::{Error, Layout};

/// Each layer holds this many times the keys of the previous one.
pub const GROWTH: u64 = 2;

/// No layer but the first holds fewer keys: it takes 4 KiB, and a chain that would grow through
/// many smaller ones has to look each key up in all of them. (Models of a few keys grow step by
/// step.)
pub const LEAST_GROWN_ITEMS: u64 = if cfg!(any(loom, shuttle)) { 1 } else { 2_048 };

/// The share of the remaining rate that the next layer gets.
pub const SHARE: f64 = 1.0 / 6.0;

/// The largest number of layers: more than any chain from one key to [`super::MAX_NUM_BITS`] has.
pub const MAX_LAYERS: usize = 59;

/// The largest number of parts of a layer.
pub const MAX_PARTS: u32 = 4;

/// An additional part costs each insertion one more cache line and has to save 3 % of the bits.
const BITS_WORTH_A_PART: f64 = 1.03;

/// If a union has used up the rate, later layers are planned as if this much of their share was
/// left: a sixteenth of the rate costs them 6 bits per key.
const LEAST_LEFT: f64 = 1.0 / 16.0;

/// The composition of a layer of a chain: parts, which are blocked filters of the same shape.
///
/// # Examples
///
/// ```
/// let layer = mayhap::sizing::scalable::layer(1_000_000, 1e-4)?;
/// assert_eq!(layer.num_parts(), 2);
/// let bits_per_key = layer.num_bits() as f64 / 1_000_000.0;
/// assert!(bits_per_key < 20.3); // one blocked filter: 22.9
/// assert!(layer.expected_fpp(1_000_000) <= 1e-4);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerParams {
    part: FilterParams,
    num_parts: u32,
}

impl LayerParams {
    /// A layer of `num_parts` parts with these parameters each; it promises the rate that the model
    /// predicts for `expected_items`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] unless there are 1 to [`MAX_PARTS`] parts, and as
    /// [`FilterParams::new`].
    pub fn new(
        part_bits: u64,
        num_hashes: u32,
        num_parts: u32,
        expected_items: u64,
    ) -> Result<Self, Error> {
        Error::check_range("num_parts", 1..=MAX_PARTS.into(), num_parts.into())?;
        FilterParams::new(Layout::Blocked, part_bits, num_hashes, expected_items, 0.5)?;
        let fpp = known_fpp(part_bits / 512, num_hashes, expected_items);
        // A target must be below 1, which the rate of an absurdly small part is not.
        let fpp = fpp.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0);
        let part = FilterParams::new(Layout::Blocked, part_bits, num_hashes, expected_items, fpp)?;
        Ok(Self { part, num_parts })
    }

    /// The parameters of each part.
    pub const fn part(&self) -> &FilterParams {
        &self.part
    }

    /// The number of parts.
    pub const fn num_parts(&self) -> u32 {
        self.num_parts
    }

    /// The bits of all parts.
    pub const fn num_bits(&self) -> u64 {
        self.part.num_bits() * self.num_parts as u64
    }

    /// Bytes of memory of all parts.
    pub const fn num_bytes(&self) -> u64 {
        self.part.num_bytes() * self.num_parts as u64
    }

    /// The number of keys that the layer was sized for.
    pub const fn expected_items(&self) -> u64 {
        self.part.expected_items()
    }

    /// The number of distinct keys inserted into the layer if it answered "new" for `inserted` of
    /// them, as [`FilterParams::distinct_items`].
    pub fn distinct_items(&self, inserted: u64) -> u64 {
        libm::round(self.intake().distinct(inserted as f64)) as u64
    }

    /// The count of insertions at which the layer is full, as
    /// [`FilterParams::inserted_when_full`].
    pub fn inserted_when_full(&self) -> u64 {
        known_when_full(self)
    }

    pub(crate) const fn intake(&self) -> Intake {
        Intake::of_parts(&self.part, self.num_parts)
    }

    /// The predicted rate with `items` distinct keys: the rate of a part raised to the number of
    /// parts, since they place keys independently; all parts confuse equal digests at once, so n /
    /// 2^64 is added.
    pub fn expected_fpp(&self, items: u64) -> f64 {
        let part = self.part.expected_fpp(items);
        let all = (0..self.num_parts).fold(1.0, |fpp, _| fpp * part);
        with_digest_collisions(all, items)
    }
}

/// The last result computed by a thread, for the next filter of the same size: a server opens and
/// creates a million of them one by one.
#[cfg(feature = "std")]
type Last<K, V> = core::cell::Cell<Option<(K, V)>>;

#[cfg(feature = "std")]
fn remembered<K: Copy + PartialEq, V: Copy>(
    last: &'static std::thread::LocalKey<Last<K, V>>,
    size: K,
    compute: impl FnOnce() -> V,
) -> V {
    last.with(|last| match last.get() {
        Some((known, value)) if known == size => value,
        _ => {
            let value = compute();
            last.set(Some((size, value)));
            value
        }
    })
}

/// [`blocked::expected_fpp`], which is summed over all loads of a block.
fn known_fpp(num_blocks: u64, num_hashes: u32, items: u64) -> f64 {
    let compute = || blocked::expected_fpp(num_blocks, num_hashes, items);
    #[cfg(feature = "std")]
    {
        std::thread_local! {
            static LAST: Last<(u64, u32, u64), f64> = const { Last::new(None) };
        }
        remembered(&LAST, (num_blocks, num_hashes, items), compute)
    }
    #[cfg(not(feature = "std"))]
    compute()
}

/// [`LayerParams::inserted_when_full`], which adds up the swallowed keys over all loads of a block.
fn known_when_full(layer: &LayerParams) -> u64 {
    let compute = || layer.intake().inserted_when_full(layer.expected_items());
    #[cfg(feature = "std")]
    {
        std::thread_local! {
            static LAST: Last<LayerParams, u64> = const { Last::new(None) };
        }
        remembered(&LAST, *layer, compute)
    }
    #[cfg(not(feature = "std"))]
    compute()
}

/// The layer with the fewest bits for `items` keys at `target_fpp` or less, with as few parts as
/// cost less than 3 % more bits than one more.
///
/// Only a single part can have k = 4. Several parts with k = 4 would need a twentieth less memory,
/// but at rates of some percent each, so that many absent keys would also reach the second part.
///
/// # Errors
///
/// Same as [`super::for_items`].
pub fn layer(items: u64, target_fpp: f64) -> Result<LayerParams, Error> {
    check_target(items, target_fpp)?;
    // Twice this is allowed, so something remains for the bits.
    let of_bits = target_fpp - digest_collisions(items);
    let mut best: Option<LayerParams> = None;
    for num_parts in 1..=MAX_PARTS {
        // Rounding in the power must not raise the product above the target.
        let part = libm::pow(of_bits, 1.0 / f64::from(num_parts)) * (1.0 - 1e-12);
        let num_hashes = if num_parts == 1 { Layout::Blocked.num_hashes() } else { &[8, 16] };
        // More blocks than these would not be worth the part.
        let limit = best.map_or(MAX_NUM_BITS / 512, |least| {
            let worth = least.num_bits() as f64 / BITS_WORTH_A_PART / f64::from(num_parts);
            (worth / 512.0) as u64 + 1
        });
        let found = blocked::solve_blocks_up_to(limit, Layout::Blocked, num_hashes, items, part)
            .and_then(|(bits, k)| LayerParams::new(bits, k, num_parts, items));
        match (found, best) {
            (Ok(found), None) => best = Some(found),
            (Ok(found), Some(least))
                if found.num_bits() as f64 * BITS_WORTH_A_PART < least.num_bits() as f64 =>
            {
                best = Some(found);
            }
            (Err(error), None) if num_parts == MAX_PARTS => return Err(error),
            _ => {}
        }
    }
    best.ok_or(Error::FppUnreachable { target_fpp, lowest_fpp: digest_collisions(items) })
}

/// The part of `target_fpp` that remains for the layers from `step` on if the previous ones promise
/// `promised_fpp` in total: the difference, or after a union at least a sixteenth of the remainder
/// without it, p · (5/6)^step.
pub fn left_fpp(target_fpp: f64, step: u32, promised_fpp: f64) -> f64 {
    let planned = target_fpp * libm::pow(1.0 - SHARE, f64::from(step));
    (target_fpp - promised_fpp).max(planned * LEAST_LEFT)
}

/// The step after `step`: the next one, or after a first guess of few keys the first whose layer
/// holds [`LEAST_GROWN_ITEMS`].
///
/// # Examples
///
/// ```
/// use mayhap::sizing::scalable::next_step;
/// assert_eq!(next_step(10_000, 0), 1);
/// assert_eq!(next_step(100, 0), 5); // 3,200 keys
/// assert_eq!(next_step(100, 5), 6);
/// ```
pub const fn next_step(first_items: u64, step: u32) -> u32 {
    let mut next = step + 1;
    while next < u64::BITS && first_items.saturating_mul(1 << next) < LEAST_GROWN_ITEMS {
        next += 1;
    }
    next
}

/// The layers of a chain from the first to the last possible one, each assuming that all previous
/// layers are full; the error that ends it is the last item.
///
/// # Examples
///
/// ```
/// use mayhap::sizing::scalable;
/// let sizes: Result<Vec<u64>, mayhap::Error> =
///     scalable::chain(100, 0.01).take(3).map(|layer| Ok(layer?.expected_items())).collect();
/// assert_eq!(sizes?, [100, 3_200, 6_400]);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn chain(
    first_items: u64,
    target_fpp: f64,
) -> impl Iterator<Item = Result<LayerParams, Error>> {
    let (mut next, mut promised) = (Some(0), 0.0);
    let layers = core::iter::from_fn(move || {
        let step = next.take()?;
        let layer = chain_layer(first_items, target_fpp, step, promised);
        if let Ok(layer) = &layer {
            promised += layer.expected_fpp(layer.expected_items());
            next = Some(next_step(first_items, step));
        }
        Some(layer)
    });
    layers.take(MAX_LAYERS)
}

/// The layer of `step`, counted from 0, of a chain that starts with `first_items` and whose
/// previous layers promise `promised_fpp` in total.
///
/// # Errors
///
/// Same as [`layer`], with the rates of the chain: [`Error::FppOutOfRange`] unless `0 < target_fpp
/// < 1`, and [`Error::FppUnreachable`] with `target_fpp` and the lowest target for which the share
/// of such a layer is reachable.
///
/// # Examples
///
/// ```
/// use mayhap::sizing::scalable;
/// let first = scalable::chain_layer(1_000, 0.01, 0, 0.0)?;
/// let promised = first.expected_fpp(1_000);
/// let second = scalable::chain_layer(1_000, 0.01, 1, promised)?;
/// assert_eq!(second.expected_items(), 2_000);
/// assert!(promised + second.expected_fpp(2_000) < 0.01);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn chain_layer(
    first_items: u64,
    target_fpp: f64,
    step: u32,
    promised_fpp: f64,
) -> Result<LayerParams, Error> {
    // A layer could keep its share of a rate above 1.
    check_fpp(target_fpp)?;
    let items = GROWTH.checked_pow(step).and_then(|growth| first_items.checked_mul(growth));
    let share = SHARE * left_fpp(target_fpp, step, promised_fpp);
    layer(items.unwrap_or(u64::MAX), share).map_err(|error| match error {
        // Callers know the rate of the chain, not that of one of its layers.
        Error::FppUnreachable { lowest_fpp, .. } => {
            Error::FppUnreachable { target_fpp, lowest_fpp: lowest_fpp * (target_fpp / share) }
        }
        error => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a limit to the blocks of further parts.
    fn searched_in_full(items: u64, target_fpp: f64) -> Option<LayerParams> {
        let of_bits = target_fpp - digest_collisions(items);
        (1..=MAX_PARTS)
            .filter_map(|num_parts| {
                let part = libm::pow(of_bits, 1.0 / f64::from(num_parts)) * (1.0 - 1e-12);
                let num_hashes: &[u32] = if num_parts == 1 { &[4, 8, 16] } else { &[8, 16] };
                let (bits, k) =
                    blocked::solve_bits(Layout::Blocked, num_hashes, items, part).ok()?;
                LayerParams::new(bits, k, num_parts, items).ok()
            })
            .reduce(|best, found| {
                let is_worth = found.num_bits() as f64 * BITS_WORTH_A_PART < best.num_bits() as f64;
                if is_worth { found } else { best }
            })
    }

    #[test]
    fn parts_that_are_not_worth_it_are_refused_without_a_change_of_the_layer() {
        let mut by_parts = [0; MAX_PARTS as usize];
        for items in [1, 2, 10, 60, 700, 2_048, 10_000, 1_000_000, 1 << 40] {
            for target in [0.9, 0.2, 0.05, 0.02, 0.01, 2e-3, 1.6e-3, 1e-4, 1e-5, 1e-7, 1e-10] {
                let Ok(layer) = layer(items, target) else { continue };
                let expected = searched_in_full(items, target);
                assert_eq!(Some(layer), expected, "n {items}, p {target}");
                by_parts[layer.num_parts() as usize - 1] += 1;
            }
        }
        assert!(by_parts[..3].iter().all(|&layers| layers > 3), "{by_parts:?}");
    }

    #[test]
    fn shares_sum_to_less_than_the_target_however_many_layers_come() {
        for target in [0.5, 0.01, 1e-6] {
            let mut promised = 0.0;
            for (i, layer) in chain(10, target).take(23).enumerate() {
                let layer = layer.unwrap();
                promised += layer.expected_fpp(layer.expected_items());
                assert!(promised < target, "layer {i}: {promised} of {target}");
            }
            assert!(promised > 0.98 * target, "{promised} of {target} is used");
        }
    }

    #[test]
    fn parts_keep_the_rate_with_the_fewest_bits() {
        for (target, num_parts) in [(0.05, 1), (1e-2, 1), (1e-4, 2), (1e-6, 3), (1e-9, 4)] {
            let layer = layer(100_000, target).unwrap();
            let fpp = layer.expected_fpp(100_000);
            assert!(fpp <= target && fpp > 0.99 * target, "{fpp:e} for {target:e}");
            assert_eq!(layer.num_parts(), num_parts, "{target:e}");
            let one = crate::sizing::for_items(Layout::Blocked, 100_000, target).unwrap();
            assert!(layer.num_bits() <= one.num_bits());
        }
    }

    #[test]
    fn what_no_layer_can_be_is_refused() {
        assert_eq!(layer(0, 0.01), Err(Error::ZeroItems));
        assert!(matches!(layer(1, 1.0), Err(Error::FppOutOfRange { .. })));
        assert!(matches!(layer(1 << 50, 1e-9), Err(Error::FppUnreachable { .. })));
        assert!(matches!(layer(1 << 54, 0.01), Err(Error::TooLarge { .. })));
        assert!(chain_layer(1 << 40, 0.01, 60, 0.0).is_err());
        assert!(LayerParams::new(512, 8, 0, 1).is_err());
        assert!(LayerParams::new(512, 8, 5, 1).is_err());
        assert!(LayerParams::new(513, 8, 1, 1).is_err());
        assert!(LayerParams::new(512, 8, 1, u64::MAX).is_ok()); // p is 1, and it says so
    }

    #[test]
    fn steps_of_few_keys_are_skipped_and_a_chain_ends_with_what_ends_it() {
        for (first_items, step, next) in
            [(1, 0, 11), (1, 3, 11), (1, 11, 12), (1_023, 0, 2), (1_024, 0, 1), (1 << 60, 0, 1)]
        {
            assert_eq!(next_step(first_items, step), next, "{first_items} {step}");
        }
        assert_eq!(next_step(u64::MAX, 70), 71);
        let all: Vec<_> = chain(1 << 20, 0.01).collect();
        let (last, layers) = all.split_last().unwrap();
        assert!(matches!(last, Err(Error::TooLarge { .. } | Error::FppUnreachable { .. })));
        let grown = |(i, layer): (usize, &Result<LayerParams, Error>)| {
            layer.as_ref().unwrap().expected_items() == 1 << (20 + i)
        };
        assert!(layers.len() > 20 && layers.iter().enumerate().all(grown));
        assert_eq!(chain(0, 0.01).collect::<Vec<_>>(), [Err(Error::ZeroItems)]);
    }

    #[test]
    fn errors_of_a_chain_name_its_rate_and_not_that_of_a_layer() {
        for target in [1.0, 1.5, 5.9, 6.0, 0.0, -1.0, f64::INFINITY] {
            let error = chain_layer(10, target, 0, 0.0);
            assert_eq!(error, Err(Error::FppOutOfRange { found: target }), "{target}");
        }
        assert!(matches!(chain_layer(10, f64::NAN, 0, 0.0), Err(Error::FppOutOfRange { .. })));
        let unreachable = |target| match chain_layer(1 << 30, target, 0, 0.0) {
            Err(Error::FppUnreachable { target_fpp, lowest_fpp }) => Some((target_fpp, lowest_fpp)),
            _ => None,
        };
        let (target, lowest) = unreachable(1e-10).unwrap();
        assert_eq!(target, 1e-10);
        // The rate in the error is the lowest possible one.
        assert_eq!(
            unreachable(lowest * (1.0 - 1e-9)).map(|(target, _)| target < lowest),
            Some(true)
        );
        assert!(unreachable(lowest * (1.0 + 1e-9)).is_none());
    }

    #[test]
    fn a_used_up_rate_leaves_later_layers_a_sixteenth() {
        assert_eq!(left_fpp(0.01, 0, 0.0), 0.01);
        assert_eq!(left_fpp(0.01, 1, 0.01), 0.01 * (5.0 / 6.0) / 16.0);
        assert_eq!(left_fpp(0.01, 0, 5.0), 0.01 / 16.0);
    }
}
