//! Two chains as one, and the layers of a chain as one.

use super::{OwnedLayer, ScalableBloomFilter, check_num_layers};
use crate::bits::Block;
use crate::filter::{Estimate, check_same_digest};
use crate::sizing::Shrink;
use crate::sizing::scalable::{LayerParams, SHARE};
use crate::{BlockedBloomFilter, Error, FilterParams, Layout, Storage};
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
                    for (ours, theirs) in self.layers[ours].parts.iter_mut().zip(&**theirs) {
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

/// The most of p that the layer may have: the rest is for the layers that follow.
const MOST: f64 = 15.0 / 16.0;

impl ScalableBloomFilter {
    /// This chain folded to a single, smaller layer: bit for bit the one into which the same keys
    /// were inserted at that size, without knowing them. `None` if no smaller size keeps the rate.
    ///
    /// Each part of a layer is a blocked filter, and folds to each number of blocks that divides
    /// its own ([`crate::Filter::fold`]); so all layers fold to each divisor of the greatest
    /// one that they have in common, and are ored there. The new layer keeps the share of the rate
    /// that its layers had together, p/6 · (1 + 5/6 + …), so that the chain keeps p at every size
    /// from then on, too; its first guess is the number of keys that the layer has room for.
    ///
    /// That is possible for a single layer with few keys, and for several if a size that divides
    /// all of theirs has room for the keys of all: that of the first one, if the second one has
    /// just begun. Longer chains have more keys than any size holds that their first layer folds
    /// to.
    ///
    /// Reads every block once. Memory: the new layer, and one folded part.
    ///
    /// # Errors
    ///
    /// [`Error::UnlikeLayers`] if layers differ in parts or hashes; [`Error::NoCollapse`] if their
    /// largest size in common does not keep the rate; of a single layer the errors of
    /// [`Shrink::of`]. [`Shrink::By`] is for a single layer: [`Error::NoFold`] for several.
    /// [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, ScalableBloomFilter, sizing::Shrink};
    /// let mut seen = ScalableBloomFilter::new(32, 0.01, DigestFunction::default())?;
    /// (0..34u64).try_for_each(|key| seen.insert(&key).map(drop))?;
    /// assert_eq!((seen.num_layers(), seen.num_bytes()), (2, 64 + 58 * 64));
    /// let small = seen.shrunk(Shrink::default())?.expect("there is a smaller size");
    /// assert_eq!((small.num_layers(), small.num_bytes()), (1, 64));
    /// assert!((0..34u64).all(|key| small.contains(&key)) && !small.contains(&34u64));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn shrunk(&self, how: Shrink) -> Result<Option<Self>, Error> {
        let items = self.distinct_items().rounded();
        let (target_fpp, wanted) = match how {
            Shrink::To { items, target_fpp } => (target_fpp.unwrap_or(self.target_fpp), items),
            Shrink::By(_) => (self.target_fpp, None),
        };
        crate::sizing::check_fpp(target_fpp)?;
        let sizes = self.common_sizes()?;
        let left = libm::pow(1.0 - SHARE, self.layers.len() as f64);
        let most_fpp = target_fpp * (1.0 - left).min(MOST);
        let needed = wanted.unwrap_or(items).max(1);
        let keeps = |size: &&LayerParams| size.expected_fpp(needed) <= most_fpp;
        let found = match how {
            Shrink::By(factor) => self.by(factor, &sizes)?,
            Shrink::To { .. } => sizes.iter().find(keeps).copied(),
        };
        let Some(size) = found else { return Err(self.no_size(&sizes, needed, most_fpp)) };
        if size.num_bytes() == self.num_bytes() {
            return Ok(None);
        }
        let expected_items = wanted.unwrap_or_else(|| most_items(&size, most_fpp));
        if items > expected_items {
            let factor = self.num_bytes() / size.num_bytes();
            return Err(Error::FoldOverfull { factor, items, expected_items });
        }
        let part = size.part();
        let (num_bits, k, parts) = (part.num_bits(), part.num_hashes(), size.num_parts());
        let params = LayerParams::new(num_bits, k, parts, expected_items)?;
        let inserted = libm::round(params.intake().counted(items as f64)) as u64;
        let mut layer = OwnedLayer::empty(params, 0, self.digest_function)?;
        for from in &self.layers {
            for (part, from) in layer.parts.iter_mut().zip(&*from.parts) {
                or_folded(part, from)?;
            }
        }
        layer.inserted_items = inserted;
        let layers = alloc::vec![layer];
        Ok(Some(Self { layers, first_items: expected_items, target_fpp, ..*self }))
    }

    /// The sizes to which all layers fold, in ascending order.
    fn common_sizes(&self) -> Result<Vec<LayerParams>, Error> {
        let first = &self.layers[0].params;
        let shape = |params: &LayerParams| {
            [("parts", params.num_parts()), ("hashes", params.part().num_hashes())]
        };
        for (i, layer) in self.layers.iter().enumerate() {
            for ((parameter, left), (_, right)) in
                shape(first).into_iter().zip(shape(&layer.params))
            {
                if left != right {
                    let layer = i as u64 + 1;
                    return Err(Error::UnlikeLayers { layer, parameter, left, right });
                }
            }
        }
        let blocks = self.layers.iter().map(|layer| layer.params.part().num_blocks());
        let common = blocks.reduce(greatest_common_divisor).unwrap_or(1);
        let (k, parts) = (first.part().num_hashes(), first.num_parts());
        let params = FilterParams::new(Layout::Blocked, common * 512, k, 1, 0.5)?;
        let factors = params.fold_factors().into_iter().rev();
        factors.map(|factor| LayerParams::new(common / factor * 512, k, parts, 1)).collect()
    }

    /// The only layer, at 1/`factor` of its size.
    fn by(&self, factor: u64, sizes: &[LayerParams]) -> Result<Option<LayerParams>, Error> {
        let no_fold = |unit, from| Err(Error::NoFold { unit, from, factor });
        let [layer] = &*self.layers else { return no_fold("layers", self.layers.len() as u64) };
        let blocks = layer.params.part().num_blocks();
        let size =
            sizes.iter().find(|it| Some(blocks) == it.part().num_blocks().checked_mul(factor));
        size.map_or_else(|| no_fold("blocks", blocks), |size| Ok(Some(*size)))
    }

    /// The reason why there is no size.
    fn no_size(&self, sizes: &[LayerParams], items: u64, target_fpp: f64) -> Error {
        let largest = sizes.last().unwrap_or(&self.layers[0].params);
        let (num_layers, expected_fpp) = (self.layers.len(), largest.expected_fpp(items));
        if num_layers == 1 {
            return Error::NoShrink { items, expected_fpp, target_fpp };
        }
        let num_blocks = largest.part().num_blocks();
        let num_layers = u32::try_from(num_layers).unwrap_or(u32::MAX);
        Error::NoCollapse { num_layers, num_blocks, items, expected_fpp, target_fpp }
    }
}

/// Adds the keys of a part to a smaller one.
fn or_folded(part: &mut BlockedBloomFilter, from: &BlockedBloomFilter) -> Result<(), Error> {
    let factor = from.params().num_bits() / part.params().num_bits();
    part.union_with(&from.fold(factor, 0.999)?)
}

/// The most keys for which a layer keeps a rate.
fn most_items(layer: &LayerParams, target_fpp: f64) -> u64 {
    let keeps = |items: u64| layer.expected_fpp(items) <= target_fpp;
    // It keeps no rate below 1 with a key for each bit.
    let (mut low, mut high) = (0, layer.part().num_bits());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if keeps(middle) { low = middle } else { high = middle }
    }
    low.max(1)
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
