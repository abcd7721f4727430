//! Two chains as one.

use super::{OwnedLayer, ScalableBloomFilter, check_num_layers};
use crate::bits::Block;
use crate::filter::{Estimate, check_same_digest};
use crate::{Error, Storage};
use alloc::vec::Vec;

/// The fate of a layer of the other chain.
enum LayerUnion {
    /// Ored into our layer of this index, which then holds this many keys.
    Or { ours: usize, theirs: usize, items: u64 },
    /// It becomes a layer of ours.
    Adopt(OwnedLayer),
}

impl ScalableBloomFilter {
    /// Makes this filter the union of both: it then holds the keys of either.
    ///
    /// Layers of the same shape are ored if all their keys fit into one: layers of replicas that
    /// saw the same keys, and newest layers that are less than half full. Every other layer of
    /// `other` is copied and becomes an additional layer here, since its keys are no longer known
    /// and cannot be redistributed.
    ///
    /// The promise cannot always be kept: the rate of two full chains together is the sum of both,
    /// up to 2 p. [`ScalableBloomFilter::expected_fpp`] is the current rate,
    /// [`ScalableBloomFilter::promised_fpp`] the bound from then on, and
    /// [`ScalableBloomFilter::health`] reports whether either is above the target. Further layers
    /// share the remainder of p, so the union of two short chains still keeps p; for a union of c
    /// long ones, create each with the target p / c. Queries look into the adopted layers too.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] if the chains differ in digest function, first guess or target;
    /// [`Error::TooLarge`] above [`ScalableBloomFilter::set_max_bytes`] or
    /// [`crate::sizing::scalable::MAX_LAYERS`]; [`Error::OutOfMemory`]. Nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, ScalableBloomFilter};
    /// let mut left = ScalableBloomFilter::new(100, 1e-4, DigestFunction::default())?;
    /// let mut right = ScalableBloomFilter::new(100, 1e-4, DigestFunction::default())?;
    /// left.insert("a")?;
    /// right.insert("b")?;
    /// left.union_with(&right)?;
    /// assert!(left.contains("a") && left.contains("b") && !left.contains("c"));
    /// assert_eq!((left.num_layers(), left.inserted_items()), (1, 2));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        check_same_digest(&self.digest_function, &other.digest_function)?;
        Error::check_equal([
            ("first_items", self.first_items, other.first_items),
            ("target_fpp (its bits)", self.target_fpp.to_bits(), other.target_fpp.to_bits()),
        ])?;
        let plans = self.plan_union(other)?;
        if !plans.is_empty() {
            self.num_united = self.num_united.saturating_add(other.num_united).saturating_add(1);
        }
        for plan in plans {
            match plan {
                LayerUnion::Or { ours, theirs, items } => {
                    let theirs = &other.layers[theirs].parts;
                    for (ours, theirs) in self.layers[ours].parts.iter_mut().zip(theirs) {
                        ours.union_with(theirs)?;
                    }
                    self.layers[ours].inserted_items = items;
                }
                LayerUnion::Adopt(layer) => self.layers.push(layer),
            }
        }
        // Keys are inserted into the last one: the one with the highest step and, among equals, the
        // most room as defined by the file, which counts up to `expected_items`.
        self.layers.sort_by_key(|layer| {
            (layer.step, layer.params.expected_items().saturating_sub(layer.inserted_items))
        });
        Ok(())
    }

    /// Everything that can fail, without changing this filter.
    fn plan_union(&self, other: &Self) -> Result<Vec<LayerUnion>, Error> {
        let mut free: Vec<bool> = alloc::vec![true; self.layers.len()];
        let (mut count, mut bytes) = (self.layers.len(), self.num_bytes());
        let mut plans = Vec::new();
        for (theirs, layer) in other.layers.iter().enumerate() {
            if layer.inserted_items == 0 && layer.count_ones() == 0 {
                continue;
            }
            let fit = (0..self.layers.len()).filter(|&ours| free[ours]).find_map(|ours| {
                let items = ored_items(&self.layers[ours], layer)?;
                Some(LayerUnion::Or { ours, theirs, items })
            });
            if let Some(LayerUnion::Or { ours, .. }) = fit {
                // One layer per layer: a second one would need to know the keys that the first one
                // added.
                free[ours] = false;
            } else {
                count += 1;
                bytes = bytes.saturating_add(layer.params.num_bytes());
                check_num_layers(count)?;
                self.limits().check_bytes(bytes)?;
            }
            plans.push(match fit {
                Some(plan) => plan,
                None => LayerUnion::Adopt(layer.try_clone()?),
            });
        }
        Ok(plans)
    }
}

/// The number of keys that the OR of two layers of the same shape would have counted, if they fit
/// into one.
fn ored_items(ours: &OwnedLayer, theirs: &OwnedLayer) -> Option<u64> {
    if ours.step != theirs.step || ours.params != theirs.params {
        return None;
    }
    let [mut union, mut ours_only, mut theirs_only] = [0u64; 3];
    // All parts hold the same keys, so the first one is enough.
    let blocks = |layer: &OwnedLayer| layer.parts[0].storage().num_blocks();
    for i in 0..blocks(ours) {
        let (a, b): (Block, Block) =
            (ours.parts[0].storage().block(i), theirs.parts[0].storage().block(i));
        for (a, b) in a.0.into_iter().zip(b.0) {
            union += u64::from((a | b).count_ones());
            ours_only += u64::from((a & !b).count_ones());
            theirs_only += u64::from((b & !a).count_ones());
        }
    }
    let (left, right) = (ours.inserted_items, theirs.inserted_items);
    // If one holds all of the other, no estimate is needed, and for a full one none is possible.
    match (ours_only, theirs_only) {
        (0, 0) => return Some(left.max(right)),
        (_, 0) => return Some(left),
        (0, _) => return Some(right),
        _ => {}
    }
    let distinct = Estimate::from_ones(ours.params.part(), union).items;
    let counted = ours.params.intake().counted(distinct);
    // Never fewer than either held, never more than both.
    let items = (libm::round(counted) as u64).clamp(left.max(right), left.saturating_add(right));
    (items <= ours.full_at).then_some(items)
}
