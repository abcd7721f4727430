//! The next layer of a chain that many threads fill: sized, created, and its memory prepared.

use super::concurrent::SharedLayer;
use super::layer::Layer;
use super::{ConcurrentScalableBloomFilter, Limits, check_num_layers};
use crate::Error;
use crate::sizing::scalable::{self, LayerParams};
use crate::sync::Ordering;
use alloc::boxed::Box;
use alloc::sync::Arc;

/// After a smaller layer the next one is not created ahead: its memory is available at once.
const LARGE_BYTES: u64 = if cfg!(any(loom, shuttle)) { 0 } else { 2 << 20 };

impl SharedLayer {
    /// Whether it is full enough that the next layer should be created, and large enough for that
    /// to matter.
    fn is_nearly_full(&self) -> bool {
        let capacity = self.layer.full_at;
        self.inserted_items() >= capacity - capacity / 8
            && self.layer.params.num_bytes() >= LARGE_BYTES
    }
}

impl ConcurrentScalableBloomFilter {
    /// Sizes the next layer if the newest is half full, so that the thread that finds it full does
    /// not have to: sizing takes milliseconds. For a background thread; nothing depends on it.
    pub fn prepare_growth(&self) {
        let count = self.num_layers();
        let newest = self.newest(count);
        if newest.inserted_items() >= newest.layer.full_at / 2 {
            // An error is returned to the insertion that needs the layer.
            let _ = self.next_after(count);
        }
    }

    /// Whether it is time for [`ConcurrentScalableBloomFilter::grow_ahead`]: the newest layer is
    /// seven eighths full and has at least 2 MiB. Returns `true` once per layer.
    ///
    /// For inserting threads, to notify the background thread; it costs one read of the counter
    /// that the insertion wrote.
    #[inline]
    pub fn growth_is_due(&self) -> bool {
        let newest = self.newest(self.num_layers());
        // ORDERING: Relaxed. The flag only selects one of the threads that arrive here; the layer
        // was seen by the Acquire of `num_layers`.
        newest.is_nearly_full()
            && !newest.notified.load(Ordering::Relaxed)
            && !newest.notified.swap(true, Ordering::Relaxed)
    }

    /// Creates the next layer before it is needed, so that the thread that finds the newest one
    /// full only publishes it. For a background thread; nothing depends on it.
    ///
    /// Does nothing until the newest layer is seven eighths full and has 2 MiB, nor when a limit is
    /// near: if the rest of the budget is less than twice the layer. The layer is charged once, as
    /// always, and counted in [`ConcurrentScalableBloomFilter::num_bytes`] from then on. Then each
    /// page of it is written to, so that insertions do not wait for the system to provide memory;
    /// the layer may already be in use by then. `go_on` is called every 2 MiB and stops the writing
    /// by returning `false`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{ConcurrentScalableBloomFilter, DigestFunction};
    ///
    /// let n = 2_000_000;
    /// let seen = ConcurrentScalableBloomFilter::new(n, 0.01, DigestFunction::default())?;
    /// seen.insert_batch(&(0..n / 10 * 9).collect::<Vec<_>>())?;
    /// let before = seen.num_bytes();
    /// assert!(seen.growth_is_due() && !seen.growth_is_due());
    /// seen.grow_ahead(|| true);
    /// assert!(seen.num_bytes() > before && seen.num_layers() == 1);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn grow_ahead(&self, go_on: impl Fn() -> bool) {
        let count = self.num_layers();
        let newest = self.newest(count);
        if !newest.is_nearly_full() || newest.ahead.get().is_some() {
            return;
        }
        // An error is returned to the insertion that needs the layer.
        let Ok(params) = self.next_after(count) else { return };
        let left = self.charge.as_ref().map_or(u64::MAX, |charge| charge.budget().left());
        if left / 2 < params.num_bytes() {
            return;
        }
        if let Ok(ahead) = self.growing.with(|| self.layer_after(count)) {
            ahead.layer.touch(&go_on);
        }
    }

    /// The layer after the first `count`, published or not. Requires that `growing` is held, so
    /// that it is created and charged once.
    pub(super) fn layer_after(&self, count: usize) -> Result<&Arc<SharedLayer>, Error> {
        let newest = self.newest(count);
        if let Some(layer) = newest.ahead.get() {
            return Ok(layer);
        }
        let params = self.next_after(count)?;
        check_num_layers(count + 1)?;
        self.limits.check_bytes(self.num_bytes().saturating_add(params.num_bytes()))?;
        self.charge.as_ref().map_or(Ok(()), |charge| charge.add(params.num_bytes()))?;
        match Layer::empty(params, self.limits.step_after(newest.layer.step), self.digest_function)
        {
            Ok(layer) => {
                let _ = newest.ahead.set(Box::new(Arc::new(SharedLayer::new(layer))));
            }
            Err(error) => {
                self.charge.iter().for_each(|charge| charge.give_back(params.num_bytes()));
                return Err(error);
            }
        }
        Ok(newest.ahead.get().expect("it was filled"))
    }

    /// The parameters of the layer after the first `count`, when those are full.
    pub(super) fn next_after(&self, count: usize) -> Result<LayerParams, Error> {
        let newest = self.newest(count);
        if let Some(&params) = newest.next.get() {
            return Ok(params);
        }
        let promised = self.slice(0, count).map(SharedLayer::promised_fpp).sum();
        let Limits { first_items, target_fpp, .. } = self.limits;
        let step = self.limits.step_after(newest.layer.step);
        let params = scalable::chain_layer(first_items, target_fpp, step, promised)?;
        let _ = newest.next.set(Box::new(params));
        Ok(params)
    }
}
